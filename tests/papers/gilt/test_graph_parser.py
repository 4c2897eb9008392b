"""The parser of graphs: its loss by the definition, graphs that it knows by heart, and models that learn from them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import with_one_thread
from running import CONFIGS
from test_parser_commands import keys_of, known_keys
from toys import CPU

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.conllu import Edge
from dtglib.data.corpora import CorpusConfig, load
from dtglib.data.treebank import Sentence, Treebank, read_conllu
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import family
from dtglib.parsing.kinds import load_trained
from dtglib.runs.parsers import ParserSettings, TrainingData, train_parser_into
from dtglib.runs.settings import RunConfig
from dtglib.runs.trees import parsed
from dtglib.training.schedule import TrainConfig
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.graph_parser import (
    GRAPHS,
    GraphParser,
    GraphParserConfig,
    GraphParserExamples,
    counted,
    graph_entries,
)
from dtgpapers.gilt.graphs import graph_of

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = GraphParserConfig(
    word_width=16, character_width=6, lstm_layers=1, lstm_width=24, arc_width=24, label_width=4, parser_dropout=0.0,
    rarest=1,
)  # fmt: skip
LEARNING = TrainConfig(
    epochs=30, batch_positions=512, learning_rate=0.03, first_rate=1e-3, last_rate=1e-3, warmup_steps=5,
    embedding_rate=1.0, clip=5.0, precision="float32", evaluate_every=60,
)  # fmt: skip
WORDS = ("There", "is", "a", "difference")


def sentence(*heads: str, words=WORDS) -> Sentence:
    """A sentence whose words have these heads, such as "2 4"."""
    graph = tuple(tuple(Edge(head, "dep") for head in of_word.split()) for of_word in heads)
    return Sentence(words, enhanced=graph)


KNOWN = [  # a word without heads, one with two, a cycle, no arc at all, one word
    sentence("2", "0", "", "1 2"),
    sentence("3", "0", "4", "3", words=("Is", "a", "difference", "there")),
    sentence("", "", words=("Yes", "!")),
    sentence("0", words=("Yes",)),
]


def arcs(one: Sentence) -> list[list[int]]:
    return graph_of(one)[0].arcs.tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A parser that knows four odd graphs and some of minilang's by heart."""
    treebank = Treebank([*KNOWN, *load("minilang", "train", 3).sentences], {})
    entries, folder = graph_entries(treebank, 1), tmp_path_factory.mktemp("graphs")
    prepared = TrainingData(entries, *(GraphParserExamples(entries, treebank) for _ in range(2)))
    with with_one_thread():
        train_parser_into(ParserSettings(RunConfig(1), CorpusConfig("minilang"), SMALL, LEARNING), prepared, folder)
    return folder


def test_the_loss_is_the_cross_entropy_of_each_pair_alone():
    treebank = Treebank(KNOWN, {})
    torch.manual_seed(1)
    parser = GraphParser("untrained", SMALL, graph_entries(treebank, 1)).eval()
    torch.nn.init.normal_(parser.network.arc_attn.weight)  # supar begins with zeros
    examples = GraphParserExamples(parser.entries, treebank)
    assert examples.summary == "4 sentences, 11 words"
    expected = 0.0
    for one in KNOWN:
        with torch.no_grad():
            scores = parser.scores([one.words])[0][0].tolist()
        there = set(map(tuple, arcs(one)))
        for word in range(1, len(one.words) + 1):
            for head in set(range(len(one.words) + 1)) - {word}:
                p = 1 / (1 + math.exp(-scores[word][head]))
                expected -= math.log(p if (head, word) in there else 1 - p)
    for numbers in ([0, 1, 2, 3], [3, 0, 2, 1]):
        nats, parts = parser.loss(examples.batch(np.array(numbers), 0, CPU))
        assert nats.item() == pytest.approx(expected, rel=1e-4)
        assert (parts["word"].nats.item(), parts["word"].events) == (pytest.approx(expected, rel=1e-4), 11)


def test_known_graphs_come_back_whatever_stands_beside_them(folder):
    parser = load_trained(folder)
    without = [replace(one, enhanced=None) for one in KNOWN]
    assert list(map(arcs, parser.parse(without))) == list(map(arcs, KNOWN))
    assert [arcs(*parser.parse([one])) for one in without] == list(map(arcs, KNOWN))
    minilang = load("minilang", "train", 3).sentences
    assert counted(minilang, parser.parse(minilang)).f1 > 0.97


def test_arcs_are_counted_without_labels():
    """Of three arcs one is found, and one that is not there."""
    gold, found = sentence("2", "0", "", "2"), sentence("2", "", "", "3")
    total = counted([gold, gold], [found, found])
    assert total == (2, 4, 6)
    assert list(GRAPHS.agreement([gold, gold], [found, found])) == [
        "F1 of arcs: 40.00 (2 right of 4; 6 in the treebank)"
    ]


def test_it_proposes_no_trees(folder):
    with pytest.raises(UserError, match="finds graphs, and proposes no trees; name another parser"):
        load_trained(folder).distributions([WORDS])


def test_all_other_columns_of_a_treebank_stay(folder, tmp_path, monkeypatch):
    """In memory and block by block."""
    treebank, out = tmp_path / "mine.conllu", tmp_path / "out.conllu"
    row = "{}\t{}\tlemma\tX\tx\tA=B\t{}\tdep\t1:gone\tSpaceAfter=No"
    rows = [row.format(number, word, number - 1) for number, word in enumerate(KNOWN[0].words, start=1)]
    treebank.write_text("\n".join(rows) + "\n\n" + "1\tNo\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    for _ in range(2):
        assert main(["parse", str(treebank), "--parser", str(folder), "--out", str(out)]) == 0
        written = [line.split("\t") for line in out.read_text().splitlines()]
        assert [[*each[:8], each[9]] for each in written[: len(rows)]] == [
            [*r.split("\t")[:8], "SpaceAfter=No"] for r in rows
        ]
        assert arcs(read_conllu(out).sentences[0]) == arcs(KNOWN[0])
        monkeypatch.setattr("dtglib.data.streamed.MOST_IN_MEMORY", 1)


def test_texts_get_graphs_from_which_a_model_learns(folder, tmp_path, capsys, monkeypatch):
    """By the command, which writes a file, and by `parsed_by`, which keeps them in a cache."""
    text, out = tmp_path / "mine.txt", tmp_path / "mine.conllu"
    text.write_text("".join(" ".join(one.words) + "\n" for one in KNOWN))
    main(["parse", str(text), "--parser", str(folder), "--out", str(out)])
    assert capsys.readouterr().out == f"{out}: 4 sentences, 11 words\n"
    whole = out.read_text()
    monkeypatch.setattr("dtglib.data.streamed.MOST_IN_MEMORY", 1)  # as of a corpus that is larger
    main(["parse", str(text), "--parser", str(folder), "--out", str(out)])
    assert out.read_text() == whole
    written = read_conllu(out).sentences  # in this format, a graph without arcs is none
    assert [one.enhanced and arcs(one) for one in written] == [arcs(one) or None for one in KNOWN]
    silver = parsed(load(str(text), None), folder)
    assert [one.enhanced for one in silver.sentences] == [one.enhanced for one in KNOWN]
    assert silver == parsed(load(str(text), None), folder), "from the cache"
    assert all(one.heads is None for one in silver.sentences)
    gilt, config = family("gilt"), GiltConfig()
    vocabulary = gilt.vocabulary(config, Vocabulary.of_words([one.words for one in KNOWN]), silver)
    examples = gilt.examples(config, vocabulary, silver, None)
    assert [graph.arcs.tolist() for graph in examples.graphs] == list(map(arcs, KNOWN))


def test_the_config_names_all_keys():
    path = CONFIGS / "parsers" / "graphs.yaml"
    assert keys_of(path) == known_keys(path)


def test_its_class_is_found_by_its_config(folder):
    assert isinstance(load_trained(folder), GraphParser)
