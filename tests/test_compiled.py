"""Layers are compiled once for all of them, and compute what they computed."""

import shutil

import pytest
import torch
from toys import READINGS, small_model, trees, vocabulary

from dtglib.network.transformer import Batch, Transformer, batch_of
from dtglib.sequences.batches import pack
from dtglib.sequences.structure import Structure, dense
from dtglib.training.compiled import compiled_graphs, compiled_layers

# Slow: PyTorch compiles, or at least imports its compiler.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread", "nothing_compiled")]

LAYERS = 3
# All of the default compiler but its last step, which has a C++ compiler translate for minutes what takes no time here.
QUICK = "aot_eager_decomp_partition"


@pytest.fixture
def nothing_compiled():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(params=[QUICK, "inductor"])
def compiler(request) -> str:
    if request.param == "inductor" and not shutil.which("g++"):
        pytest.skip("PyTorch needs g++ to compile for a CPU")
    return request.param


def packed(numbers: range, farthest: int = 16) -> Batch:
    """Some trees of toys.py in rows of one shape. (FlexAttention has no way backwards on a CPU.)"""
    sequences = READINGS["dtg"](vocabulary("pieces"), trees())
    return batch_of(pack(sequences, numbers, 128, least=6), dense, farthest=farthest)


BATCHES = [packed(range(10)), packed(range(5, 12)), packed(range(9, 20))]


def learnt(model: Transformer, batch: Batch) -> list[torch.Tensor]:
    """The loss, and all gradients."""
    model.zero_grad()
    nats, _ = model.loss(batch)
    nats.backward()
    return [nats.detach(), *(parameter.grad.clone() for parameter in model.parameters())]


def assert_alike(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5 * other.abs().max().item())


def test_one_compilation_serves_all_layers_and_batches_and_computes_the_same(compiler):
    model = small_model("dtg", layers=LAYERS)
    assert len({batch.token.shape for batch in BATCHES}) == 1
    assert len({len(batch.target) for batch in BATCHES}) == len(BATCHES)
    expected, before = [learnt(model, batch) for batch in BATCHES], compiled_graphs()
    with compiled_layers(model, compiler, form=Structure) as compiling:
        for number, batch in enumerate(BATCHES):
            with torch.compiler.set_stance("fail_on_recompile" if number else "default"):
                assert_alike(learnt(model, batch), expected[number])
        assert compiled_graphs() - before == 2  # a layer, and what reads the targets off
    assert compiling.seconds > 0
    assert compiling.for_metrics == {"compile_seconds": compiling.seconds}


def test_a_farther_position_costs_one_compilation_and_a_third_none():
    """In packed rows there is none: they have the same `farthest` throughout a training."""
    model, before = small_model("dtg", layers=LAYERS), compiled_graphs()
    with compiled_layers(model, "eager", form=Structure), torch.no_grad():
        for farthest in (16, 32, 48, 64):
            model.loss(packed(range(5), farthest))
    assert compiled_graphs() - before == 3


def test_weights_keep_their_names_and_the_model_is_as_before_afterwards():
    model = small_model("dtg")
    names, attributes = list(model.state_dict()), [set(vars(module)) for module in model.modules()]
    with compiled_layers(model, QUICK, form=Structure):
        assert list(model.state_dict()) == names
    assert [set(vars(module)) for module in model.modules()] == attributes


def test_nothing_is_compiled_for_batches_of_many_shapes_and_in_evaluation():
    model, before = small_model("dtg"), compiled_graphs()
    with compiled_layers(model, QUICK) as compiling:
        model.loss(BATCHES[0])
    model.eval()
    with compiled_layers(model, QUICK, form=Structure), torch.no_grad():
        model.loss(BATCHES[0])
    assert compiled_graphs() == before
    assert compiling.for_metrics == {}
