"""Word-synchronous beam search (Stern et al. 2017): what a model says of a sentence, word by word, without a parser.

Derivations are compared when they have generated the same words. Between two words, a step at a time, each hypothesis
takes every transition that it may; the successors compete for `beam_width` places, those that take the next word among
them, and the best `fast_track` of these get in anyway. When nobody has a transition left (or `transitions` steps are
over), all that have taken the word are pruned to `word_beam_width`, and the search goes on from there.

    "There is", arc-standard:  from (There is)   GEN a           waits for the others
                                                 LEFTARC         again: GEN a, or RIGHTARC (after which only the end)

log p(words so far) is the log of the sum over the derivations that took the last word, before they are pruned to the
word beam. It is a bound from below, and exact if nothing was pruned. Unlike the sum over trees it counts every
derivation of a tree. Several sentences are searched at once, each with places of its own.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
import torch

from dtglib.compile import Arcs
from dtglib.decode.stackcache import CONTINUE, Hypotheses, Moves, Stepper, fork, together
from dtglib.errors import require, require_probabilities
from dtglib.transitions.protocol import OPEN, Kind
from dtglib.vocab import END, Encoded, Vocabulary


class Widths(NamedTuple):
    """How many hypotheses of a sentence are kept, and for how many steps between two words (None: while there are any).

    A limit can kill a long sentence at its end, where a model that attaches late has as many arcs to draw as there are
    words.
    """

    beam_width: int = 300
    word_beam_width: int = 300
    fast_track: int = 5
    transitions: int | None = None


class Found(NamedTuple):
    """What a search found of one sentence. Where all hypotheses had died, log-probabilities are minus infinity."""

    log_prefix: np.ndarray  # log p of the sentence's beginning, up to each of its pieces
    log_prob: float  # of the whole, the end included
    heads: np.ndarray | None  # of its most probable derivation, if the model has trees,
    log_derivation: float  # and log p(words, derivation)


class Beam(NamedTuple):
    """Hypotheses side by side, of which sentence each is, and log p of each so far."""

    hypotheses: Hypotheses
    sentence: np.ndarray
    log_p: np.ndarray

    def of(self, rows: np.ndarray) -> Self:
        """These rows, copied."""
        return Beam(fork(self.hypotheses, rows), self.sentence[rows], self.log_p[rows])


DEFAULT = Widths()


def search(
    stepper: Stepper, vocabulary: Vocabulary, sentences: Sequence[Sequence[str]], widths: Widths = DEFAULT
) -> list[Found]:
    """What the model behind the stepper says of each sentence."""
    for name, least in (("beam_width", 1), ("word_beam_width", 1), ("fast_track", 0), ("transitions", 0)):
        value = getattr(widths, name)
        require(value is None or value >= least, f"{name} must be at least {least}, not {value}")
    if not sentences:
        return []
    for number, words in enumerate(sentences, start=1):
        require(len(words), f"sentence {number} has no words; leave it out")
    encoded = [vocabulary.encode(words) for words in sentences]
    lengths = np.array([len(words) for words in sentences])
    symbols = Symbols.of(vocabulary)
    prefixes: list[list[float]] = [[] for _ in sentences]
    ends: dict[int, tuple[float, np.ndarray | None, float]] = {}
    beam = Beam(stepper.init(int(lengths.max())), np.zeros(1, np.int64), np.zeros(1))
    beam = beam.of(np.zeros(len(sentences), np.int64))._replace(sentence=np.arange(len(sentences)))
    for word in range(int(lengths.max()) + 1):
        wanted = np.array([_piece(e, word, 0) if word < len(e.spans) else END for e in encoded])
        arrived = _until(stepper, symbols, beam, wanted, widths)
        for number in np.flatnonzero(lengths == word):
            ends[number] = _ended(arrived.of(np.flatnonzero(arrived.sentence == number)))
        going_on = arrived.of(np.flatnonzero(lengths[arrived.sentence] > word))
        beam = _through(stepper, encoded, word, going_on, prefixes, widths.word_beam_width)
    return [Found(np.array(prefix), *ends[number]) for number, prefix in enumerate(prefixes)]


class Symbols(NamedTuple):
    """The transitions of a vocabulary that are neither words nor the end."""

    id: np.ndarray
    kind: np.ndarray
    reach: np.ndarray

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Self:
        """All arcs of all reaches, and POP."""
        arcs = Arcs.of(vocabulary)
        reaches = np.arange(1, len(arcs.left))
        kinds = np.repeat([Kind.LEFTARC, Kind.RIGHTARC, Kind.POP], [len(reaches), len(reaches), 1])
        ids = np.concatenate([arcs.left[1:], arcs.right[1:], [arcs.pop]])
        return cls(ids, kinds.astype(np.int32), np.concatenate([reaches, reaches, [1]]).astype(np.int32))


def _until(stepper: Stepper, symbols: Symbols, beam: Beam, wanted: np.ndarray, widths: Widths) -> Beam:
    """The hypotheses that can take the wanted symbol of their sentence next, with its log-probability added."""
    arrived, live = [], beam
    for step in itertools.count():
        log_probs = stepper.log_probs(live.hypotheses)
        # A column for each transition, and the last for what is wanted.
        found = log_probs[:, torch.from_numpy(symbols.id).to(log_probs.device)].double().cpu().numpy()
        found = np.column_stack([found, _at(log_probs, wanted[live.sentence])]) + live.log_p[:, None]
        if step == widths.transitions:
            found[:, :-1] = -np.inf
        require_probabilities(found)
        row, column = np.nonzero(found > -np.inf)
        value, arrives, sentence = found[row, column], column == len(symbols.id), live.sentence[row]
        keep = _best_of_each(sentence, value, widths.beam_width)
        keep |= _best_of_each(sentence, np.where(arrives, value, -np.inf), widths.fast_track)
        (rows,) = np.nonzero(keep & arrives)
        arrived.append(live.of(row[rows])._replace(log_p=value[rows]))
        (rows,) = np.nonzero(keep & ~arrives)
        if not len(rows):
            break
        nothing = np.zeros(len(rows), np.int32)
        moves = Moves(row[rows], symbols.kind[column[rows]], symbols.reach[column[rows]], nothing)
        waiting = [others.hypotheses for others in arrived]
        live = Beam(stepper.step(live.hypotheses, moves, waiting), sentence[rows], value[rows])
    return _together(arrived)


def _through(
    stepper: Stepper, encoded: list[Encoded], word: int, beam: Beam, prefixes: list[list[float]], width: int
) -> Beam:
    """Take a word piece by piece; note log p of what there is then, and prune each sentence when its word is over."""
    pieces = np.array([e.spans[word][1] - e.spans[word][0] if word < len(e.spans) else 0 for e in encoded])
    over = []
    for piece in range(int(pieces.max())):
        for number in np.flatnonzero(pieces > piece):
            prefixes[number].append(float(np.logaddexp.reduce(beam.log_p[beam.sentence == number], initial=-np.inf)))
        is_last = pieces[beam.sentence] == piece + 1
        keep = ~is_last | _best_of_each(beam.sentence, np.where(is_last, beam.log_p, -np.inf), width)
        (rows,) = np.nonzero(keep)
        beam = beam.of(rows)
        if len(rows):
            ids = np.array([_piece(encoded[number], word, piece) for number in beam.sentence], np.int32)
            kind = np.full(len(rows), CONTINUE if piece else Kind.GEN, np.int32)
            moves = Moves(np.arange(len(rows)), kind, np.ones_like(kind), ids)
            waiting = [others.hypotheses for others in over]
            beam = beam._replace(hypotheses=stepper.step(beam.hypotheses, moves, waiting))
        is_over = pieces[beam.sentence] == piece + 1
        over.append(beam.of(np.flatnonzero(is_over)))
        beam = beam.of(np.flatnonzero(~is_over))
        if len(beam.sentence):
            ids = np.array([_piece(encoded[number], word, piece + 1) for number in beam.sentence])
            beam = beam._replace(log_p=beam.log_p + _at(stepper.log_probs(beam.hypotheses), ids))
            require_probabilities(beam.log_p)
    return _together([*over, beam])


def _piece(encoded: Encoded, word: int, piece: int) -> int:
    return encoded.ids[encoded.spans[word][0] + piece]


def _at(log_probs: torch.Tensor, ids: np.ndarray) -> np.ndarray:
    """Of each row the log-probability of one symbol."""
    places = torch.from_numpy(ids).to(log_probs.device).long()
    return log_probs.gather(1, places[:, None])[:, 0].double().cpu().numpy()


def _ended(beam: Beam) -> tuple[float, np.ndarray | None, float]:
    """log p of a sentence that has ended, and the heads and log p of its best derivation."""
    if not len(beam.log_p):
        return -np.inf, None, -np.inf
    best, states = int(beam.log_p.argmax()), beam.hypotheses.states
    heads = states.heads[best, 1 : states.count[best] + 1].copy()
    is_tree = (heads != OPEN).all()  # where there are no trees, no word has a head
    return float(np.logaddexp.reduce(beam.log_p)), heads if is_tree else None, float(beam.log_p[best])


def _together(beams: list[Beam]) -> Beam:
    hypotheses, sentences, log_ps = zip(*beams, strict=True)
    return Beam(together(hypotheses), np.concatenate(sentences), np.concatenate(log_ps))


def _best_of_each(group: np.ndarray, value: np.ndarray, count: int) -> np.ndarray:
    """Which values are among the largest so many of their group, minus infinity never."""
    order = np.lexsort((-value, group))
    rank = np.arange(len(order)) - np.searchsorted(group[order], group[order])
    keep = np.zeros(len(order), bool)
    keep[order] = rank < count
    return keep & (value > -np.inf)
