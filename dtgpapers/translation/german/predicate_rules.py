"""The operations that build German predicates with `sein`, tenses, negation, adverbs and clefts (see nominal_rules.py).

It is not easy to read       es ist nicht leicht zu lesen
Mary has never slept         Mary hat nie geschlafen
What he did was sleep        was er tat, war, zu schlafen
"""

from dtglib.data.minilang.lexicon import WordForm
from dtgpapers.translation.german.clause import Clause
from dtgpapers.translation.german.morphology import Verb
from dtgpapers.translation.german.nominal import Nominal, Prepositional, Token
from dtgpapers.translation.german.nominal_rules import related
from dtgpapers.translation.german.verb_phrase import Argument, Gap, Link, NoCounterpartError, VerbPhrase
from dtgpapers.translation.german.verbal_rules import (
    add_infinitive,
    phrase_of,
    tense_of,
    with_auxiliary,
    with_upper,
)
from dtgpapers.translation.german.words import Instead, lexicon

# Copular predicates, and what there is.


def _copular(head: Token) -> VerbPhrase:
    verb = lexicon().plain_verb("sein", "sein")
    return VerbPhrase(head, [Link(verb, Token("", "", "AUX", head, "cop"))])


def predicate(part: "Nominal | Prepositional | VerbPhrase") -> VerbPhrase:
    """ "ist ein Arzt", "ist im Garten"."""
    if isinstance(part, VerbPhrase):
        return part
    phrase = _copular(part.head)
    phrase.predicate = part
    return phrase


def adjective(word: WordForm, degree: WordForm | None = None) -> VerbPhrase:
    """ "ist sehr alt"."""
    form = lexicon().other["adjectives"][word.lemma]
    head = Token(form, form, "ADJ")
    phrase = _copular(head)
    phrase.predicate = [head]
    if degree:
        by = lexicon().other["degrees"][degree.word]
        phrase.predicate.insert(0, Token(by, by, "ADV", head, "advmod"))
    return phrase


def adjective_raising(word: WordForm, inner: VerbPhrase) -> VerbPhrase:
    """ "lacht wahrscheinlich"."""
    return with_upper(Instead("ADV", lexicon().other["raising"][word.lemma]), inner, None)


def adjective_control(word: WordForm, inner: VerbPhrase) -> VerbPhrase:
    """ "ist bereit, zu lachen"; for some adjectives German has a verb."""
    if inner.subject_case != "nom":
        raise NoCounterpartError("an infinitive whose subject would be a dative")
    instead = lexicon().verbs.get(("control", word.lemma))
    phrase = phrase_of(instead, None) if isinstance(instead, Verb) else adjective(word)
    add_infinitive(phrase, inner)
    return phrase


def tough(word: WordForm, inner: VerbPhrase) -> VerbPhrase:
    """ "ist leicht zu lesen": German has this for direct objects only."""
    missing = inner.gap
    if missing is None or missing.owner is not inner or missing.case != "acc" or missing.preposition:
        raise NoCounterpartError("an object that only English makes a subject (easy to talk to)")
    if inner.clause or inner.infinitive or inner.conjunct or inner.adverbs or len(inner.links) > 1:
        raise NoCounterpartError("an object that only English makes a subject (easy to talk to)")
    phrase = adjective(word)
    inner.gap = None
    phrase.infinitive, phrase.after_comma = inner, False
    return phrase


def existential(word: WordForm, filler: Nominal) -> VerbPhrase:
    """ "es gibt einen Hund"."""
    phrase = phrase_of(lexicon().plain_verb("geben"), tense_of(word))
    phrase.arguments = [Argument("obj", "acc", filler)]
    return phrase


def extraposition(be: WordForm, word: WordForm, inner: Clause) -> VerbPhrase:
    """ "es ist klar, dass John lacht"."""
    phrase = tensed(be, adjective(word))
    phrase.clause, inner.label = inner, "csubj"
    return phrase


# Tense, negation, adverbs.


def tensed(auxiliary: WordForm, phrase: VerbPhrase) -> VerbPhrase:
    """A predicate in the tense of `be` or `do`."""
    phrase.tense = tense_of(auxiliary)
    if phrase.conjunct:
        phrase.conjunct.tense = phrase.tense
    return phrase


def modal(auxiliary: WordForm, phrase: VerbPhrase) -> VerbPhrase:
    """A modal verb, or the future."""
    target, tense = lexicon().modals[auxiliary.lemma]
    if isinstance(target, Instead):
        return with_upper(target, phrase, tense)
    phrase.tense = tense
    return with_auxiliary(phrase, target.name, "inf")


def modal_not(auxiliary: WordForm, phrase: VerbPhrase) -> VerbPhrase:
    """With `nicht`; what one must not do, one is not allowed to ("darf nicht"), and "mag nicht" is not "may not"."""
    negative = f"{auxiliary.lemma} not"
    word = auxiliary._replace(lemma=negative) if negative in lexicon().modals else auxiliary
    return modal(word, negated(phrase))


def perfect(have: WordForm, phrase: VerbPhrase) -> VerbPhrase:
    """The perfect with `haben` or `sein`; that of `wollen` is its past, as is usual."""
    phrase.tense = tense_of(have)
    if phrase.links[-1].verb.name == "wollen" and phrase.links[-1].demands:
        if phrase.conjunct and phrase.shared_from == len(phrase.links):
            raise NoCounterpartError("a perfect of `wollen` among coordinated verbs")
        phrase.tense = "past"
        return phrase
    other = phrase.conjunct
    own = phrase.links[-1].verb.perfect
    if other is None or phrase.shared_from < len(phrase.links):
        return with_auxiliary(phrase, own, "part", perfect=own)
    if other.links[-1].verb.name == "wollen" and other.links[-1].demands:
        raise NoCounterpartError("a perfect of `wollen` among coordinated verbs")
    if other.links[-1].verb.perfect == own:
        return with_auxiliary(phrase, own, "part", perfect=own)
    with_auxiliary(phrase, own, "part", perfect=own)
    with_auxiliary(other, other.links[-1].verb.perfect, "part")
    other.tense, phrase.shared_from = phrase.tense, len(phrase.links)
    return phrase


def progressive(be: WordForm, phrase: VerbPhrase) -> VerbPhrase:
    """ "schläft gerade"."""
    phrase.tense = tense_of(be)
    phrase.adverbs.append(("time", Token("gerade", "gerade", "ADV")))
    return phrase


def negated(phrase: VerbPhrase) -> VerbPhrase:
    """With `nicht`."""
    _require_reach(phrase)
    phrase.negated = True
    return phrase


def _require_reach(phrase: VerbPhrase) -> None:
    """An error if a negation or a frequency would not be about the same part of the sentence as in English.

    "She is not certain to laugh" is not "sie lacht bestimmt nicht", and in "er schläft nicht und lacht" he laughs.
    """
    if phrase.has_sentence_adverb:
        raise NoCounterpartError("a negation or frequency of what German says by an adverb")
    if phrase.conjunct:
        raise NoCounterpartError("a negation or frequency of coordinated verbs")


def adverb(phrase: VerbPhrase, word: WordForm) -> VerbPhrase:
    """With an adverb, whose group decides about its place."""
    group, form = lexicon().adverbs[word.word]
    if group in ("frequency", "never"):
        _require_reach(phrase)
    phrase.adverbs.append((group, Token(form, form, "ADV")))
    return phrase


def never(phrase: VerbPhrase) -> VerbPhrase:
    """`not ever` is `nie`."""
    _require_reach(phrase)
    phrase.adverbs.append(("never", Token("nie", "nie", "ADV")))
    return phrase


def adjunct(phrase: VerbPhrase, part: Prepositional) -> VerbPhrase:
    """With a place."""
    phrase.adjuncts.append(part)
    return phrase


def coordinated_verbs(phrase: VerbPhrase, other: VerbPhrase) -> VerbPhrase:
    """ "las das Buch und lachte"."""
    phrase.conjunct, phrase.shared_from = other, len(phrase.links)
    return phrase


# Clefts.


def cleft(be: WordForm, phrase: Nominal, relative: Clause) -> Clause:
    """ "es war John, der lachte"; the verb agrees with the phrase."""
    related(phrase, relative)
    return Clause(tensed(be, predicate(phrase)), Nominal("expletive"), number=phrase.number)


def pseudo_cleft(free: Clause, be: WordForm, phrase: Nominal) -> Clause:
    """ "was der Junge kaufte, war das Auto"."""
    return Clause(tensed(be, predicate(phrase)), fronted=free)


def pseudo_cleft_of_verb(free: Clause, be: WordForm, inner: VerbPhrase) -> Clause:
    """ "was der Junge tat, war, das Auto zu kaufen"."""
    phrase = tensed(be, _copular(inner.head))
    phrase.infinitive = inner
    return Clause(phrase, fronted=free)


def did(subject: Nominal, _: WordForm) -> Clause:
    """ "was der Junge tat"."""
    phrase = phrase_of(lexicon().plain_verb("tun"), "past")
    phrase.gap = Gap(phrase, "obj", "acc")
    return Clause(phrase, subject)
