"""What pytest needs besides `--jaxtyping-packages=dtglib,beartype.beartype` to check a package's annotations.

jaxtyping then wraps every function of the package, so that each call is checked: shapes against one another, and all
other types. Two things it does not do by itself: leave alone what torch.compile traces, and look into NamedTuples.
"""

import inspect
import sys

import pytest
import torch


def pytest_configure(config: pytest.Config) -> None:
    """With --jaxtyping-packages, what torch.compile and FlexAttention trace runs unchecked: the rest is checked.

    Every function of the package is then wrapped in one that keeps the sizes of its dimensions in a list. Code that is
    being traced must not change such a list.
    """
    if not config.getoption("jaxtyping_packages", None):
        return
    import jaxtyping

    class UncheckedWhereTraced(type(jaxtyping.config)):
        @property
        def jaxtyping_disable(self) -> bool:
            return torch.compiler.is_dynamo_compiling()

    del jaxtyping.config.jaxtyping_disable
    jaxtyping.config.__class__ = UncheckedWhereTraced


def pytest_collection_finish(session: pytest.Session) -> None:
    """With --jaxtyping-packages, the shapes in a NamedTuple are checked when it is made; a dataclass's are anyway."""
    *packages, _ = (session.config.getoption("jaxtyping_packages", None) or "").split(",")
    if not packages:
        return
    from beartype import beartype
    from jaxtyping import AbstractArray, jaxtyped

    for name in [name for name in sys.modules if name.split(".")[0] in packages]:
        for record in filter(inspect.isclass, vars(sys.modules[name]).values()):  # not a record that a module keeps
            fields = getattr(record, "__annotations__", {}).values() if hasattr(record, "_fields") else ()
            is_shaped = any(inspect.isclass(field) and issubclass(field, AbstractArray) for field in fields)
            if is_shaped and record.__module__ == name:
                record.__new__ = jaxtyped(record.__new__, typechecker=beartype)
