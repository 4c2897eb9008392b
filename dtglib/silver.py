"""Silver trees: a treebank's sentences with the trees that a parser draws, whatever trees they had.

    train = parsed(load("bllip", "train"), "biaffine-dep-roberta-en")

The paper's training trees are of this kind (section 4): BLLIP's own are constituents. They are always projective, and
are kept in runs/trees, sentence by sentence, so a corpus is parsed once, and what was stopped goes on.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dtglib.code import RUNNING
from dtglib.files import find_repository
from dtglib.kept import Row, digest_of, kept_rows
from dtglib.proposals.parser import known_as, load_parser
from dtglib.proposals.propose import favourites
from dtglib.treebank import Treebank

AT_ONCE = 1000  # sentences that are parsed before any of them is kept


def parsed(treebank: Treebank, parser: Path | str) -> Treebank:
    """The same sentences with the parser's best projective trees."""
    words = [sentence.words for sentence in treebank.sentences]

    def rows_from(first: int) -> Iterator[Row]:
        loaded = load_parser(parser)
        for start in range(first, len(words), AT_ONCE):
            for heads in favourites(loaded, words[start : start + AT_ONCE]):
                yield {"heads": heads.tolist()}

    about = {"parser": known_as(parser), "sentences": digest_of(words), "code": RUNNING["proposals/projective"]}
    identity = {"what": "trees", **about}
    folder = (find_repository() or Path.cwd()) / "runs" / "trees" / digest_of(identity)[:12]
    rows = kept_rows(folder / "rows.jsonl", identity, len(words), rows_from, "parsing")
    # Labels, rows and enhanced graphs belong to the old trees.
    return treebank._replace(
        sentences=[
            replace(sentence, heads=tuple(row["heads"]), labels=None, rows=None, enhanced=None)
            for sentence, row in zip(treebank.sentences, rows, strict=True)
        ]
    )
