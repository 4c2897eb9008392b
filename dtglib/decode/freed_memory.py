"""A workaround for glibc, for the speed of tries and searches: freed memory is kept instead of returned page by page.

glibc keeps freed pieces of memory up to twice the size of the largest piece that was ever freed (at most 32 MB), and
returns larger ones to the system. A trie of 300 trees allocates and frees tensors of several megabytes many times, and
each time the system had to clear all their pages again. Freeing one tensor of 31 MB changes that: the scores of 60
sentences of minilang, with 300 trees each by the DTG of books, then took 29 instead of 31 s of a core.
"""

from functools import cache

import torch

LARGE = 31 * 2**20  # bytes


@cache
def keep_freed_memory() -> None:
    """Raise glibc's threshold for returning memory, once per process."""
    torch.empty(LARGE, dtype=torch.uint8)
