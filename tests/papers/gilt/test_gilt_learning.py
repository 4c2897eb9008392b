"""GiLT learns: sentences and graphs by heart, and to use what only the graph tells."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from graphs import with_graph
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from dtglib.data.corpora import load
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import build, family
from dtglib.network.transformer import TransformerConfig
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.examples import GraphBatch, GraphExamples, counts
from dtgpapers.gilt.graphs import Graph, graph_of
from dtgpapers.gilt.measure import measured
from dtgpapers.gilt.model import Gilt, GiltOutput

pytestmark = pytest.mark.usefixtures("one_thread")


def trained(network: Gilt, data: GraphExamples, steps: int, rate: float = 3e-3) -> tuple[GraphBatch, GiltOutput]:
    """The outputs of the network after so many steps on all sentences."""
    given = data.batch(range(len(data)), 0, torch.device("cpu"))
    optimizer = torch.optim.AdamW(network.parameters(), rate)
    for _ in range(steps):
        nats, _ = network.loss(given)
        optimizer.zero_grad()
        nats.backward()
        optimizer.step()
    with torch.no_grad():
        return given, network.compute(given)


def shuffled(graph: Graph, chance: random.Random) -> Graph:
    """The same arcs between other words."""
    words = [0, *chance.sample(range(1, graph.words + 1), graph.words)]
    return Graph.of(graph.words, [(words[h], words[d]) for h, d in graph.arcs.tolist()])


# Slow, like the next: nothing faster shows that GiLT learns.
@pytest.mark.slow
def test_it_learns_some_sentences_and_their_graphs_by_heart_but_shuffled_graphs_less_well():
    """It cannot know which sentence begins, so it needs log(sentences) nats for each."""
    treebank = load("minilang", "train", 15)
    speaks = Vocabulary.of_words([one.words for one in treebank.sentences], counts(29))
    config = GiltConfig(layers=2, width=64, heads=4, inner=128, feature_width=16)
    data = GraphExamples.of(graph_of, config, speaks, treebank)
    chance = random.Random(1)
    other = replace(data, graphs=[shuffled(graph, chance) for graph in data.graphs])
    nats_of_arcs = []
    for learned in (data, other):
        torch.manual_seed(1)
        network = Gilt(config, speaks)
        given, found = trained(network, learned, steps=120)
        nats_of_arcs.append(bce(found.arcs, given.is_arc).item())
        if learned is data:
            least = len(data) * np.log(len(data)) / len(found.log_probs)
            assert -found.log_probs.mean().item() < least + 0.1
            assert (found.counts.argmax(1) == given.count).float().mean() > 0.99
            scores = measured(network, data)
            assert scores.by_odds.f1 > 0.99 and scores.by_number.f1 > 0.99
    assert nats_of_arcs[0] < nats_of_arcs[1]


@pytest.mark.slow
def test_what_only_the_graph_tells_is_learned_with_it_alone():
    """Every word is followed by a copy of its head, and only the tape says which word is its head."""
    chance, found = random.Random(3), []
    for number in range(400):
        words, arcs = [chance.choice("abcdefgh") for _ in range(3)], []
        for word in range(3, 9):
            head = chance.randint(1, word - 1)
            arcs.append((head, word))
            words.append(words[head - 1])
        found.append(with_graph(words, arcs, str(number)))
    speaks = Vocabulary.of_words([one.words for one in found], counts(29))
    size = {"layers": 2, "width": 32, "heads": 2, "inner": 64}
    nats = []
    for config in (GiltConfig(**size, feature_width=8), TransformerConfig("txl-tokens", **size)):
        data = family(config.model).examples(config, speaks, Treebank(found, Counter()), None)
        batches = [data.batch(range(n, n + 80), 10**6, torch.device("cpu")) for n in range(0, 400, 80)]
        *batches, unseen = [batch.batch if config.model == "gilt" else batch for batch in batches]
        torch.manual_seed(1)
        network = build(config, speaks)
        optimizer = torch.optim.AdamW(network.parameters(), 5e-3)
        for step in range(150):
            loss = -network.log_probs(batches[step % 4]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            nats.append(-network.log_probs(unseen).view(80, -1)[:, 3:9].mean().item())  # of the copies
    assert nats[0] < 0.05 and nats[0] + 0.5 < nats[1]
