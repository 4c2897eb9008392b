"""The layers of encoder and decoder: a norm before each part (pre-LN), and what the part computes is added.

    encoder    x + attention(LN x),                                 then  x + W2 relu(W1 LN x + b1) + b2
    decoder    x + attention(LN x),  x + attention to the source,   then  the same

The other models here are built of network/transformer.py, whose layers have the norms behind the parts and relative
positions, and let source and sentence share one softmax. The paper's models have none of these, so they have layers of
their own, with PyTorch's attention.

Rows of the decoder are not padded (prefixes.py): linear maps see all positions at once, attention sees one group after
another. In the last layer only the positions are computed from which something is predicted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from dtglib.basics.shapes import Bool, Float, Int
from dtglib.network.dropout import Dropout
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.prefixes import Group

Flat = Float[Tensor, "P d"]
Split = Float[Tensor, "N H T D"]
Keys = Float[Tensor, "N H S D"]  # and values
Longer = Float[Tensor, "N H R D"]


class Memory(NamedTuple):
    """Keys and values of the sources for one layer."""

    k: Float[Tensor, "B H M D"]
    v: Float[Tensor, "B H M D"]
    there: Bool[Tensor, "B M"]  # false for padding

    def of(self, sources: Int[Tensor, " N"]) -> "Memory":
        """Those of these sources."""
        return Memory(*(one.index_select(0, sources) for one in self))


class Around(NamedTuple):
    """The inputs that the layers of a decoder share for some rows."""

    groups: list[Group]
    source: Int[Tensor, " N"]
    last: Int[Tensor, " N"] | None  # the positions that predict; None: all of them
    is_causal: bool
    parents: list[Bool[Tensor, "_ _ _"]] | None  # for each group, what head 0 sees; None: it is as the others


class Attention(nn.Module):
    """Queries, keys, values, and the map behind them."""

    def __init__(self, config: TranslationConfig) -> None:
        super().__init__()
        self.heads, self.dropout = config.heads, config.dropout
        self.q = nn.Linear(config.width, config.width)
        self.kv = nn.Linear(config.width, 2 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def split(self, x: Float[Tensor, "... d"], rows: int) -> Split:
        """The heads of so many rows."""
        return x.view(rows, -1, self.heads, x.shape[-1] // self.heads).transpose(1, 2)

    def keys_and_values(self, x: Float[Tensor, "N T d"]) -> tuple[Split, Split]:
        """Keys and values of rows of one length."""
        k, v = self.kv(x).chunk(2, dim=-1)
        return self.split(k, len(x)), self.split(v, len(x))

    def attend(
        self, q: Split, k: Keys, v: Keys, mask: Bool[Tensor, "#N #H #T S"] | None = None, is_causal: bool = False
    ) -> Float[Tensor, "N T d"]:
        """The values that are attended to, heads side by side."""
        dropout = self.dropout if self.training else 0.0
        values = scaled_dot_product_attention(q, k, v, mask, dropout, is_causal)
        return values.transpose(1, 2).flatten(2)


class Inner(nn.Module):
    """Two linear maps at each position."""

    def __init__(self, config: TranslationConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.up, self.down = nn.Linear(config.width, config.inner), nn.Linear(config.inner, config.width)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        return x + self.dropout(self.down(self.dropout(self.up(self.norm(x)).relu())))


class EncoderLayer(nn.Module):
    """A layer over padded sources."""

    def __init__(self, config: TranslationConfig) -> None:
        super().__init__()
        self.norm, self.attention, self.inner = nn.LayerNorm(config.width), Attention(config), Inner(config)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Float[Tensor, "B M d"], there: Bool[Tensor, "B M"]) -> Float[Tensor, "B M d"]:
        y = self.norm(x)
        q, (k, v) = self.attention.split(self.attention.q(y), len(x)), self.attention.keys_and_values(y)
        values = self.attention.attend(q, k, v, there[:, None, None])
        return self.inner(x + self.dropout(self.attention.out(values)))


class DecoderLayer(nn.Module):
    """A layer over rows without padding, and their sources."""

    def __init__(self, config: TranslationConfig) -> None:
        super().__init__()
        self.before_own, self.own = nn.LayerNorm(config.width), Attention(config)
        self.before_source, self.to_source = nn.LayerNorm(config.width), Attention(config)
        self.inner, self.dropout = Inner(config), Dropout(config.dropout)

    def remember(self, x: Float[Tensor, "B M d"], there: Bool[Tensor, "B M"]) -> Memory:
        """Keys and values of the sources."""
        return Memory(*self.to_source.keys_and_values(x), there)

    def forward(self, x: Flat, around: Around, memory: Memory) -> Float[Tensor, "Q d"]:
        """The vectors of the positions that `around` asks for."""
        y = self.before_own(x)
        kv = self.own.kv(y)
        if around.last is not None:
            x, y = x[around.last], y[around.last]
        x = x + self.dropout(self.own.out(self._own(self.own.q(y), kv, around)))
        q = self.to_source.q(self.before_source(x))
        return self.inner(x + self.dropout(self.to_source.out(self._source(q, around, memory))))

    def go_on(self, x: Float[Tensor, "N d"], k: Split, v: Split, memory: Memory) -> tuple[Tensor, Longer, Longer]:
        """One position more for each row of a causal decoder, given keys and values of those before; and the new ones.

        `memory` has a row for each row.
        """
        y = self.before_own(x)[:, None]
        new_k, new_v = self.own.keys_and_values(y)
        k, v = torch.cat([k, new_k], dim=2), torch.cat([v, new_v], dim=2)
        x = x + self.own.out(self.own.attend(self.own.split(self.own.q(y), len(x)), k, v)[:, 0])
        q = self.to_source.split(self.to_source.q(self.before_source(x)), len(x))
        values = self.to_source.attend(q, memory.k, memory.v, memory.there[:, None, None])
        return self.inner(x + self.to_source.out(values[:, 0])), k, v

    def _own(self, q: Flat, kv: Float[Tensor, "S e"], around: Around) -> Flat:
        """Attention within the rows."""
        outputs = []
        of_queries = q.split(_sizes(around))
        of_keys = kv.split([group.rows * group.length for group in around.groups])
        for number, (group, own_q, own_kv) in enumerate(zip(around.groups, of_queries, of_keys, strict=True)):
            k, v = (self.own.split(one, group.rows) for one in own_kv.chunk(2, dim=-1))
            parents = None if around.parents is None else around.parents[number]
            seen = self._seen(self.own.split(own_q, group.rows), k, v, around, parents)
            outputs.append(seen.flatten(0, 1))
        return torch.cat(outputs)

    def _seen(
        self, q: Split, k: Keys, v: Keys, around: Around, parents: Bool[Tensor, "N S S"] | None
    ) -> Float[Tensor, "N T d"]:
        if parents is None:
            return self.own.attend(q, k, v, is_causal=around.is_causal)
        # Head 0 sees parents alone (of the last positions, if only those are computed), the others the whole row.
        mask = parents[:, -q.shape[2] :][:, None]
        first = self.own.attend(q[:, :1], k[:, :1], v[:, :1], mask)
        return torch.cat([first, self.own.attend(q[:, 1:], k[:, 1:], v[:, 1:])], dim=2)

    def _source(self, q: Flat, around: Around, memory: Memory) -> Flat:
        """Attention to the sources."""
        outputs = []
        sources = around.source.split([group.rows for group in around.groups])
        for own_q, source in zip(q.split(_sizes(around)), sources, strict=True):
            k, v, is_word = memory.of(source)
            seen = self.to_source.attend(self.to_source.split(own_q, len(source)), k, v, is_word[:, None, None])
            outputs.append(seen.flatten(0, 1))
        return torch.cat(outputs)


def _sizes(around: Around) -> Sequence[int]:
    """The number of positions of each group that are computed."""
    return [group.rows * (group.length if around.last is None else 1) for group in around.groups]
