"""The parts that commands share: the declaration of a command, common options, printed tables.

    COMMANDS = [Command("corpora", _options, corpora)]

A module of commands imports nothing at its top that takes long: `dtglib --help` must not wait for NumPy or PyTorch.
"""

import argparse
import contextlib
import math
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dtglib.basics.errors import UserError, did_you_mean, require

# Imported by type checkers only (see above), so annotations that name these are not checked in tests.
if TYPE_CHECKING:
    from dtglib.data.treebank import Sentence
    from dtglib.decode.beam import Widths
    from dtglib.families.base import Family


class Command(NamedTuple):
    """A command of `dtglib`: its options are added to a parser, and `run` is called with their values.

    The first line of the docstring of `run` is its description in `dtglib --help`.
    """

    name: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int | None]


# ---- Options


MOST = 10_000_000  # the largest count that an option takes
PARSER_HELP = "a parser's name (`dtglib models`), its folder, or supar's file or published name"
WITHIN = 12.0  # nats: a search is then several times as fast; what that costs is in benchmarks/records


def let_threads_sleep() -> None:
    """Let PyTorch's threads sleep while they have no work; to be called before PyTorch is imported.

    Otherwise they wait in a loop between two products. In a search, whose products are small, they would only take the
    processors from each other and from other programs: on a busy machine a sentence took four times as long.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def add_json(sub: argparse._ActionsContainer) -> None:
    """The option for JSON instead of a table."""
    sub.add_argument("--json", action="store_true", help="one JSON object instead of a table")


def add_sentences(sub: argparse.ArgumentParser) -> None:
    """The argument that holds a sentence, or names a file or a corpus; see `sentences_of`."""
    what = (
        "a sentence in quotes (a single word with its full stop), or a file: CoNLL-U, brackets, or text with a "
        "sentence a line; or a corpus"
    )
    sub.add_argument("text", metavar="SENTENCE_OR_FILE", help=what)
    sub.add_argument("--split", metavar="NAME", help="the part of a corpus, such as dev or test")
    sub.add_argument("--sentences", type=count, metavar="N", help="only the first N sentences (default: all)")


def add_model(sub: argparse.ArgumentParser, default: str = "dtg-books; for minilang, dtg-minilang") -> None:
    """The option that names a model; see `model_folder`."""
    what = f"a model's name (`dtglib models`), or the folder of a trained one (default: {default})"
    sub.add_argument("--model", metavar="NAME", help=what)


def add_parser(sub: argparse.ArgumentParser) -> None:
    """The option that names a parser; see `parser_name`."""
    default = "parser-ud; for minilang, parser-minilang"
    sub.add_argument("--parser", metavar="NAME", help=f"{PARSER_HELP} (default: {default})")


def add_beam(sub: argparse._ActionsContainer) -> None:
    """Options for the widths of a search; see `widths_from`."""
    sub.add_argument("--beam", type=count, default=300, metavar="N", help="hypotheses that are kept (default: 300)")
    behind = f"drop hypotheses this many nats behind the best (default: {WITHIN:g}; none: the paper's plain beam)"
    sub.add_argument("--within", type=nats_or_none, default=WITHIN, metavar="NATS", help=behind)
    tried = "of the symbols between two words (arcs, brackets, ...), try the N most probable ones only (default: all)"
    sub.add_argument("--score-beam", type=count, metavar="N", help=tried)


def add_trees(sub: argparse.ArgumentParser, *flags: str) -> None:
    """Options for the number of trees per sentence, and the method that chooses them."""
    sub.add_argument(*flags, "--trees", type=count, default=300, metavar="K", help="trees per sentence (default: 300)")
    choice = "drawn without replacement, as in the paper, or the most probable ones (default: sample)"
    sub.add_argument("--method", choices=("sample", "best"), default="sample", help=choice)
    sub.add_argument("--seed", type=seed, default=1, metavar="N", help="the random seed (default: 1)")


def add_settings(sub: argparse.ArgumentParser, example: str) -> None:
    """Arguments of training: a config file, and values that replace some of its own."""
    sub.add_argument("config", type=Path, metavar="CONFIG", help=f"a YAML file, such as {example}")
    sub.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="replace or add a value; may be repeated"
    )


def count(text: str) -> int:
    """An option's value: a number from 1 on."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST}")
    return int(text)


def new_folder(text: str) -> Path:
    """An option's value: a folder to write into, which need not be there."""
    if not text.strip() or any(os.path.exists(p) and not os.path.isdir(p) for p in (Path(text), *Path(text).parents)):
        raise argparse.ArgumentTypeError(f"{text!r} is no folder; name one, which need not be there")
    return Path(text)


def nats(text: str) -> float:
    """An option's value: a finite number that is not negative."""
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < math.inf:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")


def nats_or_none(text: str) -> float | None:
    """An option's value: a number that is not negative, or the word none."""
    return None if text == "none" else nats(text)


def seed(text: str) -> int:
    """An option's value: a whole number from 0 on."""
    if not text.isdecimal() or int(text) >= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {2**32 - 1}")
    return int(text)


# ---- From options to what they name


def sentences_of(options: argparse.Namespace, may_be_streamed: bool = False) -> Sequence["Sentence"]:
    """The sentence of the command line, or sentences of a file; says how many are left out, unless they stream."""
    from dtglib.data.corpora import load, stream
    from dtglib.data.tokenize import tokenize
    from dtglib.data.treebank import Sentence

    if is_sentence(options.text):
        chosen = options.split or options.sentences
        require(not chosen, f"--split and --sentences choose a part of a corpus; {options.text!r} is a sentence")
        return [Sentence(tuple(tokenize(options.text.encode().decode())))]  # an error if it is not UTF-8
    treebank = (stream if may_be_streamed else load)(options.text, options.split, options.sentences)
    for reason, number in treebank.excluded.items():
        print(f"dtglib: {options.text}: {number} left out: {reason}", file=sys.stderr)
    require(treebank.sentences != [], f"{options.text}: holds no sentence")
    return treebank.sentences


def is_sentence(text: str) -> bool:
    """True for a text of several words, or that ends like a sentence, if it does not name a file or end like one."""
    from dtglib.data.corpora import NO_TEXT

    may_be = " " in text.strip() or text.strip()[-1:] in (".", "!", "?")
    of_files = (".txt", ".conllu", ".mrg", ".ptb", ".brackets", *NO_TEXT)
    return may_be and not text.strip().lower().endswith(of_files) and not os.path.exists(text)


def require_another(out: Path | None, text: str) -> None:
    """An error if the file to be written is a folder, or one of those that are read."""
    from dtglib.data.corpora import corpus_files

    require(not (out and out.is_dir()), f"--out: {out} is a folder; name a file in it")
    read = () if is_sentence(text) else corpus_files(text)
    if out and out.exists() and any(path.exists() and out.samefile(path) for path in read):
        raise UserError(f"--out: {out} is what is to be parsed; name another file")


def model_folder(options: argparse.Namespace, about: str | None = None, kind: str = "dtg") -> Path:
    """The folder of a command's model. By default it is the released model `kind` for the corpus `about`."""
    from dtglib.basics.released import cards, folder_named
    from dtglib.network.saved import CONFIG_FILE

    require(options.model != "", "--model is empty; is a variable of the shell unset?")
    folder = folder_named(options.model or _default(kind, about))
    if not (folder / CONFIG_FILE).exists():
        hint = did_you_mean(folder.name, cards("model")) + "`dtglib train` makes one"
        raise UserError(f"{folder}: holds no model; {hint}, and `dtglib models` lists what is there")
    return folder


def parser_name(options: argparse.Namespace, about: str | None = None, kind: str = "parser") -> str:
    """The parser of a command. By default it is the released parser `kind` for the corpus `about`."""
    return _default(kind, about) if options.parser is None else options.parser


def _default(kind: str, about: str | None) -> str:
    """The released model or parser for a corpus, whose name is reported."""
    corpus = "minilang" if about == "minilang" else "books" if kind == "dtg" else "ud"
    chosen = f"{kind}-{corpus}"
    print(f"dtglib: with {chosen}", file=sys.stderr)
    return chosen


def note_unread_parser(options: argparse.Namespace, kind: "Family") -> None:
    """Say if the parser that was named is not read, because the model sums over no trees."""
    if options.parser is not None and not kind.likelihood.sums_over_trees:
        print(f"dtglib: without {options.parser}: {kind.title} sums over no parser's trees", file=sys.stderr)


def require_searched(folder: Path) -> None:
    """An error if the model in a folder cannot be searched."""
    from dtglib.families.base import family, family_name_in

    kind = family(family_name_in(folder))
    if not kind.likelihood.is_searched:
        raise UserError(f"{kind.title} has no left-to-right probabilities, which this command needs")


def widths_from(options: argparse.Namespace) -> "Widths":
    """The widths of a beam search."""
    from dtglib.decode.beam import Widths

    return Widths(options.beam, options.beam, within=options.within, score_beam=options.score_beam)


# ---- Output


def print_table(rows: Sequence[Mapping[str, object]], about: Mapping[str, str] | None = None) -> None:
    """Print rows with the same keys as aligned columns, with numbers to the right, and the conventions below them."""
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        side = ">" if all(isinstance(value, int | float) for value in values) else "<"
        width = max(len(str(value)) for value in [name, *values])
        columns.append([f"{value!s:{side}{width}}" for value in [name, *values]])
    for line in zip(*columns, strict=True):
        print("  ".join(line).rstrip())
    if about:
        print_conventions(about)


def conventions(options: argparse.Namespace, folder: Path, text: str, unit: str, parser: object = "") -> dict[str, str]:
    """The conventions of scores by the model in a folder, which sums over a parser's trees or else over a beam."""
    from dtglib.families.base import family, family_name_in

    kind = family(family_name_in(folder)).likelihood
    begins, ends = ("none", "not predicted") if kind.is_pseudo else ("<ROOT>, given", "<END>, predicted")
    if kind.is_exact or kind.is_pseudo:
        log_p = "exact" if kind.is_exact else "a pseudo-log-likelihood"
    elif parser:
        log_p = f"a lower bound by {options.trees} trees of {parser} ({options.method}, seed {options.seed})"
    else:
        widths = {"width": options.beam, "nats behind": options.within, "symbols tried": options.score_beam}
        in_words = ", ".join(f"{name} {value:g}" for name, value in widths.items() if value is not None)
        log_p = f"a lower bound{f' by beam search ({in_words})' if kind.is_searched else ''}"
    return {"model": folder.name, "text": text, "unit": unit, "beginning": begins, "end": ends, "log p": log_p}


def print_conventions(values: Mapping[str, str]) -> None:
    """Print conventions as comments, which begin with #."""
    line = "; ".join(f"{name}: {value}" for name, value in values.items())
    print(textwrap.fill(line, 120, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False))


def finite(values: Mapping[str, object]) -> dict[str, object]:
    """The values for JSON, which has no infinities: the log-probability of an impossible event becomes null."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in values.items()
    }


def in_a_line(tree: Sequence[int] | str | None) -> str:
    """A tree as text: heads side by side, or brackets as they are."""
    return "" if tree is None else tree if isinstance(tree, str) else " ".join(map(str, tree))
