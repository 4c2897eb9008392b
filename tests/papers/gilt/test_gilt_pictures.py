"""Pictures of growing graphs."""

import matplotlib
import numpy as np
from matplotlib.patches import FancyArrowPatch

from dtgpapers.gilt.pictures import draw_tapes

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
