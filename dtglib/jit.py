"""numba's `njit` whose compiled code is kept between processes (derived.py): compiled once per version of the package.

    @njit
    def _dependents(tree, leftmost, rightmost): ...

numba keeps compiled code, too (`cache=True`), but does not notice when a function or a constant of another module has
changed, nor what a disk has damaged; and of two processes that fill its index at once one may read the other's code
under its own name. Here every compiled form of a function is an entry of its own, in a folder that is named after the
sources.

Neither keeps a function that is handed functions: an address is then in its code, which the next process has
elsewhere. So a kernel names the functions that it calls; which transition system it runs is a number (see
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

from dtglib import derived


def njit(function: Callable | None = None, **options) -> Callable:
    """Compile a function when it is first called with arguments of some types, unless an earlier process has."""
    if function is None:
        return lambda function: njit(function, **options)
    function = inspect.unwrap(function)  # the tests' checker of shapes wraps every function; numba needs the bare one
    dispatcher = numba.njit(**options)(function)
    # Only the package's own functions: of others the name of the folder knows nothing.
    if function.__module__.startswith("dtglib."):
        dispatcher._cache = _Kept(function)
    return dispatcher


class _Kept(NullCache):
    """What numba's dispatcher asks for compiled code, and gives it to."""

    def __init__(self, function: Callable) -> None:
        self.name = f"kernels/{function.__module__.removeprefix('dtglib.')}.{function.__qualname__}"

    def load_overload(self, signature, target_context):
        target_context.refresh()
        entry = derived.read(self._entry(signature, target_context.codegen()))
        return entry and CompileResult._rebuild(target_context, *pickle.loads(entry))

    def save_overload(self, signature, compiled):
        handed = any(isinstance(argument, types.Callable) for argument in signature)
        if handed or compiled.library.has_dynamic_globals or compiled.lifted:
            raise TypeError(
                f"{self.name} cannot be kept: it is handed functions, or has large global arrays or objects"
            )
        derived.write(self._entry(signature, compiled.codegen), dumps(compiled._reduce()))

    def _entry(self, signature, codegen) -> str:
        """The types of the arguments, and the processor that the code is for, besides the function."""
        about = f"{signature!r}\n{codegen.magic_tuple()!r}"
        return f"{self.name}-{hashlib.sha256(about.encode()).hexdigest()[:32]}"
