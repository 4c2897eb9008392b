"""How much of a number is due to the sentences that happened to be in the test: the bootstrap.

A test of n sentences stands for all other sentences like them. Drawing n sentences from it, with replacement, and
computing the number again shows how much it might have differed (Efron 1979). What is drawn are whole sentences: the
words of one are no independent evidence.
"""

import numpy as np

DRAWS = 10_000


def ratio_interval(
    numerators: np.ndarray, denominators: np.ndarray, random: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float]:
    """Between what the sum of the one over the sum of the other lies in 95 of 100 draws of sentences."""
    count = len(numerators)
    ratios = []
    for first in range(0, draws, 1000):  # a few million numbers at once, whatever the size of the test
        chosen = random.integers(count, size=(min(1000, draws - first), count))
        ratios.append(numerators[chosen].sum(axis=1) / denominators[chosen].sum(axis=1))
    low, high = np.quantile(np.concatenate(ratios), [0.025, 0.975])
    return float(low), float(high)
