"""Parsers of constituents that are trained here; trained.py has those of arcs.

    entries = constituent_entries(treebank, rarest=2)
    parser = SpanParser("mine", SpanConfig(), entries)
    train(parser, ConstituentExamples(entries, treebank), ...)
    (trees,) = propose(parser, [["There", "is", "a", "difference"]], 300, METHODS["sample"])
    trees.written(words)[0]                                   (S (NP There) (VP is (NP a difference)))

The network is that of supar's CRF constituency parser (Zhang, Zhou and Li 2020): the score of a span with a label is
the sum of two biaffine scores, one of the span and one of its label. The loss is minus the log-probability of the
treebank's tree among all labelled trees (spans.py), of which there is one distribution, for training and proposals
alike. supar's own loss is another one: it binarises trees, and adds the cross-entropy of labels to that of spans.

Labels are chains of constituents over the same words, such as S+VP; the first label stands for no constituent.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.basics.config import require_positive
from dtglib.basics.errors import shortened
from dtglib.basics.shapes import Float, Int
from dtglib.data.treebank import Sentence, Treebank, Words
from dtglib.network.transformer import LossPart
from dtglib.parsing.fields import Column, Entries, encoded, in_groups, require_numbers, word_fields, words_and_letters
from dtglib.parsing.from_supar import EOS, CRFConstituencyModel
from dtglib.parsing.kept import EncoderConfig, KeptParser, ParserExamples, encoder_arguments
from dtglib.parsing.kinds import ParserKind, TreeForm
from dtgpapers.constituency.bracketing import CHAIN, escaped, is_readable, spans_of
from dtgpapers.constituency.f1 import Constituents, counted
from dtgpapers.constituency.spans import (
    Bracketings,
    best_trees,
    binarised,
    different_samples,
    log_partition_and_marginals,
)

NO_CONSTITUENT = ""  # the first label
TAG = "X"


@dataclass(frozen=True)
class SpanConfig(EncoderConfig):
    """The size of a parser of constituents; the defaults are supar's."""

    parser: Literal["constituents"] = "constituents"
    span_width: int = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self, "span_width")


def constituent_entries(treebank: Treebank, rarest: int) -> Entries:
    """The vocabularies of a parser for this treebank."""
    trees = [sentence.brackets for sentence in treebank.sentences if sentence.brackets is not None]
    labels = {label for tree in filter(is_readable, trees) for _, _, label in spans_of(tree)}
    return {**words_and_letters(treebank, rarest), "labels": [NO_CONSTITUENT, *sorted(labels)]}


class LabelledTrees(NamedTuple):
    """Constituency trees of one sentence, with their log-probabilities in the distribution over all trees."""

    spans: np.ndarray  # (trees, most, 3): first, last and label of each constituent, outer ones first; -1 for none
    log_probs: np.ndarray
    labels: Sequence[str]

    @property
    def fills(self) -> str:
        """The field of a sentence that such trees are for."""
        return "brackets"

    def chains(self) -> list[list[tuple[int, int, list[str]]]]:
        """The constituents of each tree: the words before the first one, those up to the last one, and the labels."""
        of_label = [label.split(CHAIN) for label in self.labels]
        return [
            [(first, last, of_label[label]) for first, last, label in tree if label > 0] for tree in self.spans.tolist()
        ]

    def written(self, words: Words) -> list[str]:
        """Each tree in brackets."""
        return [bracketed(list(map(escaped, words)), constituents) for constituents in self.chains()]


def bracketed(words: Words, constituents: Sequence[tuple[int, int, Sequence[str]]]) -> str:
    """A tree in brackets, without tags.

    >>> bracketed(["There", "is", "one"], [(0, 3, ["S"]), (0, 1, ["NP"]), (1, 3, ["VP"]), (2, 3, ["NP"])])
    '(S (NP There) (VP is (NP one)))'
    """
    before, after = [""] * len(words), [""] * len(words)
    for first, last, labels in constituents:
        before[first] += "".join(f"({label} " for label in labels)
        after[last - 1] += ")" * len(labels)
    return " ".join(map("".join, zip(before, words, after, strict=True)))


class OverConstituents(NamedTuple):
    """The distribution over the labelled trees of one sentence, as `propose` asks for it."""

    scores: np.ndarray
    labels: Sequence[str]

    def best_trees(self, count: int) -> LabelledTrees:
        """See spans.py."""
        return self._labelled(best_trees(self.scores, count))

    def different_samples(self, count: int, random: np.random.Generator) -> LabelledTrees:
        """See spans.py."""
        return self._labelled(different_samples(self.scores, count, random))

    def _labelled(self, found: Bracketings) -> LabelledTrees:
        return LabelledTrees(found.spans, found.log_probs, self.labels)


class GoldTrees(NamedTuple):
    """Sentences with the spans of their trees, a row each; -1 for padding."""

    sentences: list[Words]
    spans: Int[Tensor, "B N 3"]

    @property
    def positions(self) -> int:
        """The number of words with the marks around sentences, padding included."""
        return len(self.sentences) * (max(map(len, self.sentences)) + 2)

    @property
    def words(self) -> int:
        """The number of words."""
        return sum(map(len, self.sentences))


class SpanParser(KeptParser, nn.Module):
    """A parser of constituents with supar's network, to be trained here."""

    config_class = SpanConfig
    fills = "brackets"  # the field of a sentence for which it finds trees

    def __init__(self, name: str, config: SpanConfig, entries: Entries) -> None:
        super().__init__()
        words, letters = word_fields(entries, end=EOS)
        self.columns = [Column(words), Column(letters)]
        self.name, self.config, self.entries, self.labels = name, config, entries, entries["labels"]
        self.network = CRFConstituencyModel(
            n_labels=len(self.labels),
            n_span_mlp=config.span_width,
            n_label_mlp=config.label_width,
            **encoder_arguments(config, len(words.vocab), len(letters.vocab)),
        )

    def scores(self, sentences: Sequence[Words]) -> Float[Tensor, "B T T R"]:
        """The score [i, j, label] of each label over the words i + 1 to j."""
        words, features = encoded(self.columns, sentences, next(self.network.parameters()).device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that PyTorch has changed since supar was written
            of_spans, of_labels = self.network(words, features)
        return of_spans[..., None] + of_labels

    def loss(self, batch: GoldTrees) -> tuple[Float[Tensor, ""], dict[str, LossPart]]:
        """Minus the log-probabilities of the trees."""
        scores = self.scores(batch.sentences).float()
        is_there = batch.spans[:, :, 0] >= 0
        row, _ = is_there.nonzero(as_tuple=True)
        first, last, label = batch.spans[is_there].T
        of_trees = scores[row, first, last, label].sum()
        nats = _LogPartition.apply(scores, list(map(len, batch.sentences))) - of_trees
        return nats, {"word": LossPart(nats.detach(), batch.words)}

    def distributions(self, sentences: Sequence[Words]) -> list[OverConstituents]:
        """For each sentence, the distribution over its trees."""
        self.eval()
        results: list = [None] * len(sentences)
        for numbers in in_groups(sentences, len(self.labels), "scoring constituents"):
            with torch.no_grad():
                scores = self.scores([sentences[number] for number in numbers]).double().cpu().numpy()
            for number, of_sentence in zip(numbers, scores, strict=True):
                places = len(sentences[number]) + 1
                require_numbers(of_sentence[:places, :places], self.name, sentences[number])
                results[number] = OverConstituents(of_sentence[:places, :places], self.labels)
        return results

    def parse(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with their best trees, in which all words have the same tag."""
        trees = [of_one.best_trees(1) for of_one in self.distributions([sentence.words for sentence in sentences])]
        tagged = [[f"({TAG} {escaped(word)})" for word in sentence.words] for sentence in sentences]
        return [
            replace(sentence, brackets=bracketed(words, found.chains()[0]))
            for sentence, words, found in zip(sentences, tagged, trees, strict=True)
        ]


class _LogPartition(torch.autograd.Function):
    """The sum of the log-partitions of some sentences, whose gradient has the marginals of all labelled spans."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, words: Sequence[int]) -> Tensor:
        total, gradient = 0.0, np.zeros(scores.shape, np.float32)
        for row, (of_sentence, count) in enumerate(zip(scores.detach().double().cpu().numpy(), words, strict=True)):
            places = slice(count + 1)
            of_one, gradient[row, places, places] = log_partition_and_marginals(of_sentence[places, places])
            total += of_one
        ctx.save_for_backward(torch.from_numpy(gradient).to(scores))
        return scores.new_tensor(total)

    @staticmethod
    def backward(ctx: Any, of_total: Tensor) -> tuple[Tensor, None]:
        (gradient,) = ctx.saved_tensors
        return of_total * gradient, None


class ConstituentExamples(ParserExamples):
    """Training data for a parser of constituents: sentences whose constituents all have labels that it knows."""

    marks = 2

    def __init__(self, entries: Entries, treebank: Treebank, longest: int | None = None) -> None:
        self.unknown: list[str] = []
        super().__init__(entries, treebank, longest)

    def has_tree(self, sentence: Sentence) -> bool:
        """True if it has constituents with known labels; a sentence with unknown ones is counted."""
        if sentence.brackets is None:
            return False
        if is_readable(sentence.brackets) and all(
            label in self.number_of for _, _, label in spans_of(sentence.brackets)
        ):
            return True
        self.unknown.append(sentence.id)
        return False

    @property
    def summary(self) -> str:
        """As for all parsers, and how many sentences have constituents that no training tree has."""
        unknown = f"; left out for unknown labels: {len(self.unknown)} ({shortened(self.unknown)})"
        return super().summary + (unknown if self.unknown else "")

    def tree_of(self, sentence: Sentence) -> tuple[Tensor]:
        """The spans of the binarised tree."""
        spans = [(first, last, self.number_of[label]) for first, last, label in spans_of(sentence.brackets or "")]
        return (torch.tensor(binarised(spans, len(sentence.words))),)

    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> GoldTrees:
        """A batch of these sentences, on a device."""
        spans = self.padded(numbers, 0, filling=-1)
        return GoldTrees([self.words[number] for number in numbers], spans.to(device))


def _line(sentence: Sentence) -> str:
    return f"{sentence.brackets}\n"


def _has_tree(sentence: Sentence) -> bool:
    return sentence.brackets is not None and is_readable(sentence.brackets)


def _counted(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> Constituents:
    return counted(*([sentence.brackets or "" for sentence in sentences] for sentences in (gold, parsed)))


def _agreement(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> Iterator[str]:
    total = _counted(gold, parsed)
    yield f"labelled F1: {100 * total.f1:.2f} ({total.right} right of {total.found}; {total.gold} in the treebank)"


def _f1(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> float:
    return _counted(gold, parsed).f1


BRACKETS = TreeForm(_line, _has_tree, _agreement, "f1", _f1)
PARSERS = {
    "constituents": ParserKind(
        "parser of constituents", SpanConfig, SpanParser, constituent_entries, ConstituentExamples, BRACKETS
    )
}
