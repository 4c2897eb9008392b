"""Challenge sets for translation: sentences that are hard to translate for a known reason, with their translations.

    set                 an item, and its counterpart in the plain order               what is known
    particle            Der Junge hebt den alten Ball im Garten auf .                 hebt ... auf, 5 words between
                        Der Junge wird den alten Ball im Garten aufheben .
    reflexive           Die alte Frau wusch sich im Park .                            sich is the woman, so: herself
                        Die alte Frau wusch das Mädchen im Park .
    preposition         Das Mädchen wartete im Garten auf den Vater .                 wartete ... auf, 2 words between
                        Das Mädchen wartete auf den Vater .
    object-first-both   Den Hund sieht der Junge .                                    the boy sees, the dog is seen
                        Der Junge sieht den Hund .

The objects that come first are marked by case in their own form (`object`: "Den Hund sieht das Kind"), in that of the
subject (`subject`: "Das Pferd sieht der Hund"), or in `both`. There are 200 items in each set; like the corpus they
are the same on every machine. No sentence of them is in a corpus of pairs.

    >>> item = challenge_sets()["object-first-object"][0]
    >>> item.truth["subject"] in item.english, item.truth["object"] in item.english
    (True, True)
"""

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError
from dtglib.data.minilang.derivation import spell
from dtglib.data.minilang.grammar import read_source
from dtglib.data.minilang.lexicon import WordForm, read_lexicon
from dtgpapers.translation.german import nominal_rules as nominal
from dtgpapers.translation.german import predicate_rules
from dtgpapers.translation.german import verbal_rules as verbal
from dtgpapers.translation.german.clause import Clause
from dtgpapers.translation.german.nominal import Nominal, Prepositional
from dtgpapers.translation.german.transfer import in_sentence, object_first
from dtgpapers.translation.german.verb_phrase import VerbPhrase
from dtgpapers.translation.german.words import lexicon

ITEMS = 200

Words = tuple[str, ...]


class ChallengeItem(NamedTuple):
    """A German sentence with its translation, its counterpart in the plain order, and what a translation must keep."""

    german: Words
    english: Words
    plain_german: Words
    plain_english: Words
    truth: dict[str, str | int]

    def as_json(self) -> dict[str, object]:
        """The item with its sentences as text."""
        return {**{name: " ".join(words) for name, words in zip(self._fields, self[:4], strict=False)}, **self.truth}


class PhrasePair(NamedTuple):
    """A part of a sentence in both languages."""

    english: Words
    build: Callable[[], Any]  # a Nominal, or a Prepositional


@cache
def challenge_sets() -> dict[str, list[ChallengeItem]]:
    """All sets by name."""
    makers: dict[str, Callable[[_Chooser], ChallengeItem | None]] = {
        "particle": particle,
        "reflexive": reflexive,
        "preposition": preposition,
        **{f"object-first-{marked}": _object_first(marked) for marked in ("object", "subject", "both")},
    }
    return {name: _items(name, make) for name, make in makers.items()}


@cache
def challenge_words() -> frozenset[Words]:
    """All sentences of the sets, in both languages."""
    items = [item for items in challenge_sets().values() for item in items]
    return frozenset(words for item in items for words in item[:4])


def _items(name: str, make: "Callable[[_Chooser], ChallengeItem | None]") -> list[ChallengeItem]:
    choose = _Chooser(random.Random(f"minilang challenge {name}"))
    items: dict[Words, ChallengeItem] = {}
    for _ in range(100 * ITEMS):
        item = make(choose)
        if item is not None:
            items.setdefault(item.german, item)
        if len(items) == ITEMS:
            return list(items.values())
    raise UserError(f"challenge set {name}: the lexicon has words for only {len(items)} of {ITEMS} items")


@cache
def _english() -> tuple[dict[str, list[WordForm]], dict[str, list[str]]]:
    """The English words by category, and how some are spelled before others."""
    source = read_source("lexicon")
    return read_lexicon(source), source["sandhi"]


@cache
def _fitting(category: str, features: tuple[tuple[str, str], ...]) -> list[WordForm]:
    """The words of a category that admit these features."""
    return [
        entry
        for entry in _english()[0][category]
        if all(value in entry.features.get(name, {value}) for name, value in features)
    ]


class _Chooser:
    """Chooses English words, and keeps both sides of what is made of them."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self.entries, self.sandhi = _english()

    def word(self, category: str, **features: str) -> WordForm:
        """A word of a category that admits these features."""
        fitting = _fitting(category, tuple(features.items()))
        return fitting[int(self.chance.random() * len(fitting))]

    def form(self, entry: WordForm, **features: str) -> WordForm:
        """Another form of a verb in the same frame."""
        same = ("frame", "with", "obj", "subj")
        return next(
            other
            for other in _fitting("V", tuple(features.items()))
            if other.lemma == entry.lemma and all(other.features.get(n) == entry.features.get(n) for n in same)
        )

    def the(self, category: str, lemma: str) -> WordForm:
        """A word of a category by its lemma."""
        return next(entry for entry in self.entries[category] if entry.lemma == lemma)

    def noun_phrase(self, kind: str, adjective: bool = False) -> tuple[PhrasePair, WordForm]:
        """ "the (old) dog", and the noun."""
        noun, the = self.word("N", kind=kind, num="sg"), self.word("The")
        old = self.word("Adj", **{"class": "attr", "of": kind}) if adjective else None
        english = (the.word, *((old.word,) if old else ()), noun.word)
        return PhrasePair(english, lambda: nominal.determined(the, nominal.noun(noun, old))), noun

    def place(self, depth: int = 1) -> PhrasePair:
        """ "in the garden", or, two deep, "in the garden behind the castle"."""
        preposition, the, noun = self.word("InPlace"), self.word("The"), self.word("Place")
        inner = self.place(depth - 1) if depth > 1 else None
        english = (preposition.word, the.word, noun.word, *(inner.english if inner else ()))

        def build() -> Prepositional:
            phrase = nominal.place(the, noun)
            return nominal.at_place(preposition, nominal.modified(phrase, inner.build()) if inner else phrase)

        return PhrasePair(english, build)

    def places(self) -> list[PhrasePair]:
        """No place, or one that is up to two deep."""
        depth = int(self.chance.random() * 3)
        return [self.place(depth)] if depth else []

    def kind_of(self, verb: WordForm, feature: str) -> str:
        """A kind of noun that a verb takes."""
        kinds = sorted(verb.features[feature] - {"none", "who", "what"})
        return kinds[int(self.chance.random() * len(kinds))]

    def english(self, *parts: Sequence[str]) -> Words:
        """A sentence of these words."""
        return spell([word for part in parts for word in part] + ["."], self.sandhi)


def german(clause: Clause) -> Words:
    """The words of a German main clause."""
    return tuple(token.form for token in in_sentence(clause))


def with_places(phrase: VerbPhrase, places: Sequence[PhrasePair]) -> VerbPhrase:
    """Add adjuncts to a predicate."""
    phrase.adjuncts += [place.build() for place in places]
    return phrase


def particle(choose: _Chooser) -> ChallengeItem | None:
    """A separated particle; in the future it is not separated."""
    verb = choose.word("V", frame="prt", form="pres", num="sg")
    base, will = choose.form(verb, form="base"), choose.the("Modal", "will")
    subject, _ = choose.noun_phrase(choose.kind_of(verb, "subj"))
    thing, _ = choose.noun_phrase(choose.kind_of(verb, "obj"), adjective=choose.chance.random() < 0.5)
    places, target = choose.places(), lexicon().verb(verb)
    (selected,) = verb.features["with"]
    where = [place.english for place in places]

    def clause(entry: WordForm) -> Clause:
        return Clause(with_places(verbal.objects(entry, thing.build()), places), subject.build())

    future = clause(base)
    predicate_rules.modal(will, future.phrase)
    words, finite = german(clause(verb)), target.finite("pres", "sg")
    return ChallengeItem(
        words,
        choose.english(subject.english, [verb.word], thing.english, [selected], *where),
        german(future),
        choose.english(subject.english, ["will", base.word], thing.english, [selected], *where),
        {
            "verb": finite,
            "particle": target.particle,
            "distance": len(words) - 2 - words.index(finite) - 1,
            "english verb": verb.word,
            "english particle": selected,
        },
    )


def reflexive(choose: _Chooser) -> ChallengeItem | None:
    """A reflexive object, or another object."""
    verb = choose.word("V", frame="tr", form="past")
    kinds = sorted(verb.features["obj"] & verb.features["subj"] & {"m", "f", "a"})
    if not kinds or lexicon().verb(verb).case != "acc":
        return None
    kind = kinds[int(choose.chance.random() * len(kinds))]
    subject, noun = choose.noun_phrase(kind, adjective=choose.chance.random() < 0.5)
    other, _ = choose.noun_phrase(kind)
    self_ = next(e for e in choose.entries["Refl"] if "sg" in e.features["num"] and kind in e.features["kind"])
    if {"m", "f"} <= noun.features["kind"]:
        return None  # a noun for women and men: the pronoun would say which
    places = choose.places()
    where = [place.english for place in places]

    def sentence(thing: Nominal) -> Words:
        return german(Clause(with_places(verbal.objects(verb, thing), places), subject.build()))

    words = sentence(Nominal("reflexive"))
    return ChallengeItem(
        words,
        choose.english(subject.english, [verb.word, self_.word], *where),
        sentence(other.build()),
        choose.english(subject.english, [verb.word], other.english, *where),
        {"reflexive": "sich", "english reflexive": self_.word, "subject": noun.word},
    )


def preposition(choose: _Chooser) -> ChallengeItem | None:
    """A preposition far from the verb that demands it, or next to it."""
    verb = choose.word("V", frame="prep", form="past")
    target = lexicon().verb(verb)
    if not target.preposition or target.particle:
        return None
    subject, _ = choose.noun_phrase(choose.kind_of(verb, "subj"))
    thing, noun = choose.noun_phrase(choose.kind_of(verb, "obj"))
    place, (selected,) = choose.place(1 + int(choose.chance.random() * 2)), verb.features["with"]
    argument = (verb.word, selected, *thing.english)

    def clause(places: list[PhrasePair]) -> Clause:
        return Clause(with_places(verbal.objects(verb, thing.build()), places), subject.build())

    words, finite = german(clause([place])), target.finite("past", "sg")
    if target.preposition not in words:
        return None  # contracted with the article: "ans Mädchen"
    return ChallengeItem(
        words,
        choose.english(subject.english, argument, place.english),
        german(clause([])),
        choose.english(subject.english, argument),
        {
            "verb": finite,
            "preposition": target.preposition,
            "distance": len(words) - len(german(clause([]))) + int(target.reflexive),
            "english preposition": selected,
            "object": noun.word,
        },
    )


def _object_first(marked: str) -> Callable[[_Chooser], ChallengeItem | None]:
    """A maker of sentences whose object comes first; `marked` says whose form shows the case."""

    def make(choose: _Chooser) -> ChallengeItem | None:
        verb = choose.word("V", frame="tr", form="pres", num="sg")
        if lexicon().verb(verb).case != "acc":
            return None
        subject, actor = choose.noun_phrase(choose.kind_of(verb, "subj"))
        thing, noun = choose.noun_phrase(choose.kind_of(verb, "obj"))
        sides = {"subject": subject, "object": thing}
        shows = {name: not side.build().could_be("nom", "acc") for name, side in sides.items()}
        if actor == noun or shows != {"subject": marked != "object", "object": marked != "subject"}:
            return None

        def clause() -> Clause:
            return Clause(verbal.objects(verb, thing.build()), subject.build())

        turned = clause()
        object_first(turned)
        english = choose.english(subject.english, [verb.word], thing.english)
        truth: dict[str, str | int] = {"verb": verb.word, "subject": actor.word, "object": noun.word, "marked": marked}
        return ChallengeItem(german(turned), english, german(clause()), english, truth)

    return make
