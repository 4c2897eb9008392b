"""Challenge sets of a corpus's own sentences: those in which two words that belong together stand apart.

They are found by trees, as Choshen and Abend (2019) found theirs: a verb and its particle by the label of the arc
between them; a reflexive, which a parser that knows no features cannot tell, by its form, in English. Stranded
prepositions, which they also have, are not looked for: whether a word is a preposition is not in a tree.

    >>> words, heads = ("John", "put", "the", "coals", "out"), (2, 0, 4, 2, 2)
    >>> put = Sentence(words, heads, ("nsubj", "root", "det", "obj", "compound:prt"))
    >>> {name: found.distances for name, found in sets_apart([put] * FEWEST, "en").items()}
    {'en_particle_own': [2, 2, 2, 2, 2]}
"""

from collections.abc import Callable, Iterable, Iterator

from dtglib.data.treebank import Sentence
from dtgpapers.translation.challenge_files import FARTHEST, FEWEST, ChallengeSet

REFLEXIVES = frozenset(
    ("myself", "yourself", "himself", "herself", "itself", "oneself", "ourselves", "yourselves", "themselves")
)
# Which words hang on their heads as members of a set, by their label and form.
BELONGS: dict[str, Callable[[str, str], bool]] = {
    "particle": lambda label, form: "prt" in label,
    "reflexive": lambda label, form: form in REFLEXIVES,
}


def sets_apart(sentences: Iterable[Sentence], language: str) -> dict[str, ChallengeSet]:
    """The sets that have enough sentences, by name; sentences without labelled trees are passed over.

    The distance of a sentence is the number of words between the two, at most FARTHEST, and at least 1; the largest if
    there are several.
    """
    parsed = [one for one in sentences if one.heads is not None and one.labels is not None]
    sets = {}
    for kind, belongs in BELONGS.items():
        distances = [max(_between(one, belongs), default=0) for one in parsed]
        apart = [(one, min(far, FARTHEST)) for one, far in zip(parsed, distances, strict=True) if far]
        if len(apart) >= FEWEST:
            items, capped = zip(*apart, strict=True)
            sets[f"{language}_{kind}_own"] = ChallengeSet(list(items), list(capped))
    return sets


def _between(sentence: Sentence, belongs: Callable[[str, str], bool]) -> Iterator[int]:
    """The number of words between each such word and its head."""
    for place, (head, label, word) in enumerate(
        zip(sentence.heads or (), sentence.labels or (), sentence.words, strict=True), 1
    ):
        if head and belongs(label, word.lower()):
            yield abs(place - head) - 1
