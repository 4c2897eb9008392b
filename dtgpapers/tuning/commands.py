"""The command that tunes a trained model for a task: tune.

dtglib tune configs/tuning/small.yaml --model txl-tokens-ud --graphs my-gilt --task sts-b --seeds 1 2 3 --out DIR
dtglib tune configs/tuning/udgn.yaml --model my-udgn --task sts-b --also sick sts12 --out DIR    tested on others, too
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from dtglib.cli.options import Command, add_settings, model_folder, new_folder, print_table, seed
from dtglib.cli.together import is_first

if TYPE_CHECKING:
    from dtglib.basics.record import Row


def _options(sub: argparse.ArgumentParser) -> None:
    add_settings(sub, "configs/tuning/small.yaml")
    model = "the trained model: its name (`dtglib models`), or its folder"
    sub.add_argument("--model", required=True, metavar="NAME", help=model)
    sub.add_argument("--task", required=True, metavar="TASK", help="sts-b, sick, sst-2, mrpc or rte")
    also = "other tasks of the same kind, whose test parts are answered by the networks that are tuned for TASK"
    sub.add_argument("--also", nargs="+", default=[], metavar="TASK", help=also)
    graphs = "a trained GiLT, which finds the graphs of the sentences; without it only plain tuning is tried"
    sub.add_argument("--graphs", metavar="NAME", help=graphs)
    sub.add_argument("--seeds", nargs="+", type=seed, default=[1], metavar="N", help="one or more (default: 1)")
    out = "a new folder for the record, such as results/DATE-tuning"
    sub.add_argument("--out", required=True, type=new_folder, metavar="DIR", help=out)


def tune(options: argparse.Namespace) -> None:
    """Tune a trained model for a task about sentences, with and without graphs."""
    from dtglib.basics.config import parse_override
    from dtglib.families.base import family_of, load_model
    from dtgpapers.tuning.tasks import task_named
    from dtgpapers.tuning.tuning import TuningRequest, record_tuning, ways_of
    from dtgpapers.tuning.ways import tunings

    overrides = dict(map(parse_override, options.set))
    graphs = None if options.graphs is None else model_folder(argparse.Namespace(model=options.graphs))
    also = tuple(map(task_named, options.also))
    request = TuningRequest(options.config, overrides, model_folder(options), graphs, task_named(options.task), also)
    if len(ways_of(request)) < len(tunings(family_of(load_model(request.model)).name)):
        print("dtglib: without --graphs, ways of tuning that read graphs are left out", file=sys.stderr)
    if "test" not in request.task.there():
        what = "has no judged test part here; scores are of dev, by which the models are chosen"
        print(f"dtglib: {request.task.name} {what}", file=sys.stderr)
    seeds = ", ".join(map(str, options.seeds))
    about = {"model": options.model, "text": request.task.name, "unit": "100 times each score", "seeds": seeds}
    with TemporaryDirectory() as unread:  # the other processes compute the same lines
        lines = record_tuning(request, options.seeds, options.out if is_first() else Path(unread))
    print_table([_in_short(line) for line in lines], about)
    print(f"{options.out}: recorded")


def _in_short(line: "Row") -> "Row":
    """A line of means as it is printed: scores in percent, with their standard deviations."""
    shown = {"tuned": line["title"], "on": line["on"], "items": line["items"], "seeds": line["seeds"]}
    for key, value in line.items():
        if f"{key}, sd" in line:
            spread = line[f"{key}, sd"]
            shown[key] = f"{100 * value:.1f}" + (f" ± {100 * spread:.1f}" if spread is not None else "")
    return shown


COMMANDS = [Command("tune", _options, tune)]
