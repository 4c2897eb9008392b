"""Vectors of words, learnt from the contexts of words in the books: similar words have similar vectors.

    words, matrix = vectors_of("books")          the 30,000 most frequent words in lower case; a row of 100 numbers each

A context of a word is another word at a place: one or two words before it, or after it. How often each word is in each
context is counted; the table of their positive pointwise mutual informations is then approximated by a product of two
narrow matrices (a singular value decomposition; Levy, Goldberg and Dagan 2015), and a word's vector is its row of the
first one. Places tell more of syntax than wide windows do. It takes ten minutes, most of them for the sentences of the
books; the result is kept in the user's cache.
"""

import contextlib
import functools
from collections import defaultdict
from collections.abc import Iterable
from itertools import count as counting
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, hstack

from dtglib.basics.errors import UserError
from dtglib.basics.files import sha256, write_atomically
from dtglib.data.treebank import Words
from dtgpapers.books.corpus import blocks, cache_folder

PLACES = (-2, -1, 1, 2)
CONTEXTS = 10_000  # the most frequent words, which count as contexts
SMOOTHING = 0.75  # the power of a context's frequency, so that rare contexts do not seem too telling
BETWEEN = -1  # the number of what stands between sentences


class WordVectors(NamedTuple):
    """Words, the most frequent first, and a row of numbers for each, whose squares have the mean 1."""

    words: list[str]
    matrix: np.ndarray


@functools.cache
def vectors_of(corpus: str, words: int = 30_000, width: int = 100) -> WordVectors:
    """The vectors of the most frequent words of a corpus of books, learnt now unless they are in the cache."""
    depends_on = ("vectors.py", "corpus.py", "works.py", "works.tsv")
    made_from = "".join(sha256(Path(__file__).with_name(name))[:4] for name in depends_on)
    path = cache_folder() / f"vectors-{corpus}-{words}-{width}-{made_from}.npz"
    if not path.is_file():
        sentences = (sentence.words for block in blocks(corpus, "train") for sentence in block().sentences)
        learnt = learn(sentences, words, width)
        with contextlib.suppress(OSError, UserError), write_atomically(path, binary=True) as file:  # a cache
            np.savez(file, words=np.array(learnt.words), matrix=learnt.matrix)
        return learnt
    with np.load(path) as kept:
        return WordVectors(kept["words"].tolist(), kept["matrix"])


def learn(sentences: Iterable[Words], words: int, width: int) -> WordVectors:
    """The vectors of the most frequent words of these sentences."""
    text, known = _numbered(sentences, words)
    return WordVectors(known, _narrow(_informations(text, len(known)), width))


def _numbered(sentences: Iterable[Words], words: int) -> tuple[np.ndarray, list[str]]:
    """The text as numbers of its most frequent words; others, and what is between sentences, are BETWEEN."""
    number_of: dict[str, int] = defaultdict(counting().__next__)
    parts, between = [], [BETWEEN] * max(PLACES)
    for sentence in sentences:
        parts.append(np.array([*(number_of[word.lower()] for word in sentence), *between], np.int32))
    text = np.concatenate(parts)
    frequencies = np.bincount(text[text >= 0], minlength=len(number_of))
    order = np.argsort(-frequencies, kind="stable")[:words]
    rank = np.full(len(number_of) + 1, BETWEEN, np.int32)  # its last row is that of BETWEEN
    rank[order] = np.arange(len(order))
    spellings = list(number_of)
    return rank[text], [spellings[number] for number in order]


def _informations(text: np.ndarray, words: int) -> csr_array:
    """The positive pointwise mutual information of each word and each context: a word at a place."""
    tables = []
    for place in PLACES:
        here, there = (text[:-place], text[place:]) if place > 0 else (text[-place:], text[:place])
        both = (here >= 0) & (there >= 0) & (there < CONTEXTS)
        pairs, counts = np.unique(here[both].astype(np.int64) * CONTEXTS + there[both], return_counts=True)
        tables.append(coo_array((counts, (pairs // CONTEXTS, pairs % CONTEXTS)), (words, CONTEXTS)))
    table = hstack(tables).tocoo().astype(np.float64)
    row, column = table.coords
    of_words, of_contexts = table.sum(1), table.sum(0) ** SMOOTHING
    information = np.log(table.data * of_contexts.sum() / (of_words[row] * of_contexts[column]))
    positive = information > 0
    return csr_array((information[positive], (row[positive], column[positive])), table.shape)


def _narrow(table: csr_array, width: int, more: int = 20, rounds: int = 4) -> np.ndarray:
    """The first factor of a randomised singular value decomposition (Halko, Martinsson and Tropp 2011)."""
    basis = np.random.default_rng(1).standard_normal((table.shape[1], width + more))
    for _ in range(rounds):
        basis, _ = np.linalg.qr(table @ basis)
        basis, _ = np.linalg.qr(table.T @ basis)
    left, values, _ = np.linalg.svd(table @ basis, full_matrices=False)
    matrix = left[:, :width] * np.sqrt(values[:width])
    lengths = np.sqrt(np.square(matrix).mean(1, keepdims=True))
    return (matrix / np.where(lengths, lengths, 1)).astype(np.float32)  # of a word without neighbours: zeros
