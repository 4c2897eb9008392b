"""Masks and relative positions: the vectors against the paper's definitions, and FlexAttention against both.

`naive` plays stack operations and knows no vectors; `dense` and `flex` know the vectors and no stack.
"""

from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import Naive, simulate
from torch.nn.attention.flex_attention import flex_attention
from toys import Sentence, compiled, in_every_system, random_sentences, small_sentences
from trees import projective_trees

from dtglib.sequences.batches import pack, pad
from dtglib.sequences.columns import NOTHING, STACK, Compiled
from dtglib.sequences.structure import BLOCK, Structure, Vectors, blocks, dense, flex, vectors_of
from dtglib.transitions import SYSTEMS, oracle

MANY = random_sentences(4, 24)
SHORT = random_sentences(5, 8, most_words=9)


@cache
def padded(name: str) -> Compiled:
    """The many sentences, one a row."""
    return pad(compiled(name, MANY), range(len(MANY)))


@cache
def packed(name: str) -> Compiled:
    """The many sentences in rows that are not a whole number of blocks."""
    return pack(compiled(name, MANY), range(len(MANY)), 500)


@cache
def by_definition(name: str, sentence: Sentence) -> Naive:
    heads, pieces = sentence
    return simulate(name, oracle(SYSTEMS[name], heads), pieces)


def rows_as_in_naive(structure: Structure, row: int, length: int) -> list[list[int | None]]:
    """One row of a batch as `naive` writes it: None where nothing is seen."""
    visible, relpos = structure.visible[row, :length, :length], structure.relpos[row, :length, :length]
    return np.where(visible.numpy(), relpos.numpy().astype(object), None).tolist()


def assert_is_naive(structure: Structure, row: int, naive: Naive, sentence: Sentence) -> None:
    """One row of a batch is what the definitions say; a failure names the sentence and the first wrong position."""
    for i, (found, expected) in enumerate(
        zip(rows_as_in_naive(structure, row, len(naive.kind)), naive.relpos, strict=True)
    ):
        assert found == expected, f"row {row}, position {i} ({naive.inputs[i]}) of heads and pieces {sentence}"


def everywhere(v: Vectors) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All rows, i and j of a batch, to be handed to the functions of `flex`."""
    rows, size = v.kind.shape
    place = torch.arange(size)
    return torch.arange(rows)[:, None, None], place[None, :, None], place[None, None, :]


# ---- Vectors and definitions


@in_every_system
def test_the_vectors_agree_with_the_definitions_for_random_sentences(name):
    structure = dense(vectors_of(padded(name)))
    for row, sentence in enumerate(MANY):
        assert_is_naive(structure, row, by_definition(name, sentence), sentence)


@in_every_system
def test_the_vectors_agree_with_the_definitions_for_all_trees_of_up_to_five_words(name):
    sentences = small_sentences(5)
    structure = dense(vectors_of(pad(compiled(name, sentences), range(len(sentences)))))
    for row, sentence in enumerate(sentences):
        assert_is_naive(structure, row, by_definition(name, sentence), sentence)


@in_every_system
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_vectors_agree_with_the_definitions_for_any_tree_and_any_pieces(name, data):
    heads = data.draw(projective_trees(most_words=40))
    pieces = data.draw(st.lists(st.integers(1, 4), min_size=len(heads), max_size=len(heads)))
    sentence = (heads, tuple(pieces))
    structure = dense(vectors_of(pad(compiled(name, [sentence]), [0])))
    assert_is_naive(structure, 0, by_definition(name, sentence), sentence)


@in_every_system
def test_the_vectors_agree_with_the_definitions_for_200_words_that_hang_one_from_the_other(name):
    sentence = (tuple(range(200)), (1,) * 200)
    structure = dense(vectors_of(pad(compiled(name, [sentence]), [0])))
    assert_is_naive(structure, 0, by_definition(name, sentence), sentence)


# ---- What holds of every structure


@in_every_system
def test_every_position_sees_itself_at_0(name):
    structure = dense(vectors_of(padded(name)))
    assert structure.visible.diagonal(dim1=1, dim2=2).all()
    assert (structure.relpos.diagonal(dim1=1, dim2=2) == 0).all()


@in_every_system
def test_no_position_sees_a_later_one(name):
    assert not dense(vectors_of(packed(name))).visible.triu(1).any()


@in_every_system
def test_only_itself_sees_the_second_copy_of_an_arc_or_a_pop(name):
    """They are never pushed; but they see themselves."""
    visible = dense(vectors_of(padded(name))).visible.numpy()
    unpushed = (padded(name).kind == STACK) & (padded(name).arc != NOTHING)
    assert unpushed.sum() > 400
    assert (visible.sum(axis=1)[unpushed] == 1).all()


@in_every_system
def test_a_position_that_is_no_longer_visible_stays_invisible(name):
    """Among the STACK positions, which look at the whole stack, whoever is not seen is never seen again."""
    batch = padded(name)
    for row, visible in enumerate(dense(vectors_of(batch)).visible.numpy()):
        looks = visible[batch.kind[row] == STACK]
        seen_from_the_start = np.logical_or.accumulate(looks, axis=0)
        gone = seen_from_the_start & ~looks
        assert (np.diff(gone.astype(int), axis=0) >= 0).all(), (row, MANY[row])


# ---- FlexAttention


@pytest.mark.parametrize("rows", [padded, packed])
@in_every_system
def test_flex_is_dense_for_all_positions_at_once(name, rows):
    v = vectors_of(rows(name))
    functions, structure = flex(v), dense(v)
    b, i, j = everywhere(v)
    assert functions.mask_mod(b, torch.tensor(0), i, j).equal(structure.visible)
    assert functions.relpos(b, i, j).equal(structure.relpos)


@in_every_system
def test_flex_is_naive_position_by_position(name):
    v = vectors_of(pad(compiled(name, SHORT), range(len(SHORT))))
    functions = flex(v)
    for row in (0, 1, 3):
        naive = by_definition(name, SHORT[row])
        for i, j in np.ndindex(len(naive.kind), len(naive.kind)):
            b, at_i, at_j = torch.tensor(row), torch.tensor(i), torch.tensor(j)
            where = f"row {row}, i = {i}, j = {j} of {SHORT[row]}"
            assert functions.mask_mod(b, torch.tensor(0), at_i, at_j).item() == naive.visible[i][j], where
            if naive.visible[i][j]:
                assert functions.relpos(b, at_i, at_j).item() == naive.relpos[i][j], where


@pytest.mark.parametrize("rows", [padded, packed])
@in_every_system
def test_the_block_mask_keeps_the_blocks_in_which_anything_is_visible_and_no_others(name, rows):
    v = vectors_of(rows(name))
    has_any = in_blocks(dense(v).visible)
    assert not has_any.all()
    assert flex(v).block_mask.to_dense()[:, 0].bool().equal(has_any)


@in_every_system
def test_a_sentence_longer_than_a_block_keeps_the_blocks_of_what_lives_on(name):
    """100 words that hang from the last or from the first, so that the stack is deep early, or late."""
    sentences = (((*range(2, 101), 0), (1,) * 100), ((0, *[1] * 99), (2,) * 100))
    v = vectors_of(pad(compiled(name, sentences), range(2)))
    assert v.kind.shape[1] > 2 * BLOCK and v.kind.shape[1] % BLOCK
    assert blocks(v).equal(in_blocks(dense(v).visible))


@pytest.mark.parametrize("rows", [padded, packed])
@in_every_system
def test_the_block_mask_lists_for_each_position_the_blocks_that_look_at_it(name, rows):
    """FlexAttention's backward pass reads these lists; it needs a GPU."""
    v = vectors_of(rows(name))
    mask, looked_at_by = flex(v).block_mask, in_blocks(dense(v).visible).transpose(1, 2)
    assert mask.q_num_blocks[:, 0].equal(looked_at_by.sum(2, dtype=torch.int32))
    assert not looked_at_by.equal(looked_at_by.transpose(1, 2))
    for row, block in np.ndindex(*mask.q_num_blocks[:, 0].shape):
        listed = mask.q_indices[row, 0, block, : mask.q_num_blocks[row, 0, block]]
        assert listed.tolist() == looked_at_by[row, block].nonzero()[:, 0].tolist(), f"row {row}, block {block}"


def in_blocks(visible: torch.Tensor) -> torch.Tensor:
    """In which blocks anything is visible, looking at all of it."""
    missing = -visible.shape[1] % BLOCK
    filled = torch.nn.functional.pad(visible, (0, missing, 0, missing))
    return filled.unflatten(2, (-1, BLOCK)).any(dim=3).unflatten(1, (-1, BLOCK)).any(dim=2)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("arrange", ["padded", "packed"])
@in_every_system
def test_flex_attention_attends_as_a_softmax_over_the_dense_structure(name, arrange):
    sequences = compiled(name, SHORT)
    numbers = range(len(SHORT))
    v = vectors_of(pad(sequences, numbers) if arrange == "padded" else pack(sequences, numbers, 150))
    (rows, size), heads, width = v.kind.shape, 2, 8
    random = torch.Generator().manual_seed(6)
    query, key, value = torch.randn(3, rows, heads, size, width, generator=random)
    bias = torch.randn(heads, 2 * size + 1, generator=random)  # of every head, by relative position
    functions, structure = flex(v), dense(v)

    def score_mod(score, b, h, i, j):
        return score + bias[h, functions.relpos(b, i, j) + size]

    scores = query @ key.transpose(2, 3) / width**0.5 + bias[:, structure.relpos + size].transpose(0, 1)
    plain = scores.masked_fill(~structure.visible[:, None], -torch.inf).softmax(3) @ value
    found = flex_attention(query, key, value, score_mod=score_mod, block_mask=functions.block_mask)
    torch.testing.assert_close(found, plain)


def test_where_shapes_are_checked_a_wrong_one_is_refused(request):
    if not request.config.getoption("jaxtyping_packages", None):
        pytest.skip("this is of the tests with --jaxtyping-packages")
    structure = dense(vectors_of(padded("arc-standard")))
    with pytest.raises(Exception, match="relpos"):
        Structure(structure.visible, structure.relpos[0])
