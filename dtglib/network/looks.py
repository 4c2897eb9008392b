"""Attention of single positions in loops: what `pooled` in attention.py is on a processor.

In a search each new position sees a dozen others. To gather their keys and values, and to multiply a matrix of one row
with them, takes longer than the linear maps of a layer. Here they are read where they stand: 512 positions that see ten
others each (8 heads of width 32) took 0.6 ms in place of 8.5, in the time of one core. The positions are shared among
as many threads as PyTorch uses.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from dtglib.basics.jit import njit

NEAREST = -1  # the smallest relative position: that of the dependent, as a COMPOSE position sees it
FEWEST = 128  # positions of a thread: fewer take less time than waking it up


def look_in_threads(
    queries: Sequence[np.ndarray],
    pool: Sequence[np.ndarray],
    r: np.ndarray,
    looks: Sequence[np.ndarray],
    bias: np.ndarray | None,
    found: np.ndarray,
    threads: int,
) -> None:
    """`look` by at most so many threads, each of which does some of the positions."""
    cuts = np.linspace(0, len(found), max(1, min(threads, len(found) // FEWEST)) + 1).astype(int).tolist()

    def look_at(start: int, stop: int) -> None:
        mine, seen = (tuple(column[start:stop] for column in columns) for columns in (queries, looks))
        look(mine, tuple(pool), r, seen, bias if bias is None else bias[start:stop], found[start:stop])

    if len(cuts) == 2:
        look_at(*cuts)
    else:
        list(_pool(threads, os.getpid()).map(look_at, cuts[:-1], cuts[1:]))  # errors are raised here


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """Threads of this process: those of another one are not there after a fork."""
    return ThreadPoolExecutor(threads)


@njit(nogil=True, fastmath={"reassoc", "contract"})
def look(queries, pool, r, looks, bias, found):
    """Write into `found` (B H E) what each position reads, given its two queries (B H D) and what it sees.

    `pool` has the keys and the values (S H D), and `r` the keys of relative positions (R H D). `looks` is what is in
    `Pooled`: which keys are seen and how far away (B L), and how many of them in each row. `bias` (B H L) may be None.
    """
    (qu, qw), (keys, values), (seen, relpos, count) = queries, pool, looks
    weights, scale = np.empty(seen.shape[1], found.dtype), found.dtype.type(qu.shape[2] ** -0.5)
    for b in range(qu.shape[0]):
        for h in range(qu.shape[1]):
            for n in range(count[b]):
                key, place, score = keys[seen[b, n], h], r[relpos[b, n] - NEAREST, h], found.dtype.type(0)
                for d in range(qu.shape[2]):
                    score += qu[b, h, d] * key[d] + qw[b, h, d] * place[d]
                weights[n] = score * scale if bias is None else score * scale + bias[b, h, n]
            largest, total = weights[: count[b]].max(), found.dtype.type(0)
            for n in range(count[b]):
                weights[n] = np.exp(weights[n] - largest)
                total += weights[n]
            found[b, h] = 0
            for n in range(count[b]):
                value, share = values[seen[b, n], h], weights[n] / total
                for e in range(found.shape[2]):
                    found[b, h, e] += share * value[e]
