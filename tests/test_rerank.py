"""Attachment and reranking, counted by hand: who chooses which tree, and how many heads are then right.

The first of two sentences has five words, and three trees are proposed for it:

    There is a difference .     heads        right   without "."
                     gold       2 0 4 2 2
                     near       2 0 2 2 2    4 of 5   3 of 4        the parser's choice
                     good       2 0 4 2 2    5 of 5   4 of 4
                     chain      0 1 2 3 4    0 of 5   0 of 4

The second is "Yes .", with two trees: 0 1 (gold, 2 of 2) and 2 0 (0 of 2).
"""

import numpy as np
import pytest
import torch

from dtglib.basics.errors import UserError
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.attachment import attached, every_word, is_word
from dtglib.evaluate.likelihood import score_trees
from dtglib.evaluate.perplexity import by_trees
from dtglib.evaluate.reports import parsing_row
from dtglib.evaluate.rerank import reranked
from dtglib.families.base import build
from dtglib.network.transformer import TransformerConfig
from dtglib.parsing.projective import DependencyTrees, best_trees

pytestmark = pytest.mark.usefixtures("one_thread")

DIFFERENCE = Sentence(("There", "is", "a", "difference", "."), heads=(2, 0, 4, 2, 2), id="difference")
YES = Sentence(("Yes", "."), heads=(0, 1), id="yes")
NEAR, GOOD, CHAIN = (2, 0, 2, 2, 2), (2, 0, 4, 2, 2), (0, 1, 2, 3, 4)
RIGHT, WRONG = (0, 1), (2, 0)


# ---- Attachment


def test_the_words_with_the_right_head_are_counted_sentence_by_sentence():
    found = attached([DIFFERENCE, YES], [NEAR, WRONG])
    assert (found.right.tolist(), found.words.tolist()) == ([4, 0], [5, 2])
    assert found.uas == 4 / 7


def test_without_punctuation_the_full_stops_do_not_count():
    found = attached([DIFFERENCE, YES], [NEAR, RIGHT], is_word)
    assert (found.right.tolist(), found.words.tolist()) == ([3, 1], [4, 1])
    assert found.uas == 4 / 5


def test_perfect_trees_have_a_score_of_1_and_wrong_ones_of_0():
    assert attached([DIFFERENCE, YES], [GOOD, RIGHT]).uas == 1
    assert attached([DIFFERENCE, YES], [CHAIN, WRONG]).uas == 0


def test_a_gold_tree_may_be_nonprojective_or_have_two_roots():
    crossing, two = Sentence(("a", "b", "c", "d"), heads=(3, 4, 0, 3)), Sentence(("a", "b"), heads=(0, 0))
    found = attached([crossing, two], [(3, 3, 0, 3), (0, 1)])
    assert found.right.tolist() == [3, 1]


def test_heads_may_be_rows_of_numpy():
    assert attached([DIFFERENCE], [np.array(NEAR)]).uas == 4 / 5


COUNTS_AS_A_WORD = {
    # of nothing but signs that Unicode calls punctuation
    ".": False, ",": False, "?!": False, "...": False, "…": False, "-": False, "--": False, "–": False, "—": False,
    "'": False, "''": False, '"': False, "“": False, "(": False, "]": False, "¿": False, "%": False, "&": False,
    "*": False, "@": False, "/": False, "。": False,
    # letters or digits among them
    "'s": True, "n't": True, "Mr.": True, "U.S.": True, "well-known": True, "9:30": True, ":D": True, "a": True,
    # symbols are none: money, arithmetic, pictures, and the backquote, which Unicode takes for an accent
    "$": True, "€": True, "+": True, "=": True, "<": True, "^": True, "~": True, "|": True, "😀": True, "``": True,
    # the Penn Treebank's names for brackets are letters between hyphens
    "-LRB-": True, "-RRB-": True,
    # one sign that is no punctuation is enough
    "$.": True, ".)": False, ":-)": False,
}  # fmt: skip


@pytest.mark.parametrize("word", COUNTS_AS_A_WORD)
def test_punctuation_is_defined_by_unicode(word):
    """As in supar's evaluation. The Penn Treebank's own scorers do not count ``, which is a quotation mark there."""
    assert is_word(word) == COUNTS_AS_A_WORD[word]
    assert every_word(word)


def test_a_sentence_without_a_tree_is_an_error_with_its_name():
    raw = Sentence(("There", "is"), id="raw-7")
    with pytest.raises(UserError, match="sentence 'raw-7' has no tree in the treebank"):
        attached([DIFFERENCE, raw], [GOOD, (2, 0)])


@pytest.mark.parametrize(
    ("sentences", "trees"), [([YES, YES], [RIGHT]), ([YES], [RIGHT, RIGHT]), ([YES], [(0,)]), ([YES], [(0, 1, 1)])]
)
def test_trees_of_other_sentences_are_an_error(sentences, trees):
    with pytest.raises(
        (ValueError, UserError), match=r"is (shorter|longer)|sentence 'yes' has 2 words, and its tree [13] heads"
    ):
        attached(sentences, trees)


def test_the_interval_contains_the_share_over_all_sentences():
    found = attached([DIFFERENCE, YES] * 100, [NEAR, WRONG] * 100)
    low, high = found.interval(np.random.default_rng(1))
    assert 0 < low < found.uas < high < 4 / 5
    # Two sentences: each draw has the one, the other or both.
    assert attached([DIFFERENCE, YES], [NEAR, WRONG]).interval(np.random.default_rng(1)) == (0, 4 / 5)


def test_a_sentence_of_punctuation_alone_does_not_spoil_the_interval():
    dots = Sentence(("...",), heads=(0,), id="dots")
    with np.errstate(all="raise"):
        low, high = attached([DIFFERENCE, dots], [NEAR, (0,)], is_word).interval(np.random.default_rng(1))
    assert (low, high) == (3 / 4, 3 / 4)


def test_a_share_of_no_words_is_an_error():
    nothing = attached([Sentence(("...",), heads=(0,), id="dots")], [(0,)], is_word)
    with pytest.raises(UserError, match="no word is left whose head could be counted"):
        _ = nothing.uas
    with pytest.raises(UserError, match="nothing of which a share could be taken"):
        nothing.interval(np.random.default_rng(1))


def test_where_all_is_punctuation_a_report_leaves_out_what_cannot_be_counted():
    dots, tree = Sentence(("...",), heads=(0,)), DependencyTrees(np.array([[0]]), np.zeros(1))
    assert "UAS without punctuation" not in (row := parsing_row([dots], [{"tree": [0]}])) and row["UAS"] == 1
    (chosen, *_) = reranked([dots], [(0,)], [tree], {})
    assert chosen["UAS"] == 1 and "UAS without punctuation" not in chosen


# ---- Reranking

# Of each sentence the trees that were proposed, and what the parser thinks of them.
PROPOSED = [
    DependencyTrees(np.array([CHAIN, NEAR, GOOD]), np.log([0.1, 0.6, 0.3])),
    DependencyTrees(np.array([WRONG, RIGHT]), np.log([0.9, 0.1])),
]
FAVOURITES = [NEAR, WRONG]
# A model that likes the chain, and is right about "Yes ."; one that is right about the first sentence alone.
CHOICES = {"left": [CHAIN, RIGHT], "right": [GOOD, WRONG]}


@pytest.fixture(scope="module")
def rows() -> dict[str, dict]:
    return {row["chosen by"]: row for row in reranked([DIFFERENCE, YES], FAVOURITES, PROPOSED, CHOICES)}


def test_there_is_a_row_for_the_parser_each_model_and_the_oracle_in_this_order(rows):
    assert list(rows) == ["proposal", "left", "right", "oracle"]


def test_each_row_has_the_uas_of_its_chosen_trees(rows):
    # near and wrong; chain and right; good and wrong; good and right
    assert [row["UAS"] for row in rows.values()] == [4 / 7, 2 / 7, 5 / 7, 7 / 7]
    assert [row["UAS without punctuation"] for row in rows.values()] == [3 / 5, 1 / 5, 4 / 5, 5 / 5]


def test_over_proposal_is_the_difference_on_all_words(rows):
    won = [row["over proposal"] for row in rows.values()]
    assert won == pytest.approx([0, -2 / 7, 1 / 7, 3 / 7])


def test_the_intervals_are_those_of_the_same_draws_of_sentences(rows):
    """A draw of two sentences is one of them twice, or both: the interval goes from the one to the other."""
    assert [row["UAS, 95 %"] for row in rows.values()] == [(0, 4 / 5), (0, 1), (0, 1), (1, 1)]
    assert [row["UAS without punctuation, 95 %"] for row in rows.values()] == [(0, 3 / 4), (0, 1), (0, 1), (1, 1)]
    won = [row["over proposal, 95 %"] for row in rows.values()]
    assert won == [(0, 0), (-4 / 5, 1), (0, 1 / 5), (1 / 5, 1)]


def test_the_interval_of_the_difference_is_paired_by_sentence():
    """One word more is right in every sentence, hard or easy: that is certain, however uncertain both shares are."""
    random = np.random.default_rng(4)
    sentence = Sentence(tuple("abcdefghij"), heads=(0, *[1] * 9))
    worse, better = [], []
    for wrong in random.integers(1, 9, 50).tolist():
        worse.append((0, *[1] * (9 - wrong), *[2] * wrong))
        better.append((0, *[1] * (10 - wrong), *[2] * (wrong - 1)))
    proposed = [DependencyTrees(np.array(pair), np.log([0.7, 0.3])) for pair in zip(worse, better, strict=True)]
    parser, model, _ = reranked([sentence] * 50, worse, proposed, {"model": better})
    assert model["over proposal, 95 %"] == (pytest.approx(0.1), pytest.approx(0.1))
    for row in (parser, model):
        low, high = row["UAS, 95 %"]
        assert high - low > 0.08


def first_of(trees: list[DependencyTrees]) -> list[np.ndarray]:
    return [proposed.heads[0] for proposed in trees]


def at_random(random: np.random.Generator) -> tuple[list[Sentence], list[DependencyTrees]]:
    """Sentences of two to eight words, and 20 trees of each that have nothing to do with its own."""
    sentences, trees = [], []
    for number in range(30):
        size = int(random.integers(2, 9))
        gold = best_trees(random.normal(size=(size + 1, size + 1)), 1).heads[0]
        sentences.append(Sentence(tuple("abcdefgh"[:size]), heads=tuple(gold.tolist()), id=str(number)))
        trees.append(best_trees(random.normal(size=(size + 1, size + 1)), 20))
    return sentences, trees


def test_no_choice_among_the_same_trees_is_better_than_the_oracles():
    random = np.random.default_rng(5)
    sentences, trees = at_random(random)
    models = {str(n): [random.choice(proposed.heads) for proposed in trees] for n in range(8)}
    uas = {row["chosen by"]: row["UAS"] for row in reranked(sentences, first_of(trees), trees, models)}
    assert uas["oracle"] == max(uas.values()) > sorted(uas.values())[-2]
    nearest = [
        max(sum(a == b for a, b in zip(sentence.heads, heads, strict=True)) for heads in proposed.heads.tolist())
        for sentence, proposed in zip(sentences, trees, strict=True)
    ]
    assert uas["oracle"] == sum(nearest) / sum(len(sentence.words) for sentence in sentences)


def test_no_choice_is_better_than_the_oracles_without_punctuation():
    """Two trees with four right heads each; of the words that are no punctuation one has three right, one four."""
    loses_a_word, loses_the_stop = NEAR, (2, 0, 4, 2, 4)
    trees = [DependencyTrees(np.array([loses_a_word, loses_the_stop]), np.log([0.7, 0.3]))]
    rows = reranked([DIFFERENCE], [loses_a_word], trees, {"model": [loses_the_stop]})
    uas = {row["chosen by"]: row["UAS without punctuation"] for row in rows}
    assert uas["model"] == uas["oracle"] == 1
    assert uas["proposal"] == 3 / 4


def test_the_oracle_chooses_for_each_column_by_the_words_that_count_there():
    """One tree is right about all signs, and another about all words.

    Wait , what ?     heads      right    without signs
                gold  0 1 1 1
               signs  0 1 2 1    3 of 4   1 of 2
               words  0 3 1 3    2 of 4   2 of 2        the parser's choice
    """
    wait = Sentence(("Wait", ",", "what", "?"), heads=(0, 1, 1, 1), id="wait")
    signs, words = (0, 1, 2, 1), (0, 3, 1, 3)
    trees = [DependencyTrees(np.array([words, signs]), np.log([0.7, 0.3]))]
    proposal, oracle = reranked([wait], [words], trees, {})
    assert (proposal["UAS"], proposal["UAS without punctuation"]) == (2 / 4, 1)
    assert (oracle["UAS"], oracle["UAS without punctuation"]) == (3 / 4, 1)
    assert oracle["over proposal"] == 1 / 4
    assert (oracle["UAS, 95 %"], oracle["UAS without punctuation, 95 %"]) == ((3 / 4, 3 / 4), (1, 1))
    assert oracle["over proposal, 95 %"] == (1 / 4, 1 / 4)


def test_the_parsers_choice_is_its_best_tree_even_if_it_was_not_drawn():
    """Of the first sentence only the chain was drawn: that is all that is left to the models, and to the oracle."""
    trees = [DependencyTrees(np.array([CHAIN]), np.log([0.1])), PROPOSED[1]]
    proposal, model, oracle = reranked([DIFFERENCE, YES], [GOOD, WRONG], trees, {"model": [CHAIN, RIGHT]})
    assert (proposal["UAS"], model["UAS"], oracle["UAS"]) == (5 / 7, 2 / 7, 2 / 7)
    assert oracle["over proposal"] == model["over proposal"] == pytest.approx(-3 / 7)
    assert oracle["over proposal, 95 %"] == (-1, 1)


def test_a_missing_choice_is_replaced_by_the_parsers_and_counted():
    choices = {"one": [None, RIGHT], "none": [None, None], "all": [GOOD, RIGHT]}
    rows = {row["chosen by"]: row for row in reranked([DIFFERENCE, YES], FAVOURITES, PROPOSED, choices)}
    lacking = {name: row["without a tree"] for name, row in rows.items()}
    assert lacking == {"proposal": 0, "one": 1, "none": 2, "all": 0, "oracle": 0}
    assert rows["one"]["UAS"] == 6 / 7
    assert rows["one"]["over proposal, 95 %"] == (0, 1)
    assert {**rows["none"], "chosen by": "proposal", "without a tree": 0} == rows["proposal"]


def test_without_models_there_are_rows_for_the_parser_and_the_oracle():
    first, last = reranked([DIFFERENCE, YES], FAVOURITES, PROPOSED, {})
    assert (first["chosen by"], last["chosen by"]) == ("proposal", "oracle")


def test_the_seed_changes_only_the_intervals():
    sentences, trees = at_random(np.random.default_rng(5))
    first, again, other = (reranked(sentences, first_of(trees), trees, {}, seed) for seed in (1, 1, 2))
    assert first == again
    for key in ("UAS, 95 %", "UAS without punctuation, 95 %", "over proposal, 95 %"):
        assert [row[key] for row in first] != [row[key] for row in other]
    for key in ("UAS", "UAS without punctuation", "over proposal"):
        assert [row[key] for row in first] == [row[key] for row in other]


def test_a_sentence_without_a_gold_tree_is_left_out():
    raw = Sentence(("Yes", "."), id="raw")
    expected = reranked([DIFFERENCE, YES], FAVOURITES, PROPOSED, CHOICES)
    with_raw = {name: [*choices, choices[1]] for name, choices in CHOICES.items()}
    found = reranked([DIFFERENCE, YES, raw], [*FAVOURITES, FAVOURITES[1]], [*PROPOSED, PROPOSED[1]], with_raw)
    assert found == expected
    assert reranked([raw], FAVOURITES[1:], PROPOSED[1:], {}) == []


@pytest.mark.parametrize("lacking", ["a sentence", "a favourite", "a sentence's trees", "a model's choice"])
def test_lists_of_different_lengths_are_an_error(lacking):
    sentences = [DIFFERENCE, YES][: 1 if lacking == "a sentence" else 2]
    trees = PROPOSED[: 1 if lacking == "a sentence's trees" else 2]
    favourites = FAVOURITES[: 1 if lacking == "a favourite" else 2]
    choices = {"left": CHOICES["left"][: 1 if lacking == "a model's choice" else 2]}
    with pytest.raises(ValueError, match=r"is (shorter|longer)"):
        reranked(sentences, favourites, trees, choices)


def test_a_model_chooses_its_most_probable_tree():
    """From log p(words, tree) to the table: the choices are the best trees of evaluate.perplexity."""
    torch.manual_seed(3)
    vocabulary = Vocabulary.of_words([DIFFERENCE.words, YES.words])
    model = build(TransformerConfig(model="dtg", layers=1, width=16, heads=2, inner=32), vocabulary).eval()
    sentences = [DIFFERENCE, YES]
    scores = list(by_trees(model, [s.words for s in sentences], [proposed.heads for proposed in PROPOSED]))
    log_probs = [score_trees(model, s.words, t.heads).log_probs for s, t in zip(sentences, PROPOSED, strict=True)]
    right = [np.array([0, 4, 5]), np.array([0, 2])]  # of each tree, in the order of PROPOSED
    expected = sum(of_tree[log_p.argmax()] for of_tree, log_p in zip(right, log_probs, strict=True)) / 7
    _, row, _ = reranked(sentences, FAVOURITES, PROPOSED, {"dtg": [score.best for score in scores]})
    assert row["UAS"] == expected
