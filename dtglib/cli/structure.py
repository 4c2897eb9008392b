"""The command about masks: structure.

dtglib structure --system arc-eager --words "There is a difference" --heads "2 0 4 2" --labels "expl root det nsubj"
dtglib structure --system brackets --tree "(S (NP There) (VP is (NP a difference)))"
"""

import argparse
import json
from pathlib import Path

from dtglib.basics.errors import UserError, require
from dtglib.basics.files import write_atomically
from dtglib.basics.papers import named, papers
from dtglib.cli.options import Command, add_json, print_table


def _options(sub: argparse.ArgumentParser) -> None:
    of_trees = ", ".join(name for paper in papers() for name, _ in paper.structures)
    systems = "arc-standard, arc-hybrid, arc-eager, arc-swift, with --words and --heads; "
    systems += f"with --tree: {of_trees or 'none'}"
    sub.add_argument("--system", required=True, metavar="NAME", help=systems)
    sub.add_argument("--words", metavar="WORDS", help='the sentence, as in "There is a difference"')
    heads = 'the head of each word, from 1; 0 is ROOT: "2 0 4 2"'
    sub.add_argument("--heads", metavar="HEADS", help=heads)
    sub.add_argument("--labels", metavar="LABELS", help='of the words\' arcs: "expl root det nsubj" (default: none)')
    tree = 'words and constituents: "(S (NP There) (VP is (NP a difference)))"'
    sub.add_argument("--tree", metavar="TREE", help=tree)
    pieces = 'into how many pieces each word is cut: "1 1 1 2" (default: one)'
    sub.add_argument("--pieces", metavar="COUNTS", help=pieces)
    form = sub.add_mutually_exclusive_group()
    add_json(form)
    form.add_argument("--svg", type=Path, metavar="FILE", help="the mask as a picture")


def structure(options: argparse.Namespace) -> None:
    """Show what each position of a sentence attends to, in a transition system."""
    from dtglib.sequences.describe import as_json, as_rows, numbers, show

    pieces = None if options.pieces is None else numbers(options.pieces, "pieces")
    known = {name: reference for paper in papers() for name, reference in paper.structures}
    if options.tree is not None:
        if any(given is not None for given in (options.words, options.heads, options.labels)):
            raise UserError("--tree has words and constituents; leave out --words and --heads, and --labels")
        if options.system not in known:
            raise UserError(f"--tree goes with --system {' or '.join(known)}, not with {options.system!r}")
        seen = named(known[options.system])(options.tree, pieces)
    elif options.words is None or options.heads is None:
        raise UserError("name a sentence with --words and --heads, or with --tree")
    else:
        require(options.system not in known, f"--system {options.system} goes with --tree, not with --words")
        labels = None if options.labels is None else options.labels.split()
        seen = show(options.system, options.words.split(), numbers(options.heads, "heads"), pieces, labels)
    if options.json:
        print(json.dumps(as_json(seen)))
    elif options.svg:
        from dtglib.pictures.plot import draw_mask

        require(options.svg.suffix == ".svg", f"--svg {options.svg}: let its name end in .svg")
        with write_atomically(options.svg) as file:
            file.write(draw_mask(seen, options.system)._repr_svg_())
    else:
        print("actions:", *seen.actions)
        print_table(as_rows(seen))


COMMANDS = [Command("structure", _options, structure)]
