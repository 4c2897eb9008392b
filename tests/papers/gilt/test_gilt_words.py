"""GiLT's probabilities of words that are made of pieces, by enumeration (words_in_pieces.py)."""

from functools import cache

import pytest
import torch
from words_in_pieces import SIZE, assert_searches_agree, assert_sums_to_one, assert_words_end, spelled, with_opinions

from dtglib.families.base import build
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.examples import counts

pytestmark = pytest.mark.usefixtures("one_thread")


@cache
def model():
    torch.manual_seed(5)
    return with_opinions(build(GiltConfig("gilt", **SIZE, feature_width=4, most_arcs=9), spelled(counts(9))))


@pytest.mark.parametrize("before", [[], ["ac"], ["b", "?"]])
def test_over_all_words_and_the_end_probabilities_sum_to_one(before):
    assert_sums_to_one(model(), before)


@pytest.mark.parametrize("holds", [assert_words_end, assert_searches_agree], ids=lambda check: check.__name__)
def test_words_and_what_is_known_between_them(holds):
    holds(model())
