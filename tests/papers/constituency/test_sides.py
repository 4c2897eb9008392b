"""PLM-mask: two heads see one side of the innermost open bracket each, in training, in tries and in searches alike."""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from toys import symbols_in

from dtglib.basics.errors import UserError
from dtglib.data.corpora import load
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import build, family
from dtglib.network.transformer import TransformerConfig, batch_of
from dtglib.sequences.batches import pack, pad
from dtglib.sequences.structure import dense
from dtgpapers.constituency.machine import CLOSE, FIRST, GEN
from dtgpapers.constituency.sides import BEFORE, INSIDE, NO_SIDE, READING, SidesModel, sides_of

CONFIG = TransformerConfig("plm-mask", layers=2, width=24, heads=3, inner=32)
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def minilang() -> Treebank:
    return load("minilang", "train", 60)


@pytest.fixture(scope="module")
def network(minilang) -> SidesModel:
    symbols = symbols_in(family("plm-mask"), CONFIG, minilang)
    vocabulary = Vocabulary.train([s.words for s in minilang.sentences], 320, symbols)  # words of several pieces
    torch.manual_seed(1)
    return build(CONFIG, vocabulary).eval()


def by_definition(tree: list[int], pieces: list[int]) -> list[int | None]:
    """The place of the innermost open bracket after each position of a sentence; None where no bracket is open."""
    found, stack, word = [None], [], iter(pieces)
    for symbol in tree:
        if symbol >= FIRST:
            stack.append(len(found))
        elif symbol == CLOSE:
            stack.pop()
        for _ in range(next(word) if symbol == GEN else 1):
            found.append(stack[-1] if stack else None)
    return found


def compiled(network, sentences):
    vocabulary = network.vocabulary
    trees = [READING.tree_of(vocabulary, sentence) for sentence in sentences]
    return trees, READING.compile(vocabulary, [(s.words, tree) for s, tree in zip(sentences, trees, strict=True)])


def test_two_heads_part_what_a_third_one_sees(network, minilang):
    """At the first position, and after the last bracket, there is nothing to be parted."""
    sentences = minilang.sentences
    trees, sequences = compiled(network, sentences)
    for number, (sentence, tree) in enumerate(zip(sentences, trees, strict=True)):
        encoded = network.vocabulary.encode(sentence.words)
        expected = by_definition(tree, [stop - start for start, stop in encoded.spans])
        batch = pad(sequences, [number])
        (sides,) = sides_of(network.vocabulary, batch)[:, 0]
        assert len(expected) == len(sides)
        for i, bracket in enumerate(expected):
            if bracket is None:
                assert i in (0, len(expected) - 1) and (sides[i] == NO_SIDE).all()
            else:
                assert (sides[i, :bracket] == BEFORE).all() and (sides[i, bracket : i + 1] == INSIDE).all()
    assert any(stop - start > 1 for s in sentences for start, stop in network.vocabulary.encode(s.words).spans)


def test_packed_rows_have_the_sides_of_their_sentences(network, minilang):
    _, sequences = compiled(network, minilang.sentences[:3])
    alone = [sides_of(network.vocabulary, pad(sequences, [number]))[0, 0] for number in range(3)]
    packed = sides_of(network.vocabulary, pack(sequences, range(3), int(sequences.starts[-1])))[0, 0]
    for start, sides in zip(sequences.starts, alone, strict=False):
        part = slice(start, start + len(sides))
        bits = np.tril(packed[part, part])
        # An earlier sentence of the row is invisible, whatever its side.
        np.testing.assert_array_equal(bits, np.tril(sides))


def test_attention_weights_are_zero_where_a_head_is_barred(network, minilang):
    _, sequences = compiled(network, minilang.sentences[:4])
    padded = pad(sequences, range(4))
    sides = sides_of(network.vocabulary, padded)
    batch = batch_of(padded, dense, bias=torch.from_numpy(sides))
    for weights in network.attention_weights(batch):
        for head, barred in ((0, INSIDE), (1, BEFORE)):
            assert (weights[:, head].numpy()[sides[:, 0] == barred] == 0).all()
        assert (weights[:, 2].diagonal(dim1=1, dim2=2)[:, :5] > 0).all()
        assert torch.allclose(weights.sum(-1), torch.ones(()))


def test_training_batches_have_sides_and_gradients_are_finite(network, minilang):
    examples = family("plm-mask").examples(CONFIG, network.vocabulary, minilang, None)
    batch = examples.batch(np.arange(6), 2048, CPU)
    _, sequences = compiled(network, minilang.sentences)
    np.testing.assert_array_equal(batch.bias.numpy(), sides_of(network.vocabulary, pad(sequences, range(6))))
    nats, _ = network.loss(batch)
    nats.backward()
    assert all(torch.isfinite(p.grad).all() for p in network.parameters() if p.grad is not None)
    network.zero_grad()
    plain = batch._replace(bias=torch.full_like(batch.bias, NO_SIDE))
    assert abs(float(network.loss(plain)[0].detach() - nats.detach())) > 1e-3, "without sides it is another model"


def test_a_model_with_one_head_is_an_error_that_says_so(network, minilang):
    lonely = build(replace(CONFIG, heads=1), network.vocabulary)
    examples = family("plm-mask").examples(CONFIG, network.vocabulary, minilang, None)
    with pytest.raises(UserError, match="restricts two heads, and this model has one"):
        lonely.loss(examples.batch(np.arange(1), 100, CPU))


def test_words_in_pieces_are_the_same_step_by_step(network, minilang):
    chance = random.Random(2)
    for sentence in chance.sample(minilang.sentences, 5):
        _, sequences = compiled(network, [sentence])
        padded = pad(sequences, [0])
        batch = batch_of(padded, dense, bias=torch.from_numpy(network.bias_of(padded)))
        with torch.no_grad():
            expected = network.log_probs(batch).numpy()
        stepper, found = network.stepper(), []
        state = stepper.init(len(sentence.words))
        for symbol in batch.target.numpy():
            found.append(float(stepper.log_probs(state)[0, symbol]))
            state = stepper.step(state, np.array([0]), np.array([symbol]))
        np.testing.assert_allclose(found, expected, atol=1e-5)
