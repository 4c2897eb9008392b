"""Constituency trees in brackets, as the Penn Treebank and BLLIP print them, read into plain one-line trees.

    ( (S                                        words     ("There", "is", "a", "difference")
        (NP-SBJ-1 (EX There) )                  brackets  "(S (NP (EX There))
        (VP (VBZ is)                                          (VP (VBZ is)
          (NP-PRD (DT a) (NN difference) )                        (NP (DT a) (NN difference))))"    on one line
          (NP (-NONE- *T*-1) ))))

The wrapper around a tree (nameless in the Penn Treebank, S1 in BLLIP, ROOT or TOP elsewhere), empty nodes, the
constituents that they leave empty, function tags and indices are removed: NP-SBJ-1, NP=2 and NP|ADVP become NP. Tokens
keep their spelling (n't, -LRB-). A file holds any number of trees, each on one line or on several. NLTK's `Tree`
parses single trees and knows no line numbers, so the file is cut into trees here.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from nltk.tree import Tree

from dtglib.basics.progress import progress
from dtglib.data.treebank import Sentence, Treebank, TreebankError, decode, read_bytes

WRAPPERS = ("S1", "ROOT", "TOP")

# A bracket after a backslash is a token, as in NLTK.
_BRACKET = re.compile(rb"(?<!\\)[()]")
_NOT_BLANK = re.compile(rb"\S")
_DECORATED_LABEL = re.compile(r"([^-=|#]+)[-=|#].*")


def read_brackets(path: str | Path) -> Treebank:
    """All trees of a file. A broken tree is an error with its line."""
    path = Path(path)
    sentences = []
    for number, (line, piece) in enumerate(progress(_pieces(read_bytes(path)), f"reading {path.name}", "tree"), 1):
        try:
            tree = parse_brackets(decode(piece))
        except TreebankError as error:
            before = "" if piece.startswith(b"(") else "before "
            raise error.at(path, line, f"{before}tree {number}") from None
        sentences.append(Sentence(tuple(tree.leaves()), id=f"{path.name}:{number}", brackets=format_brackets(tree)))
    return Treebank(sentences, Counter())


def _pieces(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The trees, and any text between them (an error), each with the number of its first line."""
    line, seen = 1, 0
    while start := _NOT_BLANK.search(data, seen):
        line += data.count(b"\n", seen, start.start())
        end = _end_of_piece(data, start.start())
        yield line, data[start.start() : end]
        line += data.count(b"\n", start.start(), end)
        seen = end


def _end_of_piece(data: bytes, start: int) -> int:
    if data[start : start + 1] != b"(":
        following = data.find(b"(", start)
        return following if following >= 0 else len(data)
    depth = 0
    for bracket in _BRACKET.finditer(data, start):
        depth += 1 if bracket.group() == b"(" else -1
        if depth == 0:
            return bracket.end()
    # The tree is never closed. Treebanks begin a tree at the beginning of a line, and indent all other lines.
    following = data.find(b"\n(", start)
    return following if following >= 0 else len(data)


def parse_brackets(text: str) -> Tree:
    """Parse one tree, and keep only its constituents, tags and words."""
    text = text.strip()
    if text.startswith(")"):
        raise TreebankError("a closing bracket without its opening one")
    if not text.startswith("("):
        raise TreebankError(f"{text[:40]!r} stands outside of all brackets")
    try:
        tree = Tree.fromstring(text, remove_empty_top_bracketing=True)
    except ValueError as error:
        reason = str(error).splitlines()[0].removeprefix("Tree.read(): ")
        if "MAX_TREE_DEPTH" in str(error):
            raise TreebankError("nested deeper than any sentence is; is this a tree?") from None
        what = f"not one whole tree ({reason}); is a bracket missing, or the file cut off?"
        raise TreebankError(what) from None
    plain = _plain(tree)
    if plain is None:
        raise TreebankError("a tree without words")
    while plain.label() in WRAPPERS and len(plain) == 1 and isinstance(child := plain[0], Tree):
        plain = child
    return plain


def _plain(tree: Tree) -> Tree | None:
    """The tree without empty nodes and decorated labels; None if no word is left."""
    if len(tree) == 0:
        raise TreebankError(f"({tree.label()}) holds nothing; a word needs a tag, as in (NN dog)")
    if not tree.label():
        raise TreebankError("a constituent without a label")
    if len(tree) == 1 and isinstance(tree[0], str):
        return None if tree.label() == "-NONE-" else Tree(plain_label(tree.label()), list(tree))
    for child in tree:
        if isinstance(child, str):
            raise TreebankError(f"{child!r} in {tree.label()} has no tag of its own, as in (NN dog)")
    children = list(filter(None, map(_plain, tree)))
    return Tree(plain_label(tree.label()), children) if children else None


def plain_label(label: str) -> str:
    """A label without function tags and indices. Labels that begin with a hyphen, such as -LRB-, are kept whole.

    >>> [plain_label(label) for label in ("NP-SBJ-1", "NP=2", "ADVP|PRT", "PRP$", "-LRB-")]
    ['NP', 'NP', 'ADVP', 'PRP$', '-LRB-']
    """
    decorated = _DECORATED_LABEL.fullmatch(label)
    return decorated[1] if decorated else label


def format_brackets(tree: Tree | str) -> str:
    """A tree on one line: "(NP (DT a) (NN difference))"."""
    return tree if isinstance(tree, str) else f"({' '.join([tree.label(), *map(format_brackets, tree)])})"
