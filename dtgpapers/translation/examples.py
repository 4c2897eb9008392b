"""Sentences with their sources as numbers, and the edges that the symbols of each target make.

>>> from dtglib.data.corpora import load
>>> train = load("minilang:de-en", "train", sentences=3)
>>> config = TranslationConfig(model="parent")
>>> vocabulary = speaks(config, Vocabulary.of_words([["only", "targets"]]), train).with_symbols(symbols(config, train))
>>> examples = TranslationExamples.of(config, vocabulary, train)
>>> examples.summary
'3 pairs, 29 pieces of the source, 52 symbols of the target'
>>> [vocabulary.entries[entry].removeprefix("▁") for entry in examples.targets[0].ids[:5]]
['This', 'script', 'L:det', 'which', 'disappeared']

Both languages share one vocabulary, so that with `vocabulary: pieces` the pieces are joint ones; the network has
separate embeddings for each. Pairs whose target has no projective tree are left out, for all systems alike if any
target has a tree, and so are those whose target has too many pieces, transitions not counted. Only systems that write
trees leave out those without labels, or with one that the training part does not have.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.errors import require
from dtglib.basics.shapes import Bool, Int
from dtglib.data.symbols import Symbols
from dtglib.data.treebank import Sentence, Treebank, trees_only
from dtglib.data.vocabulary import END, PAD, Vocabulary
from dtglib.training.examples import left_out
from dtgpapers.batches import by_total
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.parallel import source_of
from dtgpapers.translation.systems import SYSTEMS
from dtgpapers.translation.target import Does, Symbol, TargetEdge, edges_of, named, read

# ---- Vocabularies


def symbols(config: TranslationConfig, treebank: Treebank) -> Symbols:
    """Two transitions for each label of an arc, if the system writes a tree. A label of ROOT's arc alone has none."""
    if not SYSTEMS[config.model].writes_tree:
        return Symbols("words", (), (), ())
    labels = {
        label
        for sentence in treebank.sentences
        for label, head in zip(sentence.labels or (), sentence.heads or (), strict=False)
        if head
    }
    require(labels, f"{config.model} writes labelled trees, and no target has one; set parsed_by to a labelling parser")
    return Symbols("labelled arcs", (), (), tuple(f"{side}:{label}" for label in sorted(labels) for side in "LR"))


def speaks(config: TranslationConfig, shared: Vocabulary, treebank: Treebank) -> Vocabulary:
    """The words of both languages, or joint pieces, as many as the corpus's models share."""
    sentences = [words for sentence in treebank.sentences for words in (sentence.words, source_of(sentence))]
    if shared.kind == "words":
        return Vocabulary.of_words(sentences)
    return Vocabulary.train(sentences, len(shared) - len(shared.reserved))


@dataclass(frozen=True)
class Meanings:
    """The effect of each vocabulary entry in a target, and the numbers of labels; 0 is that of no label."""

    vocabulary: Vocabulary
    labelled: str = "all"  # which edges have labels: see TranslationConfig

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The symbol of every entry."""
        names, starts = self.vocabulary.reserved, self.vocabulary.starts_word
        return [
            named(entry) if entry in names and ":" in entry else Symbol(Does.STARTS if starts[number] else Does.GOES_ON)
            for number, entry in enumerate(self.vocabulary.entries)
        ]

    @cached_property
    def labels(self) -> dict[str, int]:
        """The number of every label."""
        labels = sorted({named(name).label for name in self.transitions})
        return {"": 0, **{label: number for number, label in enumerate(labels, start=1)}}

    @property
    def transitions(self) -> tuple[str, ...]:
        """The names of all transitions."""
        return self.vocabulary.symbols.others

    @cached_property
    def is_transition(self) -> np.ndarray:
        """For each entry, whether it is a transition."""
        mask = np.zeros(len(self.vocabulary), bool)
        mask[[self.vocabulary.transition(name) for name in self.transitions]] = True
        return mask

    def rows(self, edges: Sequence[TargetEdge]) -> np.ndarray:
        """Edges as rows of numbers: when it is made, its origin and goal, its label."""
        rows = [(edge.made_at, edge.origin, edge.goal, self.label_of(edge)) for edge in edges]
        return np.array(rows, np.int64).reshape(-1, 4)

    def label_of(self, edge: TargetEdge) -> int:
        """The number of an edge's label."""
        return self.labels[edge.label] if self.labelled == "all" or edge.is_of_words else 0


# ---- Examples


class Target(NamedTuple):
    """The entries of a target, with <END>, and its edges."""

    ids: np.ndarray
    edges: np.ndarray  # rows of `Meanings.rows`


def target_of(meanings: Meanings, sentence: Sentence) -> Target:
    """The target of a sentence, with its tree if the vocabulary has transitions."""
    vocabulary = meanings.vocabulary
    encoded = vocabulary.encode(sentence.words)
    if not meanings.transitions:
        return Target(np.array([*encoded.ids, END]), np.empty((0, 4), np.int64))
    pieces = iter(encoded.ids)
    written = read([stop - start for start, stop in encoded.spans], sentence.heads or (), sentence.labels or ())
    is_arc = [symbol.does in (Does.LEFT, Does.RIGHT) for symbol in written]
    ids = [
        vocabulary.transition(symbol.name) if arc else next(pieces) for symbol, arc in zip(written, is_arc, strict=True)
    ]
    return Target(np.array([*ids, END]), meanings.rows(edges_of(written)))


def pieces_of(meanings: Meanings, target: Target) -> int:
    """The number of pieces of a target, without its transitions and <END>."""
    return int((~meanings.is_transition[target.ids]).sum()) - 1


class TranslationBatch(NamedTuple):
    """Padded sources, and targets as they are."""

    source: Int[Tensor, "B M"]
    targets: list[Target]
    is_wrong: Bool[Tensor, " B"] | None = None  # which pairs are learned with the source of the next one

    @property
    def positions(self) -> int:
        """The number of symbols to be predicted; there is no padding among them."""
        return sum(len(target.ids) for target in self.targets)


@dataclass(frozen=True)
class TranslationExamples:
    """Sources and targets."""

    names: list[str]
    sources: list[np.ndarray]
    targets: list[Target]
    excluded: Counter[str]
    too_long: list[str]
    noise: float = 0.0

    @classmethod
    def of(
        cls, config: TranslationConfig, vocabulary: Vocabulary, treebank: Treebank, longest: int | None = None
    ) -> "TranslationExamples":
        """The pairs whose targets have at most `longest` pieces."""
        meanings = Meanings(vocabulary, config.labelled)
        if any(sentence.heads is not None for sentence in treebank.sentences):
            treebank = trees_only(treebank)
        excluded, too_long = Counter(treebank.excluded), []
        kept: list[tuple[str, np.ndarray, Target]] = []
        for sentence in treebank.sentences:
            if problem := why_not(meanings, sentence):
                excluded[problem] += 1
                continue
            target = target_of(meanings, sentence)
            if longest is not None and pieces_of(meanings, target) > longest:
                too_long.append(sentence.id)
            else:
                kept.append((sentence.id, np.array(vocabulary.encode(source_of(sentence)).ids), target))
        if too_long:
            excluded[f"more than {longest} pieces"] = len(too_long)
        reasons = ", ".join(f"{count} {reason}" for reason, count in excluded.items()) or "it is empty"
        require(kept, f"no pair is left for model {config.model}: {reasons}")
        names, sources, targets = map(list, zip(*kept, strict=True))
        return cls(names, sources, targets, excluded, too_long, config.noise)

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of symbols of each target, with <END>."""
        return np.array([len(target.ids) for target in self.targets])

    @property
    def symbols(self) -> np.ndarray:
        """All symbols of the targets, one after another."""
        return np.concatenate([target.ids for target in self.targets])

    @property
    def summary(self) -> str:
        """The numbers of pairs, pieces and symbols, and what was left out, in words."""
        pieces, written = sum(map(len, self.sources)), int(self.lengths.sum())
        lengths = f"{pieces} pieces of the source, {written} symbols of the target"
        return f"{len(self.names)} pairs, {lengths}{left_out(self.excluded, self.too_long)}"

    @property
    def checksum(self) -> str:
        """A checksum of all pairs."""
        digest = hashlib.sha256()
        for source, target in zip(self.sources, self.targets, strict=True):
            for row in (source, target.ids, target.edges):
                digest.update(row.astype(np.int64).tobytes())
                digest.update(b"|")
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most so many pieces of sources, which all systems have alike."""
        return by_total(np.array(list(map(len, self.sources))), positions, random)

    def batch(self, numbers: Sequence[int] | np.ndarray, positions: int, device: torch.device) -> TranslationBatch:
        """A batch of the plan, its sources on a device."""
        sources, targets = padded([self.sources[number] for number in numbers]), [self.targets[n] for n in numbers]
        if not self.noise:
            return TranslationBatch(sources.to(device), targets)
        # By their names, so that the same pairs are wrong in all epochs, and for all systems.
        digests = [hashlib.sha256(self.names[number].encode()).digest() for number in numbers]
        is_wrong = [int.from_bytes(digest[:4]) < self.noise * 2**32 for digest in digests]
        return TranslationBatch(sources.to(device), targets, torch.tensor(is_wrong).to(device))


def why_not(meanings: Meanings, sentence: Sentence) -> str | None:
    """The reason why a sentence cannot be a target; None if it can."""
    if not meanings.transitions:
        return None
    if sentence.heads is None or sentence.labels is None:
        return "no labelled tree"
    arcs = {label for label, head in zip(sentence.labels, sentence.heads, strict=True) if head}
    return None if arcs <= meanings.labels.keys() else "a label that is not in the training part"


def padded(rows: Sequence[np.ndarray]) -> Int[Tensor, "B T"]:
    """Rows of entries side by side."""
    ids = np.full((len(rows), max(map(len, rows))), PAD)
    is_symbol = np.arange(ids.shape[1]) < np.array([len(row) for row in rows])[:, None]
    ids[is_symbol] = list(chain.from_iterable(rows))
    return torch.from_numpy(ids)
