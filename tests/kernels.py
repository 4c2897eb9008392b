"""Kernels as plain functions and as compiled ones (dtglib/basics/jit.py), and searches with both."""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pytest

from dtglib.basics import jit
from dtglib.decode.beam import Widths, search
from dtglib.decode.stepper import Searchable

Result = TypeVar("Result")


@contextmanager
def plain() -> Iterator[None]:
    """All kernels run as the functions that they are, and no integer overflows."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("error")
        patch.setattr(jit._plain, "runs", True)
        yield


@contextmanager
def compiled() -> Iterator[None]:
    """All kernels are compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit._plain, "seconds", math.inf)
        yield


def both(compute: Callable[[], Result]) -> tuple[Result, Result]:
    """The result of plain functions, and that of compiled ones."""
    with plain():
        first = compute()
    with compiled():
        return first, compute()


def assert_searched_alike(model: Searchable, sentences: Sequence[Sequence[str]]) -> None:
    """Plain kernels lead to the same results as compiled ones, to the last bit."""
    results = both(lambda: search(model.stepper(), model.vocabulary, sentences, Widths(20, 20)))
    for one, same in zip(*results, strict=True):
        assert one.log_prefix.tolist() == same.log_prefix.tolist()
        assert (one.log_prob, one.log_derivation) == (same.log_prob, same.log_derivation)
        assert (one.tree is None and same.tree is None) or one.tree.tolist() == same.tree.tolist()
