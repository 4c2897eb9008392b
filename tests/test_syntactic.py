"""Surprisals, test suites and minimal pairs of trained models: each number computed once, by the way that is asked for.

Runs of the commands are in a scratch folder, so that nothing lands in the runs/ of the real repository.
"""

import functools
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from running import without_conventions
from toys import SYSTEM_OF, by_kind, saved_parser, small_model

import dtglib.runs.syntax_scores
from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data import minilang
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode import beam
from dtglib.decode.beam import Widths, search
from dtglib.evaluate import blimp, suites
from dtglib.evaluate.blimp import MinimalPair, Paradigm, read_pairs
from dtglib.evaluate.likelihood import all_trees, score_trees, score_words
from dtglib.evaluate.suites import averages, read_suites, scores_by_suite
from dtglib.evaluate.surprisal import surprisals
from dtglib.evaluate.ways import ByBeam, ByTrees
from dtglib.families.base import load_model
from dtglib.parsing.parser import load_parser
from dtglib.parsing.projective import best_trees, how_many
from dtglib.runs.settings import read_settings
from dtglib.runs.syntax_scores import (
    Directly,
    pair_rows,
    pairs_of,
    parses,
    suite_rows,
    suites_of,
    widths_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")

MODELS = [*SYSTEM_OF, "txl-tokens"]
PAIRS = [
    ("There is a difference.", "There is the difference."),
    ("There isn't a key.", "There isn't the key."),
    ("The keys are there.", "The keys is there."),
    ("The same is there.", "The same is there."),
    ("They think.", "They thinks."),
    ("The cabinet differs.", "The cabinet differ."),
]
SENTENCE = "The keys to the cabinet are on the table ."
BEAM = Widths(5, 5)
TINY_SETTINGS = """
corpus: minilang
model: dtg
beam: 3
within: 4.0
pairs: 0.005
items: 0.04
"""

in_every_kind_of_model = pytest.mark.parametrize("name", by_kind(MODELS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The five models and a parser, all with the weights that they were born with."""
    folder = tmp_path_factory.mktemp("trained")
    speaks = Vocabulary.of_words([SENTENCE.split(), ["There", "is", "a", "difference", ".", "n't", "key", "They"]])
    for name in MODELS:
        small_model(name, speaks, layers=1).save(folder / name)
    saved_parser(folder / "parser")
    return folder


@pytest.fixture(autouse=True)
def repository(tmp_path, monkeypatch) -> Path:
    for name in ("configs", "notebooks"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


@pytest.fixture
def pairs_file(tmp_path) -> Path:
    about = {"field": "syntax_semantics", "linguistics_term": "s-selection", "UID": "mine"}
    path = tmp_path / "mine.jsonl"
    rows = [{"sentence_good": good, "sentence_bad": bad, **about} for good, bad in PAIRS]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def own_suite(**meta: object) -> dict:
    """minilang's first suite, two items of it."""
    suite = json.loads(minilang.suites()[0].as_json())
    suite["items"] = suite["items"][:2]
    suite["meta"] |= meta
    return suite


@pytest.fixture
def suite_file(tmp_path) -> Path:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(own_suite()))
    return path


@pytest.fixture
def few_at_once(monkeypatch):
    """Two pairs or one item are tried together, so that what is interrupted goes on with others than the first."""
    monkeypatch.setattr(beam, "FEWEST", 4)
    monkeypatch.setattr(beam, "MOST", 4)
    for way in (ByTrees, Directly):
        monkeypatch.setattr(way, "at_once", 4)


@pytest.fixture
def no_more(monkeypatch):
    """From then on no model says anything."""

    def refuse(*arguments, **options):
        raise AssertionError("it computes again")

    def forbid() -> None:
        monkeypatch.setattr(dtglib.runs.syntax_scores, "load_model", refuse)

    return forbid


def command(*arguments: object) -> int:
    return main([*map(str, arguments)])


def read_json(text: str) -> dict:
    """JSON as it is defined: without NaN and infinities."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def as_json(capsys, *arguments: object) -> dict:
    assert command(*arguments, "--json") == 0
    return read_json(capsys.readouterr().out)


def assert_one_line(capsys, *parts: str) -> None:
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("dtglib: ")
    for part in parts:
        assert part in line


def kept(repository: Path) -> list[Path]:
    return sorted((repository / "runs" / "scores").glob("*/rows.jsonl"))


def cut(path: Path, rows: int) -> None:
    """As if it had been stopped after so many rows, in the midst of the next."""
    head, *lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([head, *lines[:rows], lines[rows][:7]]), "utf-8")


def ways_of(name: str, folder: Path) -> list:
    if name not in SYSTEM_OF:
        return [Directly(), ByBeam(BEAM)]
    return [ByBeam(BEAM), ByTrees(folder / "parser", 5), ByTrees(folder / "parser", 5, "best")]


# ---- Three ways to log p


@in_every_kind_of_model
def test_a_row_has_what_the_way_to_log_p_says(name, folder, pairs_file):
    (paradigm,) = tested = read_pairs(pairs_file)
    model = load_model(folder / name)
    sentences = [words for pair in paradigm.pairs for words in (pair.good, pair.bad)]
    expected = {"ByBeam": [one.log_prob for one in search(model.stepper(), model.vocabulary, sentences, BEAM)]}
    if name in SYSTEM_OF:
        scores = load_parser(folder / "parser").arc_scores(sentences)
        trees = [best_trees(arcs, 5).heads for arcs in scores]
        bounds = [score_trees(model, words, heads).bound for words, heads in zip(sentences, trees, strict=True)]
        way, expected["ByTrees"] = ByTrees(folder / "parser", 5, "best"), bounds
    else:
        way, expected["Directly"] = Directly(), score_words(model, sentences).tolist()
    for one in (ByBeam(BEAM), way):
        rows = pair_rows(folder / name, tested, one)
        assert [row["pair"] for row in rows] == list(range(len(PAIRS)))
        found = [value for row in rows for value in (row["good"], row["bad"])]
        assert found == pytest.approx(expected[type(one).__name__], abs=1e-4)


@pytest.mark.parametrize("name", by_kind(SYSTEM_OF))
def test_with_all_trees_of_short_sentences_the_bound_is_the_sum_over_trees_and_a_wide_beam_has_no_less(name, folder):
    """The beam also counts derivations that no oracle takes."""
    model = load_model(folder / name)
    sentences = [["They", "think", "."], ["There", "is", "a", "key"], ["keys"]]
    bounds = list(ByTrees(folder / "parser", how_many(4)).log_probs(model)(sentences))
    exact = [score_trees(model, words, all_trees(len(words))).bound for words in sentences]
    assert bounds == pytest.approx(exact, abs=1e-5)
    wide = list(ByBeam(Widths(10**6, 10**6)).log_probs(model)(sentences))
    assert all(beam >= bound - 1e-4 for beam, bound in zip(wide, bounds, strict=True))
    few = list(ByTrees(folder / "parser", 2).log_probs(model)(sentences))
    assert few[0] < bounds[0] and few[1] < bounds[1] and few[2] == pytest.approx(bounds[2], abs=1e-5)


def test_trees_of_two_words_have_one_derivation_each_so_a_wide_beam_has_just_their_sum():
    model = small_model("dtg", Vocabulary.of_words([["a", "b"]]))
    for words in (["a"], ["a", "b"]):
        bound = score_trees(model, words, all_trees(len(words))).bound
        (beam,) = ByBeam(Widths(10**6, 10**6)).log_probs(model)([words])
        assert beam == pytest.approx(bound, abs=1e-4)


@in_every_kind_of_model
def test_identical_sentences_tie_in_every_way_wherever_they_stand(name, folder):
    """To the last bit: else a model could win or lose a pair in which there is nothing to know."""
    same = ("The", "keys", "are", "on", "the", "table", ".")
    others = [(("There", "is", "a", "key"), ("There", "is", "the", "key", "there", ".")), (("They",), ("is",))]
    for way in ways_of(name, folder):
        for place in range(3):
            both = [*others[:place], (same, same), *others[place:]]
            tested = [Paradigm("p", "x", "y", tuple(MinimalPair(n, *pair) for n, pair in enumerate(both)))]
            row = pair_rows(folder / name, tested, way)[place]
            assert row["good"] == row["bad"] and math.isfinite(row["good"]), way


def test_trees_are_drawn_by_the_words_and_the_seed_alone(folder):
    model, words, other = load_model(folder / "dtg"), ["There", "is", "a", "key", "there", "."], ["They", "think"]

    def bounds(sentences: Sequence[Sequence[str]], seed: int = 1) -> list[float]:
        return list(ByTrees(folder / "parser", 3, seed=seed).log_probs(model)(sentences))

    alone = bounds([words])[0]
    assert bounds([other, words, words, other])[1:3] == pytest.approx([alone, alone], abs=1e-6)
    assert abs(bounds([words], seed=2)[0] - alone) > 1e-4


# ---- Rows that are kept


@pytest.mark.usefixtures("few_at_once")
@in_every_kind_of_model
def test_pairs_are_scored_once_and_the_rest_after_an_interruption(name, folder, pairs_file, repository, no_more):
    tested = read_pairs(pairs_file)
    way = ways_of(name, folder)[-1] if name != "txl-tokens" else Directly()
    whole = pair_rows(folder / name, tested, way)
    (path,) = kept(repository)
    before = path.read_bytes()
    for rows in (1, 5):
        cut(path, rows)
        # Beside other sentences the sums of a batch may differ in their last bits.
        again = pair_rows(folder / name, tested, way)
        assert [(row["paradigm"], row["pair"]) for row in again] == [(row["paradigm"], row["pair"]) for row in whole]
        for which in ("good", "bad"):
            assert [row[which] for row in again] == pytest.approx([row[which] for row in whole], abs=1e-4)
        assert again[:rows] == whole[:rows]
    path.write_bytes(before)
    no_more()
    assert pair_rows(folder / name, tested, way) == whole


@pytest.mark.usefixtures("few_at_once")
def test_trees_that_are_drawn_are_the_same_after_an_interruption(folder, pairs_file, repository):
    """Another draw would be far off: with two trees of many, the bounds of two seeds differ by much."""
    tested = read_pairs(pairs_file)
    found = {}
    for seed in (1, 2):
        way = ByTrees(folder / "parser", 2, "sample", seed)
        found[seed] = pair_rows(folder / "dtg", tested, way)
        (path,) = (path for path in kept(repository) if f'"seed": {seed}' in path.read_text().splitlines()[0])
        cut(path, 1)
        again = pair_rows(folder / "dtg", tested, way)
        assert [row["good"] for row in again] == pytest.approx([row["good"] for row in found[seed]], abs=1e-5)
    assert any(abs(first["good"] - other["good"]) > 1e-2 for first, other in zip(found[1], found[2], strict=True))


def test_whatever_else_is_asked_for_is_computed_for_itself(folder, pairs_file, repository):
    tested = read_pairs(pairs_file)
    asked = [
        ("dtg", tested, ByBeam(BEAM)), ("dtg", tested, ByBeam(Widths(4, 5))), ("dtg", tested, ByBeam(Widths(5, 5, 4))),
        ("dtg", tested, ByBeam(BEAM._replace(within=9.0))), ("txl-trans", tested, ByBeam(BEAM)),
        ("dtg", tested, ByTrees(folder / "parser", 2)), ("dtg", tested, ByTrees(folder / "parser", 3)),
        ("dtg", tested, ByTrees(folder / "parser", 2, "best")), ("dtg", tested, ByTrees(folder / "parser", 2, seed=2)),
        ("txl-tokens", tested, Directly()), ("txl-tokens", tested, ByBeam(BEAM)),
        ("txl-tokens", read_pairs(pairs_file, 0.5), Directly()),
    ]  # fmt: skip
    for number, (name, paradigms, way) in enumerate(asked, start=1):
        pair_rows(folder / name, paradigms, way)
        assert len(kept(repository)) == number
    for name, paradigms, way in asked:
        pair_rows(folder / name, paradigms, way)
    assert len(kept(repository)) == len(asked)


@pytest.mark.usefixtures("few_at_once")
@in_every_kind_of_model
def test_suites_are_tried_once_and_the_rest_after_an_interruption(name, folder, suite_file, repository, no_more):
    tested = read_suites(suite_file)
    whole = suite_rows(folder / name, tested, BEAM)
    (path,) = kept(repository)
    cut(path, 1)
    again = suite_rows(folder / name, tested, BEAM)
    assert [row["holds"] for row in again] == [row["holds"] for row in whole]
    assert again[0] == whole[0] and len(again) == 2
    no_more()
    assert suite_rows(folder / name, tested, BEAM) == again


@pytest.mark.usefixtures("few_at_once")
@in_every_kind_of_model
def test_sentences_are_parsed_once_and_the_rest_after_an_interruption(name, folder, repository, no_more):
    words = SENTENCE.split()
    sentences = [Sentence(tuple(words[:length])) for length in range(1, len(words) + 1)]
    whole = parses(folder / name, sentences, BEAM)
    (path,) = kept(repository)
    for rows in (1, 4, 6):
        cut(path, rows)
        again = parses(folder / name, sentences, BEAM)
        assert [row["tree"] for row in again] == [row["tree"] for row in whole]
        assert [row["log_prob"] for row in again] == pytest.approx([row["log_prob"] for row in whole], abs=1e-4)
        assert again[:rows] == whole[:rows] and len(again) == len(sentences)
    no_more()
    assert parses(folder / name, sentences, BEAM) == again


@pytest.mark.parametrize("name", ["dtg", "txl-tokens"])
def test_a_size_says_which_pairs_and_items_are_tried_and_how_wide_the_beam_is(name, folder, repository):
    (repository / "configs" / "tiny.yaml").write_text(TINY_SETTINGS)
    settings = read_settings(repository / "configs" / "tiny.yaml")
    assert widths_of(settings) == Widths(3, 3, within=4.0)
    pairs = pairs_of(settings, folder / name)
    assert pairs["log p"] == ("ByBeam" if name == "dtg" else "Directly")
    assert (pairs["pairs"], len(pairs["paradigms"])) == (49, 49)
    if name == "dtg":
        return
    found = suites_of(settings, folder / name)
    assert [row["items"] for row in found["suites"]] == [1] * len(minilang.suites())
    assert set(found) == {"suites", "predictions", "circuits", "averages"}


# ---- dtglib surprisal


def surprisal(capsys, folder: Path, name: str, text: object, *more: object) -> dict:
    return as_json(capsys, "surprisal", "--model", folder / name, text, "--beam", 5, "--within", "none", *more)


@in_every_kind_of_model
def test_surprisals_as_json_are_those_of_the_function(name, folder, capsys):
    (found,) = surprisal(capsys, folder, name, SENTENCE)["sentences"]
    (expected,) = surprisals(load_model(folder / name), [SENTENCE.split()], BEAM)
    assert found == {
        "words": SENTENCE.split(),
        "surprisals": pytest.approx(expected.of_words.tolist()),
        "end": pytest.approx(expected.end),
        "known": [True] * 10,
        "pieces": [f"▁{word}" for word in SENTENCE.split()],
        "surprisals_of_pieces": pytest.approx(expected.of_pieces.tolist()),
        "of_prefixes": pytest.approx(expected.of_prefixes.tolist()),
        "structure": pytest.approx(expected.structure.tolist(), abs=1e-6),
        "entropy": pytest.approx(expected.entropy.tolist()),
        "hypotheses": expected.hypotheses.tolist(),
        "tree_entropy": pytest.approx(expected.entropy_of_trees.tolist()),
        "died": None,
    }


def test_bits_are_nats_by_the_logarithm_of_two(folder, capsys):
    nats, bits = (surprisal(capsys, folder, "dtg", SENTENCE, "--unit", unit) for unit in ("nats", "bits"))
    assert (nats["unit"], bits["unit"]) == ("nats", "bits")
    (nats,), (bits,) = nats["sentences"], bits["sentences"]
    for key in ("surprisals", "surprisals_of_pieces", "end"):
        assert np.array(bits[key]) * math.log(2) == pytest.approx(np.array(nats[key]))


def test_the_table_has_a_row_a_word_and_one_for_the_end(folder, capsys):
    (found,) = surprisal(capsys, folder, "dtg", "The keys zebra .")["sentences"]
    assert command("surprisal", "--model", folder / "dtg", "The keys zebra .", "--beam", 5) == 0
    header, *rows = (line.split() for line in without_conventions(capsys.readouterr().out)[0])
    more = ["of", "prefixes", "structure", "entropy", "hypotheses", "tree", "entropy"]
    assert header == ["sentence", "word", "text", "known", "nats", *more]
    assert [row[2] for row in rows] == [*found["words"], "<END>"]
    place = header.index("nats")
    assert [float(row[place]) for row in rows] == pytest.approx([*found["surprisals"], found["end"]], abs=6e-5)
    assert [row[3] for row in rows] == ["True", "True", "False", "True", "True"]


def test_a_file_has_a_sentence_a_line_and_text_is_taken_apart_as_in_treebanks(folder, tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_text("There isn't a key.\nThey think.\n")
    found = surprisal(capsys, folder, "txl-tokens", path)["sentences"]
    assert [one["words"] for one in found] == [["There", "is", "n't", "a", "key", "."], ["They", "think", "."]]
    (alone,) = surprisal(capsys, folder, "txl-tokens", "They think.")["sentences"]
    assert found[1]["words"] == alone["words"]
    assert found[1]["surprisals"] == pytest.approx(alone["surprisals"], abs=1e-4)
    assert len(surprisal(capsys, folder, "txl-tokens", path, "--sentences", 1)["sentences"]) == 1


@pytest.fixture
def deaf(folder, tmp_path) -> Path:
    """Models that can never say "cabinet"."""
    for name in ("dtg", "txl-tokens"):
        model = load_model(folder / name)
        with torch.no_grad():
            model.output.bias[model.vocabulary.encode(["cabinet"]).ids[0]] = -torch.inf
        model.save(tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("name", ["dtg", "txl-tokens"])
def test_a_search_that_dies_is_said_with_the_number_and_the_word(name, deaf, tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_text("The keys are there .\nThe keys to the cabinet are there .\n")
    assert command("surprisal", "--model", deaf / name, path, "--beam", 5, "--json") == 0
    out, err = capsys.readouterr()
    first, second = read_json(out)["sentences"]
    assert first["died"] is None and None not in first["surprisals"]
    assert second["died"] == 4 and None not in second["surprisals"][:4]
    assert second["surprisals"][4:] == [None] * 4 and second["end"] is None, "JSON has no infinity"
    (line,) = err.splitlines()
    assert "sentence 2" in line and "word 5 (cabinet)" in line
    assert command("surprisal", "--model", deaf / name, path, "--beam", 5) == 0
    out, err = capsys.readouterr()
    assert "nan" not in out.lower() and sum(" inf " in row for row in out.splitlines()) == 5
    assert "word 5 (cabinet)" in err


def test_a_search_that_dies_at_the_end_says_so(folder, capsys, monkeypatch):
    """Without transitions words come, but no end."""
    monkeypatch.setattr("dtglib.cli.scoring.widths_from", lambda options: Widths(1, 1, 0, 0))
    assert command("surprisal", "--model", folder / "dtg", "The keys .", "--json") == 0
    out, err = capsys.readouterr()
    (found,) = read_json(out)["sentences"]
    assert (found["died"], found["end"]) == (3, None) and None not in found["surprisals"]
    assert "sentence 1" in err and "word 4 (the end)" in err


def test_a_long_sentence_on_the_command_line_is_a_sentence(folder, capsys):
    (found,) = surprisal(capsys, folder, "txl-tokens", " ".join(SENTENCE.split() * 6))["sentences"]
    assert len(found["words"]) == 60


@pytest.mark.parametrize("text", ["nowhere.txt", "keys", "minilang", "", "   "])
def test_what_is_neither_a_file_nor_a_sentence_is_one_line(text, folder, capsys):
    assert command("surprisal", "--model", folder / "txl-tokens", text) == 2
    assert_one_line(capsys, text.strip())


def test_an_empty_file_is_named(folder, tmp_path, capsys):
    path = tmp_path / "empty.txt"
    path.write_text("")
    assert command("surprisal", "--model", folder / "txl-tokens", path) == 2
    assert_one_line(capsys, f"{path} is empty")


# ---- dtglib blimp


@in_every_kind_of_model
def test_pairs_as_json_are_counted_as_the_rows_say(name, folder, pairs_file, capsys):
    found = as_json(capsys, "blimp", "--model", folder / name, pairs_file, "--beam", 5, "--within", "none")
    way = ByBeam(BEAM) if name in SYSTEM_OF else Directly()
    rows = pair_rows(folder / name, read_pairs(pairs_file), way)
    right = sum(row["good"] > row["bad"] for row in rows) / len(PAIRS)
    assert (found["log p"], found["fraction"], found["model"]) == (type(way).__name__, 1.0, str(folder / name))
    assert (found["accuracy"], found["pairs"]) == (pytest.approx(right), rows)
    assert (found["ties"], found["identical"], found["alike"], found["failed"]) == (3, 1, 3, 0)
    (paradigm,) = found["paradigms"]
    assert (paradigm["paradigm"], paradigm["phenomenon"]) == ("mine", "argument structure")
    assert [row["field"] for row in found["fields"]] == ["syntax-semantics"]
    assert len(found["phenomena"]) == 1


def test_with_a_parser_its_trees_are_summed_over(folder, pairs_file, capsys):
    options = ["--parser", folder / "parser", "--trees", 5]
    found = as_json(capsys, "blimp", "--model", folder / "dtg", pairs_file, *options)
    rows = pair_rows(folder / "dtg", read_pairs(pairs_file), ByTrees(folder / "parser", 5))
    assert found["log p"] == "ByTrees"
    assert found["accuracy"] == pytest.approx(sum(row["good"] > row["bad"] for row in rows) / len(PAIRS))


def test_a_parser_that_is_not_there_is_one_line(folder, pairs_file, capsys):
    assert command("blimp", "--model", folder / "dtg", pairs_file, "--parser", folder / "nowhere") == 2
    assert_one_line(capsys, "nowhere")


def test_the_tables_of_pairs_end_with_the_mean_and_the_ties(folder, pairs_file, capsys):
    assert command("blimp", "--model", folder / "txl-tokens", pairs_file) == 0
    out = capsys.readouterr().out
    accuracy = as_json(capsys, "blimp", "--model", folder / "txl-tokens", pairs_file)["accuracy"]
    assert f"mean of 1 paradigms: {100 * accuracy:.1f}\n" in out
    # Two pairs differ only in words that the model does not know.
    assert "6 pairs; 3 ties, counted as wrong (1 pairs are identical, 3 are alike to the vocabulary); 0 with" in out
    headers = [line.split()[0] for line in out.splitlines() if "accuracy" in line]
    assert headers == ["paradigm", "phenomenon", "field"]


def test_a_fraction_of_minilang_has_a_pair_of_each_paradigm(folder, capsys):
    found = as_json(capsys, "blimp", "--model", folder / "txl-tokens", "minilang", "--fraction", 0.005)
    assert (len(found["pairs"]), len(found["paradigms"])) == (49, 49)
    assert found["accuracy"] == pytest.approx(np.mean([row["accuracy"] for row in found["paradigms"]]))


@pytest.mark.parametrize("name", ["dtg", "txl-tokens"])
def test_a_sentence_that_cannot_be_is_told_and_json_has_no_infinity(name, deaf, tmp_path, capsys):
    path = tmp_path / "mine.jsonl"
    about = {"field": "syntax", "linguistics_term": "binding", "UID": "mine"}
    path.write_text(json.dumps({"sentence_good": "The keys .", "sentence_bad": "The cabinet .", **about}))
    found = as_json(capsys, "blimp", "--model", deaf / name, path, "--beam", 5, "--out", tmp_path / "out")
    assert (found["failed"], found["ties"], found["accuracy"], found["pairs"][0]["bad"]) == (1, 0, 0.0, None)
    assert pd.read_csv(tmp_path / "out" / "pairs.csv")["bad"].tolist() == [-math.inf]


def test_pairs_are_written_as_tables_that_say_the_same(folder, pairs_file, tmp_path, capsys):
    out = tmp_path / "new" / "out"
    printed = as_json(capsys, "blimp", "--model", folder / "txl-tokens", pairs_file, "--out", out)
    assert sorted(path.name for path in out.iterdir()) == [
        "fields.csv", "pairs.csv", "paradigms.csv", "phenomena.csv", "report.json"
    ]  # fmt: skip
    assert read_json((out / "report.json").read_text("utf-8")) == printed
    pairs = pd.read_csv(out / "pairs.csv")
    assert list(pairs.columns) == ["paradigm", "pair", "good", "bad"] and len(pairs) == 6
    assert (pairs.good > pairs.bad).mean() == pytest.approx(printed["accuracy"])
    for name in ("paradigms", "phenomena", "fields"):
        assert pd.read_csv(out / f"{name}.csv").to_dict("records") == printed[name]
    assert command("blimp", "--model", folder / "txl-tokens", pairs_file, "--out", out) == 0
    assert "mean of 1 paradigms" in capsys.readouterr().out, "tables are printed, too"


# ---- dtglib suites


@pytest.mark.parametrize("name", ["dtg", "txl-tokens"])
def test_suites_as_json_are_scored_as_the_rows_say(name, folder, suite_file, capsys):
    found = as_json(capsys, "suites", "--model", folder / name, suite_file, "--beam", 5)
    tested = read_suites(suite_file)
    scores = scores_by_suite(tested, suite_rows(folder / name, tested, BEAM))
    assert (found["beam_width"], found["word_beam_width"], found["within"]) == (5, 5, 12.0)
    assert [row["score"] for row in found["suites"]] == [row["score"] for row in scores]
    assert found["averages"] == averages(scores)
    assert 0 < found["suites"][0]["unknown words"] < 1
    assert len(found["circuits"]) == 1


def test_suites_are_written_as_tables_that_say_the_same(folder, suite_file, tmp_path, capsys):
    out = tmp_path / "out"
    printed = as_json(capsys, "suites", "--model", folder / "txl-tokens", suite_file, "--out", out)
    assert sorted(path.name for path in out.iterdir()) == [
        "circuits.csv", "items.csv", "predictions.csv", "regions.csv", "report.json", "suites.csv"
    ]  # fmt: skip
    assert read_json((out / "report.json").read_text("utf-8")) == printed
    assert pd.read_csv(out / "suites.csv")["score"].tolist() == [row["score"] for row in printed["suites"]]
    assert len(pd.read_csv(out / "items.csv")) == 2
    assert len(pd.read_csv(out / "circuits.csv")) == 1
    suite_file.write_text(json.dumps(own_suite(circuit="", name="mine")))
    assert as_json(capsys, "suites", "--model", folder / "txl-tokens", suite_file, "--out", out)["circuits"] == []
    assert not (out / "circuits.csv").exists()


def test_the_tables_of_suites_end_with_the_averages(folder, suite_file, capsys):
    assert command("suites", "--model", folder / "txl-tokens", suite_file) == 0
    out, conventions = without_conventions(capsys.readouterr().out)
    assert "end: the last region of a formula; log p: exact" in conventions
    assert [line.split()[0] for line in out if "score" in line] == ["suite", "circuit"]
    assert "The first average is our primary one; no two of them can be compared." in out[-1]
    assert [line.partition(":")[0] for line in out if line.startswith("mean of ")] == [
        "mean of 1 circuits of 1 suites", "mean of 1 suites"
    ]  # fmt: skip


def test_a_suite_of_ones_own_needs_no_circuit(folder, suite_file):
    suite = own_suite(name="my own")
    suite["meta"].pop("circuit", None)
    suite_file.write_text(json.dumps(suite))
    assert command("suites", "--model", folder / "txl-tokens", suite_file) == 0


# ---- Both


@pytest.mark.parametrize("name", ["dtg", "txl-tokens"])
def test_a_second_call_computes_nothing_anew(name, folder, pairs_file, suite_file, capsys, no_more):
    asked = [(what, "--model", folder / name, path, "--beam", 5)
             for what, path in (("blimp", pairs_file), ("suites", suite_file))]  # fmt: skip
    first = [as_json(capsys, *arguments) for arguments in asked]
    no_more()
    assert [as_json(capsys, *arguments) for arguments in asked] == first


@pytest.mark.parametrize("what", ["blimp", "suites"])
def test_a_call_that_was_stopped_is_taken_up_by_the_next(
    what, folder, pairs_file, suite_file, repository, capsys, monkeypatch
):
    path = {"blimp": pairs_file, "suites": suite_file}[what]
    arguments = (what, "--model", folder / "dtg", path, "--beam", 5)
    whole = as_json(capsys, *arguments)
    (rows,) = kept(repository)
    rows.unlink()
    real, asked = {"blimp": blimp.rows_of_batch, "suites": suites.rows_of_batch}[what], []

    @functools.wraps(real)
    def stopped(batch, says):
        asked.append(len(batch))
        for number, row in enumerate(real(batch, says)):
            if number == 1 and len(asked) == 1:
                raise KeyboardInterrupt
            yield row

    monkeypatch.setattr(f"dtglib.evaluate.{what}.{real.__name__}", stopped)
    assert command(*arguments) == 130
    assert len(rows.read_text().splitlines()) == 2, "what it is about, and the row that was known"
    capsys.readouterr()
    again = as_json(capsys, *arguments)
    assert len(asked) == 2 and asked[0] == asked[1] > 1, "the rest of the block comes of the same block"
    assert again == whole


@pytest.mark.parametrize("what", ["surprisal", "suites", "blimp"])
def test_a_model_that_is_not_there_is_named_with_the_way_out(what, tmp_path, capsys):
    text = [SENTENCE] if what == "surprisal" else ["minilang"]
    assert command(what, "--model", tmp_path / "nowhere", *text) == 2
    assert_one_line(capsys, f"{tmp_path / 'nowhere'}: holds no model; `dtglib train` makes one")


@pytest.mark.parametrize("what", ["suites", "blimp"])
def test_a_path_that_is_not_there_is_named(what, folder, tmp_path, capsys):
    for path in (tmp_path / "nowhere", tmp_path / "nowhere.json"):
        assert command(what, "--model", folder / "txl-tokens", path) == 2
        assert_one_line(capsys, str(path), "`minilang` for the built-in ones")


@pytest.mark.parametrize("what", ["suites", "blimp"])
def test_an_empty_file_is_no_test_set(what, folder, tmp_path, capsys):
    path = tmp_path / "empty.json"
    path.write_text("")
    assert command(what, "--model", folder / "txl-tokens", path) == 2
    assert_one_line(capsys, str(path))


@pytest.mark.parametrize("fraction", ["0", "-1", "1.5", "nan"])
def test_a_fraction_that_is_none_is_one_line(fraction, folder, pairs_file, capsys):
    assert command("blimp", "--model", folder / "txl-tokens", pairs_file, f"--fraction={fraction}") == 2
    assert_one_line(capsys, "must be above 0 and at most 1, not")


@pytest.mark.parametrize("what", ["surprisal", "suites", "blimp"])
@pytest.mark.parametrize("within", ["-1", "nan", "inf", "far"])
def test_how_far_behind_is_a_number_from_0_on(within, what, folder, pairs_file, suite_file, capsys):
    text = {"surprisal": SENTENCE, "suites": suite_file, "blimp": pairs_file}[what]
    with pytest.raises(SystemExit) as ended:
        command(what, "--model", folder / "dtg", text, f"--within={within}")
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "") and f"{within!r} is not a number from 0 on" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("what", "option"),
    [
        ("surprisal", "--beam=0"), ("suites", "--beam=0"), ("blimp", "--beam=0"), ("surprisal", "--unit=dB"),
        ("blimp", "--fraction=some"), ("blimp", "--trees=0"),
    ],
)  # fmt: skip
def test_an_option_that_makes_no_sense_is_refused(what, option, folder, capsys):
    with pytest.raises(SystemExit) as stop:
        command(what, "--model", folder / "dtg", "minilang", option)
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and option.partition("=")[0] in err.splitlines()[-1]


def test_weights_that_are_no_numbers_are_one_line(folder, pairs_file, suite_file, tmp_path, capsys):
    model = load_model(folder / "dtg")
    with torch.no_grad():
        model.embedding.weight.fill_(torch.nan)
    model.save(tmp_path / "broken")
    for what, text in (("surprisal", SENTENCE), ("suites", suite_file), ("blimp", pairs_file)):
        assert command(what, "--model", tmp_path / "broken", text, "--beam", 5) == 2
        assert "no numbers; train it anew" in capsys.readouterr().err.splitlines()[-1]
    with pytest.raises(UserError, match="no numbers"):
        pair_rows(tmp_path / "broken", read_pairs(pairs_file), ByTrees(folder / "parser", 2))
