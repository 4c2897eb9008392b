r"""Sentences, or pairs of sentences, with what people say of them; and the lines of the files that they come from.

    3.800    a man is playing a large flute .    a man is playing a flute .

Such files are tables of fields between tabs. Nothing in them is quoted: a quotation mark belongs to its sentence, even
one that stands alone. Readers of CSV files lose lines there: they take everything up to the next one for one field.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.tsv"
    ...     _ = path.write_text('score\ttext\n4.5\tThere is a "difference\n')
    ...     [(line.number, line.score(1, 0, 5), line.text(2)) for line in table(path, {1: "score", 2: "text"})]
    [(2, 4.5, 'There is a "difference')]
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtglib.data.treebank import TreebankError, decode, read_bytes


class Judged(NamedTuple):
    """One or two sentences, as running text, and their judgement."""

    texts: tuple[str, ...]
    gold: float  # a score, or the number of a label
    source: str  # the set that they belong to
    id: str  # the file and the line


class Line(NamedTuple):
    """A line of a table; its columns are counted from 1, as in the descriptions of the files."""

    path: Path
    number: int
    fields: list[str]

    @property
    def id(self) -> str:
        """A name for what is in the line."""
        return f"{self.path.stem}-{self.number}"

    def text(self, column: int) -> str:
        """A sentence."""
        text = self.fields[column - 1].strip()
        if not text:
            raise self.wrong(f"column {column} is empty, and a sentence should stand there")
        return text

    def score(self, column: int, lowest: float, highest: float) -> float | None:
        """A score; None where the field is empty, because nobody has judged the line."""
        field = self.fields[column - 1].strip()
        if not field:
            return None
        try:
            score = float(field)
        except ValueError:
            score = math.nan
        if not lowest <= score <= highest:
            raise self.wrong(f"the score {field!r} in column {column} is not a number from {lowest:g} to {highest:g}")
        return score

    def label(self, column: int, labels: Sequence[str]) -> int:
        """The number of a label."""
        field = self.fields[column - 1].strip()
        if field not in labels:
            raise self.wrong(f"the label {field!r} in column {column} is none of {', '.join(labels)}")
        return labels.index(field)

    def wrong(self, what: str) -> UserError:
        """An error with the place."""
        return UserError(f"{self.path}:{self.number}: {what}; correct the line, or fetch the file again")


def table(path: Path, header: Mapping[int, str], columns: int = 0) -> Iterator[Line]:
    """The lines under the header of a table, all of which have its number of columns.

    `header` says which names stand over some of the columns. A table without one has `columns` of them, or more.
    """
    lines = plain_lines(path)
    if header:
        names = [name.strip() for name in next(lines).fields]
        for column, name in header.items():
            if names[column - 1 : column] != [name]:
                there = ", ".join(names) if len(names) > 1 else "no tab-separated columns"
                raise UserError(
                    f"{path}:1: column {column} should be {name!r}, and there are {there}; is it this file?"
                )
        columns = len(names)
    for line in lines:
        found = len(line.fields)
        if found < columns or (header and found > columns):
            raise line.wrong(f"{found} columns instead of {columns}; one tab stands between two columns")
        yield line


def plain_lines(path: Path) -> Iterator[Line]:
    """All lines of a file, cut at their tabs."""
    for number, line in enumerate(read_bytes(path).removesuffix(b"\n").split(b"\n"), start=1):
        try:
            yield Line(path, number, decode(line).split("\t"))
        except TreebankError as error:
            raise UserError(f"{path}:{number}: {error}") from None
