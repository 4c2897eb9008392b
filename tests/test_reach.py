"""The number of layers that a word needs: by walks over a literal stack, by gradients, and as counted elsewhere."""

import random
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
import torch
from test_constituency import LABELS, random_tree
from trees import random_tree as random_heads

from dtglib.data.corpora import load
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import build
from dtglib.network.transformer import Transformer, TransformerConfig, batch_of
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import COMPOSE, NOTHING, STACK, Compiled, Sequences
from dtglib.sequences.naive import simulate
from dtglib.sequences.reach import (
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
from dtglib.sequences.readings import WORDS, on_a_stack
from dtglib.sequences.structure import dense
from dtglib.transitions import SYSTEMS, Kind, oracle
from dtgpapers.constituency.compile import composed, in_a_row
from dtgpapers.constituency.family import BracketModel, BracketReading
from dtgpapers.constituency.machine import CLOSE, GEN
from dtgpapers.constituency.naive import simulate as simulate_brackets
from dtgpapers.constituency.trees import bracket_symbols, labels_of, symbols_of


@cache
def vocabulary() -> Vocabulary:
    """Pieces, so few that many words have several."""
    words = [sentence.words for sentence in load("minilang", "train", 300).sentences]
    return Vocabulary.train(words, 400, bracket_symbols(LABELS))


@cache
def with_arcs() -> Vocabulary:
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
        heads, pieces = random_heads(chance, len(words)), pieces_of(words, with_arcs())
        naive = simulate(system, oracle(SYSTEMS[system], heads), pieces)
        sees = [np.flatnonzero(row).tolist() for row in naive.visible]
        v = on_a_stack(system).compile(with_arcs(), [(words, heads)]).sentence(0)
        of_words = [None if taken.action else taken.word for taken in naive.inputs]
        assert layers_needed(v).tolist() == walked(sees, of_words, len(words))
        and_heads = [taken.word for taken in naive.inputs]
        assert layers_needed(v, with_heads).tolist() == walked(sees, and_heads, len(words))


def test_with_brackets_the_numbers_are_those_of_a_walk_over_a_literal_stack():
    chance = random.Random(2)
    for _ in range(200):
        words = phrase(chance)
        tree, pieces = random_tree(chance, len(words)), pieces_of(words, vocabulary())
        rows = simulate_brackets(tree, pieces)
        v = composed(vocabulary(), [(words, tree)]).sentence(0)
        counted = iter([word for word, count in enumerate(pieces, start=1) for _ in range(count)])
        reads = [next(counted) if row.symbol == GEN else None for row in rows]
        assert layers_needed(v).tolist() == walked([[*row.sees] for row in rows], reads, len(words))
        assert (with_heads(v) == v.word).all(), "a bracket is read without a word"


def test_with_brackets_a_word_needs_one_layer_and_another_one_for_each_closed_bracket_around_it():
    chance = random.Random(3)
    for _ in range(200):
        words = phrase(chance)
        tree = random_tree(chance, len(words))
        v = composed(vocabulary(), [(words, tree)]).sentence(0)
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


def test_with_arcs_a_word_needs_one_layer_and_another_one_for_each_arc_that_has_taken_it_up():
    """If arcs are read with their heads, only those count that came after the last one of which the word is the head.
    The second copy of that one reads the word itself."""
    chance, system = random.Random(10), "arc-standard"
    for _ in range(200):
        words = phrase(chance)
        heads = random_heads(chance, len(words))
        v = on_a_stack(system).compile(with_arcs(), [(words, heads)]).sentence(0)
        stack, arcs_over, arcs_since = [[0]], {0: 0}, {0: 0}  # an entry is a word and all words below it
        of_arc, here = None, 0
        for action in oracle(SYSTEMS[system], heads):
            own = v.word[here]
            needed = [0 if word == own else arcs_over[word] + 1 for word in range(1, len(arcs_over))]
            assert layers_needed(v)[here, : len(needed)].tolist() == needed
            needed = [0 if word in (own, of_arc) else arcs_since[word] + 1 for word in range(1, len(arcs_over))]
            assert layers_needed(v, with_heads)[here, : len(needed)].tolist() == needed
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


def test_one_layer_is_enough_where_nothing_is_popped():
    words = "There", "is", "a", "difference"
    plain = in_a_row(vocabulary(), [(words, (3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1))])
    for sequences in (plain, WORDS.compile(vocabulary(), [(words, None)])):
        needed = of_pairs(sequences.sentence(0))
        assert needed.max() == 1 and unreached(needed, 1) == 0
        assert unreached(needed, 0) == 100 * np.mean(needed == 1)


# ---- Pairs


def both(speaking: Vocabulary, chance: random.Random) -> tuple[Compiled, Compiled, int]:
    words = phrase(chance)
    brackets = composed(speaking, [(words, random_tree(chance, len(words)))]).sentence(0)
    arcs = on_a_stack("arc-standard").compile(with_arcs(), [(words, random_heads(chance, len(words)))]).sentence(0)
    return brackets, arcs, len(words)


def test_an_earlier_word_has_been_read_with_all_its_pieces_and_then_no_path_to_it_is_missing():
    chance = random.Random(4)
    for _ in range(100):
        for v in both(vocabulary(), chance)[:2]:
            last_pieces = [int(np.flatnonzero(v.word == word).max()) for word in range(1, v.word.max() + 1)]
            assert earlier(v).tolist() == [[piece <= i for piece in last_pieces] for i in range(v.length)]
            assert of_pairs(v).max(initial=0) < NEVER
            assert len(of_pairs(v)) == sum(piece <= i for i in np.flatnonzero(predictions(v)) for piece in last_pieces)


def test_any_piece_of_a_word_that_has_been_read_needs_as_many_layers_as_its_last_one():
    chance, differ = random.Random(5), 0
    for _ in range(100):
        for v in both(vocabulary(), chance)[:2]:
            following = np.append(v.word[1:], NOTHING)
            is_last = (v.word > 0) & (v.word != following)
            of_last = layers_needed(v, lambda v, kept=is_last: np.where(kept, v.word, NOTHING))
            assert (of_last == layers_needed(v))[earlier(v)].all()
            differ += bool((of_last != layers_needed(v)).any())
    assert differ, "there are words of several pieces, which can be seen in part before they end"


def test_before_words_the_pairs_are_the_same_words_with_brackets_and_with_arcs():
    chance = random.Random(6)
    for _ in range(50):
        *sequences, words = both(vocabulary(), chance)
        for v in sequences:
            assert before_words(v).sum() == words
            assert len(of_pairs(v, asked=before_words)) == words * (words - 1) // 2


def test_padding_adds_no_pair_and_changes_no_number():
    chance = random.Random(7)
    pairs = [(words, random_tree(chance, len(words))) for words in (phrase(chance) for _ in range(9))]
    sequences = composed(vocabulary(), pairs)
    batch = pad(sequences, range(9))
    assert len({sequences.sentence(number).length for number in range(9)}) > 3
    for number, expected in enumerate(of_all(sequences)):
        row = Compiled(*(column[number] for column in batch))
        assert of_pairs(row).tolist() == expected.tolist()
        needed = layers_needed(row)
        length = sequences.sentence(number).length
        assert (needed[:length] == layers_needed(sequences.sentence(number))).all() and (needed[length:] == NEVER).all()


def test_a_sentence_of_one_word_and_no_sentence():
    v = composed(vocabulary(), [(["There"], (2, 0, 1))]).sentence(0)
    assert of_pairs(v, asked=before_words).size == 0
    assert of_all(Sequences(v, np.array([0]))) == []


# ---- Gradients


def network_of(kind: str, arcs: str, layers: int, words: Sequence[str]) -> tuple[Transformer, Sequences]:
    """A small random model, and a random tree of these words as it reads it."""
    chance = random.Random(8)
    torch.manual_seed(9)
    sizes = {"arcs": arcs, "layers": layers, "width": 16, "heads": 2, "inner": 32}
    if kind == "tg":
        reading = BracketReading(composes=True, typed=True)
        speaking = Vocabulary.of_words([words], bracket_symbols(LABELS))
        network = BracketModel(TransformerConfig(kind, **sizes), speaking, reading)
        sequences = reading.compile(speaking, [(words, random_tree(chance, len(words)))])
    else:
        speaking = Vocabulary.of_words([words])
        network = build(TransformerConfig(kind, **sizes), speaking)
        sequences = network.reading.compile(speaking, [(words, random_heads(chance, len(words)))])
    return network.eval(), sequences


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "arcs", "read"),
    [
        ("tg", "w+arc", generated),
        ("dtg", "arc", generated),
        ("dtg", "w+arc", with_heads),
        ("dtg-eager", "w", with_heads),
    ],
)
def test_the_gradient_of_a_word_is_zero_just_where_it_is_not_reached(kind, arcs, read, layers):
    words = "a", "b", "c", "d", "e", "f", "g", "h"
    network, sequences = network_of(kind, arcs, layers, words)
    v = sequences.sentence(0)
    ids = [network.vocabulary.encode([word]).ids[0] for word in words]
    out = network(batch_of(pad(sequences, [0]), dense))[0]
    direction = torch.randn(out.shape[1], dtype=out.dtype)
    gradients = [
        torch.autograd.grad(vector @ direction, network.embedding.weight, retain_graph=True)[0][ids] for vector in out
    ]
    depends = torch.stack(gradients).ne(0).any(2).numpy()
    assert (depends == (layers_needed(v, read) <= layers)).all()
    assert not depends[earlier(v)].all() and depends.any()


# ---- Percentages, as counted elsewhere by a program of its own on the first sentences
#
# There a word is read at its own position only, and each STACK position counts: with brackets also the last one, which
# has nothing to predict.


def on_the_stack(v: Compiled) -> np.ndarray:
    return v.kind == STACK


def with_brackets(sentences) -> Sequences:
    labels = labels_of(sentence.brackets for sentence in sentences)
    speaking = Vocabulary.of_words([sentence.words for sentence in sentences], bracket_symbols(labels))
    return composed(speaking, [(s.words, symbols_of(s.brackets, labels)) for s in sentences])


def shares(sequences: Sequences, layers: Sequence[int]) -> list[float]:
    needed = np.concatenate(of_all(sequences, asked=on_the_stack))
    return [unreached(needed, count) for count in layers]


def test_the_percentages_of_minilang_are_those_that_were_counted_elsewhere():
    sentences, layers = load("minilang", "dev", 200).sentences, (2, 4, 6, 8, 16)
    speaking = Vocabulary.of_words([sentence.words for sentence in sentences])
    arcs = on_a_stack("arc-standard").compile(speaking, [(s.words, s.heads) for s in sentences])
    assert shares(with_brackets(sentences), layers) == pytest.approx([41.8, 22.0, 10.7, 5.6, 0.3], abs=0.05)
    assert shares(arcs, layers) == pytest.approx([72.0, 36.1, 12.9, 3.1, 0.0], abs=0.05)


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
        rows = simulate_brackets(symbols_of(sentence.brackets, labels), [1] * len(sentence.words))
        words = iter(range(1, len(sentence.words) + 1))
        reads = [next(words) if row.symbol == GEN else None for row in rows]
        expected = walked([[*row.sees] for row in rows], reads, len(sentence.words))
        assert layers_needed(sequences.sentence(number)).tolist() == expected
