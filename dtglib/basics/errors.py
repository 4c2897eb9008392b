"""The kind of exception that a user can put right.

Its message names the file, line or key and the way out. The command line prints it as one line and exits with status 2.
Every other exception is a bug in dtglib and keeps its traceback.

    >>> require(3 == 4, "mine.conllu:7: 4 words, but 3 heads; one is wanted for each word")
    Traceback (most recent call last):
    ...
    dtglib.basics.errors.UserError: mine.conllu:7: 4 words, but 3 heads; one is wanted for each word
"""

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


class UserError(Exception):
    """A mistake in the input or the environment: a broken treebank, an unknown key, a full disk, no network."""


def require(condition: object, complaint: str) -> None:
    """Raise a UserError unless the condition holds."""
    if not condition:
        raise UserError(complaint)


def require_probabilities(log_probs: Any) -> None:
    """Raise a UserError if the array has a NaN, which comes from a model whose training went wrong."""
    require(not (log_probs != log_probs).any(), "the model's probabilities are no numbers; train it anew")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """The question for a message about an unknown name, if a known one is like it."""
    return "".join(f"did you mean {similar}? " for similar in difflib.get_close_matches(str(name), list(known), n=1))


def shortened(names: Sequence[object]) -> str:
    """The first five of many names, for a message."""
    return ", ".join(map(str, names[:5])) + (", ..." if len(names) > 5 else "")
