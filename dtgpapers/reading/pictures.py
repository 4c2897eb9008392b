"""Numbers with their intervals, side by side in panels.

    draw_intervals(rows, Columns("measure", "model", "nats", "low", "high"), "gain, nats per word")

Each panel has a line for each name, with a dot at its number and a bar over its interval; all panels have one scale. A
dot is filled if the interval excludes 0, and colours tell groups of names apart.
"""

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from dtglib.pictures.picture import BLUE, GREY, Picture


class Columns(NamedTuple):
    """The columns of a table that are drawn."""

    panel: str
    name: str
    value: str
    low: str
    high: str


def draw_intervals(
    rows: pd.DataFrame, columns: Columns, xlabel: str, colours: Mapping[str, str] | None = None, across: int = 4
) -> Picture:
    """Draw a panel for each value of `columns.panel`; `colours` has a colour for some of the names."""
    panels, names = (list(dict.fromkeys(rows[column])) for column in columns[:2])
    down = -(-len(panels) // across)
    figure = Picture(figsize=(2.3 * min(across, len(panels)) + 1.5, down * (0.19 * len(names) + 0.8)))
    axes = figure.subplots(down, min(across, len(panels)), sharex=True, sharey=True, squeeze=False).ravel()
    places = {name: place for place, name in enumerate(names)}
    for panel_axes, panel in zip(axes, panels, strict=False):
        for row in rows[rows[columns.panel] == panel].to_dict("records"):
            name, value, low, high = (row[column] for column in columns[1:])
            colour, place = (colours or {}).get(name, BLUE), places[name]
            panel_axes.plot([low, high], [place, place], color=colour, linewidth=1.5)
            face = colour if low > 0 or high < 0 else "white"
            panel_axes.plot([value], [place], "o", color=colour, markerfacecolor=face, markersize=4)
        panel_axes.axvline(0, color=GREY, linewidth=0.8, linestyle="--")
        panel_axes.set_title(panel, fontsize=9)
        panel_axes.tick_params(labelsize=8, labelbottom=True)
        panel_axes.spines[["top", "right"]].set_visible(False)
    for unused in axes[len(panels) :]:
        unused.axis("off")
    axes[0].set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    figure.supxlabel(xlabel, fontsize=9)
    figure.tight_layout()
    return figure
