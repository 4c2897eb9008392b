"""Many trees of a sentence together get the numbers that each gets by itself, and what is shared is computed once.

What the trie should be is found by listing prefixes as Python tuples, and who should see whom by `dense`, one sequence
at a time.
"""

from collections import defaultdict
from functools import cache
from itertools import pairwise
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor
from toys import PIECES, READINGS, SENTENCES, by_kind, by_model, joint_log_probs
from trees import Heads, all_trees, random_tree

from dtglib.data.vocabulary import Vocabulary
from dtglib.decode import trie
from dtglib.decode.trie import Trie, groups, grow, laid_out
from dtglib.evaluate import likelihood
from dtglib.families.base import build
from dtglib.network import attention
from dtglib.network.transformer import Transformer, TransformerConfig, batch_of
from dtglib.sequences.batches import by_length, pad
from dtglib.sequences.columns import Compiled, Sequences
from dtglib.sequences.structure import Shared, Structure, dense, vectors_of

MODELS = ["dtg", "dtg-eager", "dtg-swift", "txl-trans"]
SIZE = {"layers": 2, "width": 32, "heads": 4, "inner": 64}
SAME = {"atol": 1e-4, "rtol": 0}

in_every_kind_of_model = pytest.mark.parametrize("name", by_kind(MODELS))
with_both_outputs = pytest.mark.parametrize(
    ("name", "output"), by_model([*((name, "single") for name in MODELS), ("dtg-eager", "factored")])
)


pytestmark = pytest.mark.usefixtures("one_thread")


# ---- Sentences and models


@cache
def vocabulary() -> Vocabulary:
    """Many of the words below are cut in several pieces."""
    return Vocabulary.train(SENTENCES, PIECES)


@cache
def words(count: int) -> list[str]:
    """A sentence in which words come again, so that a prefix is told by what it does and not by what it names."""
    known = sorted({word for sentence in SENTENCES for word in sentence})
    random = Random(count)
    return ["the", "differentials", *(random.choice(known) for _ in range(31))][:count]


@cache
def trees(count: int) -> list[Heads]:
    """All trees of a few words. Of many, 60: half of them random, half of them alike in the first half of the words."""
    if count <= 5:
        return all_trees(count)
    random = Random(count)
    front = random_tree(random, count // 2)
    alike = [before(front, random_tree(random, count - count // 2)) for _ in range(30)]
    return [random_tree(random, count) for _ in range(30)] + alike


def before(front: Heads, back: Heads) -> Heads:
    """Two trees side by side, the first one's root below that of the second."""
    root = len(front) + back.index(0) + 1
    return tuple(head or root for head in front) + tuple(head + len(front) if head else 0 for head in back)


@cache
def sequences(name: str, *counts: int) -> Sequences:
    """All trees of a sentence; of several sentences, the sequences have different lengths."""
    return READINGS[name](vocabulary(), [(words(count), heads) for count in counts for heads in trees(count)])


@cache
def model(name: str, output: str = "single") -> Transformer:
    """Its weights are larger than those that training begins with, so that it has strong opinions."""
    torch.manual_seed(1)
    found = build(TransformerConfig(model=name, output=output, **SIZE), vocabulary())
    with torch.no_grad():
        found.embedding.weight *= 3
        found.output.bias.normal_()
    return found.eval()


@torch.no_grad()
def of_rows(scorer: Transformer, chosen: Sequences, numbers: np.ndarray | list[int]) -> Tensor:
    """The log-probability of each of some sequences, a row each: the way that needs no trie."""
    batch = batch_of(pad(chosen, numbers), dense)
    row = batch.predicts // batch.token.shape[1]
    return torch.zeros(len(numbers), dtype=torch.float64).index_add_(0, row, scorer.log_probs(batch).double())


@cache
def by_itself(name: str, count: int, output: str = "single") -> Tensor:
    chosen = sequences(name, count)
    return torch.cat([of_rows(model(name, output), chosen, [number]) for number in range(len(chosen))])


def path(sequence: Compiled) -> list[tuple]:
    """The prefixes of a sequence, one a position, as what was read so far."""
    read = list(zip(sequence.token.tolist(), sequence.arc.tolist(), strict=True))
    return [tuple(read[: place + 1]) for place in range(len(read))]


def prefixes(chosen: Sequences, numbers: np.ndarray | range) -> set[tuple]:
    return {prefix for number in numbers for prefix in path(chosen.sentence(int(number)))}


def grown(chosen: Sequences) -> tuple[Trie, Compiled]:
    batch = pad(chosen, range(len(chosen)))
    return grow(batch), batch


def paths(chosen: Sequences) -> list[list[int]]:
    """The numbers of each sequence's positions, without padding."""
    found, _ = grown(chosen)
    lengths = np.diff(chosen.starts).tolist()
    return [row[:length].tolist() for row, length in zip(found.node, lengths, strict=True)]


# ---- The numbers


def test_the_sentences_have_words_of_several_pieces_and_words_that_come_again():
    """Without them the tests below would show less."""
    for count in (5, 20, 33):
        assert len(vocabulary().encode(words(count)).ids) > count
    assert len(set(words(20))) < 20


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 20, 33])
@with_both_outputs
def test_together_the_trees_get_what_each_gets_by_itself(name, output, count):
    found = joint_log_probs(model(name, output), sequences(name, count))
    torch.testing.assert_close(found, by_itself(name, count, output), **SAME)


@in_every_kind_of_model
def test_together_the_trees_get_what_they_get_in_padded_rows(name):
    chosen = sequences(name, 20)
    rows = torch.zeros(len(chosen), dtype=torch.float64)
    for numbers in by_length(np.diff(chosen.starts), 1000, np.random.default_rng(1)):
        rows[torch.from_numpy(numbers)] = of_rows(model(name), chosen, numbers)
    torch.testing.assert_close(joint_log_probs(model(name), chosen), rows, **SAME)


@in_every_kind_of_model
def test_different_trees_get_different_numbers(name):
    """So the comparisons above would notice if two were confused."""
    gaps = by_itself(name, 5).sort().values.diff()
    assert (gaps > 10 * SAME["atol"]).double().mean() > 0.9
    assert by_itself(name, 5).std() > 1


@in_every_kind_of_model
def test_the_order_of_the_trees_does_not_matter(name):
    chosen = sequences(name, 20)
    order = np.random.default_rng(2).permutation(len(chosen))
    found = joint_log_probs(model(name), chosen.chosen(order))
    torch.testing.assert_close(found, joint_log_probs(model(name), chosen)[torch.from_numpy(order)], **SAME)


@pytest.mark.parametrize("positions", [trie.POSITIONS["cpu"], 5])
@in_every_kind_of_model
def test_the_same_tree_twice_gets_the_same_number_twice(name, positions, monkeypatch):
    monkeypatch.setitem(trie.POSITIONS, "cpu", positions)
    numbers = np.array([3, 0, 3, 7, 0, 3])
    found = joint_log_probs(model(name), sequences(name, 20).chosen(numbers))
    torch.testing.assert_close(found, by_itself(name, 20)[torch.from_numpy(numbers)], **SAME)


@in_every_kind_of_model
def test_one_tree_alone_is_a_trie_too(name):
    for number in (0, 59):
        found = joint_log_probs(model(name), sequences(name, 33).chosen(np.array([number])))
        torch.testing.assert_close(found, by_itself(name, 33)[[number]], **SAME)


def test_no_trees_get_no_numbers():
    assert joint_log_probs(model("dtg"), sequences("dtg", 5).chosen(np.array([], np.int64))).shape == (0,)


def test_nothing_is_asked_of_gradients_and_training_stays_as_it_was():
    found = joint_log_probs(model("dtg"), sequences("dtg", 4))
    assert not found.requires_grad
    assert not model("dtg").training
    in_training = build(TransformerConfig(model="dtg", **SIZE), vocabulary()).train()
    joint_log_probs(in_training, sequences("dtg", 4))
    assert all(module.training for module in in_training.modules())
    assert torch.is_grad_enabled()


# ---- Memory


def limit(monkeypatch: pytest.MonkeyPatch, positions: int, row: int, predictions: int) -> None:
    monkeypatch.setitem(trie.POSITIONS, "cpu", positions)
    monkeypatch.setattr(trie, "ROW", row)
    monkeypatch.setitem(trie.PREDICTIONS, "cpu", predictions)


@pytest.mark.parametrize("limits", [(1, 1, 1), (97, 7, 13), (500, 33, 2048), (16_384, 1000, 31)])
@in_every_kind_of_model
def test_how_much_is_held_at_once_changes_no_number(name, limits, monkeypatch):
    chosen, expected = sequences(name, 5), by_itself(name, 5)
    limit(monkeypatch, *limits)
    torch.testing.assert_close(joint_log_probs(model(name), chosen), expected, **SAME)


@pytest.mark.parametrize("most", [60, 400])
def test_what_is_held_at_once_is_no_more_than_the_limits(most, monkeypatch):
    """The model and its output say how much they were given."""
    scorer, given = build(TransformerConfig(model="dtg", **SIZE), vocabulary()).eval(), defaultdict(list)
    scorer.register_forward_pre_hook(lambda _, batch: given["positions"].append(batch[0].token.numel()))
    scorer.output.register_forward_pre_hook(lambda _, x: given["predictions"].append(len(x[0])))
    limit(monkeypatch, most, 10, 17)
    joint_log_probs(scorer, sequences("dtg", 5))
    assert len(given["positions"]) > 1
    assert max(given["positions"]) <= most
    assert max(given["predictions"]) == 17


@pytest.mark.parametrize("limit", [1, 50, 150, 1000, 100_000])
@in_every_kind_of_model
def test_groups_are_no_larger_than_the_limit_unless_a_sequence_is(name, limit):
    for count in (5, 20):
        chosen = sequences(name, count)
        found = groups(chosen, limit)
        assert sorted(np.concatenate(found).tolist()) == list(range(len(chosen)))
        for numbers in found:
            assert len(numbers) == 1 or len(prefixes(chosen, numbers)) <= limit
        if limit == 100_000:
            assert len(found) == 1


def test_groups_hold_as_much_as_they_may():
    """No two that follow one another would fit in one."""
    chosen = sequences("dtg", 20)
    found = groups(chosen, 500)
    assert len(found) > 2
    for one, other in pairwise(found):
        assert len(prefixes(chosen, [*one, other[0]])) > 500


@pytest.mark.parametrize(("less", "expected"), [(0, 1), (1, 2)])
def test_a_group_may_be_exactly_as_large_as_asked(less, expected):
    chosen = sequences("dtg", 20)
    assert len(groups(chosen, len(prefixes(chosen, range(len(chosen)))) - less)) == expected


# ---- The trie


@pytest.mark.parametrize("counts", [(1,), (4,), (5,), (20,), (3, 4)])
@in_every_kind_of_model
def test_there_is_a_position_for_every_different_prefix(name, counts):
    chosen = sequences(name, *counts)
    number_of = {}
    for number, nodes in enumerate(paths(chosen)):
        for prefix, node in zip(path(chosen.sentence(number)), nodes, strict=True):
            assert number_of.setdefault(prefix, node) == node
    found, batch = grown(chosen)
    assert sorted(number_of.values()) == list(range(len(found.place)))
    # Of each position, the sequence and the place that it names.
    assert (found.node[found.sequence, found.place] == np.arange(len(found.place))).all()
    assert (found.node >= 0).sum() == chosen.starts[-1]
    assert batch.token.shape == found.node.shape


@in_every_kind_of_model
def test_trees_of_few_words_share_much(name):
    assert sequences(name, 5).starts[-1] > 1.5 * len(prefixes(sequences(name, 5), range(len(trees(5)))))


@in_every_kind_of_model
def test_positions_are_numbered_depth_first(name):
    """Parents come before their children, and a position and all that follow it have numbers in a row."""
    parents, below = defaultdict(set), defaultdict(set)
    for nodes in paths(sequences(name, 5)):
        assert nodes[0] == 0
        assert all(one < other for one, other in pairwise(nodes))
        for place, node in enumerate(nodes):
            parents[node] |= set(nodes[:place][-1:])
            below[node] |= set(nodes[place:])
    assert all(len(found) == (node > 0) for node, found in parents.items())
    for node, numbers in below.items():
        assert numbers == set(range(node, node + len(numbers)))


# ---- Who sees whom


class Sight(NamedTuple):
    """The positions that each position of a trie sees, and their relative positions."""

    of: list[dict[int, int]]
    structure: Shared


def sight(chosen: Sequences) -> Sight:
    """`laid_out`, written out a position at a time."""
    structure, _ = laid_out(*grown(chosen))
    found = []
    for visible, relpos, keys in zip(*(tensor.tolist() for tensor in structure), strict=True):
        for flags, distances in zip(visible, relpos, strict=True):
            seen = [(key, far) for key, flag, far in zip(keys, flags, distances, strict=True) if flag]
            assert len(dict(seen)) == len(seen)
            found.append(dict(seen))
    return Sight(found, structure)


@pytest.mark.parametrize("row", [1, 7, 64])
@pytest.mark.parametrize("name", by_model(MODELS))
def test_a_position_sees_what_it_sees_in_every_sequence_that_goes_through_it(name, row, monkeypatch):
    monkeypatch.setattr(trie, "ROW", row)
    for count in (1, 4, 20):
        chosen = sequences(name, count)
        chosen = chosen.chosen(np.arange(len(chosen))[-20:])  # of 20 words, those that begin alike
        found = sight(chosen).of
        for number, nodes in enumerate(paths(chosen)):
            visible, relpos = dense(vectors_of(pad(chosen, [number])))
            for i, node in enumerate(nodes):
                seen = visible[0, i].nonzero()[:, 0]
                distances = relpos[0, i, seen].tolist()
                assert found[node] == dict(zip([nodes[j] for j in seen.tolist()], distances, strict=True))


@in_every_kind_of_model
def test_positions_that_fill_up_the_last_row_see_only_themselves_and_no_other_position_sees_them(name):
    found, _ = grown(sequences(name, 4))
    seen_by = sight(sequences(name, 4)).of
    positions = len(found.place)
    assert len(seen_by) % trie.ROW == 0 and 0 < len(seen_by) - positions < trie.ROW
    assert seen_by[positions:] == [{number: 0} for number in range(positions, len(seen_by))]
    assert max(max(seen) for seen in seen_by[:positions]) < positions


@in_every_kind_of_model
def test_a_row_gathers_only_what_somebody_in_it_sees(name, monkeypatch):
    monkeypatch.setattr(trie, "ROW", 16)
    visible, _, keys = sight(sequences(name, 20)).structure
    used = visible.any(1)
    assert used.any(0).all()  # no row gathers more than the one that needs the most
    for row_used, row_keys in zip(used, keys, strict=True):
        count = int(row_used.sum())
        assert row_used[:count].all()  # what is left over comes last
        assert len(set(row_keys[:count].tolist())) == count


# ---- Attention


def heads_and_table(size: int, farthest: int) -> list[Tensor]:
    torch.manual_seed(3)
    return [torch.randn(4, 2, size, 8) for _ in range(4)] + [torch.randn(2, farthest + 2, 8)]


@in_every_kind_of_model
def test_shared_is_dense_where_every_row_looks_at_itself(name):
    batch = pad(sequences(name, 20), range(4))
    visible, relpos = dense(vectors_of(batch))
    inputs = heads_and_table(visible.shape[1], int(batch.top.max()))
    keys = torch.arange(visible[..., 0].numel()).view(visible.shape[:2])
    found = attention.shared(*inputs, Shared(visible, relpos, keys))
    torch.testing.assert_close(found, attention.dense(*inputs, Structure(visible, relpos)))


def test_shared_looks_at_other_rows_and_in_any_order():
    """If row b looks at row b + 1 backwards, the result is `dense` over the keys and values of that row."""
    batch = pad(sequences("dtg", 20), range(4))
    visible, relpos = dense(vectors_of(batch))
    qu, qw, k, v, r = heads_and_table(visible.shape[1], int(batch.top.max()))
    keys = torch.arange(visible[..., 0].numel()).view(visible.shape[:2]).roll(-1, 0).flip(1)
    found = attention.attend(qu, qw, k, v, r, Shared(visible, relpos, keys))
    moved = (x.roll(-1, 0).flip(2) for x in (k, v))
    torch.testing.assert_close(found, attention.dense(qu, qw, *moved, r, Structure(visible, relpos)))


@in_every_kind_of_model
def test_trees_of_several_sentences_get_the_numbers_that_they_get_sentence_by_sentence(name, monkeypatch):
    """The sentences begin alike, so that their sequences share positions, too."""
    asked = [(words(count), np.array(trees(count))) for count in (4, 9, 1, 5, 3)]
    alone = [likelihood.score_trees(model(name), *each) for each in asked]
    monkeypatch.setitem(likelihood.SENTENCES, "cpu", 3)
    for mine, expected in zip(likelihood.score_many(model(name), asked), alone, strict=True):
        np.testing.assert_array_equal(mine.trees, expected.trees)
        np.testing.assert_allclose(mine.log_probs, expected.log_probs, **SAME)
