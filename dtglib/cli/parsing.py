"""Commands that use a parser: parse, trees.

dtglib parse --parser DIR mine.txt --out mine.conllu
dtglib trees --parser DIR mine.txt -k 300       the trees that a parser proposes
"""

import argparse
import json
import math
import os
from pathlib import Path

from dtglib.basics.errors import UserError
from dtglib.cli.options import PARSER_HELP, Command, add_json, add_sentences, add_trees, sentences_of


def _parse_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    sub.add_argument("--parser", required=True, metavar="DIR", help=PARSER_HELP)
    sub.add_argument("--out", required=True, type=Path, metavar="FILE", help="the CoNLL-U file to write")


def parse(options: argparse.Namespace) -> None:
    """Give sentences their best projective trees."""
    from dtglib.data.treebank import write_conllu
    from dtglib.evaluate.attachment import attached, every_word, is_no_punctuation
    from dtglib.parsing.parser import load_parser

    _check_out(options)
    sentences = sentences_of(options)
    parser = load_parser(options.parser)
    parsed = parser.parse(sentences)
    write_conllu(options.out, parsed)
    print(f"{options.out}: {len(parsed)} sentences, {sum(len(sentence.words) for sentence in parsed)} words")
    with_trees = [pair for pair in zip(sentences, parsed, strict=True) if pair[0].heads is not None]
    if with_trees:
        gold, trees = [pair[0] for pair in with_trees], [pair[1].heads for pair in with_trees]
        for what, counts in (("with punctuation", every_word), ("without punctuation", is_no_punctuation)):
            right = attached(gold, trees, counts)
            if right.words.sum():
                print(f"UAS {what}: {100 * right.uas:.2f} ({right.right.sum()} of {right.words.sum()} words)")


def _check_out(options: argparse.Namespace) -> None:
    if options.out.is_dir():
        raise UserError(f"--out: {options.out} is a folder; name a file in it")
    if options.out.exists() and os.path.exists(options.file):
        source = Path(options.file)
        if options.out.samefile(source) or (source.is_dir() and options.out.parent.samefile(source)):
            raise UserError(f"--out: {options.out} is what is to be parsed; name another file")


def _trees_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    sub.add_argument("--parser", required=True, metavar="DIR", help=PARSER_HELP)
    add_trees(sub, "-k")
    add_json(sub)


def trees(options: argparse.Namespace) -> None:
    """List the trees that a parser proposes."""
    from dtglib.parsing.parser import load_parser
    from dtglib.parsing.propose import METHODS, propose

    sentences = [sentence.words for sentence in sentences_of(options)]
    parser = load_parser(options.parser)
    proposed = propose(parser, sentences, options.trees, METHODS[options.method], options.seed)
    if options.json:
        found = [
            {"words": words, "trees": [
                {"log_q": log_q, "heads": heads}
                for log_q, heads in zip(chosen.log_probs.tolist(), chosen.heads.tolist(), strict=True)
            ]}
            for words, chosen in zip(sentences, proposed, strict=True)
        ]  # fmt: skip
        print(json.dumps({"sentences": found}))
        return
    for words, chosen in zip(sentences, proposed, strict=True):
        mass = math.fsum(map(math.exp, chosen.log_probs))
        print(f"{' '.join(words)}\n  {len(chosen.heads)} trees, {mass:.6f} of all probability")
        for log_q, heads in zip(chosen.log_probs, chosen.heads.tolist(), strict=True):
            print(f"  {log_q:10.4f}  {' '.join(map(str, heads))}")


COMMANDS = [
    Command("parse", "give the sentences of a file their best projective trees", _parse_options, parse),
    Command("trees", "list the trees that a parser proposes for the sentences of a file", _trees_options, trees),
]
