"""Pictures of an unsupervised parser: matrices of heads, and the attention heads that go with labels.

    draw_beliefs(words, {"step 10": matrix, "step 500": matrix}, heads)     how probable each head of each word is
    draw_correlations(table, heads=8)                                       rows are labels, columns are heads by layer

In a matrix of n words row i has the probabilities of the heads of word i, from white (0) to dark blue (1). Around the
treebank's head of each word there is an orange frame; the head of the word that depends on ROOT has none.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dtglib.pictures.plot import ORANGE, Picture

CELL = 0.16  # inches
ACROSS = 4  # matrices beside one another


def draw_beliefs(
    words: Sequence[str], beliefs: Mapping[str, np.ndarray], heads: Sequence[int] | None = None
) -> Picture:
    """Draw a small matrix for each name; `heads` are the treebank's, from 1, and 0 is ROOT."""
    across = min(ACROSS, len(beliefs))
    down = -(-len(beliefs) // across)
    side, longest = CELL * len(words), 0.08 * max(map(len, words))
    figure = Picture(figsize=(across * (side + 0.25) + longest + 0.5, down * (side + 0.4) + longest + 0.5))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, (name, matrix) in zip(axes, beliefs.items(), strict=False):
        panel.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
        panel.set_title(name, fontsize=9)
        _frame(panel, heads or ())
    for unused in axes[len(beliefs) :]:
        unused.axis("off")
    for panel in axes[: len(beliefs)]:
        panel.set(xticks=range(len(words)), xticklabels=words, yticks=range(len(words)), yticklabels=words)
        panel.tick_params(length=0, labelsize=7)
        panel.tick_params(axis="x", labelrotation=90)
    for lowest in axes[len(beliefs) - across : len(beliefs)]:
        lowest.tick_params(axis="x", labelbottom=True)
    figure.supxlabel("head", fontsize=9)
    figure.supylabel("word", fontsize=9)
    return figure


def _frame(axes: Axes, heads: Sequence[int]) -> None:
    """Frames around the treebank's arcs."""
    for word, head in enumerate(heads):
        if head:
            axes.add_patch(Rectangle((head - 1.5, word - 0.5), 1, 1, fill=False, edgecolor=ORANGE, linewidth=1.3))


def draw_correlations(found: pd.DataFrame, heads: int) -> Picture:
    """Draw a heat map of correlations (dtgpapers/udgn/labels.py); `heads` is the number of heads in each layer."""
    rows, columns = found.shape
    layers = columns // heads
    figure = Picture(figsize=(0.19 * columns + 2.0, 0.22 * rows + 1.0))
    axes = figure.add_subplot()
    largest = max(float(np.abs(found.to_numpy()).max(initial=0)), 0.1)
    shown = axes.imshow(found.to_numpy(), cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
    for layer in range(1, layers):
        axes.axvline(layer * heads - 0.5, color="black", linewidth=0.8)
    axes.set(yticks=range(rows), yticklabels=found.index)
    axes.set(xticks=[(layer + 0.5) * heads - 0.5 for layer in range(layers)])
    axes.set_xticklabels([f"layer {layer + 1}" for layer in range(layers)])
    axes.tick_params(length=0, labelsize=8)
    figure.colorbar(shown, ax=axes, label="Pearson's r", pad=0.02)
    return figure
