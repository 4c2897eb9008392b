"""The command `dtglib`: what the package does, from a shell.

    dtglib corpora                                  the corpora that have a name
    dtglib stats minilang UD_English-EWT mine.conllu
    dtglib minilang --out DIR                       write the embedded corpus out as files
    dtglib data                                     fetch the public data
    dtglib structure --system arc-eager --words "There is a difference" --heads "2 0 4 2"
    dtglib train configs/mini.yaml --model dtg-eager --set seed=2 --out DIR
    dtglib train-parser configs/parsers/strong.yaml --out DIR
    dtglib parse --parser DIR mine.txt --out mine.conllu
    dtglib trees --parser DIR mine.txt -k 300       the trees that a parser proposes
    dtglib score --model DIR --parser DIR mine.txt  log p of each sentence, perplexities of all
    dtglib surprisal --model DIR "The keys to the cabinet are on the table ."
    dtglib suites --model DIR                       the SG test suites; or `suites --model DIR minilang`
    dtglib blimp --model DIR --fraction 0.1         minimal pairs
    dtglib evaluate --size mini --seeds 1 2 3 --out results/DATE-mini
    dtglib reproduce --size mini                    run the notebooks

Results go to standard output, as a table or with `--json` as one JSON object; progress and complaints go to standard
error. A mistake of the user's is one line and exit status 2.
"""

import argparse
import contextlib
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from dtglib import __version__, commands, model_commands
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
    except MemoryError:
        complaint = "there is not enough memory for this; ask for less at once"
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
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, command: Callable, what: str) -> argparse.ArgumentParser:
        sub = subparsers.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
        sub.set_defaults(command=command)
        return sub

    sub = add("corpora", commands.corpora, "list the corpora that have a name, and where they are")
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    sub = add("stats", commands.stats, "count sentences, words, trees and lengths of corpora and files")
    sub.add_argument("corpora", nargs="+", metavar="CORPUS_OR_PATH", help="a corpus by name, a file or a folder")
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    sub.add_argument("--skip-broken", action="store_true", help="leave broken sentences out and count them by reason")

    sub = add("minilang", commands.minilang, "write the embedded corpus: treebank, brackets, minimal pairs and suites")
    sub.add_argument("--out", required=True, type=Path, metavar="DIR", help="the folder to write into")
    sub.add_argument("--sentences", type=_count, metavar="N", help="of train (default: 20000); the rest in proportion")
    sub.add_argument("--seed", type=int, default=0, metavar="N", help="another seed, other sentences (default: 0)")

    sub = add("data", commands.data, "fetch UD English, BLiMP and the SG suites into $DTG_DATA, checked and resumed")
    sub.add_argument("collections", nargs="*", metavar="NAME", help="ud-english, blimp, sg (default: all)")

    sub = add("structure", commands.structure, "show what every position of a sentence sees, in a transition system")
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

    sub = add("train", commands.train, "train a model, or go on with one whose training was stopped")
    sub.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file, such as configs/mini.yaml")
    sub.add_argument("--model", metavar="NAME", help="dtg, dtg-eager, dtg-swift, txl-trans or txl-tokens")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another value for a key")
    sub.add_argument(
        "--out", required=True, type=_folder, metavar="DIR", help="the folder for the model and its record"
    )

    sub = add("train-parser", commands.train_parser, "train a parser, or go on with one whose training was stopped")
    sub.add_argument("config", type=Path, metavar="CONFIG", help="a YAML file, such as configs/parsers/strong.yaml")
    sub.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="another value for a key")
    sub.add_argument(
        "--out", required=True, type=_folder, metavar="DIR", help="the folder for the parser and its record"
    )

    sub = add("parse", commands.parse, "give the sentences of a file their best projective trees")
    _add_sentences(sub)
    sub.add_argument("--parser", required=True, metavar="DIR", help=PARSER_HELP)
    sub.add_argument("--out", required=True, type=Path, metavar="FILE", help="the CoNLL-U file to write")

    sub = add("trees", commands.trees, "list the trees that a parser proposes for the sentences of a file")
    _add_sentences(sub)
    sub.add_argument("--parser", required=True, metavar="DIR", help=PARSER_HELP)
    sub.add_argument("-k", "--trees", type=_count, default=300, metavar="K", help="of a sentence (default: 300)")
    _add_choice_of_trees(sub)
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    sub = add("score", model_commands.score, "score the sentences of a file: log p of each, perplexities of all")
    _add_sentences(sub)
    sub.add_argument("--model", required=True, type=Path, metavar="DIR", help="the folder of a trained model")
    sub.add_argument("--parser", metavar="DIR", help=f"{PARSER_HELP}; not needed for txl-tokens")
    sub.add_argument("--trees", type=_count, default=300, metavar="K", help="of a sentence (default: 300)")
    _add_choice_of_trees(sub)
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    sub = add("surprisal", model_commands.surprisal, "tell how surprising each word of a sentence, or of a file, is")
    sub.add_argument("text", metavar="SENTENCE_OR_FILE", help='"The keys to the cabinet are on the table ."')
    _add_which_sentences(sub)
    sub.add_argument("--model", required=True, type=Path, metavar="DIR", help="the folder of a trained model")
    _add_beam(sub)
    sub.add_argument("--unit", choices=("nats", "bits"), default="nats", help="of surprisal (default: nats)")
    sub.add_argument("--pieces", action="store_true", help="a row a piece instead of a row a word")
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")

    sub = add("suites", model_commands.suites, "test a model on test suites in SyntaxGym's format")
    sub.add_argument("path", nargs="?", metavar="PATH", help="a folder or file of suites, or `minilang` (default: SG)")
    sub.add_argument("--model", required=True, type=Path, metavar="DIR", help="the folder of a trained model")
    _add_beam(sub)
    _add_report(sub)

    sub = add("blimp", model_commands.blimp, "test a model on minimal pairs in BLiMP's format")
    sub.add_argument(
        "path", nargs="?", metavar="PATH", help="a folder or file of pairs, or `minilang` (default: BLiMP)"
    )
    sub.add_argument("--model", required=True, type=Path, metavar="DIR", help="the folder of a trained model")
    sub.add_argument("--fraction", type=float, default=1.0, metavar="F", help="of the pairs: 0.1 takes each tenth")
    sub.add_argument(
        "--parser", metavar="DIR", help=f"{PARSER_HELP}; its trees are summed over instead of a beam search"
    )
    sub.add_argument("--trees", type=_count, default=300, metavar="K", help="of a sentence (default: 300)")
    _add_choice_of_trees(sub)
    _add_beam(sub)
    _add_report(sub)

    sub = add(
        "evaluate", model_commands.evaluate, "train and evaluate all models of a size, and record it for the tables"
    )
    sub.add_argument("--size", default="mini", metavar="SIZE", help="a file in configs/ (default: mini)")
    sub.add_argument("--seeds", nargs="+", type=_seed, default=[1], metavar="N", help="one or more (default: 1)")
    sub.add_argument("--models", nargs="+", metavar="NAME", help="some of the five (default: all)")
    sub.add_argument(
        "--about", nargs="+", default=[], metavar="WHAT", help="sentences, syntax, parsing, ablations (default: all)"
    )
    sub.add_argument(
        "--out", required=True, type=_folder, metavar="DIR", help="a new folder, such as results/DATE-SIZE"
    )

    sub = add("reproduce", commands.reproduce, "run the notebooks in order and keep them, executed, in runs/SIZE")
    sub.add_argument(
        "--size",
        default="mini",
        metavar="SIZE",
        help="smoke, mini, open-small, open or paper: a file in configs/ (default: mini)",
    )
    sub.add_argument("--again", action="store_true", help="run what is up to date, too")
    sub.add_argument("--scripts", action="store_true", help="run the .py halves, which need no Jupyter")
    sub.add_argument("--minutes", type=float, metavar="N", help="stop after so many; the same command then goes on")
    return parser


MOST = 10_000_000  # of anything that is counted
PARSER_HELP = "the folder of a trained parser, a file of supar's, or the name of one that supar publishes"


def _add_sentences(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("file", metavar="FILE", help="CoNLL-U, brackets, or raw text, one sentence a line; or a corpus")
    _add_which_sentences(sub)


def _add_which_sentences(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--split", metavar="NAME", help="of a corpus that has several: train, dev or test")
    sub.add_argument("--sentences", type=_count, metavar="N", help="the first so many (default: all)")


def _add_beam(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--beam", type=_count, default=300, metavar="N", help="hypotheses that are kept (default: 300)")
    behind = "drop hypotheses so far behind the best; 8 makes a search several times as fast (default: none)"
    sub.add_argument("--within", type=_nats, metavar="NATS", help=behind)


def _add_report(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--out", type=_folder, metavar="DIR", help="write report.json and all tables (CSV) there, too")
    sub.add_argument("--json", action="store_true", help="one JSON object instead of tables")


def _add_choice_of_trees(sub: argparse.ArgumentParser) -> None:
    choice = "drawn without replacement, as in the paper, or the most probable ones (default: sample)"
    sub.add_argument("--method", choices=("sample", "best"), default="sample", help=choice)
    sub.add_argument("--seed", type=_seed, default=1, metavar="N", help="of what is drawn (default: 1)")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST}")
    return int(text)


def _nats(text: str) -> float:
    try:
        if 0 <= float(text) < math.inf:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("no folder is named; is a variable empty?")
    return Path(text)
