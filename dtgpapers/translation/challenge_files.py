"""The public challenge sets of Choshen and Abend (2019), between German and English: files of the data folder.

    sets = public_sets("de", "en")
    sets["de_particle"].items[0]           a Sentence with its source as translation
    sets["de_particle"].distances[0]       3 words at least stand between the verb and its particle; or 5

A name is the language that has the phenomenon, what it is, and `news` where the sentences are from newstest2013; others
are from books. The files have the distances as subsets: de_particle3.ids names the sentences of distance 3 and more.

For models that know lower case only, as those of multi30k do, the sets are to be lower-cased, too: see `lowered`.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from dtglib.data.registry import data_folder
from dtglib.data.treebank import Sentence
from dtgpapers.translation.parallel import read_pair

KINDS = ("particle", "reflexive", "preposition_stranding")
NEWS = ("", "_news")
FARTHEST = 5  # the largest distance that has a file of its own
FEWEST = 5  # sets with fewer sentences say nothing


class ChallengeSet(NamedTuple):
    """Sentences, and for each at least how many words stand between the two that belong together.

    Those of a corpus's own sentences are found in apart.py.
    """

    items: list[Sentence]
    distances: list[int]


def public_sets(source: str, target: str) -> dict[str, ChallengeSet]:
    """All sets that are there, by name."""
    names = [f"{side}_{kind}{news}" for side in (source, target) for kind in KINDS for news in NEWS]
    sets = {name: _read(name, source, target) for name in names if _file(name, "ids").is_file()}
    return {name: one for name, one in sets.items() if len(one.items) >= FEWEST}


def _file(name: str, suffix: str) -> Path:
    return data_folder() / "challenge" / f"{name}.{suffix}"


def _read(name: str, source: str, target: str) -> ChallengeSet:
    """A set with the largest distance whose file names each sentence; sets of news have no such files."""
    items = read_pair(_file(name, source), _file(name, target)).sentences
    numbers = _numbers(name)
    at_least = dict.fromkeys(numbers, 1)
    for distance in range(2, FARTHEST + 1):
        if _file(f"{name}{distance}", "ids").is_file():
            at_least |= dict.fromkeys(_numbers(f"{name}{distance}"), distance)
    # A sentence's id ends in its line, counted from 1.
    lines = [int(item.id.rpartition("-")[2]) for item in items]
    return ChallengeSet(list(items), [at_least[numbers[line - 1]] for line in lines])


def _numbers(name: str) -> list[int]:
    """The places of a set's sentences in the corpus that they are from."""
    return list(map(int, _file(name, "ids").read_text("utf-8").split()))


def lowered(sentences: Iterable[Sentence]) -> list[Sentence]:
    """The same in lower case, sources included."""
    return [
        replace(one, words=_lower(one.words), translation=one.translation and _lower(one.translation))
        for one in sentences
    ]


def _lower(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)
