"""Minimal pairs in BLiMP's format (Warstadt et al. 2020): the grammatical sentence should be the more probable one.

    There was a difference .     >     There was the difference .

    >>> paradigms = read_pairs("minilang")                          # or a file, a folder; None: the 67 public ones
    >>> log_probs = lambda sentences: [-len(" ".join(words)) for words in sentences]      # the shorter, the better
    >>> rows = rows_of_batch(all_pairs(paradigms), log_probs)       # one row per pair
    >>> scores = scores_by_paradigm(paradigms, rows)                # one row per paradigm; then `grouped`, `overall`
    >>> round(overall(scores), 2)
    0.32

`log_probs` is any function from sentences (lists of words) to the log p of each, which includes its end: a bound over
trees that a parser proposes, a beam search, or the exact value. There is no correction for length. A tie counts as
wrong, and ties are also counted separately; BLiMP has seven pairs of identical sentences, so no model can reach 100 %.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.errors import UserError, require
from dtglib.basics.record import Row
from dtglib.data import minilang
from dtglib.data.tokenize import tokenize
from dtglib.data.treebank import Words
from dtglib.evaluate.item_files import evenly, files_of, require_different

LogProbs = Callable[[Sequence[Words]], Iterable[float]]

# The keys of a pair in a file; a pair may have others.
KEYS = ("sentence_good", "sentence_bad", "UID", "linguistics_term", "field")


class MinimalPair(NamedTuple):
    """The two sentences; `number` is that of the pair in its file, from 0."""

    number: int
    good: tuple[str, ...]
    bad: tuple[str, ...]


class Paradigm(NamedTuple):
    """A set of pairs that differ in the same way."""

    uid: str
    phenomenon: str
    field: str
    pairs: tuple[MinimalPair, ...]


# --- reading -----------------------------------------------------------------------------------------------------


def read_pairs(path: str | Path | None = None, share: int | float = 1.0) -> list[Paradigm]:
    """Read the paradigms of a file, of all *.jsonl files in a folder, of minilang, or of BLiMP in the data folder.

    Only the given share of each paradigm is read: a tenth is the pairs 0, 10, 20 and so on.
    """
    if path == "minilang":
        texts = {f"minilang, {paradigm.uid}": paradigm.as_json_lines() for paradigm in minilang.minimal_pairs()}
    else:
        texts = dict(files_of(path, "blimp", "*.jsonl", "minimal pairs"))
    paradigms = [_paradigm(text, where, share) for where, text in texts.items()]
    require_different([paradigm.uid for paradigm in paradigms], path)
    return paradigms


def _paradigm(text: str, where: str, share: int | float) -> Paradigm:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    require(lines, f"{where}: there are no pairs in it")
    pairs, paradigms = [], set()
    for index, (number, line) in evenly(list(enumerate(lines)), share):
        try:
            row = json.loads(line)
            if lacking := [name for name in KEYS if not (isinstance(row, dict) and isinstance(row.get(name), str))]:
                raise TypeError(f"it has no text for {', '.join(lacking)}")
            *sentences, uid, term, field = (row[name] for name in KEYS)
            good, bad = (tuple(tokenize(text)) for text in sentences)
            paradigms.add((uid, term, field))
        except (ValueError, TypeError) as error:
            raise UserError(f"{where}:{number}: this is no minimal pair in BLiMP's format: {error}") from error
        require(good and bad, f"{where}:{number}: a sentence without words")
        pairs.append(MinimalPair(index, good, bad))
    require(len(paradigms) == 1, f"{where}: its pairs are of several paradigms: {sorted(paradigms)[:2]}")
    # The files have 13 terms for the paper's 12 phenomena, and spell one of its four fields in two ways.
    phenomenon = "argument structure" if term == "s-selection" else term.replace("_", " ")
    field = field.replace("syntax_semantics", "syntax-semantics").replace("syntax/semantics", "syntax-semantics")
    return Paradigm(uid, phenomenon, field, tuple(pairs))


# --- testing -----------------------------------------------------------------------------------------------------


def all_pairs(paradigms: Sequence[Paradigm]) -> list[tuple[Paradigm, MinimalPair]]:
    """All pairs, each after its paradigm."""
    return [(paradigm, pair) for paradigm in paradigms for pair in paradigm.pairs]


def rows_of_batch(batch: Sequence[tuple[Paradigm, MinimalPair]], log_probs: LogProbs) -> list[Row]:
    """The rows of pairs that are scored together."""
    values = [float(value) for value in log_probs([words for _, pair in batch for words in (pair.good, pair.bad)])]
    require(len(values) == 2 * len(batch), f"{len(values)} log-probabilities came for {2 * len(batch)} sentences")
    return [
        {"paradigm": paradigm.uid, "pair": pair.number, "good": good, "bad": bad}
        for (paradigm, pair), good, bad in zip(batch, values[::2], values[1::2], strict=True)
    ]


# --- scores ------------------------------------------------------------------------------------------------------


def scores_by_paradigm(paradigms: Sequence[Paradigm], rows: Sequence[Row]) -> list[Row]:
    """One row per paradigm, with the share of pairs whose good sentence is the more probable one."""
    scores = []
    for paradigm in paradigms:
        of_paradigm = [row for row in rows if row["paradigm"] == paradigm.uid]
        require(of_paradigm, f"{paradigm.uid}: there are no results for it")
        # A pair without two finite values (a search failed, or a value is NaN) has no preferred sentence.
        sound = [row for row in of_paradigm if math.isfinite(row["good"]) and math.isfinite(row["bad"])]
        better = sum(row["good"] > row["bad"] for row in sound)
        scores.append(
            {
                "paradigm": paradigm.uid,
                "phenomenon": paradigm.phenomenon,
                "field": paradigm.field,
                "pairs": len(of_paradigm),
                "accuracy": better / len(of_paradigm),
                "ties": sum(row["good"] == row["bad"] for row in sound),
                "identical": sum(pair.good == pair.bad for pair in paradigm.pairs),
                "failed": len(of_paradigm) - len(sound),
            }
        )
    return scores


def grouped(scores: Sequence[Row], by: str) -> list[Row]:
    """The means over the paradigms of each phenomenon, or of each field."""
    rows = []
    for name in sorted({row[by] for row in scores}):
        of_group = [row for row in scores if row[by] == name]
        rows.append({by: name, "paradigms": len(of_group), "accuracy": overall(of_group)})
    return rows


def overall(scores: Sequence[Row]) -> float:
    """The mean over the paradigms."""
    return math.fsum(row["accuracy"] for row in scores) / len(scores)
