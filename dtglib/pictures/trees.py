"""Trees above their words, and a sentence that is read word by word.

>>> words = ("There", "is", "a", "difference")
>>> picture = draw_tree(Sentence(words, (2, 0, 4, 2), ("expl", "root", "det", "nsubj")))
>>> [text.get_text() for text in picture.axes[0].texts if text.get_text()]
['There', 'is', 'a', 'difference', 'root', 'expl', 'nsubj', 'det']
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path as Curve
from matplotlib.ticker import MaxNLocator

from dtglib.basics.errors import UserError, require
from dtglib.data.treebank import Sentence
from dtglib.pictures.picture import BLUE, GREY, ORANGE, Picture
from dtglib.transitions.protocol import OPEN


def draw_tree(sentence: Sentence, title: str = "") -> Picture:
    """Draw a dependency tree above its words."""
    return draw_trees({title: sentence})


def draw_trees(trees: Mapping[str, Sentence]) -> Picture:
    """Draw trees of the same words, one below the other, each with its title."""
    arcs = [_arcs(sentence) for sentence in trees.values()]
    levels = [stacked([(head, word) for head, word, _ in tree]) for tree in arcs]
    height = max((level for of_tree in levels for level in of_tree.values()), default=0) + 1
    words, *others = dict.fromkeys(sentence.words for sentence in trees.values())
    require(not others, "these trees are of different sentences; draw each with draw_tree")
    places = word_places(words)
    picture = Picture(figsize=(0.125 * places[-1] + 1.5, (0.42 * height + 1.1) * len(trees)))
    panels = picture.subplots(len(trees), squeeze=False).flat
    for axes, title, tree, of_tree in zip(panels, trees, arcs, levels, strict=True):
        for word, text in enumerate(words, start=1):
            axes.text(places[word], 0, text, ha="center", va="center", fontsize=11)
        for head, word, label in sorted(tree):
            if head == 0:
                draw_root(axes, places[word], height)
            else:
                draw_arc(axes, places[head], places[word], of_tree[head, word], label, BLUE)
        axes.set(xlim=(places[1] - 5, places[-1] + 5), ylim=(-0.9, height + 0.5), title=title)
        axes.axis("off")
    return picture


def _arcs(sentence: Sentence) -> list[tuple[int, int, str]]:
    """The head, the dependent and the label of each arc; a word may have no head yet."""
    if sentence.heads is None:
        raise UserError(f"sentence {sentence.id!r} has no tree that could be drawn; parse it first")
    labels = sentence.labels or ("",) * len(sentence.words)
    arcs = enumerate(zip(sentence.heads, labels, strict=True), start=1)
    return [(head, word, label) for word, (head, label) in arcs if head != OPEN]


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


def draw_arc(axes: Axes, start: float, end: float, level: float, label: str, colour: str) -> None:
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


def draw_root(axes: Axes, place: float, height: float) -> None:
    """Draw the arc of ROOT as a stem above a word."""
    stem = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.1}
    axes.annotate("", xy=(place, 0.4), xytext=(place, height), arrowprops=stem)
    axes.text(place, height + 0.25, "root", ha="center", va="center", fontsize=8, color=GREY)


def draw_reading(
    words: Sequence[str],
    moments: Sequence[tuple[float, Sequence[int] | None, Sequence[int]]],
    unit: str,
    title: str = "",
) -> Picture:
    """Draw a line for each moment, with the tree so far and the visible words in boxes, and all surprisals below.

    The moments are those after each word and at the end of the sentence: the surprisal of the last word, the heads of
    the tree so far (or None), and the numbers of the words from which the next symbol is predicted.
    """
    places = word_places([*words, "end"])
    surprisals, all_heads, all_visible = zip(*moments, strict=True)
    trees = [_arcs(Sentence(tuple(words[: len(heads or ())]), tuple(heads or ()))) for heads in all_heads]
    levels = [stacked([arc[:2] for arc in tree]) for tree in trees]
    heights = [
        1.2 + 0.5 * max(of_arcs.values(), default=0) + 0.5 * any(head == 0 for head, *_ in tree)
        for of_arcs, tree in zip(levels, trees, strict=True)
    ]
    gaps = [0.0] * len(words) + [0.6]  # below each line
    rooms = [*np.add(heights, gaps), 3.2]
    picture = Picture(figsize=(0.1 * places[-1] + 1.0, 0.36 * sum(rooms)))
    *lines, below = picture.subplots(len(moments) + 1, height_ratios=rooms, gridspec_kw={"hspace": 0.0})
    for number, axes in enumerate(lines):
        _draw_words(axes, places, words[: number + 1], all_visible[number])
        for head, word, _ in trees[number]:
            if head == 0:
                draw_root(axes, places[word], heights[number] - 1.1)
            else:
                draw_arc(axes, places[head], places[word], 0.5 * levels[number][head, word] + 0.3, "", BLUE)
        axes.set(xlim=(places[1] - 5, places[-1] + 5), ylim=(-0.5 - gaps[number], heights[number] - 0.1))
        axes.axis("off")
    lines[0].set_title(title, fontsize=11)
    _draw_surprisals_below(below, places[1:], [*words, "end"], surprisals, unit)
    below.set_xlabel("in boxes: the words from which the next symbol is predicted", fontsize=8, color=BLUE, loc="left")
    below.set_xlim(lines[0].get_xlim())
    return picture


def _draw_words(axes: Axes, places: Sequence[float], words: Sequence[str], visible: Sequence[int]) -> None:
    """Write words, the visible ones in boxes."""
    box = {"boxstyle": "round,pad=0.25", "facecolor": "#dce8f6", "edgecolor": BLUE, "linewidth": 0.8}
    for place, word in enumerate(words, start=1):
        look = {"bbox": box, "color": "black"} if place in visible else {"color": GREY}
        axes.text(places[place], 0, word, ha="center", va="center", fontsize=9, **look)


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
    ticks = [tick for tick in MaxNLocator(3, integer=True).tick_values(0.0, most) if tick <= most]
    axes.set(ylim=(1.25 * most, -0.35 * most), ylabel=unit, xticks=[], yticks=ticks)
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_bounds(0.0, most)
