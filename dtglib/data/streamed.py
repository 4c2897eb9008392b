"""The sentences of a corpus that is too large for memory: they are read block by block, anew in every pass.

    treebank = stream("bllip", "train")                   corpora.py
    for sentence in treebank.sentences: ...               some thousands of them are in memory at a time
    by_blocks(treebank, load_parser, {"parser": "strong"})  blocks are changed as they are read

Whether sentences are streamed follows from their number alone: up to `MOST_IN_MEMORY` they are a list. Vocabularies and
the compiled sequences of training (training/examples.py) are made of either. Whatever needs all sentences at once asks
for them `in_memory`, however many they are; to ask a stream for its length or for a sentence by its number is an error.

    >>> from collections import Counter
    >>> there = Sentence(("There", "is", "a", "difference"))
    >>> streamed = Streamed("here, train", lambda: iter([lambda: Treebank([there] * 2, Counter())] * 3))
    >>> sum(len(sentence.words) for sentence in streamed)
    24
    >>> sum(len(block().sentences) for block in first(5, streamed.blocks()))
    5
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from dtglib.basics.errors import UserError
from dtglib.data.treebank import Block, Sentence, Treebank, joined

MOST_IN_MEMORY = 100_000  # sentences; with all columns of a CoNLL-U file they take some 0.8 GB


@dataclass(frozen=True)
class Streamed:
    """Sentences in blocks; a block is read when it is called."""

    name: str  # of the corpus and its split
    blocks: Callable[[], Iterator[Block]]
    # Where to put what is made of the sentences and does not fit into memory either, and what all that depends on.
    folder: Path | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Sentence]:
        return (sentence for block in self.blocks() for sentence in block().sentences)

    def mapped(self, begin: "Beginning", how: Mapping[str, Any]) -> "Streamed":
        """The same with every block changed, when it is read; `how` becomes a part of its identity."""
        blocks = partial(_changed_blocks, begin, self.blocks)
        return replace(self, blocks=blocks, identity={**self.identity, **how})

    def __len__(self) -> NoReturn:
        self._refuse()

    def __getitem__(self, number: int | slice) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UserError(
            f"{self.name}: has more than {MOST_IN_MEMORY} sentences, which are not in memory; set train_sentences to "
            f"{MOST_IN_MEMORY} at most, or read them with `load`"
        )


# Called at the beginning of every pass, it returns the function that changes the blocks.
Beginning = Callable[[], Callable[[Treebank], Treebank]]


def _changed_blocks(begin: Beginning, blocks: Callable[[], Iterator[Block]]) -> Iterator[Block]:
    change = begin()
    return (partial(_changed, change, block) for block in blocks())


def _changed(change: Callable[[Treebank], Treebank], block: Block) -> Treebank:
    return change(block())


def by_blocks(treebank: Treebank, begin: Beginning, how: Mapping[str, Any]) -> Treebank:
    """The treebank changed: now, or block by block when it is read; `how` says by what."""
    if isinstance(treebank.sentences, Streamed):
        return treebank._replace(sentences=treebank.sentences.mapped(begin, how))
    return begin()(treebank)


def in_memory(treebank: Treebank) -> Treebank:
    """The treebank with a list of sentences, however many they are."""
    return joined(treebank.sentences.blocks()) if isinstance(treebank.sentences, Streamed) else treebank


def as_many_as_fit(blocks: Iterable[Block]) -> Treebank | None:
    """The sentences of all blocks; None if they are more than fit into memory. Then the rest is not read."""
    read, count = [], 0
    for block in blocks:
        read.append(block())
        count += len(read[-1].sentences)
        if count > MOST_IN_MEMORY:
            return None
    return joined(partial(Treebank, *one) for one in read)


def first(count: int, blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks of the first sentences; to count them, all blocks but those after them are read."""
    for block in blocks:
        sentences, excluded = block()
        yield partial(Treebank, sentences[:count], excluded)
        count -= len(sentences)
        if count <= 0:
            return
