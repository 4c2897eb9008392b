"""German inflection: articles, adjectives, nouns, pronouns and verbs.

    der kleine Hund      den kleinen Hund      ein kleiner Hund      kleine Hunde
    weak, after `der`    accusative            mixed, after `ein`    strong, without a determiner

The gender of a plural does not matter, so that a column of a paradigm is one of m, f, n, pl. Cases are nom, acc and
dat: the fragment has no genitive but that of names ("Johns Buch").

    >>> article("der", "m", "acc"), adjective("klein", "weak", "m", "acc"), adjective("klein", "mixed", "m", "nom")
    ('den', 'kleinen', 'kleiner')
    >>> verb = Verb("an|ziehen", ("zieht", "zog", "gezogen"))
    >>> verb.finite("past", "sg"), verb.particle, verb.participle, verb.infinitive_with_zu
    ('zog', 'an', 'angezogen', ('anzuziehen',))
"""

import re
from dataclasses import dataclass
from functools import cached_property

COLUMNS = ("m", "f", "n", "pl")
CASES = ("nom", "acc", "dat")


def _paradigm(text: str) -> dict[tuple[str, str], str]:
    """Read a table: a line for each case, a cell for each of m, f, n, pl."""
    rows = [line.split() for line in text.strip().splitlines()]
    return {(COLUMNS[i], CASES[j]): cell for j, row in enumerate(rows) for i, cell in enumerate(row)}


# The endings of words like `dieser`, and those of `ein` and its like, which have none in three places (-).
STRONG = _paradigm("er e es e \n en e es e \n em er em en")
LIKE_EIN = _paradigm("- e - e \n en e - e \n em er em en")
ENDINGS = {
    "strong": STRONG,
    "weak": _paradigm("e e e en \n en e e en \n en en en en"),
    "mixed": _paradigm("er e es en \n en e es en \n en en en en"),
}
DEFINITE = _paradigm("der die das die \n den die das die \n dem der dem den")
# The relative pronoun is the article but for one form.
RELATIVE = DEFINITE | {("pl", "dat"): "denen"}
PERSONAL = _paradigm("er sie es sie \n ihn sie es sie \n ihm ihr ihm ihnen")
WHO = {"nom": "wer", "acc": "wen", "dat": "wem"}

# How a determiner is inflected (like `dieser` or like `ein`), and the adjective after it.
DETERMINERS = {
    **dict.fromkeys(("dieser", "jener", "jeder", "welcher"), ("dieser", "weak")),
    "alle": ("dieser", "weak"),
    **dict.fromkeys(("einige", "viele", "mehrere", "wenige"), ("dieser", "strong")),
    **dict.fromkeys(("ein", "kein", "irgendein", "sein", "ihr"), ("ein", "mixed")),
}


def article(lemma: str, column: str, case: str) -> str:
    """The form of a determiner: `article("der", "m", "acc")` is `den`."""
    if lemma == "der":
        return DEFINITE[column, case]
    if lemma == "irgendein" and column == "pl":
        return "irgendwelche" + STRONG[column, case][1:]
    like, _ = DETERMINERS[lemma]
    ending = (LIKE_EIN if like == "ein" else STRONG)[column, case]
    stem = re.sub("(er|e)$", "", lemma) if like == "dieser" else lemma
    return stem + ending.replace("-", "")


def after(lemma: str | None) -> str:
    """The inflection of an adjective after a determiner: strong, weak or mixed."""
    return "strong" if lemma is None else "weak" if lemma == "der" else DETERMINERS[lemma][1]


def adjective(lemma: str, inflection: str, column: str, case: str) -> str:
    """The form of an adjective before a noun: `adjective("teuer", "weak", "f", "nom")` is `teure`."""
    stem = "teur" if lemma == "teuer" else lemma.removesuffix("e")
    return stem + ENDINGS[inflection][column, case]


@dataclass(frozen=True)
class Noun:
    """A noun with its gender; `weak` nouns add -(e)n to all forms but the nominative singular."""

    gender: str
    singular: str
    plural: str
    weak: bool = False

    def form(self, number: str, case: str) -> str:
        """The form of a number and a case."""
        if number == "sg":
            return self.singular if case == "nom" or not self.weak else self.plural
        return self.plural if case != "dat" or self.plural[-1] in "ns" else f"{self.plural}n"


PREFIXES = ("be", "ver", "zer", "er", "ent", "ge", "über", "unter", "um", "miss")


@dataclass(frozen=True)
class Verb:
    """A verb: its infinitive, with `|` after a separable particle, and its principal parts if it is not regular."""

    name: str
    parts: tuple[str, str, str] | None = None
    perfect: str = "haben"
    reflexive: bool = False
    case: str = "acc"
    preposition: str | None = None

    @property
    def particle(self) -> str:
        """The separable particle, or an empty string."""
        return self.name.rpartition("|")[0]

    @property
    def base(self) -> str:
        """The infinitive without the particle."""
        return self.name.rpartition("|")[2]

    @cached_property
    def infinitive(self) -> str:
        """The infinitive in one word: `anziehen`."""
        return self.particle + self.base

    @cached_property
    def infinitive_with_zu(self) -> tuple[str, ...]:
        """`("zu", "sehen")`, or `("anzuziehen",)`."""
        return (f"{self.particle}zu{self.base}",) if self.particle else ("zu", self.base)

    @cached_property
    def _principal(self) -> tuple[str, str, str]:
        if self.parts:
            return self.parts
        stem = re.sub("e?n$", "", self.base)
        joint = "e" if re.search("(t|d|chn)$", stem) else ""
        has_ge = self.base == "beten" or not (self.base.endswith("ieren") or self.base.startswith(PREFIXES))
        return f"{stem}{joint}t", f"{stem}{joint}te", f"{'ge' if has_ge else ''}{stem}{joint}t"

    @cached_property
    def participle(self) -> str:
        """The past participle: `angezogen`."""
        return self.particle + self._principal[2]

    def finite(self, tense: str, number: str) -> str:
        """The third person, without the particle."""
        present, past, _ = self._principal
        if tense == "pres":
            return present if number == "sg" else {"sein": "sind"}.get(self.base, self.base)
        if tense == "subj":
            past = SUBJUNCTIVES[self.base]
        return past if number == "sg" else f"{past}n" if past[-1] == "e" else f"{past}en"


SUBJUNCTIVES = {"können": "könnte", "werden": "würde"}
