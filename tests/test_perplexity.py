"""Perplexities, counted by hand; how a test is told from others like it; and what decides which model is tested."""

import dataclasses
import itertools
import math
import typing
import warnings
from functools import cache
from random import Random

import numpy as np
import pandas as pd
import pytest
import torch
import trees
from scipy.stats import ttest_1samp
from toys import PIECES, READINGS, SENTENCES, SYSTEM_OF, TINY

from dtglib.basics.config import as_dict, read_config
from dtglib.basics.errors import UserError
from dtglib.data.projectivity import is_projective
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.bootstrap import crossed_interval, ratio_interval
from dtglib.evaluate.intervals import Mean, over_seeds, over_suites
from dtglib.evaluate.likelihood import all_trees, score_trees
from dtglib.evaluate.perplexity import SentenceScore, by_trees, exactly, interval_per_word, perplexity
from dtglib.families.base import build
from dtglib.network.transformer import Transformer, TransformerConfig, batch_of
from dtglib.runs.prepare import folder_for, identity_of, prepare
from dtglib.runs.settings import EvaluationConfig, Settings, read_settings, read_size
from dtglib.sequences.batches import pad
from dtglib.sequences.structure import dense

pytestmark = pytest.mark.usefixtures("one_thread")

WORDS = ("There", "is", "a", "difference")


@cache
def pieces() -> Vocabulary:
    """Cuts rare words into several pieces."""
    return Vocabulary.train(SENTENCES, PIECES)


@cache
def model(name: str, vocabulary: Vocabulary | None = None) -> Transformer:
    torch.manual_seed(3)
    return build(TransformerConfig(model=name, layers=2, width=16, heads=2, inner=32), vocabulary or pieces()).eval()


def score(words: int, pieces: int, log_prob: float) -> SentenceScore:
    return SentenceScore(words, pieces, 1, log_prob, (0,))


# ---- Perplexity


def test_perplexity_is_exp_of_nats_per_piece_or_word_with_ends():
    found = perplexity([score(4, 6, -20.0), score(2, 3, -10.5), score(1, 1, -1.5)])
    assert found == (3, 7, 10, 3, 32.0)
    assert found.per_piece == pytest.approx(math.exp(32 / (10 + 3)))
    assert found.per_word == pytest.approx(math.exp(32 / (7 + 3)))


def test_a_uniform_choice_of_five_has_perplexity_five():
    found = perplexity(score(length, length, (length + 1) * math.log(1 / 5)) for length in range(1, 30))
    assert found.per_piece == pytest.approx(5)
    assert found.per_word == pytest.approx(5)


def test_words_and_pieces_are_counted_separately():
    """A long word is several pieces, and an unknown sign as many as it has bytes, after the mark of its word."""
    assert len(pieces().encode(["differentials"]).ids) > 1
    for words in (("differentials",), ("is", "differentials"), ("日",)):
        of_each = [len(pieces().encode([word]).ids) for word in words]
        (found,) = exactly(model("txl-tokens"), [words])
        (bound,) = by_trees(model("dtg"), [words], [all_trees(len(words))])
        assert found[:2] == bound[:2] == (len(words), sum(of_each))
    assert found.pieces == 1 + len("日".encode())


@pytest.mark.parametrize("log_prob", [-math.inf, -1e6])
def test_an_impossible_sentence_has_infinite_perplexity(log_prob):
    found = perplexity([score(1, 1, log_prob), score(1, 1, -1.0)])
    assert (found.per_piece, found.per_word) == (math.inf, math.inf)


def test_the_perplexity_of_no_sentences_is_an_error():
    with pytest.raises(UserError, match=r"^there are no sentences$"):
        perplexity(iter([]))


def test_the_interval_contains_the_perplexity_and_narrows_with_more_sentences():
    random = np.random.default_rng(1)
    lengths = random.integers(1, 30, 400)
    scores = [score(n, n, -n * random.gamma(9, 0.5)) for n in lengths.tolist()]
    widths = []
    for some in (scores[:40], scores):
        low, high = interval_per_word(some, np.random.default_rng(2))
        assert low < perplexity(some).per_word < high
        widths.append(high / low)
    assert 1 < widths[1] < widths[0]


def test_the_interval_is_that_of_words_with_ends():
    """Two sentences, of which each draw has the first, the second, or both: the interval goes from one to the other."""
    low, high = interval_per_word([score(1, 9, -2.0), score(3, 9, -12.0)], np.random.default_rng(1))
    assert (low, high) == (pytest.approx(math.exp(2 / 2)), pytest.approx(math.exp(12 / 4)))


def test_one_impossible_sentence_makes_the_upper_end_infinite():
    scores = [score(1, 1, -math.inf), *(score(1, 1, -2.0) for _ in range(40))]
    low, high = interval_per_word(scores, np.random.default_rng(1))
    assert (low, high) == (pytest.approx(math.e), math.inf)


def test_the_interval_of_impossible_sentences_is_never_nan():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = interval_per_word([score(1, 1, -math.inf), score(1, 1, -2.0)], np.random.default_rng(1))
    assert found == (pytest.approx(math.e), math.inf)


# ---- TXL (tokens)


def by_itself(words: tuple[str, ...], of: Transformer) -> np.ndarray:
    """The log-probability of each piece of a sentence that is alone in its batch, and of its end."""
    sequences = READINGS["txl-tokens"](of.vocabulary, [(words, None)])
    with torch.no_grad():
        return of.log_probs(batch_of(pad(sequences, [0]), dense)).double().numpy()


def test_words_without_trees_have_the_sum_of_the_log_probabilities_of_their_pieces():
    sentences = [WORDS, ("differentials",), WORDS * 5, ("is", "There", "日")]
    found = exactly(model("txl-tokens"), sentences)
    alone = [by_itself(words, model("txl-tokens")) for words in sentences]
    np.testing.assert_allclose([each.log_prob for each in found], [each.sum() for each in alone], atol=1e-4)
    assert [each.pieces + 1 for each in found] == [len(each) for each in alone]
    assert [(each.trees, each.best) for each in found] == [(0, None)] * 4


def test_all_sentences_up_to_three_words_and_all_beginnings_of_longer_ones_have_probability_one():
    of = model("txl-tokens", Vocabulary.of_words([["yes", "no"]]))
    words = ("yes", "no", "unheard-of")  # each word that is not known is the same entry
    sentences = [row for length in (1, 2, 3) for row in itertools.product(words, repeat=length)]
    ended = sum(math.exp(each.log_prob) for each in exactly(of, sentences))
    going_on = 0.0
    for row in sentences:
        if len(row) == 3:
            *of_words, of_end = by_itself(row, of)
            going_on += math.exp(sum(of_words)) * -math.expm1(of_end)
    assert ended > 0.2 < going_on
    assert ended + going_on == pytest.approx(1, abs=1e-5)


def test_of_no_sentences_there_are_no_scores():
    assert list(by_trees(model("dtg"), [], [])) == []
    assert exactly(model("txl-tokens"), []) == []


# ---- Models with trees


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_a_sentence_has_the_bound_of_its_trees_and_the_best_of_them(name):
    sentences = [WORDS, ("is",), WORDS[::-1]]
    proposed = [all_trees(len(words)) for words in sentences]
    found = list(by_trees(model(name), sentences, iter(proposed)))
    for words, heads, each in zip(sentences, proposed, found, strict=True):
        alone = [score_trees(model(name), words, tree[None]).log_probs[0] for tree in heads]
        assert each.log_prob == pytest.approx(np.logaddexp.reduce(alone), abs=1e-4)
        assert each.log_prob == score_trees(model(name), words, heads).bound
        assert each.best == tuple(heads[int(np.argmax(alone))].tolist())
        assert (each.words, each.trees) == (len(words), len(heads))


@pytest.mark.parametrize("name", SYSTEM_OF)
def test_fewer_trees_never_have_a_higher_bound(name):
    """... so that a perplexity by fewer trees is never lower."""
    random = Random(1)
    some = [np.array(random.sample(all_trees(n).tolist(), min(n, 4))) for n in (1, 3, 4)]
    sentences = [WORDS[:1], WORDS[:3], WORDS]
    few = list(by_trees(model(name), sentences, some))
    all_of_them = list(by_trees(model(name), sentences, [all_trees(len(words)) for words in sentences]))
    assert few[0].log_prob == all_of_them[0].log_prob
    assert all(a.log_prob < b.log_prob for a, b in zip(few[1:], all_of_them[1:], strict=True))
    assert perplexity(few).per_word > perplexity(all_of_them).per_word


def test_a_sentence_with_a_nonprojective_tree_is_scored_by_its_proposed_trees():
    crossing = Sentence(WORDS, heads=(3, 4, 0, 3))
    assert not is_projective(crossing.heads)
    straight = Sentence(WORDS, heads=trees.THERE_IS_A_DIFFERENCE)
    for name in ("dtg", "txl-tokens"):
        found = []
        for sentence in (crossing, straight):
            scores = by_trees(model(name), [sentence.words], [all_trees(4)]) if name in SYSTEM_OF else None
            found.append(list(scores or exactly(model(name), [sentence.words])))
        assert found[0] == found[1]
        assert math.isfinite(found[0][0].log_prob)


@pytest.mark.parametrize("lacking", ["sentences", "trees"])
def test_trees_of_another_number_of_sentences_are_an_error(lacking):
    sentences, proposed = [WORDS, WORDS], [all_trees(4), all_trees(4)]
    del (sentences if lacking == "sentences" else proposed)[1]
    with pytest.raises(ValueError, match=r"is (shorter|longer)"):
        list(by_trees(model("dtg"), sentences, proposed))


# ---- The bootstrap


def sentences_at_random(count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Words of sentences and how many of them are right; some sentences are hard, others easy: 0.6 on average."""
    words = 1 + random.poisson(12, count)
    return random.binomial(words, random.beta(1.2, 0.8, count)), words


def test_95_of_100_intervals_contain_the_true_value():
    random = np.random.default_rng(7)
    truth, held = 0.6, []
    for _ in range(600):
        low, high = ratio_interval(*sentences_at_random(100, random), random, draws=400)
        held.append(low <= truth <= high)
    # Were words drawn instead of sentences, it would be about 60 of 100.
    assert 0.92 <= np.mean(held) <= 0.97


def test_95_of_100_intervals_contain_the_true_perplexity():
    """A ratio of other sizes: long sentences have more nats a word here, so the sums depend on one another."""
    random = np.random.default_rng(8)

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        words = 1 + random.poisson(12, count)
        return words * (2 + words / 12) * random.gamma(4, 1 / 4, count), words

    nats, words = draw(1_000_000)
    truth = nats.sum() / words.sum()
    held = []
    for _ in range(600):
        low, high = ratio_interval(*draw(100), random, draws=400)
        held.append(low <= truth <= high)
    assert 0.91 <= np.mean(held) <= 0.97


def test_equal_sentences_have_an_interval_of_width_0():
    low, high = ratio_interval(np.full(30, 3), np.full(30, 4), np.random.default_rng(1))
    assert (low, high) == (0.75, 0.75)


def test_a_single_sentence_has_an_interval_of_width_0():
    assert ratio_interval(np.array([1]), np.array([3]), np.random.default_rng(1)) == (1 / 3, 1 / 3)


def test_the_seed_changes_the_interval_only_slightly():
    right, words = sentences_at_random(200, np.random.default_rng(5))
    first, again, other = (ratio_interval(right, words, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert first == pytest.approx(other, abs=0.005)


@pytest.mark.parametrize("draws", [1, 999, 1000, 1001, 2500])
def test_the_interval_works_for_any_number_of_draws(draws):
    """The generator that is handed in stands afterwards where so many draws leave it."""
    right, words = sentences_at_random(7, np.random.default_rng(5))
    used, alike = np.random.default_rng(1), np.random.default_rng(1)
    ratio_interval(right, words, used, draws)
    for done in range(0, draws, 1000):
        alike.integers(7, size=(min(1000, draws - done), 7))
    assert used.integers(1 << 60) == alike.integers(1 << 60)


# ---- How a model is tested does not decide which one is trained


@pytest.fixture
def settings(tmp_path, monkeypatch) -> Settings:
    """In a repository of their own, where folders of models are named and none is made."""
    for folder in ("configs", "notebooks"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "configs" / "tiny.yaml"
    path.write_text(TINY.replace("model: dtg", "model: txl-tokens"))
    return read_settings(path)


OF_EVALUATION = {
    "trees", "scored_sentences", "beam", "within", "score_beam", "items", "pairs", "compared_seeds", "compared",
    "released",
}  # fmt: skip
# Which trees a model is trained on is seen in what it reads, whoever has drawn them.
DECIDES_NOTHING = OF_EVALUATION | {"test_sentences", "parsed_by", "strong_parser", "weak_parser", "span_parser"}


def changed(config: object, name: str) -> object:
    """The same settings but for one, which has another value of its kind."""
    value, kind = getattr(config, name), typing.get_type_hints(type(config))[name]
    if name == "model":
        other = "txl-trans"
    elif name == "released":
        other = "ud"
    elif typing.get_origin(kind) is typing.Literal:
        other = next(choice for choice in typing.get_args(kind) if choice != value)
    elif kind is bool:
        other = not value
    elif kind in (str, str | None):
        other = f"{value} too"
    elif kind in (float, float | None):
        other = (value or 0) / 2 or 0.25
    else:
        other = 2 * (value or 1)  # a whole number, or none
    return dataclasses.replace(config, **{name: other})


def test_every_setting_decides_which_model_is_found_but_for_those_of_its_test(settings):
    prepared = prepare(settings)

    def folder(these: Settings) -> object:
        return folder_for(these, prepared)

    before = folder(settings)
    for kind, config in settings._asdict().items():
        for field in dataclasses.fields(config):
            other = settings._replace(**{kind: changed(config, field.name)})
            assert other != settings, field.name
            assert (folder(other) == before) == (field.name in DECIDES_NOTHING), field.name


def test_the_sentences_and_the_words_decide_too(settings):
    prepared = prepare(settings)
    other = prepare(settings._replace(corpus=dataclasses.replace(settings.corpus, train_sentences=20, dev_sentences=5)))
    for part in ("vocabulary", "train", "dev"):
        mixed = prepared._replace(**{part: getattr(other, part)})
        assert identity_of(settings, mixed) != identity_of(settings, prepared)


@pytest.mark.parametrize("size", ["smoke", "mini", "open", "paper"])
def test_every_size_says_how_closely_a_model_is_looked_at(size):
    evaluation = read_size(size).evaluation
    assert evaluation.trees >= 2
    assert set(as_dict(evaluation)) == OF_EVALUATION
    assert read_size(size, trees=7).evaluation == dataclasses.replace(evaluation, trees=7)


@pytest.mark.parametrize("line", ["trees: 0", "trees: -1", "scored_sentences: 0"])
def test_to_look_at_nothing_is_refused_with_the_name_of_the_file(line, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(line)
    with pytest.raises(UserError, match=rf"mine\.yaml: {line.split(':')[0]} must be at least 1"):
        read_config(path, EvaluationConfig)


@pytest.mark.parametrize("line", ["trees: many", "trees: 2.5", "trees: null"])
def test_trees_are_counted_in_whole_numbers(line, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(line)
    with pytest.raises(UserError, match=r"mine\.yaml: trees must be a whole number"):
        read_config(path, EvaluationConfig)


# ---- The crossed bootstrap


def seeds_by_suites(random: np.random.Generator, seeds: int = 12, suites: int = 20) -> np.ndarray:
    """Scores of which each is a sum: what the seed, the suite and chance contribute. Their true mean is 50."""
    of_seeds, of_suites = random.normal(0, 5, (seeds, 1)), random.normal(0, 20, (1, suites))
    return 50 + of_seeds + of_suites + random.normal(0, 5, (seeds, suites))


def test_95_of_100_crossed_intervals_contain_the_true_mean():
    random, held, held_by_cells = np.random.default_rng(9), [], []
    for _ in range(200):
        scores = seeds_by_suites(random)
        low, high = crossed_interval(scores, random, draws=200)
        held.append(low <= 50 <= high)
        low, high = crossed_interval(scores.reshape(1, -1), random, draws=200)
        held_by_cells.append(low <= 50 <= high)
    assert 0.90 <= np.mean(held) <= 0.99
    assert np.mean(held_by_cells) < 0.6  # as if the scores were independent of one another


def test_two_seeds_that_differ_in_all_suites_span_the_interval():
    assert crossed_interval(np.array([[0.0] * 5, [1.0] * 5]), np.random.default_rng(1)) == (0.0, 1.0)


def test_a_paired_difference_is_surer_than_its_parts():
    random = np.random.default_rng(10)
    scores = seeds_by_suites(random, seeds=3)
    better = scores + 5 + random.normal(0, 1, scores.shape)
    low, high = crossed_interval(scores, random)
    of_difference = crossed_interval(better - scores, random)
    assert 0 < of_difference[0] < 5 < of_difference[1] < 7 and low < better.mean() < high


def test_a_column_counts_by_its_weight():
    scores, random = np.tile([0.0, 1.0], (2, 100)), np.random.default_rng(11)
    low, high = crossed_interval(scores, random, weights=np.tile([1.0, 3.0], 100))
    assert low < 0.75 < high and low > 0.65 and high < 0.85


def test_an_interval_without_scores_is_an_error():
    with pytest.raises(UserError, match="no scores"):
        crossed_interval(np.empty((0, 3)), np.random.default_rng(1))
    with pytest.raises(UserError, match="nothing of which a share could be taken"):
        ratio_interval(np.array([1, 2]), np.array([0, 0]), np.random.default_rng(1))


# ---- Means with intervals


def test_the_interval_over_seeds_is_that_of_the_t_test():
    values = [2.0, 3.5, 1.0, 2.5]
    mean = over_seeds(pd.Series(values))
    assert mean[1:] == pytest.approx(ttest_1samp(values, 0).confidence_interval())
    assert over_seeds(pd.Series([2.0])).mean == 2.0 and np.isnan(over_seeds(pd.Series([2.0])).low)


def test_every_topic_has_one_weight_or_every_suite():
    table = pd.DataFrame([[0.0, 0, 6], [2, 2, 8]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 3)]))
    assert over_suites(table).mean == 4 and over_suites(table.droplevel(0, axis=1)).mean == 3
    halves = np.array([0.5, 0.5, 1])
    lacking = pd.concat([table, pd.DataFrame([[9, 9, np.nan]], columns=table.columns)])
    assert over_suites(lacking) == over_suites(table), "a seed without a score of a suite is left out"
    assert over_suites(table)[1:] == crossed_interval(table.to_numpy(), np.random.default_rng(1), halves)


def test_a_mean_is_written_like_a_number_without_a_minus_before_nothing():
    assert f"{Mean(-0.04, -1.26, 1.0):.1f}" == "0.0 [-1.3, 1.0]"
    assert f"{Mean(3.0, 0.0, 6.0):+.0f?}" == "+3 [0, 6], not significant"
    assert f"{Mean(-3.0, -6.0, -0.5):+.0f?}" == "-3 [-6, 0]"
    assert (
        f"{over_seeds(pd.Series([2.0])):.1f}" == "2.0" and f"{over_seeds(pd.Series([2.0])):.1f?}" == "2.0, not tested"
    )
