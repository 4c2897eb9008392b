"""What trained models know of syntax: test suites, minimal pairs, trees; all is computed once, and kept in runs/scores.

    rows = suite_rows(folder_of_model, read_suites("minilang"), Widths(300))        see evaluate/suites.py
    rows = pair_rows(folder_of_model, read_pairs("minilang"), ByBeam(Widths(300)))  see evaluate/blimp.py
    rows = parses(folder_of_model, sentences, Widths(300))                          the trees of the best derivations

There are three ways to log p of a sentence: the bound over the trees that a parser proposes (`ByTrees`), the beam
search (`ByBeam`), and, of a model without trees, the exact value (`Exactly`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dtglib.decode.beam import DEFAULT, Widths, in_parts, search
from dtglib.decode.stackcache import StackStepper
from dtglib.evaluate import blimp, suites
from dtglib.evaluate.attachment import attached, is_no_punctuation
from dtglib.kept import Row, digest_of
from dtglib.measured import kept_scores, test_sentences
from dtglib.model import Model
from dtglib.processes import device_at_hand
from dtglib.proposals.parser import load_parser
from dtglib.proposals.propose import METHODS
from dtglib.readings import SYSTEM_OF
from dtglib.scores import score_many, score_words
from dtglib.settings import Settings
from dtglib.surprisal import is_known, of_beginnings
from dtglib.transitions.protocol import OPEN
from dtglib.treebank import Sentence
from dtglib.vocab import Vocabulary

Words = Sequence[str]


class ByBeam(NamedTuple):
    """The sum over the derivations that a beam search keeps: a bound."""

    widths: Widths = DEFAULT
    parser = None

    @property
    def at_once(self) -> int:
        """How many sentences are best asked about at once."""
        return self.widths.at_once

    def log_probs(self, model: Model) -> Callable[[Sequence[Words]], Iterable[float]]:
        made = partial(StackStepper, model), model.vocabulary
        return lambda sentences: (found.log_prob for found in in_parts(search, *made, sentences, self.widths))


class ByTrees(NamedTuple):
    """The sum over so many trees of each sentence, which a parser proposes: a bound."""

    parser: Path | str
    trees: int = 300
    method: str = "sample"
    seed: int = 1
    at_once = 16

    def log_probs(self, model: Model) -> Callable[[Sequence[Words]], Iterable[float]]:
        parser = load_parser(self.parser)

        def bounds(sentences: Sequence[Words]) -> list[float]:
            # Sentences that are the same to the model are a tie, whatever the parser would propose for each.
            ids = [model.vocabulary.encode(words).ids for words in sentences]
            different: dict[tuple[int, ...], Words] = {}
            for known, words in zip(ids, sentences, strict=True):
                different.setdefault(known, words)
            scores = parser.arc_scores(list(different.values()))
            asked = (
                (words, METHODS[self.method](of_arcs, self.trees, np.random.default_rng([self.seed, *known])).heads)
                for (known, words), of_arcs in zip(different.items(), scores, strict=True)
            )
            found = dict(zip(different, (scored.bound for scored in score_many(model, asked)), strict=True))
            return [found[known] for known in ids]

        return bounds


class Exactly(NamedTuple):
    """What a model without trees says."""

    parser = None
    at_once = 256

    def log_probs(self, model: Model) -> Callable[[Sequence[Words]], Iterable[float]]:
        return lambda sentences: score_words(model, sentences)


def pair_rows(folder: Path, paradigms: Sequence[blimp.Paradigm], way: ByBeam | ByTrees | Exactly) -> list[Row]:
    """A row a minimal pair: log p of both sentences."""

    def rows_from(first: int) -> Iterator[Row]:
        return blimp.pair_rows(paradigms, way.log_probs(Model.load(folder, device_at_hand())), first, way.at_once // 2)

    told = {name: value for name, value in way._asdict().items() if name != "parser"}
    about = {"what": "pairs", "way": type(way).__name__, "pairs": digest_of(paradigms), **told}
    count = sum(len(paradigm.pairs) for paradigm in paradigms)
    return kept_scores("pairs", folder, way.parser, about, count, rows_from, "pair")


def suite_rows(folder: Path, tested: Sequence[suites.Suite], widths: Widths = DEFAULT) -> list[Row]:
    """A row an item of the test suites: surprisals, and which predictions hold."""

    def rows_from(first: int) -> Iterator[Row]:
        return suites.item_rows(
            tested, of_beginnings(Model.load(folder, device_at_hand()), widths), first, widths.at_once // 4
        )

    read = [
        [suite.name, suite.region_names, [formula.text for formula in suite.predictions], suite.items]
        for suite in tested
    ]
    about = {"what": "suites", "suites": digest_of(read), "widths": widths}
    return kept_scores("suites", folder, None, about, sum(len(suite.items) for suite in tested), rows_from, "item")


def parses(folder: Path, sentences: Sequence[Sentence], widths: Widths = DEFAULT) -> list[Row]:
    """A row a sentence: log p, and the heads and log p of the best derivation that the beam found."""
    words = [sentence.words for sentence in sentences]

    def rows_from(first: int) -> Iterator[Row]:
        start = first - first % widths.at_once  # the same sentences at once, whatever is known of them
        model = Model.load(folder, device_at_hand())
        found = in_parts(search, partial(StackStepper, model), model.vocabulary, words[start:], widths)
        for one in islice(found, first - start, None):
            heads = None if one.heads is None else one.heads.tolist()
            yield {"log_prob": one.log_prob, "heads": heads, "log_derivation": one.log_derivation}

    about = {"what": "parses", "sentences": digest_of(words), "widths": widths}
    return kept_scores("parses", folder, None, about, len(words), rows_from)


def parsing_row(sentences: Sequence[Sentence], rows: Sequence[Row]) -> Row:
    """How many words have the head that the treebank gives them; of a sentence for which there is no tree none has.

    Sentences to which the treebank gives no tree are left out; where no others are left, there is nothing to tell.
    """
    judged = [(sentence, row) for sentence, row in zip(sentences, rows, strict=True) if sentence.heads is not None]
    if not judged:
        return {"sentences": 0}
    sentences, rows = zip(*judged, strict=True)
    trees = [row["heads"] or [OPEN] * len(sentence.words) for sentence, row in judged]
    right = attached(sentences, trees)
    low, high = right.interval(np.random.default_rng(1))
    return {
        "sentences": len(rows),
        "UAS": right.uas,
        "UAS, low": low,
        "UAS, high": high,
        "UAS without punctuation": attached(sentences, trees, is_no_punctuation).uas,
        "without a tree": sum(row["heads"] is None for row in rows),
    }


# What is told of the rows: tables by name, and the numbers over all.
Report = dict[str, Any]


def pairs_report(paradigms: Sequence[blimp.Paradigm], rows: Sequence[Row], vocabulary: Vocabulary) -> Report:
    """Accuracies by paradigm, phenomenon and field, and their mean over the paradigms.

    A pair is "alike" if the vocabulary does not know the words in which its sentences differ: no model can prefer one.
    """
    pairs = [pair for paradigm in paradigms for pair in paradigm.pairs]
    scores = blimp.score(paradigms, rows)
    return {
        "paradigms": scores,
        "phenomena": blimp.grouped(scores, "phenomenon"),
        "fields": blimp.grouped(scores, "field"),
        "accuracy": blimp.overall(scores),
        "pairs": len(rows),
        "ties": sum(row["ties"] for row in scores),
        "identical": sum(row["identical"] for row in scores),
        "alike": sum(vocabulary.encode(pair.good).ids == vocabulary.encode(pair.bad).ids for pair in pairs),
        "failed": sum(row["failed"] for row in scores),
    }


def suites_report(tested: Sequence[suites.Suite], rows: Sequence[Row], vocabulary: Vocabulary) -> Report:
    """Scores by suite and circuit, and the three averages, ours first."""
    scores = suites.score(tested, rows, partial(is_known, vocabulary))
    return {
        "suites": scores,
        "predictions": suites.predictions(tested, rows),
        "circuits": suites.circuits(scores),
        "averages": suites.averages(scores),
    }


def suites_of(settings: Settings, folder: Path) -> Report:
    """The report of the suites that a run size asks for: minilang's for models of minilang, the public ones else."""
    tested = suites.read_suites(_embedded(settings), settings.evaluation.items)
    return suites_report(tested, suite_rows(folder, tested, widths_of(settings)), Vocabulary.load(folder))


def pairs_of(settings: Settings, folder: Path) -> Report:
    """The same for minimal pairs: by the beam, of models that have trees."""
    paradigms = blimp.read_pairs(_embedded(settings), settings.evaluation.pairs)
    model = Model.load(folder, device_at_hand())
    way = ByBeam(widths_of(settings)) if model.config.model in SYSTEM_OF else Exactly()
    rows = pair_rows(folder, paradigms, way)
    return {"log p": type(way).__name__, **pairs_report(paradigms, rows, model.vocabulary)}


def parsing_of(settings: Settings, folder: Path) -> Row:
    """How well a model with trees parses the test sentences that a run size asks for."""
    sentences = test_sentences(settings)
    return parsing_row(sentences, parses(folder, sentences, widths_of(settings)))


def widths_of(settings: Settings) -> Widths:
    """Of the beam, and of the word beam."""
    width = settings.evaluation.beam
    return Widths(width, width, within=settings.evaluation.within)


def _embedded(settings: Settings) -> str | None:
    return "minilang" if settings.corpus.corpus == "minilang" else None
