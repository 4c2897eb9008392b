"""From folders of trained models to numbers: each is computed once, and is what the functions it is made of say."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from toys import TINY, saved_parser

import dtglib.runs.sentence_scores
from dtglib.basics.code import RUNNING
from dtglib.basics.errors import UserError
from dtglib.data.corpora import load
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.likelihood import score_many
from dtglib.evaluate.perplexity import by_trees, exactly, interval_per_word, perplexity
from dtglib.evaluate.reports import perplexity_row
from dtglib.families.base import build, load_model
from dtglib.network.transformer import TransformerConfig
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS, propose
from dtglib.runs.sentence_scores import scores_of, spread
from dtglib.runs.sentence_scores import test_sentences as sentences_to_test
from dtglib.runs.settings import read_settings

pytestmark = pytest.mark.usefixtures("one_thread")

SENTENCES = [
    Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2)),
    Sentence(("Yes",), (0,)),
    Sentence(("There", "is", "a", "difference", "there", ",", "is", "n't", "there", "?")),
]
WORDS = [sentence.words for sentence in SENTENCES]


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """So that nothing lands in the runs/ of the real one."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "tiny.yaml").write_text(TINY)
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


def saved_model(folder: Path, name: str, seed: int = 3) -> Path:
    torch.manual_seed(seed)
    vocabulary = Vocabulary.of_words(WORDS)
    build(TransformerConfig(model=name, layers=1, width=16, heads=2, inner=32), vocabulary).save(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    for name in ("dtg", "txl-tokens"):
        saved_model(folder / name, name)
    saved_parser(folder / "parser")
    return folder


def files(repository: Path) -> list[str]:
    return sorted(path.parent.name for path in (repository / "runs" / "scores").glob("*/rows.jsonl"))


@pytest.fixture
def no_more(monkeypatch):
    """From then on nothing can be computed."""

    def refuse(*arguments):
        raise AssertionError("it computes again")

    def forbid() -> None:
        monkeypatch.setattr(dtglib.runs.sentence_scores, "load_model", refuse)

    return forbid


# ---- Which sentences


@pytest.mark.parametrize(
    ("count", "expected"), [(1, "a"), (2, "af"), (3, "adg"), (5, "acegi"), (9, "abcdefghi"), (10, "abcdefghij")]
)
def test_sentences_are_taken_at_even_distances(count, expected):
    assert "".join(spread("abcdefghij", count)) == expected


@pytest.mark.parametrize("count", [None, 10, 11, 1000])
def test_all_are_taken_where_no_fewer_are_asked_for(count):
    assert spread("abcdefghij", count) == list("abcdefghij")


@pytest.mark.parametrize("count", range(1, 101))
def test_none_is_taken_twice_and_the_distances_differ_by_one_at_most(count):
    chosen = spread(range(100), count)
    assert len(chosen) == len(set(chosen)) == count
    assert chosen == sorted(chosen)
    assert np.ptp(np.diff([*chosen, 100])) <= 1


def test_those_of_the_settings_are_spread_over_the_test_part(repository):
    settings = read_settings(repository / "configs" / "tiny.yaml", {"test_sentences": 20, "scored_sentences": 4})
    everything = load("minilang", "test", 20).sentences
    assert sentences_to_test(settings) == [everything[number] for number in (0, 5, 10, 15)]


# ---- Scores


def test_a_model_with_trees_has_the_bounds_over_the_trees_that_the_parser_proposes(repository, folder):
    found = scores_of(folder / "dtg", SENTENCES, folder / "parser", 20, "sample", 7)
    trees = [t.heads for t in propose(load_parser(folder / "parser"), WORDS, 20, METHODS["sample"], 7)]
    assert found == list(by_trees(load_model(folder / "dtg"), WORDS, trees))
    assert [score.trees for score in found] == [20, 1, 20]
    assert all(isinstance(score.best, tuple) for score in found)


def test_a_model_without_trees_needs_no_parser(repository, folder):
    assert scores_of(folder / "txl-tokens", SENTENCES) == exactly(load_model(folder / "txl-tokens"), WORDS)


@pytest.mark.parametrize("name", ["dtg", "txl-tokens"])
def test_scores_are_computed_once(name, repository, folder, no_more):
    parser = folder / "parser" if name == "dtg" else None
    first = scores_of(folder / name, SENTENCES, parser, 5)
    assert len(files(repository)) == 1
    no_more()
    assert scores_of(folder / name, SENTENCES, parser, 5) == first


def test_after_an_interruption_the_others_are_computed_and_are_the_same(repository, folder, monkeypatch):
    whole = scores_of(folder / "dtg", SENTENCES, folder / "parser", 5)
    (path,) = (repository / "runs" / "scores").glob("*/rows.jsonl")
    head, first, *_ = path.read_text().splitlines(keepends=True)
    path.write_text(head + first)
    asked = []

    def watched(model, sentences_and_trees):
        pairs = list(sentences_and_trees)
        asked.append([words for words, _ in pairs])
        return score_many(model, pairs)

    monkeypatch.setattr("dtglib.evaluate.perplexity.score_many", watched)
    assert scores_of(folder / "dtg", SENTENCES, folder / "parser", 5) == whole
    assert asked == [WORDS], "all of the block, which is scored together"


def test_anything_else_that_is_asked_for_is_computed_for_itself(repository, folder, tmp_path, monkeypatch):
    parser, other = folder / "parser", saved_parser(tmp_path / "parser", seed=4)
    again = saved_model(tmp_path / "dtg", "dtg", seed=4)
    without = [dataclasses.replace(sentence, heads=None) for sentence in SENTENCES]  # some families read them
    asked = [
        (folder / "dtg", SENTENCES, parser, 5), (again, SENTENCES, parser, 5),
        (folder / "dtg", SENTENCES[1:], parser, 5), (folder / "dtg", without, parser, 5),
        (folder / "dtg", SENTENCES, other, 5), (folder / "dtg", SENTENCES, parser, 6),
        (folder / "dtg", SENTENCES, parser, 5, "best"), (folder / "dtg", SENTENCES, parser, 5, "sample", 2),
    ]  # fmt: skip
    for number, each in enumerate(asked, start=1):
        scores_of(*each)
        assert len(files(repository)) == number
    monkeypatch.setitem(RUNNING, "dtglib/decode/trie", "of other code")
    scores_of(*asked[0])
    assert len(files(repository)) == len(asked) + 1


def test_a_copy_of_a_model_asks_for_nothing_else(repository, folder, tmp_path, no_more):
    first = scores_of(folder / "dtg", SENTENCES, folder / "parser", 5)
    copy = saved_model(tmp_path / "elsewhere" / "dtg", "dtg")
    no_more()
    assert scores_of(copy, SENTENCES, folder / "parser", 5) == first


def test_the_row_of_a_table_has_what_perplexity_says(repository, folder):
    scores = scores_of(folder / "dtg", SENTENCES, folder / "parser", 20)
    row, total = perplexity_row(scores), perplexity(scores)
    assert {name: row[name] for name in ("sentences", "words", "pieces", "nats")}.items() <= total._asdict().items()
    assert (row["per piece"], row["per word"]) == (total.per_piece, total.per_word)
    assert (row["per word, low"], row["per word, high"]) == interval_per_word(scores, np.random.default_rng(1))
    assert row["trees"] == pytest.approx((20 + 1 + 20) / 3)
    assert row["impossible"] == 0


def test_the_row_of_a_table_counts_the_sentences_that_cannot_be(repository, folder):
    first, *others = scores_of(folder / "dtg", SENTENCES, folder / "parser", 20)
    row = perplexity_row([first._replace(log_prob=-math.inf, best=None), *others])
    assert (row["impossible"], row["nats"], row["per word"]) == (1, math.inf, math.inf)


def test_what_is_kept_is_json_with_a_name_that_says_of_what(repository, folder):
    scores_of(folder / "txl-tokens", SENTENCES)
    (path,) = (repository / "runs" / "scores").glob("scores-txl-tokens-*/rows.jsonl")
    about, *rows = map(json.loads, path.read_text("utf-8").splitlines())
    assert (about["what"], about["parser"], len(rows)) == ("log p", None, 3)


def test_a_model_with_trees_asks_for_a_parser(repository, folder):
    with pytest.raises(UserError, match="parser"):
        scores_of(folder / "dtg", SENTENCES)
