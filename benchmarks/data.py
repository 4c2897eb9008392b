"""How long the data take: reading treebanks, generating minilang, cutting words.

    python benchmarks/data.py

Prints a table and writes a record into benchmarks/records/. Each figure is the best of three runs on one core, beside
the time that one matrix product of 1024 x 1024 takes in the same run, so that records of different machines can be
compared: `ratio` is the one divided by the other.
"""

import itertools
import os
import tempfile

from _common import benchmark

from dtglib.data import minilang
from dtglib.data.minilang.grammar import read_language
from dtglib.data.registry import data_folder
from dtglib.data.treebank import read_conllu, trees_only
from dtglib.data.vocabulary import Vocabulary
from dtgpapers.translation.bilingual import sentence_pairs


def main() -> None:
    seeds = itertools.count()  # what has been drawn is not drawn again
    with tempfile.TemporaryDirectory() as empty, benchmark("data", "How long do the data take?") as report:
        os.environ["XDG_CACHE_HOME"] = empty
        report("minilang: write the grammar out", 1, read_language.__wrapped__)
        report("minilang: generate train", 20_000, lambda: minilang.split("train", 20_000, next(seeds)))
        report("minilang: generate pairs", 20_000, lambda: sentence_pairs("train", 20_000, next(seeds)))
        ewt = data_folder() / "ud" / "UD_English-EWT" / "en_ewt-ud-train.conllu"
        if not ewt.is_file():
            print("UD English is not at hand (make data): what needs it is not measured")
            return
        treebank = read_conllu(ewt)
        words = [sentence.words for sentence in treebank.sentences]
        vocabulary = Vocabulary.train(words, pieces=8000)
        count = len(treebank.sentences)
        report("UD English EWT train: read", count, lambda: read_conllu(ewt))
        report("UD English EWT train: projective trees", count, lambda: trees_only(treebank))
        report("UD English EWT train: learn 8,000 pieces", count, lambda: Vocabulary.train(words, pieces=8000))
        report("UD English EWT train: cut into pieces", count, lambda: [vocabulary.encode(w) for w in words])
        files = sorted((data_folder() / "ud").glob("*/*.conllu"))
        report(f"all {len(files)} UD files: read", len(files), lambda: [read_conllu(path) for path in files])


if __name__ == "__main__":
    main()
