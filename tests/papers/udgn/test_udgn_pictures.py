"""Pictures of what a model believes of heads, and of the attention heads that go with labels."""

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle
from toys import EXAMPLE
from trees import THERE_IS_A_DIFFERENCE

from dtgpapers.udgn.pictures import draw_beliefs, draw_correlations

matplotlib.use("agg")


def test_beliefs_have_a_matrix_for_each_step_and_frames_around_the_treebanks_arcs():
    random = np.random.default_rng(1)
    beliefs = {f"step {number}": random.random((4, 4)) for number in range(6)}
    picture = draw_beliefs(EXAMPLE, beliefs, THERE_IS_A_DIFFERENCE)
    drawn = [axes for axes in picture.axes if axes.images]
    assert [axes.get_title() for axes in drawn] == list(beliefs)
    for axes, matrix in zip(drawn, beliefs.values(), strict=True):
        (shown,) = axes.images
        np.testing.assert_array_equal(shown.get_array(), matrix)
        assert shown.get_clim() == (0, 1), "all steps have one scale"
        frames = [patch.get_xy() for patch in axes.patches if isinstance(patch, Rectangle)]
        assert frames == [(0.5, -0.5), (2.5, 1.5), (0.5, 2.5)], "the root has no arc"
    assert [label.get_text() for label in drawn[0].get_yticklabels()] == list(EXAMPLE)
    named = [place for place, axes in enumerate(drawn) if any(label.get_text() for label in axes.get_xticklabels())]
    assert named == [2, 3, 4, 5], "heads are named under the last matrix of each column"
    assert not draw_beliefs(EXAMPLE, beliefs).axes[0].patches
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
