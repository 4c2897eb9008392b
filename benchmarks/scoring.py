"""How much faster 300 trees of a sentence are scored as a trie than as sequences, on two cores.

    python benchmarks/scoring.py

Two sentences of 12 and of 25 made-up words out of a vocabulary of 8,000 pieces, with 300 different trees drawn from
random arc scores; and four sentences of the dev part of minilang and, where the data folder holds it, of UD English,
with the 300 different trees that a trained parser proposes (trained now, in minutes, if it was not before). The models
have random weights: d 256, 6 layers, 8 heads, inner width 1024.

The sequences are scored in rows of about the same length, 16, 32 or 64 at once, whichever is fastest ("rows",
"rows_seconds"); "seconds" is the time of the trie. "sharing" is how many positions the sequences have, over those that
the tries compute; "faster" is the one time over the other, and "share" is how much of the sharing that is. "difference"
is the largest one between the two log-probabilities of a tree. The count is of trees.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"

import time
from collections.abc import Callable, Sequence

import _common
import torch
from growth_curves import in_rows, trees_of

from dtglib.data.corpora import UD_ENGLISH, ud_folder
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.trie import computed, planned
from dtglib.families.base import build
from dtglib.network.transformer import Transformer, TransformerConfig
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS, propose
from dtglib.runs.parsers import trained_parser
from dtglib.runs.prepare import read_corpus
from dtglib.runs.sentence_scores import spread
from dtglib.runs.settings import Settings, read_size
from dtglib.sequences.columns import Sequences

LENGTHS, TREES, SENTENCES = (12, 25), 300, 4
SIZE = {"layers": 6, "width": 256, "heads": 8, "inner": 1024}
MODELS = ("dtg", "dtg-eager", "dtg-swift", "txl-trans")
ROWS = (16, 32, 64)


# The trees of one sentence, each with its words.
Trees = list[tuple[Sequence[str], list[int]]]


def main() -> None:
    torch.set_num_threads(2)
    settings = {"minilang": read_size("mini")}
    if all(ud_folder(name).is_dir() for name in UD_ENGLISH):
        settings["UD English"] = read_size("open-small")
    made_up = _common.made_up_vocabulary()
    sets = {f"{length} made-up words": (made_up, [trees_of(length, TREES)]) for length in LENGTHS}
    sets |= {f"{name}, dev": proposed_trees(chosen) for name, chosen in settings.items()}
    with _common.benchmark("scoring", "How much faster are many trees of a sentence scored as a trie?") as report:
        for what, (vocabulary, sentences) in sets.items():
            for name in MODELS:
                torch.manual_seed(1)
                model = build(TransformerConfig(model=name, **SIZE), vocabulary).eval()
                report_one(
                    report, model, [model.reading.compile(vocabulary, trees) for trees in sentences], f"{what}, {name}"
                )


def proposed_trees(settings: Settings) -> tuple[Vocabulary, list[Trees]]:
    """The vocabulary of a corpus, and the trees of a parser for some sentences of its dev part."""
    corpus = read_corpus(settings)
    parser = load_parser(trained_parser("strong", settings))
    words = [sentence.words for sentence in spread(corpus.dev.sentences, SENTENCES)]
    proposed = propose(parser, words, TREES, METHODS["sample"])
    return corpus.vocabulary, [
        [(sentence, heads) for heads in trees.heads.tolist()] for sentence, trees in zip(words, proposed, strict=True)
    ]


def report_one(report, model: Transformer, sentences: list[Sequences], what: str) -> None:
    """The same trees, scored both ways."""
    seconds = {rows: seconds_of(lambda r=rows: [in_rows(model, trees, r) for trees in sentences]) for rows in ROWS}
    rows = min(ROWS, key=seconds.get)

    def as_tries() -> list[torch.Tensor]:
        return [computed(model, planned(trees, model.embedding.weight.device, model.bias_of)) for trees in sentences]

    def in_best_rows() -> list[torch.Tensor]:
        return [in_rows(model, trees, rows) for trees in sentences]

    # One after the other, so that whatever else the machine does slows both.
    pairs = [(seconds_of(in_best_rows), seconds_of(as_tries)) for _ in range(_common.RUNS)]
    slow, fast = (min(times) for times in zip(*pairs, strict=True))
    tries = [one for trees in sentences for one in planned(trees, torch.device("cpu"))]
    positions = sum(len(one.trie.place) for one in tries)
    sharing, faster = sum(int(trees.starts[-1]) for trees in sentences) / positions, slow / fast
    pairs = zip(in_best_rows(), as_tries(), strict=True)
    difference = max(float((one - other).abs().max()) for one, other in pairs)
    more = {"rows": rows, "rows_seconds": slow, "sharing": sharing, "faster": faster, "share": faster / sharing}
    report(what, sum(map(len, sentences)), as_tries, **more, difference=difference)


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
