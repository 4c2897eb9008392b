"""Means with 95 % intervals: over the seeds of a record, or over its seeds and test suites.

    >>> gain = over_seeds(pd.Series([1.2, 2.0, 2.8]))      # a number for each seed; by the t distribution
    >>> f"{gain:.1f}"
    '2.0 [0.0, 4.0]'
    >>> f"{gain:+.1f?}", f"{over_seeds(pd.Series([2, -1])):.0f?}"      # with "?": is it significantly above or below 0?
    ('+2.0 [0.0, 4.0]', '0 [-19, 20], not significant')

Of a table with a row for each seed and a column for each test suite, `over_suites` draws both anew (see bootstrap.py).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t

from dtglib.evaluate.bootstrap import crossed_interval


class Mean(NamedTuple):
    """A mean and its 95 % interval, or NaN if there is none. Its format is that of a number, and perhaps "?"."""

    mean: float
    low: float
    high: float

    def __format__(self, how: str) -> str:
        of_number = how.removesuffix("?").replace(".", "z.")  # z: no minus before 0
        low, high = (format(value, of_number.lstrip("+")) for value in (self.low, self.high))
        between = "" if np.isnan(self.low) else f" [{low}, {high}]"
        doubt = ", not significant" if how.endswith("?") and self.low <= 0 <= self.high else ""
        return format(self.mean, of_number) + between + doubt


def over_seeds(of_seeds: pd.Series) -> Mean:
    """The mean of a number for each seed; the interval of a single seed is NaN."""
    mean, half = of_seeds.mean(), t.ppf(0.975, of_seeds.count() - 1) * of_seeds.sem()
    return Mean(mean, mean - half, mean + half)


def over_suites(table: pd.DataFrame, by_topic: bool = True) -> Mean:
    """The mean of a table of seeds and suites; `by_topic` gives each first part of the columns' names one weight."""
    topics = table.columns.get_level_values(0)
    weights = 1 / topics.value_counts().loc[topics].to_numpy() if by_topic else np.ones(len(topics))
    interval = crossed_interval(table.to_numpy(), np.random.default_rng(1), weights)
    return Mean(float(np.average(table.mean(), weights=weights)), *interval)
