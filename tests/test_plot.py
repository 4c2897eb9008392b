"""Pictures say what the data says."""

from xml.etree import ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import FancyArrowPatch, Rectangle

from dtglib.basics.errors import UserError
from dtglib.data.treebank import Edge, Sentence
from dtglib.pictures import plot
from dtglib.pictures.intervals import Columns, draw_intervals
from dtglib.sequences.describe import show
from dtgpapers.gilt.pictures import draw_gains, draw_tapes
from dtgpapers.udgn.pictures import draw_beliefs, draw_correlations

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


def test_what_only_the_enhanced_graph_has_is_drawn_below_in_orange():
    graph = (
        (Edge("2", "nsubj"), Edge("4", "nsubj:xsubj")),
        (Edge("0", "root"),),
        (Edge("4", "mark"),),
        (Edge("2", "xcomp"),),
    )
    wants = Sentence(("Mary", "wants", "to", "sleep"), (2, 0, 4, 2), ("nsubj", "root", "mark", "xcomp"), enhanced=graph)
    picture = plot.draw_tree(wants)
    below = {text.get_text(): text.get_color() for text in picture.axes[0].texts if text.get_position()[1] < 0}
    assert below == {"nsubj:xsubj": plot.ORANGE}
    assert [matplotlib.colors.to_hex(arc.get_edgecolor()) for arc in arcs(picture)].count(plot.ORANGE) == 1


def test_a_sentence_without_a_tree_is_refused():
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


def test_what_grows_as_a_power_is_a_straight_line():
    x = [1, 10, 100]
    (axes,) = plot.draw_powers({"square": (x, [1, 100, 10000])}, "n", "steps").axes
    (line,) = axes.lines
    slopes = np.diff(axes.transData.transform(line.get_xydata()), axis=0)
    assert slopes[0] == pytest.approx(slopes[1])


def test_lengths_and_bars_show_every_name():
    lengths = plot.draw_lengths({"minilang": [3, 4, 5], "EWT": [1, 20]})
    assert [text.get_text() for text in lengths.axes[0].get_legend().get_texts()] == ["minilang", "EWT"]
    bars = plot.draw_bars({"minilang": 1.5, "EWT": 2.0}, "pieces per word")
    assert [label.get_text() for label in bars.axes[0].get_yticklabels()] == ["minilang", "EWT"]


def test_what_falls_by_half_is_a_straight_line_and_ends_before_zero():
    (axes,) = plot.draw_tails({"half": ([1, 2, 3, 4], [80, 40, 20, 0])}, "n", "%").axes
    (line,) = axes.lines
    places = axes.transData.transform(line.get_xydata())
    assert np.diff(places[:3], axis=0)[0] == pytest.approx(np.diff(places[:3], axis=0)[1])
    assert not np.isfinite(places[3]).all()


def test_masks_side_by_side_have_a_cell_for_each_pair_that_sees_and_cells_of_one_size():
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


def test_a_graph_that_grows_has_its_arcs_so_far_and_its_features_in_each_line():
    words, arcs = ("They", "want", "rain"), [(0, 2), (2, 1), (2, 3)]
    tapes = [
        {"degree": [0], "depth": [0]},
        {"degree": [1, 11], "depth": [0, 1]},
        {"degree": [1, 21, 1], "depth": [0, 1, 2]},
    ]
    picture = draw_tapes(words, arcs, tapes)
    for word, (graph, heat) in enumerate(np.reshape(picture.axes, (3, 2)), start=1):
        drawn = [patch for patch in graph.patches if isinstance(patch, FancyArrowPatch)]
        assert len(drawn) == sum(head > 0 and max(head, dependent) <= word for head, dependent in arcs)
        assert [text.get_text() for text in graph.texts if text.get_text() in words] == list(words[:word])
        numbers = [text.get_text() for text in heat.texts]
        assert numbers == [str(value) for values in tapes[word - 1].values() for value in values]
        (shown,) = heat.images
        assert shown.get_array().count() == 2 * word  # the words to come have no values
    assert "svg" in picture._repr_svg_()


def test_gains_have_a_grid_each_with_a_number_for_all_that_is_seen_and_one_scale():
    up, down = np.array([[0.0, 0.0], [0.25, -0.25]]), np.array([[0.0, 0.0], [-0.5, 0.5]])
    picture = draw_gains(["<ROOT>", "They"], {"layer 1": up, "layer 2": down})
    for axes, title, numbers in zip(picture.axes, ("layer 1", "layer 2"), ("0 25 -25", "0 -50 50"), strict=True):
        assert axes.get_xlabel() == title
        assert " ".join(text.get_text() for text in axes.texts) == numbers
        (shown,) = axes.images
        assert shown.get_array().count() == 3 and shown.get_clim() == (-50, 50)


def test_intervals_have_a_panel_each_and_a_filled_dot_where_they_exclude_0():
    rows = pd.DataFrame(
        {
            "measure": ["N400", "N400", "P600"],
            "model": ["DTG", "RNN", "DTG"],
            "nats": [2.0, 1.0, -1.0],
            "low": [1.0, -1.0, -2.0],
            "high": [3.0, 3.0, 0.5],
        }
    )
    columns = Columns("measure", "model", "nats", "low", "high")
    picture = draw_intervals(rows, columns, "gain", {"DTG": plot.ORANGE}, across=2)
    first, second = picture.axes
    assert [first.get_title(), second.get_title()] == ["N400", "P600"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["DTG", "RNN"]
    bars = [line.get_xdata() for line in first.lines if len(line.get_xdata()) == 2]
    assert [list(bar) for bar in bars] == [[1.0, 3.0], [-1.0, 3.0], [0, 0]]
    dots = [line for axes in picture.axes for line in axes.lines if line.get_marker() == "o"]
    assert [dot.get_markerfacecolor() for dot in dots] == [plot.ORANGE, "white", "white"]
    assert [dot.get_color() for dot in dots] == [plot.ORANGE, plot.BLUE, plot.ORANGE]


def test_beliefs_have_a_matrix_for_each_step_and_frames_around_the_treebanks_arcs():
    random = np.random.default_rng(1)
    beliefs = {f"step {number}": random.random((4, 4)) for number in range(6)}
    picture = draw_beliefs(DIFFERENCE.words, beliefs, DIFFERENCE.heads)
    drawn = [axes for axes in picture.axes if axes.images]
    assert [axes.get_title() for axes in drawn] == list(beliefs)
    for axes, matrix in zip(drawn, beliefs.values(), strict=True):
        (shown,) = axes.images
        np.testing.assert_array_equal(shown.get_array(), matrix)
        assert shown.get_clim() == (0, 1), "all steps have one scale"
        frames = [patch.get_xy() for patch in axes.patches if isinstance(patch, Rectangle)]
        assert frames == [(0.5, -0.5), (2.5, 1.5), (0.5, 2.5)], "the root has no arc"
    assert [label.get_text() for label in drawn[0].get_yticklabels()] == list(DIFFERENCE.words)
    named = [place for place, axes in enumerate(drawn) if any(label.get_text() for label in axes.get_xticklabels())]
    assert named == [2, 3, 4, 5], "heads are named under the last matrix of each column"
    assert not draw_beliefs(DIFFERENCE.words, beliefs).axes[0].patches
    assert "svg" in picture._repr_svg_()


def test_correlations_have_a_row_for_each_label_and_a_line_between_layers():
    found = pd.DataFrame([[0.5, -0.2, 0.1, 0.0], [0.0, 0.3, -0.6, 0.1]], index=["det", "nsubj"])
    axes, bar = draw_correlations(found, heads=2).axes
    (shown,) = axes.images
    np.testing.assert_array_equal(shown.get_array(), found.to_numpy())
    assert shown.get_clim() == (-0.6, 0.6), "0 is white"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["det", "nsubj"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["layer 1", "layer 2"]
    assert [line.get_xdata()[0] for line in axes.lines] == [1.5]
    assert bar.get_ylabel() == "Pearson's r"
