"""A config is read as it was written, or the mistake is named with its place and the way out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from running import CONFIGS

from dtglib.basics.config import as_dict, as_yaml, fingerprint, parse_override, read_config
from dtglib.basics.errors import UserError
from dtglib.data.corpora import CorpusConfig
from dtglib.data.vocabulary import VocabularyConfig
from dtglib.runs.settings import RunConfig, read_size

KINDS = (RunConfig, CorpusConfig, VocabularyConfig)


@dataclass(frozen=True)
class Example:
    """One field of every type that a config may have."""

    name: str
    layers: int = 2
    rate: float = 1e-3
    tied: bool = True
    mode: Literal["fast", "slow"] = "fast"
    limit: float | None = None


@pytest.fixture
def config(tmp_path):
    """Write a config's text to a file and give its path."""

    def write(text: str) -> Path:
        path = tmp_path / "run.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


# The four sizes


@pytest.mark.parametrize(
    ("size", "corpus", "vocabulary"),
    [
        ("smoke", CorpusConfig("minilang", 600, 100, 100), VocabularyConfig("words")),
        ("mini", CorpusConfig("minilang", 20_000, 1_000, 1_000), VocabularyConfig("words")),
        ("open", CorpusConfig("books-and-ud"), VocabularyConfig("pieces", 16_000)),
        ("paper", CorpusConfig("bllip"), VocabularyConfig("pieces", 32_768)),
    ],
)
def test_the_size_says_which_corpus_and_vocabulary(size, corpus, vocabulary):
    settings = read_size(size)
    assert (settings.run, settings.corpus, settings.vocabulary) == (RunConfig(seed=1), corpus, vocabulary)


def test_every_key_is_explained_where_it_first_appears():
    explained = [line for size in ("smoke", "open") for line in (CONFIGS / f"{size}.yaml").read_text().split("\n")]
    for key in as_dict(*read_size("smoke")):
        if key not in ("dev_sentences", "test_sentences"):  # what is said of train_sentences holds for them
            assert any(line.startswith(f"{key}:") and "#" in line for line in explained), key


# Reading


def test_a_missing_key_takes_the_default(config):
    assert read_config(config("name: x"), Example) == (Example("x", 2, 1e-3, True, "fast", None),)


def test_missing_keys_without_a_default_are_all_named(config):
    @dataclass(frozen=True)
    class Strict:
        heads: int
        width: int
        depth: int = 1

    with pytest.raises(UserError, match=r"run.yaml: heads, width must be set"):
        read_config(config("depth: 3"), Strict)


@pytest.mark.parametrize(
    ("written", "number"),
    [("1e-4", 1e-4), ("1.5e-4", 1.5e-4), ("3E5", 3e5), ("-2e+1", -20.0), (".5e1", 5.0), ("3", 3.0), ("0.25", 0.25)],
)
def test_a_number_is_a_number_however_it_is_written(config, written, number):
    """PyYAML takes 1e-4 for a string."""
    (example,) = read_config(config(f"name: x\nrate: {written}\nlimit: {written}"), Example)
    assert (example.rate, example.limit) == (number, number)
    assert isinstance(example.rate, float)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("layers: two", "layers must be a whole number, not 'two'"),
        ("layers: 2.5", "layers must be a whole number, not 2.5"),
        ("layers: true", "layers must be a whole number, not True"),
        ("layers: null", "layers must be a whole number, not None"),
        ("rate: fast", "rate must be a number, not 'fast'"),
        ("rate: yes", "rate must be a number, not True"),
        ("limit: e5", "limit must be a number or null, not 'e5'"),
        ("tied: 1", "tied must be true or false, not 1"),
        ("mode: medium", "mode must be fast or slow, not 'medium'"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(config, line, complaint):
    with pytest.raises(UserError) as error:
        read_config(config(f"name: x\n\n{line}\n"), Example)
    assert str(error.value).endswith(f"run.yaml: {complaint}")


def test_a_text_that_yaml_takes_for_something_else_is_an_error(config):
    with pytest.raises(UserError, match=r"run.yaml: name must be a text, not False"):
        read_config(config("name: no"), Example)


def test_a_key_that_stands_twice_is_named(config):
    for twice in ("width: 8\nheads: 2\nwidth: 16\n", '"width": 8\nwidth : 16\n', "{width: 8, width: 16}"):
        with pytest.raises(UserError, match=r"run.yaml: a key stands there twice: width"):
            read_config(config(twice), Example)


def test_an_unknown_key_is_named_with_the_closest_and_all_known_ones(config):
    with pytest.raises(UserError) as error:
        read_config(config("corpus: minilang\ntrian_sentences: 5"), *KINDS)
    assert str(error.value).endswith(
        "run.yaml: unknown key trian_sentences; did you mean train_sentences? the known keys are seed, corpus, "
        "train_sentences, dev_sentences, test_sentences, vocabulary, pieces"
    )


@pytest.mark.parametrize("text", ["name: [x, y]", "name:\n  first: x"])
def test_a_config_is_flat(config, text):
    with pytest.raises(UserError, match=r"run.yaml: name must be a text, not "):
        read_config(config(text), Example)


@pytest.mark.parametrize("text", ["", "# nothing\n", "- name\n- x", "just a text"])
def test_a_file_without_keys_is_no_config(config, text):
    with pytest.raises(UserError, match=r"run.yaml: a config is lines of the form 'key: value'"):
        read_config(config(text), Example)


@pytest.mark.parametrize("text", ["name: x\nlayers: [", "name: x\n\tlayers: 1", "name: x\nlayers: *two"])
def test_bad_yaml_is_named_with_its_line(config, text):
    with pytest.raises(UserError, match=r"run.yaml: not valid YAML: .*line [23]"):
        read_config(config(text), Example)


@pytest.mark.parametrize("text", [b"name: \xff", b"name: \x01", b"name: 2001-13-45"])
def test_a_file_that_cannot_be_read_as_yaml_is_named(tmp_path, text):
    (tmp_path / "run.yaml").write_bytes(text)
    with pytest.raises(UserError, match=r"run.yaml: not valid YAML: "):
        read_config(tmp_path / "run.yaml", Example)


def test_a_config_cannot_run_code(config):
    with pytest.raises(UserError, match=r"run.yaml: not valid YAML: could not determine a constructor"):
        read_config(config("name: !!python/object:os.getcwd x"), Example)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere.yaml: No such file"):
        read_config(tmp_path / "nowhere.yaml", Example)


@pytest.mark.parametrize("line", ["train_sentences: 0", "dev_sentences: -1", "pieces: 0"])
def test_a_number_of_things_is_at_least_one(config, line):
    with pytest.raises(UserError, match=rf"run.yaml: {line.split(':')[0]} must be at least 1"):
        read_config(config(f"corpus: minilang\n{line}"), *KINDS)


def test_two_dataclasses_may_not_share_a_field(config):
    with pytest.raises(ValueError, match="same name"):
        read_config(config("name: x"), Example, Example)


# Overrides


def test_an_override_replaces_the_value_of_the_file(config):
    overrides = dict(map(parse_override, ["layers=4", "rate=2e-5", "limit=null", "name=a b"]))
    (example,) = read_config(config("name: x\nlayers: 1\nlimit: 3"), Example, overrides=overrides)
    assert example == Example("a b", layers=4, rate=2e-5, limit=None)


def test_an_override_may_be_a_value_already(config):
    (example,) = read_config(config("name: x"), Example, overrides={"layers": 4, "limit": 0.5})
    assert (example.layers, example.limit) == (4, 0.5)


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("layers=x", "--set: layers must be a whole number, not 'x'"),
        ("layer=1", "--set: unknown key layer; did you mean layers?"),
        ("layers=[1]", "--set: layers must be a whole number, not [1]"),
        ("layers=[", "--set layers=[: not valid YAML"),
    ],
)
def test_a_wrong_override_is_named(config, override, complaint):
    with pytest.raises(UserError) as error:
        read_config(config("name: x"), Example, overrides=dict([parse_override(override)]))
    assert str(error.value).startswith(complaint)


def test_a_text_of_a_file_stays_as_it_is_if_it_overrides_another(config):
    (first,) = read_config(config("name: 'minilang #2'"), Example)
    (second,) = read_config(config("name: x"), Example, overrides=as_dict(first))
    assert second.name == first.name == "minilang #2"


def test_a_config_of_another_command_is_said_to_be_one(config):
    with pytest.raises(UserError, match=r"run.yaml: unknown keys a, b, c; is this the config of another command\?$"):
        read_config(config("a: 1\nb: 2\nc: 3"), Example)


def test_an_override_of_the_command_line_is_taken_apart_at_the_first_equals_sign():
    assert parse_override("corpus=a=b") == ("corpus", "a=b")


@pytest.mark.parametrize("text", ["seed", "=2", ""])
def test_an_override_without_a_key_or_a_value_is_explained(text):
    with pytest.raises(UserError, match="write it as key=value"):
        parse_override(text)


# Written back, and found again


def test_a_config_that_is_written_is_read_back_as_it_was(config):
    configs = (RunConfig(7), CorpusConfig("a: strange # path", None, 3), VocabularyConfig("pieces", 300))
    assert read_config(config(as_yaml(*configs)), *KINDS) == configs
    example = Example("x", rate=1e-7, limit=3.0)
    assert read_config(config(as_yaml(example)), Example) == (example,)


def test_the_fingerprint_is_of_the_settings_not_of_their_order():
    a, b, c = RunConfig(), CorpusConfig("minilang"), VocabularyConfig()
    assert fingerprint(a, b, c) == fingerprint(c, a, b)
    assert len(fingerprint(a)) == 12


def test_another_setting_has_another_fingerprint():
    fingerprints = {fingerprint(RunConfig(seed), CorpusConfig("minilang", n)) for seed in (1, 2) for n in (None, 1, 2)}
    assert len(fingerprints) == 6


def test_the_fingerprint_is_the_same_on_every_machine():
    assert fingerprint(Example("x")) == "674af53b567f"
