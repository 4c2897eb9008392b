"""Lines of records, for tables that are no table of systems and measures (those are in tables.py).

newest_lines(None, lambda line: line["part"] == "all pairs")        a row for each; corpus and size are the record's
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from dtglib.basics.files import repository
from dtglib.basics.record import Record, read_record
from dtglib.evaluate.measures import Line


def records(folder: Path, named: str = "*") -> Iterator[Record]:
    """The finished records in folders that are so named, the newest first."""
    every = [read_record(path.parent) for path in folder.glob(f"{named}/record.json")]
    by_age = sorted(every, key=lambda record: record.about["started"], reverse=True)
    return (record for record in by_age if record.about["status"] == "finished")


def benchmark(name: str) -> Record | None:
    """The newest record of a benchmark that came to its end, or None where there is none."""
    moment = "????-??-??-??????"  # with which the name of a folder begins
    return next(records(repository() / "benchmarks" / "records", f"{moment}-{name}"), None)


def newest_lines(folder: Path | None, wanted: Callable[[Line], bool]) -> pd.DataFrame:
    """The lines that are wanted; of each corpus, size and model those of the newest record that has them.

    `corpus` and `size` are the record's, and `trained` is what it trained or tuned. A line without a model is of a way
    to tune what the record names. So models of several records may stand side by side.
    """
    seen, rows = set(), []
    for record in records(folder or repository() / "results"):
        about = {"corpus": record.config.get("corpus"), "size": record.config.get("size")}
        about["trained"] = str(record.config.get("model"))
        lines = [line | about for line in record.metrics if wanted(line)]
        new = set(map(_key, lines)) - seen
        rows += [line for line in lines if _key(line) in new]
        seen |= new
    return pd.DataFrame(rows)


def _key(line: Line) -> tuple:
    what = (line["model"],) if "model" in line else (line["trained"], line["way"])
    return line["corpus"], line["size"], *what
