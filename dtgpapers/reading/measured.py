"""Trained models read texts as people do: surprisals and more of each word, cached, and their gains for reading times.

rows = reading_rows(folder_of_model, ["There isn't a difference."], Widths(30, 30, within=8.0))
rows[0]["surprisal"]                            four numbers: of There, isn't, a, difference.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dtglib.basics.record import Row, Run
from dtglib.data.registry import checksum_of
from dtglib.decode.beam import Widths
from dtglib.evaluate.surprisal import surprisals
from dtglib.families.base import family_of, load_model
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.jobs import Job
from dtglib.runs.sentence_scores import cached_scores, spread
from dtglib.training.distributed import device_at_hand
from dtgpapers.reading.corpus import ReadingCorpus, read_reading, written_words
from dtgpapers.reading.features import features
from dtgpapers.reading.gains import (
    SURPRISAL,
    WHICH,
    Compared,
    beyond_surprisal,
    compared_in,
    described,
    differences_of,
    gains_of,
    inner_words,
    reading_table,
)


def jobs_of(size: str, models: Sequence[str]) -> list[Job]:
    """No jobs: the notebook reads with released models, and a few minutes suffice."""
    return []


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
    return cached_scores("reading", folder, None, about, computed)


def some_sentences(corpus: ReadingCorpus, count: int | None) -> ReadingCorpus:
    """The corpus with so many of its sentences (None: all), spread evenly."""
    kept = dict(spread(list(corpus.sentences.items()), count))
    return ReadingCorpus(kept, corpus.words[corpus.words["sentence"].isin(list(kept))])


def table_of_models(corpus: ReadingCorpus, titled: Mapping[str, Path], widths: Widths) -> pd.DataFrame:
    """The words of the corpus with the columns of models, whose folders are given by title."""
    texts = list(corpus.sentences.values())
    return reading_table(corpus, {title: reading_rows(folder, texts, widths) for title, folder in titled.items()})


def gains_of_models(titled: Mapping[str, Path], widths: Widths) -> pd.DataFrame:
    """The gains of models, given by title, and of others' models, on the inner words of the whole corpus."""
    words = inner_words(table_of_models(read_reading(), titled, widths))
    return gains_of(words, compared_in(words, list(titled)))


def record_reading(titled: Mapping[str, Path], widths: Widths, out: Path) -> pd.DataFrame:
    """Read the whole corpus with models, given by title, and write a record of all gains, which are returned.

    A line of the part "gain" is about one predictor and one measure, over the baseline; of the part "beyond surprisal",
    over the baseline with surprisal; of the part "difference", about the gains of the surprisals of the first model and
    another one; of the part "predictor", about its mean and spread. They are measured on inner words, and on all.
    """
    config = {"models": {title: folder.name for title, folder in titled.items()}, **widths._asdict()}
    question = "How well do surprisals, and what else models know, predict how people read?"
    sentences = read_reading()
    with Run(out, question, config, seeds=[1], data={"reading": str(checksum_of("reading"))}) as run:
        table = table_of_models(sentences, titled, widths)
        first, *others = (Compared(title, SURPRISAL) for title in titled)
        found = {}
        for which, choose in WHICH.items():
            words = choose(table)
            found[which] = gains_of(words, compared_in(words, list(titled)))
            parts = [("gain", found[which]), ("beyond surprisal", beyond_surprisal(words, list(titled)))]
            parts += [("difference", differences_of(words, first, other)) for other in others]
            parts += [("predictor", described(words, compared_in(words, list(titled))))]
            for part, rows in parts:
                for row in rows.to_dict("records"):
                    run.metric(part=part, which=which, **row)
    return found["inner words"]
