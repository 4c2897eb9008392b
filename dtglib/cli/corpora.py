"""Commands about data: corpora, stats, data.

dtglib corpora                                  the corpora that have a name
dtglib stats minilang UD_English-EWT mine.conllu
dtglib data                                     fetch the public data
"""

import argparse
import json
from dataclasses import asdict

from dtglib.basics.papers import papers
from dtglib.cli.options import Command, add_json, print_table


def corpora(options: argparse.Namespace) -> None:
    """List the corpora that have a name, and where they are."""
    from dtglib.data.corpora import corpora

    rows = [corpus._asdict() for corpus in corpora()]
    if options.json:
        print(json.dumps({"corpora": rows}, indent=2))
    else:
        print_table(rows)


def _stats_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("corpora", nargs="+", metavar="CORPUS_OR_PATH", help="a corpus by name, a file or a folder")
    add_json(sub)


def stats(options: argparse.Namespace) -> None:
    """Count sentences, words, trees and lengths of corpora and files."""
    from dtglib.data.corpora import blocks, splits
    from dtglib.data.statistics import row_of, stats_of_blocks

    counted = [
        (name, split, stats_of_blocks(blocks(name, split))) for name in options.corpora for split in splits(name)
    ]
    for check in filter(None, (paper.part("checks") for paper in papers())):
        for name in options.corpora:
            check(name)
    if options.json:
        print(json.dumps({"stats": [{"corpus": c, "split": s, **asdict(stats)} for c, s, stats in counted]}, indent=2))
        return
    print_table([{"corpus": name, "split": split, **row_of(stats)} for name, split, stats in counted])


def _data_options(sub: argparse.ArgumentParser) -> None:
    names = "ud-english, blimp, sg, reading (default: these), nltk, or a paper's"
    sub.add_argument("collections", nargs="*", metavar="NAME", help=names)


def data(options: argparse.Namespace) -> int:
    """Fetch UD English, BLiMP, the SG suites and reading times into $DTG_DATA, and check them."""
    from dtglib.data.downloads import COLLECTIONS, FAILED, fetch, summary

    results = fetch(options.collections or COLLECTIONS)
    print(summary(results))
    return 1 if any(result.outcome == FAILED for result in results) else 0


COMMANDS = [
    Command("corpora", add_json, corpora),
    Command("stats", _stats_options, stats),
    Command("data", _data_options, data),
]
