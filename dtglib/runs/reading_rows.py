"""What a trained model knows of the words of texts as people read them, sentence by sentence; cached in runs/scores.

rows = reading_rows(folder_of_model, ["There isn't a difference."], Widths(30, 30, within=8.0))
rows[0]["surprisal"]                            four numbers: of There, isn't, a, difference.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from dtglib.basics.record import Row
from dtglib.data.reading import written_words
from dtglib.data.treebank import Words
from dtglib.decode.beam import Widths
from dtglib.evaluate.read_words import features
from dtglib.evaluate.surprisal import Surprisal, surprisals
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.sentence_scores import Inputs, cached_scores, shared_scores
from dtglib.families.base import family_of, load_model
from dtglib.training.distributed import device_at_hand


def reading_rows(folder: Path, texts: Sequence[str], widths: Widths) -> list[Row]:
    """A row per sentence with the FEATURES of its written words."""
    read = [written_words(text) for text in texts]

    def load() -> Callable[[slice], Iterator[Row]]:
        model = load_model(folder, device_at_hand())

        def rows_of(block: slice) -> Iterator[Row]:
            found = surprisals(model, [words for words, _ in read[block]], widths)
            for one, (_, lengths) in zip(found, read[block], strict=True):
                known = features(one, lengths)
                if not family_of(model).trees.are_parses:
                    known["depth"] = np.full(len(lengths), np.nan)  # its trees are no heads, and tell no depth
                yield {name: values.tolist() for name, values in known.items()}

        return rows_of

    about = {"what": "reading", "sentences": digest_of(read), "widths": widths}
    computed = Computed([len(words) for words, _ in read], load, widths.at_once)
    return cached_scores("reading", Inputs(folder, None, about), computed)


def shared_surprisals(folder: Path, sentences: Sequence[Words], widths: Widths) -> list[Surprisal]:
    """The surprisals of each sentence, for a command; several processes share them through the cache."""

    def load() -> Callable[[slice], Iterator[Row]]:
        model = load_model(folder, device_at_hand())
        return lambda block: map(_as_row, surprisals(model, sentences[block], widths))

    inputs = Inputs(folder, None, {"what": "surprisals", "sentences": digest_of(sentences), "widths": widths})
    computed = Computed(list(map(len, sentences)), load, widths.at_once, "reading")
    return [_from_row(row) for row in shared_scores("surprisals", inputs, computed)]


def _as_row(one: Surprisal) -> Row:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in one._asdict().items()}


def _from_row(row: Row) -> Surprisal:
    texts = {"words", "pieces", "known"}
    lists = {name: value for name, value in row.items() if isinstance(value, list)}
    return Surprisal(
        **row | {name: tuple(value) if name in texts else np.array(value) for name, value in lists.items()}
    )
