"""Zero-shot tasks of the BabyLM challenge of 2025 (its pipeline: github.com/babylm/evaluation-pipeline-2025).

    tasks = tasks_in(Path("evaluation_data/full_eval"))                    the pairs of those whose files are there
    columns = columns_of(folder_of_model, tasks, Widths(300, 300, within=12.0))

    BLiMP, BLiMP Supplement    percent of pairs whose good sentence is the more probable one, the mean over paradigms
    WUG Adj, WUG Past          100 times Spearman's correlation of p(first of two forms) and the share of people for it
    Eye Tracking, Self-paced Reading    reading_score.py; from the reading corpus in the data folder

Pairs are compared by log p of whole sentences with their ends. A dialogue of the supplement (qa_congruence,
turn_taking) is read as one sentence. Without the pipeline's files, BLiMP is that of the data folder, and its column is
called "BLiMP, unfiltered". A tie counts as wrong, and ties are reported. In the
pipeline the end counts only if the tokenizer adds it, and a tie counts as right, so that a model that prefers nothing
has 100 (Păpușoi and Nisioi 2025).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.basics.record import Row
from dtglib.data.registry import data_folder
from dtglib.data.tokenize import tokenize
from dtglib.decode.beam import Widths
from dtglib.evaluate.blimp import MinimalPair, Paradigm, overall, read_pairs, scores_by_paradigm
from dtglib.evaluate.item_files import evenly, files_of
from dtglib.families.base import family, family_name_in, load_model
from dtglib.runs.syntax_scores import pair_rows, without_parser
from dtglib.training.distributed import device_at_hand
from dtgpapers.doors.reading_score import (
    READING,
    reading_file,
    reading_scores,
    reading_words,
    surprisals_of,
    unmarked,
    with_word_before,
)

# The columns about pairs, and the folder of each in the pipeline's data.
FOLDERS = {
    "BLiMP": "blimp_filtered",
    "BLiMP Supplement": "supplement_filtered",
    "WUG Adj": "wug_adj_nominalization",
    "WUG Past": "wug_past_tense",
}
UNFILTERED = "BLiMP, unfiltered"  # the published one, of which the pipeline leaves pairs out
UNITS = "percent (BLiMP: of pairs; reading: of the variance that is left), 100 times the correlation (WUG)"
FETCH = "fetch evaluation_data from https://osf.io/ryjfm, and name its folder full_eval with --data"
NOT_MEASURED = {
    "EWoK": "contexts are texts of several sentences, and models read single ones",
    "Entity Tracking": "contexts are texts of several sentences, and models read single ones",
    "COMPS": "compares the same words after two beginnings, which is not implemented",
    "AoA": "needs checkpoints of the training",
    "(Super)GLUE": "needs the model to be fine-tuned",
}


class ScoredTask(NamedTuple):
    """The pairs of a column and their folder; for WUG the two forms, with the share of people who chose the first."""

    folder: Path
    paradigms: list[Paradigm]
    shares: list[float] | None = None


# --- reading -----------------------------------------------------------------------------------------------------


def tasks_in(folder: Path | None, share: int | float = 1.0) -> dict[str, ScoredTask]:
    """The tasks whose files are in the pipeline's folder, by column; BLiMP is otherwise that of the data folder."""
    places = {} if folder is None else {name: folder / of_task for name, of_task in FOLDERS.items()}
    there = {name: path for name, path in places.items() if path.is_dir()}
    require(there or folder is None, f"{folder}: there is none of {', '.join(FOLDERS.values())}; {FETCH}")
    if "BLiMP" not in there and (data_folder() / "blimp").is_dir():
        there = {UNFILTERED: data_folder() / "blimp", **there}
    read = {"BLiMP": _blimp, UNFILTERED: _blimp, "BLiMP Supplement": _supplement, "WUG Adj": _wug, "WUG Past": _wug}
    return {name: read[name](path, share) for name, path in there.items()}


def _blimp(folder: Path, share: int | float) -> ScoredTask:
    return ScoredTask(folder, read_pairs(folder, share))


def _supplement(folder: Path, share: int | float) -> ScoredTask:
    """A paradigm of the supplement is a file, whose name is that of the paradigm."""
    paradigms = []
    for where, text in files_of(folder, "", "*.jsonl", "minimal pairs"):
        rows = _rows(where, text, {"sentence_good": str, "sentence_bad": str})
        pairs = [_pair(number, good, bad, f"{where}:{number + 1}") for number, good, bad in rows]
        paradigms.append(Paradigm(Path(where).stem, "supplement", "supplement", tuple(evenly(pairs, share))))
    return ScoredTask(folder, paradigms)


def _wug(folder: Path, share: int | float) -> ScoredTask:
    """All items are read, because they are few: two sentences with a tab between them, and the share of the first."""
    pairs, shares = [], []
    for where, text in files_of(folder, "", "*.jsonl", "pairs of forms"):
        for number, sentences, ratio in _rows(where, text, {"sentences": str, "ratio": int | float}):
            place = f"{where}:{number + 1}"
            require(sentences.count("\t") == 1, f"{place}: these are not two sentences with a tab between them")
            first, second = sentences.split("\t")
            pairs.append(_pair(len(pairs), first, second, place))
            shares.append(float(ratio))
    return ScoredTask(folder, [Paradigm(folder.name, "WUG", "morphology", tuple(pairs))], shares)


def _rows(where: str, text: str, kinds: Mapping[str, Any]) -> Iterator[tuple[int, Any, Any]]:
    """The number of each line that is not empty, and its values of two keys."""
    for number, line in enumerate(text.split("\n")):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            one, other = (row[key] for key in kinds)
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{where}:{number + 1}: no line of this task ({error!r}); {FETCH}") from error
        for (key, kind), value in zip(kinds.items(), (one, other), strict=True):
            require(isinstance(value, kind), f"{where}:{number + 1}: {key} is {value!r}; {FETCH}")
        yield number, one, other


def _pair(number: int, first: str, second: str, place: str) -> MinimalPair:
    pair = MinimalPair(number, tuple(tokenize(first)), tuple(tokenize(second)))
    require(pair.good and pair.bad, f"{place}: a sentence without words")
    return pair


def said_of(tasks: Mapping[str, ScoredTask], share: int | float) -> dict[str, str]:
    """The conventions of the columns: which files, what share of them, and what their numbers mean."""
    folders = {name: str(task.folder) for name, task in tasks.items()}
    folders |= dict.fromkeys(READING, str(reading_file())) if reading_file().is_file() else {}
    said = {f"text of {name}": folder for name, folder in folders.items()}
    if "BLiMP Supplement" in tasks:
        said["dialogues of the supplement"] = "each is read as one sentence"
    said["share of the pairs"] = f"{share:g} of BLiMP and of its supplement, all of WUG"
    return said | {"ties": "wrong", "surprisal": "sum over pieces, in nats"}


# --- scores ------------------------------------------------------------------------------------------------------


def columns_of(folder: Path, tasks: Mapping[str, ScoredTask], widths: Widths) -> list[Row]:
    """A row for each column of the leaderboard that can be measured: pairs first, then reading times.

    Scores are in percent. Of pairs, those with a sentence that has no probability are `failed`; of words, those without
    a finite surprisal.
    """
    way = without_parser(family(family_name_in(folder)), widths)
    rows = [_column(name, task, pair_rows(folder, task.paradigms, way)) for name, task in tasks.items()]
    if reading_file().is_file():
        rows += reading_columns(load_model(folder, device_at_hand()), widths)
    return rows


def not_measured(rows: Sequence[Row]) -> dict[str, str]:
    """The other columns of the leaderboard, each with the reason, or with what has to be fetched."""
    measured = {row["column"] for row in rows}
    wanted = {**dict.fromkeys(FOLDERS, FETCH), **dict.fromkeys(READING, "fetch the reading corpus with `make data`")}
    return {name: reason for name, reason in (wanted | NOT_MEASURED).items() if name not in measured}


def _column(name: str, task: ScoredTask, rows: list[Row]) -> Row:
    by_paradigm = scores_by_paradigm(task.paradigms, rows)
    score = 100 * overall(by_paradigm) if task.shares is None else correlation(rows, task.shares)
    counts = {key: sum(row[key] for row in by_paradigm) for key in ("ties", "failed")}
    return {"column": name, "score": score, "items": len(rows), **counts}


def correlation(rows: list[Row], shares: list[float]) -> float:
    """100 times Spearman's correlation of the model's preference for the first form with that of people."""
    from scipy.stats import spearmanr  # here: it takes a second

    kept = [
        (row["good"] - row["bad"], share)
        for row, share in zip(rows, shares, strict=True)
        if np.isfinite([row["good"], row["bad"]]).all()
    ]
    require(len(kept) > 1, "too few forms have a probability for a correlation; a search may have died: make it wider")
    return 100 * float(spearmanr(*zip(*kept, strict=True)).statistic)


def reading_columns(model: Any, widths: Widths) -> list[Row]:
    """Both scores, of all words and of words without a punctuation mark."""
    words = reading_words()
    words = with_word_before(words.assign(pred=surprisals_of(model, words, widths)))
    rows = []
    for which, some in {"": words, ", unmarked words": unmarked(words)}.items():
        failed = int(some["pred"].isna().sum())
        rows += [
            {"column": name + which, "score": score, "items": len(some), "failed": failed}
            for name, score in reading_scores(some).items()
        ]
    return rows
