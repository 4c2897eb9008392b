"""The distribution of the next piece: by enumeration, against searches, and whatever is read beside it or later."""

import numpy as np
import pytest
import torch
from conftest import slow
from reference import SAME, listed
from toys import ALL, WORDS, by_kind, by_model, in_both_vocabularies, in_every_kind_of_model, in_every_model, model_of

from dtglib.data.vocabulary import END, PAD
from dtglib.decode.beam import Widths, search
from dtglib.evaluate.likelihood import score_words
from dtglib.families.base import load_model
from dtgpapers.doors.next_piece import Derivations

pytestmark = pytest.mark.usefixtures("one_thread")

NARROW = Widths(4, 4, within=3.0)
CLOSE = {"abs": 1e-5}


def read(model, sequences, widths=ALL):
    return Derivations(model, len(sequences)).read(sequences, widths)


def ids_of(model, words=WORDS):
    return list(model.vocabulary.encode(words).ids)


def along(log_probs, pieces):
    """log p of longer and longer beginnings."""
    return np.cumsum([log_probs[place, piece].item() for place, piece in enumerate(pieces)])


def distance(some, others):
    return (some.exp() - others.exp()).abs().max().item()


# ---- Of all derivations


@in_both_vocabularies
@in_every_model
def test_with_nothing_dropped_the_next_pieces_have_the_sums_over_all_derivations(name, kind):
    """Of each beginning of a sentence of four words, and of sentences with their ends."""
    model, expected = model_of(name, kind), listed(name, kind)
    pieces = ids_of(model)
    (log_probs,) = read(model, [pieces])
    assert along(log_probs, pieces) == pytest.approx(expected.log_prefix[: len(pieces)], **SAME)
    for count in range(1, 5):
        beginning = ids_of(model, WORDS[:count])
        total = along(log_probs, [*beginning, END])[-1]
        assert total == pytest.approx(expected.log_prob[count - 1], **SAME)


@in_every_kind_of_model
def test_sentences_have_the_log_probability_of_a_search_that_drops_nothing(name):
    model = model_of(name)
    sentences = [WORDS, WORDS[:1], ["theirs", "is", "the"]]
    for words, log_probs, whole in zip(
        sentences,
        read(model, [ids_of(model, words) for words in sentences]),
        search(model.stepper(), model.vocabulary, sentences, ALL),
        strict=True,
    ):
        assert along(log_probs, [*ids_of(model, words), END])[-1] == pytest.approx(whole.log_prob, **CLOSE)


def test_released_models_have_the_log_probabilities_of_a_wide_search():
    """DTG, of whole words and of pieces; minilang's other sentences are as close."""
    wide = Widths(1000, 1000, within=22.0)
    for name, text in (("dtg-minilang", "The farmer is tall ."), ("dtg-ud", "An aardvark sneezes .")):
        model, words = load_model(name), text.split()
        (log_probs,) = read(model, [ids_of(model, words)], wide)
        (whole,) = search(model.stepper(), model.vocabulary, [words], wide)
        assert along(log_probs, [*ids_of(model, words), END])[-1] == pytest.approx(whole.log_prob, **CLOSE)
    assert len(ids_of(model, words)) > len(words)


@in_both_vocabularies
def test_a_model_without_trees_is_exact_at_any_width(kind):
    model = model_of("txl-tokens", kind)
    for widths in (ALL, Widths(1, 1, within=0.0)):
        (log_probs,) = read(model, [ids_of(model)], widths)
        assert along(log_probs, [*ids_of(model), END])[-1] == pytest.approx(score_words(model, [WORDS])[0], **CLOSE)


# ---- At any width


@pytest.mark.parametrize("widths", [ALL, NARROW, Widths(1, 1, within=1.0)])
@in_every_kind_of_model
def test_the_next_pieces_and_the_end_sum_to_one(name, widths):
    model = model_of(name)
    (log_probs,) = read(model, [ids_of(model)], widths)
    assert log_probs.exp().sum(1).tolist() == pytest.approx([1.0] * len(log_probs), **CLOSE)
    reserved = [number for number in range(len(model.vocabulary.reserved)) if number != END]
    assert (log_probs[:, reserved] == -torch.inf).all()


@pytest.mark.parametrize("name", by_kind(["dtg", "txl-tokens", "txl-trans", "dtg-swift"]))
def test_nothing_depends_on_what_comes_later_or_stands_beside(name):
    """In a narrow search, which would keep other derivations if it knew the next word."""
    model = model_of(name)
    pieces, other = ids_of(model), ids_of(model, ["the", "is", "theirs", "difference", "is"])
    together = read(model, [pieces, other, pieces[:3], []], NARROW)
    for sequence, log_probs in zip([pieces, other, pieces[:3], []], together, strict=True):
        assert len(log_probs) == len(sequence) + 1
        for count in range(len(sequence) + 1):
            (alone,) = read(model, [sequence[:count]], NARROW)
            assert distance(alone[-1], log_probs[count]) < 1e-5


@pytest.mark.parametrize("name", by_model(["dtg", "dtg-eager", "dtg-swift", "txl-trans", "txl-tokens"]))
def test_reading_goes_on_where_it_stopped(name):
    """In parts of different lengths, and with sequences that are chosen in between."""
    model = model_of(name)
    pieces, other = ids_of(model), ids_of(model, ["is", "theirs", "the", "is", "is", "is"])
    derivations = Derivations(model, 2)
    derivations.read([pieces[:2], []], NARROW)
    derivations.choose([1, 0, 1])
    derivations.read([other[:5], pieces[2:3], []], NARROW)
    parts = derivations.read([other[5:], pieces[3:], other], NARROW)
    wholes = read(model, [other, pieces, other], NARROW)
    for part, whole in zip(parts, wholes, strict=True):
        assert distance(part, whole[-len(part) :]) < 1e-5


def test_after_what_cannot_be_the_end_is_certain():
    model = model_of("dtg")
    vocabulary = model.vocabulary
    continuing, arc = int(np.flatnonzero(vocabulary.continues_word)[0]), vocabulary.transition("LEFTARC")
    word = ids_of(model)[:1]
    for broken in ([continuing], [*word, arc], [*word, END], [PAD], [*word, END, *word]):
        (log_probs,) = read(model, [broken], NARROW)
        assert log_probs[-1].argmax() == END
        assert log_probs[-1].exp().sum() == 1


@pytest.mark.parametrize("name", ["tg-minilang", *slow(["pushdown-minilang", "plm-minilang", "gilt-minilang"])])
def test_models_of_other_papers_have_the_log_probability_of_a_wide_search(name):
    model, words, wide = load_model(name), ["Mary", "sleeps", "."], Widths(2000, 2000, within=22.0)
    (log_probs,) = read(model, [ids_of(model, words)], wide)
    (whole,) = search(model.stepper(), model.vocabulary, [words], wide)
    assert along(log_probs, [*ids_of(model, words), END])[-1] == pytest.approx(whole.log_prob, **CLOSE)
