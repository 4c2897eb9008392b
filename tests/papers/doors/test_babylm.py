"""The columns of BabyLM's leaderboard: files of the pipeline's form are read, and scores are what can be counted."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from running import assert_one_line, without_conventions
from toys import model_of

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.decode.beam import Widths
from dtglib.evaluate.surprisal import surprisals
from dtgpapers.doors.babylm import NOT_MEASURED, correlation, not_measured, tasks_in
from dtgpapers.doors.reading_score import (
    EYE_TRACKING,
    SELF_PACED,
    gain,
    reading_scores,
    reading_words,
    surprisals_of,
    unmarked,
    with_word_before,
)

pytestmark = pytest.mark.usefixtures("one_thread")
PAIR = {"sentence_good": "The author is strange.", "sentence_bad": "The author are strange."}
OF_BLIMP = {"field": "morphology", "linguistics_term": "subject_verb_agreement", "UID": "agreement"}
TIE = {"sentence_good": "The dog is strange.", "sentence_bad": "The dog is strange."}
WUG = {"sentences": "The author is strange.\tThe author are strange.", "ratio": 0.9}


@pytest.fixture
def full_eval(tmp_path) -> Path:
    """A folder of the pipeline's form."""
    folder = tmp_path / "full_eval"
    write(folder / "blimp_filtered" / "agreement.jsonl", [PAIR | OF_BLIMP, TIE | OF_BLIMP])
    write(folder / "supplement_filtered" / "turn_taking.jsonl", [PAIR])
    write(folder / "supplement_filtered" / "hypernym.jsonl", [PAIR, TIE])
    rows = [WUG, {"sentences": "\t".join(WUG["sentences"].split("\t")[::-1]), "ratio": 0.1}]
    write(folder / "wug_adj_nominalization" / "wug.jsonl", rows)
    write(folder / "wug_past_tense" / "wug.jsonl", [row | {"ratio": 1 - row["ratio"]} for row in rows])
    return folder


def write(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


# ---- Pairs


def test_each_column_has_its_score_and_its_ties(full_eval, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))  # without a reading corpus
    assert main(["babylm", "--model", "txl-tokens-minilang", "--data", str(full_eval), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["model"] == "txl-tokens-minilang"
    assert report["conventions"].items() >= {"log p": "exact", "end": "<END>, predicted", "ties": "wrong"}.items()
    assert report["columns"] == [
        {"column": "BLiMP", "score": 50.0, "items": 2, "ties": 1, "failed": 0},
        {"column": "BLiMP Supplement", "score": 75.0, "items": 3, "ties": 1, "failed": 0},
        {"column": "WUG Adj", "score": pytest.approx(100), "items": 2, "ties": 0, "failed": 0},
        {"column": "WUG Past", "score": pytest.approx(-100), "items": 2, "ties": 0, "failed": 0},
    ]
    assert report["not measured"].keys() == {"Eye Tracking", "Self-paced Reading", *NOT_MEASURED}
    assert main(["babylm", "--model", "txl-tokens-minilang", "--data", str(full_eval)]) == 0
    out = capsys.readouterr().out
    assert ["BLiMP", "Supplement", "75.0", "3", "1", "0"] in map(str.split, out.splitlines())
    printed, stated = without_conventions(out)
    assert any(line.startswith("not measured: EWoK: ") for line in printed) and "ties: wrong" in stated
    assert f"text of BLiMP: {full_eval / 'blimp_filtered'}" in stated
    assert "dialogues of the supplement: each is read as one sentence; share of the pairs: 1 of BLiMP" in stated


def test_what_has_to_be_fetched_is_named(full_eval, tmp_path, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    assert tasks_in(None) == {}
    write(tmp_path / "blimp" / "agreement.jsonl", [PAIR | OF_BLIMP])
    (unfiltered,) = tasks_in(None)
    assert unfiltered == "BLiMP, unfiltered" and "BLiMP" in not_measured([{"column": unfiltered}])
    assert list(tasks_in(full_eval)) == ["BLiMP", "BLiMP Supplement", "WUG Adj", "WUG Past"]
    assert [task.shares for task in tasks_in(full_eval).values()] == [None, None, [0.9, 0.1], pytest.approx([0.1, 0.9])]


def test_where_nothing_can_be_measured_the_error_says_what_to_fetch(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    assert main(["babylm", "--model", "txl-tokens-minilang"]) == 2
    assert_one_line(capsys, "no task of BabyLM is here: run `make data`")


@pytest.mark.parametrize(
    ("place", "line", "complaint"),
    [
        ("supplement_filtered/x.jsonl", "{}", "x.jsonl:1: no line of this task"),
        (
            "supplement_filtered/x.jsonl",
            json.dumps(PAIR | {"sentence_bad": " "}),
            "x.jsonl:1: a sentence without words",
        ),
        ("supplement_filtered/x.jsonl", json.dumps(PAIR | {"sentence_bad": 1}), "x.jsonl:1: sentence_bad is 1"),
        ("wug_past_tense/x.jsonl", json.dumps(WUG | {"sentences": "one"}), "x.jsonl:1: these are not two sentences"),
        ("elsewhere/x.jsonl", "{}", "there is none of blimp_filtered, supplement_filtered"),
    ],
)
def test_a_folder_of_another_form_is_one_line(tmp_path, monkeypatch, capsys, place, line, complaint):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))  # without a reading corpus
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_text(f"{line}\n")
    assert main(["babylm", "--model", "txl-tokens-minilang", "--data", str(tmp_path)]) == 2
    assert_one_line(capsys, complaint)


def test_pairs_without_probabilities_are_left_out_of_a_correlation():
    rows = [{"good": -1.0, "bad": bad} for bad in (-3.0, -2.0, -2.5, -np.inf)]
    assert correlation(rows, [0.9, 0.2, 0.5, 0.0]) == pytest.approx(100)
    with pytest.raises(UserError, match="too few forms have a probability"):
        correlation(rows[-2:], [0.5, 0.0])


# ---- Reading times


@pytest.fixture(scope="module")
def words(data) -> pd.DataFrame:
    return reading_words()


def test_the_surprisals_of_gpt2_have_the_scores_that_are_known_of_them(words):
    table = with_word_before(words.assign(pred=words["s_GPT2"]))
    assert len(table) == 1726 and len(unmarked(table)) == 1505
    assert reading_scores(table)["Eye Tracking"] == pytest.approx(9.8, abs=0.05)
    assert reading_scores(unmarked(table))["Eye Tracking"] == pytest.approx(2.0, abs=0.05)


# Slow: it imports statsmodels.
@pytest.mark.slow
def test_a_gain_is_that_of_two_regressions_of_statsmodels(words):
    import statsmodels.formula.api as formulas

    table = with_word_before(words.assign(pred=words["s_GPT2"]))
    of_word = "(Subtlex_log10 + length + context_length)**2"
    with_before = "(Subtlex_log10 + length + context_length + prev_length + prev_pred)**2"
    for time, baseline in [*((time, of_word) for time in EYE_TRACKING), (SELF_PACED, with_before)]:
        without = formulas.ols(f"{time} ~ {baseline}", table).fit()
        both = formulas.ols(f"{time} ~ {baseline} + pred", table).fit()
        names = [
            name
            for name in ("Subtlex_log10", "length", "context_length", "prev_length", "prev_pred")
            if name in baseline
        ]
        expected = 100 * (both.rsquared - without.rsquared) / (1 - without.rsquared)
        assert gain(table, time, names) == pytest.approx(expected, rel=1e-6)


def test_a_gain_is_of_the_words_that_have_a_surprisal(words):
    table = with_word_before(words.assign(pred=words["s_GPT2"]))
    time, names = EYE_TRACKING[0], ["Subtlex_log10", "length", "context_length"]
    some = table.assign(pred=table["pred"].where(table[time] < table[time].median()))  # the others died
    assert gain(some, time, names) == pytest.approx(gain(some.dropna(subset=["pred"]), time, names))


def test_a_word_is_the_sum_over_its_pieces_and_has_the_word_before_it(words):
    some = words[words["sent_id"] == 96]
    model, widths = model_of("txl-tokens"), Widths(1, 1)
    found = surprisals_of(model, some, widths)
    tokens = ["Arthur", "placed", "the", "bars", "of", "chocolate", "on", "the", "counter", "."]
    (read,) = surprisals(model, [tokens], widths)
    *inner, last, stop = read.of_prefixes
    assert found == pytest.approx([*inner[2:], last + stop] if len(some) == 7 else [*inner[1:], last + stop])
    table = with_word_before(some.assign(pred=found))
    assert table["prev_pred"].tolist()[1:] == found.tolist()[:-1] and np.isnan(table["prev_pred"].iloc[0])


def test_a_word_after_the_death_of_a_search_is_missing(words):
    some = words[words["sent_id"] == 96]
    table = with_word_before(some.assign(pred=np.inf))
    assert table["pred"].isna().all() and table["prev_pred"].isna().all()
    with pytest.raises(UserError, match="too few words"):
        reading_scores(table)
