"""Attention of single positions in compiled loops on a CPU, for `pooled` in attention.py.

In a search each new position sees a dozen others. Gathering their keys and values, and multiplying a matrix of one row
with them, takes longer than the linear maps of a layer. Here they are read in place: 512 positions that see ten others
each (8 heads of width 32) took 0.6 ms instead of 8.5 on one core. The positions are shared among as many threads as
PyTorch uses.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np

from dtglib.basics.jit import njit

NEAREST = -1  # the smallest relative position: that of the dependent, as a COMPOSE position sees it
FEWEST = 128  # positions per thread: fewer take less time than waking it up


def look_in_threads(
    queries: Sequence[np.ndarray],
    pool: Sequence[np.ndarray],
    r: np.ndarray,
    looks: Sequence[np.ndarray],
    bias: np.ndarray | None,
    result: np.ndarray,
    threads: int,
) -> None:
    """Run `look` in at most so many threads, each for some of the positions."""
    cuts = np.linspace(0, len(result), max(1, min(threads, len(result) // FEWEST)) + 1).astype(int).tolist()

    def look_at(start: int, stop: int) -> None:
        of_part, seen = (tuple(column[start:stop] for column in columns) for columns in (queries, looks))
        look(of_part, tuple(pool), r, seen, bias if bias is None else bias[start:stop], result[start:stop])

    if len(cuts) == 2:
        look_at(*cuts)
    else:
        list(_pool(threads, os.getpid()).map(look_at, cuts[:-1], cuts[1:]))  # errors are raised here


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    """The threads of this process; after a fork a process needs new ones."""
    return ThreadPoolExecutor(threads)


@njit(nogil=True, fastmath={"reassoc", "contract"})
def look(queries, pool, r, looks, bias, result):
    """Write the result of attention into `result` (B H E), for the two queries of each position (B H D).

    `pool` has the keys and the values (S H D), and `r` the keys of relative positions (R H D). `looks` has the columns
    of `Pooled`: the numbers of the keys that are seen, their relative positions (B L), and their count in each row.
    `bias` (B H L) may be None.
    """
    (qu, qw), (keys, values), (seen, relpos, count) = queries, pool, looks
    weights, scale = np.empty(seen.shape[1], result.dtype), result.dtype.type(qu.shape[2] ** -0.5)
    for b in range(qu.shape[0]):
        for h in range(qu.shape[1]):
            for n in range(count[b]):
                key, place, score = keys[seen[b, n], h], r[relpos[b, n] - NEAREST, h], result.dtype.type(0)
                for d in range(qu.shape[2]):
                    score += qu[b, h, d] * key[d] + qw[b, h, d] * place[d]
                weights[n] = score * scale if bias is None else score * scale + bias[b, h, n]
            largest, total = weights[: count[b]].max(), result.dtype.type(0)
            for n in range(count[b]):
                weights[n] = np.exp(weights[n] - largest)
                total += weights[n]
            result[b, h] = 0
            for n in range(count[b]):
                value, share = values[seen[b, n], h], weights[n] / total
                for e in range(result.shape[2]):
                    result[b, h, e] += share * value[e]
