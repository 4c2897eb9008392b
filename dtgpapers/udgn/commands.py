"""The command about trees that are learned from words alone: induce.

dtglib induce "There is a difference" --model DIR             the tree that a model has found by itself
dtglib induce my-treebank --split test --model DIR            DDA and UDA, beside those of trivial trees
dtglib induce my-treebank --split test --model DIR --labels 8     which of its attention heads stand for which labels
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dtglib.basics.errors import UserError, require
from dtglib.cli.options import (
    Command,
    add_json,
    add_sentences,
    count,
    model_folder,
    print_conventions,
    print_table,
    require_another,
    sentences_of,
)


def _options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    what = "a folder of a trained model that finds trees by itself, such as udgn"
    sub.add_argument("--model", required=True, metavar="NAME", help=what)
    decoding = "what is written: the best tree, the best projective one, or the best head of each word (default: tree)"
    sub.add_argument("--decode", choices=("tree", "projective", "argmax"), default="tree", help=decoding)
    sub.add_argument("--labels", type=count, metavar="N", help="correlate attention heads with the N commonest labels")
    sub.add_argument("--out", metavar="FILE", help="write the sentences as read, with these trees (CoNLL-U)")
    add_json(sub)


def induce(options: argparse.Namespace) -> None:
    """Show the trees that a model has learned from words alone, and how well they agree with a treebank's."""
    from dtglib.basics.progress import progress
    from dtglib.data.treebank import format_conllu, with_tree
    from dtgpapers.udgn.beliefs import believed
    from dtgpapers.udgn.decoding import DECODERS
    from dtgpapers.udgn.induction import agreement_rows, induced, trivial_rows
    from dtgpapers.udgn.measured import label_rows

    require(not (options.labels and options.out), "--labels finds no trees that --out could write; take one of them")
    no_trees = "--decode argmax finds heads, which are seldom a tree that --out could write; take tree or projective"
    require(not (options.out and options.decode == "argmax"), no_trees)
    require_another(options.out and Path(options.out), options.text)
    model = _inducing(options)
    sentences = sentences_of(options)
    beliefs = iter(progress(believed(model, sentences), "inducing", "sentence", total=len(sentences)))
    if options.labels:
        about = _conventions(options, "correlation of an attention head with the arcs of a label")
        _show_labels(label_rows(beliefs, options.labels), about, options.json)
        return
    parses = list(induced(beliefs, DECODERS))
    about = _conventions(options, "shares of words")
    report: dict[str, Any] = {"conventions": about, "sentences": len(parses)}
    if not parses:
        raise UserError(f"{options.text}: no sentence is more than punctuation")
    elif gold := [one.sentence.heads for one in parses if one.sentence.heads is not None]:
        report["words"], report["trees"] = sum(map(len, gold)), agreement_rows(parses) + trivial_rows(gold)
    if left_out := len(sentences) - len(parses):
        print(f"{left_out} sentences left out, which are only punctuation", file=sys.stderr)
    texts = [format_conllu(with_tree(one.sentence, one.trees[options.decode])) for one in parses]
    if options.out:
        _write(Path(options.out), texts)
    if options.json:
        print(json.dumps(report | {"heads": [{"words": one.sentence.words, **one.trees} for one in parses]}))
    elif "trees" in report:
        print_table([{key: _percent(value) for key, value in row.items()} for row in report["trees"]])
        print(f"in percent of {report['words']} words; the last rows are trivial trees")
        print_conventions(about | {"unit": "percent of the words"})
    elif not options.out:
        print("".join(texts), end="")


def _inducing(options: argparse.Namespace) -> Any:
    """The model that is named; one that finds no trees by itself is an error."""
    from dtglib.families.base import family_of, load_model
    from dtglib.training.distributed import device_at_hand
    from dtgpapers.udgn.family import FAMILIES

    model = load_model(model_folder(options), device_at_hand())
    kind = family_of(model)
    if kind not in FAMILIES:
        raise UserError(f"{kind.title} finds no trees by itself; UDGN and StructFormer do")
    return model


def _conventions(options: argparse.Namespace, unit: str) -> dict[str, str]:
    words = "in lower case, without punctuation; numbers are N"
    return {"model": model_folder(options).name, "text": options.text, "unit": unit, "words": words}


def _show_labels(rows: Sequence[dict[str, Any]], about: dict[str, str], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"conventions": about, "labels": rows}))
        return
    print_table(_side_by_side(rows))
    print("the largest correlation with a head, which is named by its layer and number")
    print_conventions(about)


def _side_by_side(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each label."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        shown = found.setdefault(row["label"], {"label": row["label"], "arcs": row["arcs"]})
        shown[f"{row['direction']}, {row['attention']}"] = f"{row['r']:.2f} ({row['head']})"
    return list(found.values())


def _write(out: Path, texts: Sequence[str]) -> None:
    from dtglib.basics.files import write_atomically

    with write_atomically(out) as file:
        file.write("".join(texts))
    print(f"{out}: {len(texts)} sentences", file=sys.stderr)


def _percent(value: Any) -> Any:
    return f"{100 * value:.1f}" if isinstance(value, float) else value


COMMANDS = [
    Command("induce", _options, induce),
]
