"""Scores of sentences by trained models: probabilities and perplexities.

    sentences = test_sentences(settings)                                   evenly spaced in the test part
    scores = scores_of(folder_of_model, sentences, folder_of_parser, trees=300)

Scores are cached in runs/scores. Their key (runs/cache.py) contains the weights of model and parser, the
sentences, the number of trees and the method that chooses them, and the code. The device is not part of the key,
because it changes only the last digits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Any

from dtglib.basics.code import code_of
from dtglib.basics.errors import UserError
from dtglib.basics.files import sha256
from dtglib.basics.record import Row
from dtglib.data.corpora import part_of
from dtglib.data.treebank import Sentence
from dtglib.decode.beam import DEFAULT_WIDTHS, Widths
from dtglib.evaluate.item_files import Something
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.families.base import family, family_name_in, family_of, load_model, module_of
from dtglib.network.saved import WEIGHTS_FILE
from dtglib.parsing.parser import known_as, load_parser
from dtglib.parsing.propose import METHODS, SENTENCES_PER_CALL, propose
from dtglib.runs.cache import Computed, cached_rows, digest_of, rows_now
from dtglib.runs.settings import Settings
from dtglib.training.distributed import device_at_hand


def test_sentences(settings: Settings) -> list[Sentence]:
    """The test sentences that the settings ask for, evenly spaced in the test part."""
    return spread(part_of(settings.corpus, "test").sentences, settings.evaluation.scored_sentences)


def spread(sentences: Sequence[Something], count: int | None) -> list[Something]:
    """`count` of the sentences (None: all), evenly spaced."""
    count = min(count or len(sentences), len(sentences))
    return [sentences[number * len(sentences) // count] for number in range(count)]


def scores_of(
    model_folder: Path,
    sentences: Sequence[Sentence],
    parser: Path | str | None = None,
    trees: int = 300,
    method: str = "sample",
    seed: int = 1,
    widths: Widths | None = None,
    is_kept: bool = True,
) -> list[SentenceScore]:
    """The score of each sentence by a trained model.

    A model that sums over trees needs a parser, which proposes `trees` trees of each sentence; `method` and `seed`
    choose them. `widths` are those of a search, for a model that is scored by one.
    """
    words = [sentence.words for sentence in sentences]

    def load() -> Callable[[slice], Iterator[Row]]:
        model = load_model(model_folder, device_at_hand())
        likelihood = family_of(model).likelihood
        if not likelihood.sums_over_trees:
            return lambda block: (score._asdict() for score in likelihood.scores(model, sentences[block], widths))
        if parser is None:
            raise UserError(f"{model.config.model} sums over trees, which a parser proposes; name one")
        loaded = load_parser(parser)

        def rows_of(block: slice) -> Iterator[Row]:
            proposed = propose(loaded, words[block], trees, METHODS[method], seed, block.start)
            return (score._asdict() for score in likelihood.scores(model, sentences[block], proposed))

        return rows_of

    about = {"what": "log p", "trees": trees, "method": method, "seed": seed, "widths": widths}
    about["sentences"] = digest_of(list(map(astuple, sentences)))
    is_searched = family(family_name_in(model_folder)).likelihood.needs_search
    at_once = (widths or DEFAULT_WIDTHS).at_once if is_searched else SENTENCES_PER_CALL
    computed = Computed(list(map(len, words)), load, at_once)
    rows = cached_scores("scores", model_folder, parser, about, computed) if is_kept else rows_now(computed)
    return [SentenceScore(**{**row, "best": row["best"] and tuple(row["best"])}) for row in rows]


def cached_scores(
    kind: str, model: Path, parser: Path | str | None, about: Mapping[str, Any], computed: Computed
) -> list[Row]:
    """Rows about the trained model in a folder, cached.

    Their key includes the weights, what identifies the parser, all other inputs (`about`), the code that computes them,
    and that of the family.
    """
    identity = {**about, "model": sha256(model / WEIGHTS_FILE), "parser": parser and known_as(parser)}
    name = family_name_in(model)
    code = code_of("evaluate", computed.load, module_of(name), family(name).build, family(name).likelihood.scores)
    return cached_rows("scores", f"{kind}-{model.resolve().name}", identity, code, computed)
