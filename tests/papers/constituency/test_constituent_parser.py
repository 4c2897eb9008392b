"""Parsers of constituents: their loss is the log-probability of a tree, and their trees are what models sum over."""

import itertools
import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import with_one_thread
from running import CONFIGS
from test_parser_commands import keys_of, known_keys
from toys import symbols_in

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.corpora import CorpusConfig, load
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.likelihood import score_trees
from dtglib.families.base import build, family
from dtglib.network.transformer import TransformerConfig
from dtglib.parsing.kinds import load_trained
from dtglib.parsing.propose import METHODS, favourites, propose
from dtglib.runs.parsers import ParserSettings, TrainingData, nats_per_word, train_parser_into
from dtglib.runs.settings import RunConfig
from dtglib.training.schedule import TrainConfig
from dtgpapers.constituency.bracketing import spans_of
from dtgpapers.constituency.f1 import counted
from dtgpapers.constituency.span_parser import (
    ConstituentExamples,
    SpanConfig,
    SpanParser,
    bracketed,
    constituent_entries,
)
from dtgpapers.constituency.spans import best_trees, binarised, log_partition_and_marginals
from dtgpapers.constituency.trees import words_and_symbols

pytestmark = pytest.mark.usefixtures("one_thread")

SMALL = SpanConfig(
    word_width=12, character_width=6, lstm_layers=1, lstm_width=16, span_width=16, label_width=12, parser_dropout=0.0,
    rarest=1,
)  # fmt: skip
LEARNING = TrainConfig(
    epochs=20, batch_positions=512, learning_rate=0.03, first_rate=1e-3, last_rate=1e-3, warmup_steps=5,
    embedding_rate=1.0, clip=5.0, precision="float32", evaluate_every=60,
)  # fmt: skip
WORDS = ("There", "is", "a", "difference")


@cache
def minilang(sentences: int = 12) -> Treebank:
    return load("minilang", "train", sentences)


@pytest.fixture(scope="module")
def by_heart(tmp_path_factory) -> SpanParser:
    """The parser that knows a dozen sentences by heart."""
    folder, known = tmp_path_factory.mktemp("by-heart"), minilang()
    entries = constituent_entries(known, 1)
    prepared = TrainingData(entries, *(ConstituentExamples(entries, known) for _ in range(2)))
    settings = ParserSettings(RunConfig(1), CorpusConfig("minilang"), SMALL, LEARNING)
    with with_one_thread():
        train_parser_into(settings, prepared, folder)
    return load_trained(folder)


@cache
def untrained(labels: int = 3) -> SpanParser:
    torch.manual_seed(3)
    entries = {"words": list(WORDS), "chars": list("Thersadifnc"), "labels": ["", "NP", "S", "S+VP"][: labels + 1]}
    parser = SpanParser("untrained", SMALL, entries).eval()
    with torch.no_grad():  # supar begins with zeros
        for last in (parser.network.span_attn.weight, parser.network.label_attn.weight):
            last.normal_(std=0.3)
    return parser


# ---- Trees as sums of spans


def in_order(tree: list[list[int]]) -> list[tuple[int, ...]]:
    """The constituents from left to right, outer ones first, without padding."""
    return sorted((tuple(span) for span in tree if span[0] >= 0), key=lambda span: (span[0], -span[1]))


@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_the_score_of_a_tree_is_the_sum_of_its_binarised_spans(words):
    scores = np.random.default_rng(words).normal(size=(words + 1, words + 1, 3))
    every, (total, _) = best_trees(scores, 10**6), log_partition_and_marginals(scores)
    assert len(every.log_probs) == len({tree.tobytes() for tree in every.spans})
    for tree, log_prob in zip(every.spans.tolist(), every.log_probs, strict=True):
        parts = binarised(in_order(tree), words)
        assert len(set(parts)) == len(parts)
        assert sum(scores[part] for part in parts) - total == pytest.approx(log_prob)


def test_every_tree_of_the_corpus_has_as_many_binarised_spans_as_a_binary_tree():
    for sentence in minilang(300).sentences:
        numbers = {label: n for n, label in enumerate(sorted({label for *_, label in spans_of(sentence.brackets)}), 1)}
        spans = [(first, last, numbers[label]) for first, last, label in spans_of(sentence.brackets)]
        parts = binarised(spans, len(sentence.words))
        assert len(parts) == len(set(parts)) == 2 * len(sentence.words) - 1
        assert set(spans) <= set(parts)


def test_brackets_are_written_as_they_were_read():
    for sentence in minilang(300).sentences:
        constituents = [(first, last, label.split("+")) for first, last, label in spans_of(sentence.brackets)]
        again = bracketed([f"(X {word})" for word in sentence.words], constituents)
        assert spans_of(again) == spans_of(sentence.brackets)


# ---- The loss


def test_the_loss_is_minus_the_log_probability_among_all_trees():
    parser = untrained()
    sentences = [
        Sentence(WORDS[:3], brackets="(S (NP (X There)) (S (VP (X is) (NP (X a)))))"),
        Sentence(WORDS[2:], brackets="(NP (X a) (X difference))"),
        Sentence(WORDS[:1], brackets="(NP (X There))"),
    ]
    examples = ConstituentExamples(parser.entries, Treebank(sentences, Counter()))
    loss, parts = parser.loss(examples.batch(np.arange(3), 100, torch.device("cpu")))
    expected = 0.0
    for sentence, trees in zip(sentences, parser.distributions([s.words for s in sentences]), strict=True):
        every = trees.best_trees(10**6)
        numbers = {label: n for n, label in enumerate(parser.labels)}
        gold = [(first, last, numbers[label]) for first, last, label in spans_of(sentence.brackets)]
        (place,) = [n for n, tree in enumerate(every.spans.tolist()) if in_order(tree) == gold]
        expected -= every.log_probs[place]
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert parts["word"].events == 6 and parts["word"].nats.item() == pytest.approx(expected, rel=1e-5)


def test_the_gradient_of_the_loss_is_that_of_small_changes():
    parser = untrained()
    sentences = [Sentence(WORDS, brackets="(S (NP (X There)) (S (VP (X is) (NP (X a) (X difference)))))")]
    batch = ConstituentExamples(parser.entries, Treebank(sentences, Counter())).batch(
        np.arange(1), 100, torch.device("cpu")
    )
    parser.zero_grad()
    parser.loss(batch)[0].backward()
    weight = parser.network.label_attn.weight
    for place in list(itertools.product(*map(range, weight.shape)))[::97]:
        kept, found = weight[place].item(), []
        for change in (1e-2, -1e-2):
            with torch.no_grad():
                weight[place] = kept + change
                found.append(parser.loss(batch)[0].item())
                weight[place] = kept
        assert weight.grad[place].item() == pytest.approx((found[0] - found[1]) / 2e-2, abs=2e-3)


def test_padding_changes_no_loss(by_heart):
    examples = ConstituentExamples(by_heart.entries, minilang())
    with torch.no_grad():
        alone = [by_heart.loss(examples.batch(np.array([n]), 100, torch.device("cpu")))[0].item() for n in range(8)]
        together = by_heart.loss(examples.batch(np.arange(8), 100, torch.device("cpu")))[0].item()
    assert together == pytest.approx(sum(alone), abs=1e-3)


# ---- What is learnt


def test_it_learns_a_dozen_sentences_by_heart_and_is_the_same_when_it_is_loaded(by_heart):
    gold = minilang().sentences
    parsed = by_heart.parse([replace(sentence, brackets=None) for sentence in gold])
    assert counted([s.brackets for s in gold], [s.brackets for s in parsed]).f1 > 0.99
    assert nats_per_word(Path(by_heart.name)) < 0.1


def test_sentences_with_labels_of_no_training_tree_are_left_out_and_named():
    some = Treebank(
        [
            Sentence(("a",), brackets="(NP (X a))", id="known"),
            Sentence(("a",), brackets="(S (NP (X a)))", id="chain"),
            Sentence(("a",), heads=(0,), id="raw"),
        ],
        Counter(),
    )
    examples = ConstituentExamples({"words": ["a"], "chars": ["a"], "labels": ["", "NP"]}, some)
    assert examples.names == ["known"]
    assert examples.summary == "1 sentences, 1 words; left out for unknown labels: 1 (chain)"
    with pytest.raises(UserError, match=r"^no sentence has a tree that a parser could learn from; name"):
        ConstituentExamples({"words": ["a"], "chars": ["a"], "labels": ["", "VP"]}, some)


# ---- Proposals


@pytest.mark.parametrize("method", METHODS)
def test_proposed_trees_are_different_and_have_their_probabilities(by_heart, method):
    words = minilang().sentences[0].words
    (found,) = propose(by_heart, [words], 50, METHODS[method])
    assert len(set(found.written(words))) == 50
    assert np.exp(found.log_probs).sum() <= 1 + 1e-9
    if method == "best":
        assert (np.diff(found.log_probs) <= 1e-9).all()
        gold = [(first, last, label.split("+")) for first, last, label in spans_of(minilang().sentences[0].brackets)]
        assert found.written(words)[0] == bracketed(words, gold)


@pytest.mark.parametrize("name", ["plm", "txl-trees", "tg"])
def test_models_sum_over_proposed_trees(name, by_heart):
    words = WORDS[:3]
    parser = untrained()
    vocabulary = Vocabulary.of_words([words]).with_symbols(
        symbols_in(family(name), None, Treebank([Sentence(words, brackets="(S (NP (VP (X a))))")], Counter()))
    )
    torch.manual_seed(1)
    model = build(TransformerConfig(name, layers=2, width=16, heads=2, inner=32), vocabulary).eval()
    (trees,) = parser.distributions([words])
    some, every = trees.best_trees(20), trees.best_trees(10**6)
    scored = score_trees(model, words, model.reading.trees_of(vocabulary, every))
    likelihood = family(name).likelihood
    assert likelihood.sums_over_trees and not likelihood.is_exact
    (bound,) = likelihood.scores(model, [Sentence(words)], [some])
    assert bound.trees == 20 and bound.log_prob < scored.bound
    # Each alone, without a trie of all.
    alone = [score_trees(model, words, model.reading.trees_of(vocabulary, some)[n : n + 1]).bound for n in range(20)]
    assert bound.log_prob == pytest.approx(np.logaddexp.reduce(alone), abs=1e-4)
    assert family(name).trees.shown(model.vocabulary, words, bound.best) in some.written(words)


def test_trees_beyond_the_bounds_are_impossible():
    words = ("a",)
    chain = "+".join(["NP"] * 9)
    parser = SpanParser("deep", SMALL, {"words": ["a"], "chars": ["a"], "labels": ["", "NP", chain]}).eval()
    vocabulary = Vocabulary.of_words([words]).with_symbols(
        symbols_in(family("tg"), None, Treebank([Sentence(words, brackets="(NP (X a))")], Counter()))
    )
    model = build(TransformerConfig("tg", layers=1, width=8, heads=1, inner=16), vocabulary).eval()
    (trees,) = parser.distributions([words])
    found = trees.best_trees(2)
    scored = score_trees(model, words, model.reading.trees_of(vocabulary, found))
    impossible = [tree.count("(") > 8 for tree in found.written(words)]
    assert np.isneginf(scored.log_probs).tolist() == impossible and sum(impossible) == 1


def test_the_wrong_kind_of_parser_is_an_error_that_says_so(by_heart):
    words = WORDS[:2]
    vocabulary = Vocabulary.of_words([words])
    dtg = build(TransformerConfig("dtg", layers=1, width=8, heads=1, inner=16), vocabulary)
    (trees,) = untrained().distributions([words])
    with pytest.raises(UserError, match="sums over dependency trees, and its parser proposes constituents"):
        list(family("dtg").likelihood.scores(dtg, [Sentence(words)], [trees.best_trees(1)]))
    with pytest.raises(UserError, match="predicts brackets, not heads"):
        favourites(by_heart, [words])
    plm = symbols_in(family("plm"), None, Treebank([Sentence(words, brackets="(X (X a))")], Counter()))
    with pytest.raises(UserError, match="the parser proposes the label 'NP', which no training tree of the model has"):
        build(
            TransformerConfig("plm", layers=1, width=8, heads=1, inner=16), vocabulary.with_symbols(plm)
        ).reading.trees_of(vocabulary.with_symbols(plm), trees.best_trees(30))


def test_odd_labels_are_left_out():
    odd = Sentence(("a",), brackets="(np (X a))", id="odd")
    treebank = Treebank([odd, Sentence(("a",), brackets="(NP (X a))", id="good")], Counter())
    entries = constituent_entries(treebank, 1)
    assert entries["labels"] == ["", "NP"]
    assert ConstituentExamples(entries, treebank).summary.endswith("left out for unknown labels: 1 (odd)")


def test_a_batch_has_no_more_positions_than_its_plan(by_heart):
    examples = ConstituentExamples(by_heart.entries, minilang())
    for numbers in examples.plan(100, np.random.default_rng(1), torch.device("cpu")):
        assert len(numbers) == 1 or examples.batch(numbers, 100, torch.device("cpu")).positions <= 100


@pytest.mark.parametrize(("kind", "status"), [("arcs", 0), ("constituents", 2), ("nonsense", 2)])
def test_a_config_names_its_kind_of_parser(kind, status, tmp_path, capsys):
    strong = (CONFIGS / "parsers" / "strong.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(f"parser: {kind}\n{strong}")
    small = ["train_sentences=8", "dev_sentences=2", "epochs=1", "word_width=8", "lstm_width=8", "arc_width=8"]
    changes = [part for one in small for part in ("--set", one)]
    assert main(["train-parser", str(tmp_path / "mine.yaml"), *changes, "--out", str(tmp_path / "p")]) == status
    complaint = {"constituents": "unknown key arc_width", "nonsense": "there is no parser of 'nonsense'"}.get(kind)
    assert complaint is None or complaint in capsys.readouterr().err


# ---- The commands


def test_brackets_are_no_conllu(by_heart, tmp_path, capsys):
    assert main(["parse", "There is .", "--parser", by_heart.name, "--out", str(tmp_path / "mine.conllu")]) == 2
    assert "this parser draws brackets; name a file such as mine.mrg" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_of_a_large_text_trees_are_written_in_brackets_too(by_heart, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where runs/trees will be
    sentences = minilang().sentences[:3]
    Path("mine.txt").write_text("".join(f"{sentence.text}\n" for sentence in sentences))
    monkeypatch.setattr("dtglib.data.streamed.MOST_IN_MEMORY", 1)
    assert main(["parse", "mine.txt", "--parser", by_heart.name, "--out", "mine.mrg"]) == 0
    written = load("mine.mrg", None).sentences
    assert [spans_of(one.brackets) for one in written] == [spans_of(sentence.brackets) for sentence in sentences]


def test_trees_are_written_in_brackets(by_heart, capsys):
    sentence = minilang().sentences[0]
    command = [sentence.text, "--parser", by_heart.name]
    assert main(["parse", *command]) == 0
    assert spans_of(capsys.readouterr().out.strip()) == spans_of(sentence.brackets)
    assert main(["trees", *command, "-k", "3", "--method", "best", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["sentences"]
    assert row["trees"][0]["brackets"].startswith("(S ") and len(row["trees"]) == 3
    assert main(["trees", "( a ) .", "--parser", by_heart.name, "-k", "2", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["sentences"]
    for tree in row["trees"]:
        assert words_and_symbols(tree["brackets"])[0] == ["-LRB-", "a", "-RRB-", "."]


def test_a_word_that_is_a_bracket_can_be_read_again(tmp_path, by_heart):
    (parsed,) = by_heart.parse([Sentence((":)", "(", "x"))])
    path = tmp_path / "odd.mrg"
    path.write_text(parsed.brackets)
    assert load(str(path)).sentences[0].words == (":-RRB-", "-LRB-", "x")


def test_a_random_generator_of_a_sentence_is_its_own(by_heart):
    some = [sentence.words for sentence in minilang(6).sentences]
    alone = list(propose(by_heart, some, 5, METHODS["sample"], seed=1))
    again = list(propose(by_heart, some[:3], 5, METHODS["sample"], seed=1))
    for one, other in zip(alone, again, strict=False):
        np.testing.assert_allclose(one.log_probs, other.log_probs, atol=1e-4)


def test_its_config_sets_every_key():
    path = CONFIGS / "parsers" / "spans.yaml"
    assert keys_of(path) == known_keys(path) | {"parser"}
