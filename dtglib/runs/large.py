"""Corpora that are too large for memory: what is made of them is kept in runs/sequences.

    vocabulary_of(settings, train)                      runs/sequences/vocabulary-1a2b3c4d5e6f
    with_folder(settings, "train", train, vocabulary)   runs/sequences/dtg-train-4d5e6f1a2b3c

Such a corpus is read block by block in every pass (data/streamed.py), and a pass takes minutes. So its vocabulary is
made once, and so are its compiled sequences (sequences/stored.py): a training that goes on, or one with another seed,
finds both, and so does one of another width or learning rate. They are found by what they depend on, like all results.
Of smaller corpora nothing is kept.
"""

from dataclasses import replace
from typing import Any

from dtglib.basics.code import code_of
from dtglib.basics.config import as_dict
from dtglib.basics.files import only_one_process
from dtglib.data.corpora import corpus_checksum, stream
from dtglib.data.streamed import Streamed
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import module_of
from dtglib.runs.cache import CODE, folder_of
from dtglib.runs.settings import Settings
from dtglib.training.distributed import processes
from dtglib.training.examples import Examples


def vocabulary_of(settings: Settings, train: Treebank) -> Vocabulary:
    """The vocabulary of a corpus's models."""

    def make() -> Vocabulary:
        return Vocabulary.configured(settings.vocabulary, (sentence.words for sentence in train.sentences))

    def make_there() -> None:
        with only_one_process(folder, "makes a vocabulary there"):
            if not (folder / "vocabulary.json").exists():
                make().save(folder)

    if not isinstance(train.sentences, Streamed):
        return make()
    identity = _identity(settings, "train") | as_dict(settings.vocabulary)
    folder = folder_of("sequences", "vocabulary", identity, code_of("data", stream, Vocabulary.configured))
    with processes() as ours:
        ours.from_first(make_there)
    return Vocabulary.load(folder)


def with_folder(settings: Settings, part: str, treebank: Treebank, vocabulary: Vocabulary) -> Treebank:
    """The same treebank; if it is large, it has a folder for its sequences, which depend on the vocabulary alone."""
    if not isinstance(treebank.sentences, Streamed):
        return treebank
    made_by = {"longest": settings.train.longest, "checksum_of_vocabulary": vocabulary.fingerprint}
    made_by["model"] = settings.model.model  # the family: a module of a user's may have several
    identity = _identity(settings, part) | made_by | dict(treebank.sentences.identity)
    code = code_of("sequences", module_of(settings.model.model), settings.family.examples, Examples.of)
    folder = folder_of("sequences", f"{settings.family.name}-{part}", identity, code)
    sentences = replace(treebank.sentences, folder=folder, identity=identity | {CODE: code})
    return treebank._replace(sentences=sentences)


def _identity(settings: Settings, part: str) -> dict[str, Any]:
    """The facts that identify the sentences, known without reading them."""
    corpus = settings.corpus
    sentences, checksum = getattr(corpus, f"{part}_sentences"), corpus_checksum(corpus.corpus)
    return {"corpus": corpus.corpus, "part": part, "sentences": sentences, "checksum_of_corpus": checksum}
