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
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dtglib.basics.errors import UserError

# Errors of the disk that a user can put right.
OF_THE_DISK = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.ENAMETOOLONG, errno.EEXIST, errno.ENOTDIR, errno.EISDIR),
)


@contextlib.contextmanager
def write_atomically(path: str | Path, binary: bool = False) -> Iterator[IO]:
    """Open a file for writing. It takes its name when the block ends without an exception; otherwise it is deleted."""
    named, path = Path(path).absolute(), Path(os.path.realpath(path))  # what a link points to is written
    if (path.exists() and not path.is_file()) or named.parts[1] in ("dev", "proc"):
        raise UserError(f"{named}: is no file; name a file")
    # With the process id in the name, two processes that write the same file do not share a temporary file.
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # newline="\n" gives the same bytes on every system.
        with open(part, "wb") if binary else open(part, "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in OF_THE_DISK:
            raise UserError(f"{path}: {error.strerror}; put that right, or choose another folder") from error
        raise


@contextlib.contextmanager
def only_one_process(folder: Path, doing: str) -> Iterator[None]:
    """Lock a folder; a second process waits here. The operating system frees the lock when the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process that {doing}", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def repository() -> Path:
    """The repository: the current folder, or the nearest one above it, that holds configs/ and notebooks/."""
    folder = find_repository()
    if not folder:
        raise UserError("no configs/ and notebooks/ in this folder or one above it; go to the repository of dtglib")
    return folder


def find_repository() -> Path | None:
    """Like `repository`, but None outside of a repository."""
    folders = (Path.cwd(), *Path.cwd().parents)
    return next((f for f in folders if (f / "configs").is_dir() and (f / "notebooks").is_dir()), None)


def sha256(path: str | Path) -> str:
    """The SHA-256 checksum of a file, as 64 hexadecimal digits."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
