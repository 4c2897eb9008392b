"""German noun phrases and prepositional phrases: they are built without a case, and get it where they are written.

    ein alter Hund (nom)     einen alten Hund (acc)     mit einem alten Hund     im Garten, in dem Garten, den er sah

A phrase is written once. Then its words get their heads and labels, and the phrase is the tree of its words.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from dtgpapers.translation.german.morphology import (
    DEFINITE,
    PERSONAL,
    RELATIVE,
    WHO,
    Noun,
    adjective,
    after,
    article,
)
from dtgpapers.translation.german.words import lexicon

FEATS = {"nom": "Nom", "acc": "Acc", "dat": "Dat", "sg": "Sing", "pl": "Plur", "m": "Masc", "f": "Fem", "n": "Neut"}


class Token:
    """A word of the German sentence; `head` is None for the root."""

    __slots__ = ("feats", "form", "head", "label", "lemma", "pos")

    def __init__(self, form: str, lemma: str, pos: str, head: "Token | None" = None, label: str = "root"):
        self.form, self.lemma, self.pos, self.head, self.label = form, lemma, pos, head, label
        self.feats = "_"

    def hang(self, head: "Token | None", label: str) -> "Token":
        """Attach this word."""
        self.head, self.label = head, label
        return self


def comma(head: Token) -> Token:
    """A comma that depends on the head of the clause that it sets off."""
    return Token(",", ",", "PUNCT", head, "punct")


@dataclass(slots=True, eq=False)
class Nominal:
    """A noun phrase. `kind` says how it is written; number and gender are what other words agree with."""

    kind: str  # noun, name, pronoun, indefinite, reflexive, who, what, relative, quantity, expletive
    number: str = "sg"
    gender: str = "n"
    word: str = ""  # the form of a name or an indefinite pronoun
    noun: Noun | None = None
    determiner: str | None = None
    counted: tuple[str, ...] = ()  # zwei; höchstens zwei
    owner: str | None = None  # the name in "Johns Buch"
    adjectives: tuple[Any, ...] = ()  # lemmas, participles as they are
    focus: str | None = None  # nur, sogar
    after: list[Any] = field(default_factory=list)  # prepositional phrases and relative clauses
    conjunct: "Nominal | None" = None
    own_number: str | None = None  # of the first of two conjuncts, which together are plural
    antecedent: "Nominal | None" = None  # of a pronoun that takes up a fronted phrase
    head: Token = field(default_factory=lambda: Token("", "", "NOUN"))

    @property
    def column(self) -> str:
        """The column of a paradigm."""
        return "pl" if (self.own_number or self.number) == "pl" else self.gender

    @property
    def is_definite(self) -> bool:
        """True if the phrase stands before a negation: "sah den Hund nicht", but "sah nicht jeden Hund"."""
        if self.kind == "noun":
            return self.determiner in ("der", "dieser", "jener", "sein", "ihr") or self.owner is not None
        return self.kind in ("name", "pronoun", "reflexive", "relative") and not self.focus

    @property
    def is_light(self) -> bool:
        """True for a pronoun that stands right after the finite verb."""
        return self.kind in ("pronoun", "reflexive") and not self.focus

    @property
    def can_be_negative(self) -> bool:
        """True if `nicht` merges with this phrase: ein, irgendein and plurals without a determiner become kein."""
        if self.kind == "indefinite":
            return self.word in ("irgendjemand", "irgendetwas")
        bare = self.determiner is None and not self.counted and self.owner is None
        return self.kind == "noun" and (self.determiner in ("ein", "irgendein") or (bare and self.number == "pl"))

    @property
    def is_negative(self) -> bool:
        """True for `niemand`, `nichts` and phrases with `kein`."""
        return self.determiner == "kein" or self.word in ("niemand", "nichts")

    def forms(self, case: str, number: str) -> list[str]:
        """The words of the phrase itself, without what follows it, in this case and number."""
        self.agree()
        return [word.form for word in replace(self, number=number, head=Token("", "", "NOUN"))._itself(case)]

    def could_be(self, other: str, case: str, number: str | None = None) -> bool:
        """True if its form in a case could also be a form of the other case, in this number (by default, in any).

        "Sams Onkel" are one or several; otherwise the number shows in a determiner, or in there being none. Of two
        nouns with "und" no form is compared.
        """
        shows_number = self.owner is None or bool(self.counted)
        numbers = {self.number} if shows_number else {"sg", "pl"}
        if number is not None:
            numbers &= {number}
        own = [] if self.conjunct else self.forms(case, self.number)
        return any(self.conjunct or own == self.forms(other, number) for number in numbers)

    def negate(self) -> None:
        """Make the phrase negative, in place of `nicht`."""
        if self.kind == "indefinite":
            self.word = {"irgendjemand": "niemand", "irgendetwas": "nichts"}[self.word]
        else:
            self.determiner = "kein"

    def agree(self) -> None:
        """A pronoun that takes up another phrase has its number and gender."""
        if self.antecedent is not None:
            self.antecedent.agree()
            self.number, self.gender = self.antecedent.number, self.antecedent.gender

    def write(self, case: str, tense: str = "past") -> list[Token]:
        """The words in this case, and with this tense in relative clauses that have none of their own."""
        self.agree()
        words = self._itself(case)
        if self.focus:
            words.insert(0, Token(self.focus, self.focus, "ADV", self.head, "advmod"))
        if self.conjunct:
            part = self.conjunct.write(case, tense)
            words += [Token("und", "und", "CCONJ", self.conjunct.head, "cc"), *part]
            self.conjunct.head.hang(self.head, "conj")
        for phrase in self.after:
            words += phrase.write_after(self.head, tense)
        return words

    def _itself(self, case: str) -> list[Token]:
        """The words without a focus, a conjunct, and what follows."""
        return self._noun(case) if self.kind == "noun" else [self._plain(case)]

    def _plain(self, case: str) -> Token:
        """Phrases of one word."""
        column, head = self.column, self.head
        if self.kind == "name":
            head.form, head.lemma, head.pos = self.word, self.word, "PROPN"
        elif self.kind == "indefinite":
            form = self.word
            if form in ("jemand", "niemand", "irgendjemand"):
                form += {"nom": "", "acc": "en", "dat": "em"}[case]
            elif form == "jeder":
                form = article("jeder", "m", case)
            head.form, head.lemma, head.pos = form, self.word, "PRON"
        elif self.kind == "quantity":
            form = self.word
            if form in ("zwei", "drei", "vier"):
                form += {"dat": "en"}.get(case, "")
            else:
                form = article(form, "pl", case)
            head.form, head.lemma, head.pos = form, self.word, "NUM" if self.word in ("zwei", "drei", "vier") else "DET"
        else:
            table = {
                "pronoun": lambda: (PERSONAL[column, case], PERSONAL[column, "nom"]),
                "expletive": lambda: ("es", "es"),
                "reflexive": lambda: ("sich", "sich"),
                "relative": lambda: (RELATIVE[column, case], "der"),
                "who": lambda: (WHO[case], "wer"),
                "what": lambda: ("was", "was"),
            }
            head.form, head.lemma = table[self.kind]()
            head.pos = "PRON"
        head.feats = f"Case={FEATS[case]}|Number={FEATS[self.number]}"
        return head

    def _noun(self, case: str) -> list[Token]:
        """Determiner, number, adjectives and noun."""
        column, head, words = self.column, self.head, []
        gender = "" if column == "pl" else f"Gender={FEATS[self.gender]}|"
        feats = f"Case={FEATS[case]}|{gender}Number={'Plur' if column == 'pl' else 'Sing'}"
        determiner = self.determiner
        if self.owner:
            words.append(Token(f"{self.owner}s", self.owner, "PROPN", head, "nmod:poss"))
            words[-1].feats = "Case=Gen|Number=Sing"
        elif determiner == "meiste":
            determiner = "der"
            words.append(Token(DEFINITE[column, case], "der", "DET", head, "det"))
            words.append(Token(adjective("meiste", "weak", column, case), "meiste", "ADJ", head, "amod"))
        elif determiner:
            label = "det:poss" if determiner in ("sein", "ihr") else "det"
            words.append(Token(article(determiner, column, case), determiner, "DET", head, label))
        if self.counted:
            number = Token(self.counted[-1], self.counted[-1], "NUM", head, "nummod")
            words += [Token(word, word, "ADV", number, "advmod") for word in self.counted[:-1]] + [number]
        inflection = after(determiner)
        assert self.noun is not None
        for lemma in self.adjectives:
            words.append(Token(adjective(lemma, inflection, column, case), lemma, "ADJ", head, "amod"))
        for word in words:
            if word.pos in ("DET", "ADJ"):
                word.feats = feats
        head.form, head.lemma, head.feats = (
            self.noun.form(self.own_number or self.number, case),
            self.noun.singular,
            feats,
        )
        return [*words, head]


@dataclass(slots=True, eq=False)
class Prepositional:
    """A preposition with its phrase; `label` is what the phrase depends with."""

    preposition: str
    case: str
    phrase: Nominal
    label: str = "obl"
    adverbial: bool = True  # an adjunct keeps "mit ihm"; an argument has "darauf" for "auf es"

    @property
    def head(self) -> Token:
        """The head of the phrase."""
        return self.phrase.head

    def write(self, tense: str = "past") -> list[Token]:
        """The words of the phrase; its head is not attached yet. `nur` and `sogar` stand before the preposition."""
        phrase, preposition = self.phrase, self.preposition
        if phrase.focus:
            focus, phrase.focus = phrase.focus, None
            return [Token(focus, focus, "ADV", phrase.head, "advmod"), *self.write(tense)]
        phrase.agree()
        compound = pronominal_adverb(preposition, phrase, self.adverbial)
        if compound:
            phrase.head.form, phrase.head.lemma, phrase.head.pos = compound, compound, "ADV"
            return [phrase.head]
        words = phrase.write(self.case, tense)
        first = words[0]
        # "im Garten", but "in dem Garten, den er sah", "von dem Hund und der Katze".
        stays = phrase.conjunct or any(not isinstance(part, Prepositional) for part in phrase.after)
        contracted = lexicon().other["contractions"].get(f"{preposition} {first.form}")
        if contracted and first.lemma == "der" and first.pos == "DET" and not stays:
            words[0] = Token(contracted, preposition, "ADP", phrase.head, "case")
            return words
        return [Token(preposition, preposition, "ADP", phrase.head, "case"), *words]

    def write_after(self, head: Token, tense: str) -> list[Token]:
        """The phrase as a modifier of a noun."""
        words = self.write(tense)
        self.phrase.head.hang(head, "nmod")
        return words


def pronominal_adverb(preposition: str, phrase: Nominal, adverbial: bool) -> str | None:
    """`darauf` for "auf es", `worauf` for "auf was"; None for other phrases."""
    joint = "r" if preposition[0] in "aeiouäöü" else ""
    if phrase.kind == "what":
        return f"wo{joint}{preposition}"
    is_it = phrase.kind == "pronoun" and phrase.column == "n" and not phrase.focus
    return f"da{joint}{preposition}" if is_it and not adverbial else None
