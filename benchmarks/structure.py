"""How fast trees become vectors, and how small those are: oracle and compile on one core, warm.

    python benchmarks/structure.py

Random projective trees of 25 words, a piece a word, in each system. Beside the speed stand the bytes of a sentence's
vectors, and how many times more a T x T mask (a byte a cell) and relative positions (four bytes) would take. The last
line of a system is the literal stack simulation of naive.py, for scale.
"""

import random

import numpy as np
from _common import benchmark

from dtglib.compile import Arcs, compile_arrays
from dtglib.naive import simulate
from dtglib.transitions import SYSTEMS, oracle
from dtglib.vocab import Vocabulary

SENTENCES, WORDS = 20_000, 25


def random_tree(size: int, chance: random.Random) -> tuple[int, ...]:
    """A projective tree: split a stretch of words at a root, and what is left and right of it again and again."""
    heads = [0] * (size + 1)
    todo = [(1, size, 0)]
    while todo:
        first, last, head = todo.pop()
        root = chance.randint(first, last)
        heads[root] = head
        for start, stop in ((first, root - 1), (root + 1, last)):
            while start <= stop:
                end = chance.randint(start, stop)
                todo.append((start, end, root))
                start = end + 1
    return tuple(heads[1:])


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
            some = [oracle(system, tree) for tree in trees[:50]]
            report(f"{name}: naive", 50, lambda n=name, s=some: [simulate(n, actions, [1] * WORDS) for actions in s])


if __name__ == "__main__":
    main()
