"""The UCL reading corpus: reading times of the words of 205 English sentences, and the responses of the brain.

    corpus = read_reading()
    corpus.sentences[96]                    "Arthur placed the bars of chocolate on the counter."
    corpus.words                            a row for each word, from the second of each sentence on

The sentences are isolated, so that no context is missing. A word's numbers are means over readers: self-paced reading
and eye tracking of Frank et al. (2013), six components of the EEG of Frank et al. (2015), in `MEASURES`. Beside them
are the surprisals of other people's models, in `OTHERS`: n-grams, a recurrent network and a phrase-structure grammar of
Frank et al. (2015), GPT-2 and GPT-Neo of de Varda, Marelli and Amenta (2023), who put everything into one file. Cite
all three papers if you use the data:

    de Varda, Marelli and Amenta (2023). Cloze probability, predictability ratings, and computational estimates for 205
        English sentences, aligned with existing EEG and reading time data. Behavior Research Methods.
    Frank, Otten, Galli and Vigliocco (2015). The ERP response to the amount of information conveyed by words in
        sentences. Brain and Language 140, 1-11.
    Frank, Fernandez Monsalve, Thompson and Vigliocco (2013). Reading time data for evaluating broad-coverage models of
        English sentence processing. Behavior Research Methods 45, 1182-1190.

Words are as people read them, with their punctuation. A treebank cuts them further (`written_words`):

    >>> written_words("It isn't tea, is it?")
    (['It', 'is', "n't", 'tea', ',', 'is', 'it', '?'], [1, 2, 2, 1, 2])

The file's column Subtlex_log10 is the natural logarithm of counts in SUBTLEX-US, despite its name ("the": 14.22, which
is 1,501,908 times). It lacks 30 words, the first words of sentences have no row at all, and contractions were looked up
without their apostrophe, so that "wouldn't" seems to occur five times; here these have no frequency (NaN).
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dtglib.basics.errors import UserError, require, shortened
from dtglib.data.registry import data_folder
from dtglib.data.tokenize import tokenize

MEASURES = {
    "self_paced_reading_time": "self-paced reading",
    "RTfirstfix": "first fixation",
    "RTfirstpass": "first pass",
    "RTrightbound": "right-bounded",
    "RTgopast": "go-past",
    "ELAN": "ELAN",
    "LAN": "LAN",
    "N400": "N400",
    "EPNP": "EPNP",
    "P600": "P600",
    "PNP": "PNP",
}
OTHERS = {
    "bigram": "bigram",
    "trigram": "trigram",
    "tetragram": "tetragram",
    "rnn": "RNN",
    "psg": "PSG",
    "s_GPT2": "GPT-2",
    "s_GPT2_medium": "GPT-2 medium",
    "s_GPT2_large": "GPT-2 large",
    "s_GPT2_xl": "GPT-2 XL",
    "s_GPTNeo_125M": "GPT-Neo 125M",
    "s_GPTNeo": "GPT-Neo 1.3B",
    "s_GPTNeo_2.7B": "GPT-Neo 2.7B",
}
FREQUENCY = "Subtlex_log10"


class ReadingCorpus(NamedTuple):
    """The corpus. Columns of `words`: sentence, word (both from 1), text, length, log frequency, MEASURES, OTHERS."""

    sentences: dict[int, str]  # by number
    words: pd.DataFrame


def reading_file() -> Path:
    """The place of the corpus in the data folder."""
    return data_folder() / "reading" / "all_measures.csv"


def read_reading(path: Path | None = None) -> ReadingCorpus:
    """Read the corpus from the data folder, or from a file of the same form."""
    path = path or reading_file()
    if not path.is_file():
        way_out = f"run `make data`, or set DTG_DATA to a folder that holds {path.parent.name}/{path.name}"
        raise UserError(f"{path}: the reading corpus is missing; {way_out}")
    table = pd.read_csv(path)
    needed = ["word", "sentence", "context_length", "sent_id", "length", FREQUENCY, *MEASURES, *OTHERS]
    lacking = [name for name in needed if name not in table]
    require(not lacking, f"{path}: the column {shortened(lacking)} is missing; fetch the file again with `make data`")
    table = table.sort_values(["sent_id", "context_length"], ignore_index=True)
    sentences = dict(zip(table["sent_id"].tolist(), table["sentence"].tolist(), strict=True))
    _require_places(path, table, sentences)
    unreliable = table["word"].str.contains("['’]")
    about = {
        "sentence": table["sent_id"],
        "word": table["context_length"] + 1,
        "text": table["word"],
        "length": table["length"],
        "log frequency": table[FREQUENCY].mask(unreliable),
    }
    names = MEASURES | OTHERS
    return ReadingCorpus(sentences, pd.DataFrame(about).join(table.filter(items=list(names)).rename(columns=names)))


def _require_places(path: Path, table: pd.DataFrame, sentences: dict[int, str]) -> None:
    """An error unless every word stands in its sentence where the file says."""
    split = {number: text.split() for number, text in sentences.items()}
    columns = table[["sent_id", "context_length", "word", "sentence"]].itertuples(index=False)
    for number, place, word, text in columns:
        words = split[number]
        is_right = text == sentences[number] and 0 <= place < len(words) and words[place] == word
        is_right &= any(map(str.isalnum, word))  # a mark between blanks has no number (see `written_words`)
        require(is_right, f"{path}: {word!r} is not word {place + 1} of sentence {number}, {sentences[number]!r}")


def written_words(text: str) -> tuple[list[str], list[int]]:
    """A text's words as a treebank has them, and the number of them in each written word.

    Written words are those between blanks. A mark that stands between blanks belongs to the written word before it,
    and has no number of its own, unless the text begins with it.
    """
    tokens, lengths = tokenize(text), []
    for written, left in zip(text.split(), _parts(tokens, text), strict=True):
        if lengths and not any(letter.isalnum() for letter in written):
            lengths[-1] += left
        else:
            lengths.append(left)
    return tokens, lengths


def _parts(tokens: list[str], text: str) -> Iterator[int]:
    """The number of a treebank's words in each piece of text between blanks."""
    ends = list(itertools.accumulate(map(len, tokens)))
    stops = list(itertools.accumulate(len(written) for written in text.split()))
    complaint = f"{text!r}: the words of a treebank, {tokens}, do not end where its written words end"
    require(set(stops) <= set(ends), complaint + "; remove characters that cannot be seen")
    places = [0, *(ends.index(stop) + 1 for stop in stops)]
    return (after - before for before, after in itertools.pairwise(places))
