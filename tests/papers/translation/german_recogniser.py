"""A recogniser of German minilang: a second definition of the language, against which the first is checked.

The translation (transfer.py) writes German from English derivations. Here German is read without any English: phrases
agree, verbs have what they demand, and the parts of a clause stand in their order. A clause is read from its verbs to
the left, so that every object is known to belong to a verb:

    ... den alten Ball im Garten auf     `auf` ends "hebt ... auf", which demands an accusative
    ... im Garten auf                    a place may stand here
    ... den alten Ball im Garten auf     the accusative; a subject in front of the verb, and the clause is complete

    >>> accepts("Die Frau hebt den alten Ball im Garten auf .".split())
    True
    >>> accepts("Die Frau hebt dem alten Ball im Garten auf .".split())
    False
"""

import functools
from collections.abc import Iterator, Sequence

from german_forms import Agreement, forms
from german_nouns import PREPOSITIONS
from german_verbs import COMPOUNDS, Group, VerbReader


def accepts(words: Sequence[str]) -> bool:
    """True if `words`, with a full stop at the end, are a German sentence of minilang."""
    if len(words) < 3 or words[-1] != "." or words[0][0].islower():
        return False
    lower = words[0][0].lower() + words[0][1:]
    return any(_Reader((first, *words[1:])).is_sentence() for first in dict.fromkeys((words[0], lower)))


class _Reader(VerbReader):
    """Reads one sentence; every answer is remembered."""

    def is_sentence(self) -> bool:
        return any(end == len(self.words) - 1 for end in self._main(0))

    # ---- Clauses

    @functools.cache  # noqa: B019 - a reader lives as long as its sentence
    def _main(self, start: int) -> frozenset[int]:
        """The possible ends of a main clause that begins here, alone or coordinated with others."""
        ends = set(self._verb_second(start))
        for end in sorted(ends):
            if self.word(end) == "," and self.word(end + 1) in ("und", "oder", "aber"):
                ends |= self._main(end + 2)
        for end in list(ends):
            if self.word(end) == ",":
                ends |= {after for after in self._adverbial(end + 1)}
        return frozenset(ends)

    def _verb_second(self, start: int) -> Iterator[int]:
        """Front, finite verb, the rest."""
        for phrase in self.noun_phrases(start):
            number = "pl" if phrase.column == "pl" else "sg"
            for group in self._after_front(phrase.end, None):
                fits = group.number == number or (self.word(start).lower() == "es" and phrase.end == start + 1)
                complete = not group.needs and group.is_complete
                if phrase.case == group.subject and complete and (fits or group.subject == "dat"):
                    yield group.end
            if phrase.case != "nom" and not phrase.light:
                for group in self._after_front(phrase.end, "nom"):
                    if group.needs == (phrase.case,) and group.is_complete:
                        yield group.end
        fronts = [start + 1] if self.word(start) in ("gestern", "heute") else []
        fronts += [end + 1 for end in self._adverbial(start) if self.word(end) == ","]
        for front in fronts:
            yield from (group.end for group in self._after_front(front, "nom") if not group.needs and group.is_complete)
        for end in self._free_relative(start):
            for group in self._after_front(end, None):
                if not group.needs or (group.needs, group.tail) == (("predicate",), "done"):
                    yield group.end

    def _after_front(self, start: int, subject: str | None) -> Iterator[Group]:
        """The finite verb here, with or without its subject behind it, and all that follows."""
        for reading in forms().verbs.get(self.word(start), ()):
            if reading.form != "fin" or (reading.verb.particle and not reading.particle):
                continue
            if subject is None:
                yield from self._completed(self.fronted(start + 1, reading))
                continue
            before = self.word(start + 1) == "sich"
            for phrase in self.noun_phrases(start + 1 + before):
                number = "pl" if phrase.column == "pl" else "sg"
                groups = self.fronted(phrase.end, reading)
                if before and not phrase.light:
                    groups = frozenset(new for group in groups for new in self.with_reflexive(group))
                for group in self._completed(groups):
                    if phrase.case == group.subject and (number == reading.number or group.subject == "dat"):
                        yield group

    def _completed(self, groups: "frozenset[Group]") -> Iterator[Group]:
        """With the second of two coordinated verbs, if there is one."""
        for group in groups:
            yield group
            if self.word(group.end) == "und" and not group.needs:
                for reading in forms().verbs.get(self.word(group.end + 1), ()):
                    if reading.form == "fin" and reading.number == group.number:
                        second = self.fronted(group.end + 2, reading)
                        yield from (other for other in second if not other.needs and other.subject == group.subject)

    def _adverbial(self, start: int) -> Iterator[int]:
        """An adverbial clause, without the commas around it."""
        if self.word(start) in ("weil", "während", "nachdem", "bevor", "obwohl", "da", "wenn", "als"):
            yield from self.subject_and_verb(start + 1, ())

    @functools.cache  # noqa: B019
    def subject_and_verb(self, start: int, missing: tuple[str, ...]) -> frozenset[int]:
        """A subject, and verbs at the end that still miss this."""
        return frozenset(
            group.end
            for phrase in self.noun_phrases(start)
            for group in self.verbs(phrase.end)
            if group.form == "fin" and group.needs == missing and group.is_complete and phrase.case == group.subject
            if group.number == ("pl" if phrase.column == "pl" else "sg") or group.subject == "dat"
        )

    def clause_end(self, end: int) -> Iterator[int]:
        """A clause ends before a comma or the full stop; the comma may also close, or open, another clause."""
        if self.word(end) == ",":
            yield end + 1
        if self.word(end) in (",", "."):
            yield end

    @functools.cache  # noqa: B019
    def relative_clauses(self, start: int, column: str) -> frozenset[int]:
        """Relative clauses that begin with a comma here, for an antecedent of this column."""
        found: set[int] = set()
        if self.word(start) != ",":
            return frozenset()
        for end, case, need in self._openers(start + 1, forms().relatives, column):
            found |= self._opened(end, case, need, column)
        return frozenset(after for end in found for after in self.clause_end(end))

    def _openers(
        self, start: int, table: dict[str, set[Agreement]], column: str | None
    ) -> Iterator[tuple[int, str, str]]:
        """A pronoun that opens a clause: its end, its case, and the need that it fills."""
        for reading in table.get(self.word(start), ()):
            if column in (None, reading.column):
                yield start + 1, reading.case, reading.case
        for reading in table.get(self.word(start + 1), ()):
            if column in (None, reading.column) and self.word(start) in PREPOSITIONS:
                yield start + 2, reading.case, f"{self.word(start)} {reading.case}"

    def _opened(self, start: int, case: str, need: str, column: str) -> set[int]:
        """The rest of a clause that a pronoun opens, as its subject or as an object."""
        found = set(self.subject_and_verb(start, (need,)))
        if need in ("nom", "dat"):
            number = "pl" if column == "pl" else "sg"
            found |= {
                group.end
                for group in self.verbs(start)
                if group.form == "fin" and not group.needs and group.is_complete and group.subject == case
                if group.number == number or case == "dat"
            }
        return found

    def question(self, start: int) -> Iterator[int]:
        """An embedded question, without commas."""
        word = self.word(start)
        if word in ("ob", "wann", "warum", "wie", "wo"):
            yield from self.subject_and_verb(start + 1, ())
        for end, case, need in self._openers(start, forms().questions, None):
            yield from self._opened(end, case, need, "m")
        if word in COMPOUNDS:
            for need in COMPOUNDS[word]:
                yield from self.subject_and_verb(start + 1, (need,))
        prepositions = [(start, "")] + ([(start + 1, f"{word} ")] if word in PREPOSITIONS else [])
        for place, preposition in prepositions:
            if self.word(place).startswith("welch"):
                for phrase in self.noun_phrases(place, with_clause=False):
                    yield from self._opened(phrase.end, phrase.case, preposition + phrase.case, phrase.column)

    def _free_relative(self, start: int) -> Iterator[int]:
        """ "was der Junge kaufte ," as the front of a main clause."""
        needs = COMPOUNDS.get(self.word(start), []) + (["acc"] if self.word(start) == "was" else [])
        for need in needs:
            for end in self.subject_and_verb(start + 1, (need,)):
                if self.word(end) == ",":
                    yield end + 1
