"""The encoder-decoder of all systems.

    encoder    sqrt(d) E(word) + sinusoid of its place, layers, a norm
    decoder    sqrt(d) E'(symbol) + sinusoid, the graph network if there is one, layers, a norm, a linear map

The two embeddings and the last linear map share no weights. A causal decoder predicts every symbol of a target from one
row; one that reads whole prefixes from as many rows as there are symbols (prefixes.py). If both learn from a share of
each target's symbols alone, drawn anew in every step, each symbol is weighted by one over that share, so that the loss
is that of all, on average.

    loss     training: nats against smoothed targets; otherwise: nats
    parts    nats of pieces and ends of sentences, and nats of transitions, of what was computed
"""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dtglib.basics.shapes import Bool, Float, Int
from dtglib.data.vocabulary import PAD, Vocabulary
from dtglib.network.attention import NEAREST, sinusoids
from dtglib.network.dropout import Dropout
from dtglib.network.saved import Saved
from dtglib.network.transformer import LossPart
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.examples import Meanings, TranslationBatch
from dtgpapers.translation.graph import GraphLayer, parents_of
from dtgpapers.translation.layers import Around, DecoderLayer, EncoderLayer, Memory
from dtgpapers.translation.prefixes import Rows, cut_for, predicted, rows_of, some_places
from dtgpapers.translation.systems import SYSTEMS


class Predictions(NamedTuple):
    """Symbols that were predicted: their scores, what they are, and the numbers of their targets."""

    logits: Float[Tensor, "N V"]
    symbol: Int[Tensor, " N"]
    of: np.ndarray
    times: Float[Tensor, " N"]  # how many symbols each stands for

    @property
    def nats(self) -> Float[Tensor, " N"]:
        """The nats of each symbol."""
        return cross_entropy(self.logits.float(), self.symbol, reduction="none")


class Translator(Saved):
    """The whole network."""

    def __init__(self, config: TranslationConfig, vocabulary: Vocabulary) -> None:
        super().__init__(config, vocabulary)
        self.system, self.meanings = SYSTEMS[config.model], Meanings(vocabulary, config.labelled)
        self.embeddings = nn.ModuleDict({side: nn.Embedding(len(vocabulary), config.width) for side in SIDES})
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        reads, labels = self.system.graph, len(self.meanings.labels)
        self.graph = nn.ModuleList(GraphLayer(config, reads, labels) for _ in range(config.graph_layers) if reads)
        self.norms = nn.ModuleDict({side: nn.LayerNorm(config.width) for side in SIDES})
        self.output = nn.Linear(config.width, len(vocabulary))
        self.dropout = Dropout(config.dropout)
        self.initialise()

    @torch.no_grad()
    def initialise(self) -> None:
        """Draw all matrices as Glorot and Bengio (2010) do; biases begin at zero."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.xavier_uniform_(module.weight)
            if isinstance(module, nn.Linear) and module.bias is not None:
                module.bias.zero_()

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.output.weight.device

    # ---- Encoder and decoder

    def embed(self, side: str, token: Int[Tensor, "*shape"], place: Int[Tensor, "*shape"]) -> Float[Tensor, "*shape d"]:
        """The input vectors of words or symbols at their places."""
        width, farthest = self.config.width, int(place.max())
        of_places = sinusoids(farthest, width, token.device)[-NEAREST:]
        return self.dropout(self.embeddings[side](token) * math.sqrt(width) + of_places[place])

    def remember(self, source: Int[Tensor, "B M"]) -> list[Memory]:
        """Keys and values of padded sources, for each layer of the decoder."""
        is_word = source != PAD
        x = self.embed("source", source, torch.arange(source.shape[1], device=source.device).expand_as(source))
        for layer in self.encoder:
            x = layer(x, is_word)
        x = self.norms["source"](x)
        return [layer.remember(x, is_word) for layer in self.decoder]

    def around(self, rows: Rows) -> Around:
        """The inputs that all layers but the last share."""
        parents = parents_of(rows) if self.system.sees_parents else None
        return Around(rows.groups, rows.source, None, not self.system.whole_prefix, parents)

    def vectors(self, rows: Rows, memory: list[Memory]) -> Float[Tensor, "N d"]:
        """The vectors that symbols are predicted from: of all positions, or, for whole prefixes, of the last ones."""
        around, x = self.around(rows), self.embed("target", rows.token, rows.place)
        for layer in self.graph:
            x = layer(x, rows.graph)
        last = rows.last if self.system.whole_prefix else None
        for layer, of_layer in zip(self.decoder[:-1], memory[:-1], strict=True):
            x = layer(x, around, of_layer)
        return self.norms["target"](self.decoder[-1](x, around._replace(last=last), memory[-1]))

    # ---- Training

    def predict(self, batch: TranslationBatch) -> Predictions:
        """The symbols of the targets: all, or those after the prefixes that are drawn."""
        share, by_last = self.config.prefixes if self.training else 1.0, self.system.whole_prefix
        cut, times = cut_for(self.system, batch.targets, share)
        rows = rows_of(batch.targets, cut, np.arange(len(batch.targets)), batch.source.device)
        vectors = self.vectors(rows, self.remember(batch.source))
        symbol = predicted(batch.targets, cut, by_last)
        of = cut.of if by_last else np.repeat(cut.of, cut.length)
        if share < 1 and not by_last:
            row, place = some_places(cut.length, share)
            drawn = (np.cumsum(cut.length) - cut.length)[row] + place
            vectors, symbol, of = vectors[torch.from_numpy(drawn).to(vectors.device)], symbol[drawn], of[drawn]
            times = (cut.length / np.bincount(row))[row]
        weights = np.ones(len(of)) if times is None else times
        sent = [torch.from_numpy(one).to(vectors.device) for one in (symbol, weights.astype(np.float32))]
        return Predictions(self.output(vectors), sent[0], of, sent[1])

    def loss(self, batch: TranslationBatch) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The nats of all targets."""
        if self.training and batch.is_wrong is not None:
            exchanged = torch.where(batch.is_wrong[:, None], batch.source.roll(-1, 0), batch.source)
            batch = batch._replace(source=exchanged)
        predictions = self.predict(batch)
        nats = predictions.nats
        is_arc = self.is_transition(predictions.symbol)
        parts = {"piece": LossPart(nats[~is_arc].detach().sum(), int((~is_arc).sum()))}
        if self.system.writes_tree:
            parts["transition"] = LossPart(nats[is_arc].detach().sum(), int(is_arc.sum()))
        if self.training and self.config.smoothing:
            smoothing = self.config.smoothing
            nats = cross_entropy(
                predictions.logits.float(), predictions.symbol, reduction="none", label_smoothing=smoothing
            )
        return (nats * predictions.times).sum(), parts

    def is_transition(self, symbol: Int[Tensor, " N"]) -> Bool[Tensor, " N"]:
        """True for symbols that are transitions."""
        return torch.from_numpy(self.meanings.is_transition).to(symbol.device)[symbol]


SIDES = ("source", "target")
