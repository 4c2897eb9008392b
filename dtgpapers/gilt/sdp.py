"""Semantic dependency graphs in the format of SDP 2015 (Oepen et al. 2015), read as enhanced graphs without trees.

    #SDP 2015
    #20001001
    1  There       there       EX   -  -  _  _     _
    2  is          be          VBZ  +  +  v  _     _           word 2 is a top and the first predicate,
    3  a           a           DT   -  +  q  _     _           word 3 is the second one
    4  difference  difference  NN   -  -  _  ARG1  BV          so the arcs are 2->4 and 3->4

The columns are id, form, lemma, tag, top, predicate and frame, and then one for each predicate of the sentence, in
their order, with the labels of its arcs. DM, PAS and PSD (LDC2016T10) differ in their labels only. The arc of a top
comes from ROOT. The sentence above has the enhanced graph ((), (Edge("0", "top"),), (), (Edge("2", "ARG1"), ...)).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from dtglib.basics.progress import progress
from dtglib.data.conllu import Edge, TreebankError
from dtglib.data.corpora import SPLITS, Readers, files_of_split
from dtglib.data.treebank import Sentence, Treebank, decode, read_bytes

COLUMNS = ("id", "form", "lemma", "tag", "top", "predicate", "frame")
ID, FORM, TOP, PREDICATE = map(COLUMNS.index, ("id", "form", "top", "predicate"))
TOP_LABEL = "top"
HEADER = "#SDP"


def read_sdp(path: str | Path) -> Treebank:
    """All sentences of a file. A broken one is an error with its line."""
    path = Path(path)
    sentences = []
    for line, block in progress(_blocks(read_bytes(path)), f"reading {path.name}", "sentence"):
        name = ""
        try:
            lines = decode(block).split("\n")
            name = "".join(text[1:].strip() for text in lines[:1] if text.startswith("#"))
            sentences.append(_sentence(lines, name))
        except TreebankError as error:
            raise error.at(path, line, f"sentence {name!r}" if name else "sentence without a name") from None
    return Treebank(sentences, Counter())


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The sentences, each with the number of its first line; the line that names the format belongs to none."""
    number, block, first = 0, [], 0
    for number, line in enumerate([*data.split(b"\n"), b""], start=1):
        if line.strip() and not line.startswith(HEADER.encode()):
            first = first if block else number
            block.append(line)
        elif block:
            yield first, b"\n".join(block)
            block = []


def _sentence(lines: Sequence[str], name: str) -> Sentence:
    first = sum(line.startswith("#") for line in lines)
    rows = [line.split("\t") for line in lines[first:]]
    if not rows:
        raise TreebankError("a sentence without words")
    for line, row in enumerate(rows, first):
        _check(row, line, word=line - first + 1, predicates=sum(r[PREDICATE : PREDICATE + 1] == ["+"] for r in rows))
    predicates = [row[ID] for row in rows if row[PREDICATE] == "+"]
    graph = tuple(_edges(row, predicates) for row in rows)
    return Sentence(words=tuple(row[FORM] for row in rows), id=name, enhanced=graph)


def _check(row: Sequence[str], line: int, word: int, predicates: int) -> None:
    """Check the columns of a word."""
    expected = len(COLUMNS) + predicates
    if len(row) != expected:
        what = f"{len(row)} columns instead of {expected}: {len(COLUMNS)}, and one for each of {predicates} predicates"
        raise TreebankError(f"{what}; one tab stands between two", line=line)
    if row[ID] != str(word):
        raise TreebankError(f"id {row[ID]!r} is out of place; words count 1, 2, 3, ...", line=line)
    if "" in row:
        raise TreebankError(f"column {row.index('') + 1} is empty; write _ there", line=line)
    for column in (TOP, PREDICATE):
        if row[column] not in ("+", "-"):
            what = f"{COLUMNS[column]} {row[column]!r} is neither + nor -; is this a file of SDP 2015?"
            raise TreebankError(what, line=line)


def _edges(row: Sequence[str], predicates: Sequence[str]) -> tuple[Edge, ...]:
    top = [Edge("0", TOP_LABEL)] if row[TOP] == "+" else []
    labels = zip(predicates, row[len(COLUMNS) :], strict=True)
    return (*top, *(Edge(predicate, label) for predicate, label in labels if label != "_"))


def sdp_files(folder: Path) -> dict[str, list[Path]]:
    """The files of each split in a folder: train.sdp and the like."""
    return {split: files_of_split(folder, split, ".sdp") for split in SPLITS}


READERS = Readers(suffixes={".sdp": read_sdp}, in_folder=sdp_files)
