"""The Brown corpus and MASC, as NLTK distributes them: a sentence a line, every word with its tag.

    It/pps seems/vbz that/cs ,/, after/in seven/cd marriages/nns ?/. ?/.        Brown: not split, marks are doubled
    you_PRP ca_MD n't_RB know_VB                                                MASC: some are "didn ’ t"

Documents are not mixed: of every twenty, in the order of their names, the first is dev, the second test.
"""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from dtgpapers.books.sentences import words_of


class Tagged(NamedTuple):
    """A corpus of tagged files in an archive."""

    archive: str  # below the data folder
    document: str  # a pattern of the names of documents
    separator: str  # between a word and its tag


TAGGED = {
    "brown": Tagged("nltk/brown.zip", r"brown/c[a-r]\d\d", "/"),
    "masc": Tagged("nltk/masc_tagged.zip", r"masc_tagged/(?:spoken|written)/.*\.txt", "_"),
}

PLACES = {"dev": (0,), "test": (1,), "train": tuple(range(2, 20))}
_BROKEN = re.compile(r" ’ (?=(?:t|s|m|d|re|ve|ll)\b)")
_DOUBLED = re.compile(r"(?<!\S)([!?;:])(?: \1)+(?!\S)")


def tagged_sentences(corpus: Tagged, folder: Path, split: str) -> Iterator[tuple[str, ...]]:
    """The words of each sentence of a split that has a letter in it."""
    with zipfile.ZipFile(folder / corpus.archive) as archive:
        documents = sorted(name for name in archive.namelist() if re.fullmatch(corpus.document, name))
        for place, document in enumerate(documents):
            if place % 20 in PLACES[split]:
                for line in archive.read(document).decode().splitlines():
                    text = " ".join(item.rpartition(corpus.separator)[0] for item in line.split())
                    text = _DOUBLED.sub(r"\1", _BROKEN.sub("’", text))
                    words = words_of(text.replace("``", '"').replace("''", '"'))
                    if any(map(str.isalpha, "".join(words))):
                        yield words
