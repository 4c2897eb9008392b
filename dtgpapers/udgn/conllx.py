r"""Dependencies in the older format CoNLL-X (Buchholz and Marsi 2006), as converters of the Penn Treebank write them.

    1  There       _  EX   EX   _  2  expl   _  _
    2  is          _  VBZ  VBZ  _  0  root   _  _
    3  a           _  DT   DT   _  4  det    _  _
    4  difference  _  NN   NN   _  2  nsubj  _  _

The ten columns are those of CoNLL-U but for the last two, which hold another tree (PHEAD, PDEPREL) and are left out.
There are no comments, and no empty line need stand at the end of a file. Files are named *.conllx or *.dep; a sentence
is named by its file and its number there.

A folder has the parts train, dev and test by the names of its files, or else by sections of the Wall Street Journal,
which are folders 00 to 24: those of the published code of UDGN, train 00-20, dev 21-22, test 23-24. Parsing is tested
on section 23 alone, which is a part "section-23".
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dtglib.basics.progress import progress
from dtglib.data.conllu import COLUMNS, DEPS, Fields, TreebankError
from dtglib.data.corpora import Readers
from dtglib.data.sections import files_of_parts
from dtglib.data.treebank import Sentence, Treebank, decode, read_bytes, sentence_from_rows

SUFFIXES = (".conllx", ".dep")
SECTIONS = {"train": range(21), "dev": range(21, 23), "test": range(23, 25), "section-23": range(23, 24)}


def read_conllx(path: str | Path) -> Treebank:
    """All sentences of a file. A broken one is an error with its line."""
    path = Path(path)
    sentences = []
    blocks = progress(_blocks(read_bytes(path)), f"reading {path.name}", "sentence")
    for number, (line, block) in enumerate(blocks, start=1):
        name = f"{path.stem}-{number}"
        try:
            sentences.append(_sentence(block, name))
        except TreebankError as error:
            raise error.at(path, line, f"sentence {name!r}") from None
    return Treebank(sentences, Counter())


def _blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The sentences, each with the number of its first line."""
    block: list[bytes] = []
    for number, line in enumerate([*data.split(b"\n"), b""], start=1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), b"\n".join(block)
            block = []


def _sentence(block: bytes, name: str) -> Sentence:
    rows = [_as_conllu(line.split("\t"), number) for number, line in enumerate(decode(block).split("\n"))]
    return replace(sentence_from_rows(rows), id=name)


def _as_conllu(row: list[str], line: int) -> Fields:
    """A row of CoNLL-U, which has an enhanced graph where CoNLL-X has another head, and no empty columns."""
    if len(row) != len(COLUMNS):
        what = f"{len(row)} columns instead of {len(COLUMNS)} (one tab stands between two)"
        raise TreebankError(what, line=line)
    return (*(field or "_" for field in row[:DEPS]), "_", "_")


def conllx_files(folder: Path) -> dict[str, list[Path]]:
    """The files of each part of a folder, by their names, or else by their sections."""
    return files_of_parts(folder, SUFFIXES, SECTIONS)


READERS = Readers(suffixes=dict.fromkeys(SUFFIXES, read_conllx), in_folder=conllx_files)
