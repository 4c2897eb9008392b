"""Rows of results in a file, each there as soon as it is known: what was stopped goes on, and nothing is done twice.

    >>> from tempfile import TemporaryDirectory
    >>> def rows_from(first):
    ...     print("computed from row", first)
    ...     yield from ({"letters": len(word)} for word in ("There", "is", "a")[first:])
    >>> with TemporaryDirectory() as folder:
    ...     once, again = (kept_rows(Path(folder) / "rows.jsonl", {"model": "1a2b3c"}, 3, rows_from) for _ in range(2))
    computed from row 0
    >>> once == again, again
    (True, [{'letters': 5}, {'letters': 2}, {'letters': 1}])

The first line of the file says what its rows are results of. A file of something else is never written over; a last
line that was cut in two by a kill is done again. A folder with such a file holds no other, because whoever adds to it
locks the folder.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dtglib.errors import UserError
from dtglib.files import explain_disk_errors, only_one_process
from dtglib.progress import progress

Row = dict[str, Any]
CHECKSUM = "checksum"  # of the rest of a row: a disk that has lost a bit does not say so


def kept_rows(
    path: Path,
    identity: Mapping[str, Any],
    count: int,
    rows_from: Callable[[int], Iterator[Row]],
    what: str = "scoring",
    unit: str = "sentence",
) -> list[Row]:
    """All `count` rows; those that the file does not hold yet are computed by `rows_from(first)`, and added to it."""
    head = json.dumps(dict(identity), sort_keys=True)
    if path.exists():
        rows, _ = _whole_rows(path, path.read_bytes(), head)
        if len(rows) == count:
            return rows
    with only_one_process(path.parent, "writes results there"):
        with explain_disk_errors(path), open(path, "a+b") as file:
            file.seek(0)
            rows, size = _whole_rows(path, file.read(), head)
            file.truncate(size)
            if not size:
                file.write(f"{head}\n".encode())
        ahead = rows_from(len(rows)) if len(rows) < count else iter(())
        for row in progress(ahead, what, unit, total=count, initial=len(rows)):
            row = json.loads(json.dumps(row))  # as whoever reads the file will have it
            line = json.dumps({**row, CHECKSUM: digest_of(row)}, ensure_ascii=False)
            # Opened anew for every row: what computes them has errors of its own.
            with explain_disk_errors(path), open(path, "ab") as file:
                file.write(f"{line}\n".encode())
            rows.append(row)
    if len(rows) != count:
        raise UserError(f"{path}: holds {len(rows)} rows, but there are {count}; delete it, and it is made again")
    return rows


def digest_of(content: Any) -> str:
    """A checksum of whatever JSON can hold."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _whole_rows(path: Path, content: bytes, head: str) -> tuple[list[Row], int]:
    """The rows of a file, and how many bytes of it are whole lines."""
    whole = content[: content.rfind(b"\n") + 1]
    if not whole and head.encode().startswith(content):
        return [], 0
    first, *lines = whole.decode(errors="replace").split("\n")[:-1] or [content.decode(errors="replace")]
    if first != head:
        raise UserError(f"{path}: holds results of something else ({first[:200]}); delete it, or choose another file")
    try:
        rows = [json.loads(line) for line in lines]
        if not all(isinstance(row, dict) and row.pop(CHECKSUM, None) == digest_of(row) for row in rows):
            raise ValueError("a row is not what was written")
        return rows, len(whole)
    except ValueError as error:
        raise UserError(f"{path}: damaged ({error}); delete it, and it is made again") from error
