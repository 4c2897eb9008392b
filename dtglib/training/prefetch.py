"""Prepare the next items in a thread while a GPU computes the current one.

A GPU waits if the next batch is prepared only when it is needed. NumPy and numba release Python's lock, and PyTorch's
work on the device needs no processor, so the two can overlap. On a CPU they would compete for the same cores: with a
second thread beside PyTorch's own, training took half as long again.

    >>> words = map(str.upper, ["There", "is", "a", "difference"])
    >>> list(ahead(words, torch.device("cuda")))
    ['THERE', 'IS', 'A', 'DIFFERENCE']
"""

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

Item = TypeVar("Item")

MOST_WAITING = 2  # items that are ready, at most
NO_MORE = object()


def ahead(items: Iterable[Item], device: torch.device) -> Generator[Item, None, None]:
    """The items in their order, prefetched if the device is a GPU; an error is raised in the place of its item."""
    if device.type != "cuda":
        yield from items
        return
    source = iter(items)
    waiting: deque[Future] = deque()
    thread = ThreadPoolExecutor(1)
    try:
        while True:
            while len(waiting) <= MOST_WAITING:
                waiting.append(thread.submit(next, source, NO_MORE))
            item = waiting.popleft().result()
            if item is NO_MORE:
                return
            yield item
    finally:
        thread.shutdown(cancel_futures=True)
