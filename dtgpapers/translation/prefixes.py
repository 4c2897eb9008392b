"""Prefixes of targets, laid one after another without padding: what the decoder reads.

A system that reads whole prefixes encodes each prefix of a target anew, and predicts one symbol from its last position:
T prefixes with T (T + 1) / 2 positions, where a causal decoder has one row of T positions. Rows of one length stand
together, a group, so that no row is filled up and attention needs no mask for padding.

    GO                                        predicts John
    GO John                                   predicts put
    GO John put                               predicts L:nsubj
    GO John put L:nsubj                       predicts the, and has the edges of L:nsubj

An edge belongs to a row if its transition does: an edge acts from the next prediction on. GO is position 0 of a row, so
that the symbols of a target stand one further than in target.py.
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.shapes import Int
from dtglib.data.vocabulary import ROOT
from dtgpapers.translation.examples import Target
from dtgpapers.translation.systems import System

GO = ROOT  # the entry that stands before each target


class Group(NamedTuple):
    """Rows of one length."""

    rows: int
    length: int


class PrefixGraph(NamedTuple):
    """Edges between positions; `cell` is the place of (goal, origin) if the squares of all rows stand in a line."""

    origin: Int[Tensor, " E"]
    goal: Int[Tensor, " E"]
    label: Int[Tensor, " E"]
    cell: Int[Tensor, " E"]


class Rows(NamedTuple):
    """N rows with P positions altogether, sorted by length."""

    token: Int[Tensor, " P"]
    place: Int[Tensor, " P"]  # of a position in its row
    groups: list[Group]
    source: Int[Tensor, " N"]  # the number of each row's source
    last: Int[Tensor, " N"]  # the last position of each row
    graph: PrefixGraph


class Cut(NamedTuple):
    """Rows that are cut from targets: the numbers of their targets, and their lengths, GO included."""

    of: np.ndarray
    length: np.ndarray

    def by_length(self) -> "Cut":
        """The same rows, sorted."""
        order = np.argsort(self.length, kind="stable")
        return Cut(self.of[order], self.length[order])


def whole(targets: Sequence[Target]) -> Cut:
    """One row for each target, which predicts all its symbols."""
    return Cut(np.arange(len(targets)), np.array([len(target.ids) for target in targets])).by_length()


def all_prefixes(targets: Sequence[Target]) -> Cut:
    """All prefixes of all targets."""
    lengths = [len(target.ids) for target in targets]
    of = np.repeat(np.arange(len(targets)), lengths)
    return Cut(of, np.concatenate([np.arange(1, length + 1) for length in lengths])).by_length()


def some_prefixes(targets: Sequence[Target], share: float) -> tuple[Cut, np.ndarray]:
    """This share of the prefixes of each target, drawn from PyTorch's generator; how many prefixes each stands for."""
    lengths = np.array([len(target.ids) for target in targets])
    of, drawn = some_places(lengths, share)
    cut = Cut(of, drawn + 1).by_length()
    return cut, (lengths / np.bincount(of))[cut.of]


def some_places(lengths: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """This share of the places in rows of these lengths, drawn from PyTorch's generator: rows, and places in them."""
    drawn = [torch.randperm(length)[: ceil(share * length)].numpy() for length in lengths.tolist()]
    return np.repeat(np.arange(len(drawn)), list(map(len, drawn))), np.concatenate(drawn)


def cut_for(system: System, targets: Sequence[Target], share: float = 1.0) -> tuple[Cut, np.ndarray | None]:
    """The rows from which a system predicts targets: if it reads whole prefixes, this share of each target's.

    Where prefixes are drawn, also how many each of them stands for.
    """
    if not system.whole_prefix:
        return whole(targets), None
    return (all_prefixes(targets), None) if share == 1 else some_prefixes(targets, share)


def rows_of(targets: Sequence[Target], cut: Cut, sources: np.ndarray, device: torch.device | str = "cpu") -> Rows:
    """The rows of a cut; `sources` are the numbers of the targets' sources."""
    starts = np.concatenate([[0], np.cumsum(cut.length)])
    squares = np.concatenate([[0], np.cumsum(cut.length**2)])
    token = np.full(int(starts[-1]), GO)
    columns = []
    for row, (number, length) in enumerate(zip(cut.of.tolist(), cut.length.tolist(), strict=True)):
        target, start = targets[number], int(starts[row])
        token[start + 1 : start + length] = target.ids[: length - 1]
        edges = target.edges[: np.searchsorted(target.edges[:, 0], length - 1)]
        if len(edges):
            origin, goal, label = edges[:, 1] + 1, edges[:, 2] + 1, edges[:, 3]
            columns.append(np.stack([start + origin, start + goal, label, squares[row] + goal * length + origin]))
    edges = np.concatenate(columns, axis=1) if columns else np.empty((4, 0), np.int64)
    place = np.arange(len(token)) - np.repeat(starts[:-1], cut.length)
    lengths, counts = np.unique(cut.length, return_counts=True)
    groups = [Group(int(count), int(length)) for length, count in zip(lengths, counts, strict=True)]
    sent = [torch.from_numpy(one).to(device) for one in (token, place, sources[cut.of], starts[1:] - 1)]
    return Rows(sent[0], sent[1], groups, sent[2], sent[3], PrefixGraph(*torch.from_numpy(edges).to(device)))


def predicted(targets: Sequence[Target], cut: Cut, by_last: bool) -> np.ndarray:
    """The symbols that rows predict: from their last positions, or from all."""
    if by_last:
        return np.array(
            [targets[number].ids[length - 1] for number, length in zip(cut.of, cut.length, strict=True)], np.int64
        )
    return np.concatenate(
        [targets[number].ids[:length] for number, length in zip(cut.of, cut.length, strict=True)]
    ).astype(np.int64)
