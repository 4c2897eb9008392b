"""The formulas of SyntaxGym's test suites, which are conditions on the surprisals of an item's regions.

    >>> formula = parse("[(5;%mismatch%) > (5;%match%)] & [(*;%match%) < 90.5]")
    >>> formula.surprisals                           # the regions and conditions that it mentions
    ((5, 'mismatch'), (5, 'match'), (0, 'match'))
    >>> formula.holds(lambda region, condition: 9.1 if condition == "mismatch" else 2.3)    # the surprisal of each
    True

`(5;%match%)` is the surprisal of region 5 in condition "match", `(*;%match%)` the sum over all its regions. The
operators, from the one that binds most tightly: + and -; < > and = (= means close: within 1e-3 plus 1e-5 of the right
side); & and |. There are numbers, and brackets [ ] or ( ) around any part. A formula with wrong types, such as a
comparison of comparisons or a sum of truth values, is rejected when it is read. So is one with & and | side by side,
without brackets: Hu et al. (2020) let & bind more tightly, and SyntaxGym's own program (0.6) reads both from left to
right. Python's operators bind in the same order, so the formula is rewritten and read by Python's parser.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError, require

ALL_REGIONS = 0  # the number for `*`; regions are counted from 1

# A function from a region and a condition to the surprisal.
Look = Callable[[int, str], float]
# A number, or a pair of a region and a condition.
Operand = float | tuple[int, str]

TOKEN = re.compile(
    r"""\(\s*(?P<region>\d+|\*)\s*;\s*%(?P<condition>[^%]+)%\s*\)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)
    | (?P<sign>[-+<>=&|()\[\]])
    | (?P<other>\S)""",
    re.VERBOSE,
)
IN_PYTHON = {"[": "(", "]": ")", "=": "==", "&": "and", "|": "or"}
CLOSING = {"[": "]", "(": ")"}


class Formula(NamedTuple):
    """A condition on surprisals."""

    text: str
    surprisals: tuple[tuple[int, str], ...]  # region (ALL_REGIONS: all of them) and condition
    holds: Callable[[Look], bool]


def is_close(left: float, right: float) -> bool:
    """The meaning of `=` in SyntaxGym."""
    return abs(left - right) <= 1e-3 + 1e-5 * abs(right)


OPERATORS: dict[type, Callable[..., Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.UAdd: operator.pos, ast.USub: operator.neg},
    **{ast.Lt: operator.lt, ast.Gt: operator.gt, ast.Eq: is_close, ast.And: all, ast.Or: any},
}


def parse(text: str) -> Formula:
    """Parse a formula; a UserError says what is wrong with it."""
    try:
        operands, python = _rewritten(text)
        tree = ast.parse(python, mode="eval").body
        _value(tree, [0.0] * len(operands), True)
    except (RecursionError, MemoryError):
        raise UserError(f"the formula {text[:80]!r} is too long, or nested too deeply, to be read") from None
    except SyntaxError:
        way_out = "operators stand between operands, and a surprisal is written (5;%condition%)"
        raise UserError(f"the formula {text.strip()[:200]!r} cannot be read: {way_out}") from None
    except UserError as error:
        raise UserError(f"the formula {text.strip()[:200]!r}: {error}") from None

    def holds(look: Look) -> bool:
        return bool(_value(tree, [look(*each) if isinstance(each, tuple) else each for each in operands], True))

    return Formula(text, tuple(dict.fromkeys(each for each in operands if isinstance(each, tuple))), holds)


def is_finite(formula: Formula, look: Look) -> bool:
    """True if all surprisals in the formula are finite."""
    return all(math.isfinite(look(*surprisal)) for surprisal in formula.surprisals)


def _rewritten(text: str) -> tuple[list[Operand], str]:
    """The operands of a formula, and the same formula in Python, in which `_3` stands for operand 3."""
    operands: list[Operand] = []
    words: list[str] = []
    brackets, connectives = [""], [""]  # the open ones, and the connective so far within each
    for token in TOKEN.finditer(text):
        rest, sign = text[token.start() :][:20].strip(), token["sign"]
        require(not token["other"], f"{rest!r} is no part of a formula; a surprisal is written (5;%condition%)")
        if sign in CLOSING:
            brackets.append(CLOSING[sign])
            connectives.append("")
        elif sign in CLOSING.values():
            require(brackets.pop() == sign, f"there is no bracket for this {sign!r} to close")
            connectives.pop()
        elif sign and sign in "&|":
            require(connectives[-1] in ("", sign), "& and | stand side by side; put brackets around one of them")
            connectives[-1] = sign
        if sign:
            words.append(IN_PYTHON.get(sign, sign))
            continue
        words.append(f"_{len(operands)}")
        if token["number"]:
            operands.append(float(token["number"]))
            continue
        region = ALL_REGIONS if token["region"] == "*" else int(token["region"])
        require(region or token["region"] == "*", "regions are counted from 1")
        operands.append((region, token["condition"].strip()))
    require(len(brackets) == 1, "a bracket is not closed")
    return operands, " ".join(words)


def _value(tree: ast.expr, operands: Sequence[float], is_truth: bool) -> float | bool:
    """The value of a formula; a UserError if it is not of the right type."""
    if is_truth != isinstance(tree, ast.Compare | ast.BoolOp):
        raise UserError(f"{'a comparison' if is_truth else 'a number'} is needed somewhere; use more brackets")
    match tree:
        case ast.Name(name):
            return operands[int(name[1:])]
        case ast.UnaryOp(sign, part):
            return OPERATORS[type(sign)](_value(part, operands, False))
        case ast.BinOp(left, sign, right) | ast.Compare(left, [sign], [right]):
            return OPERATORS[type(sign)](_value(left, operands, False), _value(right, operands, False))
        case ast.BoolOp(sign, parts):
            return OPERATORS[type(sign)]([_value(part, operands, True) for part in parts])
    raise UserError("an operator is missing, or two comparisons are chained; use more brackets")
