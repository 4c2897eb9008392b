"""What a model says of a sentence: with a tree, with many, and without any.

    >>> from dtglib.model import ModelConfig
    >>> from dtglib.vocab import Vocabulary
    >>> words = ["There", "is", "a", "difference"]
    >>> _ = torch.manual_seed(1)
    >>> model = Model(ModelConfig(layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> scored = score_trees(model, words, [(2, 0, 4, 2), (0, 1, 4, 2)])      # log p(words, tree) of each tree
    >>> bool(scored.bound > scored.log_probs.max())     # log of their sum, which is at most log p(words)
    True
    >>> scored.posterior.round(2), scored.best          # p(tree | words) among these trees; also .entropy
    (array([0.86, 0.14]), array([2, 0, 4, 2]))

A model with trees gives a sentence the sum over all its trees (and derivations; the oracle's one derivation a tree is
what is counted here). Of a few words all trees can be enumerated: `all_trees`. Of more, the sum over different trees is
a bound from below; and trees that are drawn with replacement from a distribution q give an estimate that is right on
average: the mean of p(words, tree) / q(tree). TXL (tokens) has no trees, and its log p(words) is exact: `score_words`.

All numbers are nats, as float64.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from dtglib.ahead import ahead
from dtglib.batches import by_length, pad
from dtglib.decode.trie import Planned, computed, planned
from dtglib.errors import require, require_probabilities
from dtglib.model import Model, batch_of
from dtglib.proposals.projective import best_trees, how_many
from dtglib.readings import READINGS, SYSTEM_OF, within_reach
from dtglib.structure import dense

POSITIONS = 2048  # that are scored at once, padding included
MOST_WORDS = 8  # of a sentence whose trees are all enumerated; there are 21,318 of 8 words, 120,175 of 9


class Scored(NamedTuple):
    """Trees of one sentence, and log p(words, tree) of each."""

    trees: np.ndarray  # (trees, words)
    log_probs: np.ndarray

    @property
    def bound(self) -> float:
        """The logarithm of the sum over these trees: log p(words), or less. No tree may be there twice."""
        return float(np.logaddexp.reduce(self.log_probs))

    @property
    def posterior(self) -> np.ndarray:
        """The probability of each tree, given the words, if there were no others."""
        return np.exp(self.log_probs - max(self.bound, -1e300))  # of what cannot be: nothing

    @property
    def entropy(self) -> float:
        """How undecided the posterior is, in nats."""
        likely = self.posterior[self.posterior > 0]
        return float(-(likely * np.log(likely)).sum())

    @property
    def best(self) -> np.ndarray:
        """The most probable tree."""
        return self.trees[self.log_probs.argmax()]


class Estimate(NamedTuple):
    """An estimate of log p(words), with an interval of 1.96 standard errors.

    It would hold the truth in 95 of 100 cases if the weights p / q had no heavy tail. They mostly have one, because q
    seldom draws some trees that p likes, and what was not drawn cannot widen the interval: of small models and short
    sentences it held the truth in 60 to 75 of 100. Where all draws are of one tree, its width is 0, and means nothing.
    """

    log_prob: float
    low: float
    high: float
    effective_samples: float  # so many samples from the posterior itself (of the rest) would be as good; 0: none seen


def score_trees(model: Model, words: Sequence[str], trees: Sequence[Sequence[int]] | np.ndarray) -> Scored:
    """log p(words, tree) for each row of heads."""
    return _scored(model, _plan(model, words, trees))


def score_many(model: Model, asked: Iterable[tuple[Sequence[str], np.ndarray]]) -> Iterator[Scored]:
    """The same for many sentences with their trees, which are compiled while a GPU computes those before."""
    plans = (_plan(model, words, trees) for words, trees in asked)
    for plan in ahead(plans, model.embedding.weight.device):
        yield _scored(model, plan)


class _Plan(NamedTuple):
    """All that can be found out of a sentence's trees without computing: which have a probability, and their tries."""

    trees: np.ndarray
    within: np.ndarray
    tries: list[Planned]


def _plan(model: Model, words: Sequence[str], trees: Sequence[Sequence[int]] | np.ndarray) -> _Plan:
    name = model.config.model
    require(name in SYSTEM_OF, f"{name} has no trees that could be scored; ask score_words")
    require(len(words), "a sentence without words has no probability; leave it out")
    trees = np.asarray(trees)
    pairs = [(words, heads) for heads in trees.tolist()]
    sequences, within = within_reach(READINGS[name], model.vocabulary, pairs)
    return _Plan(trees, within, planned(sequences, model.embedding.weight.device))


def _scored(model: Model, plan: _Plan) -> Scored:
    log_probs = np.full(len(plan.trees), -np.inf)
    log_probs[plan.within] = computed(model, plan.tries).numpy()
    require_probabilities(log_probs)
    return Scored(plan.trees, log_probs)


@torch.no_grad()
def score_words(model: Model, sentences: Sequence[Sequence[str]]) -> np.ndarray:
    """log p(words) of each sentence, by a model without trees."""
    name = model.config.model
    require(name not in SYSTEM_OF, f"{name} has trees, over which its probabilities must be summed; ask score_trees")
    if not sentences:
        return np.empty(0)
    sequences = READINGS[name](model.vocabulary, [(words, None) for words in sentences])
    found = np.empty(len(sequences))
    device = model.embedding.weight.device
    for numbers in by_length(np.diff(sequences.starts), POSITIONS, np.random.default_rng(0)):
        batch = batch_of(pad(sequences, numbers), dense, device)
        log_probs = model.log_probs(batch).double().cpu().numpy()
        rows = (batch.predicts // batch.token.shape[1]).cpu().numpy()
        found[numbers] = np.bincount(rows, log_probs, minlength=len(numbers))
    require_probabilities(found)
    return found


def all_trees(words: int) -> np.ndarray:
    """Every projective tree with one root of a few words."""
    require(
        1 <= words <= MOST_WORDS, f"the trees of {words} words are too many; at most {MOST_WORDS} words can be asked"
    )
    return best_trees(np.zeros((words + 1, words + 1)), how_many(words)).heads


def importance_estimate(log_p: np.ndarray, log_q: np.ndarray, known: float = -math.inf) -> Estimate:
    """log p(words) from trees drawn with replacement from q: log p(words, tree) and log q(tree) of each.

    `known` is the log of a sum over trees that need no estimating. Draws of these must come with log p = -inf, so that
    what is estimated is the rest; where all draws are of these, nothing is known of the rest.
    """
    require(len(log_p) == len(log_q) > 1, "an estimate needs two samples at least, and both probabilities of each")
    ratios = np.asarray(log_p, np.float64) - log_q
    largest = max(float(ratios.max()), known)
    if largest == -np.inf:
        return Estimate(-math.inf, -math.inf, -math.inf, 0.0)
    weights = np.exp(ratios - largest)
    total = weights.mean() + math.exp(known - largest)
    # Of the logarithm, by its slope at the mean.
    margin = float(1.96 * weights.std(ddof=1) / math.sqrt(len(weights)) / total)
    log_prob = float(largest + np.log(total))
    effective = float(weights.sum() ** 2 / (weights**2).sum()) if weights.any() else 0.0
    return Estimate(log_prob, log_prob - margin, log_prob + margin, effective)
