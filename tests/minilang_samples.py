"""minilang's splits as the tests of minilang share them: drawn once a session."""

import gc
from functools import cache

from dtglib.basics.progress import quiet
from dtglib.data import minilang
from dtglib.data.minilang.grammar import Grammar, read_language
from dtglib.data.treebank import Sentence

# How many sentences the tests draw. Hold-outs are rare among all sentences, so that drawing them takes its time.
SIZES = {"train": 2_500, "dev": 500, "test": 500, "attractor": 100, "depth": 60, "combination": 60}


@cache
def split(name: str) -> tuple[Sentence, ...]:
    """A split with seed 0."""
    with quiet():
        drawn = tuple(minilang.split(name, SIZES[name]))
    gc.freeze()  # millions of objects that stay: the collector need not look at them again and again
    return drawn


def grammar() -> Grammar:
    return read_language()
