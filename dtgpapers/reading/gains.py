"""The gains of models' surprisals for reading times: of all predictors of all models.

    corpus = read_reading()
    words = reading_table(corpus, {"DTG": rows})            rows of words (measured.py)
    inner = inner_words(words)
    gains = gains_of(inner, compared_in(inner, ["DTG"]))    model, predictor, measure, nats, low, high, words, sentences

A column of a model is named after both, "DTG, surprisal"; of other people's models there is only a surprisal, from the
corpus. All gains are measured on the same words: those for which every predictor is known, of the word before, too.
That leaves out the second word of each sentence, because the corpus says nothing of the first one. (corpus.py
says which words have no frequency.)

Words with a punctuation mark, and those after them, are better left out, too. At the end of a sentence people wrap up:
they read the last word again, and the EEG goes elsewhere. The baseline does not know which word is the last one. Some
predictors do, such as a surprisal that contains the period's and the number of hypotheses after it, and they would gain
by that alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dtglib.basics.errors import require
from dtglib.basics.progress import progress
from dtglib.basics.record import Row
from dtgpapers.reading.corpus import MEASURES, OTHERS, ReadingCorpus
from dtgpapers.reading.features import FEATURES
from dtgpapers.reading.regression import OF_WORDS, PREVIOUS, complete, gain, previous, with_previous

BASELINE = [*OF_WORDS, "word", *previous(OF_WORDS)]  # "word" is the position
SURPRISAL = next(iter(FEATURES))
MARKED = "marked"  # the column that says whether a punctuation mark is written with a word


def column(model: str, feature: str) -> str:
    """The name of a model's column."""
    return f"{model}, {feature}"


def reading_table(corpus: ReadingCorpus, rows: Mapping[str, Sequence[Row]]) -> pd.DataFrame:
    """The words of the corpus with the columns of models, and all those of the word before.

    `rows` has the FEATURES of each sentence's words, by the title of the model.

    A feature that is the same for all words (how many hypotheses a model without trees has) has no column.
    """
    words = corpus.words.rename(columns={title: column(title, SURPRISAL) for title in OTHERS.values()})
    predictors = [*OF_WORDS, *(column(title, SURPRISAL) for title in OTHERS.values())]
    for title, of_model in rows.items():
        found = _columns(corpus, of_model)
        constant = [name for name in FEATURES if found[name].nunique() <= 1]
        named = {name: column(title, name) for name in FEATURES if name not in constant}
        words = words.merge(found.drop(columns=constant).rename(columns=named), on=["sentence", "word"], how="left")
        predictors += named.values()
    words[MARKED] = words["text"].str.contains(r"[^\w'’-]").astype(int)
    words = with_previous(words, [MARKED, *predictors])
    kept = complete(words, [*MEASURES.values(), *predictors, *previous(predictors)])
    require(len(kept), "no word of the reading corpus has all predictors; a search may have died: make it wider")
    return kept


def inner_words(words: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table in which no punctuation mark is written with the word or the one before."""
    return words[(words[[MARKED, PREVIOUS + MARKED]] == 0).all(axis=1)].reset_index(drop=True)


WHICH: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "inner words": inner_words,
    "all words": lambda words: words,
}


def _columns(corpus: ReadingCorpus, rows: Sequence[Row]) -> pd.DataFrame:
    """The rows of sentences as a table of words."""
    tables = [
        pd.DataFrame({"sentence": number, "word": np.arange(1, len(row[SURPRISAL]) + 1), **row})
        for number, row in zip(corpus.sentences, rows, strict=True)
    ]
    return pd.concat(tables, ignore_index=True)


class Compared(NamedTuple):
    """A predictor of a model: its gain is that of its column, and that of the word before, over the baseline."""

    model: str
    predictor: str

    @property
    def column(self) -> str:
        return column(*self)

    @property
    def columns(self) -> list[str]:
        """All columns of the regression."""
        return [*BASELINE, self.column, *previous([self.column])]


def compared_in(words: pd.DataFrame, titles: Sequence[str]) -> list[Compared]:
    """The predictors of some models, and the surprisals of others' models, that a table has."""
    ours = [Compared(title, name) for title in titles for name in FEATURES]
    others = [Compared(title, SURPRISAL) for title in OTHERS.values()]
    return [one for one in (*ours, *others) if one.column in words]


def gains_of(words: pd.DataFrame, compared: Sequence[Compared], measures: Sequence[str] = ()) -> pd.DataFrame:
    """A row for the gain over the baseline of each predictor and each measure (by default all)."""
    pairs = [(one, measure) for one in compared for measure in measures or MEASURES.values()]
    rows = [
        {**one._asdict(), "measure": measure, **gain(words, measure, BASELINE, one.columns)._asdict()}
        for one, measure in progress(pairs, "regressions", "predictor")
    ]
    return pd.DataFrame(rows)


def differences_of(words: pd.DataFrame, one: Compared, other: Compared) -> pd.DataFrame:
    """A row per measure: how much more a predictor gains than another one, with the interval of the difference."""
    name = f"{one.model} - {other.model}"
    return pd.DataFrame(
        {"difference": name, "measure": measure, **gain(words, measure, other.columns, one.columns)._asdict()}
        for measure in MEASURES.values()
    )


def beyond_surprisal(words: pd.DataFrame, titles: Sequence[str]) -> pd.DataFrame:
    """A row per measure and predictor of some models: its gain over the baseline with the same model's surprisal.

    What is left out is the word's own part, which says the same as structure where surprisal is known.
    """
    compared = [one for one in compared_in(words, titles) if one.predictor not in (SURPRISAL, "own")]
    rows = []
    for one in compared:
        known = Compared(one.model, SURPRISAL).columns
        more = [*known, one.column, *previous([one.column])]
        rows += [
            {**one._asdict(), "measure": measure, **gain(words, measure, known, more)._asdict()}
            for measure in MEASURES.values()
        ]
    return pd.DataFrame(rows)


def described(words: pd.DataFrame, compared: Sequence[Compared]) -> pd.DataFrame:
    """A row per predictor: its mean and standard deviation."""
    columns = [words[one.column] for one in compared]
    rows = zip(compared, columns, strict=True)
    return pd.DataFrame({**one._asdict(), "mean": values.mean(), "std": values.std()} for one, values in rows)
