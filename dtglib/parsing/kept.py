"""The common parts of all parsers that are trained here: their sizes, their folders, and their training data.

    parser.yaml, parser.json, parser.safetensors        the config, the vocabularies, the weights

trained.py has the parsers of arcs; packages of papers bring others.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.config import as_yaml, fingerprint, read_config, require_positive
from dtglib.basics.errors import UserError, require, shortened
from dtglib.basics.files import write_atomically
from dtglib.data.treebank import Sentence, Treebank
from dtglib.network.weights import read_weights, save_weights
from dtglib.parsing.fields import Entries
from dtglib.sequences.batches import by_length

CONFIG_FILE, ENTRIES_FILE, WEIGHTS_FILE = "parser.yaml", "parser.json", "parser.safetensors"


@dataclass(frozen=True)
class EncoderConfig:
    """The size of the encoder of words; the defaults are supar's."""

    word_width: int = 100  # of a word's embedding, and of the vector from its characters
    character_width: int = 50
    lstm_layers: int = 3
    lstm_width: int = 400  # in each direction
    label_width: int = 100
    parser_dropout: float = 0.33
    rarest: int = 2  # the fewest occurrences of a word with its own embedding; rarer words have only their characters

    def __post_init__(self) -> None:
        require_positive(self, "lstm_layers", "rarest", "word_width", "character_width", "lstm_width", "label_width")
        require(0 <= self.parser_dropout < 1, f"parser_dropout must be from 0 on, below 1, not {self.parser_dropout}")


def encoder_arguments(config: EncoderConfig, words: int, letters: int) -> dict[str, Any]:
    """The arguments of supar's networks for the encoder; `words` and `letters` are sizes of vocabularies."""
    return {
        "n_words": words,
        "n_chars": letters,
        "n_embed": config.word_width,
        "n_pretrained": config.word_width,
        "n_feat_embed": config.word_width,
        "n_char_embed": config.character_width,
        "n_char_hidden": 2 * config.character_width,
        "n_lstm_hidden": config.lstm_width,
        "n_lstm_layers": config.lstm_layers,
        "embed_dropout": config.parser_dropout,
        "encoder_dropout": config.parser_dropout,
        "mlp_dropout": config.parser_dropout,
    }


class KeptParser:
    """The files of a parser; a subclass of this and of `nn.Module` has these attributes."""

    config_class: ClassVar[type[EncoderConfig]]
    fills: ClassVar[str]
    config: EncoderConfig
    entries: Entries
    network: torch.nn.Module

    def save(self, folder: str | Path) -> None:
        """Write config, entries and weights into a folder; the weights come last, so a folder with them is complete."""
        folder = Path(folder)
        with write_atomically(folder / ENTRIES_FILE) as file:
            json.dump(self.entries, file, ensure_ascii=False)
        with write_atomically(folder / CONFIG_FILE) as file:
            file.write(as_yaml(self.config))
        save_weights(folder / WEIGHTS_FILE, self.network, self._meaning())

    @classmethod
    def load(cls, folder: str | Path) -> "KeptParser":
        """Read what `save` wrote."""
        folder = Path(folder)
        (config,) = read_config(folder / CONFIG_FILE, cls.config_class, unused=["parser"])
        parser: Any = cls(str(folder), config, _read_entries(folder / ENTRIES_FILE))  # type: ignore[call-arg]
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
        problem = "its words, chars and labels are not lists of texts"
    except OSError as error:
        problem = error.strerror
    except (ValueError, KeyError, TypeError) as error:
        problem = repr(error)
    raise UserError(f"{path}: {problem}; put back the file that the parser was saved with, or train it again")


class ParserExamples(ABC):
    """Training data for a parser: the sentences of a treebank that have a tree and are not too long."""

    marks: ClassVar[int] = 1  # the number of marks that a network reads around the words of a sentence

    def __init__(self, entries: Entries, treebank: Treebank, longest: int | None = None) -> None:
        self.number_of = {label: number for number, label in enumerate(entries["labels"])}
        with_trees = [sentence for sentence in treebank.sentences if self.has_tree(sentence)]
        sentences = [sentence for sentence in with_trees if len(sentence.words) <= (longest or np.inf)]
        require(with_trees, "no sentence has a tree that a parser could learn from; name another corpus or parser")
        require(sentences, f"all {len(with_trees)} sentences have more than {longest} words; set longest higher")
        self.too_long = [sentence.id for sentence in with_trees if len(sentence.words) > (longest or np.inf)]
        self.names = [sentence.id for sentence in sentences]
        self.lengths = np.array([len(sentence.words) + self.marks for sentence in sentences])
        self.words = [sentence.words for sentence in sentences]
        self.trees = [self.tree_of(sentence) for sentence in sentences]

    @abstractmethod
    def has_tree(self, sentence: Sentence) -> bool:
        """True if a parser can learn from a sentence."""

    @abstractmethod
    def tree_of(self, sentence: Sentence) -> tuple[Tensor, ...]:
        """The tree of a sentence, in integers."""

    @abstractmethod
    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> Any:
        """A batch of these sentences, on a device."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def summary(self) -> str:
        """A line with the numbers of sentences and words, and the sentences that were left out."""
        left_out = f"; left out as too long: {len(self.too_long)} ({shortened(self.too_long)})" if self.too_long else ""
        return f"{len(self)} sentences, {sum(map(len, self.words))} words{left_out}"

    @property
    def checksum(self) -> str:
        """A checksum of all sentences."""
        digest = hashlib.sha256()
        for words, tree in zip(self.words, self.trees, strict=True):
            digest.update(json.dumps([words, *(part.tolist() for part in tree)]).encode())
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most `positions` positions."""
        return by_length(self.lengths, positions, random)

    def padded(self, numbers: np.ndarray, part: int, filling: int = 0) -> Tensor:
        """One part of the trees of these sentences, a row for each sentence."""
        rows = [self.trees[number][part] for number in numbers]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=filling)
