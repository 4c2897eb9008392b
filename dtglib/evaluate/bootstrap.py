"""How much of a number is due to the sentences that happened to be in the test: the bootstrap.

A test of n sentences stands for all other sentences like them. Drawing n sentences from it, with replacement, and
computing the number again shows how much it might have differed (Efron 1979). What is drawn are whole sentences: the
words of one are no independent evidence.

    >>> right, words = np.array([4, 3, 5, 2] * 25), np.array([4, 4, 5, 4] * 25)      # 82 % are right
    >>> low, high = ratio_interval(right, words, np.random.default_rng(1))
    >>> round(low, 2), round(high, 2)
    (0.78, 0.86)
"""

import numpy as np

from dtglib.errors import require

DRAWS = 10_000


def ratio_interval(
    numerators: np.ndarray, denominators: np.ndarray, random: np.random.Generator, draws: int = DRAWS
) -> tuple[float, float]:
    """Between what the sum of the one over the sum of the other lies in 95 of 100 draws of sentences.

    Sentences with nothing in the denominator, such as those of punctuation alone, say nothing, and are not drawn.
    """
    says = denominators > 0
    numerators, denominators, count = numerators[says], denominators[says], int(says.sum())
    require(count, "there is nothing of which a share could be taken")
    ratios = []
    for first in range(0, draws, 1000):  # a few million numbers at once, whatever the size of the test
        chosen = random.integers(count, size=(min(1000, draws - first), count))
        ratios.append(numerators[chosen].sum(axis=1) / denominators[chosen].sum(axis=1))
    # Values that were drawn, and none between two of them: one may be infinite.
    low, high = (np.quantile(np.concatenate(ratios), q, method=m) for q, m in ((0.025, "lower"), (0.975, "higher")))
    return float(low), float(high)
