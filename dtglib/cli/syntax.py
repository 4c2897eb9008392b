"""Commands that test what a model knows of syntax: suites, blimp.

dtglib suites                                   the SG test suites, or minilang's where they are not at hand
dtglib blimp --model DIR --fraction 0.1         minimal pairs
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from dtglib.cli.options import (
    PARSER_HELP,
    Command,
    add_beam,
    add_json,
    add_model,
    add_trees,
    conventions,
    finite,
    model_folder,
    new_folder,
    note_unread_parser,
    print_conventions,
    print_table,
    require_searched,
    widths_from,
)
from dtglib.cli.together import is_first


def _suites_options(sub: argparse.ArgumentParser) -> None:
    path = "a folder or file of suites, or `minilang` (default: SG, or minilang's if SG is not in the data folder)"
    sub.add_argument("path", nargs="?", metavar="PATH", help=path)
    add_model(sub)
    add_beam(sub)
    _add_report(sub)


def suites(options: argparse.Namespace) -> None:
    """Test a model on test suites in SyntaxGym's format."""
    from dtglib.data.vocabulary import Vocabulary
    from dtglib.evaluate.reports import suites_report
    from dtglib.evaluate.suites import as_tables, read_suites
    from dtglib.runs.syntax_scores import suite_rows

    path = _path_or_default(options.path, "sg")
    tested, folder = read_suites(path), model_folder(options, path)
    require_searched(folder)
    rows = suite_rows(folder, tested, widths_from(options))
    report = suites_report(tested, rows, Vocabulary.load(folder))
    stated = conventions(options, folder, path or "sg", "percent of the items")
    stated["end"] = "the last region of a formula"
    about = {"conventions": stated, "model": options.model or folder.name, **widths_from(options)._asdict()}
    tables = {name: report[name] for name in ("suites", "predictions", "circuits")}
    _write_report(options, {**about, "averages": report["averages"]}, {**tables, **as_tables(tested, rows)})
    if options.json:
        return
    print_table(list(map(_percent, report["suites"])))
    others = [row for row in report["predictions"] if row["prediction"] > 1]
    for table in (others, report["circuits"]):
        if table:
            print()
            print_table(list(map(_percent, table)))
    print()
    for average, value in report["averages"].items():
        print(f"{average}: {100 * value:.1f}")
    primary = "The first average is our primary one; no two of them can be compared. " if report["circuits"] else ""
    print(f"In percent. {primary}Unknown words are not in the vocabulary, or can only be spelled byte by byte.")
    print_conventions(stated)


def _blimp_options(sub: argparse.ArgumentParser) -> None:
    path = "a folder or file of pairs, or `minilang` (default: BLiMP, or minilang's if BLiMP is not in the data folder)"
    sub.add_argument("path", nargs="?", metavar="PATH", help=path)
    add_model(sub)
    sub.add_argument("--fraction", type=float, default=1.0, metavar="F", help="of the pairs: 0.1 takes every tenth")
    parser = f"{PARSER_HELP}; its trees are summed over instead of a beam search"
    sub.add_argument("--parser", metavar="NAME", help=parser)
    add_trees(sub)
    add_beam(sub)
    _add_report(sub)


def blimp(options: argparse.Namespace) -> None:
    """Test a model on minimal pairs in BLiMP's format."""
    from dtglib.data.vocabulary import Vocabulary
    from dtglib.evaluate.blimp import read_pairs
    from dtglib.evaluate.reports import pairs_report
    from dtglib.evaluate.ways import ByTrees
    from dtglib.families.base import family, family_name_in
    from dtglib.runs.syntax_scores import named, pair_rows, without_parser

    path = _path_or_default(options.path, "blimp")
    paradigms, folder = read_pairs(path, options.fraction), model_folder(options, path)
    kind = family(family_name_in(folder))
    note_unread_parser(options, kind)
    if options.parser is not None and kind.likelihood.sums_over_trees:
        way = ByTrees(options.parser, options.trees, options.method, options.seed)
    else:
        way = without_parser(kind, widths_from(options))
    rows = pair_rows(folder, paradigms, way)
    report = pairs_report(paradigms, rows, Vocabulary.load(folder))
    tables = {name: report.pop(name) for name in ("paradigms", "phenomena", "fields")}
    stated = conventions(options, folder, path or "blimp", "percent of the pairs", way.parser) | {"ties": "wrong"}
    about = {"conventions": stated, "model": options.model or folder.name, "log p": named(kind, way)}
    _write_report(options, {**about, "fraction": options.fraction, **report}, {**tables, "pairs": rows})
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
    print_conventions(stated)


def _path_or_default(path: str | None, public: str) -> str | None:
    """The path of the test set; if none is named, the public one or, if that is missing, minilang's."""
    from dtglib.data.registry import checksum_of, data_folder

    if path is None and not (data_folder() / public).is_dir():
        where = data_folder() / public
        print(f"dtglib: with minilang's, because there is no {where} (`make data` fetches it)", file=sys.stderr)
        return "minilang"
    if path is None and checksum_of(public) is None:
        print(f"dtglib: {data_folder() / public} lacks some files (`make data` fetches them)", file=sys.stderr)
    return path


def _add_report(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--out", type=new_folder, metavar="DIR", help="write report.json and all tables (CSV) there, too")
    add_json(sub)


def _write_report(options: argparse.Namespace, about: Mapping[str, Any], tables: Mapping[str, Sequence[dict]]) -> None:
    """Write the report: with --json to standard output, with --out as JSON and as tables into a folder."""
    from dtglib.basics.files import write_atomically

    whole = {**about, **{name: list(map(finite, rows)) for name, rows in tables.items()}}
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)
    if options.json:
        print(text)
    if options.out and is_first():
        import pandas as pd

        for name, rows in tables.items():
            if not rows:  # pandas cannot read an empty table
                (options.out / f"{name}.csv").unlink(missing_ok=True)
            else:
                with write_atomically(options.out / f"{name}.csv") as file:
                    pd.DataFrame(rows).to_csv(file, index=False)
        with write_atomically(options.out / "report.json") as file:
            file.write(f"{text}\n")


def _percent(row: Mapping[str, Any]) -> dict[str, Any]:
    """Shares as percentages."""
    return {
        name: f"{100 * value:.1f}" if isinstance(value, float) else "" if value is None else value
        for name, value in row.items()
    }


COMMANDS = [Command("suites", _suites_options, suites), Command("blimp", _blimp_options, blimp)]
