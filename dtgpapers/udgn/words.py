"""A sentence as UDGN reads it: its words in lower case, without punctuation, and with N for numbers.

    >>> read(Sentence(("There", "are", "1,200", "differences", "."), (2, 0, 4, 2, 2)))      # doctest: +ELLIPSIS
    Sentence(words=('there', 'are', 'N,N', 'differences'), heads=(2, 0, 4, 2), ...)

Punctuation is what the treebank calls so: UPOS is PUNCT or SYM (Universal Dependencies); or the tag is one that the
Penn Treebank has for signs (the fourth and the fifth column of its files hold tags; in BLLIP's brackets they stand
before the words). Where the tags of a sentence are neither, or are missing, as in raw text and in minilang, it is what
has no letter and no digit. A word whose head is left out depends on the nearest word above that is kept, or, if there
is none, on ROOT, of which a sentence may then have several dependents.

Words that are too rare in training are <unknown>, and so are words that it has not.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from dtglib.data.conllu import TreebankError
from dtglib.data.corpora import stream
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtgpapers.udgn.config import MaskedConfig

UPOS, XPOS = 3, 4  # columns

# Tags of Universal Dependencies, and those of words and of signs in the Penn Treebank and what is annotated like it.
UPOS_TAGS = """ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"""
PENN_TAGS = """ADD AFX CC CD DT EX FW GW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH
    VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB XX AUX AUXG"""
PENN_SIGNS = """. , : `` '' -LRB- -RRB- ( ) $ # HYPH NFP -NONE-"""
UNIVERSAL, NO_WORDS = frozenset(UPOS_TAGS.split()), frozenset({"PUNCT", "SYM"})
OF_WORDS, OF_SIGNS = frozenset(PENN_TAGS.split()), frozenset(PENN_SIGNS.split())
TAG = re.compile(r"\(([^\s()]+) (?:\\[()]|[^\s()])+\)")  # of a word of a bracketed tree: (EX There)


def read(sentence: Sentence) -> Sentence:
    """The sentence as the model reads it, with its tree and labels; a TreebankError if nothing is left."""
    kept = [number for number, is_word in enumerate(are_words(sentence)) if is_word]
    if not kept:
        raise TreebankError(f"sentence {sentence.id!r} is only punctuation", "only punctuation")
    return Sentence(
        words=tuple(form(sentence.words[number]) for number in kept),
        heads=None if sentence.heads is None else heads_among(kept, sentence.heads),
        labels=None if sentence.labels is None else tuple(sentence.labels[number] for number in kept),
        id=sentence.id,
        text=sentence.text,
    )


def form(word: str) -> str:
    """A word as it is read."""
    return re.sub(r"\d+", "N", word.lower())


def are_words(sentence: Sentence) -> list[bool]:
    """True for words that are no punctuation."""
    rows = [row for row in sentence.rows or () if row[0].isdecimal()]
    tags = [row[UPOS] for row in rows]
    if rows and UNIVERSAL.issuperset(tags):
        return [tag not in NO_WORDS for tag in tags]
    fine = [row[XPOS] if row[XPOS] != "_" else row[UPOS] for row in rows] or TAG.findall(sentence.brackets or "")
    if fine and (OF_WORDS | OF_SIGNS).issuperset(fine):
        return [tag in OF_WORDS for tag in fine]
    return [any(sign.isalnum() for sign in word) for word in sentence.words]


def heads_among(kept: Sequence[int], heads: Sequence[int]) -> tuple[int, ...]:
    """The heads of the words that are kept, which are counted from 0 in `kept`."""
    number = {0: 0, **{old + 1: new for new, old in enumerate(kept, start=1)}}
    found = []
    for word in kept:
        head = heads[word]
        while head not in number:
            head = heads[head - 1]
        found.append(number[head])
    return tuple(found)


def readable(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences as they are read, without those of which nothing is left."""
    for sentence in sentences:
        with suppress(TreebankError):
            yield read(sentence)


def words_of(config: MaskedConfig, treebank: Treebank) -> Vocabulary:
    """A vocabulary of the words that are frequent enough, in the form in which they are read."""
    counted = stream(config.counted_in, "train") if config.counted_in else treebank
    return Vocabulary.of_words((one.words for one in readable(counted.sentences)), rarest=config.rarest)
