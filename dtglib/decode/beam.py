"""Word-synchronous beam search (Stern et al. 2017): what a model says of a sentence, word by word, without a parser.

Derivations are compared when they have generated the same words. Between two words, a step at a time, each hypothesis
takes every transition that it may; the successors compete for `beam_width` places, those that take the next word among
them, and the best `fast_track` of these get in anyway. When nobody has a transition left (or `transitions` steps are
over), all that have taken the word are pruned to `word_beam_width`, and the search goes on from there.

    "There is", arc-standard:  from (There is)   GEN a           waits for the others
                                                 LEFTARC         again: GEN a, or RIGHTARC (after which only the end)

log p(words so far) is the log of the sum over the derivations that took the last word, before they are pruned to the
word beam. It is a bound from below, and exact if nothing was pruned. Unlike the sum over trees it counts every
derivation of a tree.

Several sentences are searched at once, each with places of its own; as long as some of them are the same, and go on
with the same word, they are one:

    There is a     .              words that are searched: There, is, a, no, and an end each of two words
    There is no    difference

    >>> from dtglib.decode.stackcache import StackStepper
    >>> from dtglib.model import Model, ModelConfig
    >>> words = ["There", "is", "a", "difference"]
    >>> _ = torch.manual_seed(1)
    >>> model = Model(ModelConfig(layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> (narrow,) = search(StackStepper(model), model.vocabulary, [words], Widths(1, 1))
    >>> (wide,) = search(StackStepper(model), model.vocabulary, [words], Widths(300, 300))
    >>> narrow.log_prob < wide.log_prob, round(wide.log_prob, 1), wide.heads.tolist()
    (True, -13.7, [2, 0, 2, 3])
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import torch

from dtglib.compile import Arcs
from dtglib.decode.alive import CONTINUE
from dtglib.decode.stackcache import Hypotheses, Moves, Stepper, fork, together
from dtglib.errors import require, require_probabilities
from dtglib.transitions.protocol import OPEN, Kind
from dtglib.vocab import END, Vocabulary

Something = TypeVar("Something")

AT_ONCE = {"cpu": 512, "cuda": 2**12}  # hypotheses whose whole distributions are held in memory
# Hypotheses for which there is room, of all sentences that are searched at once. A step has a price of its own, however
# few there are: where `within` left few of each sentence, 128 sentences took a quarter of the time that they took by
# eights. But nothing is dropped until a hypothesis has arrived, so there must be room for all.
HYPOTHESES, HYPOTHESES_WITHIN = 2**10, 2**14
FEWEST, MOST = 8, 128  # sentences: what is stopped has lost no more


class Widths(NamedTuple):
    """How many hypotheses of a sentence are kept, and for how many steps between two words (None: while there are any).

    A limit can kill a long sentence at its end, where a model that attaches late has as many arcs to draw as there are
    words. `within` drops a hypothesis that is so many nats behind the best one that has taken the word by then: of a
    trained model most are, and what they would have added is little (benchmarks/within.py: 8 nats made a search of
    width 300 some twenty times as fast, and took less than 0.002 nats a sentence).
    """

    beam_width: int = 300
    word_beam_width: int = 300
    fast_track: int = 5
    transitions: int | None = None
    within: float | None = None

    @property
    def at_once(self) -> int:
        """How many sentences are best searched at once."""
        room = HYPOTHESES if self.within is None else HYPOTHESES_WITHIN
        return min(max(room // max(self.beam_width, 1), FEWEST), MOST)


class Found(NamedTuple):
    """What a search found of one sentence. Where all hypotheses had died, log-probabilities are minus infinity."""

    log_prefix: np.ndarray  # log p of the sentence's beginning, up to each of its pieces
    log_prob: float  # of the whole, the end included
    heads: np.ndarray | None  # of its most probable derivation, if the model has trees,
    log_derivation: float  # and log p(words, derivation)


class SoFar(NamedTuple):
    """A sentence that has been read up to some word."""

    log_prob: float  # of these words
    heads: np.ndarray | None  # of their most probable derivation, OPEN for a word without one; None if all had died
    log_derivation: float


DEFAULT = Widths()


def search(
    stepper: Stepper, vocabulary: Vocabulary, sentences: Sequence[Sequence[str]], widths: Widths = DEFAULT
) -> list[Found]:
    """What the model behind the stepper says of each sentence."""
    levels, paths = _levels([[*pieces, (END,)] for pieces in _pieces_of(vocabulary, sentences)])
    log_prefix, best = [[] for _ in paths], [None] * len(paths)
    for number, taken, place in _along(paths, _walk(stepper, vocabulary, levels, widths)):
        log_prefix[number] += taken.log_prefix[place]
        if taken.pieces[place] == (END,):
            best[number] = _best(taken.arrived.at(place))
    return [Found(np.array(prefix), end, *_tree(*one)) for (*prefix, end), one in zip(log_prefix, best, strict=True)]


def search_beginnings(
    stepper: Stepper, vocabulary: Vocabulary, beginnings: Sequence[Sequence[str]], widths: Widths = DEFAULT
) -> list[np.ndarray]:
    """The same for beginnings of sentences, of which nobody asks how they end: log p up to each piece."""
    levels, paths = _levels(_pieces_of(vocabulary, beginnings))
    log_prefix = [[] for _ in paths]
    for number, taken, place in _along(paths, _walk(stepper, vocabulary, levels, widths)):
        log_prefix[number] += taken.log_prefix[place]
    return list(map(np.array, log_prefix))


def in_parts(
    find: Callable[[Stepper, Vocabulary, Sequence[Sequence[str]], Widths], list[Something]],
    new_stepper: Callable[[], Stepper],
    vocabulary: Vocabulary,
    sentences: Sequence[Sequence[str]],
    widths: Widths = DEFAULT,
) -> Iterator[Something]:
    """What `search` or `search_beginnings` finds of any number of sentences, `widths.at_once` at a time."""
    for first in range(0, len(sentences), widths.at_once):
        yield from find(new_stepper(), vocabulary, sentences[first : first + widths.at_once], widths)


def follow(stepper: Stepper, vocabulary: Vocabulary, words: Sequence[str], widths: Widths = DEFAULT) -> Iterator[SoFar]:
    """What is found after each word, and the best derivation of the words so far."""
    levels, _ = _levels(_pieces_of(vocabulary, [words]))
    for taken in _walk(stepper, vocabulary, levels, widths):
        yield SoFar(taken.log_prefix[0][-1], *_best(taken.through))


class Level(NamedTuple):
    """What comes next, once for all sentences that are the same up to there."""

    parent: list[int]  # what it comes after, in the level before
    pieces: list[tuple[int, ...]]  # a word's, or <END> alone


def _pieces_of(vocabulary: Vocabulary, sentences: Sequence[Sequence[str]]) -> list[list[tuple[int, ...]]]:
    for number, words in enumerate(sentences, start=1):
        require(len(words), f"sentence {number} has no words; leave it out")
    encoded = map(vocabulary.encode, sentences)
    return [[e.ids[start:stop] for start, stop in e.spans] for e in encoded]


def _levels(units: Sequence[Sequence[tuple[int, ...]]]) -> tuple[list[Level], list[list[int]]]:
    """The sentences as a trie, and the path of each through its levels."""
    places: list[dict[tuple, int]] = [{} for _ in range(max(map(len, units), default=0))]
    paths = []
    for sentence in units:
        path = [0]
        for known, pieces in zip(places, sentence, strict=False):
            path.append(known.setdefault((path[-1], pieces), len(known)))
        paths.append(path[1:])
    return [Level(*map(list, zip(*known, strict=True))) for known in places], paths


def _along(paths: Sequence[Sequence[int]], steps: Iterator["Taken"]) -> Iterator[tuple[int, "Taken", int]]:
    """For each step and each sentence that goes so far: its number, what was found, and its place there."""
    for depth, taken in enumerate(steps):
        for number, path in enumerate(paths):
            if depth < len(path):
                yield number, taken, path[depth]


class Beam(NamedTuple):
    """Hypotheses side by side, in which place of its level each is, and log p of each so far."""

    hypotheses: Hypotheses
    place: np.ndarray
    log_p: np.ndarray

    def of(self, rows: np.ndarray) -> "Beam":
        """These rows, copied."""
        return Beam(fork(self.hypotheses, rows), self.place[rows], self.log_p[rows])

    def at(self, place: int) -> "Beam":
        """Those of one place."""
        return self.of(np.flatnonzero(self.place == place))


class Taken(NamedTuple):
    """What there is when the words of a level have been taken."""

    pieces: list[tuple[int, ...]]  # of each place
    log_prefix: list[list[float]]  # of each place, up to each piece
    arrived: Beam  # before the first piece was read, with its log-probability,
    through: Beam  # and after the last


def _check(widths: Widths) -> None:
    for name, value in widths._asdict().items():
        least = 1 if name.endswith("width") else 0
        require(value is None or value >= least, f"{name} must be at least {least}, not {value}")


def _walk(stepper: Stepper, vocabulary: Vocabulary, levels: Sequence[Level], widths: Widths) -> Iterator[Taken]:
    """Take the words of one level after the other."""
    _check(widths)
    symbols = Symbols.of(vocabulary)
    through = Beam(stepper.init(len(levels)), np.zeros(1, np.int64), np.zeros(1))
    for level in levels:
        rows = [np.flatnonzero(through.place == parent) for parent in level.parent]
        place = np.repeat(np.arange(len(rows)), [len(mine) for mine in rows])
        beam = through.of(np.concatenate(rows))._replace(place=place)
        arrived = _until(stepper, symbols, beam, np.array([pieces[0] for pieces in level.pieces]), widths)
        through, log_prefix = _through(stepper, level.pieces, arrived, widths.word_beam_width)
        yield Taken(level.pieces, log_prefix, arrived, through)


class Symbols(NamedTuple):
    """The transitions of a vocabulary that are neither words nor the end."""

    id: np.ndarray
    kind: np.ndarray
    reach: np.ndarray

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> "Symbols":
        """All arcs of all reaches, and POP."""
        arcs = Arcs.of(vocabulary)
        reaches = np.arange(1, len(arcs.left))
        kinds = np.repeat([Kind.LEFTARC, Kind.RIGHTARC, Kind.POP], [len(reaches), len(reaches), 1])
        ids = np.concatenate([arcs.left[1:], arcs.right[1:], [arcs.pop]])
        return cls(ids, kinds.astype(np.int32), np.concatenate([reaches, reaches, [1]]).astype(np.int32))


def _until(stepper: Stepper, symbols: Symbols, beam: Beam, wanted: np.ndarray, widths: Widths) -> Beam:
    """The hypotheses that can take the wanted symbol of their place next, with its log-probability added."""
    arrived, live = [], beam
    best = np.full(len(wanted), -np.inf)  # of what has arrived in each place
    for step in itertools.count():
        # A column for each transition, and the last for what is wanted.
        asked = np.column_stack([np.tile(symbols.id, (len(live.place), 1)), wanted[live.place]])
        found = _log_probs(stepper, live.hypotheses, asked) + live.log_p[:, None]
        if step == widths.transitions:
            found[:, :-1] = -np.inf
        require_probabilities(found)
        row, column = np.nonzero(found > -np.inf)
        value, arrives, place = found[row, column], column == len(symbols.id), live.place[row]
        keep = _best_of_each(place, value, widths.beam_width)
        keep |= _best_of_each(place, np.where(arrives, value, -np.inf), widths.fast_track)
        np.maximum.at(best, place[keep & arrives], value[keep & arrives])
        if widths.within is not None:
            keep &= value >= best[place] - widths.within
        (rows,) = np.nonzero(keep & arrives)
        arrived.append(live.of(row[rows])._replace(log_p=value[rows]))
        (rows,) = np.nonzero(keep & ~arrives)
        if not len(rows):
            break
        nothing = np.zeros(len(rows), np.int32)
        moves = Moves(row[rows], symbols.kind[column[rows]], symbols.reach[column[rows]], nothing)
        waiting = [others.hypotheses for others in arrived]
        live = Beam(stepper.step(live.hypotheses, moves, waiting), place[rows], value[rows])
    return _together(arrived)


def _through(
    stepper: Stepper, words: Sequence[tuple[int, ...]], beam: Beam, width: int
) -> tuple[Beam, list[list[float]]]:
    """Read the words piece by piece; note log p of what there is then, and prune each when it is over."""
    counts = np.array([len(pieces) for pieces in words])
    is_end = np.array([pieces[0] == END for pieces in words])  # after which there is nothing
    log_prefix, over = [[] for _ in words], []
    for piece in range(counts.max()):
        for place in np.flatnonzero(counts > piece):
            log_prefix[place].append(float(np.logaddexp.reduce(beam.log_p[beam.place == place], initial=-np.inf)))
        is_last = counts[beam.place] == piece + 1
        keep = ~is_last | _best_of_each(beam.place, np.where(is_last, beam.log_p, -np.inf), width)
        beam = beam.of(np.flatnonzero(keep & ~is_end[beam.place]))
        if len(beam.place):
            ids = np.array([words[place][piece] for place in beam.place], np.int32)
            kind = np.full(len(ids), CONTINUE if piece else Kind.GEN, np.int32)
            moves = Moves(np.arange(len(ids)), kind, np.ones_like(kind), ids)
            waiting = [others.hypotheses for others in over]
            beam = beam._replace(hypotheses=stepper.step(beam.hypotheses, moves, waiting))
        is_over = counts[beam.place] == piece + 1
        over.append(beam.of(np.flatnonzero(is_over)))
        beam = beam.of(np.flatnonzero(~is_over))
        ids = np.array([words[place][piece + 1] for place in beam.place], np.int64)
        beam = beam._replace(log_p=beam.log_p + _log_probs(stepper, beam.hypotheses, ids[:, None])[:, 0])
        require_probabilities(beam.log_p)
    return _together([*over, beam]), log_prefix


def _log_probs(stepper: Stepper, hypotheses: Hypotheses, ids: np.ndarray) -> np.ndarray:
    """The log-probabilities of some symbols after each hypothesis: a row of ids each."""
    found, at_once = [np.empty((0, ids.shape[1]))], AT_ONCE[hypotheses.x.device.type]
    for first in range(0, len(ids), at_once):
        rows = np.arange(first, min(first + at_once, len(ids)))
        log_probs = stepper.log_probs(fork(hypotheses, rows))
        asked = torch.from_numpy(ids[rows]).to(log_probs.device)
        found.append(log_probs.gather(1, asked).double().cpu().numpy())
    return np.concatenate(found)


def _best(beam: Beam) -> tuple[np.ndarray | None, float]:
    """The heads and log p of the best derivation."""
    if not len(beam.log_p):
        return None, -np.inf
    best, states = int(beam.log_p.argmax()), beam.hypotheses.states
    return states.heads[best, 1 : states.count[best] + 1].copy(), float(beam.log_p[best])


def _tree(heads: np.ndarray | None, log_p: float) -> tuple[np.ndarray | None, float]:
    """Where there are no trees, no word has a head."""
    return heads if heads is not None and (heads != OPEN).all() else None, log_p


def _together(beams: list[Beam]) -> Beam:
    hypotheses, places, log_ps = zip(*beams, strict=True)
    return Beam(together(hypotheses), np.concatenate(places), np.concatenate(log_ps))


def _best_of_each(group: np.ndarray, value: np.ndarray, count: int) -> np.ndarray:
    """Which values are among the largest so many of their group, minus infinity never."""
    order = np.lexsort((-value, group))
    rank = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    keep = np.zeros(len(order), bool)
    keep[order] = rank < count
    return keep & (value > -np.inf)
