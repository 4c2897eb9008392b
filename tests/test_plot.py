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


def test_trees_of_a_sentence_stand_one_below_the_other_with_their_titles():
    half = Sentence(DIFFERENCE.words, (2, 0, -1, -1))
    picture = plot.draw_trees({"the treebank's": DIFFERENCE, "half": half})
    assert [axes.get_title() for axes in picture.axes] == ["the treebank's", "half"]
    assert [sum(isinstance(patch, FancyArrowPatch) for patch in axes.patches) for axes in picture.axes] == [3, 1]
    with pytest.raises(UserError, match="different sentences"):
        plot.draw_trees({"one": DIFFERENCE, "other": Sentence(("There",), (0,))})


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


def described(text, system):
    return f"{text} by {system}"


def test_a_notebook_without_a_reader_has_no_field(monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert (
        plot.with_field(described, "She saw him .", system=["arc-eager", "arc-swift"]) == "She saw him . by arc-eager"
    )


def test_in_jupyterlab_a_reader_changes_the_text_and_the_choice(monkeypatch):
    monkeypatch.setenv("JPY_SESSION_NAME", "02_masks.ipynb")  # as Jupyter's server does
    widget = plot.with_field(described, "She saw him .", system=["arc-eager", "arc-swift"])
    field, menu, _ = widget.children
    assert (field.value, menu.value, widget.result) == ("She saw him .", "arc-eager", "She saw him . by arc-eager")
    field.value = "She left ."
    menu.value = "arc-swift"
    assert widget.result == "She left . by arc-swift"
    field.value = " "
    assert widget.result is None


def test_the_surprisals_below_a_reading_have_a_scale():
    moments = [(3.7, None, [1]), (9.2, None, [1, 2]), (float("inf"), None, [])]
    below = plot.draw_reading(["There", "is"], moments, "bits").axes[-1]
    assert [bar.get_height() for bar in below.patches] == [3.7, 9.2, 9.2]
    assert below.get_yticks().tolist() == [0, 4, 8]
    assert below.spines["left"].get_visible() and below.get_ylabel() == "bits"
