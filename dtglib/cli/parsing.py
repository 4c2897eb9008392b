"""Commands that use a parser: parse, trees.

dtglib parse "There is a difference"            as CoNLL-U, or in brackets; `--out mine.conllu` writes a file
dtglib trees --parser DIR mine.txt -k 300       the trees that a parser proposes
"""

import argparse
import contextlib
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dtglib.basics.errors import require
from dtglib.basics.progress import progress
from dtglib.cli.options import (
    Command,
    add_json,
    add_parser,
    add_sentences,
    add_trees,
    in_a_line,
    parser_name,
    print_conventions,
    require_another,
    sentences_of,
)
from dtglib.cli.together import is_first

if TYPE_CHECKING:
    from dtglib.data.streamed import Streamed


def _parse_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_parser(sub)
    what = (
        "the file to write: CoNLL-U, or brackets (default: standard output); more than 100,000 sentences are parsed "
        "block by block, and not compared with their own trees; a stopped command goes on"
    )
    sub.add_argument("--out", type=Path, metavar="FILE", help=what)


def parse(options: argparse.Namespace) -> None:
    """Parse a sentence, or the sentences of a file."""
    from dtglib.basics.files import write_atomically
    from dtglib.basics.released import folder_named
    from dtglib.data.streamed import Streamed
    from dtglib.evaluate.tree_forms import form_of
    from dtglib.parsing.parser import load_parser

    require_another(options.out, options.text)
    sentences = sentences_of(options, may_be_streamed=options.out is not None)
    if isinstance(sentences, Streamed):
        return _parse_streamed(sentences, folder_named(parser_name(options, options.text)), options.out)
    parser = load_parser(parser_name(options, options.text))
    form = form_of(parser.fills)
    if options.out and options.out.suffix == ".conllu":
        require(parser.fills != "brackets", f"{options.out}: this parser draws brackets; name a file such as mine.mrg")
    parsed = parser.parse(sentences)
    text = "".join(map(form.written, parsed))
    if options.out and is_first():
        with write_atomically(options.out) as file:
            file.write(text)
        print(f"{options.out}: {len(parsed)} sentences, {sum(len(sentence.words) for sentence in parsed)} words")
    else:
        print(text, end="")
    with_trees = [pair for pair in zip(sentences, parsed, strict=True) if form.has_tree(pair[0])]
    if with_trees:
        for line in form.agreement(*zip(*with_trees, strict=True)):
            print(line, file=sys.stdout if options.out else sys.stderr)


def _parse_streamed(sentences: "Streamed", parser: Path, out: Path) -> None:
    """Parse block by block what does not fit into memory; trees are kept in runs/trees, so a stopped parse goes on."""
    from dtglib.basics.files import write_atomically
    from dtglib.data.treebank import with_graph, with_tree
    from dtglib.evaluate.tree_forms import form_of
    from dtglib.runs.trees import parsed_by

    with_trees, count = parsed_by(parser), 0
    with write_atomically(out) if is_first() else contextlib.nullcontext() as file:
        for block in sentences.blocks():
            read = block()
            parsed = with_trees(read).sentences
            count += len(parsed)
            if file:  # beside new heads, or a new graph, all other columns stay
                for old, new in zip(read.sentences, parsed, strict=True):
                    form = form_of("heads" if new.heads else "brackets" if new.brackets else "enhanced")
                    graph = with_graph(old, new.enhanced) if new.enhanced else new
                    file.write(form.written(with_tree(old, new.heads, new.labels) if new.heads else graph))
    print(f"{out}: {count} sentences")


def _trees_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_parser(sub)
    add_trees(sub, "-k")
    add_json(sub)


def trees(options: argparse.Namespace) -> None:
    """List the trees that a parser proposes."""
    from dtglib.parsing.parser import load_parser
    from dtglib.parsing.propose import METHODS, propose

    sentences = [sentence.words for sentence in sentences_of(options)]
    name = parser_name(options, options.text)
    about = {"parser": name, "text": options.text, "unit": "nats", "log q": "of a tree given its words, exact"}
    parser = load_parser(name)
    proposed = propose(parser, sentences, options.trees, METHODS[options.method], options.seed)
    rows = []
    for words, chosen in zip(sentences, progress(proposed, "parsing", "sentence", len(sentences)), strict=True):
        log_qs, written = chosen.log_probs.tolist(), chosen.written(words)
        if options.json:
            trees = [{"log_q": log_q, parser.fills: tree} for log_q, tree in zip(log_qs, written, strict=True)]
            rows.append({"words": words, "trees": trees})
            continue
        mass = math.fsum(map(math.exp, log_qs))
        print(f"{' '.join(words)}\n  {len(log_qs)} trees, {mass:.6f} of all probability")
        for log_q, tree in zip(log_qs, written, strict=True):
            print(f"  {log_q:10.4f}  {in_a_line(tree)}")
    if options.json:
        print(json.dumps({"conventions": about, "sentences": rows}))
    else:
        print_conventions(about)


COMMANDS = [Command("parse", _parse_options, parse), Command("trees", _trees_options, trees)]
