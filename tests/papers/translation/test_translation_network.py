"""Encoder-decoders: the definition against the network, what changes what, the whole prefix, parents, the graph."""

from collections import Counter
from dataclasses import replace
from functools import cache
from math import ceil
from random import Random

import numpy as np
import pytest
import torch
from conftest import slow
from trees import random_tree

from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import END, Vocabulary
from dtglib.families.base import family
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.examples import Target, TranslationBatch, TranslationExamples
from dtgpapers.translation.graph import GraphLayer, parents_of
from dtgpapers.translation.naive import log_probs_by_definition
from dtgpapers.translation.network import Translator
from dtgpapers.translation.prefixes import Cut, PrefixGraph, all_prefixes, rows_of, some_prefixes
from dtgpapers.translation.systems import SYSTEMS, Layers
from dtgpapers.translation.target import edges_of

pytestmark = pytest.mark.usefixtures("one_thread")

in_every_system = pytest.mark.parametrize("name", SYSTEMS)
GRAPHS = [name for name, system in SYSTEMS.items() if system.graph]
SMALL = {"layers": 2, "width": 16, "heads": 4, "inner": 24, "dropout": 0.0}
CPU = torch.device("cpu")


@cache
def treebank() -> Treebank:
    """Random words with random trees and sources; with pieces some words are cut."""
    random, words = (
        Random(2),
        ["the", "difference", "is", "theirs", "there", "differing", "opinions", "think"],
    )
    sentences = []
    for number, length in enumerate([1, 2, 3, 5, 5, 7, 4]):
        heads = random_tree(random, length)
        labels = tuple(random.choice(["nsubj", "obj", "det"]) if head else "root" for head in heads)
        said, source = (tuple(random.choice(words) for _ in range(n)) for n in (length, random.randint(1, 6)))
        sentences.append(Sentence(said, heads, labels, id=f"s{number}", translation=source))
    return Treebank(sentences, Counter())


def network(name: str, seed: int = 1, kind: str = "words", **changes) -> Translator:
    """With weights larger than those of the beginning, biases among them."""
    config, kin = TranslationConfig(**{**SMALL, "model": name, **changes}), family(name)
    words = [sentence.words for sentence in treebank().sentences]
    shared = Vocabulary.of_words(words) if kind == "words" else Vocabulary.train(words, 256 + 20)
    torch.manual_seed(seed)
    found = Translator(config, kin.vocabulary(config, shared, treebank())).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter += 0.1 * torch.randn(parameter.shape)
    return found


def examples(of: Translator) -> TranslationExamples:
    return TranslationExamples.of(of.config, of.vocabulary, treebank())


def batch(of: Translator) -> TranslationBatch:
    data = examples(of)
    return data.batch(np.arange(len(data.names)), 0, CPU)


@torch.no_grad()
def log_probs(of: Translator, given: TranslationBatch) -> dict[tuple[int, int], torch.Tensor]:
    """The distribution at each place of each target."""
    found = of.predict(given)
    assert of.system.whole_prefix or len(found.of) == given.positions
    cut = all_prefixes(given.targets)
    if of.system.whole_prefix:
        places = zip(cut.of.tolist(), (cut.length - 1).tolist(), strict=True)
    else:
        seen: Counter[int] = Counter()
        places = [(int(number), (seen.update([int(number)]), seen[int(number)] - 1)[1]) for number in found.of]
    return dict(zip(places, found.logits.log_softmax(1), strict=True))


# ---- The definition


@pytest.mark.parametrize(
    ("name", "kind", "labelled"),
    [
        *((name, "words", "all") for name in SYSTEMS),
        ("gcn", "pieces", "all"),
        *slow([*((name, "pieces", "all") for name in SYSTEMS if name != "gcn"), ("gcn", "words", "words")]),
    ],
)
def test_the_network_computes_its_definition(name, kind, labelled):
    model = network(name, kind=kind, labelled=labelled)
    data = examples(model)
    given = batch(model)
    found = log_probs(model, given)
    assert len(found) == given.positions
    for number in (1, 3) if kind == "words" else (5,):
        ids = data.targets[number].ids.tolist()
        with torch.no_grad():
            # Of one sentence all places.
            for place in range(len(ids) - 1, -1, -1 if (number, kind) == (1, "words") else -5):
                expected = log_probs_by_definition(model, data.sources[number].tolist(), ids[:place])
                torch.testing.assert_close(found[number, place], expected, atol=2e-5, rtol=0)


@in_every_system
def test_its_loss_is_the_nats_of_all_symbols_and_training_can_go_on_from_it(name):
    model = network(name, smoothing=0.0)
    given = batch(model)
    found = log_probs(model, given)
    expected = -sum(float(row[int(given.targets[number].ids[place])]) for (number, place), row in found.items())
    nats, parts = model.loss(given)
    assert nats.item() == pytest.approx(expected, rel=1e-5)
    assert sum(part.events for part in parts.values()) == given.positions
    assert sum(part.nats.item() for part in parts.values()) == pytest.approx(expected, rel=1e-5)
    assert ("transition" in parts) == model.system.writes_tree
    nats.backward()
    without = {n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0}
    assert without == set()


@pytest.mark.parametrize("name", ["gcn", "linearized"])
def test_drawn_prefixes_stand_for_all_on_average(name):
    model = network(name, prefixes=0.2, smoothing=0.0)
    given = batch(model)
    expected = model.loss(given)[0].item()
    torch.manual_seed(1)
    model.train()
    with torch.no_grad():
        drawn = [model.loss(given) for _ in range(100)]
    nats = np.array([loss.item() for loss, _ in drawn])
    assert nats.std() > 0
    assert abs(nats.mean() - expected) < 4 * nats.std() / 100**0.5
    most = sum(ceil(0.2 * len(target.ids)) for target in given.targets)
    assert {sum(part.events for part in parts.values()) for _, parts in drawn} == {most}


@pytest.mark.parametrize("name", ["bitran", "linearized"])
def test_a_step_learns_from_each_symbol_as_often_in_all_systems(name):
    """Of a drawn symbol the loss is that of the symbol among all; so the drawn ones are found among them."""
    model = network(name, prefixes=0.2, smoothing=0.0, dropout=0.0)
    given = batch(model)
    every = model.predict(given)
    model.train()
    torch.manual_seed(1)
    drawn = [model.predict(given) for _ in range(100)]
    all_nats = {of: every.nats[torch.from_numpy(every.of == of)].tolist() for of in set(every.of.tolist())}
    for of, nats in ((of, nats) for one in drawn for of, nats in zip(one.of.tolist(), one.nats.tolist(), strict=True)):
        assert min(abs(nats - other) for other in all_nats[of]) < 1e-4
    counts = np.bincount(np.concatenate([one.of for one in drawn]))
    assert counts.tolist() == [100 * ceil(0.2 * len(target.ids)) for target in given.targets]
    for one in drawn:
        totals = np.bincount(one.of, one.times.numpy())
        assert totals == pytest.approx([len(target.ids) for target in given.targets])


def test_smoothing_counts_in_training_alone():
    smooth, plain = network("vanilla", smoothing=0.2), network("vanilla", smoothing=0.0)
    given = batch(smooth)
    assert smooth.loss(given)[0] == plain.loss(given)[0]
    smooth.train()
    trained, parts = smooth.loss(given)
    every = -sum(row.mean().item() for row in log_probs(plain, given).values())
    assert trained.item() == pytest.approx(0.8 * plain.loss(given)[0].item() + 0.2 * every, rel=1e-4)
    assert parts["piece"].nats.item() == pytest.approx(plain.loss(given)[0].item(), rel=1e-5)


def test_wrong_pairs_are_the_same_for_all_systems_in_every_batch_and_have_the_next_source_in_training():
    wrong = {}
    for name in ("vanilla", "gcn"):
        noisy, plain = (network(name, noise=noise, smoothing=0.0, dropout=0.0) for noise in (0.5, 0.0))
        given, clean = batch(noisy), batch(plain)
        assert clean.is_wrong is None and noisy.loss(given)[0] == plain.loss(given)[0] == plain.loss(clean)[0]
        wrong[name] = given.is_wrong.tolist()
        backwards = examples(noisy).batch(np.arange(7)[::-1], 0, CPU).is_wrong
        assert backwards.flip(0).equal(given.is_wrong)
        sources = [given.source[(row + 1) % 7 if is_wrong else row] for row, is_wrong in enumerate(given.is_wrong)]
        learned = clean._replace(source=torch.stack(sources))
        assert noisy.train().loss(given)[0] == plain.loss(learned)[0] != plain.loss(clean)[0]
    assert wrong["vanilla"] == wrong["gcn"] and 0 < sum(wrong["gcn"]) < 7


def test_noise_is_the_share_of_the_pairs_that_are_wrong():
    shares = []
    for noise in (0.2, 0.7):
        data = examples(network("vanilla", noise=noise))
        many = replace(data, names=[f"train-{number}" for number in range(2000)], sources=[data.sources[0]] * 2000)
        many = replace(many, targets=[data.targets[0]] * 2000)
        shares.append(many.batch(np.arange(2000), 0, CPU).is_wrong.float().mean().item())
    assert shares == pytest.approx([0.2, 0.7], abs=0.03)


# ---- BiTran and Vanilla


def twins(layers: int) -> list[dict]:
    vanilla, bitran = network("vanilla", layers=layers), network("bitran", layers=layers)
    bitran.load_state_dict(vanilla.state_dict())
    return [log_probs(one, batch(one)) for one in (vanilla, bitran)]


def test_with_one_layer_bitran_is_vanilla():
    vanilla, bitran = twins(1)
    assert vanilla.keys() == bitran.keys()
    for place, row in vanilla.items():
        torch.testing.assert_close(row, bitran[place], atol=1e-5, rtol=0)


def test_with_two_layers_they_differ_but_for_the_first_symbol():
    vanilla, bitran = twins(2)
    for (number, place), row in vanilla.items():
        difference = (row - bitran[number, place]).abs().max()
        assert (difference < 1e-5) == (place == 0)


@in_every_system
def test_what_comes_later_changes_nothing_before(name):
    """Neither later symbols nor their edges: of two targets that begin alike, all predictions up to there are alike."""
    model = network(name)
    target, other = batch(model).targets[5], batch(model).targets[5].ids.copy()
    cut = len(other) // 2
    words = [entry for entry in np.flatnonzero(model.vocabulary.starts_word) if entry not in other]
    other[cut:-1] = np.roll(other[cut:-1], 1)
    other[-2] = words[0]
    symbols = [model.meanings.symbols[entry] for entry in other[:-1]]
    changed = Target(other, model.meanings.rows(edges_of(symbols)))
    source = batch(model).source[5:6].expand(2, -1)
    found = log_probs(model, TranslationBatch(source, [target, changed]))
    for place in range(cut + 1):
        torch.testing.assert_close(found[0, place], found[1, place], atol=1e-5, rtol=0)
    later = [(found[0, place] - found[1, place]).abs().max() for place in range(cut + 1, len(target.ids))]
    assert max(later) > 1e-3


# ---- PARENT


def test_without_transitions_the_head_of_parents_sees_each_position_alone():
    target = Target(np.array([5, 6, 7, END]), np.empty((0, 4), np.int64))
    rows = rows_of([target], all_prefixes([target]), np.array([0]))
    for group, seen in zip(rows.groups, parents_of(rows), strict=True):
        assert torch.equal(seen, torch.eye(group.length, dtype=torch.bool).expand_as(seen))


def test_the_head_of_parents_sees_what_the_worked_example_says():
    from test_translation_target import EDGES, KEYS

    edges = np.array([(at, origin, goal, 0) for at, pairs in EDGES.items() for origin, goal in pairs])
    target = Target(np.array([*range(10, 20), END]), edges)
    rows = rows_of([target], Cut(np.array([0, 0]), np.array([4, 11])), np.array([0]))
    before, after = parents_of(rows)
    assert [set(row.nonzero()[:, 0].tolist()) for row in before[0]] == [{0}, {1}, {2}, {3}]
    assert [set((row.nonzero()[:, 0] - 1).tolist()) for row in after[0, 1:]] == KEYS


def test_parent_has_no_weights_of_its_own():
    counts = {name: sum(p.numel() for p in network(name).parameters()) for name in ("parent", "bitran-transitions")}
    assert counts["parent"] == counts["bitran-transitions"]


@pytest.mark.parametrize("name", [*GRAPHS, "parent"])
def test_the_graph_matters(name):
    """Without edges symbols are predicted otherwise where there is an edge, and as before where there is none."""
    model = network(name)
    given = batch(model)
    bare = [target._replace(edges=target.edges[:0]) for target in given.targets]
    found, without = log_probs(model, given), log_probs(model, given._replace(targets=bare))
    for (number, place), row in found.items():
        has_edges = bool((given.targets[number].edges[:, 0] < place).any())
        assert ((row - without[number, place]).abs().max() > 1e-5) == has_edges


# ---- The graph network

READS = {"gcn": Layers(True, True), "gcn-no-labels": Layers(False, True), "gcn-no-gates": Layers(False, False)}
in_every_graph_network = pytest.mark.parametrize("name", READS)


def layer(name: str) -> GraphLayer:
    torch.manual_seed(1)
    found = GraphLayer(TranslationConfig(**SMALL), READS[name], 4).eval()
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.normal_(std=0.3)
    return found


def graph(*edges: tuple[int, int, int]) -> PrefixGraph:
    origin, goal, label = torch.tensor(edges or [(0, 0, 0)])[: len(edges)].T
    return PrefixGraph(origin, goal, label, torch.zeros(len(edges), dtype=torch.long))


@in_every_graph_network
def test_a_neighbours_change_moves_a_node_and_a_strangers_does_not(name):
    """On a path 0 -> 1 -> 2 -> 3, 4 alone: a layer hears of those next to it, in both directions."""
    of, edges = layer(name), graph((0, 1, 1), (1, 2, 2), (2, 3, 3))
    h = torch.randn(5, 16)
    with torch.no_grad():
        for moved in range(5):
            changed = h.clone()
            changed[moved] += 1
            differs = ((of(changed, edges) - changed) - (of(h, edges) - h)).abs().amax(1) > 1e-6
            near = [node for node in range(5) if node == moved or (abs(node - moved) == 1 and max(node, moved) < 4)]
            assert differs.nonzero()[:, 0].tolist() == near


@in_every_graph_network
def test_without_edges_each_node_is_on_its_own(name):
    of, h = layer(name), torch.randn(5, 16)
    with torch.no_grad():
        alone = torch.cat([of(row[None], graph()) for row in h])
        torch.testing.assert_close(of(h, graph()), alone)


def test_open_gates_are_no_gates_and_labels_that_say_nothing_are_no_labels():
    edges, h = graph((0, 1, 1), (1, 2, 2), (4, 3, 3)), torch.randn(5, 16)
    full, unlabelled, plain = (layer(name) for name in READS)
    unlabelled.load_state_dict(full.state_dict(), strict=False)
    plain.load_state_dict(full.state_dict(), strict=False)
    with torch.no_grad():
        full.label.zero_()
        full.label_gate.zero_()
        torch.testing.assert_close(full(h, edges), unlabelled(h, edges))
        assert (full(h, edges) - plain(h, edges)).abs().max() > 1e-2
        full.label_gate += 1e4
        torch.testing.assert_close(full(h, edges), plain(h, edges))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@in_every_graph_network
def test_a_graph_layer_computes_in_other_precisions(name, dtype):
    of, edges, h = layer(name), graph((0, 1, 1), (1, 2, 2), (4, 3, 3)), torch.randn(5, 16)
    with torch.no_grad():
        expected, found = of(h, edges), of.to(dtype)(h.to(dtype), edges)
        with torch.autocast("cpu", torch.bfloat16):
            in_bfloat16 = of.float()(h, edges)
    assert torch.allclose(found.float(), expected, atol=0.05) and torch.allclose(in_bfloat16, expected, atol=0.05)


def test_labels_are_heard():
    of, h = layer("gcn"), torch.randn(5, 16)
    with torch.no_grad():
        one, other = (of(h, graph((0, 1, label))) for label in (1, 2))
    assert (one - other).abs().amax(1).gt(1e-5).tolist() == [True, True, False, False, False]


# ---- Prefixes


def test_prefixes_have_no_padding_and_each_is_there_once():
    model = network("gcn")
    targets = batch(model).targets
    rows = rows_of(targets, all_prefixes(targets), np.arange(len(targets)))
    lengths = [len(target.ids) for target in targets]
    assert len(rows.token) == sum(n * (n + 1) // 2 for n in lengths)
    assert sum(group.rows * group.length for group in rows.groups) == len(rows.token)
    assert [group.length for group in rows.groups] == list(range(1, max(lengths) + 1))


def test_drawn_prefixes_are_different_ones_of_each_target():
    targets = batch(network("gcn")).targets
    torch.manual_seed(3)
    cut, times = some_prefixes(targets, 0.3)
    for number, target in enumerate(targets):
        own = cut.length[cut.of == number]
        assert len(own) == len(set(own)) == ceil(0.3 * len(target.ids)) and own.max() <= len(target.ids)
        np.testing.assert_allclose(times[cut.of == number].sum(), len(target.ids))
