"""Semantic textual similarity: pairs of sentences with scores. STS Benchmark, SICK, and the test sets of 2012 to 2016.

    STSBenchmark/sts-train.csv       genre, set, year, number, score, sentence, sentence          scores from 0 to 5
    SICK/SICK_train.txt              a header, then number, sentence, sentence, score, ...         scores from 1 to 5
    STS12-en-test/STS.input.A.txt    sentence, sentence, from 2016 on with notes about their sources
                  STS.gs.A.txt       the score of each line, from 0 to 5

Where the score is empty, nobody was asked: in 2015 and 2016 most lines are of this kind, and all of them are left out.
The pairs of STS13's set SMT are not distributed, only their scores: a set without pairs is not read.
"""

from collections.abc import Iterator
from pathlib import Path

from dtglib.basics.errors import UserError
from dtgpapers.tuning.judged import Judged, Line, plain_lines, table

SIMILARITY = (0.0, 5.0)
RELATEDNESS = (1.0, 5.0)


def read_benchmark(path: Path) -> list[Judged]:
    """A part of STS Benchmark; its source is the set that a pair comes from."""
    return list(_pairs(table(path, {}, columns=7), sentences=(6, 7), score=5, source=2))


def read_sick(path: Path) -> list[Judged]:
    """A part of SICK, scored for relatedness."""
    lines = table(path, {2: "sentence_A", 3: "sentence_B", 4: "relatedness_score"})
    return list(_pairs(lines, sentences=(2, 3), score=4, source=None, within=RELATEDNESS))


def read_year(folder: Path) -> list[Judged]:
    """The test sets of a year, in alphabetical order; the source of a pair is its set."""
    paths = sorted(folder.glob("STS.input.*.txt"))
    if not paths:
        raise UserError(f"{folder}: there is no STS.input.*.txt; name the folder with the sets of a year")
    return [pair for path in paths for pair in _scored_set(path)]


def _scored_set(path: Path) -> Iterator[Judged]:
    """The pairs of a set whose scores are in another file."""
    name = path.name.removeprefix("STS.input.").removesuffix(".txt")
    scores = path.with_name(f"STS.gs.{name}.txt")
    pairs, golds = list(table(path, {}, columns=2)), list(plain_lines(scores))
    if len(pairs) != len(golds):
        raise UserError(f"{scores}: has {len(golds)} lines, and {path.name} has {len(pairs)}; fetch both again")
    for pair, gold in zip(pairs, golds, strict=True):
        score = gold.score(1, *SIMILARITY)
        if score is not None:
            yield Judged((pair.text(1), pair.text(2)), score, name, pair.id)


def _pairs(
    lines: Iterator[Line],
    sentences: tuple[int, int],
    score: int,
    source: int | None,
    within: tuple[float, float] = SIMILARITY,
) -> Iterator[Judged]:
    """The pairs of a table that have a score; the arguments say in which columns everything stands."""
    for line in lines:
        gold = line.score(score, *within)
        if gold is not None:
            texts = line.text(sentences[0]), line.text(sentences[1])
            yield Judged(texts, gold, line.fields[source - 1] if source else line.path.stem, line.id)
