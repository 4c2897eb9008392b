"""The command about reading times: reading.

dtglib reading --models dtg-books txl-tokens-books  how well their surprisals, entropies, ... predict how people read
"""

import argparse
import json

from dtglib.cli.options import (
    Command,
    add_beam,
    add_json,
    conventions,
    finite,
    model_folder,
    new_folder,
    print_conventions,
    print_table,
    widths_from,
)
from dtglib.cli.together import is_first


def _options(sub: argparse.ArgumentParser) -> None:
    models = "names of models (`dtglib models`), or folders of trained ones (default: dtg-books)"
    sub.add_argument("--models", nargs="+", default=["dtg-books"], metavar="NAME", help=models)
    add_beam(sub)
    add_json(sub)
    sub.add_argument("--out", type=new_folder, metavar="DIR", help="write a record there: a new folder")


def reading(options: argparse.Namespace) -> None:
    """Show how well models predict reading times."""
    from dtgpapers.reading.measured import gains_of_models, record_reading

    folders = {one: model_folder(argparse.Namespace(model=one)) for one in options.models}
    if options.out and is_first():
        gains = record_reading(folders, widths_from(options), options.out)
    else:
        gains = gains_of_models(folders, widths_from(options))
    unit = "nats per word, by which a regression on what a model knows predicts a measure better"
    stated = [conventions(options, folder, "the UCL corpus", unit) for folder in folders.values()]
    if options.json:
        print(json.dumps({"conventions": stated, "gains": [finite(row) for row in gains.to_dict("records")]}))
        return
    print_table(gains.round(5).to_dict("records"))
    for of_model in stated:
        print_conventions(of_model)


COMMANDS = [Command("reading", _options, reading)]
