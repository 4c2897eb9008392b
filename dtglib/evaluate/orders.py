"""Orders of systems: by how much one of two is better on a measure here, with an interval and a test over seeds.

    rows = differences(values, OF_DTG)        for each order of the paper's tables, the difference on each corpus here

`values` has a row for each system, measure, corpus, size and seed (`measured_values` in runs/tables.py).
"""

from collections.abc import Sequence

import pandas as pd
from scipy.stats import ttest_1samp

from dtglib.evaluate.intervals import over_seeds, with_spread
from dtglib.evaluate.measures import Line, Order, measures


def as_text(of_seeds: pd.Series, digits: int = 1) -> str:
    """A mean with its spread and the number of seeds."""
    return f"{with_spread(of_seeds, digits)} ({'one seed' if len(of_seeds) == 1 else f'{len(of_seeds)} seeds'})"


def differences(values: pd.DataFrame, orders: Sequence[Order]) -> pd.DataFrame:
    """By how much the first system is better than the second (or worse, if negative), over the seeds that both have.

    `by` is the mean, `low` and `high` its t interval over seeds. p is from a two-sided paired t test; it is missing for
    one seed, and if all differences are equal.
    """
    rows, low = [], {measure.name for measure in measures() if measure.less_is_better}
    for question, measure, first, second in orders:
        sign = -1 if measure in low else 1
        of_measure = values[(values["question"] == question) & (values["measure"] == measure)]
        for (corpus, size), of_corpus in of_measure.groupby(["corpus", "size"], sort=False):
            by_seed = of_corpus.pivot_table(index="seed", columns="system", values="value")
            if not {first, second} <= set(by_seed):
                continue
            if len(difference := (sign * (by_seed[first] - by_seed[second])).dropna()):
                row: Line = {"measure": measure, "first": first, "second": second, "corpus": f"{corpus}, {size}"}
                row |= dict(zip(("by", "low", "high"), over_seeds(difference), strict=True))
                row |= {"sd": difference.std(), "seeds": len(difference)}
                p = float(ttest_1samp(difference, 0).pvalue) if difference.nunique() > 1 else None
                rows.append(row | {"p": p})
    return pd.DataFrame(rows)
