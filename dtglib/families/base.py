"""`Family`: one record with everything that the rest of the package needs to know about a kind of model.

    >>> dtg = family("dtg")
    >>> dtg.title, dtg.likelihood.is_exact, family("txl-tokens").likelihood.is_exact
    ('DTG', False, True)
    >>> titles("dtg")                                                                     # doctest: +ELLIPSIS
    {'txl-tokens': 'TXL (tokens)', 'txl-trans': 'TXL (trans)', 'dtg': 'DTG', 'dtg-eager': 'DTG-eager', ...}

A paper lists its families (basics/papers.py), baselines first. A family of a user's own can do without a paper:
`my_module:MY_FAMILY` can be used wherever the name of a model can, such as `model: my_module:MY_FAMILY` in a config.

A network of a family has the methods `loss` (training/loop.py), `save` and `restore` (network/saved.py), and the
attributes `vocabulary` and `config`, whose field `model` is the name of its family. If its likelihood `is_searched`, it
has a method `stepper` (decode/stepper.py).
"""

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch

from dtglib.basics.config import value_of
from dtglib.basics.errors import UserError
from dtglib.basics.papers import named, papers, papers_named
from dtglib.basics.released import folder_named
from dtglib.data.symbols import ARCS, Symbols
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.network.saved import CONFIG_FILE, network_beside
from dtglib.training.schedule import TrainConfig

DEFAULT_MODEL = "dtg"  # if a config names no model


class Likelihood(NamedTuple):
    """The function that computes the probabilities of sentences, and the kind of numbers that they are."""

    name: str  # in tables
    is_exact: bool  # otherwise a lower bound, unless `is_pseudo`
    sums_over_trees: bool  # if so, `scores` needs trees of each sentence, which a parser proposes
    # Scores whole sentences, because a family may read more of them than the words. Given a network, the sentences, and
    # what a parser proposes for each; a model that is scored by a search takes the widths of the search instead (None:
    # the usual ones), and one that asks neither takes None.
    scores: Callable[[Any, Sequence[Sentence], Any], Iterable[SentenceScore]]
    is_searched: bool = True  # networks have a `stepper`, so that prefixes have probabilities
    # It stands for log p, as a sum over words given all others does, and is neither p nor a bound of it.
    is_pseudo: bool = False
    is_conditional: bool = False  # of sentences given their translations; sentences alone have no probability
    # Raises an error if sentences of a corpus, or of a file, cannot be scored by the model in a folder.
    check: Callable[[Path, str], None] = lambda folder, corpus: None

    @property
    def perplexity(self) -> str:
        """The name of a perplexity of such scores."""
        return "pseudo-perplexity" if self.is_pseudo else "perplexity"

    @property
    def at_most(self) -> str:
        """The words before such a perplexity in a message."""
        return "" if self.is_exact or self.is_pseudo else "at most "

    @property
    def needs_search(self) -> bool:
        """True if a search must score sentences: there is no exact score, and no parser proposes trees."""
        return self.is_bounded_by_search and not self.sums_over_trees

    @property
    def is_bounded_by_search(self) -> bool:
        """True if a search gives a lower bound of log p: the sum over the derivations that it keeps."""
        return self.is_searched and not self.is_exact


class Trees(NamedTuple):
    """The trees that the derivations of a family stand for."""

    called: str = "heads"
    proposed_by: str = "strong_parser"  # the setting that names the parser which proposes them
    released: str = "parser"  # the first part of the names of released parsers of such trees
    are_parses: bool = False  # derivations are dependency trees, so that the model is a parser
    # One of them as a list of numbers or as text, given a vocabulary, the words and the tree.
    shown: Callable[[Vocabulary, Sequence[str], Sequence[int]], list[int] | str] = lambda _, words, tree: list(tree)

    @property
    def are_heads(self) -> bool:
        """True if the trees that a model is trained on, or compared with, are heads."""
        return self.proposed_by == "strong_parser"


class Variant(NamedTuple):
    """A model with a decision changed, in a study of what decisions are worth (runs/ablations.py).

    The changes are fields of its config, the source of its training trees, the parser whose trees are summed over, and
    the share of the training sentences, evenly spaced, from which it learns in as many steps. Variants whose sums over
    a parser's trees cannot be compared are also `searched`: a beam search scores the sentences, and parses them.
    """

    model: dict[str, Any]
    parsed_by: str | None = None  # "strong", "weak", or OWN for the treebank's own trees; None: as in the settings
    summed_over: str = "strong"
    share: float = 1.0
    searched: bool = False


OWN = "own"
BASE = Variant({})  # nothing is changed
# The named variants that answer each question; BASE among them is the unchanged model.
Questions = Mapping[str, Mapping[str, Variant]]

# The vocabulary of a network, given its config, the vocabulary that the models of a corpus share, and the treebank.
MakesVocabulary = Callable[[Any, Vocabulary, Treebank], Vocabulary]


def with_symbols(symbols_of: Callable[[Any, Treebank], Symbols]) -> MakesVocabulary:
    """The shared vocabulary with reserved entries, which depend on a config and the treebank."""

    def vocabulary(config: Any, shared: Vocabulary, treebank: Treebank) -> Vocabulary:
        symbols = symbols_of(config, treebank)
        if getattr(config, "labels", False) and not symbols.labels:
            title = family(config.model).title
            raise UserError(f"{title} draws no arcs that could have labels; set labels to false, or take dtg")
        return shared.with_symbols(symbols)

    return vocabulary


PLAIN_VOCABULARY = with_symbols(lambda config, treebank: ARCS)
HEADS = Trees()


@dataclass(frozen=True)
class Family:
    """A kind of model."""

    name: str  # in configs, and in the names of folders
    title: str  # in tables
    paper: str  # the paper that it belongs to; tables compare the models of one paper
    config: type  # the dataclass of its network's settings, with a field `model`
    build: Callable[[Any, Vocabulary], Any]
    # Makes training data from a config, a vocabulary, a treebank and `longest`, the most positions of a sentence.
    examples: Callable[[Any, Vocabulary, Treebank, int | None], Any]
    likelihood: Likelihood
    vocabulary: MakesVocabulary = PLAIN_VOCABULARY
    trees: Trees = HEADS
    # Whether `examples` accepts sentences that are not all in memory (data/streamed.py). They then depend on a config
    # by the vocabulary alone, so that models of all sizes share them.
    streams: bool = False
    training: type[TrainConfig] = TrainConfig  # its optimiser, schedule and clipping
    questions: Questions = field(default_factory=dict)  # about its decisions


def families() -> tuple[Family, ...]:
    """The families of all papers."""
    return tuple(family for paper in papers() for family in paper.part("families"))


def family(name: str) -> Family:
    """The family with this name; "module:NAME" is one of a user's own."""
    module, colon, attribute = name.partition(":")
    if not colon:
        return _with_module(name)[0]
    try:
        chosen = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        way_out = "name it as module:NAME, and put its folder into PYTHONPATH"
        raise UserError(f"there is no model {name!r} ({error}); {way_out}") from error
    if isinstance(chosen, Family):
        return chosen
    raise UserError(f"{name!r} is no family of models, but {type(chosen).__name__}")


def _with_module(name: str) -> tuple[Family, str]:
    """A family, and the name of the module that defines it; papers that come later are not imported."""
    for paper in papers():
        for reference in paper.families:
            for family in named(reference):
                if family.name == name:
                    return family, reference.partition(":")[0]
    raise UserError(f"there is no model {name!r}; models are {', '.join(family.name for family in families())}")


def module_of(name: str) -> ModuleType:
    """The module that defines the family with this name, because results depend on its code."""
    module, colon, _ = name.partition(":")
    if not colon:
        module = _with_module(name)[1]
    return importlib.import_module(module)


def compared(paper: str) -> dict[str, str]:
    """The titles of the models that a paper's notebooks compare, by their names."""
    (chosen,) = papers_named(paper)
    return {name: title for name, title in titles().items() if name in chosen.compared}


def titles(paper: str | None = None) -> dict[str, str]:
    """The titles of a paper's models (or of all models) by their names."""
    return {family.name: family.title for family in families() if paper in (None, family.paper)}


def family_of(network: Any) -> Family:
    """The family that a network belongs to."""
    return family(network.config.model)


def title_of(name: str) -> str:
    """The title of a model; other names, such as that of a proposal, stay as they are."""
    return titles().get(name, name)


def build(config: Any, vocabulary: Vocabulary) -> Any:
    """A new network with random weights from PyTorch's generator."""
    return family(config.model).build(config, vocabulary)


def family_name_in(folder: Path) -> str:
    """The name of the family of the model in a folder."""
    return value_of(folder / CONFIG_FILE, "model", DEFAULT_MODEL)


def load_model(folder: str | Path, device: torch.device | str = "cpu") -> Any:
    """A trained network, from its folder or by a released name; its files must belong together."""
    folder = folder_named(folder)
    kind = family(family_name_in(folder))
    return network_beside(folder, kind.config, kind.build).restore(folder, device)
