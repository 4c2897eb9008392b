"""A cache on disk of bytes that depend on nothing but the package: compiled kernels, minilang's sentences.

    ~/.cache/dtglib/3f9a1c07b2d4e658/      ($XDG_CACHE_HOME/dtglib/... if that variable is set)
        kernels/compile._compile_all-1b2c...
        minilang/train-0-1024

The folder is named by a hash of everything that the bytes depend on: the package's own files as they were when it was
imported, Python, numba and its settings, and the processor. So an entry is never out of date: another version of the
package uses another folder, and the least recently used folders are removed. An entry that cannot be written, or is
damaged, counts as missing. The whole cache may be deleted at any time.
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

from dtglib.basics.package_files import package_files

FOLDERS = 8  # versions of the package whose entries are kept, some 30 MB each
DIGEST = hashlib.sha256().digest_size
MOST_SECONDS = 60  # how long a process waits for another one, which may have been stopped


def read(name: str) -> bytes | None:
    """The entry of this name; None if it is missing or damaged."""
    try:
        content = (folder() / name).read_bytes()
    except OSError:
        return None
    digest, entry = content[:DIGEST], content[DIGEST:]
    return entry if hashlib.sha256(entry).digest() == digest else None


def write(name: str, entry: bytes) -> None:
    """Write an entry, if that is possible; if not, the next process computes it again."""
    if _fingerprint() != FINGERPRINT:
        return  # a file of the package was changed since the import, and this process still runs the old code
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
    """Lock an entry. Other processes wait up to a minute for the one that computes it, and then read it."""
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
    """The folder of this version of the package; when it is made, the oldest folders are removed."""
    top = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dtglib")
    if not top.is_absolute() or not FINGERPRINT:
        return Path(os.devnull, "nothing can be there")  # no home directory, or no fingerprint: nothing is cached
    found = top / FINGERPRINT
    with contextlib.suppress(OSError):
        found.mkdir(parents=True, exist_ok=True)
        os.utime(found)
        others = (path for path in top.iterdir() if path != found)
        for old in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[FOLDERS - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
    return found


def _fingerprint() -> str:
    """A hash, 16 hexadecimal digits, of everything that the entries depend on; "" if that cannot be found out."""
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    try:
        versions = [sys.version, *map(version, ("numba", "llvmlite", "numpy"))]
        digest = hashlib.sha256(repr([versions, settings, _processor()]).encode())
        for path, content in package_files().items():
            digest.update(f"{path}\n{hashlib.sha256(content).hexdigest()}\n".encode())
    except (OSError, PackageNotFoundError):
        return ""
    return digest.hexdigest()[:16]


def _processor() -> str:
    """Model and instruction sets of the processor, since two machines may share a home directory."""
    with contextlib.suppress(OSError):
        about = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
        return "\n".join(line for line in about if line.startswith(("model name", "flags", "Features")))
    return platform.processor()


FINGERPRINT = _fingerprint()  # taken at import: it describes the code that this process runs
