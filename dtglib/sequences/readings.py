"""The input of models: compiled transitions on a stack, or sequences on which nothing is ever popped.

    on_a_stack("arc-standard")    <ROOT> There is LEFTARC LEFTARC a ...   the stack of a transition system (DTG)
    in_a_row("arc-standard")      <ROOT> There is LEFTARC a ...           no arc is doubled, and an arc is only an arc
    WORDS                         <ROOT> There is a ...

The last two are the baselines (paper, section 4). Where nothing is popped, a position is seen until its sentence ends,
stands at the height of its place, and looks down to the bottom: the two lines of visibility.py then give the causal
mask and the distances of a plain Transformer-XL. So the baselines are the same model as DTG, given other columns.

    >>> words = ["There", "is", "a", "difference"]
    >>> vocabulary, tree = Vocabulary.of_words([words]), (words, (2, 0, 4, 2))
    >>> readings = on_a_stack("arc-standard"), in_a_row("arc-standard"), WORDS
    >>> [reading.compile(vocabulary, [tree]).sentence(0).length for reading in readings]
    [13, 9, 5]
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.data.treebank import Sentence, TreebankError, why_no_projective_tree
from dtglib.data.vocabulary import END, ROOT, Vocabulary
from dtglib.sequences.columns import COMPOSE, NOTHING, STACK, Compiled, Sequences
from dtglib.sequences.compile import NotWritable, compile_trees
from dtglib.sequences.labelled import NO_LABEL, numbers_of, with_labels
from dtglib.transitions import SYSTEMS
from dtglib.transitions import words as words_alone
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE

# Words and a tree in integers: its heads, or another form of a tree that a reading compiles.
WordsAndTree = tuple[Sequence[str], Sequence[int] | None]

# From words and trees to the sequences.
Compile = Callable[[Vocabulary, Iterable[WordsAndTree]], Sequences]


def tokens(vocabulary: Vocabulary, sentences: Iterable[WordsAndTree]) -> Sequences:
    """Compile the pieces of sentences; trees are ignored."""
    ids, words, lengths = [], [], []
    for number, (sentence, _) in enumerate(sentences, start=1):
        require(sentence, f"sentence {number}: has no words")
        encoded = vocabulary.encode(sentence)
        ids += [ROOT, *encoded.ids]
        words.append(NOTHING)
        for word, (start, stop) in enumerate(encoded.spans, start=1):
            words += [word] * (stop - start)
        lengths.append(len(encoded.ids) + 1)
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    token = np.array(ids, np.int32)
    word = np.array(words, np.int32)
    target = np.roll(token, -1)
    target[starts[1:] - 1] = END
    begun = word != NOTHING
    none, nowhere = np.zeros_like(token), np.full_like(token, NOTHING)
    # A sentence may end after any word, but it has at least one.
    may = np.where(begun, MAY_GENERATE | MAY_CONTINUE | MAY_END, MAY_GENERATE).astype(np.int32)
    plain = Compiled(
        token=token, arc=nowhere, kind=none + STACK, word=word, last=none, height=none, level=none, settled=none,
        top=none, floor=none, head_first=nowhere, head_last=nowhere, target=target, may=may, left=none, right=none,
        end=none,
    )  # fmt: skip
    return causal(Sequences(plain, starts))


def transitions(system: ModuleType, vocabulary: Vocabulary, sentences: Iterable[WordsAndTree]) -> Sequences:
    """Compile transitions without the COMPOSE copies and without the head tokens of arcs."""
    sequences = compile_trees(system, vocabulary, sentences)
    kept = sequences.vectors.kind != COMPOSE
    before = np.concatenate([[0], np.cumsum(kept)])
    vectors = Compiled(*(column[kept] for column in sequences.vectors))
    vectors = vectors._replace(token=np.where(vectors.arc == NOTHING, vectors.token, NOTHING))
    return causal(Sequences(vectors, before[sequences.starts]))


def causal(sequences: Sequences) -> Sequences:
    """Return the same positions on a stack from which nothing is ever popped."""
    lengths = sequences.lengths
    place = (np.arange(lengths.sum()) - np.repeat(sequences.starts[:-1], lengths)).astype(np.int32)
    end = np.repeat(lengths - 1, lengths).astype(np.int32)
    none = np.zeros_like(place)
    vectors = sequences.vectors._replace(
        kind=none + STACK, last=end, end=end, height=place, level=place, settled=place, top=place,
        floor=none, head_first=none + NOTHING, head_last=none + NOTHING,
    )  # fmt: skip
    return Sequences(vectors, sequences.starts)


@runtime_checkable
class Reading(Protocol):
    """The way in which sentences become the input of a model."""

    @property
    def compile(self) -> Compile: ...

    @property
    def has_trees(self) -> bool:
        """True if the symbols write a tree, false if they write words alone."""

    def tree_of(self, vocabulary: Vocabulary, sentence: Sentence) -> Sequence[int] | None:
        """The tree of a sentence for `compile`; a TreebankError if it has none that these symbols can write.

        If some sentences of a treebank have projective heads, only those are given.
        """

    def trees_of(self, vocabulary: Vocabulary, proposed: Any) -> np.ndarray:
        """The trees that a parser proposes for one sentence, a row each, for `compile`."""


class StackReading(NamedTuple):
    """The reading of words and heads."""

    system: ModuleType  # the rules of the symbols: a transition system, or `words`
    pops: bool  # true if arcs are doubled and attention follows the stack; otherwise all earlier positions are seen
    compile: Compile

    @property
    def has_trees(self) -> bool:
        """True if the symbols write a tree, false if they write words alone."""
        return self.system is not words_alone

    def tree_of(self, vocabulary: Vocabulary, sentence: Sentence) -> Sequence[int] | None:
        """The heads of a sentence, and the labels if the vocabulary's arcs have any."""
        if self.has_trees and sentence.heads is None:
            raise TreebankError(f"sentence {sentence.id!r} has no heads", why_no_projective_tree(sentence) or "")
        if not self.has_trees or not vocabulary.symbols.labels:
            return sentence.heads
        if sentence.labels is None:
            raise TreebankError(f"sentence {sentence.id!r} has no labels", "no labels")
        if odd := set(sentence.labels).difference(vocabulary.symbols.labels):
            what = f"sentence {sentence.id!r} has the label {min(odd)!r}, which is not in the training part"
            raise TreebankError(what, "a label that is not in the training part")
        return with_labels(vocabulary.symbols, sentence.heads or (), sentence.labels)

    def trees_of(self, vocabulary: Vocabulary, proposed: Any) -> np.ndarray:
        """The heads, and, if the vocabulary's arcs have labels, the parser's best label of each arc.

        So each tree has a single labelling, and a sum over the trees lacks the probability of all others. A tree with a
        label that the vocabulary lacks is impossible.
        """
        if proposed.fills != "heads":
            raise UserError("this model sums over dependency trees, and its parser proposes constituents; take another")
        if not vocabulary.symbols.labels:
            return proposed.heads
        numbers = numbers_of(vocabulary.symbols, proposed.names)
        if not (numbers != NO_LABEL).any():
            way_out = "take one that was trained on a treebank with these labels"
            raise UserError(f"this model sums over labelled trees, and its parser finds none of its labels; {way_out}")
        return np.concatenate([proposed.heads, numbers[proposed.labels]], axis=1)


def on_a_stack(system: str) -> StackReading:
    """The compiled transitions of a system, with each arc doubled: the input of DTG."""
    return StackReading(SYSTEMS[system], True, partial(compile_trees, SYSTEMS[system]))


def in_a_row(system: str) -> StackReading:
    """The transitions of a system as a plain sequence: the input of TXL (trans)."""
    return StackReading(SYSTEMS[system], False, partial(transitions, SYSTEMS[system]))


WORDS = StackReading(words_alone, False, tokens)  # the input of TXL (tokens)


def within_reach(
    reading: Reading, vocabulary: Vocabulary, trees: Sequence[WordsAndTree]
) -> tuple[Sequences, np.ndarray]:
    """Compile the trees whose arcs are in the vocabulary; return their numbers, too.

    Only arc-swift has arcs that can reach too far; and a parser may propose labels that the vocabulary lacks.
    """
    every = np.arange(len(trees))
    try:
        return reading.compile(vocabulary, trees), every
    except NotWritable as error:
        within = np.setdiff1d(every, error.sentences)
    return reading.compile(vocabulary, [trees[number] for number in within]), within
