"""How long each notebook took when it was last reproduced here, for whoever waits for it the first time.

    make reproduce SIZE=mini; python benchmarks/reproduction.py

writes benchmarks/records/reproduce.csv anew: a line a notebook for each size in runs/ that was reproduced as a whole,
the other sizes' lines as they were. Worth keeping only where nothing had been trained before; so `make bench` leaves it
alone.
"""

import csv
from pathlib import Path

import _common

from dtglib.basics.files import repository, write_atomically
from dtglib.basics.papers import papers_named
from dtglib.basics.record import read_about

COLUMNS = ("size", "notebook", "seconds", "cores", "cpu", "started")


def times(folder: Path, notebooks: list[str]) -> list[dict[str, object]]:
    """A line a notebook of a paper, if all of them have been run to their end at this size."""
    abouts = {name: read_about(folder / name) for name in notebooks if (folder / name / "record.json").exists()}
    if len(abouts) < len(notebooks) or any(about["status"] != "finished" for about in abouts.values()):
        return []
    return [
        {
            "size": folder.name,
            "notebook": name,
            "seconds": round(about["wall_seconds"]),
            "cores": about["hardware"]["cores"],
            "cpu": about["hardware"]["cpu"],
            "started": about["started"],
        }
        for name, about in abouts.items()
    ]


def main() -> None:
    root = repository()
    rows, recorded = {}, _common.RECORDS / "reproduce.csv"
    if recorded.exists():
        with open(recorded, encoding="utf-8", newline="") as file:
            rows = {(row["size"], row["notebook"]): row for row in csv.DictReader(file)}
    for config in sorted((root / "configs").glob("*.yaml")):
        for paper in papers_named("all"):
            notebooks = sorted(path.stem for path in (root / "notebooks").glob(f"[{paper.notebooks}]*.py"))
            found = times(root / "runs" / config.stem, notebooks)
            taken = f"{sum(row['seconds'] for row in found)} s" if found else "not as a whole"
            print(f"{config.stem}, {paper.name}: {taken}")
            rows |= {(row["size"], row["notebook"]): row for row in found}
    if not rows:
        return
    with write_atomically(recorded) as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


if __name__ == "__main__":
    main()
