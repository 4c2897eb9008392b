"""From a config to a trained parser; prepare.py does the same for language models.

    folder = trained_parser("strong", read_size("mini"))     configs/parsers/strong.yaml, on the corpus of a size
    parser = load_parser(folder)                              trained now, or found in the cache

The paper compares two proposals (its Table 5). Here two configs, `weak` and `strong`, take their places.
"""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dtglib.basics.code import code_of
from dtglib.basics.config import as_dict, read_config
from dtglib.basics.errors import UserError, require
from dtglib.basics.files import find_repository, repository
from dtglib.data.corpora import CorpusConfig, part_of
from dtglib.families.base import Family
from dtglib.runs.cache import folder_of
from dtglib.runs.settings import RunConfig, Settings
from dtglib.training.networks import best_on_dev, train_network
from dtglib.training.schedule import TrainConfig

# supar takes seconds to import; most processes ask for the folder of a parser, and use none.
if TYPE_CHECKING:
    from dtglib.parsing.kept import EncoderConfig
    from dtglib.parsing.kinds import ParserKind


class ParserSettings(NamedTuple):
    """All settings for the training of a parser."""

    run: RunConfig
    corpus: CorpusConfig
    parser: "EncoderConfig"  # that of the kind
    train: TrainConfig

    @property
    def kind(self) -> "ParserKind":
        """The kind of parser that has this config."""
        from dtglib.parsing.kinds import kinds

        return next(kind for kind in kinds().values() if kind.config is type(self.parser))


def read_parser_settings(path: str | Path, overrides: dict[str, Any] | None = None) -> ParserSettings:
    """The settings of a config file, some of them replaced."""
    from dtglib.parsing.kinds import kind_of

    kind = kind_of(path, overrides)
    configs = RunConfig, CorpusConfig, kind.config, TrainConfig
    return ParserSettings(*read_config(path, *configs, overrides=overrides, unused=["parser"]))


def read_parser(name: str, settings: Settings, **overrides: Any) -> ParserSettings:
    """The settings of a config in configs/parsers/, with the seed of a run, and its corpus unless the name has one."""
    config, _, corpus = name.partition(":")
    known = ", ".join(sorted(path.stem for path in _configs().glob("*.yaml")))
    require(is_ours(name), f"there is no parser {name!r}; parsers are {known}")
    of_run = as_dict(settings.run, CorpusConfig(corpus) if corpus else settings.corpus)
    return read_parser_settings(_configs() / f"{config}.yaml", of_run | overrides)


class TrainingData(NamedTuple):
    """The vocabulary of a network, its training data and its held-out data."""

    vocabulary: Any  # a Vocabulary, or the Entries of a parser
    train: Any  # a treebank, or what the network reads
    dev: Any


def prepare_parser(settings: ParserSettings) -> TrainingData:
    """Read the corpus and convert it into training data."""
    parts = {part: part_of(settings.corpus, part) for part in ("train", "dev")}
    entries, examples = settings.kind.entries(parts["train"], settings.parser.rarest), []
    for part, sentences in parts.items():
        try:
            examples.append(settings.kind.examples(entries, sentences, settings.train.longest))
        except UserError as error:
            raise UserError(f"{settings.corpus.corpus}, {part}: {error}") from error
    return TrainingData(entries, *examples)


def train_parser_into(settings: ParserSettings, prepared: TrainingData, folder: Path) -> None:
    """Train the parser into a folder, from its checkpoint if there is one."""
    from dtglib.parsing.kept import WEIGHTS_FILE

    build = partial(settings.kind.network, folder.name, settings.parser, prepared.vocabulary)  # type: ignore[call-arg]
    identity = identity_of(settings, prepared)
    train_network(folder / WEIGHTS_FILE, build, prepared, settings.train, settings.run.seed, identity)


def identity_of(settings: ParserSettings, prepared: TrainingData) -> dict[str, Any]:
    """The inputs of a training: all settings but the number of test sentences, and checksums of the data."""
    fields = {key: value for key, value in as_dict(*settings).items() if key != "test_sentences"}
    return fields | {"checksum_of_train": prepared.train.checksum, "checksum_of_dev": prepared.dev.checksum}


def proposers(settings: Settings) -> dict[str, Path | str]:
    """The two parsers that propose dependency trees at a run size, `strong` and `weak`, trained now if need be."""
    named = {"strong": settings.parsers.strong_parser, "weak": settings.parsers.weak_parser}
    return {name: parser_named(parser, settings) for name, parser in named.items()}


def proposer_of(kind: Family, settings: Settings) -> Path | str:
    """The parser that proposes the trees of a family's models at a run size, trained now if need be."""
    return parser_named(getattr(settings.parsers, kind.trees.proposed_by), settings)


def parser_named(name: str, settings: Settings) -> Path | str:
    """The folder of a parser of configs/parsers/, trained now if need be; any other name is returned unchanged."""
    return trained_parser(name, settings) if is_ours(name) else name


def nats_per_word(folder: Path) -> float:
    """The loss of a trained parser on held-out sentences, in nats per word, labels included."""
    parts = {name: nats for name, nats in best_on_dev(folder).items() if name.startswith("nats_per_")}
    return sum(nats for name, nats in parts.items() if name != "nats_per_sentence")  # all are means over the words


def is_ours(name: str) -> bool:
    """True if configs/parsers/ has a parser of this name, or the part before a colon."""
    return find_repository() is not None and (_configs() / f"{name.partition(':')[0]}.yaml").is_file()


def _configs() -> Path:
    return repository() / "configs" / "parsers"


def trained_parser(name: str, settings: Settings, **overrides: Any) -> Path:
    """The folder of a parser, trained now unless it is in the cache: runs/parsers/strong-1a2b3c4d5e6f."""
    chosen = read_parser(name, settings, **overrides)
    prepared = prepare_parser(chosen)
    code = code_of("parsing", train_network, chosen.kind.network)
    folder = folder_of("parsers", name.replace(":", "-").replace("/", "-"), identity_of(chosen, prepared), code)
    train_parser_into(chosen, prepared, folder)
    return folder
