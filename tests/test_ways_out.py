"""Two ways between dtglib and others: models of Hugging Face in our tests, and our models in scripts for minicons."""

import math

import numpy as np
import pytest
import torch
from conftest import slow
from test_suites import IN_TWO_WORDS, suite_of
from toys import model_of, small_model

from dtglib.basics.errors import UserError
from dtglib.decode.beam import Widths
from dtglib.evaluate.blimp import pair_rows, read_pairs
from dtglib.evaluate.scorers import Scorer
from dtglib.evaluate.suites import by_texts, item_rows
from dtglib.evaluate.surprisal import surprisals

pytestmark = pytest.mark.usefixtures("one_thread")
WIDTHS = Widths(10, 10)


# ---- The text of regions


def test_a_model_may_read_the_texts_of_the_regions():
    asked = []

    def lengths(sentences):
        asked.extend(sentences)
        return [[float(len(text)) for text in texts] for texts in sentences]

    (row,) = item_rows([suite_of(IN_TWO_WORDS)], lengths, read=by_texts)
    assert asked[0] == ("The author", "next to", "the senators", "is not")
    assert row["surprisals"]["match"] == [10, 7, 12, 6]


@pytest.mark.parametrize("found", [[1.0], [[1.0]], np.zeros((4, 2))])
def test_surprisals_of_the_wrong_shape_are_an_error_that_names_the_item(found):
    with pytest.raises(UserError, match=r"^mine, item 1, match: .*region"):
        list(item_rows([suite_of(IN_TWO_WORDS)], lambda sentences: [found] * len(sentences), read=by_texts))


# ---- Hugging Face


@pytest.fixture(scope="module")
def gpt2():
    """A tiny one with random weights, whose tokens are learned from three sentences."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    from dtglib.evaluate.huggingface import Causal

    bpe = ByteLevelBPETokenizer()
    texts = ["The author next to the senators is not good.", "There isn't a difference.", "Keys are here."]
    bpe.train_from_iterator(texts, 300, special_tokens=["<|endoftext|>"], show_progress=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, eos_token="<|endoftext|>")
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=8, n_layer=1, n_head=2))
    return Causal(model, tokenizer)


@torch.no_grad()
def by_definition(gpt2, text: str) -> list[tuple[str, float]]:
    """Each token with its surprisal, one prediction after the other."""
    ids, rows = [gpt2.first], []
    for token in gpt2.tokenizer(text)["input_ids"]:
        log_probs = gpt2.model(torch.tensor([ids])).logits[0, -1].double().log_softmax(0)
        rows.append((gpt2.tokenizer.decode([token]), -float(log_probs[token])))
        ids.append(token)
    return rows


@pytest.mark.slow
def test_a_causal_model_has_the_surprisal_of_each_region(gpt2):
    regions = ["The author", "next to", "", "the senators", "is not"]
    (found,) = gpt2.surprisals([regions])
    expected, text = dict.fromkeys(range(len(regions)), 0.0), ""
    stops = np.cumsum([len(region) + 1 for region in regions if region])
    places = [place for place, region in enumerate(regions) if region]
    for token, nats in by_definition(gpt2, " ".join(filter(None, regions))):
        text += token
        expected[places[int(np.argmax(stops >= len(text)))]] += nats
    assert found == pytest.approx(list(expected.values()), abs=1e-5)
    assert found[2] == 0 and sum(found) == pytest.approx(sum(nats for _, nats in by_definition(gpt2, text)), abs=1e-5)


@pytest.mark.slow
def test_a_causal_model_is_tested_on_suites_and_pairs(gpt2):
    (row,) = item_rows([suite_of(IN_TWO_WORDS)], gpt2.surprisals, read=by_texts)
    assert row["surprisals"]["match"] == pytest.approx(
        next(gpt2.surprisals([("The author", "next to", "the senators", "is not")]))
    )
    paradigms = [one._replace(pairs=one.pairs[:2]) for one in read_pairs("minilang", 0.01)[:2]]
    rows = list(pair_rows(paradigms, gpt2.log_probs))
    assert len(rows) == sum(len(one.pairs) for one in paradigms)
    (value,) = gpt2.log_probs([["There", "is", "n't", "a", "difference", "."]])
    so_far = by_definition(gpt2, "There isn't a difference.<|endoftext|>")
    assert value == pytest.approx(-sum(nats for _, nats in so_far), abs=1e-5)


@pytest.mark.slow
def test_a_slow_tokenizer_is_an_error(gpt2):
    from dtglib.evaluate.huggingface import Causal

    class Slow:
        is_fast = False

    with pytest.raises(UserError, match="use_fast"):
        Causal(gpt2.model, Slow())


# ---- minicons


@pytest.mark.parametrize("name", ["txl-tokens", *slow(["dtg"])])
def test_tokens_have_the_surprisals_of_their_pieces(name):
    model, text = model_of(name), "There is a difference."
    scorer = Scorer(model, WIDTHS)
    (one,) = surprisals(model, [["There", "is", "a", "difference", "."]], WIDTHS)
    (rows,) = scorer.token_score(text, surprisal=True)
    assert [token for token, _ in rows] == list(one.pieces)
    assert [nats for _, nats in rows] == pytest.approx(one.of_pieces.tolist())
    (bits,) = scorer.token_score([text], surprisal=True, base_two=True, eos_token=True)
    assert bits[-1] == ("<END>", pytest.approx(one.of_end / math.log(2)))
    (shares,) = scorer.token_score([text], prob=True)
    assert [p for _, p in shares] == pytest.approx(np.exp(-one.of_pieces).tolist())


def test_with_the_correction_the_tokens_of_a_word_have_its_surprisal():
    model = model_of("txl-tokens")
    (one,) = surprisals(model, [["There", "is", "a", "difference"]], WIDTHS)
    (rows,) = Scorer(model, WIDTHS).token_score("There is a difference", True, bow_correction=True, eos_token=True)
    *nats, end = [value for _, value in rows]
    assert np.add.reduceat(nats, one.starts) == pytest.approx(one.of_words) and end == pytest.approx(one.end)


def test_a_sequence_has_the_mean_of_its_tokens_or_another_reduction():
    model, texts = model_of("txl-tokens"), ["There is a difference.", "There is."]
    scorer = Scorer(model, WIDTHS)
    sums = scorer.sequence_score(texts, reduction=lambda x: x.sum(0).item(), eos_token=True)
    found = list(surprisals(model, [["There", "is", "a", "difference", "."], ["There", "is", "."]], WIDTHS))
    assert sums == pytest.approx([-one.of_words.sum() - one.end for one in found])
    assert scorer.sequence_score(texts[0]) == pytest.approx([-found[0].of_pieces.mean()])


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"rank": True}, "ranks of tokens are not known"),
        ({"surprisal": True, "prob": True}, "ask for one of them"),
        ({"prob": True, "base_two": True}, "leave out base_two"),
    ],
)
def test_options_that_are_not_supported_are_errors(asked, complaint):
    with pytest.raises(UserError, match=complaint):
        Scorer(small_model("txl-tokens"), WIDTHS).token_score("There is.", **asked)


def test_an_empty_sentence_is_an_error_with_its_number():
    with pytest.raises(UserError, match="sentence 2 of the batch has no words"):
        Scorer(small_model("txl-tokens"), WIDTHS).sequence_score(["There is.", " "])
