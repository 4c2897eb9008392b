"""The distribution of the next piece given the pieces before it, marginal over derivations.

A beam search (decode/beam.py) looks for the derivations of given words: which arcs are tried depends on the word that
is to come, so that its sums for all possible next words do not add up to 1. Here nothing depends on what comes next.
After each piece, derivations d with weights p(d, pieces) are kept. They are extended by silent symbols (arcs), and each
of them, extended or not, predicts:

    p(next piece | pieces)  =  sum of p(d, pieces) p(next piece | d)  /  the same sum over all pieces and the end

    "There is", arc-standard:  (There is)                     a word, or a silent symbol
                               (There is) LEFTARC             the same
                               (There is) LEFTARC RIGHTARC    the end, which alone is left

A derivation is dropped if its weight is `within` nats below that of the pieces (all derivations together), and no more
than `beam_width` are kept after a piece, and of those that are extended by the same number of silent symbols. What is
dropped is shared among the rest, so that the numbers are no bounds. If nothing is dropped, they are those of all
derivations, and of a search that drops nothing. A model without silent symbols has one derivation.

    >>> from dtglib.data.vocabulary import Vocabulary
    >>> from dtglib.decode.beam import search
    >>> from dtglib.families.base import build
    >>> from dtglib.network.transformer import TransformerConfig
    >>> words, wide = ["There", "is", "a", "difference"], Widths(1000, 1000)
    >>> _ = torch.manual_seed(1)
    >>> model = build(TransformerConfig("dtg", layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> pieces = model.vocabulary.encode(words).ids
    >>> (log_probs,) = Derivations(model, 1).read([pieces], wide)                      # after 0, 1, ..., 4 pieces
    >>> log_probs.exp().sum(1).round(decimals=4).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    >>> (whole,) = search(model.stepper(), model.vocabulary, [words], wide)
    >>> total = sum(log_probs[place, piece].item() for place, piece in enumerate([*pieces, END]))
    >>> bool(abs(total - whole.log_prob) < 1e-5)
    True
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.errors import require_probabilities
from dtglib.basics.shapes import Float
from dtglib.data.vocabulary import END
from dtglib.decode.beam import Beam, Level, Widths, beginnings_of, best_of_each, together
from dtglib.decode.sequence_stepper import Hypotheses, SequenceStepper
from dtglib.decode.stepper import DISTRIBUTIONS_AT_ONCE
from dtglib.network.saved import Saved
from dtglib.transitions.batch import choose

NOTHING_MORE = Level([], [])


class Derivations:
    """The derivations of some sequences after the pieces that were read so far; `read` goes on with them."""

    def __init__(self, model: Saved, sequences: int) -> None:
        self.stepper = stepper = model.stepper()
        self.is_piece = model.vocabulary.starts_word | model.vocabulary.continues_word
        self.pieces = self.room = 0  # the most pieces of a sequence that were read, and room for so many words
        self.beam = Beam(stepper.init(0), np.zeros(1, int), np.zeros(1))
        self.places = [0] * sequences  # of each sequence in the beam

    def choose(self, sequences: Sequence[int]) -> None:
        """Go on with these sequences; each may come several times."""
        self.places = [self.places[number] for number in sequences]

    def read(self, sequences: Sequence[Sequence[int]], widths: Widths) -> list[Float[Tensor, "places V"]]:
        """For each sequence, before its first new piece and after each: log p of every entry as the next one.

        After pieces that cannot follow one another, and after the end, the end is certain.
        """
        self.pieces += max(map(len, sequences))
        if self.pieces > self.room:
            self.room = 2 * self.pieces
            self.beam = self.beam._replace(state=_with_room(self.stepper, self.beam.state, self.room))
        begun = zip(self.places, sequences, strict=True)
        trie = beginnings_of([[(place,), *((piece,) for piece in pieces)] for place, pieces in begun])
        beam = self._at(self.beam, [place for (place,) in trie.levels[0].pieces])
        following, whole = [], []
        for depth, (level, after) in enumerate(zip(trie.levels, [*trie.levels[1:], NOTHING_MORE], strict=True)):
            ending = [number for number, path in enumerate(trie.paths) if len(path) == depth + 1]
            if ending:
                of_sequences = self._at(beam, [trie.paths[number][depth] for number in ending])
                whole.append(of_sequences._replace(place=np.array(ending)[of_sequences.place]))
            mixture, beam = self._read(beam, len(level.pieces), after, widths, [others.state for others in whole])
            following.append(self._log_of(mixture))
        self.beam, self.places = together(self.stepper, whole), list(range(len(sequences)))
        return [torch.stack([following[depth][place] for depth, place in enumerate(path)]) for path in trie.paths]

    def _at(self, beam: Beam, places: Sequence[int]) -> Beam:
        """The hypotheses at these places, which are numbered anew; a place may come several times."""
        rows = [np.flatnonzero(beam.place == place) for place in places]
        place = np.repeat(np.arange(len(rows)), list(map(len, rows)))
        return beam.of(self.stepper, np.concatenate(rows))._replace(place=place)

    def _read(
        self, beam: Beam, places: int, after: Level, widths: Widths, waiting: Sequence[Any]
    ) -> tuple[Float[Tensor, "places V"], Beam]:
        """The mixture at each place, and the hypotheses that have read the pieces of the level after it."""
        stepper, within = self.stepper, np.inf if widths.within is None else widths.within
        parent, wanted = np.array(after.parent, int), np.array([piece for (piece,) in after.pieces], int)
        mixture = torch.zeros(places, len(self.is_piece), dtype=torch.float64, device=stepper.device)
        total, best = np.full(places, -np.inf), np.full(len(parent), -np.inf)
        np.logaddexp.at(total, beam.place, beam.log_p)
        arrived = [beam.of(stepper, np.zeros(0, int))]
        while len(beam.place):
            row, child = np.nonzero((beam.place[:, None] == parent) & self.is_piece[wanted])
            share = beam.log_p - total[beam.place]
            of_silent, of_wanted = self._add(mixture, beam.state, beam.place, share, (row, wanted[child]))
            # The piece that comes next decides which hypotheses are kept for it, and nothing else.
            value = beam.log_p[row] + of_wanted
            np.maximum.at(best, child, value)
            keep = best_of_each(child, value, widths.word_beam_width) & (value >= best[child] - within)
            arrived.append(beam.of(stepper, row[keep])._replace(place=child[keep], log_p=value[keep]))
            row, column = np.nonzero(share[:, None] + of_silent >= -within)
            value = beam.log_p[row] + of_silent[row, column]
            keep = best_of_each(beam.place[row], value, widths.beam_width)
            row, column = row[keep], column[keep]
            if not len(row):
                break
            others = [*waiting, *(others.state for others in arrived)]
            state = stepper.step(beam.state, row, stepper.silent[column], others)
            beam = Beam(state, beam.place[row], value[keep])
        beam = together(stepper, arrived)
        keep = best_of_each(beam.place, beam.log_p, widths.word_beam_width) & (beam.log_p >= best[beam.place] - within)
        (rows,) = np.nonzero(keep)
        state = stepper.step(beam.state, rows, wanted[beam.place[rows]], waiting)
        return mixture, Beam(state, beam.place[rows], beam.log_p[rows])

    def _add(
        self,
        mixture: Float[Tensor, "places V"],
        state: Any,
        place: np.ndarray,
        share: np.ndarray,
        some: tuple[np.ndarray, np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Add the distributions of hypotheses to the mixtures of their places, times their shares.

        Returns the log-probabilities of silent symbols after each hypothesis, and those of some pieces after some rows.
        """
        stepper, (row, piece) = self.stepper, some
        of_silent, of_some = np.empty((len(place), len(stepper.silent))), np.empty(len(row))
        at_once = DISTRIBUTIONS_AT_ONCE[stepper.device.type]
        for first in range(0, len(place), at_once):
            rows = np.arange(first, min(first + at_once, len(place)))
            log_probs = stepper.log_probs(stepper.choose(state, rows))
            require_probabilities(log_probs)
            places, shares = (torch.from_numpy(column[rows]).to(stepper.device) for column in (place, share))
            mixture.index_add_(0, places, (log_probs + shares[:, None].float()).exp().double())
            (here,) = np.nonzero((row >= first) & (row < first + at_once))
            of_silent[rows] = log_probs[:, stepper.silent].cpu().numpy()
            of_some[here] = log_probs[row[here] - first, piece[here]].cpu().numpy()
        return of_silent, of_some

    def _log_of(self, mixture: Float[Tensor, "places V"]) -> Float[Tensor, "places V"]:
        """log p of pieces and the end; where there is no hypothesis, the end is certain."""
        may_follow = torch.from_numpy(self.is_piece.copy()).to(mixture.device)
        may_follow[END] = True
        mixture = mixture * may_follow
        mixture[mixture.sum(1) == 0, END] = 1.0
        return (mixture / mixture.sum(1, keepdim=True)).log().float()


def _with_room(stepper: SequenceStepper, state: Hypotheses, words: int) -> Hypotheses:
    """The same rows with room for so many words."""
    wide = choose(stepper.start(words + 1), np.zeros(len(state), int))
    for column, narrow in zip(wide, state.states, strict=True):
        column[tuple(map(slice, narrow.shape))] = narrow
    return Hypotheses(wide, state.cache, state.begun, state.x)
