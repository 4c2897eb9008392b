"""Sentences side by side are the sentences alone, padded or packed into rows; and which sentences go together."""

from functools import partial

import numpy as np
import pytest
from toys import FIRST_PIECE, compiled, in_every_system, random_sentences

from dtglib.basics.errors import UserError
from dtglib.data.vocabulary import END, PAD, ROOT
from dtglib.sequences.batches import HOLD_POSITIONS, by_length, in_rows, pack, pad, rows_of
from dtglib.sequences.columns import NOTHING, STACK, Compiled
from dtglib.sequences.structure import Structure, dense, vectors_of

SENTENCES = random_sentences(7, 12, most_words=20)
NUMBERS = range(len(SENTENCES))
WIDTH = 256


def alone(sequences, number: int) -> tuple[Compiled, Structure]:
    """One sentence in a row of its own, and its structure."""
    batch = pad(sequences, [number])
    return batch, dense(vectors_of(batch))


def places(batch: Compiled, sequences) -> list[tuple[int, slice]]:
    """The places of the sentences in a packed batch: they begin where ROOT is read and is not the head of an arc."""
    starts = np.argwhere((batch.token == ROOT) & (batch.arc == NOTHING))
    return [
        (row, slice(start, start + sequences.sentence(number).length))
        for number, (row, start) in enumerate(starts.tolist())
    ]


def is_padding(batch: Compiled) -> np.ndarray:
    return batch.token == PAD


# ---- Padded


@in_every_system
def test_a_padded_row_begins_with_its_sentence(name):
    sequences = compiled(name, SENTENCES)
    batch = pad(sequences, NUMBERS)
    for number in NUMBERS:
        sentence = sequences.sentence(number)
        for column, of_sentence in zip(batch, sentence, strict=True):
            assert column[number, : sentence.length].tolist() == of_sentence.tolist()


@in_every_system
def test_a_padded_row_has_the_structure_of_its_sentence(name):
    sequences = compiled(name, SENTENCES)
    together = dense(vectors_of(pad(sequences, NUMBERS)))
    for number in NUMBERS:
        _, structure = alone(sequences, number)
        inside = slice(0, sequences.sentence(number).length)
        assert together.visible[number, inside, inside].equal(structure.visible[0])
        assert together.relpos[number, inside, inside].equal(structure.relpos[0])


def test_rows_are_as_long_as_the_longest_sentence_and_in_the_order_given():
    sequences = compiled("arc-eager", SENTENCES)
    numbers = [4, 1, 4]
    batch = pad(sequences, numbers)
    assert batch.token.shape == (3, max(sequences.sentence(number).length for number in numbers))
    assert batch.token[0].tolist() == batch.token[2].tolist() != batch.token[1].tolist()


@pytest.mark.parametrize("arrange", [pad, lambda sequences, numbers: pack(sequences, numbers, WIDTH)])
@in_every_system
def test_padding_sees_itself_alone_and_no_other_position_sees_it(name, arrange):
    batch = arrange(compiled(name, SENTENCES), NUMBERS)
    visible = dense(vectors_of(batch)).visible.numpy()
    padding = is_padding(batch)
    assert padding.any()
    assert visible.diagonal(axis1=1, axis2=2)[padding].all()
    assert (visible.sum(axis=2)[padding] == 1).all()
    assert (visible.sum(axis=1)[padding] == 1).all()


@pytest.mark.parametrize("arrange", [pad, lambda sequences, numbers: pack(sequences, numbers, WIDTH)])
@in_every_system
def test_padding_predicts_nothing_and_stands_for_nothing(name, arrange):
    batch = arrange(compiled(name, SENTENCES), NUMBERS)
    padding = is_padding(batch)
    for column in (batch.target, batch.arc, batch.word, batch.head_first, batch.head_last):
        assert (column[padding] == NOTHING).all()
    for column in (batch.may, batch.left, batch.right):
        assert (column[padding] == 0).all()
    assert (batch.kind[padding] == STACK).all()


# ---- Packed


@in_every_system
def test_packed_sentences_come_in_their_order_and_none_is_lost_or_cut(name):
    sequences = compiled(name, SENTENCES)
    batch = pack(sequences, NUMBERS, WIDTH)
    assert 1 < len(batch.token) < len(SENTENCES)
    pieces = batch.token[(batch.word != NOTHING)]
    assert pieces.tolist() == list(range(FIRST_PIECE, FIRST_PIECE + len(pieces)))
    assert (batch.target == END).sum() == len(places(batch, sequences)) == len(SENTENCES)
    assert (~is_padding(batch)).sum() == sequences.starts[-1]


@pytest.mark.parametrize("least", [0, 1, 40])
def test_more_rows_than_it_takes_are_padding(least):
    sequences = compiled("arc-standard", SENTENCES)
    batch, more = pack(sequences, NUMBERS, WIDTH), pack(sequences, NUMBERS, WIDTH, least)
    taken = len(batch.token)
    assert len(more.token) == max(taken, least)
    assert all((column[:taken] == same).all() for column, same in zip(more, batch, strict=True))
    assert is_padding(more)[taken:].all()


@in_every_system
def test_a_packed_sentence_is_the_sentence_alone_with_its_positions_shifted(name):
    sequences = compiled(name, SENTENCES)
    batch = pack(sequences, NUMBERS, WIDTH)
    for number, (row, inside) in enumerate(places(batch, sequences)):
        for field, column, values in zip(Compiled._fields, batch, sequences.sentence(number), strict=True):
            shift = np.where(values == NOTHING, 0, inside.start) if field in HOLD_POSITIONS else 0
            assert column[row, inside].tolist() == (values + shift).tolist()


@in_every_system
def test_packed_sentences_see_what_they_see_alone_and_never_one_another(name):
    sequences = compiled(name, SENTENCES)
    batch = pack(sequences, NUMBERS, WIDTH)
    together = dense(vectors_of(batch))
    rest = together.visible.clone()
    for number, (row, inside) in enumerate(places(batch, sequences)):
        _, structure = alone(sequences, number)
        visible = together.visible[row, inside, inside]
        assert visible.equal(structure.visible[0])
        assert together.relpos[row, inside, inside][visible].equal(structure.relpos[0][visible])
        rest[row, inside, inside] = False
    # Beside the sentences there is only padding, which sees itself.
    assert rest.sum() == is_padding(batch).sum()
    assert rest.diagonal(dim1=1, dim2=2).sum() == is_padding(batch).sum()


def test_a_row_may_be_full_to_the_last_position():
    sequences = compiled("arc-standard", SENTENCES)
    width = sequences.sentence(2).length + sequences.sentence(3).length
    batch = pack(sequences, [2, 3], width)
    assert batch.token.shape == (1, width)
    assert not is_padding(batch).any()


def test_one_position_less_makes_a_second_row():
    sequences = compiled("arc-standard", SENTENCES)
    first, second = sequences.sentence(2).length, sequences.sentence(3).length
    batch = pack(sequences, [2, 3], first + second - 1)
    assert is_padding(batch).sum(axis=1).tolist() == [second - 1, first - 1]


def test_a_sentence_may_fill_a_row_by_itself():
    sequences = compiled("arc-standard", SENTENCES)
    assert pack(sequences, [0], sequences.sentence(0).length).token.tolist() == pad(sequences, [0]).token.tolist()


def test_a_sentence_that_is_longer_than_a_row_is_named_with_both_lengths():
    sequences = compiled("arc-standard", SENTENCES)
    length = sequences.sentence(0).length
    with pytest.raises(UserError) as error:
        pack(sequences, [1, 0], length - 1)
    for part in ("sentence 1 ", f" {length} positions", f" {length - 1};", "wider rows"):
        assert part in str(error.value)


def test_no_sentences_are_no_rows():
    sequences = compiled("arc-standard", SENTENCES)
    assert pad(sequences, []).token.shape == (0, 0)
    assert pack(sequences, [], 9).token.shape == (0, 9)


# ---- Which sentences go together


MANY_LENGTHS = np.random.default_rng(5).integers(4, 130, 3000)
PLANS = {"by_length": by_length, "in_rows": partial(in_rows, row=512)}

by_either_plan = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def padded_positions(lengths: np.ndarray, batches: list[np.ndarray]) -> np.ndarray:
    """Of each batch, padding included."""
    return np.array([len(batch) * lengths[batch].max() for batch in batches])


@by_either_plan
@pytest.mark.parametrize("positions", [130, 500, 4096, 10**9])
def test_every_sentence_is_in_exactly_one_batch(plan, positions):
    batches = plan(MANY_LENGTHS, positions, random())
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(MANY_LENGTHS)))
    assert min(map(len, batches)) > 0


@by_either_plan
def test_the_same_random_numbers_give_the_same_batches_and_others_give_others(plan):
    first, again, other = ([b.tolist() for b in plan(MANY_LENGTHS, 4096, random(seed))] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert {frozenset(batch) for batch in first} != {frozenset(batch) for batch in other}


@by_either_plan
def test_no_sentences_are_no_batches(plan):
    assert plan(np.array([], np.int64), 100, random()) == []


@pytest.mark.parametrize("positions", [130, 512, 2048])
def test_no_padded_batch_has_more_positions_than_the_limit(positions):
    batches = by_length(MANY_LENGTHS, positions, random())
    assert padded_positions(MANY_LENGTHS, batches).max() <= positions
    # And they are no smaller than they need be.
    assert len(batches) < 1.3 * MANY_LENGTHS.sum() / positions


def test_a_sentence_that_is_longer_than_a_batch_stands_alone_in_one():
    lengths = np.array([5, 700, 5, 800, 90, 5])
    alone = [batch.tolist() for batch in by_length(lengths, 100, random()) if lengths[batch].max() > 100]
    assert sorted(alone) == [[1], [3]]


def test_sentences_of_similar_length_are_together_and_short_and_long_batches_come_mixed():
    batches = by_length(MANY_LENGTHS, 2048, random())
    assert max(np.ptp(MANY_LENGTHS[batch]) for batch in batches) < 8
    longest = [MANY_LENGTHS[batch].max() for batch in batches]
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.2


def test_padding_is_less_than_a_twentieth():
    positions = padded_positions(MANY_LENGTHS, by_length(MANY_LENGTHS, 2048, random()))
    assert 1 - MANY_LENGTHS.sum() / positions.sum() < 0.05


def test_a_batch_of_rows_packs_into_as_many_rows_as_were_planned():
    sequences = compiled("arc-standard", random_sentences(2, 300, most_words=20))
    lengths = np.diff(sequences.starts)
    positions = 4 * WIDTH + 9
    batches = in_rows(lengths, positions, random(), WIDTH)
    rows, width = rows_of(positions, WIDTH)
    shapes = [pack(sequences, batch, width).token.shape for batch in batches]
    assert len(shapes) > 5
    assert set(shapes[:-1]) == {(rows, width)} == {(4, WIDTH + 2)}
    assert shapes[-1][0] <= 4


def test_a_batch_of_rows_is_one_row_where_no_more_was_asked_for():
    for positions in (200, 512, 1023):
        assert rows_of(positions, 512) == (1, positions)
        batches = in_rows(MANY_LENGTHS, positions, random(), 512)
        assert max(MANY_LENGTHS[batch].sum() for batch in batches) <= positions


def test_a_sentence_that_is_longer_than_a_row_is_refused_before_training_begins():
    with pytest.raises(UserError, match=r"129 positions.* has 100; set batch_positions higher, or longest lower"):
        in_rows(MANY_LENGTHS, 100, random(), 512)


def test_rows_that_are_long_beside_their_sentences_are_nearly_full():
    *batches, _ = in_rows(MANY_LENGTHS, 16 * 2048, random(), 2048)
    assert len(batches) > 4
    for batch in batches:
        assert 0.95 * 16 * 2048 < MANY_LENGTHS[batch].sum() <= 16 * 2048


def test_short_and_long_sentences_come_mixed_in_rows():
    first = np.concatenate(in_rows(MANY_LENGTHS, 2048, random(), 512))
    assert abs(np.corrcoef(MANY_LENGTHS[first], np.arange(len(first)))[0, 1]) < 0.1
