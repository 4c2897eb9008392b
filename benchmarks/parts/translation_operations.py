"""The number of multiplications in a training step of each system, counted from shapes: the cost of prefixes and edges.

    found = operations(TranslationConfig("parent"), 3000, 27, shapes_of_step(config, batch))
    found.total, found._asdict()            the sum, and {"encoder": ..., "decoder": ..., "graph": ..., "output": ...}

Products of matrices are counted, of which a step consists but for a few percent: n by m by d are n m d multiplications,
and as many additions. Forwards: backwards it is twice the number, in all systems alike, so that ratios stay. With d the
width, e the inner one, M the pieces of all sources (padding included), m of one source, and L positions in a row:

    encoder     a layer    M (4 d d + 2 d e) + 2 M m d
    decoder     a layer    2 d d for the key and the value of each position, and of each piece of a source;
                           4 d d + 2 d e + 2 L d + 2 m d for each position that is computed
    graph       a layer    3 d d + d for each position, with gates 3 d more; 2 d for each edge (once in each direction);
                           with labels d for each of them and each position
    output                 d V for each prediction, of V entries

All positions are computed, but in the last layer of a system that reads whole prefixes only the last one of each row,
from which alone it predicts. A causal decoder needs half of its square of L by L, but CPUs compute all of it.
"""

import math
from typing import NamedTuple

import numpy as np

from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.examples import TranslationBatch
from dtgpapers.translation.graph import DIRECTIONS
from dtgpapers.translation.prefixes import Group, cut_for, rows_of
from dtgpapers.translation.systems import SYSTEMS


class Shapes(NamedTuple):
    """The sizes of a batch: its sources as a padded square, its rows by length, and their edges together."""

    sources: int
    source_length: int
    groups: list[Group]
    edges: int
    predictions: int

    @property
    def positions(self) -> int:
        """The number of positions of all rows."""
        return sum(group.rows * group.length for group in self.groups)


class Operations(NamedTuple):
    """Multiplications, forwards."""

    encoder: int
    decoder: int
    graph: int
    output: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


def shapes_of_step(config: TranslationConfig, batch: TranslationBatch) -> Shapes:
    """The shapes of a training step with this batch, which learns from the share of prefixes that the config says."""
    cut, _ = cut_for(SYSTEMS[config.model], batch.targets, config.prefixes)
    rows = rows_of(batch.targets, cut, np.arange(len(batch.targets)))
    sources, length = batch.source.shape
    predictions = sum(math.ceil(config.prefixes * len(target.ids)) for target in batch.targets)
    return Shapes(sources, length, rows.groups, len(rows.graph.origin), predictions)


def operations(config: TranslationConfig, entries: int, labels: int, shapes: Shapes) -> Operations:
    """The multiplications of a batch's forward pass, with a vocabulary of so many entries and labels of edges."""
    system, d = SYSTEMS[config.model], config.width
    layers = [False] * (config.layers - 1) + [system.whole_prefix]
    maps = DIRECTIONS * (d + bool(system.graph and system.graph.gates))
    maps += labels if system.graph and system.graph.labels else 0
    carried = shapes.positions + 2 * shapes.edges  # by a position to itself, and by edges
    return Operations(
        config.layers * _encoder_layer(config, shapes),
        sum(_decoder_layer(config, shapes, only_last) for only_last in layers),
        (config.graph_layers if system.graph else 0) * (shapes.positions * maps + carried) * d,
        shapes.predictions * d * entries,
    )


def _position(config: TranslationConfig, maps: int) -> int:
    """So many square maps, and the inner layer."""
    return maps * config.width**2 + 2 * config.width * config.inner


def _encoder_layer(config: TranslationConfig, shapes: Shapes) -> int:
    words = shapes.sources * shapes.source_length
    return words * _position(config, 4) + 2 * words * shapes.source_length * config.width


def _decoder_layer(config: TranslationConfig, shapes: Shapes, only_last: bool) -> int:
    d, words = config.width, shapes.sources * shapes.source_length
    computed = [(group.rows * (1 if only_last else group.length), group.length) for group in shapes.groups]
    queries = sum(count for count, _ in computed)
    attention = sum(2 * count * (length + shapes.source_length) * d for count, length in computed)
    # Queries and outputs of two attentions; keys and values of all positions, and of the sources.
    return queries * _position(config, 4) + (shapes.positions + words) * 2 * d * d + attention
