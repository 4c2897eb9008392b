"""What each of the five models reads: compiled transitions, or sequences on which nothing is ever popped.

    dtg, dtg-eager, dtg-swift    <ROOT> There is LEFTARC LEFTARC a ...   the stack of arc-standard, arc-eager, arc-swift
    txl-trans                    <ROOT> There is LEFTARC a ...           no arc is doubled, and an arc is only an arc
    txl-tokens                   <ROOT> There is a ...

The last two are the baselines (paper, section 4). Where nothing is popped, a position is seen until its sentence ends,
stands at the height of its place, and looks down to the bottom: the two lines of visibility.py then give the causal
mask and the distances of a plain Transformer-XL. So the baselines are the same model as DTG, given other vectors.

    >>> words = ["There", "is", "a", "difference"]
    >>> vocabulary, tree = Vocabulary.of_words([words]), (words, (2, 0, 4, 2))
    >>> {model: READINGS[model](vocabulary, [tree]).sentence(0).length for model in ("dtg", "txl-trans", "txl-tokens")}
    {'dtg': 13, 'txl-trans': 9, 'txl-tokens': 5}
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import ModuleType

import numpy as np

from dtglib.compile import COMPOSE, NOTHING, STACK, Compiled, Sequences, TooFar, compile_trees
from dtglib.errors import UserError
from dtglib.transitions import SYSTEMS
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE
from dtglib.vocab import END, ROOT, Vocabulary

Tree = tuple[Sequence[str], Sequence[int] | None]  # words and heads

# From words and heads to what a model reads.
Reading = Callable[[Vocabulary, Iterable[Tree]], Sequences]


def tokens(vocabulary: Vocabulary, sentences: Iterable[Tree]) -> Sequences:
    """Sentences as their pieces alone; trees are neither needed nor looked at."""
    ids, words, lengths = [], [], []
    for number, (sentence, _) in enumerate(sentences, start=1):
        if not sentence:
            raise UserError(f"sentence {number}: has no words")
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
    # The first word may end the sentence, but there is a first word.
    may = np.where(begun, MAY_GENERATE | MAY_CONTINUE | MAY_END, MAY_GENERATE).astype(np.int32)
    plain = Compiled(
        token=token, arc=nowhere, kind=none + STACK, word=word, last=none, height=none, settled=none, top=none,
        floor=none, head_first=nowhere, head_last=nowhere, target=target, may=may, left=none, right=none, end=none,
    )  # fmt: skip
    return causal(Sequences(plain, starts))


def transitions(system: ModuleType, vocabulary: Vocabulary, sentences: Iterable[Tree]) -> Sequences:
    """The transitions without the COMPOSE copies and without the arcs' head tokens."""
    sequences = compile_trees(system, vocabulary, sentences)
    kept = sequences.vectors.kind != COMPOSE
    before = np.concatenate([[0], np.cumsum(kept)])
    vectors = Compiled(*(column[kept] for column in sequences.vectors))
    vectors = vectors._replace(token=np.where(vectors.arc == NOTHING, vectors.token, NOTHING))
    return causal(Sequences(vectors, before[sequences.starts]))


def causal(sequences: Sequences) -> Sequences:
    """The same positions on a stack from which nothing is ever popped."""
    lengths = np.diff(sequences.starts)
    place = (np.arange(lengths.sum()) - np.repeat(sequences.starts[:-1], lengths)).astype(np.int32)
    end = np.repeat(lengths - 1, lengths).astype(np.int32)
    none = np.zeros_like(place)
    vectors = sequences.vectors._replace(
        kind=none + STACK, last=end, end=end, height=place, settled=place, top=place, floor=none,
        head_first=none + NOTHING, head_last=none + NOTHING,
    )  # fmt: skip
    return Sequences(vectors, sequences.starts)


# The transition system of the models that have one.
SYSTEM_OF = {"dtg": "arc-standard", "dtg-eager": "arc-eager", "dtg-swift": "arc-swift", "txl-trans": "arc-standard"}

READINGS: dict[str, Reading] = {
    "dtg": partial(compile_trees, SYSTEMS[SYSTEM_OF["dtg"]]),
    "dtg-eager": partial(compile_trees, SYSTEMS[SYSTEM_OF["dtg-eager"]]),
    "dtg-swift": partial(compile_trees, SYSTEMS[SYSTEM_OF["dtg-swift"]]),
    "txl-trans": partial(transitions, SYSTEMS[SYSTEM_OF["txl-trans"]]),
    "txl-tokens": tokens,
}


def within_reach(reading: Reading, vocabulary: Vocabulary, trees: Sequence[Tree]) -> tuple[Sequences, np.ndarray]:
    """The trees for all of whose arcs there are transitions, and which these are; only of arc-swift not all."""
    every = np.arange(len(trees))
    try:
        return reading(vocabulary, trees), every
    except TooFar as error:
        within = np.setdiff1d(every, error.sentences)
    return reading(vocabulary, [trees[number] for number in within]), within
