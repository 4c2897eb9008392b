"""The change of attention by the graph term: its weights with the term, less those without it.

Row i, column j: by how much more position i looks at position j because of what the tape says. The layers are taken one
by one: what enters a layer is the same with and without the term. Both weights sum to 1, so each row sums to 0.

Without the term the embeddings of all features are 0. What then remains of it, the biases of the linear maps, adds the
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


@torch.no_grad()
def gains(model: Gilt, words: Sequence[str], graph: Graph) -> Float[np.ndarray, "L H T T"]:
    """The differences in each layer and head; position 0 is <ROOT>, and the others are the words' pieces."""
    compiled = pad(tokens(model.vocabulary, [(words, None)]), [0])
    batch = batch_with(compiled, [graph], model.config, model.embedding.weight.device).batch
    inputs, states = model.layer_inputs(batch), model.states(batch)
    nothing = [torch.zeros_like(table) for table in inputs.bias.tables]
    of_layers = []
    for block, x in zip(model.blocks, states[:-1], strict=True):
        projected = block.project(x, inputs.places)
        with_them, without = (
            block.weights(*projected, inputs._replace(bias=inputs.bias._replace(tables=tables)))[0]
            for tables in (inputs.bias.tables, nothing)
        )
        of_layers.append(with_them - without)
    return torch.stack(of_layers).cpu().numpy()
