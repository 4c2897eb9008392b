"""GiLT: what its scorer computes, what depends on what, its loss, and that it learns."""

import json
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from graphs import with_graph
from running import CONFIGS, assert_one_line, lines
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.testing import assert_close
from toys import SENTENCES, vocabulary

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.corpora import load
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import MARK, Vocabulary
from dtglib.families.base import build, family, load_model
from dtglib.network.attention import naive, sinusoids
from dtglib.network.transformer import TransformerConfig
from dtgpapers.gilt import scorer
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.examples import GraphBatch, GraphExamples, counts
from dtgpapers.gilt.gains import gains
from dtgpapers.gilt.graphs import Graph, graph_of
from dtgpapers.gilt.measure import measured
from dtgpapers.gilt.measured import graph_scores
from dtgpapers.gilt.model import Gilt, GiltOutput
from dtgpapers.gilt.tape import tapes

SMALL = GiltConfig(layers=2, width=16, heads=2, inner=24, feature_width=6)
WAYS = ("ra", "ftr", "ctr")

pytestmark = pytest.mark.usefixtures("one_thread")


def in_pieces() -> Vocabulary:
    return vocabulary("pieces").with_symbols(counts(SMALL.most_arcs))


def sentences() -> list[Sentence]:
    """Of different lengths, in pieces, with several heads, cycles, and arcs of ROOT."""
    chance, found = random.Random(1), []
    for number, words in enumerate(SENTENCES[:5]):
        n = len(words)
        arcs = {(chance.randint(0, n), chance.randint(1, n)) for _ in range(int(1.5 * n))}
        found.append(with_graph(words, [(h, d) for h, d in arcs if h != d], str(number)))
    return found


def examples(config: GiltConfig = SMALL, of: list[Sentence] | None = None) -> GraphExamples:
    return GraphExamples.of(graph_of, config, in_pieces(), Treebank(of or sentences(), Counter()))


def model(config: GiltConfig = SMALL, seed: int = 1) -> Gilt:
    torch.manual_seed(seed)
    return Gilt(config, in_pieces()).eval()


def batch(config: GiltConfig = SMALL, of: list[Sentence] | None = None) -> GraphBatch:
    found = examples(config, of)
    return found.batch(range(len(found)), 0, torch.device("cpu"))


# ---- Sizes


def count_of(network: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_at_paper_size_it_has_the_papers_parameters():
    """Counted on the meta device; the vocabulary's symbols are among its 32,768 entries."""
    reserved = counts(29).entries
    entries = reserved + tuple(f"{MARK}{number}" for number in range(32768 - len(reserved)))
    speaks = Vocabulary(entries, counts(29))
    with torch.device("meta"):
        baseline = build(TransformerConfig("txl-tokens"), speaks)
        gilt = Gilt(GiltConfig(), speaks)
    assert count_of(baseline) == 251_840_512
    assert count_of(gilt) - count_of(gilt.scorer) == 268_837_888
    assert count_of(gilt.scorer) == 54_753_311


# ---- Cells and the scorer, by definition


def cells_by_definition(graph: Graph, root_arcs: bool) -> dict[tuple[int, int], int]:
    """Each possible arc and the word with which it comes."""
    nodes = range(0 if root_arcs else 1, graph.words + 1)
    return {(h, d): max(h, d) for h in nodes for d in range(1, graph.words + 1) if h != d}


@pytest.mark.parametrize("root_arcs", [True, False])
def test_cells_are_all_pairs_of_words_and_root(root_arcs):
    config = replace(SMALL, root_arcs=root_arcs, depth="root")
    found = examples(config)
    given = found.batch(range(len(found)), 0, torch.device("cpu"))
    listed, before = [], 0
    for graph in found.graphs:
        tape = tapes(graph, "root")
        for (h, d), word in cells_by_definition(graph, root_arcs).items():
            of_h, of_d = (tape[word - 1, :, node].tolist() if node < word else [0] * 4 for node in (h, d))
            is_arc = [h, d] in graph.arcs.tolist()
            listed.append((h and h + before, d + before, word + before - 1, abs(h - d), *of_h, *of_d, float(is_arc)))
        before += graph.words
    columns = [*given.cells[:4], *given.cells.of_head, *given.cells.of_dependent, given.is_arc]
    assert sorted(zip(*(column.tolist() for column in columns), strict=True)) == sorted(listed)
    squares = sum(graph.words * (graph.words - (not root_arcs)) for graph in found.graphs)
    assert len(listed) == squares and given.count.sum() == given.is_arc.sum()


def scored_by_definition(network: Gilt, words: torch.Tensor, graph: Graph, depth: str) -> tuple[dict, list]:
    """Equations 2 and 3 for one sentence, a cell after the other."""
    its, tape, D = network.scorer, tapes(graph, depth), network.config.width
    o, places = [its.root, *words], sinusoids(graph.words, D)

    def represented(side, node: int, step: int, distance: int) -> torch.Tensor:
        values = tape[step - 1, :, node] if node < step else [0] * 4
        features = torch.cat([table[int(value)] for table, value in zip(its.tables, values, strict=True)])
        r = side.of_distance(places[distance + 1]) + side.of_features(features)
        return side.of_cell(side.of_word(o[node]) + r)

    arcs, numbers = {}, []
    for step in range(1, graph.words + 1):
        cells = [(h, d) for (h, d), word in cells_by_definition(graph, True).items() if word == step]
        s = torch.zeros(D)
        for h, d in cells:
            p, c = (
                represented(its.as_head, h, step, step - min(h, d)),
                represented(its.as_dependent, d, step, step - min(h, d)),
            )
            one, W, S = torch.ones(1), its.arc.weight, its.mixed.weight
            W, S = (x if x.dim() == 2 else x.diag() for x in (W, S))
            arcs[h, d] = torch.cat([p, one]) @ W @ torch.cat([c, one])
            s = s + p * (S @ c)
        assert len(cells) == 2 * step - 1
        scores = its.count(s / len(cells) ** 0.5)
        scores[2 * step :] = -torch.inf
        numbers.append(scores.log_softmax(0))
    return arcs, numbers


@pytest.mark.parametrize("biaffine", ["full", "diagonal"])
@pytest.mark.parametrize(("at_once", "held"), [(7, 0), (7, 10**6), (4096, 10**6)])
def test_the_scorer_is_equations_2_and_3(biaffine, at_once, held, monkeypatch):
    """Values and gradients; at once, in parts of 7 cells, and with vectors that are computed twice."""
    monkeypatch.setitem(scorer.AT_ONCE, "cpu", at_once * 2 * SMALL.width)
    monkeypatch.setattr(scorer, "HELD", held)
    network = model(replace(SMALL, biaffine=biaffine, depth="root"))
    if biaffine == "full":
        torch.nn.init.normal_(network.scorer.arc.weight, std=0.3)
        torch.nn.init.normal_(network.scorer.mixed.weight, std=0.3)
    found = examples(network.config, sentences()[:2])
    given = found.batch([0, 1], 0, torch.device("cpu"))
    words = torch.randn(sum(graph.words for graph in found.graphs), 3 * SMALL.width)
    arcs, numbers = network.scorer(words, given.cells, len(words), given.farthest)
    weights = torch.randn_like(arcs)
    gold = given.count[:, None].long()
    (arcs @ weights + numbers.gather(1, gold).sum()).backward()
    fast = {name: x.grad.clone() for name, x in network.scorer.named_parameters()}
    network.zero_grad()
    expected_arcs, expected_numbers, before = torch.zeros(len(arcs)), [], 0
    for graph in found.graphs:
        by_cell, of_words = scored_by_definition(network, words[before : before + graph.words], graph, "root")
        for (h, d), value in by_cell.items():
            where = (given.cells.head == (h and h + before)) & (given.cells.dependent == d + before)
            where &= given.cells.step == max(h, d) + before - 1
            expected_arcs = expected_arcs + where * value
        expected_numbers += of_words
        before += graph.words
    expected_numbers = torch.stack(expected_numbers)
    assert_close(arcs, expected_arcs, atol=1e-5, rtol=1e-4)
    assert_close(numbers, expected_numbers, atol=1e-5, rtol=1e-4)
    (expected_arcs @ weights + expected_numbers.gather(1, gold).sum()).backward()
    for name, x in network.scorer.named_parameters():
        assert_close(fast[name], x.grad, atol=1e-4, rtol=1e-3, msg=lambda text, name=name: f"{name}: {text}")
        assert x.grad.abs().max() > 0, name


def test_the_scorer_keeps_no_vector_of_many_cells(monkeypatch):
    """Only integers are stored for each cell, no vectors, if the cells are too many to be kept."""
    monkeypatch.setattr(scorer, "HELD", 0)
    network, kept = model(), []
    given = batch(SMALL, [with_graph(["a"] * 40, [(1, 2)])])
    words = torch.randn(40, 3 * SMALL.width)

    def seen(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(seen, lambda tensor: tensor):
        network.scorer(words, given.cells, 40, given.farthest)
    assert len(given.cells.head) == 1600
    assert max(tensor.numel() for tensor in kept if tensor.is_floating_point()) < 1600 * SMALL.width


@pytest.mark.parametrize("word", WAYS)
def test_all_pieces_of_a_word_are_seen_alike(word):
    """And, ahead of time, they see alike, too."""
    given = batch(replace(SMALL, word=word), [sentences()[1]])
    tape, of_word = given.batch.bias[0], given.words.word
    pieces = given.words.position
    assert len(pieces) > of_word.max() + 1
    for one, other in zip(range(len(pieces) - 1), range(1, len(pieces)), strict=True):
        if of_word[one] == of_word[other]:
            assert torch.equal(tape[:, :, pieces[one]], tape[:, :, pieces[other]])
            assert word != "ra" or torch.equal(tape[:, pieces[one]], tape[:, pieces[other]])


def test_numbers_of_arcs_that_are_impossible_have_no_probability_unless_all_are_allowed():
    for kind in ("possible", "all"):
        network, given = model(replace(SMALL, counts=kind)), batch()
        probabilities = network.compute(given).counts.exp()
        assert_close(probabilities.sum(1), torch.ones(len(probabilities)))
        first_of_sentence = torch.cat([torch.tensor([True]), given.words.row.diff() > 0])
        lost = probabilities[first_of_sentence, 2:].sum(1)
        assert (lost == 0).all() if kind == "possible" else (lost > 0.1).all()


# ---- What depends on what


def test_with_tables_of_zeros_it_is_the_transformer_xl():
    network, given = model(), batch()
    plain = build(replace(TransformerConfig("txl-tokens"), layers=2, width=16, heads=2, inner=24), in_pieces()).eval()
    plain.load_state_dict(network.state_dict(), strict=False)
    assert set(plain.state_dict()) < set(network.state_dict())
    expected = plain.log_probs(given.batch._replace(bias=None))
    assert (network.log_probs(given.batch) - expected).abs().max() > 1e-3
    with torch.no_grad():
        network.tables.zero_()
        for block in network.blocks:
            for linear in block.fuse:
                linear.bias.zero_()
    assert_close(network.log_probs(given.batch), expected, atol=1e-6, rtol=0)


def test_features_that_are_not_read_change_nothing():
    """With depth alone, the arcs 2->1 and 1->2 are the same to every position and to every cell."""
    words = SENTENCES[1]
    for features, is_same in (("depth", True), ("degree depth", False)):
        network = model(replace(SMALL, features=features))
        (_, before), (_, after) = (computed(network, with_graph(words, [arc, (3, 4)])) for arc in ((2, 1), (1, 2)))
        for one, other in zip(before, after, strict=True):
            assert torch.equal(one, other) == is_same
        assert len(network.tables) == len(network.scorer.tables) == len(features.split())


@pytest.mark.parametrize("features", ["", "depth length"])
def test_what_is_no_feature_is_named(features):
    with pytest.raises(UserError, match="features must be some of degree, distance, depth, subgraph"):
        GiltConfig(features=features)


def test_all_four_tables_learn_from_the_words_alone():
    network, given = model(), batch()
    network.log_probs(given.batch).sum().backward()
    assert (network.tables.grad.abs().amax((1, 2)) > 1e-4).all()


def computed(network: Gilt, sentence: Sentence) -> tuple[GraphBatch, GiltOutput]:
    given = batch(network.config, [sentence])
    with torch.no_grad():
        return given, network.compute(given)


@pytest.mark.parametrize("word", WAYS)
def test_an_arc_changes_nothing_before_its_word_is_known(word):
    """RA: before the fifth word's first piece. FTR: before its second one, if there is one. CTR: before the sixth word.

    Whatever the scorer says of words up to the fifth one is the same, too.
    """
    network = model(replace(SMALL, word=word))
    words = SENTENCES[1]
    arcs = [(2, 1), (0, 2), (2, 4), (4, 3)]
    (given, before), (_, after) = (
        computed(network, with_graph(words, [*arcs, *more, (7, 6)])) for more in ([(5, 3)], [(2, 5), (0, 5)])
    )
    first = given.words.first[4].item()
    pieces = (given.words.word == 4).sum().item()
    assert pieces > 1
    same = first + {"ra": 0, "ftr": 1, "ctr": pieces}[word]
    changed = (before.log_probs - after.log_probs).abs()
    assert changed[:same].max() < 1e-5 and changed[same:].min() > 1e-4
    up_to_fifth = given.cells.step < 5
    assert_close(before.arcs[up_to_fifth], after.arcs[up_to_fifth], rtol=0, atol=1e-5)
    assert_close(before.counts[:5], after.counts[:5], rtol=0, atol=1e-5)
    assert (before.counts[5:] != after.counts[5:]).any(1).all()


@pytest.mark.parametrize("word", WAYS)
def test_later_words_change_nothing_either(word):
    network = model(replace(SMALL, word=word))
    words, arcs = SENTENCES[1], [(2, 1), (0, 2), (2, 4), (4, 3)]
    given, whole = computed(network, with_graph(words, [*arcs, (7, 1)]))
    _, begun = computed(network, with_graph(words[:5], arcs))
    same = given.words.first[5].item() - 1  # the end is predicted in the place of the sixth word
    assert_close(whole.log_probs[:same], begun.log_probs[:same], atol=1e-5, rtol=0)
    # The cells of the fifth word's steps are those of the shorter sentence, in the same order.
    assert_close(whole.arcs[given.cells.step < 5], begun.arcs, atol=1e-5, rtol=0)
    assert_close(whole.counts[:5], begun.counts, atol=1e-5, rtol=0)


@pytest.mark.parametrize("word", WAYS)
def test_padding_and_neighbours_change_nothing(word):
    network = model(replace(SMALL, word=word))
    together = network.compute(batch(network.config))
    alone = [computed(network, sentence)[1] for sentence in sentences()]
    for name in GiltOutput._fields:
        parts = torch.cat([getattr(one, name) for one in alone])
        assert_close(getattr(together, name), parts, atol=1e-5, rtol=0)


# ---- The loss


WEIGHTS = {
    "sums": lambda N, M: (5 / 6, 1 / 6, 1 / 6),
    "means": lambda N, M: (5 / 6 / N, 1 / 6 / M**2, 1 / 6 / M),
    "code": lambda N, M: (2 * 5 / 6, 2 * 2 / 6, 2 * 2 / 6),
}


@pytest.mark.parametrize("weighting", WEIGHTS)
def test_the_loss_is_the_weighted_sum_of_what_each_sentence_has_alone(weighting):
    network = model(replace(SMALL, weighting=weighting))
    expected, of_parts = 0.0, np.zeros(3)
    for sentence in sentences():
        given, found = computed(network, sentence)
        nats = (
            -found.log_probs.sum(),
            bce(found.arcs, given.is_arc, reduction="sum"),
            -found.counts.gather(1, given.count[:, None].long()).sum(),
        )
        N, M = len(found.log_probs), len(sentence.words)
        expected += sum(w * x.item() for w, x in zip(WEIGHTS[weighting](N, M), nats, strict=True))
        of_parts += [x.item() for x in nats]
    with torch.no_grad():
        loss, parts = network.loss(batch(network.config))
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert list(parts) == ["token", "arc", "count"]
    assert [part.nats.item() for part in parts.values()] == pytest.approx(of_parts.tolist(), rel=1e-5)
    words = [len(sentence.words) for sentence in sentences()]
    assert [part.events for part in parts.values()][1:] == [sum(n * n for n in words), sum(words)]


def test_it_computes_in_bfloat16_too():
    network, given = model(), batch()
    with torch.autocast("cpu", torch.bfloat16):
        found, _ = network.loss(given)
    found.backward()
    expected, _ = network.loss(given)
    assert found.item() == pytest.approx(expected.item(), rel=0.02)


# ---- How good its graphs are


def f1_by_definition(network: Gilt, of: list[Sentence], by_number: bool) -> float:
    right = gold = found = 0
    for sentence in of:
        given, computed_ = computed(network, sentence)
        for step in range(len(sentence.words)):
            (mine,) = torch.nonzero(given.cells.step == step, as_tuple=True)
            odds, is_arc = computed_.arcs[mine], given.is_arc[mine].bool()
            number = computed_.counts[step].argmax() if by_number else (odds > 0).sum()
            says = torch.zeros_like(is_arc)
            says[odds.argsort(descending=True)[:number]] = True
            right, gold, found = right + (says & is_arc).sum(), gold + is_arc.sum(), found + says.sum()
    return float(2 * right / (gold + found))


@pytest.mark.parametrize("name", ["precision", "recall"])
def test_precision_and_recall_are_shares_of_arcs(name):
    found = measured(model(), examples())
    for one in (found.by_odds, found.by_number):
        assert getattr(one, name) == one.right / {"precision": one.predicted, "recall": one.there}[name]
        assert one.f1 == pytest.approx(2 / (1 / one.precision + 1 / one.recall))
        assert one.there == sum(len(graph.arcs) for graph in examples().graphs)
    assert found.row()[f"{name} by odds"] == getattr(found.by_odds, name)


def test_the_command_tells_how_good_the_graphs_are(tmp_path, capsys):
    treebank = load("minilang", "dev", 5)
    speaks = Vocabulary.of_words([one.words for one in treebank.sentences], counts(SMALL.most_arcs))
    network = Gilt(SMALL, speaks).eval()
    network.save(tmp_path / "gilt")
    about = ["graphs", "minilang", "--split", "dev", "--sentences", "5"]
    assert main([*about, "--model", str(tmp_path / "gilt"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.pop("conventions").items() >= {"model": "gilt", "text": "minilang"}.items()
    assert found == pytest.approx(graph_scores(network, treebank.sentences))
    assert main([*about, "--model", str(tmp_path / "gilt")]) == 0
    out = capsys.readouterr().out
    assert "F1 by number" in out and "# model: gilt; text: minilang; unit: shares of arcs" in out
    assert main(["graphs", "There is a difference", "--model", str(tmp_path / "gilt")]) == 2
    assert_one_line(capsys, "There is a difference: has no graphs; `dtglib parse` with a parser of graphs draws them")
    assert main([*about, "--model", "dtg-minilang"]) == 2
    assert_one_line(capsys, "DTG predicts no graphs")


def test_scores_of_graphs_are_those_of_definition():
    network, data = model(), examples()
    found = measured(network, data)
    assert found.by_odds.f1 == pytest.approx(f1_by_definition(network, sentences(), by_number=False))
    assert found.by_number.f1 == pytest.approx(f1_by_definition(network, sentences(), by_number=True))
    assert 0 < found.by_odds.f1 != found.by_number.f1 > 0
    with torch.no_grad():
        _, parts = network.loss(batch())
    joint = -(parts["token"].nats + parts["count"].nats).item() / parts["token"].events
    assert found.log_joint == pytest.approx(joint, rel=1e-5)


# ---- Training data


def test_sentences_without_a_graph_or_with_too_many_arcs_are_counted():
    found = sentences()
    crowded = with_graph(["a"] * 30, [(30, word) for word in range(1, 30)] + [(0, 30)], "crowded")
    treebank = Treebank([*found, replace(found[0], enhanced=None), crowded], Counter())
    data = GraphExamples.of(graph_of, SMALL, in_pieces(), treebank)
    assert data.excluded == {"without a graph": 1, "too many arcs of a word": 1} and data.names == list("01234")
    arcs = sum(len(graph.arcs) for graph in data.graphs)
    assert f"5 sentences, {data.lengths.sum()} positions" in data.summary and f"{arcs} arcs" in data.summary
    with pytest.raises(UserError, match="no sentence is left for model gilt; left out: 1 without a graph"):
        GraphExamples.of(graph_of, SMALL, in_pieces(), Treebank([replace(found[0], enhanced=None)], Counter()))


def test_without_arcs_of_root_a_word_may_have_one_more():
    treebank = Treebank([with_graph(["a", "b"], [(0, 2), (2, 1)])], Counter())
    data = GraphExamples.of(graph_of, replace(SMALL, most_arcs=1, root_arcs=False), in_pieces(), treebank)
    assert [graph.arcs.tolist() for graph in data.graphs] == [[[2, 1]]]
    with pytest.raises(UserError, match="1 too many arcs of a word"):
        GraphExamples.of(graph_of, replace(SMALL, most_arcs=1), in_pieces(), treebank)


def test_long_sentences_are_left_out_with_their_graphs():
    found, limit = examples(), 12
    data = GraphExamples.of(graph_of, SMALL, in_pieces(), Treebank(sentences(), Counter()), limit)
    kept = np.flatnonzero(found.lengths <= limit)
    assert 0 < len(kept) < 5 and data.names == [str(number) for number in kept]
    assert [graph.arcs.tolist() for graph in data.graphs] == [found.graphs[n].arcs.tolist() for n in kept]


def test_the_checksum_knows_the_graphs():
    words, arcs = ["a", "b"], [[(1, 2)], [(2, 1)], [(1, 2)]]
    sums = [examples(of=[with_graph(words, one)]).checksum for one in arcs]
    assert sums[0] == sums[2] != sums[1]


def test_the_tree_control_reads_heads():
    treebank = load("minilang", "dev", 20)
    speaks = Vocabulary.of_words([one.words for one in treebank.sentences], counts(29))
    data = family("gilt-dp").examples(SMALL, speaks, treebank, None)
    for graph, sentence in zip(data.graphs, treebank.sentences, strict=True):
        assert {d: h for h, d in graph.arcs.tolist()} == dict(enumerate(sentence.heads, 1))


# ---- Training

SIZE = ["layers=2", "width=32", "heads=2", "inner=64", "feature_width=8", "train_sentences=40", "dev_sentences=10"]


def test_the_command_trains_it_and_logs_all_parts(tmp_path, capsys):
    sets = [part for one in (*SIZE, "epochs=2", "released=null", "precision=float32") for part in ("--set", one)]
    assert main(["train", str(CONFIGS / "smoke.yaml"), "--model", "gilt", *sets, "--out", str(tmp_path / "run")]) == 0
    assert "arcs" in capsys.readouterr().out
    for line in lines(tmp_path / "run", "train", "dev"):
        assert min(line[f"nats_per_{part}"] for part in ("token", "arc", "count", "sentence")) > 0
    first, last = (line["nats_per_arc"] for line in lines(tmp_path / "run", "dev"))
    assert last < first
    network = load_model(tmp_path / "run")
    assert type(network) is Gilt and network.config.feature_width == 8
    with torch.no_grad():
        nats, _ = network.loss(
            GraphExamples.of(graph_of, network.config, network.vocabulary, load("minilang", "dev", 10)).batch(
                range(10), 0, torch.device("cpu")
            )
        )
    best = min(line["nats_per_sentence"] for line in lines(tmp_path / "run", "dev"))
    assert nats.item() / 10 == pytest.approx(best, rel=1e-4)


def test_the_scorer_is_clipped_by_itself():
    network = model()
    language, of_scorer = family("gilt").training().clipped_together(network)
    assert len(language) + len(of_scorer) == len(list(network.parameters()))
    assert {id(x) for x in of_scorer} == {id(x) for x in network.scorer.parameters()}
    assert not {id(x) for x in of_scorer} & {id(x) for x in language}


# ---- What attention gains


def test_what_attention_gains_is_what_its_weights_lose_where_the_tables_are_zeros():
    torch.manual_seed(2)
    network, graph = model(), Graph.of(5, [(2, 1), (0, 2), (5, 3), (5, 4), (2, 5)])
    words = [*SENTENCES[0], *SENTENCES[0]][:5]
    found = gains(network, words, graph)
    assert found.shape[:2] == (2, 2) and np.abs(found).max() > 0.01
    assert found.sum(3) == pytest.approx(np.zeros(found.shape[:3]), abs=1e-6)
    assert not np.triu(found, 1).any(), "nothing is seen ahead"
    # In the first layer, by the definition of attention, whose values are the rows of an identity matrix.
    batch = examples(of=[with_graph(words, graph.arcs.tolist())]).batch([0], 0, torch.device("cpu")).batch
    block, inputs = network.blocks[0], network.layer_inputs(batch)
    with torch.no_grad():
        q, k, _, r = block.project(network.embed(batch.token, batch.arc), inputs.places)
        term = block.bias(q + network.u, inputs.bias)
        one_hot = torch.eye(term.shape[3]).expand(1, 2, -1, -1)
        given = q + network.u, q + network.w, k, one_hot, r, inputs.structure
        by_definition = naive(*given, term) - naive(*given)
    assert found[0] == pytest.approx(by_definition[0].numpy(), abs=1e-5)
