"""Attention over a structure: the formula by hand, and forms of it that agree in values and gradients.

Everywhere two tensors agree "to 1e-5" if no entry differs by more than 1e-5 of the largest one.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import pytest
import torch
from conftest import slow
from torch import Tensor
from torch._functorch import config as functorch_config
from toys import compiled, random_sentences
from trees import THERE_IS_A_DIFFERENCE

from dtglib.network import attention, looks
from dtglib.network.attention import NEAREST, attend, sinusoids
from dtglib.sequences.batches import pack, pad
from dtglib.sequences.readings import causal
from dtglib.sequences.structure import Flex, Pooled, Structure, Vectors, dense, flex, vectors_of
from dtglib.transitions import SYSTEMS

SENTENCES = random_sentences(5, 4, most_words=9, most_pieces=3)
HEADS, WIDTH = 2, 8
FLOAT32 = 1e-5
BFLOAT16 = 0.03  # it has 8 bits for a number: one rounding costs 0.004 of it, and there are several

in_every_structure = pytest.mark.parametrize("name", [*SYSTEMS, "causal"])
in_every_arrangement = pytest.mark.parametrize("arrange", ["padded", "packed"])
with_and_without_bias = pytest.mark.parametrize("biased", [False, True], ids=["plain", "biased"])
# PyTorch says that uncompiled FlexAttention is for debugging, which this is.
pytestmark = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


# ---- Structures and inputs


@cache
def vectors(name: str, arrange: str = "padded") -> Vectors:
    """Sentences of 13 to 46 positions with words of several pieces, one a row, or packed into rows of 61."""
    sequences = causal(compiled("arc-standard", SENTENCES)) if name == "causal" else compiled(name, SENTENCES)
    numbers = range(len(SENTENCES))
    return vectors_of(pad(sequences, numbers) if arrange == "padded" else pack(sequences, numbers, 61))


@cache
def small_vectors(name: str) -> Vectors:
    """Two words, of one piece and of two, beside a single one."""
    sequences = compiled("arc-standard" if name == "causal" else name, [((2, 0), (1, 2)), ((0,), (1,))])
    return vectors_of(pad(causal(sequences) if name == "causal" else sequences, [0, 1]))


@cache
def as_flex(name: str, arrange: str) -> Flex:
    return flex(vectors(name, arrange))


class Inputs(NamedTuple):
    """The arguments of attention besides the structure."""

    qu: Tensor
    qw: Tensor
    k: Tensor
    v: Tensor
    r: Tensor
    bias: Tensor | None


def random_inputs(v: Vectors, biased: bool, width: int = WIDTH, dtype: torch.dtype = torch.float32) -> Inputs:
    """The table of places ends with the farthest of them."""
    random = torch.Generator().manual_seed(6)
    rows, size = v.kind.shape
    of_positions = torch.randn(4, rows, HEADS, size, width, generator=random, dtype=dtype)
    r = torch.randn(HEADS, int(v.top.max()) - NEAREST + 1, width, generator=random, dtype=dtype)
    bias = torch.randn(rows, HEADS, size, size, generator=random, dtype=dtype) if biased else None
    return Inputs(*of_positions, r, bias)


def mapped(change: Callable[[Tensor], Tensor], inputs: Inputs) -> Inputs:
    return Inputs(*(None if x is None else change(x) for x in inputs))


def applied(form: Callable, inputs: Inputs, structure: Structure | Flex) -> Tensor:
    *rest, bias = inputs
    return form(*rest, structure, bias)


def values_and_gradients(form: Callable, inputs: Inputs, structure: Structure | Flex) -> dict[str, Tensor]:
    """The values, and the gradient of a random combination of them for every input."""
    inputs = mapped(lambda x: x.detach().requires_grad_(), inputs)
    found = applied(form, inputs, structure)
    random = torch.Generator().manual_seed(7)
    combination = torch.randn(found.shape, generator=random).to(found)
    given = {name: x for name, x in inputs._asdict().items() if x is not None}
    gradients = torch.autograd.grad((found * combination).sum(), list(given.values()))
    return {"values": found.detach(), **dict(zip(given, gradients, strict=True))}


def difference(found: Tensor, expected: Tensor) -> float:
    """The largest one, as a share of the largest entry."""
    assert found.shape == expected.shape
    return ((found.double() - expected.double()).abs().max() / expected.double().abs().max()).item()


def assert_agree(found: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        assert difference(found[name], tensor) < tolerance, name


# ---- The formula


@pytest.mark.parametrize("form", [attention.naive, attention.dense, attention.flex])
def test_two_positions_of_the_example_are_those_worked_out_by_hand(form):
    """arc-standard, positions 3 (LEFTARC + is) and 4 (its second copy): figure 2 says what they see, and where.

    With D = 4 the scores are divided by 2. qu and qw are chosen so that a score is ln 2 times the sum of a number of
    k_j, its first, and one of r, its second; so the weight of j is 2 to that power. v_j is 11 j in all places.

        position 3 sees    There (1) at -1    is (2) at 0    itself at 0
        powers             1 + 2 = 3          0 + 0 = 0      1 + 0 = 1       weights 8, 1, 2 of 11
        value              (8 * 11 + 1 * 22 + 2 * 33) / 11 = 16

        position 4 sees    ROOT (0) at 1      the arc (3) at 0    itself at 0
        powers             0 + 1 = 1          1 + 0 = 1           2 + 0 = 2      weights 2, 2, 4 of 8
        value              (2 * 0 + 2 * 33 + 4 * 44) / 8 = 30.25
    """
    v = vectors_of(pad(compiled("arc-standard", [(THERE_IS_A_DIFFERENCE, [1] * 4)]), [0]))
    size, farthest = v.kind.shape[1], int(v.top.max())
    qu, qw, k, values = torch.zeros(4, 1, 1, size, 4)
    r = torch.full((1, farthest - NEAREST + 1, 4), 5.0)  # what qw must not look at
    qu[..., 0] = qw[..., 1] = 2 * math.log(2)
    k[..., 1:] = 7.0  # what qu must not look at
    k[0, 0, :5, 0] = torch.tensor([0.0, 1, 0, 1, 2])
    r[0, :3, 1] = torch.tensor([2.0, 0, 1])  # of -1, 0 and 1
    values[0, 0] = 11 * torch.arange(size)[:, None]
    structure = flex(v) if form is attention.flex else dense(v)
    found = form(qu, qw, k, values, r, structure)
    torch.testing.assert_close(found[0, 0, 3:5], torch.tensor([[16.0], [30.25]]).expand(2, 4))


def test_the_places_are_sines_and_cosines_from_minus_1_on():
    table = sinusoids(farthest=40, width=6)
    assert table.shape == (42, 6)
    for n in range(-1, 41):
        angles = [n * 10000 ** (-2 * k / 6) for k in range(3)]
        expected = torch.tensor([*map(math.sin, angles), *map(math.cos, angles)])
        torch.testing.assert_close(table[n - NEAREST], expected, rtol=0, atol=1e-5)


# ---- The three forms


@pytest.mark.parametrize("biased", [True, *slow([False])])
@in_every_arrangement
@in_every_structure
def test_dense_is_naive_in_values_and_in_every_gradient(name, arrange, biased):
    v = vectors(name, arrange)
    inputs, structure = random_inputs(v, biased), dense(v)
    by_definition = values_and_gradients(attention.naive, inputs, structure)
    assert_agree(values_and_gradients(attention.dense, inputs, structure), by_definition, FLOAT32)


@with_and_without_bias
@pytest.mark.parametrize("arrange", ["packed", *slow(["padded"])])
@in_every_structure
def test_flex_is_naive_in_values(name, arrange, biased):
    """On the CPU PyTorch gives it no gradients; of those there is a test with CUDA."""
    v = vectors(name, arrange)
    inputs = random_inputs(v, biased)
    by_definition = applied(attention.naive, inputs, dense(v))
    assert difference(applied(attention.flex, inputs, as_flex(name, arrange)), by_definition) < FLOAT32


def as_pool(inputs: Inputs, structure: Structure) -> tuple[Inputs, Pooled]:
    """Each position by itself, with a list of what it sees among the positions of all rows."""
    rows, size = structure.visible.shape[:2]
    apart = [x.transpose(1, 2).flatten(0, 1)[:, :, None] for x in (inputs.qu, inputs.qw)]
    pool = [x.transpose(1, 2).flatten(0, 1).transpose(0, 1)[None] for x in (inputs.k, inputs.v)]
    visible, count = structure.visible.flatten(0, 1), structure.visible.sum(2).flatten()
    # What is visible comes first, in a list as long as the longest one.
    order = visible.int().argsort(dim=1, descending=True, stable=True)[:, : count.max()]
    keys = order + torch.arange(rows).repeat_interleave(size)[:, None] * size
    relpos = structure.relpos.flatten(0, 1).gather(1, order).where(torch.arange(count.max()) < count[:, None], 0)
    bias = None
    if inputs.bias is not None:
        of_heads = inputs.bias.transpose(1, 2).flatten(0, 1)
        bias = of_heads.gather(2, order[:, None].expand(-1, HEADS, -1))[:, :, None]
    return Inputs(*apart, *pool, inputs.r, bias), Pooled(keys, relpos, count)


@pytest.mark.parametrize("biased", [True, *slow([False])])
@in_every_structure
def test_positions_that_read_a_pool_one_by_one_read_what_they_see(name, biased):
    v = vectors(name)
    inputs, structure = random_inputs(v, biased), dense(v)
    expected = applied(attention.naive, inputs, structure).transpose(1, 2).flatten(0, 1)[:, :, None]
    inputs, structure = as_pool(inputs, structure)
    assert difference(applied(attend, inputs, structure), expected) < FLOAT32
    of_rows = applied(attention.shared, inputs, structure.shared)
    assert difference(of_rows, expected) < FLOAT32


@with_and_without_bias
def test_threads_that_share_the_positions_change_nothing(biased, monkeypatch):
    monkeypatch.setattr(looks, "FEWEST", 5)
    v = vectors("arc-standard")
    inputs, structure = as_pool(random_inputs(v, biased), dense(v))
    shared_out = []
    counted = looks.look_in_threads

    def among(threads):
        def look(*arguments):
            shared_out.append(threads)
            counted(*arguments[:-1], threads)

        return look

    found = []
    for threads in (1, 2, 3, 1000):
        monkeypatch.setattr(attention, "look_in_threads", among(threads))
        found.append(applied(attend, inputs, structure))
    assert shared_out == [1, 2, 3, 1000] and all(torch.equal(one, found[0]) for one in found)


@pytest.mark.parametrize("shape", [(1, HEADS), (4, 1), (1, 1)], ids=["of heads", "of rows", "of neither"])
def test_a_bias_may_be_the_same_for_all_rows_or_heads(shape):
    v = vectors("arc-eager")
    inputs, structure = random_inputs(v, biased=True), dense(v)
    some = inputs._replace(bias=inputs.bias[: shape[0], : shape[1]])
    spelled_out = inputs._replace(bias=some.bias.expand_as(inputs.bias))
    expected = applied(attention.naive, spelled_out, structure)
    assert difference(applied(attention.naive, some, structure), expected) < FLOAT32
    assert difference(applied(attention.dense, some, structure), expected) < FLOAT32
    assert difference(applied(attention.flex, some, as_flex("arc-eager", "padded")), expected) < FLOAT32


@in_every_structure
def test_in_bfloat16_dense_and_flex_are_near_to_float32(name):
    """The truth is the definition in float32 of the same numbers, which bfloat16 can hold."""
    v = vectors(name, "packed")
    inputs, structure = mapped(Tensor.bfloat16, random_inputs(v, biased=True)), dense(v)
    truth = values_and_gradients(attention.naive, mapped(Tensor.float, inputs), structure)
    found = values_and_gradients(attention.dense, inputs, structure)
    assert found["values"].dtype == torch.bfloat16
    assert_agree(found, truth, BFLOAT16)
    assert difference(applied(attention.flex, inputs, as_flex(name, "packed")), truth["values"]) < BFLOAT16


@in_every_structure
def test_the_gradients_are_those_of_small_differences(name):
    """In float64, for sentences of one word and of two."""
    v = small_vectors(name)
    inputs = mapped(Tensor.requires_grad_, random_inputs(v, biased=True, width=2, dtype=torch.float64))
    structure = dense(v)
    assert torch.autograd.gradcheck(lambda *xs: attention.dense(*xs[:5], structure, xs[5]), tuple(inputs))


@in_every_arrangement
@in_every_structure
def test_attend_calls_the_form_that_belongs_to_the_structure(name, arrange):
    v = vectors(name, arrange)
    inputs = random_inputs(v, biased=True)
    for form, structure in ((attention.dense, dense(v)), (attention.flex, as_flex(name, arrange))):
        assert applied(attend, inputs, structure).equal(applied(form, inputs, structure))


# ---- Who is not seen


def assert_gradients_are_as_visible(found: Tensor, inputs: Inputs, visible: Tensor, i: int) -> None:
    """Position i depends on the value of every visible position, and on nothing of an invisible one."""
    given = [inputs.k, inputs.v, inputs.bias]
    of_k, of_v, of_bias = torch.autograd.grad(found[:, :, i].sum(), given, retain_graph=True)
    seen = visible[:, None, i].expand(-1, HEADS, -1)
    assert (of_v != 0).any(3).equal(seen)
    assert not (of_k != 0).any(3)[~seen].any()
    assert not (of_bias[:, :, i] != 0)[~seen].any()


@in_every_structure
def test_the_gradient_of_an_invisible_position_is_exactly_zero(name):
    v = vectors(name, "packed")
    inputs = mapped(Tensor.requires_grad_, random_inputs(v, biased=True))
    structure = dense(v)
    found = applied(attention.dense, inputs, structure)
    for i in range(found.shape[2]):
        assert_gradients_are_as_visible(found, inputs, structure.visible, i)


@pytest.mark.parametrize("form", [attention.naive, attention.dense, attention.flex])
@in_every_structure
def test_invisible_positions_change_nothing(form, name):
    """Also where FlexAttention skips no block: what lies in the same block is masked one by one."""
    v = vectors(name, "packed")
    inputs = random_inputs(v, biased=False)
    structure = as_flex(name, "packed") if form is attention.flex else dense(v)
    before = applied(form, inputs, structure)
    place = v.kind.shape[1] // 2
    changed = inputs._replace(k=inputs.k.clone(), v=inputs.v.clone())
    changed.k[:, :, place], changed.v[:, :, place] = 10.0, 1e6
    same = (applied(form, changed, structure) == before).all(3)
    assert same.equal(~dense(v).visible[:, None, :, place].expand(-1, HEADS, -1))


# ---- CUDA

CUDA_WIDTH = 16  # the least that its kernels take


def to_cuda(v: Vectors) -> Vectors:
    return Vectors(*(column.cuda() for column in v))


@pytest.mark.cuda
@with_and_without_bias
@in_every_arrangement
@in_every_structure
def test_on_cuda_flex_is_naive_in_values_and_in_every_gradient(name, arrange, biased):
    v = vectors(name, arrange)
    inputs = random_inputs(v, biased, CUDA_WIDTH)
    truth = values_and_gradients(attention.naive, inputs, dense(v))
    there = to_cuda(v)
    for dtype, tolerance in ((torch.float32, FLOAT32), (torch.bfloat16, BFLOAT16)):
        on_device = mapped(lambda x, dtype=dtype: x.to("cuda", dtype), inputs)
        for form, structure in ((torch.compile(attention.flex), flex(there)), (attention.dense, dense(there))):
            found = values_and_gradients(form, on_device, structure)
            assert_agree({name: x.cpu() for name, x in found.items()}, truth, tolerance)


@pytest.mark.cuda
@in_every_structure
def test_on_cuda_the_gradient_of_an_invisible_position_is_exactly_zero(name):
    v = to_cuda(vectors(name, "packed"))
    inputs = mapped(lambda x: x.cuda().requires_grad_(), random_inputs(vectors(name, "packed"), True, CUDA_WIDTH))
    with functorch_config.patch(donated_buffer=False):  # otherwise compiled code goes backwards only once
        found = applied(torch.compile(attention.flex), inputs, flex(v))
        for i in range(found.shape[2]):
            assert_gradients_are_as_visible(found, inputs, dense(v).visible, i)


@pytest.mark.cuda
@with_and_without_bias
@in_every_structure
def test_on_cuda_positions_read_a_pool_in_a_kernel_of_their_own(name, biased):
    v = vectors(name)
    inputs, structure = random_inputs(v, biased), dense(v)
    if biased:
        # Whoever sees something else does not see the first 36 positions: more than the kernel reads at once.
        bars = (structure.visible[..., 36:].any(2)[..., None] & (torch.arange(v.kind.shape[1]) < 36))[:, None]
        inputs = inputs._replace(bias=inputs.bias.masked_fill(bars, -torch.inf))
    expected = applied(attention.naive, inputs, structure).transpose(1, 2).flatten(0, 1)[:, :, None]
    inputs, structure = as_pool(inputs, structure)
    there = Pooled(*(column.int().cuda() for column in structure))
    for dtype, tolerance in ((torch.float32, FLOAT32), (torch.bfloat16, BFLOAT16)):
        on_device = mapped(lambda x, dtype=dtype: x.to("cuda", dtype), inputs)
        queries = [x.float() for x in on_device[:2]]  # as they are under autocast
        for qu, qw in (on_device[:2], queries):
            assert difference(attend(qu, qw, *on_device[2:5], there, on_device.bias).cpu(), expected) < tolerance
