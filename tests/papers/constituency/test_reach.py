"""The number of layers that a word needs, with arcs and with brackets.

Compared with walks over a literal stack, with gradients, and with percentages that were counted elsewhere.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import numpy as np
import pytest
import torch
import trees
from naive import simulate
from test_constituency import LABELS
from test_constituency import in_pieces as pieces_and_brackets
from test_constituency import random_tree as random_brackets

from dtglib.data.corpora import load
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import build
from dtglib.network.transformer import Transformer, TransformerConfig, batch_of
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import COMPOSE, NOTHING, STACK, Compiled, Sequences
from dtglib.sequences.readings import WORDS, on_a_stack
from dtglib.sequences.structure import dense
from dtglib.transitions import SYSTEMS, Kind, oracle
from dtgpapers.constituency.compile import composed, in_a_row
from dtgpapers.constituency.family import BracketModel, BracketReading
from dtgpapers.constituency.machine import CLOSE, GEN
from dtgpapers.constituency.naive import simulate as simulate_brackets
from dtgpapers.constituency.reach import (
    NEVER,
    before_words,
    earlier,
    generated,
    layers_needed,
    of_all,
    of_pairs,
    predictions,
    unreached,
    with_heads,
)
from dtgpapers.constituency.trees import bracket_symbols, labels_of, symbols_of


@cache
def in_pieces() -> Vocabulary:
    return Vocabulary.train([sentence.words for sentence in load("minilang", "train", 300).sentences], 400)


def phrase(chance: random.Random, most: int = 9) -> tuple[str, ...]:
    return chance.choice(load("minilang", "dev", 100).sentences).words[: chance.randint(1, most)]


def pieces_of(words: Sequence[str], speaking: Vocabulary) -> list[int]:
    return [stop - start for start, stop in speaking.encode(words).spans]


def walked(sees: Sequence[Sequence[int]], reads: Sequence[int | None], words: int) -> list[list[int]]:
    """The definition: from each position, walk to what it sees, then to what that sees, and so on."""
    found = []
    for start in range(len(sees)):
        needed, here, steps = [NEVER] * words, {start}, 0
        walked_to = set()
        while here:
            for position in here:
                if word := reads[position]:
                    needed[word - 1] = min(needed[word - 1], steps)
            walked_to |= here
            here = {seen for position in here for seen in sees[position]} - walked_to
            steps += 1
        found.append(needed)
    return found


# ---- The definition


@pytest.mark.parametrize("system", SYSTEMS)
def test_in_dependency_systems_the_numbers_are_those_of_a_walk_over_a_literal_stack(system):
    chance = random.Random(1)
    for _ in range(100):
        words = phrase(chance)
        heads, pieces = trees.random_tree(chance, len(words)), pieces_of(words, in_pieces())
        naive = simulate(system, oracle(SYSTEMS[system], heads), pieces)
        sees = [np.flatnonzero(row).tolist() for row in naive.visible]
        v = on_a_stack(system).compile(in_pieces(), [(words, heads)]).sentence(0)
        of_words = [None if taken.action else taken.word for taken in naive.inputs]
        assert layers_needed(v).tolist() == walked(sees, of_words, len(words))
        and_heads = [taken.word for taken in naive.inputs]
        assert layers_needed(v, with_heads).tolist() == walked(sees, and_heads, len(words))


def test_with_arcs_a_word_needs_one_layer_and_another_one_for_each_arc_that_has_taken_it_up():
    """If arcs are read with their heads, only those count that came after the last one of which the word is the head.
    The second copy of that one reads the word itself."""
    chance, system = random.Random(10), "arc-standard"
    for _ in range(200):
        words = phrase(chance)
        heads = trees.random_tree(chance, len(words))
        v = on_a_stack(system).compile(in_pieces(), [(words, heads)]).sentence(0)
        stack, arcs_over, arcs_since = [[0]], {0: 0}, {0: 0}  # an entry is a word and all words below it
        of_arc, here = None, 0
        found, found_with_heads = layers_needed(v), layers_needed(v, with_heads)
        for action in oracle(SYSTEMS[system], heads):
            own = v.word[here]
            needed = [0 if word == own else arcs_over[word] + 1 for word in range(1, len(arcs_over))]
            assert found[here, : len(needed)].tolist() == needed
            needed = [0 if word in (own, of_arc) else arcs_since[word] + 1 for word in range(1, len(arcs_over))]
            assert found_with_heads[here, : len(needed)].tolist() == needed
            of_arc = None
            if action.kind is Kind.GEN:
                word = len(arcs_over)
                stack.append([word])
                arcs_over[word] = arcs_since[word] = 0
                here = int(np.flatnonzero(v.word == word).max())
            elif action.kind is not Kind.END:
                upper, lower = stack.pop(), stack.pop()
                head, dependent = (upper, lower) if action.kind is Kind.LEFTARC else (lower, upper)
                stack.append([*head, *dependent])
                for word in stack[-1]:
                    arcs_over[word], arcs_since[word] = arcs_over[word] + 1, arcs_since[word] + 1
                of_arc = head[0]
                arcs_since[of_arc] = 0
                here = int(np.flatnonzero(v.kind[: here + 3] == COMPOSE).max()) + 1


def test_one_layer_is_enough_without_a_stack():
    needed = of_pairs(WORDS.compile(in_pieces(), [(("There", "is", "a", "difference"), None)]).sentence(0))
    assert needed.max() == 1 and unreached(needed, 1) == 0
    assert unreached(needed, 0) == 100 * np.mean(needed == 1)


# ---- Brackets


def test_with_brackets_the_numbers_are_those_of_a_walk_over_a_literal_stack():
    chance = random.Random(2)
    for _ in range(200):
        words = phrase(chance)
        tree, pieces = random_brackets(chance, len(words)), pieces_of(words, pieces_and_brackets())
        rows = simulate_brackets(tree, pieces)
        v = composed(pieces_and_brackets(), [(words, tree)]).sentence(0)
        counted = iter([word for word, count in enumerate(pieces, start=1) for _ in range(count)])
        reads = [next(counted) if row.symbol == GEN else None for row in rows]
        assert layers_needed(v).tolist() == walked([[*row.sees] for row in rows], reads, len(words))
        assert (with_heads(v) == v.word).all(), "a bracket is read without a word"


def test_with_brackets_a_word_needs_one_layer_and_another_one_for_each_closed_bracket_around_it():
    chance = random.Random(3)
    for _ in range(200):
        words = phrase(chance)
        tree = random_brackets(chance, len(words))
        v = composed(pieces_and_brackets(), [(words, tree)]).sentence(0)
        asked = iter(np.flatnonzero(v.target != NOTHING)[pieces_before_each_symbol(v)])
        found = layers_needed(v)
        closed, opened = [], []
        for symbol in tree:
            here = next(asked)
            own = v.word[here] - 1
            expected = [0 if word == own else brackets + 1 for word, brackets in enumerate(closed)]
            assert found[here, : len(closed)].tolist() == expected
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


def test_one_layer_is_enough_for_brackets_in_a_row():
    words = "There", "is", "a", "difference"
    plain = in_a_row(pieces_and_brackets(), [(words, (3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1))])
    needed = of_pairs(plain.sentence(0))
    assert needed.max() == 1 and unreached(needed, 1) == 0
    assert unreached(needed, 0) == 100 * np.mean(needed == 1)


# ---- Pairs


def compiled_arcs(chance: random.Random, sentences: Sequence[Sequence[str]]) -> Sequences:
    pairs = [(words, trees.random_tree(chance, len(words))) for words in sentences]
    return on_a_stack("arc-standard").compile(in_pieces(), pairs)


def compiled_brackets(chance: random.Random, sentences: Sequence[Sequence[str]]) -> Sequences:
    pairs = [(words, random_brackets(chance, len(words))) for words in sentences]
    return composed(pieces_and_brackets(), pairs)


each_kind = pytest.mark.parametrize("compiled", [compiled_arcs, compiled_brackets])


def drawn(compiled: Callable, seed: int, count: int) -> Iterator[Compiled]:
    """Random trees as they are read."""
    chance = random.Random(seed)
    for _ in range(count):
        yield compiled(chance, [phrase(chance)]).sentence(0)


@each_kind
def test_an_earlier_word_has_been_read_with_all_its_pieces_and_then_no_path_to_it_is_missing(compiled):
    for number, v in enumerate(drawn(compiled, 4, 100)):
        last_pieces = [int(np.flatnonzero(v.word == word).max()) for word in range(1, v.word.max() + 1)]
        assert earlier(v).tolist() == [[piece <= i for piece in last_pieces] for i in range(v.length)], number
        assert of_pairs(v).max(initial=0) < NEVER, number
        read = sum(piece <= i for i in np.flatnonzero(predictions(v)) for piece in last_pieces)
        assert len(of_pairs(v)) == read, number


@each_kind
def test_any_piece_of_a_word_that_has_been_read_needs_as_many_layers_as_its_last_one(compiled):
    differ = 0
    for number, v in enumerate(drawn(compiled, 5, 100)):
        following = np.append(v.word[1:], NOTHING)
        is_last = (v.word > 0) & (v.word != following)
        of_last = layers_needed(v, lambda v, kept=is_last: np.where(kept, v.word, NOTHING))
        assert (of_last == layers_needed(v))[earlier(v)].all(), number
        differ += bool((of_last != layers_needed(v)).any())
    assert differ, "there are words of several pieces, which can be seen in part before they end"


@each_kind
def test_before_words_the_pairs_are_those_of_a_word_and_an_earlier_one(compiled):
    for number, v in enumerate(drawn(compiled, 6, 50)):
        words = v.word.max()
        assert before_words(v).sum() == words, number
        assert len(of_pairs(v, asked=before_words)) == words * (words - 1) // 2, number


@each_kind
def test_padding_adds_no_pair_and_changes_no_number(compiled):
    chance = random.Random(7)
    sequences = compiled(chance, [phrase(chance) for _ in range(9)])
    batch = pad(sequences, range(len(sequences)))
    assert len({sequences.sentence(number).length for number in range(len(sequences))}) > 3
    for number, expected in enumerate(of_all(sequences)):
        row = Compiled(*(column[number] for column in batch))
        assert of_pairs(row).tolist() == expected.tolist(), number
        needed = layers_needed(row)
        length = sequences.sentence(number).length
        assert (needed[:length] == layers_needed(sequences.sentence(number))).all(), number
        assert (needed[length:] == NEVER).all(), number


@each_kind
def test_a_sentence_of_one_word_and_no_sentence(compiled):
    sequences = compiled(random.Random(1), [["There"]])
    assert of_pairs(sequences.sentence(0), asked=before_words).size == 0
    assert of_all(Sequences(sequences.sentence(0), np.array([0]))) == []


# ---- Gradients


def assert_gradients_agree(
    network: Transformer, sequences: Sequences, words: Sequence[str], read: Callable[[Compiled], np.ndarray]
) -> None:
    """The gradient of a word is zero exactly where the word is not reached."""
    v, layers = sequences.sentence(0), network.config.layers
    ids = [network.vocabulary.encode([word]).ids[0] for word in words]
    out = network(batch_of(pad(sequences, [0]), dense))[0]
    direction = torch.randn(out.shape[1], dtype=out.dtype)
    gradients = [
        torch.autograd.grad(vector @ direction, network.embedding.weight, retain_graph=True)[0][ids] for vector in out
    ]
    depends = torch.stack(gradients).ne(0).any(2).numpy()
    assert (depends == (layers_needed(v, read) <= layers)).all()
    assert not depends[earlier(v)].all() and depends.any()


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "arcs", "read"), [("dtg", "arc", generated), ("dtg", "w+arc", with_heads), ("dtg-eager", "w", with_heads)]
)
def test_the_gradient_of_a_word_is_zero_just_where_it_is_not_reached(kind, arcs, read, layers):
    words = "a", "b", "c", "d", "e", "f", "g", "h"
    torch.manual_seed(9)
    config = TransformerConfig(kind, arcs=arcs, layers=layers, width=16, heads=2, inner=32)
    network = build(config, Vocabulary.of_words([words])).eval()
    sequences = network.reading.compile(network.vocabulary, [(words, trees.random_tree(random.Random(8), len(words)))])
    assert_gradients_agree(network, sequences, words, read)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_with_brackets_the_gradient_of_a_word_is_zero_just_where_it_is_not_reached(layers):
    words = "a", "b", "c", "d", "e", "f", "g", "h"
    torch.manual_seed(9)
    reading = BracketReading(composes=True, typed=True)
    vocabulary = Vocabulary.of_words([words], bracket_symbols(LABELS))
    config = TransformerConfig("tg", arcs="w+arc", layers=layers, width=16, heads=2, inner=32)
    network = BracketModel(config, vocabulary, reading).eval()
    sequences = reading.compile(vocabulary, [(words, random_brackets(random.Random(8), len(words)))])
    assert_gradients_agree(network, sequences, words, generated)


# ---- Percentages, as counted elsewhere by a program of its own on the first sentences
#
# There a word is read at its own position only, and each STACK position counts: with brackets also the last one, which
# has nothing to predict.


def shares(sequences: Sequences, layers: Sequence[int]) -> list[float]:
    needed = np.concatenate(of_all(sequences, asked=lambda v: v.kind == STACK))
    return [unreached(needed, count) for count in layers]


def test_the_percentages_of_minilang_are_those_that_were_counted_elsewhere():
    sentences = load("minilang", "dev", 200).sentences
    speaking = Vocabulary.of_words([sentence.words for sentence in sentences])
    arcs = on_a_stack("arc-standard").compile(speaking, [(s.words, s.heads) for s in sentences])
    assert shares(arcs, (2, 4, 6, 8, 16)) == pytest.approx([72.0, 36.1, 12.9, 3.1, 0.0], abs=0.05)


def with_brackets(sentences) -> Sequences:
    labels = labels_of(sentence.brackets for sentence in sentences)
    speaking = Vocabulary.of_words([sentence.words for sentence in sentences], bracket_symbols(labels))
    return composed(speaking, [(s.words, symbols_of(s.brackets, labels)) for s in sentences])


def test_the_percentages_of_brackets_in_minilang_are_those_that_were_counted_elsewhere():
    sequences = with_brackets(load("minilang", "dev", 200).sentences)
    assert shares(sequences, (2, 4, 6, 8, 16)) == pytest.approx([41.8, 22.0, 10.7, 5.6, 0.3], abs=0.05)


def test_the_percentages_of_gum_are_those_that_were_counted_elsewhere(data):
    if not (data / "gum_const").is_dir():
        pytest.skip("GUM's constituents are not here: put the folder const/ of amir-zeldes/gum into gum_const/")
    found = shares(with_brackets(load("gum-constituents", "dev", 400).sentences), (6, 16))
    assert found == pytest.approx([13.4, 0.4], abs=0.05)


def test_on_minilang_the_numbers_are_those_of_a_walk_over_a_literal_stack():
    sentences = load("minilang", "dev", 300).sentences
    labels = labels_of(sentence.brackets for sentence in sentences)
    sequences = with_brackets(sentences)
    for number, sentence in enumerate(sentences):
        rows = simulate_brackets(symbols_of(sentence.brackets, labels), [1] * len(sentence.words))
        words = iter(range(1, len(sentence.words) + 1))
        reads = [next(words) if row.symbol == GEN else None for row in rows]
        expected = walked([[*row.sees] for row in rows], reads, len(sentence.words))
        assert layers_needed(sequences.sentence(number)).tolist() == expected, sentence.id
