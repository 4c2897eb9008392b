"""From actions to the columns that the models read: the fold of `step`, in linear time and storage.

Each arc is doubled (a COMPOSE copy, then a STACK copy). Then everything that attention needs to know about the stack
machine fits in a few integers per position: the last position that sees it, the height of its word, and the lowest
height that it sees. "There is a difference" in arc-standard, with one piece per word:

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

`level` is the depth of a word in the tree, for distances. In a dependency system it equals `height`; with brackets many
items of the stack share one level.

Each column is explained in columns.py; the formulas of masks and relative positions are in visibility.py. This module
has no code for single systems: transitions/change.py says which words an action ends and which it settles.
"""

import itertools
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from dtglib.basics.errors import UserError
from dtglib.basics.jit import njit
from dtglib.data.vocabulary import END, ROOT, Vocabulary
from dtglib.sequences.columns import COMPOSE, NOTHING, STACK, Compiled, Sequences
from dtglib.sequences.labelled import NO_LABEL
from dtglib.transitions.change import BUFFER, NOWHERE, apply_action, go_on
from dtglib.transitions.protocol import OPEN, Kind, Tree, why_no_tree
from dtglib.transitions.rows import MAY_CONTINUE, MOST_REACH, find_dependents, first_without_tree, row_after, row_of
from dtglib.transitions.rules import legal_row, number_of, wanted_row


class NotWritable(UserError):
    """The vocabulary lacks symbols for some trees: an arc reaches too far, or has another label.

    `sentences` are their numbers, from 0.
    """

    def __init__(self, message: str, sentences: np.ndarray) -> None:
        super().__init__(message)
        self.sentences = sentences


class Arcs(NamedTuple):
    """The ids of the transitions in a vocabulary; index k of the arrays is LEFTARC[k] and RIGHTARC[k].

    If arcs have labels, these are the ids with the first label, and those with the others follow.
    """

    left: np.ndarray
    right: np.ndarray
    pop: int
    labels: int = 0  # how many there are

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "Arcs":
        symbols = vocabulary.symbols

        def ids(names: Sequence[str]) -> np.ndarray:
            first = [vocabulary.transition(symbols.labelled(name)[0]) for name in names]
            return np.array([NOTHING, *first], np.int32)

        return cls(ids(symbols.left), ids(symbols.right), vocabulary.transition("POP"), len(symbols.labels))

    @property
    def of_each_reach(self) -> int:
        """The number of arcs of each reach and direction: one for each label, or one without labels."""
        return max(self.labels, 1)

    def with_all_labels(self, first: np.ndarray) -> np.ndarray:
        """The ids of all arcs in one direction, by their reach and then by their label."""
        return (first[1:, None] + np.arange(self.of_each_reach, dtype=np.int32)).reshape(-1)


def compile_trees(
    system: ModuleType, vocabulary: Vocabulary, sentences: Iterable[tuple[Sequence[str], Sequence[int] | None]]
) -> Sequences:
    """Compile words and trees: the oracle's actions of each tree, folded.

    A tree is its heads, and if the vocabulary's arcs have labels, the numbers of these follow (labelled.py).
    """
    arcs = Arcs.of(vocabulary)
    trees, ids, pieces = [], [], []
    last_words = None
    for number, (words, tree) in enumerate(sentences, start=1):
        if tree is None:
            raise UserError(f"sentence {number}: has no tree; parse it first")
        if arcs.labels and len(tree) != 2 * len(words):
            what = "each word needs a head and a label"
            raise UserError(f"sentence {number}: {len(words)} words, but a tree of {len(tree)} numbers; {what}")
        if not arcs.labels and len(tree) != len(words):
            raise UserError(f"sentence {number}: {len(words)} words, but {len(tree)} heads")
        # Hundreds of trees of the same sentence may follow one another.
        if (these := tuple(words)) != last_words:
            last_words, encoded = these, vocabulary.encode(these)
            pieces_of_words = [stop - start for start, stop in encoded.spans]
        trees.append(tree)
        ids += encoded.ids
        pieces += pieces_of_words
    lengths = _words_in(trees, arcs)
    heads, labels = _end_to_end(trees, arcs)
    if (bad := first_without_tree(heads, lengths)) >= 0:
        raise UserError(f"sentence {bad + 1}: {why_no_tree(trees[bad][: lengths[bad]])}")
    (wrong,) = np.nonzero((labels < NO_LABEL) | (labels >= arcs.of_each_reach))
    if len(wrong):
        bad = np.searchsorted(np.cumsum(lengths), wrong[0], "right")
        what = f"there is no label number {labels[wrong[0]]}; the vocabulary has labels 0 to {arcs.labels - 1}"
        raise UserError(f"sentence {bad + 1}: {what}")
    return compile_arrays(system, arcs, trees, np.array(ids, np.int32), np.array(pieces, np.int32))


def _words_in(trees: Sequence[Sequence[int]], arcs: Arcs) -> np.ndarray:
    """The number of words of each tree."""
    return np.array(list(map(len, trees)), np.int64) // (2 if arcs.labels else 1)


def _end_to_end(trees: Sequence[Sequence[int]], arcs: Arcs) -> tuple[np.ndarray, np.ndarray]:
    """The heads and the numbers of the labels of all words; all numbers are 0 if arcs have no labels."""
    words = _words_in(trees, arcs)
    numbers = np.fromiter(itertools.chain.from_iterable(trees), np.int64, count=sum(map(len, trees)))
    if not arcs.labels:
        return numbers, np.zeros_like(numbers)
    is_head = np.repeat(np.tile([True, False], len(words)), np.repeat(words, 2))
    return numbers[is_head], numbers[~is_head]


def compile_arrays(
    system: ModuleType, arcs: Arcs, trees: Sequence[Sequence[int]], ids: np.ndarray, pieces: np.ndarray
) -> Sequences:
    """Compile trees that are known to be valid, of words that are already cut into pieces."""
    lengths = _words_in(trees, arcs) + 1
    if len(pieces) != lengths.sum() - len(trees) or len(ids) != pieces.sum():
        raise ValueError(f"{len(ids)} ids for {pieces.sum()} pieces of {len(pieces)} words do not fit the trees")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    # Entry 0 of each tree is ROOT's.
    heads, labels = np.full(offsets[-1], OPEN, np.int32), np.zeros(offsets[-1], np.int32)
    is_word = np.ones(offsets[-1], bool)
    is_word[offsets[:-1]] = False
    heads[is_word], labels[is_word] = _end_to_end(trees, arcs)
    # Each word has its pieces and an arc of two positions, and may be popped; so may ROOT.
    out = np.empty((len(Compiled._fields), int(len(ids) + 3 * offsets[-1])), np.int32)
    starts = np.zeros(len(trees) + 1, np.int64)
    too_far = _compile_all(number_of(system), _Sentences(heads, labels, offsets, ids, pieces), arcs, out, starts)
    if too_far.any():
        first = too_far.argmax()
        if (labels[offsets[first] : offsets[first + 1]] == NO_LABEL).any():
            what, way_out = "an arc has a label that the vocabulary lacks", "leave it out"
        else:
            reach = len(arcs.left) - 1
            what = f"{system.NAME} needs an arc that reaches further than [{reach}]"
            larger = "" if reach == MOST_REACH else ", or make a vocabulary with a larger reach"
            way_out = f"leave it out{larger}"
        raise NotWritable(f"sentence {first + 1}: {what}; {way_out}", np.flatnonzero(too_far))
    return Sequences(Compiled(*out[:, : starts[-1]]), starts)


# The rows of the array that the kernels fill, in the order of Compiled.
(TOKEN, ARC, KIND, WORD, LAST, HEIGHT, LEVEL, SETTLED, TOP, FLOOR, HEAD_FIRST, HEAD_LAST, TARGET, MAY, LEFT, RIGHT,
 END_AT) = range(len(Compiled._fields))  # fmt: skip
FOREVER = np.int32(2**30)  # later than any position; cut down at the end, when the sentence's length is known


class _Sentences(NamedTuple):
    """Trees of words in pieces, end to end."""

    heads: np.ndarray  # of each word; entry 0 of each sentence belongs to ROOT
    labels: np.ndarray  # the numbers of the labels, likewise
    starts: np.ndarray  # sentence s has the entries `starts[s]` up to `starts[s + 1]` of `heads`
    ids: np.ndarray  # of the pieces of all words
    pieces: np.ndarray  # the number of pieces of each word


class _Sentence(NamedTuple):
    tree: Tree
    labels: np.ndarray
    ids: np.ndarray
    pieces: np.ndarray


class _Spans(NamedTuple):
    """The first and the last position of the word at each place (see transitions/change.py); the last is BUFFER."""

    first: np.ndarray
    last: np.ndarray


@njit(nogil=True)
def _compile_all(system, sentences, arcs, out, starts):
    """Compile every sentence; return true for those that need a missing arc, and so have no positions."""
    longest = 0
    for s in range(len(sentences.starts) - 1):
        longest = max(longest, sentences.starts[s + 1] - sentences.starts[s])
    rows = np.zeros((6, longest + 1), np.int32)
    stack, heads, leftmost, rightmost, spans = rows[0], rows[1], rows[2], rows[3], _Spans(rows[4], rows[5])
    too_far = np.zeros(len(sentences.starts) - 1, np.bool_)
    first_id, first_word = 0, 0
    for s in range(len(sentences.starts) - 1):
        tree = Tree(sentences.heads[sentences.starts[s] : sentences.starts[s + 1]], leftmost, rightmost)
        labels = sentences.labels[sentences.starts[s] : sentences.starts[s + 1]]
        find_dependents(tree)
        pieces = sentences.pieces[first_word : first_word + len(tree.heads) - 1]
        ids = sentences.ids[first_id : first_id + pieces.sum()]
        stack[0], heads[0] = 0, OPEN
        row = row_of(stack, 1, 0, heads, 0)
        length = _compile_one(system, _Sentence(tree, labels, ids, pieces), arcs, row, spans, out[:, starts[s] :])
        too_far[s] = length < 0
        starts[s + 1] = starts[s] + max(length, 0)
        first_id += len(ids)
        first_word += len(pieces)
    return too_far


@njit
def _compile_one(system, sentence, arcs, row, spans, out):
    """Fold the oracle's actions of one tree into `out`; return the number of positions, or -1 if an arc is missing."""
    most_reach = len(arcs.left) - 1
    at = _begin(out, spans, row)
    predicting, generated = at - 1, at - 1
    while True:
        # The positions from `predicting` up to `at` predict what follows the actions so far.
        _allow(out, predicting, at, most_reach, legal_row(system, row))
        kind, reach = wanted_row(system, row, sentence.tree)
        if kind == Kind.END:
            out[TARGET, at - 1] = END
            break
        if reach > most_reach:
            return -1
        change = apply_action(system, row, kind.value, reach)
        label = sentence.labels[change.dependent]
        if label == NO_LABEL:
            return -1
        predicting = at
        if kind == Kind.GEN:
            end_of_word = generated + sentence.pieces[row.count]
            at = _generate(out, at, spans, row, change, sentence.ids[generated:end_of_word])
            generated = end_of_word
        elif kind == Kind.POP:
            at = _pop(out, at, spans, row, change, arcs.pop)
        else:
            arc = (arcs.left if kind == Kind.LEFTARC else arcs.right)[reach] + label
            at = _attach(out, at, spans, row, change, arc)
            predicting += 1
        row = row_after(row, change.after)
    for i in range(at):
        out[END_AT, i] = at - 1
        out[LAST, i] = min(out[LAST, i], at - 1)
        out[SETTLED, i] = min(out[SETTLED, i], at)
    return at


@njit
def _begin(out, spans, row):
    """Write the position of ROOT; return the next one."""
    start = go_on(row)
    _write(out, start.low, start)
    out[TOKEN, 0] = ROOT
    _stand(out, spans, start, start.low, start.low)
    return start.low + 1


@njit
def _generate(out, at, spans, row, change, ids):
    """Write the pieces of a new word; return the next position."""
    _leave(out, spans, row, change, at, at)
    for piece in range(len(ids)):
        out[TARGET, at + piece - 1] = ids[piece]
        _write(out, at + piece, change)
        out[TOKEN, at + piece], out[WORD, at + piece] = ids[piece], row.count + 1
    _stand(out, spans, change, at, at + len(ids) - 1)
    return at + len(ids)


@njit
def _pop(out, at, spans, row, change, pop):
    """Write a POP, which does not see the word that it pops; return the next position."""
    out[TARGET, at - 1] = pop
    _leave(out, spans, row, change, at, at - 1)
    _write(out, at, change)
    out[ARC, at] = pop
    return at + 1


@njit
def _attach(out, at, spans, row, change, arc):
    """Write the two copies of an arc, of which only the first stays visible; return the next position."""
    out[TARGET, at - 1] = arc
    head = _index(spans, change.head_place)
    head_first, head_last = spans.first[head], spans.last[head]
    _leave(out, spans, row, change, at, at)
    for copy in range(at, at + 2):
        _write(out, copy, change)
        out[TOKEN, copy], out[ARC, copy] = out[TOKEN, head_last], arc
    out[KIND, at], out[FLOOR, at] = COMPOSE, change.low
    out[HEAD_FIRST, at], out[HEAD_LAST, at] = head_first, head_last
    _stand(out, spans, change, at, at)
    return at + 2


@njit
def _write(out, at, change):
    """Write a STACK position as it is after a change; it reads nothing yet, and no later position sees it."""
    out[TOKEN, at], out[ARC, at], out[KIND, at] = NOTHING, NOTHING, STACK
    out[LAST, at], out[SETTLED, at] = at, at
    out[HEIGHT, at] = out[LEVEL, at] = max(change.top, 0)
    out[TOP, at], out[FLOOR, at] = change.top, 0
    out[WORD, at] = out[HEAD_FIRST, at] = out[HEAD_LAST, at] = out[TARGET, at] = NOTHING
    out[MAY, at] = out[LEFT, at] = out[RIGHT, at] = 0


@njit
def _stand(out, spans, change, first, last):
    """Let positions that were just written stand for the new word, or the composed head, from now on."""
    spans.first[_index(spans, change.place)], spans.last[_index(spans, change.place)] = first, last
    for i in range(first, last + 1):
        out[LAST, i] = FOREVER
        if change.place == BUFFER:
            out[SETTLED, i] = FOREVER
        else:
            out[HEIGHT, i] = out[LEVEL, i] = change.place


@njit
def _leave(out, spans, row, change, now, last):
    """End the words that a change ends, seen up to position `last`, and settle the word of the buffer if it settles."""
    for place in range(change.low, min(change.high, row.depth)):
        _end(out, spans, place, last)
    if change.settled != NOWHERE:
        first, final = spans.first[-1], spans.last[-1]
        spans.first[change.settled], spans.last[change.settled] = first, final
        for i in range(first, final + 1):
            out[HEIGHT, i] = out[LEVEL, i] = change.settled
            out[SETTLED, i] = now
    elif row.front and change.high > BUFFER:
        _end(out, spans, BUFFER, last)


@njit
def _end(out, spans, place, last):
    """Let the word at a place be seen up to position `last`."""
    for i in range(spans.first[_index(spans, place)], spans.last[_index(spans, place)] + 1):
        out[LAST, i] = last


@njit
def _index(spans, place):
    return min(place, len(spans.first) - 1)


@njit
def _allow(out, start, stop, most_reach, legal):
    """Write the symbols that may come after some positions; a word that has begun may go on, too."""
    may, left, right = legal
    in_reach = (1 << most_reach) - 1
    for i in range(start, stop):
        out[MAY, i] = may | (MAY_CONTINUE if out[WORD, i] > 0 else 0)
        out[LEFT, i], out[RIGHT, i] = left & in_reach, right & in_reach
