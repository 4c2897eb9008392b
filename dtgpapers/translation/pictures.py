"""A target and the graph of its prefixes: what edges there are after each transition, and what PARENT's head sees.

    draw_growing(symbols, edges, after=[3, 6])      a line for each prefix: its symbols, and arcs between them
    draw_parents(symbols, keys, {3, 6})             a grid: the head of a position (row) sees the filled positions

Edges are triples (made at, from, to), counted from 0. Arcs from a head to a dependent are blue, those from or to a
transition orange; those that the last transition of a prefix has made are drawn thick.
"""

from collections.abc import Collection, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from dtglib.pictures.plot import BLUE, GREY, ORANGE, Picture, draw_arc, stacked, word_places

CELL = 0.3  # inches

Edges = Sequence[tuple[int, int, int]]


def draw_growing(symbols: Sequence[str], edges: Edges, after: Sequence[int]) -> Picture:
    """Draw the graphs of the prefixes that end with these positions, one below the other."""
    places = word_places(symbols)[1:]
    levels = stacked([(origin + 1, goal + 1) for _, origin, goal in edges])
    tops = [max((levels[a + 1, b + 1] for made_at, a, b in edges if made_at <= last), default=0) for last in after]
    heights = [0.8 * top + 1.2 for top in tops]
    picture = Picture(figsize=(0.11 * places[-1] + 0.8, 0.27 * sum(heights)))
    lines = picture.subplots(len(after), 1, squeeze=False, height_ratios=heights, gridspec_kw={"hspace": 0.1})[:, 0]
    transitions = {made_at for made_at, _, _ in edges}
    for axes, last, height in zip(lines, after, heights, strict=True):
        for place, symbol in enumerate(symbols):
            colour = "#cccccc" if place > last else ORANGE if place in transitions else "black"
            axes.text(places[place], -0.2, symbol, ha="center", va="center", fontsize=9, color=colour)
        for made_at, origin, goal in edges:
            if made_at <= last:
                _arc(axes, places, (made_at, origin, goal), levels[origin + 1, goal + 1], made_at == last)
        axes.set(xlim=(places[0] - 5, places[-1] + 5), ylim=(-0.8, height - 0.8))
        axes.axis("off")
    return picture


def _arc(axes: Axes, places: Sequence[float], edge: tuple[int, int, int], level: float, is_new: bool) -> None:
    made_at, origin, goal = edge
    draw_arc(axes, places[origin], places[goal], level, "", ORANGE if made_at in (origin, goal) else BLUE)
    axes.patches[-1].set_linewidth(2.2 if is_new else 0.8)


def draw_parents(symbols: Sequence[str], keys: Sequence[Collection[int]], transitions: Collection[int]) -> Picture:
    """Draw what one head sees of a whole prefix: parents in blue, transitions in orange, a position itself in grey."""
    size = len(symbols)
    picture = Picture(figsize=(CELL * size + 2.4, CELL * size + 1.4))
    axes = picture.add_subplot()
    for row, seen in enumerate(keys):
        for column in seen:
            colour = GREY if column == row else ORANGE if column in transitions else BLUE
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5), aspect="equal", facecolor="#f2f2f2")
    axes.set(xticks=range(size), xticklabels=symbols, xlabel="key")
    axes.set(yticks=range(size), yticklabels=[f"{symbol}  {place}" for place, symbol in enumerate(symbols)])
    axes.set_ylabel("query")
    axes.xaxis.tick_top()
    axes.tick_params(length=0, labelsize=8)
    axes.tick_params(axis="x", labelrotation=90)
    named = {"itself": GREY, "head": BLUE, "transition": ORANGE}
    handles = [Patch(color=colour, label=name) for name, colour in named.items()]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return picture
