"""Families of models that exist only here: they show that a guest needs no edit in the package.

FIRST_LETTER reads <ROOT> and the words, each with up to two silent marks before it (one for every vowel of the word, as
far as two go). Its attention has a bias by the first letter of the word that is looked at; its loss has a second part,
that letter, asked at a random half of the positions; its training has momentum, a rate that falls where the held-out
loss does not, and two groups that are clipped apart; and its stepper reads every row anew.

    There is a difference     <ROOT> POP POP There POP is POP a POP POP difference POP POP <END>

NOT_SEARCHED is the same network as a family without left-to-right probabilities.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import END, MARK, PAD, ROOT, Vocabulary
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.families.base import Family, Likelihood
from dtglib.network.output import Legal
from dtglib.network.search_output import some_of
from dtglib.network.transformer import (
    Batch,
    LayerInputs,
    LossPart,
    Readable,
    Transformer,
    TransformerConfig,
    batch_of,
)
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import NOTHING, STACK, Compiled, Sequences
from dtglib.sequences.readings import causal
from dtglib.sequences.structure import Shared, dense
from dtglib.training.examples import Examples
from dtglib.training.schedule import TrainConfig
from dtglib.transitions.protocol import OPEN
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, MAY_POP

MOST_MARKS = 2
LETTERS = 27  # and one for whatever is none
SLOW = 0.996  # the rate is halved where a held-out loss is more than this times the one before


# ---- The first family: what it reads


def marks_before(word: str) -> int:
    return min(MOST_MARKS, sum(letter in "aeiou" for letter in word.lower()))


def compile_symbols(vocabulary: Vocabulary, rows: Iterable[Sequence[int]]) -> Sequences:
    """Sequences of symbols, marks among them, each with what comes next; the last symbol is followed by <END>."""
    mark = vocabulary.transition("POP")
    columns, lengths = [], []
    for row in rows:
        whole = [ROOT, *row, END]
        lengths.append(len(whole) - 1)
        marks = words = 0
        for symbol, following in itertools.pairwise(whole):
            marks = marks + 1 if symbol == mark else 0
            words += bool(vocabulary.starts_word[symbol])
            may = MAY_GENERATE | (MAY_POP if marks < MOST_MARKS else 0) | (MAY_END if words else 0)
            is_mark = symbol == mark
            columns.append((NOTHING if is_mark else symbol, mark if is_mark else NOTHING, following, may))
    token, arc, target, may = np.array(columns, np.int32).T
    none = np.zeros_like(token)
    filled = {"token": token, "arc": arc, "kind": none + STACK, "word": none + NOTHING, "target": target, "may": may}
    vectors = Compiled(**{name: filled.get(name, none) for name in Compiled._fields})
    return causal(Sequences(vectors, np.concatenate([[0], np.cumsum(lengths)])))


def symbols_of(vocabulary: Vocabulary, words: Sequence[str]) -> list[int]:
    """A word-level sentence with its marks; before the end there are two."""
    mark = vocabulary.transition("POP")
    found = []
    for word in words:
        found += [mark] * marks_before(word) + list(vocabulary.encode([word]).ids)
    return found + [mark] * MOST_MARKS


# ---- The first family: the network


@dataclass(frozen=True)
class FirstLetterConfig(TransformerConfig):
    model: str = "toy_families:FIRST_LETTER"
    layers: int = 1
    width: int = 16
    heads: int = 2
    inner: int = 32
    letter_weight: float = 0.5


@dataclass(frozen=True)
class FirstLetterTraining(TrainConfig):
    momentum: float = 0.9
    letter_clip: float = 1.0

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        groups = [{"params": group, "times": 1.0} for group in self.clipped_together(model)]
        return torch.optim.SGD(groups, lr=self.learning_rate, momentum=self.momentum)

    def rate(self, step: int, steps: int, dev: Sequence[float]) -> float:
        falls = sum(later > SLOW * earlier for earlier, later in itertools.pairwise(dev))
        return self.learning_rate / 2**falls

    def clipped_together(self, model: nn.Module) -> list[list[nn.Parameter]]:
        own = {id(parameter) for parameter in (model.letter_bias, *model.letter_head.parameters())}
        parameters = list(model.parameters())
        return [[p for p in parameters if (id(p) in own) == is_own] for is_own in (False, True)]


def letters_of(vocabulary: Vocabulary) -> Tensor:
    """The first letter of every entry of the vocabulary, as a number."""
    first = [entry.removeprefix(MARK)[:1].lower() if entry.startswith(MARK) else "" for entry in vocabulary.entries]
    return torch.tensor([1 + ord(letter) - ord("a") if "a" <= letter <= "z" else 0 for letter in first])


class FirstLetter(Transformer):
    def __init__(self, config: FirstLetterConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.letter_bias = nn.Parameter(torch.linspace(-1, 1, LETTERS).expand(config.heads, LETTERS).clone())
        self.letter_head = nn.Linear(config.width, LETTERS)
        self.register_buffer("letters", letters_of(vocabulary), persistent=False)

    def layer_inputs(self, batch: Readable) -> LayerInputs:
        """A bias by the letter of the position that is looked at; the shared positions of a trie are gathered."""
        letters = self.letters[batch.token.masked_fill(batch.token == NOTHING, PAD).long()]  # B T
        if isinstance(batch.structure, Shared):
            letters = letters.flatten()[batch.structure.keys]
        bias = self.letter_bias[:, letters].transpose(0, 1)[:, :, None]  # B H 1 S
        rows = batch.token.shape[1]
        return super().layer_inputs(batch)._replace(bias=bias.expand(-1, -1, rows, -1))

    def loss(self, batch: Batch) -> tuple[Tensor, dict[str, LossPart]]:
        x = self(batch).flatten(0, 1)[batch.predicts]
        log_probs = self.output(x, self.embedding.weight, batch.legal).gather(1, batch.target[:, None])
        asked = (torch.rand(len(batch.target)) < 0.5).to(x.device)  # drawn anew in every step and evaluation
        letters = self.letters[batch.target]
        letter = nn.functional.cross_entropy(self.letter_head(x)[asked], letters[asked], reduction="sum")
        symbols = -log_probs.sum()
        parts = {"symbol": LossPart(symbols, len(batch.target)), "letter": LossPart(letter, int(asked.sum()))}
        return symbols + self.config.letter_weight * letter, parts

    def stepper(self) -> "Rereading":
        return Rereading(self)


# ---- The first family: its stepper, and the probabilities of sentences


class Rows(NamedTuple):
    """Derivations, as all their symbols: nothing is kept of what was computed."""

    symbols: tuple[tuple[int, ...], ...]


class Rereading:
    in_words = False

    def __init__(self, model: FirstLetter) -> None:
        self.model, self.device = model, model.embedding.weight.device
        self.silent = np.array([model.vocabulary.transition("POP")])

    def init(self, most_words: int) -> Rows:
        return Rows(((),))

    @torch.no_grad()
    def log_probs(self, state: Rows) -> Tensor:
        sequences = compile_symbols(self.model.vocabulary, state.symbols)
        compiled = pad(sequences, range(len(sequences)))
        batch = batch_of(compiled, dense, self.device)
        last = torch.from_numpy(np.diff(sequences.starts) - 1).to(self.device)
        x = self.model(batch)[torch.arange(len(last), device=self.device), last]
        may = torch.from_numpy(compiled.may).to(self.device)[torch.arange(len(last)), last]
        return self.model.output(x, self.model.embedding.weight, Legal(may, may * 0, may * 0))

    def some_log_probs(self, state: Rows, symbols: Tensor) -> tuple[Tensor, Tensor]:
        return some_of(self.log_probs(state), symbols, self.model.output.classes)

    def leads_on(self, state: Rows, to_end: np.ndarray) -> np.ndarray:
        return np.ones((len(state.symbols), 1), bool)

    def step(self, state: Rows, rows: np.ndarray, symbols: np.ndarray, waiting: Sequence[Rows] = ()) -> Rows:
        return Rows(tuple((*state.symbols[row], int(symbol)) for row, symbol in zip(rows, symbols, strict=True)))

    def choose(self, state: Rows, rows: np.ndarray) -> Rows:
        return Rows(tuple(state.symbols[row] for row in rows))

    def join(self, states: Sequence[Rows]) -> Rows:
        return Rows(tuple(row for state in states for row in state.symbols))

    def tree(self, state: Rows, row: int) -> np.ndarray:
        return np.full(sum(self.model.vocabulary.starts_word[list(state.symbols[row])]), OPEN)

    def visible(self, state: Rows, row: int) -> np.ndarray:
        return np.arange(1, len(self.tree(state, row)) + 1)

    def most_silent(self, words: int) -> int:
        return MOST_MARKS


def joint(model: FirstLetter, sentences: Sequence[Sentence], trees: None) -> Iterator[SentenceScore]:
    """log p of each sentence with its own marks: a bound, because other marks have a probability, too."""
    for words in (sentence.words for sentence in sentences):
        sequences = compile_symbols(model.vocabulary, [symbols_of(model.vocabulary, words)])
        with torch.no_grad():
            log_prob = float(model.log_probs(batch_of(pad(sequences, [0]), dense)).double().sum())
        yield SentenceScore(len(words), len(words), 1, log_prob, None)


def first_letter_examples(config: Any, vocabulary: Vocabulary, treebank: Treebank, longest: int | None) -> Examples:
    sentences = treebank.sentences
    sequences = compile_symbols(vocabulary, [symbols_of(vocabulary, sentence.words) for sentence in sentences])
    return Examples(sequences, [sentence.id for sentence in sentences], Counter(), [])


FIRST_LETTER = Family(
    name="first-letter",
    title="First letter",
    paper="none",
    config=FirstLetterConfig,
    build=FirstLetter,
    examples=first_letter_examples,
    likelihood=Likelihood("log p with marks", is_exact=False, sums_over_trees=False, scores=joint),
    training=FirstLetterTraining,
)


# ---- The second family: no left-to-right model


NOT_SEARCHED = replace(
    FIRST_LETTER,
    name="not-searched",
    title="Not searched",
    likelihood=Likelihood("pseudo-log-likelihood", False, False, scores=joint, is_searched=False, is_pseudo=True),
)
