"""Sentences drawn from a model: whole, with trees, and as often as the model says."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from toys import SYSTEM_OF, in_every_kind_of_model, in_every_model, small_model

from dtglib.basics.errors import UserError
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import Widths, search
from dtglib.decode.sampling import generate
from dtglib.decode.stepper import DISTRIBUTIONS_AT_ONCE
from dtglib.evaluate.likelihood import score_words
from dtglib.network.transformer import Transformer
from dtglib.transitions.protocol import why_no_tree

pytestmark = pytest.mark.usefixtures("one_thread")

ALL = Widths(10**6, 10**6, 0)
A_OR_B = Vocabulary.of_words([["a", "b"]])


def short_winded(name: str, speaks: Vocabulary | None = None) -> Transformer:
    """A model with random weights that likes arcs and ends: others go on and on."""
    model = small_model(name, speaks)
    words = model.vocabulary.starts_word | model.vocabulary.continues_word
    with torch.no_grad():
        model.output.bias[torch.from_numpy(words)] -= 8
    return model


def draw(model: Transformer, count: int, seed: int = 1, most_words: int = 12, temperature: float = 1.0):
    random = torch.Generator().manual_seed(seed)
    return list(generate(model.stepper(), model.vocabulary, count, random, most_words, temperature))


@in_every_kind_of_model
def test_every_sentence_is_whole_and_every_tree_a_tree(name):
    for drawn in draw(short_winded(name), 60):
        assert 1 <= len(drawn.words) <= 12
        assert (drawn.tree is None) == (name not in SYSTEM_OF)
        if drawn.tree is not None:
            assert len(drawn.tree) == len(drawn.words) and why_no_tree(drawn.tree.tolist()) is None
        assert np.isfinite(drawn.log_prob) and drawn.log_prob < 0


@in_every_model
def test_sentences_come_as_often_as_their_probabilities_say(name):
    """Of up to three words out of three: each is drawn in proportion to the sum over its derivations."""
    model = short_winded(name, A_OR_B)
    spelled = [A_OR_B.entries[number].lstrip("▁") for number in np.flatnonzero(A_OR_B.starts_word)]
    sentences = [words for n in (1, 2, 3) for words in itertools.product(spelled, repeat=n)]
    found = search(model.stepper(), A_OR_B, sentences, ALL)
    expected = np.exp([one.log_prob for one in found])
    times = Counter(tuple(drawn.words) for drawn in draw(model, 4000, most_words=3))
    counts = np.array([times[words] for words in sentences])
    assert counts.sum() == 4000  # nothing else, and nothing longer
    expected *= 4000 / expected.sum()
    # Rare ones together, as the test wants.
    rare = expected < 5
    if rare.any():
        counts, expected = (np.append(x[~rare], x[rare].sum()) for x in (counts, expected))
    assert chisquare(counts, expected).pvalue > 1e-4


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_its_log_probability_is_the_models_own_at_any_temperature(temperature):
    model = short_winded("txl-tokens", A_OR_B)
    drawn = draw(model, 20, temperature=temperature)
    again = score_words(model, [one.words for one in drawn])
    assert [one.log_prob for one in drawn] == pytest.approx(again.tolist(), abs=1e-4)


@in_every_kind_of_model
def test_one_derivation_is_no_more_probable_than_all(name):
    model = short_winded(name, A_OR_B)
    for drawn in draw(model, 20, most_words=4):
        (found,) = search(model.stepper(), A_OR_B, [drawn.words], ALL)
        assert drawn.log_prob <= found.log_prob + 1e-4
        assert drawn.log_prob <= found.log_derivation + 1e-4
        if name == "txl-tokens":
            assert drawn.log_prob == pytest.approx(found.log_prob, abs=1e-4)


@in_every_kind_of_model
def test_the_same_seed_draws_the_same_and_another_one_others(name):
    model = short_winded(name)
    first, again, other = ([drawn.words for drawn in draw(model, 4, seed)] for seed in (1, 1, 2))
    assert first == again != other


def test_short_sentences_do_not_come_first_and_few_are_drawn_at_once(monkeypatch):
    model = short_winded("txl-tokens")
    assert {len(drawn.words) for drawn in draw(model, 200)[:40]} > {1, 2, 3}
    monkeypatch.setitem(DISTRIBUTIONS_AT_ONCE, "cpu", 3)
    rows, stepper = [], model.stepper()
    choose = stepper.choose
    monkeypatch.setattr(stepper, "choose", lambda state, chosen: rows.append(len(chosen)) or choose(state, chosen))
    random = torch.Generator().manual_seed(1)
    drawn = list(itertools.islice(generate(stepper, model.vocabulary, 1000, random), 7))
    assert len(drawn) == 7 and max(rows) == 3, "seven can be had without a thousand"


def test_a_temperature_next_to_nothing_leaves_nothing_to_chance():
    model = short_winded("dtg", A_OR_B)
    assert len({tuple(drawn.words) for drawn in draw(model, 5, temperature=1e-4, most_words=30)}) == 1


def test_a_lower_temperature_draws_more_probable_sentences():
    model = short_winded("txl-tokens", A_OR_B)
    warm, cool = (np.mean([drawn.log_prob for drawn in draw(model, 200, temperature=t)]) for t in (1.0, 0.3))
    assert cool > warm


@pytest.mark.parametrize("temperature", [0.0, 1e5])
def test_a_temperature_that_cannot_be_computed_with_is_refused(temperature):
    with pytest.raises(UserError, match=r"temperature must be from 0\.0001"):
        draw(short_winded("dtg", A_OR_B), 1, temperature=temperature)


def test_a_sentence_without_words_is_not_drawn():
    with pytest.raises(UserError, match="most_words must be at least 1, not 0"):
        draw(short_winded("dtg", A_OR_B), 1, most_words=0)


@pytest.mark.parametrize(
    ("bias", "complaint"),
    [(50, "seldom ends a sentence within 2 words"), (torch.nan, "probabilities are no numbers; train it anew")],
)
def test_a_model_that_never_ends_in_time_is_named_and_one_without_numbers(bias, complaint):
    model = small_model("txl-tokens", A_OR_B)
    with torch.no_grad():
        model.output.bias[A_OR_B.starts_word] += bias
    with pytest.raises(UserError, match=complaint):
        draw(model, 1, most_words=2)
