"""What all tests share."""

import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.attention.flex_attention as flex_attention
from checked_shapes import pytest_collection_finish, pytest_configure  # noqa: F401 (pytest calls them)
from hypothesis import settings

from dtglib.basics.cache_folder import cache_folder
from dtglib.data import minilang
from dtglib.data.minilang import corpus

# The same examples each time in CI, new and fewer ones elsewhere. (A machine may be busy: there is no deadline.) The
# first process tells the others, because CI is set below for all of them.
IN_CI = bool(os.environ.setdefault("DTG_TESTS_IN_CI", os.environ.get("CI", "")))
settings.register_profile("tests", derandomize=IN_CI, deadline=None, max_examples=100 if IN_CI else 25)
settings.load_profile("tests")

# As the command does (dtglib/__main__.py): what is loaded for the tests is no garbage.
gc.set_threshold(50_000)

# Nobody watches: no bars in what commands say, but where a test is about bars.
os.environ["CI"] = "1"

# Several test processes have a core each, and so have those that they start.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)

# Without a GPU, seeding those of all GPUs only stores a formatted stack, and a training does it in each step. `int`
# takes the same argument and does nothing.
if not torch.cuda.is_available():
    torch.cuda.manual_seed_all = torch.xpu.manual_seed_all = torch.mtia.manual_seed_all = int
    # FlexAttention is traced at each call that is not compiled; without it the same is computed.
    flex_attention._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = True

# pytest rewrites the assertions of these helpers, too, so that a failure shows their values.
pytest.register_assert_rewrite("kernels", "reference", "running", "scalar_systems", "toys", "words_in_pieces")

# A shell that starts the tests in the background lets them ignore Ctrl-C, and so would whatever they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Files that take a core half a minute and more: begun first, so that in the end no core waits for another. Of the
# notebooks, 03 trains models that the others use.
LONGEST = [
    "03_training.ipynb",
    *("test_readme.py", "test_robustness.py", "test_book.py", "test_released.py", "test_examples.py", "test_beam.py"),
    *("05_syntactic_evaluation.ipynb", "11_constituency.ipynb", "test_several.py", "test_pushdown.py"),
    *("20_gilt.ipynb", "test_reproduce.py"),
]


# Notebooks of half a minute that evaluate many models, and those of other papers; slow, each as a whole.
LONG_NOTEBOOKS = (
    *("05_syntactic_evaluation.ipynb", "10_brackets.ipynb", "11_constituency.ipynb", "20_gilt.ipynb"),
    *("30_udgn.ipynb", "40_translation.ipynb", "50_reading_times.ipynb"),
)

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


BEGAN = time.monotonic()


@pytest.hookimpl(trylast=True)  # after xdist has waited for its processes
def pytest_unconfigure() -> None:
    """Print the minutes of these tests, so that their growth is seen."""
    gc.freeze()
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    processor = sum(usage.ru_utime + usage.ru_stime for usage in used)
    print(f"\n{(time.monotonic() - BEGAN) / 60:.1f} minutes, {processor / 60:.1f} of processor time")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what is slow
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    def place(item: pytest.Item) -> int:
        return LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST)

    for item in items:
        if item.path.name in LONG_NOTEBOOKS or item.get_closest_marker("alone"):
            item.add_marker(pytest.mark.slow)
    if not torch.cuda.is_available():
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(pytest.mark.skip(reason="there is no CUDA GPU here"))
    items.sort(key=place)
    gc.freeze()  # what is imported is no garbage


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public data (treebanks, BLiMP, SG suites), or a skip that says how to get it."""
    folder = os.environ.get("DTG_DATA")
    if not folder:
        pytest.skip("DTG_DATA is not set: run `make data`, or name a folder that holds ud/, blimp/ and sg/")
    if not Path(folder).is_dir():
        pytest.skip(f"DTG_DATA names {folder}, which is not a folder")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def all_data(data) -> Path:
    """The same folder, where it also has what `make data` does not fetch: other treebanks, and tables of statistics."""
    if not (data / "ud" / "STATS.tsv").is_file():
        pytest.skip(f"{data} has only what `make data` fetches")
    return data


@pytest.fixture
def nothing_kept(tmp_path, monkeypatch) -> Iterator[Path]:
    """An empty cache directory: nothing that an earlier process has compiled or drawn is found."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    cache_folder.cache_clear()
    corpus._stream.cache_clear()
    yield tmp_path / "cache"
    cache_folder.cache_clear()
    corpus._stream.cache_clear()


def slow(values: Iterable) -> list:
    """Parameters for which a test is slow; a tuple is several of them."""
    cases = (value if isinstance(value, tuple) else (value,) for value in values)
    return [pytest.param(*case, marks=pytest.mark.slow) for case in cases]


@contextmanager
def with_one_thread():
    """Products this small only wait for a second thread, which may also sum in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.fixture
def one_thread():
    with with_one_thread():
        yield


@pytest.fixture
def few_of_minilang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the first items of minilang's suites and pairs, because every call writes and reads all of them."""
    pairs = [replace(paradigm, pairs=paradigm.pairs[:10]) for paradigm in minilang.minimal_pairs()]
    suites = [replace(suite, items=suite.items[:2]) for suite in minilang.suites()]
    monkeypatch.setattr(minilang, "minimal_pairs", lambda: pairs)
    monkeypatch.setattr(minilang, "suites", lambda: suites)


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], object]]:
    """A function that imports a benchmark, for one test only: PyTorch must not find the one that is called cuda."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.syspath_prepend(str(BENCHMARKS / "parts"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    yield __import__
    for path in BENCHMARKS.rglob("*.py"):
        sys.modules.pop(path.stem, None)
