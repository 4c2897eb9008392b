"""German predicates: a verb, or several, with all that depends on them but the subject.

The middle of a clause has a fixed order: pronouns, definite objects before a negation, adverbs of time, other objects,
`nicht`, adverbs of manner, places, objects with a preposition, predicates and infinitives. Clauses and infinitives with
a comma come after all verbs. `nicht` and `ein` become `kein`.

    hat | ihn gestern nicht gern im Garten | gesehen
    weil der Vater | ihn gestern nicht gern im Garten | gesehen hat
    (versucht,) | ihn gestern nicht gern im Garten | zu sehen
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from dtgpapers.translation.german.morphology import Verb
from dtgpapers.translation.german.nominal import Nominal, Prepositional, Token, comma


class NoCounterpartError(Exception):
    """An English construction that the German grammar does not have; its sentence is left out and counted."""


@runtime_checkable
class Complement(Protocol):
    """A clause that depends on a verb (clause.py)."""

    label: str

    @property
    def head(self) -> Token: ...

    def between_commas(self, tense: str) -> list[Token]: ...


class Link(NamedTuple):
    """One verb of a clause; `demands` is the form of the verb inside of it: part, inf, or None for a predicate."""

    verb: Verb
    token: Token
    demands: str | None = None


class Need(NamedTuple):
    """The form of the outermost verb: fin, zu, inf or part; a finite one has a tense and a number."""

    form: str
    tense: str = ""
    number: str = ""


@dataclass(eq=False, slots=True)
class Argument:
    """An object of a verb, in the middle of a clause."""

    label: str
    case: str
    phrase: Nominal
    preposition: str | None = None
    owner: Token | None = None  # the verb that it depends on, if that is not the one of its clause


@dataclass(eq=False, slots=True)
class Gap:
    """A missing object, and the pronouns that take it up in the clauses below."""

    owner: "VerbPhrase"
    label: str
    case: str
    preposition: str | None = None
    resumed: list[Nominal] = field(default_factory=list)

    def write(self, filler: Nominal, tense: str) -> list[Token]:
        """The fronted phrase that fills the gap."""
        for pronoun in self.resumed:
            pronoun.antecedent = filler
        words = written(filler, self.case, self.preposition, tense)
        filler.head.hang(self.owner.head, self.label)
        return words


def written(phrase: Nominal, case: str, preposition: str | None, tense: str) -> list[Token]:
    """The words of an object, with its preposition if it has one."""
    if preposition:
        return Prepositional(preposition, case, phrase, adverbial=False).write(tense)
    return phrase.write(case, tense)


@dataclass(eq=False, slots=True)
class VerbPhrase:
    """A predicate with all that depends on it but its subject."""

    head: Token
    links: list[Link]  # from the inside to the outside: gesehen, worden, ist
    tense: str | None = None
    reflexive: bool = False
    arguments: list[Argument] = field(default_factory=list)
    adverbs: list[tuple[str, Token]] = field(default_factory=list)
    adjuncts: list[Prepositional] = field(default_factory=list)
    predicate: "list[Token] | Nominal | Prepositional | None" = None
    negated: bool = False
    infinitive: "VerbPhrase | None" = None
    after_comma: bool = True  # the infinitive stands behind all verbs, after a comma
    clause: "Complement | None" = None  # the complement clause
    conjunct: "VerbPhrase | None" = None
    shared_from: int = 0  # the links from here on belong to both conjuncts
    gap: Gap | None = None
    subject_label: str = "nsubj"
    subject_case: str = "nom"

    @property
    def has_sentence_adverb(self) -> bool:
        """True if an adverb stands for an English verb above this one."""
        return any(group == "sentence" for group, _ in self.adverbs)

    def write(self, need: Need, fronted: bool = False) -> tuple[list[Token], list[Token], list[Token]]:
        """The finite verb if it is fronted; the middle with the other verbs; what follows them."""
        shared = self.links[self.shared_from :] if self.conjunct else []
        own = self.links[: self.shared_from] if self.conjunct else self.links
        outer, need_of_own = inflect(shared, need, self.head)
        inner, _ = inflect(own, need_of_own, self.head, fronted and not shared)
        front = (outer or inner).pop() if fronted else []
        middle, tail = self._middle(need.tense)
        tail = [*tail, *self._after_verbs(need.tense)]
        body = [*middle, *flat(inner)]
        if not self.conjunct:
            return front, body, tail
        if shared and outer and tail:
            raise NoCounterpartError("a clause inside coordinated verbs")
        if not shared and need.form == "fin":
            need_of_own = need._replace(tense=self.conjunct.tense or need.tense)
        verb, second, last = self.conjunct.write(need_of_own, fronted and not shared)
        self.conjunct.head.hang(self.head, "conj")
        conjunction = Token("und", "und", "CCONJ", self.conjunct.head, "cc")
        return front, [*body, *tail, conjunction, *verb, *second, *flat(outer)], last

    def _middle(self, tense: str) -> tuple[list[Token], list[Token]]:
        """The middle of the clause, and what an infinitive in it has behind its verbs."""
        negative = self.negated and not self._merge_negation()
        never = any(group == "never" for group, _ in self.adverbs)
        early, late, with_preposition = [], [], []
        for argument in self.arguments:
            phrase = argument.phrase
            phrase.agree()
            if argument.preposition:
                with_preposition.append(argument)
            elif not phrase.is_light:
                (early if (negative or never) and phrase.is_definite else late).append(argument)
        light = self._take_light()
        words = self._arguments(sorted(light, key=lambda a: a.case != "acc"), tense)
        words += self._arguments(sorted(early, key=lambda a: a.case == "acc"), tense)
        words += self._adverbs("sentence", "time", "frequency", "never")
        if negative:
            words.append(Token("nicht", "nicht", "PART", self.head, "advmod"))
        words += self._arguments(sorted(late, key=lambda a: a.case == "acc"), tense)
        words += self._adverbs("manner")
        for adjunct in self.adjuncts:
            words += adjunct.write(tense)
            adjunct.head.hang(self.head, adjunct.label)
        words += self._arguments(with_preposition, tense)
        words += self._predicate(tense)
        if not self.infinitive or self.after_comma:
            return words, []
        _, body, tail = self.infinitive.write(Need("zu", tense))
        self.infinitive.head.hang(self.head, "xcomp")
        return [*words, *body], tail

    def _take_light(self) -> list[Argument]:
        """The pronouns; those of an infinitive before the verb move up with it: "sie nicht zu sehen scheint"."""
        light = [argument for argument in self.arguments if not argument.preposition and argument.phrase.is_light]
        if self.reflexive:
            light.insert(0, Argument("expl:pv", "acc", Nominal("reflexive")))
        inner = self.infinitive
        if inner and not (self.after_comma or self.arguments or self.reflexive or inner.conjunct):
            moved = inner._take_light()
            for argument in moved:
                argument.owner = argument.owner or inner.head
            inner.arguments = [argument for argument in inner.arguments if argument not in moved]
            inner.reflexive = False
            light += moved
        return light

    def _after_verbs(self, tense: str) -> list[Token]:
        """The infinitive and the clause that stand behind all verbs, each between commas."""
        words: list[Token] = []
        if self.infinitive and self.after_comma:
            _, body, tail = self.infinitive.write(Need("zu", tense))
            head = self.infinitive.head
            if head is not self.head:
                head.hang(self.head, "xcomp")
            words += [comma(head), *body, *tail, comma(head)]
        if self.clause:
            words += self.clause.between_commas(tense)
            self.clause.head.hang(self.head, self.clause.label)
        return words

    def _arguments(self, arguments: list[Argument], tense: str) -> list[Token]:
        words: list[Token] = []
        for argument in arguments:
            words += written(argument.phrase, argument.case, argument.preposition, tense)
            argument.phrase.head.hang(argument.owner or self.head, argument.label)
        return words

    def _adverbs(self, *groups: str) -> list[Token]:
        return [word.hang(self.head, "advmod") for group in groups for own, word in self.adverbs if own == group]

    def _predicate(self, tense: str) -> list[Token]:
        predicate = self.predicate
        if isinstance(predicate, Nominal):
            return predicate.write("nom", tense)
        return predicate.write(tense) if isinstance(predicate, Prepositional) else predicate or []

    def _merge_negation(self) -> bool:
        """Merge `nicht` with the first phrase that can take it: "nicht einen Hund" becomes "keinen Hund"."""
        inner = self.infinitive.arguments if self.infinitive and not self.after_comma else []
        phrases = [argument.phrase for argument in [*self.arguments, *inner]]
        if isinstance(self.predicate, Nominal):
            phrases.append(self.predicate)
        for phrase in phrases:
            if phrase.can_be_negative:
                phrase.negate()
                return True
        return False


def inflect(links: list[Link], need: Need, head: Token, fronted: bool = False) -> tuple[list[list[Token]], Need]:
    """The words of each verb, from the inside to the outside, and the form that the verb inside of them must have.

    A fronted verb leaves its particle behind: "zieht ... an" gives [[an], [zieht]].
    """
    words: list[list[Token]] = []
    for link in reversed(links):
        verb, token = link.verb, link.token
        token.lemma = verb.infinitive
        if need.form == "fin":
            form, particle = verb.finite(need.tense, need.number), verb.particle
            token.feats = f"Number={'Sing' if need.number == 'sg' else 'Plur'}|Person=3|VerbForm=Fin"
            token.form = form if fronted else particle + form
            words.insert(0, [token])
            if fronted and particle:
                words.insert(0, [Token(particle, particle, "ADP", token, "compound:prt")])
        elif need.form == "zu":
            *zu, token.form = verb.infinitive_with_zu
            words.insert(0, [*(Token(word, word, "PART", head, "mark") for word in zu), token])
        else:
            is_passive = token.label == "aux:pass" and verb.base == "werden"
            participle = "worden" if is_passive else verb.participle
            token.form = verb.infinitive if need.form == "inf" else participle
            token.feats = "VerbForm=Inf" if need.form == "inf" else "VerbForm=Part"
            words.insert(0, [token])
        if token is not head:
            token.head = head
        need = Need(link.demands or "", need.tense)
    return words, need


def flat(groups: list[list[Token]]) -> list[Token]:
    return [token for group in groups for token in group]
