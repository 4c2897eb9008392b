"""Draw the idea of Dependency Transformer Grammars in one picture: a tree, its transitions, and the attention mask.

    python book/idea.py      figures/00_idea.svg, and the same as PNG, 1,700 pixels wide

It is the first picture of the README and of the book. The tree and the transitions that write it are on the left, the
mask of the doubled sequence is on the right.

A row of the mask is a position that attends; its filled cells are the positions that it attends to. In "There is a
difference" position 3 reads the first LEFTARC. It attends to "There", "is" and itself. No later position attends to
these two words, because position 3 stands for them.
"""

import re

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dtglib.basics.files import repository
from dtglib.data.treebank import Sentence
from dtglib.pictures.plot import GREY, KIND_COLOURS, Picture, draw_arc, save, stacked, word_places
from dtglib.sequences.describe import Described, show

SENTENCE = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2), ("expl", "root", "det", "nsubj"))
INK = "#222222"
LEGEND = {
    "COMPOSE": """COMPOSE: the first copy of an arc.
It attends to the head and the dependent,
and then stands for both.""",
    "STACK": """STACK: a word, or the second copy of an arc.
It attends to what is on the stack,
and predicts the next transition.""",
}


def draw_idea(sentence: Sentence, system: str = "arc-standard") -> Picture:
    """Draw the tree of a sentence, its transitions and its mask side by side."""
    seen = show(system, sentence.words, sentence.heads)
    inputs, targets = ([re.sub("[<>]", "", name) for name in names] for names in (seen.inputs, seen.targets))
    picture = Picture(figsize=(10.4, 5.45))
    _draw_rooted_tree(picture.add_axes((0.0, 0.57, 0.44, 0.37)), sentence)
    left = picture.add_axes((0.0, 0.0, 0.44, 0.5))
    _write_transitions(left, list(filter(None, targets)))
    _write_legend(left)
    width = 0.335
    height = width * picture.get_figwidth() / picture.get_figheight()
    right = picture.add_axes((0.583, 0.01, width, height))
    _draw_labelled_mask(right, seen._replace(inputs=inputs, targets=targets))
    picture.text(0.421, 0.953, "Attention mask: a row attends to columns", fontsize=12, color=INK)
    return picture


def _draw_rooted_tree(axes: Axes, sentence: Sentence) -> None:
    """Draw a tree with ROOT as its leftmost word."""
    words = ["ROOT", *sentence.words]
    places = word_places(words)[1:]
    arcs = [(head + 1, word) for word, head in enumerate(sentence.heads, start=2)]
    levels = stacked(arcs)
    for place, word in zip(places, words, strict=True):
        axes.text(place, 0, word, ha="center", va="center", fontsize=12, color=GREY if word == "ROOT" else INK)
    for (head, word), label in zip(arcs, sentence.labels or [""] * len(arcs), strict=True):
        draw_arc(axes, places[head - 1], places[word - 1], levels[head, word], label, INK)
    axes.set(xlim=(places[0] - 4, places[-1] + 8), ylim=(-0.3, max(levels.values()) + 0.1))
    _set_title(axes, "A dependency tree")


def _write_transitions(axes: Axes, names: list[str]) -> None:
    """Write the transitions in boxes, in two lines."""
    _set_title(axes, "The transitions that write it")
    half = (len(names) + 1) // 2
    for line, height in ((names[:half], 0.89), (names[half:], 0.745)):
        left = 0.02
        for name in line:
            width = 0.019 * len(name) + 0.035
            box = Rectangle((left, height - 0.05), width, 0.1, facecolor="#f2f2f2", edgecolor="#bbbbbb", linewidth=0.8)
            axes.add_patch(box)
            axes.text(left + width / 2, height - 0.005, name, ha="center", va="center", fontsize=9.5, color=INK)
            left += width + 0.012


def _write_legend(axes: Axes) -> None:
    """Explain the two colours of the mask."""
    for (kind, text), top in zip(LEGEND.items(), (0.57, 0.26), strict=True):
        axes.add_patch(Rectangle((0.02, top - 0.07), 0.04, 0.07, facecolor=KIND_COLOURS[kind]))
        axes.text(0.08, top, text, va="top", fontsize=10, color=INK, linespacing=1.35)


def _draw_labelled_mask(axes: Axes, seen: Described) -> None:
    """Draw a mask with the input of each position on its left and above it, and its prediction on its right."""
    size = len(seen.inputs)
    for i, kind in enumerate(seen.kinds):
        for j in np.flatnonzero(seen.visible[i]):
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=KIND_COLOURS[kind]))
    middles = np.arange(size) + 0.5
    axes.set(xlim=(0, size), ylim=(size, 0), aspect="equal", facecolor="#f2f2f2")
    axes.set(xticks=middles, yticks=middles)
    axes.set_xticklabels(seen.inputs, rotation=90, fontsize=9)
    axes.set_yticklabels([f"{name}  {i}" for i, name in enumerate(seen.inputs)], fontsize=9)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        for label, kind in zip(labels, seen.kinds, strict=True):
            label.set_color(KIND_COLOURS[kind])
    for line in range(size + 1):
        axes.axhline(line, color="white", linewidth=1.5)
        axes.axvline(line, color="white", linewidth=1.5)
    axes.spines[:].set_visible(False)
    for i, target in enumerate(seen.targets):
        axes.text(size + 0.25, i + 0.5, target, va="center", fontsize=9, color=INK)
    for x, align, text in ((-0.3, "right", "a position reads"), (size + 0.25, "left", "and predicts")):
        axes.text(x, -0.35, text, ha=align, va="bottom", fontsize=9, style="italic", color=INK)


def _set_title(axes: Axes, title: str) -> None:
    axes.axis("off")
    axes.set_title(title, fontsize=12, loc="left", x=0.02, color=INK)


if __name__ == "__main__":
    picture = save(draw_idea(SENTENCE), "00_idea")
    png = repository() / "figures" / "00_idea.png"
    picture.savefig(png, dpi=160, bbox_inches="tight", metadata={"Software": None})
