"""Networks that read the graph of a prefix: one below the decoder (GCN), and one head that sees parents (PARENT).

A layer of the graph network (section 4 of the paper; its residual connection is that of its code) computes

    h'_v = h_v + relu( sum over neighbours u of v:  g_uv (W_dir h_u + b_label) )
    g_uv = sigmoid( w_dir . h_u + c_label )

where v itself is a neighbour, too. The direction of an edge is `self`, `left` for what a child tells its parent, and
`right` for what a parent tells its child. Label 0 is that of no label: of a position itself and, with the setting
`labelled: words`, of the edges from and to a transition. Without labels b and c are missing, and without gates g is 1.

PARENT has no weights of its own: in every layer of the decoder the head 0 of a position sees the position itself and
the origins of its edges, on whichever side they stand.
"""

from typing import Any

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Bool, Float, Int
from dtglib.network.dropout import Dropout
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.prefixes import PrefixGraph, Rows
from dtgpapers.translation.systems import Layers

DIRECTIONS = 3  # self, left, right


class GraphLayer(nn.Module):
    """A layer of the graph network."""

    def __init__(self, config: TranslationConfig, reads: Layers, labels: int) -> None:
        super().__init__()
        width = config.width
        self.weights = nn.Linear(width, DIRECTIONS * width, bias=False)
        self.gates = nn.Linear(width, DIRECTIONS, bias=False) if reads.gates else None
        self.label: Any = nn.Parameter(torch.zeros(labels, width)) if reads.labels else None
        self.label_gate = nn.Parameter(torch.zeros(labels)) if reads.labels and reads.gates else None
        self.dropout = Dropout(config.dropout)

    def forward(self, h: Float[Tensor, "P d"], graph: PrefixGraph) -> Float[Tensor, "P d"]:
        own, to_parent, to_child = self.weights(h).chunk(DIRECTIONS, dim=1)
        gates = h.new_full((len(h), DIRECTIONS), torch.inf) if self.gates is None else self.gates(h)
        itself = torch.arange(len(h), device=h.device)
        g = self._opened(gates[:, 0], torch.zeros_like(itself))
        summed, carried = own * g[:, None], [(itself, torch.zeros_like(itself), g)]
        for message, gate, teller, told in (
            (to_parent, gates[:, 1], graph.goal, graph.origin),
            (to_child, gates[:, 2], graph.origin, graph.goal),
        ):
            g = self._opened(gate.index_select(0, teller), graph.label)
            summed = summed.index_add(0, told, message.index_select(0, teller) * g[:, None])
            carried.append((told, graph.label, g))
        if self.label is not None:
            told, label, g = map(torch.cat, zip(*carried, strict=True))
            summed = summed + self._of_labels(told, label, g, len(h))
        return h + self.dropout(summed.relu())

    def _opened(self, gate: Float[Tensor, " E"], label: Int[Tensor, " E"]) -> Float[Tensor, " E"]:
        """The openness of the gates of edges with these labels, from 0 to 1."""
        if self.label_gate is not None:
            gate = gate + self.label_gate.index_select(0, label)
        return gate.float().sigmoid()

    def _of_labels(
        self, told: Int[Tensor, " E"], label: Int[Tensor, " E"], g: Float[Tensor, " E"], positions: int
    ) -> Float[Tensor, "P d"]:
        """The vectors that the labels of edges add. Labels are few: their gates are summed first, not their vectors."""
        by_label = g.new_zeros(positions * len(self.label)).index_add(0, told * len(self.label) + label, g)
        return by_label.view(positions, -1).to(self.label.dtype) @ self.label


def parents_of(rows: Rows) -> list[Bool[Tensor, "_ _ _"]]:
    """For each group of rows, what head 0 of PARENT sees."""
    sizes = [group.rows * group.length**2 for group in rows.groups]
    seen = torch.zeros(sum(sizes), dtype=torch.bool, device=rows.token.device)
    seen[rows.graph.cell] = True
    masks = []
    for group, cells in zip(rows.groups, seen.split(sizes), strict=True):
        itself = torch.eye(group.length, dtype=torch.bool, device=cells.device)
        masks.append(cells.view(group.rows, group.length, group.length) | itself)
    return masks
