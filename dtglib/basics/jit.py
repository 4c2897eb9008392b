"""numba's `njit` with a cache between processes (package_cache.py): one compilation per version of the package.

    @njit
    def _dependents(tree, leftmost, rightmost): ...

numba has a cache, too (`cache=True`), but it does not notice when a function or a constant of another module has
changed, nor when a disk has damaged an entry; and when two processes fill its index at once, one may read the other's
code under its own name. Here every compiled form of a function is an entry of its own, in a folder that is named by a
hash of the sources.

Neither cache can hold a function that takes functions as arguments: its code then contains an address, which differs
in the next process. So a kernel names the functions that it calls, and selects a transition system by a number (see
transitions/rules.py).
"""

import hashlib
import inspect
import pickle
from collections.abc import Callable

import numba
from numba.core import types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from dtglib.basics import package_cache


def njit(function: Callable | None = None, **options) -> Callable:
    """Compile a function at its first call with arguments of given types, unless the cache has the code."""
    if function is None:
        return lambda function: njit(function, **options)
    function = inspect.unwrap(function)  # the tests wrap every function to check its shapes; numba needs the bare one
    dispatcher = numba.njit(**options)(function)
    # Only the package's own functions: the hash that names the folder does not cover others.
    if function.__module__.startswith("dtglib."):
        dispatcher._cache = _Kept(function)
    return dispatcher


class _Kept(NullCache):
    """The cache that numba's dispatcher reads compiled code from, and writes it to."""

    def __init__(self, function: Callable) -> None:
        self.name = f"kernels/{function.__module__.removeprefix('dtglib.')}.{function.__qualname__}"

    def load_overload(self, signature, target_context):
        target_context.refresh()
        entry = package_cache.read(self._entry(signature, target_context.codegen()))
        return entry and CompileResult._rebuild(target_context, *pickle.loads(entry))

    def save_overload(self, signature, compiled):
        handed = any(isinstance(argument, types.Callable) for argument in signature)
        if handed or compiled.library.has_dynamic_globals or compiled.lifted:
            raise TypeError(
                f"{self.name} cannot be kept: it is handed functions, or has large global arrays or objects"
            )
        package_cache.write(self._entry(signature, compiled.codegen), dumps(compiled._reduce()))

    def _entry(self, signature, codegen) -> str:
        """The name of an entry: the function, with a hash of the types of its arguments and of the processor."""
        about = f"{signature!r}\n{codegen.magic_tuple()!r}"
        return f"{self.name}-{hashlib.sha256(about.encode()).hexdigest()[:32]}"
