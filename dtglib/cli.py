"""The command `dtglib`: what the package does, from a shell.

    dtglib corpora                                  the corpora that have a name
    dtglib stats minilang UD_English-EWT mine.conllu
    dtglib minilang --out DIR                       write the embedded corpus out as files
    dtglib data                                     fetch the public data
    dtglib structure --system arc-eager --words "There is a difference" --heads "2 0 4 2"
    dtglib train configs/mini.yaml --model dtg-eager --set seed=2 --out DIR
    dtglib reproduce --size mini                    run the notebooks

Results go to standard output, as a table or with `--json` as one JSON object; progress and complaints go to standard
error. A mistake of the user's is one line and exit status 2.
"""

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from dtglib import __version__
from dtglib.errors import UserError
from dtglib.progress import quiet


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is returned."""
    options = _parser().parse_args(arguments)
    silence = quiet() if getattr(options, "json", False) else contextlib.nullcontext()
    try:
        with silence:
            status = options.command(options) or 0
            print(end="", flush=True)
            return status
    except UserError as error:
        complaint = str(error)
    except KeyboardInterrupt as error:
        print(f"dtglib: {str(error) or 'interrupted'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _forget_output()
        return 141  # `dtglib stats ... | head`: the reader has enough
    except OSError as error:
        # What the disk or the system refuses, wherever it is met.
        complaint = f"{error.filename or 'writing the results'}: {error.strerror}"
        _forget_output()
    print(f"dtglib: {complaint}", file=sys.stderr)
    return 2


def _forget_output() -> None:
    """Let Python not try once more, at its own end, to write what could not be written."""
    if sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dtglib", description="Dependency Transformer Grammars.")
    parser.add_argument("--version", action="version", version=f"dtglib {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, command: Callable, what: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
        sub.set_defaults(command=command)
        return sub

    sub = add("corpora", _corpora, "list the corpora that have a name, and where they are")
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    sub = add("stats", _stats, "count sentences, words, trees and lengths of corpora and files")
    sub.add_argument("corpora", nargs="+", metavar="CORPUS_OR_PATH", help="a corpus by name, a file or a folder")
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    sub.add_argument("--skip-broken", action="store_true", help="leave broken sentences out and count them by reason")

    sub = add("minilang", _minilang, "write the embedded corpus: treebank, brackets, minimal pairs and suites")
    sub.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder to write into")
    sub.add_argument("--sentences", type=_count, metavar="N", help="of train (default: 20000); the rest in proportion")
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="another seed, other sentences (default: 0)")

    sub = add("data", _data, "fetch UD English, BLiMP and the SG suites into $DTG_DATA, checked and resumed")
    sub.add_argument("collections", nargs="*", metavar="NAME", help="ud-english, blimp, sg (default: all)")

    sub = add("structure", _structure, "show what every position of a sentence sees, in a transition system")
    sub.add_argument("--system", required=True, metavar="NAME", help="arc-standard, arc-hybrid, arc-eager or arc-swift")
    sub.add_argument("--words", required=True, metavar="WORDS", help='the sentence, as in "There is a difference"')
    sub.add_argument(
        "--heads", required=True, metavar="HEADS", help='the head of each word, from 1; 0 is ROOT: "2 0 4 2"'
    )
    sub.add_argument(
        "--pieces", metavar="COUNTS", help='into how many pieces each word is cut: "1 1 1 2" (default: one)'
    )
    form = sub.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    form.add_argument("--svg", type=Path, metavar="FILE", help="the mask as a picture")

    sub = add("train", _train, "train a model, or go on with one whose training was stopped")
    sub.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file, such as configs/mini.yaml")
    sub.add_argument("--model", metavar="NAME", help="dtg, dtg-eager, dtg-swift, txl-trans or txl-tokens")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another value for a key")
    sub.add_argument(
        "--out", required=True, type=_folder, metavar="DIR", help="the folder for the model and its record"
    )

    sub = add("reproduce", _reproduce, "run the notebooks in order and keep them, executed, in runs/SIZE")
    sub.add_argument(
        "--size", default="mini", metavar="SIZE", help="smoke, mini, open or paper: a file in configs/ (default: mini)"
    )
    sub.add_argument("--again", action="store_true", help="run what is up to date, too")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of sentences")
    return int(text)


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("no folder is named; is a variable empty?")
    return Path(text)


def print_table(rows: Sequence[dict[str, object]]) -> None:
    """Rows with the same keys as aligned columns, numbers to the right."""
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        side = ">" if all(isinstance(value, int | float) for value in values) else "<"
        width = max(len(str(value)) for value in [name, *values])
        columns.append([f"{value!s:{side}{width}}" for value in [name, *values]])
    for line in zip(*columns, strict=True):
        print("  ".join(line).rstrip())


# The commands. Their imports stand inside: `dtglib --version` need not wait for NumPy.


def _corpora(options: argparse.Namespace) -> None:
    from dtglib.corpora import corpora

    rows = [corpus._asdict() for corpus in corpora()]
    if options.json:
        print(json.dumps({"corpora": rows}, indent=2))
    else:
        print_table(rows)


def _stats(options: argparse.Namespace) -> None:
    from dtglib.corpora import load, splits
    from dtglib.stats import row_of, stats_of

    found = [
        (name, split, stats_of(load(name, split, strict=not options.skip_broken)))
        for name in options.corpora
        for split in splits(name)
    ]
    if options.json:
        print(json.dumps({"stats": [{"corpus": c, "split": s, **asdict(stats)} for c, s, stats in found]}, indent=2))
        return
    print_table([{"corpus": name, "split": split, **row_of(stats)} for name, split, stats in found])


def _minilang(options: argparse.Namespace) -> None:
    from dtglib.minilang import write

    for path, what in write(options.out, options.sentences, options.seed):
        print(f"{path}  {what}")


def _data(options: argparse.Namespace) -> int:
    from dtglib.download import COLLECTIONS, FAILED, fetch, summary

    results = fetch(options.collections or COLLECTIONS)
    print(summary(results))
    return 1 if any(result.outcome == FAILED for result in results) else 0


def _structure(options: argparse.Namespace) -> None:
    from dtglib.show import as_json, as_rows, numbers, show

    pieces = None if options.pieces is None else numbers(options.pieces, "pieces")
    seen = show(options.system, options.words.split(), numbers(options.heads, "heads"), pieces)
    if options.json:
        print(json.dumps(as_json(seen)))
    elif options.svg:
        if options.svg.is_dir():
            raise UserError(f"--svg: {options.svg} is a folder; name a file in it")
        from dtglib.files import write_atomically
        from dtglib.plot import Labelled, draw_mask

        picture = draw_mask(Labelled(seen.inputs, seen.kinds, seen.visible, seen.relpos), options.system)
        with write_atomically(options.svg) as file:
            file.write(picture._repr_svg_())
    else:
        print("actions:", *seen.actions)
        print_table(as_rows(seen))


def _train(options: argparse.Namespace) -> None:
    from dtglib.config import parse_override
    from dtglib.experiment import prepare, read_settings, train_into
    from dtglib.record import read_record

    overrides = dict(map(parse_override, options.set))
    if options.model:
        overrides["model"] = options.model
    settings = read_settings(options.config, overrides)
    prepared = prepare(settings)
    speaks = os.environ.get("RANK", "0") == "0"  # one of the processes that torchrun starts
    if speaks:
        print(f"train: {prepared.train.summary}\ndev: {prepared.dev.summary}", flush=True)
    train_into(settings, prepared, options.out)
    if speaks:
        best = min(line["nats_per_transition"] for line in read_record(options.out).metrics if line["part"] == "dev")
        print(f"{options.out}: {best:.4f} nats a transition on dev, at its best")


def _reproduce(options: argparse.Namespace) -> None:
    from dtglib.reproduce import reproduce

    reproduce(options.size, again=options.again)
