"""The reading score of the BabyLM challenge of 2025: how much surprisal adds to a linear regression of reading times.

    words = reading_words()                                       rows of the UCL corpus (dtgpapers/reading/corpus.py)
    words["pred"] = surprisals_of(model, words, widths)           nats: the sum over the pieces of each written word
    reading_scores(words)                                         {"Eye Tracking": ..., "Self-paced Reading": ...}

With R2 the explained variance of ordinary least squares, a gain is 100 (R2 - R2_0) / (1 - R2_0), where

    eye tracking    R2_0: log frequency, length and number of the word, and their products by twos
    self-paced      R2_0: length and surprisal of the word before, too, and all products by twos

and R2 has the surprisal, too. The score of eye tracking is the mean over four times. Rows with a missing value in a fit
are left out of it; the word before the first row of a sentence is missing, because it has no row itself.

"counter." is one word there, and readers slow down at it, so that the score rewards a surprisal that contains the full
stop's. So there are the same numbers without such words, too (`unmarked`): draw conclusions from these. GPT-2's
surprisals, which are in the corpus, have 9.8 and 2.0 for eye tracking.
"""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dtglib.basics.errors import require
from dtglib.basics.progress import progress
from dtglib.decode.beam import Widths
from dtglib.decode.stepper import Searchable
from dtglib.evaluate.surprisal import sums_of_regions, surprisals
from dtgpapers.reading.corpus import FREQUENCY, read_reading, reading_file, written_words

# Imported by type checkers only, so annotations that name it are not checked in tests.
if TYPE_CHECKING:
    import pandas as pd

READING = ("Eye Tracking", "Self-paced Reading")  # the names of the two scores
EYE_TRACKING = ("RTfirstfix", "RTfirstpass", "RTgopast", "RTrightbound")
SELF_PACED = "self_paced_reading_time"
OF_WORD = (FREQUENCY, "length", "context_length")
OF_WORD_BEFORE = ("prev_length", "prev_pred")


def reading_words() -> "pd.DataFrame":
    """The rows of the corpus in the order of the text, by the names that the challenge uses."""
    import pandas as pd

    path = reading_file()
    read_reading(path)  # an error if the file is not the corpus
    return pd.read_csv(path).sort_values(["sent_id", "context_length"], ignore_index=True)


def surprisals_of(model: Searchable, words: "pd.DataFrame", widths: Widths) -> np.ndarray:
    """The surprisal of each row's word, as the pipeline has it: the sum over its pieces, without the word's end."""
    texts = dict(zip(words["sent_id"], words["sentence"], strict=True))
    read = {number: written_words(text) for number, text in texts.items()}
    found = surprisals(model, [tokens for tokens, _ in read.values()], widths)
    shown = progress(found, "reading", "sentence", total=len(read))
    of_sentences = {
        number: sums_of_regions(one.of_prefixes, lengths)
        for (number, (_, lengths)), one in zip(read.items(), shown, strict=True)
    }
    places = zip(words["sent_id"], words["context_length"], strict=True)
    return np.array([of_sentences[number][place] for number, place in places])


def unmarked(words: "pd.DataFrame") -> "pd.DataFrame":
    """The rows of words that are written without a punctuation mark."""
    return words[~words["word"].str.contains(r"[^\w'’-]")]


def with_word_before(words: "pd.DataFrame") -> "pd.DataFrame":
    """The rows with length and surprisal of the word before in the same sentence; an infinite surprisal is missing."""
    words = words.assign(pred=words["pred"].replace(np.inf, np.nan))
    before = words.groupby("sent_id")[["length", "pred"]].shift(1)
    return words.assign(prev_length=before["length"], prev_pred=before["pred"])


def reading_scores(words: "pd.DataFrame") -> dict[str, float]:
    """The two scores of rows with a surprisal `pred`, and those of the word before."""
    of_eyes = float(np.mean([gain(words, time, OF_WORD) for time in EYE_TRACKING]))
    return dict(zip(READING, (of_eyes, gain(words, SELF_PACED, [*OF_WORD, *OF_WORD_BEFORE])), strict=True))


def gain(words: "pd.DataFrame", time: str, baseline: Sequence[str]) -> float:
    """The share of the variance unexplained by the baseline that the surprisal explains, in percent."""
    rows = words.dropna(subset=[time, *baseline, "pred"])
    without, with_surprisal = (explained(rows, time, baseline, more) for more in ((), ("pred",)))
    return 100 * (with_surprisal - without) / (1 - without)


def explained(words: "pd.DataFrame", time: str, baseline: Sequence[str], more: Sequence[str]) -> float:
    """R2 of a regression on the baseline, its products by twos, and more predictors."""
    rows = words[[time, *baseline, *more]].dropna()
    require(
        len(rows) > 20, "too few words of the reading corpus have a surprisal; a search may have died: make it wider"
    )
    # Products of centred predictors span the same space, and are accurate.
    centred = (rows[[*baseline]] - rows[[*baseline]].mean()) / rows[[*baseline]].std()
    columns = [centred[name] for name in baseline]
    columns += [centred[one] * centred[other] for one, other in itertools.combinations(baseline, 2)]
    design = np.column_stack([np.ones(len(rows)), *columns, *(rows[name] for name in more)])
    values = rows[time].to_numpy(np.float64)
    fitted = design @ np.linalg.lstsq(design, values)[0]
    return float(1 - ((values - fitted) ** 2).sum() / ((values - values.mean()) ** 2).sum())
