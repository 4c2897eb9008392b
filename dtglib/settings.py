"""All that a run is told: the fields of a config file, taken apart by what they concern.

settings = read_size("mini")                          or read_settings("mine.yaml", {"model": "dtg-eager"})
settings.model.arcs, settings.train.epochs            "w+arc", 4
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.config import (
    CorpusConfig,
    EvaluationConfig,
    ParsersConfig,
    RunConfig,
    VocabularyConfig,
    read_config,
    size_file,
)
from dtglib.model import ModelConfig
from dtglib.schedule import TrainConfig

# The models as the paper writes them.
NAMES = {
    "txl-tokens": "TXL (tokens)",
    "txl-trans": "TXL (trans)",
    "dtg": "DTG",
    "dtg-eager": "DTG-eager",
    "dtg-swift": "DTG-swift",
}


class Settings(NamedTuple):
    """A config file holds the fields of all of these side by side."""

    run: RunConfig
    corpus: CorpusConfig
    parsers: ParsersConfig
    vocabulary: VocabularyConfig
    model: ModelConfig
    train: TrainConfig
    evaluation: EvaluationConfig


def read_settings(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Settings:
    """The settings of a config file, some of them replaced."""
    return Settings(*read_config(path, *Settings.__annotations__.values(), overrides=overrides))


def read_size(size: str, **overrides: Any) -> Settings:
    """The settings of a run size: smoke, mini, open or paper."""
    return read_settings(size_file(size), overrides)
