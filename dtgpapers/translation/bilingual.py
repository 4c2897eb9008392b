"""minilang in two languages: English sentences with their German translations, from the same derivations.

    English    The boy saw the dog .            heads 2 3 0 5 3 3
    German     Den Hund sah der Junge .         heads 2 3 0 5 3 3

The pairs of a split are its English sentences in their order, so that nothing more is drawn. Two kinds of them are left
out, and counted: those that the German grammar has no counterpart for, and those of the challenge sets. German words
may depend on one another across others ("der Hund, den Maria zu sehen versuchte": `den` belongs to `sehen`). The tree
of such a sentence is lifted until it is projective; its enhanced graph keeps the arcs as they were.

    >>> pair = sentence_pairs("train", 1).pairs[0]
    >>> pair.german.text
    'Dieses Drehbuch, das verschwand, wurde von ihm gerochen.'
    >>> " ".join(pair.german.translation)
    'This script which disappeared was smelled by him .'
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

from tqdm import tqdm

from dtglib.data.conllu import Edge, Fields
from dtglib.data.minilang.corpus import Drawn, Stream, block_after, derivations, dice_of, first_sentences, size_of
from dtglib.data.minilang.derivation import sentence
from dtglib.data.minilang.grammar import read_language
from dtglib.data.projectivity import is_projective
from dtglib.data.treebank import Sentence
from dtgpapers.translation.german.challenge import challenge_words
from dtgpapers.translation.german.nominal import Token
from dtgpapers.translation.german.transfer import translate
from dtgpapers.translation.german.verb_phrase import NoCounterpartError
from dtgpapers.translation.lifting import projectivize

# What stands without a blank before it; German minilang has no apostrophes and no quotation marks.
GLUED = (",", ".")


class SentencePair(NamedTuple):
    """A sentence in two languages; each has the words of the other as its translation."""

    english: Sentence
    german: Sentence


class Pairs(NamedTuple):
    """The pairs of a split, and the numbers of the sentences that were left out, by reason."""

    pairs: list[SentencePair]
    excluded: Counter[str]


def sentence_pairs(name: str, count: int | None = None, seed: int = 0) -> Pairs:
    """The first pairs of a split of minilang."""
    size = size_of(name, count)
    stream = _stream(name, seed)
    sentences = first_sentences(stream, 2 * size)
    excluded = Counter(reason for place, reason in stream.state[2] if place < size)
    return Pairs([SentencePair(*sentences[i : i + 2]) for i in range(0, 2 * size, 2)], excluded)


@cache
def _stream(split: str, seed: int) -> Stream:
    """English and German sentences in turns; the state also has the number of derivations, and what was left out."""
    start = dice_of(split, seed).getstate(), 0, ()
    return Stream(__name__, f"{split}-{seed}-pairs", partial(_draw, split), ([], start))


def _draw(split: str, stream: Stream, bar: tqdm) -> tuple[list[Sentence], tuple]:
    """Draw the next block of pairs; also return the state after it."""
    dice, number, left_out = stream.state
    chance, known = random.Random(), len(stream.sentences)
    chance.setstate(dice)
    sentences: list[Sentence] = []
    for drawn in derivations(split, chance):
        number += 1
        identifier = f"minilang-{stream.name.removesuffix('-pairs')}-{number}"
        try:
            sentences += _pair(drawn, identifier)
            bar.update(2)
        except NoCounterpartError as reason:
            left_out += (((known + len(sentences)) // 2, str(reason)),)
        if len(sentences) == block_after(known):
            break
    return sentences, (chance.getstate(), number, left_out)


def _pair(drawn: Drawn, identifier: str) -> SentencePair:
    """Both sentences of a derivation."""
    german = german_sentence(translate(*drawn), f"{identifier}-de")
    english = sentence(*drawn, read_language().sandhi, identifier)
    if english.words in challenge_words() or german.words in challenge_words():
        raise NoCounterpartError("in the challenge sets")
    return SentencePair(replace(english, translation=german.words), replace(german, translation=english.words))


def german_sentence(tokens: Sequence[Token], identifier: str) -> Sentence:
    """The words of a German sentence with their tree; the graph has the arcs before they were lifted."""
    places = {id(token): place for place, token in enumerate(tokens, start=1)}
    heads = tuple([places[id(token.head)] if token.head else 0 for token in tokens])
    lifted = projectivize(heads)
    words = tuple([token.form for token in tokens])
    text = "".join(form if form in GLUED else f" {form}" for form in words)[1:]
    return Sentence(
        words=words,
        heads=lifted,
        labels=tuple([token.label for token in tokens]),
        id=identifier,
        text=text,
        enhanced=tuple([(Edge(str(head), token.label),) for head, token in zip(heads, tokens, strict=True)]),
        rows=tuple(_rows(tokens, heads, lifted)),
        comments=(f"# sent_id = {identifier}", f"# text = {text}"),
    )


def _rows(tokens: Sequence[Token], heads: Sequence[int], lifted: Sequence[int]) -> Iterator[Fields]:
    """The ten columns of CoNLL-U."""
    for number, (token, head, lift) in enumerate(zip(tokens, heads, lifted, strict=True), start=1):
        glued = number < len(tokens) and tokens[number].form in GLUED
        space = "SpaceAfter=No" if glued else "_"
        arc = (str(lift), token.label, f"{head}:{token.label}")
        yield (str(number), token.form, token.lemma, token.pos, "_", token.feats, *arc, space)


def was_lifted(german: Sentence) -> bool:
    """True if the tree of a German sentence was not projective.

    >>> sum(was_lifted(pair.german) for pair in sentence_pairs("train", 300).pairs)
    9
    """
    assert german.enhanced is not None
    return not is_projective([int(edges[0].head) for edges in german.enhanced])
