"""The settings of a run: the fields of a config file, grouped by subject.

    settings = read_size("mini")                          or read_settings("mine.yaml", {"model": "dtg-eager"})
    settings.model.arcs, settings.train.epochs            "w+arc", 4
    settings.family.title                                 "DTG"

Keys that only other families of models have are allowed in a file, so that one file serves all families. Where the
models of a paper want other values, a file of that name in a folder of the paper's name is laid over it:
configs/PAPER/mini.yaml over configs/mini.yaml, with the keys that differ and no others. Then follows that of the model
itself, if there is one: configs/MODEL/mini.yaml.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.basics.config import read_config, require_positive, size_file, value_of
from dtglib.basics.errors import UserError, require
from dtglib.basics.released import cards
from dtglib.data.corpora import CorpusConfig, corpus_checksum
from dtglib.data.registry import checksum_of
from dtglib.data.vocabulary import VocabularyConfig
from dtglib.families.base import DEFAULT_MODEL, Family, compared, families, family
from dtglib.training.schedule import TrainConfig


@dataclass(frozen=True)
class RunConfig:
    """Settings of a run as a whole."""

    seed: int = 1

    def __post_init__(self) -> None:
        require(0 <= self.seed < 2**32, f"seed must be from 0 to {2**32 - 1}, not {self.seed}")


@dataclass(frozen=True)
class ParsersConfig:
    """Parsers: names in configs/parsers/ (or NAME:CORPUS to learn from another corpus), folders, or published names."""

    parsed_by: str | None = None  # draws trees or graphs for training; null: they are the corpus's own
    strong_parser: str = "strong"  # proposes the trees that the probability of a sentence is summed over
    weak_parser: str = "weak"  # the same, for the effect of a weaker parser (the paper's Table 5)
    span_parser: str = "spans"  # the same for models of constituents


@dataclass(frozen=True)
class EvaluationConfig:
    """The models that are evaluated, and the sizes of the evaluation."""

    released: str | None = None  # the released models of this corpus are evaluated; null: those that are trained here
    trees: int = 300
    scored_sentences: int | None = None  # evenly spaced in the test part; null: all of them
    beam: int = 300
    within: float | None = None  # nats behind the best hypothesis at which another one is dropped; null: never
    score_beam: int | None = None  # of the symbols between two words, how many of a hypothesis are tried; null: all
    items: float = 1.0  # the share of the test suites' items
    pairs: float = 1.0  # the share of the minimal pairs
    compared_seeds: int = 1  # the number of seeds, from `seed` on, whose models are compared
    compared: str | None = None  # the models that notebooks compare, with blanks between; null: all of their paper

    def __post_init__(self) -> None:
        require_positive(self, "trees", "scored_sentences", "beam", "score_beam", "compared_seeds")
        for name in ("items", "pairs"):
            share = getattr(self, name)
            require(0 < share <= 1, f"{name} must be above 0 and at most 1, not {share}")
        if self.released is not None:
            ends = sorted({name.rpartition("-")[2] for name in cards("model")})
            require(self.released in ends, f"released must be null or one of {', '.join(ends)}, not {self.released!r}")
        require(self.within is None or self.within >= 0, f"within must not be below 0, as {self.within} is")


class Settings(NamedTuple):
    """All settings; a config file contains the fields of all of these records."""

    run: RunConfig
    corpus: CorpusConfig
    parsers: ParsersConfig
    vocabulary: VocabularyConfig
    model: Any  # the family's own
    train: TrainConfig
    evaluation: EvaluationConfig

    @property
    def family(self) -> Family:
        """The family of the model."""
        return family(self.model.model)

    @property
    def of_corpus(self) -> "Settings":
        """The settings that the words and trees of a run's corpus depend on; the others are None."""
        return Settings(*self[:4], *[None] * 3)  # type: ignore[arg-type]


def read_settings(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a config file, some of them replaced."""
    kind = family(value_of(path, "model", DEFAULT_MODEL, overrides))
    others = {field.name for other in families() for part in (other.config, other.training) for field in fields(part)}
    kinds = RunConfig, CorpusConfig, ParsersConfig, VocabularyConfig, kind.config, kind.training, EvaluationConfig
    named = dict.fromkeys(Path(path).absolute().parent / folder / Path(path).name for folder in (kind.paper, kind.name))
    laid_over = [path for path in named if path.parent.parent.name == "configs" and path.is_file()]
    return Settings(*read_config(path, *kinds, overrides=overrides, unused=others, laid_over=laid_over))


def read_size(size: str, **overrides: Any) -> Settings:
    """The settings of a run size: the name of a file in configs/, such as mini."""
    return read_settings(size_file(size), overrides)


def compared_at(size: str, paper: str) -> dict[str, str]:
    """The titles of the models that a paper's notebooks compare at a size, by their names."""
    models = compared(paper)
    chosen = read_size(size, model=next(iter(models))).evaluation.compared
    if chosen is None:
        return models
    if unknown := set(chosen.split()) - models.keys():
        raise UserError(f"{size}: {sorted(unknown)[0]} is no model of {paper}; models are {', '.join(models)}")
    return {name: title for name, title in models.items() if name in chosen.split()}


def embedded_corpus(settings: Settings) -> str | None:
    """The name of the settings' corpus if it has test suites and minimal pairs of its own; otherwise None."""
    return "minilang" if settings.corpus.corpus == "minilang" else None


def checksums_of(settings: Settings, judged: bool = True) -> dict[str, str]:
    """A checksum of each data set that a run reads: its corpus and, if `judged`, public suites and pairs."""
    public = ("sg", "blimp") if judged and embedded_corpus(settings) is None else ()
    evaluation = {name: checksum for name in public if (checksum := checksum_of(name))}
    return {settings.corpus.corpus: corpus_checksum(settings.corpus.corpus), **evaluation}
