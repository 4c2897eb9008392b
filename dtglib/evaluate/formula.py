"""The formulas of SyntaxGym's test suites, which are conditions on the surprisals of an item's regions.

    >>> formula = parse("[(5;%mismatch%) > (5;%match%)] & [(*;%match%) < 90.5]")
    >>> formula.asked                           # the regions and conditions that it mentions
    ((5, 'mismatch'), (5, 'match'), (0, 'match'))
    >>> formula.holds(lambda region, condition: 9.1 if condition == "mismatch" else 2.3)    # the surprisal of each
    True

`(5;%match%)` is the surprisal of region 5 in condition "match", `(*;%match%)` the sum over all its regions. The
operators, from the one that binds most tightly: + and -; < > and = (= means close: within 1e-3 plus 1e-5 of the right
side); &; |. There are numbers, and brackets [ ] around any part. A formula with wrong types, such as a comparison of
comparisons or a sum of truth values, is rejected when it is read, with the place of the error.
"""

import math
import operator
import re
from collections.abc import Callable
from typing import NamedTuple, no_type_check

from dtglib.basics.errors import UserError

MOST_DEEP = 100
ALL_REGIONS = 0  # the number for `*`; regions are counted from 1

# A function from a region and a condition to the surprisal.
Look = Callable[[int, str], float]
Node = Callable[[Look], float | bool]

TOKEN = re.compile(
    r"""\s*(?:
      \(\s*(?P<region>\d+|\*)\s*;\s*%(?P<condition>[^%]+)%\s*\)
    | (?P<number>\d+(?:\.\d*)?|\.\d+)
    | (?P<sign>[-+<>=&|\[\]])
    )""",
    re.VERBOSE,
)


class Formula(NamedTuple):
    """A condition on surprisals."""

    text: str
    asked: tuple[tuple[int, str], ...]  # region (ALL_REGIONS: all of them) and condition
    holds: Callable[[Look], bool]


def is_close(left: float, right: float) -> bool:
    """The meaning of `=` in SyntaxGym."""
    return abs(left - right) <= 1e-3 + 1e-5 * abs(right)


NUMBERS, TRUTHS = "numbers", "truths"
# Operators, from the loosest to the tightest, with the types of their operands and of their result.
LEVELS = (
    ({"|": operator.or_}, TRUTHS, TRUTHS),
    ({"&": operator.and_}, TRUTHS, TRUTHS),
    ({"<": operator.lt, ">": operator.gt, "=": is_close}, NUMBERS, TRUTHS),
    ({"+": operator.add, "-": operator.sub}, NUMBERS, NUMBERS),
)


def parse(text: str) -> Formula:
    """Parse a formula; a UserError says what is wrong with it, and where."""
    reader = _Reader(text)
    kind, node = reader.level(0)
    if reader.token:
        raise reader.complaint(f"{reader.token[0].strip()!r} is not expected")
    if kind != TRUTHS:
        raise reader.complaint("this is a number; a prediction needs a comparison")
    return Formula(text, tuple(dict.fromkeys(reader.asked)), node)


@no_type_check  # a checked call makes two more calls, and MOST_DEEP brackets would then exceed Python's recursion limit
class _Reader:
    """A recursive-descent parser: one method call per part of the formula."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth, self.asked = text.strip(), 0, 0, []
        self.token: re.Match | None = None
        self.advance()

    def advance(self) -> None:
        """Go on to the next token, which is None at the end."""
        if self.token:
            self.place = self.token.end()
        self.token = TOKEN.match(self.text, self.place)
        if not self.token and self.text[self.place :].strip():
            raise self.complaint(f"{self.text[self.place :].strip()[:20]!r} is no part of a formula")

    def complaint(self, what: str) -> UserError:
        return UserError(f"the formula {self.text!r}, character {self.place + 1}: {what}")

    def sign(self) -> str | None:
        return self.token and self.token["sign"]

    def level(self, depth: int) -> tuple[str, Node]:
        """Parse one or several parts that are joined by the operators of this level."""
        if depth == len(LEVELS):
            return self.part()
        signs, takes, gives = LEVELS[depth]
        kind, first = self.level(depth + 1)
        others = []
        while self.sign() in signs:
            if kind != takes:
                raise self.complaint(f"{self.sign()!r} needs {takes} on both sides; use brackets [ ]")
            join = signs[self.sign()]
            self.advance()
            kind_of_right, right = self.level(depth + 1)
            if kind_of_right != takes:
                raise self.complaint(f"{takes} are needed on both sides; use brackets [ ]")
            kind = gives
            others.append((join, right))
        return kind, _joined(first, others) if others else first

    def part(self) -> tuple[str, Node]:
        """Parse a surprisal, a number, or a part in brackets."""
        token = self.token
        if not token:
            raise self.complaint("the formula ends too early")
        if token["sign"] in ("[", "-"):
            self.depth += 1
            if self.depth > MOST_DEEP:
                raise self.complaint(f"more than {MOST_DEEP} brackets and minuses within one another cannot be read")
            found = self._bracketed() if token["sign"] == "[" else self._negative()
            self.depth -= 1
            return found
        if token["sign"]:
            raise self.complaint(f"{token['sign']!r} is not expected")
        if token["number"]:
            self.advance()
            return NUMBERS, lambda look: float(token["number"])
        region = ALL_REGIONS if token["region"] == "*" else int(token["region"])
        if region == ALL_REGIONS and token["region"] != "*":
            raise self.complaint("regions are counted from 1")
        self.advance()
        atom = region, token["condition"].strip()
        self.asked.append(atom)
        return NUMBERS, lambda look: look(*atom)

    def _bracketed(self) -> tuple[str, Node]:
        self.advance()
        inner = self.level(0)
        if self.sign() != "]":
            raise self.complaint("a bracket is not closed")
        self.advance()
        return inner

    def _negative(self) -> tuple[str, Node]:
        self.advance()
        kind, node = self.part()
        if kind != NUMBERS:
            raise self.complaint("'-' needs a number")
        return NUMBERS, lambda look: -node(look)


def _joined(first: Node, others: list[tuple[Callable, Node]]) -> Node:
    """Apply the operators from left to right, in a loop: a long chain needs no recursion."""

    def value(look: Look) -> float | bool:
        so_far = first(look)
        for join, node in others:
            so_far = join(so_far, node(look))
        return so_far

    return value


def is_finite(formula: Formula, look: Look) -> bool:
    """Whether all surprisals that the formula asks for are finite."""
    return all(math.isfinite(look(*atom)) for atom in formula.asked)
