"""The tables of the paper of translators, with ours below, and its sign tests; ours are from the records in results/.

    overall_below("nmt_table2")             BLEU and chrF+ of test parts (its Tables 2, 5, 9, 10)
    challenges_below("nmt_table7")          the same of challenge sets, and what minilang's keep (Tables 1, 4, 6, 7, 8)
    object_first_below()                    how many of the 99 sentences keep their roles (Table 3)
    sign_tests(theirs("nmt_table7"))        which of two systems is better in more cells

A row is a cell, such as a test set and a metric, and a column is a system, so that orders of systems can be compared:
no cell of ours is one of theirs. Below a table stands what was translated in a direction that it has, and of challenge
sets those of the language whose phenomena it has. A number of ours is the mean over seeds, of the newest record that
has it.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import pandas as pd

from dtglib.evaluate.measures import MODELS, Line, Measure
from dtglib.evaluate.orders import as_text
from dtglib.families.base import title_of, titles
from dtglib.runs.tables import newest_lines, paper
from dtgpapers.translation.scores import sign_test

METRICS = ("BLEU", "chrF+")
KEPT = ("kept",)
# Which of the paper's test cells its sign tests count: medium models, on three test sets in three pairs of languages.
TESTED = ("de-en/medium/newstest", "en-de/medium/newstest", "en-ru/clean_news/newstest")
PAIRS = (("BiTran", "Vanilla"), ("PARENT", "BiTran"), ("GCN", "BiTran"), ("PARENT", "Vanilla"), ("GCN", "Vanilla"))


def theirs(*tables: str, folder: Path | None = None) -> pd.DataFrame:
    """The numbers of the paper's tables: a row for each cell, a column for each system."""
    numbers = pd.concat([paper(table, folder) for table in tables])
    shown = numbers.pivot_table(index="metric", columns="system", values="value", sort=False)
    return _ordered(shown.rename_axis(index="cell", columns=None))


def cells_of_tests(folder: Path | None = None) -> pd.DataFrame:
    """The paper's cells of test sets that its sign tests count."""
    cells = theirs("nmt_table9", "nmt_table10", folder=folder)
    return cells[cells.index.str.startswith(TESTED)]


def overall_below(table: str, folder: Path | None = None) -> pd.DataFrame:
    """One of the paper's tables of test sets, and ours."""
    lines = newest_lines(folder, lambda line: line["part"] == "translation")
    directions = {cell.partition("/")[0] for cell in theirs(table, folder=folder).index}
    return _below(table, [_texts(_among(lines, {(one, "") for one in directions}), "on", METRICS)], folder)


def challenges_below(table: str, folder: Path | None = None) -> pd.DataFrame:
    """One of the paper's tables of challenge sets, and ours in its direction, with its phenomena."""

    def of_text(line: Line) -> bool:
        return line["part"] in ("public challenge set", "own challenge set") and line["distance from"] == 1

    def of_minilang(line: Line) -> bool:
        return line["part"] == "challenge set"

    cells = [cell.split("/") for cell in theirs(table, folder=folder).index]  # direction, size, side, phenomenon, ...
    has = {(direction, direction.split("-")[side == "target"]) for direction, _, side, *_ in cells}
    ours = [
        _texts(_among(newest_lines(folder, of_text), has, lambda line: line["set"][:2]), "set", METRICS),  # de_particle
        _texts(_among(newest_lines(folder, of_minilang), has, lambda line: "de"), "set", KEPT),
    ]
    return _below(table, ours, folder)


def object_first_below(folder: Path | None = None) -> pd.DataFrame:
    """The paper's Table 3, counts by people, and ours, by a proxy (dtgpapers/translation/kept_meaning.py)."""
    lines = newest_lines(folder, lambda line: line["part"] == "object first")
    return _below("nmt_table3", [_texts(lines, "marked", ("object first", "subject first", "sentences"))], folder)


def recorded_cells(folder: Path | None = None) -> pd.DataFrame:
    """Our BLEU and chrF+ of test parts: a row for each corpus, test part, metric and seed, a column for each system."""
    lines = newest_lines(folder, lambda line: line["part"] == "translation")
    if lines.empty:
        return pd.DataFrame()
    about = ["corpus", "size", "on", "seed"]
    long = lines.melt([*about, "model"], list(METRICS), "metric").assign(model=lambda one: one["model"].map(title_of))
    return _ordered(
        long.pivot_table(index=[*about, "metric"], columns="model", values="value").rename_axis(columns=None)
    )


def recorded_distances(folder: Path | None = None) -> pd.DataFrame:
    """The share of minilang's sets that is kept: a row for each set, distance and model, the mean over seeds."""
    lines = newest_lines(folder, lambda line: line["part"] == "by distance")
    if lines.empty:
        return lines
    means = lines.groupby(["corpus", "size", "set", "distance", "model"], sort=False)["kept"].mean().reset_index()
    return means.assign(model=means["model"].map(title_of))


def sign_tests(cells: pd.DataFrame, pairs: Sequence[tuple[str, str]] = PAIRS) -> pd.DataFrame:
    """For each pair of systems, in how many cells the first is better, or worse, and p of a two-sided sign test."""
    rows = []
    for first, second in pairs:
        if {first, second} <= set(cells.columns):
            both = cells[[first, second]].dropna()
            if both.empty:
                continue
            test = sign_test(both[first].to_dict(), both[second].to_dict())
            rows.append({"system": first, "against": second, "cells": len(both), **test._asdict()})
    return pd.DataFrame(rows)


def _among(
    lines: pd.DataFrame, has: AbstractSet[tuple[str, str]], language: Callable[[Line], str] = lambda line: ""
) -> pd.DataFrame:
    """The lines whose direction, such as de-en, and language are among these."""
    pairs = [(line["corpus"].partition(":")[2], language(line)) for line in lines.to_dict("records")]
    return lines[[pair in has for pair in pairs]]


def _below(table: str, ours: Sequence[pd.DataFrame], folder: Path | None) -> pd.DataFrame:
    """The paper's cells, then ours, under "paper" and "ours"; blanks are what nobody has measured."""
    tables = [one for one in ours if len(one)]
    parts = {"paper": theirs(table, folder=folder).astype(object)} | ({"ours": pd.concat(tables)} if tables else {})
    return _ordered(pd.concat(parts, names=["", "cell"])).fillna("")


def _texts(lines: pd.DataFrame, of: str, metrics: Sequence[str]) -> pd.DataFrame:
    """A row for each corpus, size, set and metric: of each system the mean over seeds, as text."""
    if lines.empty:
        return lines
    rows: dict[str, dict[str, str]] = {}
    for (corpus, size, name), some in lines.groupby(["corpus", "size", of], sort=False):
        for metric in metrics:
            means = some.dropna(subset=metric).groupby("model", sort=False)[metric].agg(as_text)
            rows[f"{corpus}, {size}: {name}, {metric}"] = {title_of(model): text for model, text in means.items()}
    return pd.DataFrame.from_dict(rows, orient="index")


def _ordered(shown: pd.DataFrame) -> pd.DataFrame:
    """With the systems in the order of the package."""
    return shown[[title for title in titles("translation").values() if title in shown]]


# ---- Measures and orders


def _translated(metric: str) -> Measure:
    """A score on the test part of a corpus; the test sets of papers are in translation_tables.py."""

    def of_model(line: Line) -> float | None:
        return line[metric] if line["part"] == "translation" and line["on"] == "test" else None

    return Measure(metric, (), "", of_model)


MEASURES = tuple(map(_translated, METRICS))

# Of the paper of translators: what it finds on the test sets of medium models, in BLEU and chrF+ alike.
ORDERS = tuple(
    (MODELS, metric, better, worse)
    for metric in ("BLEU", "chrF+")
    for better, worse in (
        ("PARENT", "Vanilla"),
        ("GCN", "Vanilla"),
        ("PARENT", "BiTran"),
        ("GCN", "BiTran"),
        ("BiTran", "Vanilla"),
        ("Linearized", "Vanilla"),
        ("PARENT", "Linearized"),
        ("GCN", "Linearized"),
        ("GCN", "GCN - Labels"),
        ("GCN - Labels", "GCN - Gates"),
    )
)
