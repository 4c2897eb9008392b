"""A parser of arcs that knows the books' words: its training, which ends in an ordinary parser.

    dtglib train-parser configs/parsers/books.yaml --out DIR       the folder has parser.safetensors as any other

The network is that of dtglib/parsing/trained.py. In training

- a word's embedding is its vector from the books (vectors.py), times a matrix that is learnt, plus a correction that is
  learnt for the words of the treebank; the other words share one correction. So the network reads 30,000 words, many of
  which are not in the treebank. The sum is saved, as a table of embeddings;
- there is a third loss: the part of speech of each word and its morphological features, from the states of the first
  layer. No tags are needed later;
- an LSTM's recurrent weights are dropped instead of its states, so that a layer can be computed in one call (Merity,
  Keskar and Socher 2018); this and labels of gold arcs alone make a step three times as fast.
"""

import copy
from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, linear, pad

from dtglib.basics.config import require_positive
from dtglib.basics.errors import require
from dtglib.basics.shapes import Float, Int
from dtglib.data.conllu import COLUMNS
from dtglib.data.treebank import Sentence, Treebank, Words
from dtglib.network.transformer import LossPart
from dtglib.parsing.fields import Entries, encoded
from dtglib.parsing.kinds import ParserKind
from dtglib.parsing.trained import ParserConfig, Trained, TreebankExamples, entries_of
from dtglib.sequences.batches import by_length
from dtgpapers.books.vectors import vectors_of

UPOS, FEATS = map(COLUMNS.index, ("UPOS", "FEATS"))
RAREST_TAG = 20  # occurrences of a tag with features; in rarer ones the features are left out


@dataclass(frozen=True)
class BooksParserConfig(ParserConfig):
    """The size of a parser, and of what only its training has."""

    parser: Literal["books"] = "books"
    recurrent_dropout: float = 0.25  # of the recurrent weights
    tags: float = 0.5  # the weight of their loss
    averaged_steps: int = 400  # the saved weights are a running average, to which each step adds a share of 1 / this

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "averaged_steps")
        share = self.recurrent_dropout
        require(0 <= share < 1, f"recurrent_dropout must be from 0 on and below 1, not {share}")
        require(self.tags >= 0, f"tags, the weight of a loss, must not be negative, and is {self.tags}")

    @property
    def plain(self) -> ParserConfig:
        """The size of the parser that is saved."""
        return ParserConfig(**{field.name: getattr(self, field.name) for field in fields(ParserConfig)})


def books_entries_of(treebank: Treebank, rarest: int) -> Entries:
    """The vocabularies of a parser for this treebank: its words and those of the books, and the treebank's tags."""
    entries = entries_of(treebank, rarest)
    tags = Counter(tag for sentence in treebank.sentences for tag in tags_of(sentence))
    kept = {tag if count >= RAREST_TAG else tag.partition("|")[0] for tag, count in tags.items()}
    words = {*entries["words"], *vectors_of("books").words}
    return {**entries, "words": sorted(words), "known": entries["words"], "tags": sorted(kept)}


def tags_of(sentence: Sentence) -> list[str]:
    """The part of speech of each word with its features: NOUN|Number=Plur."""
    require(sentence.rows, f"{sentence.id}: has no tags; the treebank must be CoNLL-U")
    return [f"{row[UPOS]}|{row[FEATS]}" for row in sentence.rows or () if row[0].isdecimal()]


class TaggedGold(NamedTuple):
    """Sentences with their gold heads, labels and tags, a row for each sentence."""

    sentences: list[Words]
    heads: Tensor
    labels: Tensor
    is_word: Tensor
    tags: Tensor
    positions: int
    words: int


class TaggedExamples(TreebankExamples):
    """Training data whose sentences have tags, too."""

    def __init__(self, entries: Entries, treebank: Treebank, longest: int | None = None) -> None:
        self.number_of_tag = {tag: number for number, tag in enumerate(entries["tags"])}
        super().__init__(entries, treebank, longest)

    def tree_of(self, sentence: Sentence) -> tuple[Tensor, ...]:
        """Heads, labels and tags; -1 for what the parser does not know."""
        known = self.number_of_tag
        tags = [known.get(tag, known.get(tag.partition("|")[0], -1)) for tag in tags_of(sentence)]
        return *super().tree_of(sentence), torch.tensor([-1, *tags])

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch; the sentences of a batch have one length."""
        return by_length(self.lengths, positions, random, spread=1)

    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> TaggedGold:
        """A batch of these sentences, on a device."""
        gold = super().batch(numbers, positions, device)
        return TaggedGold(*gold, self.padded(numbers, 2, -1).to(device), gold.positions, gold.words)


class WordsOfBooks(nn.Module):
    """The embeddings of words: their vectors from the books, times a matrix, plus a correction."""

    def __init__(self, words: list[str], known: list[str], width: int, first: int, unknown: int) -> None:
        super().__init__()
        spelled, matrix = vectors_of("books", width=width)
        row, known_row = ({word: number for number, word in enumerate(list_)} for list_ in (spelled, known))
        vectors = torch.zeros(first + len(words), width)
        corrected = torch.full((first + len(words),), unknown)
        for number, word in enumerate(words, first):
            if word in row:
                vectors[number] = torch.from_numpy(matrix[row[word]])
            if word in known_row:
                corrected[number] = first + known_row[word]
        corrected[:first] = torch.arange(first)
        self.register_buffer("vectors", vectors)
        self.register_buffer("corrected", corrected)
        self.map = nn.Parameter(torch.eye(width) / 2)
        self.correction = nn.Embedding(first + len(known), width)
        nn.init.zeros_(self.correction.weight)

    def forward(self, words: Int[Tensor, "B T"]) -> Float[Tensor, "B T d"]:
        """The embeddings of these words."""
        return linear(self.vectors[words], self.map) + self.correction(self.corrected[words])

    @property
    def weight(self) -> Float[Tensor, "V d"]:
        """All embeddings, as the table of an ordinary parser."""
        return self(torch.arange(len(self.vectors), device=self.vectors.device))


class BooksParser(Trained):
    """A parser in training; what it saves is a `Trained` one."""

    config_class = BooksParserConfig
    config: BooksParserConfig

    def __init__(self, name: str, config: BooksParserConfig, entries: Entries) -> None:
        super().__init__(name, config, entries)
        words = self.columns[0].field
        assert words.vocab.itos[: len(words.specials)] == words.specials
        spelled = words.vocab.itos[len(words.specials) :]
        self.network.word_embed = WordsOfBooks(
            spelled, entries["known"], config.word_width, len(words.specials), words.unk_index
        )
        self.tagger = nn.Linear(2 * config.lstm_width, len(entries["tags"]))

        for name, parameter in self.named_parameters():
            self.register_buffer(_average_of(name), parameter.detach().clone())
        self.register_buffer("steps", torch.tensor(0))

    def save(self, folder: str | Path) -> None:
        """Write the files of an ordinary parser, with the averages of the weights."""
        averaged = copy.deepcopy(self)
        averaged.load_state_dict(self._averages(), strict=False)
        state, embed = averaged.network.state_dict(), averaged.network.word_embed
        plain = Trained(self.name, self.config.plain, {key: self.entries[key] for key in ("words", "chars", "labels")})
        kept = {name: value for name, value in state.items() if not name.startswith("word_embed.")}
        plain.network.load_state_dict({**kept, "word_embed.weight": embed.weight})
        plain.save(folder)

    def loss(self, batch: TaggedGold) -> tuple[Tensor, dict[str, LossPart]]:
        """The nats of all heads, labels and tags: their sum, and each as a part; of the averages, in evaluation."""
        if not self.training:
            return torch.func.functional_call(self, self._averages(), (batch,))
        with torch.no_grad():
            self.steps += 1
            share = max(1 / self.config.averaged_steps, 1 / int(self.steps))
            parameters = dict(self.named_parameters())
            torch._foreach_lerp_(list(self._averages().values()), list(parameters.values()), share)
        return self(batch)

    def _averages(self) -> dict[str, Tensor]:
        return {name: self.get_buffer(_average_of(name)) for name, _ in self.named_parameters()}

    def forward(self, batch: TaggedGold) -> tuple[Tensor, dict[str, LossPart]]:
        """The loss of the weights as they are."""
        network, config = self.network, self.config
        x, of_first = self._encoded(batch.sentences)
        arcs = network.arc_attn(network.arc_mlp_d(x), network.arc_mlp_h(x))
        labels = self._of_arcs(x, batch.heads)
        tags = self.tagger(dropout(of_first, config.parser_dropout, self.training))
        scored = {"head": (arcs, batch.heads), "label": (labels, batch.labels), "tag": (tags, batch.tags)}
        nats = {
            name: cross_entropy(scores[:, 1:].flatten(0, 1), right[:, 1:].flatten(), ignore_index=-1, reduction="sum")
            for name, (scores, right) in scored.items()
        }
        parts = {name: LossPart(of_part, batch.words) for name, of_part in nats.items()}
        return nats["head"] + nats["label"] + (config.tags * nats["tag"] if self.training else 0), parts

    def _of_arcs(self, x: Float[Tensor, "B T d"], heads: Int[Tensor, "B T"]) -> Float[Tensor, "B T R"]:
        """The scores of the labels of each place's arc from this head."""
        of_pairs = self.network.rel_attn
        words, of_heads = self.network.rel_mlp_d(x), self.network.rel_mlp_h(x).take_along_dim(heads[:, :, None], 1)
        words, of_heads = pad(words, (0, 1), value=1).flatten(0, 1), pad(of_heads, (0, 1), value=1).flatten(0, 1)
        halfway = (words @ of_pairs.weight.permute(1, 0, 2).flatten(1)).unflatten(1, (of_pairs.n_out, -1))
        return (halfway @ of_heads[:, :, None]).view(*heads.shape, -1)

    def _encoded(self, sentences: list[Words]) -> tuple[Float[Tensor, "B T d"], Float[Tensor, "B T d"]]:
        """The states of the last layer of the LSTM, and of the first, for sentences of one length."""
        network, (words, [letters]) = self.network, encoded(self.columns, sentences, self.choosable.device)
        distinct, places = letters.flatten(0, 1).unique(dim=0, return_inverse=True)
        of_letters = network.char_embed(distinct[None])[0][places].view(*words.shape, -1)
        x = torch.cat(network.embed_dropout(network.word_embed(words), of_letters), -1)
        lstm, states = network.encoder, []
        begin = x.new_zeros(2, len(x), lstm.hidden_size)
        for cells in zip(lstm.f_cells, lstm.b_cells, strict=True):
            x = x * dropout(torch.ones_like(x[:, :1]), lstm.dropout, self.training)  # the same at all places
            weights: list[Tensor] = []
            for cell in cells:
                recurrent = dropout(cell.weight_hh, self.config.recurrent_dropout, self.training)
                weights += [cell.weight_ih, recurrent, cell.bias_ih, cell.bias_hh]
            x, _, _ = torch._VF.lstm(x, (begin, begin), weights, True, 1, 0.0, self.training, True, True)
            states.append(x)
        return network.encoder_dropout(x), states[0]


def _average_of(name: str) -> str:
    """The name of the buffer with a parameter's average over the last steps."""
    return "average_of_" + name.replace(".", "_")


PARSERS = {
    "books": ParserKind("biaffine parser", BooksParserConfig, BooksParser, books_entries_of, TaggedExamples),
}
