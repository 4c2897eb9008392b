"""The sentences of a corpus that is too large for memory: they are read block by block, anew in every pass.

    treebank = stream("bllip", "train")                   corpora.py
    for sentence in treebank.sentences: ...               some thousands of them are in memory at a time
    by_blocks(treebank, begin, {"parser": "strong"})      blocks are changed as they are read (runs/trees.py)

The number of sentences alone decides: up to `MOST_IN_MEMORY` of them are a list. Vocabularies and the compiled
sequences of training (training/examples.py) are made of either. Code that needs all sentences at once calls
`in_memory`. The length of a stream, and a sentence by its number, are errors.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from dtglib.basics.errors import UserError
from dtglib.basics.progress import progress, quiet
from dtglib.data.treebank import ReadsBlock, Sentence, Treebank, joined

MOST_IN_MEMORY = 100_000  # sentences; with all columns of a CoNLL-U file they take some 0.8 GB

# Called at the beginning of every pass, it returns the function that changes the blocks.
Beginning = Callable[[], Callable[[Treebank], Treebank]]


@dataclass(frozen=True)
class Streamed(Sequence[Sentence]):
    """Sentences in blocks; a block is read when it is called."""

    name: str  # of the corpus and its split
    blocks: Callable[[], Iterator[ReadsBlock]]
    # The folder for what is made of the sentences and does not fit into memory either, and what all that depends on.
    folder: Path | None = None
    identity: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Sentence]:
        return (sentence for block in self.blocks() for sentence in block().sentences)

    def __len__(self) -> NoReturn:
        self._refuse()

    def __getitem__(self, number: int | slice) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise UserError(
            f"{self.name}: has more than {MOST_IN_MEMORY} sentences, which are not in memory; set train_sentences to "
            f"{MOST_IN_MEMORY} at most, or read them with `load`"
        )


def by_blocks(treebank: Treebank, begin: Beginning, how: Mapping[str, Any]) -> Treebank:
    """The treebank changed: now or, if it is streamed, block by block as it is read; `how` joins its identity."""
    streamed = treebank.sentences
    if not isinstance(streamed, Streamed):
        return begin()(treebank)
    changed = replace(streamed, blocks=partial(_changed, begin, streamed.blocks), identity={**streamed.identity, **how})
    return treebank._replace(sentences=changed)


def _changed(begin: Beginning, blocks: Callable[[], Iterator[ReadsBlock]]) -> Iterator[ReadsBlock]:
    change = begin()
    return (lambda block=block: change(block()) for block in blocks())  # type: ignore[misc]


def in_memory(treebank: Treebank) -> Treebank:
    """The treebank with a list of sentences, however many they are."""
    return joined(treebank.sentences.blocks()) if isinstance(treebank.sentences, Streamed) else treebank


def as_many_as_fit(blocks: Iterable[ReadsBlock]) -> Treebank | None:
    """The sentences of all blocks; None if they are more than fit into memory. Then the rest is not read."""
    read, count = [], 0
    for block in blocks:
        read.append(block())
        count += len(read[-1].sentences)
        if count > MOST_IN_MEMORY:
            return None
    return joined(partial(Treebank, *treebank) for treebank in read)


def first(count: int, blocks: Iterable[ReadsBlock]) -> Iterator[ReadsBlock]:
    """The blocks of the first sentences. Of a block that is cut, what was left out is not counted."""
    with progress(None, f"the first {count} sentences", "sentence", total=count) as bar:
        for sentences, excluded in _without_bars(blocks):
            yield partial(Treebank, sentences[:count], excluded if len(sentences) <= count else Counter())
            bar.update(min(len(sentences), count))
            count -= len(sentences)
            if count <= 0:
                return


def _without_bars(blocks: Iterable[ReadsBlock]) -> Iterator[Treebank]:
    """The blocks, read. The bars of a corpus would promise the time that all of it takes."""
    unread = iter(blocks)
    while True:
        with quiet():
            read = next(unread, None)
            treebank = read and read()
        if treebank is None:
            return
        yield treebank
