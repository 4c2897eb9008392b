"""A biaffine parser of one's own: built for a treebank, trained like every other model, saved as a folder.

    entries = entries_of(treebank, rarest=2)
    parser = Trained("mine", ParserConfig(), entries)
    train(parser, TreebankExamples(entries, treebank), ...)     the loop that trains the language models, too
    parser = Trained.load(folder)                               parser.yaml, parser.json, parser.safetensors

The network is supar's, but not its loop and its files: those cannot be resumed after a kill, and unpickling a file
runs whatever stands in it. The loss is the cross-entropy of each word's head among all words, plus that of its label.
Non-projective trees are welcome: heads are chosen one by one.
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

from dtglib.batches import by_length
from dtglib.config import as_yaml, fingerprint, read_config, require_positive
from dtglib.errors import UserError, require, shortened
from dtglib.files import write_atomically
from dtglib.proposals.biaffine import Biaffine, Words
from dtglib.proposals.from_supar import BOS, PAD, UNK, BiaffineDependencyModel, Field, SubwordField, Vocab
from dtglib.treebank import Treebank
from dtglib.weights import read_weights, save_weights

CONFIG_FILE, ENTRIES_FILE, WEIGHTS_FILE = "parser.yaml", "parser.json", "parser.safetensors"
LONGEST_WORD = 20  # characters that are read of a word
NOT_LABELLED = "dep"  # the label of all arcs where the treebank has none


@dataclass(frozen=True)
class ParserConfig:
    """The size of a parser; the defaults are supar's, the paper's "vanilla Biaffine"."""

    word_width: int = 100  # of a word's embedding, and of what is made of its characters
    character_width: int = 50
    lstm_layers: int = 3
    lstm_width: int = 400  # to either side
    arc_width: int = 500
    label_width: int = 100
    parser_dropout: float = 0.33
    rarest: int = 2  # how often a word must be seen to be known; the others are read by their characters alone

    def __post_init__(self) -> None:
        widths = ("word_width", "character_width", "lstm_width", "arc_width", "label_width")
        require_positive(self, "lstm_layers", "rarest", *widths)
        require(0 <= self.parser_dropout < 1, f"parser_dropout must be from 0 to 1, not {self.parser_dropout}")


# The words and characters that are known, and the labels: as {"words": [...], "chars": [...], "labels": [...]}.
Entries = dict[str, list[str]]


def entries_of(treebank: Treebank, rarest: int) -> Entries:
    """What a parser for this treebank knows."""
    sentences = treebank.sentences
    words = Counter(word.lower() for sentence in sentences for word in sentence.words)
    return {
        "words": sorted(word for word, count in words.items() if count >= rarest),
        "chars": sorted({letter for sentence in sentences for word in sentence.words for letter in word}),
        "labels": sorted({label for s in sentences for label in s.labels or [NOT_LABELLED]}),
    }


class Gold(NamedTuple):
    """Sentences with what is to be learnt of them; a row each, 0 for ROOT and padding."""

    sentences: list[Words]
    heads: Tensor
    labels: Tensor
    is_word: Tensor


class Trained(Biaffine):
    """A parser that was trained here, or is to be."""

    def __init__(self, name: str, config: ParserConfig, entries: Entries) -> None:
        words = Field("words", pad=PAD, unk=UNK, bos=BOS, lower=True)
        characters = SubwordField("chars", pad=PAD, unk=UNK, bos=BOS, fix_len=LONGEST_WORD)
        for field in (words, characters):
            field.vocab = Vocab(Counter(entries[field.name]), 1, field.specials, field.unk_index)
        network = BiaffineDependencyModel(
            n_words=len(words.vocab),
            n_chars=len(characters.vocab),
            n_rels=max(2, len(entries["labels"])),  # of one, its layer would drop the axis
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

    @torch.compiler.disable  # an LSTM over every length would be compiled once for each
    def loss(self, batch: Gold) -> tuple[Tensor, dict[str, int]]:
        """The nats of all heads and labels together, and what they are to be divided by."""
        arcs, labels = self.scores(batch.sentences)
        nats = cross_entropy(arcs[batch.is_word].float(), batch.heads[batch.is_word], reduction="sum")
        # A label that was never seen in training cannot be learnt, and cannot be tested.
        known = batch.is_word & (batch.labels >= 0)
        of_gold_arc = labels[known][torch.arange(int(known.sum())), batch.heads[known]]
        nats = nats + cross_entropy(of_gold_arc.float(), batch.labels[known], reduction="sum")
        return nats, {"transitions": int(batch.is_word.sum()), "positions": batch.heads.numel()}

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
    """The sentences of a treebank that have heads, but for too long ones, as a parser learns from them."""

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
        """In words: how much there is."""
        left_out = f"; left out as too long: {len(self.too_long)} ({shortened(self.too_long)})" if self.too_long else ""
        return f"{len(self)} sentences, {self.lengths.sum() - len(self)} words{left_out}"

    @property
    def checksum(self) -> str:
        """Of all that the parser reads."""
        digest = hashlib.sha256()
        for words, heads, labels in zip(self.words, self.heads, self.labels, strict=True):
            digest.update(json.dumps([words, heads.tolist(), labels.tolist()]).encode())
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, of at most so many positions each."""
        return by_length(self.lengths, positions, random)

    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> Gold:
        """These sentences, on a device."""

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
