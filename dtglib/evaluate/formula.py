"""The formulas of SyntaxGym's test suites, which are conditions on the surprisals of an item's regions.

    >>> formula = parse("[(5;%mismatch%) > (5;%match%)] & [(*;%match%) < 90.5]")
    >>> formula.surprisals                           # the regions and conditions that it mentions
    ((5, 'mismatch'), (5, 'match'), (0, 'match'))
    >>> formula.holds(lambda region, condition: 9.1 if condition == "mismatch" else 2.3)    # the surprisal of each
    True

`(5;%match%)` is the surprisal of region 5 in condition "match", `(*;%match%)` the sum over all its regions. The
operators, from the one that binds most tightly: + and -; < > and = (= means close: within 1e-3 plus 1e-5 of the right
side); & and |. There are numbers, and brackets [ ] or ( ) around any part. A formula with wrong types, such as a
comparison of comparisons or a sum of truth values, is rejected when it is read, with the place of the error. So is one
with & and | side by side, without brackets: Hu et al. (2020) let & bind more tightly, and SyntaxGym's own program (0.6)
reads both from left to right.
"""

import math
import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError

ALL_REGIONS = 0  # the number for `*`; regions are counted from 1

# A function from a region and a condition to the surprisal.
Look = Callable[[int, str], float]
# A number, a pair of a region and a condition, or an operator with its operands.
Tree = float | tuple[Any, ...]

TOKEN = re.compile(
    r"""\s*(?:
      \(\s*(?P<region>\d+|\*)\s*;\s*%(?P<condition>[^%]+)%\s*\)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)
    | (?P<sign>[-+<>=&|()\[\]])
    )""",
    re.VERBOSE,
)


class Formula(NamedTuple):
    """A condition on surprisals."""

    text: str
    surprisals: tuple[tuple[int, str], ...]  # region (ALL_REGIONS: all of them) and condition
    holds: Callable[[Look], bool]


def is_close(left: float, right: float) -> bool:
    """The meaning of `=` in SyntaxGym."""
    return abs(left - right) <= 1e-3 + 1e-5 * abs(right)


CONNECTIVES = {"|": operator.or_, "&": operator.and_}
COMPARISONS = {"<": operator.lt, ">": operator.gt, "=": is_close}
OPERATORS = {"+": operator.add, "-": operator.sub, **COMPARISONS, **CONNECTIVES}
BRACKETS = {"[": "]", "(": ")"}
STRENGTH = {"|": 1, "&": 1, "<": 2, ">": 2, "=": 2, "+": 3, "-": 3}


def parse(text: str) -> Formula:
    """Parse a formula; a UserError says what is wrong with it, and where."""
    reader = _FormulaReader(text)
    try:
        tree = reader.formula()
        _value(tree, lambda *surprisal: 0.0)  # a chain may be too long for this
    except RecursionError:
        raise UserError(f"the formula {text[:80]!r} is too long, or nested too deeply, to be read") from None
    return Formula(text, tuple(dict.fromkeys(reader.surprisals)), lambda look: bool(_value(tree, look)))


def is_finite(formula: Formula, look: Look) -> bool:
    """True if all surprisals in the formula are finite."""
    return all(math.isfinite(look(*surprisal)) for surprisal in formula.surprisals)


def _value(tree: Tree, look: Look) -> float | bool:
    if isinstance(tree, float):
        return tree
    if len(tree) == 2:
        return look(*tree)
    sign, left, right = tree
    return OPERATORS[sign](_value(left, look), _value(right, look))


class _FormulaReader:
    """A parser by precedence climbing."""

    def __init__(self, text: str) -> None:
        self.text, self.surprisals = text.strip(), []
        self.place = 0
        self.token: re.Match[str] | None = None
        self.sign: Any = None

    def formula(self) -> Tree:
        """Parse the whole text."""
        self.advance()
        tree = self.chain(1)
        if self.token:
            raise self.complaint(f"{self.token[0].strip()!r} is not expected")
        return self.checked(tree, True, "a prediction")

    def advance(self) -> None:
        """Go on to the next token, which is None at the end."""
        self.place = self.token.end() if self.token else 0
        self.token = TOKEN.match(self.text, self.place)
        self.sign = self.token["sign"] if self.token else None
        if not self.token and (rest := self.text[self.place :].strip()):
            raise self.complaint(f"{rest[:20]!r} is no part of a formula; a surprisal is written (5;%condition%)")

    def complaint(self, what: str) -> UserError:
        return UserError(f"the formula {self.text!r}, character {self.place + 1}: {what}")

    def checked(self, tree: Tree, is_truth: bool, what: str) -> Tree:
        """Raise an error unless the value of the tree is of the right type."""
        if is_truth != (isinstance(tree, tuple) and tree[0] in (*COMPARISONS, *CONNECTIVES)):
            raise self.complaint(f"{what} needs {'a comparison' if is_truth else 'a number'} here; use more brackets")
        return tree

    def chain(self, least: int) -> Tree:
        """Parse operands that are joined by operators of at least this strength."""
        tree, connective = self.operand(), None
        while (strength := STRENGTH.get(self.sign, 0)) >= least:
            sign, is_truth = self.sign, self.sign in CONNECTIVES
            if is_truth:
                if connective not in (None, sign):
                    raise self.complaint("& and | stand side by side; put brackets around one of them")
                connective = sign
            left = self.checked(tree, is_truth, repr(sign))
            self.advance()
            tree = sign, left, self.checked(self.chain(strength + 1), is_truth, repr(sign))
        return tree

    def operand(self) -> Tree:
        """Parse a surprisal, a number, a part in brackets, or one of these after a plus or minus."""
        token, sign = self.token, self.sign
        if not token:
            raise self.complaint("the formula ends too early")
        if sign and sign not in "+-[(":
            raise self.complaint(f"{sign!r} is not expected")
        if token["region"] and token["region"] != "*" and int(token["region"]) == 0:
            raise self.complaint("regions are counted from 1")
        self.advance()
        if sign in BRACKETS:
            tree = self.chain(1)
            if self.sign != BRACKETS[sign]:
                raise self.complaint("a bracket is not closed")
            self.advance()
            return tree
        if sign:
            return sign, 0.0, self.checked(self.operand(), False, repr(sign))
        if token["number"]:
            return float(token["number"])
        region = ALL_REGIONS if token["region"] == "*" else int(token["region"])
        self.surprisals.append((region, token["condition"].strip()))
        return self.surprisals[-1]
