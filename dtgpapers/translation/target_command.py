"""Commands about texts in two languages: pairs, target. Those of translators are in commands.py.

dtglib pairs minilang:de-en --sentences 5 --trees
dtglib target --words "There is a difference" --heads "2 0 4 2" --labels "expl root det nsubj"
"""

import argparse
import json

from dtglib.basics.errors import UserError
from dtglib.cli.options import Command, add_json, count, in_a_line, print_table


def _pairs_options(sub: argparse.ArgumentParser) -> None:
    what = "minilang:de-en, multi30k:de-en, FOLDER:de-en with train.de and train.en, or NAME:de-en for two files"
    sub.add_argument("corpus", nargs="?", default="minilang:de-en", metavar="CORPUS:SOURCE-TARGET", help=what)
    sub.add_argument("--split", metavar="NAME", help="a part of the corpus (default: train, or the only one)")
    sub.add_argument("--sentences", type=count, default=10, metavar="N", help="the first N pairs (default: 10)")
    sub.add_argument("--trees", action="store_true", help="with heads and labels, where the target has a tree")
    add_json(sub)


def pairs(options: argparse.Namespace) -> None:
    """Show the sentences of a corpus in two languages, side by side."""
    from dtglib.data.corpora import find, load

    parts = find(options.corpus, options.sentences)
    split = options.split or ("train" if "train" in parts else None)
    treebank = load(options.corpus, split, options.sentences)
    if any(sentence.translation is None for sentence in treebank.sentences):
        raise UserError(f"{options.corpus}: a corpus of one language; name a pair of languages too, such as :de-en")
    rows = [_row(sentence, options.trees) for sentence in treebank.sentences]
    if options.json:
        print(json.dumps({"pairs": rows, "excluded": treebank.excluded}, indent=2, ensure_ascii=False))
        return
    for row in rows:
        print("\n".join(str(value) for value in row.values()), end="\n\n")
    for reason, number in treebank.excluded.items():
        print(f"left out: {number}, {reason}")


def _row(sentence, with_tree: bool) -> dict[str, str]:
    """The source, the target, and its tree."""
    row = {"source": " ".join(sentence.translation), "target": " ".join(sentence.words)}
    if with_tree and sentence.heads:
        row |= {"heads": in_a_line(list(sentence.heads)), "labels": " ".join(sentence.labels or ())}
    return row


def _target_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--words", required=True, metavar="WORDS", help='the sentence, as in "There is a difference"')
    heads = 'the head of each word, from 1; 0 is ROOT: "2 0 4 2"'
    sub.add_argument("--heads", required=True, metavar="HEADS", help=heads)
    labels = 'the label of each word: "expl root det nsubj"'
    sub.add_argument("--labels", required=True, metavar="LABELS", help=labels)
    pieces = 'into how many pieces each word is cut: "1 1 1 2" (default: one)'
    sub.add_argument("--pieces", metavar="COUNTS", help=pieces)
    add_json(sub)


def target(options: argparse.Namespace) -> None:
    """Show a translation's words, transitions and graph."""
    from dtglib.sequences.describe import numbers
    from dtgpapers.translation.describe import described

    pieces = None if options.pieces is None else numbers(options.pieces, "pieces")
    heads = numbers(options.heads, "heads")
    seen = described(options.words.split(), heads, options.labels.split(), pieces)
    if options.json:
        print(json.dumps(seen.as_json()))
    else:
        print_table(seen.as_rows())


COMMANDS = [
    Command("pairs", _pairs_options, pairs),
    Command("target", _target_options, target),
]
