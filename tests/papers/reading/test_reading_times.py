"""Gains for reading times: planted effects, noise, folds, and the likelihood against a loop by hand."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from running import without_conventions

from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.cli.main import main
from dtglib.decode.beam import Widths
from dtgpapers.reading.corpus import FREQUENCY, MEASURES, OTHERS, read_reading
from dtgpapers.reading.gains import (
    BASELINE,
    Compared,
    beyond_surprisal,
    compared_in,
    differences_of,
    gains_of,
    inner_words,
)
from dtgpapers.reading.measured import record_reading, some_sentences, table_of_models
from dtgpapers.reading.regression import complete, folds_of, gain, log_likelihoods, previous, with_previous

# Here some columns say the same as others, which no real ones do.
pytestmark = pytest.mark.filterwarnings("ignore:The design matrix is rank-deficient")


def planted(effect: float, of_previous: float = 0.0, sentences: int = 300, seed: int = 1) -> pd.DataFrame:
    """Words whose times are linear in surprisal and in that of the word before, with noise of variance 1."""
    random = np.random.default_rng(seed)
    lengths = random.integers(5, 12, sentences)
    numbers = np.repeat(np.arange(sentences), lengths)
    words = pd.DataFrame({"sentence": numbers, "word": np.concatenate([np.arange(1, n + 1) for n in lengths])})
    for name in ("surprisal", "length"):
        words[name] = random.normal(size=len(words))
    words = with_previous(words, ["surprisal", "length"])
    noise = random.normal(size=len(words))
    late = words["previous surprisal"].fillna(0.0)
    words["time"] = 3.0 + 0.5 * words["length"] + effect * words["surprisal"] + of_previous * late + noise
    return complete(words, ["time", *previous(["surprisal", "length"])])


LITTLE = ["length", "word", "previous length"]
MORE = [*LITTLE, "surprisal", "previous surprisal"]


def test_the_likelihood_equals_a_loop_by_hand():
    random = np.random.default_rng(1)
    fold, predictors = np.arange(31) % 3, random.normal(size=(31, 2)) * [1.0, 100.0] + [0.0, 50.0]
    values = predictors @ [2.0, -0.01] + random.normal(size=31)
    found = log_likelihoods(values, predictors, fold)
    for word in range(31):
        train = [other for other in range(31) if fold[other] != fold[word]]
        design = np.array([[1.0, *predictors[other]] for other in train])
        weights = np.linalg.solve(design.T @ design, design.T @ values[train])
        residuals = [values[other] - weights @ [1.0, *predictors[other]] for other in train]
        variance = sum(one**2 for one in residuals) / (len(train) - 3)
        off = values[word] - weights @ [1.0, *predictors[word]]
        by_hand = -0.5 * math.log(2 * math.pi * variance) - off**2 / (2 * variance)
        assert found[word] == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize(("effect", "of_previous"), [(0.5, 0.0), (0.0, 0.5), (0.3, 0.3)])
def test_a_planted_effect_has_the_gain_of_theory(effect, of_previous):
    """Without the predictor the effect is noise, too, so the gain is half the logarithm of the ratio of variances."""
    found = gain(planted(effect, of_previous), "time", LITTLE, MORE)
    assert found.low < 0.5 * math.log(1 + effect**2 + of_previous**2) < found.high
    assert found.low > 0 and found.high - found.low < 0.1
    assert found.sentences == 300


@pytest.mark.parametrize("seed", range(3))
def test_noise_gains_nothing(seed):
    found = gain(planted(0.0, seed=seed), "time", LITTLE, MORE)
    assert found.low < 0 < found.high + 0.002 and abs(found.nats) < 0.003


def test_a_predictor_of_the_baseline_gains_nothing_and_gains_are_antisymmetric():
    words = planted(0.5)
    assert gain(words, "time", MORE, MORE).nats == 0
    there, back = gain(words, "time", LITTLE, MORE), gain(words, "time", MORE, LITTLE)
    assert there.nats == pytest.approx(-back.nats) and there.low == pytest.approx(-back.high)


def test_folds_have_whole_sentences_and_equal_sizes():
    numbers = np.array([4] * 5 + [9] * 2 + [1] * 7 + list(range(20, 45)) * 3)
    fold = folds_of(numbers)
    for number in np.unique(numbers):
        assert len(set(fold[numbers == number])) == 1
    sizes = [len(np.unique(numbers[fold == one])) for one in range(10)]
    assert sum(sizes) == 28 and set(sizes) == {2, 3}
    with pytest.raises(UserError, match="there are 2 sentences, too few for 10 folds"):
        folds_of(np.array([1, 1, 2]))


def test_the_previous_word_is_of_the_same_sentence():
    words = pd.DataFrame({"sentence": [1, 1, 1, 2, 2], "word": [2, 3, 5, 2, 3], "length": [4, 5, 6, 7, 8]})
    found = with_previous(words, ["length"])
    np.testing.assert_equal(found["previous length"].tolist(), [np.nan, 4, np.nan, np.nan, 7])
    assert complete(found, ["previous length"])["word"].tolist() == [3, 3]


@pytest.mark.parametrize("rows", [slice(7, 8), slice(None)], ids=["one gap", "nothing else"])
def test_gaps_are_an_error_with_a_way_out(rows):
    words = planted(0.5).astype({"length": float})
    words.loc[words.index[rows], "length"] = np.nan
    with pytest.raises(UserError, match=r"the column length, .* has gaps; keep the rows of complete\(words, columns\)"):
        gain(words, "time", LITTLE, MORE)


# ---- A table of models, and its record

DRINKS = ["tea", "ale", "rum", "gin", "rye", "wine", "beer", "milk", "mead", "port"]
TEXTS = [f"It isn't {drink}, is it now?" for drink in DRINKS * 2]


@pytest.fixture
def a_corpus(tmp_path, monkeypatch):
    """Twenty sentences whose self-paced reading times are the surprisal of "ours" and some noise, and its model."""
    random = np.random.default_rng(1)
    surprisal = {number: random.normal(size=6).round(4) for number in range(1, 21)}
    rows = [
        {"sent_id": number, "sentence": text, "word": word, "context_length": place, "length": random.integers(1, 9)}
        | {FREQUENCY: random.normal()}
        | {name: random.normal() for name in (*MEASURES, *OTHERS)}
        | {"self_paced_reading_time": 250 + 9 * surprisal[number][place] + random.normal()}
        for number, text in enumerate(TEXTS, start=1)
        for place, word in enumerate(text.split())
        if place
    ]
    file = tmp_path / "reading" / "all_measures.csv"
    file.parent.mkdir()
    pd.DataFrame(rows).to_csv(file)
    monkeypatch.setenv("DTG_DATA", str(tmp_path))

    def rows_of(folder, texts, widths):
        assert len(texts) == 20
        return [
            {"surprisal": list(values), "hypotheses": [1] * 6, "depth": [math.nan] * 6} for values in surprisal.values()
        ]

    monkeypatch.setattr("dtgpapers.reading.measured.reading_rows", rows_of)
    monkeypatch.setattr("dtgpapers.reading.gains.FEATURES", ("surprisal", "hypotheses", "depth"))
    monkeypatch.setattr("dtgpapers.reading.measured.checksum_of", lambda name: "1a2b")
    return read_reading()


def test_a_table_has_what_is_known_of_a_word_and_of_the_word_before(a_corpus, tmp_path):
    words = table_of_models(a_corpus, {"ours": tmp_path}, Widths())
    # It isn't tea, is it now?     The second word has no frequency, so that the third has none of the word before.
    assert len(words) == 20 * 3 and sorted(set(words["word"])) == [4, 5, 6]
    assert set(inner_words(words)["text"]) == {"it"}, "before is a comma, and after it a question mark"
    assert "ours, surprisal" in words and "GPT-2, surprisal" in words
    assert not {"ours, hypotheses", "ours, depth"} & set(words), "they are the same for all words"
    found = compared_in(words, ["ours"])
    assert [one.predictor for one in found if one.model == "ours"] == ["surprisal"]
    assert len(found) == 1 + len(OTHERS) and len(BASELINE) == 5


def test_the_record_has_all_gains_and_the_planted_one_is_the_greatest(a_corpus, tmp_path, monkeypatch):
    few = dict(itertools.islice(OTHERS.items(), 2))
    monkeypatch.setattr("dtgpapers.reading.gains.OTHERS", few)
    gains = record_reading({"ours": tmp_path, "ours again": tmp_path}, Widths(30, 30), tmp_path / "out")
    best = gains[gains["measure"] == "self-paced reading"].sort_values("nats").iloc[-1]
    assert best["model"] in ("ours", "ours again") and best["low"] > 1
    record = read_record(tmp_path / "out")
    parts = [line["part"] for line in record.metrics]
    assert len(gains) == 11 * (2 + len(few))
    assert parts.count("gain") == 2 * len(gains) and parts.count("difference") == 2 * 11
    assert {line["which"]: line["words"] for line in record.metrics if "words" in line} == {
        "inner words": 20 * 1,
        "all words": 20 * 3,
    }
    assert parts.count("predictor") == 2 * (2 + len(few))
    assert record.about["status"] == "finished" and record.config["beam_width"] == 30
    (zero,) = {line["nats"] for line in record.metrics if line["part"] == "difference"}
    assert zero == 0


# Slow: the command, whose tables are those of the functions above.
@pytest.mark.slow
def test_the_command_says_of_each_model_how_it_was_read(a_corpus, monkeypatch, capsys):
    models = ["txl-tokens-minilang", "dtg-minilang"]
    assert main(["reading", "--models", *models, "--beam", "30", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["gains"]) == 11 * (2 + len(OTHERS)) and [each["model"] for each in found["conventions"]] == models
    assert main(["reading", "--models", *models, "--beam", "30"]) == 0
    table, conventions = without_conventions(capsys.readouterr().out)
    assert len(table) == 1 + len(found["gains"])
    assert "log p: exact" in conventions and "log p: a lower bound by beam search (width 30, nats" in conventions


def test_beyond_surprisal_only_what_surprisal_does_not_say_gains(a_corpus, tmp_path):
    words = table_of_models(a_corpus, {"ours": tmp_path}, Widths())
    assert beyond_surprisal(words, ["ours"]).empty
    tenfold = {f"{before}ours, hypotheses": 10 * words[f"{before}ours, surprisal"] for before in ("", "previous ")}
    nothing = beyond_surprisal(words.assign(**tenfold), ["ours"])
    assert (nothing["predictor"] == "hypotheses").all() and len(nothing) == 11
    assert nothing["nats"].abs().max() < 0.2, "less than any other column costs by chance"
    times = {f"{before}ours, depth": words["N400"] for before in ("", "previous ")}
    more = beyond_surprisal(words.assign(**times), ["ours"]).set_index("measure")
    assert more["low"].idxmax() == "N400" and more.loc["N400", "low"] > 5


def test_differences_are_measured_by_measure(a_corpus, tmp_path):
    words = table_of_models(a_corpus, {"ours": tmp_path}, Widths())
    ours, other = Compared("ours", "surprisal"), Compared("RNN", "surprisal")
    found = differences_of(words, ours, other).set_index("measure")
    gains = gains_of(words, [ours, other], ["N400"]).set_index("model")["nats"]
    assert found.loc["N400", "nats"] == pytest.approx(gains["ours"] - gains["RNN"])
    assert found.loc["self-paced reading", "low"] > 0


def test_some_sentences_are_spread_over_the_corpus(a_corpus):
    some = some_sentences(a_corpus, 4)
    assert list(some.sentences) == [1, 6, 11, 16] and set(some.words["sentence"]) == {1, 6, 11, 16}
    assert len(some_sentences(a_corpus, None).words) == len(a_corpus.words)
