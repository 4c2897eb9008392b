"""The corpora `books-and-ud` and `public-domain`: books with trees, which the released parser of UD English draws.

In `books-and-ud` the treebanks come first, with their own trees, and more than once, as the books are many times as
large. Its dev and test parts are the treebanks' own. `public-domain` has no treebank, and no text whose
licence restricts its use (the parser that draws the trees learnt from treebanks that have such licences); its dev and
test parts have drawn trees, too.

The trees are kept in runs/trees, a work at a time (dtglib/runs/trees.py), so that every model that learns from these
corpora reads the same ones, and a parse that was stopped goes on.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.released import folder_named
from dtglib.data import corpora
from dtglib.data.treebank import ReadsBlock, Treebank

PARSER = "parser-ud"


class WithTrees(NamedTuple):
    """A corpus that is made of others."""

    what: str
    licence: str
    raw: tuple[str, ...]  # corpora without trees
    treebank: str | None = None
    copies: int = 1  # of the treebank in train


WITH_TREES = {
    "books-and-ud": WithTrees(
        "books with trees by parser-ud, after ud-english twice", "as of its parts", ("books",), "ud-english", 2
    ),
    "public-domain": WithTrees(
        "MASC and books-ebooks with trees by parser-ud",
        "the texts: any purpose, in the US; the parser learnt from ud-english and books",
        ("masc", "books-ebooks"),
    ),
}


def files_of_corpus(name: str) -> list[Path]:
    """The files of all parts of a corpus, and those of the parser."""
    corpus = WITH_TREES[name]
    parts = corpus.raw if corpus.treebank is None else (corpus.treebank, *corpus.raw)
    return [path for part in (*parts, str(folder_named(PARSER))) for path in corpora.corpus_files(part)]


def blocks(name: str, split: str) -> Iterator[ReadsBlock]:
    """The sentences of a split in blocks; a work gets its trees when its block is read."""
    corpus = WITH_TREES[name]
    if corpus.treebank is not None:
        for _ in range(corpus.copies if split == "train" else 1):
            yield from corpora.blocks(corpus.treebank, split)
        if split != "train":
            return
    # Imported here, because it takes seconds, and every command knows the names of corpora.
    from dtglib.runs.trees import parsed_by

    with_trees = parsed_by(folder_named(PARSER))
    for raw in corpus.raw:
        for block in corpora.blocks(raw, split):
            yield partial(_changed, with_trees, block)


def _changed(with_trees: Callable[[Treebank], Treebank], block: ReadsBlock) -> Treebank:
    return with_trees(block())
