"""Commands about dependency graphs: tape, graphs.

dtglib tape --words "There is a difference" --arcs "0->2 2->1 4->3 2->4"
dtglib graphs minilang --model DIR --split test         precision and recall of the arcs that a model predicts
"""

import argparse
import json

from dtglib.basics.errors import UserError, require
from dtglib.cli.options import (
    Command,
    add_json,
    add_model,
    add_sentences,
    model_folder,
    print_conventions,
    print_table,
    sentences_of,
)
from dtgpapers.tuning.commands import COMMANDS as TUNING


def _options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--words", required=True, metavar="WORDS", help='the sentence, as in "There is a difference"')
    arcs = 'arcs from head to dependent, from 1; 0 is ROOT: "0->2 2->1 4->3 2->4"'
    sub.add_argument("--arcs", required=True, metavar="ARCS", help=arcs)
    depth = "count depth from the first word of a component, or from ROOT as in the published code (default: paper)"
    sub.add_argument("--depth", choices=("paper", "root"), default="paper", help=depth)
    sub.add_argument("--no-root", dest="root", action="store_false", help="leave out the arcs of ROOT")
    add_json(sub)


# Of each word so far, as the newest one sees it.
FEATURES = {
    "degree": "10 for each dependent and 1 for each head",
    "distance": "of the cheapest path from the newest word; a step to a dependent costs 10, to a head 1",
    "depth": "steps from the first word of its component",
    "subgraph": "words without a head, numbered from right to left",
}


def tape(options: argparse.Namespace) -> None:
    """Show the features that GiLT reads of a dependency graph, word by word."""
    from dtgpapers.gilt.describe import as_rows, show

    require(options.words.split(), "--words is empty; a graph needs a word")
    shown = show(options.words, options.arcs, options.depth, options.root)
    if options.json:
        print(json.dumps({"counts": shown.counts, "prefixes": shown.prefixes}))
    else:
        print_table(as_rows(shown))
        print_conventions(FEATURES)


def _graphs_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_model(sub, "gilt-minilang")
    sub.set_defaults(model="gilt-minilang")
    add_json(sub)


def graphs(options: argparse.Namespace) -> None:
    """Measure how well a model predicts the dependency graphs of a treebank."""
    from dtglib.families.base import family_of, load_model
    from dtglib.training.distributed import device_at_hand
    from dtgpapers.gilt.family import READ_BY
    from dtgpapers.gilt.graphs import tree_of
    from dtgpapers.gilt.measured import graph_scores

    folder = model_folder(options, options.text)
    model = load_model(folder, device_at_hand())
    if model.config.model not in READ_BY:
        title = family_of(model).title
        raise UserError(f"{title} predicts no graphs; name a model that does with --model, such as one of GiLT's")
    sentences = sentences_of(options)
    field, what = ("heads", "trees") if READ_BY[model.config.model] is tree_of else ("enhanced", "graphs")
    way_out = f"`dtglib parse` with a parser of {what} draws them, and `--out` writes them"
    require(any(getattr(one, field) is not None for one in sentences), f"{options.text}: has no {what}; {way_out}")
    scores = graph_scores(model, sentences)
    unit = "shares of arcs, and of words for numbers; log joint in nats per token"
    about = {"model": folder.name, "text": options.text, "unit": unit, "words and graphs before": "those of the text"}
    if options.json:
        print(json.dumps({"conventions": about, **scores}))
    else:
        print_table([{"what": name, "value": round(value, 4)} for name, value in scores.items()], about)


COMMANDS = [
    Command("tape", _options, tape),
    Command("graphs", _graphs_options, graphs),
    *TUNING,
]
