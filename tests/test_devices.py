"""Trained models search, and sum over trees, on a GPU as on a CPU, but for rounding."""

import pytest

from dtglib.basics.released import cards
from dtglib.data.corpora import load
from dtglib.decode.beam import Widths, in_parts, search
from dtglib.evaluate.likelihood import score_words
from dtglib.families.base import family, family_of, load_model, titles
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS, propose

pytestmark = pytest.mark.cuda
SENTENCES = load("minilang", "train", 6).sentences
WORDS = [sentence.words for sentence in SENTENCES]
# The released models of all papers that are installed.
MODELS = cards("model")
RELEASED = [name for name in titles() if f"{name}-minilang" in MODELS]
SEARCHED = [name for name in RELEASED if family(name).likelihood.is_searched]


@pytest.mark.parametrize("name", SEARCHED)
def test_a_search_on_a_gpu_finds_what_it_finds_on_a_cpu(name):
    def found(device: str) -> list[float]:
        network = load_model(f"{name}-minilang", device)
        return [one.log_prob for one in in_parts(search, network, WORDS, Widths(8, 8))]

    assert found("cuda") == pytest.approx(found("cpu"), rel=1e-4)


@pytest.mark.parametrize("name", ["dtg", "dtg-eager", "dtg-swift", "txl-trans"])
def test_trees_have_the_same_probability_on_a_gpu_as_on_a_cpu(name):
    proposed = list(propose(load_parser("parser-minilang"), WORDS, 50, METHODS["sample"]))

    def scores(device: str) -> list[float]:
        network = load_model(f"{name}-minilang", device)
        return [score.log_prob for score in family_of(network).likelihood.scores(network, SENTENCES, proposed)]

    assert scores("cuda") == pytest.approx(scores("cpu"), rel=1e-4)


def test_words_have_the_same_probability_on_a_gpu_as_on_a_cpu():
    on_gpu, on_cpu = (score_words(load_model("txl-tokens-minilang", device), WORDS) for device in ("cuda", "cpu"))
    assert on_gpu == pytest.approx(on_cpu, rel=1e-4)
