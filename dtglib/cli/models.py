"""Commands about the models and parsers that come with the package, and others: models, round.

dtglib models                                   their names; `dtglib models dtg-ud` shows a card
dtglib round --model dtg-ud --out my-dtg        the same model with its linear maps in bfloat16
"""

import argparse
import json
from dataclasses import asdict
from typing import Any

from dtglib.basics.errors import UserError, require
from dtglib.cli.options import Command, add_json, folder, model_folder, name, print_table


def _models_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("name", nargs="?", metavar="NAME", help="show the card of this one")
    add_json(sub)


def models(options: argparse.Namespace) -> None:
    """List the released models and parsers, or show the card of one."""
    from dtglib.basics.released import cards

    found = {**cards("model"), **cards("parser")}
    require(found, "no models came with this package; `make release` makes them")
    if options.name and options.name not in found:
        raise UserError(f"there is no released {options.name!r}; there are {', '.join(found)}")
    if options.json:
        shown = asdict(found[options.name]) if options.name else {name: asdict(card) for name, card in found.items()}
        print(json.dumps(shown, indent=2))
    elif options.name:
        card = asdict(found[options.name])
        print_table([{"": key.replace("_", " "), options.name: _shown(value)} for key, value in card.items()])
    else:
        rows = [{"name": name} | {key: _shown(getattr(card, key)) for key in LISTED} for name, card in found.items()]
        print_table(rows)


LISTED = ("title", "corpus", "perplexity", "suites", "pairs", "uas", "f1", "bleu")


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def _round_options(sub: argparse.ArgumentParser) -> None:
    what = "the model's name (`dtglib models`), or its folder"
    sub.add_argument("--model", required=True, type=name, metavar="NAME", help=what)
    sub.add_argument("--out", required=True, type=folder, metavar="DIR", help="a new folder for the rounded model")


def round_model(options: argparse.Namespace) -> None:
    """Write a model again, with the linear maps of its layers in bfloat16."""
    from dtglib.families.base import family_of, load_model
    from dtglib.network.rounded import is_rounded, round_maps
    from dtglib.network.saved import WEIGHTS_FILE
    from dtglib.network.transformer import Transformer
    from dtglib.training.distributed import device_at_hand, has_bfloat16_units

    model = load_model(model_folder(options))
    if not isinstance(model, Transformer):
        raise UserError(f"{family_of(model).title} cannot be rounded; language models can")
    if is_rounded(model):
        raise UserError(f"{options.model} is rounded already")
    if (options.out / WEIGHTS_FILE).exists():
        raise UserError(f"{options.out} holds a model; choose a new folder")
    round_maps(model).save(options.out)
    units = has_bfloat16_units(device_at_hand())
    here = "" if units else "; on this machine, which has no units for bfloat16, it will not be faster"
    print(f"{options.out}: {options.model} with linear maps in bfloat16{here}")


COMMANDS = [
    Command("models", "list the models and parsers that come with the package", _models_options, models),
    Command("round", "write a model again with linear maps in bfloat16, for wide beams", _round_options, round_model),
]
