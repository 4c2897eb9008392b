"""Lines of records, for tables that are no table of systems and measures (those are in tables.py).

newest_lines(None, lambda line: line["part"] == "all pairs")        a row for each; corpus and size are the record's
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from dtglib.basics.files import repository
from dtglib.basics.record import Record, read_record
from dtglib.evaluate.measures import Line


def records(folder: Path | None = None, named: str = "*") -> Iterator[Record]:
    """The finished records in folders that are so named, the newest first."""
    return (one for one in _all(folder or repository() / "results", named) if one.about["status"] == "finished")


def _all(folder: Path, named: str) -> list[Record]:
    found = [read_record(path.parent) for path in folder.glob(f"{named}/record.json")]
    return sorted(found, key=lambda one: one.about["started"], reverse=True)


BENCHMARKS = Path("benchmarks", "records")
MOMENT = "[0-9]" * 4 + "-[0-9][0-9]" * 2 + "-" + "[0-9]" * 6  # with which the name of a record begins


def benchmark(name: str) -> Record | None:
    """The newest record of a benchmark that came to its end, or None where there is none."""
    return next(records(repository() / BENCHMARKS, f"{MOMENT}-{name}"), None)


def benchmark_in_parts(name: str) -> Record | None:
    """The newest figures of a benchmark that is run part by part, on a machine that may be taken away at any moment.

    Each line is a whole measurement, and names its GPU. So a record that was cut short counts, too, as far as it came.
    """
    newest_first = _all(repository() / BENCHMARKS, f"{MOMENT}-{name}")
    lines = {
        line["what"]: {**line, "gpu": " ".join(record.about["hardware"].get("gpus", []))}
        for record in reversed(newest_first)
        for line in record.metrics
    }
    return newest_first[0]._replace(metrics=list(lines.values())) if newest_first else None


def newest_lines(folder: Path | None, wanted: Callable[[Line], bool]) -> pd.DataFrame:
    """The lines that are wanted; of each corpus, size and model those of the newest record that has them.

    `corpus` and `size` are the record's, and `trained` is what it trained or tuned. A line without a model is of a way
    to tune what the record names. So models of several records may stand side by side.
    """
    seen, rows = set(), []
    for record in records(folder):
        about = {"corpus": record.config.get("corpus"), "size": record.config.get("size")}
        about["trained"] = str(record.config.get("model"))
        found = [(_key(line | about), line | about) for line in record.metrics if wanted(line)]
        new = {key for key, _ in found} - seen
        rows += [line for key, line in found if key in new]
        seen |= new
    return pd.DataFrame(rows)


def _key(line: Line) -> tuple:
    what = (line["model"],) if "model" in line else (line["trained"], line["way"])
    return line["corpus"], line["size"], *what
