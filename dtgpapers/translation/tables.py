"""The numbers of the paper's tables, and its sign tests.

    theirs("nmt_table7")                the paper's cells, such as a test set and a metric, by system
    sign_tests(theirs("nmt_table7"))    which of two systems is better in more cells

No cell of ours is one of theirs, so that only orders of systems can be compared.
"""

from collections.abc import Sequence

import pandas as pd

from dtglib.evaluate.measures import MODELS, Measure, number
from dtglib.families.base import titles
from dtglib.runs.tables import paper
from dtgpapers.translation.scores import sign_test

# Which of the paper's test cells its sign tests count: medium models, on three test sets in three pairs of languages.
TESTED = ("de-en/medium/newstest", "en-de/medium/newstest", "en-ru/clean_news/newstest")
PAIRS = (("BiTran", "Vanilla"), ("PARENT", "BiTran"), ("GCN", "BiTran"), ("PARENT", "Vanilla"), ("GCN", "Vanilla"))


def theirs(*tables: str) -> pd.DataFrame:
    """The numbers of the paper's tables: a row for each cell, a column for each system."""
    numbers = pd.concat([paper(table) for table in tables])
    shown = numbers.pivot_table(index="metric", columns="system", values="value", sort=False)
    return _ordered(shown.rename_axis(index="cell", columns=None))


def cells_of_tests() -> pd.DataFrame:
    """The paper's cells of test sets that its sign tests count."""
    cells = theirs("nmt_table9", "nmt_table10")
    return cells[cells.index.str.startswith(TESTED)]


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


def _ordered(shown: pd.DataFrame) -> pd.DataFrame:
    """With the systems in the order of the package."""
    return shown[[title for title in titles("translation").values() if title in shown]]


# ---- Measures and orders


METRICS = ("BLEU", "chrF+")
# Of the challenge sets: the mean share of items whose phenomenon a translation keeps.
MEASURES = (
    *(Measure(metric, (), "", number(metric, part="translation", on="test"), number(metric)) for metric in METRICS),
    Measure("challenge sets", (), "%", number("kept", part="challenge set")),
)

# Of the paper of translators: what it finds on the test sets of medium models, in BLEU and chrF+ alike.
ORDERS = tuple(
    (MODELS, metric, better, worse)
    for metric in METRICS
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
