"""Sentences of words as numbers, put into batches that are about equally full of words.

>>> from dtgpapers.udgn.config import UdgnConfig
>>> from dtgpapers.udgn.masked import SYMBOLS
>>> there = Sentence(("There", "is", "a", "difference", "."), (2, 0, 4, 2, 2))
>>> treebank = Treebank([there] * 5, Counter())
>>> vocabulary = Vocabulary.of_words([read(there).words], SYMBOLS)
>>> examples = MaskedExamples.of(UdgnConfig(), vocabulary, treebank)
>>> examples.summary
'5 sentences, 20 words, 0.0 % unknown'
>>> plan = examples.plan(12, np.random.default_rng(1), torch.device("cpu"))
>>> examples.batch(plan[0], 12, torch.device("cpu")).heads[0].tolist()      # from 0; -1 is ROOT
[1, -1, 3, 1]
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dtglib.basics.errors import UserError, require, shortened
from dtglib.data.conllu import TreebankError
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import PAD, UNKNOWN, Vocabulary
from dtglib.training.examples import left_out
from dtgpapers.batches import by_total
from dtgpapers.udgn.config import MaskedConfig
from dtgpapers.udgn.masked import MaskedBatch
from dtgpapers.udgn.words import read


@dataclass(frozen=True)
class MaskedExamples:
    """Sentences as they are read, and the numbers of their words."""

    sentences: list[Sentence]
    ids: list[np.ndarray]
    excluded: Counter[str]
    too_long: list[str]

    @classmethod
    def of(
        cls, config: MaskedConfig, vocabulary: Vocabulary, treebank: Treebank, longest: int | None = None
    ) -> "MaskedExamples":
        """All sentences of a treebank of at most `longest` words; only gold edges want them to have trees."""
        kept, excluded, too_long = [], Counter(treebank.excluded), []
        for sentence in treebank.sentences:
            try:
                as_read = read(sentence)
            except TreebankError as error:
                excluded[error.reason] += 1
                continue
            if longest is not None and len(as_read.words) > longest:
                too_long.append(as_read.id)
            else:
                kept.append(as_read)
        if too_long:
            excluded[f"more than {longest} words"] = len(too_long)
        reasons = ", ".join(f"{count} {reason}" for reason, count in excluded.items()) or "it is empty"
        require(kept, f"no sentence is left for model {config.model}: {reasons}")
        without = [as_read.id for as_read in kept if as_read.heads is None]
        if getattr(config, "edges", None) == "gold" and without:
            raise UserError(f"edges: gold takes heads from the treebank, and these have none: {shortened(without)}")
        return cls(kept, [np.array(vocabulary.encode(as_read.words).ids) for as_read in kept], excluded, too_long)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def names(self) -> list[str]:
        """The names of the sentences."""
        return [sentence.id for sentence in self.sentences]

    @property
    def lengths(self) -> np.ndarray:
        """The number of words of each sentence."""
        return np.array([len(ids) for ids in self.ids])

    @property
    def summary(self) -> str:
        """The numbers of sentences and words, and what was left out, in words."""
        words, unknown = self.lengths.sum(), sum(int((ids == UNKNOWN).sum()) for ids in self.ids)
        share = f"{100 * unknown / words:.1f} % unknown"
        return f"{len(self)} sentences, {words} words, {share}{left_out(self.excluded, self.too_long)}"

    @property
    def checksum(self) -> str:
        """A checksum of all sentences, with their heads."""
        digest = hashlib.sha256()
        for sentence, ids in zip(self.sentences, self.ids, strict=True):
            digest.update(ids.astype(np.int64).tobytes())
            digest.update(f"|{sentence.heads}|".encode())
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most `positions` words."""
        return by_total(self.lengths, positions, random)

    def batch(self, numbers: Sequence[int] | np.ndarray, positions: int, device: torch.device) -> MaskedBatch:
        """A batch of the plan, on a device."""
        chosen = [self.sentences[number] for number in numbers]
        return batch_of([self.ids[number] for number in numbers], [one.heads for one in chosen], device)


def batch_of(
    ids: Sequence[np.ndarray],
    heads: Sequence[Sequence[int] | None],
    device: torch.device | str = "cpu",
) -> MaskedBatch:
    """Sentences as numbers, padded; their heads are only part of it if all have some."""
    length = torch.tensor([len(one) for one in ids])
    token = np.full((len(ids), int(length.max())), PAD)
    gold = np.full(token.shape, -1)
    for row, (one, tree) in enumerate(zip(ids, heads, strict=True)):
        token[row, : len(one)] = one
        gold[row, : len(one)] = -1 if tree is None else np.array(tree) - 1
    known = torch.from_numpy(gold).to(device) if all(tree is not None for tree in heads) else None
    return MaskedBatch(torch.from_numpy(token).to(device), length, known)
