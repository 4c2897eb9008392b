"""The operations that build German noun phrases and adverbial clauses; `de:` in the grammar names them.

An operation gets the German phrases of the children that `de:` lists, or the entry of the English lexicon where a child
is a word. `noun amod=old ^=dog` gives the phrase "alter Hund", which `determined a` makes "ein alter Hund".
"""

from dtglib.data.minilang.lexicon import WordForm
from dtgpapers.translation.german.clause import Clause
from dtgpapers.translation.german.morphology import Noun
from dtgpapers.translation.german.nominal import Nominal, Prepositional, Token
from dtgpapers.translation.german.verb_phrase import NoCounterpartError, VerbPhrase
from dtgpapers.translation.german.words import lexicon

INDEFINITE = {
    "someone": "jemand",
    "everyone": "jeder",
    "nobody": "niemand",
    "anyone": "irgendjemand",
    "something": "etwas",
    "nothing": "nichts",
    "anything": "irgendetwas",
}


def same(child: object) -> object:
    """The phrase of the only child that matters."""
    return child


def noun(word: WordForm, attribute: WordForm | None = None) -> Nominal:
    """A noun, with an adjective or a participle before it."""
    german: Noun = lexicon().nouns[word.lemma]
    number = "pl" if "pl" in word.features["num"] else "sg"
    return Nominal("noun", number, german.gender, noun=german, adjectives=(_attribute(attribute),) if attribute else ())


def _attribute(word: WordForm) -> str:
    if word.pos == "VERB":
        return lexicon().verb(word).participle
    return lexicon().other["adjectives"][word.lemma]


def determined(word: WordForm, phrase: Nominal) -> Nominal:
    """A phrase with an article or another determiner."""
    german = lexicon().other["determiners"][word.word]
    phrase.determiner = "irgendein" if german == "einige" and phrase.number == "sg" else german
    return phrase


def counted(number: WordForm | tuple[WordForm, WordForm], phrase: Nominal) -> Nominal:
    """ "zwei Hunde", "höchstens zwei Hunde"."""
    tables = lexicon().other
    if isinstance(number, WordForm):
        phrase.counted = (tables["numbers"][number.word],)
    else:
        bound, number = number
        phrase.counted = (tables["bounds"][bound.word], tables["numbers"][number.word])
    return phrase


def pair(first: object, second: object) -> tuple[object, object]:
    """Two children together."""
    return first, second


def owned(owner: WordForm, phrase: Nominal) -> Nominal:
    """ "Johns Buch"."""
    phrase.owner = owner.word
    return phrase


def name(word: WordForm) -> Nominal:
    """A name, which is the same in both languages."""
    (kind,) = word.features["kind"]
    return Nominal("name", "sg", kind, word.word)


def pronoun(word: WordForm) -> Nominal:
    """A personal pronoun; English words have no gender to agree with, so that `it` is `es`."""
    if "pl" in word.features["num"]:
        return Nominal("pronoun", "pl")
    return Nominal("pronoun", "sg", {"he": "m", "she": "f", "it": "n"}[word.lemma])


def expletive(_: WordForm) -> Nominal:
    """The `es` of "es gibt" and "es ist klar, dass"."""
    return Nominal("expletive")


def reflexive(_: WordForm) -> Nominal:
    """`sich` has neither number nor gender."""
    return Nominal("reflexive")


def indefinite(word: WordForm) -> Nominal:
    """`jemand` and its like."""
    person = word.word in ("someone", "everyone", "nobody", "anyone")
    return Nominal("indefinite", "sg", "m" if person else "n", INDEFINITE[word.word])


def quantity(word: WordForm) -> Nominal:
    """The rest of an elliptical object: "und John sah drei"."""
    tables = lexicon().other
    return Nominal("quantity", "pl", word=tables["numbers"].get(word.word) or tables["determiners"][word.word])


def both(phrase: Nominal, other: Nominal) -> Nominal:
    """ "der Hund und die Katze": the first phrase has the second as a conjunct, and both together are plural."""
    phrase.conjunct = other
    phrase.own_number, phrase.number = phrase.number, "pl"
    return phrase


def focused(word: WordForm, phrase: Nominal) -> Nominal:
    """ "nur der Hund"."""
    phrase.focus = lexicon().other["focus"][word.word]
    return phrase


def modified(phrase: Nominal, modifier: Prepositional) -> Nominal:
    """A noun with a prepositional phrase."""
    phrase.after.append(modifier)
    return phrase


def place(determiner: WordForm, word: WordForm) -> Nominal:
    """ "der Garten"."""
    return determined(determiner, noun(word))


def at_place(preposition: WordForm, phrase: Nominal) -> Prepositional:
    """ "im Garten", "auf dem Markt"."""
    word = lexicon().other["prepositions"][preposition.word]
    if word == "in":
        word = next(
            (p for lemma, p in lexicon().other["at_places"].items() if lexicon().nouns[lemma] is phrase.noun), word
        )
    return Prepositional(word, "dat", phrase)


def beside(preposition: WordForm, phrase: Nominal) -> Prepositional:
    """ "neben dem Hund"."""
    return Prepositional(lexicon().other["prepositions"][preposition.word], "dat", phrase)


# Clauses that depend on nouns.


def related(phrase: Nominal, clause: Clause) -> Nominal:
    """A noun with a relative clause, whose pronoun agrees with it."""
    for pronoun in (clause.filler, clause.subject):
        if pronoun is not None and pronoun.kind == "relative":
            pronoun.antecedent = phrase
            pronoun.agree()
    phrase.after.append(clause)
    return phrase


def relative(clause: Clause) -> Clause:
    """A relative clause whose pronoun is an object, with or without a pronoun in English."""
    clause.filler = Nominal("relative")
    return clause


def relative_subject(phrase: VerbPhrase) -> Clause:
    """A relative clause whose pronoun is the subject."""
    return Clause(phrase, Nominal("relative"))


def reduced_active(phrase: VerbPhrase) -> Clause:
    """ "the boy watching the dog": a relative clause in German, in the tense of the sentence."""
    phrase.adverbs.append(("time", Token("gerade", "gerade", "ADV")))
    return relative_subject(phrase)


# Clauses and their connections.


def clause(subject: Nominal, phrase: VerbPhrase) -> Clause:
    """A subject and a predicate."""
    if subject.is_negative and phrase.has_sentence_adverb:  # "no dogs are certain to bark", though some may
        raise NoCounterpartError("a negative subject of what German says by an adverb")
    return Clause(phrase, subject)


def subordinate(word: WordForm, inner: Clause) -> Clause:
    """ "weil der Hund schläft"; "when" is `als` for what happened once, and `wenn` for the present."""
    form = lexicon().other["conjunctions"][word.word]
    if form == "als" and inner.phrase.tense != "past":
        form = "wenn"
    inner.opening, inner.label = Token(form, form, "SCONJ"), "advcl"
    return inner


def that(inner: Clause) -> Clause:
    """ "dass der Hund schläft", with or without `that` in English."""
    inner.opening = Token("dass", "dass", "SCONJ")
    return inner


def fronted(main: Clause, inner: Clause) -> Clause:
    """An adverbial clause in front of the finite verb."""
    main.fronted = inner
    return main


def followed(main: Clause, inner: Clause) -> Clause:
    """An adverbial clause at the end."""
    main.followed = inner
    return main


def conjunct(word: WordForm, inner: Clause) -> tuple[Token, Clause]:
    """A conjunction and a main clause."""
    form = lexicon().other["conjunctions"][word.word]
    return Token(form, form, "CCONJ"), inner


def coordinated(main: Clause, other: tuple[Token, Clause]) -> Clause:
    """Two main clauses, with a comma."""
    conjunction, second = other
    main.conjunct = (conjunction, True, second)
    return main


def question(word: WordForm, inner: Clause) -> Clause:
    """ "ob der Hund schläft", "warum der Hund schläft"."""
    tables = lexicon().other
    if word.word in tables["questions"]:
        inner.opening, inner.opening_label = Token(tables["questions"][word.word], "", "ADV"), "advmod"
        inner.opening.lemma = inner.opening.form
    else:
        inner.opening = Token("ob", "ob", "SCONJ")
    return inner


def who(_: WordForm) -> Nominal:
    return Nominal("who", "sg", "m")


def what(_: WordForm) -> Nominal:
    return Nominal("what", "sg", "n")


def asked(filler: Nominal, inner: Clause) -> Clause:
    """A question for an object."""
    inner.filler = filler
    return inner


def free_relative(inner: Clause) -> Clause:
    """ "was der Junge kaufte", as the subject of a clause."""
    inner.filler, inner.label = Nominal("what", "sg", "n"), "csubj"
    return inner
