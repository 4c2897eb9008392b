"""Functions for numba, with its cache on disk: one compilation per version of the package.

numba does not notice when a function or a constant of another module has changed. So the cache of a module is in a
folder that is named by a hash of the module and of those that it imports (cache_folder.py). And two processes that
compile one function for different types at the same time may each write their code under the same name. So only one
process at a time writes.
"""

import contextlib
import fcntl
from collections.abc import Callable
from typing import Any

import numba
from numba.core.caching import FunctionCache

from dtglib.basics.cache_folder import cache_folder, is_current
from dtglib.basics.code import packages


def dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function that numba compiles at its first call with arguments of given types, unless the cache has the code."""
    compiled: Any = numba.njit(**options)(function)
    # Only the package's own functions: the hash that names the folder does not cover others.
    is_ours = function.__module__.partition(".")[0] in packages()
    if is_ours and (folder := cache_folder(function.__module__)):
        vars(numba.core.config)["CACHE_DIR"] = str(folder)
        compiled._cache = _OneWriter(function)
    return compiled


class _OneWriter(FunctionCache):
    """numba's cache of a function, written by one process at a time."""

    def save_overload(self, signature, compiled):
        if is_current(self._py_func.__module__):
            with contextlib.suppress(OSError), open(f"{self.cache_path}/.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                super().save_overload(signature, compiled)
