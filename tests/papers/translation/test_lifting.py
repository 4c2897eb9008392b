"""Lifted trees are projective, and words move only upwards."""

import pytest
from hypothesis import given
from reference import all_trees_crossing_or_not, ancestors, crossings
from test_projectivity import trees

from dtglib.data.projectivity import is_projective
from dtgpapers.translation.lifting import projectivize


def test_two_arcs_are_lifted_in_a_sentence_with_two_extraposed_words():
    #         A hearing is scheduled on the issue today
    before = (2, 3, 0, 3, 2, 7, 5, 4)
    after_ = (2, 3, 0, 3, 3, 7, 5, 3)
    assert projectivize(before) == after_


def test_the_shortest_offending_arc_is_lifted_first():
    # 4->1 spans 2 and 3, 2->4 spans 3. 2->4 is shorter and becomes 3->4; so 4->1 goes up to 3, not to 2.
    assert projectivize((4, 3, 0, 2)) == (3, 3, 0, 3)


@pytest.mark.parametrize("words", range(1, 6))
def test_lifting_makes_every_tree_projective_and_moves_words_only_upwards(words):
    for heads in all_trees_crossing_or_not(words):
        lifted = projectivize(heads)
        assert not crossings(lifted)
        for word, (old, new) in enumerate(zip(heads, lifted, strict=True), start=1):
            assert new in ancestors(heads, old), (heads, lifted, word)
        if not crossings(heads):
            assert lifted == heads


@given(trees())
def test_lifting_keeps_the_root_and_leaves_projective_trees_alone(heads):
    lifted = projectivize(heads)
    assert is_projective(lifted)
    assert lifted.index(0) == heads.index(0) and lifted.count(0) == 1
    if is_projective(heads):
        assert lifted == heads
    assert projectivize(lifted) == lifted
