"""The paper's tables beside ours, made of results/ alone.

    values = measured_values()                   what all records say: a row a system, measure, corpus, size and seed
    beside_the_paper("table2", values)           the paper's number, then ours, a column for each corpus and size
    orderings(values)                            what the paper says is better than what, and whether it is so here

A number of ours is a mean over seeds with its standard deviation, and says how many seeds that were; of several records
of the same thing the newest one counts. Numbers of different corpora stand in different columns, which say so: they
cannot be compared. What has not been measured is blank.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from scipy.stats import ttest_1samp

from dtglib.errors import UserError
from dtglib.files import repository
from dtglib.record import Record, read_record
from dtglib.settings import NAMES

Line = dict[str, Any]


class Measure(NamedTuple):
    """One of the numbers of the paper's tables, and where it stands in a record."""

    name: str
    paper: str  # the paper's corpus and measure
    value: Callable[[Line], float | None]  # of a line of metrics; None: it is about something else


def _perplexity(line: Line) -> float | None:
    wanted = line["part"] == "perplexity" and line["parser"] in ("strong", None)
    return line["per word"] if wanted else None


def _pairs(line: Line) -> float | None:
    return 100 * line["accuracy"] if line["part"] == "all pairs" else None


def _suites(line: Line) -> float | None:
    """The primary average: over the circuits of all suites, which are more than those that Hu et al. report."""
    wanted = line["part"] == "averages of suites" and line["average"] in PRIMARY
    return 100 * line["score"] if wanted else None


def _reranked(line: Line) -> float | None:
    wanted = line["part"] == "reranking" and line["parser"] == "strong"
    return 100 * line["UAS"] if wanted else None


PRIMARY = ("mean of 6 circuits of 33 suites", "mean of 6 circuits of 21 suites")  # public, minilang's
MEASURES = (
    Measure("perplexity per word", "BLLIP-LG/PPL", _perplexity),
    Measure("BLiMP", "BLiMP/acc", _pairs),
    Measure("SG", "SG/score", _suites),
    Measure("UAS", "PTB-test/UAS", _reranked),
)


ABOUT = ["measure", "corpus", "size", "system"]


def measured_values(folder: Path | None = None) -> pd.DataFrame:
    """A row for each system, measure, corpus, size and seed, out of the newest record that has it."""
    folder = folder or repository() / "results"
    found = [row for record in sorted(folder.iterdir()) if (record / "record.json").exists() for row in _rows(record)]
    if not found:
        raise UserError(f"{folder}: there are no records yet; `dtglib evaluate` makes them")
    rows = pd.DataFrame(found)
    return rows[rows["record"] == rows.groupby(ABOUT)["record"].transform("max")].reset_index(drop=True)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    record: Record = read_record(folder)
    if record.about["status"] != "finished":
        return
    for line in record.metrics:
        for measure in MEASURES:
            value = measure.value(line)
            if value is not None:
                name = line.get("model") or line["chosen by"]
                yield {
                    "measure": measure.name,
                    "corpus": record.config["corpus"],
                    "size": record.config["size"],
                    "system": NAMES.get(name, name),
                    "seed": line["seed"],
                    "value": value,
                    "record": folder.name,
                }


def paper(table: str, folder: Path | None = None) -> pd.DataFrame:
    """The paper's numbers: system, metric, value."""
    return pd.read_csv((folder or repository() / "results") / "paper" / f"{table}.csv")


def beside_the_paper(table: str, values: pd.DataFrame, folder: Path | None = None) -> pd.DataFrame:
    """The systems of one of the paper's tables; for each measure the paper's number and ours."""
    theirs = paper(table, folder)
    rows = values.groupby(ABOUT, sort=False)["value"].agg(["mean", "std", "count"]).reset_index()
    columns: dict[tuple[str, str], dict[str, str]] = {}
    for measure in MEASURES:
        of_paper = theirs[theirs["metric"] == measure.paper]
        if of_paper.empty:
            continue
        corpus, _, _ = measure.paper.partition("/")
        columns[measure.name, f"paper, {corpus}"] = dict(
            zip(of_paper["system"], of_paper["value"].map(str), strict=True)
        )
        for (corpus, size), mine in rows[rows["measure"] == measure.name].groupby(["corpus", "size"], sort=False):
            columns[measure.name, f"{corpus}, {size}"] = dict(
                zip(mine["system"], map(as_text, mine.itertuples()), strict=True)
            )
    systems = list(dict.fromkeys([*theirs["system"], *(name for column in columns.values() for name in column)]))
    return pd.DataFrame(
        {name: [column.get(system, "") for system in systems] for name, column in columns.items()}, systems
    )


def as_text(row: Any) -> str:
    """A mean with its spread, or how little is known of it."""
    if row.count == 1:
        return f"{row.mean:.1f} (one seed)"
    return f"{row.mean:.1f} ± {row.std:.1f} ({row.count} seeds)"


# What the paper's tables say is better than what; of perplexities the lower one is.
SAID = (
    ("SG", "DTG", "TXL (trans)"),
    ("SG", "TXL (trans)", "TXL (tokens)"),
    ("BLiMP", "TXL (trans)", "DTG"),
    ("BLiMP", "DTG", "TXL (tokens)"),
    ("perplexity per word", "TXL (trans)", "DTG"),
    ("perplexity per word", "DTG", "DTG-swift"),
    ("perplexity per word", "DTG-swift", "DTG-eager"),
    ("UAS", "DTG", "proposal"),
)


def orderings(values: pd.DataFrame) -> pd.DataFrame:
    """For each of the paper's orderings and each corpus: by how much it holds here, over the seeds that both have.

    p is that of a paired t test over the seeds, two-sided; of one seed there is none.
    """
    rows = []
    for measure, better, worse in SAID:
        sign = -1 if measure.startswith("perplexity") else 1
        of_measure = values[values["measure"] == measure]
        for (corpus, size), mine in of_measure.groupby(["corpus", "size"], sort=False):
            by_seed = mine.pivot_table(index="seed", columns="system", values="value")
            if better not in by_seed or worse not in by_seed:
                continue
            won = (sign * (by_seed[better] - by_seed[worse])).dropna()
            several = len(won) > 1
            rows.append(
                {
                    "measure": measure,
                    "the paper says": f"{better} before {worse}",
                    "corpus": f"{corpus}, {size}",
                    "holds": bool(won.mean() > 0),
                    "by": won.mean(),
                    "sd": won.std(),
                    "seeds": len(won),
                    "p": float(ttest_1samp(won, 0).pvalue) if several else None,
                }
            )
    return pd.DataFrame(rows)
