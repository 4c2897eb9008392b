"""The reading corpus: its file, how its words and those of a treebank agree, and what a model knows of them."""

import numpy as np
import pandas as pd
import pytest
import torch

from dtglib.basics.errors import UserError
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import Widths
from dtglib.evaluate.surprisal import surprisals
from dtglib.families.base import build
from dtglib.network.transformer import TransformerConfig
from dtgpapers.reading.corpus import FREQUENCY, MEASURES, OTHERS, read_reading, reading_file, written_words
from dtgpapers.reading.features import FEATURES, features
from dtgpapers.reading.measured import reading_rows

WIDE = Widths(100, 100)


@pytest.mark.parametrize(
    ("text", "words", "lengths"),
    [
        ("It isn't tea, is it?", "It is n't tea , is it ?", [1, 2, 2, 1, 2]),
        ("You cannot come.", "You can not come .", [1, 2, 2]),
        ('"Go," he said.', '" Go , " he said .', [4, 1, 2]),
        ("She knew - or hoped - that.", "She knew - or hoped - that .", [1, 2, 1, 2, 2]),
        ("A well-known friend's dog...", "A well - known friend 's dog ...", [1, 3, 2, 2]),
        ("- Go!", "- Go !", [1, 2]),
        ("Go", "Go", [1]),
    ],
)
def test_marks_and_clitics_belong_to_the_word_that_they_are_written_with(text, words, lengths):
    assert written_words(text) == (words.split(), lengths)


def test_a_text_that_cannot_be_aligned_is_named():
    with pytest.raises(UserError, match=r"do not end where its written words end; remove characters"):
        written_words("There is a diffe\u00adrence.")


def table_of(sentences: dict[int, str]) -> pd.DataFrame:
    """A file of the corpus's form; its rows come in no order, and no sentence's first word has one."""
    rows = [
        {"sent_id": number, "sentence": text, "word": word, "context_length": place, "length": len(word.strip(".,?"))}
        | {FREQUENCY: 10.0 + place}
        | {name: 100.0 * number + place for name in (*MEASURES, *OTHERS)}
        for number, text in sentences.items()
        for place, word in enumerate(text.split())
        if place
    ]
    return pd.DataFrame(rows[::-1])


TEXTS = {7: "There is a difference.", 3: "It isn't tea, is it?"}


def test_the_file_is_read_in_the_order_of_sentences_and_words(tmp_path):
    table_of(TEXTS).to_csv(tmp_path / "corpus.csv")
    corpus = read_reading(tmp_path / "corpus.csv")
    assert corpus.sentences == TEXTS and list(corpus.sentences) == [3, 7]
    words = corpus.words
    assert words["text"].tolist() == ["isn't", "tea,", "is", "it?", "is", "a", "difference."]
    assert words["word"].tolist() == [2, 3, 4, 5, 2, 3, 4] and words["length"].tolist() == [5, 3, 2, 2, 2, 1, 10]
    assert words["N400"].tolist() == [301, 302, 303, 304, 701, 702, 703]
    assert words["log frequency"].isna().tolist() == [True, *[False] * 6], "a contraction's frequency is not known"
    assert {*MEASURES.values(), *OTHERS.values()} < set(words)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda table: table.drop(columns="N400"), r"the column N400 is missing; fetch the file again"),
        (
            lambda table: table.assign(word=table["word"].replace("a", "the")),
            r"'the' is not word 3 of sentence 7, 'There is a difference\.'",
        ),
        (lambda table: table.assign(context_length=table["context_length"] + 3), r"is not word 5 of sentence 7"),
        (lambda table: table.replace("is", "-", regex=True), r"'-' is not word 2 of sentence 7"),
    ],
)
def test_a_broken_file_is_named(spoil, complaint, tmp_path):
    spoil(table_of({7: TEXTS[7]})).to_csv(tmp_path / "corpus.csv")
    with pytest.raises(UserError, match=rf"corpus\.csv: .*{complaint}"):
        read_reading(tmp_path / "corpus.csv")


def test_without_the_data_the_message_says_how_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"all_measures\.csv: the reading corpus is missing; run `make data`, or set"):
        read_reading()


def test_the_corpus_as_it_is(data):
    if not reading_file().is_file():
        pytest.skip("the reading corpus is not in the data folder: run `make data`")
    corpus = read_reading()
    assert (len(corpus.sentences), len(corpus.words)) == (205, 1726)
    assert corpus.words["log frequency"].isna().sum() == 43, "30 are missing, and 13 others have an apostrophe"
    for text in corpus.sentences.values():
        words, lengths = written_words(text)
        assert len(lengths) == len(text.split()) and "".join(words) == text.replace(" ", "")
    the = corpus.words[corpus.words["text"] == "the"].iloc[0]
    assert round(np.exp(the["log frequency"])) == 1_501_908, "natural logarithms of counts in SUBTLEX-US"


# ---- What a model knows of written words

TEXT = "It isn't tea."


def network(name: str):
    words, _ = written_words(TEXT)
    torch.manual_seed(1)
    return build(TransformerConfig(name, layers=1, width=8, heads=1, inner=16), Vocabulary.of_words([words])).eval()


@pytest.mark.parametrize("name", ["dtg", "txl-tokens"])
def test_features_of_written_words_are_sums_or_those_of_one_of_their_parts(name):
    words, lengths = written_words(TEXT)
    assert (words, lengths) == (["It", "is", "n't", "tea", "."], [1, 2, 2])
    (found,) = surprisals(network(name), [words], WIDE)
    one = features(found, lengths)
    assert list(one) == list(FEATURES)
    by_hand = found.of_words
    np.testing.assert_allclose(one["surprisal"], [by_hand[0], by_hand[1] + by_hand[2], by_hand[3] + by_hand[4]])
    parts = found.structure
    np.testing.assert_allclose(one["structure"], [parts[0], parts[1] + parts[2], parts[3] + parts[4]])
    np.testing.assert_allclose(one["own"] + one["structure"], one["surprisal"])
    np.testing.assert_array_equal(one["entropy"], found.entropy[[0, 1, 3]])
    np.testing.assert_array_equal(one["hypotheses"], found.hypotheses[[0, 2, 4]])
    np.testing.assert_array_equal(one["tree entropy"], found.entropy_of_trees[[0, 2, 4]])
    np.testing.assert_array_equal(one["depth"], found.without_head[[0, 1, 3]])
    assert one["depth"][0] == 1 and (one["depth"] >= 1).all() and (one["depth"] <= [1, 2, 4]).all()


def test_rows_of_a_model_are_computed_once_and_only_models_with_heads_know_a_depth(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("dtg", "txl-tokens"):
        network(name).save(tmp_path / name)
        (row,) = reading_rows(tmp_path / name, [TEXT], WIDE)
        assert list(row) == list(FEATURES) and {len(values) for values in row.values()} == {3}
        assert np.isfinite(row["depth"]).all() == (name == "dtg")
    monkeypatch.setattr("dtgpapers.reading.measured.surprisals", None)
    np.testing.assert_equal(reading_rows(tmp_path / "txl-tokens", [TEXT], WIDE), [row])
