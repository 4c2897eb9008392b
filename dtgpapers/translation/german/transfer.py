"""From a derivation of minilang's grammar to its German sentence: the `de:` sides of the rules are carried out.

    transitive    en: "^/V[...] obj/NP[...]"    de: "objects ^ obj"
    do-not        en: "+/DoNot[...] ^/Frame"    de: "tensed + (negated ^)"

An expression names an operation (of nominal_rules.py, verbal_rules.py or predicate_rules.py) and its arguments:
children of the rule, by their labels, or further expressions in brackets. The derivation is folded from the leaves to
the root, as for the English tree (derivation.py); nothing is drawn. The result is a clause, whose words are then
written in their order (clause.py) with their heads, so that German trees need not be projective.

    >>> from dtglib.data.minilang.corpus import derivations, dice_of
    >>> drawn = next(derivations("train", dice_of("train", 0)))
    >>> " ".join(token.form for token in translate(*drawn))
    'Dieses Drehbuch , das verschwand , wurde von ihm gerochen .'
"""

import functools
import re
import zlib
from collections.abc import Callable
from typing import Any

from dtglib.basics.errors import UserError, require
from dtglib.data.minilang.derivation import Annotation, Node
from dtglib.data.minilang.grammar import read_source
from dtglib.data.minilang.lexicon import WordForm
from dtgpapers.translation.german import nominal_rules, predicate_rules, verbal_rules
from dtgpapers.translation.german.clause import Clause
from dtgpapers.translation.german.nominal import Token
from dtgpapers.translation.german.verb_phrase import Argument
from dtgpapers.translation.german.words import lexicon

# Where the operations are.
MODULES = (nominal_rules, verbal_rules, predicate_rules)
Operation = Callable[..., Any]
# An expression: an operation and its arguments, each the number of a child or an expression.
Expression = tuple[Operation, tuple[Any, ...]]


def translate(derivation: Node, annotation: Annotation, order: Callable[[Clause], None] | None = None) -> list[Token]:
    """The words of the German sentence, with their heads; `order` may choose what stands before the finite verb."""
    clause = fold(derivation, annotation)
    (order or vary)(clause)
    return in_sentence(clause)


def in_sentence(clause: Clause) -> list[Token]:
    """The words of a main clause with the full stop; commas that meet are one, and none opens or ends the sentence."""
    tokens: list[Token] = []
    for token in clause.write(main=True):
        if token.form != "," or (tokens and tokens[-1].form != ","):
            tokens.append(token)
    if tokens[-1].form == ",":
        tokens.pop()
    tokens[0].form = tokens[0].form[0].upper() + tokens[0].form[1:]
    return [*tokens, Token(".", ".", "PUNCT", clause.head, "punct")]


# ---- The fold


def fold(derivation: Node, annotation: Annotation) -> Clause:
    """The main clause of a derivation."""
    expressions, feminine = rules(), female_nouns(annotation)
    place = 0

    def value(node: Node | WordForm) -> Any:
        nonlocal place
        if isinstance(node, WordForm):
            place += 1
            return node._replace(lemma=f"{node.lemma} f") if place in feminine else node
        children = [value(child) for child in node.children]
        return evaluate(expressions[node.rule.name], children)

    return value(derivation)


def evaluate(expression: Expression, children: list[Any]) -> Any:
    """Carry out an operation on the values of the children."""
    operation, arguments = expression
    return operation(*[children[a] if isinstance(a, int) else evaluate(a, children) for a in arguments])


def female_nouns(annotation: Annotation) -> set[int]:
    """The places of nouns like `doctor` that are women: `herself` has them as its subject, or "Mary is a doctor"."""
    women: set[int] = set()
    for place, entry in enumerate(annotation.entries, start=1):
        if entry.word == "herself":
            women.update(subject for subject, _ in subjects_of(annotation, annotation.heads[place]))
        elif annotation.labels[place] == "cop" and annotation.entries[annotation.heads[place] - 1].pos == "NOUN":
            noun = annotation.heads[place]
            if any(set(entry.features.get("kind", ())) == {"f"} for _, entry in subjects_of(annotation, noun)):
                women.add(noun)
    return {place for place in women if f"{annotation.entries[place - 1].lemma} f" in lexicon().nouns}


def subjects_of(annotation: Annotation, verb: int) -> list[tuple[int, WordForm]]:
    """The subjects of a verb in the enhanced graph."""
    return [
        (word, annotation.entries[word - 1])
        for word, edges in enumerate(annotation.graph, start=1)
        if any(int(edge.head) == verb and edge.label.startswith("nsubj") for edge in edges)
    ]


# ---- The rules


@functools.cache
def rules() -> dict[str, Expression]:
    """The German side of every rule, by the rule's name."""
    german_sides: dict[str, Expression] = {}
    for category, lines in read_source("grammar")["rules"].items():
        for line in lines:
            name = line["name"]
            require(
                name not in german_sides, f"grammar.yaml: two rules are called {name}; German sides are found by name"
            )
            require("de" in line, f"grammar.yaml: {category}, rule {name} has no `de:`; give it a German side")
            labels = [item.split("/")[0] for item in line["en"].split()]
            german_sides[name] = _parse(re.findall(r"[()]|[^\s()]+", line["de"]), labels, f"{category}, rule {name}")
    return german_sides


def _parse(words: list[str], labels: list[str], where: str) -> Expression:
    """Read `tensed + (negated ^)`; a label stands for the number of its child."""
    name = words.pop(0)
    arguments: list[Any] = []
    operation = next((getattr(module, name) for module in MODULES if hasattr(module, name)), None)
    if operation is None:
        raise UserError(f"grammar.yaml: {where}: there is no German operation {name!r}")
    while words:
        word = words.pop(0)
        if word == ")":
            break
        if word == "(":
            arguments.append(_parse(words, labels, where))
            continue
        require(word in labels, f"grammar.yaml: {where}: no child has the label {word!r}; it has {', '.join(labels)}")
        arguments.append(labels.index(word))
    return operation, tuple(arguments)


# ---- What stands first in a main clause


def subject_first(clause: Clause) -> None:
    """The plain order."""


def vary(clause: Clause) -> None:
    """An object or an adverb of time first, in some of the sentences where that is clear.

    Which ones is decided by a checksum of the subject and the verb, so that nothing is drawn, and the same sentence
    always comes in the same order.
    """
    phrase, subject = clause.phrase, clause.subject
    if clause.fronted or subject is None or subject.kind == "expletive":
        return
    share = zlib.crc32(repr(fingerprint(clause)).encode()) % 100
    times = [pair for pair in phrase.adverbs if pair[1].form in ("gestern", "heute")]
    if times and share < 50:
        phrase.adverbs.remove(times[0])
        clause.front = times[0][1]
    elif share < 20:
        object_first(clause)


def object_first(clause: Clause) -> bool:
    """Put the object in front if it can be told from the subject; True if that was possible."""
    phrase, subject = clause.phrase, clause.subject
    objects = [argument for argument in phrase.arguments if argument.label in ("obj", "iobj", "obl:arg")]
    if phrase.conjunct or phrase.infinitive or phrase.subject_case != "nom" or len(objects) != 1 or subject is None:
        return False
    (argument,) = objects
    shown = argument.phrase
    if shown.kind in ("reflexive", "expletive") or shown.is_light or (shown.can_be_negative and phrase.negated):
        return False
    case = argument.case
    if shown.could_be("nom", case, subject.number) and subject.could_be(case, "nom"):
        return False
    phrase.arguments.remove(argument)
    clause.front = Argument(argument.label, case, shown)
    return True


def fingerprint(clause: Clause) -> tuple[str, ...]:
    """The words that decide the order of a clause: verbs, nouns and adverbs."""
    nouns = [clause.subject, *(argument.phrase for argument in clause.phrase.arguments)]
    names = [(noun.noun.singular if noun.noun else noun.word) + str(noun.determiner) for noun in nouns if noun]
    return (*(link.verb.name for link in clause.phrase.links), *names, *(w.form for _, w in clause.phrase.adverbs))
