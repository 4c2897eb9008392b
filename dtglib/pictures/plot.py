"""Pictures. The only module that draws; everything else returns numbers.

    draw_tree(sentence)      the words in a row, arcs from head to dependent above them, ROOT's arc as a stem; arcs that
                             only the enhanced graph has are below, in orange
    draw_mask(seen)          an attention mask: rows attend to columns; COMPOSE is orange, STACK blue
    draw_masks(shown)        the masks of several sequences side by side, each with its title
    draw_relpos(seen)        the mask with its relative positions
    draw_reading(words, ...) a sentence word by word: surprisals, the best tree so far, and the words that are visible
    draw_lengths(lengths)    the lengths of sentences, one curve per corpus
    draw_dots(rows, ...)     a dot for every seed, by the setting that was varied
    save(figure, name)       writes a figure into the repository's figures/

A figure is returned, not shown: a notebook shows the last value of a cell.

    >>> there = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2), ("expl", "root", "det", "nsubj"))
    >>> [text.get_text() for text in draw_tree(there).axes[0].texts if text.get_text()]
    ['There', 'is', 'a', 'difference', 'root', 'expl', 'nsubj', 'det']
"""

import io
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Patch, Rectangle
from matplotlib.path import Path as Curve
from matplotlib.ticker import FixedLocator, LogLocator, NullLocator

from dtglib.basics.errors import UserError
from dtglib.basics.files import repository, write_atomically
from dtglib.data.treebank import Sentence
from dtglib.sequences.describe import Described
from dtglib.transitions.protocol import OPEN

Number = int | float
Numbers = Sequence[Number] | np.ndarray | pd.Series | pd.Index

BLUE, ORANGE, GREY = "#1f5fa8", "#e07b00", "#666666"

# The same picture gives the same bytes: there are no random ids and no date in the file.
matplotlib.rcParams["svg.hashsalt"] = "dtglib"
# A word with dollar signs is not a formula.
matplotlib.rcParams["text.parse_math"] = False


class Picture(Figure):
    """A figure that a notebook shows as SVG, sharp at every size, with any backend."""

    def _repr_svg_(self) -> str:
        content = io.StringIO()
        self.savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None})
        return content.getvalue()

    def _repr_png_(self) -> bytes:
        """For JupyterLab, which does not show SVG in a notebook that somebody else has run."""
        content = io.BytesIO()
        self.savefig(content, format="png", bbox_inches="tight", metadata={"Software": None})
        return content.getvalue()


def save(picture: Picture, name: str) -> Picture:
    """Write a picture to figures/NAME.svg in the notebook's repository, and return it, so that it is shown."""
    with write_atomically(repository() / "figures" / f"{name}.svg") as file:
        file.write(picture._repr_svg_())
    return picture


def draw_tree(sentence: Sentence, title: str = "") -> Picture:
    """Draw a dependency tree above its words, and the additional arcs of an enhanced graph, if any, below them."""
    tree = {(head, word, label) for word, head, label in _arcs(sentence)}
    extra = [arc for arc in _graph_arcs(sentence) if arc[:2] not in {(head, word) for head, word, _ in tree}]
    places = word_places(sentence.words)
    top = stacked([(head, word) for head, word, _ in tree])
    bottom = stacked([(head, word) for head, word, _ in extra])
    height = max(top.values(), default=0) + 1
    depth = max(bottom.values(), default=0)
    figure = Picture(figsize=(0.125 * places[-1] + 1.5, 0.42 * (height + depth) + 1.1))
    axes = figure.add_subplot()
    for word, text in enumerate(sentence.words, start=1):
        axes.text(places[word], 0, text, ha="center", va="center", fontsize=11)
    for head, word, label in sorted(tree):
        if head == 0:
            draw_root(axes, places[word], height)
        else:
            draw_arc(axes, places[head], places[word], top[head, word], label, BLUE)
    for head, word, label in extra:
        if head:
            draw_arc(axes, places[head], places[word], -bottom[head, word], label, ORANGE)
    axes.set(xlim=(places[1] - 5, places[-1] + 5), ylim=(-depth - 0.9, height + 0.5), title=title)
    axes.axis("off")
    return figure


def _arcs(sentence: Sentence) -> list[tuple[int, int, str]]:
    if sentence.heads is None:
        raise UserError(f"sentence {sentence.id!r} has no tree that could be drawn; parse it first")
    labels = sentence.labels or ("",) * len(sentence.words)
    arcs = enumerate(zip(sentence.heads, labels, strict=True), start=1)
    return [(i, head, label) for i, (head, label) in arcs if head != OPEN]  # a word without a head has no arc yet


def _graph_arcs(sentence: Sentence) -> list[tuple[int, int, str]]:
    """The arcs of the enhanced graph between words; arcs of empty nodes are not drawn."""
    return [
        (int(edge.head), word, edge.label)
        for word, edges in enumerate(sentence.enhanced or (), start=1)
        for edge in edges
        if edge.head.isdecimal()
    ]


def word_places(words: Sequence[str]) -> list[float]:
    """The horizontal middle of each word, in characters; place 0 is ROOT's, left of the first word."""
    places, right = [-4.0], 0.0
    for word in words:
        # Short words need room for the labels of the arcs that end there.
        width = max(len(word), 6) + 2
        places.append(right + width / 2)
        right += width
    return places


def stacked(arcs: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The height of each arc, so that it passes above the arcs that it spans; crossing arcs get different heights."""
    levels: dict[tuple[int, int], int] = {}
    for arc in sorted(arcs, key=lambda arc: abs(arc[0] - arc[1])):
        left, right = sorted(arc)
        below = [levels[other] for other in levels if min(other) < right and max(other) > left and min(other) > 0]
        levels[arc] = max(below, default=0) + 1 if left else 0
    return levels


def draw_arc(axes: Axes, start: float, end: float, level: Number, label: str, colour: str) -> None:
    """Draw an arc: up from the head, across, and down to an arrow above the dependent."""
    side = np.sign(level)
    # Arcs start a little to the left or right of the head, on the dependent's side, so that they do not overlap.
    start += 0.8 * np.sign(end - start)
    corners = [(start, 0.4 * side), (start, level), (end, level), (end, 0.4 * side)]
    curve = Curve(corners, [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
    axes.add_patch(FancyArrowPatch(path=curve, arrowstyle="-|>", mutation_scale=9, color=colour, linewidth=1.1))
    # The apex of a cubic curve is three quarters of the way to its corners.
    apex = 0.25 * 0.4 * side + 0.75 * level
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    axes.text((start + end) / 2, apex, label, ha="center", va="center", fontsize=8, color=colour, bbox=white)


def draw_root(axes: Axes, place: float, height: Number) -> None:
    """Draw the arc of ROOT as a stem above a word."""
    stem = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.1}
    axes.annotate("", xy=(place, 0.4), xytext=(place, height), arrowprops=stem)
    axes.text(place, height + 0.25, "root", ha="center", va="center", fontsize=8, color=GREY)


# After some words of a sentence: the surprisal of the last one, the heads of the tree so far (None: there is none) and
# the numbers of the words from which the next symbol is predicted.
Moment = tuple[float, Sequence[int] | None, Sequence[int]]


def draw_reading(words: Sequence[str], moments: Sequence[Moment], unit: str, title: str = "") -> Picture:
    """Draw a line for each moment, with the tree so far and the visible words in boxes, and all surprisals below.

    The last moment is the end of the sentence.
    """
    places = word_places([*words, "end"])
    surprisals, all_heads, all_visible = zip(*moments, strict=True)
    trees = [_arcs(Sentence(tuple(words[: len(heads or ())]), tuple(heads or ()))) for heads in all_heads]
    levels = [stacked([(head, word) for word, head, _ in tree]) for tree in trees]
    has_root = [0 in (heads or ()) for heads in all_heads]
    heights = [
        1.2 + 0.5 * max(of_arcs.values(), default=0) + 0.5 * rooted
        for of_arcs, rooted in zip(levels, has_root, strict=True)
    ]
    bars = 3.2
    figure = Picture(figsize=(0.1 * places[-1] + 1.0, 0.36 * (sum(heights) + bars)))
    *lines, below = figure.subplots(len(moments) + 1, height_ratios=[*heights, bars], gridspec_kw={"hspace": 0.0})
    for number, (axes, visible, tree) in enumerate(zip(lines, all_visible, trees, strict=True), start=1):
        for place, word in enumerate(words[:number], start=1):
            box = {"boxstyle": "round,pad=0.25", "facecolor": "#dce8f6", "edgecolor": BLUE, "linewidth": 0.8}
            look = {"bbox": box, "color": "black"} if place in visible else {"color": GREY}
            axes.text(places[place], 0, word, ha="center", va="center", fontsize=9, **look)
        for word, head, _ in tree:
            level = 0.5 * levels[number - 1][head, word]
            if head == 0:
                draw_root(axes, places[word], heights[number - 1] - 1.1)
            else:
                draw_arc(axes, places[head], places[word], level + 0.3, "", BLUE)
        axes.set(xlim=(places[1] - 5, places[-1] + 5), ylim=(-0.5, heights[number - 1] - 0.1))
        axes.axis("off")
    lines[0].set_title(title, fontsize=11)
    _draw_surprisals_below(below, places[1:], [*words, "end"], surprisals, unit)
    below.set_xlabel("in boxes: the words from which the next symbol is predicted", fontsize=8, color=BLUE, loc="left")
    below.set_xlim(lines[0].get_xlim())
    return figure


def _draw_surprisals_below(
    axes: Axes, places: Sequence[float], words: Sequence[str], values: Sequence[float], unit: str
) -> None:
    """Draw bars that hang below the words."""
    finite = [value for value in values if np.isfinite(value)]
    most = max(finite, default=1.0)
    shown = [value if np.isfinite(value) else most for value in values]
    axes.bar(places, shown, width=5, color=ORANGE)
    for place, word, value, length in zip(places, words, values, shown, strict=True):
        axes.text(place, -0.06 * most, word, ha="center", va="bottom", fontsize=9)
        label = f"{value:.1f}" if np.isfinite(value) else "∞"
        axes.text(place, length + 0.04 * most, label, ha="center", va="top", fontsize=8, color=GREY)
    axes.set(ylim=(1.25 * most, -0.35 * most), ylabel=unit, xticks=[], yticks=[])
    axes.spines[["top", "right", "bottom", "left"]].set_visible(False)


KIND_COLOURS = {"STACK": BLUE, "COMPOSE": ORANGE}


def draw_mask(seen: Described, title: str = "", until: int | None = None) -> Picture:
    """Draw a mask as a labelled grid: the position of a row sees the positions whose cells are filled.

    Only the first `until` positions are drawn, if it is given. What else is known of the pairs, such as depths, is
    written into the cells.
    """
    picture, axes = _grid(seen, title, until)
    _fill_visible(axes, seen, until)
    axes.legend(handles=_kinds(), loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return picture


def draw_masks(shown: Mapping[str, Described]) -> Picture:
    """Draw the masks of several sequences side by side, each with its title; all cells have the same size."""
    lengths = [len(seen.inputs) for seen in shown.values()]
    cell, names = 0.24, 2.1  # inches; between two grids stand the names of the positions of the second one
    cells = cell * sum(lengths)
    picture = Picture(figsize=(cells + names * len(lengths), cell * max(lengths) + 1.5))
    gaps = {"wspace": names * len(lengths) / cells}
    for axes, (title, seen) in zip(
        picture.subplots(1, len(lengths), width_ratios=lengths, gridspec_kw=gaps, squeeze=False)[0],
        shown.items(),
        strict=True,
    ):
        _set_grid(axes, seen, title)
        axes.set_anchor("N")
        _fill_visible(axes, seen)
    # No position sees a later one, so there is room above the diagonal.
    axes.legend(handles=_kinds(), loc="upper right", frameon=False)
    picture.align_titles()
    return picture


def _fill_visible(axes: Axes, seen: Described, until: int | None = None) -> None:
    """Fill the cells of what each position sees, in the colour of its kind, and write into them what else is known."""
    for i, kind in enumerate(seen.kinds[:until]):
        for j in np.flatnonzero(seen.visible[i]):
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=KIND_COLOURS[kind], edgecolor="white"))
            for numbers in seen.pairs.values():
                axes.text(j, i, str(numbers[i, j]), ha="center", va="center", fontsize=8, color="white")


def _kinds() -> list[Patch]:
    """The colours of the kinds, for a legend."""
    return [Patch(color=colour, label=kind) for kind, colour in KIND_COLOURS.items()]


def draw_relpos(seen: Described, title: str = "") -> Picture:
    """Draw a mask as a labelled grid, with the relative position in every visible cell, and coloured by it."""
    picture, axes = _grid(seen, title)
    shown = np.where(seen.visible, seen.relpos, 0)
    colours = matplotlib.colormaps["cividis_r"]
    scale = matplotlib.colors.Normalize(-1, max(1, shown.max()))
    for i, j in zip(*np.nonzero(seen.visible), strict=True):
        colour = colours(scale(shown[i, j]))
        axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
        ink = "white" if scale(shown[i, j]) > 0.5 else "black"
        axes.text(j, i, str(shown[i, j]), ha="center", va="center", fontsize=8, color=ink)
    return picture


def _grid(seen: Described, title: str, until: int | None = None) -> tuple[Picture, Axes]:
    size = len(seen.inputs[:until])
    picture = Picture(figsize=(0.34 * size + 2.6, 0.34 * size + 1.6))
    axes = picture.add_subplot()
    _set_grid(axes, seen, title, until)
    return picture, axes


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


def draw_curves(series: Mapping[str, tuple[Numbers, Numbers]], xlabel: str, ylabel: str) -> Picture:
    """Draw named curves, each given as its x and y values."""
    picture = Picture(figsize=(7, 3.6))
    axes = picture.add_subplot()
    for (name, (x, y)), colour in zip(series.items(), seaborn.color_palette("colorblind", len(series)), strict=True):
        axes.plot(x, y, label=name, color=colour, marker="o", markersize=3)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    return picture


def draw_growth(
    series: Mapping[str, tuple[Numbers, Numbers]],
    level: tuple[str, Number, Number, Number],
    xlabel: str,
    ylabel: str,
) -> Picture:
    """Draw named curves over a logarithmic axis, and a level with its interval: its name, middle, low and high."""
    picture = Picture(figsize=(7, 3.6))
    axes = picture.add_subplot()
    name, middle, low, high = level
    axes.axhspan(low, high, color="#dddddd", linewidth=0)
    axes.axhline(middle, color="#888888", linewidth=1, label=name)
    for (name, (x, y)), colour in zip(series.items(), seaborn.color_palette("colorblind", len(series)), strict=True):
        axes.plot(x, y, label=name, color=colour, marker="o", markersize=3)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    return picture


def draw_powers(series: Mapping[str, tuple[Numbers, Numbers]], xlabel: str, ylabel: str) -> Picture:
    """Draw named curves over two logarithmic axes, where a power of x is a straight line."""
    picture = draw_curves(series, xlabel, ylabel)
    (axes,) = picture.axes
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_locator(FixedLocator(sorted({x for xs, _ in series.values() for x in xs})))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_locator(NullLocator())
    return picture


def draw_tails(series: Mapping[str, tuple[Numbers, Numbers]], xlabel: str, ylabel: str) -> Picture:
    """Draw named curves over a logarithmic vertical axis, where small shares can be told apart; zeros are left out."""
    picture = draw_curves(series, xlabel, ylabel)
    (axes,) = picture.axes
    axes.set_yscale("log", nonpositive="mask")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    return picture


def draw_lengths(lengths: Mapping[str, Sequence[int]]) -> Picture:
    """Draw, for each corpus, the cumulative distribution of the words per sentence."""
    figure = Picture(figsize=(7, 3.6))
    axes = figure.add_subplot()
    for name, colour in zip(lengths, seaborn.color_palette("colorblind", len(lengths)), strict=True):
        seaborn.ecdfplot(x=list(lengths[name]), ax=axes, label=name, color=colour)
    axes.set(xlabel="words in a sentence", ylabel="share of sentences, at most so long", xlim=(0, 60), ylim=(0, 1.01))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    return figure


def draw_bars(counts: Mapping[str, Number], xlabel: str) -> Picture:
    """Draw named quantities as horizontal bars, each with its number."""
    figure = Picture(figsize=(7, 0.28 * len(counts) + 0.9))
    axes = figure.add_subplot()
    bars = axes.barh(list(counts), list(counts.values()), color=BLUE)
    axes.bar_label(bars, padding=3, fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set(xlabel=xlabel)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_scores(rows: pd.DataFrame, group: str, score: str, colour: str, level: Number | None = None) -> Picture:
    """Draw bars of mean percentages by group and colour, a dot for every row (a seed), and optionally a level."""
    groups, kinds = rows[group].nunique(), rows[colour].nunique()
    figure = Picture(figsize=(7, 0.16 * groups * (kinds + 1) + 1))
    axes = figure.add_subplot()
    about = {"data": rows, "x": score, "y": group, "hue": colour, "palette": "colorblind", "ax": axes}
    seaborn.barplot(**about, errorbar=None)
    dots = {"size": 3, "edgecolor": "black", "linewidth": 0.5, "jitter": False, "legend": False}
    seaborn.stripplot(**about, dodge=True, **dots)
    if level is not None:
        axes.axvline(level, color=GREY, linewidth=1, linestyle="--")
    axes.set(ylabel="", xlim=(0, 103))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure


def draw_dots(rows: pd.DataFrame, group: str, value: str) -> Picture:
    """Draw a dot for every row (a seed), with one line of dots for each group, and a stroke at its mean."""
    groups = list(dict.fromkeys(rows[group]))
    figure = Picture(figsize=(6, 0.4 * max(3, len(groups)) + 0.8))
    axes = figure.add_subplot()
    for place, name in enumerate(groups):
        values = rows.loc[rows[group] == name, value]
        axes.plot(values, [place] * len(values), "o", color=BLUE, markersize=5, alpha=0.6, markeredgewidth=0)
        axes.plot([values.mean()] * 2, [place - 0.3, place + 0.3], color=ORANGE, linewidth=2)
    axes.set(yticks=range(len(groups)), yticklabels=groups, xlabel=value, ylim=(len(groups) - 0.5, -0.5))
    axes.margins(x=0.1)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def draw_surprisals(words: Sequence[str], series: Mapping[str, Numbers], unit: str) -> Picture:
    """Draw the surprisals of words as bars, one bar per word and series."""
    figure = Picture(figsize=(0.75 * len(words) + 1.5, 2.6))
    axes = figure.add_subplot()
    width = 0.8 / len(series)
    most = max((value for values in series.values() for value in values if np.isfinite(value)), default=1.0)
    for number, (name, values) in enumerate(series.items()):
        places = np.arange(len(words)) + (number - (len(series) - 1) / 2) * width
        shown = np.where(np.isfinite(values), values, most)
        axes.bar(places, shown, width, label=name, color=seaborn.color_palette("colorblind")[number])
        for place in places[~np.isfinite(values)]:  # a word that no search could read is off the scale
            axes.text(place, most, "∞", ha="center", va="bottom")
    axes.set(xticks=range(len(words)), xticklabels=words, ylabel=f"surprisal, {unit}")
    axes.tick_params(axis="x", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    if len(series) > 1:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    return figure
