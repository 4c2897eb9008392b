"""Files that appear whole or not at all, their checksums, and the repository that they belong to.

A reader of a run's folder must never meet half a file: everything is written beside its place under a name that
ends in `.part`, flushed to the disk, and renamed. A rename within one folder is atomic on every system we run on.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with write_atomically(Path(folder) / "difference.txt") as file:
    ...         _ = file.write("There is a difference")
    ...         [path.suffix for path in Path(folder).iterdir()]
    ...     [path.name for path in Path(folder).iterdir()]
    ['.part']
    ['difference.txt']
"""

import errno
import fcntl
import hashlib
import itertools
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dtglib.errors import UserError
from dtglib.progress import progress


@contextmanager
def explain_disk_errors(path: Path) -> Iterator[None]:
    """Turn the disk's refusals into a sentence that says which file could not be written, and why."""
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


@contextmanager
def write_atomically(path: str | Path, binary: bool = False) -> Iterator[IO]:
    """Open a file for writing that takes its name only when the block ends well; otherwise nothing remains."""
    path = Path(path)
    # The process id keeps two runs that write the same file from writing into one another's half.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with explain_disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # newline="\n": the same bytes on every system.
            with open(part, "wb") if binary else open(part, "w", encoding="utf-8", newline="\n") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextmanager
def only_one_process(folder: Path, doing: str) -> Iterator[None]:
    """Hold a folder alone; a second process waits here. The lock goes with the process, however it ends."""
    path = folder / ".lock"
    with explain_disk_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(path, "w")  # noqa: SIM115  (held below, where other errors are not the lock's)
    with lock:
        for _ in progress(itertools.count(), f"waiting for another process that {doing}", "s"):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(1)
        yield


def free_first(folders: Mapping[str, Path]) -> Iterator[str]:
    """The keys of folders that are wanted; one that another process holds comes last, when that may be done with it."""
    left = dict(folders)
    while left:
        key = next((key for key, folder in left.items() if not _is_held(folder)), next(iter(left)))
        del left[key]
        yield key


def _is_held(folder: Path) -> bool:
    """Whether `only_one_process` would have to wait here now."""
    path = folder / ".lock"
    if not path.exists():
        return False
    with explain_disk_errors(path):
        lock = open(path)  # noqa: SIM115  (closed below, which lets go of it)
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two that only ask do not see one another
        except BlockingIOError:
            return True
        return False


def repository() -> Path:
    """The repository that we work in: the folder, this one or one above it, that holds configs/ and notebooks/."""
    found = find_repository()
    if not found:
        raise UserError("no configs/ and notebooks/ in this folder or one above it; go to the repository of dtglib")
    return found


def find_repository() -> Path | None:
    """Like `repository`, for what can do without: None outside of one."""
    folders = (Path.cwd(), *Path.cwd().parents)
    return next((f for f in folders if (f / "configs").is_dir() and (f / "notebooks").is_dir()), None)


def sha256(path: str | Path) -> str:
    """The SHA-256 checksum of a file, as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
