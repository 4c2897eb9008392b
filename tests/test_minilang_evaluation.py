"""minilang's minimal pairs and test suites: enough of them, in the public formats, and right by the recogniser."""

import json
import re
from collections import Counter

import pytest
from conftest import slow
from recogniser import english

from dtglib.basics.progress import quiet
from dtglib.data.minilang.corpus import split
from dtglib.data.minilang.grammar import read_source
from dtglib.data.minilang.templates import (
    GeneratedParadigm,
    GeneratedSuite,
    evaluation_sentences,
    minimal_pairs,
    suites,
)
from dtglib.data.tokenize import detokenize, tokenize

# The twelve phenomena of BLiMP by the names in its files, where s-selection is a part of argument structure.
PHENOMENA = {
    "anaphor_agreement",
    "argument_structure",
    "binding",
    "control_raising",
    "determiner_noun_agreement",
    "ellipsis",
    "filler_gap_dependency",
    "irregular_forms",
    "island_effects",
    "npi_licensing",
    "quantifiers",
    "subject_verb_agreement",
}

CIRCUITS = {
    "Agreement",
    "Center Embedding",
    "Garden-Path Effects",
    "Gross Syntactic State",
    "Licensing",
    "Long-Distance Dependencies",
}

# By name, so that processes that run other tests need not generate them.
NAMES = {name: [spec[key] for spec in read_source(name)[name]] for name, key in (("pairs", "uid"), ("suites", "suite"))}
each_paradigm = pytest.mark.parametrize("paradigm", NAMES["pairs"], indirect=True)
each_suite = pytest.mark.parametrize("suite", NAMES["suites"], indirect=True)


@pytest.fixture
def paradigm(request) -> GeneratedParadigm:
    return next(paradigm for paradigm in minimal_pairs() if paradigm.uid == request.param)


@pytest.fixture
def suite(request) -> GeneratedSuite:
    return next(suite for suite in suites() if suite.name == request.param)


def lower(words: tuple[str, ...]) -> Counter[str]:
    return Counter(word.lower() for word in words)


# ---- minimal pairs


def test_there_are_enough_paradigms_over_enough_phenomena():
    terms = {"argument_structure" if paradigm.term == "s-selection" else paradigm.term for paradigm in minimal_pairs()}
    assert len({paradigm.uid for paradigm in minimal_pairs()}) == len(minimal_pairs()) >= 24
    assert terms <= PHENOMENA
    assert len(terms) >= 10


@each_paradigm
def test_a_paradigm_has_200_different_pairs(paradigm: GeneratedParadigm):
    assert len(set(paradigm.pairs)) == len(paradigm.pairs) == 200


@pytest.mark.parametrize("step", [5, *slow([1])])
@each_paradigm
def test_every_good_sentence_is_in_the_language_and_no_bad_one(paradigm: GeneratedParadigm, step: int):
    accepts, pairs = english().accepts, paradigm.pairs[::step]
    assert [detokenize(pair.good) for pair in pairs if not accepts(pair.good)] == []
    assert [detokenize(pair.bad) for pair in pairs if accepts(pair.bad)] == []


@each_paradigm
def test_the_sentences_of_a_pair_differ_in_two_words_at_most_or_in_order_alone(paradigm: GeneratedParadigm):
    for pair in paradigm.pairs:
        good, bad = lower(pair.good), lower(pair.bad)
        assert pair.good != pair.bad, pair
        assert (good - bad).total() <= 2 and (bad - good).total() <= 2, pair


def test_pairs_have_the_keys_of_blimp(data):
    theirs = json.loads((data / "blimp" / "wh_island.jsonl").read_text("utf-8").splitlines()[0])
    for paradigm in minimal_pairs():
        for number, line in enumerate(paradigm.as_json_lines().splitlines()):
            ours = json.loads(line)
            assert list(ours) == list(theirs)
            assert [type(value) for value in ours.values()] == [type(value) for value in theirs.values()]
            assert (ours["UID"], ours["pair_id"]) == (paradigm.uid, str(number))


def test_fields_and_terms_are_those_of_blimp(data):
    lines = [path.read_text("utf-8").splitlines()[0] for path in sorted((data / "blimp").glob("*.jsonl"))]
    theirs = {(pair["field"], pair["linguistics_term"]) for pair in map(json.loads, lines)}
    assert {(paradigm.field, paradigm.term) for paradigm in minimal_pairs()} <= theirs


# ---- test suites


def test_there_are_enough_suites_and_they_cover_the_six_circuits(all_data):
    assert len({suite.name for suite in suites()}) == len(suites()) >= 14
    assert {suite.circuit for suite in suites()} == CIRCUITS
    theirs = (all_data / "sg" / "circuits.csv").read_text("utf-8")
    assert all(circuit in theirs for circuit in CIRCUITS)


@each_suite
def test_a_suite_has_24_different_items(suite: GeneratedSuite):
    items = {tuple(condition.words for condition in item) for item in suite.items}
    assert len(items) == len(suite.items) >= 24


@each_suite
def test_every_condition_is_in_the_language_or_out_of_it_as_declared(suite: GeneratedSuite):
    wrong = [
        (condition.name, detokenize(condition.words))
        for item in suite.items
        for condition in item
        if english().accepts(condition.words) != condition.grammatical
    ]
    assert wrong == []


@each_suite
def test_every_condition_of_an_item_has_the_same_regions(suite: GeneratedSuite):
    for item in suite.items:
        assert [condition.name for condition in item] == [condition.name for condition in suite.items[0]]
        assert {len(condition.regions) for condition in item} == {len(suite.region_names)}


# In a formula: (6;%match_sing%), the surprisal of region 6 in condition match_sing.
SURPRISAL = re.compile(r"\((\d+);%([^%]+)%\)")


@each_suite
def test_a_formula_speaks_of_regions_and_conditions_that_exist(suite: GeneratedSuite):
    regions, conditions = map(set, zip(*SURPRISAL.findall(suite.formula), strict=True))
    assert regions <= {str(number) for number in range(1, len(suite.region_names) + 1)}
    assert conditions <= {condition.name for condition in suite.items[0]}
    assert not re.search(r"[^\s\d()\[\]<>&+-]", SURPRISAL.sub("1", suite.formula))


@each_suite
def test_a_formula_compares_regions_that_have_words(suite: GeneratedSuite):
    for item in suite.items:
        words = {condition.name: condition.regions for condition in item}
        for alternative in SURPRISAL.findall(suite.formula):
            region, condition = alternative
            # A cleft's verb region is empty where there is no verb; all others must say something.
            assert words[condition][int(region) - 1] or suite.name == "cleft", (item[0].words, alternative)


@each_suite
def test_a_formula_is_a_truth_value_once_surprisals_are_known(suite: GeneratedSuite):
    known = SURPRISAL.sub("1.5", suite.formula).replace("[", "(").replace("]", ")").replace("&", " and ")
    assert type(eval(known)) is bool


def keys(node) -> object:
    """The keys of JSON all the way down; of a list those of its first element."""
    if isinstance(node, dict):
        return {key: keys(value) for key, value in node.items()}
    return [keys(node[0])] if isinstance(node, list) else type(node).__name__


@each_suite
def test_a_suite_has_the_keys_of_syntaxgym(suite: GeneratedSuite, data):
    theirs = json.loads((data / "sg" / "json" / "number_prep.json").read_text("utf-8"))
    ours = json.loads(suite.as_json())
    assert list(ours) == list(theirs)
    assert [keys(ours[part]) for part in ("predictions", "items")] == [
        keys(theirs[part]) for part in ("predictions", "items")
    ]
    assert list(ours["region_meta"]) == [str(number) for number in range(1, len(suite.region_names) + 1)]
    assert {"name", "metric"} <= set(ours["meta"]) & set(theirs["meta"])


def test_the_meta_of_a_suite_has_the_keys_of_syntaxgym(data):
    theirs = json.loads((data / "sg" / "json" / "number_prep.json").read_text("utf-8"))["meta"]
    assert set(theirs) <= set(json.loads(suites()[0].as_json())["meta"])


@each_suite
def test_the_regions_of_a_condition_put_together_are_its_sentence(suite: GeneratedSuite):
    for item, written in zip(suite.items, json.loads(suite.as_json())["items"], strict=True):
        for condition, regions in zip(item, written["conditions"], strict=True):
            text = " ".join(region["content"] for region in regions["regions"])
            assert tokenize(text) == list(condition.words)


# ---- all of them


@each_paradigm
def test_the_text_of_a_pair_gives_its_words_again(paradigm: GeneratedParadigm):
    for pair, line in zip(paradigm.pairs, paradigm.as_json_lines().splitlines(), strict=True):
        written = json.loads(line)
        assert tokenize(written["sentence_good"]) == list(pair.good)
        assert tokenize(written["sentence_bad"]) == list(pair.bad)


# Slow: thousands of sentences are drawn.
@pytest.mark.slow
def test_every_word_of_the_evaluation_is_known_from_train():
    unknown = {word.lower() for words in evaluation_sentences() for word in words}
    for count in (5_000, 10_000, 20_000):  # rare words come late, and drawing takes its time
        if unknown:
            with quiet():
                unknown -= {word.lower() for sentence in split("train", count) for word in sentence.words}
    assert unknown == set()


def test_no_sentence_is_good_in_one_place_and_bad_in_another():
    good = {pair.good for p in minimal_pairs() for pair in p.pairs} | {
        condition.words for suite in suites() for item in suite.items for condition in item if condition.grammatical
    }
    bad = {pair.bad for p in minimal_pairs() for pair in p.pairs} | {
        condition.words for suite in suites() for item in suite.items for condition in item if not condition.grammatical
    }
    assert good & bad == set()
    assert good | bad == evaluation_sentences()
