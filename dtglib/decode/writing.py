"""A search that chooses its words: the most probable sentence of a model, given a source for models that need one.

Derivations compete when they have generated the same number of pieces; in beam.py they compete when they have generated
the same words. Between two pieces, every step extends each derivation by all its silent symbols. All successors compete
for `beam_width` places per source; the best `fast_track` successors that take a piece or <END> are kept in any case.
`Widths.within` has no effect here.

    >>> import torch
    >>> from dtglib.families.base import build
    >>> from dtglib.network.transformer import TransformerConfig
    >>> vocabulary = Vocabulary.of_words([["There", "is", "a", "difference"]])
    >>> _ = torch.manual_seed(1)
    >>> model = build(TransformerConfig("txl-tokens", layers=1, width=8, heads=1, inner=16), vocabulary)
    >>> (best,) = write(model.stepper(), vocabulary, [None], most_words=3)
    >>> len(best.words) <= 3, best.log_prob < 0
    (True, True)

Log-probabilities are of one derivation each, so they can only fall: a search ends when no derivation that goes on is
better than the best one that has ended. There is no normalisation by length.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dtglib.basics.errors import require, require_probabilities
from dtglib.data.vocabulary import END, Vocabulary
from dtglib.decode.beam import DEFAULT_WIDTHS, Beam, Widths, best_of_each, check, together
from dtglib.decode.sampling import MOST_PIECES, Generated
from dtglib.decode.stepper import AT_ONCE, Stepper
from dtglib.transitions.protocol import OPEN


def write(
    stepper: Stepper,
    vocabulary: Vocabulary,
    sources: Sequence[Any],
    widths: Widths = DEFAULT_WIDTHS,
    most_words: int = 40,
) -> list[Generated]:
    """The best sentence of at most so many words that the search finds for each source."""
    check(widths)
    count = len(sources)
    state = stepper.join([stepper.init(most_words, source) for source in sources])
    beam, pieces = Beam(state, np.arange(count), np.zeros(count)), [()] * count
    best: list[Generated | None] = [None] * count
    for _ in range(MOST_PIECES * most_words + 1):
        words = np.array([vocabulary.starts_word[list(taken)].sum() for taken in pieces], np.int64)
        barred = (words == most_words)[:, None] & vocabulary.starts_word  # no word more
        limit = stepper.most_silent(int(words.max())) if widths.transitions is None else widths.transitions
        beam, symbols, origin = _next_pieces(stepper, beam, barred, widths._replace(transitions=limit))
        pieces = [pieces[row] for row in origin]
        _note_ends(stepper, vocabulary, beam, symbols, pieces, best)
        least = np.array([-np.inf if one is None else one.log_prob for one in best])
        goes_on = (symbols != END) & (beam.log_p > least[beam.place])
        (rows,) = np.nonzero(best_of_each(beam.place, np.where(goes_on, beam.log_p, -np.inf), widths.word_beam_width))
        if not len(rows):
            break
        pieces = [(*pieces[row], int(symbols[row])) for row in rows]
        beam = Beam(stepper.step(beam.state, rows, symbols[rows]), beam.place[rows], beam.log_p[rows])
    missing = [number for number, one in enumerate(best, start=1) if one is None]
    way_out = "set most_words higher, or search more widely"
    require(not missing, f"source {missing[:1]}: no sentence of at most {most_words} words was found; {way_out}")
    return best


def _next_pieces(
    stepper: Stepper, beam: Beam, barred: np.ndarray, widths: Widths
) -> tuple[Beam, np.ndarray, np.ndarray]:
    """Derivations whose next symbol is a piece or <END>: states before it, the symbols, and the rows they came from."""
    arrived, symbols, origins, live, origin = [], [], [], beam, np.arange(len(beam.place))
    for step in range(widths.transitions + 1):
        found = _all_log_probs(stepper, live) + live.log_p[:, None]
        found[barred[origin]] = -np.inf
        if step == widths.transitions:
            found[:, stepper.silent] = -np.inf
        require_probabilities(found)
        row, symbol = np.nonzero(found > -np.inf)
        value, place, arrives = found[row, symbol], live.place[row], ~np.isin(symbol, stepper.silent)
        keep = best_of_each(place, value, widths.beam_width)
        keep |= best_of_each(place, np.where(arrives, value, -np.inf), widths.fast_track)
        (rows,) = np.nonzero(keep & arrives)
        arrived.append(live.of(stepper, row[rows])._replace(log_p=value[rows]))
        symbols.append(symbol[rows])
        origins.append(origin[row[rows]])
        (rows,) = np.nonzero(keep & ~arrives)
        if not len(rows):
            break
        waiting = [others.state for others in arrived]
        state = stepper.step(live.state, row[rows], symbol[rows], waiting)
        live, origin = Beam(state, place[rows], value[rows]), origin[row[rows]]
    return together(stepper, arrived), np.concatenate(symbols), np.concatenate(origins)


def _all_log_probs(stepper: Stepper, beam: Beam) -> np.ndarray:
    """The log-probability of every entry after each row."""
    at_once = AT_ONCE[stepper.device.type]
    parts = [np.arange(first, min(first + at_once, len(beam.place))) for first in range(0, len(beam.place), at_once)]
    return np.concatenate(
        [stepper.log_probs(stepper.choose(beam.state, rows)).double().cpu().numpy() for rows in parts]
    )


def _note_ends(
    stepper: Stepper,
    vocabulary: Vocabulary,
    beam: Beam,
    symbols: np.ndarray,
    pieces: Sequence[tuple[int, ...]],
    best: list[Generated | None],
) -> None:
    """Replace the best sentence of a source where a better one has ended."""
    for row in np.flatnonzero(symbols == END):
        place, log_prob = beam.place[row], float(beam.log_p[row])
        if best[place] is None or log_prob > best[place].log_prob:
            tree = stepper.tree(beam.state, int(row))
            best[place] = Generated(vocabulary.decode(pieces[row]), None if OPEN in tree else tree, log_prob)
