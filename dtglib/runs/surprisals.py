"""The surprisals of sentences by a trained model, shared among processes through the cache."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from dtglib.basics.record import Row
from dtglib.data.treebank import Words
from dtglib.decode.beam import Widths
from dtglib.evaluate.surprisal import Surprisal, surprisals
from dtglib.families.base import load_model
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.sentence_scores import Inputs, cached_scores
from dtglib.training.distributed import device_at_hand


def surprisals_by(folder: Path, sentences: Sequence[Words], widths: Widths) -> list[Surprisal]:
    """The surprisals of each sentence, for a command; several processes share them through the cache."""

    def load() -> Callable[[slice], Iterator[Row]]:
        model = load_model(folder, device_at_hand())
        return lambda block: map(_as_row, surprisals(model, sentences[block], widths))

    inputs = Inputs(folder, None, {"what": "surprisals", "sentences": digest_of(sentences), "widths": widths})
    computed = Computed(list(map(len, sentences)), load, widths.at_once, "reading")
    return [_from_row(row) for row in cached_scores("surprisals", inputs, computed, is_kept=False)]


def _as_row(one: Surprisal) -> Row:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in one._asdict().items()}


def _from_row(row: Row) -> Surprisal:
    texts = {"words", "pieces", "known"}
    lists = {name: value for name, value in row.items() if isinstance(value, list)}
    return Surprisal(
        **row | {name: tuple(value) if name in texts else np.array(value) for name, value in lists.items()}
    )
