"""Probabilities of words that are made of pieces, and what else is known between two words, by enumeration.

The vocabulary is closed: two pieces that start a word and <unknown>, which starts one, too, and one piece that goes on
with a word. So the words are a, ac, acc, ..., b, bc, ... and ?, ?c, ...; of each beginning there is a last word that
is looked at, and the share of the longer ones is known.
"""

import itertools
import math
from functools import cache

import numpy as np
import pytest
import torch
from toys import DTG, READINGS, small_model

from dtglib.data.symbols import arcs
from dtglib.data.vocabulary import END, UNKNOWN, Encoded, Vocabulary
from dtglib.decode.beam import Widths, search
from dtglib.decode.word_by_word import follow, search_beginnings, search_words
from dtglib.evaluate.surprisal import beginnings, moments, surprisals
from dtglib.families.base import build, family
from dtglib.network.transformer import TransformerConfig
from dtglib.transitions.protocol import OPEN
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.examples import counts
from dtgpapers.pushdown.reading import SYMBOLS

pytestmark = pytest.mark.usefixtures("one_thread")

ALL = Widths(10**6, 10**6, 0)
SIZE = {"layers": 2, "width": 16, "heads": 2, "inner": 32}
EVERY = [*READINGS, "pushdown", "gilt"]


class Spelled(Vocabulary):
    """Its words are spelled with its entries: "acc" is ▁a c c."""

    def encode(self, words):
        ids, spans = [], []
        for word in words:
            first = UNKNOWN if word[0] == "?" else self.entries.index("▁" + word[0])
            spans.append((len(ids), len(ids) + len(word)))
            ids += [first, *[self.entries.index(letter) for letter in word[1:]]]
        return Encoded(tuple(ids), tuple(spans))


def spelled(symbols) -> Spelled:
    return Spelled((*symbols.entries, "▁a", "▁b", "c"), symbols)


@cache
def model(name: str, seed: int = 5):
    torch.manual_seed(seed)
    if name == "gilt":
        config = GiltConfig(name, **SIZE, feature_width=4, most_arcs=9)
        network = build(config, spelled(counts(config.most_arcs)))
    elif name == "pushdown":
        network = build(TransformerConfig(name, **SIZE), spelled(SYMBOLS))
    else:
        return small_model(name, spelled(arcs(3)), seed).eval()
    with torch.no_grad():
        network.embedding.weight *= 3
        network.output.bias.normal_()
    return network.eval()


def words_of(letters: int) -> list[str]:
    return [start + "c" * more for start in "ab?" for more in range(letters)]


# ---- Words


@pytest.mark.parametrize("before", [[], ["ac"], ["b", "?"]])
@pytest.mark.parametrize("name", EVERY)
def test_over_all_words_and_the_end_probabilities_sum_to_one(name, before):
    network, letters = model(name), 2
    after = [[*before, word] for word in words_of(letters)]
    of_words = [one.of_words[-1] for one in beginnings(network, after, ALL)]
    begun = search_beginnings(network.stepper(), network.vocabulary, after, ALL)
    shares = [-value for value in of_words]
    for words, value, log_over in zip(after, of_words, (one.log_over[-1] for one in begun), strict=True):
        if len(words[-1]) == letters:  # all longer words that begin like this one
            shares.append(-value - log_over + math.log(-math.expm1(log_over)))
    if before:
        (whole,) = surprisals(network, [before], ALL)
        shares.append(-whole.end)
    assert np.exp(shares).sum() == pytest.approx(1, abs=1e-5)


def test_differences_of_prefixes_are_no_probabilities_of_words():
    network, before = model("txl-tokens"), ["ac"]
    after = [[*before, word] for word in words_of(12)]
    (whole,) = surprisals(network, [before], ALL)
    shares = [one.of_prefixes[-1] for one in beginnings(network, after, ALL)] + [whole.of_end]
    assert abs(np.exp(-np.array(shares)).sum() - 1) > 0.1


@pytest.mark.parametrize("name", EVERY)
def test_a_word_is_over_when_another_word_begins_or_the_sentence_ends(name):
    """So p(the words, over) is the sum over the first pieces of next words, and the end."""
    network, words = model(name), ["b", "ac"]
    (read,) = search_words(network.stepper(), network.vocabulary, [words], ALL)
    followed = search_beginnings(network.stepper(), network.vocabulary, [[*words, start] for start in "ab?"], ALL)
    by_sums = np.logaddexp.reduce([read.log_prob, *(one.log_prefix[-1] for one in followed)])
    assert read.begun.log_prefix[-1] + read.begun.log_over[-1] == pytest.approx(by_sums, abs=1e-5)
    assert read.begun.log_over[-1] < -0.01


@pytest.mark.parametrize("name", EVERY)
def test_whole_sentences_and_their_beginnings_and_pictures_have_the_same_numbers(name):
    network, sentences = model(name), [["b", "ac", "a"], ["b", "ac"], ["?cc"]]
    whole = list(surprisals(network, sentences, ALL))
    for words, one, begun in zip(sentences, whole, beginnings(network, sentences, ALL), strict=True):
        np.testing.assert_allclose(one.of_words, begun.of_words, atol=1e-5)
        np.testing.assert_allclose(one.of_prefixes, begun.of_prefixes, atol=1e-5)
        drawn = [moment.surprisal for moment in moments(network, words, ALL)]
        np.testing.assert_allclose(drawn, [*one.of_words, one.end], atol=1e-5)
        (found,) = search(network.stepper(), network.vocabulary, [words], ALL)
        assert one.of_words.sum() + one.end == pytest.approx(-found.log_prob, abs=1e-5)


def test_where_words_are_entries_they_are_over_at_once():
    network = small_model("dtg", Vocabulary.of_words([["a", "b"]]))
    (found,) = surprisals(network, [["b", "a"]])
    assert found.over.tolist() == [0, 0]
    assert found.of_words.tolist() == found.of_prefixes.tolist()


# ---- Between words


@torch.no_grad()
def derivations(network, words):
    """The slow truth: all derivations of the words, one symbol after the other.

    For each word, and the end: those that take it next (log p so far, log p that some word or the end comes next), and
    those that have just read it (log p, tree, distribution of the next symbol).
    """
    stepper, vocabulary = network.stepper(), network.vocabulary
    encoded = vocabulary.encode(words)
    targets, last = [*encoded.ids, END], {stop: word for word, (_, stop) in enumerate(encoded.spans)}
    firsts = {start: word for word, (start, _) in enumerate(encoded.spans)} | {len(encoded.ids): len(words)}
    taking, read = [[[] for _ in range(len(words) + 1)] for _ in range(2)]
    silent = set(stepper.silent.tolist())

    def go(states: list, log_p: float, place: int, steps: int) -> None:
        state = states[-1]
        log_probs = stepper.log_probs(state)[0].double().numpy()
        target = targets[place]
        for symbol in np.flatnonzero(log_probs > -np.inf).tolist():
            if symbol == target:
                if place in firsts:
                    any_word = (
                        log_probs[target] if target == END else np.logaddexp.reduce(log_probs[vocabulary.starts_word])
                    )
                    taking[firsts[place]].append(log_p + any_word)
                if target == END:
                    read[-1].append((log_p + log_probs[END], stepper.tree(state, 0).tolist(), None))
                    continue
            elif symbol not in silent or steps > 12:
                continue
            after = stepper.step(state, np.array([0]), np.array([symbol]), states)
            value, moved = log_p + log_probs[symbol], symbol == target
            if moved and place + 1 in last:
                following = stepper.log_probs(after)[0].double().exp().numpy()
                read[last[place + 1]].append((value, stepper.tree(after, 0).tolist(), following))
            go([*states, after], value, place + moved, 0 if moved else steps + 1)

    go([stepper.init(len(words) + 1)], 0.0, 0, 0)
    return taking, read


def entropy(distribution) -> float:
    return -sum(p * math.log(p) for p in distribution if p > 0)


@pytest.mark.parametrize("name", ["txl-tokens", "txl-trans", *DTG, "pushdown"])
def test_entropies_hypotheses_and_structure_are_those_of_all_derivations(name):
    network, words = model(name), ["b", "ac", "a"]
    taking, read = derivations(network, words)
    (found,) = search_words(network.stepper(), network.vocabulary, [words], ALL)
    (surprisal,) = surprisals(network, [words], ALL)
    np.testing.assert_allclose(found.log_before, [np.logaddexp.reduce(values) for values in taking], atol=1e-5)
    assert found.hypotheses.tolist() == [len(rows) for rows in read]
    over_before = 0.0
    for word, rows in enumerate(read):
        total = np.logaddexp.reduce([log_p for log_p, _, _ in rows])
        shares = [math.exp(log_p - total) for log_p, _, _ in rows]
        of_trees = {}
        for share, (_, tree, _) in zip(shares, rows, strict=True):
            of_trees[tuple(tree)] = of_trees.get(tuple(tree), 0) + share
        assert found.entropy_of_trees[word] == pytest.approx(entropy(of_trees.values()), abs=1e-5)
        if name in ("dtg", "txl-trans"):
            _, best, _ = max(rows, key=lambda row: row[0])
            assert found.without_head[word] == list(best).count(OPEN)
        structure = over_before - np.logaddexp.reduce(taking[word])
        assert surprisal.structure[word] == pytest.approx(structure, abs=1e-5)
        assert -1e-5 < structure <= [*surprisal.of_words, surprisal.end][word] + 1e-5
        if word < len(words):
            mixture = sum(share * following for share, (_, _, following) in zip(shares, rows, strict=True))
            assert found.entropy[word + 1] == pytest.approx(entropy(mixture), abs=1e-5)
            over_before = total + found.begun.log_over[word]
    assert found.entropy[0] == pytest.approx(
        entropy(network.stepper().log_probs(network.stepper().init(1))[0].exp().tolist()), abs=1e-5
    )


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


def test_the_families_that_are_asked_are_all_kinds_of_steppers():
    assert {family(name).paper for name in EVERY} >= {"dtg", "gilt"}
