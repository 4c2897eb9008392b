"""A cache for compiled kernels and minilang's sentences, which depend on the package alone.

    ~/.cache/dtglib/                                        ($XDG_CACHE_HOME/dtglib/ if that variable is set)
        dtglib.decode.trie/3f9a1c07b2d4e658/                kernels of this module, by numba (jit.py)
        dtglib.data.minilang.corpus/8e21f00a6c5d9b34/       sentences, such as train-0-1024

Each module has a folder. Inside, folders are named by a hash of the module, of the modules that it imports, and of the
versions of Python and numba, so nothing in them is ever out of date. Those of the least recently used versions are
removed. The cache may be deleted at any time. Without it, each command that does more than a sentence or two would
compile for 20 seconds, and each process of a reproduction would draw 20,000 sentences of minilang, which takes 30
seconds.
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

from dtglib.basics.code import are_on_disk, hashes_behind
from dtglib.basics.errors import UserError
from dtglib.basics.files import write_atomically

VERSIONS = 8  # of each module, whose folders are kept


@cache
def cache_folder(module: str) -> Path | None:
    """The folder of the running version of a module, such as "dtglib.decode.trie"; None if it cannot be written."""
    top = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "dtglib", module)
    folder = top / _version_of(module)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
        by_age = sorted(top.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return None
    for old in by_age[VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def read_cached(module: str, name: str) -> bytes | None:
    """The content of a file in a module's folder; None if there is none."""
    folder = cache_folder(module)
    return (folder / name).read_bytes() if folder and (folder / name).is_file() else None


def write_cached(module: str, name: str, content: bytes) -> None:
    """Write a file into a module's folder, if that is possible."""
    folder = cache_folder(module)
    if folder and is_current(module):
        with contextlib.suppress(OSError, UserError), write_atomically(folder / name, binary=True) as file:
            file.write(content)


def is_current(module: str) -> bool:
    """True if the files behind a module have not changed since this process imported the package.

    Code and data are read when they are needed. If a file changes after the import, the results of this process may
    belong to neither version.
    """
    return are_on_disk(hashes_behind(module))


def _version_of(module: str) -> str:
    settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    versions = [sys.version, *map(version, ("numba", "llvmlite", "numpy"))]
    content = [sorted(hashes_behind(module).items()), settings, *versions]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]
