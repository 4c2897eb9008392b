"""Commands about the probabilities of sentences and words: score, surprisal, sample.

dtglib surprisal "The keys to the cabinet are on the table ."
dtglib score mine.txt                           log p of each sentence, perplexities of all
dtglib sample -n 5                              sentences with their trees, drawn from a model
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dtglib.basics.errors import UserError, require
from dtglib.basics.progress import progress
from dtglib.cli.options import (
    Command,
    add_beam,
    add_json,
    add_model,
    add_parser,
    add_sentences,
    add_trees,
    count,
    finite,
    in_a_line,
    let_threads_sleep,
    model_folder,
    parser_name,
    print_table,
    require_searched,
    say_that_no_parser_is_asked,
    seed,
    sentences_of,
    widths_from,
)
from dtglib.cli.together import is_first

# Imported by type checkers only, so annotations that name these are not checked in tests.
if TYPE_CHECKING:
    from dtglib.evaluate.surprisal import Surprisal
    from dtglib.families.base import Family


def _score_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_model(sub)
    add_parser(sub)
    add_trees(sub)
    add_beam(sub.add_argument_group("of a model that is scored by a beam search"))
    add_json(sub)


def score(options: argparse.Namespace) -> None:
    """Score sentences: log p of each, perplexities of all."""
    from dtglib.basics.released import RELEASED_FOR
    from dtglib.evaluate.perplexity import perplexity
    from dtglib.families.base import family, family_name_in
    from dtglib.runs.sentence_scores import scores_of

    folder = model_folder(options, options.text)
    kind = family(family_name_in(folder))
    likelihood = kind.likelihood
    likelihood.check(folder, options.text)
    sentences = sentences_of(options)
    parser = widths = None
    if likelihood.sums_over_trees:
        parser = _proposer(options, folder, RELEASED_FOR[kind.trees.proposed_by])
    else:
        say_that_no_parser_is_asked(options, kind.name)
        widths = widths_from(options) if likelihood.needs_search else None
    drawn = options.trees, options.method, options.seed
    scores = scores_of(folder, sentences, parser, *drawn, widths, is_kept=False)
    total = perplexity(scores)
    shown = _as_shown(kind, folder)
    name = likelihood.perplexity.replace("-", "_")
    totals = {**total._asdict(), f"{name}_per_piece": total.per_piece, f"{name}_per_word": total.per_word}
    if options.json:
        rows = [
            {"text": " ".join(of.words), **row._asdict(), "best": row.best and shown(of.words, row.best)}
            for of, row in zip(sentences, scores, strict=True)
        ]
        found = {"log_prob": likelihood.name, "sentences": list(map(finite, rows)), "totals": finite(totals)}
        print(json.dumps(found, allow_nan=False))
        return
    print_table(
        [
            {
                "words": row.words, "pieces": row.pieces, "trees": row.trees, likelihood.name: round(row.log_prob, 4),
                "best tree": in_a_line(row.best and shown(sentence.words, row.best)),
                "sentence": " ".join(sentence.words),
            }
            for sentence, row in zip(sentences, scores, strict=True)
        ]
    )  # fmt: skip
    print(f"\n{total.sentences} sentences, {total.words} words, {total.pieces} pieces, {total.nats:.3f} nats")
    if unasked := sum(row.unasked for row in scores):
        print(f"{unasked} words that the model does not know have no probability, and are not counted")
    kind, ends = likelihood.at_most, "ends included" if total.ends else "no ends, which it does not predict"
    values = f"{kind}{total.per_piece:.3f} per piece, {kind}{total.per_word:.3f} per word"
    print(f"{likelihood.perplexity}: {values}, {ends}")


def _proposer(options: argparse.Namespace, folder: Path, kind: str) -> str:
    """The parser that proposes what to sum over; a released model has one of this kind of the same corpus."""
    from dtglib.basics.released import is_released, read_card

    if not options.parser and not is_released(folder):
        raise UserError(f"{folder}: this model sums over trees, which a parser proposes; name one with --parser")
    return options.parser or parser_name(options, read_card(folder).corpus, kind)


def _surprisal_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_model(sub)
    add_beam(sub)
    sub.add_argument("--unit", choices=("nats", "bits"), default="nats", help="of surprisal (default: nats)")
    sub.add_argument("--pieces", action="store_true", help="a row a piece instead of a row a word")
    picture = "instead of a table, a picture of a sentence: surprisals, the best tree so far, what the model can see"
    form = sub.add_mutually_exclusive_group()
    form.add_argument("--picture", type=Path, metavar="FILE.svg", help=picture)
    add_json(form)


def surprisal(options: argparse.Namespace) -> None:
    """Tell how surprising each word of a sentence, or of a file, is."""
    let_threads_sleep()
    from dtglib.evaluate.surprisal import piece_rows, surprisals, word_rows
    from dtglib.families.base import load_model
    from dtglib.training.distributed import device_at_hand

    sentences = [sentence.words for sentence in sentences_of(options)]
    if options.picture:
        _check_picture(options, len(sentences))
    folder = model_folder(options, options.text)
    require_searched(folder)
    model = load_model(folder, device_at_hand())
    if options.picture:
        _draw(options, model, sentences[0])
        return
    read = surprisals(model, sentences, widths_from(options))
    read = list(progress(read, "scoring", "sentence", total=len(sentences)))
    _warn_of_deaths(read)
    if options.json:
        rows = [_as_json(of_sentence, options.unit) for of_sentence in read]
        print(json.dumps({"unit": options.unit, "sentences": rows}, allow_nan=False))
    else:
        rows = (piece_rows if options.pieces else word_rows)(read, options.unit)
        print_table([{name: _rounded(value) for name, value in row.items()} for row in rows])


def _rounded(value: object) -> object:
    """A number for a table; what is not known, as after the death of all hypotheses, is left blank."""
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else round(value, 4)


def _check_picture(options: argparse.Namespace, sentences: int) -> None:
    require(sentences == 1, f"--picture draws one sentence, and here are {sentences}; add --sentences 1")
    require(options.picture.suffix == ".svg", f"--picture {options.picture}: it is an SVG; let its name end in .svg")


def _draw(options: argparse.Namespace, model: Any, words: Sequence[str]) -> None:
    from dtglib.basics.files import write_atomically
    from dtglib.evaluate.surprisal import UNITS, moments
    from dtglib.families.base import family_of
    from dtglib.pictures.plot import draw_reading

    read = moments(model, words, widths_from(options))
    if not family_of(model).trees.are_parses:
        read = [moment._replace(heads=[]) for moment in read]
    scaled = [moment._replace(surprisal=moment.surprisal * UNITS[options.unit]) for moment in read]
    if is_first():
        with write_atomically(options.picture) as file:
            file.write(draw_reading(words, scaled, options.unit)._repr_svg_())
    print(f"{options.picture}: {' '.join(words)}")


def _warn_of_deaths(found: Sequence["Surprisal"]) -> None:
    for number, one in enumerate(found, start=1):
        if one.died is not None:
            word = [*one.words, "the end"][one.died]
            print(
                f"dtglib: sentence {number}: no hypothesis of the beam could take word {one.died + 1} ({word}), and "
                f"what comes after it is not known; ask for a wider --beam",
                file=sys.stderr,
            )


def _as_json(one: "Surprisal", unit: str) -> dict[str, Any]:
    from dtglib.evaluate.surprisal import UNITS

    scale = UNITS[unit]
    return {
        "words": one.words,
        "surprisals": _all_finite((one.of_words * scale).tolist()),
        "end": _all_finite([one.end * scale])[0],
        "of_prefixes": _all_finite((one.of_prefixes * scale).tolist()),
        "structure": _all_finite((one.structure * scale).tolist()),
        "entropy": _all_finite((one.entropy * scale).tolist()),
        "hypotheses": one.hypotheses.tolist(),
        "tree_entropy": _all_finite((one.entropy_of_trees * scale).tolist()),
        "known": one.known,
        "pieces": one.pieces,
        "surprisals_of_pieces": _all_finite((one.of_pieces * scale).tolist()),
        "died": one.died,
    }


def _all_finite(values: Sequence[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _sample_options(sub: argparse.ArgumentParser) -> None:
    add_model(sub)
    sub.add_argument("-n", type=count, default=10, dest="number", metavar="N", help="sentences (default: 10)")
    sub.add_argument("--seed", type=seed, default=1, metavar="N", help="of what is drawn (default: 1)")
    sub.add_argument("--words", type=count, default=40, metavar="N", help="the most in a sentence (default: 40)")
    sub.add_argument("--temperature", type=float, default=1.0, metavar="T", help="below 1: less surprise (default: 1)")
    add_json(sub)


def sample(options: argparse.Namespace) -> None:
    """Draw sentences with their trees from a model."""
    let_threads_sleep()
    import torch

    from dtglib.decode.sampling import generate
    from dtglib.families.base import family_of, load_model
    from dtglib.training.distributed import device_at_hand

    folder = model_folder(options)
    require_searched(folder)
    model = load_model(folder, device_at_hand())
    random = torch.Generator(model.embedding.weight.device).manual_seed(options.seed)
    shown = _as_shown(family_of(model), folder)
    number, words, temperature = options.number, options.words, options.temperature
    drawn = list(generate(model.stepper(), model.vocabulary, number, random, words, temperature))
    trees = [None if one.tree is None else shown(one.words, one.tree.tolist()) for one in drawn]
    name = family_of(model).trees.called
    pairs = list(zip(drawn, trees, strict=True))
    if options.json:
        rows = [{"words": one.words, name: tree, "log_prob": one.log_prob} for one, tree in pairs]
        print(json.dumps({"sentences": rows}))
        return
    print_table(
        [
            {"log p": round(one.log_prob, 2), "sentence": " ".join(one.words), name: in_a_line(tree)}
            for one, tree in pairs
        ]
    )


def _as_shown(kind: "Family", folder: Path) -> Callable[[Sequence[str], Sequence[int]], list[int] | str]:
    """The function that writes a tree in the form of a family, given the words and the tree."""
    from dtglib.data.vocabulary import Vocabulary

    return partial(kind.trees.shown, Vocabulary.load(folder))


COMMANDS = [
    Command("score", _score_options, score),
    Command("surprisal", _surprisal_options, surprisal),
    Command("sample", _sample_options, sample),
]
