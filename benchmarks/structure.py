"""How fast trees become vectors, and how small those are: oracle and compile on one core, warm.

    python benchmarks/structure.py

Random projective trees of 25 words, a piece a word, in each system. Beside the speed stand the bytes of a sentence's
vectors, and how many times more a T x T mask (a byte a cell) and relative positions (four bytes) would take. Then come
batches of 64, and all projective trees of UD English train.
"""

import random

import numpy as np
from _common import benchmark, random_tree

from dtglib.data.corpora import load, ud_folder
from dtglib.data.treebank import trees_only
from dtglib.data.vocabulary import Vocabulary
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import Sequences
from dtglib.sequences.compile import Arcs, compile_arrays, compile_trees
from dtglib.transitions import SYSTEMS

SENTENCES, WORDS = 20_000, 25


def main() -> None:
    chance = random.Random(1)
    trees = [random_tree(WORDS, chance) for _ in range(SENTENCES)]
    arcs = Arcs.of(Vocabulary.of_words([["word"]]))
    ids, pieces = np.zeros(SENTENCES * WORDS, np.int32), np.ones(SENTENCES * WORDS, np.int32)
    with benchmark("structure", "How fast do trees become vectors, and how small are those?") as report:
        for name, system in SYSTEMS.items():

            def compile_all(system=system):
                return compile_arrays(system, arcs, trees, ids, pieces)

            sequences = compile_all()  # warm, and to be looked at
            length = sequences.starts[-1] / SENTENCES
            stored = sum(column.nbytes for column in sequences.vectors) / SENTENCES
            more = {"positions": length, "bytes": stored, "times_smaller": 5 * length**2 / stored}
            report(f"{name}: oracle and compile", SENTENCES, compile_all, **more)
            report(f"{name}: pad into batches of 64", SENTENCES, lambda q=sequences: pad_all(q))
        if not ud_folder().is_dir():
            print("UD English is not at hand (make data): what needs it is not measured")
            return
        treebank = trees_only(load("ud-english", "train"))
        pairs = [(sentence.words, sentence.heads) for sentence in treebank.sentences]
        vocabulary = Vocabulary.of_words(words for words, _ in pairs)
        for name, system in SYSTEMS.items():

            def compile_treebank(system=system):
                return compile_trees(system, vocabulary, pairs)

            what = f"{name}: UD English train, checks and words included"
            report(what, len(pairs), compile_treebank)


def pad_all(sequences: Sequences) -> None:
    for start in range(0, len(sequences), 64):
        pad(sequences, range(start, min(start + 64, len(sequences))))


if __name__ == "__main__":
    main()
