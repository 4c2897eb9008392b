"""A run is one flat YAML file, read into frozen dataclasses that say what each part of the run needs to know.

    corpus: minilang            # configs/smoke.yaml
    train_sentences: 600
    vocabulary: words

    >>> corpus, vocabulary = read_config("configs/smoke.yaml", CorpusConfig, VocabularyConfig)    # doctest: +SKIP
    >>> corpus.train_sentences                                                                    # doctest: +SKIP
    600

Every key of the file is a field of exactly one dataclass, and every mistake is an error that names file, key and the
way out: an unknown key, a value of the wrong type, a missing key that has no default. Each dataclass is defined beside
the code that uses it, and is passed to `read_config`.
"""

import contextlib
import dataclasses
import hashlib
import json
import types
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import yaml

from dtglib.basics.errors import UserError, did_you_mean, require, shortened
from dtglib.basics.files import repository

LOADER = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader  # ten times as fast, where libyaml is


def require_positive(config: Any, *names: str) -> None:
    """Raise a UserError unless each of the named fields is at least 1 or None; for `__post_init__`."""
    for name in names:
        value = getattr(config, name)
        require(value is None or value >= 1, f"{name} must be at least 1, not {value}")


def read_config(
    path: str | Path,
    *kinds: type,
    overrides: Mapping[str, Any] | None = None,
    unused: Collection[str] = (),
    laid_over: Iterable[Path] = (),
) -> tuple[Any, ...]:
    """One instance per dataclass in `kinds`; `overrides` replace values of the file.

    Keys among `unused` may be in the file, although no dataclass has them, but not among the overrides. The values of
    the files in `laid_over` replace those of the first one.
    """
    settings = _settings(path, overrides or {}, laid_over)
    known = [field.name for kind in kinds for field in dataclasses.fields(kind)]
    if len(set(known)) < len(known):
        raise ValueError(f"a field has the same name in two of {[kind.__name__ for kind in kinds]}")
    if unknown := [k for k, (_, place) in settings.items() if k not in known and (place == "--set" or k not in unused)]:
        _, place = settings[unknown[0]]
        if len(unknown) > 2 and place != "--set":
            raise UserError(f"{place}: unknown keys {shortened(unknown)}; is this the config of another command?")
        hint = did_you_mean(unknown[0], known)
        raise UserError(f"{place}: unknown key {unknown[0]}; {hint}the known keys are {', '.join(known)}")
    return tuple(_build(kind, settings, path) for kind in kinds)


def value_of(path: str | Path, key: str, default: str, overrides: Mapping[str, Any] | None = None) -> str:
    """The text of one key, for which the other keys need not be known."""
    return _convert(key, _settings(path, overrides or {}).get(key, (default, path)), str)


def _settings(path: str | Path, overrides: Mapping[str, Any], laid_over: Iterable[Path] = ()) -> dict[str, Any]:
    """The value of each key, and the file or option that says so."""
    files = Path(path), *laid_over
    settings = {key: (value, str(file)) for file in files for key, value in _settings_of_file(file).items()}
    return settings | {key: (value, "--set") for key, value in overrides.items()}


def size_file(size: str) -> Path:
    """The config of a run size, such as smoke, mini or paper."""
    folder = repository() / "configs"
    sizes = sorted(path.stem for path in folder.glob("*.yaml"))
    require(size in sizes, f"there is no size {size!r}; sizes are {', '.join(sizes)}")
    return folder / f"{size}.yaml"


def parse_override(text: str) -> tuple[str, Any]:
    """Split `--set key=value` of the command line into key and value, which is read as YAML."""
    key, equals, value = text.partition("=")
    require(key and equals, f"--set {text}: write it as key=value, for example --set seed=2")
    return key, _parsed(value, f"--set {text}")


def as_dict(*configs: Any) -> dict[str, Any]:
    """The fields of all these configs in one dictionary, as in the file."""
    return {name: value for config in configs for name, value in dataclasses.asdict(config).items()}


def as_yaml(*configs: Any) -> str:
    """The configs as a file that `read_config` reads back."""
    return yaml.safe_dump(as_dict(*configs), sort_keys=False, allow_unicode=True)


def fingerprint(*configs: Any, without: Iterable[str] = ()) -> str:
    """A checksum of all settings but some, in twelve hexadecimal digits; their order does not matter."""
    settings = {name: value for name, value in as_dict(*configs).items() if name not in without}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def _settings_of_file(path: Path) -> dict[str, Any]:
    try:
        settings = _parsed(text := path.read_bytes(), path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; a config is a YAML file such as configs/smoke.yaml") from error
    require(isinstance(settings, dict), f"{path}: a config is lines of the form 'key: value'; here there are none")
    keys = [key.value for key, _ in yaml.compose(text, LOADER).value]
    require(len(keys) == len({*keys}), f"{path}: a key stands there twice: {max(keys, key=keys.count, default='')}")
    return settings


def _parsed(text: str | bytes, where: object) -> Any:
    try:
        return yaml.load(text, LOADER)
    except (yaml.YAMLError, ValueError) as error:
        raise UserError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from error


def _build(kind: type, settings: Mapping[str, Any], path: str | Path) -> Any:
    expected = get_type_hints(kind)
    values = {name: _convert(name, settings[name], expected[name]) for name in expected if name in settings}
    required = [field.name for field in dataclasses.fields(kind) if field.default is dataclasses.MISSING]
    try:
        if missing := [name for name in required if name not in settings]:
            raise UserError(f"{', '.join(missing)} must be set: there is no default")
        return kind(**values)
    except UserError as error:
        _, place = settings.get(str(error).partition(" ")[0], (None, path))  # complaints begin with a key
        raise UserError(f"{place}: {error}") from error


def _convert(key: str, setting: tuple[Any, str | Path], expected: Any) -> Any:
    """The value, if it has the type of the field; a whole number, or a text such as 1e-4, may become a float."""
    value, place = setting
    choices = get_args(expected) if get_origin(expected) in (types.UnionType, Union) else (expected,)
    for choice in choices:
        if get_origin(choice) is Literal and value in get_args(choice):
            return value
        if choice is float and type(value) in (int, float, str):
            with contextlib.suppress(ValueError):
                return float(value)  # YAML reads 1e-4 as a text
        # bool is a subclass of int, but a number of sentences is not "true".
        if type(value) is choice:
            return value
    raise UserError(f"{place}: {key} must be {_describe(choices)}, not {value!r}")


_NAMES = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", types.NoneType: "null"}


def _describe(choices: tuple[Any, ...]) -> str:
    """The expected types in words, such as "a whole number or null" or "words or pieces"."""
    return " or ".join(str(name) for choice in choices for name in get_args(choice) or [_NAMES[choice]])
