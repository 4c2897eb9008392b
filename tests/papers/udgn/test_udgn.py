"""UDGN: the definition in loops against the network, the mask, competition, padding, gradients, decoding, counts."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from dtglib.basics.errors import UserError
from dtglib.data.vocabulary import PAD, UNKNOWN, Vocabulary
from dtgpapers.udgn.baseline import MaskedTransformer
from dtgpapers.udgn.config import MaskedTransformerConfig, UdgnConfig
from dtgpapers.udgn.masked import MASKINGS, SYMBOLS, MaskedBatch
from dtgpapers.udgn.naive import by_trees, by_words, vectors_by_definition
from dtgpapers.udgn.network import Udgn
from dtgpapers.udgn.parser import EDGES, mask_of

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = [f"w{number}" for number in range(30)]
SPEAKS = Vocabulary.of_words([WORDS], SYMBOLS)
SMALL = UdgnConfig(layers=2, width=10, heads=3, heads_width=12, parser_layers=2)


def network(seed: int = 1, **changes) -> Udgn:
    torch.manual_seed(seed)
    return Udgn(replace(SMALL, **changes), SPEAKS).eval()


def batch(*lengths: int, seed: int = 1, pads: int = 0, heads: bool = False) -> MaskedBatch:
    """Random words, and random heads if they are asked for; `pads` more columns than are needed."""
    random = np.random.default_rng(seed)
    shape = len(lengths), max(lengths) + pads
    token, gold = np.full(shape, PAD), np.full(shape, -1)
    for row, length in enumerate(lengths):
        token[row, :length] = random.integers(len(SYMBOLS.entries), len(SPEAKS), length)
        gold[row, :length] = random.integers(-1, length, length)
    gold[gold == np.arange(shape[1])] = -1
    token, gold = torch.from_numpy(token), torch.from_numpy(gold)
    return MaskedBatch(token, torch.tensor(lengths), gold if heads else None)


# ---- The definition

VARIANTS = {
    "as it is": {},
    "gates": {"gates": False},
    "competition": {"controller": "sigmoid"},
    "no bias": {"bias": "none"},
    "bias as in the paper": {"bias": "paper"},
    "identity": {"nonlinearity": "identity"},
    "relu": {"nonlinearity": "relu"},
    "elu": {"nonlinearity": "elu"},
    "positions": {"positions": True, "bias": "none"},
    "one head": {"heads": 1},
    "six heads": {"heads": 6},
    "tags": {"tags": 5},
    "kirchhoff": {"edges": "kirchhoff"},
    "gold": {"edges": "gold"},
    "detached": {"edges": "detached"},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_the_network_is_the_definition_in_vectors_and_gradients(changes):
    """Sentences of 1 to 4 words in one padded batch."""
    net, given = network(**changes), batch(3, 1, 4, 2, pads=1, heads=True)
    if net.parser.tags is not None:
        torch.nn.init.normal_(net.parser.tags.choice.weight)
    slow = torch.cat(vectors_by_definition(net, given))
    fast = net.vectors(given)[given.there]
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-4)
    direction = torch.randn(slow.shape, generator=torch.Generator().manual_seed(2))
    weights = [weight for weight in net.parameters() if weight is not net.output_bias]
    by_both = [torch.autograd.grad((x * direction).sum(), weights, allow_unused=True) for x in (fast, slow)]
    for one, other in zip(*by_both, strict=True):
        assert (one is None) == (other is None) or all(g is None or not g.any() for g in (one, other))
        if one is not None and other is not None:
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-3)


@pytest.mark.cuda
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_on_a_gpu_vectors_and_gradients_are_those_on_a_cpu(changes):
    given, found = batch(3, 1, 4, 2, pads=1, heads=True), {}
    for device in ("cpu", "cuda"):
        net = network(**changes, dropout=0.0, attention_dropout=0.0).to(device).train()  # cuDNN's LSTMs want it
        there = given._replace(token=given.token.to(device), heads=given.heads.to(device))
        vectors = net.vectors(there)[there.there]
        weights = [weight for weight in net.parameters() if weight is not net.output_bias]
        slopes = torch.autograd.grad(vectors.square().sum(), weights, allow_unused=True)
        found[device] = [vectors.detach(), *(slope for slope in slopes if slope is not None)]
    for one, other in zip(found["cuda"], found["cpu"], strict=True):
        torch.testing.assert_close(one.cpu(), other, atol=1e-4, rtol=1e-3)


# ---- The mask


@pytest.mark.parametrize(("edges", "chances"), [("softmax", by_words), ("kirchhoff", by_trees)])
def test_row_i_has_the_probabilities_of_the_heads_of_word_i(edges, chances):
    e = torch.randn(1, 4, 4, generator=torch.Generator().manual_seed(1))
    q = EDGES[edges](e, torch.ones(1, 4, dtype=torch.bool), None)[0]
    torch.testing.assert_close(q, torch.tensor([[float(x) for x in row] for row in chances([*map(list, e[0])])]))


def test_of_three_heads_that_are_alike_the_mask_is_five_ninths():
    e, there = torch.zeros(1, 3, 3), torch.ones(1, 3, dtype=torch.bool)
    m = mask_of(EDGES["softmax"](e, there, None))[0]
    assert m.diagonal().eq(0).all()
    torch.testing.assert_close(m[~torch.eye(3, dtype=torch.bool)], torch.full((6,), 5 / 9))


@pytest.mark.parametrize("edges", ["softmax", "kirchhoff"])
def test_a_mask_is_symmetric_and_between_0_and_1(edges):
    e = 4 * torch.randn(50, 7, 7, generator=torch.Generator().manual_seed(1))
    m = mask_of(EDGES[edges](e, torch.ones(50, 7, dtype=torch.bool), None))
    assert m.equal(m.transpose(1, 2)) and m.min() >= 0 and m.max() <= 1 + 1e-5


def test_two_words_that_are_certain_of_each_other_are_joined():
    assert mask_of(torch.tensor([[[0.0, 1.0], [1.0, 0.0]]]))[0, 0, 1] == 1


def test_marginals_of_trees_leave_a_root():
    """In every tree some word has no head: their sum is below the number of words, and above 0 for any pair."""
    e, lengths = 3 * torch.randn(20, 6, 6), torch.arange(20) % 6 + 1
    there = torch.arange(6) < lengths[:, None]
    q = EDGES["kirchhoff"](e, there, None)
    assert (q.sum((1, 2)) <= lengths - 1 + 1e-4).all()
    assert q[~there].eq(0).all() and q.transpose(1, 2)[~there].eq(0).all()


def test_marginals_are_numbers_where_no_word_wants_root():
    e = torch.full((1, 5, 5), 0.0)
    e[0].fill_diagonal_(-80.0)
    q = EDGES["kirchhoff"](e, torch.ones(1, 5, dtype=torch.bool), None)
    assert q.isfinite().all() and q.sum().item() == pytest.approx(4, abs=1e-3)


def test_without_the_heads_of_a_treebank_there_are_no_gold_edges():
    with pytest.raises(UserError, match="no heads"):
        network(edges="gold").vectors(batch(3))


# ---- Competition


def test_the_heads_of_a_pair_of_words_share_its_mask():
    """To the millionth that is added to each mask."""
    net, given = network().double(), batch(4, 6)
    m = mask_of(net.heads(given))
    for weights in net.weights(given):
        more = weights.masked.sum(1)[0, :, :4] - m[0, :, :4]
        torch.testing.assert_close(more, torch.full_like(more, 1e-6), atol=3e-7, rtol=0)
        assert weights.masked[0, :, :, 4:].eq(0).all()
        torch.testing.assert_close(weights.shared.sum(1), torch.ones_like(m).double())


@pytest.mark.parametrize("make", [network, lambda: transformer()], ids=["udgn", "transformer"])
def test_padding_changes_nothing(make):
    net = make()
    tight, wide = (net(batch(3, 5, pads=pads)) for pads in (0, 5))
    torch.testing.assert_close(tight[0, :3], wide[0, :3], atol=1e-5, rtol=0)
    torch.testing.assert_close(tight[1], wide[1, :5], atol=1e-5, rtol=0)


def gradients(net: Udgn, heads: bool = False) -> dict[str, float]:
    """The largest gradient of every weight, by its name; 0 if there is none."""
    given = batch(6, 8, 5, heads=heads)
    torch.manual_seed(3)
    net.train()
    net.loss(given)[0].backward()
    return {name: 0.0 if p.grad is None else float(p.grad.abs().max()) for name, p in net.named_parameters()}


def test_one_head_alone_has_nothing_to_compete_with_and_the_parser_still_learns():
    net = network(heads=1)
    found = gradients(net)
    for layer in net.layers:
        q_and_k = layer.vectors.weight.grad[: 2 * net.config.heads_width]
        assert q_and_k.abs().max() == 0 and layer.bias.grad.abs().max() == 0
    assert all(found[name] > 0 for name in ("parser.out.weight", "parser.embedding.weight"))


@pytest.mark.parametrize("edges", ["softmax", "kirchhoff"])
def test_the_words_teach_the_parser(edges):
    found = gradients(network(edges=edges))
    assert all(value > 0 for name, value in found.items() if name.startswith("parser.") and "bias_hh" not in name)


@pytest.mark.parametrize("edges", ["detached", "gold"])
def test_a_detached_or_gold_mask_teaches_the_parser_nothing(edges):
    found = gradients(network(edges=edges), heads=True)
    assert all((value == 0) == name.startswith("parser.") for name, value in found.items() if "layers" not in name)


# ---- Sizes


def test_the_paper_s_size_has_the_parameters_of_the_published_code():
    speaks = Vocabulary(tuple(map(str, range(10_798))), SYMBOLS)
    with torch.device("meta"):
        for tags, expected in ((0, 49_928_878), (5, 49_996_226)):
            net = Udgn(UdgnConfig(tags=tags), speaks)
            assert sum(parameter.numel() for parameter in net.parameters()) == expected


def test_the_number_of_heads_changes_no_parameter_but_the_bias():
    sizes = [sum(p.numel() for p in network(heads=heads).parameters()) - 2 * 2 * heads for heads in (1, 2, 3, 4, 6, 12)]
    assert len(set(sizes)) == 1


def test_what_a_layer_keeps_grows_with_batch_heads_and_the_square_of_the_length():
    """For the way back: some numbers for each head and pair of words, and no vectors of them."""

    def kept(B: int, T: int, heads: int, head_width: int) -> int:
        net, sizes = network(layers=1, heads=heads, heads_width=heads * head_width), []
        h, weight = torch.randn(B, T, 10, requires_grad=True), torch.rand(B, 1, T, T, requires_grad=True)
        with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, lambda x: x):
            net.layers[0](h, weight)
        return sum(sizes)

    def for_pairs(B: int, T: int, heads: int, head_width: int) -> float:
        """The part that grows with the square of the length, for each sentence and pair of words."""
        sums = [kept(B, length, heads, head_width) for length in (T, 2 * T, 3 * T)]
        return (sums[2] - 2 * sums[1] + sums[0]) / (2 * B * T**2)

    for_head = [(for_pairs(1, 20, heads, 4) - for_pairs(1, 20, 1, 4)) / (heads - 1) for heads in (2, 4, 8)]
    assert for_head == [3, 3, 3]
    assert for_pairs(1, 20, 8, 4) == for_pairs(1, 20, 8, 16) == for_pairs(5, 20, 8, 4) == for_pairs(1, 31, 8, 4)


# ---- Masks


def test_about_a_share_of_the_words_is_hidden_and_never_an_unknown_one_or_padding():
    net = network()
    token = torch.randint(len(SYMBOLS.entries), len(SPEAKS), (250, 400), generator=torch.Generator().manual_seed(1))
    token[:, ::10], token[:, 399] = UNKNOWN, PAD
    given = MaskedBatch(token, torch.full((250,), 399))
    torch.manual_seed(1)
    asked = net.drawn(given)
    assert not asked[:, ::10].any() and not asked[:, 399].any()
    assert asked.sum() / net.may_be_asked(given).sum() == pytest.approx(0.3, abs=0.005)
    hidden = net.hidden(given, asked).token
    assert hidden[asked].eq(net.mask).all() and hidden[~asked].equal(token[~asked])


def test_in_evaluation_there_are_five_maskings_and_in_training_one():
    net, given = network(dropout=0.0, attention_dropout=0.0), batch(9, 12, 4)
    torch.manual_seed(4)
    drawn = [net.drawn(given) for _ in range(MASKINGS)]
    for asked, is_training in ((drawn, False), (drawn[:1], True)):
        torch.manual_seed(4)
        nats, parts = net.train(is_training).loss(given)
        expected = -sum(net.log_probs(given, one).sum() for one in asked)
        assert parts["mask"].events == sum(int(one.sum()) for one in asked)
        torch.testing.assert_close(parts["mask"].nats, expected.detach())
        torch.testing.assert_close(nats, expected / len(asked) / 0.3)


def test_a_hidden_word_does_not_tell_itself():
    """The word behind <mask> does not change the probabilities, nor what the parser sees."""
    net, given = network(), batch(5)
    asked = torch.zeros(1, 5, dtype=torch.bool)
    asked[0, 2] = True
    other = given._replace(token=given.token.masked_fill(asked, UNKNOWN))
    hidden = [net(net.hidden(one, asked)) for one in (given, other)]
    assert hidden[0].equal(hidden[1])


def test_where_nothing_is_asked_the_loss_is_0_and_has_a_gradient():
    net = network().train()
    nats, parts = net.loss(batch(3)._replace(token=torch.full((1, 3), UNKNOWN)))
    nats.backward()
    assert nats.item() == 0 and parts["mask"].events == 0


@pytest.mark.parametrize("make", [network, lambda: transformer()], ids=["udgn", "transformer"])
def test_it_runs_in_half_precision(make):
    net, given = make().train(), batch(5, 3)
    with torch.autocast("cpu", torch.bfloat16):
        nats, _ = net.loss(given)
    nats.backward()
    assert nats.isfinite() and all(p.grad.isfinite().all() for p in net.parameters() if p.grad is not None)


# ---- The Transformer


def transformer() -> MaskedTransformer:
    torch.manual_seed(1)
    return MaskedTransformer(MaskedTransformerConfig(layers=2, width=12, heads=3, inner=16), SPEAKS).eval()


def test_in_the_transformer_all_words_hear_of_all_words():
    (first, _), given = transformer().weights(batch(4, 6)), batch(4, 6)
    torch.testing.assert_close(first.shared.sum(3), torch.ones(2, 3, 6))
    assert first.shared[0, :, :, 4:].eq(0).all() and first.shared[1].gt(0).all()
    assert given.there.sum() == 10


def test_a_sentence_longer_than_the_table_of_places_is_refused():
    with pytest.raises(UserError, match="600 words"):
        transformer()(batch(600))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"heads": 5}, "heads_width must be a multiple of heads"),
        ({"mask_rate": 1.0}, "mask_rate"),
        ({"dropout": 1.0}, "dropout"),
        ({"tags": -1}, "tags"),
        ({"layers": 0}, "layers"),
    ],
)
def test_settings_that_make_no_sense_are_named(changes, complaint):
    with pytest.raises(UserError, match=complaint):
        replace(SMALL, **changes)
