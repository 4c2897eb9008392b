"""Biaffine parsers that are trained here: built for a treebank, trained by the one loop, saved as a folder.

    entries = entries_of(treebank, rarest=2)
    parser = Trained("mine", ParserConfig(), entries)
    train(parser, TreebankExamples(entries, treebank), ...)     the loop that also trains the language models
    parser = Trained.load(folder)                               see kept.py

The network is supar's. Its training loop and files are not used, because an interrupted training cannot be resumed, and
unpickling a file executes code in it. The loss is the cross-entropy of each word's head among all words, plus that of
its label. Non-projective trees can be used, because heads are predicted independently.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from dtglib.basics.config import require_positive
from dtglib.data.treebank import Sentence, Treebank, Words
from dtglib.network.transformer import LossPart
from dtglib.parsing.biaffine import Biaffine
from dtglib.parsing.fields import Entries, word_fields, words_and_letters
from dtglib.parsing.from_supar import BiaffineDependencyModel
from dtglib.parsing.kept import EncoderConfig, KeptParser, ParserExamples, encoder_arguments

NOT_LABELLED = "dep"  # the label of all arcs if the treebank has none


@dataclass(frozen=True)
class ParserConfig(EncoderConfig):
    """The size of a parser; the defaults are supar's, the paper's "vanilla Biaffine"."""

    arc_width: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "arc_width")


def entries_of(treebank: Treebank, rarest: int) -> Entries:
    """The vocabularies of a parser for this treebank."""
    labels = {label for sentence in treebank.sentences for label in sentence.labels or [NOT_LABELLED]}
    return {**words_and_letters(treebank, rarest), "labels": sorted(labels)}


class Gold(NamedTuple):
    """Sentences with their gold heads and labels, a row for each sentence; 0 for ROOT and padding."""

    sentences: list[Words]
    heads: Tensor
    labels: Tensor
    is_word: Tensor

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.heads.numel()

    @property
    def words(self) -> int:
        """The number of words."""
        return int(self.is_word.sum())


class Trained(KeptParser, Biaffine):
    """A parser with supar's network that is trained here."""

    config_class = ParserConfig

    def __init__(self, name: str, config: ParserConfig, entries: Entries) -> None:
        words, characters = word_fields(entries)
        network = BiaffineDependencyModel(
            n_rels=max(2, len(entries["labels"])),  # supar's layer would drop an axis of length one
            n_arc_mlp=config.arc_width,
            n_rel_mlp=config.label_width,
            **encoder_arguments(config, len(words.vocab), len(characters.vocab)),
        )
        super().__init__(name, network, (words, characters), entries["labels"])
        self.config, self.entries = config, entries

    def loss(self, batch: Gold) -> tuple[Tensor, dict[str, LossPart]]:
        """The nats of all heads and labels: their sum, and each as a part."""
        arcs, labels = self.scores(batch.sentences)
        of_heads = cross_entropy(arcs[batch.is_word].float(), batch.heads[batch.is_word], reduction="sum")
        # Labels that do not occur in the training data (-1) have no loss.
        known = batch.is_word & (batch.labels >= 0)
        of_gold_arc = labels[known][torch.arange(int(known.sum())), batch.heads[known]]
        of_labels = cross_entropy(of_gold_arc.float(), batch.labels[known], reduction="sum")
        parts = {"head": LossPart(of_heads, batch.words), "label": LossPart(of_labels, batch.words)}
        return of_heads + of_labels, parts


class TreebankExamples(ParserExamples):
    """Training data for a parser of arcs: the sentences of a treebank that have heads."""

    def has_tree(self, sentence: Sentence) -> bool:
        """True if it has heads."""
        return sentence.heads is not None

    def tree_of(self, sentence: Sentence) -> tuple[Tensor, Tensor]:
        """Heads and labels; 0 for ROOT, and -1 for a label that the parser does not know."""
        labels = sentence.labels or [NOT_LABELLED] * len(sentence.words)
        numbers = [self.number_of.get(label, -1) for label in labels]
        return torch.tensor([0, *(sentence.heads or ())]), torch.tensor([0, *numbers])

    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> Gold:
        """A batch of these sentences, on a device."""
        place = torch.arange(int(self.lengths[numbers].max()))
        is_word = (place > 0) & (place < torch.from_numpy(self.lengths[numbers])[:, None])
        heads, labels = (self.padded(numbers, part).to(device) for part in (0, 1))
        return Gold([self.words[number] for number in numbers], heads, labels, is_word.to(device))
