"""The number of layers that a word needs if trees are brackets (sequences/reach.py); tests/test_reach.py has arcs."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from test_constituency import LABELS, in_pieces, random_tree
from test_reach import (
    assert_gradients_agree,
    assert_padding_is_nothing,
    assert_pairs_of_words,
    assert_pieces_are_equal,
    assert_pieces_are_read,
    phrase,
    pieces_of,
    shares,
    walked,
)

from dtglib.data.corpora import load
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.transformer import TransformerConfig
from dtglib.sequences.columns import NOTHING, Compiled, Sequences
from dtglib.sequences.reach import before_words, generated, layers_needed, of_all, of_pairs, unreached, with_heads
from dtgpapers.constituency.compile import composed, in_a_row
from dtgpapers.constituency.family import BracketModel, BracketReading
from dtgpapers.constituency.machine import CLOSE, GEN
from dtgpapers.constituency.naive import simulate
from dtgpapers.constituency.trees import bracket_symbols, labels_of, symbols_of


def test_the_numbers_are_those_of_a_walk_over_a_literal_stack():
    chance = random.Random(2)
    for _ in range(200):
        words = phrase(chance)
        tree, pieces = random_tree(chance, len(words)), pieces_of(words, in_pieces())
        rows = simulate(tree, pieces)
        v = composed(in_pieces(), [(words, tree)]).sentence(0)
        counted = iter([word for word, count in enumerate(pieces, start=1) for _ in range(count)])
        reads = [next(counted) if row.symbol == GEN else None for row in rows]
        assert layers_needed(v).tolist() == walked([[*row.sees] for row in rows], reads, len(words))
        assert (with_heads(v) == v.word).all(), "a bracket is read without a word"


def test_a_word_needs_one_layer_and_another_one_for_each_closed_bracket_around_it():
    chance = random.Random(3)
    for _ in range(200):
        words = phrase(chance)
        tree = random_tree(chance, len(words))
        v = composed(in_pieces(), [(words, tree)]).sentence(0)
        asked = iter(np.flatnonzero(v.target != NOTHING)[pieces_before_each_symbol(v)])
        closed, opened = [], []
        for symbol in tree:
            here = next(asked)
            own = v.word[here] - 1
            expected = [0 if word == own else brackets + 1 for word, brackets in enumerate(closed)]
            assert layers_needed(v)[here, : len(closed)].tolist() == expected
            if symbol == GEN:
                closed.append(0)
            elif symbol == CLOSE:
                for word in range(opened.pop(), len(closed)):
                    closed[word] += 1
            else:
                opened.append(len(closed))


def pieces_before_each_symbol(v: Compiled) -> np.ndarray:
    """True for predictions of a symbol of the tree, false for those of a further piece of a word."""
    places = np.flatnonzero(v.target != NOTHING)
    following = np.append(v.word, NOTHING)[places + 1]
    return ~((v.word[places] > 0) & (v.word[places] == following))


def test_one_layer_is_enough_where_nothing_is_popped():
    words = "There", "is", "a", "difference"
    plain = in_a_row(in_pieces(), [(words, (3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1))])
    needed = of_pairs(plain.sentence(0))
    assert needed.max() == 1 and unreached(needed, 1) == 0
    assert unreached(needed, 0) == 100 * np.mean(needed == 1)


# ---- Pairs


def drawn(seed: int, count: int) -> Iterator[tuple[Compiled, int]]:
    """Random trees as they are read, each with its number of words."""
    chance = random.Random(seed)
    for _ in range(count):
        words = phrase(chance)
        yield composed(in_pieces(), [(words, random_tree(chance, len(words)))]).sentence(0), len(words)


def test_an_earlier_word_has_been_read_with_all_its_pieces_and_then_no_path_to_it_is_missing():
    assert_pieces_are_read(v for v, _ in drawn(4, 100))


def test_any_piece_of_a_word_that_has_been_read_needs_as_many_layers_as_its_last_one():
    assert_pieces_are_equal(v for v, _ in drawn(5, 100))


def test_before_words_the_pairs_are_those_of_a_word_and_an_earlier_one():
    for v, words in drawn(6, 50):
        assert_pairs_of_words(v, words)


def test_padding_adds_no_pair_and_changes_no_number():
    chance = random.Random(7)
    pairs = [(words, random_tree(chance, len(words))) for words in (phrase(chance) for _ in range(9))]
    assert_padding_is_nothing(composed(in_pieces(), pairs))


def test_a_sentence_of_one_word_and_no_sentence():
    v = composed(in_pieces(), [(["There"], (2, 0, 1))]).sentence(0)
    assert of_pairs(v, asked=before_words).size == 0
    assert of_all(Sequences(v, np.array([0]))) == []


# ---- Gradients


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_the_gradient_of_a_word_is_zero_just_where_it_is_not_reached(layers):
    words = "a", "b", "c", "d", "e", "f", "g", "h"
    torch.manual_seed(9)
    reading = BracketReading(composes=True, typed=True)
    vocabulary = Vocabulary.of_words([words], bracket_symbols(LABELS))
    config = TransformerConfig("tg", arcs="w+arc", layers=layers, width=16, heads=2, inner=32)
    network = BracketModel(config, vocabulary, reading).eval()
    sequences = reading.compile(vocabulary, [(words, random_tree(random.Random(8), len(words)))])
    assert_gradients_agree(network, sequences, words, generated)


# ---- Treebanks


def with_brackets(sentences) -> Sequences:
    labels = labels_of(sentence.brackets for sentence in sentences)
    speaking = Vocabulary.of_words([sentence.words for sentence in sentences], bracket_symbols(labels))
    return composed(speaking, [(s.words, symbols_of(s.brackets, labels)) for s in sentences])


def test_the_percentages_of_minilang_are_those_that_were_counted_elsewhere():
    sequences = with_brackets(load("minilang", "dev", 200).sentences)
    assert shares(sequences, (2, 4, 6, 8, 16)) == pytest.approx([41.8, 22.0, 10.7, 5.6, 0.3], abs=0.05)


def test_the_percentages_of_gum_are_those_that_were_counted_elsewhere(data):
    if not (data / "gum_const").is_dir():
        pytest.skip("GUM's constituents are not here: put the folder const/ of amir-zeldes/gum into gum_const/")
    found = shares(with_brackets(load("gum-constituents", "dev", 400).sentences), (6, 16))
    assert found == pytest.approx([13.4, 0.4], abs=0.05)


def test_on_all_of_minilang_the_numbers_are_those_of_a_walk_over_a_literal_stack():
    sentences = load("minilang", "dev").sentences
    labels = labels_of(sentence.brackets for sentence in sentences)
    sequences = with_brackets(sentences)
    for number, sentence in enumerate(sentences):
        rows = simulate(symbols_of(sentence.brackets, labels), [1] * len(sentence.words))
        words = iter(range(1, len(sentence.words) + 1))
        reads = [next(words) if row.symbol == GEN else None for row in rows]
        expected = walked([[*row.sees] for row in rows], reads, len(sentence.words))
        assert layers_needed(sequences.sentence(number)).tolist() == expected, sentence.id
