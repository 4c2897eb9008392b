"""What all benchmarks share: one core, if they set no other number, the best of three runs, a yardstick, a record."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is imported

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dtglib.basics.files import repository
from dtglib.basics.progress import quiet
from dtglib.basics.record import Run
from dtglib.data.symbols import ARCS
from dtglib.data.vocabulary import MARK, Vocabulary

# PyTorch looks for a package that is called cuda, and must not find cuda.py. So this comes before PyTorch; what several
# benchmarks share besides lies in a folder of its own.
HERE = Path(__file__).resolve().parent
sys.path = [str(HERE / "parts"), *(folder for folder in sys.path if Path(folder).resolve() != HERE)]

RUNS = 3
RECORDS = repository() / "benchmarks" / "records"

# Prints and records one figure: what, how many, the work (or the seconds that it took elsewhere), and further numbers
# beside it. Those that follow from the time are functions of the seconds.
Report = Callable[..., None]
Beside = float | str | Callable[[float], float]


def best(work: Callable[[], object]) -> float:
    """The shortest of three runs: noise only ever adds."""
    times = []
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


@contextmanager
def benchmark(name: str, question: str, seeds: Sequence[int] = ()) -> Iterator[Report]:
    """A table on the screen, and a record of the same in benchmarks/records/."""
    folder = RECORDS / f"{datetime.now(UTC):%Y-%m-%d-%H%M%S}-{name}"
    settings = {"runs": RUNS, "cores": int(os.environ["OMP_NUM_THREADS"])}
    with quiet(), Run(folder, question=question, config=settings, seeds=seeds) as run:
        matrix = np.random.default_rng(0).standard_normal((1024, 1024), dtype=np.float32)
        yardstick = best(lambda: matrix @ matrix)
        print(f"{'what':52} {'count':>8} {'seconds':>9} {'a second':>10} {'ratio':>7}")

        def report(what: str, count: int, work: Callable[[], object] | float, **more: Beside) -> None:
            seconds = best(work) if callable(work) else work
            ratio = seconds / yardstick
            beside = settled(more, seconds)
            run.metric(what=what, count=count, seconds_taken=seconds, ratio=ratio, **beside)
            print(f"{what:52} {count:8} {seconds:9.3f} {count / seconds:10.0f} {ratio:7.0f}{in_short(beside)}")

        report("matrix product 1024 x 1024, float32", 1, lambda: matrix @ matrix)
        yield report


def settled(more: Mapping[str, Beside], seconds: float) -> dict[str, float | str]:
    """What stands beside a figure, once its time is known."""
    return {key: value(seconds) if callable(value) else value for key, value in more.items()}


def in_short(beside: Mapping[str, float | str]) -> str:
    """The numbers beside a figure; what a picture needs to know of it is in its name, too."""
    return "".join(f"  {key} {value:.4g}" for key, value in beside.items() if not isinstance(value, str))


def in_words(dtype) -> str:
    """A precision's name."""
    return str(dtype).removeprefix("torch.")


def random_tree(size: int, chance: random.Random) -> tuple[int, ...]:
    """A projective tree: split a stretch of words at a root, and what is left and right of it again and again."""
    heads = [0] * (size + 1)
    todo = [(1, size, 0)]
    while todo:
        first, last, head = todo.pop()
        root = chance.randint(first, last)
        heads[root] = head
        for start, stop in ((first, root - 1), (root + 1, last)):
            while start <= stop:
                end = chance.randint(start, stop)
                todo.append((start, end, root))
                start = end + 1
    return tuple(heads[1:])


def operations(model, predictions: int, positions: int) -> float:
    """Additions and multiplications of layers and output, forwards and backwards, without the pairs of attention."""
    layers = sum(p.numel() for name, p in model.blocks.named_parameters() if p.ndim == 2 and "places" not in name)
    return 6 * (positions * layers + predictions * model.config.width * len(model.vocabulary))


def made_up_vocabulary(pieces: int = 8000, words: int = 5000) -> Vocabulary:
    """So many entries in all, of which "0", "1", ... are words and the rest goes on with words."""
    starts = tuple(f"{MARK}{number}" for number in range(words))
    reserved = ARCS.entries
    return Vocabulary(reserved + starts + tuple(map(str, range(pieces - len(starts) - len(reserved)))))


def made_up_words(length: int, chance: random.Random, words: int = 5000) -> list[str]:
    """Words of that vocabulary."""
    return [str(chance.randrange(words)) for _ in range(length)]
