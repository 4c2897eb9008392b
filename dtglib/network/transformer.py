"""A Transformer-XL body over sequences of columns, and the log-probabilities of the next symbols.

The body does not depend on the kind of sequence: stacks and trees appear only in the structure, which attention.py
reads. A family of models can add a `bias` to the scores of every layer.

    input i    E(token i) + E(arc i)        an arc re-uses the last piece of its head: E(LEFTARC) + E(is)
    layer      post-norm: x = LN(x + attention(x)), then x = LN(x + W2 relu(W1 x + b1) + b2)
    output     output.py; the embeddings are tied, so E is also its weight

Sizes, initialisation and shared parameters are those of the paper: all layers share the attention biases u and w, and
each layer has one projection of relative positions. At the paper's size there are 252 million parameters.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.basics.config import require_positive
from dtglib.basics.errors import UserError, require
from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import PAD, Vocabulary
from dtglib.network.attention import AnyStructure, Attended, Bias, Heads, Keys, Table, Values, attend, sinusoids
from dtglib.network.dropout import Dropout
from dtglib.network.output import Factored, Legal, Single, Whole
from dtglib.network.saved import Saved
from dtglib.sequences.columns import NOTHING, Compiled
from dtglib.sequences.structure import Flex, Structure, Vectors


@dataclass(frozen=True)
class TransformerConfig:
    """The name of the model's family (see families/), the representation of arcs, and the sizes."""

    model: str = "dtg"
    labels: bool = False  # if true, arcs have labels: the vocabulary has each arc once for each label
    arcs: Literal["w+arc", "arc", "w"] = "w+arc"
    output: Literal["single", "factored", "whole"] = "single"
    layers: int = 16
    width: int = 1024
    heads: int = 8
    inner: int = 4096
    dropout: float = 0.0

    def __post_init__(self) -> None:
        require_positive(self, "layers", "width", "heads", "inner")
        if self.width % (2 * self.heads):
            raise UserError(f"width must be an even number per head, but {self.width} is shared by {self.heads} heads")
        require(0 <= self.dropout < 1, f"dropout must be at least 0 and less than 1, not {self.dropout}")


class LossPart(NamedTuple):
    """A part of a loss: its nats, summed over a batch, and the number of events in the sum."""

    nats: Float[Tensor, ""]
    events: int


class Batch(NamedTuple):
    """Compiled sentences as tensors: B rows of T positions, N of which predict something."""

    token: Int[Tensor, "B T"]
    arc: Int[Tensor, "B T"]
    structure: AnyStructure
    farthest: int  # no visible position is farther away
    predicts: Int[Tensor, " N"]  # the positions that predict something, counted over all rows
    legal: Legal
    target: Int[Tensor, " N"]
    bias: Any = None  # see `Block.bias`

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.token.numel()


class BodyInputs(NamedTuple):
    """The part of a batch that the body reads; a trie (decode/trie.py) has no more."""

    token: Int[Tensor, "B T"]
    arc: Int[Tensor, "B T"]
    structure: AnyStructure
    farthest: int
    bias: Any = None


Readable = Batch | BodyInputs


def batch_of(
    compiled: Compiled,
    form: Callable[[Vectors], Structure | Flex],
    device: torch.device | str = "cpu",
    farthest: int | None = None,
    bias: Any = None,
) -> Batch:
    """Padded or packed sentences on a device, with their structure as made by `form`, such as `structure.dense`."""
    token, arc, *columns = sent([getattr(compiled, name) for name in ("token", "arc", *Vectors._fields)], device)
    (predicts,) = np.nonzero(compiled.target.reshape(-1) != NOTHING)
    predicting = [getattr(compiled, name).reshape(-1)[predicts] for name in ("may", "left", "right", "target")]
    places, may, left, right, target = sent([predicts.astype(np.int32), *predicting], device)
    return Batch(
        token=token,
        arc=arc,
        structure=form(Vectors(*columns)),
        farthest=farthest_in(compiled) if farthest is None else farthest,
        predicts=places.long(),
        legal=Legal(may, left, right),
        target=target.long(),
        bias=bias,
    )


def sent(columns: Sequence[np.ndarray], device: torch.device | str) -> Int[Tensor, "..."]:
    """Copy columns of one shape to a device, as one tensor; the CPU does not wait for a copy to a GPU."""
    together = torch.from_numpy(np.stack(columns))
    if torch.device(device).type != "cuda":
        return together.to(device)
    # Every thread has a current GPU of its own. Without this line another GPU would be initialised as well.
    with torch.cuda.device(device):
        return together.pin_memory().to(device, non_blocking=True)


def farthest_in(compiled: Compiled) -> int:
    """An upper bound of all relative positions; a multiple of 16, so that code is compiled for few sizes only."""
    return rounded_up(int(compiled.top.max(initial=0)))


def rounded_up(farthest: int) -> int:
    """The next multiple of 16."""
    return -(-farthest // 16) * 16


# The two ids whose embeddings are added at an arc, from the token of its head and its own id. POP has no head.
Represent = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]

REPRESENTATIONS: dict[str, Represent] = {
    "w+arc": lambda token, arc: (token, arc),
    "arc": lambda token, arc: (torch.where(arc == NOTHING, token, NOTHING), arc),
    "w": lambda token, arc: (token, torch.where(token == NOTHING, arc, NOTHING)),
}
OUTPUTS = {"single": Single, "factored": Factored, "whole": Whole}


class LayerInputs(NamedTuple):
    """The inputs that all layers share for one batch."""

    structure: AnyStructure
    places: Float[Tensor, "R d"]  # sinusoids of the relative positions
    u: Float[Tensor, "H 1 D"]
    w: Float[Tensor, "H 1 D"]
    bias: Any = None


class Block(nn.Module):
    """A layer: attention over the structure, then two linear maps at each position."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.heads, width = config.heads, config.width
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.places = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, config.inner)
        self.down = nn.Linear(config.inner, width)
        self.after_attention, self.after_inner = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "B T d"], inputs: LayerInputs) -> Float[Tensor, "B T d"]:
        q, k, v, r = self.project(x, inputs.places)
        return self.finish(x, self.attended(q, k, v, r, inputs))

    def project(self, x: Float[Tensor, "B T d"], places: Float[Tensor, "R d"]) -> tuple[Heads, Heads, Heads, Table]:
        """Queries, keys and values of the positions, and the keys of the relative positions."""
        return *self.heads_of(x), self.table(places)

    def heads_of(self, x: Float[Tensor, "B T d"]) -> tuple[Heads, Heads, Heads]:
        """Queries, keys and values."""
        B, T, d = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)  # each B H T D
        return q, k, v

    def table(self, places: Float[Tensor, "R d"]) -> Table:
        """The keys of relative positions."""
        return self.places(places).unflatten(1, (self.heads, -1)).transpose(0, 1)

    def attended(self, q: Heads, k: Keys, v: Values, r: Table, inputs: LayerInputs) -> Attended:
        """The result of attention; keys and values may belong to other positions than the queries."""
        qu = q + inputs.u
        return attend(qu, q + inputs.w, k, v, r, inputs.structure, self.bias(qu, inputs.bias))

    def weights(self, q: Heads, k: Keys, v: Values, r: Table, inputs: LayerInputs) -> Float[Tensor, "B H T S"]:
        """The attention weights of all values."""
        # If the values are the rows of an identity matrix, the result of attention is its weights.
        return self.attended(q, k, torch.eye(v.shape[2], device=v.device).expand(*v.shape[:2], -1, -1), r, inputs)

    def bias(self, qu: Heads, given: Any) -> Bias | None:
        """The bias on the scores: that of the batch, unchanged. A subclass may compute it from the queries."""
        return given

    def finish(self, x: Float[Tensor, "B T d"], attended: Heads) -> Float[Tensor, "B T d"]:
        """The rest of the layer after attention."""
        x = self.after_attention(x + self.dropout(self.out(attended.transpose(1, 2).flatten(2))))
        return self.after_inner(x + self.dropout(self.down(self.up(x).relu_())))


class Transformer(Saved):
    """A language model over compiled sequences, with its vocabulary."""

    block = Block  # the class of its layers

    def __init__(self, config: TransformerConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        width, per_head = config.width, config.width // config.heads
        # The embedding of <pad> is zero; it stands where there is no token or no arc.
        self.embedding = nn.Embedding(len(vocabulary), width, padding_idx=PAD)
        self.u = nn.Parameter(torch.empty(config.heads, 1, per_head))
        self.w = nn.Parameter(torch.empty(config.heads, 1, per_head))
        self.blocks = nn.ModuleList(self.block_at(layer, config) for layer in range(config.layers))
        self.output: nn.Module = OUTPUTS[config.output](width, vocabulary)
        self.dropout = Dropout(config.dropout)
        self.represent = REPRESENTATIONS[config.arcs]
        self.initialise()

    def block_at(self, layer: int, config: TransformerConfig) -> Block:
        """A new layer, counted from 0; a subclass may have different ones."""
        return self.block(config)

    @torch.no_grad()
    def initialise(self) -> None:
        """Draw all weights from PyTorch's random generator."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.weight.normal_(0, math.sqrt(2 / self.config.layers / module.in_features))
                if module.bias is not None:
                    module.bias.zero_()
        bound = math.sqrt(3 / self.config.width)
        self.embedding.weight.uniform_(-bound, bound)
        self.embedding.weight[PAD] = 0
        for bias in (self.u, self.w):
            bias.normal_(0, 1 / math.sqrt(bias.shape[2]))

    def embed(self, token: Int[Tensor, "B T"], arc: Int[Tensor, "B T"]) -> Float[Tensor, "B T d"]:
        """The input vectors of all positions."""
        return sum(self.embedding(ids.masked_fill(ids == NOTHING, PAD)) for ids in self.represent(token, arc))

    def forward(self, batch: Readable) -> Float[Tensor, "B T d"]:
        """The output vectors of all positions."""
        x, inputs = self.dropout(self.embed(batch.token, batch.arc)), self.layer_inputs(batch)
        for block in self.blocks:
            x = block(x, inputs)
        return x

    def layer_inputs(self, batch: Readable) -> LayerInputs:
        """The inputs that all layers share."""
        places = sinusoids(batch.farthest, self.config.width, batch.token.device)
        return LayerInputs(batch.structure, places, self.u, self.w, batch.bias)

    @torch.no_grad()
    def attention_weights(self, batch: Batch) -> list[Float[Tensor, "B H T T"]]:
        """The attention weight of j for position i, in each layer."""
        x, inputs, of_layers = self.embed(batch.token, batch.arc), self.layer_inputs(batch), []
        for block in self.blocks:
            q, k, v, r = block.project(x, inputs.places)
            of_layers.append(block.weights(q, k, v, r, inputs))
            x = block.finish(x, of_layers[-1] @ v)
        return of_layers

    def bias_of(self, batch: Compiled) -> np.ndarray | None:
        """The `bias` of padded sentences whose trees are scored together (trie.py); a subclass may compute one."""
        return None

    def log_probs(self, batch: Batch) -> Float[Tensor, " N"]:
        """The log-probability of each target, in nats."""
        return self.read_off(self(batch), batch)

    def read_off(self, x: Float[Tensor, "B T d"], batch: Batch) -> Float[Tensor, " N"]:
        """The log-probability of each target, given the output vectors of all positions."""
        of_targets = x.flatten(0, 1)[batch.predicts]
        return self.output(of_targets, self.embedding.weight, batch.legal).gather(1, batch.target[:, None])[:, 0]

    def loss(self, batch: Batch) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The sum of all targets' nats. This loss has a single part, with one event per target."""
        nats = -self.log_probs(batch).sum()
        return nats, {"transition": LossPart(nats.detach(), len(batch.target))}
