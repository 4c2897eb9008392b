"""The 99 sentences of Choshen and Abend's appendix C: objects that come first, and the same in the plain order.

    object     36    Den Ball bringt das Kind .        the form of the object shows its case
    subject    27    Das Pferd drückt der Vater .      that of the subject does
    both       36    Den Ball bringt der Vater .       both do

They are made from the lists of the appendix. A translator of English words may have several for a German noun.

    >>> first = object_first()[0]
    >>> " ".join(first.german), " ".join(first.plain_german)
    ('Den Ball bringt das Kind .', 'Das Kind bringt den Ball .')
"""

from itertools import product
from typing import NamedTuple

ENGLISH = {
    "Ball": {"ball"},
    "Stein": {"stone", "rock"},
    "Tisch": {"table", "desk"},
    "Hamster": {"hamster"},
    "Pferd": {"horse"},
    "Kind": {"child", "kid", "infant"},
    "Mädchen": {"girl"},
    "Mutter": {"mother", "mom"},
    "Vater": {"father", "dad"},
    "Hund": {"dog"},
    "Student": {"student"},
}

THINGS = ("Den Ball", "Den Stein", "Den Tisch", "Den Hamster")
ALIKE = ("Das Pferd", "Das Kind", "Das Mädchen")  # their form does not show the case
UNMARKED, MARKED = ("das Kind", "die Mutter", "das Mädchen"), ("der Vater", "der Hund", "der Student")
BRINGS, PUSHES = ("bringt", "wirft", "drückt"), ("drängt", "drückt", "zieht")
SETS = {
    "object": (THINGS, BRINGS, UNMARKED),
    "subject": (ALIKE, PUSHES, MARKED),
    "both": (THINGS, BRINGS, MARKED),
}


class ObjectFirst(NamedTuple):
    """A sentence, the same with the subject first, and the English nouns for its subject and its object."""

    marked: str
    german: tuple[str, ...]
    plain_german: tuple[str, ...]
    subject: frozenset[str]
    object: frozenset[str]


def object_first() -> list[ObjectFirst]:
    """All sentences."""
    return [_sentence(marked, *parts) for marked, lists in SETS.items() for parts in product(*lists)]


def _sentence(marked: str, thing: str, verb: str, actor: str) -> ObjectFirst:
    article, noun = thing.split()
    its_article, its_noun = actor.split()
    return ObjectFirst(
        marked,
        (article, noun, verb, its_article, its_noun, "."),
        (its_article.capitalize(), its_noun, verb, article.lower(), noun, "."),
        frozenset(ENGLISH[its_noun]),
        frozenset(ENGLISH[noun]),
    )
