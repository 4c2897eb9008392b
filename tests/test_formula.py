"""The formulas of SyntaxGym's suites: random ones are evaluated as built, and malformed ones are rejected."""

import json
from collections.abc import Callable
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtglib.basics.errors import UserError
from dtglib.evaluate.formula import ALL_REGIONS, is_finite, parse

# The operators that bind more tightly have higher numbers.
STRENGTH = {"|": 1, "&": 1, "<": 2, ">": 2, "=": 2, "+": 3, "-": 3}
VALUES = {"a": 1.0, "b": 2.0, "c": 4.0}  # nats, of each region of a condition


def look(region: int, condition: str) -> float:
    """Region 1 has the value of its condition, region 2 ten times as much, all regions together a hundred times."""
    return VALUES[condition] * {ALL_REGIONS: 100, 1: 1, 2: 10}[region]


def complaint(text: str) -> str:
    with pytest.raises(UserError) as raised:
        parse(text)
    return str(raised.value)


# ---- Operators, numbers and surprisals


@pytest.mark.parametrize("number", ["1", "1.0", "1.", "001", "+1", "1e0", ".1E+1", "10.e-1", "+-+-1"])
def test_numbers_are_decimal(number):
    assert parse(f"(1;%a%) = {number}").holds(look)
    assert not parse(f"(1;%b%) = {number}").holds(look)


@pytest.mark.parametrize("name", ["no-obj_no-comma", "that_no-gap", "1 < 2", "[&]", "été"])
def test_names_of_conditions_have_any_character_but_percent(name):
    assert parse(f"(3;%{name}%) > 0").surprisals == ((3, name),)


def test_spaces_are_ignored():
    tight, loose = "[(1;%a%)+(1;%b%)]<(1;%c%)", "  [ ( 1 ; % a % )\t+ (1 ;%b %) ]\n <  ( 1;%c% )  "
    assert parse(tight).surprisals == parse(loose).surprisals == ((1, "a"), (1, "b"), (1, "c"))
    assert parse(tight).holds(look) and parse(loose).holds(look)


def test_surprisals_are_listed_once_in_the_order_of_the_text():
    text = " (2;%b%) > (1;%a%) & (1;%a%) < (*;%b%) & (2;%b%) > 0 "
    assert parse(text).surprisals == ((2, "b"), (1, "a"), (ALL_REGIONS, "b"))
    assert parse(text).text == text


@pytest.mark.parametrize("right", [0.0, 1.0, 7.25, 150.0, 1e5])
@pytest.mark.parametrize("share", [-2, -1.01, -0.99, -0.5, 0, 0.5, 0.99, 1.01, 2])
def test_equal_is_close_as_in_numpy(right, share):
    left = right + share * (1e-3 + 1e-5 * right)
    found = parse("(1;%left%) = (1;%right%)").holds(lambda _, condition: {"left": left, "right": right}[condition])
    assert found == np.isclose(left, right, rtol=1e-5, atol=1e-3) == (abs(share) < 1)


def test_the_tolerance_grows_with_the_right_side():
    small, large = 1e5, 1e5 + 1.001005
    assert parse("(1;%s%) = (1;%l%)").holds(lambda _, condition: {"s": small, "l": large}[condition])
    assert not parse("(1;%l%) = (1;%s%)").holds(lambda _, condition: {"s": small, "l": large}[condition])


# ---- Precedence and brackets


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4 - 2 - 1 = 1", True),  # from the left
        ("4 - [2 - 1] = 3", True),
        ("4 - 2 + 1 = 3", True),
        ("- 1 + 2 = 1", True),  # a sign belongs to the next operand
        ("- [1 + 2] = 0 - 3", True),
        ("1 + 1 < 3 - 0", True),
        ("1 > 2 | [1 < 2 & 1 < 2]", True),
        ("1 < 2 | [1 < 2 & 1 > 2]", True),
        ("[1 < 2 | 1 < 2] & 1 > 2", False),
        ("(1 > 2 & 1 < 2) | 1 < 2", True),
        ("1 > 2 & (1 < 2 | 1 < 2)", False),
        ("1 > 2 | 1 > 2 | 1 < 2", True),
        ("1 < 2 & 1 < 2 & 1 > 2", False),
        ("[[1] + [[2]]] < [4]", True),
        ("(2;%c%) = 40 & (*;%b%) = 200", True),
    ],
)
def test_precedence_by_hand(text, expected):
    assert parse(text).holds(look) is expected


NUMBERS = st.recursive(
    st.tuples(st.just("number"), st.sampled_from(["0", "1", "2.5", ".25", "10."]))
    | st.tuples(st.just("surprisal"), st.sampled_from("*12"), st.sampled_from("ab")),
    lambda inner: st.tuples(st.sampled_from("+-"), inner, inner) | st.tuples(st.just("minus"), inner),
    max_leaves=6,
)
TRUTHS = st.recursive(
    st.tuples(st.sampled_from("<>="), NUMBERS, NUMBERS),
    lambda inner: st.tuples(st.sampled_from("&|"), inner, inner),
    max_leaves=6,
)
# Few different ones, so that some are the same, and some close.
SURPRISALS = st.fixed_dictionaries({key: st.sampled_from([0.0, 1.0, 1.0005, 2.5, 3.0]) for key in product("*12", "ab")})


def value(tree: tuple, surprisals: dict) -> float | bool:
    """What comes out, by definition."""
    match tree:
        case ("number", digits):
            return float(digits)
        case ("surprisal", region, condition):
            return surprisals[region, condition]
        case ("minus", inner):
            return -value(inner, surprisals)
    sign, left, right = tree[0], value(tree[1], surprisals), value(tree[2], surprisals)
    return {
        "|": left or right,
        "&": left and right,
        "<": left < right,
        ">": left > right,
        "=": bool(np.isclose(left, right, rtol=1e-5, atol=1e-3)),
        "+": left + right,
        "-": left - right,
    }[sign]


def written(tree: tuple, random: Random) -> str:
    """The text of a tree, with the brackets that it needs, some that it does not need, and spaces here and there."""
    strength = STRENGTH | {"minus": 5, "number": 6, "surprisal": 6}
    opens, closes = random.choice(["[]", "()"])

    def inner(part: tuple, least: int) -> str:
        text, are_mixed = written(part, random), {part[0], tree[0]} == {"&", "|"}
        needs = strength[part[0]] < least or are_mixed
        return f"{opens}{space()}{text}{closes}" if needs or random.random() < 0.15 else text

    def space() -> str:
        return random.choice(["", "", " ", "  "])

    match tree:
        case ("number", digits):
            return space() + digits + space()
        case ("surprisal", region, condition):
            return f"{space()}({region};{space()}%{condition}{space()}%){space()}"
        case ("minus", part):
            return f"-{space()}{inner(part, 5)}"
    binds = strength[tree[0]]
    # Without brackets, operators of the same strength are read from left to right.
    return inner(tree[1], binds) + tree[0] + inner(tree[2], binds + 1)


def surprisals_in(tree: tuple) -> set[tuple[str, str]]:
    if tree[0] == "surprisal":
        return {tree[1:]}
    return set().union(*(surprisals_in(part) for part in tree[1:] if isinstance(part, tuple)))


@given(tree=TRUTHS, surprisals=SURPRISALS, random=st.randoms(use_true_random=False))
def test_a_random_formula_has_the_value_of_its_tree(tree, surprisals, random):
    formula = parse(written(tree, random))
    assert formula.holds(lambda region, name: surprisals[str(region or "*"), name]) is value(tree, surprisals)
    assert {(str(region or "*"), condition) for region, condition in formula.surprisals} == surprisals_in(tree)


@given(st.text("[]()|&<>=+-*;%ab01. ", max_size=20))
def test_any_text_is_a_formula_or_rejected(text):
    try:
        formula = parse(text)
    except UserError as error:
        assert str(error).startswith(f"the formula {text.strip()!r}")
    else:
        formula.holds(lambda region, condition: 1.0)


# ---- What is rejected


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (
            ("", "1 <", "-", "1 2 < 3", "< 1", "1 <= 2", "1.5.2 < 3", "(1;%a%) (2;%a%) < 3"),
            " cannot be read",
        ),
        (("[", "[1 < 2", "[1 < 2 3]["), ": a bracket is not closed"),
        (("[1 < 2)", "(1 < 2]"), ": there is no bracket for this"),
        (("1 < 2]", "] 1 < 2 ["), ": there is no bracket for this ']' to close"),
        (("(1;%a%) + 1", "3 & 1 < 2", "1 < 2 | [3 + 4]", "1 [1]", "1"), ": a comparison is needed"),
        (("[1 < 2] + 1 > 0", "1 > [1 < 2]", "1 - [1 < 2] > 0", "- [1 < 2] < 1"), ": a number is needed"),
        (("1 < 2 < 3", "1 < 2 = 3", "[] < 1", "1 [1] < 2"), ": an operator is missing, or two comparisons"),
        (("1 < 2 | 1 < 2 & 1 > 2", "1 < 2 & 1 < 2 | 1 > 2"), ": & and | stand side by side; put brackets around one"),
        (("[1 < 2 & (1 > 2) | 1 > 2]", "1 < 2 & [1 < 2] | [1 < 2]"), ": & and | stand side by side"),
        (("(0;%a%) > 1", "(00;%a%) > 1"), ": regions are counted from 1"),
        (("1 < x", "x"), ": 'x' is no part of a formula; a surprisal is written (5;%condition%)"),
        (("1e < 2",), ": 'e < 2' is no part of a formula"),
        (("(1;%a%) > (2,%a%)",), ": ',%a%)' is no part of a formula"),
        (("(-1;%a%) < 1", "(1.5;%a%) < 1", "(1 ;%a%%) < 1"), ": ';%a%"),
        (("1 * 2 < 3",), ": '* 2 < 3' is no part of a formula"),
        (("_0 < 1",), ": '_0 < 1' is no part of a formula"),
    ],
)
def test_a_malformed_formula_is_rejected_by_name(texts, what):
    for text in texts:
        for padded in (text, f"   {text} "):
            assert complaint(padded).startswith(f"the formula {text!r}{what}")


def test_deeply_nested_formulas_are_read_up_to_a_limit():
    assert parse("[" * 20 + "1 < " + "-" * 20 + "2" + "]" * 20).holds(look)
    for text in ("-" * 10**4 + "1 < 2", "1" + "+ 1" * 10**4 + " > 2"):
        assert "is too long, or nested too deeply, to be read" in complaint(text)
    assert "cannot be read" in complaint("[" * 10**4 + "1 < 2" + "]" * 10**4)


# ---- Infinite values


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_a_formula_is_finite_if_all_that_it_asks_for_is(bad):
    formula = parse("(1;%a%) < 3 | (*;%b%) > (2;%a%)")

    def only(region: int, condition: str) -> Callable[[int, str], float]:
        return lambda *atom: bad if atom == (region, condition) else 1.0

    assert is_finite(formula, lambda *_: 1.0)
    assert [is_finite(formula, only(*atom)) for atom in formula.surprisals] == [False] * 3
    assert is_finite(formula, only(2, "b"))  # it is not in the formula
    assert is_finite(parse("1 < 2"), lambda *_: bad)


# ---- The public suites: a formula of each shape, written by hand


def cleft(s: Callable) -> bool:
    """Two effects together: of "what he did was ... the table" at the noun phrase, and of the verb phrase."""
    noun = s(6, "np_mismatch") - s(6, "np_match")
    verb = (s(5, "vp_mismatch") + s(6, "vp_mismatch")) - (s(5, "vp_match") + s(6, "vp_match"))
    return noun + verb > 0


def reduced_relative(s: Callable) -> bool:
    """Either cue helps, and the first one helps more where the other is missing."""
    misled, cue = s(5, "reduced_ambig"), s(5, "unreduced_ambig")
    other_cue, both_cues = s(5, "reduced_unambig"), s(5, "unreduced_unambig")
    return misled > cue and misled > other_cue and misled - cue > other_cue - both_cues


def no_effect_of_what(s: Callable) -> bool:
    pairs = [(s(9, "what_nogap"), s(9, "that_nogap")), (s(6, "what_subjgap"), s(6, "that_subjgap"))]
    return all(np.isclose(left, right, rtol=1e-5, atol=1e-3) for left, right in pairs)


def filler_gap(s: Callable) -> bool:
    """After "what", a word at the place of the gap is surprising, and the word after the gap is not."""
    return s(6, "what_nogap") > s(6, "that_nogap") and s(6, "what_subjgap") < s(6, "that_subjgap")


def plausible(s: Callable) -> bool:
    return s(6, "plaus") + s(7, "plaus") < s(6, "implaus") + s(7, "implaus")


def agreement(s: Callable) -> bool:
    return s(6, "match_sing") < s(6, "mismatch_sing") and s(6, "match_plural") < s(6, "mismatch_plural")


BY_HAND: dict[str, list[Callable]] = {
    "center_embed": [plausible],
    "cleft": [cleft],
    "fgd_hierarchy": [filler_gap, no_effect_of_what],
    "mvrr": [reduced_relative],
    "number_prep": [agreement],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_public_formulas_have_the_values_of_functions_written_by_hand(data, name):
    """Of 400 random items, some of whose surprisals are the same or close."""
    file = data / "sg" / "json" / f"{name}.json"
    if not file.exists():
        pytest.skip("there are no SG suites in DTG_DATA: run `make data`")
    formulas = [parse(each["formula"]) for each in json.loads(file.read_text("utf-8"))["predictions"]]
    random = Random(1)
    for formula, expected in zip(formulas, BY_HAND[name], strict=True):
        outcomes = set()
        for _ in range(400):
            drawn = {atom: random.choice([0.0, 1.0, 1.0005, 2.0, 3.5]) for atom in formula.surprisals}
            surprisal = lambda *atom, drawn=drawn: drawn[atom]  # noqa: E731
            assert formula.holds(surprisal) == expected(surprisal), (formula.text, drawn)
            outcomes.add(formula.holds(surprisal))
        assert outcomes == {True, False}
