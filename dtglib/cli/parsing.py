"""Commands that use a parser: parse, trees.

dtglib parse "There is a difference"            as CoNLL-U; `--out mine.conllu` writes a file
dtglib trees --parser DIR mine.txt -k 300       the trees that a parser proposes
"""

import argparse
import json
import math
import os
import sys
from pathlib import Path

from dtglib.basics.errors import UserError
from dtglib.cli.options import Command, add_json, add_parser, add_sentences, add_trees, name, parser_name, sentences_of


def _parse_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_parser(sub)
    sub.add_argument("--out", type=name, metavar="FILE", help="the CoNLL-U file to write (default: standard output)")


def parse(options: argparse.Namespace) -> None:
    """Give sentences their best projective trees."""
    from dtglib.data.treebank import format_conllu, write_conllu
    from dtglib.evaluate.attachment import attached, every_word, is_no_punctuation
    from dtglib.parsing.parser import load_parser

    out = options.out and _checked(Path(options.out), options.text)
    sentences = sentences_of(options)
    parsed = load_parser(parser_name(options, options.text)).parse(sentences)
    if out:
        write_conllu(out, parsed)
        print(f"{out}: {len(parsed)} sentences, {sum(len(sentence.words) for sentence in parsed)} words")
    else:
        print("".join(map(format_conllu, parsed)), end="")
    with_trees = [pair for pair in zip(sentences, parsed, strict=True) if pair[0].heads is not None]
    if with_trees:
        gold, trees = [pair[0] for pair in with_trees], [pair[1].heads for pair in with_trees]
        for what, counts in (("with punctuation", every_word), ("without punctuation", is_no_punctuation)):
            right = attached(gold, trees, counts)
            if right.words.sum():
                told = f"UAS {what}: {100 * right.uas:.2f} ({right.right.sum()} of {right.words.sum()} words)"
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
    from dtglib.parsing.propose import METHODS, propose

    sentences = [sentence.words for sentence in sentences_of(options)]
    parser = load_parser(parser_name(options, options.text))
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
    Command("parse", "give a sentence, or those of a file, their best projective trees", _parse_options, parse),
    Command("trees", "list the trees that a parser proposes", _trees_options, trees),
]
