"""The forms of trees by the field of a sentence that a parser fills: how they are written, and how well they agree."""

from collections.abc import Iterator, Sequence

from dtglib.data.treebank import Sentence, format_conllu
from dtglib.evaluate.attachment import attached, every_word, is_word
from dtglib.parsing.kinds import TreeForm, kinds


def form_of(fills: str) -> TreeForm:
    """The form of the trees of parsers that fill a field of sentences, such as heads."""
    forms = {kind.network.fills: kind.form for kind in kinds().values() if kind.form}
    return forms.get(fills, HEADS)


def _agreement(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> Iterator[str]:
    for what, counts in (("with punctuation", every_word), ("without punctuation", is_word)):
        right = attached(gold, [sentence.heads or () for sentence in parsed], counts)
        if right.words.sum():
            yield f"UAS {what}: {100 * right.uas:.2f} ({right.right.sum()} of {right.words.sum()} words)"


def _uas(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> float:
    return attached(gold, [sentence.heads or () for sentence in parsed]).uas


HEADS = TreeForm(format_conllu, lambda sentence: sentence.heads is not None, _agreement, "uas", _uas)
