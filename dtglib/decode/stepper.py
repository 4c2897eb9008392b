"""The interface between searches and models: a `Stepper` advances derivations symbol by symbol.

    stepper = model.stepper()                              for one search
    state = stepper.init(most_words=4)                     one row: nothing is generated yet
    log_probs = stepper.log_probs(state)                   (rows, entries of the vocabulary)
    state = stepper.step(state, rows, symbols)             a row for each: row `rows[n]` goes on with `symbols[n]`

Only the stepper understands a state. A search sees numbered rows, log-probabilities, and symbols: entries of the
vocabulary, of which some start a word, some go on with one, one is the end, and the `silent` ones stand between words
(arcs, say), or, if `in_words`, between any two pieces. There may be many in a row, but no more than `most_silent`.
"""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch

from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.prepared import KINDS

DISTRIBUTIONS_AT_ONCE = {"cpu": 512, "cuda": 2**12}  # rows whose whole distributions are held in memory


@runtime_checkable
class Stepper(Protocol):
    """A model as searches see it. `step` is never called with <END>, because nothing follows it."""

    device: torch.device
    silent: np.ndarray  # the entries that stand between words, in the order in which ties are broken
    in_words: bool  # whether they may stand between the pieces of one word, too

    def init(self, most_words: int) -> Any:
        """The beginning of every sentence of at most so many words; one row."""

    def log_probs(self, state: Any) -> Float[torch.Tensor, "rows V"]:
        """The log-probability of every entry as the next symbol of every row; minus infinity where it is illegal."""

    def some_log_probs(
        self, state: Any, symbols: Int[torch.Tensor, "rows A"]
    ) -> tuple[Float[torch.Tensor, "rows A"], Float[torch.Tensor, "rows 3"]]:
        """Those of some entries; and of a piece that goes on with the word, of one that starts a word, of the end."""

    def leads_on(self, state: Any, to_end: np.ndarray) -> np.ndarray:
        """Whether a silent symbol can lead to what is wanted: booleans (rows, silent symbols).

        What is wanted of a row is another word (or its next piece), or, where `to_end`, the end without another word.
        """

    def step(self, state: Any, rows: np.ndarray, symbols: np.ndarray, waiting: Sequence[Any] = ()) -> Any:
        """Advance some rows by one symbol each; states outside the result and `waiting` may be discarded."""

    def choose(self, state: Any, rows: np.ndarray) -> Any:
        """These rows, copied; a row may come several times."""

    def join(self, states: Sequence[Any]) -> Any:
        """The rows of several states as one state."""

    def tree(self, state: Any, row: int) -> np.ndarray:
        """The tree of a row as far as it is written, as integers: heads, say, with OPEN where one is missing."""

    def visible(self, state: Any, row: int) -> np.ndarray:
        """The words, counted from 1, from whose vectors the next symbol of a row is predicted."""

    def most_silent(self, words: int) -> int:
        """The largest number of consecutive silent symbols after `words` words, or in the word after them."""


@runtime_checkable
class Searchable(Protocol):
    """A model that can be searched."""

    vocabulary: Vocabulary

    def stepper(self) -> Stepper: ...


def log_probs_of(stepper: Stepper, state: Any, symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`Stepper.some_log_probs` in double precision; `symbols` has a row of ids for each row of the state."""
    found, of_kinds = np.empty(symbols.shape), np.empty((len(symbols), len(KINDS)))
    at_once = DISTRIBUTIONS_AT_ONCE[stepper.device.type]
    for first in range(0, len(symbols), at_once):
        rows = np.arange(first, min(first + at_once, len(symbols)))
        part = state if len(rows) == len(symbols) else stepper.choose(state, rows)
        some = stepper.some_log_probs(part, torch.from_numpy(symbols[rows]).to(stepper.device))
        copied = torch.cat(some, dim=1).double().cpu().numpy()  # together: a GPU is waited for once
        found[rows], of_kinds[rows] = copied[:, : -len(KINDS)], copied[:, -len(KINDS) :]
    return found, of_kinds
