"""What each command of `dtglib` does: from the options that cli.py has read to what is printed.

Imports stand inside of the functions: `dtglib --version` need not wait for NumPy.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from dtglib.errors import UserError

# Not imported at run time (see above), where annotations that name it are therefore not checked.
if TYPE_CHECKING:
    from dtglib.treebank import Sentence


A_YEAR = 366 * 24 * 60  # minutes


def print_table(rows: Sequence[dict[str, object]]) -> None:
    """Rows with the same keys as aligned columns, numbers to the right."""
    columns = []
    for name in rows[0]:
        values = [row[name] for row in rows]
        side = ">" if all(isinstance(value, int | float) for value in values) else "<"
        width = max(len(str(value)) for value in [name, *values])
        columns.append([f"{value!s:{side}{width}}" for value in [name, *values]])
    for line in zip(*columns, strict=True):
        print("  ".join(line).rstrip())


def corpora(options: argparse.Namespace) -> None:
    from dtglib.corpora import corpora

    rows = [corpus._asdict() for corpus in corpora()]
    if options.json:
        print(json.dumps({"corpora": rows}, indent=2))
    else:
        print_table(rows)


def stats(options: argparse.Namespace) -> None:
    from dtglib.corpora import load, splits
    from dtglib.stats import row_of, stats_of

    found = [
        (name, split, stats_of(load(name, split, strict=not options.skip_broken)))
        for name in options.corpora
        for split in splits(name)
    ]
    if options.json:
        print(json.dumps({"stats": [{"corpus": c, "split": s, **asdict(stats)} for c, s, stats in found]}, indent=2))
        return
    print_table([{"corpus": name, "split": split, **row_of(stats)} for name, split, stats in found])


def minilang(options: argparse.Namespace) -> None:
    from dtglib.minilang import write

    for path, what in write(options.out, options.sentences, options.seed):
        print(f"{path}  {what}")


def data(options: argparse.Namespace) -> int:
    from dtglib.download import COLLECTIONS, FAILED, fetch, summary

    results = fetch(options.collections or COLLECTIONS)
    print(summary(results))
    return 1 if any(result.outcome == FAILED for result in results) else 0


def structure(options: argparse.Namespace) -> None:
    from dtglib.show import as_json, as_rows, numbers, show

    pieces = None if options.pieces is None else numbers(options.pieces, "pieces")
    seen = show(options.system, options.words.split(), numbers(options.heads, "heads"), pieces)
    if options.json:
        print(json.dumps(as_json(seen)))
    elif options.svg:
        if options.svg.is_dir():
            raise UserError(f"--svg: {options.svg} is a folder; name a file in it")
        from dtglib.files import write_atomically
        from dtglib.plot import Labelled, draw_mask

        picture = draw_mask(Labelled(seen.inputs, seen.kinds, seen.visible, seen.relpos), options.system)
        with write_atomically(options.svg) as file:
            file.write(picture._repr_svg_())
    else:
        print("actions:", *seen.actions)
        print_table(as_rows(seen))


def train(options: argparse.Namespace) -> None:
    from dtglib.config import parse_override
    from dtglib.experiment import prepare, train_into
    from dtglib.networks import best_on_dev
    from dtglib.settings import read_settings

    overrides = dict(map(parse_override, options.set))
    if options.model:
        overrides["model"] = options.model
    settings = read_settings(options.config, overrides)
    prepared = prepare(settings)
    speaks = os.environ.get("RANK", "0") == "0"  # one of the processes that torchrun starts
    if speaks:
        print(f"train: {prepared.train.summary}\ndev: {prepared.dev.summary}", flush=True)
    train_into(settings, prepared, options.out)
    if speaks:
        best = best_on_dev(options.out)["nats_per_transition"]
        print(f"{options.out}: {best:.4f} nats a transition on dev, at its best")


def train_parser(options: argparse.Namespace) -> None:
    from dtglib.config import parse_override
    from dtglib.networks import best_on_dev
    from dtglib.parser_training import prepare_parser, read_parser_settings, train_parser_into

    settings = read_parser_settings(options.config, dict(map(parse_override, options.set)))
    prepared = prepare_parser(settings)
    print(f"train: {prepared.train.summary}\ndev: {prepared.dev.summary}", flush=True)
    train_parser_into(settings, prepared, options.out)
    best = best_on_dev(options.out)["nats_per_transition"]
    print(f"{options.out}: {best:.4f} nats a word (its head and label) on dev, at its best")


def parse(options: argparse.Namespace) -> None:
    from dtglib.evaluate.attachment import attached, every_word, is_no_punctuation
    from dtglib.proposals.parser import load_parser
    from dtglib.treebank import write_conllu

    if options.out.is_dir():
        raise UserError(f"--out: {options.out} is a folder; name a file in it")
    if options.out.exists() and os.path.exists(options.file):
        source = Path(options.file)
        if options.out.samefile(source) or (source.is_dir() and options.out.parent.samefile(source)):
            raise UserError(f"--out: {options.out} is what is to be parsed; name another file")
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


def trees(options: argparse.Namespace) -> None:
    from dtglib.proposals.parser import load_parser
    from dtglib.proposals.propose import METHODS, propose

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


def sentences_of(options: argparse.Namespace) -> list["Sentence"]:
    """The sentences that a command is asked about; what is left out of them is said."""
    from dtglib.corpora import load

    treebank = load(options.file, options.split, options.sentences)
    for reason, count in treebank.excluded.items():
        print(f"dtglib: {options.file}: {count} left out: {reason}", file=sys.stderr)
    if not treebank.sentences:
        raise UserError(f"{options.file}: holds no sentence")
    return treebank.sentences


def reproduce(options: argparse.Namespace) -> None:
    from dtglib.execute import PAPERMILL, SCRIPTS
    from dtglib.reproduce import reproduce

    if not options.scripts and not find_spec("papermill"):
        raise UserError("papermill is not installed; with --scripts the .py halves of the notebooks are run instead")
    if options.minutes is not None and not 1 / 60 <= options.minutes <= A_YEAR:
        raise UserError(f"--minutes: must be from a second's to a year's, not {options.minutes:g}")
    reproduce(options.size, options.again, SCRIPTS if options.scripts else PAPERMILL, options.minutes)
