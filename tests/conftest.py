"""What all tests share."""

import inspect
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from dtglib import derived
from dtglib.minilang import corpus

# A shell that starts the tests in the background lets them ignore Ctrl-C, and so would whatever they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data (treebanks, BLiMP, SG suites), or a skip that says how to get it."""
    folder = os.environ.get("DTG_DATA")
    if not folder:
        pytest.skip("DTG_DATA is not set: run `make data`, or name a folder that holds ud/, blimp/ and sg/")
    if not Path(folder).is_dir():
        pytest.skip(f"DTG_DATA names {folder}, which is not a folder")
    return Path(folder).resolve()


@pytest.fixture
def nothing_kept(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty cache directory: nothing that an earlier process has compiled or drawn is found."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    derived.folder.cache_clear()
    corpus._stream.cache_clear()
    yield tmp_path / "cache"
    derived.folder.cache_clear()
    corpus._stream.cache_clear()


@contextmanager
def with_one_thread():
    """Products this small only wait for a second thread, which may also sum in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def one_thread():
    with with_one_thread():
        yield


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
    if not session.config.getoption("jaxtyping_packages", None):
        return
    from beartype import beartype
    from jaxtyping import AbstractArray, jaxtyped

    for name in [name for name in sys.modules if name.startswith("dtglib.")]:
        for record in vars(sys.modules[name]).values():
            fields = getattr(record, "__annotations__", {}).values() if hasattr(record, "_fields") else ()
            is_shaped = any(inspect.isclass(field) and issubclass(field, AbstractArray) for field in fields)
            if is_shaped and record.__module__ == name:
                record.__new__ = jaxtyped(record.__new__, typechecker=beartype)
