"""The part of the German recogniser that reads verbs with their objects and adverbs, from the right to the left.

... den Hund oft gesehen haben       gesehen (needs an accusative) + haben: a perfect infinitive that needs one
... oft gesehen haben                an adverb may stand here
... den Hund oft gesehen haben       the accusative; it stands before the adverb, so it must be definite or late
"""

import functools
from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

from german_forms import Reading, forms
from german_nouns import PREPOSITIONS, NounReader

from dtgpapers.translation.german.words import Instead, lexicon

# The places of the middle of a clause, from left to right.
LIGHT, DEFINITE, ADVERB, NOT, OBJECT, MANNER, ADJUNCT, ARGUMENT, PREDICATE, VERBS = range(10)


class Group(NamedTuple):
    """Verbs with what stands to their left and belongs to them."""

    end: int
    needs: tuple[str, ...]
    form: str  # fin, inf, part, zu; easy: "leicht zu lesen", which `sein` makes a predicate
    number: str = ""
    tail: str = ""  # the clause that is still to come (dass, question, zu), or done
    place: int = VERBS  # of the leftmost part, in the order of the middle
    perfect: str = "haben"
    subject: str = "nom"
    bare: bool = True  # nothing but one verb has been read

    @property
    def is_complete(self) -> bool:
        """True if no clause is missing."""
        return self.tail in ("", "done")


class Part(NamedTuple):
    """A part of the middle: where it ends, what it fills, and its places in the order."""

    end: int
    fills: str | None
    places: tuple[int, ...]


class Outer(NamedTuple):
    """A verb around others, and where it ends."""

    end: int
    reading: Reading


def _compounds(prefix: str) -> dict[str, list[str]]:
    """The needs that `darauf` or `worauf` fill."""
    joint = {p: "r" if p[0] in "aeiouäöü" else "" for p in PREPOSITIONS}
    return {f"{prefix}{joint[p]}{p}": [f"{p} {case}" for case in cases] for p, cases in PREPOSITIONS.items()}


COMPOUNDS = _compounds("wo")
PRONOMINAL = _compounds("da")


class VerbReader(NounReader):
    """Reads the verbs of one sentence."""

    @abstractmethod
    def subject_and_verb(self, start: int, missing: tuple[str, ...]) -> frozenset[int]:
        """The possible ends of a clause that begins with its subject."""

    @abstractmethod
    def question(self, start: int) -> Iterator[int]:
        """The possible ends of an embedded question."""

    @abstractmethod
    def clause_end(self, end: int) -> Iterator[int]:
        """With or without the comma that closes a clause."""

    @functools.cache  # noqa: B019 - a reader lives as long as its sentence
    def verbs(self, start: int) -> frozenset[Group]:
        """Verbs at the end of a clause, with the parts of the middle from here on."""
        found = set(self._single_verbs(start)) | set(self._easy(start))
        for part in self.parts(start):
            for group in self.verbs(part.end):
                found |= set(self._with_part(part, group))
        todo = list(found)
        while todo:
            group = todo.pop()
            new = {*self._extended(group), *self._with_tail(group), *self._coordinated(group)} - found
            found |= new
            todo += new
        return frozenset(found)

    @functools.cache  # noqa: B019
    def fronted(self, start: int, reading: Reading) -> frozenset[Group]:
        """The readings of the words after a finite verb in front: its particle, or the verbs that it demands."""
        found: set[Group] = set()
        ends = [start] if not reading.particle else [start + 1] if self.word(start) == reading.particle else []
        for end in ends:
            for valency in forms().valencies[reading.verb]:
                found.add(Group(end, valency.needs, "fin", reading.number, valency.tail))
        if not reading.particle:
            for group in self.verbs(start):
                found |= {outer._replace(end=group.end) for outer in self._around(group, Outer(group.end, reading))}
        for part in self.parts(start):
            for group in self.fronted(part.end, reading):
                found |= set(self._with_part(part, group))
        for group in list(found):
            found |= set(self._with_tail(group))
        return frozenset(found)

    def _single_verbs(self, start: int) -> Iterator[Group]:
        """One verb, with its `zu`."""
        for end, reading in self._outers(start):
            for valency in forms().valencies[reading.verb]:
                yield Group(
                    end, valency.needs, reading.form, reading.number, valency.tail, perfect=reading.verb.perfect
                )

    def _outers(self, start: int) -> Iterator[Outer]:
        """The readings of a verb form here; "zu lesen" is one."""
        with_zu = self.word(start) == "zu"
        for reading in forms().verbs.get(self.word(start + with_zu), ()):
            if reading.particle or (with_zu and (reading.form != "inf" or reading.verb.particle)):
                continue
            yield Outer(start + 1 + with_zu, reading._replace(form="zu") if with_zu else reading)

    def _easy(self, start: int) -> Iterator[Group]:
        """ "leicht zu lesen"."""
        after = start + (self.word(start) in lexicon().other["degrees"].values())
        if self.word(after) in forms().predicates:
            for group in self.verbs(after + 1):
                if group.form == "zu" and group.needs == ("acc",) and not group.tail:
                    yield Group(group.end, (), "easy", place=PREDICATE)

    def _extended(self, group: Group) -> Iterator[Group]:
        """With a further verb to the right."""
        if group.tail != "done" and group.form != "fin":
            for outer in self._outers(group.end):
                yield from self._around(group, outer)

    def _around(self, group: Group, outer: Outer) -> Iterator[Group]:
        """Verbs within another verb: "gesehen" + "haben", "sehen" + "können", "zu sehen" + "scheinen"."""
        verb, needs = outer.reading.verb, group.needs
        form, number = outer.reading.form, outer.reading.number
        new = group._replace(end=outer.end, form=form, number=number, perfect=verb.perfect, bare=False)
        if group.form == "part":
            if verb.name == group.perfect:
                yield new
            if verb.name == "werden" and group.bare:
                if "acc" in needs:
                    yield new._replace(needs=_without(needs, "acc"))
                elif needs == ("dat",):
                    yield new._replace(needs=(), subject="dat")
            if verb.name == "bekommen" and group.bare and "dat" in needs:
                yield new._replace(needs=_without(needs, "dat"))
        elif (group.form == "inf" and verb.name in MODALS) or (group.form, verb.name) == ("easy", "sein"):
            yield new
        elif group.form == "zu":
            for valency in forms().valencies[verb]:
                if valency.tail == "zu" and verb.name != "sein":
                    yield new._replace(needs=tuple(sorted((*needs, *valency.needs))), place=VERBS)

    def _with_tail(self, group: Group) -> Iterator[Group]:
        """With the clause or the infinitive behind the verbs, after a comma."""
        if group.is_complete or self.word(group.end) != ",":
            return
        start = group.end + 1
        ends: set[int] = set()
        if group.tail == "dass" and self.word(start) == "dass":
            ends = set(self.subject_and_verb(start + 1, ()))
        elif group.tail == "question":
            ends = set(self.question(start))
        elif group.tail == "zu":
            ends = {g.end for g in self.verbs(start) if g.form == "zu" and not g.needs and g.is_complete}
        for end in ends:
            for after in self.clause_end(end):
                yield group._replace(end=after, tail="done", bare=False)

    def _coordinated(self, group: Group) -> Iterator[Group]:
        """ "las das Buch und lachte", with verbs of the same form."""
        if self.word(group.end) == "und" and not group.needs and group.is_complete:
            for other in self.verbs(group.end + 1):
                same = (other.form, other.number, other.subject) == (group.form, group.number, group.subject)
                same &= group.form != "part" or other.perfect == group.perfect
                if same and not other.needs:
                    yield other._replace(place=group.place, bare=False)

    # ---- The middle

    @functools.cache  # noqa: B019
    def parts(self, start: int) -> frozenset[Part]:
        """The parts of the middle of a clause that begin here."""
        word, found = self.word(start), set()
        if word == "sich":
            found |= {Part(start + 1, need, (LIGHT,)) for need in ("sich", "acc", "dat")}
        for phrase in self.noun_phrases(start):
            if phrase.case == "nom":
                found.add(Part(phrase.end, "predicate", (PREDICATE,)))
            else:
                found.add(Part(phrase.end, phrase.case, (LIGHT,) if phrase.light else (DEFINITE, OBJECT)))
        if word in ADVERBS:
            found.add(Part(start + 1, None, (ADVERBS[word],)))
        for phrase in self.prepositional_phrases(start):
            if phrase.case == "dat":
                found |= {Part(phrase.end, None, (ADJUNCT,)), Part(phrase.end, "predicate", (PREDICATE,))}
            found.add(Part(phrase.end, f"{phrase.preposition} {phrase.case}", (ARGUMENT,)))
        found |= {Part(start + 1, need, (ARGUMENT,)) for need in PRONOMINAL.get(word, ())}
        after = start + (word in lexicon().other["degrees"].values())
        if self.word(after) in forms().predicates:
            found.add(Part(after + 1, "predicate", (PREDICATE,)))
        return frozenset(found)

    def with_reflexive(self, group: Group) -> Iterator[Group]:
        """A group whose `sich` stands further left, before the subject."""
        for need in ("sich", "acc", "dat"):
            if need in group.needs and group.place > LIGHT:
                yield group._replace(place=LIGHT, bare=False, needs=_without(group.needs, need))

    def _with_part(self, part: Part, group: Group) -> Iterator[Group]:
        """A group with a further part to its left."""
        for place in part.places:
            is_again = place in (ADVERB, NOT, MANNER) and self.word(part.end) == self.word(part.end - 1)
            if place > group.place or is_again:
                continue
            if part.fills is None:
                yield group._replace(place=place, bare=False)
            elif part.fills in group.needs:
                yield group._replace(place=place, bare=False, needs=_without(group.needs, part.fills))


def _without(needs: tuple[str, ...], need: str) -> tuple[str, ...]:
    found = list(needs)
    found.remove(need)
    return tuple(found)


MODALS = {verb.name for verb, _ in lexicon().modals.values() if not isinstance(verb, Instead)} | {"wollen"}


def _adverbs() -> dict[str, int]:
    """The place of each adverb."""
    verbs = [*lexicon().verbs.values(), *(verb for verb, _ in lexicon().modals.values())]
    instead = [verb.word for verb in verbs if isinstance(verb, Instead) and verb.kind == "ADV"]
    places = dict.fromkeys([*instead, *lexicon().other["raising"].values(), "gerade"], ADVERB)
    for group, word in lexicon().adverbs.values():
        places[word] = MANNER if group == "manner" else ADVERB
    return places | {"nicht": NOT}


ADVERBS = _adverbs()
