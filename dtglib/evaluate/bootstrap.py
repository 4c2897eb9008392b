"""The bootstrap: how much a number depends on which sentences happened to be in the test set.

The n sentences of a test set are a sample from a population of such sentences. Drawing n sentences from them, with
replacement, and computing the number again shows how much it varies between samples (Efron 1979). Whole sentences are
drawn, because the words of one sentence are not independent.

    >>> right, words = np.array([4, 3, 5, 2] * 25), np.array([4, 4, 5, 4] * 25)      # 82 % are right
    >>> low, high = ratio_interval(right, words, np.random.default_rng(1))
    >>> round(low, 2), round(high, 2)
    (0.78, 0.86)

Where a number is a mean over seeds and test suites, other seeds and other suites would have given another one. Both are
drawn, independently of each other: the pigeonhole bootstrap (Owen 2007). Its intervals are too wide rather than too
narrow, but three seeds or fewer cannot show the whole spread.

    >>> scores = np.array([[60.0, 90, 95], [70, 95, 100]])                           # two seeds, three suites
    >>> better = scores + np.array([[4.0, 5, 6], [5, 6, 5]])                         # another model on the same suites
    >>> [round(bound) for bound in crossed_interval(scores, np.random.default_rng(1))]
    [65, 98]
    >>> [round(bound) for bound in crossed_interval(better - scores, np.random.default_rng(1))]
    [4, 6]
"""

import numpy as np

from dtglib.basics.errors import require

DRAWS = 10_000


def ratio_interval(
    numerators: np.ndarray, denominators: np.ndarray, random: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float]:
    """The 95 % bootstrap interval of sum(numerators) / sum(denominators), with one entry of each per sentence.

    Sentences with denominator 0, such as those with nothing but punctuation, carry no information and are not drawn.
    """
    counts = denominators > 0
    numerators, denominators, count = numerators[counts], denominators[counts], int(counts.sum())
    require(count, "there is nothing of which a share could be taken")
    ratios = []
    for first in range(0, draws, 1000):  # in parts of 1000 draws, which bounds the memory
        chosen = random.integers(count, size=(min(1000, draws - first), count))
        ratios.append(numerators[chosen].sum(axis=1) / denominators[chosen].sum(axis=1))
    # The quantiles are drawn values, without interpolation, because a value may be infinite.
    drawn = np.concatenate(ratios)
    return float(np.quantile(drawn, 0.025, method="lower")), float(np.quantile(drawn, 0.975, method="higher"))


def crossed_interval(
    scores: np.ndarray, random: np.random.Generator, weights: np.ndarray | None = None, draws: int = DRAWS
) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean of a table, whose rows and columns are both samples.

    `weights` are those of the columns. For a paired difference, give the difference of two tables.
    """
    rows, columns = scores.shape
    require(rows and columns, "there are no scores of which a mean could be taken")
    of_rows = random.multinomial(rows, np.full(rows, 1 / rows), draws)
    of_columns = random.multinomial(columns, np.full(columns, 1 / columns), draws)
    of_columns = of_columns * (np.ones(columns) if weights is None else weights)
    totals = ((of_rows @ scores) * of_columns).sum(axis=1)
    low, high = np.quantile(totals / (rows * of_columns.sum(axis=1)), [0.025, 0.975])
    return float(low), float(high)
