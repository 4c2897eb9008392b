"""Models behind minicons' methods: by definition, and beside minicons itself on a GPT-2."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from conftest import slow
from environments import environment
from toys import model_of, small_model

from dtglib.basics.errors import UserError
from dtglib.basics.released import folder_named
from dtglib.decode.beam import Widths
from dtglib.evaluate.surprisal import surprisals
from dtgpapers.doors.hugging_face import export
from dtgpapers.doors.scorer import Scorer

pytestmark = pytest.mark.usefixtures("one_thread")
WIDTHS = Widths(10, 10)
TEXT, WORDS = "There is a difference.", ["There", "is", "a", "difference", "."]
MINICONS = ["minicons==0.3.39"]
BESIDE = Path(__file__).with_name("beside_minicons.py")
RUN = f"import runpy; runpy.run_path({str(BESIDE)!r}, None, '__main__')"


def total(scores) -> float:
    return scores.sum(0).item()


@pytest.mark.parametrize("name", ["txl-tokens", *slow(["dtg"])])
def test_tokens_have_the_surprisals_of_their_pieces(name):
    model = model_of(name)
    scorer = Scorer(model, WIDTHS)
    (read,) = surprisals(model, [WORDS], WIDTHS)
    (rows,) = scorer.token_score(TEXT, surprisal=True)
    assert [token for token, _ in rows] == list(read.pieces)
    assert [nats for _, nats in rows] == pytest.approx(read.of_pieces.tolist())
    (bits,) = scorer.token_score([TEXT], surprisal=True, base_two=True, decode=True, eos_token=True)
    assert bits[0][0] == read.pieces[0].removeprefix("▁")
    assert bits[-1] == ("<END>", pytest.approx(read.of_end / math.log(2)))
    (shares,) = scorer.token_score([TEXT], prob=True)
    assert [p for _, p in shares] == pytest.approx(np.exp(-read.of_pieces).tolist())


def test_with_the_correction_words_have_their_surprisals():
    model = model_of("txl-tokens")
    (read,) = surprisals(model, [WORDS], WIDTHS)
    scorer = Scorer(model, WIDTHS)
    (rows,) = scorer.token_score(TEXT, True, bow_correction=True, eos_token=True)
    *nats, end = [value for _, value in rows]
    assert np.add.reduceat(nats, read.starts) == pytest.approx(read.of_words) and end == pytest.approx(read.end)
    (words,) = scorer.word_score(TEXT, surprisal=True, bow_correction=True)
    assert [word for word, _ in words] == WORDS and [n for _, n in words] == pytest.approx(read.of_words.tolist())
    (words,) = scorer.word_score(TEXT, prob=True)
    assert [p for _, p in words] == pytest.approx(np.exp(-read.of_prefixes).tolist())


def test_what_follows_a_prefix_has_the_rest_of_the_score():
    model = model_of("txl-tokens")
    scorer = Scorer(model, WIDTHS)
    (whole,) = scorer.sequence_score(TEXT, total, eos_token=True)
    (read,) = surprisals(model, [WORDS], WIDTHS)
    assert whole == pytest.approx(-read.of_words.sum() - read.end)
    (rest,) = scorer.conditional_score("There is", "a difference.", reduction=total, eos_token=True)
    assert whole - rest == pytest.approx(-read.of_pieces[: read.starts[2]].sum())
    # A word that the separator does not separate belongs to what follows.
    (glued,) = scorer.conditional_score("There i", "s a difference.", separator="", reduction=total, eos_token=True)
    assert whole - glued == pytest.approx(-read.of_pieces[: read.starts[1]].sum())


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"rank": True}, "ranks of tokens are not known"),
        ({"surprisal": True, "prob": True}, "ask for one of them"),
        ({"prob": True, "base_two": True}, "leave out base_two"),
        ({"bos_token": False}, "leave bos_token out"),
    ],
)
def test_what_cannot_be_asked_is_named(asked, complaint):
    with pytest.raises(UserError, match=complaint):
        Scorer(small_model("txl-tokens"), WIDTHS).token_score("There is.", **asked)


def test_texts_without_words_are_named():
    scorer = Scorer(small_model("txl-tokens"), WIDTHS)
    with pytest.raises(UserError, match="text 2 of the batch has no words"):
        scorer.sequence_score(["There is.", " "])
    with pytest.raises(UserError, match="continuation 1 has no words"):
        scorer.conditional_score("There is.", "")
    with pytest.raises(UserError, match="give as many of each"):
        scorer.conditional_score(["There", "It"], ["is."])


EXPORTED = ["txl-tokens-minilang", "dtg-minilang"]


@pytest.fixture(scope="module")
def beside_minicons(tmp_path_factory) -> dict[str, dict]:
    """By the name of the model; one process asks for all, since minicons takes long to import."""
    folder, arguments = tmp_path_factory.mktemp("exports"), []
    for name in EXPORTED:
        export(folder_named(name), folder / name, Widths(200, 200))
        arguments += [name, folder / name]
    return json.loads(environment(MINICONS).run(RUN, 200, *arguments).splitlines()[-1])


# Slow: packages are installed.
@pytest.mark.slow
def test_a_gpt2_has_the_same_scores_by_minicons(beside_minicons):
    answers = beside_minicons["GPT-2"]
    ours, theirs = answers["ours"], answers["minicons"]
    assert ours.keys() == theirs.keys() and len(ours) == 14
    for name, values in ours.items():
        assert_alike(values, theirs[name], name)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTED)
def test_our_model_has_the_same_scores_by_minicons_which_reads_its_export(name, beside_minicons):
    answers = beside_minicons[name]
    assert_alike(answers["ours"], answers["minicons"], name, by=1e-3)


def assert_alike(ours: object, theirs: object, name: str, by: float = 1e-4) -> None:
    """Lists of lists with the same texts, and numbers that differ by rounding: minicons computes in float32."""
    if isinstance(ours, list):
        assert len(ours) == len(theirs), name
        for one, other in zip(ours, theirs, strict=True):
            assert_alike(one, other, name, by)
    else:
        assert ours == (theirs if isinstance(theirs, str) else pytest.approx(theirs, abs=by)), name
