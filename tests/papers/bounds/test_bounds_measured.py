"""The study of bounds: its rows, the sums over them, and its part of a recorded evaluation."""

import math
from functools import partial

import numpy as np
import pytest
from test_measured import SENTENCES, WORDS, folder, repository  # noqa: F401 (fixtures)
from toys import small_model, tiny_repository

from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.data.symbols import arcs
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import load_model
from dtglib.parsing.parser import load_parser
from dtglib.runs.recording import record_evaluation
from dtgpapers.bounds import measured
from dtgpapers.bounds.measured import COUNTS, Missing, by_truth, missing, tightness_of
from dtgpapers.bounds.tightness import tightness

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_rows_of_a_study_are_those_of_the_function_and_are_computed_once(repository, folder, monkeypatch):  # noqa: F811
    rows = tightness_of(folder / "dtg", SENTENCES, folder / "parser", trees=40, seed=2)
    model, arc_scores = load_model(folder / "dtg"), load_parser(folder / "parser").arc_scores(WORDS)
    near = partial(
        pytest.approx, abs=1e-5
    )  # the parser scores a block of sentences at once here, and all of them there
    for number, row in enumerate(rows):
        found = tightness(model, WORDS[number], arc_scores[number], 40, np.random.default_rng([2, number]))
        counts = [1, 2, 3, 4, 5, 10, 20, 30, 40]  # a tenth of the trees is what an evaluation has
        for way, bounds in (("best", found.best), ("sample", found.sampled)):
            assert row[way] == near({str(count): bounds[min(count, len(bounds)) - 1] for count in counts})
        estimate = [row[f"estimate_{name}"] for name in ("log_prob", "low", "high", "effective_samples")]
        assert estimate == near(list(found.estimate))
        assert (row["words"], row["trees"]) == (len(WORDS[number]), len(found.best))
        names = ("exact", "outside", "seen", "entropy", "unseen")
        for name in names:
            assert row[name] == near(getattr(found, name))
    assert [row["trees"] for row in rows] == [30, 1, 40]
    assert [row["exact"] is None for row in rows] == [False, False, True]
    monkeypatch.setattr(measured, "load_model", lambda *arguments: pytest.fail("it computes again"))
    assert tightness_of(folder / "dtg", SENTENCES, folder / "parser", trees=40, seed=2) == rows


def test_a_study_goes_on_where_it_was_stopped_with_the_same_draws(repository, folder):  # noqa: F811
    rows = tightness_of(folder / "dtg", SENTENCES, folder / "parser", trees=10)
    (path,) = (repository / "runs" / "scores").glob("*/rows.jsonl")
    head, first, *_ = path.read_text().splitlines(keepends=True)
    path.write_text(head + first + '{"words": 1, "be')
    assert tightness_of(folder / "dtg", SENTENCES, folder / "parser", trees=10) == rows


@pytest.mark.parametrize(
    ("trees", "expected"),
    [
        (1, [1]),
        (2, [1, 2]),
        (4, [1, 2, 3, 4]),
        (30, [1, 2, 3, 5, 10, 20, 30]),
        (70, [1, 2, 3, 5, 7, 10, 20, 30, 50, 70]),
    ],
)
def test_bounds_are_kept_of_all_trees_of_a_tenth_and_of_round_numbers_between(trees, expected, repository, folder):  # noqa: F811
    (row,) = tightness_of(folder / "dtg", SENTENCES[2:], folder / "parser", trees)
    for way in ("best", "sample"):
        assert list(map(int, row[way])) == expected
        assert list(row[way].values()) == sorted(set(row[way].values())), "each is more than the one before"


def test_the_largest_counts_are_those_of_3000_trees():
    assert list(COUNTS) == sorted(COUNTS)
    assert {300, 3000} <= set(COUNTS)


# Four words and an end, all of whose trees are known; nine words and an end, about which there is an estimate.
SHORT = {
    "words": 4, "best": {"1": -12.0, "10": -10.5}, "sample": {"1": -13.0, "10": -10.25}, "exact": -10.0, "seen": -10.0,
    "estimate_log_prob": -9.0, "estimate_low": -19.0, "estimate_high": 1.0,
}  # fmt: skip
LONG = {
    "words": 9, "best": {"1": -25.0, "10": -23.0}, "sample": {"1": -26.0, "10": -22.5}, "exact": None, "seen": -22.0,
    "estimate_log_prob": -20.0, "estimate_low": -23.0, "estimate_high": -17.0,
}  # fmt: skip


def test_what_a_bound_lacks_by_hand():
    """Over the 15 events; only the estimate that is used has an error, and what was seen knows nothing of it."""
    assert missing([SHORT, LONG], "best", 1) == pytest.approx(((2 + 5) / 15, 3 / 15, (2 + 3) / 15))
    assert missing([SHORT, LONG], "best", 10) == pytest.approx(((0.5 + 3) / 15, 3 / 15, (0.5 + 1) / 15))
    assert missing([SHORT, LONG], "sample", 10) == pytest.approx(((0.25 + 2.5) / 15, 3 / 15, (0.25 + 0.5) / 15))
    assert missing([SHORT], "sample", 1) == Missing(3 / 5, 0.0, 3 / 5)


def test_sentences_whose_log_p_is_known_are_apart_from_those_for_which_it_is_estimated():
    assert by_truth([LONG, SHORT, LONG]) == {"exact": [SHORT], "estimate": [LONG, LONG]}
    assert by_truth([]) == {"exact": [], "estimate": []}
    assert by_truth([SHORT | {"exact": -math.inf}])["exact"], "that it cannot be is known, too"


def test_of_a_sentence_that_cannot_be_nothing_is_missing():
    never = SHORT | {"best": {"1": -math.inf}, "exact": -math.inf, "seen": -math.inf}
    assert missing([never], "best", 1) == Missing(0, 0, 0)
    later = SHORT | {"best": {"1": -math.inf}}
    assert missing([later], "best", 1) == Missing(math.inf, 0, math.inf)


def test_the_errors_of_sentences_are_independent():
    assert missing([LONG] * 4, "best", 1).error == pytest.approx(math.sqrt(4 * 3**2) / 40)


def test_with_all_trees_nothing_is_missing_and_with_more_trees_less_is(repository, folder):  # noqa: F811
    rows = tightness_of(folder / "dtg", SENTENCES[:2], folder / "parser", trees=40)
    for way in ("best", "sample"):
        assert missing(rows, way, 30) == pytest.approx((0, 0, 0), abs=1e-9)
        lacks = [missing(rows, way, count).nats for count in (1, 2, 5, 10, 30)]
        assert lacks == sorted(lacks, reverse=True) and lacks[0] > 0.01


def test_a_model_with_labels_is_refused_because_sums_over_its_trees_are_not_exact():
    words = ["There", "is", "a", "difference"]
    labelled = small_model("dtg", Vocabulary.of_words([words], arcs(9, ["det", "nsubj"])))
    with pytest.raises(UserError, match="one label for each arc do not sum to"):
        tightness(labelled, words, np.zeros((5, 5)), 5, np.random.default_rng(1))


def test_more_trees_lack_less_and_the_trees_of_the_evaluation_are_among_the_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tiny_repository(tmp_path) / "notebooks")
    record_evaluation("smoke", [1], ["dtg", "txl-tokens"], tmp_path / "results", ["bounds"])
    study = [line for line in read_record(tmp_path / "results").metrics if line["part"] == "tightness"]
    assert {(line["seed"], line["model"], line["parser"]) for line in study} == {
        (1, "dtg", "strong"),
        (1, "dtg", "weak"),
    }
    of_one = [
        line for line in study if (line["parser"], line["against"], line.get("way")) == ("strong", "estimate", "best")
    ]
    assert [line["trees"] for line in of_one] == [1, 2, 3, 5, 10, 20, 30, 50]
    lacking = [line["nats"] for line in of_one]
    assert lacking == sorted(lacking, reverse=True)
    assert lacking[0] > lacking[-1] >= 0
    (means,) = (
        line for line in study if (line["parser"], line["against"]) == ("strong", "estimate") and "entropy" in line
    )
    assert all(math.isfinite(means[name]) for name in ("entropy", "unseen", "outside"))
