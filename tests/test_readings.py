"""The inputs of the five models: the baselines' sequences as text, and beside those of DTG."""

from collections.abc import Sequence as Row
from functools import cache

import numpy as np
import pytest
from toys import (
    EXAMPLE,
    PIECES,
    READINGS,
    SENTENCES,
    SYSTEM_OF,
    VOCABULARY,
    compiled,
    in_every_system,
    random_sentences,
)
from trees import THERE_IS_A_DIFFERENCE, Heads

from dtglib.basics.errors import UserError
from dtglib.data.vocabulary import END, ROOT, Vocabulary
from dtglib.sequences.batches import pack, pad
from dtglib.sequences.columns import COMPOSE, NOTHING, STACK, Compiled, Sequences
from dtglib.sequences.compile import compile_trees
from dtglib.sequences.readings import causal
from dtglib.sequences.structure import dense, vectors_of
from dtglib.transitions import SYSTEMS
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE, MAY_POP

MANY = random_sentences(4, 24)
SHORT = random_sentences(5, 8, most_words=9)


@cache
def pieces() -> Vocabulary:
    """A vocabulary that cuts some words into several pieces."""
    return Vocabulary.train(SENTENCES, PIECES)


def read(model: str, vocabulary: Vocabulary, words: Row[str], heads: Heads | None) -> Compiled:
    return READINGS[model](vocabulary, [(words, heads)]).sentence(0)


def as_text(vectors: Compiled, vocabulary: Vocabulary) -> str:
    """A line for each position: what it reads, what comes next, and what might; ▁ marks where a word begins."""
    bits = {MAY_GENERATE: "words", MAY_CONTINUE: "pieces", MAY_POP: "POP", MAY_END: "<END>"}
    lines = []
    for i in range(vectors.length):
        inputs = [vocabulary.entries[n] for n in (vectors.arc[i], vectors.token[i]) if n != NOTHING]
        legal = [name for bit, name in bits.items() if vectors.may[i] & bit]
        for row, arc in ((vectors.left[i], "LEFTARC"), (vectors.right[i], "RIGHTARC")):
            legal += [arc if k == 1 else f"{arc}[{k}]" for k in range(1, 32) if row >> (k - 1) & 1]
        columns = f"{' + '.join(inputs):13}{vocabulary.entries[vectors.target[i]]:13}{' '.join(legal)}"
        lines.append(columns.rstrip() + "\n")
    return "".join(lines)


def text(block: str) -> str:
    """A golden text without the margin that it has here."""
    return "".join(line.strip() + "\n" for line in block.strip().splitlines())


# ---- TXL (tokens)


def test_txl_tokens_reads_the_words_alone():
    """There is a first word; after it, each may be followed by more of itself, by another, or by the end."""
    assert as_text(read("txl-tokens", VOCABULARY, EXAMPLE, THERE_IS_A_DIFFERENCE), VOCABULARY) == text("""
        <ROOT>       ▁There       words
        ▁There       ▁is          words pieces <END>
        ▁is          ▁a           words pieces <END>
        ▁a           ▁difference  words pieces <END>
        ▁difference  <END>        words pieces <END>
    """)


def test_txl_tokens_reads_every_piece_of_a_word():
    words = ["There", "is", "thinking"]
    vectors = read("txl-tokens", pieces(), words, None)
    encoded = pieces().encode(words)
    assert len(encoded.ids) > len(words)
    assert vectors.token.tolist() == [ROOT, *encoded.ids]
    assert vectors.target.tolist() == [*encoded.ids, END]
    of_words = [word for word, (start, stop) in enumerate(encoded.spans, start=1) for _ in range(start, stop)]
    assert vectors.word.tolist() == [NOTHING, *of_words]
    assert (vectors.arc == NOTHING).all()


def test_txl_tokens_does_not_look_at_trees():
    with_tree = read("txl-tokens", VOCABULARY, EXAMPLE, THERE_IS_A_DIFFERENCE)
    without = read("txl-tokens", VOCABULARY, EXAMPLE, None)
    for one, other in zip(with_tree, without, strict=True):
        assert one.tolist() == other.tolist()


def test_sentences_one_after_the_other_read_as_they_do_alone():
    trees = [(EXAMPLE, THERE_IS_A_DIFFERENCE), (["a"], (0,)), (["is", "There"], (0, 1))]
    for model, reading in READINGS.items():
        together = reading(VOCABULARY, trees)
        assert len(together) == 3
        for number, tree in enumerate(trees):
            for one, other in zip(together.sentence(number), read(model, VOCABULARY, *tree), strict=True):
                assert one.tolist() == other.tolist()


# ---- TXL (trans)


def test_txl_trans_reads_each_transition_once_and_arcs_without_their_heads():
    assert as_text(read("txl-trans", VOCABULARY, EXAMPLE, THERE_IS_A_DIFFERENCE), VOCABULARY) == text("""
        <ROOT>       ▁There       words
        ▁There       ▁is          words pieces RIGHTARC
        ▁is          LEFTARC      words pieces LEFTARC RIGHTARC
        LEFTARC      ▁a           words RIGHTARC
        ▁a           ▁difference  words pieces LEFTARC RIGHTARC
        ▁difference  LEFTARC      words pieces LEFTARC RIGHTARC
        LEFTARC      RIGHTARC     words LEFTARC RIGHTARC
        RIGHTARC     RIGHTARC     words RIGHTARC
        RIGHTARC     <END>        <END>
    """)


def random_trees() -> list[tuple[Row[str], Heads]]:
    """Trees over words that are cut into pieces."""
    words = [word for sentence in SENTENCES for word in sentence]
    return [([words[(7 * number + place) % len(words)] for place in range(len(heads))], heads)
            for number, (heads, _) in enumerate(MANY)]  # fmt: skip


def test_txl_trans_is_dtg_without_the_compose_copies():
    trans, dtg = (READINGS[model](pieces(), random_trees()) for model in ("txl-trans", "dtg"))
    for number in range(len(trans)):
        ours, theirs = trans.sentence(number), dtg.sentence(number)
        is_kept = theirs.kind == STACK
        assert not is_kept.all()
        for name in ("arc", "word", "target", "may", "left", "right"):
            assert getattr(ours, name).tolist() == getattr(theirs, name)[is_kept].tolist(), name
        assert ours.token.tolist() == np.where(ours.arc == NOTHING, theirs.token[is_kept], NOTHING).tolist()


def test_both_predict_the_same_in_the_same_order():
    trans, dtg = (READINGS[model](pieces(), random_trees()).vectors.target for model in ("txl-trans", "dtg"))
    assert trans.tolist() == dtg[dtg != NOTHING].tolist()


@pytest.mark.parametrize("model", ["txl-trans", "txl-tokens"])
def test_every_position_of_a_baseline_predicts_something(model):
    vectors = READINGS[model](pieces(), random_trees()).vectors
    assert (vectors.target != NOTHING).all()
    assert (vectors.may | vectors.left | vectors.right != 0).all()


# ---- The models with a stack


@pytest.mark.parametrize("model", ["dtg", "dtg-eager", "dtg-swift"])
def test_dtg_reads_the_compiled_transitions_of_its_system(model):
    found = READINGS[model](pieces(), random_trees())
    system = {"dtg": "arc-standard", "dtg-eager": "arc-eager", "dtg-swift": "arc-swift"}[model]
    assert SYSTEM_OF[model] == system
    expected = compile_trees(SYSTEMS[system], pieces(), random_trees())
    for one, other in zip(found.vectors, expected.vectors, strict=True):
        assert one.tolist() == other.tolist()
    assert (found.vectors.kind == COMPOSE).any()


# ---- The causal structure


def sentence_and_place(sequences: Sequences, numbers: Row[int], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Of every position of a row: which sentence it belongs to, padding each to one of its own, and its place."""
    lengths = [sequences.sentence(number).length for number in numbers]
    owners = np.repeat(np.arange(len(numbers)), lengths)
    return np.append(owners, len(numbers) + np.arange(size - len(owners))), np.arange(size)


@in_every_system
def test_causal_sees_all_of_its_sentence_so_far_and_counts_positions(name):
    """In packed rows, too; padding sees itself."""
    sequences = causal(compiled(name, SHORT))
    owner, place = sentence_and_place(sequences, [3, 5, 7], 300)
    assert owner.max() > 3
    structure = dense(vectors_of(pack(sequences, [3, 5, 7], 300)))
    visible = structure.visible[0].numpy()
    assert (visible == np.tril(owner[:, None] == owner[None, :])).all()
    distance = place[:, None] - place[None, :]
    assert (structure.relpos[0].numpy()[visible] == distance[visible]).all()


@pytest.mark.parametrize("model", ["txl-trans", "txl-tokens"])
def test_the_baselines_have_the_causal_structure(model):
    sequences = READINGS[model](pieces(), random_trees())
    owner, place = sentence_and_place(sequences, [3, 5, 7], 150)
    structure = dense(vectors_of(pack(sequences, [3, 5, 7], 150)))
    visible = structure.visible[0].numpy()
    assert (visible == np.tril(owner[:, None] == owner[None, :])).all()
    assert (structure.relpos[0].numpy()[visible] == (place[:, None] - place[None, :])[visible]).all()


def test_causal_is_the_same_for_every_arrangement_of_a_sentence():
    """Nothing but where the sentences end matters to it."""
    sequences = causal(compiled("arc-standard", SHORT))
    alone = dense(vectors_of(pad(sequences, [4])))
    second = dense(vectors_of(pack(sequences, [2, 4], 200)))
    start, length = sequences.sentence(2).length, sequences.sentence(4).length
    inside = slice(start, start + length)
    assert second.visible[0, inside, inside].equal(alone.visible[0])
    visible = alone.visible[0]
    assert second.relpos[0, inside, inside][visible].equal(alone.relpos[0][visible])


def test_causal_changes_nothing_but_the_stack():
    before = compiled("arc-eager", SHORT)
    after = causal(before)
    assert after.starts.tolist() == before.starts.tolist()
    for name in ("token", "arc", "word", "target", "may", "left", "right", "end"):
        assert getattr(after.vectors, name).tolist() == getattr(before.vectors, name).tolist(), name
    assert (after.vectors.kind == STACK).all()


# ---- What cannot be read


@pytest.mark.parametrize("model", READINGS)
def test_an_empty_sentence_is_an_error_that_says_which(model):
    with pytest.raises(UserError, match="sentence 2: "):
        READINGS[model](VOCABULARY, [(EXAMPLE, THERE_IS_A_DIFFERENCE), ([], ())])


@pytest.mark.parametrize("model", [model for model in READINGS if model != "txl-tokens"])
def test_a_sentence_without_a_tree_is_an_error_that_says_which(model):
    with pytest.raises(UserError, match="sentence 2: "):
        READINGS[model](VOCABULARY, [(EXAMPLE, THERE_IS_A_DIFFERENCE), (EXAMPLE, None)])


@pytest.mark.parametrize("model", READINGS)
def test_no_sentences_are_no_sequences(model):
    sequences = READINGS[model](VOCABULARY, [])
    assert len(sequences) == 0
    assert [len(column) for column in sequences.vectors] == [0] * len(Compiled._fields)


@pytest.mark.parametrize("model", READINGS)
def test_sentences_may_come_one_by_one(model):
    assert len(READINGS[model](VOCABULARY, ((EXAMPLE, THERE_IS_A_DIFFERENCE) for _ in range(3)))) == 3
