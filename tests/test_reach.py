"""The number of layers that a word needs: by walks over a literal stack, by gradients, and as counted elsewhere."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache

import numpy as np
import pytest
import torch
from trees import random_tree

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
        heads, pieces = random_tree(chance, len(words)), pieces_of(words, in_pieces())
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
        heads = random_tree(chance, len(words))
        v = on_a_stack(system).compile(in_pieces(), [(words, heads)]).sentence(0)
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


def test_one_layer_is_enough_without_a_stack():
    needed = of_pairs(WORDS.compile(in_pieces(), [(("There", "is", "a", "difference"), None)]).sentence(0))
    assert needed.max() == 1 and unreached(needed, 1) == 0
    assert unreached(needed, 0) == 100 * np.mean(needed == 1)


# ---- Pairs


def drawn(seed: int, count: int) -> Iterator[tuple[Compiled, int]]:
    """Random trees as they are read, each with its number of words."""
    chance = random.Random(seed)
    for _ in range(count):
        words = phrase(chance)
        heads = random_tree(chance, len(words))
        yield on_a_stack("arc-standard").compile(in_pieces(), [(words, heads)]).sentence(0), len(words)


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
    assert_padding_is_nothing(on_a_stack("arc-standard").compile(in_pieces(), pairs))


def test_a_sentence_of_one_word_and_no_sentence():
    sequences = on_a_stack("arc-standard").compile(in_pieces(), [(["There"], [0])])
    assert of_pairs(sequences.sentence(0), asked=before_words).size == 0
    assert of_all(Sequences(sequences.sentence(0), np.array([0]))) == []


# ---- Gradients


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize(
    ("kind", "arcs", "read"), [("dtg", "arc", generated), ("dtg", "w+arc", with_heads), ("dtg-eager", "w", with_heads)]
)
def test_the_gradient_of_a_word_is_zero_just_where_it_is_not_reached(kind, arcs, read, layers):
    words = "a", "b", "c", "d", "e", "f", "g", "h"
    torch.manual_seed(9)
    config = TransformerConfig(kind, arcs=arcs, layers=layers, width=16, heads=2, inner=32)
    network = build(config, Vocabulary.of_words([words])).eval()
    sequences = network.reading.compile(network.vocabulary, [(words, random_tree(random.Random(8), len(words)))])
    assert_gradients_agree(network, sequences, words, read)


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


# ---- Assertions that the tests of brackets share


def assert_pieces_are_read(sequences: Iterable[Compiled]) -> None:
    """An earlier word has been read with all its pieces, and no path to it is missing."""
    for number, v in enumerate(sequences):
        last_pieces = [int(np.flatnonzero(v.word == word).max()) for word in range(1, v.word.max() + 1)]
        assert earlier(v).tolist() == [[piece <= i for piece in last_pieces] for i in range(v.length)], number
        assert of_pairs(v).max(initial=0) < NEVER, number
        read = sum(piece <= i for i in np.flatnonzero(predictions(v)) for piece in last_pieces)
        assert len(of_pairs(v)) == read, number


def assert_pieces_are_equal(sequences: Iterable[Compiled]) -> None:
    """Any piece of a word that has been read needs as many layers as the last piece."""
    differ = 0
    for number, v in enumerate(sequences):
        following = np.append(v.word[1:], NOTHING)
        is_last = (v.word > 0) & (v.word != following)
        of_last = layers_needed(v, lambda v, kept=is_last: np.where(kept, v.word, NOTHING))
        assert (of_last == layers_needed(v))[earlier(v)].all(), number
        differ += bool((of_last != layers_needed(v)).any())
    assert differ, "there are words of several pieces, which can be seen in part before they end"


def assert_pairs_of_words(v: Compiled, words: int) -> None:
    """Before words, the pairs are those of a word and an earlier one."""
    assert before_words(v).sum() == words
    assert len(of_pairs(v, asked=before_words)) == words * (words - 1) // 2


def assert_padding_is_nothing(sequences: Sequences) -> None:
    """Padding adds no pair and changes no number."""
    batch = pad(sequences, range(len(sequences)))
    assert len({sequences.sentence(number).length for number in range(len(sequences))}) > 3
    for number, expected in enumerate(of_all(sequences)):
        row = Compiled(*(column[number] for column in batch))
        assert of_pairs(row).tolist() == expected.tolist(), number
        needed = layers_needed(row)
        length = sequences.sentence(number).length
        assert (needed[:length] == layers_needed(sequences.sentence(number))).all(), number
        assert (needed[length:] == NEVER).all(), number


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
