"""Material for tests: small vocabularies, sentences, models and configs, and a toy that is trained in a moment.

The first of the sentences is "There is a difference". Words are what they are in the text, or are cut into pieces.
"""

import os
import signal
from collections.abc import Callable, Iterable
from collections.abc import Sequence as Row
from dataclasses import asdict
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
import safetensors.torch
import torch
from running import WEIGHTS_FILE
from torch import Tensor, nn
from trees import Heads, all_trees, random_tree

from dtglib.basics.files import write_atomically
from dtglib.data.corpora import load
from dtglib.data.symbols import Symbols, arcs
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import Widths
from dtglib.decode.trie import computed, planned
from dtglib.families.base import Family, build, family, titles
from dtglib.network.transformer import LossPart, Transformer, TransformerConfig
from dtglib.parsing.trained import ParserConfig, Trained, entries_of
from dtglib.sequences.batches import by_length
from dtglib.sequences.columns import Sequences
from dtglib.sequences.compile import Arcs, compile_arrays
from dtglib.training.loop import train
from dtglib.training.schedule import TrainConfig
from dtglib.transitions import SYSTEMS
from dtglib.transitions.rows import MOST_REACH

# ---- Words and vocabularies


def symbols_in(kind: Family, config: object, treebank: Treebank) -> Symbols:
    """The reserved entries of the vocabularies of a family's models."""
    return kind.vocabulary(config, VOCABULARY, treebank).symbols


EXAMPLE = ["There", "is", "a", "difference"]  # with the heads THERE_IS_A_DIFFERENCE
VOCABULARY = Vocabulary.of_words([EXAMPLE])
FAR = Vocabulary.of_words([EXAMPLE], arcs(MOST_REACH))  # with all arcs that there are

TEXT = """
There is a difference
There was no difference between the differing opinions
The keys to the cabinets were on the table , she thought .
She thinks that the thinkers think that thinking is n't different .
He says that she said that the opinion of the keeper differs .
The keeper of the keys keeps the cabinet that was on the tables .
"""
SENTENCES = [line.split() for line in TEXT.strip().splitlines()] * 3
PIECES = 256 + 50

WORDS = ["the", "difference", "is", "theirs"]  # with `vocabulary("pieces")` three of them in pieces
LONG_WORD = "theirsthe"  # of many pieces, no two alike


@cache
def vocabulary(kind: str) -> Vocabulary:
    """With pieces many of the words below are cut in several; nothing here needs an arc beyond [9]."""
    return Vocabulary.train(SENTENCES, PIECES, arcs(9)) if kind == "pieces" else Vocabulary.of_words(SENTENCES, arcs(9))


# ---- Sentences with their trees

DIFFERENCE = (
    "# sent_id = one\n"
    "1\tThere\tthere\tPRON\tEX\t_\t2\texpl\t_\t_\n"
    "2\tis\tbe\tVERB\tVBZ\t_\t0\troot\t_\t_\n"
    "3\ta\ta\tDET\tDT\t_\t4\tdet\t_\t_\n"
    "4\tdifference\tdifference\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n"
    "\n"
)

FIRST_PIECE = 1000  # the pieces of a test's sentences are 1000, 1001, ...: no two are alike
Sentence = tuple[Heads, Row[int]]  # heads, and how many pieces every word has


def trees() -> list[tuple[list[str], Heads]]:
    """Trees of 1 to 10 words."""
    random = Random(3)
    words = sorted({word for sentence in SENTENCES for word in sentence})
    return [([random.choice(words) for _ in range(size)], random_tree(random, size)) for size in [*range(1, 11)] * 2]


def compiled(name: str, sentences: Row[Sentence]) -> Sequences:
    """Sentences of words that are cut into so many pieces, through a system's oracle and compile."""
    trees = [heads for heads, _ in sentences]
    pieces = np.array([count for _, counts in sentences for count in counts], np.int32)
    ids = np.arange(FIRST_PIECE, FIRST_PIECE + pieces.sum(), dtype=np.int32)
    return compile_arrays(SYSTEMS[name], Arcs.of(FAR), trees, ids, pieces)


def random_sentences(seed: int, count: int, most_words: int = 40, most_pieces: int = 4) -> list[Sentence]:
    random = Random(seed)
    sentences = []
    for number in range(count):
        words = 1 + number * most_words // count if number else most_words  # long ones and short ones, for certain
        pieces = tuple(random.randint(1, most_pieces) for _ in range(words))
        sentences.append((random_tree(random, words), pieces))
    return sentences


def small_sentences(most_words: int = 5) -> list[Sentence]:
    """All trees of a few words, of one piece each and of several."""
    trees = [heads for words in range(1, most_words + 1) for heads in all_trees(words)]
    return [(heads, ones_or_more[: len(heads)]) for heads in trees for ones_or_more in ((1,) * 5, (2, 1, 3, 1, 2))]


# ---- Models

# What the models of the paper read, and by which system, if they have one.
READING_OF = {
    name: build(TransformerConfig(name, layers=1, width=2, heads=1, inner=1), VOCABULARY).reading
    for name in titles("dtg")
}
READINGS = {name: reading.compile for name, reading in READING_OF.items()}
SYSTEM_OF = {name: reading.system.NAME for name, reading in READING_OF.items() if reading.has_trees}

DTG = ["dtg", "dtg-eager", "dtg-swift"]
SMALL = {"layers": 2, "width": 16, "heads": 2, "inner": 32}
ALL = Widths(10**6, 10**6, 0, 10**6)  # of a search in which nothing is pruned

# These share their code with DTG, which is tested first; slow tests catch what goes wrong in their systems alone.
LIKE_DTG = {"dtg-eager", "dtg-swift", "txl-trans"}


def by_model(cases: Iterable[str | tuple[str, ...]]) -> list:
    """Names of models, alone or with other values, as parameters; those of models like DTG are slow."""
    return [
        pytest.param(*case, marks=[pytest.mark.slow] * bool(LIKE_DTG & set(case)))
        for case in (case if isinstance(case, tuple) else (case,) for case in cases)
    ]


def by_kind(cases: Iterable[str | tuple[str, ...]]) -> list:
    """The same for code that does not know which system a model has: of those like DTG, arc-swift differs most.

    What such code is given by the other systems is compared with definitions elsewhere, in tests of every model.
    """
    return [case for case in by_model(cases) if not {"dtg-eager", "txl-trans"} & set(case.values)]


in_every_model = pytest.mark.parametrize("name", by_model(READINGS))
in_every_kind_of_model = pytest.mark.parametrize("name", by_kind(READINGS))
in_every_model_with_trees = pytest.mark.parametrize("name", list(SYSTEM_OF))
in_every_kind_of_model_with_trees = pytest.mark.parametrize("name", by_kind(SYSTEM_OF))
in_every_dtg = pytest.mark.parametrize("name", by_model(DTG))
in_every_system = pytest.mark.parametrize("name", SYSTEMS)
in_both_vocabularies = pytest.mark.parametrize("kind", ["pieces", "words"])
with_both_outputs = pytest.mark.parametrize("output", ["single", "factored"])


def small_model(name: str, speaks: Vocabulary | None = None, seed: int = 1, **config) -> Transformer:
    """Its weights are larger than those that training begins with, so that it has strong opinions."""
    torch.manual_seed(seed)
    model = build(TransformerConfig(**{**SMALL, "model": name, **config}), speaks or vocabulary("pieces"))
    with torch.no_grad():
        model.embedding.weight *= 3
        model.output.bias.normal_()
    return model


def joint_log_probs(model: Transformer, sequences: Sequences) -> Tensor:
    """log p(words, tree) of each compiled tree."""
    return computed(model, planned(sequences, model.embedding.weight.device, model.bias_of))


@cache
def model_of(name: str, kind: str = "pieces", output: str = "single") -> Transformer:
    return small_model(name, vocabulary(kind), output=output)


def never(model: Transformer, entry: int) -> Transformer:
    """The model, but that an entry has no probability."""
    with torch.no_grad():
        model.output.bias[entry] = -torch.inf
    return model


def saved_parser(folder: Path, seed: int = 3) -> Path:
    torch.manual_seed(seed)
    small = {"word_width": 8, "character_width": 4, "lstm_layers": 1, "lstm_width": 8, "arc_width": 8, "label_width": 4}
    parser = Trained("x", ParserConfig(**small), entries_of(load("minilang", "train", 20), 1))
    with torch.no_grad():  # supar begins with zeros
        parser.network.arc_attn.weight.normal_(std=5.0)
    parser.save(folder)
    return folder


# ---- Configs of a model and of a parser that are trained within a second

TINY = """
corpus: minilang
train_sentences: 40
dev_sentences: 10
model: dtg
layers: 2
width: 16
heads: 2
inner: 32
dropout: 0.1
epochs: 3
batch_positions: 256
learning_rate: 0.005
warmup_steps: 3
precision: float32
evaluate_every: 3
"""

CPU = torch.device("cpu")

TINY_PARSER = """
corpus: CORPUS
word_width: 8
character_width: 4
lstm_layers: 1
lstm_width: 8
arc_width: 8
label_width: 8
rarest: 1
epochs: 2
batch_positions: 128
learning_rate: 0.01
warmup_steps: 2
precision: float32
evaluate_every: 3
"""


TINY_SIZE = (
    TINY.replace("epochs: 3", "epochs: 1")
    + "test_sentences: 12\nscored_sentences: 6\ntrees: 5\nbeam: 2\nwithin: 2.0\nitems: 0.1\npairs: 0.005\n"
)


def tiny_repository(folder: Path) -> Path:
    """A repository, so that nothing lands in the runs/ of the real one."""
    for name in ("notebooks", "configs/parsers"):
        (folder / name).mkdir(parents=True)
    (folder / "configs" / "smoke.yaml").write_text(TINY_SIZE)
    for name in ("weak", "strong"):
        width = {"weak": 4, "strong": 8}[name]
        text = TINY_PARSER.replace("CORPUS", "minilang").replace("epochs: 2", "epochs: 1")
        (folder / "configs" / "parsers" / f"{name}.yaml").write_text(
            text.replace("arc_width: 8", f"arc_width: {width}")
        )
    return folder


# ---- A small model that knows twelve sentences by heart


class ByHeart(NamedTuple):
    """The network, what it has learnt, and the parts of its last loss."""

    network: nn.Module
    treebank: Treebank
    parts: dict[str, LossPart]


def by_heart(name: str, steps: int) -> ByHeart:
    """Train a model of a family on twelve sentences, all at once."""
    chosen, treebank = family(name), load("minilang", "train", 12)
    config = TransformerConfig(name, layers=2, width=32, heads=2, inner=64)
    vocabulary = Vocabulary.of_words([s.words for s in treebank.sentences], symbols_in(chosen, config, treebank))
    examples = chosen.examples(config, vocabulary, treebank, None)
    assert len(examples) == 12
    torch.manual_seed(1)
    network = build(config, vocabulary)
    optimizer = torch.optim.Adam(network.parameters(), 1e-2)
    batch = examples.batch(np.arange(12), 10**6, CPU)
    for _ in range(steps):
        nats, parts = network.loss(batch)
        optimizer.zero_grad()
        nats.backward()
        optimizer.step()
    return ByHeart(network.eval(), treebank, parts)


# ---- A toy of 54 numbers that is trained: which letter follows which

# 24 sentences in 6 batches: 12 steps, and a model that is evaluated, and saved, after every third.
CONFIG = TrainConfig(
    epochs=2, batch_positions=24, learning_rate=0.05, first_rate=1e-3, last_rate=1e-3, warmup_steps=2,
    precision="float32", evaluate_every=3,
)  # fmt: skip


class Letters:
    """Sentences of three to six letters, drawn at random; `taken` are the batches that a model was given.

    They are made ahead of time, so each has something that happens when its turn comes.
    """

    def __init__(self, count: int = 24, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.lengths = random.integers(3, 7, count)
        self.names = [f"letters-{number}" for number in range(count)]
        self.rows = [torch.as_tensor(random.integers(0, 6, length)) for length in self.lengths]
        self.taken: list[list[int]] = []

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        return by_length(self.lengths, positions, random, spread=np.inf)

    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> Tensor:
        rows = nn.utils.rnn.pad_sequence([self.rows[n] for n in numbers], batch_first=True, padding_value=-1).to(device)
        rows.happens, rows.positions = partial(self.take, numbers), rows.numel()
        return rows

    def take(self, numbers: np.ndarray) -> None:
        self.taken.append(np.asarray(numbers).tolist())


class Bigrams(nn.Module):
    """Which letter follows which. Half of what it knows is dropped, so that resuming has a random generator to get
    right."""

    def __init__(self, dropout: float = 0.5) -> None:
        super().__init__()
        self.embedding, self.dropout, self.out = nn.Embedding(6, 4), nn.Dropout(dropout), nn.Linear(4, 6)
        with torch.no_grad():
            for number, parameter in enumerate(self.parameters(), start=1):
                parameter.copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter) / number)

    def loss(self, batch: Tensor) -> tuple[Tensor, dict[str, LossPart]]:
        batch.happens()
        before, after = batch[:, :-1], batch[:, 1:]
        logits = self.out(self.dropout(self.embedding(before.clamp(min=0))))
        nats = nn.functional.cross_entropy(logits.flatten(0, 1), after.flatten(), ignore_index=-1, reduction="sum")
        return nats, {"transition": LossPart(nats, int((after >= 0).sum()))}

    def save(self, folder: Path) -> None:
        with write_atomically(folder / WEIGHTS_FILE, binary=True) as file:
            file.write(safetensors.torch.save(self.state_dict()))


class Judging(Letters):
    """Held-out letters that judge a model by its answers. `scores` are what comes out, one an evaluation."""

    def __init__(self, *scores: float, count: int = 8) -> None:
        super().__init__(count, seed=9)
        self.scores, self.asked = list(scores), []

    def judged(self, answers: np.ndarray) -> dict[str, float]:
        self.asked.append(answers)
        return {"likeness": self.scores.pop(0), "mean": float(answers.mean())}


class Answering(Bigrams):
    """It answers with the sum of a sentence's letters."""

    def answers(self, batch: Tensor) -> Tensor:
        return batch.clamp(min=0).sum(1).float()


class Ends(Letters):
    """Letters that end the run at the `at`-th batch: by a signal, or by an exception where none is named."""

    def __init__(self, at: int, by: signal.Signals | None = None) -> None:
        super().__init__()
        self.at, self.by = at, by

    def take(self, numbers: np.ndarray) -> None:
        super().take(numbers)
        if len(self.taken) == self.at:
            if self.by is None:
                raise RuntimeError("the power is gone")
            os.kill(os.getpid(), self.by)


class Bad(Letters):
    """The sentence of that number is marked, for `Fragile` to stumble over."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.rows[number] = torch.cat([torch.tensor([-1]), self.rows[number][1:]])


class Fragile(Bigrams):
    """It adds to the loss of a batch with the marked sentence."""

    def __init__(self, trouble: Callable[[nn.Module], Tensor]) -> None:
        super().__init__()
        self.trouble = trouble

    def loss(self, batch: Tensor) -> tuple[Tensor, dict[str, LossPart]]:
        nats, parts = super().loss(batch)
        return (nats + self.trouble(self) if (batch[:, 0] < 0).any() else nats), parts


def run(folder: Path, config: TrainConfig = CONFIG, model: nn.Module | None = None, **other) -> nn.Module:
    """Train the toy, or go on with it."""
    model = model or Bigrams()
    other = {"data": Letters(), "held_out": Letters(8, seed=9), "seed": 1, "identity": asdict(config), **other}
    train(model, config=config, folder=folder, **other)
    return model
