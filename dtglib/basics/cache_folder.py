"""The user's cache of what depends on nothing but the package: compiled kernels, and minilang's sentences.

    ~/.cache/dtglib/3f9a1c07b2d4e658/      ($XDG_CACHE_HOME/dtglib/... if that variable is set)
        kernels/                           by numba (jit.py)
        minilang/train-0-1024              by data/minilang/corpus.py

The folder is named by a hash of the package's files and of the versions of Python and numba, so nothing in it is ever
out of date; the folders of the least recently used versions are removed. It may be deleted at any time. Without it,
each command would compile for 10 seconds, and each process of a reproduction would draw 20,000 sentences of minilang,
which takes 30 seconds.
"""

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from functools import cache
from importlib.metadata import version
from pathlib import Path

from dtglib.basics.code import RUNNING, is_on_disk
from dtglib.basics.errors import UserError
from dtglib.basics.files import write_atomically

FOLDERS = 8  # versions of the package whose folders are kept, some 30 MB each


@cache
def cache_folder() -> Path | None:
    """The folder of this version of the package; None if it cannot be written."""
    top = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dtglib")
    folder = top / _version_of_everything()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
        by_age = sorted(top.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return None
    for old in by_age[FOLDERS:]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def read_cached(name: str) -> bytes | None:
    """The content of a file in the folder; None if there is none."""
    folder = cache_folder()
    return (folder / name).read_bytes() if folder and (folder / name).is_file() else None


def write_cached(name: str, content: bytes) -> None:
    """Write a file into the folder, if that is possible."""
    if is_current():
        with contextlib.suppress(OSError, UserError), write_atomically(cache_folder() / name, binary=True) as file:
            file.write(content)


def is_current() -> bool:
    """True if there is a folder, and the code that this process runs is still that on the disk.

    Code and data are read when they are needed. If a file was changed after the import, what this process computes may
    belong to neither version.
    """
    return cache_folder() is not None and is_on_disk()


def _version_of_everything() -> str:
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    content = [sorted(RUNNING.items()), settings, sys.version, *map(version, ("numba", "llvmlite", "numpy"))]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]
