"""Pushdown Layers on our own body: keys with depths, and a head for attachments.

What GiLT's authors call Pushdown-TXL (Zhao, Lou and Tu's Transformer-XL with the layers of Murty et al. 2023). W is the
tape of a position (tape.py), E a table of each layer, shared by its heads:

    score of j for i       ((q_i + u) . (k_j + E[W_i[j]])  +  (q_i + w) . r_{i-j}) / sqrt(D)

The term with E is a bias on the scores. A position has only DEPTHS different ones, and each j picks one, so that no
vector is made for a pair of positions: (B, H, T, DEPTHS) and (B, H, T, S) numbers, and none of (B, T, S, D). Depths
beyond the table share its last entry.

    next word              p(x_{t+1} | h_t)                                    as in TXL (tokens)
    where it attaches      softmax over the right edge and the word itself     from h_t and the embedding e of x_{t+1}
    then                   x_{t+1} is read, with the tape after its attachment

    attachment to word j   MLP([A h_t; e]) . MLP''([B h_j; E''[depth of j]]) / sqrt(2d)      h_j: its last piece's
    to itself (shift)      MLP([A h_t; e]) . MLP'([A h_t; e]) / sqrt(2d)

All other words are closed (tape.py) and barred before the softmax, so that probabilities sum to 1. In the paper they
take part in training, and in the search they are removed after the softmax, whose sum is then less than 1.

Nothing is asked where a sentence ends; the end may come after any tape. So a tree whose last word could still have been
merged has several derivations: over n words there are Catalan(n) sequences of attachments and Catalan(n - 1) trees. All
of them are summed in p(words).

The loss is half the sum of the nats of words and of attachments, as GiLT's authors have it; the nats of its parts are
logged whole.

At the paper's size (32,768 entries) the body has 251,942,912 parameters and the head 34,380,160: exactly the 251.94 and
34.38 million of the authors' code.
"""

import math

import torch
from torch import Tensor, nn

from dtglib.basics.errors import UserError
from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.attention import Bias, Heads
from dtglib.network.transformer import Block, LossPart, Transformer, TransformerConfig
from dtgpapers.pushdown.reading import READING, Attachments, TapedBatch
from dtgpapers.pushdown.stepper import TapeStepper

DEPTHS = 50  # entries of a table; the paper's number
PARTS = ("word", "attachment")  # of the loss


class PushdownBlock(Block):
    """A layer whose scores depend on depths."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.depths = nn.Embedding(DEPTHS, config.width // config.heads)

    def bias(self, qu: Heads, given: Int[Tensor, "B 1 T S"] | None) -> Bias:
        """The term of each pair of positions, given the depth of each position on the tape of each position."""
        way_out = "make batches by taped_batch, and score trees by joint_log_probs"
        if given is None:
            raise UserError(f"these layers want a tape, and the batch has none; {way_out}")
        by_depth = qu @ (self.depths.weight * qu.shape[3] ** -0.5).T.to(qu.dtype)  # B H T DEPTHS
        return by_depth.gather(3, given.clamp(max=DEPTHS - 1).expand(-1, qu.shape[1], -1, -1))


class AttachmentHead(nn.Module):
    """Scores of attachments; its vectors are twice as wide as those of the body."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, of_depth = config.width, config.width // config.heads
        self.asking, self.asked = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)  # A and B above
        self.query = _two_layers(3 * width, 2 * width, 2 * width)
        self.itself = _two_layers(3 * width, 2 * width, 2 * width)
        self.key = _two_layers(2 * width + of_depth, 2 * width + of_depth, 2 * width)
        self.depths = nn.Embedding(DEPTHS, of_depth)

    def queries(
        self, h: Float[Tensor, "*N d"], e: Float[Tensor, "*N d"]
    ) -> tuple[Float[Tensor, "*N q"], Float[Tensor, "*N"]]:
        """The scaled queries of words with embeddings e after h, and their scores for themselves."""
        x = torch.cat([self.asking(h), e], dim=-1)
        query = self.query(x) / math.sqrt(2 * h.shape[-1])
        return query, (query * self.itself(x)).sum(-1)

    def keys(self, h: Float[Tensor, "*N d"], depth: Int[Tensor, "*N"]) -> Float[Tensor, "*N q"]:
        """The keys of words that have been read."""
        return self.key(torch.cat([self.asked(h), self.depths(depth.clamp(max=DEPTHS - 1))], dim=-1))

    def by_distance(self, query: Float[Tensor, "*N q"], distance: Int[Tensor, "*N J"]) -> Float[Tensor, "*N J"]:
        """The scores that distances, in positions, add to those for other words: zero here."""
        return torch.zeros_like(distance, dtype=query.dtype)


def _two_layers(width: int, inner: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, out))


class PushdownModel(Transformer):
    """A language model over words and attachments."""

    block, head_class = PushdownBlock, AttachmentHead
    reading = READING

    def __init__(self, config: TransformerConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.head = self.head_class(config)
        self.initialise()  # once more, with the head

    @torch.no_grad()
    def initialise(self) -> None:
        """Draw all weights from PyTorch's random generator."""
        super().initialise()
        for table in (module for module in self.modules() if isinstance(module, nn.Embedding)):
            if table is not self.embedding:
                table.weight.normal_(0, 1 / math.sqrt(table.weight.shape[1]))

    def stepper(self) -> TapeStepper:
        """A stepper for one search."""
        return TapeStepper(self)

    def scored(self, batch: TapedBatch) -> tuple[Float[Tensor, " N"], Float[Tensor, "B W"]]:
        """The log-probabilities of the next words (or pieces, or ends), and those of the attachments of each word."""
        words = batch.batch
        x = self(words)
        log_probs = self.read_off(x, words)
        scores = self.attachments(x.flatten(0, 1), words.token.flatten(), batch.attachments)
        return log_probs, scores.gather(2, batch.attachments.to[:, :, None])[:, :, 0]

    def attachments(
        self, h: Float[Tensor, "P d"], token: Int[Tensor, " P"], given: Attachments
    ) -> Float[Tensor, "B W W"]:
        """The log-probability with which each word attaches to each word."""
        query, itself = self.head.queries(h[given.first - 1], self.embedding(token[given.first]))
        keys = self.head.keys(h[given.last], given.depth)
        distance = given.first[:, :, None] - given.last[:, None]  # negative for words that are barred
        scores = query @ keys.transpose(1, 2) + self.head.by_distance(query, distance.clamp(min=0))
        own = torch.eye(scores.shape[1], dtype=torch.bool, device=h.device)
        scores = torch.where(own, itself[:, :, None], scores)
        return scores.masked_fill(~given.may, -torch.inf).log_softmax(2)

    def loss(self, batch: TapedBatch) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The objective, and all nats of words and of attachments."""
        words, attachments = (-log_probs.sum() for log_probs in self.scored(batch))
        parts = LossPart(words, len(batch.batch.target)), LossPart(attachments, batch.attachments.choices)
        of_both = {name: LossPart(nats.detach(), events) for name, (nats, events) in zip(PARTS, parts, strict=True)}
        return self.objective(*parts), of_both

    def objective(self, words: LossPart, attachments: LossPart) -> Float[Tensor, ""]:
        """The number that training minimises: half of all nats."""
        return (words.nats + attachments.nats) / 2

    def joint_log_probs(self, batch: TapedBatch) -> Float[Tensor, " B"]:
        """log p(words, attachments) of each sentence."""
        words, attachments = (log_probs.double() for log_probs in self.scored(batch))
        rows = batch.batch.predicts // batch.batch.token.shape[1]
        return attachments.sum(1).index_add(0, rows, words)
