"""The cache of results: trained networks, scores and trees, each computed once and found again by what it depends on.

    folder_of("models", "dtg", identity, code)                          runs/models/dtg-1a2b3c4d5e6f
    cached_rows("scores", "dtg", identity, code, computed)              runs/scores/dtg-4d5e6f1a2b3c/rows.jsonl

The key of a result is a hash of its inputs (settings, and hashes of data and weights) and of the code that computes it
(`code_of` in basics/code.py). If one of them changes, the folder is another one, so nothing stale is ever found. One
command at a time computes a result; others wait for it. A network is resumed from its checkpoint (training/loop.py);
rows are written one by one, and a stopped computation continues with the rows that are missing.

Rows are computed in blocks that do not depend on one another, so the last digits are the same after a stop. Several
processes (`torchrun`) share the missing blocks, and each appends to a file of its own: rows.jsonl, rows-1.jsonl, ...
The same command goes on with any number of processes.

The first line of a file contains the inputs, and every other line a row and its number. A file with other inputs is
never overwritten; a line that a kill has cut in two is computed again.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError
from dtglib.basics.files import find_repository, only_one_process
from dtglib.basics.progress import progress, quiet
from dtglib.basics.record import Row
from dtglib.training.distributed import Processes, processes

CODE = "code"  # the key of the code's hash in an identity
NUMBER = "#"  # the key of a row's number in a line


def folder_of(kind: str, name: str, identity: Mapping[str, Any], code: str) -> Path:
    """The folder of a result, below the repository or, outside of one, below the working folder.

    The kinds are models, parsers, scores, trees and sequences.
    """
    key = digest_of({**identity, CODE: code})[:12]
    return (find_repository() or Path.cwd()) / "runs" / kind / f"{name}-{key}"


class Computed(NamedTuple):
    """A computation of rows.

    `load` loads what all of them need, such as a model, and returns a function from a block of them to its rows.
    """

    costs: Sequence[int]  # of each row, such as the number of words that are read for it
    load: Callable[[], Callable[[slice], Iterable[Row]]]
    at_once: int = 1  # rows in a block
    what: str = "scoring"  # for the progress bar
    unit: str = "sentence"


def cached_rows(kind: str, name: str, identity: Mapping[str, Any], code: str, computed: Computed) -> list[Row]:
    """The rows of a result, computed now unless they are in the cache."""
    path = folder_of(kind, name, identity, code) / "rows.jsonl"
    return kept_rows(path, {**identity, CODE: code}, computed)


def kept_rows(path: Path, identity: Mapping[str, Any], computed: Computed) -> list[Row]:
    """All rows; those that neither this file nor those of other processes beside it contain are computed now."""
    head = json.dumps(dict(identity), sort_keys=True)
    count = len(computed.costs)
    with processes() as ours, contextlib.ExitStack() as locked:
        rows = ours.from_first(lambda: _read(path, head))
        if len(rows) < count:
            # The first process locks the folder for all of them.
            ours.from_first(lambda: locked.enter_context(only_one_process(path.parent, "writes results there")))
            rows = ours.from_first(lambda: _read(path, head))  # another command may have written some
            with contextlib.nullcontext() if ours.is_first else quiet():
                file = path.with_stem(f"{path.stem}-{ours.rank}") if ours.rank else path
                _compute(file, head, computed, rows.keys(), ours)
            ours.wait()
            rows = ours.from_first(lambda: _read(path, head))
    if rows.keys() != set(range(count)):
        raise UserError(f"{path}: holds {len(rows)} rows, but there are {count}; delete it, and it is made again")
    return [rows[number] for number in range(count)]


def rows_now(computed: Computed) -> list[Row]:
    """All rows, computed now by this process, in the same blocks and in the same form as those of the cache."""
    rows_of = computed.load()
    rows = (row for block in _blocks(computed) for _, row in _numbered(block, rows_of))
    return list(progress(rows, computed.what, computed.unit, total=len(computed.costs)))


def digest_of(content: Any) -> str:
    """A checksum of anything that JSON can represent."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _compute(path: Path, head: str, computed: Computed, done: Iterable[int], ours: Processes) -> None:
    """Append this process's share of the missing rows to its file."""
    done = set(done)
    missing = [block for block in _blocks(computed) if not done.issuperset(range(block.start, block.stop))]
    # Each process gets blocks of all costs, so that all processes end at about the same time.
    dealt = sorted(range(len(missing)), key=lambda number: -sum(computed.costs[missing[number]]))
    mine = sorted(dealt[ours.rank :: ours.count])
    if not mine:
        return
    rows_of = computed.load()
    # A block is computed as a whole, but a row that the file has already is not written again.
    rows = (row for number in mine for row in _numbered(missing[number], rows_of) if row[0] not in done)
    in_all = sum(row not in done for number in mine for row in range(missing[number].start, missing[number].stop))
    _prepare(path, head)
    with open(path, "a", encoding="utf-8", newline="\n") as file:
        for number, row in progress(rows, computed.what, computed.unit, total=in_all):
            file.write(json.dumps({NUMBER: number, **row}, ensure_ascii=False) + "\n")
            file.flush()


def _blocks(computed: Computed) -> list[slice]:
    """The numbers of the rows in blocks; the last one may be shorter."""
    count = len(computed.costs)
    return [slice(start, min(start + computed.at_once, count)) for start in range(0, count, computed.at_once)]


def _prepare(path: Path, head: str) -> None:
    """Make a file to which rows can be appended: its first line is the head, and its last line is whole."""
    written = path.read_text("utf-8", errors="replace") if path.exists() else ""
    if not written.startswith(f"{head}\n"):
        path.write_text(f"{head}\n", "utf-8", newline="\n")
    elif not written.endswith("\n"):
        with open(path, "a") as file:
            file.write("\n")


def _numbered(block: slice, rows_of: Callable[[slice], Iterable[Row]]) -> Iterator[tuple[int, Row]]:
    """The rows of a block with their numbers, with the types that they will have when they are read from a file."""
    for number, row in zip(range(block.start, block.stop), rows_of(block), strict=True):
        yield number, json.loads(json.dumps(row))


def _read(path: Path, head: str) -> dict[int, Row]:
    """The whole rows of the files of all processes, by their numbers."""
    rows: dict[int, Row] = {}
    for file in sorted(path.parent.glob(f"{path.stem}*{path.suffix}")):
        first, *lines = file.read_text("utf-8", errors="replace").split("\n")
        if not head.startswith(first):
            complaint = f"{file}: holds results of something else ({first[:200]}); delete it, and it is made again"
            raise UserError(complaint)
        # A row may be there twice, if a process went on for a moment after the one with the lock had been killed.
        rows = {row.pop(NUMBER): row for row in map(_whole, lines) if row} | rows
    return rows


def _whole(line: str) -> Row | None:
    """The row in a line, with its number; None if the line is cut."""
    with contextlib.suppress(ValueError):
        row = json.loads(line)
        return row if isinstance(row, dict) and NUMBER in row else None
    return None
