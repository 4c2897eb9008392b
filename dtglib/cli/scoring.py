"""Commands about the probabilities of sentences and words: score, surprisal, sample.

dtglib surprisal "The keys to the cabinet are on the table ."
dtglib score mine.txt                           log p of each sentence, perplexities of all
dtglib sample -n 5                              sentences with their trees, drawn from a model
"""

import argparse
import json
import math
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dtglib.basics.errors import require
from dtglib.basics.progress import progress
from dtglib.cli.options import (
    Command,
    add_beam,
    add_json,
    add_model,
    add_parser,
    add_sentences,
    add_trees,
    conventions,
    count,
    finite,
    in_a_line,
    let_threads_sleep,
    model_folder,
    note_unread_parser,
    parser_name,
    print_table,
    require_searched,
    seed,
    sentences_of,
    widths_from,
)
from dtglib.cli.together import is_first

# Imported by type checkers only, so annotations that name these are not checked in tests.
if TYPE_CHECKING:
    from dtglib.evaluate.surprisal import Surprisal


def _score_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_model(sub)
    add_parser(sub)
    add_trees(sub)
    add_beam(sub.add_argument_group("of a model that is scored by a beam search"))
    add_json(sub)


def score(options: argparse.Namespace) -> None:
    """Score sentences: log p of each, perplexities of all."""
    from dtglib.data.vocabulary import Vocabulary
    from dtglib.evaluate.perplexity import perplexity
    from dtglib.families.base import family, family_name_in
    from dtglib.runs.sentence_scores import scores_of

    folder = model_folder(options, options.text)
    kind = family(family_name_in(folder))
    likelihood = kind.likelihood
    likelihood.check(folder, options.text)
    sentences = sentences_of(options)
    note_unread_parser(options, kind)
    parser = _proposer(options, folder, kind.trees.released) if likelihood.sums_over_trees else None
    widths = widths_from(options) if likelihood.needs_search else None
    drawn = options.trees, options.method, options.seed
    scores = scores_of(folder, sentences, parser, *drawn, widths, is_kept=False)
    about = conventions(options, folder, options.text, "nats", parser)
    total = perplexity(scores)
    shown = partial(kind.trees.shown, Vocabulary.load(folder))
    name = likelihood.perplexity.replace("-", "_")
    totals = {**total._asdict(), f"{name}_per_piece": total.per_piece, f"{name}_per_word": total.per_word}
    if options.json:
        rows = [
            {"text": " ".join(sentence.words), **row._asdict(), "best": row.best and shown(sentence.words, row.best)}
            for sentence, row in zip(sentences, scores, strict=True)
        ]
        report = {"log_prob": likelihood.name, "sentences": list(map(finite, rows)), "totals": finite(totals)}
        print(json.dumps({"conventions": about, **report}, allow_nan=False))
        return
    print_table(
        [
            {
                "words": row.words, "pieces": row.pieces, "trees": row.trees, likelihood.name: round(row.log_prob, 4),
                "best tree": in_a_line(row.best and shown(sentence.words, row.best)),
                "sentence": " ".join(sentence.words),
            }
            for sentence, row in zip(sentences, scores, strict=True)
        ],
        about,
    )  # fmt: skip
    print(f"\n{total.sentences} sentences, {total.words} words, {total.pieces} pieces, {total.nats:.3f} nats")
    if unasked := sum(row.unasked for row in scores):
        print(f"{unasked} words that the model does not know have no probability, and are not counted")
    at_most, ends = likelihood.at_most, "ends included" if total.ends else "no ends, which it does not predict"
    values = f"{at_most}{total.per_piece:.3f} per piece, {at_most}{total.per_word:.3f} per word"
    print(f"{likelihood.perplexity}: {values}, {ends}")


def _proposer(options: argparse.Namespace, folder: Path, kind: str) -> str:
    """The parser that proposes the trees of a sum; that of a released model is the released one for the same corpus."""
    from dtglib.basics.released import is_released, read_card

    may = options.parser is not None or is_released(folder)
    require(may, f"{folder}: this model sums over trees, which a parser proposes; name one with --parser")
    return options.parser or parser_name(options, read_card(folder).corpus, kind)


def _surprisal_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_model(sub)
    add_beam(sub)
    sub.add_argument("--unit", choices=("nats", "bits"), default="nats", help="of surprisal (default: nats)")
    picture = "instead of a table, a picture of a sentence: surprisals, the best tree so far, what the model can see"
    form = sub.add_mutually_exclusive_group()
    form.add_argument("--picture", type=Path, metavar="FILE.svg", help=picture)
    add_json(form)


def surprisal(options: argparse.Namespace) -> None:
    """Print the surprisal of each word of a sentence, or of a file."""
    let_threads_sleep()
    from dtglib.evaluate.surprisal import surprisals, word_rows
    from dtglib.families.base import load_model
    from dtglib.training.distributed import device_at_hand

    sentences = [sentence.words for sentence in sentences_of(options)]
    if path := options.picture:
        require(len(sentences) == 1, f"--picture draws one sentence, and here are {len(sentences)}; add --sentences 1")
        require(path.suffix == ".svg", f"--picture {path}: it is an SVG; let its name end in .svg")
    folder = model_folder(options, options.text)
    require_searched(folder)
    model = load_model(folder, device_at_hand())
    if options.picture:
        _draw(options, model, sentences[0])
        return
    read = surprisals(model, sentences, widths_from(options))
    read = list(progress(read, "scoring", "sentence", total=len(sentences)))
    _warn_of_deaths(read)
    about = conventions(options, folder, options.text, f"{options.unit} per word, with its end")
    about["surprisal"] = "a difference of two log p"
    if options.json:
        rows = [_as_json(of_sentence, options.unit) for of_sentence in read]
        print(json.dumps({"conventions": about, "unit": options.unit, "sentences": rows}, allow_nan=False))
    else:
        rows = word_rows(read, options.unit)
        print_table([{name: _rounded(value) for name, value in row.items()} for row in rows], about)


def _rounded(value: object) -> object:
    """A number for a table; an unknown one, as after the death of all hypotheses, is left blank."""
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else round(value, 4)


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


def _warn_of_deaths(sentences: Sequence["Surprisal"]) -> None:
    for number, read in enumerate(sentences, start=1):
        if read.died is not None:
            word = [*read.words, "the end"][read.died]
            print(
                f"dtglib: sentence {number}: no hypothesis of the beam could take word {read.died + 1} ({word}), and "
                f"what comes after it is not known; ask for a wider --beam",
                file=sys.stderr,
            )


def _as_json(read: "Surprisal", unit: str) -> dict[str, Any]:
    from dtglib.evaluate.surprisal import UNITS

    def scaled(values: Iterable[float]) -> list[float | None]:
        numbers = [float(value * UNITS[unit]) for value in values]
        return [number if math.isfinite(number) else None for number in numbers]

    return {
        "words": read.words,
        "surprisals": scaled(read.of_words),
        "end": scaled([read.end])[0],
        "of_prefixes": scaled(read.of_prefixes),
        "structure": scaled(read.structure),
        "entropy": scaled(read.entropy),
        "hypotheses": read.hypotheses.tolist(),
        "tree_entropy": scaled(read.entropy_of_trees),
        "known": read.known,
        "pieces": read.pieces,
        "surprisals_of_pieces": scaled(read.of_pieces),
        "died": read.died,
    }


def _sample_options(sub: argparse.ArgumentParser) -> None:
    add_model(sub, "dtg-books")
    sub.add_argument("-n", type=count, default=10, dest="number", metavar="N", help="sentences (default: 10)")
    sub.add_argument("--seed", type=seed, default=1, metavar="N", help="the random seed (default: 1)")
    sub.add_argument("--words", type=count, default=40, metavar="N", help="at most, in a sentence (default: 40)")
    sub.add_argument("--temperature", type=float, default=1.0, metavar="T", help="below 1: likelier words (default: 1)")
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
    shown = partial(family_of(model).trees.shown, model.vocabulary)
    name, rows = family_of(model).trees.called, []
    most, temperature = options.words, options.temperature
    for drawn in generate(model.stepper(), model.vocabulary, options.number, random, most, temperature):
        words, log_prob = drawn.words, drawn.log_prob
        tree = None if drawn.tree is None else shown(words, drawn.tree.tolist())
        if options.json:
            rows.append({"words": words, name: tree, "log_prob": log_prob})
        else:
            rows.append({"log p": round(log_prob, 2), "sentence": " ".join(words), name: in_a_line(tree)})
    about = {"model": folder.name, "text": f"drawn, seed {options.seed}, temperature {temperature:g}", "unit": "nats"}
    about |= {"beginning": "<ROOT>, given", "end": "<END>, predicted", "log p": "of what was drawn, exact, untempered"}
    if options.json:
        print(json.dumps({"conventions": about, "sentences": rows}))
    else:
        print_table(rows, about)


COMMANDS = [
    Command("score", _score_options, score),
    Command("surprisal", _surprisal_options, surprisal),
    Command("sample", _sample_options, sample),
]
