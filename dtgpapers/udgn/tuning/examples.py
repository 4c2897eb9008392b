"""Pairs of sentences as numbers, with the scores that people gave them.

A batch has the first sentences of all its pairs, and then the second ones. Sentences are read as in training: in lower
case, N for numbers, without punctuation. One of which nothing is left is a single unknown word.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from dtglib.basics.shapes import Float
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import UNKNOWN, Vocabulary
from dtgpapers.batches import by_total
from dtgpapers.tuning.agreement import correlations
from dtgpapers.tuning.examples import TaskExamples, divided
from dtgpapers.tuning.tasks import Task
from dtgpapers.tuning.ways import TaskItem
from dtgpapers.udgn.config import MaskedConfig
from dtgpapers.udgn.examples import batch_of
from dtgpapers.udgn.masked import MaskedBatch
from dtgpapers.udgn.words import readable


class PairBatch(NamedTuple):
    """Pairs of sentences."""

    sentences: MaskedBatch  # twice as many as there are pairs
    gold: Float[torch.Tensor, " N"]

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.sentences.positions


@dataclass(frozen=True)
class PairExamples(TaskExamples):
    """The items of a task as pairs of numbered words; held-out ones judge a network by its answers."""

    ids: list[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of(
        cls,
        config: MaskedConfig,
        vocabulary: Vocabulary,
        task: Task,
        items: Sequence[TaskItem],
        longest: int | None = None,
    ) -> "PairExamples":
        """All items; those with a sentence of more than `longest` words are left out."""
        ids = [tuple(_ids(vocabulary, words) for words in item.words) for item in items]
        kept, chosen, too_long = divided(task, items, [max(map(len, pair)) for pair in ids], longest, "words")
        return cls(task, chosen, too_long, [ids[number] for number in kept])

    @property
    def lengths(self) -> np.ndarray:
        """The number of words of each pair."""
        return np.array([len(first) + len(second) for first, second in self.ids])

    @property
    def summary(self) -> str:
        """The numbers of pairs and words."""
        unknown = sum(int((ids == UNKNOWN).sum()) for pair in self.ids for ids in pair)
        words = self.lengths.sum()
        left_out = f"; left out: {len(self.too_long)} too long" if self.too_long else ""
        return f"{len(self)} items of {self.task.name}, {words} words, {100 * unknown / words:.1f} % unknown{left_out}"

    @property
    def checksum(self) -> str:
        """A checksum of all words and scores."""
        digest = hashlib.sha256(self.golds.tobytes())
        for pair in self.ids:
            for ids in pair:
                digest.update(f"|{ids.tolist()}".encode())
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most `positions` words."""
        return by_total(self.lengths, positions, random)

    def batch(self, numbers: Sequence[int] | np.ndarray, positions: int, device: torch.device) -> PairBatch:
        """A batch of the plan, on a device."""
        both = [self.ids[number][place] for place in (0, 1) for number in numbers]
        gold = torch.from_numpy(self.golds[np.asarray(numbers)]).to(device)
        return PairBatch(batch_of(both, [None] * len(both), device), gold)

    def judged(self, answers: Float[np.ndarray, " N"]) -> dict[str, float]:
        """The agreement of answers with people's scores."""
        return correlations(np.asarray(answers, np.float64), self.golds.astype(np.float64))


def _ids(vocabulary: Vocabulary, words: Sequence[str]) -> np.ndarray:
    sentences = list(readable([Sentence(tuple(words))]))
    return np.array(vocabulary.encode(sentences[0].words).ids) if sentences else np.array([UNKNOWN])
