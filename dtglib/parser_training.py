"""From a config to a trained parser, as experiment.py does it for language models.

    folder = trained_parser("strong", read_size("mini"))     configs/parsers/strong.yaml, on the corpus of a size
    parser = load_parser(folder)                              trained now, or found by its settings

The paper compares two proposals (its Table 5). What stands for them here are two configs, `weak` and `strong`.
"""

from pathlib import Path
from typing import Any, NamedTuple

from dtglib.config import CorpusConfig, RunConfig, as_dict, read_config
from dtglib.corpora import part_of
from dtglib.errors import UserError
from dtglib.files import repository
from dtglib.networks import folder_of, train_network
from dtglib.proposals.trained import WEIGHTS_FILE, Entries, ParserConfig, Trained, TreebankExamples, entries_of
from dtglib.schedule import TrainConfig
from dtglib.settings import Settings

CODE = (
    *("batches", "checkpoint", "processes", "schedule", "tally", "train", "treebank"),
    *("proposals/biaffine", "proposals/from_supar", "proposals/trained"),
)


class ParserSettings(NamedTuple):
    """All that the training of a parser is told."""

    run: RunConfig
    corpus: CorpusConfig
    parser: ParserConfig
    train: TrainConfig


def read_parser_settings(path: str | Path, overrides: dict[str, Any] | None = None) -> ParserSettings:
    """The settings of a config file, some of them replaced."""
    return ParserSettings(*read_config(path, *ParserSettings.__annotations__.values(), overrides=overrides))


def read_parser(name: str, settings: Settings, **overrides: Any) -> ParserSettings:
    """The settings of `weak` or `strong`, with the corpus and the seed of a run."""
    if not is_ours(name):
        known = ", ".join(sorted(path.stem for path in _configs().glob("*.yaml")))
        raise UserError(f"there is no parser {name!r}; parsers are {known}")
    return read_parser_settings(_configs() / f"{name}.yaml", as_dict(settings.run, settings.corpus) | overrides)


class PreparedParser(NamedTuple):
    """What a parser is to know, is trained on, and tested on while it is."""

    entries: Entries
    train: TreebankExamples
    dev: TreebankExamples


def prepare_parser(settings: ParserSettings) -> PreparedParser:
    """Read the corpus as the parser reads it."""
    parts = {part: part_of(settings.corpus, part) for part in ("train", "dev")}
    entries, examples = entries_of(parts["train"], settings.parser.rarest), []
    for part, sentences in parts.items():
        try:
            examples.append(TreebankExamples(entries, sentences, settings.train.longest))
        except UserError as error:
            raise UserError(
                f"{settings.corpus.corpus}, {part}: {error}; where there are no trees, name a parser that is trained "
                f"already: a folder, or one that supar publishes"
            ) from error
    return PreparedParser(entries, *examples)


def train_parser_into(settings: ParserSettings, prepared: PreparedParser, folder: Path) -> None:
    """Train the parser, or go on with it; the folder then holds it."""

    def build() -> Trained:
        return Trained(folder.name, settings.parser, prepared.entries)

    train_network(folder / WEIGHTS_FILE, build, prepared, settings.train, settings.run, identity_of(settings, prepared))


def identity_of(settings: ParserSettings, prepared: PreparedParser) -> dict[str, Any]:
    """What a training depends on: all settings but for how much there is to be tested on, and all that it reads."""
    told = {key: value for key, value in as_dict(*settings).items() if key != "test_sentences"}
    return told | {"checksum_of_train": prepared.train.checksum, "checksum_of_dev": prepared.dev.checksum}


def proposers(settings: Settings) -> dict[str, Path | str]:
    """The two parsers that propose trees at a run size, `strong` and `weak`; each is trained where it has to be."""
    named = {"strong": settings.parsers.strong_parser, "weak": settings.parsers.weak_parser}
    return {name: parser_named(parser, settings) for name, parser in named.items()}


def parser_named(name: str, settings: Settings) -> Path | str:
    """The folder of a parser that has a config, trained on a run's corpus; any other name as `load_parser` takes it."""
    return trained_parser(name, settings) if is_ours(name) else name


def is_ours(name: str) -> bool:
    """Whether there is a config for a parser of this name."""
    return (_configs() / f"{name}.yaml").is_file()


def _configs() -> Path:
    return repository() / "configs" / "parsers"


def trained_parser(name: str, settings: Settings, **overrides: Any) -> Path:
    """The folder of a trained parser, trained now if there is none yet: runs/parsers/strong-1a2b3c4d5e6f."""
    chosen = read_parser(name, settings, **overrides)
    prepared = prepare_parser(chosen)
    folder = folder_of("parsers", name, identity_of(chosen, prepared), CODE)
    train_parser_into(chosen, prepared, folder)
    return folder
