"""Pictures of growing graphs, and of what their features change in attention."""

import matplotlib
import numpy as np
from matplotlib.patches import FancyArrowPatch

from dtgpapers.gilt.pictures import draw_gains, draw_tapes

matplotlib.use("agg")


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
