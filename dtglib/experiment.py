"""From settings to a trained model: corpus, vocabulary and sequences, then training, into a folder of its own.

    settings = read_size("mini")                          see settings.py
    folder = trained(settings)                            trains it, or finds it by its settings
    model = Model.load(folder)

A trained model is found by everything that it depends on: its settings, the sentences, and the code that made it. So
nothing is trained twice, and nothing stale is ever taken for new.
"""

from pathlib import Path
from typing import Any, NamedTuple

from dtglib.config import as_dict
from dtglib.corpora import part_of
from dtglib.errors import UserError
from dtglib.examples import Examples
from dtglib.model import WEIGHTS_FILE, Model
from dtglib.networks import folder_of, train_network
from dtglib.parser_training import parser_named
from dtglib.settings import Settings
from dtglib.silver import parsed
from dtglib.treebank import Treebank
from dtglib.vocab import Vocabulary


class Corpus(NamedTuple):
    """What all models of a comparison share."""

    train: Treebank
    dev: Treebank
    vocabulary: Vocabulary


def read_corpus(settings: Settings) -> Corpus:
    """Read the parts that training needs, and learn the vocabulary from the first."""
    train_part, dev_part = (read_part(settings, part) for part in ("train", "dev"))
    words = (sentence.words for sentence in train_part.sentences)
    return Corpus(train_part, dev_part, Vocabulary.configured(settings.vocabulary, words))


def read_part(settings: Settings, part: str) -> Treebank:
    """The train, dev or test part of a run's corpus, with the trees that its models are to learn."""
    treebank, parser = part_of(settings.corpus, part), settings.parsers.parsed_by
    return treebank if parser is None else parsed(treebank, parser_named(parser, settings))


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
            has_trees = any(sentence.heads is not None for sentence in sentences.sentences)
            way_out = "" if has_trees else "; set parsed_by to a parser that draws its trees"
            raise UserError(f"{settings.corpus.corpus}, {part}: {error}{way_out}") from error
    return Prepared(corpus.vocabulary, *examples)


def train_into(settings: Settings, prepared: Prepared, folder: Path) -> None:
    """Train the model, or go on with it; the folder then holds it."""

    def build() -> Model:
        return Model(settings.model, prepared.vocabulary)

    train_network(folder / WEIGHTS_FILE, build, prepared, settings.train, settings.run, identity_of(settings, prepared))


def identity_of(settings: Settings, prepared: Prepared) -> dict[str, Any]:
    """What a training depends on: what it is told, and all that it reads, trees included, whoever drew them."""
    told = as_dict(settings.run, settings.corpus, settings.vocabulary, settings.model, settings.train)
    del told["test_sentences"]
    return told | {
        "checksum_of_vocabulary": prepared.vocabulary.fingerprint,
        "checksum_of_train": prepared.train.checksum,
        "checksum_of_dev": prepared.dev.checksum,
    }


# What decides about a trained model's numbers, besides its settings and what it reads.
CODE = (
    *("attention", "batches", "checkpoint", "compile", "examples", "model", "output"),
    *("processes", "readings", "schedule", "structure", "tally", "train", "visibility", "vocab"),
)


def folder_for(settings: Settings, prepared: Prepared) -> Path:
    """Where the trained model is, or will be: runs/models/dtg-1a2b3c4d5e6f."""
    return folder_of("models", settings.model.model, identity_of(settings, prepared), CODE)


def trained(settings: Settings, prepared: Prepared | None = None) -> Path:
    """The folder of the trained model, trained now if there is none yet."""
    prepared = prepared or prepare(settings)
    folder = folder_for(settings, prepared)
    train_into(settings, prepared, folder)
    return folder
