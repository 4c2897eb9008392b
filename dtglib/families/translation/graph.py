"""What reads the graph of a prefix: the graph network below the decoder (GCN), and one head that sees parents (PARENT).

A layer of the graph network (section 4 of the paper; its residual connection is that of its code) computes

    h'_v = h_v + relu( sum over neighbours u of v:  g_uv (W_dir h_u + b_label) )
    g_uv = sigmoid( w_dir . h_u + c_label )

where v itself is a neighbour, too. The direction of an edge is `self`, `left` for what a child tells its parent, and
`right` for what a parent tells its child. Label 0 is that of no label: of a position itself, and of the edges from and
to a transition. Without labels b and c are missing, and without gates g is 1.

PARENT has no weights of its own: in every layer of the decoder the head 0 of a position sees the position itself and
the origins of its edges, on whichever side they stand.
"""

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Bool, Float
from dtglib.families.translation.config import TranslationConfig
from dtglib.families.translation.prefixes import Graph, Rows
from dtglib.families.translation.systems import Layers

DIRECTIONS = 3  # self, left, right


class GraphLayer(nn.Module):
    """A layer of the graph network."""

    def __init__(self, config: TranslationConfig, reads: Layers, labels: int) -> None:
        super().__init__()
        width = config.width
        self.weights = nn.Linear(width, DIRECTIONS * width, bias=False)
        self.gates = nn.Linear(width, DIRECTIONS, bias=False) if reads.gates else None
        self.label = nn.Parameter(torch.zeros(labels, width)) if reads.labels else None
        self.label_gate = nn.Parameter(torch.zeros(labels)) if reads.labels and reads.gates else None
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, h: Float[Tensor, "P d"], graph: Graph) -> Float[Tensor, "P d"]:
        own, to_parent, to_child = self.weights(h).chunk(DIRECTIONS, dim=1)
        gates = [None] * DIRECTIONS if self.gates is None else self.gates(h).unbind(1)
        nothing = torch.zeros(len(h), dtype=torch.long, device=h.device)
        summed = self._told(own, gates[0], nothing)
        for message, gate, teller, told in (
            (to_parent, gates[1], graph.goal, graph.origin),
            (to_child, gates[2], graph.origin, graph.goal),
        ):
            said = self._told(message[teller], None if gate is None else gate[teller], graph.label)
            summed = summed.index_add(0, told, said.to(summed.dtype))
        return h + self.dropout(summed.relu())

    def _told(self, message: Float[Tensor, "E d"], gate: Tensor | None, label: Tensor) -> Float[Tensor, "E d"]:
        """What edges with these labels carry."""
        if self.label is not None:
            message = message + self.label[label]
        if gate is None:
            return message
        if self.label_gate is not None:
            gate = gate + self.label_gate[label]
        return gate.sigmoid()[:, None] * message


def parents_of(rows: Rows) -> list[Bool[Tensor, "_ _ _"]]:
    """For each group of rows, what head 0 of PARENT sees."""
    sizes = [group.rows * group.length**2 for group in rows.groups]
    seen = torch.zeros(sum(sizes), dtype=torch.bool, device=rows.token.device)
    seen[rows.graph.cell] = True
    found = []
    for group, cells in zip(rows.groups, seen.split(sizes), strict=True):
        itself = torch.eye(group.length, dtype=torch.bool, device=cells.device)
        found.append(cells.view(group.rows, group.length, group.length) | itself)
    return found
