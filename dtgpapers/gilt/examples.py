"""Sentences with their graphs, put into batches: pieces, tapes, and the cells of the scorer.

A batch has a sentence a row, padded, on every device: the tape is made for pairs of positions, which packed rows have
too many of. It is made anew for every batch, because all of them would take more memory than the sentences.

    >>> from dtglib.data.conllu import Edge
    >>> from dtgpapers.gilt.graphs import graph_of
    >>> edges = (Edge("2", "expl"),), (Edge("0", "root"),), (Edge("4", "det"),), (Edge("2", "nsubj"),)
    >>> there = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2), enhanced=edges)
    >>> vocabulary, treebank = Vocabulary.of_words([there.words], counts(29)), Treebank([there], Counter())
    >>> examples = GraphExamples.of(graph_of, GiltConfig(), vocabulary, treebank)
    >>> batch = examples.batch([0], 100, torch.device("cpu"))
    >>> batch.batch.bias[0, 0].tolist()           # degrees: <ROOT> and four words, as each of them sees those before it
    [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 1, 11, 0, 0], [0, 1, 11, 0, 0], [0, 1, 21, 1, 11]]
    >>> len(batch.cells.head), int(batch.is_arc.sum()), batch.count.tolist()
    (16, 4, [0, 2, 0, 2])
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.jit import njit
from dtglib.basics.shapes import Float, Int
from dtglib.data.conllu import TreebankError
from dtglib.data.symbols import Symbols
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.transformer import Batch, batch_of, sent
from dtglib.sequences.batches import by_length, pad
from dtglib.sequences.columns import Compiled, Sequences
from dtglib.sequences.readings import WordsAndTree, tokens
from dtglib.sequences.structure import dense
from dtglib.training.examples import Examples
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.graphs import Graph, Reader
from dtgpapers.gilt.scorer import Cells
from dtgpapers.gilt.tape import FEATURES, tapes


def counts(most_arcs: int) -> Symbols:
    """The symbols for the numbers of arcs, which a search takes for steps; a sequence of pieces has none of them."""
    return Symbols(f"arcs up to {most_arcs}", (), (), tuple(f"ARCS={number}" for number in range(most_arcs + 1)))


class Words(NamedTuple):
    """The places of the words of a batch, counted over all rows."""

    before: Int[Tensor, " W"]  # the position before their first pieces
    first: Int[Tensor, " W"]
    row: Int[Tensor, " W"]
    position: Int[Tensor, " P"]  # of all pieces
    word: Int[Tensor, " P"]  # of each of them, from 0


class GraphBatch(NamedTuple):
    """The input of `Gilt.loss`."""

    batch: Batch  # its bias is the tape
    words: Words
    cells: Cells
    farthest: int  # no cell has a larger distance
    is_arc: Float[Tensor, " C"]  # 1 where the graph has the arc
    count: Int[Tensor, " W"]  # type: ignore[assignment]  # of arcs

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.batch.positions


class PiecesWithGraph(NamedTuple):
    """The reading of pieces in sentences that have a graph; see sequences/readings.py."""

    read: Reader
    most_arcs: int

    @property
    def has_trees(self) -> bool:
        """The sequences hold words alone."""
        return False

    def compile(self, vocabulary: Vocabulary, sentences: Iterable[WordsAndTree]) -> Sequences:
        """The pieces."""
        return tokens(vocabulary, sentences)

    def tree_of(self, vocabulary: Vocabulary, sentence: Sentence) -> None:
        """Checks that there is a graph."""
        graph, _ = self.read(sentence)
        if graph.counts.max(initial=0) > self.most_arcs:
            raise TreebankError(f"sentence {sentence.id!r} has a word with too many arcs", "too many arcs of a word")

    def trees_of(self, vocabulary: Vocabulary, proposed: Any) -> np.ndarray:
        """Not used: no parser proposes graphs."""
        raise TypeError("no parser proposes graphs")


def _without_root(read: Reader, sentence: Sentence) -> tuple[Graph, Counter[str]]:
    """A sentence's graph without the arcs of ROOT, and what is no arc between words."""
    graph, dropped = read(sentence)
    return graph.without_root(), dropped


@dataclass(frozen=True)
class GraphExamples(Examples):
    """Training data: compiled sentences, each with its graph."""

    graphs: list[Graph]
    dropped: Counter[str]  # what was in the sentences' graphs and is no arc between words
    config: GiltConfig

    @classmethod
    def of(  # type: ignore[override]
        cls,
        read: Reader,
        config: GiltConfig,
        vocabulary: Vocabulary,
        treebank: Treebank,
        longest: int | None = None,
    ) -> "GraphExamples":
        """The sentences of at most `longest` positions on which other models train (see Examples), with graphs."""
        sentences = treebank.sentences
        numbered = [replace(sentence, id=str(number)) for number, sentence in enumerate(sentences)]
        read = read if config.root_arcs else partial(_without_root, read)
        reading = PiecesWithGraph(read, config.most_arcs)
        examples = Examples.of(config.model, reading, vocabulary, treebank._replace(sentences=numbered), longest)
        kept = [sentences[int(number)] for number in examples.names]
        graphs, dropped = zip(*map(read, kept), strict=True)
        names, too_long = [sentence.id for sentence in kept], [sentences[int(one)].id for one in examples.too_long]
        of_graphs = list(graphs), sum(dropped, Counter()), config
        return cls(examples.sequences, names, examples.excluded, too_long, *of_graphs)

    @property
    def summary(self) -> str:
        """The numbers of sentences, positions and arcs, and what was left out or dropped, in words."""
        arcs = sum(len(graph.arcs) for graph in self.graphs)
        dropped = "".join(f", dropped {count} {what}" for what, count in self.dropped.items())
        return f"{super().summary}; {arcs} arcs{dropped}"

    @property
    def checksum(self) -> str:
        """A checksum of all compiled sentences and graphs, and of what the tape says of them."""
        of_tape = self.config.word, self.config.depth
        digest = hashlib.sha256(f"{super().checksum} {of_tape}".encode())
        for graph in self.graphs:
            digest.update(graph.arcs.tobytes())
            digest.update(b"|")
        return digest.hexdigest()[:12]

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        """The batches of an epoch, each of at most `positions` positions."""
        return by_length(self.lengths, positions, random)

    def batch(self, numbers: Sequence[int] | np.ndarray, positions: int, device: torch.device) -> GraphBatch:
        """A batch of the plan, on a device."""
        graphs = [self.graphs[number] for number in numbers]
        return batch_with(pad(self.sequences, numbers), graphs, self.config, device)


def batch_with(
    compiled: Compiled, graphs: Sequence[Graph], config: GiltConfig, device: torch.device | str = "cpu"
) -> GraphBatch:
    """Padded sentences and their graphs on a device."""
    most = max((graph.words for graph in graphs), default=0)
    tape = np.zeros((len(graphs), most + 1, len(FEATURES), most + 1), np.int16)
    for row, graph in enumerate(graphs):
        tape[row, : graph.words + 1, :, : graph.words + 1] = tapes(graph, config.depth)
    column = np.maximum(compiled.word, 0)  # ROOT's, which no position reads, for <ROOT> and padding
    begins = (column > 0) & (column != np.pad(column, ((0, 0), (1, 0)))[:, :-1])
    row_of = ROWS[config.word](column, begins)
    features = torch.from_numpy(of_positions(tape, row_of, column)).to(device)
    columns, sides = cells_of(tape, graphs, config.root_arcs)
    head, dependent, step, distance, is_arc = sent([*columns], device)
    of_head, of_dependent = sent([*sides], device)
    (first,) = np.nonzero(begins.reshape(-1))
    (position,) = np.nonzero(column.reshape(-1))
    count = np.concatenate([graph.counts for graph in graphs])
    before, first, row, count = sent([first - 1, first, first // column.shape[1], count], device)
    position, word = sent([position, np.cumsum(begins.reshape(-1)[position]) - 1], device)
    return GraphBatch(
        batch_of(compiled, dense, device, bias=features),
        Words(before, first, row, position, word),
        Cells(head, dependent, step, distance, of_head, of_dependent),
        most,
        is_arc.float(),
        count,
    )


# The row of the tape that a position reads, from its word (0: none) and whether the word begins there. With the
# representation ahead of time a word's arcs are known before its pieces are read. With that of its first piece, or of
# all of them, they are known only afterwards, and the tape is still that of the word before.
ROWS = {
    "ra": lambda word, begins: word,
    "ftr": lambda word, begins: word - begins,
    "ctr": lambda word, begins: np.maximum(word - 1, 0),
}


def of_positions(tape: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The tape (B, F, T, T) of positions, from that of words; <ROOT> and padding have 0 everywhere."""
    of_rows = tape[np.arange(len(tape))[:, None], row]  # B T F N
    found = np.take_along_axis(of_rows, column[:, None, None], axis=3)
    return np.where(column[:, None, None] > 0, found, 0).swapaxes(1, 2)


def cells_of(tape: np.ndarray, graphs: Sequence[Graph], root_arcs: bool) -> tuple[np.ndarray, np.ndarray]:
    """All cells: head, dependent, step, distance and whether they are arcs; and the features of both words."""
    words = np.array([graph.words for graph in graphs], np.int64)
    total = int((words * words - (0 if root_arcs else words)).sum())
    columns, features = np.zeros((5, total), np.int64), np.zeros((2, len(FEATURES), total), np.int64)
    filled = before = 0
    for row, graph in enumerate(graphs):
        is_arc = np.zeros((graph.words + 1, graph.words + 1), np.bool_)
        is_arc[graph.arcs[:, 0], graph.arcs[:, 1]] = True
        filled = _fill_cells(tape[row], is_arc, before, 0 if root_arcs else 1, filled, columns, features)
        before += graph.words
    return columns, features


@njit
def _fill_cells(tape, is_arc, before, first, filled, columns, features):
    """Write the cells of a sentence after `before` words of others; `first` is 1 if ROOT has no arcs."""
    for word in range(1, len(is_arc)):
        for old in range(first, word):
            for side in range(2 if old else 1):  # the older word is the head, or the dependent
                head, dependent = (old, word) if side == 0 else (word, old)
                columns[0, filled] = before + head if head else 0
                columns[1, filled] = before + dependent
                columns[2, filled] = before + word - 1
                columns[3, filled] = word - old
                columns[4, filled] = is_arc[head, dependent]
                for feature in range(tape.shape[1]):
                    features[side, feature, filled] = tape[word - 1, feature, old]
                filled += 1
    return filled
