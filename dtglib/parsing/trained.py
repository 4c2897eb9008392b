"""Biaffine parsers that are trained here: built for a treebank, trained by the one loop, saved as a folder.

    entries = entries_of(treebank, rarest=2)
    parser = Trained("mine", ParserConfig(), entries)
    train(parser, TreebankExamples(entries, treebank), ...)     the loop that also trains the language models
    parser = Trained.load(folder)                               parser.yaml, parser.json, parser.safetensors

The network is supar's; its training loop and files are not used, because a killed training cannot be resumed, and
unpickling a file executes code in it. The loss is the cross-entropy of each word's head among all words, plus that of
its label. Non-projective trees can be used, because heads are predicted independently.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from dtglib.basics.config import as_yaml, fingerprint, read_config, require_positive
from dtglib.basics.errors import UserError, require, shortened
from dtglib.basics.files import write_atomically
from dtglib.data.treebank import Treebank, Words
from dtglib.network.transformer import Part
from dtglib.network.weights import read_weights, save_weights
from dtglib.parsing.biaffine import Biaffine
from dtglib.parsing.from_supar import BOS, PAD, UNK, BiaffineDependencyModel, Field, SubwordField, Vocab
from dtglib.sequences.batches import by_length

CONFIG_FILE, ENTRIES_FILE, WEIGHTS_FILE = "parser.yaml", "parser.json", "parser.safetensors"
LONGEST_WORD = 20  # characters; the rest of a word is not read
NOT_LABELLED = "dep"  # the label of all arcs if the treebank has none


@dataclass(frozen=True)
class ParserConfig:
    """The size of a parser; the defaults are supar's, the paper's "vanilla Biaffine"."""

    word_width: int = 100  # of a word's embedding, and of the vector from its characters
    character_width: int = 50
    lstm_layers: int = 3
    lstm_width: int = 400  # in each direction
    arc_width: int = 500
    label_width: int = 100
    parser_dropout: float = 0.33
    rarest: int = 2  # occurrences of a word for an embedding of its own; rarer words have only their characters

    def __post_init__(self) -> None:
        widths = ("word_width", "character_width", "lstm_width", "arc_width", "label_width")
        require_positive(self, "lstm_layers", "rarest", *widths)
        require(0 <= self.parser_dropout < 1, f"parser_dropout must be from 0 to 1, not {self.parser_dropout}")


# The vocabularies of a parser: {"words": [...], "chars": [...], "labels": [...]}.
Entries = dict[str, list[str]]


def entries_of(treebank: Treebank, rarest: int) -> Entries:
    """The vocabularies of a parser for this treebank."""
    sentences = treebank.sentences
    words = Counter(word.lower() for sentence in sentences for word in sentence.words)
    return {
        "words": sorted(word for word, count in words.items() if count >= rarest),
        "chars": sorted({letter for sentence in sentences for word in sentence.words for letter in word}),
        "labels": sorted({label for s in sentences for label in s.labels or [NOT_LABELLED]}),
    }


class Gold(NamedTuple):
    """Sentences with their gold heads and labels, a row each; 0 for ROOT and padding."""

    sentences: list[Words]
    heads: Tensor
    labels: Tensor
    is_word: Tensor

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.heads.numel()


class Trained(Biaffine):
    """A parser with supar's network, to be trained here."""

    def __init__(self, name: str, config: ParserConfig, entries: Entries) -> None:
        words = Field("words", pad=PAD, unk=UNK, bos=BOS, lower=True)
        characters = SubwordField("chars", pad=PAD, unk=UNK, bos=BOS, fix_len=LONGEST_WORD)
        for field in (words, characters):
            field.vocab = Vocab(Counter(entries[field.name]), 1, field.specials, field.unk_index)
        network = BiaffineDependencyModel(
            n_words=len(words.vocab),
            n_chars=len(characters.vocab),
            n_rels=max(2, len(entries["labels"])),  # supar's layer would drop an axis of length one
            n_embed=config.word_width,
            n_pretrained=config.word_width,
            n_feat_embed=config.word_width,
            n_char_embed=config.character_width,
            n_char_hidden=2 * config.character_width,
            n_lstm_hidden=config.lstm_width,
            n_lstm_layers=config.lstm_layers,
            n_arc_mlp=config.arc_width,
            n_rel_mlp=config.label_width,
            embed_dropout=config.parser_dropout,
            encoder_dropout=config.parser_dropout,
            mlp_dropout=config.parser_dropout,
        )
        super().__init__(name, network, (words, characters), entries["labels"])
        self.config, self.entries = config, entries

    is_compiled = False  # an LSTM would be compiled again for every length

    def loss(self, batch: Gold) -> tuple[Tensor, dict[str, Part]]:
        """The nats of all heads and labels: their sum, and each as a part."""
        arcs, labels = self.scores(batch.sentences)
        of_heads = cross_entropy(arcs[batch.is_word].float(), batch.heads[batch.is_word], reduction="sum")
        # Labels that do not occur in the training data (-1) do not count.
        known = batch.is_word & (batch.labels >= 0)
        of_gold_arc = labels[known][torch.arange(int(known.sum())), batch.heads[known]]
        of_labels = cross_entropy(of_gold_arc.float(), batch.labels[known], reduction="sum")
        words = int(batch.is_word.sum())
        return of_heads + of_labels, {"head": Part(of_heads, words), "label": Part(of_labels, words)}

    def save(self, folder: str | Path) -> None:
        """Write config, entries and weights into a folder; the weights last, so that a folder with them is whole."""
        folder = Path(folder)
        with write_atomically(folder / ENTRIES_FILE) as file:
            json.dump(self.entries, file, ensure_ascii=False)
        with write_atomically(folder / CONFIG_FILE) as file:
            file.write(as_yaml(self.config))
        save_weights(folder / WEIGHTS_FILE, self.network, self._meaning())

    @classmethod
    def load(cls, folder: str | Path) -> "Trained":
        """Read what `save` wrote."""
        folder = Path(folder)
        require((folder / CONFIG_FILE).exists(), f"{folder}: holds no parser; `dtglib train-parser` makes one")
        (config,) = read_config(folder / CONFIG_FILE, ParserConfig)
        parser = cls(str(folder), config, _read_entries(folder / ENTRIES_FILE))
        parser.network.load_state_dict(read_weights(folder / WEIGHTS_FILE, parser.network, parser._meaning()))
        return parser.eval()

    def _meaning(self) -> dict[str, str]:
        entries = json.dumps(self.entries, sort_keys=True)
        return {"config": fingerprint(self.config), "vocabulary": hashlib.sha256(entries.encode()).hexdigest()[:12]}


def _read_entries(path: Path) -> Entries:
    try:
        entries = json.loads(path.read_text("utf-8"))
        lists = [entries[key] for key in ("words", "chars", "labels")]
        if all(isinstance(entry, str) for kind in lists for entry in kind) and lists[2]:
            return entries
        what = "its words, chars and labels are no lists of texts"
    except OSError as error:
        what = error.strerror
    except (ValueError, KeyError, TypeError) as error:
        what = repr(error)
    raise UserError(f"{path}: {what}; put back the file that the parser was saved with, or train it again")


class TreebankExamples:
    """Training data for a parser: the sentences of a treebank that have heads and are not too long."""

    def __init__(self, entries: Entries, treebank: Treebank, longest: int | None = None) -> None:
        with_trees = [sentence for sentence in treebank.sentences if sentence.heads is not None]
        sentences = [sentence for sentence in with_trees if len(sentence.words) <= (longest or np.inf)]
        require(with_trees, "no sentence has a tree that a parser could learn from")
        require(sentences, f"all {len(with_trees)} sentences have more than {longest} words; set longest higher")
        self.too_long = [sentence.id for sentence in with_trees if len(sentence.words) > (longest or np.inf)]
        number_of = {label: number for number, label in enumerate(entries["labels"])}
        self.names = [sentence.id for sentence in sentences]
        self.lengths = np.array([len(sentence.words) + 1 for sentence in sentences])
        self.words = [sentence.words for sentence in sentences]
        self.heads = [torch.tensor([0, *sentence.heads]) for sentence in sentences]
        self.labels = [
            torch.tensor([0, *(number_of.get(label, -1) for label in s.labels or [NOT_LABELLED] * len(s.words))])
            for s in sentences
        ]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def summary(self) -> str:
        """The numbers of sentences and words, and what was left out, in words."""
        left_out = f"; left out as too long: {len(self.too_long)} ({shortened(self.too_long)})" if self.too_long else ""
        return f"{len(self)} sentences, {self.lengths.sum() - len(self)} words{left_out}"

    @property
    def checksum(self) -> str:
        """A checksum of all sentences."""
        digest = hashlib.sha256()
        for words, heads, labels in zip(self.words, self.heads, self.labels, strict=True):
            digest.update(json.dumps([words, heads.tolist(), labels.tolist()]).encode())
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most `positions` positions."""
        return by_length(self.lengths, positions, random)

    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> Gold:
        """A batch of these sentences, on a device."""

        def padded(rows: list[Tensor]) -> Tensor:
            return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(device)

        place = torch.arange(int(self.lengths[numbers].max()))
        is_word = (place > 0) & (place < torch.from_numpy(self.lengths[numbers])[:, None])
        return Gold(
            [self.words[number] for number in numbers],
            padded([self.heads[number] for number in numbers]),
            padded([self.labels[number] for number in numbers]),
            is_word.to(device),
        )
