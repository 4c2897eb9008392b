"""Commands about the probabilities of sentences and words: score, surprisal.

dtglib score --model DIR --parser DIR mine.txt  log p of each sentence, perplexities of all
dtglib surprisal --model DIR "The keys to the cabinet are on the table ."
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from dtglib.basics.errors import UserError
from dtglib.cli.options import (
    PARSER_HELP,
    Command,
    add_beam,
    add_json,
    add_model,
    add_sentences,
    add_trees,
    add_which_sentences,
    finite,
    model_of,
    print_table,
    say_that_no_parser_is_asked,
    searched_model_of,
    sentences_of,
    widths_from,
)

# Imported by type checkers only, so annotations that name these are not checked in tests.
if TYPE_CHECKING:
    import numpy as np

    from dtglib.evaluate.surprisal import Surprisal


def _score_options(sub: argparse.ArgumentParser) -> None:
    add_sentences(sub)
    add_model(sub)
    sub.add_argument("--parser", metavar="DIR", help=f"{PARSER_HELP}; not needed for models without trees")
    add_trees(sub)
    add_json(sub)


def score(options: argparse.Namespace) -> None:
    """Score sentences: log p of each, perplexities of all."""
    from dtglib.basics.progress import progress
    from dtglib.evaluate.perplexity import perplexity
    from dtglib.families.base import family_of

    model = model_of(options)
    likelihood = family_of(model).likelihood
    sentences = sentences_of(options)
    if likelihood.sums_over_trees:
        trees = _proposed(options, model, [sentence.words for sentence in sentences])
    else:
        say_that_no_parser_is_asked(options, model.config.model)
        trees = None
    scores = likelihood.scores(model, sentences, trees)
    scores = list(progress(scores, "scoring", "sentence", total=len(sentences)))
    total = perplexity(scores)
    totals = {**total._asdict(), "perplexity_per_piece": total.per_piece, "perplexity_per_word": total.per_word}
    if options.json:
        rows = [{"text": " ".join(of.words), **row._asdict()} for of, row in zip(sentences, scores, strict=True)]
        print(json.dumps({"sentences": list(map(finite, rows)), "totals": finite(totals)}, allow_nan=False))
        return
    print_table(
        [
            {
                "words": row.words, "pieces": row.pieces, "trees": row.trees, "log p": round(row.log_prob, 4),
                "best tree": " ".join(map(str, row.best or ())), "sentence": " ".join(sentence.words),
            }
            for sentence, row in zip(sentences, scores, strict=True)
        ]
    )  # fmt: skip
    print(f"\n{total.sentences} sentences, {total.words} words, {total.pieces} pieces, {total.nats:.3f} nats")
    kind = "" if likelihood.is_exact else "at most "
    print(f"perplexity: {kind}{total.per_piece:.3f} per piece, {kind}{total.per_word:.3f} per word, ends included")


def _proposed(options: argparse.Namespace, model: Any, sentences: list[tuple[str, ...]]) -> Iterator["np.ndarray"]:
    """The trees to sum over."""
    from dtglib.parsing.parser import load_parser
    from dtglib.parsing.propose import METHODS, propose

    if not options.parser:
        raise UserError(f"{model.config.model} sums over trees, which a parser proposes; name one with --parser")
    parser = load_parser(options.parser)
    chosen = propose(parser, sentences, options.trees, METHODS[options.method], options.seed)
    return (trees.heads for trees in chosen)


def _surprisal_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("text", metavar="SENTENCE_OR_FILE", help='"The keys to the cabinet are on the table ."')
    add_which_sentences(sub)
    add_model(sub)
    add_beam(sub)
    sub.add_argument("--unit", choices=("nats", "bits"), default="nats", help="of surprisal (default: nats)")
    sub.add_argument("--pieces", action="store_true", help="a row a piece instead of a row a word")
    add_json(sub)


def surprisal(options: argparse.Namespace) -> None:
    """Print the surprisal of each word."""
    from dtglib.basics.progress import progress
    from dtglib.evaluate.surprisal import piece_frame, surprisals, word_frame

    sentences = _sentences_or_text(options)
    found = surprisals(searched_model_of(options), sentences, widths_from(options))
    found = list(progress(found, "reading", "sentence", total=len(sentences)))
    _warn_of_deaths(found)
    if options.json:
        rows = [_as_json(one, options.unit) for one in found]
        print(json.dumps({"unit": options.unit, "sentences": rows}, allow_nan=False))
        return
    frame = (piece_frame if options.pieces else word_frame)(found, options.unit)
    print_table(frame.round(4).to_dict("records"))


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
        "known": one.known,
        "pieces": one.pieces,
        "surprisals_of_pieces": _all_finite((one.of_pieces * scale).tolist()),
        "died": one.died,
    }


def _all_finite(values: Sequence[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def _sentences_or_text(options: argparse.Namespace) -> list[Sequence[str]]:
    """The sentences of a file, or the one on the command line."""
    from dtglib.data.tokenize import tokenize

    if options.split or os.path.isfile(options.text):
        options.file = options.text
        return [sentence.words for sentence in sentences_of(options)]
    if not any(character.isspace() for character in options.text):
        raise UserError(f"{options.text!r} is no file, and without a space no sentence; of a corpus, name the --split")
    if not (words := tokenize(options.text)):
        raise UserError("the sentence has no words")
    return [words]


COMMANDS = [
    Command("score", "score the sentences of a file: log p of each, perplexities of all", _score_options, score),
    Command(
        "surprisal",
        "tell how surprising each word of a sentence, or of a file, is",
        _surprisal_options,
        surprisal,
    ),
]
