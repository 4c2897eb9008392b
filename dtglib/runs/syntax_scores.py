"""Trained models at a run size: perplexity, test suites, minimal pairs, parsing. All rows are cached in runs/scores.

    perplexity_at(settings, folder)["per word"]                                     see evaluate/perplexity.py
    rows = suite_rows(folder_of_model, read_suites("minilang"), Widths(300))        see evaluate/suites.py
    rows = pair_rows(folder_of_model, read_pairs("minilang"), ByBeam(Widths(300)))  see evaluate/blimp.py
    rows = parses(folder_of_model, sentences, Widths(300))                          the trees of the best derivations

There are three ways to compute log p of a sentence: a bound from the trees that a parser proposes (`ByTrees`), a bound
from a beam search (`ByBeam`), and the family's own score, which needs neither (`Directly`).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from torch import nn

from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence, Words
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import DEFAULT_WIDTHS, Widths, search
from dtglib.evaluate import blimp, suites
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.evaluate.reports import Report, pairs_report, parsing_row, perplexity_row, suites_report
from dtglib.evaluate.surprisal import of_beginnings
from dtglib.evaluate.ways import ByBeam, ByTrees
from dtglib.families.base import Family, family, family_name_in, family_of, load_model
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.parsers import proposer_of
from dtglib.runs.sentence_scores import cached_scores, scores_of, test_sentences
from dtglib.runs.settings import Settings, embedded_corpus
from dtglib.sequences.labelled import labels_of
from dtglib.training.distributed import device_at_hand


@dataclass(frozen=True)
class Directly:
    """The family's own score, which needs neither a parser nor a search; it is exact for TXL (tokens).

    A sentence has no score if one of its words has no probability: to leave the word out would raise the score.
    """

    parser: ClassVar[None] = None
    at_once: ClassVar[int] = 256

    def log_probs(self, model: nn.Module) -> Callable[[Sequence[Words]], Iterable[float]]:
        scores = family_of(model).likelihood.scores
        return lambda sentences: (
            math.nan if score.unasked else score.log_prob
            for score in scores(model, [Sentence(tuple(words)) for words in sentences], None)
        )


def without_parser(kind: Family, widths: Widths) -> ByBeam | Directly:
    """The way to score sentences of a family's models if no parser is named."""
    return ByBeam(widths) if kind.likelihood.is_bounded_by_search else Directly()


def named(kind: Family, way: ByBeam | ByTrees | Directly) -> str:
    """The name of log p in a report: that of its way or, for a family without log p, that of the substitute."""
    return kind.likelihood.name if kind.likelihood.is_pseudo else type(way).__name__


def pair_rows(folder: Path, paradigms: Sequence[blimp.Paradigm], way: ByBeam | ByTrees | Directly) -> list[Row]:
    """A row per minimal pair: log p of both sentences."""
    pairs = blimp.all_pairs(paradigms)

    def load() -> Callable[[slice], list[Row]]:
        log_probs = way.log_probs(load_model(folder, device_at_hand()))
        return lambda block: blimp.rows_of_batch(pairs[block], log_probs)

    fields = {name: value for name, value in asdict(way).items() if name != "parser"}
    about = {"what": "pairs", "way": type(way).__name__, "pairs": digest_of(paradigms), **fields}
    costs = [len(pair.good) + len(pair.bad) for _, pair in pairs]
    computed = Computed(costs, load, way.at_once // 2, unit="pair")
    return cached_scores("pairs", folder, way.parser, about, computed)


def suite_rows(folder: Path, tested: Sequence[suites.Suite], widths: Widths = DEFAULT_WIDTHS) -> list[Row]:
    """A row per item of the test suites: surprisals, and which predictions hold."""
    items = suites.all_items(tested)

    def load() -> Callable[[slice], Iterator[Row]]:
        surprise = of_beginnings(load_model(folder, device_at_hand()), widths)
        return lambda block: suites.rows_of_batch(items[block], surprise)

    read = [
        [suite.name, suite.region_names, [formula.text for formula in suite.predictions], suite.items]
        for suite in tested
    ]
    about = {"what": "suites", "suites": digest_of(read), "widths": widths}
    costs = [sum(len(suite.words(item, name)) for name in item.conditions) for suite, item in items]
    computed = Computed(costs, load, widths.at_once // 4, unit="item")
    return cached_scores("suites", folder, None, about, computed)


def parses(folder: Path, sentences: Sequence[Sentence], widths: Widths = DEFAULT_WIDTHS) -> list[Row]:
    """A row per sentence: log p, and the tree, its labels and log p of the best derivation that the beam found."""
    words = [sentence.words for sentence in sentences]

    def load() -> Callable[[slice], Iterator[Row]]:
        model = load_model(folder, device_at_hand())

        def rows_of(block: slice) -> Iterator[Row]:
            for result in search(model.stepper(), model.vocabulary, words[block], widths):
                tree = None if result.tree is None else result.tree.tolist()
                labels = None if tree is None else labels_of(model.vocabulary.symbols, tree)
                row = {"log_prob": result.log_prob, "tree": tree, "labels": labels}
                yield row | {"log_derivation": result.log_derivation}

        return rows_of

    about = {"what": "parses", "sentences": digest_of(words), "widths": widths}
    computed = Computed(list(map(len, words)), load, widths.at_once)
    return cached_scores("parses", folder, None, about, computed)


def beam_scores(folder: Path, sentences: Sequence[Sentence], widths: Widths = DEFAULT_WIDTHS) -> list[SentenceScore]:
    """The score of each sentence by beam search, and its best derivation's tree."""
    vocabulary, scores = Vocabulary.load(folder), []
    for sentence, row in zip(sentences, parses(folder, sentences, widths), strict=True):
        pieces, tree = len(vocabulary.encode(sentence.words).ids), row["tree"] and tuple(row["tree"])
        scores.append(SentenceScore(len(sentence.words), pieces, 0, row["log_prob"], tree))
    return scores


def scores_at(settings: Settings, folder: Path, parser: Path | str | None = None) -> list[SentenceScore]:
    """The scores of the test sentences of a run size; a model that sums over trees needs the parser."""
    sentences = test_sentences(settings)
    if family(family_name_in(folder)).likelihood.needs_search:
        return beam_scores(folder, sentences, widths_of(settings))
    return scores_of(folder, sentences, parser, settings.evaluation.trees, seed=settings.run.seed)


def perplexity_at(settings: Settings, folder: Path) -> Row:
    """The perplexity on the test sentences of a run size; the family's parser proposes the trees of a sum."""
    parser = proposer_of(settings.family, settings) if settings.family.likelihood.sums_over_trees else None
    return perplexity_row(scores_at(settings, folder, parser))


def suites_of(settings: Settings, folder: Path) -> Report:
    """The report of the test suites at a run size: minilang's for models of minilang, otherwise the public ones."""
    tested = suites.read_suites(embedded_corpus(settings), settings.evaluation.items)
    return suites_report(tested, suite_rows(folder, tested, widths_of(settings)), Vocabulary.load(folder))


def pairs_of(settings: Settings, folder: Path) -> Report:
    """The report of the minimal pairs at a run size, by beam search unless the model's own score is exact."""
    paradigms = blimp.read_pairs(embedded_corpus(settings), settings.evaluation.pairs)
    kind = family(family_name_in(folder))  # the settings may be those of another model
    way = without_parser(kind, widths_of(settings))
    rows = pair_rows(folder, paradigms, way)
    return {"log p": named(kind, way), **pairs_report(paradigms, rows, Vocabulary.load(folder))}


def parsing_of(settings: Settings, folder: Path) -> Row:
    """Attachment scores of a model on the test sentences of a run size."""
    sentences = test_sentences(settings)
    return parsing_row(sentences, parses(folder, sentences, widths_of(settings)))


def widths_of(settings: Settings) -> Widths:
    """The beam's widths at a run size."""
    chosen = settings.evaluation
    return Widths(chosen.beam, chosen.beam, within=chosen.within, score_beam=chosen.score_beam)
