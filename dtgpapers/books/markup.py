"""XML of a book -> clean text, for both sources."""

import re
import unicodedata
from xml.etree.ElementTree import Element

_DELETED = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_REPLACED = str.maketrans("\u2010\u2011\u0091\u0092\u0093\u0094\u0096\u0097", "--‘’“”–—")
_HAIR_SPACE = re.compile(r"(?<=[^\W\d_])\u200a(?=[^\W\d_])")


def clean(text: str) -> str:
    """The text in NFC, without invisible characters, with single spaces."""
    text = _HAIR_SPACE.sub(" ", _DELETED.sub("", unicodedata.normalize("NFC", text))).replace("\u200a", "")
    return " ".join(text.translate(_REPLACED).split())


def name(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def count_words(text: str) -> int:
    """The number of runs of non-spaces that have a letter or a digit."""
    return sum(any(map(str.isalnum, word)) for word in text.split())
