"""The rows of one CoNLL-U sentence, ten columns each, and their checks.

    1  There       there       PRON  EX   _  2  expl   2:expl   _
    2  is          be          VERB  VBZ  _  0  root   0:root   _           ids    [1, 2, 3, 4]
    3  a           a           DET   DT   _  4  det    4:det    _           heads  (2, 0, 4, 2)
    4  difference  difference  NOUN  NN   _  2  nsubj  2:nsubj  _           edges  (("2", "expl"),), ...

Fused tokens stand before their words and have a range as their id ("1-2  don't"); empty nodes of the enhanced graph
stand after a word and have a decimal id ("8.1"). The `conllu` package reads the fields; errors that it lets pass are
caught here. It is imported in the functions that read a field, because code that reads no files must run where it is
not installed (benchmarks/cuda.py). Lines are counted from 0 at the first line of the sentence: `first` is the line of
the first row, after the comments.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError

COLUMNS = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
ID, FORM, HEAD, DEPREL, DEPS = map(COLUMNS.index, ("ID", "FORM", "HEAD", "DEPREL", "DEPS"))

Fields = tuple[str, ...]  # the ten columns of one line


class Edge(NamedTuple):
    """One arc of an enhanced graph as in the DEPS column, which has "5:nsubj:xsubj": Edge("5", "nsubj:xsubj")."""

    head: str  # "0" = ROOT, "8.1" = an empty node
    label: str


class TreebankError(UserError):
    """An error in a sentence. A sentence that a model cannot use is left out, and counted by a short `reason`."""

    def __init__(self, what: str, reason: str = "", line: int = 0):
        super().__init__(what)
        self.reason = reason
        self.line = line

    def at(self, path: Path, line: int, who: str) -> "TreebankError":
        """The same error with its place; `line` is the number of the sentence's first line, counted from 1."""
        return TreebankError(f"{path}:{line + self.line}: {who}: {self}")


# A treebank repeats its fields, and conllu's patterns are slow, so each different field is parsed once.


@cache
def _parsed(field: str, parse: str) -> Any:
    """A field as the function `parse` of conllu reads it; a ValueError if it cannot."""
    from conllu import parser
    from conllu.exceptions import ParseException

    try:
        return getattr(parser, parse)(field)
    except ParseException as error:
        raise ValueError(str(error)) from None


def check_columns(rows: Sequence[Fields], first: int) -> None:
    """Check that every row has ten columns, none of them empty."""
    for line, row in enumerate(rows, first):
        if row[0].startswith("#"):
            raise TreebankError("a comment after the first word; comments come first", line=line)
        if len(row) != len(COLUMNS):
            count = "1 column" if len(row) == 1 else f"{len(row)} columns"
            hint = "one tab stands between two" if "".join(row).strip() else "an empty line must not hold blanks"
            raise TreebankError(f"{count} instead of 10 ({hint})", line=line)
        if "" in row:
            raise TreebankError(f"column {COLUMNS[row.index('')]} is empty; write _ there", line=line)


def read_ids(rows: Sequence[Fields], first: int) -> list[int | tuple[int, str, int]]:
    """Read the ID column: words count 1, 2, 3, ...; a range precedes its first word, an empty node follows a word."""
    ids = []
    word = empty_node = range_end = 0
    for line, row in enumerate(rows, first):
        try:
            id = _parsed(row[ID], "parse_id_value")
        except ValueError:  # also raised by Python's int() for thousands of digits
            raise TreebankError(f"{row[ID]!r} is not a word id", line=line) from None
        match id:
            case int() if id == word + 1:
                word, empty_node = id, 0
            case (start, "-", end) if start == word + 1 and start > range_end:
                range_end = end
            case (before, ".", number) if before == word and number == empty_node + 1:
                empty_node = number
            case _:
                what = f"id {row[ID]} is out of place after word {word}; words count 1, 2, 3, ..."
                raise TreebankError(what, line=line)
        ids.append(id)
    if range_end > word:
        raise TreebankError(f"a range ends at {range_end}, but the sentence has {word} words", line=first)
    return ids


def read_heads(column: Sequence[str], lines: Sequence[int]) -> tuple[int, ...] | None:
    """Read the HEAD fields of the words, on these lines: one tree or several. None if all are "_" (raw text)."""
    if set(column) == {"_"}:
        return None
    heads = tuple([_read_head(field, len(column), line) for field, line in zip(column, lines, strict=True)])
    if 0 not in heads:
        raise TreebankError("no root: no word has the head 0", line=lines[0])
    if cycle := find_cycle(heads):
        path = " -> ".join(map(str, [*cycle, cycle[0]]))
        raise TreebankError(f"the heads run in a cycle: {path}", line=lines[cycle[0] - 1])
    return heads


def _read_head(field: str, words: int, line: int) -> int:
    try:
        head = _parsed(field, "parse_int_value")
    except ValueError:  # also raised by Python's int() for thousands of digits
        raise TreebankError(f"head {field!r} is not a number", line=line) from None
    if head is None:
        raise TreebankError("this word has no head, though others have one", line=line)
    if not 0 <= head <= words:
        raise TreebankError(f"head {head} is out of range (the sentence has {words} words)", line=line)
    return head


def find_cycle(heads: Sequence[int]) -> list[int] | None:
    """The words of a cycle, each followed by its head; None if every word leads up to ROOT.

    >>> find_cycle((3, 0, 4, 1))
    [1, 3, 4]
    """
    climbed_from = [-1] + [0] * len(heads)  # the word whose climb reached this one first; ROOT ends every climb
    for start in range(1, len(heads) + 1):
        word = start
        while not climbed_from[word]:
            climbed_from[word] = start
            word = heads[word - 1]
        if climbed_from[word] == start:
            cycle = [word]
            while heads[cycle[-1] - 1] != word:
                cycle.append(heads[cycle[-1] - 1])
            return cycle
    return None


@cache
def edges(deps: str) -> tuple[Edge, ...]:
    """The arcs in a DEPS field: edges("2:nsubj|4:nsubj:xsubj") == (Edge("2", "nsubj"), Edge("4", "nsubj:xsubj"))."""
    if deps == "_":
        return ()
    from conllu.parser import MULTI_DEPS_PATTERN

    # conllu's parser returns a field that it cannot read unchanged, so its pattern is used here.
    if not MULTI_DEPS_PATTERN.fullmatch(deps):
        raise TreebankError(f"DEPS {deps!r} is not a list head:label|head:label|...")
    return tuple(Edge(*part.split(":", 1)) for part in deps.split("|"))


def read_edges(rows: Sequence[Fields], first: int) -> list[tuple[Edge, ...]]:
    """Read the DEPS column, row by row; heads must be nodes of the sentence."""
    nodes = {row[ID] for row in rows if "-" not in row[ID]} | {"0"}
    graph = []
    for line, row in enumerate(rows, first):
        try:
            incoming = edges(row[DEPS])
        except TreebankError as error:
            raise TreebankError(str(error), line=line) from None
        for edge in incoming:
            if edge.head not in nodes:
                what = f"enhanced head {edge.head} is out of range: the sentence has no such word or empty node"
                raise TreebankError(what, line=line)
        graph.append(incoming)
    return graph
