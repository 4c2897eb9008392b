"""The command about dependency graphs: tape.

dtglib tape --words "There is a difference" --arcs "0->2 2->1 4->3 2->4"
"""

import argparse
import json

from dtglib.cli.options import Command, add_json, print_table


def _options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--words", required=True, metavar="WORDS", help='the sentence, as in "There is a difference"')
    arcs = 'arcs from head to dependent, from 1; 0 is ROOT: "0->2 2->1 4->3 2->4"'
    sub.add_argument("--arcs", required=True, metavar="ARCS", help=arcs)
    depth = "count depth from the first word of a component, or from ROOT as in the published code (default: paper)"
    sub.add_argument("--depth", choices=("paper", "root"), default="paper", help=depth)
    sub.add_argument("--no-root", dest="root", action="store_false", help="leave out the arcs of ROOT")
    add_json(sub)


def tape(options: argparse.Namespace) -> None:
    """Show the features of a growing graph."""
    from dtglib.families.gilt.describe import as_json, as_rows, show

    shown = show(options.words, options.arcs, options.depth, options.root)
    if options.json:
        print(json.dumps(as_json(shown)))
    elif shown.words:
        print_table(as_rows(shown))


COMMANDS = [Command("tape", "show the features that GiLT reads of a dependency graph, word by word", _options, tape)]
