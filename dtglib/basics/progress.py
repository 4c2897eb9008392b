"""Progress bars with a rate and an ETA, for everything that takes longer than five seconds.

Bars go to standard error, so standard output stays clean for results. They are off in CI, where nobody watches,
and inside `with quiet():`, which the command line enters for `--json`.

    >>> with quiet():
    ...     [len(word) for word in progress(["There", "is", "a", "difference"], "counting letters", "word")]
    [5, 2, 1, 10]
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from tqdm.auto import tqdm

# Shorter work needs no bar: it would only flicker.
SECONDS_BEFORE_A_BAR = 5

_silenced = 0


@contextmanager
def quiet() -> Iterator[None]:
    """Show no bars within this block."""
    global _silenced
    _silenced += 1
    try:
        yield
    finally:
        _silenced -= 1


def is_quiet() -> bool:
    """True if bars are switched off."""
    return bool(_silenced) or os.environ.get("CI", "") not in ("", "0", "false")


def progress(items: Iterable | None, what: str, unit: str, total: int | None = None, **options) -> tqdm:
    """Iterate over `items` with a bar labelled `what` that counts in `unit`; give `total` where `len` is unknown."""
    return tqdm(items, desc=what, unit=unit, total=total, disable=is_quiet(), delay=SECONDS_BEFORE_A_BAR, **options)
