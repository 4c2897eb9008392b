"""Batches of about equal numbers of positions, for the papers that count them without padding."""

import numpy as np


def by_total(lengths: np.ndarray, positions: int, random: np.random.Generator) -> list[np.ndarray]:
    """Plan batches to be padded, of sentences of similar lengths and at most `positions` positions without padding.

    All batches but one are about equally full. A sentence that is longer than that is a batch of its own.
    """
    order = random.permutation(len(lengths))
    order = order[np.argsort(-lengths[order], kind="stable")]
    cuts, full = [], 0
    for place, length in enumerate(lengths[order].tolist()):
        if full and full + length > positions:
            cuts.append(place)
            full = 0
        full += length
    batches = [batch for batch in np.split(order, cuts) if len(batch)]
    return [batches[number] for number in random.permutation(len(batches))]
