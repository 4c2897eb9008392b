"""The language model: a Transformer-XL body over compiled sequences, and the log-probabilities of what comes next.

Five models are this one, by what they are given to read (readings.py): DTG, DTG-eager and DTG-swift the compiled
transitions of arc-standard, arc-eager and arc-swift; TXL (trans) and TXL (tokens) sequences on which nothing is popped.
The stack of "There is a difference" never appears here: it is in the structure, which attention.py reads.

    input i    E(token i) + E(arc i)        an arc re-uses the last piece of its head: E(LEFTARC) + E(is)
    layer      post-norm: x = LN(x + attention(x)), then x = LN(x + W2 relu(W1 x + b1) + b2)
    output     output.py; the embeddings are tied, so E is also its weight

Sizes, initialisation and what is shared (the biases u and v of the attention by all layers, one projection of the
relative positions a layer) are those of the paper; at its size there are 252 million parameters. Of the 13 positions of
"There is a difference" 9 predict something, one for each transition:

    >>> from dtglib.batches import pad
    >>> from dtglib.readings import READINGS
    >>> from dtglib.structure import dense
    >>> words = ["There", "is", "a", "difference"]
    >>> model = Model(ModelConfig(layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words]))
    >>> sequences = READINGS["dtg"](model.vocabulary, [(words, (2, 0, 4, 2))])
    >>> batch = batch_of(pad(sequences, [0]), dense)
    >>> model(batch).shape, model.log_probs(batch).shape
    (torch.Size([1, 13, 8]), torch.Size([9]))
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.attention import AnyStructure, Heads, Table, attend, sinusoids
from dtglib.compile import NOTHING, Compiled
from dtglib.config import as_yaml, fingerprint, read_config, require_positive
from dtglib.errors import UserError
from dtglib.files import write_atomically
from dtglib.output import Factored, Legal, Single, Whole
from dtglib.shapes import Float, Int
from dtglib.structure import Flex, Structure, Vectors
from dtglib.vocab import PAD, Vocabulary
from dtglib.weights import read_weights, save_weights


@dataclass(frozen=True)
class ModelConfig:
    """What is read, how arcs are represented, and how large the model is."""

    model: Literal["dtg", "dtg-eager", "dtg-swift", "txl-trans", "txl-tokens"] = "dtg"
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
            raise UserError(f"width must be an even number a head, but {self.width} is shared by {self.heads} heads")
        if not 0 <= self.dropout < 1:
            raise UserError(f"dropout must be at least 0 and less than 1, not {self.dropout}")


class Batch(NamedTuple):
    """Compiled sentences as the model reads them; B rows of T positions, N of which predict something."""

    token: Int[Tensor, "B T"]
    arc: Int[Tensor, "B T"]
    structure: AnyStructure
    farthest: int  # no visible position is farther away
    predicts: Int[Tensor, " N"]  # which positions predict, counted over all rows
    legal: Legal
    target: Int[Tensor, " N"]


@runtime_checkable
class Readable(Protocol):
    """What the body reads: of a Batch, or of whatever else stands in rows of T positions (decode/trie.py)."""

    token: Int[Tensor, "B T"]
    arc: Int[Tensor, "B T"]
    structure: AnyStructure
    farthest: int


def batch_of(
    compiled: Compiled,
    form: Callable[[Vectors], Structure | Flex],
    device: torch.device | str = "cpu",
    farthest: int | None = None,
) -> Batch:
    """Padded or packed sentences on a device, with their structure in the form that its attention takes."""
    (predicts,) = np.nonzero(compiled.target.reshape(-1) != NOTHING)
    columns = sent([getattr(compiled, name) for name in ("token", "arc", *Vectors._fields)], device)
    there = [column.reshape(-1)[predicts] for column in (compiled.may, compiled.left, compiled.right, compiled.target)]
    where, may, left, right, target = sent([predicts.astype(np.int32), *there], device)
    return Batch(
        columns[0],
        columns[1],
        form(Vectors(*columns[2:])),
        farthest_in(compiled) if farthest is None else farthest,
        where.long(),
        Legal(may, left, right),
        target.long(),
    )


def sent(columns: Sequence[np.ndarray], device: torch.device | str) -> Int[Tensor, "..."]:
    """Columns of one shape on a device: in one piece, for which the processor does not wait where it is a GPU."""
    together = torch.from_numpy(np.stack(columns))
    if torch.device(device).type != "cuda":
        return together.to(device)
    # The current GPU is a thread's own, and nothing should be set up on another one than this.
    with torch.cuda.device(device):
        return together.pin_memory().to(device, non_blocking=True)


def farthest_in(compiled: Compiled) -> int:
    """No visible position of these is farther away; a multiple of 16, so that compiled code meets few sizes."""
    return rounded_up(int(compiled.top.max(initial=0)))


def rounded_up(farthest: int) -> int:
    """A multiple of 16."""
    return -(-farthest // 16) * 16


# The ids whose embeddings an arc adds up, given its head's token and its own id. A POP has no head, and is itself.
Represent = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]

REPRESENTATIONS: dict[str, Represent] = {
    "w+arc": lambda token, arc: (token, arc),
    "arc": lambda token, arc: (torch.where(arc == NOTHING, token, NOTHING), arc),
    "w": lambda token, arc: (token, torch.where(token == NOTHING, arc, NOTHING)),
}
OUTPUTS = {"single": Single, "factored": Factored, "whole": Whole}


class Block(nn.Module):
    """A layer: attention over the structure, then two linear maps at each position."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads, width = config.heads, config.width
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.places = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, config.inner)
        self.down = nn.Linear(config.inner, width)
        self.after_attention, self.after_inner = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "B T d"],
        structure: AnyStructure,
        places: Float[Tensor, "R d"],
        u: Float[Tensor, "H 1 D"],
        w: Float[Tensor, "H 1 D"],
    ) -> Float[Tensor, "B T d"]:
        q, k, v, r = self.project(x, places)
        return self.finish(x, attend(q + u, q + w, k, v, r, structure))

    def project(self, x: Float[Tensor, "B T d"], places: Float[Tensor, "R d"]) -> tuple[Heads, Heads, Heads, Table]:
        """Queries, keys and values of the positions, and the keys of the relative positions."""
        B, T, d = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)  # each B H T D
        r = self.places(places).view(-1, self.heads, d // self.heads).transpose(0, 1)  # H R D
        return q, k, v, r

    def finish(self, x: Float[Tensor, "B T d"], attended: Heads) -> Float[Tensor, "B T d"]:
        """The rest of the layer, given what attention has gathered."""
        x = self.after_attention(x + self.dropout(self.out(attended.transpose(1, 2).flatten(2))))
        return self.after_inner(x + self.dropout(self.down(self.up(x).relu())))


CONFIG_FILE, WEIGHTS_FILE = "model.yaml", "model.safetensors"


@dataclass(frozen=True)
class Speaks:
    """Which vocabulary a saved model was trained with."""

    vocabulary_fingerprint: str


class Model(nn.Module):
    """A language model over compiled sequences, with the vocabulary that it speaks."""

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        width, per_head = config.width, config.width // config.heads
        # <pad> embeds to nothing, and stands where there is no token or no arc.
        self.embedding = nn.Embedding(len(vocabulary), width, padding_idx=PAD)
        self.u = nn.Parameter(torch.empty(config.heads, 1, per_head))
        self.w = nn.Parameter(torch.empty(config.heads, 1, per_head))
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.output = OUTPUTS[config.output](width, vocabulary)
        self.dropout = nn.Dropout(config.dropout)
        self.represent = REPRESENTATIONS[config.arcs]
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """Draw all weights anew, from PyTorch's generator."""
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
        """What the model reads, position by position."""
        return sum(self.embedding(ids.masked_fill(ids == NOTHING, PAD)) for ids in self.represent(token, arc))

    def forward(self, batch: Readable) -> Float[Tensor, "B T d"]:
        """What the body makes of a batch: a vector a position."""
        x = self.dropout(self.embed(batch.token, batch.arc))
        places = sinusoids(batch.farthest, self.config.width, x.device)
        for block in self.blocks:
            x = block(x, batch.structure, places, self.u, self.w)
        return x

    @torch.no_grad()
    def attention_weights(self, batch: Batch) -> list[Float[Tensor, "B H T T"]]:
        """For each layer, how much of its attention position i gives to j."""
        x, found = self.embed(batch.token, batch.arc), []
        places = sinusoids(batch.farthest, self.config.width, x.device)
        for block in self.blocks:
            q, k, v, r = block.project(x, places)
            # Where the values are the rows of an identity, what is gathered are the weights themselves.
            one_hot = torch.eye(v.shape[2], device=v.device).expand(*v.shape[:2], -1, -1)
            weights = attend(q + self.u, q + self.w, k, one_hot, r, batch.structure)
            found.append(weights)
            x = block.finish(x, weights @ v)
        return found

    def log_probs(self, batch: Batch) -> Float[Tensor, " N"]:
        """The log-probability of each target, in nats."""
        x = self(batch).flatten(0, 1)[batch.predicts]
        return self.output(x, self.embedding.weight, batch.legal).gather(1, batch.target[:, None])[:, 0]

    def loss(self, batch: Batch) -> tuple[Float[Tensor, ""], dict[str, int]]:
        """The nats of all targets together, and what they are to be divided by."""
        nats = -self.log_probs(batch).sum()
        return nats, {"transitions": len(batch.target), "positions": batch.token.numel()}

    def save(self, folder: str | Path) -> None:
        """Write weights, config and vocabulary into a folder; the weights last, so that a folder with them is whole."""
        folder = Path(folder)
        self.vocabulary.save(folder)
        with write_atomically(folder / CONFIG_FILE) as file:
            file.write(as_yaml(self.config, Speaks(self.vocabulary.fingerprint)))
        save_weights(folder / WEIGHTS_FILE, self, self._meaning())

    @classmethod
    def load(cls, folder: str | Path, device: torch.device | str = "cpu") -> "Model":
        """Read what `save` wrote, after checking that config, vocabulary and weights belong together."""
        folder = Path(folder)
        config, speaks = read_config(folder / CONFIG_FILE, ModelConfig, Speaks)
        vocabulary = Vocabulary.load(folder)
        if vocabulary.fingerprint != speaks.vocabulary_fingerprint:
            raise UserError(
                f"{folder}: the model speaks vocabulary {speaks.vocabulary_fingerprint}, but the one beside it is "
                f"{vocabulary.fingerprint}; put back the files that it was saved with"
            )
        with torch.device("meta"):
            model = cls(config, vocabulary)
        model.load_state_dict(read_weights(folder / WEIGHTS_FILE, model, model._meaning()), assign=True)
        return model.to(device).eval()

    def _meaning(self) -> dict[str, str]:
        """What a model's numbers depend on besides its weights, which carry this along; dropout is for training."""
        config = fingerprint(replace(self.config, dropout=0.0))
        return {"config": config, "vocabulary": self.vocabulary.fingerprint}
