"""The command about the models and parsers that come with the package: models.

dtglib models                                   their names; `dtglib models dtg-ud` shows a card
"""

import argparse
import json
from dataclasses import asdict
from typing import Any

from dtglib.basics.errors import did_you_mean, require
from dtglib.cli.options import Command, add_json, print_table


def _models_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("name", nargs="?", metavar="NAME", help="show the card of this one")
    add_json(sub)


def models(options: argparse.Namespace) -> None:
    """List the models and parsers that come with the package."""
    from dtglib.basics.released import cards

    released = {**cards("model"), **cards("parser")}
    require(released, "no models came with this package; `make release` makes them")
    known = f"{did_you_mean(options.name, released)}there are {', '.join(released)}"
    require(options.name in (None, *released), f"there is no released {options.name!r}; {known}")
    if options.json:
        dicts = {name: asdict(card) for name, card in released.items()}
        print(json.dumps(dicts[options.name] if options.name else dicts, indent=2))
    elif options.name:
        card = asdict(released[options.name]).items()
        rows = [{"": key.replace("_", " "), options.name: _shown(value)} for key, value in card]
        print_table(rows, {"nats per word": "on the dev part, with given trees; lost: by rounding", **NUMBERS})
    else:
        rows = [{"name": name} | {key: _shown(getattr(card, key)) for key in LISTED} for name, card in released.items()]
        print_table(rows, NUMBERS)


BOUND = "per word of the test part, with ends; of a model with trees an upper bound"
NUMBERS = {"perplexity": BOUND, "suites, pairs, uas, f1": "in percent", "ties": "wrong"}
LISTED = ("title", "corpus", "perplexity", "suites", "pairs", "uas", "f1", "bleu")


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


COMMANDS = [Command("models", _models_options, models)]
