"""Pictures of what a model believes of heads."""

import matplotlib
import numpy as np
from matplotlib.patches import Rectangle
from toys import EXAMPLE
from trees import THERE_IS_A_DIFFERENCE

from dtgpapers.udgn.pictures import draw_beliefs

matplotlib.use("agg")


def test_beliefs_have_a_matrix_for_each_step_and_frames_around_the_treebanks_arcs():
    random = np.random.default_rng(1)
    beliefs = {f"step {number}": random.random((4, 4)) for number in range(6)}
    picture = draw_beliefs(EXAMPLE, beliefs, THERE_IS_A_DIFFERENCE)
    drawn, bar = [axes for axes in picture.axes if axes.images], picture.axes[-1]
    assert bar.get_ylabel() == "probability"
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
