"""Ways to bound log p of sentences from below: by a beam search, or by the trees that a parser proposes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import nn

from dtglib.data.treebank import Words
from dtglib.decode.beam import DEFAULT_WIDTHS, Widths, in_parts, search
from dtglib.decode.stepper import Searchable
from dtglib.evaluate.likelihood import score_many
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS


@dataclass(frozen=True)
class ByBeam:
    """The sum over the derivations that a beam search keeps, a lower bound."""

    widths: Widths = DEFAULT_WIDTHS
    parser: ClassVar[None] = None

    @property
    def at_once(self) -> int:
        """The number of sentences that are best scored at once."""
        return self.widths.at_once

    def log_probs(self, model: Searchable) -> Callable[[Sequence[Words]], Iterable[float]]:
        return lambda sentences: (result.log_prob for result in in_parts(search, model, sentences, self.widths))


@dataclass(frozen=True)
class ByTrees:
    """The sum over the trees that a parser proposes for each sentence, a lower bound."""

    parser: Path | str
    trees: int = 300
    method: str = "sample"
    seed: int = 1
    at_once: ClassVar[int] = 16

    def log_probs(self, model: nn.Module) -> Callable[[Sequence[Words]], Iterable[float]]:
        parser = load_parser(self.parser)

        def bounds(sentences: Sequence[Words]) -> list[float]:
            # Sentences with the same ids get the same trees, so that they are a tie.
            ids = [model.vocabulary.encode(words).ids for words in sentences]
            different: dict[tuple[int, ...], Words] = {}
            for own_ids, words in zip(ids, sentences, strict=True):
                different.setdefault(own_ids, words)
            proposed = (
                METHODS[self.method](trees, self.trees, np.random.default_rng([self.seed, *own_ids]))
                for own_ids, trees in zip(different, parser.distributions(list(different.values())), strict=True)
            )
            trees = (model.reading.trees_of(model.vocabulary, chosen) for chosen in proposed)
            scores = score_many(model, zip(different.values(), trees, strict=True))
            bound_of = dict(zip(different, (scored.bound for scored in scores), strict=True))
            return [bound_of[own_ids] for own_ids in ids]

        return bounds
