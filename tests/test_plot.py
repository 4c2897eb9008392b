"""Pictures show the words, arcs, cells and numbers of their data."""

from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, Rectangle

from dtglib.basics.errors import UserError
from dtglib.data.treebank import Sentence
from dtglib.pictures import plot
from dtglib.sequences.describe import show

matplotlib.use("agg")

DIFFERENCE = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2), ("expl", "root", "det", "nsubj"))


def texts(picture):
    return [text.get_text() for text in picture.axes[0].texts]


def arcs(picture):
    return [patch for patch in picture.axes[0].patches if isinstance(patch, FancyArrowPatch)]


def test_a_tree_shows_every_word_and_every_label():
    picture = plot.draw_tree(DIFFERENCE)
    assert sorted(filter(None, texts(picture))) == sorted([*DIFFERENCE.words, *DIFFERENCE.labels])
    assert len(arcs(picture)) == 3


def test_an_arc_is_drawn_above_those_that_it_spans():
    heights = plot.stacked([(2, 1), (4, 3), (2, 4)])
    assert heights == {(2, 1): 1, (4, 3): 1, (2, 4): 2}


def test_a_sentence_without_a_tree_is_an_error():
    with pytest.raises(UserError, match="parse it first"):
        plot.draw_tree(Sentence(("There", "is"), id="raw-1"))


def test_a_picture_is_saved_in_the_repository_and_is_the_same_each_time(tmp_path, monkeypatch):
    for folder in ("configs", "notebooks"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    picture = plot.save(plot.draw_tree(DIFFERENCE), "difference")
    first = (tmp_path / "figures" / "difference.svg").read_bytes()
    plot.save(plot.draw_tree(DIFFERENCE), "difference")
    assert (tmp_path / "figures" / "difference.svg").read_bytes() == first
    assert ElementTree.fromstring(picture._repr_svg_()).tag.endswith("svg")
    assert picture._repr_png_() == picture._repr_png_()
    assert picture._repr_png_().startswith(b"\x89PNG")


def test_masks_side_by_side_have_all_visible_cells_in_one_size():
    shown = {"four": show("arc-standard", DIFFERENCE.words, DIFFERENCE.heads), "two": show("arc-eager", "ab", [2, 0])}
    picture = plot.draw_masks(shown)
    picture._repr_png_()  # the layout is done when a picture is drawn
    sizes = set()
    for axes, (title, seen) in zip(picture.axes, shown.items(), strict=True):
        cells = [cell for cell in axes.patches if isinstance(cell, Rectangle)]
        of_kind = [matplotlib.colors.to_hex(cell.get_facecolor()) for cell in cells]
        composing = np.array(seen.kinds) == "COMPOSE"
        assert axes.get_title() == title
        assert of_kind.count(plot.ORANGE) == seen.visible[composing].sum()
        assert of_kind.count(plot.BLUE) == seen.visible[~composing].sum()
        sizes.add(round(axes.get_window_extent().height / len(seen.inputs), 3))
    assert len(sizes) == 1
