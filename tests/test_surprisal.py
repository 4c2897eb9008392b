"""Surprisal is -log p of what comes next: by brute force where that can be, in pieces, words and regions that add up.

With nothing pruned, the surprisals of a sentence's beginning sum to -log p of it, and p is the sum over all its
derivations, which reference.py lists one by one.
"""

import math
from functools import cache

import numpy as np
import pytest
from conftest import slow
from hypothesis import given
from hypothesis import strategies as st
from reference import SAME, listed
from toys import (
    ALL,
    LONG_WORD,
    SYSTEM_OF,
    WORDS,
    by_kind,
    in_both_vocabularies,
    in_every_kind_of_model,
    in_every_model,
    model_of,
    never,
    small_model,
    vocabulary,
)

from dtglib.basics.errors import UserError
from dtglib.data.corpora import load
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import Widths
from dtglib.evaluate.likelihood import score_words
from dtglib.evaluate.surprisal import (
    Surprisal,
    is_known,
    of_beginnings,
    sums_of_regions,
    surprisals,
    word_frame,
)
from dtglib.network.transformer import Transformer

pytestmark = pytest.mark.usefixtures("one_thread")

NARROW = Widths(10, 10)
NO_TRANSITIONS = Widths(1, 1, 0, 0)  # words may come, but no arc between them, and so no end


def surprisal_of(model: Transformer, words: list[str], widths: Widths = NARROW) -> Surprisal:
    (found,) = surprisals(model, [words], widths)
    return found


@cache
def by_hand() -> Surprisal:
    """Three words of two pieces, one and three, the last of which cannot be; the end neither."""
    return Surprisal(
        ("two", "one", "three"),
        ("▁t", "wo", "▁one", "▁th", "r", "ee"),
        np.array([0, 2, 3]),
        (True, False, True),
        np.array([1.0, 0.5, 4.0, 2.0, 0.25, math.inf]),
        math.inf,
        over=np.array([0.5, 0.25, 0.0]),
        structure=np.array([0.125, 0.0, math.inf, math.inf]),
        entropy=np.array([3.0, 2.0, 1.0, math.nan]),
        hypotheses=np.array([1, 2, 0, 0]),
        entropy_of_trees=np.array([0.0, 0.5, 0.0, 0.0]),
        without_head=np.array([1.0, 2.0, math.nan, math.nan]),
    )


# ---- Against sums over all derivations


@in_both_vocabularies
@in_every_model
def test_without_pruning_surprisals_sum_to_minus_log_p_by_enumeration(name, kind):
    """Up to each piece, up to each word, and with the end."""
    expected = listed(name, kind)
    for count in range(1, len(WORDS) + 1):
        found = surprisal_of(model_of(name, kind), WORDS[:count], ALL)
        stops = [*found.starts[1:], len(found.pieces)]
        log_prefix = np.array(expected.log_prefix[: len(found.pieces)])
        assert np.cumsum(found.of_pieces) == pytest.approx(-log_prefix, **SAME)
        assert np.cumsum(found.of_prefixes) == pytest.approx([-log_prefix[stop - 1] for stop in stops], **SAME)
        assert found.of_pieces.sum() + found.of_end == pytest.approx(-expected.log_prob[count - 1], **SAME)
        assert found.of_words.sum() + found.end == pytest.approx(-expected.log_prob[count - 1], **SAME)
        assert found.died is None


def test_the_words_of_the_comparison_have_several_pieces():
    """Without them it would show nothing of words that are cut."""
    found = surprisal_of(model_of("dtg"), WORDS)
    assert len(found.pieces) > len(found.of_words) == len(WORDS)


@in_every_kind_of_model
def test_the_probabilities_of_all_next_words_and_the_end_sum_to_1(name):
    model = small_model(name, Vocabulary.of_words([["a", "b"]]))
    found = list(surprisals(model, [["b", "a", following] for following in ("a", "b", "?")], ALL))
    end = surprisal_of(model, ["b", "a"], ALL).end
    shares = [math.exp(-one.of_words[-1]) for one in found] + [math.exp(-end)]
    assert sum(shares) == pytest.approx(1, abs=1e-4)


@in_both_vocabularies
def test_surprisals_without_trees_are_exact_in_a_narrow_beam(kind):
    model = model_of("txl-tokens", kind)
    for words in (WORDS, ["is"] * 20, ["zebra☃", "the"]):
        found = surprisal_of(model, words, Widths(1, 1, 0, 0))
        assert -(found.of_words.sum() + found.end) == pytest.approx(score_words(model, [words])[0], **SAME)


@in_every_kind_of_model
def test_surprisals_of_many_sentences_are_those_of_each_alone(name):
    """More than are searched at once, and of different lengths."""
    model = model_of(name)
    sentences = [(WORDS * 2)[start % 4 : start % 4 + 1 + start % 3] for start in range(NARROW.at_once + 1)]
    found = list(surprisals(model, sentences, NARROW))
    assert [list(one.words) for one in found] == sentences
    known = {words: surprisal_of(model, list(words)) for words in dict.fromkeys(map(tuple, sentences))}
    for one, words in zip(found, sentences, strict=True):
        alone = known[tuple(words)]
        assert one.of_pieces == pytest.approx(alone.of_pieces, **SAME)
        assert one.end == pytest.approx(alone.end, **SAME)


def test_no_sentences_have_no_surprisals_and_an_empty_sentence_is_an_error():
    assert list(surprisals(model_of("dtg"), [])) == []
    with pytest.raises(UserError, match="sentence 2 has no words"):
        list(surprisals(model_of("dtg"), [WORDS, []]))


# ---- Beginnings


@pytest.mark.parametrize("widths", [ALL, NARROW, Widths(3, 2, 1, 4)])
@in_every_kind_of_model
def test_beginnings_have_the_surprisals_of_the_whole_sentence(name, widths):
    """What comes later changes nothing of what came before."""
    model = model_of(name)
    whole = surprisal_of(model, WORDS, widths).of_words
    beginnings = [WORDS[:count] for count in (3, 1, 4, 2)]
    for words, found in zip(beginnings, of_beginnings(model, widths)(beginnings), strict=True):
        assert found == pytest.approx(whole[: len(words)], **SAME)


# ---- Words that nobody knows


def test_a_vocabulary_of_words_knows_its_words():
    speaks = vocabulary("words")
    assert [is_known(speaks, word) for word in ("difference", "differ", "zebra", "The", "the")] == [
        True, False, False, True, True
    ]  # fmt: skip


def test_pieces_know_a_word_without_single_bytes():
    """ "theirs" was never seen, but its letters were; "zebra" has a z that was not."""
    speaks = vocabulary("pieces")
    assert all(is_known(speaks, word) for word in ("difference", "theirs", "differs", "theirsthe", "."))
    for word in ("zebra", "☃", "the☃", "中文", "😀", "naïve"):
        assert not is_known(speaks, word), word


def test_each_word_of_a_sentence_is_known_or_unknown():
    for kind, expected in (("pieces", (True, False, True, False)), ("words", (True, False, False, False))):
        found = surprisal_of(model_of("txl-tokens", kind), ["The", "😀", "theirs", "中文"])
        assert found.known == expected


@in_both_vocabularies
@in_every_kind_of_model
def test_unseen_characters_have_finite_surprisals(name, kind):
    words = ["the", "😀", "中文", "is", "👩‍👩‍👧", "é́"]
    found = surprisal_of(model_of(name, kind), words)
    assert len(found.of_words) == len(words)
    assert np.isfinite(found.of_words).all() and np.isfinite(found.end) and (found.of_words > 0).all()
    if kind == "pieces":
        # The mark, and three bytes for each of the two characters.
        start = found.starts[2]
        assert found.starts[3] - start in (6, 7)
        assert found.pieces[start].startswith("▁")
    else:
        assert len(found.pieces) == len(words)


@pytest.mark.parametrize("name", slow(["txl-tokens", "dtg"]))
def test_a_sentence_of_forty_words_is_read_to_its_end(name):
    words = (WORDS * 10)[:40]
    found = surprisal_of(model_of(name, "words"), words)
    assert len(found.of_words) == 40
    assert np.isfinite(found.of_words).all() and np.isfinite(found.end)
    assert (found.of_words > -1e-4).all()


# ---- Searches that die


def assert_dies_at(found: Surprisal, word: int) -> None:
    """Finite before, infinite from there on, and nowhere NaN."""
    everything = np.array([*found.of_words, found.end])
    assert np.isfinite(everything[:word]).all()
    assert (everything[word:] == math.inf).all()
    assert not np.isnan(found.of_pieces).any()
    assert found.died == word


@pytest.mark.parametrize("name", by_kind(SYSTEM_OF))
def test_without_arcs_a_sentence_dies_at_its_end(name):
    for words in (WORDS, ["is"]):
        assert_dies_at(surprisal_of(model_of(name, "words"), words, NO_TRANSITIONS), len(words))


@pytest.mark.parametrize("piece", [0, 1, -1])
@in_every_kind_of_model
def test_a_sentence_dies_at_the_word_with_an_impossible_piece(name, piece):
    """At whichever of its pieces: the word is infinitely surprising, and so is all that follows."""
    speaks = vocabulary("pieces")
    dead = speaks.encode([LONG_WORD]).ids[piece]
    model = never(small_model(name), dead)
    for before in ([], ["is"], ["is", "is"]):
        found = surprisal_of(model, [*before, LONG_WORD, "is"])
        assert_dies_at(found, len(before))
        alive = list(found.pieces).index(speaks.entries[dead])
        assert np.isfinite(found.of_pieces[:alive]).all() and np.isinf(found.of_pieces[alive:]).all()


@in_every_kind_of_model
def test_a_sentence_that_dies_does_not_change_others_in_its_batch(name):
    model = never(small_model(name), vocabulary("pieces").encode([LONG_WORD]).ids[1])
    beside = ["is", "is"]
    dies, lives = surprisals(model, [["is", LONG_WORD], beside], NARROW)
    assert_dies_at(dies, 1)
    assert lives.died is None
    assert lives.of_words == pytest.approx(surprisal_of(model, beside).of_words, **SAME)


@in_every_kind_of_model
def test_beginnings_that_die_are_infinite_and_never_nan(name):
    model = never(small_model(name), vocabulary("pieces").encode([LONG_WORD]).ids[1])
    (found,) = of_beginnings(model, NARROW)([["is", LONG_WORD, "is"]])
    assert np.isfinite(found[0]) and (found[1:] == math.inf).all()


# ---- Pieces, words, regions


def test_a_words_surprisal_is_that_of_its_pieces_and_its_end():
    assert by_hand().of_prefixes.tolist() == [1.5, 4.0, math.inf]
    assert by_hand().of_words.tolist() == [2.0, 3.75, math.inf]
    assert by_hand().died == 2
    assert by_hand()._replace(of_pieces=np.arange(6.0)).died == 3, "the end is a word, too"
    ended = by_hand()._replace(of_pieces=np.arange(6.0), of_end=1.0, over=np.full(3, 0.5))
    assert ended.died is None and ended.end == 0.5


def test_a_regions_surprisal_is_the_sum_over_its_words():
    finite = by_hand()._replace(of_pieces=np.array([1.0, 0.5, 4.0, 2.0, 0.25, 0.125]))
    assert finite.of_regions([0, 2, 0, 1, 0]).tolist() == [0, 5.75, 0, 2.125, 0]
    assert finite.of_regions([3]).tolist() == [7.875]
    assert by_hand().of_regions([1, 0, 1, 1, 0]).tolist() == [2.0, 0, 3.75, math.inf, 0], "also after a death"


@pytest.mark.parametrize("lengths", [[], [1, 1], [2, 2], [3, 1]])
def test_regions_with_another_number_of_words_are_an_error(lengths):
    with pytest.raises(UserError, match=f"the regions have {sum(lengths)} words, not 3"):
        by_hand().of_regions(lengths)


@given(st.lists(st.lists(st.floats(0, 100), max_size=4), max_size=6))
def test_sums_of_regions_are_those_of_each_region(regions):
    of_words = np.array([value for region in regions for value in region])
    assert sums_of_regions(of_words, list(map(len, regions))) == pytest.approx(list(map(math.fsum, regions)))


# ---- Tables


def test_the_table_of_words_has_a_row_for_each_word_and_end():
    frame = word_frame([by_hand(), by_hand()._replace(words=("two", "one", "drei"))])
    assert list(frame.columns) == [
        "sentence", "word", "text", "known",
        "nats", "of prefixes", "structure", "entropy", "hypotheses", "tree entropy",
    ]  # fmt: skip
    assert frame["text"].tolist() == ["two", "one", "three", "<END>", "two", "one", "drei", "<END>"]
    assert frame["sentence"].tolist() == [1] * 4 + [2] * 4
    assert frame.values.tolist()[:3] == [
        [1, 1, "two", True, 2.0, 1.5, 0.125, 3.0, 1, 0.0],
        [1, 2, "one", False, 3.75, 4.0, 0.0, 2.0, 2, 0.5],
        [1, 3, "three", True, math.inf, math.inf, math.inf, 1.0, 0, 0.0],
    ]
    in_bits = word_frame([by_hand()], "bits")
    for column in ("of prefixes", "structure", "entropy", "tree entropy"):
        assert in_bits[column][1] * math.log(2) == pytest.approx(frame[column][1])


def test_a_fair_coin_has_a_surprisal_of_one_bit():
    coin = by_hand()._replace(of_pieces=np.full(6, math.log(2)), of_end=math.log(4), over=np.zeros(3))
    assert word_frame([coin], "bits")["bits"].tolist() == pytest.approx([2, 1, 3, 2])
    assert word_frame([coin])["nats"].tolist() == pytest.approx(np.log(2) * np.array([2, 1, 3, 2]))


def test_an_unknown_unit_is_an_error():
    with pytest.raises(UserError, match="surprisal is measured in nats or bits, not 'dB'"):
        word_frame([by_hand()], "dB")


@in_every_kind_of_model
def test_words_and_pieces_and_regions_have_the_same_sum(name):
    found = [surprisal_of(model_of(name), list(s.words)) for s in load("minilang", "dev", 2).sentences]
    words = word_frame(found)
    assert sum(one.of_pieces.sum() + one.of_end for one in found) == pytest.approx(words["of prefixes"].sum())
    assert words["of prefixes"].sum() == pytest.approx(words["nats"].sum())
    of_regions = [one.of_regions([2, 0, len(one.words) - 2]).sum() + one.end for one in found]
    assert sum(of_regions) == pytest.approx(words["nats"].sum())
