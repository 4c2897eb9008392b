"""The change of attention by the graph term: its weights with the term, less those without it.

    found = gains(model, words, graph)                   by all features of the tape
    found = gains(model, words, graph, ["degree"])       by one of them

Row i, column j: by how much more position i looks at position j because of what the tape says. The layers are taken one
by one: what enters a layer is the same with and without the term. Both weights sum to 1, so each row sums to 0.

The embeddings of a feature that is left out are 0 here. What then remains of it, the bias of its linear map, adds the
same to all scores of a query and so changes no weight.
"""

from collections.abc import Sequence

import numpy as np
import torch

from dtglib.basics.shapes import Float
from dtglib.sequences.batches import pad
from dtglib.sequences.readings import tokens
from dtgpapers.gilt.examples import batch_with
from dtgpapers.gilt.graphs import Graph
from dtgpapers.gilt.model import Gilt
from dtgpapers.gilt.tape import FEATURES


@torch.no_grad()
def gains(
    model: Gilt, words: Sequence[str], graph: Graph, features: Sequence[str] = FEATURES
) -> Float[np.ndarray, "L H T T"]:
    """The differences in each layer and head; position 0 is <ROOT>, and the others are the words' pieces."""
    compiled = pad(tokens(model.vocabulary, [(words, None)]), [0])
    batch = batch_with(compiled, [graph], model.config, model.embedding.weight.device).batch
    inputs, states = model.layer_inputs(batch), model.states(batch)
    nothing = [torch.zeros_like(table) for table in inputs.bias.tables]
    chosen = [
        table if FEATURES[place] in features else empty
        for place, table, empty in zip(model.config.read, inputs.bias.tables, nothing, strict=True)
    ]
    of_layers = []
    for block, x in zip(model.blocks, states[:-1], strict=True):
        projected = block.project(x, inputs.places)
        with_them, without = (
            block.weights(*projected, inputs._replace(bias=inputs.bias._replace(tables=tables)))[0]
            for tables in (chosen, nothing)
        )
        of_layers.append(with_them - without)
    return torch.stack(of_layers).cpu().numpy()


def shares_moved(
    model: Gilt, sentences: Sequence[tuple[Sequence[str], Graph]], features: Sequence[str] = FEATURES
) -> Float[np.ndarray, " L"]:
    """Of each layer, the share of a position's attention that goes elsewhere because of features, the mean over all.

    That is half of the sum of the absolute differences in a row.
    """
    moved = [0.5 * np.abs(gains(model, *one, features)).sum(3) for one in sentences]  # each L H T
    return np.concatenate(moved, axis=2).mean((1, 2))
