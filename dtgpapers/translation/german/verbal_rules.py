"""The operations that build German predicates; `de:` in the grammar names them (see nominal_rules.py).

Where German says it in another way, the phrase is built so from the beginning:

    Mary is likely to laugh              Maria lacht wahrscheinlich           an adverb for the upper verb
    Mary wants to laugh                  Maria will lachen                    a modal verb
    Mary expects John to laugh           Maria erwartet, dass John lacht      a clause for an infinitive with a subject
    Mary was given a book                Maria bekam ein Buch geschenkt       the passive of the recipient
    John was helped                      John (dat) wurde geholfen            a dative that stays one
    the boy who Mary thinks John saw     der Junge, von dem Mary denkt, dass John ihn sah
"""

from dtglib.data.minilang.lexicon import WordForm
from dtgpapers.translation.german.clause import Clause
from dtgpapers.translation.german.morphology import Verb
from dtgpapers.translation.german.nominal import Nominal, Prepositional, Token
from dtgpapers.translation.german.verb_phrase import Argument, Gap, Link, NoCounterpartError, VerbPhrase
from dtgpapers.translation.german.words import Instead, lexicon


def phrase_of(verb: Verb, tense: str | None) -> VerbPhrase:
    """A predicate of one verb."""
    head = Token("", "", "VERB")
    return VerbPhrase(head, [Link(verb, head)], tense, verb.reflexive)


def tense_of(word: WordForm) -> str | None:
    """The tense of a finite English form; None for the others."""
    return next((form for form in ("pres", "past") if form in word.features["form"]), None)


def with_auxiliary(
    phrase: VerbPhrase, name: str, demands: str, label: str = "aux", perfect: str = "haben"
) -> VerbPhrase:
    """Put an auxiliary around the verbs."""
    verb = lexicon().plain_verb(name, perfect)
    phrase.links.append(Link(verb, Token("", "", "AUX", phrase.head, label), demands))
    return phrase


def verb(word: WordForm) -> VerbPhrase:
    """A verb without objects."""
    return phrase_of(lexicon().verb(word), tense_of(word))


def _object(phrase: VerbPhrase, target: Verb, filler: Nominal) -> None:
    label = "obl" if target.preposition else "obj" if target.case == "acc" else "obl:arg"
    phrase.arguments.append(Argument(label, target.case, filler, target.preposition))


def objects(word: WordForm, filler: Nominal) -> VerbPhrase:
    """A verb with its object, in the case or with the preposition that it demands."""
    phrase = verb(word)
    _object(phrase, lexicon().verb(word), filler)
    return phrase


def gap(word: WordForm) -> VerbPhrase:
    """A verb whose object is missing."""
    phrase, target = verb(word), lexicon().verb(word)
    label = "obl" if target.preposition else "obj" if target.case == "acc" else "obl:arg"
    phrase.gap = Gap(phrase, label, target.case, target.preposition)
    return phrase


def ditransitive(word: WordForm, recipient: Nominal, thing: Nominal) -> VerbPhrase:
    """A verb with two objects; the recipient is a dative, as English has it or with `to`."""
    phrase = verb(word)
    phrase.arguments = [Argument("iobj", "dat", recipient), Argument("obj", "acc", thing)]
    return phrase


def thing_gap(word: WordForm, recipient: Nominal) -> VerbPhrase:
    """A verb with two objects, the thing missing."""
    phrase = gap(word)
    phrase.arguments = [Argument("iobj", "dat", recipient)]
    return phrase


def recipient_gap(word: WordForm, thing: Nominal) -> VerbPhrase:
    """A verb with two objects, the recipient missing."""
    phrase = verb(word)
    phrase.arguments = [Argument("obj", "acc", thing)]
    phrase.gap = Gap(phrase, "iobj", "dat")
    return phrase


# Clauses and infinitives as complements.


def complement(word: WordForm, inner: Clause) -> VerbPhrase:
    """A verb with a clause. No phrase leaves a German clause: `von` stands for it above, a pronoun inside."""
    phrase = verb(word)
    return _with_clause(phrase, inner)


def _with_clause(phrase: VerbPhrase, inner: Clause) -> VerbPhrase:
    phrase.clause = inner
    missing = inner.phrase.gap if inner.filler is None else None
    if missing:
        pronoun = Nominal("pronoun")
        missing.owner.arguments.append(Argument(missing.label, missing.case, pronoun, missing.preposition))
        inner.phrase.gap = None
        phrase.gap = Gap(phrase, "obl", "dat", "von", [*missing.resumed, pronoun])
    return phrase


def complement_without_subject(word: WordForm, inner: VerbPhrase) -> VerbPhrase:
    """ "who John thinks slept": the subject of the clause is a pronoun."""
    pronoun = Nominal("pronoun")
    phrase = verb(word)
    phrase.clause = Clause(inner, pronoun, Token("dass", "dass", "SCONJ"))
    phrase.gap = Gap(phrase, "obl", "dat", "von", [pronoun])
    return phrase


def control(word: WordForm, inner: VerbPhrase) -> VerbPhrase:
    """A verb with an infinitive whose subject is its own."""
    target = lexicon().verb_or_instead(word)
    if isinstance(target, Instead):
        return with_upper(target, inner, tense_of(word))
    phrase = phrase_of(target, tense_of(word))
    raises = "rais" in word.features["frame"]
    add_infinitive(phrase, inner, after_comma=not raises)
    if raises:
        phrase.subject_case, phrase.subject_label = inner.subject_case, "nsubj"
    elif inner.subject_case != "nom":
        raise NoCounterpartError("an infinitive whose subject would be a dative")
    return phrase


def with_upper(target: Instead, inner: VerbPhrase, tense: str | None) -> VerbPhrase:
    """The lower verb becomes the verb of the clause, with an adverb or a modal verb."""
    inner.tense = tense
    if inner.conjunct:
        inner.conjunct.tense = tense
    if target.kind == "ADV":
        if inner.conjunct:
            raise NoCounterpartError("coordinated verbs below what German says by an adverb")
        if any(token.form == target.word for _, token in inner.adverbs):
            raise NoCounterpartError("the same adverb twice (tends to tend to)")
        inner.adverbs.insert(0, ("sentence", Token(target.word, target.word, "ADV")))
        return inner
    if inner.subject_case != "nom":
        raise NoCounterpartError("an infinitive whose subject would be a dative")
    return with_auxiliary(inner, target.word, "inf")


def add_infinitive(phrase: VerbPhrase, inner: VerbPhrase, after_comma: bool = True) -> None:
    """Add an infinitive with `zu`; one that a phrase has left stands before the verb, without a comma."""
    phrase.infinitive, phrase.gap = inner, inner.gap
    phrase.after_comma = after_comma and inner.gap is None


def object_control(word: WordForm, filler: Nominal, inner: VerbPhrase) -> VerbPhrase:
    """A verb with an object, which is the subject of the infinitive."""
    if inner.subject_case != "nom":
        raise NoCounterpartError("an infinitive whose subject would be a dative")
    phrase = objects(word, filler)
    add_infinitive(phrase, inner)
    return phrase


def object_raising(word: WordForm, filler: Nominal, inner: VerbPhrase) -> VerbPhrase:
    """ "expects John to laugh": a clause with `dass`."""
    return _with_clause(verb(word), Clause(inner, filler, Token("dass", "dass", "SCONJ")))


# Passives.


def passive(word: WordForm) -> VerbPhrase:
    """ "wurde gesehen"; a dative object stays a dative."""
    phrase, target = phrase_of(lexicon().verb(word), None), lexicon().verb(word)
    if target.reflexive or target.preposition:
        raise NoCounterpartError("the passive of a verb with a preposition")
    phrase.subject_case = "nom" if target.case == "acc" else "dat"
    phrase.subject_label = "nsubj:pass" if target.case == "acc" else "obl:arg"
    return with_auxiliary(phrase, "werden", "part", "aux:pass", "sein")


def agent(word: WordForm, filler: Nominal) -> VerbPhrase:
    """ "wurde von dem Hund gesehen"."""
    phrase = passive(word)
    phrase.adjuncts.append(Prepositional("von", "dat", filler, "obl:agent"))
    return phrase


def recipient_passive(word: WordForm, thing: Nominal) -> VerbPhrase:
    """ "bekam ein Buch geschenkt"."""
    phrase = phrase_of(lexicon().verb(word), None)
    phrase.arguments = [Argument("obj", "acc", thing)]
    phrase.subject_label = "nsubj:pass"
    return with_auxiliary(phrase, "bekommen", "part", "aux:pass")


def dative_passive(word: WordForm, recipient: Nominal) -> VerbPhrase:
    """ "wurde John geschenkt"."""
    phrase = passive(word)
    phrase.arguments = [Argument("iobj", "dat", recipient)]
    return phrase


def control_passive(word: WordForm, inner: VerbPhrase) -> VerbPhrase:
    """ "wurde gezwungen, zu lachen"."""
    if inner.subject_case != "nom":
        raise NoCounterpartError("an infinitive whose subject would be a dative")
    phrase = passive(word)
    add_infinitive(phrase, inner)
    return phrase


def raising_passive(*_: object) -> VerbPhrase:
    """ "was expected to laugh"."""
    raise NoCounterpartError("the passive of a verb of raising")
