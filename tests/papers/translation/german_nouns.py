"""The part of the German recogniser that reads noun phrases and prepositional phrases.

A phrase is read from left to right. A determiner decides about column, case and the inflection of the adjective that
may follow; the noun must have the same column and case. What cannot be known yet stays open: "die Frau" is read twice,
as a nominative and as an accusative.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from german_forms import Agreement, forms

from dtgpapers.translation.german.words import lexicon


class Phrase(NamedTuple):
    """A noun phrase: where it ends, its case and column, and whether it is a pronoun."""

    end: int
    case: str
    column: str
    light: bool = False


class PrepositionalPhrase(NamedTuple):
    """A prepositional phrase: where it ends, its preposition, and the case of its noun phrase."""

    end: int
    preposition: str
    case: str


class NounReader(ABC):
    """Reads the noun phrases of one sentence."""

    def __init__(self, words: Sequence[str]):
        self.words = words

    def word(self, place: int) -> str:
        """The word at this place, or nothing beyond the end."""
        return self.words[place] if place < len(self.words) else ""

    @abstractmethod
    def relative_clauses(self, start: int, column: str) -> frozenset[int]:
        """The possible ends of a relative clause that begins here."""

    @functools.cache  # noqa: B019 - a reader lives as long as its sentence
    def noun_phrases(self, start: int, with_clause: bool = True) -> frozenset[Phrase]:
        """All noun phrases that begin here."""
        found = set(self._single(start, with_clause))
        if self.word(start) in lexicon().other["focus"].values():
            found |= {phrase._replace(light=False) for phrase in self._single(start + 1, with_clause)}
        for phrase in list(found):
            if self.word(phrase.end) == "und" and not phrase.light:
                for second in self._single(phrase.end + 1, with_clause):
                    if second.case == phrase.case:
                        found.add(Phrase(second.end, phrase.case, "pl"))
        return frozenset(found)

    def _single(self, start: int, with_clause: bool) -> Iterator[Phrase]:
        """Noun phrases without coordination."""
        word, table = self.word(start), forms()
        for reading in table.pronouns.get(word, ()):
            yield Phrase(start + 1, reading.case, reading.column, light=True)
        for some in (table.indefinites, table.quantities):
            for reading in some.get(word, ()):
                yield Phrase(start + 1, reading.case, reading.column)
        if word in table.names:
            for case in ("nom", "acc", "dat"):
                for column in ("m", "f"):
                    yield from self._with_clause(Phrase(start + 1, case, column), with_clause)
        for reading in table.determiners.get(word, ()):
            yield from self._nouns(start + 1, reading, with_clause)
            if word.startswith("d") and self.word(start + 1) == "meisten" and reading.column == "pl":
                yield from self._nouns(start + 2, reading, with_clause)
        bare = start
        if word in lexicon().other["bounds"].values():
            bare += 1
        has_number = self.word(bare) in lexicon().other["numbers"].values()
        is_owned = word[:-1] in table.names and word[-1:] == "s"
        if has_number or bare == start:
            columns = ("m", "f", "n", "pl") if is_owned else ("pl",)
            for column in columns:
                for case in ("nom", "acc", "dat"):
                    after = bare + (has_number or is_owned)
                    yield from self._nouns(after, Agreement(column, case, "strong"), with_clause)

    def _nouns(self, start: int, wanted: Agreement, with_clause: bool) -> Iterator[Phrase]:
        """An adjective, if there is one, a noun, and what follows it."""
        table = forms()
        starts = [start] + ([start + 1] if wanted in table.adjectives.get(self.word(start), ()) else [])
        for place in starts:
            if Agreement(wanted.column, wanted.case) in table.nouns.get(self.word(place), ()):
                phrase = Phrase(place + 1, wanted.case, wanted.column)
                yield from self._with_clause(phrase, with_clause)
                for inner in self.prepositional_phrases(phrase.end):
                    if inner.case == "dat":
                        yield from self._with_clause(phrase._replace(end=inner.end), with_clause)

    def _with_clause(self, phrase: Phrase, with_clause: bool) -> Iterator[Phrase]:
        yield phrase
        if with_clause:
            for end in self.relative_clauses(phrase.end, phrase.column):
                yield phrase._replace(end=end)

    @functools.cache  # noqa: B019
    def prepositional_phrases(self, start: int) -> frozenset[PrepositionalPhrase]:
        """All prepositional phrases that begin here; `im` is `in dem`."""
        word = self.word(start)
        if word in lexicon().other["focus"].values():
            return self.prepositional_phrases(start + 1)
        found: set[PrepositionalPhrase] = set()
        if word in PREPOSITIONS:
            cases = PREPOSITIONS[word]
            phrases = self.noun_phrases(start + 1)
            found |= {PrepositionalPhrase(p.end, word, p.case) for p in phrases if p.case in cases}
        for whole, short in lexicon().other["contractions"].items():
            if short == word:
                preposition, article = whole.split()
                for reading in forms().determiners[article]:
                    if reading.case in PREPOSITIONS[preposition]:
                        for phrase in self._nouns(start + 1, reading, with_clause=False):
                            found.add(PrepositionalPhrase(phrase.end, preposition, phrase.case))
        return frozenset(found)


# The cases of prepositions: two where the verb decides ("wartet auf den Bus", "auf dem Markt").
PREPOSITIONS = {
    **dict.fromkeys(("bei", "mit", "von", "nach", "hinter", "neben", "in"), ("dat",)),
    "auf": ("acc", "dat"),
    **dict.fromkeys(("an", "über", "um"), ("acc",)),
}
