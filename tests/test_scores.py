"""What a model says of a sentence, against sums over all trees."""

from functools import cache
from itertools import product

import numpy as np
import pytest
import torch
import trees
from toys import READINGS, SYSTEM_OF

from dtglib.basics.errors import UserError
from dtglib.data.symbols import arcs
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.likelihood import (
    Scored,
    all_trees,
    score_many,
    score_positions,
    score_trees,
    score_words,
)
from dtglib.families.base import build
from dtglib.network.transformer import Transformer, TransformerConfig, batch_of
from dtglib.sequences.batches import pad
from dtglib.sequences.structure import dense

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ["There", "is", "a", "difference"]


@cache
def model(name: str) -> Transformer:
    torch.manual_seed(3)
    vocabulary = Vocabulary.of_words([WORDS])
    return build(TransformerConfig(model=name, layers=2, width=16, heads=2, inner=32), vocabulary).eval()


def by_itself(name: str, words: list[str], heads: tuple[int, ...] | None) -> float:
    """The log-probability of one sentence, alone in its batch."""
    sequences = READINGS[name](model(name).vocabulary, [(words, heads)])
    with torch.no_grad():
        return float(model(name).log_probs(batch_of(pad(sequences, [0]), dense)).double().sum())


# ---- Trees


@pytest.mark.parametrize("words", range(1, 7))
def test_all_trees_are_enumerated(words):
    found = all_trees(words)
    assert set(map(tuple, found.tolist())) == set(trees.all_trees(words))
    assert len(found) == len(trees.all_trees(words))


@pytest.mark.parametrize("words", [0, 9])
def test_trees_of_no_words_or_too_many_are_not_enumerated(words):
    with pytest.raises(UserError, match="at most 8"):
        all_trees(words)


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_a_tree_has_the_same_score_alone(name):
    scored = score_trees(model(name), WORDS, all_trees(4))
    alone = [by_itself(name, WORDS, heads) for heads in scored.trees.tolist()]
    np.testing.assert_allclose(scored.log_probs, alone, atol=1e-4)
    assert scored.bound == pytest.approx(np.log(np.exp(alone).sum()), abs=1e-4)
    assert scored.best.tolist() == scored.trees[int(np.argmax(alone))].tolist()


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_many_sentences_have_the_scores_of_each_alone(name):
    asked = [(WORDS[:words], all_trees(words)) for words in (4, 1, 3, 4, 2)]
    for (words, heads), found in zip(asked, score_many(model(name), iter(asked)), strict=True):
        expected = score_trees(model(name), words, heads)
        assert found.trees.tolist() == expected.trees.tolist()
        np.testing.assert_array_equal(found.log_probs, expected.log_probs)


def test_a_sentence_that_cannot_be_scored_raises_after_those_before_it():
    found = score_many(model("dtg"), [(WORDS, all_trees(4)), ([], all_trees(1)), (WORDS, all_trees(4))])
    assert next(found).bound < 0
    with pytest.raises(UserError, match="without words"):
        next(found)


def test_in_bfloat16_the_products_are_coarser_and_the_sums_are_not():
    exact = score_trees(model("dtg"), WORDS, all_trees(4)).log_probs
    with torch.autocast("cpu", torch.bfloat16):
        found = score_trees(model("dtg"), WORDS, all_trees(4)).log_probs
    assert found.dtype == np.float64
    assert 0 < np.abs(found - exact).max() < 0.1


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_more_trees_have_a_higher_bound_of_at_most_1(name):
    scored = score_trees(model(name), WORDS, all_trees(4))
    bounds = [Scored(scored.trees[:n], scored.log_probs[:n]).bound for n in range(1, 31)]
    assert (np.diff(bounds) > 0).all()
    assert bounds[-1] < 0


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_all_sentences_of_one_and_two_words_have_a_probability_below_1(name):
    """A model of random weights ends early, so that they have a good part of it."""
    vocabulary = [*WORDS, "unknown"]
    sentences = [[word] for word in vocabulary] + [[first, second] for first in vocabulary for second in vocabulary]
    total = sum(np.exp(score_trees(model(name), words, all_trees(len(words))).bound) for words in sentences)
    assert 0.01 < total < 1


def test_the_posterior_is_a_distribution_and_its_entropy_that_of_the_definition():
    scored = Scored(np.array([[0, 1], [2, 0], [0, 1]]), np.log([0.1, 0.3, 0.1]))
    np.testing.assert_allclose(scored.posterior, [0.2, 0.6, 0.2])
    assert scored.entropy == pytest.approx(-(0.4 * np.log(0.2) + 0.6 * np.log(0.6)))
    assert scored.best.tolist() == [2, 0]
    certain = Scored(scored.trees, np.array([-2000.0, -1.0, -3000.0]))
    assert certain.entropy == 0


# ---- Trees that reach too far


def reach_of(heads: tuple[int, ...]) -> int:
    """The largest k of LEFTARC[k] and RIGHTARC[k] that arc-swift needs for a tree.

    An arc passes over the words on the stack between its two ends: below the one to the left, its last dependent so
    far, the last dependent of that, and so on.
    """
    farthest = 1
    for word, head in enumerate(heads, start=1):
        left, right = sorted((word, head))
        k, at = 1, left
        while head and (after := [d for d in range(at + 1, right) if heads[d - 1] == at]):
            k, at = k + 1, after[-1]
        farthest = max(farthest, k)
    return farthest


@cache
def short_of_reach(name: str, reach: int) -> Transformer:
    torch.manual_seed(3)
    vocabulary = Vocabulary.of_words([WORDS], arcs(reach))
    return build(TransformerConfig(model=name, layers=1, width=16, heads=2, inner=32), vocabulary).eval()


def test_in_there_is_a_difference_the_last_arc_reaches_over_one_word_if_a_hangs_from_is():
    assert reach_of((2, 0, 4, 2)) == 1
    assert reach_of((2, 0, 2, 2)) == 2  # RIGHTARC[2], from "is" over "a" to "difference"
    assert reach_of((4, 1, 2, 0)) == 3  # LEFTARC[3], from "difference" over "a" and "is" to "There"


@pytest.mark.parametrize("words", [1, 3, 5])
@pytest.mark.parametrize("reach", [1, 2, 3, 4])
def test_a_tree_that_reaches_too_far_is_impossible_and_does_not_change_others(words, reach):
    arc_swift, sentence = short_of_reach("dtg-swift", reach), ["There"] * words
    scored = score_trees(arc_swift, sentence, all_trees(words))
    too_far = [reach_of(heads) > reach for heads in scored.trees.tolist()]
    assert np.isneginf(scored.log_probs).tolist() == too_far
    assert any(too_far) == (reach < words - 1)
    near = scored.trees[np.isfinite(scored.log_probs)]
    np.testing.assert_allclose(
        scored.log_probs[np.isfinite(scored.log_probs)], score_trees(arc_swift, sentence, near).log_probs, atol=1e-4
    )
    assert scored.bound == pytest.approx(score_trees(arc_swift, sentence, near).bound, abs=1e-5)
    assert not too_far[scored.trees.tolist().index(scored.best.tolist())]


def test_any_of_the_trees_may_reach_too_far():
    """The first, the last, several in a row, all, none."""
    model, far, near = short_of_reach("dtg-swift", 2), (4, 1, 2, 0), (2, 0, 4, 2)
    for row in product((far, near), repeat=4):
        scored = score_trees(model, WORDS, np.array(row))
        assert np.isneginf(scored.log_probs).tolist() == [heads == far for heads in row]
    none = score_trees(model, WORDS, np.array([far, far]))
    assert none.bound == -np.inf


@pytest.mark.parametrize("name", [name for name in SYSTEM_OF if name != "dtg-swift"])
def test_only_in_arc_swift_can_a_tree_reach_too_far(name):
    assert np.isfinite(score_trees(short_of_reach(name, 1), ["There"] * 5, all_trees(5)).log_probs).all()


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_heads_that_are_no_tree_are_an_error(name):
    for heads in ((3, 4, 0, 3), (0, 0, 2, 2), (2, 1, 0, 3)):
        with pytest.raises(UserError, match="sentence 2: "):
            score_trees(short_of_reach(name, 1), WORDS, np.array([(2, 0, 4, 2), heads]))


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_a_sentence_without_words_is_an_error(name):
    with pytest.raises(UserError, match="without words has no probability; leave it out"):
        score_trees(model(name), [], np.empty((1, 0), int))


def test_a_sentence_without_words_is_not_scored_without_trees():
    with pytest.raises(UserError, match="sentence 2: has no words"):
        score_words(model("txl-tokens"), [WORDS, []])


# ---- Words


def test_words_without_trees_have_the_same_scores_alone():
    sentences = [WORDS[:n] for n in (4, 1, 3)] + [["difference"] * 9] * 70
    alone = [by_itself("txl-tokens", words, None) for words in sentences[:4]]
    found = score_words(model("txl-tokens"), sentences)
    np.testing.assert_allclose(found[:4], alone, atol=1e-4)
    np.testing.assert_allclose(found[4:], alone[3], atol=1e-4)
    assert score_words(model("txl-tokens"), []).shape == (0,)


def test_models_with_and_without_trees_have_different_functions():
    with pytest.raises(UserError, match="use score_trees"):
        score_words(model("dtg"), [WORDS])
    with pytest.raises(UserError, match="use score_words"):
        score_trees(model("txl-tokens"), WORDS, all_trees(4))


# ---- Weights that are no numbers


def broken(name: str) -> Transformer:
    torch.manual_seed(3)
    made = build(
        TransformerConfig(model=name, layers=1, width=16, heads=2, inner=32), Vocabulary.of_words([WORDS])
    ).eval()
    with torch.no_grad():
        made.embedding.weight.fill_(np.nan)
    return made


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_a_score_of_trees_that_is_nan_is_an_error(name):
    with pytest.raises(UserError, match="probabilities are no numbers; train it anew"):
        score_trees(broken(name), WORDS, all_trees(4))


def test_a_score_of_words_that_is_nan_is_an_error():
    with pytest.raises(UserError, match="probabilities are no numbers; train it anew"):
        score_words(broken("txl-tokens"), [WORDS, ["There"]])


def test_a_score_of_positions_that_is_nan_is_an_error():
    with pytest.raises(UserError, match="probabilities are no numbers; train it anew"):
        score_positions(broken("dtg"), [(WORDS, [2, 0, 4, 2])])


# ---- Positions


@pytest.mark.parametrize("name", ["dtg", "dtg-eager", "txl-trans"])
def test_the_positions_of_a_sentence_sum_to_it_together_with_its_tree(name):
    several = [(WORDS, [2, 0, 4, 2]), (WORDS[:2], [2, 0])]
    rows, log_probs = score_positions(model(name), several)
    assert log_probs.shape == rows.token.shape
    assert (np.isfinite(log_probs) == (rows.target >= 0)).all()
    expected = [float(score_trees(model(name), words, [heads]).log_probs[0]) for words, heads in several]
    assert np.allclose(np.nansum(log_probs, axis=1), expected, atol=1e-4)


def test_an_edit_of_the_mask_changes_what_comes_later_alone():
    def hide_the_first_word(given, rows):
        visible = given.visible.clone()
        visible[:, 2:, 1] = False
        return given._replace(visible=visible)

    sentence = [(WORDS, [2, 0, 4, 2])]
    _, plain = score_positions(model("dtg"), sentence)
    _, edited = score_positions(model("dtg"), sentence, hide_the_first_word)
    same = np.isclose(plain, edited, equal_nan=True)
    assert same[0, :2].all() and not same[0, 2]
