"""Prompts put into batches: their pieces, the tape of each sentence in its place, and where the answer is asked.

    Sentence1 : a plane is taking off . ; Sentence2 : an air plane is taking off . ; Score :
                └── a tape of its own ─┘              └──── another, which begins anew ┘

The words of the prompt have no arcs: their rows and columns of the tape are 0, and so is what the words of one sentence
would see of the other one. The graphs are of words, so that the model that has found them may have other pieces.

Of a prompt with a label everything before the piece that tells the labels apart is read, and this piece is the only
target; of one without, nothing is predicted, but the last position is asked all the same.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from dtglib.basics.errors import UserError, shortened
from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.transformer import Batch, batch_of
from dtglib.sequences.batches import by_length, pad
from dtglib.sequences.columns import NOTHING, Compiled, Sequences
from dtglib.sequences.readings import causal, tokens
from dtglib.sequences.structure import dense
from dtgpapers.gilt.examples import of_positions
from dtgpapers.gilt.graphs import Graph
from dtgpapers.gilt.tape import FEATURES, tapes
from dtgpapers.gilt.tuning.config import TunedConfig
from dtgpapers.gilt.tuning.prompts import Filled, choice_between, prompt_of
from dtgpapers.tuning.agreement import correlations, right_labels
from dtgpapers.tuning.examples import TaskExamples, divided
from dtgpapers.tuning.tasks import Task
from dtgpapers.tuning.ways import TaskItem


class AskedBatch(NamedTuple):
    """The input of a tuned network: prompts, each of which asks at one position."""

    batch: Batch  # its bias is the tape, or None
    gold: Float[torch.Tensor, " B"]
    choices: Int[torch.Tensor, " L"]  # the piece of each label; none for scores

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.batch.positions


@dataclass(frozen=True)
class PromptExamples(TaskExamples):
    """The items of a task as prompts."""

    config: TunedConfig
    sequences: Sequences
    first: list[tuple[int, ...]]  # the number of the first word of each sentence, by item
    choices: tuple[int, ...]

    @classmethod
    def of(
        cls,
        config: TunedConfig,
        vocabulary: Vocabulary,
        task: Task,
        items: Sequence[TaskItem],
        longest: int | None = None,
    ) -> "PromptExamples":
        """The items whose prompts have at most `longest` positions."""
        prompt = prompt_of(task)
        filled = [prompt.filled(item.words) for item in items]
        if prompt.labels:
            sequences, choices = _with_labels(vocabulary, prompt.labels, filled, items)
        else:
            sequences, choices = tokens(vocabulary, ((one.words, None) for one in filled)), ()
        kept, chosen, too_long = divided(task, items, np.diff(sequences.starts), longest, "positions")
        asked, first = _asked_at_the_end(sequences.chosen(kept)), [filled[number].first for number in kept]
        return cls(task, chosen, too_long, config, asked, first, choices)

    @property
    def lengths(self) -> np.ndarray:
        """The number of positions of each prompt."""
        return np.diff(self.sequences.starts)

    @property
    def summary(self) -> str:
        """The numbers of items and positions, and what was left out, in words."""
        named = f"; left out: {len(self.too_long)} too long ({shortened(self.too_long)})" if self.too_long else ""
        return f"{len(self)} items of {self.task.name}, {self.lengths.sum()} positions{named}"

    @property
    def checksum(self) -> str:
        """A checksum of all prompts, graphs and judgements."""
        digest = hashlib.sha256(self.sequences.vectors.token.tobytes())
        digest.update(self.golds.tobytes())
        digest.update(repr([(item.trees, first) for item, first in zip(self.items, self.first, strict=True)]).encode())
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most `positions` positions."""
        return by_length(self.lengths, positions, random, spread=np.inf)

    def batch(self, numbers: Sequence[int] | np.ndarray, positions: int, device: torch.device) -> AskedBatch:
        """A batch of the plan, on a device."""
        compiled = pad(self.sequences, numbers)
        tape = torch.from_numpy(self.tape(compiled, numbers)).to(device) if self.config.graph_layers else None
        return AskedBatch(
            batch_of(compiled, dense, device, bias=tape),
            torch.from_numpy(self.golds[numbers]).to(device),
            torch.tensor(self.choices, dtype=torch.long, device=device),
        )

    def tape(self, compiled: Compiled, numbers: Sequence[int] | np.ndarray) -> Int[np.ndarray, "B F T T"]:
        """The tapes of a batch's sentences, each between the positions of its own words."""
        column = np.maximum(compiled.word, 0)  # of <ROOT> and padding: the column 0, which is empty
        words = int(column.max(initial=0)) + 1
        of_words = np.zeros((len(numbers), words, len(FEATURES), words), np.int16)
        for row, number in enumerate(numbers):
            for first, graph in zip(self.first[number], graphs_of(self.items[number]), strict=True):
                its = slice(first, first + graph.words)
                of_words[row, its, :, its] = tapes(graph, self.config.depth)[1:, :, 1:]
        return of_positions(of_words, column, column)

    def judged(self, answers: Float[np.ndarray, " N"]) -> dict[str, float]:
        """The agreement of answers with people's; answers beyond the scale are cut to its ends."""
        if self.choices:
            return right_labels((answers > 0).astype(np.int64), self.golds.astype(np.int64))
        return correlations(answers.clip(self.task.lowest, self.task.highest), self.golds.astype(np.float64))


def graphs_of(item: TaskItem) -> list[Graph]:
    """The graph of each sentence, from its arcs as a search returns them: head, dependent, head, dependent, ..."""
    if len(item.trees) != len(item.words):
        raise UserError(f"{item.judged.id}: has {len(item.trees)} graphs for {len(item.words)} sentences")
    return [
        Graph.of(len(words), zip(tree[::2], tree[1::2], strict=True))
        for words, tree in zip(item.words, item.trees, strict=True)
    ]


def _with_labels(
    vocabulary: Vocabulary, labels: Sequence[str], filled: Sequence[Filled], items: Sequence[TaskItem]
) -> tuple[Sequences, tuple[int, ...]]:
    """Prompts with their labels, cut before the piece that tells labels apart; and that piece of each label."""
    choice = choice_between(vocabulary, labels)
    answered = [(*one.words, labels[int(item.judged.gold)]) for one, item in zip(filled, items, strict=True)]
    whole = tokens(vocabulary, ((words, None) for words in answered))
    pieces = np.array([len(vocabulary.encode([words[-1]]).ids) for words in answered], np.int64)
    starts = np.concatenate([[0], np.cumsum(np.diff(whole.starts) - pieces + len(choice.common))])
    lengths = np.diff(starts)
    kept = np.arange(starts[-1]) + np.repeat(whole.starts[:-1] - starts[:-1], lengths)
    return causal(Sequences(Compiled(*(column[kept] for column in whole.vectors)), starts)), choice.pieces


def _asked_at_the_end(sequences: Sequences) -> Sequences:
    """The same sequences, in which only the last position has a target."""
    target = np.full_like(sequences.vectors.target, NOTHING)
    last = sequences.starts[1:] - 1
    target[last] = sequences.vectors.target[last]
    return Sequences(sequences.vectors._replace(target=target), sequences.starts)
