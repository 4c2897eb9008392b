"""Brackets as a stack machine, and what models of them see, predict and find."""

import json
import math
import random
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
import torch
from conftest import slow
from kernels import assert_searched_alike
from running import CONFIGS, assert_one_line
from toys import TINY_SIZE, by_heart, joint_log_probs, symbols_in

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data import minilang
from dtglib.data.conllu import TreebankError
from dtglib.data.corpora import load
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import END, Vocabulary
from dtglib.decode.beam import Widths, search
from dtglib.decode.sampling import generate
from dtglib.decode.word_by_word import search_beginnings
from dtglib.families.base import family
from dtglib.network.transformer import TransformerConfig, batch_of
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import COMPOSE
from dtglib.sequences.structure import dense, vectors_of
from dtgpapers.constituency.compile import composed, in_a_row, rules_of
from dtgpapers.constituency.family import BracketModel, BracketReading
from dtgpapers.constituency.machine import CLOSE, FIRST, GEN, START, Rules, legal, replay, step
from dtgpapers.constituency.naive import simulate
from dtgpapers.constituency.sides import SidesModel
from dtgpapers.constituency.trees import bracket_symbols, labels_of, symbols_of, words_and_symbols, written

LABELS, WORDS = ("NP", "S", "VP"), ("There", "is", "a", "difference")
BRACKETS = "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))))"
TREE = (3, 2, 0, 1, 4, 0, 2, 0, 0, 1, 1, 1)

# Which rows a position sees, and its columns: i, kind, last, height, level, floor, head.
GRID = """
 0 <ROOT>      STACK   16 0 0 0 -  0:0
 1 (S          STACK   15 1 1 0 -  0:1 1:0
 2 (NP         STACK    4 2 2 0 -  0:2 1:1 2:0
 3 There       STACK    4 3 3 0 -  0:3 1:2 2:1 3:0
 4 NP)         COMPOSE 15 2 2 2 2  2:0 3:-1 4:0
 5 NP)         STACK    5 2 2 0 -  0:2 1:1 4:0 5:0
 6 (VP         STACK   13 3 2 0 -  0:2 1:1 4:0 6:0
 7 is          STACK   13 4 3 0 -  0:3 1:2 4:1 6:1 7:0
 8 (NP         STACK   11 5 3 0 -  0:3 1:2 4:1 6:1 7:0 8:0
 9 a           STACK   11 6 4 0 -  0:4 1:3 4:2 6:2 7:1 8:1 9:0
10 difference  STACK   11 7 4 0 -  0:4 1:3 4:2 6:2 7:1 8:1 9:0 10:0
11 NP)         COMPOSE 13 5 3 5 8  8:0 9:-1 10:-1 11:0
12 NP)         STACK   12 5 3 0 -  0:3 1:2 4:1 6:1 7:0 11:0 12:0
13 VP)         COMPOSE 15 3 2 3 6  6:0 7:-1 11:-1 13:0
14 VP)         STACK   14 3 2 0 -  0:2 1:1 4:0 13:0 14:0
15 S)          COMPOSE 16 1 1 1 1  1:0 4:-1 13:-1 15:0
16 S)          STACK   16 1 1 0 -  0:1 15:0 16:0
"""


def speaking(words=WORDS, labels=LABELS, typed=True) -> Vocabulary:
    return Vocabulary.of_words([words], bracket_symbols(labels, typed))


@cache
def in_pieces() -> Vocabulary:
    words = [sentence.words for sentence in load("minilang", "train", 300).sentences]
    return Vocabulary.train(words, 400, bracket_symbols(LABELS))


def random_tree(chance: random.Random, words: int, most_in_a_row: int = 8) -> list[int]:
    """A whole tree of so many words; closing and opening are about as likely as a word."""
    state, symbols = START, []
    while not state.done:
        may = legal(state, Rules(len(LABELS), most_in_a_row=most_in_a_row))
        if state.words == words:
            may = (CLOSE,) if CLOSE in may else ()
        elif len(state.open) == 1:
            may = tuple(symbol for symbol in may if symbol != CLOSE)
        if len(state.open) > 12:
            may = tuple(symbol for symbol in may if symbol < FIRST)
        kinds = [[symbol for symbol in may if min(symbol, FIRST) == kind] for kind in (GEN, CLOSE, FIRST)]
        symbols.append(chance.choice(chance.choice([kind for kind in kinds if kind])))
        state = step(state, symbols[-1])
    return symbols


# ---- Trees


def test_a_tree_becomes_symbols_and_a_tree_again():
    assert labels_of([BRACKETS]) == LABELS
    assert tuple(symbols_of(BRACKETS, LABELS)) == TREE
    assert written(WORDS, TREE, LABELS) == "(S (NP There) (VP is (NP a difference)))"
    assert written(WORDS, TREE[:5], LABELS) == "(S (NP There) (VP"


def test_tags_go_and_chains_stay():
    assert symbols_of("(S (S (VP (VB Go))))", LABELS) == [3, 3, 4, 0, 1, 1, 1]
    assert symbols_of("(UH Oh)", ("X",)) == [2, 0, 1] and labels_of(["(UH Oh)"]) == ("X",)


def test_what_cannot_be_a_label_is_named():
    with pytest.raises(TreebankError, match="'NP-SBJ' is not made of capital letters"):
        labels_of(["(NP-SBJ (DT a))"])
    with pytest.raises(TreebankError, match="no training tree has the label 'QP'"):
        symbols_of("(S (QP (CD two)))", LABELS)
    with pytest.raises(UserError, match="32 labels, and at most 31"):
        bracket_symbols([f"{a}{b}" for a in "ABCD" for b in "ABCDEFGH"])


@pytest.mark.parametrize("part", ["dev", "attractor"])
def test_every_tree_of_minilang_comes_back(part):
    sentences = load("minilang", "dev", 300).sentences if part == "dev" else minilang.split(part, 100)
    labels = labels_of(sentence.brackets for sentence in sentences)
    for sentence in sentences:
        symbols = symbols_of(sentence.brackets, labels)
        assert replay(symbols).words == len(sentence.words) and replay(symbols).done
        tagless = written(sentence.words, symbols, labels)
        assert tagless.replace("(", " ( ").replace(")", " ) ").split() == without_tags(sentence.brackets).split()


def without_tags(brackets: str) -> str:
    from nltk.tree import Tree

    def text(tree) -> str:
        if isinstance(tree[0], str):
            return tree[0]
        return f" ( {tree.label()} {' '.join(map(text, tree))} ) "

    return text(Tree.fromstring(brackets))


# ---- The machine


@pytest.mark.parametrize(
    ("labels", "in_a_row_", "counts"),
    [(1, 1, [1, 2, 6, 22]), (1, 2, [2, 9, 63, 540]), (2, 1, [2, 6, 30, 186]), (2, 2, [6, 70, 1386, 33754])],
)
def test_there_are_as_many_sequences_as_counted_elsewhere(labels, in_a_row_, counts):
    rules = Rules(labels, most_in_a_row=in_a_row_)

    @cache
    def ways(state, words: int) -> int:
        if state.done:
            return int(state.words == words)
        may = [symbol for symbol in legal(state, rules) if symbol != GEN or state.words < words]
        may = [symbol for symbol in may if symbol < FIRST or state.words < words]
        return sum(ways(step(state, symbol), words) for symbol in may)

    assert [ways(START, words) for words in range(1, 5)] == counts


def test_what_is_illegal_is_named():
    for symbols, wrong in (
        ([0], "after 0 words, a word stands in no constituent"),
        ([3, 1], "after 0 words, a constituent is empty"),
        ([3, 0, 1, 3], "after 1 word, something follows the constituent of the whole sentence"),
        ([1], "after 0 words, a bracket closes, and none is open"),
        ([3] * 9, "after 0 words, more than 8 brackets are opened in a row"),
        ([3, 0] * 51, "after 50 words, more than 50 brackets are open"),
    ):
        with pytest.raises(UserError, match=f"^the brackets are no tree: {wrong}$"):
            replay(symbols)
    with pytest.raises(UserError, match="a label has number 1, and there are 1"):
        replay([3], Rules(labels=1))
    with pytest.raises(UserError, match="sentence 1: 4 words, but a tree of 1"):
        composed(speaking(), [(WORDS, (3, 0, 1))])
    with pytest.raises(UserError, match="sentence 1: the tree is not whole"):
        composed(speaking(), [(WORDS, TREE[:-1])])
    with pytest.raises(UserError, match="after 0 words, a constituent is empty"):
        composed(speaking(), [(WORDS, (3, 1, 0, 0, 0, 0))])


# ---- What a Transformer Grammar sees


def test_the_grid_of_the_example():
    vocabulary = speaking()
    compiled = composed(vocabulary, [(WORDS, TREE)])
    columns = compiled.sentence(0)
    visible, relpos = dense(vectors_of(pad(compiled, [0])))
    lines = []
    for i in range(columns.length):
        head = columns.head_first[i] if columns.head_first[i] >= 0 else "-"
        seen = " ".join(f"{j}:{relpos[0, i, j]}" for j in range(columns.length) if visible[0, i, j])
        about = columns.last[i], columns.height[i], columns.level[i], columns.floor[i], head
        name = vocabulary.entries[columns.token[i]].removeprefix("▁")
        lines.append([str(i), name, ("STACK", "COMPOSE")[columns.kind[i]], *map(str, about), *seen.split()])
    assert lines == [line.split() for line in GRID.split("\n") if line]
    assert (columns.settled == np.arange(17)).all() and (columns.top == columns.level).all()


def test_with_one_column_for_place_and_depth_two_rows_of_the_example_go_wrong():
    batch = pad(composed(speaking(), [(WORDS, TREE)]), [0])
    floor = np.where(batch.kind == COMPOSE, batch.level, batch.floor)
    merged = batch._replace(height=batch.level, floor=floor)
    right, wrong = (dense(vectors_of(one)).visible[0] for one in (batch, merged))
    assert (right != wrong).any(1).nonzero()[:, 0].tolist() == [11, 13]
    assert wrong[11, 7] and wrong[13, 4]


def test_masks_and_distances_are_those_of_a_literal_stack():
    """With words of several pieces, chains and deep trees; level and height have to differ."""
    chance, vocabulary, differ = random.Random(1), in_pieces(), 0
    sentences = [s.words for s in load("minilang", "dev", 200).sentences]
    for _ in range(400):
        words = chance.choice(sentences)[: chance.randint(1, 9)]
        tree = random_tree(chance, len(words))
        pieces = [stop - start for start, stop in vocabulary.encode(words).spans]
        compiled = composed(vocabulary, [(words, tree)])
        columns, rows = compiled.sentence(0), simulate(tree, pieces)
        visible, relpos = (x[0].numpy() for x in dense(vectors_of(pad(compiled, [0]))))
        assert len(rows) == columns.length
        assert [{j: int(relpos[i, j]) for j in np.flatnonzero(visible[i])} for i in range(len(rows))] == [
            row.sees for row in rows
        ]
        assert [("STACK", "COMPOSE")[kind] for kind in columns.kind] == [row.kind for row in rows]
        differ += bool((columns.level != columns.height).any())
    assert differ > 200


def test_in_a_row_every_position_sees_all_before_it():
    compiled = in_a_row(speaking(typed=False), [(WORDS, TREE)])
    visible, relpos = dense(vectors_of(pad(compiled, [0])))
    assert visible[0].equal(torch.ones(13, 13).tril().bool())
    place = torch.arange(13)
    assert relpos[0][visible[0]].equal((place[:, None] - place)[visible[0]].int())


@pytest.mark.parametrize("typed", [True, False])
def test_what_is_legal_at_a_position_is_what_the_machine_says(typed):
    chance, vocabulary = random.Random(2), speaking(typed=typed)
    for _ in range(300):
        tree = random_tree(chance, 4)
        columns = composed(vocabulary, [(WORDS, tree)]).sentence(0)
        (asked,) = np.nonzero((columns.may != 0) | (columns.left != 0) | (columns.right != 0))
        state = START
        for i, symbol in zip(asked, [*tree, None], strict=True):
            may = legal(state, rules_of(vocabulary, 8))
            innermost = (1 << state.open[-1] if typed else 1) if CLOSE in may else 0
            assert bool(columns.may[i] & 1) == (GEN in may) and columns.right[i] == innermost
            assert columns.left[i] == sum(1 << (s - FIRST) for s in may if s >= FIRST)
            state = step(state, symbol) if symbol is not None else state


# ---- Models


@cache
def model(
    name: str, words: tuple[str, ...] = ("a", "b"), labels=("A", "B"), in_a_row_=2, layers=2, output="single"
) -> BracketModel:
    torch.manual_seed(3)
    reading = BracketReading(composes=name.startswith("tg"), typed=name in ("txl-trees", "tg"), most_in_a_row=in_a_row_)
    config = TransformerConfig(name, output=output, layers=layers, width=16, heads=2, inner=32)
    network = SidesModel if name == "plm-mask" else BracketModel
    found = network(config, speaking(words, labels, reading.typed), reading)
    with torch.no_grad():
        found.output.bias.normal_(0, 0.5)
    return found.eval()


NAMES = ("plm", "plm-mask", "txl-trees", "tg", "tg-untyped")
in_two_models = pytest.mark.parametrize("name", ["plm", "tg", *slow(["plm-mask", "txl-trees", "tg-untyped"])])


def all_trees(words: int, rules: Rules):
    """Every tree of so many words."""
    stack = [(START, ())]
    while stack:
        state, symbols = stack.pop()
        if state.done:
            if state.words == words:
                yield symbols
            continue
        for symbol in legal(state, rules):
            if symbol == CLOSE or state.words < words:
                stack.append((step(state, symbol), (*symbols, symbol)))


@in_two_models
def test_a_beam_without_limits_finds_the_sum_over_all_trees(name):
    network = model(name)
    rules = rules_of(network.vocabulary, 2)
    for words in (["a"], ["b", "a"], ["a", "b", "b"]):
        trees = list(all_trees(len(words), rules))
        assert len(trees) == (6, 70, 1386)[len(words) - 1]
        sequences = network.reading.compile(network.vocabulary, [(words, tree) for tree in trees])
        of_trees = joint_log_probs(network, sequences).numpy()
        (found,) = search(network.stepper(), network.vocabulary, [words], Widths(10**6, 10**6))
        assert found.log_prob == pytest.approx(np.logaddexp.reduce(of_trees), abs=1e-5)
        assert tuple(found.tree.tolist()) == trees[of_trees.argmax()]
        assert found.log_derivation == pytest.approx(of_trees.max(), abs=1e-5)


@in_two_models
def test_plain_kernels_search_as_compiled_ones_do(name):
    assert_searched_alike(model(name), [["a", "b", "b", "a"], ["b"]])


@in_two_models
def test_next_words_and_the_end_sum_to_one(name):
    """After a beginning that was searched without limits, before anything is pruned."""
    network, widths = model(name), Widths(10**6, 10**6)
    for before in ([], ["a"], ["b", "a"]):
        beginnings = [[*before, word] for word in ("a", "b")]
        found = search_beginnings(network.stepper(), network.vocabulary, beginnings, widths)
        total = [one.log_prefix[-1] for one in found]
        if before:
            (whole,) = search(network.stepper(), network.vocabulary, [before], widths)
            total.append(whole.log_prob)
            (so_far,) = search_beginnings(network.stepper(), network.vocabulary, [before], widths)
        # <unknown> is a word, too.
        unknown = search_beginnings(network.stepper(), network.vocabulary, [[*before, "no word"]], widths)
        total.append(unknown[0].log_prefix[-1])
        assert np.logaddexp.reduce(total) == pytest.approx(so_far.log_prefix[-1] if before else 0.0, abs=1e-5)


@pytest.mark.parametrize("output, is_whole", [("single", True), ("whole", False)])
def test_over_the_whole_vocabulary_the_probability_of_illegal_symbols_is_lost(output, is_whole):
    """Of what may follow a beginning: nothing is lost where the softmax runs over what is legal."""
    network, widths, before = model("tg", output=output), Widths(10**6, 10**6), ["b"]
    beginnings = [before, *([*before, word] for word in ("a", "b", "no word"))]
    so_far, *nexts = [
        one.log_prefix[-1] for one in search_beginnings(network.stepper(), network.vocabulary, beginnings, widths)
    ]
    (ended,) = search(network.stepper(), network.vocabulary, [before], widths)
    lost = so_far - np.logaddexp.reduce([*nexts, ended.log_prob])
    assert abs(lost) < 1e-5 if is_whole else lost > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_step_by_step_is_the_same_as_all_at_once(name):
    chance, network = random.Random(4), model(name, WORDS, LABELS, 8)
    for _ in range(8):
        tree = random_tree(chance, 4)
        sequences = network.reading.compile(network.vocabulary, [(WORDS, tree)])
        compiled = pad(sequences, [0])
        bias = network.bias_of(compiled)
        batch = batch_of(compiled, dense, bias=None if bias is None else torch.from_numpy(bias))
        with torch.no_grad():
            expected = network.log_probs(batch)
        stepper, found = network.stepper(), []
        state = stepper.init(4)
        for symbol in batch.target.numpy():
            found.append(float(stepper.log_probs(state)[0, symbol]))
            state = stepper.step(state, np.array([0]), np.array([symbol]))
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)
        assert stepper.log_probs(state)[0, END] == 0  # nothing else is legal
        assert tuple(stepper.tree(state, 0)) == tuple(tree)
        if name.startswith("tg"):
            assert state.cache.filled[0] == 2, "<ROOT> and the composed sentence"


def test_words_in_pieces_are_the_same_step_by_step():
    chance, vocabulary = random.Random(5), in_pieces()
    torch.manual_seed(1)
    network = BracketModel(
        TransformerConfig("tg", layers=2, width=16, heads=2, inner=32), vocabulary, BracketReading(True, True)
    ).eval()
    sentences = [s.words[:8] for s in load("minilang", "dev", 8).sentences]
    pairs = [(words, random_tree(chance, len(words))) for words in sentences]
    sequences = network.reading.compile(vocabulary, pairs)
    batch = batch_of(pad(sequences, range(8)), dense)
    with torch.no_grad():
        log_probs = network.log_probs(batch).double().numpy()
    rows = (batch.predicts // batch.token.shape[1]).numpy()
    for number in range(8):
        expected, targets, found = log_probs[rows == number], batch.target[torch.from_numpy(rows == number)], []
        stepper = network.stepper()
        state = stepper.init(8)
        for symbol in targets.numpy():
            found.append(float(stepper.log_probs(state)[0, symbol]))
            state = stepper.step(state, np.array([0]), np.array([symbol]))
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("layers", "reached"),
    [(1, {0, 1, 4, 13, 14}), (2, {0, 1, 2, 3, 4, 6, 7, 11, 13, 14}), (3, set(range(15)) - {5, 12})],
)
def test_what_is_composed_is_seen_through_its_composition_only(layers, reached):
    """The gradient of a position is exactly zero for all inputs that no path of so many layers leads to."""
    network = model("tg", WORDS, LABELS, 8, layers)
    batch = batch_of(pad(network.reading.compile(network.vocabulary, [(WORDS, TREE)]), [0]), dense)
    x = network.embed(batch.token, batch.arc).detach().requires_grad_()
    inputs, h = network.layer_inputs(batch), x
    for block in network.blocks:
        h = block(h, inputs)
    h[0, 14].square().sum().backward()
    assert set(torch.nonzero(x.grad[0].abs().sum(1))[:, 0].tolist()) == reached


@pytest.mark.parametrize("name", NAMES)
def test_what_is_drawn_is_a_whole_tree(name):
    network = model(name, WORDS, LABELS, 3)
    drawn = list(generate(network.stepper(), network.vocabulary, 4, torch.Generator().manual_seed(1), 6))
    for one in drawn:
        assert replay(one.tree.tolist()).done and replay(one.tree.tolist()).words == len(one.words)
        sequences = network.reading.compile(network.vocabulary, [(one.words, one.tree.tolist())])
        assert one.log_prob == pytest.approx(float(joint_log_probs(network, sequences)[0]), abs=1e-4)


def test_at_the_papers_size_it_has_as_many_parameters_as_the_published_one_but_for_what_our_body_shares():
    """The published one has u and v in each layer, ours in one place, and a bias after attention, which ours lacks."""
    config = TransformerConfig("tg")
    labels = tuple(f"{a}{b}" for a in "AB" for b in "ABCDEFGHIJKLM")
    symbols = bracket_symbols(labels)
    rest = (f"▁{number}" for number in range(32768 - len(symbols.entries)))
    with torch.device("meta"):
        network = BracketModel(config, Vocabulary((*symbols.entries, *rest), symbols), BracketReading(True, True))
    layers, width = config.layers, config.width
    assert sum(p.numel() for p in network.parameters()) == 251_887_616 - 2 * (layers - 1) * width - layers * width


@pytest.mark.parametrize("name", ["plm", *slow(["tg"])])
def test_a_family_learns_the_sentences_that_it_reads(name):
    """Twelve different sentences cannot have more than a twelfth each: it comes near that."""
    (part,) = by_heart(name, 120).parts.values()
    assert 0 < float(part.nats) - 12 * math.log(12) < 0.05 * part.events


def test_a_treebank_of_brackets_alone_is_read(tmp_path):
    """As the Penn Treebank is: no sentence has heads. A tree with an odd label is left out and counted."""
    trees = ["( (S (NP-SBJ (EX There)) (VP (VBZ is) (NP (DT a) (NN cat)))) )", "(S (np (EX There)) (VP (VBZ is)))"]
    (tmp_path / "mine.mrg").write_text("\n".join(trees))
    treebank, config = load(tmp_path / "mine.mrg"), TransformerConfig("tg", layers=1, width=8, heads=1, inner=8)
    symbols = symbols_in(family("tg"), config, treebank)
    assert symbols.left == ("(NP", "(S", "(VP")
    vocabulary = Vocabulary.of_words([s.words for s in treebank.sentences], symbols)
    examples = family("tg").examples(config, vocabulary, treebank, None)
    assert len(examples) == 1 and examples.excluded["a label of other signs"] == 1
    with pytest.raises(UserError, match="no sentence is left for model dtg"):
        family("dtg").examples(config, Vocabulary.of_words([WORDS]), treebank, None)


def test_sentences_without_constituents_are_left_out_by_name():
    chosen, config = family("tg"), TransformerConfig("tg", layers=1, width=8, heads=1, inner=8)
    treebank = load("minilang", "train", 5)
    bare = Sentence(WORDS, (2, 0, 4, 2), id="bare")
    deep = Sentence(("There",), (0,), id="deep", brackets=f"{'(S ' * 9}(EX There){')' * 9}")
    vocabulary = Vocabulary.of_words([WORDS], symbols_in(chosen, config, treebank))
    all_of_them = treebank._replace(sentences=[*treebank.sentences, bare, deep])
    examples = chosen.examples(config, vocabulary, all_of_them, None)
    assert len(examples) == 5
    assert examples.excluded["without constituents"] == examples.excluded["nested too deep"] == 1
    with pytest.raises(UserError, match="no sentence is left for model tg; left out: 1 without constituents"):
        chosen.examples(config, vocabulary, treebank._replace(sentences=[bare]), None)


def test_uniform_over_legal_symbols_sentences_of_one_to_four_words_have_known_shares():
    """Two labels, at most two opening brackets in a row; after the fourth word everything must be closed."""
    rules, share = Rules(2, most_in_a_row=2), [Fraction(0)] * 5
    stack = [(START, Fraction(1))]
    while stack:
        state, p = stack.pop()
        if state.done:
            share[state.words] += p
            continue
        may = legal(state, rules)
        may = [symbol for symbol in may if state.words < 4 or symbol == CLOSE]
        stack += [(step(state, symbol), p / len(may)) for symbol in may]
    assert share[1:] == [Fraction(1, 8), Fraction(5, 96), Fraction(455, 18432), Fraction(14713, 18432)]
    assert sum(share) == 1


def test_the_pairs_of_a_vocabulary_are_told_by_their_ids():
    typed, untyped = speaking(), speaking(typed=False)
    assert typed.entries[4:10] == ("(NP", "NP)", "(S", "S)", "(VP", "VP)")
    assert untyped.entries[4:8] == ("(NP", ")", "(S", "(VP")
    assert typed.entries[10:] == untyped.entries[8:] and typed.fingerprint != untyped.fingerprint
    others = speaking(labels=LABELS[:2]), Vocabulary.of_words([WORDS])
    assert len({typed.fingerprint, *(other.fingerprint for other in others)}) == 3


def test_a_vocabulary_with_brackets_is_saved_and_read(tmp_path):
    for vocabulary in (speaking(), speaking(typed=False), in_pieces()):
        vocabulary.save(tmp_path)
        assert Vocabulary.load(tmp_path) == vocabulary


# ---- Commands


def test_the_structure_of_a_tree_is_printed_in_the_form_of_the_other_systems(capsys, tmp_path):
    tree = ["structure", "--system", "brackets", "--tree", "(S (NP There) (VP is (NP a difference)))"]
    assert main([*tree, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert main(["structure", "--system", "arc-eager", "--words", "a", "--heads", "0", "--json"]) == 0
    assert list(found) == list(json.loads(capsys.readouterr().out))
    assert found["actions"][:4] == ["OPEN[S]", "OPEN[NP]", "GEN", "CLOSE"]
    assert found["level"][7:9] == [3, 3] and found["height"][7:9] == [4, 5]
    assert main([*tree, "--pieces", "1 1 1 2"]) == 0
    assert "difference/2" in capsys.readouterr().out
    assert main([*tree, "--svg", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--system", "brackets", "--tree", "(S (NP There) is"], "brackets that are not closed: 1"),
        (["--system", "brackets", "--tree", "(S (NP) is)"], "after 0 words, a constituent is empty"),
        (["--system", "brackets", "--tree", "(S ( There))"], "an opening bracket without a label"),
        (["--system", "brackets", "--tree", "(S There)", "--words", "x"], "leave out --words and --heads"),
        (["--system", "brackets", "--tree", ""], "the tree is empty"),
        (["--system", "brackets", "--tree", "(S There)", "--pieces", "1 1"], "1 words, but 2 piece counts"),
        (["--system", "brackets", "--tree", "(S There)", "--pieces", "0"], "at least one piece"),
        (
            ["--system", "arc-eager", "--tree", "(S There)"],
            "--tree goes with --system brackets or pushdown, not with 'arc-eager'",
        ),
        (["--system", "brackets", "--words", "There", "--heads", "0"], "--system brackets goes with --tree"),
        (["--system", "brackets", "--words", "There"], "name a sentence with --words and --heads, or with --tree"),
    ],
)
def test_what_is_no_tree_is_one_line(arguments, complaint, capsys):
    assert main(["structure", *arguments]) == 2
    assert_one_line(capsys, complaint)


# Slow: whole commands, each of which has tests of its own, with other models.
@pytest.mark.slow
def test_a_model_is_trained_and_asked_by_the_commands(tmp_path, monkeypatch, capsys):
    """Training, scoring, surprisals and sampling know nothing of brackets."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(TINY_SIZE)
    assert main(["train", "tiny.yaml", "--model", "tg", "--out", "own"]) == 0
    small = ["train_sentences=40", "dev_sentences=10", "epochs=1", "word_width=8", "lstm_width=8", "span_width=8"]
    changes = [part for one in small for part in ("--set", one)]
    spans = str(CONFIGS / "parsers" / "spans.yaml")
    assert main(["train-parser", spans, *changes, "--out", "parser"]) == 0
    (tmp_path / "mine.txt").write_text("There is a cat .\n")
    capsys.readouterr()
    assert main(["surprisal", "--model", "own", "mine.txt", "--picture", "a.svg"]) == 0
    capsys.readouterr()
    assert main(["surprisal", "--model", "own", "mine.txt", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["sentences"]
    assert main(["score", "--model", "own", "mine.txt"]) == 2
    assert_one_line(capsys, "this model sums over trees, which a parser proposes; name one with --parser")
    assert main(["score", "--model", "own", "--parser", "parser", "mine.txt", "--trees", "40", "--json"]) == 0
    (scored,) = json.loads(capsys.readouterr().out)["sentences"]
    assert scored["trees"] == 40 and np.isfinite(scored["log_prob"])
    assert words_and_symbols(scored["best"])[0] == ["There", "is", "a", "cat", "."]
    assert np.isfinite(sum(one["surprisals"]) + one["end"])
    assert main(["sample", "--model", "own", "-n", "3", "--words", "9", "--json"]) == 0
    drawn = json.loads(capsys.readouterr().out)["sentences"]
    assert [words_and_symbols(sentence["tree"])[0] for sentence in drawn] == [s["words"] for s in drawn]
