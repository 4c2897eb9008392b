"""From a config to a trained model: corpus, vocabulary and sequences, then training, into a folder of its own.

    settings = read_size("mini")                          or read_settings("mine.yaml", {"model": "dtg-eager"})
    folder = trained(settings)                            trains it, or finds it by its settings
    model = Model.load(folder)

A trained model is found by everything that it depends on: its settings, the sentences, and the code that made it. So
nothing is trained twice, and nothing stale is ever taken for new.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from dtglib.config import (
    CorpusConfig,
    EvaluationConfig,
    RunConfig,
    VocabularyConfig,
    as_dict,
    read_config,
    size_file,
)
from dtglib.corpora import ALL, load, splits
from dtglib.errors import UserError
from dtglib.examples import Examples
from dtglib.files import repository, sha256
from dtglib.model import WEIGHTS_FILE, Model, ModelConfig
from dtglib.schedule import TrainConfig
from dtglib.train import train
from dtglib.treebank import Treebank
from dtglib.vocab import Vocabulary

# The models as the paper writes them.
NAMES = {
    "txl-tokens": "TXL (tokens)",
    "txl-trans": "TXL (trans)",
    "dtg": "DTG",
    "dtg-eager": "DTG-eager",
    "dtg-swift": "DTG-swift",
}


class Settings(NamedTuple):
    """All that a run is told; a config file holds the fields of all six side by side."""

    run: RunConfig
    corpus: CorpusConfig
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


class Corpus(NamedTuple):
    """What all models of a comparison share."""

    train: Treebank
    dev: Treebank
    vocabulary: Vocabulary


def read_corpus(settings: Settings) -> Corpus:
    """Read the parts that training needs, and learn the vocabulary from the first."""
    train_part, dev_part = (treebank(settings.corpus, part) for part in ("train", "dev"))
    words = (sentence.words for sentence in train_part.sentences)
    return Corpus(train_part, dev_part, Vocabulary.configured(settings.vocabulary, words))


class Prepared(NamedTuple):
    """What a model is trained on, and tested on while it is."""

    vocabulary: Vocabulary
    train: Examples
    dev: Examples


def prepare(settings: Settings, corpus: Corpus | None = None) -> Prepared:
    """The corpus as the model reads it; read now, if it is not given."""
    corpus = corpus or read_corpus(settings)
    examples = []
    for part, sentences in (("train", corpus.train), ("dev", corpus.dev)):
        try:
            examples.append(Examples.of(settings.model.model, corpus.vocabulary, sentences, settings.train.longest))
        except UserError as error:
            raise UserError(f"{settings.corpus.corpus}, {part}: {error}") from error
    return Prepared(corpus.vocabulary, *examples)


def treebank(config: CorpusConfig, part: str) -> Treebank:
    """The train, dev or test part of the corpus that a run asks for."""
    if splits(config.corpus) == (ALL,):
        raise UserError(
            f"{config.corpus}: a model is trained on one part and watched on another; name a folder with "
            f"train.conllu and dev.conllu"
        )
    return load(config.corpus, part, getattr(config, f"{part}_sentences"))


def train_into(settings: Settings, prepared: Prepared, folder: Path) -> None:
    """Train the model, or go on with it; the folder then holds it."""

    def build() -> Model:
        return Model(settings.model, prepared.vocabulary)

    train_network(folder / WEIGHTS_FILE, build, prepared, settings.train, settings.run, identity_of(settings, prepared))


class _Examples(Protocol):
    """What is said of the sentences that a model is trained on, besides what training needs of them."""

    summary: str
    too_long: list[str]
    checksum: str


class _Parts(Protocol):
    """The sentences that a model is trained on, and tested on while it is."""

    train: _Examples
    dev: _Examples


def train_network(
    weights: Path,
    build: Callable[[], nn.Module],
    parts: _Parts,
    config: TrainConfig,
    run: RunConfig,
    identity: Mapping[str, Any],
) -> None:
    """Build and train whatever has a loss; its weights are then in that file, and all else beside it."""
    folder = weights.parent
    if weights.exists() and not (folder / "record.json").exists():
        raise UserError(f"{folder}: holds a model without the record of its training; choose another folder")
    torch.manual_seed(run.seed)
    try:
        model = build()
    except (RuntimeError, MemoryError) as error:
        raise UserError(f"there is not enough memory for this model ({str(error).splitlines()[0]})") from error
    about = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train": parts.train.summary,
        "dev": parts.dev.summary,
        "too_long": [*parts.train.too_long, *parts.dev.too_long],
    }
    train(model, parts.train, parts.dev, config, folder, run.seed, identity, about)
    if not weights.exists():
        raise UserError(f"{folder}: its training is finished, but {weights.name} is gone; delete it to train anew")


def identity_of(settings: Settings, prepared: Prepared) -> dict[str, Any]:
    """What a training depends on: all settings but for how the model will be tested, and all that it reads."""
    told = as_dict(*(part for part in settings if part is not settings.evaluation))
    del told["test_sentences"]
    return told | {
        "checksum_of_vocabulary": prepared.vocabulary.fingerprint,
        "checksum_of_train": prepared.train.checksum,
        "checksum_of_dev": prepared.dev.checksum,
    }


# What decides about a trained model's numbers, besides its settings and what it reads.
CODE = (
    *("attention", "batches", "checkpoint", "compile", "examples", "model", "output"),
    *("processes", "readings", "schedule", "structure", "train", "vocab"),
)


def trained(settings: Settings, prepared: Prepared | None = None) -> Path:
    """The folder of the trained model, trained now if there is none yet: runs/models/dtg-1a2b3c4d5e6f."""
    prepared = prepared or prepare(settings)
    folder = folder_of("models", settings.model.model, identity_of(settings, prepared), CODE)
    train_into(settings, prepared, folder)
    return folder


def folder_of(kind: str, name: str, identity: Mapping[str, Any], code: Sequence[str]) -> Path:
    """Where a trained model lies, by what it depends on."""
    checksums = [sha256(Path(__file__).parent / f"{module}.py") for module in code]
    digest = hashlib.sha256("\n".join([str(sorted(identity.items())), *checksums]).encode()).hexdigest()[:12]
    return repository() / "runs" / kind / f"{name}-{digest}"
