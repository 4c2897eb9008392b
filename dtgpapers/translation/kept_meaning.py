"""The meaning that a translation into English must keep: who does it to whom, particles, reflexives, prepositions.

    Den Ball bringt der Vater .      The father brings the ball .                right
                                     The ball is brought by the father .         right
                                     The ball brings the father .                reversed

The roles are found by two nouns: the one that acts comes first, unless the sentence is passive, by a form of *be* or
*get*, something after it, and a *by* between the two. This is a proxy for people's judgement. Other errors, in the
verb, say, do not count; a cleft ("it is the ball that the father brings") counts as reversed; and of translations that
have one of the nouns under another name it says nothing ("other").

    >>> roles("The ball is brought by the father .".split(), {"father"}, {"ball"})
    'right'
    >>> roles("The ball brings the father .".split(), {"father"}, {"ball"})
    'reversed'
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from dtglib.data.treebank import Words

BE = frozenset(["am", "is", "are", "was", "were", "be", "been", "being", "get", "gets", "getting", "got"])
NEAR = 3  # words behind a preposition among which its noun is looked for


def roles(words: Words, actor: Collection[str], undergoer: Collection[str]) -> str:
    """The roles in a sentence: "right" if the actor does it to the undergoer, else "reversed" or "other"."""
    said = [word.lower() for word in words]
    first, second = (next((i for i, word in enumerate(said) if word in names), None) for names in (actor, undergoer))
    if first is None or second is None:
        return "other"
    between = said[min(first, second) + 1 : max(first, second)]
    before_by = between[: between.index("by")] if "by" in between else []
    is_passive = any(word in BE for word in before_by[:-1])
    return "right" if (first < second) != is_passive else "reversed"


def keeps_roles(words: Words, truth: Mapping[str, Any]) -> bool:
    """True if subject and object of a challenge item are as they should be."""
    return roles(words, {str(truth["subject"])}, {str(truth["object"])}) == "right"


def keeps_particle(words: Words, truth: Mapping[str, Any]) -> bool:
    """True if the verb is there, and its particle somewhere behind it."""
    verb, particle = truth["english verb"], truth["english particle"]
    return verb in words and particle in words[list(words).index(verb) + 1 :]


def keeps_reflexive(words: Words, truth: Mapping[str, Any]) -> bool:
    """True if the subject is there, and the reflexive somewhere behind it."""
    subject, reflexive = truth["subject"], truth["english reflexive"]
    return subject in words and reflexive in words[list(words).index(subject) + 1 :]


def keeps_preposition(words: Words, truth: Mapping[str, Any]) -> bool:
    """True if the object stands close behind the preposition that the verb demands."""
    near = (words[i + 1 : i + 1 + NEAR] for i, word in enumerate(words) if word == truth["english preposition"])
    return any(truth["object"] in some for some in near)


JUDGES: dict[str, Callable[[Words, Mapping[str, Any]], bool]] = {
    "particle": keeps_particle,
    "reflexive": keeps_reflexive,
    "preposition": keeps_preposition,
    "object-first": keeps_roles,
}


def kept(name: str, found: Sequence[Words], truths: Sequence[Mapping[str, Any]]) -> list[bool]:
    """For each translation of a challenge set whether it keeps what the set is about."""
    judge = next(judge for start, judge in JUDGES.items() if name.startswith(start))
    return [judge(words, truth) for words, truth in zip(found, truths, strict=True)]
