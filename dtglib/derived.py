"""Bytes that follow from the package alone, kept in the user's cache directory: compiled kernels, minilang's sentences.

    ~/.cache/dtglib/3f9a1c07b2d4e658/      ($XDG_CACHE_HOME/dtglib/... where that is set)
        kernels/compile._compile_all-1b2c...
        minilang/train-0-1024

The folder is named after all that the bytes depend on: the package's own files, Python, numba and the processor. So
an entry is never out of date: another version of the package looks into another folder, and the folders that were not
used for longest are removed. Where nothing can be written, or an entry is damaged, there is no entry.

    >>> write("doctest/difference", b"There is a difference")
    >>> read("doctest/difference") in (b"There is a difference", None)
    True
"""

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

PACKAGE = Path(__file__).parent
FOLDERS = 8  # versions of the package whose entries are kept, some 30 MB each
DIGEST = hashlib.sha256().digest_size


def read(name: str) -> bytes | None:
    """The entry of this name; None if there is none, or not the one that was written."""
    try:
        content = (folder() / name).read_bytes()
    except OSError:
        return None
    digest, entry = content[:DIGEST], content[DIGEST:]
    return entry if hashlib.sha256(entry).digest() == digest else None


def write(name: str, entry: bytes) -> None:
    """Keep an entry, where that is possible: what cannot be kept is computed again by the next process."""
    path = folder() / name
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(hashlib.sha256(entry).digest() + entry)
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """While one process computes an entry, others wait here, and then find it; but not where nothing can be locked."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path = folder() / f"{name}.lock"
            path.parent.mkdir(parents=True, exist_ok=True)
            fcntl.flock(stack.enter_context(open(path, "w")), fcntl.LOCK_EX)
        yield


@cache
def folder() -> Path:
    """The folder of this version of the package; older ones are removed when it is made."""
    top = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dtglib")
    found = top / _fingerprint()
    if not top.is_absolute():
        return Path(os.devnull, found)  # a user without a home directory: nothing can be there
    with contextlib.suppress(OSError):
        found.mkdir(parents=True, exist_ok=True)
        os.utime(found)
        used = sorted(top.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in used[FOLDERS:]:
            shutil.rmtree(old, ignore_errors=True)
    return found


def _fingerprint() -> str:
    """16 hexadecimal digits that change with whatever the entries depend on."""
    digest = hashlib.sha256(repr([sys.version, version("numba"), version("numpy"), _processor()]).encode())
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(PACKAGE)}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """What a compiled kernel may use of this processor; two machines may share a home directory."""
    with contextlib.suppress(OSError):
        about = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        return "\n".join(line for line in about if line.startswith(("model name", "flags", "Features")))
    return platform.processor()
