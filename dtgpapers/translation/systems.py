"""The eight systems: what they write, what a position of the target attends to, and what reads the graph.

    name                  writes                  attends to         graph
    vanilla               pieces                  what is before     -
    linearized            pieces, transitions     what is before     -
    bitran                pieces                  the whole prefix   -
    bitran-transitions    pieces, transitions     the whole prefix   - (a control)
    parent                pieces, transitions     the whole prefix   head 0 of every layer sees parents alone
    gcn                   pieces, transitions     the whole prefix   two gated layers with labels below the decoder
    gcn-no-labels         the same                                   two gated layers
    gcn-no-gates          the same                                   two layers, with neither labels nor gates

The paper calls the last two "- Labels" and "- Gates", and its Linearized is a Vanilla that writes transitions.
"""

from typing import NamedTuple


class Layers(NamedTuple):
    """The layers that read the graph."""

    labels: bool
    gates: bool


class System(NamedTuple):
    """A system."""

    name: str
    title: str
    writes_tree: bool = True
    whole_prefix: bool = True  # a position sees those after it, too, as far as they are known
    sees_parents: bool = False  # by one head
    graph: Layers | None = None


SYSTEMS = {
    one.name: one
    for one in (
        System("vanilla", "Vanilla", writes_tree=False, whole_prefix=False),
        System("bitran", "BiTran", writes_tree=False),
        System("bitran-transitions", "BiTran + transitions"),
        System("linearized", "Linearized", whole_prefix=False),
        System("parent", "PARENT", sees_parents=True),
        System("gcn", "GCN", graph=Layers(labels=True, gates=True)),
        System("gcn-no-labels", "GCN - Labels", graph=Layers(labels=False, gates=True)),
        System("gcn-no-gates", "GCN - Gates", graph=Layers(labels=False, gates=False)),
    )
}
