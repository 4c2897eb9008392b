"""Minimal pairs: the public ones are read as their paper counts them, and scores are what can be counted by hand.

`table` stands for a model: it says of each sentence what is written down for it.
"""

import itertools
import json
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtglib.basics.errors import UserError
from dtglib.data import minilang
from dtglib.evaluate.blimp import (
    MinimalPair,
    Paradigm,
    all_pairs,
    grouped,
    overall,
    read_pairs,
    rows_of_batch,
    scores_by_paradigm,
)

PAIR = {
    "sentence_good": "There is a difference.",
    "sentence_bad": "There is the difference.",
    "field": "semantics",
    "linguistics_term": "quantifiers",
    "UID": "existential_there",
    "simple_LM_method": True,
    "pair_id": "0",
}


def line(**other: object) -> str:
    return json.dumps({**PAIR, **other})


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "mine.jsonl"


def numbered(count: int, **other: object) -> str:
    return "".join(line(sentence_good=f"It is {n} .", **other) + "\n" for n in range(count))


@pytest.fixture(scope="module")
def blimp(data) -> list[Paradigm]:
    return read_pairs(data / "blimp")


# ---- The public pairs


# Slow, like the next three: the real pairs, of which the fast tests read toys.
@pytest.mark.slow
def test_blimp_has_67_paradigms_of_1000_pairs(blimp):
    assert len(blimp) == len({paradigm.uid for paradigm in blimp}) == 67
    assert {len(paradigm.pairs) for paradigm in blimp} == {1000}
    assert all([pair.number for pair in paradigm.pairs] == list(range(1000)) for paradigm in blimp)


@pytest.mark.slow
def test_blimp_has_12_phenomena_and_4_fields(blimp):
    assert sorted({paradigm.phenomenon for paradigm in blimp}) == [
        "anaphor agreement", "argument structure", "binding", "control raising", "determiner noun agreement",
        "ellipsis", "filler gap dependency", "irregular forms", "island effects", "npi licensing", "quantifiers",
        "subject verb agreement",
    ]  # fmt: skip
    assert {paradigm.field for paradigm in blimp} == {"morphology", "semantics", "syntax", "syntax-semantics"}
    fields = {paradigm.phenomenon: set() for paradigm in blimp}
    for paradigm in blimp:
        fields[paradigm.phenomenon].add(paradigm.field)
    assert fields["island effects"] == {"syntax"} and fields["quantifiers"] == {"semantics"}


@pytest.mark.slow
def test_seven_pairs_of_blimp_are_identical_and_count_as_ties(blimp):
    identical = {(paradigm.uid, pair.number) for paradigm in blimp for pair in paradigm.pairs if pair.good == pair.bad}
    assert identical == {
        ("passive_1", 324), ("passive_1", 810), ("principle_A_case_2", 105), ("principle_A_case_2", 287),
        ("principle_A_case_2", 372), ("principle_A_case_2", 816), ("principle_A_case_2", 967),
    }  # fmt: skip
    whoever_knows_all = [
        {"paradigm": one.uid, "pair": pair.number, "good": -1.0, "bad": -1.0 if pair.good == pair.bad else -2.0}
        for one in blimp
        for pair in one.pairs
    ]
    scores = scores_by_paradigm(blimp, whoever_knows_all)
    assert sum(row["identical"] for row in scores) == sum(row["ties"] for row in scores) == 7
    assert overall(scores) == pytest.approx(66_993 / 67_000)


@pytest.mark.slow
def test_contractions_of_blimp_are_tokenised_as_in_treebanks(blimp):
    words = {word for paradigm in blimp for pair in paradigm.pairs for words in pair[1:] for word in words}
    assert "n't" in words and "'s" in words
    assert not [word for word in words if word.lower().endswith("n't") and len(word) > 3]
    assert not [word for word in words if len(word) > 1 and word[-1] in ".,?!" and word[:-1].islower()]


# ---- Reading


def test_a_contraction_is_tokenised_as_in_treebanks(file):
    file.write_text(line(sentence_good="They didn't leave John's cabinet.", sentence_bad="They can't did leave it."))
    ((pair,),) = [paradigm.pairs for paradigm in read_pairs(file)]
    assert pair == MinimalPair(
        0,
        ("They", "did", "n't", "leave", "John", "'s", "cabinet", "."),
        ("They", "ca", "n't", "did", "leave", "it", "."),
    )


@pytest.mark.parametrize(
    ("fraction", "expected"),
    [
        (0.1, [0, 10, 20, 30, 40]),
        (0.5, list(range(0, 50, 2))),
        (0.2, list(range(0, 50, 5))),
        (0.02, [0]),
        (1e-9, [0]),
        (1, list(range(50))),
        (1.0, list(range(50))),
    ],
)
def test_a_fraction_is_taken_evenly_from_the_first_pair_on(fraction, expected, file):
    file.write_text(numbered(50))
    (paradigm,) = read_pairs(file, fraction)
    assert [pair.number for pair in paradigm.pairs] == expected
    assert [pair.good[2] for pair in paradigm.pairs] == list(map(str, expected)), "the number is that of the line"


@given(st.floats(0.001, 1))
def test_any_fraction_has_the_right_number_of_pairs_at_even_distances(fraction):
    (paradigm,) = read_text(numbered(400), fraction)
    chosen = [pair.number for pair in paradigm.pairs]
    assert abs(len(chosen) - 400 * fraction) <= 1
    gaps = [second - first for first, second in itertools.pairwise(chosen)]
    assert chosen[0] == 0 and (not gaps or max(gaps) - min(gaps) <= 1)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.001, 10, math.nan, math.inf])
def test_a_fraction_outside_0_to_1_is_an_error(fraction, file):
    file.write_text(numbered(3))
    with pytest.raises(UserError, match="must be above 0 and at most 1, not"):
        read_pairs(file, fraction)


def test_a_folder_has_one_paradigm_per_file_in_the_order_of_their_names(tmp_path):
    for name in "bca":
        (tmp_path / f"{name}.jsonl").write_text(numbered(2, UID=name))
    (tmp_path / "README.md").write_text("these are not pairs")
    assert [paradigm.uid for paradigm in read_pairs(tmp_path)] == ["a", "b", "c"]


def test_without_a_path_blimp_is_read_from_the_data_folder(tmp_path, monkeypatch):
    (tmp_path / "blimp").mkdir()
    (tmp_path / "blimp" / "some.jsonl").write_text(numbered(2))
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    assert [paradigm.uid for paradigm in read_pairs()] == ["existential_there"]
    monkeypatch.setenv("DTG_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match="run `make data`, or set DTG_DATA"):
        read_pairs()


def test_a_byte_order_mark_empty_lines_and_line_ends_of_windows_are_ignored(file):
    file.write_bytes(f"\ufeff\r\n{line()}\r\n\r\n{line()}\r\n\n".encode())
    (paradigm,) = read_pairs(file)
    assert [pair.number for pair in paradigm.pairs] == [0, 1]


@pytest.mark.parametrize("term", ["s-selection", "argument_structure"])
def test_s_selection_is_argument_structure(term, file):
    file.write_text(line(linguistics_term=term))
    assert read_pairs(file)[0].phenomenon == "argument structure"


@pytest.mark.parametrize("field", ["syntax/semantics", "syntax_semantics"])
def test_both_spellings_of_a_field_are_the_same_field(field, file):
    file.write_text(line(field=field))
    assert read_pairs(file)[0].field == "syntax-semantics"


# ---- minilang


def test_the_pairs_of_minilang_are_in_the_same_format(tmp_path):
    """As files they are read as what they are."""
    paradigms = read_pairs("minilang")
    assert len(paradigms) == 49 and all(len(paradigm.pairs) == 200 for paradigm in paradigms)
    for one in minilang.minimal_pairs():
        (tmp_path / f"{one.uid}.jsonl").write_text(one.as_json_lines(), "utf-8")
    assert sorted(read_pairs(tmp_path)) == sorted(paradigms)
    for ours, source in zip(paradigms, minilang.minimal_pairs(), strict=True):
        assert [(pair.good, pair.bad) for pair in ours.pairs] == [(pair.good, pair.bad) for pair in source.pairs]
    assert {paradigm.field for paradigm in paradigms} <= {"morphology", "semantics", "syntax", "syntax-semantics"}


def test_a_tenth_of_minilang_is_each_tenth_pair():
    for some, everything in zip(read_pairs("minilang", 0.1), read_pairs("minilang"), strict=True):
        assert some.pairs == everything.pairs[::10]


# ---- Mistakes


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "no JSON",
        "[1, 2]",
        "7",
        json.dumps({key: value for key, value in PAIR.items() if key != "UID"}),
        json.dumps({key: value for key, value in PAIR.items() if key != "sentence_bad"}),
        line(sentence_good=7),
    ],
)
def test_an_error_names_the_file_and_the_line(broken, file):
    file.write_text(f"{line()}\n\n{broken}\n{line()}\n")
    with pytest.raises(UserError, match=r"mine\.jsonl:3: this is no minimal pair in BLiMP's format"):
        read_pairs(file)


@pytest.mark.parametrize("key", ["field", "linguistics_term"])
def test_a_phenomenon_or_field_must_be_text(key, file):
    file.write_text(line(**{key: None}))
    with pytest.raises(UserError, match=r"mine\.jsonl"):
        read_pairs(file)


@pytest.mark.parametrize("which", ["sentence_good", "sentence_bad"])
def test_an_error_names_the_line_of_an_empty_sentence(which, file):
    file.write_text(f"{line()}\n{line(**{which: ' '})}\n")
    with pytest.raises(UserError, match=r"mine\.jsonl:2: a sentence without words"):
        read_pairs(file)


def test_a_file_of_several_paradigms_is_an_error(file):
    file.write_text(f"{line()}\n{line(UID='other')}\n")
    with pytest.raises(UserError, match=r"mine\.jsonl: its pairs are of several paradigms: .*existential_there.*other"):
        read_pairs(file)


def test_two_files_of_one_paradigm_are_an_error(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(line())
    with pytest.raises(UserError, match="two of the files define 'existential_there'"):
        read_pairs(tmp_path)


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_an_error(text, file):
    file.write_text(text)
    with pytest.raises(UserError, match=r"mine\.jsonl: there are no pairs in it"):
        read_pairs(file)


def test_missing_and_binary_files_are_errors(tmp_path, file):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UserError, match=f"{path.name}: there are no minimal pairs .* or `minilang` for"):
            read_pairs(path)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match=r"mine\.jsonl: cannot be read"):
        read_pairs(file)


def read_text(text: str, fraction: float) -> list[Paradigm]:
    """Through a file of its own, which a test that is run many times cannot have from pytest."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "some.jsonl"
        path.write_text(text)
        return read_pairs(path, fraction)


# ---- Testing


def paradigm(uid: str, *pairs: tuple[str, str], phenomenon: str = "quantifiers", field: str = "semantics") -> Paradigm:
    """Sentences of one letter each, as in ("a", "b")."""
    return Paradigm(uid, phenomenon, field, tuple(MinimalPair(n, tuple(g), tuple(b)) for n, (g, b) in enumerate(pairs)))


def table(**log_probs: float) -> Callable[[Sequence[Sequence[str]]], list[float]]:
    return lambda sentences: [log_probs["".join(words)] for words in sentences]


def of_letters(sentences: Sequence[Sequence[str]]) -> list[float]:
    return [-float(sum(map(ord, "".join(words)))) for words in sentences]


PARADIGMS = [
    paradigm("first", ("a", "b"), ("c", "d"), ("e", "e")),
    paradigm("second", ("g", "f"), ("h", "i"), ("jj", "k"), ("l", "m"), ("n", "o"), ("p", "q"), ("r", "s")),
]


def rows_of(paradigms, log_probs):
    return rows_of_batch(all_pairs(paradigms), log_probs)


def test_each_pair_has_a_row_with_log_p_of_both_sentences():
    assert rows_of(PARADIGMS[:1], of_letters) == [
        {"paradigm": "first", "pair": 0, "good": -97.0, "bad": -98.0},
        {"paradigm": "first", "pair": 1, "good": -99.0, "bad": -100.0},
        {"paradigm": "first", "pair": 2, "good": -101.0, "bad": -101.0},
    ]


@pytest.mark.parametrize("at_once", [1, 3, 10])
def test_the_rows_do_not_depend_on_the_batch_size(at_once):
    """Also across paradigms."""
    rows = rows_of(PARADIGMS, of_letters)
    assert len(rows) == 10
    pairs = all_pairs(PARADIGMS)
    batches = [pairs[start : start + at_once] for start in range(0, len(pairs), at_once)]
    assert [row for batch in batches for row in rows_of_batch(batch, of_letters)] == rows


def test_both_sentences_of_a_pair_are_scored_together_and_each_pair_once():
    asked = []

    def watched(sentences: Sequence[Sequence[str]]) -> list[float]:
        asked.append(list(sentences))
        return of_letters(sentences)

    assert len(rows_of(PARADIGMS, watched)) == 10
    assert all(len(sentences) % 2 == 0 for sentences in asked)
    assert [words for sentences in asked for words in sentences] == [
        words for one in PARADIGMS for pair in one.pairs for words in (pair.good, pair.bad)
    ]


def test_too_few_log_probabilities_are_an_error():
    with pytest.raises(UserError, match="5 log-probabilities came for 6 sentences"):
        rows_of(PARADIGMS[:1], lambda sentences: [-1.0] * (len(sentences) - 1))


# ---- Scores


def score_of(*pairs: tuple[float, float]) -> dict:
    """Of pairs of different sentences with these log-probabilities."""
    tested = paradigm("one", *[("a", "b")] * len(pairs))
    rows = [{"paradigm": "one", "pair": n, "good": good, "bad": bad} for n, (good, bad) in enumerate(pairs)]
    (found,) = scores_by_paradigm([tested], rows)
    return found


def test_the_better_sentence_must_be_the_more_probable_one():
    assert score_of((-1.0, -2.0))["accuracy"] == 1
    assert score_of((-2.0, -1.0))["accuracy"] == 0
    assert score_of((-1.0, -2.0), (-3.0, -2.0), (-5.0, -5.5), (-1.0, -1.0 - 1e-9))["accuracy"] == 3 / 4


def test_a_tie_is_wrong_and_is_counted_separately():
    found = score_of((-1.0, -1.0), (-1.0, -2.0), (-2.0, -2.0), (-2.0, -1.0))
    assert (found["pairs"], found["accuracy"], found["ties"]) == (4, 1 / 4, 2)
    assert (found["identical"], found["failed"]) == (0, 0), "a tie of different sentences is no identical pair"


def test_identical_pairs_are_counted_separately():
    rows = rows_of(PARADIGMS[:1], table(a=-1.0, b=-2.0, c=-2.0, d=-1.0, e=-3.0))
    (found,) = scores_by_paradigm(PARADIGMS[:1], rows)
    assert (found["accuracy"], found["ties"], found["identical"]) == (1 / 3, 1, 1)


def test_a_sentence_without_a_finite_probability_counts_as_failed():
    """A search that died says nothing of its sentence, so nothing was preferred; and NaN is never better."""
    inf, nan = math.inf, math.nan
    assert score_of((-1.0, -inf)) | {"accuracy": 0, "failed": 1, "ties": 0} == score_of((-1.0, -inf))
    assert score_of((-inf, -1.0)) | {"accuracy": 0, "failed": 1, "ties": 0} == score_of((-inf, -1.0))
    assert score_of((-inf, -inf)) | {"accuracy": 0, "failed": 1, "ties": 0} == score_of((-inf, -inf))
    for pair in ((nan, -1.0), (-1.0, nan), (nan, nan), (nan, -inf)):
        assert score_of(pair) | {"accuracy": 0, "failed": 1, "ties": 0} == score_of(pair)
    found = score_of((-1.0, -2.0), (nan, -1.0), (-1.0, -2.0), (-inf, -inf))
    assert (found["accuracy"], found["failed"]) == (2 / 4, 2), "one failure does not spoil the others"


def test_accuracies_are_means_over_paradigms_not_over_pairs():
    """By hand: 2 of 4, 1 of 1 and 0 of 2 pairs are right. Of all 7 pairs 3 are; the mean of the paradigms is 0.5."""
    tested = [
        paradigm("half", *[("a", "b")] * 2, *[("b", "a")] * 2, phenomenon="binding", field="syntax"),
        paradigm("all", ("a", "b"), phenomenon="binding", field="semantics"),
        paradigm("none", *[("b", "a")] * 2, phenomenon="ellipsis", field="syntax"),
    ]
    scores = scores_by_paradigm(tested, rows_of(tested, table(a=-1.0, b=-2.0)))
    assert [(row["paradigm"], row["pairs"], row["accuracy"]) for row in scores] == [
        ("half", 4, 0.5), ("all", 1, 1.0), ("none", 2, 0.0)
    ]  # fmt: skip
    assert grouped(scores, "phenomenon") == [
        {"phenomenon": "binding", "paradigms": 2, "accuracy": 0.75},
        {"phenomenon": "ellipsis", "paradigms": 1, "accuracy": 0.0},
    ]
    assert grouped(scores, "field") == [
        {"field": "semantics", "paradigms": 1, "accuracy": 1.0},
        {"field": "syntax", "paradigms": 2, "accuracy": 0.25},
    ]
    assert overall(scores) == 0.5
