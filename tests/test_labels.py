"""Arcs with labels: a tree's labels are written, read, searched for and summed over like its arcs.

A label changes nothing but itself. What is legal and who sees whom is the same for all labels, so most tests compare
with the same sentence without labels, and the others with lists of all derivations and labels.
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import slow
from hypothesis import given
from hypothesis import strategies as st
from reference import SAME, by_enumeration
from scalar_systems import legal, replay_labelled
from toys import (
    ALL,
    CPU,
    DTG,
    EXAMPLE,
    SENTENCES,
    SYSTEM_OF,
    TINY,
    WORDS,
    in_every_kind_of_model_with_trees,
    in_every_model_with_trees,
    in_every_system,
    saved_parser,
    small_model,
)
from trees import THERE_IS_A_DIFFERENCE, Heads, projective_trees

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.corpora import load
from dtglib.data.symbols import ARCS, arcs
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import SentenceResult, Widths, search
from dtglib.decode.sampling import generate
from dtglib.evaluate.attachment import attached, is_word
from dtglib.evaluate.likelihood import score_trees
from dtglib.evaluate.reports import parsing_row
from dtglib.evaluate.surprisal import moments
from dtglib.families.base import build, family, family_of, load_model
from dtglib.network.output import Factored, Single, Whole, classes_of
from dtglib.network.search_output import for_search
from dtglib.network.transformer import Transformer, TransformerConfig, batch_of
from dtglib.parsing.projective import OverTrees
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import NOTHING
from dtglib.sequences.compile import compile_trees
from dtglib.sequences.describe import as_rows, show
from dtglib.sequences.labelled import NO_LABEL, heads_of, labels_of, with_labels
from dtglib.sequences.readings import within_reach
from dtglib.sequences.structure import dense
from dtglib.training.examples import Examples
from dtglib.transitions import START, SYSTEMS, Action, IllegalAction, Kind, oracle, take
from dtglib.transitions.rows import MAY_CONTINUE

LABELS = ("det", "expl", "nsubj", "root")
DIFFERENCE = ("expl", "root", "det", "nsubj")  # of "There is a difference"
TWO = ("a", "b")
LABELLED = Vocabulary.of_words([EXAMPLE], arcs(9, LABELS))
PLAIN = Vocabulary.of_words([EXAMPLE], arcs(9))

pytestmark = pytest.mark.usefixtures("one_thread")


@st.composite
def labelled_trees(draw, most_words: int = 30) -> tuple[Heads, tuple[str, ...]]:
    heads = draw(projective_trees(most_words))
    return heads, tuple(draw(st.lists(st.sampled_from(LABELS), min_size=len(heads), max_size=len(heads))))


# ---- Actions


@pytest.mark.parametrize(
    ("name", "actions"),
    [
        ("arc-standard", "GEN GEN LEFTARC:expl GEN GEN LEFTARC:det RIGHTARC:nsubj RIGHTARC:root END"),
        ("arc-hybrid", "GEN GEN LEFTARC:expl GEN GEN LEFTARC:det RIGHTARC:nsubj RIGHTARC:root END"),
        ("arc-eager", "GEN GEN LEFTARC:expl RIGHTARC:root GEN GEN LEFTARC:det RIGHTARC:nsubj POP POP POP END"),
        ("arc-swift", "GEN GEN LEFTARC:expl RIGHTARC:root GEN GEN LEFTARC:det RIGHTARC:nsubj END"),
    ],
)
def test_the_actions_of_there_is_a_difference(name, actions):
    assert " ".join(map(str, oracle(SYSTEMS[name], THERE_IS_A_DIFFERENCE, DIFFERENCE))) == actions


@in_every_system
@given(tree=labelled_trees())
def test_heads_and_labels_go_through_and_come_back(name, tree):
    heads, labels = tree
    actions = oracle(SYSTEMS[name], heads, labels)
    assert replay_labelled(SYSTEMS[name], actions) == (heads, labels)
    assert [action._replace(label=None) for action in actions] == oracle(SYSTEMS[name], heads)


def test_without_labels_each_arc_has_none():
    actions = oracle(SYSTEMS["arc-standard"], THERE_IS_A_DIFFERENCE)
    assert replay_labelled(SYSTEMS["arc-standard"], actions) == (THERE_IS_A_DIFFERENCE, (None,) * 4)


def test_only_arcs_have_labels():
    with pytest.raises(IllegalAction, match="GEN:det is not legal"):
        take(SYSTEMS["arc-standard"], START, Action(Kind.GEN, label="det"))


# ---- Symbols and vocabularies


def test_every_arc_comes_once_for_each_label_side_by_side():
    assert arcs(2, TWO).entries[4:] == (
        *("LEFTARC:a", "LEFTARC:b", "RIGHTARC:a", "RIGHTARC:b", "POP"),
        *("LEFTARC[2]:a", "LEFTARC[2]:b", "RIGHTARC[2]:a", "RIGHTARC[2]:b"),
    )


def test_vocabularies_with_other_labels_are_told_apart():
    known = {Vocabulary.of_words([EXAMPLE], arcs(9, labels)).fingerprint for labels in ((), TWO, ("a",), ("b", "a"))}
    assert len(known) == 4


def test_a_labelled_vocabulary_is_saved_and_read(tmp_path):
    LABELLED.save(tmp_path)
    again = Vocabulary.load(tmp_path)
    assert (again.entries, again.symbols, again.fingerprint) == (
        LABELLED.entries, LABELLED.symbols, LABELLED.fingerprint,
    )  # fmt: skip


def test_a_vocabulary_that_was_saved_before_there_were_labels_is_read(tmp_path):
    PLAIN.save(tmp_path)
    about = json.loads((tmp_path / "vocabulary.json").read_text())
    del about["symbols"]["labels"]
    (tmp_path / "vocabulary.json").write_text(json.dumps(about))
    assert Vocabulary.load(tmp_path).symbols == PLAIN.symbols


def test_released_models_have_the_symbols_without_labels_and_are_loaded():
    assert ARCS.name == "31" and len(ARCS.entries) == 67
    for name in ("dtg-minilang", "dtg-ud"):
        assert load_model(name).vocabulary.symbols == ARCS


# ---- Columns


def test_the_columns_of_there_is_a_difference():
    seen = show("arc-standard", EXAMPLE, THERE_IS_A_DIFFERENCE, labels=DIFFERENCE)
    expected = """
        <ROOT>                      STACK    There
        There                       STACK    is
        is                          STACK    LEFTARC:expl
        LEFTARC:expl + is           COMPOSE  -
        LEFTARC2:expl + is          STACK    a
        a                           STACK    difference
        difference                  STACK    LEFTARC:det
        LEFTARC:det + difference    COMPOSE  -
        LEFTARC2:det + difference   STACK    RIGHTARC:nsubj
        RIGHTARC:nsubj + is         COMPOSE  -
        RIGHTARC2:nsubj + is        STACK    RIGHTARC:root
        RIGHTARC:root + <ROOT>      COMPOSE  -
        RIGHTARC2:root + <ROOT>     STACK    <END>
    """
    rows = [f"{row['input']:27} {row['attention']:8} {row['predicts']}" for row in as_rows(seen)]
    assert rows == [line.strip() for line in expected.strip().splitlines()]


@in_every_system
@given(tree=labelled_trees(12))
def test_labels_change_nothing_but_the_ids_of_arcs_which_are_those_of_the_oracle(name, tree):
    heads, labels = tree
    system, words = SYSTEMS[name], [EXAMPLE[number % 4] for number in range(len(heads))]
    far = Vocabulary.of_words([EXAMPLE], arcs(12, LABELS))
    found = compile_trees(system, far, [(words, with_labels(far.symbols, heads, labels))]).sentence(0)
    plain = compile_trees(system, Vocabulary.of_words([EXAMPLE], arcs(12)), [(words, heads)]).sentence(0)
    for column in set(found._fields) - {"token", "arc", "target"}:
        assert (getattr(found, column) == getattr(plain, column)).all(), column
    symbols = [str(action) for action in oracle(system, heads, labels) if action.kind not in (Kind.GEN, Kind.END)]
    targets = [far.entries[target] for target in found.target if target != NOTHING]
    assert [name for name in targets if "ARC" in name or name == "POP"] == symbols
    after = np.append(False, found.target[:-1] != NOTHING)
    assert (found.arc[after & (found.arc != NOTHING)] == [far.transition(symbol) for symbol in symbols]).all()


def test_mistakes_in_labelled_trees_are_explained():
    system = SYSTEMS["arc-standard"]
    with pytest.raises(UserError, match="4 words, but a tree of 4 numbers; each word needs a head and a label"):
        compile_trees(system, LABELLED, [(EXAMPLE, THERE_IS_A_DIFFERENCE)])
    with pytest.raises(UserError, match="sentence 2: there is no label number 4; the vocabulary has labels 0 to 3"):
        compile_trees(
            system, LABELLED, [(EXAMPLE, (*THERE_IS_A_DIFFERENCE, *last)) for last in ((1, 3, 0, 2), (1, 3, 4, 2))]
        )
    with pytest.raises(UserError, match="sentence 1: an arc has a label that the vocabulary lacks"):
        compile_trees(system, LABELLED, [(EXAMPLE, with_labels(LABELLED.symbols, (2, 0, 4, 2), "wxyz"))])
    with pytest.raises(UserError, match="sentence 1: no word has head 0"):
        compile_trees(system, LABELLED, [(EXAMPLE, (2, 4, 4, 2, 0, 0, 0, 0))])


# ---- The output layer


@pytest.mark.parametrize("output", [Single, Factored, Whole])
@in_every_system
def test_all_labels_of_a_legal_arc_are_legal_and_share_in_what_sums_to_1(name, output):
    tree = with_labels(LABELLED.symbols, THERE_IS_A_DIFFERENCE, DIFFERENCE)
    batch = batch_of(pad(compile_trees(SYSTEMS[name], LABELLED, [(EXAMPLE, tree)]), [0]), dense)
    torch.manual_seed(1)
    module, embeddings, x = output(8, LABELLED), torch.randn(len(LABELLED), 8), torch.randn(len(batch.target), 8)
    with torch.no_grad():
        found = module(x, embeddings, batch.legal)
        asked = torch.arange(len(LABELLED)).expand(len(x), -1)
        goes_on = (batch.legal.may & MAY_CONTINUE).bool().numpy()
        some, _ = for_search(module, embeddings).some(x, batch.legal, asked, goes_on)
    if output is not Whole:
        assert found.exp().sum(1).tolist() == pytest.approx([1] * len(x), abs=1e-5)
    torch.testing.assert_close(some, found, atol=1e-5, rtol=1e-5)
    state = START
    rows = iter(found > -torch.inf)
    for action in oracle(SYSTEMS[name], THERE_IS_A_DIFFERENCE):
        names = {
            str(one._replace(label=label)) for one in legal(SYSTEMS[name], state) if one.is_arc for label in LABELS
        }
        row = next(rows)
        entries = {entry for entry, is_legal in zip(LABELLED.entries, row.tolist(), strict=True) if is_legal}
        assert {entry for entry in entries if "ARC" in entry} == {n for n in names if n in LABELLED.entries}
        state = take(SYSTEMS[name], state, action)


def test_labels_are_no_classes_of_their_own():
    classes = dict(zip(LABELLED.entries, classes_of(LABELLED).tolist(), strict=True))
    plain = dict(zip(PLAIN.entries, classes_of(PLAIN).tolist(), strict=True))
    assert {name.partition(":")[0]: number for name, number in classes.items()} == plain


# ---- Searches


def find(model: Transformer, words: Sequence[str], widths: Widths = ALL) -> SentenceResult:
    (found,) = search(model.stepper(), model.vocabulary, [words], widths)
    return found


def with_two_labels(name: str, kind: str = "words", output: str = "single") -> Transformer:
    symbols = arcs(3, TWO)
    speaks = Vocabulary.train(SENTENCES, 306, symbols) if kind == "pieces" else Vocabulary.of_words(SENTENCES, symbols)
    return small_model(name, speaks, output=output)


@pytest.mark.parametrize(
    ("kind", "output"), [("pieces", "single"), *slow([("words", "single"), ("words", "factored")])]
)
@in_every_model_with_trees
def test_with_nothing_pruned_a_search_sums_over_all_derivations_and_labels(name, kind, output):
    model = with_two_labels(name, kind, output)
    expected = by_enumeration(model, WORDS[:3])
    for count in range(1, 4):
        found = find(model, WORDS[:count])
        assert found.log_prefix == pytest.approx(expected.log_prefix[: len(found.log_prefix)], **SAME)
        assert found.log_prob == pytest.approx(expected.log_prob[count - 1], **SAME)
        assert found.log_derivation == pytest.approx(expected.log_derivation[count - 1], **SAME)
        heads, labels = replay_labelled(SYSTEMS[SYSTEM_OF[name]], expected.derivation[count - 1])
        assert tuple(found.tree) == tuple(with_labels(model.vocabulary.symbols, heads, labels))


@in_every_kind_of_model_with_trees
def test_the_next_words_and_the_end_have_what_the_prefix_has(name):
    model = small_model(name, Vocabulary.of_words([["a", "b"]], arcs(3, TWO)))
    for prefix in (["a"], ["b", "a", "?"]):
        found = find(model, prefix)
        longer = [find(model, [*prefix, word]).log_prefix[-1] for word in ("a", "b", "?")]
        shares = [math.exp(log_p - found.log_prefix[-1]) for log_p in (*longer, found.log_prob)]
        assert sum(shares) == pytest.approx(1, abs=1e-4)


@in_every_kind_of_model_with_trees
def test_with_one_label_all_probabilities_are_those_without(name):
    """The two vocabularies have the same ids, so the two models have the same weights."""
    plain = small_model(name, Vocabulary.of_words(SENTENCES, arcs(3)))
    labelled = small_model(name, Vocabulary.of_words(SENTENCES, arcs(3, ("dep",))))
    assert all(a.equal(b) for a, b in zip(plain.parameters(), labelled.parameters(), strict=True))
    for widths in (ALL, Widths(4, 3, 1)):
        one, other = find(plain, WORDS, widths), find(labelled, WORDS, widths)
        assert (one.log_prob, one.log_derivation) == (other.log_prob, other.log_derivation)
        assert (one.log_prefix == other.log_prefix).all()
        assert other.tree.tolist() == [*one.tree, 0, 0, 0, 0]
    tree = THERE_IS_A_DIFFERENCE
    (log_p,), (again,) = (
        score_trees(model, WORDS, [row]).log_probs for model, row in ((plain, tree), (labelled, (*tree, 0, 0, 0, 0)))
    )
    assert log_p == again


@in_every_kind_of_model_with_trees
def test_a_labelled_tree_is_as_probable_in_a_trie_as_by_itself_and_in_a_search(name):
    model = with_two_labels(name, "pieces")
    trees = [
        (*heads, *labels) for heads in ((2, 0, 4, 2), (0, 1, 2, 3)) for labels in itertools.product((0, 1), repeat=4)
    ]
    found = score_trees(model, WORDS, trees).log_probs
    sequences = model.reading.compile(model.vocabulary, [(WORDS, tree) for tree in trees])
    with torch.no_grad():
        alone = [model.log_probs(batch_of(pad(sequences, [n]), dense)).double().sum().item() for n in range(len(trees))]
    assert found == pytest.approx(alone, abs=1e-4)
    assert found.max() <= find(model, WORDS).log_derivation + 1e-4
    assert len(set(found.round(6))) == len(trees), "labels matter"


@pytest.mark.parametrize("name", DTG)
def test_a_stepper_says_after_each_symbol_what_the_forward_pass_says(name):
    model = small_model(name, LABELLED)
    tree = with_labels(LABELLED.symbols, THERE_IS_A_DIFFERENCE, DIFFERENCE)
    batch = batch_of(pad(model.reading.compile(LABELLED, [(EXAMPLE, tree)]), [0]), dense)
    stepper = model.stepper()
    state = stepper.init(4)
    with torch.no_grad():
        expected = model.output(model(batch).flatten(0, 1)[batch.predicts], model.embedding.weight, batch.legal)
    for row, target in zip(expected, batch.target.tolist(), strict=True):
        torch.testing.assert_close(stepper.log_probs(state)[0], row, atol=1e-4, rtol=0)
        last, state = (
            state,
            state if target == batch.target[-1] else stepper.step(state, np.array([0]), np.array([target])),
        )
    assert stepper.tree(last, 0).tolist() == tree
    assert (batch.target == batch.target[-1]).sum() == 1, "the end"


def test_what_is_drawn_has_labels_and_is_shown_with_them():
    model = small_model("dtg", Vocabulary.of_words([["a", "b"]], arcs(3, TWO)))
    drawn = generate(model.stepper(), model.vocabulary, 5, torch.Generator().manual_seed(1))
    for one in drawn:
        text = family_of(model).trees.shown(model.vocabulary, one.words, one.tree.tolist())
        heads, labels = zip(*(item.split(":") for item in text.split()), strict=True)
        assert list(map(int, heads)) == one.tree[: len(one.words)].tolist()
        assert list(labels) == labels_of(model.vocabulary.symbols, one.tree.tolist())


def test_moments_of_a_search_have_heads_alone():
    found = moments(with_two_labels("dtg"), WORDS, Widths(5, 5))
    assert [len(one.heads) for one in found] == [1, 2, 3, 4, 4]


# ---- Training data


def treebank_of(*labels: tuple[str, ...] | None) -> Treebank:
    sentences = [Sentence(tuple(EXAMPLE), THERE_IS_A_DIFFERENCE, one, id=str(n)) for n, one in enumerate(labels)]
    return Treebank(sentences, Counter())


@pytest.mark.parametrize(("name", "reach"), [("dtg", 1), ("dtg-eager", 1), ("dtg-swift", 31), ("txl-trans", 1)])
def test_the_labels_are_those_of_the_treebank_and_the_arcs_those_of_the_system(name, reach):
    config = TransformerConfig(name, labels=True)
    speaks = family(name).vocabulary(
        config, PLAIN, treebank_of(DIFFERENCE, None, ("nmod:poss", "root", "det", "nsubj"))
    )
    assert speaks.symbols == arcs(reach, ("det", "expl", "nmod:poss", "nsubj", "root"))
    assert family(name).vocabulary(TransformerConfig(name), PLAIN, treebank_of(DIFFERENCE)).symbols == ARCS


def test_models_without_dependency_arcs_have_no_labels():
    kind = family("txl-tokens")
    with pytest.raises(UserError, match="draws no arcs that could have labels; set labels to false, or take dtg"):
        kind.vocabulary(kind.config("txl-tokens", labels=True), PLAIN, load("minilang", "train", 5))


def test_a_treebank_without_labels_is_refused_with_the_way_out():
    with pytest.raises(UserError, match="no training sentence has labels; set labels to false, or parsed_by to"):
        family("dtg").vocabulary(TransformerConfig(labels=True), PLAIN, treebank_of(None))


def test_sentences_with_unknown_labels_or_none_are_left_out_and_counted():
    reading = small_model("dtg", LABELLED).reading
    examples = Examples.of("dtg", reading, LABELLED, treebank_of(DIFFERENCE, None, ("dep", "root", "det", "nsubj")))
    assert list(examples.names) == ["0"]
    assert examples.excluded == {"no labels": 1, "a label that is not in the training part": 1} | {
        reason: 0 for reason in examples.excluded if not examples.excluded[reason]
    }
    with pytest.raises(UserError, match="sentence '2' has the label 'dep', which is not in the training part"):
        reading.tree_of(LABELLED, treebank_of(None, None, ("dep", "root", "det", "nsubj")).sentences[2])


def test_a_labelled_model_is_saved_and_loaded(tmp_path: Path):
    model = small_model("dtg", LABELLED, labels=True)
    model.save(tmp_path)
    again = load_model(tmp_path)
    assert again.config == model.config and again.vocabulary.symbols == LABELLED.symbols
    assert find(again.eval(), EXAMPLE).log_prob == pytest.approx(find(model.eval(), EXAMPLE).log_prob, abs=1e-5)


def test_sentences_that_are_learnt_by_heart_are_parsed_with_all_their_labels():
    kind, treebank = family("dtg"), load("minilang", "train", 25)
    config = TransformerConfig(layers=2, width=32, heads=2, inner=64, labels=True)
    shared = Vocabulary.of_words(sentence.words for sentence in treebank.sentences)
    speaks = kind.vocabulary(config, shared, treebank)
    batch = kind.examples(config, speaks, treebank, None).batch(np.arange(25), 10**6, CPU)
    torch.manual_seed(1)
    model = build(config, speaks)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(60):
        nats, _ = model.loss(batch)
        optimizer.zero_grad()
        nats.backward()
        optimizer.step()
    sentences = treebank.sentences[:6]
    trees = [find(model.eval(), sentence.words, Widths(10, 10)).tree.tolist() for sentence in sentences]
    rows = [{"tree": tree, "labels": labels_of(speaks.symbols, tree)} for tree in trees]
    assert parsing_row(sentences, rows)["LAS"] > 0.95


# ---- A parser's trees


def proposed(names: Sequence[str]):
    """The best two trees of "There is a difference", by a parser that finds the labels `names` of its words."""
    scores = np.zeros((5, 5))
    scores[list(THERE_IS_A_DIFFERENCE), [1, 2, 3, 4]] = 9
    scores[2, 3] = 5
    return OverTrees(scores, np.repeat(np.arange(-1, 4)[:, None], 5, axis=1), names).best_trees(2)


def test_a_proposed_tree_has_the_best_label_of_each_of_its_arcs():
    scores, labels = np.zeros((3, 3)), np.array([[9, 9, 9], [0, 9, 1], [2, 3, 9]])
    trees = OverTrees(scores, labels, list("wxyz")).best_trees(2)
    found = {tuple(heads): tuple(row) for heads, row in zip(trees.heads.tolist(), trees.labels.tolist(), strict=True)}
    assert found == {(0, 1): (0, 3), (2, 0): (1, 2)}


def test_proposed_trees_are_read_with_their_labels_and_those_that_the_model_lacks_are_impossible():
    model = small_model("dtg", LABELLED)
    trees = model.reading.trees_of(LABELLED, proposed(DIFFERENCE))
    assert trees.tolist() == [
        with_labels(LABELLED.symbols, heads, DIFFERENCE) for heads in ((2, 0, 4, 2), (2, 0, 2, 2))
    ]
    assert heads_of(LABELLED.symbols, trees[0].tolist()) == [2, 0, 4, 2]
    assert score_trees(model, EXAMPLE, trees).bound < find(model, EXAMPLE).log_prob
    odd = model.reading.trees_of(LABELLED, proposed(("expl", "root", "det", "obj")))
    assert (odd[:, -1] == NO_LABEL).all()
    assert (score_trees(model, EXAMPLE, odd).log_probs == -np.inf).all()
    both = [(EXAMPLE, tree) for tree in (odd[0].tolist(), trees[0].tolist())]
    assert within_reach(model.reading, LABELLED, both)[1].tolist() == [1]


@pytest.mark.parametrize("names", [(), ("w", "x", "y", "z")])
def test_a_parser_without_the_models_labels_is_refused_with_the_way_out(names):
    trees = proposed(names) if names else OverTrees(np.zeros((5, 5))).best_trees(2)
    with pytest.raises(UserError, match="its parser finds none of its labels; take one that was trained on a treebank"):
        small_model("dtg", LABELLED).reading.trees_of(LABELLED, trees)


# ---- How many are right


GOLD = Sentence(("There", "is", "a", "difference", "."), (2, 0, 4, 2, 2), ("expl", "root", "det", "nsubj", "punct"))


def test_a_word_is_right_with_its_label_if_its_head_is_right_too():
    """By hand: the heads of four words are right, and of these all but one have the right label."""
    heads, labels = (2, 0, 4, 2, 4), ("nsubj", "root", "det", "nsubj", "punct")
    found = attached([GOLD], [heads], labels=[labels])
    assert (found.uas, found.las) == (0.8, 0.6)
    without = attached([GOLD], [heads], is_word, [labels])
    assert (without.uas, without.las) == (1.0, 0.75)
    with pytest.raises(UserError, match="without labels there is no labelled attachment score"):
        _ = attached([GOLD], [heads]).las
    with pytest.raises(UserError, match="sentence 'x' has no labels in the treebank"):
        attached([Sentence(GOLD.words, GOLD.heads, id="x")], [heads], labels=[labels])


def test_a_row_of_parsing_has_las_where_labels_were_found():
    rows = [{"tree": [2, 0, 4, 2, 2, 0, 0, 0, 0, 0], "labels": ["expl", "root", "det", "obj", "punct"]}]
    assert parsing_row([GOLD], rows)["UAS"] == 1.0 and parsing_row([GOLD], rows)["LAS"] == 0.8
    nothing = {"tree": None, "labels": None}
    assert parsing_row([GOLD, GOLD], [*rows, nothing])["LAS"] == 0.4
    assert "LAS" not in parsing_row([GOLD], [{"tree": [2, 0, 4, 2, 2], "labels": None}])
    without = Sentence(GOLD.words, GOLD.heads)
    assert "LAS" not in parsing_row([without], rows)
    assert "LAS" not in parsing_row([GOLD, without], [*rows, *rows])


# ---- From a config to what the commands say


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """The folder of a labelled model that was trained for a moment; beside it, a parser."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "tiny.yaml").write_text(TINY + "labels: true\n")
    assert main(["train", str(folder / "tiny.yaml"), "--out", str(folder / "model")]) == 0
    saved_parser(folder / "parser")
    return folder


def said(capsys, *arguments: object) -> dict:
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_score_says_the_best_labelled_tree_and_less_than_a_search_finds(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = "The teacher sees the dog ."
    found = said(capsys, "score", text, "--model", trained / "model", "--parser", trained / "parser", "--trees", 20)
    (one,) = found["sentences"]
    assert [item.partition(":")[0].isdecimal() for item in one["best"].split()] == [True] * 6
    (read,) = said(capsys, "surprisal", text, "--model", trained / "model", "--within", "none")["sentences"]
    assert one["log_prob"] < -sum(read["surprisals"]) - read["end"]


def test_pictures_and_samples_of_a_labelled_model(trained, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = ["--model", str(trained / "model")]
    assert main(["surprisal", "The teacher sees .", *model, "--beam", "10", "--picture", "read.svg"]) == 0
    assert (tmp_path / "read.svg").read_text().startswith("<?xml")
    for one in said(capsys, "sample", "-n", 2, *model)["sentences"]:
        heads = [item.partition(":")[0] for item in one["heads"].split()]
        assert len(heads) == len(one["words"]) and heads.count("0") == 1


def test_structure_shows_labels(capsys):
    seen = said(
        capsys, "structure", "--system", "arc-eager", "--words", "There is", "--heads", "2 0", "--labels", "expl root"
    )
    assert seen["actions"] == ["GEN", "GEN", "LEFTARC:expl", "RIGHTARC:root", "POP", "POP", "END"]
    assert main(["structure", "--system", "arc-eager", "--words", "There is", "--heads", "2 0", "--labels", "x"]) == 2
    assert main(["structure", "--system", "arc-eager", "--words", "There is", "--heads", "2 0", "--labels", ""]) == 2


def test_a_wrong_model_is_refused_when_it_is_trained(trained, tmp_path, capsys):
    config = str(trained / "tiny.yaml")
    assert main(["train", config, "--model", "txl-tokens", "--out", str(tmp_path / "model")]) == 2
    assert "TXL (tokens) draws no arcs that could have labels" in capsys.readouterr().err
