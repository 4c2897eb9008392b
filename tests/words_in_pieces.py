"""Words of a small closed vocabulary, and what must hold of any model that reads them, shown by enumeration.

Two pieces and <unknown> start a word, and one piece goes on with a word. So the words are a, ac, acc, ..., b, bc, ...
and ?, ?c, ...; of each beginning there is a last word that is looked at, and the share of the longer ones is known.
"""

import math

import numpy as np
import pytest
import torch

from dtglib.data.vocabulary import END, UNKNOWN, Encoded, Vocabulary
from dtglib.decode.beam import Widths, search
from dtglib.decode.word_by_word import search_beginnings, search_words
from dtglib.evaluate.surprisal import moments, of_beginnings, surprisals
from dtglib.transitions.protocol import OPEN

ALL = Widths(10**6, 10**6, 0)
SIZE = {"layers": 2, "width": 16, "heads": 2, "inner": 32}


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


def with_opinions(network):
    """The network with weights so large that its probabilities differ much."""
    with torch.no_grad():
        network.embedding.weight *= 3
        network.output.bias.normal_()
    return network.eval()


def words_of(letters: int) -> list[str]:
    return [start + "c" * more for start in "ab?" for more in range(letters)]


# ---- Words


def assert_sums_to_one(network, before):
    """Over all next words and the end, probabilities sum to one."""
    letters = 2
    after = [[*before, word] for word in words_of(letters)]
    of_words = [one[-1] for one in of_beginnings(network, ALL)(after)]
    begun = search_beginnings(network.stepper(), network.vocabulary, after, ALL)
    shares = [-value for value in of_words]
    for words, value, log_over in zip(after, of_words, (one.log_over[-1] for one in begun), strict=True):
        if len(words[-1]) == letters:  # all longer words that begin like this one
            shares.append(-value - log_over + math.log(-math.expm1(log_over)))
    if before:
        (whole,) = surprisals(network, [before], ALL)
        shares.append(-whole.end)
    assert np.exp(shares).sum() == pytest.approx(1, abs=1e-5)


def assert_words_end(network):
    """p(the words, the last one complete) is the sum over the first pieces of next words, and the end."""
    words = ["b", "ac"]
    (read,) = search_words(network.stepper(), network.vocabulary, [words], ALL)
    followed = search_beginnings(network.stepper(), network.vocabulary, [[*words, start] for start in "ab?"], ALL)
    by_sums = np.logaddexp.reduce([read.log_prob, *(one.log_prefix[-1] for one in followed)])
    assert read.begun.log_prefix[-1] + read.begun.log_over[-1] == pytest.approx(by_sums, abs=1e-5)
    assert read.begun.log_over[-1] < -0.01


def assert_searches_agree(network):
    """Whole sentences, their beginnings and pictures have the same numbers."""
    sentences = [["b", "ac", "a"], ["b", "ac"], ["?cc"]]
    whole = list(surprisals(network, sentences, ALL))
    begun = search_beginnings(network.stepper(), network.vocabulary, sentences, ALL)
    for words, one, prefix, of_words in zip(
        sentences, whole, begun, of_beginnings(network, ALL)(sentences), strict=True
    ):
        np.testing.assert_allclose(one.of_words, of_words, atol=1e-5)
        np.testing.assert_allclose(one.of_pieces, -np.diff(prefix.log_prefix, prepend=0.0), atol=1e-5)
        drawn = [moment.surprisal for moment in moments(network, words, ALL)]
        np.testing.assert_allclose(drawn, [*one.of_words, one.end], atol=1e-5)
        (found,) = search(network.stepper(), network.vocabulary, [words], ALL)
        assert one.of_words.sum() + one.end == pytest.approx(-found.log_prob, abs=1e-5)


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


def assert_equals_enumeration(network, counts_open=False):
    """Entropies, hypotheses and structure are those of all derivations of a sentence."""
    words = ["b", "ac", "a"]
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
        if counts_open:
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
