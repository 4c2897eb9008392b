"""A parser of graphs, for text that has none: each arc is judged alone, whatever the others are.

    dtglib train-parser configs/parsers/graphs.yaml --out my-graphs
    dtglib parse mine.txt --parser my-graphs --out mine.conllu       arcs in the column DEPS, from which GiLT learns

It learns from any graphs: enhanced ones of Universal Dependencies, or those of a file of SDP 2015. The network is that
of the parsers of trees (parsing/trained.py), but a word's score as a head goes through a sigmoid of its own, instead of
a softmax over all words (Dozat and Manning 2018). An arc is there if its probability is above one half. Labels are not
learned, because GiLT does not read them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from dtglib.basics.errors import UserError
from dtglib.basics.shapes import Bool, Float, Int
from dtglib.data.conllu import Edge
from dtglib.data.treebank import Sentence, Treebank, Words, format_conllu, with_graph
from dtglib.network.transformer import LossPart
from dtglib.parsing.fields import Entries, in_groups, require_numbers, words_and_letters
from dtglib.parsing.kept import ParserExamples
from dtglib.parsing.kinds import ParserKind, TreeForm
from dtglib.parsing.lstm import fused
from dtglib.parsing.projective import OverTrees
from dtglib.parsing.trained import NOT_LABELLED, ParserConfig, Trained
from dtgpapers.gilt.graphs import graph_of
from dtgpapers.gilt.measure import ArcCounts


@dataclass(frozen=True)
class GraphParserConfig(ParserConfig):
    """The size of a parser of graphs."""

    parser: Literal["graphs"] = "graphs"


def graph_entries(treebank: Treebank, rarest: int) -> Entries:
    """The vocabularies of a parser for this treebank; all arcs have one label."""
    return {**words_and_letters(treebank, rarest), "labels": [NOT_LABELLED]}


class GoldGraphs(NamedTuple):
    """Sentences with their arcs, padded."""

    sentences: list[Words]
    is_arc: Bool[Tensor, "B T T"]  # [d, h] of the arc from h to d, 0 for ROOT
    is_pair: Bool[Tensor, "B T T"]  # there may be an arc from h to d

    @property
    def positions(self) -> int:
        """The number of positions, padding included."""
        return self.is_arc.shape[0] * self.is_arc.shape[1]

    @property
    def words(self) -> int:
        """The number of words."""
        return sum(map(len, self.sentences))


def pairs(lengths: Int[Tensor, " B"]) -> Bool[Tensor, "B T T"]:
    """True for each word d and each other word h, or ROOT; of sentences with so many words and ROOT."""
    place = torch.arange(int(lengths.max()))
    is_there = place < lengths[:, None]
    return (is_there & (place > 0))[:, :, None] & is_there[:, None] & (place[:, None] != place)


class GraphParser(Trained):
    """A parser of graphs that is trained here."""

    config_class = GraphParserConfig
    fills = "enhanced"  # type: ignore[misc]  # the field of a sentence that it predicts

    def loss(self, batch: GoldGraphs) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """The nats of all pairs of words: whether there is an arc."""
        scores, _ = self.scores(batch.sentences)
        chosen = scores.float()[batch.is_pair], batch.is_arc[batch.is_pair].float()
        nats = binary_cross_entropy_with_logits(*chosen, reduction="sum")
        return nats, {"word": LossPart(nats.detach(), batch.words)}

    def parse(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with the graphs that are found; their rows are dropped, which have the old ones."""
        self.eval()
        parsed = list(sentences)
        for numbers in in_groups([sentence.words for sentence in sentences], 1, "parsing"):
            with torch.no_grad(), fused(self.network):
                _, scores = self._arcs([sentences[number].words for number in numbers])
            lengths = torch.tensor([len(sentences[number].words) + 1 for number in numbers])
            is_arc = (scores.cpu() > 0) & pairs(lengths)
            for number, arcs, of_sentence in zip(numbers, is_arc, scores.cpu().numpy(), strict=True):
                words = sentences[number].words
                places = slice(len(words) + 1)
                require_numbers(of_sentence[places, places], self.name, words)
                heads = [arcs[word].nonzero()[:, 0].tolist() for word in range(1, len(words) + 1)]
                graph = tuple(tuple(Edge(str(head), NOT_LABELLED) for head in of_word) for of_word in heads)
                parsed[number] = with_graph(sentences[number], graph)
        return parsed

    def distributions(self, sentences: Sequence[Words]) -> list[OverTrees]:
        """An error, because arcs that are judged alone make no distribution over trees."""
        raise UserError(f"parser {self.name} finds graphs, and proposes no trees; name another parser")


class GraphParserExamples(ParserExamples):
    """Training data for a parser of graphs: the sentences of a treebank that have one."""

    def has_tree(self, sentence: Sentence) -> bool:
        """True if it has a graph."""
        return _has_graph(sentence)

    def tree_of(self, sentence: Sentence) -> tuple[Tensor]:
        """The arcs, as dependent and head."""
        graph, _ = graph_of(sentence)
        return (torch.from_numpy(graph.arcs[:, ::-1].astype(np.int64)),)

    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> GoldGraphs:
        """A batch of these sentences, on a device."""
        is_pair = pairs(torch.from_numpy(self.lengths[numbers]))
        is_arc = torch.zeros_like(is_pair)
        for row, number in enumerate(numbers):
            dependent, head = self.trees[number][0].T
            is_arc[row, dependent, head] = True
        return GoldGraphs([self.words[number] for number in numbers], is_arc.to(device), is_pair.to(device))


def _has_graph(sentence: Sentence) -> bool:
    return sentence.enhanced is not None


def counted(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> ArcCounts:
    """The arcs of some sentences, without labels: right ones, those that were found, and those of the treebank."""
    found = [
        [set(map(tuple, graph_of(sentence)[0].arcs.tolist())) for sentence in both]
        for both in zip(gold, parsed, strict=True)
    ]
    return ArcCounts(*(sum(map(len, sets)) for sets in zip(*((a & b, b, a) for a, b in found), strict=True)))


def _agreement(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> Iterator[str]:
    total = counted(gold, parsed)
    yield f"F1 of arcs: {100 * total.f1:.2f} ({total.right} right of {total.predicted}; {total.there} in the treebank)"


def _f1(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> float:
    return counted(gold, parsed).f1


GRAPHS = TreeForm(format_conllu, _has_graph, _agreement, "f1", _f1)
PARSERS = {
    "graphs": ParserKind("parser of graphs", GraphParserConfig, GraphParser, graph_entries, GraphParserExamples, GRAPHS)
}
