"""Commands that train: train, train-parser.

dtglib train configs/mini.yaml --model dtg-eager --set seed=2 --out DIR
dtglib train-parser configs/parsers/strong.yaml --out DIR
"""

import argparse

from dtglib.cli.options import Command, add_settings, new_folder


def _train_options(sub: argparse.ArgumentParser) -> None:
    add_settings(sub, "configs/mini.yaml")
    sub.add_argument("--model", metavar="NAME", help="dtg, txl-tokens, ...; a family of your own as module:NAME")
    sub.add_argument("--out", required=True, type=new_folder, metavar="DIR", help="for the model and its record")


def train(options: argparse.Namespace) -> None:
    """Train a model, or go on with one whose training was stopped."""
    from dtglib.basics.config import parse_override
    from dtglib.runs.prepare import prepare, train_into
    from dtglib.runs.settings import read_settings
    from dtglib.training.networks import best_on_dev

    overrides = dict(map(parse_override, options.set))
    if options.model is not None:
        overrides["model"] = options.model
    settings = read_settings(options.config, overrides)
    prepared = prepare(settings)
    print(f"train: {prepared.train.summary}\ndev: {prepared.dev.summary}", flush=True)
    train_into(settings, prepared, options.out)
    best = best_on_dev(options.out)
    losses = [
        f"{value:.4f} nats per {name.removeprefix('nats_per_')}"
        for name, value in best.items()
        if name.startswith("nats_per_") and name != "nats_per_sentence"
    ]
    print(f"{options.out}: {', '.join(losses)} on dev, at its best")


def _train_parser_options(sub: argparse.ArgumentParser) -> None:
    add_settings(sub, "configs/parsers/strong.yaml")
    sub.add_argument("--out", required=True, type=new_folder, metavar="DIR", help="for the parser and its record")


def train_parser(options: argparse.Namespace) -> None:
    """Train a parser, or go on with one whose training was stopped."""
    from dtglib.basics.config import parse_override
    from dtglib.runs.parsers import nats_per_word, prepare_parser, read_parser_settings, train_parser_into

    settings = read_parser_settings(options.config, dict(map(parse_override, options.set)))
    prepared = prepare_parser(settings)
    print(f"train: {prepared.train.summary}\ndev: {prepared.dev.summary}", flush=True)
    train_parser_into(settings, prepared, options.out)
    best = nats_per_word(options.out)
    print(f"{options.out}: {best:.4f} nats per word (its share of the tree) on dev, at its best")


COMMANDS = [Command("train", _train_options, train), Command("train-parser", _train_parser_options, train_parser)]
