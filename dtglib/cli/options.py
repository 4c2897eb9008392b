"""The parts that commands share: the declaration of a command, common options, printed tables.

    COMMANDS = [Command("corpora", "list the corpora that have a name", _options, run)]

A module of commands imports nothing at its top that takes long: `dtglib --help` must not wait for NumPy or PyTorch.
"""

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dtglib.basics.errors import UserError

# Imported by type checkers only (see above), so annotations that name these are not checked in tests.
if TYPE_CHECKING:
    from dtglib.data.treebank import Sentence
    from dtglib.decode.beam import Widths


class Command(NamedTuple):
    """A command of `dtglib`: its options are added to a parser, and `run` is called with their values."""

    name: str
    what: str  # what it does, in a line
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]


# ---- Options


MOST = 10_000_000  # the largest count that an option takes
PARSER_HELP = "the folder of a trained parser, a file of supar's, or the name of one that supar publishes"


def add_json(sub: argparse._ActionsContainer) -> None:
    """The option for JSON instead of a table."""
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def add_sentences(sub: argparse.ArgumentParser) -> None:
    """The argument that names a file or a corpus; see `sentences_of`."""
    sub.add_argument("file", metavar="FILE", help="CoNLL-U, brackets, or raw text, one sentence a line; or a corpus")
    add_which_sentences(sub)


def add_which_sentences(sub: argparse.ArgumentParser) -> None:
    """Options that select some of the sentences."""
    sub.add_argument("--split", metavar="NAME", help="the part of a corpus: train, dev or test")
    sub.add_argument("--sentences", type=count, metavar="N", help="only the first N sentences (default: all)")


def add_model(sub: argparse.ArgumentParser) -> None:
    """The option that names a model."""
    sub.add_argument("--model", required=True, type=Path, metavar="DIR", help="the folder of a trained model")


def add_beam(sub: argparse.ArgumentParser) -> None:
    """Options for the widths of a search; see `widths_from`."""
    sub.add_argument("--beam", type=count, default=300, metavar="N", help="hypotheses that are kept (default: 300)")
    behind = "drop hypotheses so far behind the best; 8 makes a search several times as fast (default: none)"
    sub.add_argument("--within", type=nats, metavar="NATS", help=behind)


def add_trees(sub: argparse.ArgumentParser, *flags: str) -> None:
    """Options for the number of trees per sentence, and the method that chooses them."""
    sub.add_argument(*flags, "--trees", type=count, default=300, metavar="K", help="trees per sentence (default: 300)")
    choice = "drawn without replacement, as in the paper, or the most probable ones (default: sample)"
    sub.add_argument("--method", choices=("sample", "best"), default="sample", help=choice)
    sub.add_argument("--seed", type=seed, default=1, metavar="N", help="of what is drawn (default: 1)")


def add_settings(sub: argparse.ArgumentParser, example: str) -> None:
    """Arguments of training: a config file, values that replace some of its own, and a folder."""
    sub.add_argument("config", type=Path, metavar="CONFIG", help=f"a YAML file, such as {example}")
    sub.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="replace a value of the config file"
    )


def count(text: str) -> int:
    """An option's value: a number from 1 on."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST}")
    return int(text)


def nats(text: str) -> float:
    """An option's value: a finite number that is not negative."""
    try:
        if 0 <= float(text) < math.inf:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")


def seed(text: str) -> int:
    """An option's value: a whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def folder(text: str) -> Path:
    """An option's value: a folder, which need not exist yet."""
    if not text:
        raise argparse.ArgumentTypeError("no folder is named; is a variable empty?")
    return Path(text)


# ---- From options to what they name


def sentences_of(options: argparse.Namespace) -> list["Sentence"]:
    """The selected sentences; the number of those left out is reported."""
    from dtglib.data.corpora import load

    treebank = load(options.file, options.split, options.sentences)
    for reason, number in treebank.excluded.items():
        print(f"dtglib: {options.file}: {number} left out: {reason}", file=sys.stderr)
    if not treebank.sentences:
        raise UserError(f"{options.file}: holds no sentence")
    return treebank.sentences


def model_of(options: argparse.Namespace) -> Any:
    """The model of a command, on a GPU if there is one."""
    from dtglib.families.base import load_model
    from dtglib.network.transformer import CONFIG_FILE
    from dtglib.training.distributed import device_at_hand

    if not (options.model / CONFIG_FILE).exists():
        raise UserError(f"{options.model}: holds no model; `dtglib train` makes one")
    return load_model(options.model, device_at_hand())


def searched_model_of(options: argparse.Namespace) -> Any:
    """The model of a command that searches; a model that cannot be searched is an error."""
    from dtglib.families.base import family_of

    model = model_of(options)
    if not family_of(model).is_searched:
        raise UserError(f"{family_of(model).title} has no left-to-right probabilities, which this command needs")
    return model


def widths_from(options: argparse.Namespace) -> "Widths":
    """The widths of a beam search."""
    from dtglib.decode.beam import Widths

    return Widths(options.beam, options.beam, within=options.within)


# ---- Output


def print_table(rows: Sequence[Mapping[str, object]]) -> None:
    """Print rows with the same keys as aligned columns, with numbers to the right."""
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        side = ">" if all(isinstance(value, int | float) for value in values) else "<"
        width = max(len(str(value)) for value in [name, *values])
        columns.append([f"{value!s:{side}{width}}" for value in [name, *values]])
    for line in zip(*columns, strict=True):
        print("  ".join(line).rstrip())


def finite(values: Mapping[str, object]) -> dict[str, object]:
    """A number for JSON, which has no infinities: the log-probability of an impossible event becomes null."""
    return {key: None if isinstance(x, float) and not math.isfinite(x) else x for key, x in values.items()}


def say_that_no_parser_is_asked(options: argparse.Namespace, name: str) -> None:
    """Report on standard error that an option has no effect."""
    if options.parser:
        print(f"dtglib: {name} has no trees; the parser is not asked", file=sys.stderr)
