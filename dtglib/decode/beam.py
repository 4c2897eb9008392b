"""Word-synchronous beam search (Stern et al. 2017): the probability of a sentence, word by word, without a parser.

Derivations are compared when they have generated the same words. Between two words the search goes in steps. In each
step, every hypothesis is extended by every legal silent symbol (transition), and by the next word. All successors
compete for `beam_width` places; the best `fast_track` of those that take the word are kept beyond these places. When no
hypothesis has a transition left (or after `transitions` steps), the hypotheses that have taken the word are pruned to
`word_beam_width`, and the search goes on with the word after it.

    "There is", arc-standard:  from (There is)   GEN a           waits for the others
                                                 LEFTARC         goes on: GEN a, or RIGHTARC from ROOT

A symbol that cannot lead to the next word or to the end takes no place: the arc from ROOT in arc-standard while words
are still to come, or an opening bracket after the last word. A hypothesis that can no longer change the result is not
followed (`too_little`).

log p(words so far) is the logarithm of the sum over the derivations that took the last word, before they are pruned to
the word beam. It is a lower bound, and exact if nothing was pruned. Unlike the sum over trees, it counts every
derivation of a tree.

Several sentences are searched at once, each with its own beam. Sentences share their hypotheses as long as they begin
with the same words:

    There is a     .              words that are searched: There, is, a, no, and an end each of two words
    There is no    difference

    >>> import torch
    >>> from dtglib.families.base import build
    >>> from dtglib.network.transformer import TransformerConfig
    >>> words = ["There", "is", "a", "difference"]
    >>> _ = torch.manual_seed(1)
    >>> model = build(TransformerConfig("dtg", layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> (narrow,) = search(model.stepper(), model.vocabulary, [words], Widths(1, 1))
    >>> (wide,) = search(model.stepper(), model.vocabulary, [words], Widths(300, 300))
    >>> narrow.log_prob < wide.log_prob, round(wide.log_prob, 1), wide.tree.tolist()
    (True, -13.7, [2, 0, 2, 3])
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dtglib.basics.errors import require, require_probabilities
from dtglib.data.vocabulary import END, PAD, Vocabulary
from dtglib.decode.stepper import Searchable, Stepper, log_probs_of
from dtglib.transitions.protocol import OPEN

Result = TypeVar("Result")

# The number of sentences that are searched at once, times the beam width, if that makes FEWEST to MOST sentences. A
# step has a fixed cost: where `within` left few hypotheses of each sentence, 128 sentences at once needed a quarter of
# the time of groups of eight. But nothing is dropped until a hypothesis has taken the word.
HYPOTHESES, HYPOTHESES_WITHIN = 2**10, 2**14
# A share of a sum that float32, in which log-probabilities are computed, does not resolve.
ROUNDING = 2**-24
FEWEST, MOST = 8, 128  # sentences that are searched at once; a search that is interrupted loses no more than these


class Widths(NamedTuple):
    """The numbers of hypotheses of a sentence that are kept, and of steps between two words.

    If `transitions` is None, the stepper's own bound on steps holds. With a lower limit a long sentence may have no
    result: a model that attaches late has to draw as many arcs at the end as there are words. `within` drops a
    hypothesis that is this many nats behind the best one that has taken the word so far. Most hypotheses of a trained
    model are that far behind, and they contribute little: 8 nats made a search of width 300 some twenty times as fast,
    and cost less than 0.002 nats per sentence (benchmarks/within.py). With a `score_beam`, a hypothesis is extended by
    only that many silent symbols, the most probable ones; the GiLT paper's code uses 20 of 30.
    """

    beam_width: int = 300
    word_beam_width: int = 300
    fast_track: int = 5
    transitions: int | None = None
    within: float | None = None
    score_beam: int | None = None

    @property
    def at_once(self) -> int:
        """The number of sentences to search at once."""
        room = HYPOTHESES if self.within is None else HYPOTHESES_WITHIN
        return min(max(room // max(self.beam_width, 1), FEWEST), MOST)


class SentenceResult(NamedTuple):
    """The result for one sentence. Where no hypothesis was left, log-probabilities are minus infinity."""

    log_prefix: np.ndarray  # log p of the beginning of the sentence, up to each of its pieces
    log_prob: float  # log p of the whole sentence, with its end
    tree: np.ndarray | None  # that of the most probable derivation; None from a model without trees
    log_derivation: float  # log p(words, derivation) of that derivation


DEFAULT_WIDTHS = Widths()


def search(
    stepper: Stepper, vocabulary: Vocabulary, sentences: Sequence[Sequence[str]], widths: Widths = DEFAULT_WIDTHS
) -> list[SentenceResult]:
    """Search each sentence."""
    trie = beginnings_of([[*pieces, (END,)] for pieces in pieces_of(vocabulary, sentences)])
    log_prefix: list[list[float]] = [[] for _ in sentences]
    best: list[Any] = [None] * len(sentences)
    for number, taken, place in along(trie.paths, walk(stepper, trie, widths)):
        log_prefix[number] += taken.log_prefix[place]
        if taken.pieces[place] == (END,):
            best[number] = best_derivation(stepper, taken.arrival.beam.at(stepper, place))
    return [
        SentenceResult(np.array(prefix), log_prob, tree if tree is not None and OPEN not in tree else None, log_p)
        for (*prefix, log_prob), (tree, log_p) in zip(log_prefix, best, strict=True)
    ]


def in_parts(
    find: Callable[..., list[Result]],
    model: Searchable,
    sentences: Sequence[Sequence[str]],
    widths: Widths = DEFAULT_WIDTHS,
) -> Iterator[Result]:
    """Call a search, such as `search`, for any number of sentences, `widths.at_once` of them at a time."""
    for first in range(0, len(sentences), widths.at_once):
        yield from find(model.stepper(), model.vocabulary, sentences[first : first + widths.at_once], widths)


class Level(NamedTuple):
    """A level of the trie of sentences: the n-th words, each once for all sentences that are the same up to it."""

    parent: list[int]  # the place, in the level before, of the word that precedes it
    pieces: list[tuple[int, ...]]  # the pieces of the word, or <END> alone, or nothing, where nothing is taken


def pieces_of(vocabulary: Vocabulary, sentences: Sequence[Sequence[str]]) -> list[list[tuple[int, ...]]]:
    """The pieces of each word of each sentence."""
    for number, words in enumerate(sentences, start=1):
        require(len(words), f"sentence {number} has no words; leave it out")
    encoded = map(vocabulary.encode, sentences)
    return [[e.ids[start:stop] for start, stop in e.spans] for e in encoded]


class Beginnings(NamedTuple):
    """A trie of sentences, which share their beginnings."""

    levels: list[Level]
    paths: list[list[int]]  # the place of each sentence in each level


def beginnings_of(units: Sequence[Sequence[tuple[int, ...]]]) -> Beginnings:
    """The sentences as a trie."""
    places: list[dict[tuple, int]] = [{} for _ in range(max(map(len, units), default=0))]
    paths = []
    for sentence in units:
        path = [0]
        for known, pieces in zip(places, sentence, strict=False):
            path.append(known.setdefault((path[-1], pieces), len(known)))
        paths.append(path[1:])
    return Beginnings([Level(*map(list, zip(*known, strict=True))) for known in places], paths)


def along(paths: Sequence[Sequence[int]], steps: Iterator["LevelTaken"]) -> Iterator[tuple[int, "LevelTaken", int]]:
    """Yield for each level and each sentence that reaches it the sentence's number, the level, and the place there."""
    for depth, taken in enumerate(steps):
        for number, path in enumerate(paths):
            if depth < len(path):
                yield number, taken, path[depth]


class Beam(NamedTuple):
    """The hypotheses of a level: their states, their places in the level, and log p of each so far."""

    state: Any  # the stepper's
    place: np.ndarray
    log_p: np.ndarray

    def of(self, stepper: Stepper, rows: np.ndarray) -> "Beam":
        """These rows, copied."""
        return Beam(stepper.choose(self.state, rows), self.place[rows], self.log_p[rows])

    def at(self, stepper: Stepper, place: int) -> "Beam":
        """The hypotheses at one place."""
        return self.of(stepper, np.flatnonzero(self.place == place))


class Arrival(NamedTuple):
    """The hypotheses that have taken the wanted symbol of their place."""

    beam: Beam  # before the symbol is read; its log-probability is already included
    log_over: np.ndarray  # at each place: log p that the word before is over, given everything up to it
    log_before: np.ndarray  # at each place: log p of these derivations, excluding the next word (or the end)


class LevelTaken(NamedTuple):
    """The result for a level, all words of which have been taken."""

    pieces: list[tuple[int, ...]]  # of the word at each place
    log_prefix: list[list[float]]  # log p of the beginning, at each place and up to each piece
    arrival: Arrival  # at the first piece
    through: Beam  # after the last piece


def walk(stepper: Stepper, trie: Beginnings, widths: Widths) -> Iterator[LevelTaken]:
    """Yield the result for each level of the trie."""
    for name, value in widths._asdict().items():
        least = 1 if name.endswith(("width", "beam")) else 0
        require(value is None or value >= least, f"{name} must be at least {least}, not {value}")
    through = Beam(stepper.init(len(trie.levels)), np.zeros(1, int), np.zeros(1))
    for words, level in enumerate(trie.levels):
        rows = [np.flatnonzero(through.place == parent) for parent in level.parent]
        place = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        beam = through.of(stepper, np.concatenate(rows))._replace(place=place)
        bounded = widths if widths.transitions is not None else widths._replace(transitions=stepper.most_silent(words))
        arrival = _until(stepper, beam, NextSymbols.of(level.pieces, 0), bounded)
        through, log_prefix = _through(stepper, level.pieces, arrival.beam, bounded)
        yield LevelTaken(level.pieces, log_prefix, arrival, through)


class NextSymbols(NamedTuple):
    """The next symbol at each place."""

    symbol: np.ndarray
    ends_word: np.ndarray  # true if the hypotheses that have taken it are pruned to the word beam; not at the end

    @classmethod
    def of(cls, words: Sequence[tuple[int, ...]], piece: int) -> "NextSymbols":
        """This piece of each word, or its last one if it has fewer; <pad> where nothing is taken."""
        symbols = [pieces[min(piece, len(pieces) - 1)] if pieces else PAD for pieces in words]
        ends_word = [len(pieces) <= piece + 1 and pieces != (END,) for pieces in words]
        return cls(np.array(symbols), np.array(ends_word))


def _until(stepper: Stepper, beam: Beam, following: NextSymbols, widths: Widths, others: Sequence[Any] = ()) -> Arrival:
    """The hypotheses that take the next symbol of their place, with its log-probability added.

    Where it is <pad>, nothing is taken, and only log_over is computed. `others` are states that are needed later.
    """
    arrived, live, ending = [], beam, Ending(len(following.symbol))
    best = np.full(len(following.symbol), -np.inf)  # the best log p at each place of what has arrived
    for step in itertools.count():
        # One column for each silent symbol, and the last one for the wanted symbol.
        wants = following.symbol[live.place]
        symbols = np.column_stack([np.tile(stepper.silent, (len(wants), 1)), wants])
        log_p, of_kinds = (log_p + live.log_p[:, None] for log_p in log_probs_of(stepper, live.state, symbols))
        silent = log_p[:, :-1]
        ending.add(live.place, of_kinds, silent)
        silent[~_goes_on(stepper, live, wants, step, widths, silent)] = -np.inf
        require_probabilities(log_p)
        row, column = np.nonzero(log_p > -np.inf)
        value, arrives, place = log_p[row, column], column == len(stepper.silent), live.place[row]
        keep = best_of_each(place, value, widths.beam_width)
        keep |= best_of_each(place, np.where(arrives, value, -np.inf), widths.fast_track)
        np.maximum.at(best, place[keep & arrives], value[keep & arrives])
        if widths.within is not None:
            keep &= value >= best[place] - widths.within
        (rows,) = np.nonzero(keep & arrives)
        arrived.append(live.of(stepper, row[rows])._replace(log_p=value[rows]))
        any_word = np.where(wants == END, of_kinds[:, 2], of_kinds[:, 1])
        np.logaddexp.at(ending.before, place[rows], any_word[row[rows]])
        (rows,) = np.nonzero(keep & ~arrives & (value > too_little(arrived, following, widths)[place]))
        if not len(rows):
            break
        waiting = [*others, *(beam.state for beam in arrived)]
        state = stepper.step(live.state, row[rows], symbols[row[rows], column[rows]], waiting)
        live = Beam(state, place[rows], value[rows])
    return Arrival(together(stepper, arrived), ending.log_over, ending.before)


def _goes_on(
    stepper: Stepper, live: Beam, wants: np.ndarray, step: int, widths: Widths, silent: np.ndarray
) -> np.ndarray:
    """True for the silent symbols that each hypothesis may take, given log p with each of them."""
    if step == widths.transitions:
        return np.zeros(silent.shape, bool)
    goes_on = stepper.leads_on(live.state, wants == END)
    if not stepper.in_words:
        goes_on &= (wants != PAD)[:, None]
    if widths.score_beam is not None:
        goes_on &= among_the_largest(np.where(goes_on, silent, -np.inf), widths.score_beam)
    return goes_on


class Ending:
    """Sums over the hypotheses at each place: of those whose word is over, and of those whose word goes on."""

    def __init__(self, places: int) -> None:
        self.over, self.goes_on, self.before = np.full((3, places), -np.inf)

    def add(self, place: np.ndarray, of_kinds: np.ndarray, silent: np.ndarray) -> None:
        """Add hypotheses: log p of each with a further piece, a word or the end, and with each silent symbol."""
        (rows,) = np.nonzero(of_kinds[:, 0] > -np.inf)
        is_over = np.logaddexp.reduce(np.concatenate([of_kinds[rows, 1:], silent[rows]], axis=1), axis=1)
        np.logaddexp.at(self.goes_on, place[rows], of_kinds[rows, 0])
        np.logaddexp.at(self.over, place[rows], is_over)

    @property
    def log_over(self) -> np.ndarray:
        """log p that the word is over, given everything before; 0 where no hypothesis could continue it."""
        may_go_on = self.goes_on > -np.inf
        both = np.logaddexp(self.over, self.goes_on, where=may_go_on, out=np.zeros(len(self.over)))
        return np.where(may_go_on, self.over - both, 0.0)


def _through(
    stepper: Stepper, words: Sequence[tuple[int, ...]], beam: Beam, widths: Widths
) -> tuple[Beam, list[list[float]]]:
    """Read the words piece by piece; return log p up to each piece, too, and prune to the word beam after the last.

    If silent symbols may stand within a word, the search for its next piece is the same as for a word.
    """
    counts = np.array([len(pieces) for pieces in words])
    is_end = np.array([pieces == (END,) for pieces in words])  # nothing follows the end
    log_prefix, over = [[] for _ in words], []
    for piece in range(counts.max()):
        for place in np.flatnonzero(counts > piece):
            log_prefix[place].append(float(np.logaddexp.reduce(beam.log_p[beam.place == place], initial=-np.inf)))
        is_last = counts[beam.place] == piece + 1
        keep = ~is_last | best_of_each(beam.place, np.where(is_last, beam.log_p, -np.inf), widths.word_beam_width)
        beam = beam.of(stepper, np.flatnonzero(keep & ~is_end[beam.place]))
        if len(beam.place):
            symbols = np.array([words[place][piece] for place in beam.place])
            waiting = [others.state for others in over]
            beam = beam._replace(state=stepper.step(beam.state, np.arange(len(symbols)), symbols, waiting))
        is_over = counts[beam.place] == piece + 1
        over.append(beam.of(stepper, np.flatnonzero(is_over)))
        beam = beam.of(stepper, np.flatnonzero(~is_over))
        if stepper.in_words and len(beam.place):
            following = NextSymbols.of(words, piece + 1)
            beam = _until(stepper, beam, following, widths, [others.state for others in over]).beam
            continue
        symbols = np.array([words[place][piece + 1] for place in beam.place], np.int64)
        beam = beam._replace(log_p=beam.log_p + log_probs_of(stepper, beam.state, symbols[:, None])[0][:, 0])
        require_probabilities(beam.log_p)
    return together(stepper, [*over, beam]), log_prefix


def too_little(arrived: Sequence[Beam], following: NextSymbols, widths: Widths) -> np.ndarray:
    """A bound for each place: a hypothesis that has not arrived and whose log p is below it cannot change the result.

    All its continuations together are no more probable than the hypothesis itself. So it changes nothing if the word
    beam is full of better ones, and if its share of the sum is lost in rounding. Where the word goes on, the order of
    those that have arrived may still change.
    """
    place, log_p = (np.concatenate(column) for column in zip(*(beam[1:] for beam in arrived), strict=True))
    order, places = np.lexsort((-log_p, place)), np.arange(len(following.symbol))
    first = np.searchsorted(place[order], [*places, len(places)])
    is_full = following.ends_word & (np.diff(first) >= widths.word_beam_width)
    total, worst = np.full((2, len(places)), -np.inf)
    np.logaddexp.at(total, place, log_p)
    worst[is_full] = log_p[order[first[:-1][is_full] + widths.word_beam_width - 1]]
    return np.minimum(worst, total + np.log(ROUNDING / widths.beam_width))


def best_derivation(stepper: Stepper, beam: Beam) -> tuple[np.ndarray | None, float]:
    """The tree and log p of the most probable derivation."""
    if not len(beam.log_p):
        return None, -np.inf
    best = int(beam.log_p.argmax())
    return stepper.tree(beam.state, best), float(beam.log_p[best])


def together(stepper: Stepper, beams: list[Beam]) -> Beam:
    """The rows of several beams as one."""
    states, places, log_ps = zip(*beams, strict=True)
    return Beam(stepper.join(states), np.concatenate(places), np.concatenate(log_ps))


def best_of_each(group: np.ndarray, value: np.ndarray, count: int) -> np.ndarray:
    """True for the values that are among the `count` largest of their group; minus infinity never is."""
    order = np.lexsort((-value, group))
    rank = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    keep = np.zeros(len(order), bool)
    keep[order] = rank < count
    return keep & (value > -np.inf)


def among_the_largest(values: np.ndarray, count: int) -> np.ndarray:
    """True for the values that are among the `count` largest of their row, or equal to the least of these.

    >>> among_the_largest(np.array([[3, 1, 2], [0, 5, 0]]), 2).tolist()
    [[True, False, True], [True, True, True]]
    """
    if count >= values.shape[1]:
        return np.ones(values.shape, bool)
    return values >= np.partition(values, -count, axis=1)[:, [-count]]
