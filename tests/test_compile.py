"""Trees become vectors: what every position reads and predicts, what may come next, and the example as a table."""

import re
from collections.abc import Sequence as Row
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from scalar_systems import legal, operands, oracle, replay, take
from toys import EXAMPLE, FAR, FIRST_PIECE, VOCABULARY, Sentence, compiled, random_sentences, small_sentences
from trees import THERE_IS_A_DIFFERENCE, Heads, random_tree

import dtglib.sequences.compile
from dtglib.basics.errors import UserError
from dtglib.data.symbols import arcs
from dtglib.data.vocabulary import END, ROOT, Vocabulary
from dtglib.sequences.columns import COMPOSE, NOTHING, STACK, Compiled
from dtglib.sequences.compile import compile_trees
from dtglib.transitions import START, SYSTEMS, Action, Kind, State
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE, MAY_POP, MOST_REACH

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(params=SYSTEMS)
def name(request) -> str:
    return request.param


# ---- What the vectors should say, read off the actions one at a time


class Expected(NamedTuple):
    """A position: what it reads, and the state after it, None where nothing is predicted."""

    token: int
    arc: str
    kind: int
    word: int
    state: State | None


def expected_positions(name: str, heads: Heads, pieces: Row[int]) -> list[Expected]:
    """Plays the oracle's actions; the token of an arc is the last piece of the word that is its head."""
    state = START
    positions = [Expected(ROOT, "", STACK, NOTHING, state)]
    last_piece, next_piece = {0: ROOT}, FIRST_PIECE
    for action in oracle(SYSTEMS[name], heads)[:-1]:
        before, state = state, take(SYSTEMS[name], state, action)
        if action.kind is Kind.GEN:
            word = len(state.heads)
            for _ in range(pieces[word - 1]):
                positions.append(Expected(next_piece, "", STACK, word, state))
                last_piece[word] = next_piece
                next_piece += 1
        elif action.kind is Kind.POP:
            positions.append(Expected(NOTHING, "POP", STACK, NOTHING, state))
        else:
            head, _ = operands(before, action)
            positions.append(Expected(last_piece[head], str(action), COMPOSE, NOTHING, None))
            positions.append(Expected(last_piece[head], str(action), STACK, NOTHING, state))
    return positions


def pops_of(sentence: Sentence) -> int:
    """The number of POPs in arc-eager: ROOT, and all words but those that a LEFTARC takes away."""
    return 1 + sum(head < word for word, head in enumerate(sentence[0], start=1))


def first_of_its_pieces(vectors: Compiled) -> set[int]:
    """The pieces that begin a word."""
    return {vectors.token[np.flatnonzero(vectors.word == word)[0]] for word in range(1, vectors.word.max() + 1)}


def actions_and_pieces(vectors: Compiled) -> tuple[list[Action], list[int]]:
    """The targets in their order, as actions and as the pieces that are generated."""
    names = {number: entry for entry, number in FAR.reserved.items()}
    begins = first_of_its_pieces(vectors)
    actions, pieces = [], []
    for target in vectors.target[vectors.target != NOTHING]:
        if target >= FIRST_PIECE:
            pieces.append(target)
            actions += [Action(Kind.GEN)] if target in begins else []
        else:
            kind, *reach = names[target].strip("<>]").split("[")
            actions.append(Action(Kind[kind], *map(int, reach)))
    return actions, pieces


def allowed(vectors: Compiled, i: int) -> set[Action]:
    """The actions that the bits of one position stand for, arc by arc."""
    may, left, right = int(vectors.may[i]), int(vectors.left[i]), int(vectors.right[i])
    bits = {MAY_GENERATE: Kind.GEN, MAY_POP: Kind.POP, MAY_END: Kind.END}
    arcs = [
        (row, kind, k) for row, kind in ((left, Kind.LEFTARC), (right, Kind.RIGHTARC)) for k in range(1, MOST_REACH + 1)
    ]
    return {Action(kind) for bit, kind in bits.items() if may & bit} | {
        Action(kind, k) for row, kind, k in arcs if row >> (k - 1) & 1
    }


MANY = random_sentences(1, 25)


# ---- What a position reads


def test_every_position_reads_its_piece_or_its_arc_with_the_last_piece_of_the_head(name):
    for sentence in [*MANY, *small_sentences(4)]:
        vectors = compiled(name, [sentence]).sentence(0)
        expected = expected_positions(name, *sentence)
        arcs = [FAR.transition(e.arc) if e.arc else NOTHING for e in expected]
        assert vectors.token.tolist() == [e.token for e in expected]
        assert vectors.arc.tolist() == arcs
        assert vectors.kind.tolist() == [e.kind for e in expected]
        assert vectors.word.tolist() == [e.word for e in expected]


def test_a_compose_position_has_the_place_of_its_head():
    """arc-standard: word 2, of three pieces, takes word 1; then what it has become takes word 3, and ROOT that."""
    vectors = compiled("arc-standard", [((2, 0, 2), (1, 3, 1))]).sentence(0)
    composes = vectors.kind == COMPOSE
    assert np.flatnonzero(composes).tolist() == [5, 8, 10]
    assert vectors.head_first[composes].tolist() == [2, 5, 0]
    assert vectors.head_last[composes].tolist() == [4, 5, 0]
    assert (vectors.head_first[~composes] == NOTHING).all() and (vectors.head_last[~composes] == NOTHING).all()


# ---- What a position predicts


def test_every_position_predicts_what_the_next_one_reads_and_compose_nothing(name):
    vectors = compiled(name, [MANY[0]]).sentence(0)
    reads = np.where(vectors.arc != NOTHING, vectors.arc, vectors.token)
    predicts = np.append(reads[1:], END)
    assert vectors.target.tolist() == np.where(vectors.kind == COMPOSE, NOTHING, predicts).tolist()


def test_the_targets_write_the_sentence_and_its_tree(name):
    for heads, pieces in [*MANY, *small_sentences(5)]:
        actions, written = actions_and_pieces(compiled(name, [(heads, pieces)]).sentence(0))
        assert replay(SYSTEMS[name], actions) == heads
        assert written == list(range(FIRST_PIECE, FIRST_PIECE + sum(pieces)))


def test_words_are_cut_by_the_vocabulary_and_spelled_by_the_targets(name):
    sentences = [(["There", "is", "a", "difference", "between", "indifferent", "differences"], (2, 0, 4, 2, 4, 7, 5))]
    vocabulary = Vocabulary.train([words for words, _ in sentences], pieces=275)
    vectors = compile_trees(SYSTEMS[name], vocabulary, sentences).sentence(0)
    assert (vectors.word >= 1).sum() > 7, "no word has two pieces, and the test tests nothing"
    assert vocabulary.decode(vectors.target[vectors.target != NOTHING]) == sentences[0][0]


# ---- What may come next


def test_what_may_come_next_is_what_the_state_allows(name):
    for sentence in [*MANY, *small_sentences(4)]:
        vectors = compiled(name, [sentence]).sentence(0)
        for i, position in enumerate(expected_positions(name, *sentence)):
            assert allowed(vectors, i) == legal_in_reach(name, position.state)


def legal_in_reach(name: str, state: State | None, reach: int = MOST_REACH) -> set[Action]:
    actions = legal(SYSTEMS[name], state) if state else ()
    return {action for action in actions if action.reach <= reach}


def test_after_a_compose_position_nothing_may_come(name):
    vectors = compiled(name, MANY).vectors
    composes = vectors.kind == COMPOSE
    assert not (vectors.may[composes].any() or vectors.left[composes].any() or vectors.right[composes].any())


def test_after_a_piece_its_word_may_go_on_and_nowhere_else(name):
    vectors = compiled(name, MANY).vectors
    assert ((vectors.may & MAY_CONTINUE > 0) == (vectors.word >= 1)).all()


def test_a_left_arc_that_reaches_too_far_is_not_taken_for_a_shorter_one():
    """Words 2 to 71 hang one from the other and 2 from 1, which is open: from 71, arc-swift's only LEFTARC is [70].

    The last words have arcs of 31 words and fewer, which clear the stack again.
    """
    heads = (75, *range(1, 71), 41, 12, 2, 0)
    vectors = compiled("arc-swift", [(heads, [1] * 75)]).sentence(0)
    for i, position in enumerate(expected_positions("arc-swift", heads, [1] * 75)):
        assert allowed(vectors, i) == legal_in_reach("arc-swift", position.state)


def test_arcs_that_the_vocabulary_does_not_have_may_not_come():
    vocabulary = Vocabulary.of_words(["a"], arcs(2))
    heads = (0, 1, 2, 3, 4, 5)
    vectors = compile_trees(SYSTEMS["arc-swift"], vocabulary, [("a" * 6, heads)]).sentence(0)
    for i, position in enumerate(expected_positions("arc-swift", heads, [1] * 6)):
        assert allowed(vectors, i) == legal_in_reach("arc-swift", position.state, reach=2)


# ---- The example as a table


def table(vectors: Compiled) -> str:
    """The vectors, one position a line, and what may come next."""
    names = [entry.removeprefix("▁") for entry in VOCABULARY.entries]
    rows = [["i", "input", "kind", "last", "height", "settled", "top", "floor", "head", "target", "may come next"]]
    for i in range(vectors.length):
        token, arc, head, target = vectors.token[i], vectors.arc[i], vectors.head_first[i], vectors.target[i]
        read = [names[number] for number in (arc, token) if number != NOTHING]
        numbers = [column[i] for column in (vectors.last, vectors.height, vectors.settled, vectors.top, vectors.floor)]
        following = ["more of the word"] if vectors.may[i] & MAY_CONTINUE else []
        rows.append(
            [
                str(i),
                " + ".join(read),
                "COMPOSE" if vectors.kind[i] == COMPOSE else "STACK",
                *map(str, numbers),
                "-" if head == NOTHING else f"{head}-{vectors.head_last[i]}",
                "-" if target == NOTHING else names[target],
                ", ".join([*following, *map(str, sorted(allowed(vectors, i)))]) or "-",
            ]
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("system", ["arc-standard", "arc-eager", "arc-swift"])
def test_the_example_sentence_has_these_vectors(system):
    vectors = compile_trees(SYSTEMS[system], VOCABULARY, [(EXAMPLE, THERE_IS_A_DIFFERENCE)]).sentence(0)
    assert table(vectors) == (GOLDEN / f"vectors_{system}.txt").read_text("utf-8")


def test_the_table_in_the_docstring_is_the_golden_one():
    golden = cells((GOLDEN / "vectors_arc-standard.txt").read_text("utf-8"))
    shown = cells(re.search(r" +i  input.*?(?=\n +\.\.\.)", dtglib.sequences.compile.__doc__, re.DOTALL)[0])
    assert len(shown) == 5
    for row, of_golden in zip(shown, golden, strict=False):
        assert row == {column: of_golden[column] for column in row}


def cells(text: str) -> list[dict[str, str]]:
    """A table as it is read: columns are set apart by two spaces or more."""
    columns, *rows = [re.split(r"  +", line.strip()) for line in text.strip("\n").splitlines()]
    # In the docstring, numbers are set to the right of their column, and its last names stand one space apart.
    columns = " ".join(columns).replace("may come next", "may_come_next").split()
    return [dict(zip(columns, row, strict=True)) for row in rows]


# ---- Storage, size, errors


def test_storage_grows_with_the_length_and_not_with_its_square(name):
    sequences = compiled(name, random_sentences(2, 40))
    per_position = sum(column.itemsize for column in sequences.vectors)
    assert per_position == 4 * len(Compiled._fields)
    assert sum(column.nbytes for column in sequences.vectors) == per_position * sequences.starts[-1]
    longest = compiled(name, [(tuple(range(200)), [1] * 200)]).sentence(0)
    assert longest.length <= 1 + 4 * 200 + 1
    as_dense = longest.length**2 * (1 + 4)  # a mask of bytes, and relative positions of four bytes
    assert as_dense > 25 * sum(column.nbytes for column in longest)


def test_a_sentence_has_this_many_positions(name):
    """ROOT, the pieces, two for each arc, of which there is one a word; and arc-eager's POPs."""
    for heads, pieces in MANY:
        pops = pops_of((heads, pieces)) if name == "arc-eager" else 0
        assert compiled(name, [(heads, pieces)]).sentence(0).length == 1 + sum(pieces) + 2 * len(heads) + pops


@pytest.mark.parametrize(
    "heads",
    [
        (0,),
        (0, *range(1, 200)),
        (*range(2, 201), 0),
        tuple(0 if word == 100 else 100 for word in range(1, 201)),
        random_tree(Random(3), 200),
    ],
    ids=["one word", "200 down to the right", "200 down to the left", "200 around one", "200 at random"],
)
def test_short_and_long_sentences_come_back_from_their_targets(name, heads):
    vectors = compiled(name, [(heads, [1] * len(heads))]).sentence(0)
    actions, written = actions_and_pieces(vectors)
    assert replay(SYSTEMS[name], actions) == heads
    assert len(written) == len(heads)


def test_sentences_end_to_end_are_the_sentences_alone(name):
    """But for the pieces, which the test numbers through."""
    together = compiled(name, MANY)
    for number, sentence in enumerate(MANY):
        alone, among_others = compiled(name, [sentence]).sentence(0), together.sentence(number)
        for column in set(Compiled._fields) - {"token", "target"}:
            assert getattr(alone, column).tolist() == getattr(among_others, column).tolist()


def test_no_sentences_are_no_positions(name):
    sequences = compile_trees(SYSTEMS[name], VOCABULARY, [])
    assert len(sequences) == 0 and sequences.vectors.length == 0


REACHES_THREE = (4, 1, 2, 0)  # "_ _ _ _": 1, 2 and 3 hang one from the other, and 1 from 4


def test_an_arc_that_is_too_long_for_the_vocabulary_is_named_with_its_sentence_and_the_way_out():
    vocabulary = Vocabulary.of_words([EXAMPLE], arcs(2))
    with pytest.raises(UserError) as error:
        compile_trees(SYSTEMS["arc-swift"], vocabulary, [(EXAMPLE, THERE_IS_A_DIFFERENCE), (EXAMPLE, REACHES_THREE)])
    for part in ("sentence 2", "arc-swift", "[2]", "larger reach"):
        assert part in str(error.value)


def test_an_arc_that_is_just_long_enough_compiles():
    vocabulary = Vocabulary.of_words([EXAMPLE], arcs(3))
    sequences = compile_trees(SYSTEMS["arc-swift"], vocabulary, [(EXAMPLE, REACHES_THREE)])
    assert vocabulary.transition("LEFTARC[3]") in sequences.sentence(0).target


@pytest.mark.parametrize(
    ("heads", "why"),
    [
        ((3, 0, 2, 1), "crosses"),
        ((2, 1, 4, 0), "circle"),
        ((0, 0, 4, 2), "all have head 0"),
        ((2, 0, 4, 9), "out of range"),
        ((2, 0, 3, 2), "its own head"),
        ((2, 3, 4, 2), "ROOT"),
    ],
)
def test_a_malformed_tree_is_an_error_that_says_why(heads, why):
    with pytest.raises(UserError, match=why):
        compile_trees(SYSTEMS["arc-standard"], VOCABULARY, [(EXAMPLE, heads)])


def test_a_malformed_tree_is_named_by_its_sentence():
    with pytest.raises(UserError, match="sentence 2"):
        compile_trees(SYSTEMS["arc-standard"], VOCABULARY, [(EXAMPLE, THERE_IS_A_DIFFERENCE), (EXAMPLE, (0, 0, 4, 2))])


@pytest.mark.parametrize("words", [EXAMPLE[:3], [*EXAMPLE, "!"]])
def test_words_and_heads_of_different_number_are_an_error(words):
    with pytest.raises(UserError, match="sentence 1"):
        compile_trees(SYSTEMS["arc-standard"], VOCABULARY, [(words, THERE_IS_A_DIFFERENCE)])
