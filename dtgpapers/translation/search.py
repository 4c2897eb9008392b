"""Beam search for translations, the same for all systems: transitions are symbols as words are.

    found = translate(network, [["Den", "Ball", "bringt", "der", "Vater", "."]], TranslationBeam(width=5))

Hypotheses of equal numbers of symbols compete. One that ends among the `width` best successors is a translation; its
score is log p / n^alpha for n symbols, with transitions and <END>. A search ends when no hypothesis could have a better
score. (It does not end with `width` translations: where a model is sure, the first to end are short and improbable.)
The limit of length counts words, not symbols; so that no search goes on for ever, there are at most as many transitions
as this limit, and MOST_PIECES times as many pieces.

Nothing forces symbols to make a tree. With `legal`, arcs need two words, a sentence ends when its tree is whole, and
only pieces that follow pieces go on with words. Which translations have trees is told in any case: by their `heads`.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch

from dtglib.basics.errors import require_probabilities
from dtglib.basics.progress import progress
from dtglib.data.treebank import Words
from dtglib.data.vocabulary import END, MARK, PAD, UNKNOWN
from dtglib.decode.sampling import MOST_PIECES
from dtgpapers.translation.examples import padded
from dtgpapers.translation.hypotheses import Hypothesis, extended, reader_of
from dtgpapers.translation.network import Translator
from dtgpapers.translation.prefixes import GO
from dtgpapers.translation.target import tree_of
from dtgpapers.translation.translation import Translation, TranslationBeam

AT_ONCE = 32  # sentences that are translated together


PLAIN = TranslationBeam()


def translate(network: Translator, sources: Sequence[Words], beam: TranslationBeam = PLAIN) -> list[Translation]:
    """The best translation of each source."""
    order = sorted(range(len(sources)), key=lambda number: (len(sources[number]), number))
    parts = [order[first : first + AT_ONCE] for first in range(0, len(order), AT_ONCE)]
    translations: dict[int, Translation] = {}
    network.eval()
    for numbers in progress(parts, "translating", "batch"):
        best = search(network, [sources[number] for number in numbers], beam)
        translations |= dict(zip(numbers, (as_translation(network, one) for one in best), strict=True))
    return [translations[number] for number in range(len(sources))]


def as_translation(network: Translator, found: Hypothesis) -> Translation:
    """The translation of a hypothesis."""
    vocabulary, ids = network.vocabulary, [entry for entry in found.ids if entry != END]
    heads, labels = (tree_of(found.known) or ((), ())) if network.system.writes_tree else (None, None)
    symbols = tuple(vocabulary.entries[entry].removeprefix(MARK) or MARK for entry in ids)
    return Translation(tuple(vocabulary.decode(ids)), symbols, heads, labels, found.log_p)


@torch.no_grad()
def search(network: Translator, sources: Sequence[Words], beam: TranslationBeam) -> list[Hypothesis]:
    """The best hypothesis of each source, with <END>."""
    beam.check()
    vocabulary = network.vocabulary
    read = padded([np.array(vocabulary.encode(words).ids) for words in sources]).to(network.device)
    limits = [beam.most_words or 2 * len(words) + 10 for words in sources]
    reader, entries = reader_of(network, read), Entries.of(network)
    live, parents = [Hypothesis(number) for number in range(len(sources))], np.zeros(len(sources), np.int64)
    ended: list[list[tuple[float, Hypothesis]]] = [[] for _ in sources]
    while live:
        log_probs = reader.log_probs(live, parents).cpu().numpy().astype(np.float64)
        require_probabilities(log_probs)
        for row, hypothesis in enumerate(live):
            log_probs[row, entries.barred(hypothesis, limits[hypothesis.of], beam.legal)] = -np.inf
        log_probs += np.array([hypothesis.log_p for hypothesis in live])[:, None]
        chosen: list[tuple[int, Hypothesis]] = []
        for number, rows in _by_source(live):
            goes_on = _chosen(network, live, rows, log_probs, ended[number], beam)
            if _may_be_better(goes_on, ended[number], (MOST_PIECES + 1) * limits[number] + 1, beam):
                chosen += goes_on
        parents, live = np.array([row for row, _ in chosen], np.int64), [hypothesis for _, hypothesis in chosen]
    return [max(found, key=lambda pair: pair[0])[1] for found in ended]


def _by_source(live: Sequence[Hypothesis]) -> Iterator[tuple[int, list[int]]]:
    """The rows of each source, which stand together."""
    for number, rows in groupby(range(len(live)), key=lambda row: live[row].of):
        yield number, list(rows)


def _chosen(
    network: Translator,
    live: Sequence[Hypothesis],
    rows: Sequence[int],
    log_probs: np.ndarray,
    ended: list[tuple[float, Hypothesis]],
    beam: TranslationBeam,
) -> list[tuple[int, Hypothesis]]:
    """The best hypotheses of a source that go on, with the rows they come from; those that end join `ended`."""
    values = log_probs[rows[0] : rows[-1] + 1].reshape(-1)
    count = min(2 * beam.width, len(values))
    best = np.argpartition(-values, count - 1)[:count]
    best = best[np.lexsort((best, -values[best]))]
    goes_on: list[tuple[int, Hypothesis]] = []
    for place, candidate in enumerate(best[values[best] > -np.inf].tolist()):
        row, entry = rows[0] + candidate // log_probs.shape[1], candidate % log_probs.shape[1]
        log_p = float(values[candidate])
        if entry == END and place < beam.width:
            hypothesis = live[row]._replace(ids=(*live[row].ids, END), log_p=log_p)
            ended.append((log_p / len(hypothesis.ids) ** beam.alpha, hypothesis))
        elif entry != END and len(goes_on) < beam.width:
            goes_on.append((row, extended(network, live[row], entry, log_p)))
    return goes_on


def _may_be_better(
    goes_on: Sequence[tuple[int, Hypothesis]],
    ended: Sequence[tuple[float, Hypothesis]],
    longest: int,
    beam: TranslationBeam,
) -> bool:
    """True if the search must go on: a log-probability only falls, but the longest translation divides it by most."""
    bound = max((one.log_p / longest**beam.alpha for _, one in goes_on), default=-np.inf)
    return bound > max((score for score, _ in ended), default=-np.inf)


class Entries(NamedTuple):
    """The entries of a vocabulary by what they do."""

    starts: np.ndarray
    goes_on: np.ndarray
    arcs: np.ndarray
    never: np.ndarray
    writes_tree: bool

    @classmethod
    def of(cls, network: Translator) -> "Entries":
        """Those of a network."""
        vocabulary, never = network.vocabulary, np.zeros(len(network.vocabulary), bool)
        never[[PAD, GO, UNKNOWN]] = True
        arcs = network.meanings.is_transition
        return cls(vocabulary.starts_word, vocabulary.continues_word, arcs, never, network.system.writes_tree)

    def barred(self, one: Hypothesis, most_words: int, legal: bool) -> np.ndarray:
        """True for entries that may not come next."""
        barred = self.never.copy()
        pieces, is_full = len(one.ids) - one.transitions, one.words == most_words
        if is_full or pieces == MOST_PIECES * most_words:
            barred |= self.starts
        nothing_there = not one.known.may_go_on  # a piece that has no word to go on with starts one, too
        if not one.words or pieces == MOST_PIECES * most_words or ((legal or is_full) and nothing_there):
            barred |= self.goes_on
        if one.transitions == most_words or (legal and len(one.known.stack) < 2):
            barred |= self.arcs
        barred[END] = not one.words or (legal and self.writes_tree and len(one.known.stack) != 1)
        return barred
