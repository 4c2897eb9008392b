"""Pushdown Layers' probabilities of words that are made of pieces, by enumeration (words_in_pieces.py)."""

from functools import cache

import pytest
import torch
from words_in_pieces import (
    SIZE,
    assert_equals_enumeration,
    assert_searches_agree,
    assert_sums_to_one,
    assert_words_end,
    spelled,
    with_opinions,
)

from dtglib.families.base import build
from dtglib.network.transformer import TransformerConfig
from dtgpapers.pushdown.reading import SYMBOLS

pytestmark = pytest.mark.usefixtures("one_thread")


@cache
def model():
    torch.manual_seed(5)
    return with_opinions(build(TransformerConfig("pushdown", **SIZE), spelled(SYMBOLS)))


@pytest.mark.parametrize("before", [[], ["ac"], ["b", "?"]])
def test_over_all_words_and_the_end_probabilities_sum_to_one(before):
    assert_sums_to_one(model(), before)


@pytest.mark.parametrize(
    "holds", [assert_words_end, assert_searches_agree, assert_equals_enumeration], ids=lambda check: check.__name__
)
def test_words_and_what_is_known_between_them(holds):
    holds(model())
