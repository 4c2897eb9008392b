"""The interface between searches and models: a `Stepper` advances derivations symbol by symbol.

    stepper = model.stepper()                              for one search
    state = stepper.init(most_words=4)                     one row: nothing is generated yet
    log_probs = stepper.log_probs(state)                   (rows, entries of the vocabulary)
    state = stepper.step(state, rows, symbols)             a row for each: row `rows[n]` goes on with `symbols[n]`

Only the stepper understands a state. A search sees numbered rows, log-probabilities, and symbols. Symbols are entries
of the vocabulary: some start a word, some continue one, one is the end, and the `silent` ones stand between words
(arcs, for example), or, if `in_words`, between any two pieces. At most `most_silent` of them follow one another.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.search_output import KINDS
from dtglib.network.transformer import sent

DISTRIBUTIONS_AT_ONCE = {"cpu": 512, "cuda": 2**12}  # rows whose whole distributions are held in memory


@runtime_checkable
class Stepper(Protocol):
    """The interface of a model to searches. `step` is never called with <END>, because nothing follows it."""

    device: torch.device
    silent: np.ndarray  # the entries that stand between words, in the order in which ties are broken
    in_words: bool  # true if they may stand between the pieces of one word, too

    def init(self, most_words: int) -> Any:
        """The beginning of every sentence of at most so many words; one row."""

    def log_probs(self, state: Any) -> Float[torch.Tensor, "rows V"]:
        """The log-probability of every entry as the next symbol of every row; minus infinity where it is illegal."""

    def some_log_probs(
        self, state: Any, symbols: Int[torch.Tensor, "rows A"]
    ) -> tuple[Float[torch.Tensor, "rows A"], Float[torch.Tensor, "rows 3"]]:
        """The log-probabilities of some entries, and of KINDS: any piece that continues the word, any word, the end."""

    @abstractmethod
    def leads_on(self, state: Any, to_end: np.ndarray) -> np.ndarray:
        """True where a silent symbol can lead to another word, or, where `to_end`, to the end without another word.

        The result has a row for each row of the state, and a column for each silent symbol.
        """

    def step(self, state: Any, rows: np.ndarray, symbols: np.ndarray, waiting: Sequence[Any] = ()) -> Any:
        """Advance some rows by one symbol each; states outside the result and `waiting` may be discarded."""

    def choose(self, state: Any, rows: np.ndarray) -> Any:
        """These rows, copied; a row may come several times."""

    def join(self, states: Sequence[Any]) -> Any:
        """The rows of several states as one state."""

    @abstractmethod
    def tree(self, state: Any, row: int) -> np.ndarray:
        """The partial tree of a row in integers, such as heads, with OPEN where a head is missing."""

    @abstractmethod
    def visible(self, state: Any, row: int) -> np.ndarray:
        """The words, counted from 1, that the next symbol of a row is predicted from."""

    @abstractmethod
    def most_silent(self, words: int) -> int:
        """The largest number of consecutive silent symbols after `words` words, or in the word after them."""


@runtime_checkable
class Searchable(Protocol):
    """A model that can be searched."""

    vocabulary: Vocabulary

    def stepper(self) -> Stepper: ...


def log_probs_of(stepper: Stepper, state: Any, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`Stepper.some_log_probs` in double precision; `symbols` has a row of ids for each row of the state."""
    of_symbols, of_kinds = np.empty(symbols.shape), np.empty((len(symbols), len(KINDS)))
    at_once = DISTRIBUTIONS_AT_ONCE[stepper.device.type]
    for first in range(0, len(symbols), at_once):
        rows = np.arange(first, min(first + at_once, len(symbols)))
        part = state if len(rows) == len(symbols) else stepper.choose(state, rows)
        both = stepper.some_log_probs(part, *sent([symbols[rows]], stepper.device))
        copied = torch.cat(both, dim=1).double().cpu().numpy()  # in one copy, so that it waits for a GPU once
        of_symbols[rows], of_kinds[rows] = copied[:, : -len(KINDS)], copied[:, -len(KINDS) :]
    return of_symbols, of_kinds
