"""Commands about whole experiments: evaluate, reproduce.

dtglib evaluate --size mini --seeds 1 2 3 --out results/DATE-mini
dtglib reproduce                                the notebooks of the DTG paper; `--paper NAME`: those of another paper
"""

import argparse
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

from dtglib.basics.papers import papers
from dtglib.cli.options import Command, new_folder, seed
from dtglib.cli.together import is_first


def _evaluate_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--size", default="mini", metavar="SIZE", help="a file in configs/ (default: mini)")
    sub.add_argument("--seeds", nargs="+", type=seed, default=[1], metavar="N", help="one or more (default: 1)")
    sub.add_argument("--models", nargs="+", metavar="NAME", help="some of them (default: all of the DTG paper)")
    about = "sentences, syntax, parsing, ablations, or what another paper evaluates (default: all)"
    sub.add_argument("--about", nargs="+", default=[], metavar="WHAT", help=about)
    questions = "some of the questions that ablations of --models answer, such as 'output layer' (default: all)"
    sub.add_argument("--questions", nargs="+", default=[], metavar="NAME", help=questions)
    sub.add_argument("--out", required=True, type=new_folder, metavar="DIR", help="a new folder, as results/DATE-SIZE")


def evaluate(options: argparse.Namespace) -> None:
    """Train and evaluate models of a size, and record the results for the tables."""
    from dtglib.families.base import family, titles
    from dtglib.runs.recording import record_evaluation

    # Of the models that are meant by default only some are asked questions.
    models = options.models or [name for name in titles("dtg") if family(name).questions or not options.questions]
    with TemporaryDirectory() as unread:
        # The other processes compute the same rows, and the record is the first one's.
        out = options.out if is_first() else Path(unread)
        record_evaluation(options.size, options.seeds, models, out, options.about, options.questions)
    print(f"{options.out}: recorded")


def _reproduce_options(sub: argparse.ArgumentParser) -> None:
    size = "a file in configs/, such as smoke, short, mini or open (default: short for DTG, else mini)"
    sub.add_argument("--size", metavar="SIZE", help=size)
    named = ", ".join(paper.name for paper in papers() if paper.notebooks)
    sub.add_argument("--paper", default="dtg", metavar="NAME", help=f"whose notebooks: {named}, or all (default: dtg)")
    sub.add_argument("--again", action="store_true", help="run all notebooks, even those that are up to date")


def reproduce(options: argparse.Namespace) -> None:
    """Run the notebooks, and keep them in runs/SIZE."""
    import papermill  # noqa: F401  so that its absence is noticed before models are trained

    from dtglib.runs.reproduce import reproduce

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a batch system, or `timeout`, stops this as Ctrl-C does
    try:
        size = options.size or ("short" if options.paper == "dtg" else "mini")
        reproduce(size, options.paper, options.again)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; the same command goes on") from None


COMMANDS = [Command("evaluate", _evaluate_options, evaluate), Command("reproduce", _reproduce_options, reproduce)]
