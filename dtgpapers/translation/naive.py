"""The decoder by its definition: one prefix, one position, one head at a time, with the weights of a network.

It is slow, and the fast form (network.py) is tested against it. Dropout is left out.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float
from dtgpapers.translation.examples import Meanings
from dtgpapers.translation.graph import GraphLayer
from dtgpapers.translation.layers import Attention, DecoderLayer
from dtgpapers.translation.network import Translator
from dtgpapers.translation.prefixes import GO
from dtgpapers.translation.target import TargetEdge, edges_of, parent_keys

Vectors = list[Float[Tensor, " d"]]


def log_probs_by_definition(network: Translator, source: Sequence[int], known: Sequence[int]) -> Float[Tensor, " V"]:
    """The log-probability of every entry after the entries that are known of a target, given a source."""
    edges = edges_of(network.meanings.symbols[entry] for entry in known)
    # GO comes first, so that each position is one further.
    edges = [TargetEdge(edge.made_at + 1, edge.origin + 1, edge.goal + 1, edge.label) for edge in edges]
    memory = _encoded(network, source)
    x = _embedded(network, "target", [GO, *known])
    for layer in network.graph:
        x = _graph_layer(layer, x, edges, network.meanings)
    for layer in network.decoder:
        x = _decoder_layer(network, layer, x, memory, edges)
    return network.output(network.norms["target"](x[-1])).log_softmax(0)


def _embedded(network: Translator, side: str, entries: Sequence[int]) -> Vectors:
    """Embeddings with sinusoids: all sines, then all cosines."""
    width = network.config.width
    vectors = []
    for place, entry in enumerate(entries):
        angles = [place / 10000 ** (2 * number / width) for number in range(width // 2)]
        sinusoid = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)])
        vectors.append(network.embeddings[side].weight[entry] * math.sqrt(width) + sinusoid)
    return vectors


def _encoded(network: Translator, source: Sequence[int]) -> Vectors:
    x = _embedded(network, "source", source)
    for layer in network.encoder:
        y = [layer.norm(one) for one in x]
        sees = [[list(range(len(x)))] * network.config.heads for _ in x]
        x = [layer.inner(one + found) for one, found in zip(x, _attention(layer.attention, y, y, sees), strict=True)]
    return [network.norms["source"](one) for one in x]


def _decoder_layer(
    network: Translator, layer: DecoderLayer, x: Vectors, memory: Vectors, edges: Sequence[TargetEdge]
) -> Vectors:
    heads, length = network.config.heads, len(x)
    seen = [list(range(length if network.system.whole_prefix else i + 1)) for i in range(length)]
    sees = [[keys] * heads for keys in seen]
    if network.system.sees_parents:
        sees = [[sorted(own), *rest] for own, (_, *rest) in zip(parent_keys(edges, length), sees, strict=True)]
    y = [layer.before_own(one) for one in x]
    x = [one + found for one, found in zip(x, _attention(layer.own, y, y, sees), strict=True)]
    y = [layer.before_source(one) for one in x]
    sees = [[list(range(len(memory)))] * heads for _ in x]
    found = _attention(layer.to_source, y, memory, sees)
    return [layer.inner(one + other) for one, other in zip(x, found, strict=True)]


def _attention(attention: Attention, queries: Vectors, keys: Vectors, sees: list[list[list[int]]]) -> Vectors:
    """For each query and each head a softmax over the keys that it sees."""
    width = attention.q.in_features // attention.heads
    vectors = []
    for i, query in enumerate(queries):
        q = attention.q(query)
        heads = []
        for head, seen in enumerate(sees[i]):
            own = slice(head * width, (head + 1) * width)
            k, v = zip(*(attention.kv(keys[j]).chunk(2) for j in seen), strict=True)
            weights = torch.stack([q[own] @ one[own] for one in k]).div(math.sqrt(width)).softmax(0)
            heads.append(sum(weight * one[own] for weight, one in zip(weights, v, strict=True)))
        vectors.append(attention.out(torch.cat(heads)))
    return vectors


def _graph_layer(layer: GraphLayer, h: Vectors, edges: Sequence[TargetEdge], meanings: Meanings) -> Vectors:
    """The formula of graph.py, a node and a neighbour at a time."""
    w = layer.weights.weight.chunk(3)
    neighbours = [[(node, 0, 0)] for node in range(len(h))]
    for edge in edges:
        neighbours[edge.origin].append((edge.goal, 1, meanings.label_of(edge)))
        neighbours[edge.goal].append((edge.origin, 2, meanings.label_of(edge)))
    vectors = []
    for node, told_by in enumerate(neighbours):
        total = torch.zeros_like(h[node])
        for other, direction, label in told_by:
            message, gate = w[direction] @ h[other], torch.tensor(torch.inf)
            if layer.label is not None:
                message = message + layer.label[label]
            if layer.gates is not None:
                gate = layer.gates.weight[direction] @ h[other]
            if layer.label_gate is not None:
                gate = gate + layer.label_gate[label]
            total = total + gate.sigmoid() * message
        vectors.append(h[node] + nn.functional.relu(total))
    return vectors
