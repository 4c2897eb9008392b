"""`TreeForm`: how the trees of a kind of parser are written and judged; evaluate/tree_forms.py has that of heads."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from dtglib.data.treebank import Sentence


class TreeForm(NamedTuple):
    """The way in which trees of a parser are written, and compared with those of a treebank."""

    written: Callable[[Sentence], str]  # a parsed sentence in a file
    has_tree: Callable[[Sentence], bool]
    agreement: Callable[
        [Sequence[Sentence], Sequence[Sentence]], Iterator[str]
    ]  # lines about gold and parsed sentences
    score_name: str  # on the card of a released parser
    score: Callable[[Sequence[Sentence], Sequence[Sentence]], float]  # of gold and parsed sentences, from 0 to 1
