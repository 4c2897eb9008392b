"""The paper's tables beside ours, made from the records in results/ only.

    values = measured_values()                   all records: a row per system, measure, corpus, size and seed
    beside_the_paper("table2", values)           the paper's number, then ours, a column for each corpus and size
    by_seed("suites", "score", ["suite"])        scores on minilang: a row per model and seed, a column per suite
    newest_lines(None, lambda line: line["part"] == "all pairs")        for other tables: a row for each such line

Models are compared with models, and variants with the variants that answer the same question (ablations.py). Where a
record has variants of a model but not the model itself, the numbers of the model's own record stand beside them.

Our numbers are means over seeds with standard deviations and the number of seeds. Of several records of a measurement
the newest counts, and beside it those of other seeds with the same settings. Numbers of different corpora cannot be
compared, so they stand in columns of their own. A number that was not measured is blank.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from dtglib.basics.errors import require
from dtglib.basics.files import repository
from dtglib.basics.record import Record, read_record
from dtglib.evaluate.measures import MODELS, TUNED, Line, measures, questions_of_tables
from dtglib.evaluate.orders import as_text
from dtglib.families.base import BASE, families, title_of, titles

KEYS = ["question", "measure", "corpus", "size", "system"]


def measured_values(folder: Path | None = None) -> pd.DataFrame:
    """A row for each system, measure, corpus, size and seed: from the newest record, or another with its settings."""
    folder = folder or repository() / "results"
    by_age = enumerate(records(folder)[::-1])
    rows = pd.DataFrame([row | {"begun": number} for number, record in by_age for row in _rows(record)])
    require(len(rows), f"{folder}: there are no records yet; `dtglib evaluate` makes them")
    rows = rows[rows["settings"] == rows.groupby(KEYS)["settings"].transform("last")]
    newest = rows["begun"] == rows.groupby([*KEYS, "seed"])["begun"].transform("max")
    rows = rows[newest].groupby([*KEYS, "seed"], sort=False, as_index=False)["value"].mean()
    return pd.concat([rows, *_unchanged(rows)], ignore_index=True)


def _unchanged(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The rows of unchanged models, for questions whose records have only the other variants."""
    for model in families():
        of_model = rows[(rows["question"] == MODELS) & (rows["system"] == model.title)]
        for question, variants in model.questions.items():
            recorded = rows[rows["question"] == question].groupby(KEYS[1:4])["system"].agg(set)
            for name, variant in variants.items():
                if variant == BASE:
                    lacking = recorded[[name not in systems for systems in recorded]].index
                    added = of_model[pd.MultiIndex.from_frame(of_model[KEYS[1:4]]).isin(lacking)]
                    yield added.assign(question=question, system=name)


def _rows(record: Record) -> Iterator[dict[str, Any]]:
    is_tuning, known, settings = "task" in record.config, measures(), _settings(record)
    # Of tuning: the task, and the model that is tuned.
    corpus, size = map(record.config.get, ("task", "model") if is_tuning else ("corpus", "size"))
    for line in record.metrics:
        for measure in known:
            read = measure.of_variant if line["part"] == "ablation" else measure.of_model
            value = read({"task": corpus, **line}) if read else None
            if value is not None:
                name = line.get("variant") or line.get("model") or line.get("chosen by") or line["title"]
                yield {
                    "question": line.get("question", TUNED if is_tuning else MODELS),
                    "measure": measure.name,
                    "corpus": corpus,
                    "size": size,
                    "system": title_of(name),
                    "seed": line["seed"],
                    "value": value,
                    "settings": settings,
                }


def paper(table: str, folder: Path | None = None) -> pd.DataFrame:
    """The paper's numbers: system, metric, value."""
    return pd.read_csv((folder or repository() / "results") / "paper" / f"{table}.csv")


def beside_the_paper(table: str, values: pd.DataFrame, folder: Path | None = None) -> pd.DataFrame:
    """The systems of one of the paper's tables; for each measure the paper's number and ours."""
    theirs, values = paper(table, folder), values[values["question"] == questions_of_tables()[table]]
    columns: dict[tuple[str, str], dict[str, str]] = {}
    for measure in measures():
        of_paper = theirs[theirs["metric"].isin(measure.papers)]
        if of_paper.empty:
            continue
        corpus, _, _ = of_paper["metric"].iloc[0].partition("/")
        numbers = of_paper["value"].map(str)
        columns[measure.name, f"paper, {corpus}"] = dict(zip(of_paper["system"], numbers, strict=True))
        ours = values[values["measure"] == measure.name]
        for (corpus, size), mine in ours.groupby(["corpus", "size"], sort=False):
            means = mine.groupby("system", sort=False)["value"].agg(as_text, measure.digits)
            columns[measure.name, ", ".join(filter(None, (corpus, size, measure.unit)))] = means.to_dict()
    systems = list(dict.fromkeys([*theirs["system"], *(name for column in columns.values() for name in column)]))
    return pd.DataFrame(
        {name: [column.get(system, "") for system in systems] for name, column in columns.items()}, systems
    )


# ---- Lines of records


def records(folder: Path, named: str = "*") -> list[Record]:
    """The finished records in the folders whose names match a pattern, the newest first."""
    every = (read_record(path.parent) for path in sorted(folder.glob(f"{named}/record.json"), reverse=True))
    finished = [record for record in every if record.about["status"] == "finished"]
    return sorted(finished, key=lambda record: record.about["started"], reverse=True)


def benchmark(name: str) -> Record | None:
    """The newest finished record of a benchmark, whose folder's name begins with its time; None if there is none."""
    return next(iter(records(repository() / "benchmarks" / "records", f"????-??-??-??????-{name}")), None)


def newest_lines(folder: Path | None, wanted: Callable[[Line], bool]) -> pd.DataFrame:
    """The wanted lines of each corpus, size, model and seed: from the newest record, or another with its settings.

    `corpus` and `size` are those of the record, and `trained` is the model that it trained or tuned. A line without a
    model is about a way to tune this model.
    """
    seen, rows, newest = set(), [], {}
    for record in records(folder or repository() / "results"):
        corpus, size, trained = map(record.config.get, ("corpus", "size", "model"))
        about = {"corpus": corpus, "size": size, "trained": str(trained)}
        lines, settings = [line | about for line in record.metrics if wanted(line)], _settings(record)
        new = {key for key in map(_key, lines) if newest.setdefault(key[:-1], settings) == settings} - seen
        rows += [line for line in lines if _key(line) in new]
        seen |= new
    return pd.DataFrame(rows)


def by_seed(
    part: str, value: str, columns: list[str], corpus: str = "minilang", size: str = "mini", folder: Path | None = None
) -> pd.DataFrame:
    """A value in the newest lines of a part: a row for each model (its title) and seed, a column for each other key.

    Lines whose first key is "" are left out, such as suites of no circuit.
    """
    known = titles()
    lines = newest_lines(folder, lambda line: line["part"] == part and line.get("model") in known)
    lines = lines[(lines["corpus"] == corpus) & (lines["size"] == size) & (lines[columns[0]] != "")]
    lines = lines.assign(model=lines["model"].map(known))
    return lines.pivot(index=["model", "seed"], columns=columns, values=value).sort_index(axis=1)


def _settings(record: Record) -> str:
    """The settings of a record and the checksums of its data, but not seeds, parts, versions of the code, or nulls."""
    others = ("model", "of others", "about", "questions")
    same = {k: v for k, v in record.config.items() if v is not None and k not in others}
    return re.sub(r"'seed': (\d+|\[[^]]*\])", "", str([same, record.about["data"]]))


def _key(line: Line) -> tuple:
    what = (line["model"],) if "model" in line else (line["trained"], line.get("way"), line.get("chosen by"))
    return line["corpus"], line["size"], *what, line.get("seed")
