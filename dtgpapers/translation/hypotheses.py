"""Beginnings of translations, and what comes next: by keys and values that are kept, or by encoding them anew.

    reader = reader_of(network, sources)                    for one search
    log_probs = reader.log_probs(hypotheses, parents)       `parents[n]`: the row of the call before that n extends

What a causal decoder has computed of a beginning stays as it is when a symbol follows, so `Cached` computes the last
position alone. A decoder that reads whole prefixes must compute all of them again (`Anew`); the hypotheses of all
sources are one batch, and as all of them are equally long, nothing is filled up.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.shapes import Float, Int
from dtgpapers.translation.examples import Target
from dtgpapers.translation.network import Translator
from dtgpapers.translation.prefixes import GO, Cut, rows_of
from dtgpapers.translation.target import NOTHING_YET, TargetEdge, TargetState, grow


class Hypothesis(NamedTuple):
    """A beginning of a translation."""

    of: int  # the number of its source
    ids: tuple[int, ...] = ()
    known: TargetState = NOTHING_YET
    edges: tuple[TargetEdge, ...] = ()
    log_p: float = 0.0

    @property
    def words(self) -> int:
        """Its number of words."""
        return len(self.known.spans)

    @property
    def transitions(self) -> int:
        """Its number of transitions."""
        return self.known.length - sum(stop - start for start, stop in self.known.spans)


def extended(network: Translator, before: Hypothesis, entry: int, log_p: float) -> Hypothesis:
    """The hypothesis with one symbol more."""
    known, new = grow(before.known, network.meanings.symbols[entry])
    return Hypothesis(before.of, (*before.ids, entry), known, (*before.edges, *new), log_p)


@runtime_checkable
class Reader(Protocol):
    """Says what comes next."""

    def log_probs(self, hypotheses: Sequence[Hypothesis], parents: np.ndarray) -> Float[Tensor, "N V"]:
        """The log-probability of every entry after each of these, which are equally long."""


class Anew:
    """Encodes all of each hypothesis."""

    def __init__(self, network: Translator, source: Int[Tensor, "B M"]) -> None:
        self.network, self.memory = network, network.remember(source)

    def log_probs(self, hypotheses: Sequence[Hypothesis], parents: np.ndarray) -> Float[Tensor, "N V"]:
        """See `Reader`; nothing is kept, so the parents do not matter."""
        network = self.network
        targets = [Target(np.array(one.ids, np.int64), network.meanings.rows(one.edges)) for one in hypotheses]
        cut = Cut(np.arange(len(targets)), np.array([len(one.ids) + 1 for one in hypotheses]))
        rows = rows_of(targets, cut, np.array([one.of for one in hypotheses]), network.device)
        x = network.vectors(rows, self.memory)
        if not network.system.whole_prefix:
            x = x[rows.last]
        return network.output(x).float().log_softmax(1)


class Cached:
    """Keeps the keys and values of a causal decoder."""

    def __init__(self, network: Translator, source: Int[Tensor, "B M"]) -> None:
        self.network, self.memory = network, network.remember(source)
        nothing = torch.empty(1, network.config.heads, 0, network.config.width // network.config.heads)
        self.kept = [(nothing.to(network.device),) * 2 for _ in network.decoder]

    def log_probs(self, hypotheses: Sequence[Hypothesis], parents: np.ndarray) -> Float[Tensor, "N V"]:
        """See `Reader`."""
        network, device = self.network, self.network.device
        chosen, of = (torch.from_numpy(one).to(device) for one in (parents, np.array([one.of for one in hypotheses])))
        last = torch.tensor([one.ids[-1] if one.ids else GO for one in hypotheses], device=device)
        x = network.embed("target", last, torch.full_like(last, len(hypotheses[0].ids)))
        for number, layer in enumerate(network.decoder):
            k, v = (one.index_select(0, chosen) for one in self.kept[number])
            x, *kept = layer.go_on(x, k, v, self.memory[number].of(of))
            self.kept[number] = tuple(kept)
        return network.output(network.norms["target"](x)).float().log_softmax(1)


def reader_of(network: Translator, source: Int[Tensor, "B M"]) -> Reader:
    """The reader for a network and padded sources."""
    return (Anew if network.system.whole_prefix else Cached)(network, source)
