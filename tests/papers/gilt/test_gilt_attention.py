"""The graph term of GiLT in attention, in the fast form and by its definition."""

import pytest
import torch
from torch.testing import assert_close

from dtgpapers.gilt.attention import BLOCKS, VALUES, Tape, graph_term, naive, occurring
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.tape import FEATURES, MOST

B, H, T, S, D, E = 2, 3, 5, 6, 6, 7
FIRST = VALUES * torch.arange(len(FEATURES))[:, None, None]  # row of each feature
CONFIG = GiltConfig(layers=1, width=H * D, heads=H, inner=8, feature_width=E)

pytestmark = pytest.mark.usefixtures("one_thread")


def given(dtype=torch.double) -> tuple[torch.Tensor, ...]:
    """A query for each of T positions, and features of S others, as rows of what all values add to keys."""
    torch.manual_seed(1)
    q = torch.randn(B, H, T, D, dtype=dtype)
    fused = torch.randn(len(FEATURES) * VALUES, H * D, dtype=dtype)
    to_keys = torch.randn(H * D, H * D, dtype=dtype)
    features = torch.randint(0, VALUES, (B, len(FEATURES), T, S))
    features[0, :, 0, 0], features[0, :, 0, 1] = 0, MOST
    return q, fused, to_keys, features + FIRST


def test_the_term_and_its_gradients_are_those_of_the_naive_form():
    *inputs, rows = given()
    weights = torch.randn(B, H, T, S, dtype=torch.double)
    found = []
    for form in (graph_term, naive):
        copies = [x.clone().requires_grad_() for x in inputs]
        out = form(*copies, rows)
        (out * weights).sum().backward()
        found.append([out.detach(), *(x.grad for x in copies)])
    for fast, slow in zip(*found, strict=True):
        assert_close(fast, slow, rtol=1e-10, atol=1e-10)
        assert fast.abs().max() > 0.1


def test_it_makes_no_vector_for_a_pair_of_positions():
    q, fused, to_keys, rows = given()
    sizes = []

    def seen(tensor: torch.Tensor) -> torch.Tensor:
        sizes.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(seen, lambda tensor: tensor):
        wide = rows.repeat(1, 1, 40, 40)
        out = graph_term(q.repeat(1, 1, 40, 1).requires_grad_(), fused, to_keys, wide)
        pairs = out.numel() // H
        assert max(sizes) <= max(H * len(FEATURES) * pairs, B * H * 40 * T * len(FEATURES) * VALUES) < pairs * H * D
        sizes.clear()
        naive(q.repeat(1, 1, 40, 1).requires_grad_(), fused, to_keys, wide)
        assert max(sizes) >= pairs * H * D


def test_only_the_embeddings_of_values_that_occur_are_taken():
    torch.manual_seed(4)
    features = torch.randint(0, VALUES, (B, len(FEATURES), 9))
    tables = torch.randn(len(FEATURES), VALUES, E, requires_grad=True)
    rows, chosen = occurring(features, tables)
    assert [len(table) for table in chosen] == [len(one.unique()) for one in features.unbind(1)]
    found = torch.cat(chosen)[rows]
    for n in range(len(FEATURES)):
        assert_close(found[:, n], tables[n, features[:, n]], rtol=0, atol=0)


@pytest.mark.parametrize("keys", BLOCKS)
def test_a_layer_adds_what_the_equations_say(keys):
    """(q + u) . W_k e for content keys, (q + w) . W_r e for positional ones; e has the values' embeddings, mapped."""
    torch.manual_seed(2)
    block = BLOCKS[keys](CONFIG)
    q, _, _, rows = given(torch.float)
    u, w = torch.randn(H, 1, D), torch.randn(H, 1, D)
    tables = torch.randn(len(FEATURES), VALUES, E)
    found = block.bias(q + u, Tape(rows, list(tables), u, w))
    b, h, t, s = 1, 2, 3, 4
    features = (rows - FIRST)[b, :, t, s]
    e = sum(linear(table[value]) for linear, table, value in zip(block.fuse, tables, features, strict=True))
    if keys == "content":
        key, query = block.qkv(e)[H * D : 2 * H * D], q[b, h, t] + u[h, 0]
    else:
        key, query = block.places(e), q[b, h, t] + w[h, 0]
    assert_close(found[b, h, t, s], query @ key[h * D : (h + 1) * D] / D**0.5)


def test_biases_of_the_linear_maps_change_no_weights():
    torch.manual_seed(3)
    block = BLOCKS["content"](CONFIG)
    q, _, _, rows = given(torch.float)
    tape = Tape(rows, list(torch.randn(len(FEATURES), VALUES, E)), torch.zeros(H, 1, D), torch.zeros(H, 1, D))
    before = block.bias(q, tape).softmax(3)
    with torch.no_grad():
        for linear in block.fuse:
            linear.bias.add_(torch.randn(H * D))
    assert_close(block.bias(q, tape).softmax(3), before, atol=1e-5, rtol=1e-5)
