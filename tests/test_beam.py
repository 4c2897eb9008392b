"""A search from which nothing is pruned gives a sentence the sum over all its derivations; a narrow one gives less.

The sums are made by listing every legal sequence of actions, not only the oracles', and by giving each its probability
by the definitions of reference.py, without a cache and without a beam.
"""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from conftest import slow
from reference import SAME, listed
from toys import (
    ALL,
    LONG_WORD,
    SYSTEM_OF,
    WORDS,
    by_model,
    in_both_vocabularies,
    in_every_kind_of_model,
    in_every_kind_of_model_with_trees,
    in_every_model,
    model_of,
    never,
    small_model,
    vocabulary,
    with_both_outputs,
)

from dtglib.basics.errors import UserError
from dtglib.data.corpora import load
from dtglib.data.vocabulary import UNKNOWN, Vocabulary
from dtglib.decode import beam
from dtglib.decode.beam import SentenceResult, Widths, in_parts, search
from dtglib.decode.word_by_word import follow, search_beginnings, search_words
from dtglib.evaluate.likelihood import score_words
from dtglib.network.transformer import Transformer
from dtglib.transitions.protocol import OPEN, why_no_tree

pytestmark = pytest.mark.usefixtures("one_thread")


def find(model: Transformer, sentences: Sequence[Sequence[str]], widths: Widths = ALL) -> list[SentenceResult]:
    return search(model.stepper(), model.vocabulary, sentences, widths)


def find_one(model: Transformer, words: Sequence[str], widths: Widths = ALL) -> SentenceResult:
    (found,) = find(model, [words], widths)
    return found


# ---- By enumeration


def pieces_of(kind: str, words: Sequence[str]) -> int:
    return len(vocabulary(kind).encode(words).ids)


def test_the_words_have_one_piece_and_more():
    """Without them the tests below would show less."""
    assert [pieces_of("words", [word]) for word in WORDS] == [1, 1, 1, 1]
    assert min(pieces_of("pieces", [word]) for word in WORDS) == 1
    assert max(pieces_of("pieces", [word]) for word in WORDS) > 2


@pytest.mark.parametrize(("kind", "output"), [("pieces", "single"), ("pieces", "factored"), ("words", "single")])
@in_every_model
def test_with_nothing_pruned_every_prefix_and_sentence_gets_the_sum_over_all_derivations(name, kind, output):
    """Of 1 to 4 words; the prefixes are those up to each piece."""
    expected = listed(name, kind, output)
    for count in range(1, 5):
        found = find_one(model_of(name, kind, output), WORDS[:count])
        assert len(found.log_prefix) == pieces_of(kind, WORDS[:count])
        assert found.log_prefix == pytest.approx(expected.log_prefix[: len(found.log_prefix)], **SAME)
        assert found.log_prob == pytest.approx(expected.log_prob[count - 1], **SAME)


@in_both_vocabularies
@pytest.mark.parametrize("name", by_model(SYSTEM_OF))
def test_the_best_derivation_is_the_most_probable_of_all(name, kind):
    expected = listed(name, kind)
    for count in range(1, 5):
        found = find_one(model_of(name, kind), WORDS[:count])
        assert found.log_derivation == pytest.approx(expected.log_derivation[count - 1], **SAME)
        assert tuple(found.tree) == expected.heads[count - 1]


@in_both_vocabularies
def test_a_model_without_trees_has_the_log_probability_of_score_words(kind):
    """However narrow the beam: there is only one way to say a sentence."""
    model = model_of("txl-tokens", kind)
    sentences = [WORDS[:count] for count in range(1, 5)] + [["is"] * 20, ["zebra☃", "the"]]
    expected = score_words(model, sentences)
    for widths in (ALL, Widths(1, 1, 0, 0)):
        assert [found.log_prob for found in find(model, sentences, widths)] == pytest.approx(expected.tolist(), **SAME)


def test_a_model_without_trees_has_no_heads():
    assert find_one(model_of("txl-tokens"), WORDS).tree is None


@with_both_outputs
@in_every_kind_of_model
def test_the_next_words_and_the_end_have_what_the_prefix_has(name, output):
    """Before the first word there is 1 to share, and nothing of it for the end; <unknown> is a word."""
    model = small_model(name, Vocabulary.of_words([["a", "b"]]), output=output)
    following = ["a", "b", "?"]
    assert sum(math.exp(find_one(model, [word]).log_prefix[-1]) for word in following) == pytest.approx(1, abs=1e-5)
    for prefix in (["a"], ["?", "b"], ["b", "a", "a"], ["a", "b", "?", "a"]):
        found = find_one(model, prefix)
        longer = find(model, [[*prefix, word] for word in following])
        assert all(len(each.log_prefix) == len(prefix) + 1 for each in longer)
        shares = [each.log_prefix[-1] for each in longer] + [found.log_prob]
        assert math.exp(found.log_prefix[-1]) > 0
        assert sum(math.exp(share - found.log_prefix[-1]) for share in shares) == pytest.approx(1, abs=1e-4)


# ---- Several sentences


DIFFERENT = [WORDS, WORDS[:1], ["is"], ["theirs", "theirs"], ["is", "the", "difference"], WORDS]


@pytest.mark.parametrize("widths", [ALL, Widths(5, 3, 1, 4), Widths(1, 1, 1, 3)])
@in_every_kind_of_model
def test_together_sentences_get_what_each_gets_alone(name, widths):
    """Of different lengths, and with words of different numbers of pieces beside each other."""
    model = model_of(name)
    for found, words in zip(find(model, DIFFERENT, widths), DIFFERENT, strict=True):
        alone = find_one(model, words, widths)
        assert found.log_prefix == pytest.approx(alone.log_prefix, **SAME)
        assert found.log_prob == pytest.approx(alone.log_prob, **SAME)
        assert found.log_derivation == pytest.approx(alone.log_derivation, **SAME)
        assert (found.tree is None) == (alone.tree is None)
        assert found.tree is None or (found.tree == alone.tree).all()


# ---- Pruning


NARROW = [
    Widths(beam, word_beam, fast_track, transitions)
    for beam, word_beam in ((1, 1), (2, 1), (8, 2), (30, 30))
    for fast_track in (0, 2)
    for transitions in (2, 10)
]


@in_every_kind_of_model_with_trees
def test_a_pruned_search_never_finds_more(name):
    model, lost = model_of(name), 0
    whole = find(model, DIFFERENT)
    for widths in NARROW:
        for found, everything in zip(find(model, DIFFERENT, widths), whole, strict=True):
            assert (found.log_prefix <= everything.log_prefix + 1e-4).all()
            assert found.log_prob <= everything.log_prob + 1e-4
            assert found.log_derivation <= everything.log_derivation + 1e-4
            assert found.log_derivation <= found.log_prob
            lost += found.log_prob < everything.log_prob - 1e-3
    assert lost > 10


@in_every_kind_of_model_with_trees
def test_every_narrower_width_loses_probability(name):
    """Each by itself, the others as if there were no bound: where it bites, the sentence has less."""
    model = model_of(name)
    (everything,) = find(model, [WORDS])
    for widths in (ALL._replace(beam_width=2), ALL._replace(word_beam_width=1), ALL._replace(transitions=3)):
        found = find_one(model, WORDS, widths)
        assert found.log_prob < everything.log_prob - 1e-5, widths


@in_every_kind_of_model_with_trees
def test_the_prefix_is_summed_before_the_word_beam_is_cut(name):
    """A word beam of 1 takes nothing from the first two words: all that take the second come from one hypothesis."""
    model = model_of(name, "words")
    everything, found = find_one(model, WORDS), find_one(model, WORDS, ALL._replace(word_beam_width=1))
    assert found.log_prefix[:2] == pytest.approx(everything.log_prefix[:2], **SAME)
    assert found.log_prefix[3] < everything.log_prefix[3] - 1e-6
    # Those that take a word are more than the one that is kept, whose log p alone is what a beam of 1 finds.
    greedy = find_one(model, WORDS, Widths(1, 1, 1, 10))
    assert found.log_prefix[3] > greedy.log_prefix[3] + 1e-6


@pytest.mark.parametrize("name", by_model(["dtg", "txl-trans"]))
def test_an_arc_from_root_takes_no_place_while_words_are_to_come(name):
    """The one place would go to it: it is far more probable than the next word, and only the end can follow."""
    model = small_model(name, vocabulary("words"))
    with torch.no_grad():
        model.output.bias[vocabulary("words").transition("RIGHTARC")] += 20
        model.output.bias[vocabulary("words").transition("LEFTARC")] -= 20
    found = find_one(model, WORDS[:2], Widths(1, 1, 0))
    assert np.isfinite(found.log_prob) and found.tree is not None
    assert found.log_prob <= find_one(model, WORDS[:2]).log_prob + 1e-6


# In arc-swift a word follows after one arc anyway.
where_transitions_may_go_on = pytest.mark.parametrize("name", by_model(["dtg", "dtg-eager", "txl-trans"]))


def talks_seldom(name: str) -> Transformer:
    """It likes transitions far better than words."""
    model = small_model(name, vocabulary("words"))
    with torch.no_grad():
        model.output.bias[: len(vocabulary("words").reserved)] += 20
        model.output.bias[UNKNOWN] -= 20  # a word
    return model


@where_transitions_may_go_on
def test_the_fast_track_keeps_hypotheses_that_have_taken_the_word(name):
    """With one place alone, only the derivation with the most transitions takes it, when it has none left."""
    without, saved = (find_one(talks_seldom(name), WORDS, Widths(1, 5, count, 20)) for count in (0, 1))
    assert np.isfinite(without.log_prefix[-1])
    assert saved.log_prefix[-1] > without.log_prefix[-1] + 1e-6


@where_transitions_may_go_on
def test_in_the_last_step_no_hypothesis_competes_that_cannot_go_on(name):
    """With no transition allowed, none takes the one place of a word."""
    found = find_one(talks_seldom(name), WORDS, Widths(1, 5, 0, 0))
    assert np.isfinite(found.log_prefix).all()


@in_every_kind_of_model_with_trees
def test_a_width_as_wide_as_what_there_is_prunes_nothing(name):
    """Of four words there are a few hundred derivations, and no more than a dozen transitions between two words."""
    found, everything = (find_one(model_of(name), WORDS, widths) for widths in (Widths(2000, 2000, 0, 12), ALL))
    assert found.log_prefix == pytest.approx(everything.log_prefix, abs=0)
    assert found.log_prob == everything.log_prob


def test_a_score_beam_keeps_the_best_silent_symbols_and_a_wide_one_keeps_all():
    """There are more silent symbols in a vocabulary than any score beam below, but one."""
    found = [find_one(model_of("dtg-swift"), WORDS, ALL._replace(score_beam=width)) for width in (1, 2, 10**6, None)]
    assert found[0].log_prob < found[1].log_prob < found[2].log_prob == found[3].log_prob
    assert found[2].log_prefix.tolist() == found[3].log_prefix.tolist()


@in_every_kind_of_model_with_trees
def test_a_score_beam_as_wide_as_all_transitions_or_wider_prunes_nothing(name):
    model = model_of(name)
    everything, silent = find_one(model, WORDS[:3]), len(model.stepper().silent)
    for width in (silent, silent + 1, 10**6):
        found = find_one(model, WORDS[:3], ALL._replace(score_beam=width))
        assert found.log_prob == everything.log_prob, f"with a width of {width}, and {silent} transitions"
    assert find_one(model, WORDS[:3], ALL._replace(score_beam=1)).log_prob < everything.log_prob


@in_every_kind_of_model_with_trees
def test_a_wider_beam_finds_more_on_average(name):
    """In a sentence it may find less: what it keeps can crowd out what would have become more.

    A narrow one may find nothing at all, where no hypothesis that it kept could end.
    """
    sentences = [s.words for s in load("minilang", "dev", 60).sentences if len(s.words) <= 11][:10]
    assert len(sentences) == 10
    model = small_model(name, Vocabulary.of_words(sentences))
    narrow, wide = (
        np.array([found.log_prob for found in find(model, sentences, Widths(width, width, 5, 20))]) for width in (3, 30)
    )
    found = np.isfinite(narrow)
    assert found.any() and np.isfinite(wide).all()
    assert wide[found].mean() > narrow[found].mean()


@pytest.mark.parametrize("widths", [Widths(40, 3), Widths(6, 2), Widths(12, 12)])
@in_every_kind_of_model_with_trees
def test_hypotheses_that_come_too_late_for_the_word_beam_are_not_followed(name, widths, monkeypatch):
    """Results do not change, with words of one piece or of several; some positions are never computed."""
    sentences, costs = [["theirs", "the", "the", "is", "the"], ["is"] * 6], []

    def once(model: Transformer) -> list:
        stepper = model.stepper()
        found = search_words(stepper, model.vocabulary, sentences, widths)
        costs.append(stepper.positions)
        return found

    for kind in ("words", "pieces"):
        model = small_model(name, vocabulary(kind))
        with torch.no_grad():
            model.output.bias[: len(vocabulary(kind).reserved)] -= 6  # so that further transitions cost much
        found = once(model)
        with monkeypatch.context() as context:
            context.setattr(beam, "too_little", lambda arrived, wanted, widths: np.full(len(wanted.symbol), -np.inf))
            everything = once(model)
        for one, other in zip(found, everything, strict=True):
            for mine, theirs in zip((*one.begun, *one[1:]), (*other.begun, *other[1:]), strict=True):
                np.testing.assert_allclose(mine, theirs, atol=1e-5)
    assert sum(costs[::2]) < sum(costs[1::2])


# ---- Trees


# Nothing faster follows a search so far.
@pytest.mark.parametrize(
    ("name", "widths"), slow([("dtg", Widths(1, 1, 1, 130)), *((name, Widths(3, 2, 2, 130)) for name in SYSTEM_OF)])
)
def test_a_sentence_of_forty_words_has_a_projective_tree_with_one_root(name, widths):
    model = model_of(name)
    found = find_one(model, (WORDS * 10), widths)
    assert len(found.log_prefix) == pieces_of("pieces", WORDS * 10)
    assert np.isfinite(found.log_prefix).all()
    assert (np.diff(found.log_prefix) <= 1e-4).all()
    assert found.log_prob <= found.log_prefix[-1] + 1e-4
    # A greedy search may have closed no tree at the end, and then says so.
    if found.tree is None:
        assert found.log_prob == found.log_derivation == -np.inf
    else:
        assert len(found.tree) == 40 and why_no_tree(found.tree.tolist()) is None
    assert widths.beam_width == 1 or found.tree is not None


def test_hypotheses_that_have_ended_cost_nothing():
    """A short sentence beside a long one costs what it costs alone, but that both begin with the same <ROOT>."""
    model, short, long = model_of("dtg"), WORDS[2:], WORDS * 2
    costs = []
    for sentences in ([short], [long], [short, long]):
        stepper = model.stepper()
        search(stepper, model.vocabulary, sentences, Widths(10, 10, 5, 10))
        costs.append(stepper.positions)
    assert costs[2] == costs[0] + costs[1] - 1


# ---- How many at once


def test_the_fewer_hypotheses_a_sentence_keeps_the_more_sentences_are_searched_at_once():
    wide = [Widths(1), Widths(30), Widths(100), Widths(300), Widths(10_000)]
    assert [one.at_once for one in wide] == [128, 34, 10, 8, 8]
    assert [one._replace(within=8.0).at_once for one in wide] == [128, 128, 128, 54, 8]
    assert Widths(0).at_once == 128  # which the search refuses with a reason


@in_every_kind_of_model
@pytest.mark.parametrize("widths", [Widths(3, 3), *slow([(Widths(200, 200),)])])
def test_more_sentences_than_are_searched_at_once_are_found_in_their_order(name, widths, monkeypatch):
    monkeypatch.setattr(beam, "MOST", 12)
    monkeypatch.setattr(beam, "FEWEST", 2)
    model, sentences = model_of(name), [WORDS[:1], *ALIKE, *ALIKE, WORDS[1:]]
    found = list(in_parts(search, model, sentences, widths))
    for one, words in zip(found, sentences, strict=True):
        assert one.log_prob == pytest.approx(find_one(model, words, widths).log_prob, **SAME)
    beginnings = list(in_parts(search_beginnings, model, sentences, widths))
    for one, whole in zip(beginnings, found, strict=True):
        np.testing.assert_allclose(one.log_prefix, whole.log_prefix, atol=1e-4)
    assert list(in_parts(search, model, [], widths)) == []


# ---- Beginnings


ALIKE = [WORDS, WORDS[:2], [*WORDS[:3], "the"], WORDS, ["is", *WORDS[1:]]]
TIGHT = Widths(7, 5, 2)


@in_every_kind_of_model
def test_sentences_that_begin_alike_are_read_once_and_found_as_if_alone(name):
    model = model_of(name)
    stepper, alone = model.stepper(), [find_one(model, words, TIGHT) for words in ALIKE]
    for found, one in zip(search(stepper, model.vocabulary, ALIKE, TIGHT), alone, strict=True):
        np.testing.assert_allclose(found.log_prefix, one.log_prefix, atol=1e-4)
        assert found.log_prob == pytest.approx(one.log_prob, **SAME)
        assert found.log_derivation == pytest.approx(one.log_derivation, **SAME)
    costs = model.stepper()
    search(costs, model.vocabulary, [WORDS, WORDS], TIGHT)
    twice = costs.positions
    costs = model.stepper()
    search(costs, model.vocabulary, [WORDS], TIGHT)
    assert twice == costs.positions


@in_every_kind_of_model
def test_a_beginning_is_found_as_in_its_sentence_and_costs_no_end(name):
    model = model_of(name)
    stepper = model.stepper()
    beginnings = search_beginnings(stepper, model.vocabulary, ALIKE, TIGHT)
    whole = model.stepper()
    for beginning, found in zip(beginnings, search(whole, model.vocabulary, ALIKE, TIGHT), strict=True):
        np.testing.assert_allclose(beginning.log_prefix, found.log_prefix, atol=1e-4)
    assert stepper.positions <= whole.positions
    assert name == "txl-tokens" or stepper.positions < whole.positions


@in_every_kind_of_model
def test_a_sentence_is_followed_word_by_word(name):
    model = model_of(name)
    speaks, stepper = model.vocabulary, model.stepper()
    *followed, end = follow(stepper, speaks, WORDS, ALL)
    ends, found = [stop - 1 for _, stop in speaks.encode(WORDS).spans], find_one(model, WORDS)
    np.testing.assert_allclose([so_far.log_prob for so_far in followed], found.log_prefix[ends], atol=1e-4)
    assert end.log_prob == pytest.approx(found.log_prob, abs=1e-4)
    assert end.tree.tolist() == (len(WORDS) * [OPEN] if found.tree is None else found.tree.tolist())
    for number, so_far in enumerate(followed, start=1):
        assert len(so_far.tree) == number and so_far.log_derivation <= so_far.log_prob + 1e-6
        assert so_far.visible[-1] == number
        if name == "dtg":  # in arc-standard a word is on the stack until it has a head
            assert so_far.visible.tolist() == [word for word in range(1, number + 1) if so_far.tree[word - 1] == OPEN]
        elif not model.reading.pops:
            assert so_far.visible.tolist() == list(range(1, number + 1))
        if name == "txl-tokens":
            assert (so_far.tree == OPEN).all() and so_far.log_derivation == pytest.approx(so_far.log_prob, abs=1e-4)
        else:
            assert (so_far.tree == OPEN).any(), "a word that may yet get dependents to its right is on the stack"


# ---- Searches that die


def assert_dead(found: SentenceResult, alive: int) -> None:
    """Up to so many pieces it lived; of what comes later there is nothing, and no NaN."""
    assert np.isfinite(found.log_prefix[:alive]).all()
    assert (found.log_prefix[alive:] == -np.inf).all()
    assert (found.log_prob, found.tree, found.log_derivation) == (-np.inf, None, -np.inf)


@in_every_kind_of_model_with_trees
def test_without_transitions_words_come_but_no_end(name):
    model = model_of(name)
    for found, words in zip(find(model, DIFFERENT, ALL._replace(transitions=0)), DIFFERENT, strict=True):
        assert_dead(found, alive=pieces_of("pieces", words))


@pytest.mark.parametrize("name", by_model(["dtg", "dtg-swift", "txl-trans"]))
def test_with_one_transition_one_word_ends_and_two_words_may_not(name):
    """A word needs its arc from ROOT. In arc-standard a second word needs one more, in the same place."""
    model = model_of(name, "words")
    one, two = find(model, [["is"], ["is", "the"]], ALL._replace(transitions=1))
    assert one.log_prob == pytest.approx(find_one(model, ["is"]).log_prob, **SAME)
    assert one.tree.tolist() == [0]
    if name == "dtg-swift":
        assert sorted(two.tree.tolist()) in ([0, 1], [0, 2])
    else:
        assert_dead(two, alive=2)


def test_in_arc_eager_a_word_and_root_must_be_popped_too():
    model = model_of("dtg-eager", "words")
    assert_dead(find_one(model, ["is"], ALL._replace(transitions=2)), alive=1)
    found = find_one(model, ["is"], ALL._replace(transitions=3))
    assert found.log_prob == pytest.approx(find_one(model, ["is"]).log_prob, **SAME)


@pytest.mark.parametrize("beside", [[], [["is"]], [["is", "is", "is"], ["theirs"]]])
@pytest.mark.parametrize("piece", [1, *slow([0, -1])])
@in_every_kind_of_model
def test_a_search_may_die_at_any_piece_of_a_word_alone_or_beside_others(name, piece, beside):
    speaks = vocabulary("pieces")
    ids = speaks.encode([LONG_WORD]).ids
    assert len(set(ids)) == len(ids) > 2
    dead = ids[piece]
    model = never(small_model(name), dead)
    for words in (["is", LONG_WORD, "is"], ["is", LONG_WORD], [LONG_WORD]):
        expected = [speaks.encode(sentence).ids for sentence in beside]
        dies, *others = find(model, [words, *beside], Widths(20, 20, 5, 20))
        assert_dead(dies, alive=speaks.encode(words).ids.index(dead))
        for found, sentence, its in zip(others, beside, expected, strict=True):
            alone = find_one(model, sentence, Widths(20, 20, 5, 20))
            if dead in its:
                assert_dead(found, alive=its.index(dead))
            else:
                assert np.isfinite(found.log_prob)
            assert found.log_prob == pytest.approx(alone.log_prob, **SAME)
            assert found.log_prefix == pytest.approx(alone.log_prefix, **SAME)


@pytest.mark.parametrize(
    "widths, complaint",
    [
        (Widths(beam_width=0), "beam_width must be at least 1, not 0"),
        (Widths(word_beam_width=0), "word_beam_width must be at least 1, not 0"),
        (Widths(fast_track=-1), "fast_track must be at least 0, not -1"),
        (Widths(transitions=-1), "transitions must be at least 0, not -1"),
    ],
)
def test_a_width_that_leaves_no_hypothesis_is_refused(widths, complaint):
    with pytest.raises(UserError, match=complaint):
        find(model_of("dtg"), [WORDS], widths)


# ---- What is asked


@pytest.mark.parametrize("sentences, number", [([[]], 1), ([["is"], [], ["is"], []], 2)])
@in_every_kind_of_model
def test_a_sentence_without_words_is_refused_with_its_number(name, sentences, number):
    with pytest.raises(UserError, match=f"sentence {number} has no words; leave it out"):
        find(model_of(name), sentences)


def test_of_no_sentences_nothing_is_found():
    assert find(model_of("dtg"), []) == []


@in_every_kind_of_model
def test_a_model_whose_probabilities_are_no_numbers_is_refused(name):
    """As score_trees and score_words do."""
    model = small_model(name)
    with torch.no_grad():
        model.embedding.weight[:] = torch.nan
    with pytest.raises(UserError, match="no numbers"):
        find(model, [WORDS])


@in_both_vocabularies
@in_every_kind_of_model
def test_unknown_characters_are_words_like_others(name, kind):
    """In bytes, or as <unknown>."""
    words = ["the", "☃", "zebra☃é", "é́"]
    found = find_one(model_of(name, kind), words, Widths(20, 20, 5, 20))
    assert len(found.log_prefix) == pieces_of(kind, words) >= len(words)
    assert np.isfinite(found.log_prefix).all() and np.isfinite(found.log_prob)


def test_the_defaults_are_those_of_the_paper():
    assert Widths() == (300, 300, 5, None, None, None)
    assert search(model_of("dtg").stepper(), vocabulary("pieces"), [["is"]])[0].tree.tolist() == [0]


@in_every_kind_of_model
def test_the_same_search_finds_the_same(name):
    """Also with a stepper that has searched before: nothing is left of it but its slots."""
    stepper, speaks, widths = model_of(name).stepper(), vocabulary("pieces"), Widths(5, 5, 1, 10)
    first, second = (search(stepper, speaks, [WORDS], widths)[0] for _ in range(2))
    assert second.log_prob == first.log_prob and (second.log_prefix == first.log_prefix).all()
