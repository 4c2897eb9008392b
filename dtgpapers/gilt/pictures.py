"""A graph that grows word by word, and beside it the features that a model reads of it.

    draw_tapes(words, arcs, tapes)      a line for each word: the arcs so far, and features of the words so far

`arcs` has (head, dependent), 0 for ROOT; an arc is drawn from the later of its two words on. `tapes` has, for each
word, the features of all words up to it by name: the `prefixes` of dtgpapers/gilt/describe.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from dtglib.pictures.plot import BLUE, GREY, ORANGE, Picture, draw_arc, draw_root, stacked, word_places

Arcs = Sequence[tuple[int, int]]
CELL = 0.34  # inches


def draw_tapes(words: Sequence[str], arcs: Arcs, tapes: Sequence[Mapping[str, Sequence[int]]]) -> Picture:
    """Draw the arcs and the features after each word; arcs that the word has completed are orange."""
    names = list(tapes[0])
    most = {name: max(max(tape[name]) for tape in tapes) for name in names}
    levels = stacked(arcs)
    left, right = 0.12 * word_places(words)[-1] + 0.4, CELL * len(words) + 1.2
    height = max(CELL * (len(names) + 1), 0.3 * max(levels.values(), default=0) + 0.7)
    figure = Picture(figsize=(left + right, height * len(words)))
    shape = {"width_ratios": (left, right), "gridspec_kw": {"wspace": 0.4, "hspace": 0.25}}
    lines = figure.subplots(len(words), 2, squeeze=False, **shape)
    for word, (beside, (graph, heat)) in enumerate(zip(tapes, lines, strict=True), start=1):
        _draw_graph(graph, words, [arc for arc in arcs if max(arc) <= word], word, levels)
        _draw_features(heat, beside, most, len(words))
    lines[-1][1].set(xticks=range(len(words)), xticklabels=words)
    lines[-1][1].tick_params(axis="x", labelrotation=90)
    return figure


def _draw_graph(axes: Axes, words: Sequence[str], arcs: Arcs, word: int, levels: Mapping[tuple[int, int], int]) -> None:
    """The arcs up to a word, at the heights that they have in the whole graph."""
    places, top = word_places(words), max(levels.values(), default=0) + 1
    for place, text in enumerate(words[:word], start=1):
        colour = "black" if place == word else GREY
        axes.text(places[place], -0.2, text, ha="center", va="center", fontsize=9, color=colour)
    for head, dependent in arcs:
        if head == 0:
            draw_root(axes, places[dependent], top)
        else:
            colour = ORANGE if max(head, dependent) == word else BLUE
            draw_arc(axes, places[head], places[dependent], levels[head, dependent], "", colour)
    axes.set(xlim=(places[1] - 5, places[-1] + 5), ylim=(-0.8, top + 0.6))
    axes.axis("off")


def _draw_features(axes: Axes, tape: Mapping[str, Sequence[int]], most: Mapping[str, int], words: int) -> None:
    """A heat map with the values in its cells; each feature has its own scale, from 0 to its largest value."""
    shares = np.full((len(tape), words), np.nan)
    for row, (name, values) in enumerate(tape.items()):
        shares[row, : len(values)] = np.array(values) / max(most[name], 1)
        for column, value in enumerate(values):
            ink = "white" if shares[row, column] > 0.5 else "black"
            axes.text(column, row, str(value), ha="center", va="center", fontsize=8, color=ink)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    axes.set(yticks=range(len(tape)), yticklabels=list(tape), xticks=[])
    axes.tick_params(length=0, labelsize=8)
    axes.spines[:].set_visible(False)
