"""Commands that use a parser: parse, trees.

dtglib parse "There is a difference"            as CoNLL-U, or in brackets; `--out mine.conllu` writes a file
dtglib trees --parser DIR mine.txt -k 300       the trees that a parser proposes
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path

from dtglib.basics.errors import UserError
from dtglib.cli.options import (
    Command,
    add_json,
    add_parser,
    add_sentences,
    add_trees,
    in_a_line,
    name,
    parser_name,
    sentences_of,
)
from dtglib.cli.together import is_first


def _parse_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_parser(sub)
    what = "the file to write: CoNLL-U, or brackets (default: standard output)"
    sub.add_argument("--out", type=name, metavar="FILE", help=what)


def parse(options: argparse.Namespace) -> None:
    """Give sentences their best trees."""
    from dtglib.basics.files import write_atomically
    from dtglib.evaluate.tree_forms import form_of
    from dtglib.parsing.parser import load_parser
    from dtglib.runs.trees import parsed_now

    out = options.out and _checked(Path(options.out), options.text)
    sentences = sentences_of(options)
    parser = parser_name(options, options.text)
    form = form_of(load_parser(parser).fills)
    parsed = parsed_now(parser, sentences)
    text = "".join(map(form.written, parsed))
    if out and is_first():
        with write_atomically(out) as file:
            file.write(text)
        print(f"{out}: {len(parsed)} sentences, {sum(len(sentence.words) for sentence in parsed)} words")
    else:
        print(text, end="")
    with_trees = [pair for pair in zip(sentences, parsed, strict=True) if form.has_tree(pair[0])]
    if with_trees:
        for told in form.agreement(*zip(*with_trees, strict=True)):
            print(told, file=sys.stdout if out else sys.stderr)


def _checked(out: Path, text: str) -> Path:
    """The file to write, which must not be one that is read."""
    if out.is_dir():
        raise UserError(f"--out: {out} is a folder; name a file in it")
    if out.exists() and os.path.exists(text):
        source = Path(text)
        if out.samefile(source) or (source.is_dir() and out.parent.samefile(source)):
            raise UserError(f"--out: {out} is what is to be parsed; name another file")
    return out


def _trees_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_parser(sub)
    add_trees(sub, "-k")
    add_json(sub)


def trees(options: argparse.Namespace) -> None:
    """List the trees that a parser proposes."""
    from dtglib.parsing.parser import load_parser
    from dtglib.runs.trees import proposed_now

    sentences = [sentence.words for sentence in sentences_of(options)]
    parser = parser_name(options, options.text)
    proposed = proposed_now(parser, sentences, options.trees, options.method, options.seed)
    if options.json:
        fills = load_parser(parser).fills
        found = [
            {"words": words, "trees": [
                {"log_q": log_q, fills: tree}
                for log_q, tree in zip(chosen["log_q"], chosen["trees"], strict=True)
            ]}
            for words, chosen in zip(sentences, proposed, strict=True)
        ]  # fmt: skip
        print(json.dumps({"sentences": found}))
        return
    for words, chosen in zip(sentences, proposed, strict=True):
        mass = math.fsum(map(math.exp, chosen["log_q"]))
        print(f"{' '.join(words)}\n  {len(chosen['log_q'])} trees, {mass:.6f} of all probability")
        for log_q, tree in zip(chosen["log_q"], chosen["trees"], strict=True):
            print(f"  {log_q:10.4f}  {in_a_line(tree)}")


COMMANDS = [
    Command("parse", "give a sentence, or those of a file, their best trees", _parse_options, parse),
    Command("trees", "list the trees that a parser proposes", _trees_options, trees),
]
