"""Pictures of results as curves. Those of trees and masks can be imported from here, too.

    draw_tree(sentence)      the words in a row, arcs from head to dependent above them (trees.py); draw_trees: several
    draw_reading(words, ...) a sentence word by word: surprisals, the best tree so far, and the words that are visible
    draw_mask(seen)          an attention mask (masks.py); draw_masks: several
    draw_curves(series, ...) named curves
    with_field(draw, text)   a picture of a text, which a reader can change in JupyterLab (field.py)
    save(picture, name)      writes a picture into the repository's figures/

A picture is returned, not shown: a notebook shows the last value of a cell.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes

from dtglib.pictures.field import with_field  # noqa: F401
from dtglib.pictures.masks import KIND_COLOURS, draw_mask, draw_masks  # noqa: F401
from dtglib.pictures.picture import BLUE, GREY, ORANGE, Picture, save, single  # noqa: F401
from dtglib.pictures.trees import draw_arc, draw_reading, draw_root, draw_tree, draw_trees, stacked, word_places  # noqa: F401

Numbers: TypeAlias = Sequence[int | float] | np.ndarray | pd.Series | pd.Index
# The x and y values of each named curve.
Curves = Mapping[str, tuple[Numbers, Numbers]]


def draw_curves(series: Curves, xlabel: str, ylabel: str) -> Picture:
    """Draw named curves."""
    picture, axes = single(7, 3.6)
    for (name, (x, y)), colour in zip(series.items(), seaborn.color_palette("colorblind", len(series)), strict=True):
        axes.plot(x, y, label=name, color=colour, marker="o", markersize=3)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    axes.xaxis.get_major_locator().set_params(integer=True)
    return picture


def make_logarithmic(axes: Axes, names: str) -> None:
    """Give the axes of these names, "x", "y" or "xy", a logarithmic scale with plain numbers."""
    for name in names:
        axes.set(**{f"{name}scale": "log"})
        getattr(axes, f"{name}axis").set_major_formatter("{x:g}")
        getattr(axes, f"{name}axis").set_minor_formatter("")
