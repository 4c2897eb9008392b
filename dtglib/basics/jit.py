"""Kernels: functions that run as they are while there is little to do, and compiled by numba from then on.

A kernel is a function of numbers, of arrays, and of tuples of these. If all are integers, Python computes the same as
compiled code, some hundred times as slowly: for one sentence that is faster than to import numba, or to compile. So
numba is imported when a call gets many integers, or other numbers, or when the calls so far have taken SECONDS. A
kernel whose arguments are integers must not compute with other numbers inside.

numba's cache does not notice a change of another module. So the cache of a module has a folder that is named by a hash
of it and of those that it imports. Kernels get no functions as arguments, which it cannot hold (transitions/rules.py).
"""

import contextlib
import fcntl
import functools
import inspect
import math
import sys
import threading
import time
from types import FunctionType
from typing import Any

import numpy as np

from dtglib.basics.cache_folder import cache_folder, is_current
from dtglib.basics.code import packages

SECONDS = 0.5  # of processor time, in each thread: a third of what numba takes to load compiled kernels
INTEGERS = 2**17  # in the arguments of a call: a loop over more of them may take longer


def njit(function: Any = None, **options: Any) -> Any:
    """Make a kernel of a function; the options are numba's."""
    if function is None:
        return lambda function: njit(function, **options)
    return Kernel(inspect.unwrap(function), options)  # the bare one: tests wrap functions to check their shapes


class Kernel:
    """A function that numba compiles at its first call with arguments of given types, if there is much to do."""

    def __init__(self, function: FunctionType, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.options = function, options

    def __call__(self, *arguments: Any) -> Any:
        if _plain.runs:
            return self.function(*arguments)
        if "numba" in sys.modules or _plain.seconds > SECONDS or _integers(arguments) > INTEGERS:
            return self.compiled(*arguments)
        _plain.runs, start = True, time.thread_time()
        try:
            return self.function(*arguments)
        finally:
            _plain.runs = False
            _plain.seconds += time.thread_time() - start

    @functools.cached_property
    def compiled(self) -> Any:
        """The same function for numba, which compiles it at its first call, unless the cache has the code."""
        import numba

        compiled: Any = numba.njit(no_cfunc_wrapper=True, **self.options)(self.function)  # no C calls it
        module = self.function.__module__
        if module.partition(".")[0] in packages() and (folder := cache_folder(module)):  # which hashes our code only
            vars(numba.core.config)["CACHE_DIR"] = str(folder)
            _share(compiled, self.function)
        return compiled

    @property
    def _numba_type_(self) -> Any:
        """The type by which numba knows what other kernels call here."""
        return self.compiled._numba_type_

    def __reduce__(self) -> str:
        return self.function.__qualname__  # pickled by its name, as functions are


def _share(compiled: Any, function: FunctionType) -> None:
    """Give a function numba's cache. While one process compiles it, others wait for the code."""
    from numba.core.caching import FunctionCache
    from numba.core.types import Integer, IntEnumMember, int64, unliteral

    def general(kind: Any) -> Any:
        """One type for all integers, known or not, long or short: no other needs code of its own."""
        return int64 if isinstance(kind, IntEnumMember) or isinstance(unliteral(kind), Integer) else unliteral(kind)

    compiled._cache = FunctionCache(function)
    compile_now, save, folder = compiled.compile, compiled._cache.save_overload, compiled._cache.cache_path

    def save_current(signature: Any, result: Any) -> None:
        if is_current(function.__module__):
            with contextlib.suppress(OSError), open(f"{folder}/.lock", "w") as alone:
                fcntl.flock(alone, fcntl.LOCK_EX)  # two that save at once might give their code the same name
                save(signature, result)

    def compile_alone(signature: Any) -> Any:
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # a folder for reading only; a circle of waiting processes
                lock = stack.enter_context(open(f"{folder}/{function.__qualname__}.lock", "w"))
                fcntl.lockf(lock, fcntl.LOCK_EX)
            return compile_now(tuple(map(general, signature)))  # which looks into the cache first

    compiled._cache.save_overload, compiled.compile = save_current, compile_alone


class _Plain(threading.local):
    """The plain work of a thread."""

    runs = False  # true within a kernel that runs as it is; those that it calls do so, too
    seconds = 0.0


_plain = _Plain()


def _integers(value: Any) -> int | float:
    """The number of integers among some arguments; infinite if there is anything else."""
    if isinstance(value, tuple):
        return sum(map(_integers, value))
    if isinstance(value, np.ndarray | np.generic):
        return value.size if value.dtype.kind in "biu" else math.inf
    return 1 if isinstance(value, int) else math.inf
