"""The gain in held-out log-likelihood of reading times from new predictors in a linear regression.

People read a word more slowly if it is long, rare, or unexpected. A model's surprisals are worth as much as they
improve predictions of reading times. Two linear regressions, on the predictors of the baseline and on these and the new
ones (both include those of the previous word), are fitted to nine tenths of the sentences, and evaluated by the
probability of the times of the last tenth (a normal density around the prediction; its variance is that of the
residuals in training). Every sentence is held out once, and

    gain  =  mean over all words of  log p(time | baseline, new predictors) - log p(time | baseline)      in nats

An uninformative predictor has a gain of about 0, or a little less, because it adds noise. The interval is from a
bootstrap over sentences (evaluate/bootstrap.py).

    >>> random = np.random.default_rng(1)
    >>> words = pd.DataFrame({"sentence": np.repeat(np.arange(100), 9), "word": np.tile(np.arange(9), 100)})
    >>> words["surprisal"] = random.normal(size=900)
    >>> words["time"] = 250 + 20 * words["surprisal"] + random.normal(scale=20, size=900)
    >>> result = gain(words, "time", against=["word"], predictors=["word", "surprisal"])
    >>> round(result.nats, 2), round(result.low, 2), round(result.high, 2)       # half of the variance is explained
    (0.34, 0.29, 0.39)
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dtglib.basics.errors import require, shortened
from dtglib.basics.shapes import Float, Int
from dtglib.evaluate.bootstrap import ratio_interval

FOLDS = 10
OF_WORDS = ("length", "log frequency")  # the baseline's predictors that are also used of the previous word
PREVIOUS = "previous "


def previous(columns: Sequence[str]) -> list[str]:
    """The names of the same columns of the previous word."""
    return [PREVIOUS + column for column in columns]


def with_previous(words: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The table with the columns of the previous word, which are NaN if the table has no row for it."""
    before = words[["sentence", "word", *columns]].rename(columns=dict(zip(columns, previous(columns), strict=True)))
    before["word"] += 1
    return words.merge(before, on=["sentence", "word"], how="left", validate="one_to_one")


def complete(words: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The rows in which all of these columns have finite numbers."""
    return words[np.isfinite(words[list(columns)].to_numpy(np.float64)).all(axis=1)].reset_index(drop=True)


def folds_of(sentences: Int[np.ndarray, " N"], count: int = FOLDS) -> Int[np.ndarray, " N"]:
    """The fold in which each word is held out, given its sentence; all words of a sentence are in one random fold."""
    different, number = np.unique(sentences, return_inverse=True)
    require(len(different) >= count, f"there are {len(different)} sentences, too few for {count} folds")
    return (np.random.default_rng(1).permutation(len(different)) % count)[number]


def log_likelihoods(
    values: Float[np.ndarray, " N"], predictors: Float[np.ndarray, "N K"], fold: Int[np.ndarray, " N"]
) -> Float[np.ndarray, " N"]:
    """The log-density of each value by the linear regression that was fitted to the other folds."""
    from statsmodels.api import OLS  # imported here, because it takes two seconds

    spread = predictors.std(axis=0)
    scaled = (predictors - predictors.mean(axis=0)) / np.where(spread > 0, spread, 1.0)  # for numerical accuracy
    design = np.column_stack([np.ones(len(values)), scaled])
    densities = np.empty(len(values))
    for number in np.unique(fold):
        held_out = fold == number
        fitted = OLS(values[~held_out], design[~held_out]).fit()
        residuals = values[held_out] - fitted.predict(design[held_out])
        densities[held_out] = -0.5 * (np.log(2 * np.pi * fitted.scale) + residuals**2 / fitted.scale)
    return densities


class Gain(NamedTuple):
    """A gain in nats per word, with its 95 % interval."""

    nats: float
    low: float
    high: float
    words: int
    sentences: int


def gain(words: pd.DataFrame, measure: str, against: Sequence[str], predictors: Sequence[str]) -> Gain:
    """The gain of a regression on `predictors` over one on `against`; both are complete lists.

    The columns must have no gaps (see `complete`), so that all comparisons are made on the same words.
    """
    needed = [measure, *against, *predictors]
    gaps = [name for name in needed if not np.isfinite(words[name].to_numpy(np.float64)).all()]
    require(not gaps, f"the column {shortened(gaps)} has gaps; keep the rows of complete(words, columns)")
    sentences = words["sentence"].to_numpy()
    fold, values = folds_of(sentences), words[measure].to_numpy(np.float64)
    better, worse = (
        log_likelihoods(values, words[list(names)].to_numpy(np.float64), fold) for names in (predictors, against)
    )
    different, number = np.unique(sentences, return_inverse=True)
    of_sentences = np.bincount(number, better - worse)
    low, high = ratio_interval(of_sentences, np.bincount(number), np.random.default_rng(1))
    return Gain(float((better - worse).mean()), low, high, len(words), len(different))
