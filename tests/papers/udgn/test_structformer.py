"""StructFormer: its definition in loops against the network, what a sentence's neighbours change, and its sizes."""

import math

import pytest
import torch
from torch import Tensor

from dtglib.basics.errors import UserError
from dtglib.data.vocabulary import Vocabulary
from dtgpapers.udgn.config import StructFormerConfig
from dtgpapers.udgn.masked import SYMBOLS, MaskedBatch
from dtgpapers.udgn.structformer import FAR, StructFormer, heads_of, lowered

pytestmark = pytest.mark.usefixtures("one_thread")

SPEAKS = Vocabulary.of_words([[f"w{number}" for number in range(30)]], SYMBOLS)


def network(**changes) -> StructFormer:
    torch.manual_seed(1)
    sizes = {"layers": 2, "width": 12, "heads": 3, "inner": 16, "parser_layers": 2, "convolution": 3}
    net = StructFormer(StructFormerConfig(**{**sizes, **changes}), SPEAKS).eval()
    torch.nn.init.normal_(net.parser.logs, std=0.3)
    torch.nn.init.normal_(net.embedding.weight)
    return net


def batch(*lengths: int, pads: int = 0) -> MaskedBatch:
    """Random words; `pads` more columns than are needed."""
    token = torch.zeros(len(lengths), max(lengths) + pads, dtype=torch.long)
    for row, length in enumerate(lengths):
        drawn = torch.Generator().manual_seed(row)
        token[row, :length] = torch.randint(len(SYMBOLS.entries), len(SPEAKS), (length,), generator=drawn)
    return MaskedBatch(token, torch.tensor(lengths))


# ---- The definition, in loops over words


def normed(x: Tensor) -> Tensor:
    return (x - x.mean()) / (x.var(unbiased=False) + 1e-5).sqrt()


def convolved(layer: torch.nn.Conv1d, x: list[Tensor], first: int) -> Tensor:
    """The sum of the products of a filter with the words from `first` on; beyond the sentence there is nothing."""
    places = range(layer.kernel_size[0])
    seen = [layer.weight[:, :, k] @ x[first + k] for k in places if 0 <= first + k < len(x)]
    return layer.bias + sum(seen)


def distances_and_heights(net: StructFormer, x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    parser = net.parser
    for layer in parser.layers:
        x = [normed(convolved(layer, x, i - net.config.convolution // 2)).tanh() for i in range(len(x))]
    gaps = [parser.distance(normed(convolved(parser.between, x, g)).tanh())[0] for g in range(len(x) - 1)]
    heights = [parser.height(normed(parser.of_word(one)).tanh())[0] for one in x]
    return gaps, heights


def lowered_by_definition(gaps: list[Tensor], heights: list[Tensor]) -> list[Tensor]:
    n, least = len(heights), torch.zeros(())
    for first in range(n):
        for last in range(first, n):
            around = [gaps[g] for g in (first - 1, last) if 0 <= g < n - 1]
            if around:
                least = max(least, min(around) - max(heights[first : last + 1]))
    return [gap - least for gap in gaps]


def heads_by_definition(gaps: list[Tensor], heights: list[Tensor], s: Tensor, t: Tensor) -> Tensor:
    """q of a sentence: for each word the sum over all stretches that its constituent may be."""
    n = len(heights)

    def within(i: int, j: int) -> Tensor | float:
        if not 0 <= j < n:
            return 0.0
        return min((torch.sigmoid(s * (heights[i] - gaps[g])) for g in range(min(i, j), max(i, j))), default=1.0)

    q = [[torch.zeros(()) for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for left in range(i + 1):
            for right in range(i, n):
                chance = (within(i, left) - within(i, left - 1)) * (within(i, right) - within(i, right + 1))
                total = sum((t * heights[k]).exp() for k in range(left, right + 1))
                for j in range(left, right + 1):
                    if j != i:
                        q[i][j] = q[i][j] + chance * (t * heights[j]).exp() / total
    return torch.stack([torch.stack(row) for row in q])


def vectors_by_definition(net: StructFormer, given: MaskedBatch) -> Tensor:
    vectors, config = [], net.config
    D = config.width // config.heads
    for row, n in enumerate(given.length.tolist()):
        words = [net.embedding.weight[word] for word in given.token[row, :n]]
        gaps, heights = distances_and_heights(net, words)
        s, t = net.parser.logs.exp()
        q = heads_by_definition(lowered_by_definition(gaps, heights), heights, s, t)
        h = words if net.positions is None else [x + net.positions.table[i] for i, x in enumerate(words)]
        for layer, relations in zip(net.layers, net.relations, strict=True):
            heard = []
            qkv = [layer.qkv(normed(x)).reshape(3, config.heads, D) for x in h]
            for i in range(n):
                parts = []
                for k in range(config.heads):
                    up, down = relations[k].softmax(0)
                    weights = [
                        torch.sigmoid(qkv[i][0, k] @ qkv[j][1, k] / math.sqrt(D)) * (up * q[i, j] + down * q[j, i])
                        for j in range(n)
                    ]
                    parts.append(sum(a * qkv[j][2, k] for j, a in enumerate(weights)))
                heard.append(h[i] + layer.out(torch.cat(parts)))
            h = [x + layer.down(torch.nn.functional.leaky_relu(layer.up(normed(x)))) for x in heard]
        vectors.append(torch.stack(h))
    return torch.cat(vectors)


@pytest.mark.parametrize("changes", [{}, {"positions": False}, {"convolution": 1}, {"parser_layers": 1, "heads": 1}])
def test_the_network_is_the_definition_in_vectors_and_gradients(changes):
    """Sentences of 1 to 5 words in one padded batch."""
    net, given = network(**changes), batch(3, 1, 5, 2, pads=1)
    slow, fast = vectors_by_definition(net, given), net.vectors(given)[given.there]
    torch.testing.assert_close(fast, slow, atol=1e-5, rtol=1e-4)
    direction = torch.randn(slow.shape, generator=torch.Generator().manual_seed(2))
    used = {
        name: weight for name, weight in net.named_parameters() if name.split(".")[0] not in ("norm", "output_bias")
    }
    by_both = [torch.autograd.grad((x * direction).sum(), list(used.values())) for x in (fast, slow)]
    for name, one, other in zip(used, *by_both, strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=1e-3, msg=lambda said, name=name: f"{name}: {said}")
        if name not in ("parser.distance.bias", "parser.height.bias"):  # only differences count
            assert one.any(), name


# ---- What the definition says of trees


def test_the_chances_of_all_heads_of_a_word_and_of_none_sum_to_1():
    """The diagonal, which is dropped, is the chance that the word is the highest of its constituent."""
    drawn = torch.Generator().manual_seed(1)
    height, distance = torch.randn(20, 6, generator=drawn), torch.randn(20, 6, generator=drawn)
    distance[:, -1] = FAR
    q = heads_of(distance, height, torch.tensor([1.5, 2.0]))
    assert (q >= 0).all() and (q.sum(2) < 1).all() and q.diagonal(dim1=1, dim2=2).eq(0).all()
    highest = height.argmax(1)
    assert (q[torch.arange(20), highest].sum(1) < 0.9).all()


def test_with_large_factors_heads_are_those_of_hard_constituents():
    """*There is a difference*: is is the highest, and a depends on difference."""
    distance, height = torch.tensor([[1.0, 4.0, 1.0, FAR]]), torch.tensor([[2.0, 5.0, 2.0, 4.5]])
    q = heads_of(distance, height, torch.tensor([50.0, 50.0]))[0]
    assert q.argmax(1).tolist()[0] == 1 and q.argmax(1).tolist()[2:] == [3, 1]
    torch.testing.assert_close(q.sum(1), torch.tensor([1.0, 0.0, 1.0, 1.0]), atol=1e-3, rtol=0)


def test_distances_that_were_lowered_once_are_low_enough():
    drawn = torch.Generator().manual_seed(3)
    height, distance = torch.randn(30, 5, generator=drawn), 3 * torch.randn(30, 5, generator=drawn)
    distance[:, -1] = FAR
    there = torch.ones(30, 5, dtype=torch.bool)
    for gaps, tau in zip(lowered(distance, height, there)[:, :-1], height, strict=True):
        again = torch.stack(lowered_by_definition(list(gaps), list(tau)))
        torch.testing.assert_close(again, gaps, atol=1e-5, rtol=0)


# ---- Batches, sizes, errors


def test_neither_padding_nor_the_other_sentences_of_a_batch_change_anything():
    net = network()
    alone, beside = net(batch(3)), net(batch(3, 7, pads=4))
    torch.testing.assert_close(alone[0], beside[0, :3], atol=1e-5, rtol=0)
    q = net.heads(batch(3, 7, pads=4))
    assert q[0, 3:].eq(0).all() and q[0, :, 3:].eq(0).all()


def test_the_words_teach_the_parser():
    net = network().train()
    torch.manual_seed(3)
    net.loss(batch(6, 8, 5))[0].backward()
    learns = {name for name, weight in net.named_parameters() if weight.grad is not None and weight.grad.any()}
    assert {"parser.logs", "relations", "parser.distance.weight", "parser.layers.0.weight"} <= learns


def test_the_paper_s_size_has_as_many_parameters_as_its_parts():
    """Table 6, with 3 convolutions of 9 words and the vocabulary of the Penn Treebank."""
    words, d, inner, entries = 500, 512, 2048, 10_798
    with torch.device("meta"):
        net = StructFormer(StructFormerConfig(), Vocabulary(tuple(map(str, range(entries))), SYMBOLS))
    layer = 4 * d * d + 4 * d + 2 * d * inner + d + inner
    parser = 3 * (9 * d * d + d) + (2 * d * d + d) + (d * d + d) + 2 * (d + 1) + 2
    rest = entries * d + entries + words * d + 2 * d + 8 * 8 * 2
    assert sum(parameter.numel() for parameter in net.parameters()) == 8 * layer + parser + rest


def test_settings_that_make_no_sense_are_named():
    for changes, complaint in (({"convolution": 4}, "must be odd"), ({"parser_layers": 0}, "parser_layers")):
        with pytest.raises(UserError, match=complaint):
            network(**changes)
