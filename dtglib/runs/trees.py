"""Trees of sentences by a parser: silver trees of a treebank, and those that commands print.

    train = parsed(load("bllip", "train"), "biaffine-dep-roberta-en")
    parsed_now("parser-ud", sentences)                       the same sentences with their best trees
    proposed_now("parser-ud", words, 300, "sample", 1)       the trees that it proposes, and log q of each

The paper's training trees are silver ones (section 4), because BLLIP has constituents only. They are always projective.
They are cached in runs/trees, sentence by sentence, so a corpus is parsed once, and a stopped parse continues. Of
commands nothing is kept, unless several processes share the sentences.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from dtglib.basics.code import code_of
from dtglib.basics.errors import require
from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence, Treebank, Words, with_tree
from dtglib.parsing.parser import known_as, load_parser
from dtglib.parsing.propose import METHODS, SENTENCES_PER_CALL, propose
from dtglib.runs.cache import Computed, cached_rows, digest_of

BATCH = 1000  # sentences that are parsed before any of them is written

Load = Callable[[], Callable[[slice], Iterator[Row]]]


def parsed_by(parser: Path | str) -> Callable[[Treebank], Treebank]:
    """`parsed` for the blocks of a treebank: the parser is loaded once, for the first that is not in the cache."""
    return partial(parsed, parser=parser, load_it=cache(lambda: load_parser(parser)))


def parsed(treebank: Treebank, parser: Path | str, load_it: Callable[[], Any] | None = None) -> Treebank:
    """The same sentences with the parser's best projective trees, and their labels."""
    sentences = treebank.sentences

    def load() -> Callable[[slice], Iterator[Row]]:
        loaded = load_it() if load_it else load_parser(parser)
        what = f"parser {loaded.name} finds constituents, and heads are needed; take another"
        require(loaded.fills == "heads", what)
        return _best_trees(loaded, sentences)

    rows = _rows(parser, {"what": "trees"}, [sentence.words for sentence in sentences], load, BATCH)
    # Rows and enhanced graphs belong to the old trees.
    return treebank._replace(
        sentences=[
            replace(sentence, heads=tuple(row["heads"]), labels=tuple(row["labels"]), rows=None, enhanced=None)
            for sentence, row in zip(sentences, rows, strict=True)
        ]
    )


def parsed_now(parser: Path | str, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with their best trees."""
    words = [sentence.words for sentence in sentences]
    rows = _rows(
        parser, {"what": "best trees"}, words, lambda: _best_trees(load_parser(parser), sentences), is_kept=False
    )
    return [
        with_tree(sentence, **row) if "heads" in row else replace(sentence, **row)
        for sentence, row in zip(sentences, rows, strict=True)
    ]


def proposed_now(parser: Path | str, sentences: Sequence[Words], count: int, method: str, seed: int) -> list[Row]:
    """A row per sentence: the trees that the parser proposes, and log q of each."""

    def load() -> Callable[[slice], Iterator[Row]]:
        loaded = load_parser(parser)

        def rows_of(block: slice) -> Iterator[Row]:
            proposed = propose(loaded, sentences[block], count, METHODS[method], seed, block.start)
            for words, chosen in zip(sentences[block], proposed, strict=True):
                yield {"log_q": chosen.log_probs.tolist(), "trees": chosen.written(words)}

        return rows_of

    about = {"what": "proposed trees", "trees": count, "method": method, "seed": seed}
    return _rows(parser, about, sentences, load, is_kept=False)


def _best_trees(parser: Any, sentences: Sequence[Sentence]) -> Callable[[slice], Iterator[Row]]:
    fields = ("heads", "labels") if parser.fills == "heads" else (parser.fills,)
    return lambda block: (
        {name: getattr(sentence, name) for name in fields} for sentence in parser.parse(sentences[block])
    )


def _rows(
    parser: Path | str,
    about: Row,
    sentences: Sequence[Words],
    load: Load,
    at_once: int = SENTENCES_PER_CALL,
    is_kept: bool = True,
) -> list[Row]:
    identity = {**about, "parser": known_as(parser), "sentences": digest_of(sentences)}
    computed = Computed(list(map(len, sentences)), load, at_once, "parsing")
    return cached_rows("trees", Path(parser).name, identity, code_of("parsing", load), computed, is_kept)
