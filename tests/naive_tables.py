"""The literal stack of naive.py as text: tables as in the paper's figures, and grids of relative positions."""

from collections.abc import Sequence
from typing import NamedTuple

from naive import Input, Naive

from dtglib.transitions import Action, Kind


class TableRow(NamedTuple):
    """A row as in the paper's figures 2, 4 and 5, with what the position sees."""

    i: str
    input: str
    mask: str
    prediction: str
    sees: str


def table_rows(naive: Naive, words: Sequence[str]) -> list[TableRow]:
    """Return the sequence in the paper's notation; the pieces of a word are named difference/1, difference/2."""
    names = _input_names(naive, words)
    rows = []
    for i, name in enumerate(names):
        seen = [f"{j} {names[j]}" for j in range(i) if naive.visible[i][j]]
        sees = ", ".join([*seen, f"{i} itself"] if naive.visible[i][i] else seen)
        rows.append(TableRow(str(i), name, naive.kind[i], _prediction_name(naive, names, i), sees))
    return rows


def as_table(naive: Naive, words: Sequence[str]) -> str:
    """Return `table_rows` as text in aligned columns."""
    rows = [TableRow("i", "input", "mask", "prediction", "sees"), *table_rows(naive, words)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )


def as_grid(naive: Naive) -> str:
    """Return relative positions as text: row i is what position i sees, with a dot where it sees nothing."""
    count = range(len(naive.kind))
    lines = [["", *count]] + [[i, *("." if r is None else r for r in naive.relpos[i][: i + 1])] for i in count]
    return "".join(" ".join(f"{cell:>2}" for cell in line) + "\n" for line in lines)


def _input_names(naive: Naive, words: Sequence[str]) -> list[str]:
    tokens = ["<ROOT>", *words]
    in_pieces = {taken.word for taken in naive.inputs if taken.piece}

    def name(taken: Input) -> str:
        if taken.word is None:
            return taken.action
        piece = f"/{taken.piece + 1}" if taken.word in in_pieces else ""
        return (f"{taken.action} + " if taken.action else "") + tokens[taken.word] + piece

    return [name(taken) for taken in naive.inputs]


def _prediction_name(naive: Naive, names: list[str], i: int) -> str:
    match naive.predicts[i]:
        case None:
            return "-"
        case Action(kind=Kind.END):
            return "<END>"
        case "piece" | Action(kind=Kind.GEN):
            return f"GEN({names[i + 1]})"
        case action:
            return str(action)
