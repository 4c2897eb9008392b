"""Pictures of an unsupervised parser: matrices of heads.

    draw_beliefs(words, {"step 10": matrix, "step 500": matrix}, heads)     how probable each head of each word is

In a matrix of n words row i has the probabilities of the heads of word i, from white (0) to dark blue (1). Around the
treebank's head of each word there is an orange frame; the head of the word that depends on ROOT has none.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dtglib.pictures.plot import ORANGE, Picture

CELL = 0.16  # inches
ACROSS = 4  # matrices beside one another


def draw_beliefs(
    words: Sequence[str],
    beliefs: Mapping[str, np.ndarray],
    heads: Sequence[int] | None = None,
    names: tuple[str, str, str] = ("head", "word", "probability"),
) -> Picture:
    """Draw a small matrix for each name; `heads` are the treebank's, from 1, and 0 is ROOT.

    `names` are those of columns, rows and values.
    """
    across = min(ACROSS, len(beliefs))
    down = -(-len(beliefs) // across)
    side, longest = CELL * len(words), 0.08 * max(map(len, words))
    figure = Picture(figsize=(across * (side + 0.25) + longest + 1.2, down * (side + 0.4) + longest + 0.5))
    figure.set_layout_engine("constrained")
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, (name, matrix) in zip(axes, beliefs.items(), strict=False):
        shown = panel.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
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
    figure.supxlabel(names[0], fontsize=9)
    figure.supylabel(names[1], fontsize=9)
    figure.colorbar(shown, ax=axes, label=names[2], pad=0.01, aspect=12)
    return figure


def _frame(axes: Axes, heads: Sequence[int]) -> None:
    """Frames around the treebank's arcs."""
    for word, head in enumerate(heads):
        if head:
            axes.add_patch(Rectangle((head - 1.5, word - 0.5), 1, 1, fill=False, edgecolor=ORANGE, linewidth=1.3))
