"""All German word forms with their readings, for the recogniser.

Hunden     a noun: plural, dative              den     an article: masculine accusative, plural dative
zog        a finite verb: singular, past       an      the particle of `anziehen`

>>> sorted(reading.case for reading in forms().nouns["Hunden"]), "an" in forms().particles
(['dat'], True)
"""

import functools
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from dtglib.data.minilang.grammar import read_source
from dtglib.data.minilang.lexicon import read_lexicon
from dtgpapers.translation.german.morphology import (
    CASES,
    COLUMNS,
    DETERMINERS,
    ENDINGS,
    PERSONAL,
    RELATIVE,
    WHO,
    Verb,
    adjective,
    after,
    article,
)
from dtgpapers.translation.german.words import Instead, Lexicon, lexicon

INDEFINITE_WORDS = {
    "jemand": "jemand jemanden jemandem",
    "niemand": "niemand niemanden niemandem",
    "irgendjemand": "irgendjemand irgendjemanden irgendjemandem",
    "jeder": "jeder jeden jedem",
    "etwas": "etwas etwas etwas",
    "irgendetwas": "irgendetwas irgendetwas irgendetwas",
    "nichts": "nichts nichts nichts",
}


# The clause or infinitive that verbs of these frames have.
TAILS = {"that": "dass", "robj": "dass", "wh": "question", **dict.fromkeys(("sctl", "rais", "octl", "control"), "zu")}


class Agreement(NamedTuple):
    """A column (m, f, n, pl), a case, and the inflection of an adjective (that follows, or that it is)."""

    column: str
    case: str
    inflection: str = ""


class Valency(NamedTuple):
    """The demands of a verb: objects ("acc", "dat", "auf acc", "sich", "predicate"), and a clause or infinitive."""

    needs: tuple[str, ...]
    tail: str = ""  # dass, question, zu


class Reading(NamedTuple):
    """A verb form: fin, inf, part or zu; a separated particle is still to come."""

    verb: Verb
    form: str
    number: str = ""
    particle: str = ""


class Forms(NamedTuple):
    """The readings of every form, by class."""

    nouns: dict[str, set[Agreement]]
    determiners: dict[str, set[Agreement]]
    adjectives: dict[str, set[Agreement]]
    pronouns: dict[str, set[Agreement]]
    indefinites: dict[str, set[Agreement]]
    quantities: dict[str, set[Agreement]]
    relatives: dict[str, set[Agreement]]
    questions: dict[str, set[Agreement]]  # wer, wen, wem, was
    names: frozenset[str]
    predicates: frozenset[str]
    verbs: dict[str, set[Reading]]
    valencies: dict[Verb, set[Valency]]
    particles: frozenset[str]

    def all_words(self) -> set[str]:
        """Every inflected form, without adverbs and conjunctions."""
        tables = (self.nouns, self.determiners, self.adjectives, self.pronouns, self.indefinites, self.verbs)
        return {form for table in tables for form in table}


@functools.cache
def forms() -> Forms:
    """The table of forms, made once per process."""
    words = lexicon()
    tables: dict[str, dict[str, set[Agreement]]] = {
        name: defaultdict(set) for name in Forms._fields[:8] if name != "names"
    }
    for noun in words.nouns.values():
        for number, column in (("sg", noun.gender), ("pl", "pl")):
            for case in CASES:
                tables["nouns"][noun.form(number, case)].add(Agreement(column, case))
    for column in COLUMNS:
        for case in CASES:
            for lemma in ("der", *DETERMINERS):
                if _exists(lemma, column):
                    tables["determiners"][article(lemma, column, case)].add(Agreement(column, case, after(lemma)))
            for name, table in (("pronouns", PERSONAL), ("relatives", RELATIVE)):
                tables[name][table[column, case]].add(Agreement(column, case))
            for inflection in ENDINGS:
                for lemma in _attributes(words):
                    form = adjective(lemma, inflection, column, case)
                    tables["adjectives"][form].add(Agreement(column, case, inflection))
    for case in CASES:
        for lemma in ("viele", "mehrere"):
            tables["quantities"][article(lemma, "pl", case)].add(Agreement("pl", case))
        for number in ("zwei", "drei", "vier"):
            tables["quantities"][number + ("en" if case == "dat" else "")].add(Agreement("pl", case))
        tables["questions"][WHO[case]].add(Agreement("m", case))
        for forms_of in INDEFINITE_WORDS.values():
            tables["indefinites"][forms_of.split()[CASES.index(case)]].add(Agreement("m", case))
    for case in ("nom", "acc"):
        tables["questions"]["was"].add(Agreement("n", case))
    valencies = _valencies(words)
    return Forms(
        **{name: dict(table) for name, table in tables.items()},
        names=frozenset(entry.word for entry in read_lexicon(read_source("lexicon"))["Name"]),
        predicates=frozenset(words.other["adjectives"].values()),
        verbs=_verb_forms(valencies),
        valencies=valencies,
        particles=frozenset(verb.particle for verb in valencies if verb.particle),
    )


def _exists(lemma: str, column: str) -> bool:
    """True if a determiner has this column: no `ein` in the plural, no `alle` in the singular."""
    if lemma in ("ein", "jeder"):
        return column != "pl"
    return column == "pl" or lemma not in ("alle", "einige", "viele", "mehrere", "wenige")


def _attributes(words: Lexicon) -> set[str]:
    """The adjectives and participles that stand before nouns."""
    participles = {
        verb.participle for (frame, _), verb in words.verbs.items() if frame == "attr" and isinstance(verb, Verb)
    }
    return {*words.other["adjectives"].values(), *participles}


def _valencies(words: Lexicon) -> dict[Verb, set[Valency]]:
    """The demands of each verb, over all its frames."""
    found: dict[Verb, set[Valency]] = defaultdict(set)
    for (frame, _), verb in words.verbs.items():
        if isinstance(verb, Instead):
            continue
        own = ("sich",) if verb.reflexive else ()
        governed = f"{verb.preposition} {verb.case}" if verb.preposition else verb.case
        needs = {"tr": (governed,), "prt": (governed,), "prep": (governed,), "octl": ("acc",), "dit": ("acc", "dat")}
        found[verb].add(Valency(tuple(sorted((*own, *needs.get(frame, ())))), TAILS.get(frame, "")))
        if frame in ("that", "robj"):  # "der Junge, von dem Maria sagt, dass er schläft"
            found[verb].add(Valency(tuple(sorted((*own, "von dat"))), "dass"))
    for name in ("geben", "tun"):
        found[words.plain_verb(name)].add(Valency(("acc",)))
    for tail in ("", "zu", "dass"):
        found[words.plain_verb("sein", "sein")].add(Valency(("predicate",), tail))
    for name, perfect in (("haben", "haben"), ("werden", "sein"), ("bekommen", "haben")):
        found[words.plain_verb(name, perfect)]
    for verb, _ in words.modals.values():
        if isinstance(verb, Verb):
            found[verb]
    found[words.plain_verb("wollen")]
    return dict(found)


def _verb_forms(valencies: dict[Verb, set[Valency]]) -> dict[str, set[Reading]]:
    found: dict[str, set[Reading]] = defaultdict(set)
    for verb in valencies:
        for form, reading in _forms_of(verb):
            found[form].add(reading)
    return dict(found)


def _forms_of(verb: Verb) -> Iterator[tuple[str, Reading]]:
    tenses = ("pres", "past", "subj") if verb.base in ("können", "werden") else ("pres", "past")
    for number in ("sg", "pl"):
        for tense in tenses:
            form = verb.finite(tense, number)
            yield verb.particle + form, Reading(verb, "fin", number)
            if verb.particle:
                yield form, Reading(verb, "fin", number, verb.particle)
    yield verb.infinitive, Reading(verb, "inf")
    yield verb.participle, Reading(verb, "part")
    if verb.particle:
        yield verb.infinitive_with_zu[0], Reading(verb, "zu")
    if verb.base == "werden":
        yield "worden", Reading(verb, "part")
