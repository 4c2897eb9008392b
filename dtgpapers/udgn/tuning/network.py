"""Two sentences become a score (section 4.4, and the paper's published code).

    u, v = the means of the last vectors of both sentences' words
    score = highest * sigmoid(W2 elu(W1 [u * v, |u - v|] + b1) + b2)

The loss is the squared error. The vectors are those of a trained model; the bag of words has no layers, so that its
vectors are the embeddings that the model has learnt. The squared error is logged as nats, which it is but for a
constant: of a normal distribution with variance 1/2.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.dropout import Dropout
from dtglib.network.saved import Saved, network_beside
from dtglib.network.transformer import LossPart
from dtgpapers.udgn.baseline import MaskedTransformer
from dtgpapers.udgn.masked import MaskedBatch, MaskedModel
from dtgpapers.udgn.network import Udgn
from dtgpapers.udgn.tuning.config import TunedBagConfig, TunedTransformerConfig, TunedUdgnConfig
from dtgpapers.udgn.tuning.examples import PairBatch

BETWEEN = 0.1  # dropout of the layers that compare

Tuned = TunedUdgnConfig | TunedBagConfig | TunedTransformerConfig


class Bag(MaskedModel):
    """Embeddings, and nothing but the last norm between them and the mean."""

    def vectors(self, batch: MaskedBatch) -> Float[Tensor, "B T d"]:
        """The embeddings."""
        return self.dropout(self.embedding(batch.token))


BODIES: dict[type, type[MaskedModel]] = {
    TunedUdgnConfig: Udgn,
    TunedBagConfig: Bag,
    TunedTransformerConfig: MaskedTransformer,
}


class Similarity(Saved):
    """A body that reads sentences, and what compares two of them."""

    def __init__(self, config: Tuned, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.body = BODIES[type(config)](config, vocabulary)
        width = config.width
        inner, score = nn.Linear(2 * width, width), nn.Linear(width, 1)
        for linear in (inner, score):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        self.compare = nn.Sequential(Dropout(BETWEEN), inner, nn.ELU(), Dropout(BETWEEN), score)
        if not getattr(config, "parser_learns", True):
            self.body.parser.requires_grad_(False)

    @classmethod
    def of(cls, config: Tuned, trained: MaskedModel) -> "Similarity":
        """A network whose body has the weights of a trained one."""
        network = cls(config, trained.vocabulary)
        names, weights = network.body.state_dict().keys(), trained.state_dict()
        network.body.load_state_dict({name: weights[name] for name in names})
        return network

    def means(self, batch: MaskedBatch) -> Float[Tensor, "B d"]:
        """The mean of the vectors of each sentence's words."""
        is_word = batch.there[:, :, None]
        return (self.body(batch) * is_word).sum(1) / is_word.sum(1)

    def answers(self, given: PairBatch) -> Float[Tensor, " N"]:
        """The scores."""
        u, v = self.means(given.sentences).chunk(2)
        with torch.autocast(u.device.type, enabled=False):  # bfloat16 has three digits: many scores would be equal
            both = torch.cat([u * v, (u - v).abs()], 1).float()
            return self.config.highest * self.compare(both)[:, 0].sigmoid()

    def loss(self, given: PairBatch) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The squared errors."""
        nats = (self.answers(given) - given.gold).square().sum()
        return nats, {"score": LossPart(nats.detach(), len(given.gold))}


def load_similarity(kind: type, folder: Path, device: torch.device | str = "cpu") -> Any:
    """A tuned network from its folder."""
    return network_beside(folder, kind, Similarity).restore(folder, device)
