"""Probabilities of words that are made of pieces, and what else is known between two words, by enumeration."""

import itertools
from functools import cache

import numpy as np
import pytest
from toys import DTG, READINGS, by_kind, by_model, small_model
from words_in_pieces import (
    ALL,
    assert_equals_enumeration,
    assert_searches_agree,
    assert_sums_to_one,
    assert_words_end,
    spelled,
    words_of,
)

from dtglib.data.symbols import arcs
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import Widths
from dtglib.decode.word_by_word import follow, search_beginnings, search_words
from dtglib.evaluate.surprisal import surprisals

pytestmark = pytest.mark.usefixtures("one_thread")


@cache
def model(name: str):
    return small_model(name, spelled(arcs(3)), 5).eval()


# ---- Words


@pytest.mark.parametrize("before", [[], ["ac"], ["b", "?"]])
@pytest.mark.parametrize("name", by_kind(READINGS))
def test_over_all_words_and_the_end_probabilities_sum_to_one(name, before):
    assert_sums_to_one(model(name), before)


def test_differences_of_prefixes_are_no_probabilities_of_words():
    network, before = model("txl-tokens"), ["ac"]
    after = [[*before, word] for word in words_of(12)]
    (whole,) = surprisals(network, [before], ALL)
    begun = search_beginnings(network.stepper(), network.vocabulary, after, ALL)
    shares = [-one.log_prefix[-1] - whole.of_prefixes.sum() for one in begun] + [whole.of_end]
    assert abs(np.exp(-np.array(shares)).sum() - 1) > 0.1


@pytest.mark.parametrize("name", by_kind(READINGS))
def test_a_word_is_over_when_another_word_begins_or_the_sentence_ends(name):
    assert_words_end(model(name))


@pytest.mark.parametrize("name", by_kind(READINGS))
def test_whole_sentences_and_their_beginnings_and_pictures_have_the_same_numbers(name):
    assert_searches_agree(model(name))


def test_where_words_are_entries_they_are_over_at_once():
    network = small_model("dtg", Vocabulary.of_words([["a", "b"]]))
    (found,) = surprisals(network, [["b", "a"]])
    assert found.over.tolist() == [0, 0]
    assert found.of_words.tolist() == found.of_prefixes.tolist()


# ---- Between words


@pytest.mark.parametrize("name", by_model(["txl-tokens", "txl-trans", *DTG]))
def test_entropies_hypotheses_and_structure_are_those_of_all_derivations(name):
    assert_equals_enumeration(model(name), counts_open=name in ("dtg", "txl-trans"))


def test_of_a_model_without_trees_structure_is_that_the_sentence_goes_on():
    network, words = model("txl-tokens"), ["b", "ac"]
    (found,) = surprisals(network, [words], ALL)
    assert found.structure[0] == pytest.approx(0, abs=1e-6)
    assert (found.structure[1:] > 0).all() and found.structure[-1] == pytest.approx(found.end)
    assert found.hypotheses.tolist() == [1, 1, 1] and found.entropy_of_trees.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", ["txl-tokens", "dtg"])
def test_many_sentences_at_once_and_narrow_beams_are_read_like_one(name):
    network, narrow = model(name), Widths(3, 3, 1)
    sentences = [list(words) for words in itertools.product(["a", "bc"], ["b", "ac"], ["?"])]
    together = search_words(network.stepper(), network.vocabulary, sentences, narrow)
    for words, found in zip(sentences, together, strict=True):
        (alone,) = search_words(network.stepper(), network.vocabulary, [words], narrow)
        for column, expected in zip(found[1:], alone[1:], strict=True):
            np.testing.assert_allclose(column, expected, atol=1e-5)
        np.testing.assert_allclose(found.begun.log_over, alone.begun.log_over, atol=1e-5)
        so_far = list(follow(network.stepper(), network.vocabulary, words, narrow))
        np.testing.assert_allclose([one.log_over for one in so_far[1:]], found.begun.log_over, atol=1e-5)
