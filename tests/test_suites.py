"""SyntaxGym's test suites: read as they are meant, every trap of theirs, and scores that can be recomputed by hand."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean

import pytest
from toys import in_every_kind_of_model, small_model

from dtglib.basics.errors import UserError
from dtglib.data import minilang
from dtglib.data.tokenize import tokenize
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import Widths
from dtglib.evaluate.suites import (
    Suite,
    SuiteItem,
    as_tables,
    averages,
    circuits,
    item_rows,
    known_circuits,
    predictions,
    read_suite,
    read_suites,
    scores_by_suite,
)
from dtglib.evaluate.surprisal import of_beginnings, surprisals

pytestmark = pytest.mark.usefixtures("one_thread")

INF, NAN = math.inf, math.nan

# ---- Suites and models that are made up

AGREES = "(4;%match%) < (4;%mismatch%)"

AUTHORS = {
    "match": ["The author ", " next to", "the senators", "is", "good ."],
    "mismatch": ["The author", "next to", "the senators ", "are", "good ."],
}
AND_NOBODY = {
    "match": ["The author", "", "", "is", "good ."],
    "mismatch": ["The author", "  ", "", "are", "good ."],
}
IN_TWO_WORDS = {
    "match": ["The author", "next to", "the senators", "is  not", "good ."],
    "mismatch": ["The author", "next to", "the senators", "are not ", "good ."],
}


def content(*items: dict[str, list[str]], formulas: Sequence[str] = (AGREES,), name: str = "mine", **meta) -> dict:
    """What stands in a file of SyntaxGym's; items as {condition: regions}."""
    regions = len(next(iter(items[0].values()))) if items else 0
    return {
        "meta": {"name": name, "metric": "sum", "author": "", **meta},
        "region_meta": {str(place): f"region {place}" for place in range(1, regions + 1)},
        "predictions": [{"type": "formula", "formula": formula} for formula in formulas],
        "items": [
            {
                "item_number": number,
                "conditions": [
                    {
                        "condition_name": condition,
                        "regions": [
                            {"region_number": place, "content": text} for place, text in enumerate(texts, start=1)
                        ],
                    }
                    for condition, texts in item.items()
                ],
            }
            for number, item in enumerate(items, start=1)
        ],
    }


def suite_of(*items: dict[str, list[str]], **others) -> Suite:
    return read_suite(content(*items, **others), "mine.json")


class Unigrams:
    """A model that needs no context: -log of how frequent each word is. It remembers what it was asked."""

    def __init__(self, **frequencies: float):
        self.frequencies, self.asked = frequencies, []

    def of(self, word: str) -> float:
        return -math.log(self.frequencies.get(word, 0.01))

    def __call__(self, beginnings: Sequence[Sequence[str]]) -> Iterator[list[float]]:
        self.asked += map(list, beginnings)
        return ([self.of(word) for word in words] for words in beginnings)


def in_place(beginnings: Sequence[Sequence[str]]) -> list[list[int]]:
    """Not a model: the surprisal of the first word is 1, of the second 2, of the third 4, so that sums say of what."""
    return [[2**place for place in range(len(words))] for words in beginnings]


def rows_of(*suites: Suite, model: Callable = in_place, at_once: int = 2) -> list[dict]:
    return list(item_rows(suites, model, at_once))


def scores_of(*suites: Suite, model: Callable = in_place, knows: Callable | None = None) -> list[dict]:
    return scores_by_suite(suites, rows_of(*suites, model=model), knows)


def write(folder: Path, written: object, name: str = "mine.json") -> Path:
    (folder / name).write_text(written if isinstance(written, str) else json.dumps(written), "utf-8")
    return folder / name


# ---- Reading: spaces, empty regions, regions of several words


def test_stray_spaces_are_ignored():
    (item,) = suite_of(IN_TWO_WORDS).items
    assert item == SuiteItem(
        1,
        {
            "match": (("The", "author"), ("next", "to"), ("the", "senators"), ("is", "not"), ("good", ".")),
            "mismatch": (("The", "author"), ("next", "to"), ("the", "senators"), ("are", "not"), ("good", ".")),
        },
    )


def test_an_empty_region_has_no_words_and_no_surprisal():
    (row,) = rows_of(suite_of(AND_NOBODY))
    assert row["surprisals"] == {"match": [1 + 2, 0, 0, 4], "mismatch": [1 + 2, 0, 0, 4]}


def test_formulas_may_contain_empty_regions():
    (row,) = rows_of(suite_of(AND_NOBODY, formulas=["(2;%match%) = 0 & (3;%match%) < (4;%match%)"]))
    assert row["holds"] == [True]


def test_the_surprisal_of_a_region_is_the_sum_over_its_words():
    (row,) = rows_of(suite_of(IN_TWO_WORDS))
    regions = [1 + 2, 4 + 8, 16 + 32, 64 + 128]
    assert row["surprisals"] == {"match": regions, "mismatch": regions}


def test_a_critical_region_of_several_words_is_compared_as_a_whole():
    """Its first word alone would say the opposite."""
    model = Unigrams(**{"is": 0.1, "are": 0.3, "good": 0.3, "bad": 0.01})
    items = {"match": ["They", "is good"], "mismatch": ["They", "are bad"]}
    assert model.of("is") > model.of("are")
    (row,) = rows_of(suite_of(items, formulas=["(2;%match%) < (2;%mismatch%)"]), model=model)
    assert row["holds"] == [True]


def test_a_star_is_the_sum_over_all_regions():
    model = Unigrams()
    suite = suite_of(AUTHORS, formulas=[f"(*;%match%) = {9 * -math.log(0.01)}"])
    (row,) = rows_of(suite, model=model)
    assert row["holds"] == [True]
    assert len(model.asked[0]) == 9
    assert len(row["surprisals"]["match"]) == 5


def test_a_star_includes_regions_without_names():
    written = content(AUTHORS, formulas=["(*;%match%) = 255 + 256"])
    del written["region_meta"]["5"]
    (row,) = rows_of(read_suite(written, "mine.json"))
    assert row["holds"] == [True]


def test_regions_and_their_names_are_put_in_order_by_number():
    written = content({name: list("abcdefghijkl") for name in AUTHORS})
    written["region_meta"] = dict(sorted(written["region_meta"].items()))  # "1", "10", "11", "12", "2"
    for condition in written["items"][0]["conditions"]:
        condition["regions"].reverse()
    suite = read_suite(written, "mine.json")
    assert suite.region_names == tuple(f"region {place}" for place in range(1, 13))
    assert suite.items[0].conditions["match"] == tuple((letter,) for letter in "abcdefghijkl")


def test_names_of_conditions_may_have_spaces_around_them():
    regions = AUTHORS["match"]
    suite = suite_of({" match ": regions, "mismatch": regions}, formulas=["(4;% match%) = (4;%mismatch %)"])
    assert set(suite.items[0].conditions) == {"match", "mismatch"}
    assert rows_of(suite)[0]["holds"] == [True]


# ---- What a model is asked


def test_sentences_are_read_up_to_the_last_region_of_the_predictions():
    """Region 4; "good ." comes later, and what comes later changes nothing."""
    model = Unigrams()
    suite = suite_of(AUTHORS)
    rows = rows_of(suite, model=model)
    beginning = ["The", "author", "next", "to", "the", "senators"]
    assert suite.last_region == 4
    assert model.asked == [[*beginning, "is"], [*beginning, "are"]]
    assert [len(regions) for regions in rows[0]["surprisals"].values()] == [4, 4]


def test_all_predictions_decide_which_region_is_read_last():
    assert suite_of(AUTHORS, formulas=["(2;%match%) > 0", "(3;%mismatch%) > 0"]).last_region == 3
    assert suite_of(AUTHORS, formulas=["(2;%match%) > 0", "(*;%mismatch%) > 0"]).last_region == 5


def test_conditions_outside_the_formulas_may_be_shorter_or_longer():
    items = {**AUTHORS, "short": ["The author"], "long": ["The", "author", "of", "this", "is", "not", "good"]}
    (row,) = rows_of(suite_of(items))
    assert row["surprisals"]["short"] == [1 + 2]
    assert row["surprisals"]["long"] == [1, 2, 4, 8]


def test_a_model_is_not_given_empty_sentences():
    """Where the regions up to the critical one are all empty."""
    model = Unigrams()
    items = [{"a": ["", "now"], "b": ["Now", ""]}, {"a": ["Now", ""], "b": [" ", ""]}]
    rows = rows_of(suite_of(*items, formulas=["(1;%a%) < (1;%b%)"]), model=model)
    assert model.asked == [["Now"], ["Now"]]
    assert [row["holds"] for row in rows] == [[True], [False]]


def test_a_model_is_not_called_without_sentences():
    def of_some(beginnings: Sequence[Sequence[str]]) -> list[list[float]]:
        assert beginnings
        return in_place(beginnings)

    rows_of(suite_of({"a": ["", "now"], "b": ["", "then"]}, formulas=["(1;%a%) = (1;%b%)"]), model=of_some)


def test_a_formula_without_numbers_is_independent_of_the_unit():
    bits = lambda asked: [[value / math.log(2) for value in values] for values in Unigrams(a=0.3)(asked)]  # noqa: E731
    items = [AUTHORS, AND_NOBODY, {"match": list("xxxax"), "mismatch": list("xxxxa")}]
    suite = suite_of(*items)
    in_nats, in_bits = rows_of(suite, model=Unigrams(a=0.3)), rows_of(suite, model=bits)
    assert [row["holds"] for row in in_nats] == [row["holds"] for row in in_bits] == [[False], [False], [True]]


@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_wrong_number_of_surprisals_is_an_error_that_names_the_item(wrong):
    """Of the second sentence of the second item."""

    def model(beginnings: Sequence[Sequence[str]]) -> list[list[float]]:
        return [[1.0] * (len(words) + wrong * (list(words[-2:]) == ["are", "not"])) for words in beginnings]

    with pytest.raises(
        UserError, match=rf"^mine, item 2, mismatch: surprisals of shape \({8 + wrong},\) came for 8 words"
    ):
        rows_of(suite_of(AUTHORS, IN_TWO_WORDS), model=model)


@pytest.mark.parametrize("change", [lambda rows: rows[:-1], lambda rows: [*rows, [1.0]]], ids=["few", "many"])
def test_surprisals_of_another_number_of_sentences_are_an_error(change):
    with pytest.raises(UserError, match=r"^mine, item 1: surprisals came for [13] sentences instead of 2$"):
        rows_of(suite_of(AUTHORS), model=lambda beginnings: change(in_place(beginnings)))


# ---- Rows: all of them, in order, from anywhere on


def numbered(*counts: int) -> list[Suite]:
    """Suites of so many items, each of which has words of its own."""
    return [
        suite_of(
            *({"match": [f"word{i}", *"abc"], "mismatch": [*f"w{i}", "to", "the", "end"][:4]} for i in range(count)),
            name=f"suite {count}",
        )
        for count in counts
    ]


def hashed(beginnings: Sequence[Sequence[str]]) -> list[list[float]]:
    """Something different for each word in each context."""
    return [[Random(" ".join(words[:stop])).random() for stop in range(1, len(words) + 1)] for words in beginnings]


def test_there_is_a_row_for_each_item_of_each_suite_in_order():
    rows = rows_of(*numbered(3, 1, 4), model=hashed)
    assert [(row["suite"], row["item"]) for row in rows] == [
        (f"suite {count}", number) for count in (3, 1, 4) for number in range(1, count + 1)
    ]


def test_an_item_has_the_same_row_alone():
    """An item's row does not depend on which others are asked beside it."""
    suites = numbered(3, 1, 4)
    alone = [rows_of(suite._replace(items=(item,)), model=hashed)[0] for suite in suites for item in suite.items]
    assert rows_of(*suites, model=hashed) == alone


def test_the_rows_do_not_depend_on_the_batch_size_of_items():
    suites = numbered(3, 1, 4)
    whole = rows_of(*suites, model=hashed)
    assert len(whole) == 8
    for at_once in (1, 3, 8):
        assert rows_of(*suites, model=hashed, at_once=at_once) == whole


def test_rows_are_computed_one_batch_at_a_time():
    model = Unigrams()
    rows = item_rows(numbered(8), model)
    next(rows)
    assert len(model.asked) <= 8  # of 16


def test_a_row_survives_json():
    """Infinite surprisals as well: this is how a test that was interrupted goes on."""
    rows = rows_of(*numbered(3), model=lambda beginnings: [[INF] * len(words) for words in beginnings])
    assert json.loads(json.dumps(rows)) == rows
    assert rows[0]["holds"] == [None]


# ---- Scores


HOLDS, FAILS = {"match": list("xxxax"), "mismatch": list("xxxbx")}, {"match": list("xxxbx"), "mismatch": list("xxxax")}
LIKES_A = Unigrams(a=0.5)


def test_a_score_is_the_share_of_items_whose_formula_holds():
    (found,) = scores_of(suite_of(HOLDS, FAILS, HOLDS, HOLDS), model=LIKES_A)
    assert (found["suite"], found["items"], found["score"], found["failed"]) == ("mine", 4, 3 / 4, 0)


def test_the_whole_formula_must_hold():
    """Each half holds for three of four items, both for two."""
    items = [{"a": [*one], "b": [*other]} for one, other in [("aa", "xx"), ("aa", "xx"), ("ax", "xa"), ("xa", "ax")]]
    halves = ["(1;%a%) < (1;%b%)", "(2;%a%) < (2;%b%)"]
    shares = [
        scores_of(suite_of(*items, formulas=[formula]), model=LIKES_A)[0]["score"]
        for formula in (*halves, f"[{halves[0]}] & [{halves[1]}]")
    ]
    assert shares == [3 / 4, 3 / 4, 2 / 4]


def test_a_tie_does_not_hold():
    (found,) = scores_of(suite_of(HOLDS, FAILS), model=in_place)
    assert found["score"] == 0


def test_the_score_is_that_of_the_first_prediction():
    formulas = [AGREES, "(4;%match%) > (4;%mismatch%)", "(1;%match%) = (1;%mismatch%)"]
    suite = suite_of(HOLDS, FAILS, HOLDS, HOLDS, formulas=formulas)
    assert rows_of(suite, model=LIKES_A)[1]["holds"] == [False, True, True]
    (found,) = scores_of(suite, model=LIKES_A)
    assert found["score"] == 3 / 4
    told = predictions([suite], rows_of(suite, model=LIKES_A))
    assert [(row["prediction"], row["formula"], row["score"]) for row in told] == list(
        zip([1, 2, 3], formulas, [3 / 4, 1 / 4, 1], strict=True)
    )
    assert [row["prediction"] for row in predictions([suite_of(HOLDS)], rows_of(suite_of(HOLDS), model=LIKES_A))] == [1]


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
def test_a_value_that_is_not_finite_fails_only_its_item(bad):
    def model(beginnings: Sequence[Sequence[str]]) -> list[list[float]]:
        return [[bad if word == "never" else LIKES_A.of(word) for word in words] for words in beginnings]

    spoilt = {"match": ["x", "x", "x", "a never", "x"], "mismatch": list("xxxbx")}
    suite, other = suite_of(HOLDS, spoilt, HOLDS, FAILS), suite_of(HOLDS, FAILS, name="other")
    assert [row["holds"] for row in rows_of(suite, model=model)] == [[True], [None], [True], [False]]
    found, untouched = scores_of(suite, other, model=model)
    assert (found["items"], found["score"], found["failed"]) == (4, 2 / 4, 1)
    assert (untouched["items"], untouched["score"], untouched["failed"]) == (2, 1 / 2, 0)


@pytest.mark.parametrize("bad", [INF, NAN])
def test_values_outside_a_formula_do_not_matter(bad):
    """Nor does a prediction that fails spoil the others."""
    formulas = [AGREES, "(2;%match%) > 0", "(*;%match%) > 0", "(*;%mismatch%) > 0"]
    spoilt = {"match": ["x", "never", "x", "a", "x"], "mismatch": list("xxxbx")}
    (row,) = rows_of(
        suite_of(spoilt, formulas=formulas),
        model=lambda beginnings: [[bad if w == "never" else LIKES_A.of(w) for w in words] for words in beginnings],
    )
    assert row["holds"] == [True, None, None, True]


def test_a_comparison_with_infinity_fails():
    """A search that died knows nothing: "are" may be as impossible as it should be, or the beam was too narrow."""
    (found,) = scores_of(
        suite_of(AUTHORS), model=lambda asked: [[INF if word == "are" else 1.0 for word in words] for words in asked]
    )
    assert (found["score"], found["failed"]) == (0, 1)


def test_a_sum_of_opposite_infinities_fails():
    both = {"match": ["x", "x", "x", "up down", "x"], "mismatch": list("xxxbx")}
    values = {"up": INF, "down": -INF}
    (row,) = rows_of(suite_of(both), model=lambda asked: [[values.get(word, 1.0) for word in words] for words in asked])
    assert row["holds"] == [None]


def test_unknown_words_are_counted_among_the_words_that_are_read():
    """In each condition of each item, up to the last region that is asked for: not "good", not the full stop."""
    knows = {"The", "next", "to", "the", "senators", "is"}.__contains__
    suite = suite_of(AUTHORS, AND_NOBODY)
    unknown = ["author", "author", "are", "author", "author", "are"]
    read = 7 + 7 + 3 + 3
    (found,) = scores_of(suite, knows=knows)
    assert found["unknown words"] == len(unknown) / read
    assert scores_of(suite)[0]["unknown words"] is None
    assert scores_of(suite, knows=lambda word: True)[0]["unknown words"] == 0
    assert scores_of(suite, knows=lambda word: False)[0]["unknown words"] == 1


def test_a_suite_of_empty_regions_has_a_score():
    empty = {"match": ["", "", " ", "", "x"], "mismatch": ["", "", "", " ", "x"]}
    assert scores_of(suite_of(empty), knows=lambda word: True)[0]["score"] == 0


# ---- Circuits and the three averages, of made-up scores

HU_ET_AL = {
    "Agreement": ["number_orc", "number_prep", "number_src"],
    "Center Embedding": ["center_embed", "center_embed_mod"],
    "Garden-Path Effects": ["mvrr", "mvrr_mod", "npz_ambig", "npz_ambig_mod", "npz_obj", "npz_obj_mod"],
    "Gross Syntactic State": ["subordination", "subordination_orc-orc", "subordination_pp-pp", "subordination_src-src"],
    "Licensing": [
        *("npi_orc_any", "npi_orc_ever", "npi_src_any", "npi_src_ever"),
        *("reflexive_orc_fem", "reflexive_orc_masc", "reflexive_prep_fem"),
        *("reflexive_prep_masc", "reflexive_src_fem", "reflexive_src_masc"),
    ],
    "Long-Distance Dependencies": ["cleft", "cleft_modifier", "fgd_hierarchy", "fgd_object", "fgd_pp", "fgd_subject"],
}
LEFT_OUT = ["fgd-embed3", "fgd-embed4"]  # by Hu et al., of a circuit; and nn-nv-rpl, of none
OF_33 = {**HU_ET_AL, "Long-Distance Dependencies": [*HU_ET_AL["Long-Distance Dependencies"], *LEFT_OUT]}
PUBLIC = [name for names in OF_33.values() for name in names] + ["nn-nv-rpl"]

FIRST, SECOND, THIRD = "mean of 6 circuits of 33 suites", "mean of 6 circuits of 31 suites", "mean of 31 suites"


def made_up(seed: int = 1) -> dict[str, float]:
    random = Random(seed)
    return {name: random.randrange(101) / 100 for name in PUBLIC}


def score_rows(scores: dict[str, float]) -> list[dict]:
    circuit_of = {name: circuit for circuit, names in OF_33.items() for name in names}
    return [
        {
            "suite": name,
            "circuit": circuit_of.get(name, ""),
            "reported by Hu et al.": name in circuit_of and name not in LEFT_OUT,
            "score": value,
        }
        for name, value in scores.items()
    ]


def of_circuits(scores: dict[str, float], among: dict[str, list[str]]) -> list[float]:
    return [mean(scores[name] for name in names) for names in among.values()]


def test_every_public_suite_is_known():
    expected = {name: (circuit, name not in LEFT_OUT) for circuit, names in OF_33.items() for name in names}
    assert known_circuits() == {**expected, "nn-nv-rpl": ("", False)}
    assert len(PUBLIC) == 34
    assert sum(reported for _, reported in known_circuits().values()) == 31


def test_circuits_are_means_of_their_suites():
    scores = made_up()
    found = circuits(score_rows(scores))
    assert [row["circuit"] for row in found] == list(HU_ET_AL)
    assert [row["suites"] for row in found] == [3, 2, 6, 4, 10, 8]
    assert [row["suites of Hu et al."] for row in found] == [3, 2, 6, 4, 10, 6]
    assert [row["score"] for row in found] == pytest.approx(of_circuits(scores, OF_33), abs=1e-12)
    assert [row["score, Hu et al."] for row in found] == pytest.approx(of_circuits(scores, HU_ET_AL), abs=1e-12)


def test_the_three_averages_equal_those_by_hand():
    scores = made_up()
    expected = {
        FIRST: mean(of_circuits(scores, OF_33)),
        SECOND: mean(of_circuits(scores, HU_ET_AL)),
        THIRD: mean(scores[name] for names in HU_ET_AL.values() for name in names),
    }
    found = averages(score_rows(scores))
    assert found == pytest.approx(expected, abs=1e-12)
    assert next(iter(found)) == FIRST
    assert len({round(value, 3) for value in found.values()}) == 3  # made up so that they differ


def test_the_order_of_the_suites_does_not_matter():
    rows = score_rows(made_up())
    assert averages(rows[::-1]) == averages(rows)
    assert circuits(rows[::-1]) == circuits(rows)


@pytest.mark.parametrize("name", PUBLIC)
def test_each_suite_counts_in_the_averages_where_it_must(name):
    """nn-nv-rpl in none, fgd-embed3 and fgd-embed4 in the first alone, as one of 8 of a circuit of 6."""
    scores = made_up()
    scores[name] = 0.0
    worst = averages(score_rows(scores))
    scores[name] = 1.0
    change = {key: value - worst[key] for key, value in averages(score_rows(scores)).items()}
    share = lambda among: next((1 / 6 / len(names) for names in among.values() if name in names), 0)  # noqa: E731
    among_31 = 0 if name in [*LEFT_OUT, "nn-nv-rpl"] else 1 / 31
    assert change == pytest.approx({FIRST: share(OF_33), SECOND: share(HU_ET_AL), THIRD: among_31}, abs=1e-12)


def test_averages_of_some_suites_have_their_numbers_in_their_names():
    """The names say of how many, so that nobody takes them for those of all."""
    scores = made_up()
    some = {name: scores[name] for name in ("number_orc", "number_src", "cleft", "fgd-embed3", "nn-nv-rpl")}
    agreement, cleft = mean([some["number_orc"], some["number_src"]]), some["cleft"]
    assert averages(score_rows(some)) == pytest.approx(
        {
            "mean of 2 circuits of 4 suites": (agreement + (cleft + some["fgd-embed3"]) / 2) / 2,
            "mean of 2 circuits of 3 suites": (agreement + cleft) / 2,
            "mean of 3 suites": mean([some["number_orc"], some["number_src"], cleft]),
        },
        abs=1e-12,
    )
    assert averages(score_rows({"nn-nv-rpl": 1.0})) == {}
    assert circuits(score_rows({"nn-nv-rpl": 1.0})) == []
    assert averages(score_rows({"fgd-embed3": 0.5})) == {"mean of 1 circuits of 1 suites": 0.5}
    (alone,) = circuits(score_rows({"fgd-embed3": 0.5}))
    assert (alone["score"], alone["suites of Hu et al."], alone["score, Hu et al."]) == (0.5, 0, None)


def test_suites_of_users_have_averages():
    """With a circuit of their own, or none; Hu et al. have no say in them, whatever they are called."""
    suites = [suite_of(HOLDS, name="one", circuit="Mine"), suite_of(HOLDS, FAILS, name="two")]
    scores = scores_of(*suites, model=LIKES_A)
    assert [row["circuit"] for row in scores] == ["Mine", ""]
    assert averages(scores) == {"mean of 1 circuits of 1 suites": 1, "mean of 2 suites": 3 / 4}
    assert circuits(scores) == [{"circuit": "Mine", "suites": 1, "score": 1}]
    (namesake,) = scores_of(suite_of(HOLDS, name="number_orc", circuit="Mine"), model=LIKES_A)
    assert (namesake["circuit"], namesake["reported by Hu et al."]) == ("Mine", None)


def test_rows_as_flat_tables():
    suite = suite_of(HOLDS, FAILS, formulas=[AGREES, "(1;%match%) = (1;%mismatch%)"])
    rows = rows_of(suite, model=LIKES_A)
    tables = as_tables([suite], rows)
    assert [(row["item"], row["prediction"], row["holds"]) for row in tables["items"]] == [
        (1, 1, True), (1, 2, True), (2, 1, False), (2, 2, True)
    ]  # fmt: skip
    for row in rows:
        for condition, values in row["surprisals"].items():
            mine = [r for r in tables["regions"] if (r["item"], r["condition"]) == (row["item"], condition)]
            assert [r["surprisal"] for r in mine] == values
            regions = suite.items[row["item"] - 1].conditions[condition]
            assert [r["words"] for r in mine] == [" ".join(words) for words in regions[: len(values)]]


def test_a_null_circuit_is_no_circuit():
    suites = [suite_of(HOLDS, name="one", circuit="Mine"), suite_of(HOLDS, name="two", circuit=None)]
    assert len(circuits(scores_of(*suites, model=LIKES_A))) == 1


# ---- The public suites


@pytest.fixture(scope="module")
def public(data) -> list[Suite]:
    if not list((data / "sg" / "json").glob("*.json")):
        pytest.skip("there are no SG suites in DTG_DATA: run `make data`")
    return read_suites(data / "sg" / "json")


def test_the_public_suites_are_34_and_those_of_hu_et_al_31(public):
    reported = [suite for suite in public if known_circuits()[suite.name][1]]
    items = [item for suite in reported for item in suite.items]
    assert sorted(suite.name for suite in public) == sorted(PUBLIC)
    assert (len(reported), len(items), sum(len(item.conditions) for item in items)) == (31, 799, 3132)


def test_without_a_path_the_public_suites_are_read(public, data, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(data))
    assert [suite.name for suite in read_suites()] == [suite.name for suite in public]


def test_the_circuits_are_those_of_the_public_table(public, all_data):
    table = (all_data / "sg" / "circuits.csv").read_text("utf-8").splitlines()[1:]
    cells = [line.split(",") for line in table]
    assert {suite: (circuit, reported == "yes") for suite, _, circuit, reported, *_ in cells} == known_circuits()
    of_suites = {suite.name: suite for suite in public}
    for name, _, circuit, _, items, sentences, count in cells:
        suite = of_suites[name]
        assert suite.circuit == circuit
        assert len(suite.items) == int(items)
        assert sum(len(item.conditions) for item in suite.items) == int(sentences)
        assert len(suite.predictions) == int(count)


def test_two_public_suites_have_a_second_prediction(public):
    assert {suite.name for suite in public if len(suite.predictions) == 2} == {"fgd_hierarchy", "nn-nv-rpl"}
    assert sum(len(suite.predictions) for suite in public) == 36


def test_no_word_of_the_public_suites_has_a_space_that_their_files_have(public, data):
    files = [json.loads(file.read_text("utf-8")) for file in sorted((data / "sg" / "json").glob("*.json"))]
    texts = [r["content"] for file in files for i in file["items"] for c in i["conditions"] for r in c["regions"]]
    assert sum(text != text.strip() for text in texts) == 1416
    read = [regions for suite in public for item in suite.items for regions in item.conditions.values()]
    assert [list(region) for regions in read for region in regions] == [tokenize(text.strip()) for text in texts]
    assert not any(char.isspace() for regions in read for region in regions for word in region for char in word)


def test_sentences_of_the_public_suites_have_the_same_words_whole_and_in_regions(public, data):
    """Nothing is tokenised differently for being cut: no clitic and no abbreviation stands where regions meet."""
    for suite in public:
        for item in suite.items:
            for regions in item.conditions.values():
                words = [word for region in regions for word in region]
                assert tokenize(" ".join(words)) == words


def test_twelve_public_suites_have_empty_regions(public):
    empty = {s.name for s in public for i in s.items for regions in i.conditions.values() if () in regions}
    assert len(empty & {name for name in PUBLIC if known_circuits()[name][1]}) == 12
    assert empty >= set(LEFT_OUT)


def test_some_critical_regions_of_public_suites_have_several_words(public):
    """In most of the suites that are about more than one word's form."""
    several = {
        s.name
        for s in public
        for i in s.items
        for formula in s.predictions
        for region, condition in formula.surprisals
        if len(i.conditions[condition][region - 1]) > 1
    }
    assert {"subordination", "mvrr", "npz_obj", "cleft", "fgd_pp", "nn-nv-rpl"} <= several
    assert not {"number_prep", "npi_orc_any", "reflexive_src_fem", "center_embed"} & several


def test_all_public_suites_are_scored(public):
    """By a model that gives every word the same: only longer regions are more surprising."""
    scores = scores_of(*public, model=lambda asked: [[1.0] * len(words) for words in asked])
    assert [row["items"] for row in scores] == [len(suite.items) for suite in public]
    assert {row["score"] for row in scores if row["circuit"] in ("Agreement", "Licensing")} == {0}
    assert [row["failed"] for row in scores] == [0] * 34
    assert list(averages(scores)) == [FIRST, SECOND, THIRD]


# ---- minilang's suites


def test_the_suites_of_minilang_are_read_as_they_were_made():
    made = minilang.suites()
    suites = read_suites("minilang")
    assert len(suites) == 21
    for suite, expected in zip(suites, made, strict=True):
        assert (suite.name, suite.circuit) == (expected.name, expected.circuit)
        assert suite.region_names == expected.region_names
        assert [formula.text for formula in suite.predictions] == [expected.formula]
        assert [item.conditions for item in suite.items] == [
            {condition.name: condition.regions for condition in item} for item in expected.items
        ]


def test_the_suites_of_minilang_are_read_from_a_folder_too(tmp_path):
    for suite in minilang.suites():
        write(tmp_path, suite.as_json(), f"{suite.name}.json")
    read = {suite.name: (suite.circuit, suite.items, suite.last_region) for suite in read_suites(tmp_path)}
    assert read == {suite.name: (suite.circuit, suite.items, suite.last_region) for suite in read_suites("minilang")}


# ---- Files


def test_a_file_a_folder_and_all_of_its_files_are_read(tmp_path):
    one, two = write(tmp_path, content(HOLDS, name="b"), "b.json"), write(tmp_path, content(FAILS, name="a"), "a.json")
    write(tmp_path, "not a suite", "README.md")
    assert [suite.name for suite in read_suites(one)] == ["b"]
    assert [suite.name for suite in read_suites(str(two))] == ["a"]
    assert [suite.name for suite in read_suites(tmp_path)] == ["a", "b"]


def complaint(path: Path | str | None) -> str:
    with pytest.raises(UserError) as found:
        read_suites(path)
    return str(found.value)


def test_missing_suites_are_an_error_with_a_way_out(tmp_path, monkeypatch):
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "nowhere.json"):
        assert complaint(path).startswith(f"{path}: there are no test suites (*.json); name a folder or file")
        assert "minilang" in complaint(path)
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    assert complaint(None).startswith(f"{tmp_path / 'sg' / 'json'}: there are no test suites")
    assert "make data" in complaint(None)


def test_two_suites_of_one_name_are_an_error(tmp_path):
    write(tmp_path, content(HOLDS, name="same"), "a.json")
    write(tmp_path, content(FAILS, name="same"), "b.json")
    assert complaint(tmp_path) == f"{tmp_path}: two of the files define 'same'"


@pytest.mark.parametrize("text", ["", "{", "no JSON", "[1, 2", "\udcff"])
def test_invalid_json_is_an_error(tmp_path, text):
    (tmp_path / "mine.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert complaint(tmp_path).startswith(f"{tmp_path / 'mine.json'}: cannot be read")


def test_a_folder_named_like_a_file_is_an_error(tmp_path):
    (tmp_path / "mine.json").mkdir()
    assert complaint(tmp_path).startswith(f"{tmp_path / 'mine.json'}: cannot be read")


@pytest.mark.parametrize("other", ["null", "3", '"suite"', "[]", "{}", '{"meta": []}'])
def test_json_without_a_suite_is_an_error(tmp_path, other):
    file = write(tmp_path, other)
    assert complaint(file).startswith(f"{file}: this is no test suite in SyntaxGym's format (")


PARTS = [
    ("meta",),
    ("meta", "name"),
    ("region_meta",),
    ("predictions",),
    ("predictions", 0, "formula"),
    ("items",),
    ("items", 0, "item_number"),
    ("items", 0, "conditions"),
    ("items", 0, "conditions", 1, "condition_name"),
    ("items", 0, "conditions", 1, "regions"),
    ("items", 0, "conditions", 1, "regions", 2, "region_number"),
    ("items", 0, "conditions", 1, "regions", 2, "content"),
]


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path[-1])
def test_a_missing_or_null_part_is_an_error_with_the_file(tmp_path, path):
    for name, break_key in {"missing": dict.pop, "null": lambda inner, key: inner.update({key: None})}.items():
        written = content(AUTHORS)
        inner = written
        for key in path[:-1]:
            inner = inner[key]
        break_key(inner, path[-1])
        file = write(tmp_path, written, f"{name}.json")
        null = "must be text" if path[-1] == "name" else "this is no test suite in SyntaxGym's format ("
        reason = f"it lacks {path[-1]!r}" if name == "missing" else null
        assert complaint(file).startswith(f"{file}: ") and reason in complaint(file), name


def wrong(change: Callable[[dict], object], **others) -> dict:
    written = content(AUTHORS, HOLDS, **others)
    change(written)
    return written


def conditions_of(written: dict, item: int = 1) -> list[dict]:
    return written["items"][item]["conditions"]


@pytest.mark.parametrize(
    ("written", "what"),
    [
        (wrong(lambda w: w["items"].clear()), "it has no items"),
        (wrong(lambda w: w["items"][1].update(item_number=1)), "two of its items have the same number"),
        (content(AUTHORS, formulas=["1 < 2"]), "a prediction asks for no surprisal"),
        (wrong(lambda w: w["predictions"].clear()), "it predicts nothing"),
        (wrong(lambda w: w["meta"].update(metric="mean")), "its metric is 'mean'; only sums of surprisals are known"),
        (content(AUTHORS, formulas=["(4;%match%) <"]), "the formula '(4;%match%) <' cannot be read: "),
        (
            content(AUTHORS, formulas=[AGREES, "(4;%match%) < 1 < 2"]),
            "the formula '(4;%match%) < 1 < 2': an operator is missing, or two comparisons are chained",
        ),
        (
            content(AUTHORS, formulas=["(4;%match%) < (4;%miss%)"]),
            "item 1: '(4;%match%) < (4;%miss%)' asks for the condition 'miss', which is not there",
        ),
        (
            content(AUTHORS, formulas=[AGREES, "(*;%miss%) > 0"]),
            "item 1: '(*;%miss%) > 0' asks for the condition 'miss', which is not there",
        ),
        (
            wrong(lambda w: conditions_of(w).pop()),
            f"item 2: '{AGREES}' asks for the condition 'mismatch', which is not there",
        ),
        (
            content(AUTHORS, formulas=["(6;%match%) > 0"]),
            "item 1: '(6;%match%) > 0' asks for region 6, which is not there",
        ),
        (
            content(AUTHORS, {**AUTHORS, "mismatch": ["The", "author", "are"]}),
            f"item 2: '{AGREES}' asks for region 4, which is not there",
        ),
        (wrong(lambda w: conditions_of(w).append(conditions_of(w)[0])), "item 2, match: this condition is there twice"),
        (
            wrong(lambda w: conditions_of(w)[1]["regions"].pop(2)),
            "item 2, mismatch: its regions are numbered [1, 2, 4, 5]",
        ),
        (
            wrong(lambda w: conditions_of(w)[0]["regions"][0].update(region_number=2)),
            "item 2, match: its regions are numbered [2, 2, 3, 4, 5]",
        ),
        (
            wrong(lambda w: conditions_of(w)[0]["regions"][0].update(region_number=0)),
            "item 2, match: its regions are numbered [0, 2, 3, 4, 5]",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_names_the_file_and_the_place_in_a_suite(tmp_path, written, what):
    write(tmp_path, content(HOLDS, name="good"), "good.json")
    file = write(tmp_path, written)
    assert complaint(tmp_path).startswith(f"{file}: {what}")


# ---- Models of this library


NARROW = Widths(12, 8, 2, 6)


def a_few(*names: str, items: int = 2) -> list[Suite]:
    return [suite._replace(items=suite.items[:items]) for suite in read_suites("minilang") if suite.name in names]


def speaks(suites: Sequence[Suite]) -> Vocabulary:
    """Whole words and all of them, so that there are few pieces."""
    return Vocabulary.of_words([list(r) for s in suites for i in s.items for c in i.conditions.values() for r in c])


@in_every_kind_of_model
def test_the_surprisals_of_regions_are_sums_of_those_of_words(name):
    """fgd_subject has conditions with empty regions; of each sentence, the words by themselves and to the end."""
    suites = a_few("number_prep", "fgd_subject")
    model = small_model(name, speaks(suites))
    assert any(() in regions for regions in suites[1].items[0].conditions.values())
    rows = rows_of(*suites, model=of_beginnings(model, NARROW))
    expected = []
    for suite in suites:
        for item in suite.items:
            expected.append({})
            sentences = [[word for region in regions for word in region] for regions in item.conditions.values()]
            found = surprisals(model, sentences, NARROW)
            for (condition, regions), read in zip(item.conditions.items(), found, strict=True):
                stops = [sum(map(len, regions[:count])) for count in range(suite.last_region + 1)]
                expected[-1][condition] = [sum(read.of_words[start:stop]) for start, stop in pairwise(stops)]
    assert len(rows) == len(expected) == 4
    for row, by_hand in zip(rows, expected, strict=True):
        assert list(row["surprisals"]) == list(by_hand)
        for condition, of_regions in by_hand.items():
            assert row["surprisals"][condition] == pytest.approx(of_regions, abs=1e-4)
            assert max(of_regions) > 1
    assert len(suites[0].region_names) > suites[0].last_region  # something was left unread


def test_a_real_model_has_the_same_rows_in_any_batch():
    suites = a_few("number_prep", "fgd_subject", items=3)
    surprise = of_beginnings(small_model("dtg", speaks(suites)), NARROW)
    whole = rows_of(*suites, model=surprise)
    for row, same in zip(rows_of(*suites, model=surprise, at_once=1), whole, strict=True):
        assert row["holds"] == same["holds"]
        for condition, values in same["surprisals"].items():
            assert row["surprisals"][condition] == pytest.approx(values, abs=1e-4)


def test_a_model_of_pieces_reads_unknown_words():
    """Most words of minilang are new to it, and are put together of bytes."""
    (suite,) = a_few("number_prep", items=1)
    (row,) = rows_of(suite, model=of_beginnings(small_model("txl-tokens"), NARROW))
    assert row["holds"][0] in (True, False)
    assert all(0 < value < INF for values in row["surprisals"].values() for value in values)
