"""What the commands of `dtglib` do that ask a trained model: score, surprisal, suites, blimp and evaluate.

Imports stand inside of the functions, as in commands.py.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dtglib.commands import print_table, sentences_of
from dtglib.errors import UserError

# Not imported at run time, where annotations that name these are therefore not checked.
if TYPE_CHECKING:
    import numpy as np

    from dtglib.decode.beam import Widths
    from dtglib.model import Model


def score(options: argparse.Namespace) -> None:
    from dtglib.evaluate.perplexity import by_trees, exactly, perplexity
    from dtglib.progress import progress
    from dtglib.readings import SYSTEM_OF

    model = _model(options.model)
    sentences = [sentence.words for sentence in sentences_of(options)]
    if model.config.model in SYSTEM_OF:
        scores = by_trees(model, sentences, _proposed(options, model, sentences))
        scores = list(progress(scores, "scoring", "sentence", total=len(sentences)))
    else:
        _say_that_no_parser_is_asked(options, model.config.model)
        scores = exactly(model, sentences)
    total = perplexity(scores)
    totals = {**total._asdict(), "perplexity_per_piece": total.per_piece, "perplexity_per_word": total.per_word}
    if options.json:
        rows = [{"text": " ".join(words), **row._asdict()} for words, row in zip(sentences, scores, strict=True)]
        print(json.dumps({"sentences": list(map(_finite, rows)), "totals": _finite(totals)}, allow_nan=False))
        return
    print_table(
        [
            {
                "words": row.words, "pieces": row.pieces, "trees": row.trees, "log p": round(row.log_prob, 4),
                "best tree": " ".join(map(str, row.best or ())), "sentence": " ".join(words),
            }
            for words, row in zip(sentences, scores, strict=True)
        ]
    )  # fmt: skip
    print(f"\n{total.sentences} sentences, {total.words} words, {total.pieces} pieces, {total.nats:.3f} nats")
    kind = "at most " if model.config.model in SYSTEM_OF else ""
    print(f"perplexity: {kind}{total.per_piece:.3f} per piece, {kind}{total.per_word:.3f} per word, ends included")


def _finite(values: dict[str, object]) -> dict[str, object]:
    """JSON has no infinities: null stands for the log-probability of what cannot be."""
    return {key: None if isinstance(x, float) and not math.isfinite(x) else x for key, x in values.items()}


def _model(folder: Path) -> "Model":
    from dtglib.model import CONFIG_FILE, Model
    from dtglib.processes import device_at_hand

    if not (folder / CONFIG_FILE).exists():
        raise UserError(f"{folder}: holds no model; `dtglib train` makes one")
    return Model.load(folder, device_at_hand())


def surprisal(options: argparse.Namespace) -> None:
    from dtglib.progress import progress
    from dtglib.surprisal import UNITS, piece_frame, surprisals, word_frame

    sentences = _sentences_or_text(options)
    found = surprisals(_model(options.model), sentences, _widths(options))
    found = list(progress(found, "reading", "sentence", total=len(sentences)))
    for number, one in enumerate(found, start=1):
        if one.died is not None:
            word = [*one.words, "the end"][one.died]
            print(
                f"dtglib: sentence {number}: no hypothesis of the beam could take word {one.died + 1} ({word}), and "
                f"what comes after it is not known; ask for a wider --beam",
                file=sys.stderr,
            )
    if options.json:
        scale = UNITS[options.unit]
        rows = [
            {
                "words": one.words,
                "surprisals": _all_finite((one.of_words * scale).tolist()),
                "end": _all_finite([one.end * scale])[0],
                "known": one.known,
                "pieces": one.pieces,
                "surprisals_of_pieces": _all_finite((one.of_pieces * scale).tolist()),
                "died": one.died,
            }
            for one in found
        ]
        print(json.dumps({"unit": options.unit, "sentences": rows}, allow_nan=False))
        return
    frame = (piece_frame if options.pieces else word_frame)(found, options.unit)
    print_table(frame.round(4).to_dict("records"))


def _sentences_or_text(options: argparse.Namespace) -> list[Sequence[str]]:
    """The sentences of a file, or the one that stands on the command line."""
    from dtglib.text import tokenize

    if options.split or os.path.isfile(options.text):
        options.file = options.text
        return [sentence.words for sentence in sentences_of(options)]
    if not any(character.isspace() for character in options.text):
        raise UserError(f"{options.text!r} is no file, and without a space no sentence; of a corpus, name the --split")
    if not (words := tokenize(options.text)):
        raise UserError("the sentence has no words")
    return [words]


def suites(options: argparse.Namespace) -> None:
    from dtglib.evaluate.suites import as_tables, read_suites
    from dtglib.syntactic import suite_rows, suites_report

    vocabulary, tested = _model(options.model).vocabulary, read_suites(options.path)
    rows = suite_rows(options.model, tested, _widths(options))
    report = suites_report(tested, rows, vocabulary)
    about = {"model": str(options.model), **_widths(options)._asdict(), "averages": report["averages"]}
    tables = {name: report[name] for name in ("suites", "predictions", "circuits")}
    _tell(options, about, {**tables, **as_tables(tested, rows)})
    if options.json:
        return
    print_table(list(map(_percent, report["suites"])))
    others = [row for row in report["predictions"] if row["prediction"] > 1]
    for table in (others, report["circuits"]):
        if table:
            print()
            print_table(list(map(_percent, table)))
    print()
    for name, value in report["averages"].items():
        print(f"{name}: {100 * value:.1f}")
    print(
        "In percent. The first average is our primary one; no two of them can be compared. Unknown words are "
        "those that the vocabulary does not have, or can only spell byte by byte."
    )


def blimp(options: argparse.Namespace) -> None:
    from dtglib.evaluate.blimp import read_pairs
    from dtglib.readings import SYSTEM_OF
    from dtglib.syntactic import ByBeam, ByTrees, Exactly, pair_rows, pairs_report

    model, paradigms = _model(options.model), read_pairs(options.path, options.fraction)
    if model.config.model not in SYSTEM_OF:
        _say_that_no_parser_is_asked(options, model.config.model)
        way = Exactly()
    elif options.parser:
        way = ByTrees(options.parser, options.trees, options.method, options.seed)
    else:
        way = ByBeam(_widths(options))
    rows = pair_rows(options.model, paradigms, way)
    report = pairs_report(paradigms, rows, model.vocabulary)
    tables = {name: report.pop(name) for name in ("paradigms", "phenomena", "fields")}
    about = {"model": str(options.model), "log p": type(way).__name__, "fraction": options.fraction}
    _tell(options, {**about, **report}, {**tables, "pairs": rows})
    if options.json:
        return
    for table in tables.values():
        print_table(list(map(_percent, table)))
        print()
    print(f"mean of {len(paradigms)} paradigms: {100 * report['accuracy']:.1f}")
    print(
        f"{len(rows)} pairs; {report['ties']} ties, counted as wrong ({report['identical']} pairs are identical, "
        f"{report['alike']} are alike to the vocabulary); {report['failed']} with a sentence that has no probability"
    )


def _say_that_no_parser_is_asked(options: argparse.Namespace, name: str) -> None:
    if options.parser:
        print(f"dtglib: {name} has no trees; the parser is not asked", file=sys.stderr)


def _tell(options: argparse.Namespace, about: Mapping[str, Any], tables: Mapping[str, Sequence[dict]]) -> None:
    """All of it as JSON, on standard output if that is asked for; with --out also as tables in a folder."""
    import pandas as pd

    from dtglib.files import write_atomically

    whole = {**about, **{name: list(map(_finite, rows)) for name, rows in tables.items()}}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    if options.json:
        print(text)
    if options.out:
        with write_atomically(options.out / "report.json") as file:
            file.write(f"{text}\n")
        for name, rows in tables.items():
            with write_atomically(options.out / f"{name}.csv") as file:
                pd.DataFrame(rows).to_csv(file, index=False)


def _percent(row: Mapping[str, Any]) -> dict[str, Any]:
    """Shares as they are printed."""
    return {
        name: f"{100 * value:.1f}" if isinstance(value, float) else "" if value is None else value
        for name, value in row.items()
    }


def _all_finite(values: Sequence[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _widths(options: argparse.Namespace) -> "Widths":
    from dtglib.decode.beam import Widths

    return Widths(options.beam, options.beam, within=options.within)


def evaluate(options: argparse.Namespace) -> None:
    from dtglib.readings import READINGS
    from dtglib.recording import record_evaluation

    record_evaluation(options.size, options.seeds, options.models or list(READINGS), options.out, options.about)
    print(f"{options.out}: recorded")


def _proposed(options: argparse.Namespace, model: "Model", sentences: list[tuple[str, ...]]) -> Iterator["np.ndarray"]:
    """The trees over which a model with trees is summed."""
    from dtglib.proposals.parser import load_parser
    from dtglib.proposals.propose import METHODS, propose

    if not options.parser:
        raise UserError(f"{model.config.model} sums over trees, which a parser proposes; name one with --parser")
    parser = load_parser(options.parser)
    chosen = propose(parser, sentences, options.trees, METHODS[options.method], options.seed)
    return (trees.heads for trees in chosen)
