"""The paper's baseline: a Transformer over the same words, in which every word attends to every other one.

    h <- h + W' attention(LN(h)),   h <- h + W2 leaky_relu(W1 LN(h) + b1) + b2        LN without factors of its own

Words are told their places in the sentence by a table. Sizes are those of the paper's Table 6.
"""

import math

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.dropout import Dropout
from dtgpapers.udgn.config import MaskedTransformerConfig
from dtgpapers.udgn.masked import MaskedBatch, MaskedModel
from dtgpapers.udgn.network import Positions, Weights


class MaskedBlock(nn.Module):
    """A layer."""

    def __init__(self, config: MaskedTransformerConfig) -> None:
        super().__init__()
        self.heads, width = config.heads, config.width
        self.before_attention, self.before_inner = (nn.LayerNorm(width, elementwise_affine=False) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, config.inner), nn.Linear(config.inner, width)
        self.dropout, self.attention_dropout = Dropout(config.dropout), Dropout(config.attention_dropout)
        for linear in (self.qkv, self.out, self.up, self.down):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def weights(
        self, h: Float[Tensor, "B T d"], barred: Float[Tensor, "B _ _ T"]
    ) -> tuple[Float[Tensor, "B H T T"], Float[Tensor, "B H T D"]]:
        """The weights of all words, and the values."""
        B, T, d = h.shape
        parts = self.qkv(self.before_attention(h)).view(B, T, 3, self.heads, d // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        return self.of_scores(q @ k.transpose(2, 3) / math.sqrt(q.shape[3]), barred), v

    def of_scores(self, e: Float[Tensor, "B H T T"], barred: Float[Tensor, "B _ _ T"]) -> Float[Tensor, "B H T T"]:
        """The weights from the scores of all pairs of words; each row sums to 1."""
        return (e + barred).softmax(3)

    def forward(self, h: Float[Tensor, "B T d"], barred: Float[Tensor, "B _ _ T"]) -> Float[Tensor, "B T d"]:
        a, v = self.weights(h, barred)
        h = h + self.dropout(self.out((self.attention_dropout(a) @ v).transpose(1, 2).flatten(2)))
        inner = nn.functional.leaky_relu(self.up(self.before_inner(h)))
        return h + self.dropout(self.down(inner))


class MaskedTransformer(MaskedModel):
    """The whole network."""

    def __init__(self, config: MaskedTransformerConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.positions = Positions(config.width)
        self.layers = nn.ModuleList(MaskedBlock(config) for _ in range(config.layers))

    def barred(self, batch: MaskedBatch) -> Float[Tensor, "B 1 1 T"]:
        """Minus infinity for padding."""
        zeros = torch.zeros(batch.token.shape, device=batch.token.device)
        return zeros.masked_fill(~batch.there, -torch.inf)[:, None, None]

    def vectors(self, batch: MaskedBatch) -> Float[Tensor, "B T d"]:
        """The vectors after the last layer."""
        h, barred = self.first(batch), self.barred(batch)
        for layer in self.layers:
            h = layer(h, barred)
        return h

    @torch.no_grad()
    def weights(self, batch: MaskedBatch) -> list[Weights]:
        """The weights of all heads in each layer; there is no mask that would change them."""
        h, barred, of_layers = self.first(batch), self.barred(batch), []
        for layer in self.layers:
            a, _ = layer.weights(h, barred)
            of_layers.append(Weights(a, a))
            h = layer(h, barred)
        return of_layers
