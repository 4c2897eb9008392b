"""Dependency graphs of sentences, and the tape of features that attention reads of them."""

import json
import random

import networkx
import numpy as np
import pytest
from running import assert_one_line

from dtglib.cli.main import main
from dtglib.data.conllu import Edge, TreebankError
from dtglib.data.corpora import load
from dtglib.data.treebank import Sentence, read_conllu
from dtgpapers.gilt.graphs import OF_EMPTY_NODES, TO_ITSELF, TWICE, Graph, graph_of, tree_of
from dtgpapers.gilt.sdp import read_sdp
from dtgpapers.gilt.tape import DEPTHS, FEATURES, MOST, add, growing, look, tapes

# ---- Graphs


def sentence(*heads: str, tree=None) -> Sentence:
    """A sentence from the heads of each word, as in "2 4.1"."""
    edges = tuple(tuple(Edge(head, "x") for head in of_word.split()) for of_word in heads)
    return Sentence(tuple(f"w{n}" for n in range(len(heads))), tree, id="mine", enhanced=edges)


def test_an_arc_belongs_to_the_later_of_its_words():
    graph, dropped = graph_of(sentence("2 4", "0", "", "2 1"))
    assert graph.arcs.tolist() == [[0, 2], [2, 1], [1, 4], [2, 4], [4, 1]]
    assert graph.counts.tolist() == [0, 2, 0, 3] and not dropped
    assert graph.without_root().counts.tolist() == [0, 1, 0, 3]


def test_what_cannot_be_an_arc_is_dropped_and_counted():
    graph, dropped = graph_of(sentence("2 2 2.1", "0 2", "2.1"))
    assert graph.arcs.tolist() == [[0, 2], [2, 1]]
    assert dropped == {OF_EMPTY_NODES: 2, TO_ITSELF: 1, TWICE: 1}


def test_arcs_into_empty_nodes_are_counted_too(tmp_path):
    path = tmp_path / "mine.conllu"
    fields = "\t{}\t_\t_\t_\t_\t{}\tx\t{}\t_\n"
    path.write_text(
        "1" + fields.format("I", 2, "2:x") + "2" + fields.format("ate", 0, "0:x")
        + "2.1\tate\t_\t_\t_\t_\t_\t_\t2:conj|0:x\t_\n" + "3" + fields.format("it", 2, "2.1:obj") + "\n"
    )  # fmt: skip
    (one,) = read_conllu(path).sentences
    graph, dropped = graph_of(one)
    assert graph.arcs.tolist() == [[0, 2], [2, 1]] and dropped == {OF_EMPTY_NODES: 3}


def test_a_tree_is_a_graph_in_which_every_word_has_one_head():
    graph, dropped = tree_of(Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2)))
    assert graph.arcs.tolist() == [[0, 2], [2, 1], [2, 4], [4, 3]] and not dropped


def test_a_sentence_without_a_graph_says_so():
    with pytest.raises(TreebankError, match="sentence 'mine' has no graph"):
        graph_of(Sentence(("No",), (0,), id="mine"))
    with pytest.raises(TreebankError, match="has no tree"):
        tree_of(Sentence(("No",)))


def test_in_minilang_the_graph_holds_more_than_the_tree():
    """But a relative pronoun depends on its antecedent there, and no longer on the verb."""
    several = 0
    for one in load("minilang", "train", 300).sentences:
        (graph, dropped), (tree, _) = graph_of(one), tree_of(one)
        assert graph.counts.sum() >= len(one.words) == tree.counts.sum() and not dropped[OF_EMPTY_NODES]
        several += len(graph.arcs) > len(tree.arcs)
    assert several > 30


def test_of_a_treebank_every_arc_is_in_the_graph_or_counted(data):
    """Counted in the file's column of graphs, fused tokens left out."""
    path = data / "ud/UD_English-EWT/en_ewt-ud-dev.conllu"
    rows = [line.split("\t") for line in path.read_text("utf-8").splitlines() if line[:1].isdigit()]
    in_file = sum(row[8].count("|") + 1 for row in rows if row[8] != "_" and "-" not in row[0])
    read = [graph_of(one) for one in read_conllu(path).sentences]
    arcs, dropped = sum(len(graph.arcs) for graph, _ in read), sum(sum(dropped.values()) for _, dropped in read)
    assert arcs + dropped == in_file and 0 < dropped < 200 < arcs
    assert max(graph.counts.max() for graph, _ in read) <= 29


def test_tops_are_arcs_of_root(tmp_path):
    path = tmp_path / "mine.sdp"
    path.write_text("#1\n1\tIt\tit\tPRP\t-\t-\t_\tARG1\n2\trains\train\tVBZ\t+\t+\tv\t_\n\n")
    graph, _ = graph_of(read_sdp(path).sentences[0])
    assert graph.arcs.tolist() == [[0, 2], [2, 1]]


def test_a_graph_without_arcs():
    graph = Graph.of(2, [])
    assert graph.arcs.shape == (0, 2) and graph.arcs.dtype == np.int32 and graph.counts.tolist() == [0, 0]


# ---- The tape: examples that were worked out by hand. Features of the words so far; the current one is the last.

TREE, DAG = [(2, 1), (2, 3)], [(3, 1), (3, 2), (5, 2), (5, 3), (5, 4)]

WORKED = {
    ("paper", 3, tuple(TREE)): (
        [0, 1, 1],
        {2: [[1, 10], [10, 0], [0, 1], [0, 1]], 3: [[1, 20, 1], [11, 1, 0], [0, 1, 2], [0, 1, 0]]},
    ),
    ("root", 3, ((0, 2), *TREE)): (
        [0, 2, 1],
        {2: [[1, 11], [10, 0], [3, 2], [0, 0]], 3: [[1, 21, 1], [11, 1, 0], [3, 2, 3], [0, 0, 0]]},
    ),
    ("paper", 5, tuple(DAG)): (
        [0, 0, 2, 0, 3],
        {
            3: [[1, 1, 20], [10, 10, 0], [0, 2, 1], [0, 0, 1]],
            4: [[1, 1, 20, 0], [0, 0, 0, 0], [0, 2, 1, 0], [0, 0, 2, 1]],
            5: [[1, 2, 21, 1, 30], [20, 10, 10, 10, 0], [0, 2, 1, 3, 2], [0, 0, 0, 0, 1]],
        },
    ),
    ("root", 5, ((0, 5), *DAG)): (
        [0, 0, 2, 0, 4],
        {5: [[1, 2, 21, 1, 31], [20, 10, 10, 10, 0], [4, 3, 3, 3, 2], [0, 0, 0, 0, 0]]},
    ),
}


@pytest.mark.parametrize("example", WORKED)
def test_worked_examples(example):
    depth, words, arcs = example
    counts, prefixes = WORKED[example]
    graph = Graph.of(words, arcs)
    assert graph.counts.tolist() == counts
    tape = tapes(graph, depth)
    assert {word: tape[word, :, 1 : word + 1].tolist() for word in prefixes} == prefixes


@pytest.mark.parametrize("example", WORKED)
def test_the_command_prints_them(example, capsys):
    depth, words, arcs = example
    counts, prefixes = WORKED[example]
    written = " ".join(f"{head}->{dependent}" for head, dependent in arcs)
    spelled = " ".join(["word"] * words)
    assert main(["tape", "--words", spelled, "--arcs", written, "--depth", depth, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["counts"] == counts and len(shown["prefixes"]) == words
    for word, features in prefixes.items():
        assert shown["prefixes"][word - 1] == dict(zip(FEATURES, features, strict=True))


def test_the_command_as_a_table_and_without_root(capsys):
    arguments = ["tape", "--words", "There is a difference", "--arcs", "0->2 2->1 4->3 2->4"]
    assert main(arguments) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("# ")]
    assert lines[0].split() == ["word", "arcs", *FEATURES] and len(lines) == 5
    assert lines[2].split() == ["is", "2", "1", "11", "10", "0", "0", "1", "0", "0"]
    assert main([*arguments, "--no-root", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"] == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("arcs", "what"),
    [("2-1", "'2-1' is no arc"), ("1->3", "no arc 1->3 over 2"), ("1->0", "no arc 1->0"), ("2->2", "no arc 2->2")],
)
def test_what_is_no_arc_is_named(arcs, what, capsys):
    assert main(["tape", "--words", "She sleeps", "--arcs", arcs]) == 2
    assert_one_line(capsys, what)


# ---- The tape: the definition


def random_graph(chance: random.Random, words: int) -> Graph:
    """Any arcs: several heads, cycles, unconnected words; every second graph has arcs of ROOT."""
    density = chance.choice([0.3, 1, 2])
    first = chance.choice([0, 1])
    arcs = []
    for _ in range(int(density * words)):
        head, dependent = chance.randint(first, words), chance.randint(1, words)
        if head != dependent:
            arcs.append((head, dependent))
    return Graph.of(words, arcs)


def by_definition(graph: Graph, word: int, depth: str) -> list[list[int]]:
    """The features of ROOT and the words up to a current one, from the arcs among them."""
    arcs = [(h, d) for h, d in graph.arcs.tolist() if max(h, d) <= word]
    nodes, words = range(word + 1), range(1, word + 1)
    paths, steps = networkx.DiGraph(), networkx.Graph()
    paths.add_nodes_from(words)
    steps.add_nodes_from(words)
    for head, dependent in arcs:
        if head:
            steps.add_edge(head, dependent)
            costs = ((head, dependent, 10), (dependent, head, 1))
            for start, stop, cost in costs:
                if not paths.has_edge(start, stop) or paths[start][stop]["weight"] > cost:
                    paths.add_edge(start, stop, weight=cost)
    degree = [10 * sum(h == node for h, _ in arcs) + sum(d == node for _, d in arcs) for node in nodes]
    reached = networkx.single_source_dijkstra_path_length(paths, word) if word else {}
    distance = [reached.get(node, 0) for node in nodes]
    subgraph = [0] * len(nodes)
    without_head = [node for node in reversed(words) if not any(d == node for _, d in arcs)]
    for number, node in enumerate(without_head, 1):
        subgraph[node] = number
    begin, hangs = int(depth == "root"), [d for h, d in arcs if h == 0]
    if depth == "root" and hangs:
        steps.add_edges_from((0, dependent) for dependent in hangs)
        hops = {node: begin + n for node, n in networkx.single_source_shortest_path_length(steps, 0).items()}
    else:
        components = networkx.connected_components(steps)
        from_first = [networkx.single_source_shortest_path_length(steps, min(words)) for words in components]
        hops = {0: begin} | {node: begin + n for found in from_first for node, n in found.items()}
    depths = [hops.get(node, 0) for node in nodes]
    return [[min(value, MOST) for value in feature] for feature in (degree, distance, depths, subgraph)]


@pytest.mark.parametrize("depth", DEPTHS)
def test_it_is_what_the_definition_says_of_a_thousand_graphs(depth):
    chance = random.Random(1)
    for _ in range(1000):
        graph = random_graph(chance, chance.randint(1, 9))
        tape = tapes(graph, depth)
        for word in range(graph.words + 1):
            assert tape[word, :, : word + 1].tolist() == by_definition(graph, word, depth)
            assert not tape[word, :, word + 1 :].any()


def test_large_values_are_cut():
    chain = Graph.of(200, [(word, word + 1) for word in range(1, 200)] + [(1, word) for word in range(3, 19)])
    apart = tapes(Graph.of(200, []))
    tape = tapes(chain)
    for word in (20, 199, 200):
        assert tape[word, :, : word + 1].tolist() == by_definition(chain, word, "paper")
    assert tape[:, :2].max(axis=(0, 2)).tolist() == [MOST, MOST] and apart[200, 3, 1] == MOST


def test_a_search_adds_arcs_to_many_graphs_at_once():
    """Each row of `Growing` is a graph of its own; chosen rows go on with other arcs, in any order within a word."""
    chance = random.Random(2)
    for depth, from_root in DEPTHS.items():
        graphs = growing(3, 8, 60)
        arcs = [[] for _ in range(3)]
        for word in range(1, 9):
            chosen = [chance.randrange(3) for _ in range(3)]
            graphs = type(graphs)(*(column[chosen] for column in graphs))
            arcs = [list(arcs[row]) for row in chosen]
            for row in range(3):
                cells = [(j, word) for j in range(word)] + [(word, j) for j in range(1, word)]
                for head, dependent in chance.sample(cells, chance.randint(0, min(3, len(cells)))):
                    add(graphs, row, head, dependent)
                    arcs[row].append((head, dependent))
                out = np.zeros((4, 9), np.int16)
                look(graphs, row, word, from_root, out)
                expected = by_definition(Graph.of(word, arcs[row]), word, depth)
                assert out[:, : word + 1].tolist() == expected
