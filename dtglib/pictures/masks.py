"""Attention masks as labelled grids: rows attend to columns; COMPOSE is orange, STACK blue."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from dtglib.pictures.picture import BLUE, ORANGE, Picture, single
from dtglib.sequences.describe import Described

KIND_COLOURS = {"STACK": BLUE, "COMPOSE": ORANGE}


def draw_mask(seen: Described, title: str = "", until: int | None = None) -> Picture:
    """Draw a mask as a labelled grid: the position of a row sees the positions whose cells are filled.

    Only the first `until` positions are drawn, if it is given. The numbers in `seen.pairs`, such as depths, are written
    into the cells.
    """
    size = len(seen.inputs[:until])
    picture, axes = single(0.34 * size + 2.6, 0.34 * size + 1.6)
    _set_grid(axes, seen, title, until)
    _fill_visible(axes, seen, until)
    axes.legend(handles=_legend(seen.kinds[:until]), loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return picture


def draw_masks(shown: Mapping[str, Described]) -> Picture:
    """Draw the masks of several sequences side by side, each with its title; all cells have the same size."""
    lengths = [len(seen.inputs) for seen in shown.values()]
    cell, names = 0.24, 2.1  # inches; between two grids stand the names of the positions of the second one
    cells = cell * sum(lengths)
    picture = Picture(figsize=(cells + names * len(lengths), cell * max(lengths) + 1.5))
    gaps = {"wspace": names * len(lengths) / cells}
    grids = picture.subplots(1, len(lengths), width_ratios=lengths, gridspec_kw=gaps, squeeze=False)[0]
    for axes, (title, seen) in zip(grids, shown.items(), strict=True):
        _set_grid(axes, seen, title)
        axes.set_anchor("N")
        _fill_visible(axes, seen)
    # No position sees a later one, so there is room above the diagonal.
    axes.legend(
        handles=_legend([kind for seen in shown.values() for kind in seen.kinds]), loc="upper right", frameon=False
    )
    picture.align_titles()
    return picture


def _fill_visible(axes: Axes, seen: Described, until: int | None = None) -> None:
    """Fill the cells that each position sees, in the colour of its kind, and write the numbers of the pairs there."""
    for i, kind in enumerate(seen.kinds[:until]):
        for j in np.flatnonzero(seen.visible[i]):
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=KIND_COLOURS[kind], edgecolor="white"))
            for numbers in seen.pairs.values():
                axes.text(j, i, str(numbers[i, j]), ha="center", va="center", fontsize=8, color="white")


def _legend(kinds: Sequence[str]) -> list[Patch]:
    """The entries of the legend, for the kinds that are drawn."""
    return [Patch(color=colour, label=kind) for kind, colour in KIND_COLOURS.items() if kind in kinds]


def _set_grid(axes: Axes, seen: Described, title: str, until: int | None = None) -> None:
    """Label an empty grid with the positions that look and those that are seen."""
    inputs, kinds = seen.inputs[:until], seen.kinds[:until]
    size = len(inputs)
    ticks = {"xticks": range(size), "yticks": range(size), "xticklabels": inputs}
    names = [f"{name}  {i}" for i, name in enumerate(inputs)]
    axes.set(**ticks, yticklabels=names, xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal")
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8)
    axes.tick_params(axis="x", labelrotation=90)
    for label, kind in zip(axes.get_yticklabels(), kinds, strict=True):
        label.set_color(KIND_COLOURS[kind])
    axes.set_xlabel("is seen")
    axes.set_ylabel("looks")
    axes.set_facecolor("#f2f2f2")
    axes.set_title(title, fontsize=10)
