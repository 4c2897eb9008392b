"""The commands about tools of the field: export, babylm.

dtglib export --model dtg-minilang --to hf OUT                       a folder that transformers of Hugging Face loads
dtglib babylm --model dtg-books --data evaluation_data/full_eval     the columns of BabyLM's leaderboard
"""

import argparse
import json
from pathlib import Path

from dtglib.basics.errors import require
from dtglib.cli.options import (
    WITHIN,
    Command,
    add_beam,
    add_json,
    add_model,
    conventions,
    count,
    finite,
    let_threads_sleep,
    model_folder,
    nats_or_none,
    print_conventions,
    print_table,
    require_searched,
    widths_from,
)
from dtglib.cli.together import is_first


def _export_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("out", type=Path, metavar="OUT", help="a new folder")
    add_model(sub)
    sub.add_argument("--to", choices=("hf",), default="hf", help="the format: hf, for transformers of Hugging Face")
    sub.add_argument("--beam", type=count, default=300, metavar="N", help="hypotheses that are kept (default: 300)")
    behind = f"drop hypotheses this many nats behind the sum of all (default: {WITHIN:g}; none: drop none for this)"
    sub.add_argument("--within", type=nats_or_none, default=WITHIN, metavar="NATS", help=behind)


def export(options: argparse.Namespace) -> None:
    """Write a model in the format of another tool."""
    from dtglib.decode.beam import Widths
    from dtgpapers.doors.hugging_face import export

    folder = model_folder(options)
    if is_first():
        export(folder, options.out, Widths(options.beam, options.beam, within=options.within))
        print(f"{options.out}: {folder.resolve().name}")


def _babylm_options(sub: argparse.ArgumentParser) -> None:
    add_model(sub)
    data = "the folder full_eval of the pipeline's data; with none, BLiMP and reading times of the data folder are used"
    sub.add_argument("--data", type=Path, metavar="DIR", help=data)
    share = "of the pairs of BLiMP and of its supplement: 0.1 takes every tenth"
    sub.add_argument("--fraction", type=float, default=1.0, metavar="F", help=share)
    add_beam(sub)
    add_json(sub)


def babylm(options: argparse.Namespace) -> None:
    """Test a model on zero-shot tasks of the BabyLM challenge of 2025."""
    let_threads_sleep()
    from dtgpapers.doors.babylm import UNITS, columns_of, not_measured, said_of, tasks_in

    tasks, folder, widths = tasks_in(options.data, options.fraction), model_folder(options), widths_from(options)
    require_searched(folder)
    rows = columns_of(folder, tasks, widths)
    require(rows, "no task of BabyLM is here: run `make data`, or name the folder of its pairs with --data")
    missing = not_measured(rows)
    stated = conventions(options, folder, "tasks of BabyLM 2025", UNITS) | said_of(tasks, options.fraction)
    if options.json:
        about = {"conventions": stated, "model": folder.name, **widths._asdict()}
        print(json.dumps({**about, "columns": list(map(finite, rows)), "not measured": missing}))
        return
    names = ("column", "score", "items", "ties", "failed")
    print_table([{name: row.get(name, "") for name in names} | {"score": round(row["score"], 2)} for row in rows])
    print()
    for name, reason in missing.items():
        print(f"not measured: {name}: {reason}")
    print_conventions(stated)


COMMANDS = [Command("export", _export_options, export), Command("babylm", _babylm_options, babylm)]
