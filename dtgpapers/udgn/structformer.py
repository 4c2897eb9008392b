"""StructFormer (Shen et al. 2021), the competitor of UDGN: its parser finds gaps and heads in the words alone.

    tau_i     the height of word i;   delta_g   the distance across the gap g, between the words g and g + 1
    C(i)      the words around i up to the first gap on either side whose distance is not below tau_i
    head(i)   the highest word of C(i)

Both are soft, with two factors s and t that are learnt. Gap g lies inside C(i) with the chance of its widest gap:

    within_ij = min over the gaps g between i and j of sigmoid(s (tau_i - delta_g)),  1 for i itself, 0 outside
    P(C(i) begins at l) = within_il - within_i,l-1,        P(C(i) ends at r) = within_ir - within_i,r+1
    q_ij = sum over l, r of P(l) P(r) exp(t tau_j) / sum_(l <= k <= r) exp(t tau_k)      for j in l..r; q_ii is dropped

In layer a and head k of attention, i attends to j with the weight sigmoid(q_ik . k_jk / sqrt(D)) m_ij. These weights
need not sum to 1. The factor m_ij = w_ak q_ij + (1 - w_ak) q_ji mixes "j is the head of i" with "i is the head of j".

Three words with the heights 1, 3, 2 and gaps below all of them: the second is the head of both others.

    >>> q = heads_of(torch.tensor([[0.0, 0.0, FAR]]), torch.tensor([[10.0, 30.0, 20.0]]), torch.ones(2))
    >>> q[0].round(decimals=2)
    tensor([[0., 1., 0.],
            [0., 0., 0.],
            [0., 1., 0.]])

Every word but the highest should find a higher one beyond the gaps around it. So all distances of a sentence are
lowered by one number: the least one for which every stretch of words, other than the whole sentence, has a word that is
at least as high as the lower of the two gaps around the stretch. In the public code that number is the largest of a
whole batch; here a sentence does not depend on its neighbours. The words' vectors are read by convolutions, each
followed by a norm and tanh. Width, layers and heads are those of UDGN's Table 6.
"""

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Bool, Float
from dtglib.data.vocabulary import Vocabulary
from dtgpapers.udgn.baseline import MaskedBlock
from dtgpapers.udgn.beliefs import own_metrics
from dtgpapers.udgn.config import StructFormerConfig
from dtgpapers.udgn.masked import MaskedBatch, MaskedModel
from dtgpapers.udgn.network import Positions, Weights
from dtgpapers.udgn.parser import Probabilities

FAR = 1e9  # a distance that nothing is higher than
SPREAD_OF_SHARES = 0.1  # standard deviation of the first logits of w

Distances = Float[Tensor, "B T"]  # of the gap after each word; that after the last word is FAR
Heights = Float[Tensor, "B T"]


def heads_of(distance: Distances, height: Heights, factors: Float[Tensor, "2"]) -> Probabilities:
    """q; the height of padding must be -FAR, and the distance of the last word and of padding FAR."""
    T = height.shape[1]
    words = torch.arange(T, device=height.device)
    # Word i (row) reaches across gap g (column). To its left, gap j is that between the words j and j + 1, too.
    reaches = (factors[0] * (height[:, :, None] - distance[:, None])).sigmoid()
    nothing = reaches.new_zeros(())
    left = reaches.tril(-1) + reaches.new_ones(T, T).triu()
    left = left.flip(2).cummin(2)[0].flip(2)  # within_ij for j <= i, 1 beyond
    right = reaches.triu() + reaches.new_ones(T, T).tril(-1)
    right = right.cummin(2)[0]  # within_i,j+1 for j >= i, 1 before
    begins = (left - torch.cat([nothing.expand_as(left[:, :, :1]), left[:, :, :-1]], 2)).tril()
    within = torch.cat([nothing.expand_as(right[:, :, :1]) + 1, right[:, :, :-1]], 2)
    ends = (within - right).triu()
    # For every stretch l..r the share of each word; O(T^3) numbers for a sentence.
    inside = (words[:, None, None] <= words) & (words <= words[:, None])
    shares = (factors[1] * height)[:, None, None].masked_fill(~inside, -FAR).softmax(3)
    stretches = begins[:, :, :, None] * ends[:, :, None]
    q = stretches.flatten(2) @ shares.flatten(1, 2)
    return q.masked_fill(torch.eye(T, dtype=torch.bool, device=q.device), 0.0)


def lowered(distance: Distances, height: Heights, there: Bool[Tensor, "B T"]) -> Distances:
    """The distances, less the least number for which no stretch lies between two gaps higher than all its words."""
    T = height.shape[1]
    ones = torch.ones(T, T, dtype=torch.bool, device=height.device)
    # The highest word of each stretch from word l (row) to word r (column).
    highest = height[:, None].expand(-1, T, -1).masked_fill(ones.tril(-1), -FAR).cummax(2)[0]
    before = torch.cat([torch.full_like(distance[:, :1], FAR), distance[:, :-1]], 1)
    excess = torch.minimum(before[:, :, None] - highest, distance[:, None] - highest)
    whole = torch.zeros_like(excess, dtype=torch.bool)
    whole[:, 0] = distance >= FAR  # the whole sentence has nothing around it
    counts = there[:, :, None] & there[:, None] & ones.triu() & ~whole
    return distance - excess.masked_fill(~counts, 0.0).clamp(min=0).amax((1, 2))[:, None]


class StructParser(nn.Module):
    """Distances and heights of words from their vectors."""

    def __init__(self, config: StructFormerConfig) -> None:
        super().__init__()
        width, reach = config.width, config.convolution
        self.layers = nn.ModuleList(
            nn.Conv1d(width, width, reach, padding=reach // 2) for _ in range(config.parser_layers)
        )
        self.between, self.of_word = nn.Conv1d(width, width, 2), nn.Linear(width, width)
        self.distance, self.height = nn.Linear(width, 1), nn.Linear(width, 1)
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.logs = nn.Parameter(torch.zeros(2))  # of s and t

    def forward(self, x: Float[Tensor, "B T d"], there: Bool[Tensor, "B T"]) -> Probabilities:
        """The probability of each head of each word; of padding, 0."""
        for layer in self.layers:
            x = self.norm(layer(x.masked_fill(~there[:, :, None], 0.0).transpose(1, 2)).transpose(1, 2)).tanh()
        height = self.height(self.norm(self.of_word(x)).tanh())[:, :, 0].float().masked_fill(~there, -FAR)
        gaps = self.between(nn.functional.pad(x.transpose(1, 2), (0, 1))).transpose(1, 2)
        is_last = ~nn.functional.pad(there[:, 1:], (0, 1))
        distance = self.distance(self.norm(gaps).tanh())[:, :, 0].float().masked_fill(is_last, FAR)
        distance = lowered(distance, height, there).masked_fill(is_last, FAR)
        return heads_of(distance, height, self.logs.exp()).masked_fill(~there[:, :, None], 0.0)


class StructBlock(MaskedBlock):
    """A layer in which each weight is a sigmoid, times the mask."""

    def of_scores(self, e: Float[Tensor, "B H T T"], mask: Float[Tensor, "B H T T"]) -> Float[Tensor, "B H T T"]:
        return e.sigmoid() * mask


class StructFormer(MaskedModel):
    """The whole network."""

    def __init__(self, config: StructFormerConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.parser = StructParser(config)
        self.positions = Positions(config.width) if config.positions else None
        self.layers = nn.ModuleList(StructBlock(config) for _ in range(config.layers))
        self.relations = nn.Parameter(torch.randn(config.layers, config.heads, 2) * SPREAD_OF_SHARES)

    def heads(self, batch: MaskedBatch) -> Probabilities:
        """q: the probability of each head of each word. The parser reads the vectors that the layers read, too."""
        return self.parser(self.embedding(batch.token), batch.there)

    own_metrics = own_metrics  # the parser's output at an evaluation during training

    def masks(self, batch: MaskedBatch) -> list[Float[Tensor, "B H T T"]]:
        """m of each layer."""
        q = self.heads(batch)[:, None]
        upwards, downwards = self.relations.softmax(2).unbind(2)
        shares = zip(upwards, downwards, strict=True)
        return [up[:, None, None] * q + down[:, None, None] * q.transpose(2, 3) for up, down in shares]

    def vectors(self, batch: MaskedBatch) -> Float[Tensor, "B T d"]:
        """The vectors after the last layer."""
        h = self.first(batch)
        for layer, mask in zip(self.layers, self.masks(batch), strict=True):
            h = layer(h, mask)
        return h

    @torch.no_grad()
    def weights(self, batch: MaskedBatch) -> list[Weights]:
        """The weights of all heads in each layer, before the mask and after it."""
        h, of_layers = self.first(batch), []
        for layer, mask in zip(self.layers, self.masks(batch), strict=True):
            shared, _ = layer.weights(h, torch.ones_like(mask))
            of_layers.append(Weights(shared, shared * mask))
            h = layer(h, mask)
        return of_layers
