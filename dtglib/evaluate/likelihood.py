"""The probability of a sentence: together with one tree, summed over trees, or by a model without trees.

    >>> from dtglib.families.base import build
    >>> from dtglib.network.transformer import TransformerConfig
    >>> from dtglib.data.vocabulary import Vocabulary
    >>> words = ["There", "is", "a", "difference"]
    >>> _ = torch.manual_seed(1)
    >>> model = build(TransformerConfig(layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> scored = score_trees(model, words, [(2, 0, 4, 2), (0, 1, 4, 2)])      # log p(words, tree) of each tree
    >>> bool(scored.bound > scored.log_probs.max())     # log of their sum, which is at most log p(words)
    True
    >>> scored.posterior.round(2), scored.best          # p(tree | words) among these trees; also .entropy
    (array([0.86, 0.14]), array([2, 0, 4, 2]))

For a model with trees, p(words) is the sum over all trees (and over all derivations of a tree; here only the oracle's
derivation counts). All trees of a few words can be enumerated: `all_trees`. For more words, the sum over different
trees is a lower bound. TXL (tokens) has no trees, and its log p(words) is exact: `score_words`. All numbers
are nats, as float64.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from dtglib.basics.errors import require, require_probabilities
from dtglib.basics.shapes import Float
from dtglib.decode.trie import Planned, computed, planned
from dtglib.decode.word_by_word import entropy_of
from dtglib.network.transformer import Transformer, batch_of
from dtglib.parsing.projective import best_trees, how_many
from dtglib.sequences.batches import by_length, pad
from dtglib.sequences.columns import Compiled
from dtglib.sequences.readings import within_reach
from dtglib.sequences.structure import Structure, dense
from dtglib.training.prefetch import ahead

# Positions per batch, padding included; the GPU's number was not measured.
POSITIONS = {"cpu": 2**11, "cuda": 2**13}
# Sentences per batch of tries. For 300 trees of nine words an H200 took 15 ms, most of which it waited for the next
# instruction; a batch of several sentences needs no more instructions than one sentence. The gain was not measured.
SENTENCES = {"cpu": 1, "cuda": 4}
MOST_WORDS = 8  # the longest sentence whose trees are enumerated: there are 21,318 trees of 8 words, 120,175 of 9


class Scored(NamedTuple):
    """Trees of one sentence, and log p(words, tree) of each."""

    trees: np.ndarray  # (trees, words)
    log_probs: np.ndarray

    @property
    def bound(self) -> float:
        """The logarithm of the sum over these trees, at most log p(words). The trees must be different."""
        return float(np.logaddexp.reduce(self.log_probs))

    @property
    def posterior(self) -> np.ndarray:
        """The probability of each tree, given the words and that the tree is one of these."""
        return np.exp(self.log_probs - max(self.bound, -1e300))  # all 0 if no tree is possible

    @property
    def entropy(self) -> float:
        """The entropy of the posterior, in nats."""
        return entropy_of(self.posterior)

    @property
    def best(self) -> np.ndarray:
        """The most probable tree."""
        return self.trees[self.log_probs.argmax()]


def score_trees(model: Transformer, words: Sequence[str], trees: Sequence[Sequence[int]] | np.ndarray) -> Scored:
    """log p(words, tree) for each row of heads, or of heads and the numbers of labels (sequences/labelled.py)."""
    (scored,) = score_many(model, [(words, np.asarray(trees))])
    return scored


def score_many(model: Transformer, sentences: Iterable[tuple[Sequence[str], np.ndarray]]) -> Iterator[Scored]:
    """`score_trees` for pairs of words and trees; a GPU scores some sentences while the next ones are compiled."""
    device, left = model.embedding.weight.device, iter(sentences)
    batches = iter(lambda: list(islice(left, SENTENCES[device.type])), [])
    for plan in ahead((_plan(model, batch) for batch in batches), device):
        log_probs = np.full(sum(map(len, plan.trees)), -np.inf)
        log_probs[plan.within] = computed(model, plan.tries).numpy()
        require_probabilities(log_probs)
        ends = np.cumsum([len(trees) for trees in plan.trees])
        for trees, of_sentence in zip(plan.trees, np.split(log_probs, ends[:-1]), strict=True):
            yield Scored(trees, of_sentence)


class _Plan(NamedTuple):
    """The part of scoring that needs no network: which of all trees are within reach, and their tries."""

    trees: list[np.ndarray]  # of each sentence
    within: np.ndarray
    tries: list[Planned]


def _plan(model: Transformer, sentences: Sequence[tuple[Sequence[str], np.ndarray]]) -> _Plan:
    _require_sequences(model)
    require(model.reading.has_trees, f"{model.config.model} has no trees that could be scored; use score_words")
    for words, _ in sentences:
        require(len(words), "a sentence without words has no probability; leave it out")
    pairs = [(words, heads) for words, trees in sentences for heads in trees.tolist()]
    sequences, within = within_reach(model.reading, model.vocabulary, pairs)
    tries = planned(sequences, model.embedding.weight.device, model.bias_of)
    return _Plan([trees for _, trees in sentences], within, tries)


@torch.no_grad()
def score_positions(
    model: Transformer,
    sentences: Sequence[tuple[Sequence[str], Sequence[int]]],
    edit: Callable[[Structure, Compiled], Structure] | None = None,
) -> tuple[Compiled, Float[np.ndarray, "B T"]]:
    """The padded sequences of words with a tree each, and the log-probability of what each position predicts, or NaN.

    An edit changes what the positions see, or at which relative position, before the model reads the sequences, in
    one batch.
    """
    rows = pad(model.reading.compile(model.vocabulary, sentences), np.arange(len(sentences)))
    form = (lambda vectors: edit(dense(vectors), rows)) if edit else dense
    batch = batch_of(rows, form, model.embedding.weight.device)
    log_probs = np.full(rows.token.shape, np.nan)
    log_probs.flat[batch.predicts.cpu()] = predicted = model.log_probs(batch).double().cpu().numpy()
    require_probabilities(predicted)
    return rows, log_probs


@torch.no_grad()
def score_words(model: nn.Module, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """log p(words) of each sentence, by a model without trees."""
    _require_sequences(model)
    without_trees = f"{model.config.model} has trees, over which its probabilities must be summed; use score_trees"
    require(not model.reading.has_trees, without_trees)
    if not sentences:
        return np.empty(0)
    sequences = model.reading.compile(model.vocabulary, [(words, None) for words in sentences])
    totals = np.empty(len(sequences))
    device = model.embedding.weight.device
    for numbers in by_length(sequences.lengths, POSITIONS[device.type], np.random.default_rng(0)):
        batch = batch_of(pad(sequences, numbers), dense, device)
        log_probs = model.log_probs(batch).double().cpu().numpy()
        rows = (batch.predicts // batch.token.shape[1]).cpu().numpy()
        totals[numbers] = np.bincount(rows, log_probs, minlength=len(numbers))
    require_probabilities(totals)
    return totals


def _require_sequences(model: nn.Module) -> None:
    no_sequences = "does not predict symbol by symbol; use the likelihood of its family"
    require(hasattr(model, "reading"), f"{model.config.model} {no_sequences}")


def all_trees(words: int) -> np.ndarray:
    """Every projective tree with one root of a few words."""
    require(1 <= words <= MOST_WORDS, f"trees of at most {MOST_WORDS} words can be enumerated, not of {words} words")
    return best_trees(np.zeros((words + 1, words + 1)), how_many(words)).heads
