"""The agreement of answers about sentences with people's judgements: correlations with scores, accuracy of labels.

    >>> correlations(np.array([0.5, 1.0, 4.0]), np.array([0.0, 2.0, 5.0]))["Spearman"]
    1.0
    >>> right_labels(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1]))
    {'accuracy': 0.5, 'F1': 0.5}

Pearson's correlation is the official measure of semantic similarity; Spearman's is that of the ranks. Answers that are
all the same have no correlation with anything; here it is 0. F1 is of label 1. The GiLT paper speaks of F1 for SST-2
and RTE, where its code computes the accuracy.
"""

import numpy as np

from dtglib.basics.shapes import Float, Int


def correlations(answers: Float[np.ndarray, " N"], golds: Float[np.ndarray, " N"]) -> dict[str, float]:
    """Pearson's correlation of answers with scores, and Spearman's."""
    from scipy.stats import pearsonr, spearmanr  # imported here, because they take a second to import

    if np.ptp(answers) == 0 or np.ptp(golds) == 0:
        return {"Pearson": 0.0, "Spearman": 0.0}
    return {name: float(of(answers, golds)[0]) for name, of in (("Pearson", pearsonr), ("Spearman", spearmanr))}


def right_labels(answers: Int[np.ndarray, " N"], golds: Int[np.ndarray, " N"]) -> dict[str, float]:
    """The share of labels that are right, and F1 of label 1."""
    both, either = ((answers == 1) & (golds == 1)).sum(), (answers == 1).sum() + (golds == 1).sum()
    return {"accuracy": float((answers == golds).mean()), "F1": float(2 * both / either) if either else 0.0}
