"""Bytes that follow from the package alone, kept in the user's cache directory: compiled kernels, minilang's sentences.

    ~/.cache/dtglib/3f9a1c07b2d4e658/      ($XDG_CACHE_HOME/dtglib/... where that is set)
        kernels/compile._compile_all-1b2c...
        minilang/train-0-1024

The folder is named after what the bytes depend on: the package's own files as they were when it was imported, Python,
numba and its settings, and the processor. So an entry is never out of date: another version of the package looks into
another folder, and the folders that were not used for longest are removed. Where nothing can be written, or an entry
is damaged, there is no entry. The whole may be deleted at any time.
"""

import contextlib
import fcntl
import hashlib
import os
import platform
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parent
SUFFIXES = (".py", ".yaml", ".json", ".csv")
FOLDERS = 8  # versions of the package whose entries are kept, some 30 MB each
DIGEST = hashlib.sha256().digest_size
MOST_SECONDS = 60  # that a process waits for another one, which may have been stopped


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
    if _fingerprint() != FINGERPRINT:
        return  # a file of the package was saved since it was imported: what this process makes is of the old code
    path = folder() / name
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
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
    """While one process computes an entry, others wait here, a minute at most, and then find it."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path = folder() / f"{name}.lock"
            path.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(path, "w"))
            for _ in range(MOST_SECONDS * 10):
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.1)
        yield


@cache
def folder() -> Path:
    """The folder of this version of the package; older ones are removed when it is made."""
    top = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dtglib")
    if not top.is_absolute() or not FINGERPRINT:
        return Path(os.devnull, "nothing can be there")  # a user without a home directory, a package in the making
    found = top / FINGERPRINT
    with contextlib.suppress(OSError):
        found.mkdir(parents=True, exist_ok=True)
        os.utime(found)
        others = (path for path in top.iterdir() if path != found)
        for old in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[FOLDERS - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
    return found


def _fingerprint() -> str:
    """16 hexadecimal digits that change with whatever the entries depend on; none where that cannot be known."""
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    try:
        versions = [sys.version, *map(version, ("numba", "llvmlite", "numpy"))]
        digest = hashlib.sha256(repr([versions, settings, _processor()]).encode())
        for path in sorted(PACKAGE.rglob("*")):
            name = path.relative_to(PACKAGE)
            # Whatever begins with a dot is an editor's, or Jupyter's.
            if path.suffix in SUFFIXES and not any(part.startswith(".") for part in name.parts):
                digest.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    except (OSError, PackageNotFoundError):
        return ""
    return digest.hexdigest()[:16]


def _processor() -> str:
    """What a compiled kernel may use of this processor; two machines may share a home directory."""
    with contextlib.suppress(OSError):
        about = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        return "\n".join(line for line in about if line.startswith(("model name", "flags", "Features")))
    return platform.processor()


FINGERPRINT = _fingerprint()  # of the code that this process runs, whatever is saved from now on
