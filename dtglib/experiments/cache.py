"""The cache of results: trained networks, scores and trees, each computed once and found again by what it depends on.

    folder_of("models", "dtg", identity, code)                          runs/models/dtg-1a2b3c4d5e6f
    cached_rows("scores", "dtg", identity, code, computed)              runs/scores/dtg-4d5e6f1a2b3c/rows.jsonl

The key of a result is a hash of its inputs (settings, and hashes of data and weights) and of the code that computes it
(`code_of` in basics/code.py). If one of them changes, the folder is another one, so nothing stale is ever found. One
process at a time computes a result; others wait for it. A network is resumed from its checkpoint (training/loop.py);
rows are written one by one, and a stopped computation continues with the next row:

    >>> from tempfile import TemporaryDirectory
    >>> def rows_from(first):
    ...     print("computed from row", first)
    ...     yield from ({"letters": len(word)} for word in ("There", "is", "a")[first:])
    >>> with TemporaryDirectory() as folder:
    ...     once, again = (kept_rows(Path(folder) / "rows.jsonl", {"model": "1a2b3c"}, 3, rows_from) for _ in range(2))
    computed from row 0
    >>> once == again, again
    (True, [{'letters': 5}, {'letters': 2}, {'letters': 1}])

The first line of the file contains the inputs. A file with other inputs is never overwritten; a last line that a kill
has cut in two is computed again. Such a file has a folder of its own, because a process that writes locks the folder.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError
from dtglib.basics.files import explain_disk_errors, find_repository, only_one_process
from dtglib.basics.progress import progress
from dtglib.basics.record import Row

KINDS = ("models", "parsers", "scores", "trees")  # of results; a folder each in runs/
CODE = "code"  # the key of the code's hash in an identity
CHECKSUM = "checksum"  # of the rest of a row, because a disk may lose a bit without an error


def folder_of(kind: str, name: str, identity: Mapping[str, Any], code: str) -> Path:
    """The folder of a result, below the repository or, outside of one, below the working folder."""
    key = digest_of({**identity, CODE: code})[:12]
    return (find_repository() or Path.cwd()) / "runs" / kind / f"{name}-{key}"


class Computed(NamedTuple):
    """How to compute rows: their number, a function that computes those from a given one on, and words for progress."""

    count: int
    rows_from: Callable[[int], Iterator[Row]]
    what: str = "scoring"
    unit: str = "sentence"


def cached_rows(kind: str, name: str, identity: Mapping[str, Any], code: str, computed: Computed) -> list[Row]:
    """The rows of a result, computed now unless they are in the cache."""
    path = folder_of(kind, name, identity, code) / "rows.jsonl"
    return kept_rows(path, {**identity, CODE: code}, *computed)


def kept_rows(
    path: Path,
    identity: Mapping[str, Any],
    count: int,
    rows_from: Callable[[int], Iterator[Row]],
    what: str = "scoring",
    unit: str = "sentence",
) -> list[Row]:
    """All `count` rows; those that the file does not contain yet are computed by `rows_from(first)` and appended."""
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
        rest = rows_from(len(rows)) if len(rows) < count else iter(())
        for row in progress(rest, what, unit, total=count, initial=len(rows)):
            row = json.loads(json.dumps(row))  # exactly as it will be read from the file
            line = json.dumps({**row, CHECKSUM: digest_of(row)}, ensure_ascii=False)
            # Opened for every row, so that only errors of writing are explained as such, not those of `rows_from`.
            with explain_disk_errors(path), open(path, "ab") as file:
                file.write(f"{line}\n".encode())
            rows.append(row)
    if len(rows) != count:
        raise UserError(f"{path}: holds {len(rows)} rows, but there are {count}; delete it, and it is made again")
    return rows


def digest_of(content: Any) -> str:
    """A checksum of anything that JSON can represent."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _whole_rows(path: Path, content: bytes, head: str) -> tuple[list[Row], int]:
    """The rows of a file, and the number of bytes in its whole lines."""
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
