"""The stepper of GiLT: words, and with each of them the number of its arcs (section 3.5).

    There  ARCS=0  is  ARCS=2  a  ARCS=0  differ  ARCS=2  ence

The first piece of a word takes no position yet. It waits for its arcs: their number is a symbol, with the probability
that the scorer gives it, and those of the possible arcs that the scorer likes best are added to the graph. Then the
piece is read, with the tape after it. So the probability of a sentence sums over sequences of numbers.

This is the representation ahead of time (RA). With the others, a word's arcs come after pieces that are read already:
see later.py.

The scorer reads of each word the vectors of a position, after two layers; they are kept by slot, as keys and values
are. `level` in the cache is the word of each position.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.jit import njit
from dtglib.basics.shapes import Bool, Float, Int
from dtglib.decode.sequence_stepper import Hypotheses
from dtglib.decode.stack_rows import Cache, Looks, read_position
from dtglib.network.transformer import Transformer
from dtglib.sequences.columns import NOTHING
from dtgpapers.decisions.stepper import DecisionStepper
from dtgpapers.gilt.attention import Tape
from dtgpapers.gilt.proposals import NewestWords, Proposed, proposed
from dtgpapers.gilt.scorer import Cells
from dtgpapers.gilt.tape import DEPTHS, FEATURES, Growing, add, growing, look

GOES_ON, BEGINS = -1, -2


class Growth(NamedTuple):
    """Sentences with their graphs so far, a row each."""

    words: np.ndarray  # (rows,): how many have begun
    pending: np.ndarray  # (rows,): whether the number of the last word's arcs is not decided
    piece: np.ndarray  # (rows, room): the first piece of each word
    slot: np.ndarray  # (rows, room): where the scorer finds what it reads of each word
    number: np.ndarray  # (rows, K + 1): the log-probability of each number of arcs of the last word
    head: np.ndarray  # (rows, K): its possible arcs, the best ones first
    dependent: np.ndarray
    # The columns of tape.Growing.
    arc: np.ndarray
    following: np.ndarray
    latest: np.ndarray
    count: np.ndarray  # type: ignore[assignment]
    degree: np.ndarray
    has_head: np.ndarray

    @property
    def graphs(self) -> Growing:
        """The graphs; they share memory with this record."""
        return Growing(**{name: getattr(self, name) for name in Growing._fields})


class GraphStepper(DecisionStepper):
    """A `Gilt` (model.py) for one search."""

    facts = len(FEATURES)

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        vocabulary = model.vocabulary
        self.depth_from_root = DEPTHS[model.config.depth]
        # Which number of arcs each symbol is, or BEGINS or GOES_ON for pieces.
        self.number_of = np.where(vocabulary.starts_word, BEGINS, GOES_ON)
        self.number_of[self.silent] = np.arange(len(self.silent))
        self.read = model.embedding.weight.new_empty((0, 2 * model.config.width))  # by slot: what the scorer reads

    # ---- Rules

    def start(self, most_words: int) -> Growth:
        """Nothing is written."""
        most = self.model.config.most_arcs
        graphs = growing(1, most_words, min(most, most_words) * most_words)
        piece, slot = np.zeros((2, 1, most_words), np.int32)
        number = np.full((1, most + 1), -np.inf, np.float32)
        head, dependent = np.full((2, 1, most), NOTHING, np.int32)
        return Growth(
            words=np.zeros(1, np.int32),
            pending=np.zeros(1, bool),
            piece=piece,
            slot=slot,
            number=number,
            head=head,
            dependent=dependent,
            **graphs._asdict(),
        )

    def is_pending(self, states: Growth) -> Bool[np.ndarray, " rows"]:
        """True where the number of the last word's arcs is not decided."""
        return states.pending

    def words(self, states: Growth) -> Int[np.ndarray, " rows"]:
        """The number of words that have begun."""
        return states.words

    def room(self, states: Growth) -> int:
        """The largest number of words."""
        return states.piece.shape[1]

    def decisions(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """The log-probabilities of numbers of arcs."""
        log_probs = torch.full((len(hypotheses), len(self.model.vocabulary)), -torch.inf, device=self.device)
        log_probs[:, self._there(self.silent)] = self._numbers(hypotheses)
        return log_probs

    def _numbers(self, hypotheses: Hypotheses) -> Float[Tensor, "rows K"]:
        return self._there(hypotheses.states.number)

    def tree(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The arcs, each as its head and its dependent."""
        states = hypotheses.states
        return states.arc[row, : states.count[row]].reshape(-1).astype(np.int64)

    # ---- Steps

    @torch.no_grad()
    def step(
        self, hypotheses: Hypotheses, rows: np.ndarray, symbols: np.ndarray, waiting: Sequence[Hypotheses] = ()
    ) -> Hypotheses:
        """New rows out of old ones; the arcs of words that have begun are scored."""
        stepped = super().step(hypotheses, rows, symbols, waiting)
        (asked,) = np.nonzero(self.asks(symbols))
        if len(asked):
            self.propose(stepped, asked)
        return stepped

    def asks(self, symbols: np.ndarray) -> Bool[np.ndarray, " rows"]:
        """True for symbols after which the scorer is asked for the arcs of the last word."""
        return self.number_of[symbols] == BEGINS

    def advance(self, states: Growth, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Take the symbol of every row."""
        reads = self.copies(symbols) > 0
        _advance(states, cache, symbols, self.number_of[symbols], reads, self.depth_from_root, first, looks)

    def propose(self, hypotheses: Hypotheses, rows: np.ndarray) -> None:
        """Score the possible arcs of last words, and write down the best ones and their numbers' odds."""
        states, cache = hypotheses.states, hypotheses.cache
        words = states.words[rows]
        states.slot[rows, words - 1] = cache.slot[rows, cache.filled[rows] - 1]
        is_word = np.arange(words.max()) < words[:, None]
        of_words = [column[rows, : words.max()][is_word] for column in (states.slot, states.piece)]
        known, node = np.unique(np.stack(of_words), axis=1, return_inverse=True)
        first = 0 if self.model.config.root_arcs else 1
        newest = NewestWords(rows, np.cumsum(words) - words, node.reshape(-1) + 1, words, first)
        cells = proposed(states.graphs, newest, self.depth_from_root)
        self._write(states, rows, cells, *self._scored(known, cells, int(words.max())))

    def _scored(self, known: np.ndarray, found: Proposed, farthest: int) -> tuple[np.ndarray, np.ndarray]:
        """The scores of cells, whose words are given as slots and first pieces."""
        cells = Cells(*map(self._there, (*found.columns, *found.features)))
        logits, numbers = self.model.scorer(
            self.represented(*self._there(known).long()), cells, len(found.sizes), farthest
        )
        return logits.float().cpu().numpy(), numbers.cpu().numpy()

    def represented(self, slot: Int[Tensor, " W"], piece: Int[Tensor, " W"]) -> Float[Tensor, "W w"]:
        """The vectors of each word that the scorer reads: the position before it, and its first piece."""
        return torch.cat([self.read[slot], self.model.embedding(piece)], dim=1)

    def _write(
        self, states: Growth, rows: np.ndarray, found: Proposed, logits: np.ndarray, numbers: np.ndarray
    ) -> None:
        # The cells in the order of their rows, and then of their scores.
        order, sizes = np.lexsort((-logits, found.columns[2])), found.sizes
        rank = np.arange(len(order)) - np.repeat(sizes.cumsum() - sizes, sizes)
        is_kept = rank < states.head.shape[1]
        where = np.repeat(rows, sizes)[is_kept], rank[is_kept]
        states.head[where], states.dependent[where] = found.arc[:, order[is_kept]]
        states.number[rows] = np.where(np.arange(numbers.shape[1]) <= sizes[:, None], numbers, -np.inf)

    def bias(self, token: Int[Tensor, " N"], seen: Int[Tensor, "N S"], facts: Int[Tensor, "N S F"]) -> Tape:
        """The tape, as the layers want it."""
        return self.model.tape(facts.transpose(1, 2)[:, :, None])

    def keep(self, slot: Int[Tensor, " N"], states: list[Float[Tensor, "N d"]]) -> None:
        """Keep the vectors of new positions that the scorer reads."""
        self.read = self.pool.fitted(self.read)
        layers = self.model.config.layers
        self.read[slot] = torch.cat([states[layers // 2], states[layers - 1]], dim=1).to(self.read.dtype)


@njit
def _advance(states, cache, symbols, numbers, reads, depth_from_root, first, looks):
    """Let words begin, add the arcs of words whose number is decided, and read pieces."""
    tape = np.zeros((looks.facts.shape[2], states.latest.shape[1]), np.int16)
    for row in range(len(first)):
        token = symbols[row]
        if numbers[row] == BEGINS:
            states.piece[row, states.words[row]] = token
            states.words[row] += 1
            states.pending[row] = True
        elif numbers[row] != GOES_ON:
            token = states.piece[row, states.words[row] - 1]
            states.pending[row] = False
            for n in range(numbers[row]):
                add(states, row, states.head[row, n], states.dependent[row, n])
        if not reads[row]:
            continue
        at, place, word = first[row], cache.filled[row], states.words[row]
        # Words are seen in the graph once their arcs are in it.
        known = word - 1 if states.pending[row] else word
        look(states, row, known, depth_from_root, tape)
        cache.level[row, place] = word
        for j in range(place + 1):
            if j < place:
                looks.seen[at, j], looks.relpos[at, j] = cache.slot[row, j], place - j
            if 0 < cache.level[row, j] <= known:
                for fact in range(len(tape)):  # for slices numba would compile the text of an error
                    looks.facts[at, j, fact] = tape[fact, cache.level[row, j]]
        looks.count[at] = place
        read_position(looks, at, token, NOTHING)
        cache.slot[row, place] = looks.slot[at]
        cache.filled[row] += 1
