"""Means with 95 % intervals: over the seeds of a record, or over its seeds and test suites.

    >>> gain = over_seeds(pd.Series([1.5, 2.0, 2.5]))      # a number for each seed; by the t distribution
    >>> f"{gain:.1f}"
    '2.0 [0.8, 3.2]'
    >>> f"{gain:+.1f?}", f"{over_seeds(pd.Series([2, -1])):.0f?}"      # with "?": is it significantly above or below 0?
    ('+2.0 [0.8, 3.2]', '0 [-19, 20], not significant')

Of a table with a row for each seed and a column for each test suite, `over_suites` draws both anew (see bootstrap.py).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t

from dtglib.evaluate.bootstrap import crossed_interval


def with_spread(of_seeds: pd.Series, digits: int = 1) -> str:
    """A mean, with its standard deviation if there are several seeds.

    >>> with_spread(pd.Series([40.0, 42.0, 44.0])), with_spread(pd.Series([40.0]))
    ('42.0 ± 2.0', '40.0')
    """
    spread = f" ± {of_seeds.std():.{digits}f}" if len(of_seeds) > 1 else ""
    return f"{of_seeds.mean():.{digits}f}{spread}"


class Mean(NamedTuple):
    """A mean and its 95 % interval, NaN where there is none. It takes the format of a number.

    A "?" at the end of the format adds "not significant" if the interval covers 0.
    """

    mean: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        of_number = spec.removesuffix("?").replace(".", "z.")  # z: no minus before 0
        low, high = (format(value, of_number.lstrip("+")) for value in (self.low, self.high))
        between, doubt = (f" [{low}, {high}]", "significant") if self.low <= self.high else ("", "tested")
        is_shown = self.low > 0 or self.high < 0 or not spec.endswith("?")
        return format(self.mean, of_number) + between + ("" if is_shown else f", not {doubt}")


def over_seeds(of_seeds: pd.Series) -> Mean:
    """The mean of a number for each seed; one seed has no interval."""
    mean, half = of_seeds.mean(), t.ppf(0.975, of_seeds.count() - 1) * of_seeds.sem()
    return Mean(mean, mean - half, mean + half)


def over_suites(table: pd.DataFrame) -> Mean:
    """The mean of a table of seeds and suites; each topic, the first part of a column's name, has the same weight.

    The interval of one seed is over suites alone.
    """
    table, topics = table.dropna(), table.columns.get_level_values(0)  # no seed that lacks a suite
    weights = 1 / topics.value_counts().loc[topics].to_numpy()
    interval = crossed_interval(table.to_numpy(), np.random.default_rng(1), weights)
    return Mean(float(np.average(table.mean(), weights=weights)), *interval)
