"""The variant of the paper (Murty et al. 2023) and of its code, where they differ from Pushdown-TXL (network.py).

    score of j for i       (q_i . (k_j + E[W_i[j]])  +  q_i . r_{i-j}) / sqrt(D)                without u and w

    a = MLP([A h_t; e])                                          the query, which is not scaled
    attachment to word j   a . (MLP''([B h_j; E''[depth of j]]) + C s_{t+1-j})     s: the sinusoids of the distance
    to itself (shift)      a . (MLP'([a; e]) + C s_0)

The loss is the mean of the nats of words plus the mean of those of attachments with a choice; because training adds up
sentences, it is multiplied here by the number of words (of all events that `word` counts).

What is not written above stays ours: the order of the norms, the scale of the embeddings, and, as everywhere in this
folder, attachments of words, with closed ones barred before the softmax. Distances are counted in pieces, from the
first piece of the word that attaches to the last piece of the other.

At the paper's size the head has 36.5 million parameters. The code's has 38.6, of which 2.1 are never used.
"""

import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.attention import NEAREST, sinusoids
from dtglib.network.transformer import LossPart, TransformerConfig, rounded_up
from dtgpapers.pushdown.network import AttachmentHead, PushdownModel


class PaperHead(AttachmentHead):
    """Scores of attachments that depend on distances, too."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        width = config.width
        self.asking, self.asked, self.places = (nn.Linear(width, 2 * width, bias=False) for _ in range(3))

    def queries(
        self, h: Float[Tensor, "*N d"], e: Float[Tensor, "*N d"]
    ) -> tuple[Float[Tensor, "*N q"], Float[Tensor, "*N"]]:
        """The queries of words with embeddings e after h, and their scores for themselves."""
        query = self.query(torch.cat([self.asking(h), e], dim=-1))
        itself = (query * self.itself(torch.cat([query, e], dim=-1))).sum(-1)
        nowhere = torch.zeros((*itself.shape, 1), dtype=torch.long, device=h.device)
        return query, itself + self.by_distance(query, nowhere)[..., 0]

    def by_distance(self, query: Float[Tensor, "*N q"], distance: Int[Tensor, "*N J"]) -> Float[Tensor, "*N J"]:
        """The term of the distance to other words."""
        places = sinusoids(rounded_up(int(distance.max())), self.places.in_features, query.device)
        return (query @ self.places(places).T).gather(-1, distance - NEAREST)


class PaperModel(PushdownModel):
    """Pushdown Layers as in the paper, on our body."""

    head_class = PaperHead

    def __init__(self, config: TransformerConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        for name in ("u", "w"):
            nothing = torch.zeros_like(getattr(self, name)).detach()
            delattr(self, name)
            self.register_buffer(name, nothing, persistent=False)

    def objective(self, words: LossPart, attachments: LossPart) -> Float[Tensor, ""]:
        """The sum of both means, times the number of words."""
        return words.nats + attachments.nats * (words.events / max(attachments.events, 1))
