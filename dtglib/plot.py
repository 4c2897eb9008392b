"""Pictures. The only module that draws; everything else returns numbers.

    draw_tree(sentence)      the words in a row, arcs from head to dependent above them, ROOT's arc as a stem; arcs that
                             only the enhanced graph has below, in orange
    draw_lengths(lengths)    how long sentences are, a curve a corpus
    save(figure, name)       into the repository's figures/

A figure is returned, not shown: a notebook shows what stands last in a cell.
"""

import io
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Curve

from dtglib.errors import UserError
from dtglib.files import repository, write_atomically
from dtglib.treebank import Sentence

BLUE, ORANGE, GREY = "#1f5fa8", "#e07b00", "#666666"

# The same picture, the same bytes: no random ids and no date in the file.
matplotlib.rcParams["svg.hashsalt"] = "dtglib"


class Picture(Figure):
    """A figure that a notebook shows by itself, sharp at every size, whatever backend is set there."""

    def _repr_svg_(self) -> str:
        content = io.StringIO()
        self.savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None})
        return content.getvalue()


def save(picture: Picture, name: str) -> Picture:
    """Keep a picture as figures/NAME.svg of the repository that the notebook lies in, and hand it on to be shown."""
    with write_atomically(repository() / "figures" / f"{name}.svg") as file:
        file.write(picture._repr_svg_())
    return picture


def draw_tree(sentence: Sentence, title: str = "") -> Picture:
    """A dependency tree above its words and, where there is an enhanced graph, what it adds below them."""
    tree = {(head, word, label) for word, head, label in _arcs(sentence)}
    extra = [arc for arc in _graph_arcs(sentence) if arc[:2] not in {(head, word) for head, word, _ in tree}]
    places = _places(sentence.words)
    top = _stack([(head, word) for head, word, _ in tree])
    bottom = _stack([(head, word) for head, word, _ in extra])
    height = max(top.values(), default=0) + 1
    depth = max(bottom.values(), default=0)
    figure = Picture(figsize=(0.125 * places[-1] + 1.5, 0.42 * (height + depth) + 1.1))
    axes = figure.add_subplot()
    for word, text in enumerate(sentence.words, start=1):
        axes.text(places[word], 0, text, ha="center", va="center", fontsize=11)
    for head, word, label in sorted(tree):
        if head == 0:
            _draw_root(axes, places[word], height)
        else:
            _draw_arc(axes, places[head], places[word], top[head, word], label, BLUE)
    for head, word, label in extra:
        if head:
            _draw_arc(axes, places[head], places[word], -bottom[head, word], label, ORANGE)
    axes.set(xlim=(places[1] - 5, places[-1] + 5), ylim=(-depth - 0.9, height + 0.5), title=title)
    axes.axis("off")
    return figure


def _arcs(sentence: Sentence) -> list[tuple[int, int, str]]:
    if sentence.heads is None:
        raise UserError(f"sentence {sentence.id!r} has no tree that could be drawn; parse it first")
    labels = sentence.labels or ("",) * len(sentence.words)
    return [(i, head, label) for i, (head, label) in enumerate(zip(sentence.heads, labels, strict=True), start=1)]


def _graph_arcs(sentence: Sentence) -> list[tuple[int, int, str]]:
    """The arcs of the enhanced graph between words; those of empty nodes have no place in the picture."""
    return [
        (int(edge.head), word, edge.label)
        for word, edges in enumerate(sentence.enhanced or (), start=1)
        for edge in edges
        if edge.head.isdecimal()
    ]


def _places(words: Sequence[str]) -> list[float]:
    """Where each word's middle stands, in characters; place 0 is ROOT's, left of the first word."""
    places, right = [-4.0], 0.0
    for word in words:
        # Short words need room for the labels of the arcs that end there.
        width = max(len(word), 6) + 2
        places.append(right + width / 2)
        right += width
    return places


def _stack(arcs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """How high to draw each arc so that it passes above those that it spans; arcs that cross get different heights."""
    levels: dict[tuple[int, int], int] = {}
    for arc in sorted(arcs, key=lambda arc: abs(arc[0] - arc[1])):
        left, right = sorted(arc)
        below = [levels[other] for other in levels if min(other) < right and max(other) > left and min(other) > 0]
        levels[arc] = max(below, default=0) + 1 if left else 0
    return levels


def _draw_arc(axes: Axes, start: float, end: float, level: float, label: str, colour: str) -> None:
    """From head to dependent: up from the head, across, and down to an arrow above the dependent."""
    side = np.sign(level)
    # Arcs leave a head a little to the side to which they go, so that they do not run into one another.
    start += 0.8 * np.sign(end - start)
    corners = [(start, 0.4 * side), (start, level), (end, level), (end, 0.4 * side)]
    curve = Curve(corners, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    axes.add_patch(FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=9, color=colour, linewidth=1.1))
    # A cubic curve comes three quarters of the way to its corners.
    apex = 0.25 * 0.4 * side + 0.75 * level
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    axes.text((start + end) / 2, apex, label, ha="center", va="center", fontsize=8, color=colour, bbox=white)


def _draw_root(axes: Axes, place: float, height: float) -> None:
    stem = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.1}
    axes.annotate("", xy=(place, 0.4), xytext=(place, height), arrowprops=stem)
    axes.text(place, height + 0.25, "root", ha="center", va="center", fontsize=8, color=GREY)


def draw_lengths(lengths: Mapping[str, Sequence[int]]) -> Picture:
    """For each corpus the share of its sentences that have at most so many words."""
    figure = Picture(figsize=(7, 3.6))
    axes = figure.add_subplot()
    for name, colour in zip(lengths, seaborn.color_palette("colorblind", len(lengths)), strict=True):
        seaborn.ecdfplot(x=list(lengths[name]), ax=axes, label=name, color=colour)
    axes.set(xlabel="words in a sentence", ylabel="share of sentences, at most so long", xlim=(0, 60), ylim=(0, 1.01))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def draw_bars(counts: Mapping[str, float], xlabel: str) -> Picture:
    """Named quantities as horizontal bars, each with its number."""
    figure = Picture(figsize=(7, 0.28 * len(counts) + 0.9))
    axes = figure.add_subplot()
    bars = axes.barh(list(counts), list(counts.values()), color=BLUE)
    axes.bar_label(bars, padding=3, fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set(xlabel=xlabel)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
