"""The formulas of SyntaxGym: what is read is what was written, and what is loose is refused, with the place.

Two judges that know nothing of the reader: trees of operations, evaluated as they are before they are written down; and
Python's own grammar, in which a formula reads the same once `[ ]`, `&` and `|` are spelled `( )`, `and` and `or`.
"""

import ast
import json
from collections.abc import Callable
from functools import cache
from itertools import product
from random import Random

import numpy as np
import pyparsing as pp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtglib.basics.errors import UserError
from dtglib.evaluate.formula import ALL_REGIONS, MOST_DEEP, ROUND, SQUARE, Formula, dialect_of, is_finite, parse

VALUES = {"a": 1.0, "b": 2.0, "c": 4.0}  # nats, of each region of a condition


def look(region: int, condition: str) -> float:
    """Region 1 has the value of its condition, region 2 ten times as much, all regions together a hundred times."""
    return VALUES[condition] * {ALL_REGIONS: 100, 1: 1, 2: 10}[region]


def holds(text: str) -> bool:
    """`a` stands for the surprisal of region 1 in condition a."""
    for condition in VALUES:
        text = text.replace(f" {condition} ", f" (1;%{condition}%) ")
    return parse(text).holds(look)


def complaint(text: str) -> str:
    with pytest.raises(UserError) as found:
        parse(text)
    return str(found.value)


# ---- One sign at a time


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" a < b ", True),
        (" b < a ", False),
        (" a < a ", False),
        (" b > a ", True),
        (" a > b ", False),
        (" a > a ", False),
        (" a = a ", True),
        (" a = b ", False),
        (" a + b = 3", True),
        (" b - a = 1", True),
        (" a - b = - 1", True),
        (" - a < 0", True),
        (" - - a = 1", True),
        (" - [ a - b ] = 1", True),
        (" b = + 2", True),
        (" b - + a = 1", True),
        (" a < b & b < c ", True),
        (" a < b & c < b ", False),
        (" b < a & b < c ", False),
        (" a < b | c < b ", True),
        (" b < a | b < c ", True),
        (" b < a | c < b ", False),
    ],
)
def test_each_sign_means_what_it_says(text, expected):
    assert holds(text) is expected


@pytest.mark.parametrize("number", ["1", "1.0", "1.", "001", "1.000", "+1", "1e0", ".1E+1", "10.e-1"])
def test_numbers_are_decimal(number):
    assert holds(f" a = {number}")
    assert not holds(f" b = {number}")


def test_a_number_may_begin_with_its_point():
    assert parse(".5 = 0.5").holds(look)


def test_a_surprisal_is_of_a_region_in_a_condition():
    assert parse("(1;%c%) = 4").holds(look)
    assert parse("(2;%c%) = 40").holds(look)


def test_a_star_is_all_regions_together():
    formula = parse("(*;%b%) = 200")
    assert formula.holds(look)
    assert formula.asked == ((ALL_REGIONS, "b"),)


def test_conditions_may_be_called_anything_without_a_percent_sign():
    for name in ("no-obj_no-comma", "that_no-gap", "1 < 2", "[&]", "été"):
        assert parse(f"(3;%{name}%) > 0").asked == ((3, name),)


def test_spaces_say_nothing():
    tight, loose = "[(1;%a%)+(1;%b%)]<(1;%c%)", "  [ ( 1 ; % a % )\t+ (1 ;%b %) ]\n <  ( 1;%c% )  "
    assert parse(tight).asked == parse(loose).asked == ((1, "a"), (1, "b"), (1, "c"))
    assert parse(tight).holds(look)
    assert parse(loose).holds(look)


def test_what_is_asked_twice_is_listed_once_in_the_order_of_the_text():
    assert parse("(2;%b%) > (1;%a%) & (1;%a%) < (*;%b%) & (2;%b%) > 0").asked == ((2, "b"), (1, "a"), (0, "b"))


def test_the_text_is_kept_as_it_was():
    assert parse(" [1 < 2] ").text == " [1 < 2] "


# ---- Close


@pytest.mark.parametrize("right", [0.0, 1.0, 7.25, 150.0, 1e5])
@pytest.mark.parametrize("share", [-2, -1.01, -0.99, -0.5, 0, 0.5, 0.99, 1.01, 2])
def test_equal_is_close_as_in_numpy(right, share):
    """SyntaxGym's own: a thousandth, and in addition a hundred-thousandth of the right side."""
    left = right + share * (1e-3 + 1e-5 * right)
    found = parse("(1;%left%) = (1;%right%)").holds(lambda _, condition: {"left": left, "right": right}[condition])
    assert found == np.isclose(left, right, rtol=1e-5, atol=1e-3) == (abs(share) < 1)


def test_it_is_the_right_side_that_counts():
    # 1e5 is 1.001 + 0.00000999 from the other, which is too much or not: the allowance grows with the right side.
    small, large = 1e5, 1e5 + 1.001005
    assert parse("(1;%s%) = (1;%l%)").holds(lambda _, condition: {"s": small, "l": large}[condition])
    assert not parse("(1;%l%) = (1;%s%)").holds(lambda _, condition: {"s": small, "l": large}[condition])


# ---- What binds more


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4 - 2 - 1 = 1", True),  # from the left
        ("4 - [2 - 1] = 3", True),
        ("4 - 2 + 1 = 3", True),
        ("- 1 + 2 = 1", True),  # a sign belongs to what is next to it
        ("- [1 + 2] = 0 - 3", True),
        ("1 + 1 < 3 - 0", True),  # + and - before comparisons
        ("1 > 2 | 1 < 2 & 1 < 2", True),  # & before |
        ("1 < 2 | 1 < 2 & 1 > 2", True),  # [1 < 2 | 1 < 2] & 1 > 2 would be false
        ("[1 < 2 | 1 < 2] & 1 > 2", False),
        ("1 > 2 & 1 < 2 | 1 < 2", True),
        ("1 > 2 & [1 < 2 | 1 < 2]", False),
        ("[[[1 < 2]]]", True),
        ("[[1] + [[2]]] < [4]", True),
    ],
)
def test_what_binds_more_comes_first_and_brackets_change_it(text, expected):
    assert parse(text).holds(look) is expected


BINDS = {"|": 1, "&": 2, "<": 3, ">": 3, "=": 3, "+": 4, "-": 4, "minus": 5, "number": 6, "surprisal": 6}

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
    """With the brackets that it needs, some that it does not, and spaces here and there."""
    binds = BINDS[tree[0]]

    def inner(part: tuple, least: int) -> str:
        text = written(part, random)
        return f"[{space()}{text}]" if BINDS[part[0]] < least or random.random() < 0.15 else text

    def space() -> str:
        return random.choice(["", "", " ", "  "])

    match tree:
        case ("number", digits):
            return space() + digits + space()
        case ("surprisal", region, condition):
            return f"{space()}({region};{space()}%{condition}{space()}%){space()}"
        case ("minus", part):
            return f"-{space()}{inner(part, binds)}"
    # What is on the right of a sign of the same strength would be read as on the left without brackets.
    return inner(tree[1], binds) + tree[0] + inner(tree[2], binds + 1)


def surprisals_in(tree: tuple) -> set[tuple[str, str]]:
    if tree[0] == "surprisal":
        return {tree[1:]}
    return set().union(*(surprisals_in(part) for part in tree[1:] if isinstance(part, tuple)))


@given(TRUTHS, SURPRISALS, st.randoms(use_true_random=False))
def test_what_is_read_is_what_was_written(tree, surprisals, random):
    formula = parse(written(tree, random))
    found = formula.holds(lambda region, condition: surprisals[str(region or "*"), condition])
    assert found is value(tree, surprisals)
    assert {(str(region or "*"), condition) for region, condition in formula.asked} == surprisals_in(tree)


IN_PYTHON = {"(1;%a%)": "a", "1": "1", "+": "+", "-": "-", "<": "<", "&": " and ", "[": "(", "]": ")"}


def kind_in_python(node: ast.expr) -> str:
    """Whether it is a number or a truth; or nothing, where Python lets something pass that is no formula."""
    match node:
        case ast.Constant() | ast.Name():
            return "number"
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner) if kind_in_python(inner) == "number":
            return "number"
        case ast.BinOp(left=left, right=right) if {kind_in_python(left), kind_in_python(right)} == {"number"}:
            return "number"
        case ast.Compare(left=left, comparators=[right]) if {kind_in_python(left), kind_in_python(right)} == {"number"}:
            return "truth"
        case ast.BoolOp(values=values) if set(map(kind_in_python, values)) == {"truth"}:
            return "truth"
    return ""


def by_python(tokens: tuple[str, ...]) -> bool | None:
    """Whether a formula holds, or None if it is none."""
    text = "".join(IN_PYTHON[token] + " " for token in tokens).strip()
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    return eval(text, {"a": 2.0}) if kind_in_python(tree.body) == "truth" else None


def by_parse(tokens: tuple[str, ...]) -> bool | None:
    try:
        formula = parse(" ".join(tokens))  # "1 1" is two numbers
    except UserError:
        return None
    return formula.holds(lambda region, condition: 2.0)


@pytest.mark.slow
def test_of_all_texts_of_up_to_six_parts_those_are_formulas_that_python_takes_for_such():
    texts = [tokens for size in range(7) for tokens in product(IN_PYTHON, repeat=size)]
    expected = [by_python(tokens) for tokens in texts]
    assert [by_parse(tokens) for tokens in texts] == expected
    assert expected.count(True) > 50
    assert expected.count(False) > 50


@given(st.text("[]()|&<>=+-*;%ab01. ", max_size=20))
def test_any_text_is_a_formula_or_refused(text):
    try:
        formula = parse(text)
    except UserError as error:
        assert str(error).startswith(f"the formula {text.strip()!r}, character ")
    else:
        assert formula.holds(lambda region, condition: 1.0) in (True, False)


# ---- The dialect of SyntaxGym


@cache
def syntaxgyms_grammar() -> pp.ParserElement:
    """An evaluator of its own, after the grammar of SyntaxGym 0.6; it reads a formula as a function of surprisals."""
    name = pp.Word(pp.alphanums + "_-")
    region = pp.Group(pp.Suppress("(") + (pp.Word(pp.nums) | "*") + pp.Suppress(";%") + name + pp.Suppress("%)"))
    region = region.set_parse_action(lambda found: lambda values: values[tuple(found[0])])
    number = pp.common.number.copy().set_parse_action(lambda found: lambda values, value=float(found[0]): value)

    def chain(operations: dict[str, Callable]):
        def joined(found):
            first, *others = found[0]

            def evaluated(values):
                so_far = first(values)
                for sign, right in zip(others[::2], others[1::2], strict=True):
                    so_far = operations[sign](so_far, right(values))
                return so_far

            return evaluated

        return joined

    compared = {
        "<": lambda x, y: x < y,
        ">": lambda x, y: x > y,
        "=": lambda x, y: bool(np.isclose(x, y, rtol=1e-5, atol=1e-3)),
    }
    levels = (
        {"-": lambda x, y: x - y, "+": lambda x, y: x + y},
        compared,
        {"&": lambda x, y: x and y, "|": lambda x, y: x or y},
    )
    operators = [(pp.one_of(list(signs)), 2, pp.OpAssoc.LEFT, chain(signs)) for signs in levels]
    return pp.infix_notation(region | number, operators)


def in_syntaxgym(random: Random, kind: str, depth: int) -> str:
    """A random formula, or a number, as SyntaxGym writes them; brackets stand where they must, and elsewhere too."""
    if kind == "number":
        if depth == 0 or random.random() < 0.4:
            condition = random.choice(["a", "no-obj_b", "c"])
            atoms = [f"({random.choice('12*')};%{condition}%)", random.choice(["1", "+2", "-1.5", "1e1", ".5", "2."])]
            return random.choice(atoms)
        left, right = (in_syntaxgym(random, "number", depth - 1) for _ in range(2))
        return f"{left} {random.choice('+-')} {random.choice([right, f'({right})'])}"
    if depth == 0 or random.random() < 0.2:
        return f"{in_syntaxgym(random, 'number', 2)} {random.choice('<>=')} {in_syntaxgym(random, 'number', 2)}"
    parts = [in_syntaxgym(random, "truth", depth - 1) for _ in range(random.randint(2, 4))]
    parts = [random.choice([part, f"({part})", f"( {part} )"]) for part in parts]
    return "".join(part + random.choice([" & ", "|"]) for part in parts[:-1]) + parts[-1]


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.slow)])
def test_random_formulas_in_round_brackets_hold_as_in_syntaxgym(count):
    random, held, depending = Random(1), 0, 0
    for _ in range(count):
        text = in_syntaxgym(random, "truth", 2)
        values = {key: random.choice([0.0, 1.0, 2.0, 2.0005]) for key in product("12*", ["a", "no-obj_b", "c"])}
        formula = parse(text, ROUND)
        found = formula.holds(lambda region, condition, values=values: values[str(region or "*"), condition])
        assert found is syntaxgyms_grammar().parse_string(text, parse_all=True)[0](values), text
        held += found
        depending += formula.depends
    assert count / 4 < held < 3 * count / 4 and depending > count / 10


@pytest.mark.parametrize(
    ("text", "depends"),
    [
        ("1 < 2 | 1 < 2 & 1 > 2", True),
        ("1 < 2 & 1 < 2 | 1 > 2", False),
        ("1 < 2 | {1 < 2 & 1 > 2}", False),
        ("{1 < 2 | 1 < 2} & 1 > 2", False),
        ("1 < 2 | {1 < 2} & 1 > 2", True),
        ("{1 < 2 | 1 < 2 & 1 > 2}", True),
    ],
)
def test_a_formula_depends_on_its_dialect_where_and_follows_or(text, depends):
    square, rounded = text.replace("{", "[").replace("}", "]"), text.replace("{", "(").replace("}", ")")
    assert parse(square).depends is parse(rounded, ROUND).depends is depends
    assert depends == (parse(square).holds(look) != parse(rounded, ROUND).holds(look)) or not depends


def test_brackets_tell_the_dialect_of_a_file():
    region = "(1;%a%) > (2;%a%)"
    assert dialect_of([region]) is SQUARE
    assert dialect_of([region, f"[{region}]"]) is SQUARE
    assert dialect_of([region, f"({region}) & {region}"]) is ROUND
    assert "'(' is not expected" in complaint(f"[({region})]"), "not both"


# ---- What is refused


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("", 1, "the formula ends too early"),
        ("   ", 1, "the formula ends too early"),
        ("1 <", 4, "the formula ends too early"),
        ("1 < 2 &", 8, "the formula ends too early"),
        ("-", 2, "the formula ends too early"),
        ("[", 2, "the formula ends too early"),
        ("1", 2, "this is a number; a prediction needs a comparison"),
        ("(1;%a%) + 1", 12, "this is a number"),
        ("[1 < 2", 7, "a bracket is not closed"),
        ("[1 < 2 3]", 7, "a bracket is not closed"),
        ("1 < 2]", 6, "']' is not expected"),
        ("1 2 < 3", 2, "'2' is not expected"),
        ("(1;%a%)(2;%a%) < 3", 8, "'(2;%a%)' is not expected"),
        ("[] < 1", 2, "']' is not expected"),
        ("< 1", 1, "'<' is not expected"),
        ("1 <= 2", 4, "'=' is not expected"),
        ("1 == 2", 4, "'=' is not expected"),
        ("1 < & 2", 4, "'&' is not expected"),
        ("1.5.2 < 3", 4, "'.2' is not expected"),
        ("1 < 2 < 3", 6, "'<' needs numbers on both sides; use brackets [ ]"),
        ("1 < 2 = 3", 6, "'=' needs numbers on both sides"),
        ("[1 < 2] + 1 > 0", 8, "'+' needs numbers on both sides"),
        ("[1 < 2] > 0", 8, "'>' needs numbers on both sides"),
        ("1 > [1 < 2]", 12, "numbers are needed on both sides; use brackets [ ]"),
        ("1 - [1 < 2] > 0", 12, "numbers are needed on both sides"),
        ("3 & 1 < 2", 2, "'&' needs truths on both sides"),
        ("3 | 1 < 2", 2, "'|' needs truths on both sides"),
        ("1 < 2 & 3", 10, "truths are needed on both sides"),
        ("1 < 2 | [3 + 4]", 16, "truths are needed on both sides"),
        ("- [1 < 2]", 10, "'-' needs a number"),
        ("(0;%a%) > 1", 1, "regions are counted from 1"),
        ("(1;%a%) ? 1", 8, "'? 1' is no part of a formula"),
        ("1 < x", 4, "'x' is no part of a formula"),
        ("1e < 2", 2, "'e < 2' is no part of a formula"),
        ("((1;%a%) < 2)", 1, "'(' is not expected"),
        ("+ [1 < 2]", 10, "'+' needs a number"),
        ("(1;%a%) > (2,%a%)", 10, "'(' is not expected; a surprisal is written (5;%condition%)"),
        ("(1;a) < 1", 1, "'(' is not expected; a surprisal is written (5;%condition%)"),
        ("(-1;%a%) < 1", 1, "'(' is not expected; a surprisal is written (5;%condition%)"),
        ("(1.5;%a%) < 1", 1, "'(' is not expected; a surprisal is written (5;%condition%)"),
        ("(1;%%) < 1", 1, "'(' is not expected; a surprisal is written (5;%condition%)"),
        ("(1 < 2)", 1, "'(' is not expected; a surprisal is written (5;%condition%)"),
        ("1 * 2 < 3", 2, "'* 2 < 3' is no part of a formula"),
        ("__import__('os').abort()", 1, "\"__import__('os').abo\" is no part of a formula"),
    ],
)
def test_what_is_loose_is_refused_with_the_place(text, place, what):
    """The place is where what could be read ends."""
    assert complaint(text).startswith(f"the formula {text.strip()!r}, character {place}: {what}")


def test_the_place_is_one_in_the_text_that_is_shown():
    assert complaint("   (1;%a%) ? 1").startswith("the formula '(1;%a%) ? 1', character 8: ")


def test_no_way_to_write_zero_makes_it_a_region():
    assert "regions are counted from 1" in complaint("(00;%a%) > 1")


def test_what_is_nested_is_read_up_to_a_limit():
    assert parse("[" * MOST_DEEP + "1 < 2" + "]" * MOST_DEEP).holds(look)
    assert parse("-" * MOST_DEEP + "1 < 2").holds(look)
    for text in ("[" * 101 + "1 < 2" + "]" * 101, "-" * 101 + "1 < 2", "[" * 10**5):
        assert "more than 100 brackets and minuses" in complaint(text)


def test_hyphens_of_names_are_no_minuses():
    assert parse(" & ".join(["(5;%no-obj_no-comma%) > (5;%no-obj_comma%)"] * 40)).holds(lambda *_: 1.0) is False


def test_a_formula_may_be_long():
    assert parse("+".join(["(1;%a%)"] * 3000) + " > 2999").holds(look)


# ---- Numbers that are none


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_a_formula_is_finite_if_all_that_it_asks_for_is(bad):
    formula = parse("(1;%a%) < 3 | (*;%b%) > (2;%a%)")

    def only(region: int, condition: str) -> Callable[[int, str], float]:
        return lambda *atom: bad if atom == (region, condition) else 1.0

    assert is_finite(formula, lambda *_: 1.0)
    assert [is_finite(formula, only(*atom)) for atom in formula.asked] == [False] * 3
    assert is_finite(formula, only(2, "b"))  # which nobody asks for
    assert is_finite(parse("1 < 2"), lambda *_: bad)


# ---- The public suites: what each of their formulas says, written by hand


def less(region: int, *pairs: tuple[str, str]) -> Callable:
    """At a region, the first condition of each pair is the less surprising one."""
    return lambda s: all(s(region, better) < s(region, worse) for better, worse in pairs)


def agreement(region: int) -> Callable:
    return less(region, ("match_sing", "mismatch_sing"), ("match_plural", "mismatch_plural"))


def plausible(region: int) -> Callable:
    """Two verbs, the second at the next region."""
    return lambda s: s(region, "plaus") + s(region + 1, "plaus") < s(region, "implaus") + s(region + 1, "implaus")


def cleft(region: int) -> Callable:
    """Two effects together: of "what he did was ... the table" at the noun phrase, and of the verb phrase."""

    def both(s: Callable) -> bool:
        of_noun = s(region + 1, "np_mismatch") - s(region + 1, "np_match")
        of_verb = (s(region, "vp_mismatch") + s(region + 1, "vp_mismatch")) - (
            s(region, "vp_match") + s(region + 1, "vp_match")
        )
        return of_noun + of_verb > 0

    return both


def garden_path(region: int, misled: str, cue: str, other_cue: str, both_cues: str) -> Callable:
    """Either cue helps, and the first one more where the other is not there."""

    def all_three(s: Callable) -> bool:
        helped = s(region, misled) > s(region, cue) and s(region, misled) > s(region, other_cue)
        return helped and s(region, misled) - s(region, cue) > s(region, other_cue) - s(region, both_cues)

    return all_three


def relative(region: int) -> Callable:
    return garden_path(region, "reduced_ambig", "unreduced_ambig", "reduced_unambig", "unreduced_unambig")


def ambiguous_verb(region: int) -> Callable:
    return garden_path(region, "ambig_nocomma", "ambig_comma", "unambig_nocomma", "unambig_comma")


def object_or_not(region: int) -> Callable:
    return garden_path(region, "no-obj_no-comma", "no-obj_comma", "obj_no-comma", "obj_comma")


def filler_gap(filled: int, gap: int, nogap: str = "nogap", what_gap: str = "gap") -> Callable:
    """After "what", something where the gap should be surprises, and what follows the gap does not."""
    with_gap = less(gap, (f"what_{what_gap}", f"that_{what_gap}"))
    return lambda s: s(filled, f"what_{nogap}") > s(filled, f"that_{nogap}") and with_gap(s)


def no_effect_of_what(s: Callable) -> bool:
    pairs = [(s(9, "what_nogap"), s(9, "that_nogap")), (s(6, "what_subjgap"), s(6, "that_subjgap"))]
    return all(np.isclose(left, right, rtol=1e-5, atol=1e-3) for left, right in pairs)


def negative(region: int) -> Callable:
    return less(region, ("neg_pos", "pos_pos"), ("neg_neg", "pos_neg"), ("neg_pos", "pos_neg"))


def subordinate(region: int) -> Callable:
    """After "when ...", an end of the sentence surprises more and a second clause less."""
    ends = less(region, ("no-sub_no-matrix", "sub_no-matrix"))
    goes_on = less(region, ("sub_matrix", "no-sub_matrix"))
    return lambda s: ends(s) and goes_on(s)


BY_HAND: dict[str, list[Callable]] = {
    "center_embed": [plausible(6)],
    "center_embed_mod": [plausible(7)],
    "cleft": [cleft(5)],
    "cleft_modifier": [cleft(6)],
    "fgd-embed3": [filler_gap(6, 7, nogap="no-gap")],
    "fgd-embed4": [filler_gap(6, 7, nogap="no-gap")],
    "fgd_hierarchy": [filler_gap(6, 6, what_gap="subjgap"), no_effect_of_what],
    "fgd_object": [filler_gap(5, 6)],
    "fgd_pp": [filler_gap(7, 8)],
    "fgd_subject": [filler_gap(3, 4)],
    "mvrr": [relative(5)],
    "mvrr_mod": [relative(6)],
    "nn-nv-rpl": [less(5, ("nn_unambig", "nn_ambig")), less(5, ("nv_unambig", "nv_ambig"))],
    **{f"npi_{clause}_{word}": [negative(8)] for clause in ("orc", "src") for word in ("any", "ever")},
    "npz_ambig": [ambiguous_verb(5)],
    "npz_ambig_mod": [ambiguous_verb(6)],
    "npz_obj": [object_or_not(5)],
    "npz_obj_mod": [object_or_not(6)],
    "number_orc": [agreement(7)],
    "number_prep": [agreement(6)],
    "number_src": [agreement(7)],
    **{
        f"reflexive_{between}_{gender}": [agreement(region)]
        for between, region in (("orc", 8), ("prep", 7), ("src", 8))
        for gender in ("fem", "masc")
    },
    "subordination": [subordinate(3)],
    **{f"subordination_{between}": [subordinate(5)] for between in ("orc-orc", "pp-pp", "src-src")},
}


def read_formulas(data) -> dict[str, list[Formula]]:
    files = sorted((data / "sg" / "json").glob("*.json"))
    if not files:
        pytest.skip("there are no SG suites in DTG_DATA: run `make data`")
    contents = [json.loads(file.read_text("utf-8")) for file in files]
    return {
        content["meta"]["name"]: [parse(each["formula"]) for each in content["predictions"]] for content in contents
    }


def test_the_public_suites_have_36_formulas(data):
    assert {name: len(found) for name, found in read_formulas(data).items()} == {
        name: len(expected) for name, expected in BY_HAND.items()
    }
    assert sum(map(len, BY_HAND.values())) == 36


def test_every_public_formula_says_what_it_says_by_hand(data):
    """Of 400 random items for each, some of whose surprisals are the same or close."""
    random = Random(1)
    for name, formulas in read_formulas(data).items():
        for formula, expected in zip(formulas, BY_HAND[name], strict=True):
            outcomes = []
            for _ in range(400):
                drawn = {atom: random.choice([0.0, 1.0, 1.0005, 2.0, 3.5]) for atom in formula.asked}
                surprisal = lambda *atom, drawn=drawn: drawn[atom]  # noqa: E731
                outcomes.append(formula.holds(surprisal))
                assert outcomes[-1] == expected(surprisal), (name, formula.text, drawn)
            assert set(outcomes) == {True, False}, name
