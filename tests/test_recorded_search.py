"""A search whose network is recorded, as on a GPU, finds what it finds without; nothing of it waits for a GPU."""

import copy
import gc
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode
from toys import SENTENCES, in_every_model, small_model

from dtglib.decode import pool, sequence_stepper
from dtglib.decode.beam import Widths, search
from dtglib.decode.pool import Pool, Recorded, rounded
from dtglib.decode.stack_rows import Looks
from dtglib.network import attention
from dtglib.network.output import Legal
from dtglib.network.search_output import SearchOutput, for_search
from dtglib.network.transformer import Transformer
from dtglib.sequences.structure import Pooled

WIDTHS = Widths(20, 10)
pytestmark = pytest.mark.usefixtures("one_thread")


def by_hand(pool: Pool, network: Callable[..., Tensor], inputs: list[Tensor]) -> Recorded:
    """Compute into the same output whenever it is replayed, as a CUDA graph does, from where everything stands now."""
    alone = copy.copy(network.__self__)
    alone.pool = copy.copy(pool)
    output = type(alone).network(alone, *inputs).clone()
    return output, lambda: output.copy_(type(alone).network(alone, *inputs))


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(sequence_stepper, "POSITIONS_UNCOMPILED", 0)
    monkeypatch.setitem(pool.RECORDERS, "cpu", by_hand)


def results(model: Transformer) -> list[float]:
    gc.collect()  # a search that is over gives its pool back
    return [value for found in search(model.stepper(), model.vocabulary, SENTENCES[:5], WIDTHS) for value in found[0]]


def pools(model: Transformer) -> list[Pool]:
    gc.collect()
    return pool._SPARE[model]


@in_every_model
def test_a_recorded_network_finds_what_it_finds_otherwise(name, monkeypatch, request):
    model = small_model(name)
    expected = results(model)
    request.getfixturevalue("recorded")
    monkeypatch.setitem(sequence_stepper.POSITIONS_AT_ONCE, "cpu", 100)  # several parts, of one shape
    assert results(model) == pytest.approx(expected, abs=1e-4)
    (kept,) = pools(model)
    assert {shape[0] for shape in kept.recorded} <= {64, 128}
    assert kept.recorded
    assert all(shape[1] % 16 == 0 for shape in kept.recorded)


def test_the_next_search_goes_on_with_the_recordings_even_if_weights_have_changed(recorded, monkeypatch):
    model = small_model("dtg")
    first = results(model)
    assert results(model) == first  # what was recorded before the pool grew is recorded again
    (kept,) = pools(model)
    shapes = list(kept.recorded)
    monkeypatch.setitem(pool.RECORDERS, "cpu", None)  # nothing more is recorded
    assert results(model) == first
    assert pools(model) == [kept]
    assert list(kept.recorded) == shapes
    for weight in model.parameters():
        weight.data *= 1.1  # as an optimizer does, which PyTorch need not notice
    changed = results(model)
    monkeypatch.delitem(pool.RECORDERS, "cpu")
    assert changed == pytest.approx(results(model), abs=1e-4)
    assert changed != pytest.approx(first, abs=1e-2)


def test_another_precision_and_weights_that_moved_have_another_pool(recorded):
    model = small_model("dtg")
    results(model)
    (kept,) = pools(model)
    with torch.autocast("cpu", torch.bfloat16):
        rounded_off = results(model)
        assert results(model) == rounded_off
        (other,) = set(pools(model)) - {kept}
    assert {kept.keys[0].dtype, other.keys[0].dtype} == {torch.float32, torch.bfloat16}
    results(model)
    assert set(pools(model)) == {kept, other}
    stepper = model.stepper()
    with torch.autocast("cpu", torch.bfloat16):  # it matters when the search begins
        search(stepper, model.vocabulary, SENTENCES[:1], WIDTHS)
    assert stepper.pool is other
    del stepper
    model.u.data = model.u.data.clone()
    results(model)
    assert not {kept, other} & set(pools(model))


def test_searches_at_one_time_have_a_pool_each(recorded):
    model = small_model("dtg")
    steppers = [model.stepper() for _ in range(2)]
    assert steppers[0].pool is not steppers[1].pool
    states = [stepper.init(2) for stepper in steppers]
    torch.testing.assert_close(*(one.log_probs(state) for one, state in zip(steppers, states, strict=True)))
    both = {id(one.pool) for one in steppers}
    steppers.clear()
    assert {id(kept) for kept in pools(model)} == both


@pytest.mark.parametrize(("count", "rows"), [(1, 64), (64, 64), (65, 128), (300, 512)])
def test_a_recording_has_room_for_more(count, rows):
    one = np.arange(count, dtype=np.int32)
    pairs = np.arange(count * 17).reshape(count, 17)
    wide = rounded(Looks(one, one, one, one, pairs, pairs, np.zeros((count, 17, 3), np.int32)))
    assert [x.shape for x in wide] == [(rows,)] * 4 + [(rows, 32)] * 2 + [(rows, 32, 3)]
    assert (wide.slot == np.minimum(np.arange(rows), count - 1)).all() and (wide.count == wide.slot).all()
    for wider in (wide.seen, wide.relpos):
        assert (wider[:, :17] == pairs[wide.slot]).all() and not wider[:, 17:].any()


def test_nothing_between_two_copies_waits_for_a_gpu(monkeypatch):
    model = small_model("dtg")
    stepper = model.stepper()
    stepper.init(2)
    stepper.positions = 10**9
    # The kernel for GPUs does nothing here; tensors without content raise where a number would be read.
    monkeypatch.setitem(attention.FORMS, Pooled, lambda qu, qw, k, v, r, structure, bias: qu.clone())
    columns, pairs = torch.zeros(4, 64, dtype=torch.int32), torch.zeros(2, 64, 16, dtype=torch.int32)
    legal, symbols = Legal(*torch.ones(3, 64, dtype=torch.long)), torch.zeros(64, 5, dtype=torch.long)
    output = for_search(model.output, model.embedding.weight)
    with FakeTensorMode(allow_non_fake_inputs=True) as fake, torch.no_grad():
        columns, pairs, symbols, *legal = (fake.from_tensor(x) for x in (columns, pairs, symbols, *legal))
        x = stepper.network(columns, pairs, pairs.new_empty(1, 64, 16, 0))
        assert x.shape == (64, model.config.width)
        of_symbols, _ = output.some(x, Legal(*legal), symbols, np.arange(64) < 20)
        assert of_symbols.shape == (64, 5)
        with pytest.raises(DynamicOutputShapeException):
            SearchOutput.some(output, x, Legal(*legal), symbols, np.arange(64) < 20)
