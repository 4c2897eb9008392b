"""From settings to a trained model: corpus, vocabulary and sequences, then training, into a folder of its own.

    settings = read_size("mini")                          see settings.py
    folder = trained(settings)                            trained now, or found in the cache
    model = load_model(folder)

The folder's name is a hash of everything that the model depends on: its settings, the sentences, and the code that
trains it. So nothing is trained twice, and an outdated model is never found.

A corpus that is too large for memory is read block by block in every pass (data/streamed.py), and a pass takes minutes.
So its vocabulary and its compiled sequences (sequences/stored.py) are made once, and kept in runs/sequences:

    runs/sequences/vocabulary-1a2b3c4d5e6f      the same for trainings with another seed, width or learning rate
    runs/sequences/dtg-train-4d5e6f1a2b3c
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from dtglib.basics.code import code_of
from dtglib.basics.config import as_dict
from dtglib.basics.errors import UserError
from dtglib.basics.files import only_one_process
from dtglib.basics.released import cards, folder_named
from dtglib.data.corpora import corpus_checksum, part_of, readers_of_papers, stream
from dtglib.data.streamed import Streamed, by_blocks, in_memory
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import module_of
from dtglib.network.saved import WEIGHTS_FILE
from dtglib.parsing.parser import known_as
from dtglib.runs.cache import CODE, folder_of
from dtglib.runs.parsers import TrainingData, parser_named
from dtglib.runs.sentence_scores import spread
from dtglib.runs.settings import Settings, compared_at, read_size
from dtglib.runs.trees import parsed_by
from dtglib.training.distributed import processes
from dtglib.training.examples import Examples
from dtglib.training.networks import train_network


def read_corpus(settings: Settings, share: float = 1.0) -> TrainingData:
    """The vocabulary and the treebanks (train, or a share of it, and dev) that the models of a comparison share."""
    train, dev = (part_of(settings.corpus, part, stream) for part in ("train", "dev"))
    if share < 1:
        train = in_memory(train)
        sentences = spread(train.sentences, max(1, round(share * len(train.sentences))))
        train = train._replace(sentences=sentences)
    vocabulary = _vocabulary_of(settings, train)  # words need no parser
    return TrainingData(vocabulary, _with_trees(settings, train), _with_trees(settings, dev))


def _with_trees(settings: Settings, treebank: Treebank) -> Treebank:
    if settings.parsers.parsed_by is None:
        return treebank
    chosen = parser_named(settings.parsers.parsed_by, settings)
    return by_blocks(treebank, partial(parsed_by, chosen), {"parser": known_as(chosen)})


def _vocabulary_of(settings: Settings, train: Treebank) -> Vocabulary:
    """The vocabulary of a corpus's models, which is kept if the corpus is large."""
    words = (sentence.words for sentence in train.sentences)
    if not isinstance(train.sentences, Streamed):
        return Vocabulary.configured(settings.vocabulary, words)
    identity = _identity(settings, "train") | as_dict(settings.vocabulary)
    folder = folder_of("sequences", "vocabulary", identity, code_of("data", Vocabulary.configured))

    def make() -> None:
        with only_one_process(folder, "makes a vocabulary there"):
            if not (folder / "vocabulary.json").exists():
                Vocabulary.configured(settings.vocabulary, words).save(folder)

    with processes() as ours:
        ours.from_first(make)
    return Vocabulary.load(folder)


def _with_folder(settings: Settings, part: str, treebank: Treebank, vocabulary: Vocabulary) -> Treebank:
    """The same treebank; if it is large, with a folder for its sequences, which depend on the vocabulary alone."""
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
    """The facts that identify the sentences of a part; no sentence is read for them."""
    corpus = settings.corpus
    sentences, checksum = getattr(corpus, f"{part}_sentences"), corpus_checksum(corpus.corpus)
    about = {"corpus": corpus.corpus, "part": part, "sentences": sentences, "checksum_of_corpus": checksum}
    readers = [of.find for of in readers_of_papers() if of.find(corpus.corpus, None) is not None]
    return about | {"code_of_corpus": code_of("data", stream, *readers)}


def prepare(settings: Settings, corpus: TrainingData | None = None) -> TrainingData:
    """Convert the corpus into training data; it is read now if it is not given."""
    corpus = corpus or read_corpus(settings)
    if not settings.family.streams:
        corpus = corpus._replace(train=in_memory(corpus.train), dev=in_memory(corpus.dev))
    vocabulary = settings.family.vocabulary(settings.model, corpus.vocabulary, corpus.train)
    examples = []
    for part, sentences in (("train", corpus.train), ("dev", corpus.dev)):
        try:
            with_folder = _with_folder(settings, part, sentences, vocabulary)
            examples.append(settings.family.examples(settings.model, vocabulary, with_folder, settings.train.longest))
        except UserError as error:
            raise UserError(f"{settings.corpus.corpus}, {part}: {error}") from error
    return TrainingData(vocabulary, *examples)


def train_into(settings: Settings, prepared: TrainingData, folder: Path) -> None:
    """Train the model into a folder, from its checkpoint if there is one."""
    build = partial(settings.family.build, settings.model, prepared.vocabulary)
    identity = identity_of(settings, prepared)
    train_network(folder / WEIGHTS_FILE, build, prepared, settings.train, settings.run.seed, identity)


def identity_of(settings: Settings, prepared: TrainingData) -> dict[str, Any]:
    """The inputs of a training: its settings, and checksums of all data, the trees included."""
    fields = as_dict(settings.run, settings.corpus, settings.vocabulary, settings.model, settings.train)
    del fields["test_sentences"]
    return fields | {
        "checksum_of_vocabulary": prepared.vocabulary.fingerprint,
        "checksum_of_train": prepared.train.checksum,
        "checksum_of_dev": prepared.dev.checksum,
    }


def folder_for(settings: Settings, prepared: TrainingData) -> Path:
    """The folder of the trained model, such as runs/models/dtg-1a2b3c4d5e6f."""
    kind = settings.family
    makers = train_network, module_of(settings.model.model), kind.build, kind.examples, kind.training
    return folder_of("models", kind.name, identity_of(settings, prepared), code_of("training", *makers))


def is_released(settings: Settings) -> bool:
    """True if the settings ask for released models, and there is one of this family."""
    return _released_name(settings) in cards("model")


def _released_name(settings: Settings) -> str:
    return f"{settings.family.name}-{settings.evaluation.released}"


def trained(settings: Settings, prepared: TrainingData | None = None, read: Callable = read_corpus) -> Path:
    """The folder of the trained model: the released one if that is asked for, or else trained now unless cached."""
    if is_released(settings):
        return folder_named(_released_name(settings))
    prepared = prepared or prepare(settings, read(settings.of_corpus))
    folder = folder_for(settings, prepared)
    train_into(settings, prepared, folder)
    return folder


def trained_together(settings: Iterable[Settings]) -> Iterator[Path]:
    """The folder of each trained model; neighbours that read the same words and trees share them."""
    read = lru_cache(maxsize=1)(read_corpus)
    return (trained(one, read=read) for one in settings)


def trained_at(size: str, paper: str) -> dict[str, tuple[Settings, Path]]:
    """The settings and the folder of each model that a paper's notebooks compare at a size, by their titles.

    Models are trained now unless they are released or in the cache; those of the first seed are returned.
    """
    ours = {title: read_size(size, model=model) for model, title in compared_at(size, paper).items()}
    return {title: (ours[title], folder) for title, folder in zip(ours, trained_together(ours.values()), strict=True)}
