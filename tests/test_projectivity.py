"""Projectivity, judged by the two slow definitions, on every tree of up to six words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import all_trees_crossing_or_not, crossings, spans_only_descendants

from dtglib.data.projectivity import crossing_arcs, is_projective


@st.composite
def trees(draw, max_words: int = 12) -> tuple[int, ...]:
    """A tree with one root: words are attached one by one, in a random order, to those that already hang."""
    order = draw(st.permutations(range(1, draw(st.integers(1, max_words)) + 1)))
    heads = {order[0]: 0}
    for word in order[1:]:
        heads[word] = draw(st.sampled_from(list(heads)))
    return tuple(heads[word] for word in sorted(heads))


def test_the_running_example_is_projective():
    assert is_projective((2, 0, 4, 2))


def test_the_arc_of_root_can_be_crossed():
    assert crossing_arcs((2, 0, 1)) == ((0, 2), (1, 3))


@pytest.mark.parametrize("words", range(1, 7))
def test_the_fast_test_agrees_with_both_definitions_on_every_tree(words):
    for heads in all_trees_crossing_or_not(words):
        assert is_projective(heads) == (not crossings(heads)) == spans_only_descendants(heads), heads


@given(trees(max_words=40))
def test_the_reported_arcs_are_arcs_of_the_tree_and_do_cross(heads):
    reported = crossing_arcs(heads)
    assert (reported is None) == (not crossings(heads))
    if reported:
        assert tuple(sorted(reported, key=lambda arc: arc.dependent)) in crossings(heads)
