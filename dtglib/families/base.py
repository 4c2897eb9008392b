"""`Family`: one record with everything that the rest of the package needs to know about a kind of model.

    >>> dtg = family("dtg")
    >>> dtg.title, dtg.likelihood.is_exact, family("txl-tokens").likelihood.is_exact
    ('DTG', False, True)
    >>> titles("dtg")                                                                     # doctest: +ELLIPSIS
    {'txl-tokens': 'TXL (tokens)', 'txl-trans': 'TXL (trans)', 'dtg': 'DTG', 'dtg-eager': 'DTG-eager', ...}

A family of dtglib's own stands in `FAMILIES` of a module or folder beside this one. A family of a user's own needs no
edit here: `my_module:MY_FAMILY` can be used wherever a model's name can, such as `model: my_module:MY_FAMILY` in a
config.

A network of a family has the methods `loss` and `save` (training/loop.py) and the attributes `vocabulary` and `config`,
whose field `model` is the name of its family. If `is_searched`, the network has a method `stepper`
(decode/stepper.py).

Trained models may go on learning, for a task about sentences: a `Tuning` is a way to do so (experiments/tuning.py).
"""

import importlib
import math
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import torch
from torch import nn

from dtglib.basics.config import read_config, value_of
from dtglib.basics.errors import UserError, require
from dtglib.basics.record import Row
from dtglib.basics.released import folder_named
from dtglib.data.judged import Judged
from dtglib.data.symbols import ARCS, Symbols
from dtglib.data.tasks import Task
from dtglib.data.treebank import Sentence, Treebank, Words
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.induction import Belief
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.network.rounded import BFLOAT16, round_maps
from dtglib.network.saved import CONFIG_FILE, TrainedWith, vocabulary_beside
from dtglib.sequences.describe import Described
from dtglib.training.loop import Data
from dtglib.training.schedule import TrainConfig

DEFAULT_MODEL = "dtg"  # if a config names no model


class Likelihood(NamedTuple):
    """How to compute the probabilities of sentences, and what kind of numbers they are."""

    name: str  # in tables
    is_exact: bool  # otherwise a lower bound, unless `is_pseudo`
    sums_over_trees: bool  # if so, `scores` needs trees of each sentence, which a parser proposes
    # Scores whole sentences, because a family may read more of them than the words. Given a network, the sentences, and
    # what a parser proposes for each; a model that is scored by a search takes the widths of the search instead (None:
    # the usual ones), and one that asks neither takes None.
    scores: Callable[[Any, Sequence[Sentence], Any], Iterable[SentenceScore]]
    # Whether it stands for log p, as a sum over words given all others does, and is neither p nor a bound of it.
    is_pseudo: bool = False

    @property
    def perplexity(self) -> str:
        """What a perplexity of such scores is called."""
        return "pseudo-perplexity" if self.is_pseudo else "perplexity"

    @property
    def at_most(self) -> str:
        """What stands before such a perplexity in a message."""
        return "" if self.is_exact or self.is_pseudo else "at most "


class Item(NamedTuple):
    """What is judged in a task, the words of its sentences, and their trees (`Stepper.tree`) if a network reads them.

    A sentence for which a search has found no tree has an empty one.
    """

    judged: Judged
    words: tuple[tuple[str, ...], ...]
    trees: tuple[tuple[int, ...], ...] = ()


class Beam(NamedTuple):
    """How to search for translations."""

    width: int = 5
    alpha: float = 0.6  # the exponent of the length; 0: no normalisation
    legal: bool = False  # only symbols that lead to a tree
    most_words: int | None = None  # of a translation; None: twice as many as the source has, and ten more

    def checked(self) -> "Beam":
        """The same, after a check of its numbers."""
        require(self.width >= 1, f"a beam keeps at least one hypothesis, not {self.width}")
        require(0 <= self.alpha < math.inf, f"the exponent of the length must not be below 0, as {self.alpha} is")
        return self


class Translation(NamedTuple):
    """A translation with its tree: heads and labels are empty if the symbols make none, None if no tree is written."""

    words: tuple[str, ...]
    symbols: tuple[str, ...]  # words or pieces, and transitions
    heads: tuple[int, ...] | None
    labels: tuple[str, ...] | None
    log_prob: float  # of all symbols, given the source


class Paper(NamedTuple):
    """A paper whose models stand in these rooms. Modules here name theirs in PAPERS."""

    name: str
    notebooks: str  # the tens of their numbers: "1" is 10 to 19
    compared: tuple[str, ...]  # the models that its notebooks train and compare; others are variants of these
    # Models, and the questions about them whose variants its notebooks train on a quarter of the sentences.
    studied: tuple[tuple[str, str], ...] = ()


class Variant(NamedTuple):
    """A model with a decision changed, in a study of what decisions are worth (experiments/ablations.py).

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
# The named variants that answer each question; in the first nothing is changed.
Questions = Mapping[str, Mapping[str, Variant]]


@dataclass(frozen=True)
class Tuning:
    """A way to go on training a model, for a task about judged sentences. Modules here name theirs in TUNINGS.

    Its networks have the methods that training needs (`loss`, `save`, `answers`), and its data are judges of answers
    (training/loop.py).
    """

    name: str
    title: str  # in tables
    family: str  # whose models it takes
    config: type  # the dataclass of its network's settings; those that the model has, too, come from there
    build: Callable[[Any, nn.Module], nn.Module]  # from a config and a trained model
    load: Callable[[Path, torch.device | str], nn.Module]  # a network that was saved in a folder
    # Makes data from a config, a vocabulary, a task, some of its items, and `longest`, the most positions of an item.
    examples: Callable[[Any, Vocabulary, Task, Sequence[Item], int | None], Data]
    training: type[TrainConfig] = TrainConfig
    fixed: Callable[[Task], Mapping[str, Any]] = lambda task: {}  # settings that it does not leave open
    reads: str | None = None  # the kind of tree (`Family.tree_is`) that another model finds for each sentence, if any


@dataclass(frozen=True)
class Family:
    """A kind of model."""

    name: str  # in configs, and in the names of folders
    title: str  # in tables
    paper: str  # the paper that it belongs to; tables compare the models of one paper
    config: type  # the dataclass of its network's settings, with a field `model`
    build: Callable[[Any, Vocabulary], nn.Module]
    # Makes training data from a config, a vocabulary, a treebank and `longest`, the most positions of a sentence.
    examples: Callable[[Any, Vocabulary, Treebank, int | None], Data]
    likelihood: Likelihood
    # Whether `examples` takes sentences that are not all in memory (data/streamed.py). They then depend on a config by
    # the vocabulary alone, so that models of all sizes share them.
    streams: bool = False
    # The reserved entries of its vocabularies, given a config and the treebank that it is trained on.
    symbols: Callable[[Any, Treebank], Symbols] = lambda config, treebank: ARCS
    # The words or pieces of its vocabularies, given a config, the vocabulary that a corpus's models share, and the
    # treebank: those of the shared one, unless it reads words in another form.
    speaks: Callable[[Any, Vocabulary, Treebank], Vocabulary] = lambda config, shared, treebank: shared
    proposed_by: str = "strong_parser"  # the setting that names the parser which proposes its trees
    is_searched: bool = True  # whether its networks have a `stepper`, so that prefixes have probabilities
    parses: bool = False  # whether its derivations are dependency trees
    # What its trees are called, and one of them as a list of numbers or as text, given a network and the words.
    tree_is: str = "heads"
    shown: Callable[[Any, Sequence[str], Sequence[int]], list[int] | str] = lambda network, words, tree: list(tree)
    # What its networks make of sentences if they were taught no trees; None: they have nothing to say of it.
    believes: Callable[[Any, Sequence[Sentence]], Iterable[Belief]] | None = None
    # If its networks tell hidden words from all others: the perplexity of hidden words of sentences.
    hidden: Callable[[Any, Sequence[Sentence]], float] | None = None
    # If it predicts dependency graphs: how well a network does, on sentences that have graphs, as named numbers.
    graphs: Callable[[Any, Sequence[Sentence]], Row] | None = None
    # If it translates: the best translation of each of some sources, given a network, and how to search.
    translates: Callable[[Any, Sequence[Words], Beam], list[Translation]] | None = None
    questions: Questions = field(default_factory=dict)  # about its decisions
    training: type[TrainConfig] = TrainConfig  # its optimiser, schedule and clipping
    is_baseline: bool = False  # baselines come first in tables

    def vocabulary(self, config: Any, shared: Vocabulary, treebank: Treebank) -> Vocabulary:
        """The vocabulary of a network, given the one that the models of a corpus share."""
        symbols = self.symbols(config, treebank)
        if getattr(config, "labels", False) and not symbols.labels:
            raise UserError(f"{self.title} draws no arcs that could have labels; set labels to false, or take dtg")
        return self.speaks(config, shared, treebank).with_symbols(symbols)

    @property
    def reads_heads(self) -> bool:
        """Whether the trees that it is trained on, or compared with, are heads."""
        return self.proposed_by == "strong_parser"

    @property
    def is_scored_by_search(self) -> bool:
        """Whether a search must score sentences, because there is no exact score, and no parser proposes trees."""
        return self.is_searched and not (self.likelihood.is_exact or self.likelihood.sums_over_trees)


@cache
def families() -> tuple[Family, ...]:
    """The families of the package, baselines first."""
    found = [one for module in _modules() for one in getattr(module, "FAMILIES", ())]
    return tuple(sorted(found, key=lambda one: not one.is_baseline))


def _modules() -> list[ModuleType]:
    names = (found.name for found in pkgutil.iter_modules([str(Path(__file__).parent)]))
    return [importlib.import_module(f"dtglib.families.{name}") for name in names]


def module_of(name: str) -> ModuleType:
    """The module that defines the family with this name, because results depend on its code."""
    module, colon, _ = name.partition(":")
    if colon:
        return importlib.import_module(module)
    return next(found for found in _modules() if any(one.name == name for one in getattr(found, "FAMILIES", ())))


@cache
def papers() -> dict[str, Paper]:
    """All papers by their names, in the order of their notebooks."""
    found = [one for module in _modules() for one in getattr(module, "PAPERS", ())]
    return {one.name: one for one in sorted(found, key=lambda one: one.notebooks)}


def papers_named(name: str) -> list[Paper]:
    """The paper with this name, or all."""
    known = papers()
    if name not in (*known, "all"):
        raise UserError(f"there are no notebooks of a paper {name!r}; papers are {', '.join(known)}; or take all")
    return list(known.values()) if name == "all" else [known[name]]


def compared(paper: str) -> dict[str, str]:
    """The titles of the models that a paper's notebooks compare, by their names."""
    return {name: title for name, title in titles().items() if name in papers()[paper].compared}


def titles(paper: str | None = None) -> dict[str, str]:
    """The titles of a paper's models (or of all models) by their names."""
    return {one.name: one.title for one in families() if paper in (None, one.paper)}


def family(name: str) -> Family:
    """The family with this name; "module:NAME" is one of a user's own."""
    module, colon, attribute = name.partition(":")
    if colon:
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            way_out = "name it as module:NAME, and put its folder into PYTHONPATH"
            raise UserError(f"there is no model {name!r} ({error}); {way_out}") from error
        if isinstance(found, Family):
            return found
        raise UserError(f"{name!r} is no family of models, but {type(found).__name__}")
    known = {one.name: one for one in families()}
    if name not in known:
        raise UserError(f"there is no model {name!r}; models are {', '.join(known)}")
    return known[name]


def family_of(network: nn.Module) -> Family:
    """The family that a network belongs to."""
    return family(network.config.model)


def structures() -> dict[str, Callable[[str, Sequence[int] | None], Described]]:
    """What shows the masks of trees of a family's own kind, by name; it takes a text and the words' piece counts."""
    return {name: show for module in _modules() for name, show in getattr(module, "STRUCTURES", {}).items()}


def tunings(family_name: str) -> list[Tuning]:
    """The ways to tune models of a family."""
    found = [one for module in _modules() for one in getattr(module, "TUNINGS", ())]
    chosen = [one for one in found if one.family == family_name]
    if not chosen:
        known = ", ".join(sorted({title_of(one.family) for one in found}))
        raise UserError(f"there is no way to tune a model of {title_of(family_name)}; name one of {known}")
    return chosen


def title_of(name: str) -> str:
    """The title of a model; other names, such as that of a proposal, stay as they are."""
    return titles().get(name, name)


def build(config: Any, vocabulary: Vocabulary) -> nn.Module:
    """A new network with random weights from PyTorch's generator."""
    return family(config.model).build(config, vocabulary)


def family_name_in(folder: Path) -> str:
    """The name of the family of the model in a folder."""
    return value_of(folder / CONFIG_FILE, "model", DEFAULT_MODEL)


def load_model(folder: str | Path, device: torch.device | str = "cpu") -> nn.Module:
    """A trained network, from its folder or by a released name; its files must belong together."""
    folder = folder_named(folder)
    kind = family(family_name_in(folder))
    config, trained_with = read_config(folder / CONFIG_FILE, kind.config, TrainedWith)
    vocabulary = vocabulary_beside(folder, trained_with)
    with torch.random.fork_rng(devices=[]):  # the random weights are replaced by those of the file
        network = kind.build(config, vocabulary)
    if trained_with.linear_maps == BFLOAT16:
        network = round_maps(network)
    return network.restore(folder, device)
