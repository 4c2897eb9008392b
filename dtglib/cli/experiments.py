"""Commands about whole experiments: evaluate, jobs, reproduce.

dtglib evaluate --size mini --seeds 1 2 3 --out results/DATE-mini
dtglib jobs --size mini                         what the notebooks of the DTG paper need
dtglib reproduce --size mini                    run them; `--paper NAME`: those of another paper
"""

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from dtglib.basics.errors import UserError
from dtglib.basics.papers import papers
from dtglib.cli.options import Command, add_json, folder, print_table, seed
from dtglib.cli.together import is_first

A_YEAR = 366 * 24 * 60  # minutes


def _evaluate_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--size", default="mini", metavar="SIZE", help="a file in configs/ (default: mini)")
    sub.add_argument("--seeds", nargs="+", type=seed, default=[1], metavar="N", help="one or more (default: 1)")
    sub.add_argument("--models", nargs="+", metavar="NAME", help="some of them (default: all of the DTG paper)")
    about = "sentences, syntax, parsing, ablations, or what another paper evaluates (default: all)"
    sub.add_argument("--about", nargs="+", default=[], metavar="WHAT", help=about)
    questions = "some of the questions that ablations answer, such as parts (default: all)"
    sub.add_argument("--questions", nargs="+", default=[], metavar="NAME", help=questions)
    sub.add_argument("--out", required=True, type=folder, metavar="DIR", help="a new folder, such as results/DATE-SIZE")


def evaluate(options: argparse.Namespace) -> None:
    """Train and evaluate models, and write a record."""
    from dtglib.families.base import titles
    from dtglib.runs.recording import record_evaluation

    models = options.models or list(titles("dtg"))
    with TemporaryDirectory() as unread:
        # The other processes compute the same rows, and the record is the first one's.
        out = options.out if is_first() else Path(unread)
        record_evaluation(options.size, options.seeds, models, out, options.about, options.questions)
    print(f"{options.out}: recorded")


def _add_size(sub: argparse.ArgumentParser) -> None:
    size = "smoke, mini, open-small, open or paper: a file in configs/ (default: mini)"
    sub.add_argument("--size", default="mini", metavar="SIZE", help=size)


def _add_paper(sub: argparse.ArgumentParser) -> None:
    about = f"whose notebooks: {', '.join(paper.name for paper in papers() if paper.notebooks)}, or all (default: dtg)"
    sub.add_argument("--paper", default="dtg", metavar="NAME", help=about)


def _jobs_options(sub: argparse.ArgumentParser) -> None:
    _add_size(sub)
    _add_paper(sub)
    add_json(sub)


def jobs(options: argparse.Namespace) -> None:
    """List the jobs that a paper's notebooks need at a size."""
    from dtglib.basics.papers import papers_named
    from dtglib.runs.jobs import jobs_of

    found = [job for paper in papers_named(options.paper) for job in jobs_of(options.size, paper.name)]
    if options.json:
        print(json.dumps({"jobs": [{"job": job.name, "after": job.needs} for job in found]}, indent=2))
    elif found:
        print_table([{"job": job.name, "after": "; ".join(job.needs)} for job in found])
    else:
        print("the notebooks compute nothing in advance")


def _reproduce_options(sub: argparse.ArgumentParser) -> None:
    _add_size(sub)
    _add_paper(sub)
    sub.add_argument("--again", action="store_true", help="run all notebooks, even those that are up to date")
    sub.add_argument("--minutes", type=float, metavar="N", help="stop after so many; the same command then goes on")


def reproduce(options: argparse.Namespace) -> None:
    """Run the notebooks in their order."""
    from dtglib.runs.reproduce import reproduce

    if not find_spec("papermill"):
        raise UserError("papermill is not installed: run `pip install 'dtglib[notebooks]'`")
    if options.minutes is not None and not 1 / 60 <= options.minutes <= A_YEAR:
        raise UserError(f"--minutes: must be from a second's to a year's, not {options.minutes:g}")
    reproduce(options.size, options.paper, options.again, options.minutes)


COMMANDS = [
    Command(
        "evaluate",
        "train and evaluate all models of a size, and record it for the tables",
        _evaluate_options,
        evaluate,
    ),
    Command("jobs", "list what a paper's notebooks need trained and scored", _jobs_options, jobs),
    Command(
        "reproduce",
        "run the notebooks in order and keep them, executed, in runs/SIZE",
        _reproduce_options,
        reproduce,
    ),
]
