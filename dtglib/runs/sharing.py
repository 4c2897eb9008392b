"""Share work out to processes by what it costs, so that all are done at about the same time.

Sentences differ in length, so equal numbers of them are not equal work:

    >>> words = [40, 3, 25, 4, 11, 17]                   # in six sentences
    >>> shares(words, 2)
    [[0, 4], [1, 2, 3, 5]]
    >>> [sum(words[number] for number in share) for share in shares(words, 2)]
    [51, 49]

The shares depend on nothing but the costs, so every process finds the same ones.
"""

from collections.abc import Sequence


def blocks_of(count: int, at_once: int) -> list[slice]:
    """Consecutive numbers in blocks of `at_once`; the last one may be shorter.

    >>> blocks_of(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + at_once, count)) for start in range(0, count, at_once)]


def shares(costs: Sequence[int | float], count: int) -> list[list[int]]:
    """For each of `count` processes, the numbers of what it does: the dearest first, each to the least busy process."""
    shared: list[list[int]] = [[] for _ in range(count)]
    busy = [0] * count
    for number in sorted(range(len(costs)), key=lambda number: -costs[number]):
        least = busy.index(min(busy))
        shared[least].append(number)
        busy[least] += costs[number]
    return [sorted(numbers) for numbers in shared]
