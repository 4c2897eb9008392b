"""Files that appear whole or not at all, their checksums, and the repository that they belong to.

A reader of a run's folder must never meet half a file: every file is written under a temporary name that ends in
`.part`, flushed to the disk, and renamed. A rename within one folder is atomic on every system we run on.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with write_atomically(Path(folder) / "difference.txt") as file:
    ...         _ = file.write("There is a difference")
    ...         [path.suffix for path in Path(folder).iterdir()]
    ...     [path.name for path in Path(folder).iterdir()]
    ['.part']
    ['difference.txt']
"""

import contextlib
import errno
import fcntl
import hashlib
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dtglib.basics.errors import UserError
from dtglib.basics.progress import progress


@contextlib.contextmanager
def explain_disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the disk into a message that says which file could not be written, and why."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise UserError(f"{path}: the disk is full; free some space and run the same command again") from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise UserError(f"{path}: no permission to write; make it writable, or choose another folder") from error
        if error.errno == errno.ENAMETOOLONG:
            raise UserError(f"{path}: this name is too long; choose a shorter one") from error
        if error.errno in (errno.EEXIST, errno.ENOTDIR):
            raise UserError(f"{path}: a file stands where a folder is needed; choose another folder") from error
        raise


@contextlib.contextmanager
def write_atomically(path: str | Path, binary: bool = False) -> Iterator[IO]:
    """Open a file for writing. It takes its name when the block ends without an exception; otherwise it is deleted."""
    path = Path(path)
    # With the process id in the name, two processes that write the same file do not share a temporary file.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with explain_disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # newline="\n" gives the same bytes on every system.
            with open(part, "wb") if binary else open(part, "w", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def only_one_process(folder: Path, doing: str) -> Iterator[None]:
    """Lock a folder; a second process waits here. The operating system frees the lock when the process ends."""
    with _opened(folder, ".lock") as lock:
        for _ in progress(itertools.count(), f"waiting for another process that {doing}", "s"):
            if _is_ours(lock):
                break
            time.sleep(1)
        yield


def _opened(folder: Path, name: str) -> IO:
    """A file that can be locked; closing it releases the lock."""
    path = folder / name
    with explain_disk_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        return open(path, "w")


def _is_ours(lock: IO) -> bool:
    """Try to take the lock; False if another process holds it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def repository() -> Path:
    """The repository: the current folder, or the nearest one above it, that holds configs/ and notebooks/."""
    found = find_repository()
    if not found:
        raise UserError("no configs/ and notebooks/ in this folder or one above it; go to the repository of dtglib")
    return found


def find_repository() -> Path | None:
    """Like `repository`, but None outside of a repository."""
    folders = (Path.cwd(), *Path.cwd().parents)
    return next((f for f in folders if (f / "configs").is_dir() and (f / "notebooks").is_dir()), None)


def sha256(path: str | Path) -> str:
    """The SHA-256 checksum of a file, as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
