"""The stepper of GiLT: words, and after the first piece of each the number of its arcs (section 3.5).

    There  ARCS=0  is  ARCS=2  a  ARCS=0  differ  ARCS=2  ence

The first piece of a word takes no position yet. It waits for its arcs: their number is a symbol, with the probability
that the scorer gives it, and those of the possible arcs that the scorer likes best are added to the graph. Then the
piece is read, with the tape after it. So the probability of a sentence sums over sequences of numbers, of which only
the `score_beam` most probable ones of each word are tried (20 in the paper's code).

This is the representation ahead of time (RA). With the others a word's arcs come after pieces that are read already;
they would need other steps, and are for training only.

Words of hypotheses are slots: the scorer reads of a word the vectors of the position before it, in two layers, which
are kept by slot as keys and values are, and the word's first piece. `level` in the cache is the word of each position.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.errors import require
from dtglib.basics.jit import njit
from dtglib.basics.shapes import Float, Int
from dtglib.decode.sequence_stepper import Hypotheses, SequenceStepper
from dtglib.decode.stack_rows import Cache, Looks, read_position
from dtglib.families.gilt.attention import Tape
from dtglib.families.gilt.scorer import Cells
from dtglib.families.gilt.tape import DEPTHS, FEATURES, Growing, add, growing, look
from dtglib.network.attention import gathered, sinusoids
from dtglib.network.output import Legal
from dtglib.network.transformer import Around, Transformer, rounded_up
from dtglib.sequences.compile import NOTHING
from dtglib.sequences.structure import Structure
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE

SCORE_BEAM = 20
GOES_ON, BEGINS = -1, -2


class Growth(NamedTuple):
    """Sentences with their graphs so far, a row each."""

    words: np.ndarray  # (rows,): how many have begun
    waiting: np.ndarray  # the first piece of a word whose arcs are not decided; NOTHING if there is none
    piece: np.ndarray  # (rows, room): the first piece of each word
    before: np.ndarray  # (rows, room): the slot of the position before each word
    number: np.ndarray  # (rows, K + 1): the log-probability of each number of arcs of the word that waits
    head: np.ndarray  # (rows, K): its possible arcs, the best ones first
    dependent: np.ndarray
    # The columns of tape.Growing.
    arc: np.ndarray
    following: np.ndarray
    latest: np.ndarray
    count: np.ndarray
    degree: np.ndarray
    has_head: np.ndarray

    @property
    def graphs(self) -> Growing:
        """The graphs; they share memory with this record."""
        return Growing(*self[-len(Growing._fields) :])


class GraphStepper(SequenceStepper):
    """A `Gilt` (model.py) for one search."""

    in_words = True
    facts = len(FEATURES)

    def __init__(self, model: Transformer, score_beam: int = SCORE_BEAM) -> None:
        config, vocabulary = model.config, model.vocabulary
        require(config.word == "ra", f"a model with word: {config.word} cannot be searched; train one with word: ra")
        super().__init__(model)
        self.score_beam, self.depth_from_root = score_beam, DEPTHS[config.depth]
        self.silent = np.array([vocabulary.transition(name) for name in vocabulary.symbols.others])
        # Which number of arcs each symbol is, or BEGINS or GOES_ON for pieces.
        self.number_of = np.where(vocabulary.starts_word, BEGINS, GOES_ON)
        self.number_of[self.silent] = np.arange(len(self.silent))
        self.read = model.embedding.weight.new_empty((0, 2 * config.width))  # by slot: what the scorer reads

    # ---- Rules

    def start(self, most_words: int) -> Growth:
        """Nothing is written."""
        most = self.model.config.most_arcs
        graphs = growing(1, most_words, min(most, most_words) * most_words)
        zero, none = np.zeros(1, np.int32), np.full(1, NOTHING, np.int32)
        piece, before = np.zeros((2, 1, most_words), np.int32)
        number = np.full((1, most + 1), -np.inf, np.float32)
        head, dependent = np.full((2, 1, most), NOTHING, np.int32)
        return Growth(zero, none, piece, before, number, head, dependent, *graphs)

    def legal(self, hypotheses: Hypotheses) -> Legal:
        """Which words and pieces may come next, and whether the end may; for rows where no word waits."""
        states = hypotheses.states
        may = np.where(states.words < states.piece.shape[1], MAY_GENERATE, 0)
        may |= np.where(states.words > 0, MAY_CONTINUE | MAY_END, 0)
        bits = torch.from_numpy(may).to(self.device)
        return Legal(bits, torch.zeros_like(bits), torch.zeros_like(bits))

    @torch.no_grad()
    def log_probs(self, hypotheses: Hypotheses) -> Float[Tensor, "rows V"]:
        """Those of numbers of arcs where a word waits, and of pieces elsewhere."""
        waits = hypotheses.states.waiting != NOTHING
        found = torch.full((len(hypotheses), len(self.model.vocabulary)), -torch.inf, device=self.device)
        (of_words,) = np.nonzero(~waits)
        if len(of_words):
            found[self._there(of_words)] = super().log_probs(self.choose(hypotheses, of_words)).to(found.dtype)
        (of_arcs,) = np.nonzero(waits)
        if len(of_arcs):
            numbers = torch.from_numpy(hypotheses.states.number[of_arcs]).to(self.device)
            found[self._there(of_arcs)[:, None], self._there(self.silent)] = numbers
        return found

    def leads_on(self, hypotheses: Hypotheses, to_end: np.ndarray) -> np.ndarray:
        """The most probable numbers of arcs."""
        number = hypotheses.states.number
        if self.score_beam >= number.shape[1]:
            return np.ones(number.shape, bool)
        return number >= np.partition(number, -self.score_beam, axis=1)[:, [-self.score_beam]]

    def copies(self, symbols: np.ndarray) -> np.ndarray:
        """The first piece of a word is read together with the number of its arcs."""
        return np.where(self.model.vocabulary.starts_word[symbols], 0, 1)

    def tree(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """The arcs, each as its head and its dependent."""
        states = hypotheses.states
        return states.arc[row, : states.count[row]].reshape(-1).astype(np.int64)

    def visible(self, hypotheses: Hypotheses, row: int) -> np.ndarray:
        """All words."""
        return np.arange(1, hypotheses.states.words[row] + 1)

    def most_silent(self, words: int) -> int:
        """The number of arcs of the word before."""
        return 1

    # ---- Steps

    def advance(self, states: Growth, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Take the symbol of every row."""
        numbers = self.number_of[symbols]
        (begins,) = np.nonzero(numbers == BEGINS)
        if len(begins):
            word = states.words[begins]
            states.words[begins] += 1
            states.waiting[begins] = states.piece[begins, word] = symbols[begins]
            states.before[begins, word] = cache.slot[begins, cache.filled[begins] - 1]
            self._propose(states, begins)
        _read(states, states.graphs, cache, symbols, numbers, self.depth_from_root, first, looks)

    def _propose(self, states: Growth, rows: np.ndarray) -> None:
        """Score the possible arcs of words that have begun, and write down the best ones and their numbers' odds."""
        words, first = states.words[rows], 0 if self.model.config.root_arcs else 1
        there = np.arange(words.max()) < words[:, None]
        slots, pieces = states.before[rows, : words.max()][there], states.piece[rows, : words.max()][there]
        # Hypotheses have most of their words in common.
        known, node = np.unique(np.stack([slots, pieces]), axis=1, return_inverse=True)
        begin = np.cumsum(words) - words
        sizes = 2 * words - 1 - first
        local, columns = np.zeros((2, sizes.sum()), np.int64), np.zeros((4, sizes.sum()), np.int64)
        features = np.zeros((2, len(FEATURES), sizes.sum()), np.int64)
        asked = _Asked(rows, begin, node.reshape(-1) + 1, first)
        _list_cells(states.words, states.graphs, asked, self.depth_from_root, local, columns, features)
        cells = Cells(*map(self._there, (*columns, *features)))
        logits, numbers = self._scored(known, cells, len(rows), int(words.max()))
        # The cells in the order of their rows, and then of their scores.
        order = np.lexsort((-logits, columns[2]))
        rank = np.arange(len(order)) - np.repeat(sizes.cumsum() - sizes, sizes)
        is_kept = rank < states.head.shape[1]
        where = np.repeat(rows, sizes)[is_kept], rank[is_kept]
        states.head[where], states.dependent[where] = local[:, order[is_kept]]
        states.number[rows] = np.where(np.arange(numbers.shape[1]) <= sizes[:, None], numbers, -np.inf)

    def _scored(self, known: np.ndarray, cells: Cells, steps: int, farthest: int) -> tuple[np.ndarray, np.ndarray]:
        """What the scorer says, about words that are given as slots and first pieces."""
        slots, pieces = self._there(known).long()
        words = torch.cat([self.read[slots], self.model.embedding(pieces)], dim=1)
        logits, numbers = self.model.scorer(words, cells, steps, farthest)
        return logits.float().cpu().numpy(), numbers.cpu().numpy()

    def bias(self, token: Int[Tensor, " N"], seen: Int[Tensor, "N S"], facts: Int[Tensor, "N S F"]) -> Tape:
        """The tape, as the layers want it."""
        return self.model.tape(facts.transpose(1, 2)[:, :, None])

    def _looked_at_once(self, looks: Looks, source: np.ndarray) -> Float[Tensor, "positions d"]:
        """As for other models, and what the scorer reads of the new positions is kept."""
        model, pool, layers = self.model, self.pool, self.model.config.layers
        longest = int(looks.count.max())
        token, arc, slot, count = (self._there(column) for column in looks[:4])
        seen, relpos, facts = (self._there(rows[:, :longest].copy()) for rows in looks[4:])
        hidden = torch.arange(longest, device=self.device) >= count[:, None]
        seen, relpos, slot = seen.masked_fill(hidden, 0).long(), relpos.masked_fill(hidden, 0), slot.long()
        x = model.embed(token[:, None], arc[:, None])  # N 1 d
        places = sinusoids(rounded_up(int(relpos.max())), x.shape[2], self.device)
        structure, bias = Structure(~hidden[:, None], relpos[:, None]), self.bias(token, seen, facts)
        around, states = Around(structure, places, model.u, model.w, bias), [x]
        for block, keys, values in zip(model.blocks, pool.keys, pool.values, strict=True):
            q, k, v, r = block.project(states[-1], around.places)
            keys[slot], values[slot] = k[:, :, 0], v[:, :, 0]
            k, v = gathered(keys, seen), gathered(values, seen)  # N H S D
            states.append(block.finish(states[-1], block.attended(q, k, v, r, around)))
        more = len(pool.keys[0]) - len(self.read)
        self.read = torch.cat([self.read, self.read.new_empty((more, self.read.shape[1]))]) if more else self.read
        self.read[slot] = torch.cat([states[layers // 2], states[layers - 1]], dim=2)[:, 0].to(self.read.dtype)
        return states[-1][:, 0]


class _Asked(NamedTuple):
    """The hypotheses whose newest words are scored."""

    rows: np.ndarray
    begin: np.ndarray  # where the words of each begin in `node`
    node: np.ndarray  # the number of every word among those that the scorer is given, from 1
    first: int  # 1 if ROOT has no arcs


@njit
def _list_cells(words, graphs, asked, depth_from_root, local, columns, features):
    """Write the cells of the newest words, as `Cells` and with the words' own numbers."""
    tape = np.zeros((features.shape[1], graphs.latest.shape[1]), np.int64)
    filled = 0
    for step in range(len(asked.rows)):
        row, begin = asked.rows[step], asked.begin[step]
        word = words[row]
        look(graphs, row, word - 1, depth_from_root, tape)
        for old in range(asked.first, word):
            for side in range(2 if old else 1):  # the older word is the head, or the dependent
                head, dependent = (old, word) if side == 0 else (word, old)
                local[0, filled], local[1, filled] = head, dependent
                columns[0, filled] = asked.node[begin + head - 1] if head else 0
                columns[1, filled] = asked.node[begin + dependent - 1]
                columns[2, filled], columns[3, filled] = step, word - old
                features[side, :, filled] = tape[:, old]
                filled += 1


@njit
def _read(states, graphs, cache, symbols, numbers, depth_from_root, first, looks):
    """Add the arcs of words whose number is decided, and read their first pieces; or read further pieces."""
    tape = np.zeros((looks.facts.shape[2], graphs.latest.shape[1]), np.int64)
    for row in range(len(first)):
        if numbers[row] == BEGINS:
            continue
        at, place, word, token = first[row], cache.filled[row], states.words[row], symbols[row]
        if numbers[row] != GOES_ON:
            token = states.waiting[row]
            states.waiting[row] = NOTHING
            for n in range(numbers[row]):
                add(graphs, row, states.head[row, n], states.dependent[row, n])
        look(graphs, row, word, depth_from_root, tape)
        cache.level[row, place] = word
        for j in range(place + 1):
            if j < place:
                looks.seen[at, j], looks.relpos[at, j] = cache.slot[row, j], place - j
            if cache.level[row, j]:
                looks.facts[at, j] = tape[:, cache.level[row, j]]
        looks.count[at] = place
        read_position(looks, at, token, NOTHING)
        cache.slot[row, place] = looks.slot[at]
        cache.filled[row] += 1
