"""Families of Transformers over compiled sequences; they differ only in their `Reading`.

    dtg = sequence_family("dtg", "DTG", on_a_stack("arc-standard"), "dtg")

A reading (sequences/readings.py) turns sentences into sequences. If it uses trees, the sum over trees that a parser
proposes is a lower bound of a sentence's probability; otherwise the probability is exact. If arcs have labels, these
are those of the training sentences, and a proposed tree is summed with one label for each arc, the parser's best; so
the bound is looser, and models with and without labels are better compared by a beam search, which sums over labels.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from dtglib.basics.errors import require
from dtglib.data.symbols import ARCS, Symbols, arcs
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.sequence_stepper import SequenceStepper
from dtglib.decode.stack_stepper import StackStepper
from dtglib.evaluate.perplexity import SentenceScore, by_trees, exactly
from dtglib.families.base import Family, Likelihood, Trees, with_symbols
from dtglib.network.transformer import Transformer, TransformerConfig
from dtglib.sequences.labelled import heads_of, labels_of
from dtglib.sequences.readings import Reading
from dtglib.training.examples import Examples


class SequenceModel(Transformer):
    """A Transformer with the reading that makes its sequences."""

    def __init__(self, config: TransformerConfig, vocabulary: Vocabulary, reading: Reading) -> None:
        super().__init__(config, vocabulary)
        self.reading = reading

    def stepper(self) -> SequenceStepper:
        """A stepper for one search."""
        return StackStepper(self)


def _bounds(model: SequenceModel, sentences: Sequence[Sentence], trees: Iterable[Any]) -> Iterator[SentenceScore]:
    of_parser = (model.reading.trees_of(model.vocabulary, proposed) for proposed in trees)
    return by_trees(model, [sentence.words for sentence in sentences], of_parser)


def _exact(model: SequenceModel, sentences: Sequence[Sentence], trees: None) -> list[SentenceScore]:
    return exactly(model, [sentence.words for sentence in sentences])


BOUND = Likelihood("log p, at least", is_exact=False, sums_over_trees=True, scores=_bounds)
EXACT = Likelihood("log p", is_exact=True, sums_over_trees=False, scores=_exact)


def _symbols(reading: Any, config: TransformerConfig, treebank: Treebank) -> Symbols:
    """The arcs of the transition systems; with the labels of the treebank, those of the model's own system alone.

    The labels of a corpus that is larger than memory are found in a pass over it, at every start of a training.
    """
    if not (config.labels and reading.has_trees):
        return ARCS
    labels = {label for one in treebank.sentences if one.heads is not None for label in one.labels or ()}
    require(labels, "no training sentence has labels; set labels to false, or parsed_by to a parser that finds some")
    return arcs(reading.system.REACH, sorted(labels))


def _shown(vocabulary: Vocabulary, words: Sequence[str], tree: Sequence[int]) -> list[int] | str:
    """The heads, or "2:expl 0:root 4:det 2:nsubj"."""
    heads, labels = heads_of(vocabulary.symbols, tree), labels_of(vocabulary.symbols, tree)
    return list(heads) if labels is None else " ".join(map("{}:{}".format, heads, labels))


def sequence_family(
    name: str,
    title: str,
    reading: Any,  # a Reading
    paper: str,
    network: type[SequenceModel] = SequenceModel,
) -> Family:
    """The family of Transformers with a reading; if it has trees, they are taken for dependency trees."""

    def examples(config: Any, vocabulary: Vocabulary, treebank: Treebank, longest: int | None) -> Examples:
        return Examples.of(name, reading, vocabulary, treebank, longest)

    return Family(
        name=name,
        title=title,
        paper=paper,
        config=TransformerConfig,
        build=partial(network, reading=reading),
        examples=examples,
        streams=True,
        likelihood=BOUND if reading.has_trees else EXACT,
        vocabulary=with_symbols(partial(_symbols, reading)),
        trees=Trees(are_parses=reading.has_trees, shown=_shown),
    )
