"""From actions to the vectors that the models read: the fold of `step`, in linear time and storage.

After each arc is doubled (a COMPOSE copy, then a STACK copy), everything that attention needs to know about the stack
machine fits in a few integers a position: how long a position is seen, at which height its word stands, and how far
down it looks. "There is a difference" in arc-standard, one piece a word:

     i  input                  kind     last height settled top floor   target
     0  <ROOT>                 STACK      11      0       0   0     0   There
     1  There                  STACK       3      1       1   1     0   is
     2  is                     STACK       3      2       2   2     0   LEFTARC
     3  LEFTARC + is           COMPOSE     9      1       3   1     1   -
     4  LEFTARC + is           STACK       4      1       4   1     0   a
     ...

`There` (1) is seen until the arc that consumes it (3), and the COMPOSE position 3, which stands for `is` from then on,
until 9:

    >>> from dtglib.transitions import SYSTEMS
    >>> words = ["There", "is", "a", "difference"]
    >>> sequences = compile_trees(SYSTEMS["arc-standard"], Vocabulary.of_words([words]), [(words, (2, 0, 4, 2))])
    >>> sequences.sentence(0).last.tolist()
    [11, 3, 3, 9, 4, 7, 7, 9, 8, 11, 10, 12, 12]

The two lines that make masks and relative positions of the vectors are in visibility.py. The systems need no
code of their own here: what dies and what settles follows from the words that are visible before and after.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import NamedTuple

import numpy as np

from dtglib.errors import UserError
from dtglib.jit import njit
from dtglib.transitions.protocol import OPEN, Kind, why_no_tree
from dtglib.transitions.rows import MAY_CONTINUE, MOST_REACH, first_without_tree
from dtglib.transitions.rules import legal_row, number_of, step_row, wanted_row
from dtglib.vocab import END, ROOT, Vocabulary

STACK, COMPOSE = 0, 1
NOTHING = -1  # no token, no arc, no head, no target


class Compiled(NamedTuple):
    """The vectors of one sentence, or of many end to end; every entry is an array with an integer per position."""

    token: np.ndarray  # the piece that is read: a word's own, or for an arc the last piece of its head
    arc: np.ndarray  # the transition that is read, besides
    kind: np.ndarray  # STACK or COMPOSE
    word: np.ndarray  # the word that the position generates a piece of, from 1
    last: np.ndarray  # the last position from which this one may be seen
    height: np.ndarray  # where its word stands, in words from ROOT = 0
    settled: np.ndarray  # since when it stands there
    top: np.ndarray  # height of the topmost word when this position looks
    floor: np.ndarray  # how far down it looks
    head_first: np.ndarray  # COMPOSE: the positions of the head
    head_last: np.ndarray
    target: np.ndarray  # what comes next; nothing for COMPOSE
    may: np.ndarray  # which classes may come next: bits of transitions/rows.py; none where nothing is predicted
    left: np.ndarray  # which LEFTARC[k], bit k - 1
    right: np.ndarray
    end: np.ndarray  # the last position of the sentence

    @property
    def length(self) -> int:
        return len(self.token)


@dataclass(frozen=True)
class Sequences:
    """Many sentences: sentence s has the positions `starts[s]` up to `starts[s + 1]` of the vectors."""

    vectors: Compiled
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sentence(self, number: int) -> Compiled:
        """The vectors of one sentence, positions counted from 0."""
        if not 0 <= number < len(self):
            raise IndexError(f"there is no sentence {number}; there are {len(self)}, counted from 0")
        piece = slice(self.starts[number], self.starts[number + 1])
        return Compiled(*(column[piece] for column in self.vectors))

    def chosen(self, numbers: np.ndarray) -> "Sequences":
        """These sentences alone, in this order."""
        if np.array_equal(numbers, np.arange(len(self))):
            return self
        lengths = np.diff(self.starts)[numbers]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[numbers] - starts[:-1], lengths)
        return Sequences(Compiled(*(column[places] for column in self.vectors)), starts)


class TooFar(UserError):
    """Trees have arcs that reach further than the vocabulary's: which of them, counted from 0."""

    def __init__(self, message: str, sentences: np.ndarray) -> None:
        super().__init__(message)
        self.sentences = sentences


class Arcs(NamedTuple):
    """The ids of the transitions in a vocabulary; index k of the arrays is LEFTARC[k] and RIGHTARC[k]."""

    left: np.ndarray
    right: np.ndarray
    pop: int

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "Arcs":
        def ids(name: str) -> np.ndarray:
            reaches = range(2, vocabulary.reach + 1)
            names = [name, *(f"{name}[{reach}]" for reach in reaches)]
            return np.array([NOTHING, *map(vocabulary.transition, names)], np.int32)

        return cls(ids("LEFTARC"), ids("RIGHTARC"), vocabulary.transition("POP"))


def compile_trees(
    system: ModuleType, vocabulary: Vocabulary, sentences: Iterable[tuple[Sequence[str], Sequence[int] | None]]
) -> Sequences:
    """Compile (words, heads) pairs: the oracle's actions of each tree, folded."""
    trees, ids, pieces = [], [], []
    last_words = None
    for number, (words, heads) in enumerate(sentences, start=1):
        if heads is None:
            raise UserError(f"sentence {number}: has no tree; parse it first")
        if len(words) != len(heads):
            raise UserError(f"sentence {number}: {len(words)} words, but {len(heads)} heads")
        # Trees of one sentence come one after the other, hundreds of them.
        if (these := tuple(words)) != last_words:
            last_words, encoded = these, vocabulary.encode(these)
            pieces_of_words = [stop - start for start, stop in encoded.spans]
        trees.append(heads)
        ids += encoded.ids
        pieces += pieces_of_words
    lengths = np.array(list(map(len, trees)), np.int64)
    heads = np.fromiter(itertools.chain.from_iterable(trees), np.int64, count=int(lengths.sum()))
    if (bad := first_without_tree(heads, lengths)) >= 0:
        raise UserError(f"sentence {bad + 1}: {why_no_tree(trees[bad])}")
    return compile_arrays(system, Arcs.of(vocabulary), trees, np.array(ids, np.int32), np.array(pieces, np.int32))


def compile_arrays(
    system: ModuleType, arcs: Arcs, trees: Sequence[Sequence[int]], ids: np.ndarray, pieces: np.ndarray
) -> Sequences:
    """The same for trees that are known to be good, and words that are cut into pieces already."""
    lengths = np.array([len(heads) + 1 for heads in trees], np.int64)
    if len(pieces) != lengths.sum() - len(trees) or len(ids) != pieces.sum():
        raise ValueError(f"{len(ids)} ids for {pieces.sum()} pieces of {len(pieces)} words do not fit the trees")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # Entry 0 of each tree is ROOT's.
    heads = np.full(offsets[-1], OPEN, np.int32)
    is_word = np.ones(offsets[-1], bool)
    is_word[offsets[:-1]] = False
    heads[is_word] = np.fromiter(itertools.chain.from_iterable(trees), np.int32, count=int(offsets[-1]) - len(trees))
    # A word is generated, takes one arc of two positions, and may be popped; ROOT, too.
    out = np.empty((len(Compiled._fields), int(len(ids) + 3 * offsets[-1])), np.int32)
    starts = np.zeros(len(trees) + 1, np.int64)
    too_far = _compile_all(number_of(system), heads, offsets, ids, pieces, *arcs, out, starts)
    if too_far.any():
        reach = min(len(arcs.left) - 1, MOST_REACH)
        way_out = "leave it out" if reach == MOST_REACH else "leave it out, or make a vocabulary with a larger reach"
        first = too_far.argmax() + 1
        raise TooFar(
            f"sentence {first}: {system.NAME} needs an arc that reaches further than [{reach}]; {way_out}",
            np.flatnonzero(too_far),
        )
    return Sequences(Compiled(*out[:, : starts[-1]]), starts)


# The rows of the array that is filled, in the order of Compiled.
(TOKEN, ARC, KIND, WORD, LAST, HEIGHT, SETTLED, TOP, FLOOR, HEAD_FIRST, HEAD_LAST, TARGET, MAY, LEFT, RIGHT, END_AT) = (
    range(len(Compiled._fields))
)
NEVER = np.int32(2**30)  # later than any position; cut down to the sentence's length at the end


@njit(nogil=True)
def _compile_all(system, heads, offsets, ids, pieces, left, right, pop, out, starts):
    """Compile every sentence; returns which of them need too long an arc, and so have come to nothing."""
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    stack, state_heads = np.zeros(longest + 1, np.int32), np.zeros(longest + 1, np.int32)
    first, final, tokens, leftmost, rightmost = np.zeros((5, longest + 1), np.int32)
    too_far = np.zeros(len(offsets) - 1, np.bool_)
    first_id, first_word = 0, 0
    for s in range(len(offsets) - 1):
        a, b = offsets[s], offsets[s + 1]
        words = b - a - 1
        count = 0
        for w in range(words):
            count += pieces[first_word + w]
        _dependents(heads[a:b], leftmost, rightmost)
        sentence_ids, sentence_pieces = ids[first_id : first_id + count], pieces[first_word : first_word + words]
        length = _compile_one(
            system, heads[a:b], leftmost, rightmost, sentence_ids, sentence_pieces,
            left, right, pop, stack, state_heads, first, final, tokens, out[:, starts[s] :],
        )  # fmt: skip
        too_far[s] = length < 0
        starts[s + 1] = starts[s] + max(length, 0)
        first_id += count
        first_word += words
    return too_far


@njit
def _compile_one(
    system, tree, leftmost, rightmost, ids, pieces, left_ids, right_ids, pop_id,
    stack, heads, first, final, tokens, out,
):  # fmt: skip
    """Fold the oracle's actions of one tree into `out`; returns how many positions there are, or -1."""
    stack[0], heads[0] = 0, OPEN
    depth, front, count, generated = 1, 0, 0, 0
    first[0], final[0], tokens[0] = 0, 0, ROOT
    most_reach = min(len(left_ids) - 1, MOST_REACH)
    _write(out, 0, ROOT, NOTHING, STACK, NEVER, 0, 0, 0, 0)
    at = 1
    while True:
        kind, reach = wanted_row(system, stack, depth, front, heads, count, tree, leftmost, rightmost)
        _allow(out, at - 1, most_reach, *legal_row(system, stack, depth, front, heads, count))
        if kind == Kind.END:
            out[TARGET, at - 1] = END
            break
        if kind == Kind.GEN:
            if front:
                _settle(out, first[front], final[front], depth, at)
            depth, front, count = step_row(system, stack, depth, front, heads, count, kind, reach)
            end_of_word = generated + pieces[count - 1]
            first[count], final[count] = at, at + pieces[count - 1] - 1
            for piece in range(generated, end_of_word):
                out[TARGET, at - 1] = ids[piece]
                top = depth - 1 + (front > 0)
                _write(out, at, ids[piece], NOTHING, STACK, NEVER, top, NEVER if front else at, top, 0)
                out[WORD, at] = count
                # The word may be over after any of its pieces, for all that is known there.
                _allow(out, at, most_reach, *legal_row(system, stack, depth, front, heads, count))
                at += 1
            tokens[count] = ids[end_of_word - 1]
            generated = end_of_word
        elif kind == Kind.POP:
            out[TARGET, at - 1] = pop_id
            _end(out, first[stack[depth - 1]], final[stack[depth - 1]], at - 1)
            depth, front, count = step_row(system, stack, depth, front, heads, count, kind, reach)
            top = depth - 1 + (front > 0)
            _write(out, at, NOTHING, pop_id, STACK, at, max(top, 0), at, top, 0)
            at += 1
        else:
            if reach > most_reach:
                return -1
            arc = left_ids[reach] if kind == Kind.LEFTARC else right_ids[reach]
            out[TARGET, at - 1] = arc
            low = depth - 1 + (front > 0) - reach
            upper = front if front else stack[depth - 1]
            head = upper if kind == Kind.LEFTARC else stack[low]
            # All operands and the words between them end here ...
            for place in range(low, depth):
                _end(out, first[stack[place]], final[stack[place]], at)
            _end(out, first[upper], final[upper], at)
            depth, front, count = step_row(system, stack, depth, front, heads, count, kind, reach)
            # ... but for a right dependent that is on the stack now: it settles.
            if head != upper and stack[depth - 1] == upper and depth - 1 > low:
                _settle(out, first[upper], final[upper], depth - 1, at)
                _end(out, first[upper], final[upper], NEVER)
            _double(out, at, tokens[head], arc, first[head], final[head], low, depth - 1 + (front > 0), front)
            first[head], final[head] = at, at
            at += 2
    for i in range(at):
        out[END_AT, i] = at - 1
        out[LAST, i] = min(out[LAST, i], at - 1)
        out[SETTLED, i] = min(out[SETTLED, i], at)
    return at


@njit
def _double(out, at, token, arc, head_first, head_last, low, top, front):
    """The two copies of an arc: the one stands for its head from now on, the other is gone when it has looked."""
    # Where words wait in a buffer, the composed front does, too: it has no height before it settles.
    _write(out, at, token, arc, COMPOSE, NEVER, top if front else low, NEVER if front else at, top, low)
    out[HEAD_FIRST, at], out[HEAD_LAST, at] = head_first, head_last
    _write(out, at + 1, token, arc, STACK, at + 1, top, at + 1, top, 0)


@njit
def _allow(out, at, most_reach, may, left, right):
    """What may come after a position; a word that has begun may go on, besides."""
    in_reach = (1 << most_reach) - 1
    out[MAY, at] = may | (MAY_CONTINUE if out[WORD, at] > 0 else 0)
    out[LEFT, at], out[RIGHT, at] = left & in_reach, right & in_reach


@njit
def _dependents(tree, leftmost, rightmost):
    """The outermost dependents of every word, or the word itself where they lie on its other side."""
    for word in range(len(tree)):
        leftmost[word] = rightmost[word] = word
    for word in range(1, len(tree)):
        leftmost[tree[word]] = min(leftmost[tree[word]], word)
        rightmost[tree[word]] = max(rightmost[tree[word]], word)


@njit
def _write(out, at, token, arc, kind, last, height, settled, top, floor):
    out[TOKEN, at], out[ARC, at], out[KIND, at] = token, arc, kind
    out[LAST, at], out[HEIGHT, at], out[SETTLED, at] = last, height, settled
    out[TOP, at], out[FLOOR, at] = top, floor
    out[WORD, at] = out[HEAD_FIRST, at] = out[HEAD_LAST, at] = out[TARGET, at] = NOTHING
    out[MAY, at] = out[LEFT, at] = out[RIGHT, at] = 0


@njit
def _settle(out, first, final, height, since):
    """A word that waited stands at this height from now on."""
    for i in range(first, final + 1):
        out[HEIGHT, i], out[SETTLED, i] = height, since


@njit
def _end(out, first, final, last):
    for i in range(first, final + 1):
        out[LAST, i] = last
