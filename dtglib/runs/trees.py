"""Silver trees, or graphs: those that a parser draws for the sentences of a treebank.

    train = parsed(load("bllip", "train"), "biaffine-dep-roberta-en")

The paper's training trees are silver ones (section 4), because BLLIP has constituents only. They are always projective.
They are cached in runs/trees, sentence by sentence, so a corpus is parsed once, and a stopped parse continues.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import starmap
from pathlib import Path
from typing import Any

from dtglib.basics.code import code_of
from dtglib.basics.record import Row
from dtglib.data.conllu import Edge
from dtglib.data.treebank import Treebank
from dtglib.parsing.parser import known_as, load_parser
from dtglib.runs.cache import Computed, cached_rows, digest_of

BATCH = 1000  # sentences that are parsed before any of them is written


def parsed_by(parser: Path | str) -> Callable[[Treebank], Treebank]:
    """`parsed` for the blocks of a treebank; the parser is loaded once, when a block is not in the cache."""
    return partial(parsed, parser=parser, load_it=cache(lambda: load_parser(parser)))


def parsed(treebank: Treebank, parser: Path | str, load_it: Callable[[], Any] | None = None) -> Treebank:
    """The same sentences with the parser's best projective trees and their labels, its constituents, or its graphs."""
    sentences = treebank.sentences

    def load() -> Callable[[slice], Iterator[Row]]:
        loaded = load_it() if load_it else load_parser(parser)
        names = ("heads", "labels") if loaded.fills == "heads" else (loaded.fills,)
        return lambda block: ({n: getattr(one, n) for n in names} for one in loaded.parse(sentences[block]))

    words = [sentence.words for sentence in sentences]
    identity = {"what": "trees", "parser": known_as(parser), "sentences": digest_of(words)}
    computed = Computed(list(map(len, words)), load, BATCH, "parsing")
    rows = cached_rows("trees", Path(parser).name, identity, code_of("parsing", load), computed)

    kinds: dict[str, Callable] = {"heads": tuple, "labels": tuple, "brackets": str}
    kinds["enhanced"] = lambda heads: tuple(tuple(starmap(Edge, of_word)) for of_word in heads)
    # Rows, and trees and graphs that the parser did not draw, belong to the old trees.
    new: Any = ({name: kind(row[name]) if name in row else None for name, kind in kinds.items()} for row in rows)
    return treebank._replace(
        sentences=[replace(old, rows=None, **found) for old, found in zip(sentences, new, strict=True)]
    )
