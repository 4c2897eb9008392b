"""The four transition systems: the paper's table and figures, and what holds of every tree and every sequence.

`transitions.legal`, `take`, `oracle` and `replay` are the package's; the same names alone are those of
scalar_systems.py. The two are compared in every state of up to four words, and on long random derivations.
"""

import csv
from functools import cache
from random import Random

import numpy as np
import pytest
from conftest import slow
from hypothesis import given
from numba import njit
from reference import all_trees_crossing_or_not, crossings
from scalar_systems import as_tree, legal, oracle, replay, step, take
from trees import THERE_IS_A_DIFFERENCE, all_trees, projective_trees, random_tree

from dtglib import transitions
from dtglib.basics.errors import UserError
from dtglib.data.treebank import read_conllu, trees_only
from dtglib.transitions import START, SYSTEMS, Action, IllegalAction, Kind, State, batch
from dtglib.transitions.derivation import as_state
from dtglib.transitions.protocol import why_no_tree
from dtglib.transitions.rows import MAY_END, MAY_GENERATE, MAY_POP, MOST_REACH, first_without_tree, row_after, row_of
from dtglib.transitions.rules import number_of, step_row

UD_ENGLISH = ("Atis", "CHILDES", "EWT", "GUM", "LinES", "ParTUT")


@pytest.fixture(params=SYSTEMS)
def system(request):
    return SYSTEMS[request.param]


def actions_of(text: str) -> list[Action]:
    """ "GEN RIGHTARC[2]" as actions."""
    names = [name.rstrip("]").split("[") for name in text.split()]
    return [Action(Kind[name], *map(int, reach)) for name, *reach in names]


def state_after(system, text: str) -> State:
    state = START
    for action in actions_of(text):
        state = transitions.take(system, state, action)
    return state


def shown(state: State) -> str:
    """ "0 1 . 2": the stack from the bottom, a dot, the word in the buffer."""
    return " ".join([*map(str, state.stack), ".", *([str(state.front)] if state.front else [])])


# ---- The paper's table

# Each row of Table 1 by an example, in its generative form (section 2): GEN makes the word that SHIFT would read, in
# arc-standard on the stack, elsewhere in the buffer. The last rows of a system are the corners of the rule.
TABLE_1 = """
system       | after                             | stands      | transition  | then        | new arc
arc-standard | GEN                               | 0 1 .       | GEN         | 0 1 2 .     |
arc-standard | GEN GEN                           | 0 1 2 .     | LEFTARC     | 0 2 .       | 2->1
arc-standard | GEN GEN                           | 0 1 2 .     | RIGHTARC    | 0 1 .       | 1->2
arc-standard | GEN                               | 0 1 .       | RIGHTARC    | 0 .         | 0->1

arc-hybrid   | GEN                               | 0 . 1       | GEN         | 0 1 . 2     |
arc-hybrid   | GEN GEN                           | 0 1 . 2     | LEFTARC     | 0 . 2       | 2->1
arc-hybrid   | GEN GEN                           | 0 1 . 2     | RIGHTARC    | 0 1 .       | 1->2
arc-hybrid   | GEN GEN GEN RIGHTARC              | 0 1 2 .     | RIGHTARC    | 0 1 .       | 1->2
arc-hybrid   | GEN                               | 0 . 1       | RIGHTARC    | 0 .         | 0->1

arc-eager    | GEN                               | 0 . 1       | GEN         | 0 1 . 2     |
arc-eager    | GEN GEN                           | 0 1 . 2     | LEFTARC     | 0 . 2       | 2->1
arc-eager    | GEN GEN                           | 0 1 . 2     | RIGHTARC    | 0 1 2 .     | 1->2
arc-eager    | GEN GEN RIGHTARC                  | 0 1 2 .     | POP         | 0 1 .       |
arc-eager    | GEN GEN RIGHTARC GEN              | 0 1 2 . 3   | POP         | 0 1 . 3     |
arc-eager    | GEN RIGHTARC POP                  | 0 .         | POP         | .           |

arc-swift    | GEN                               | 0 . 1       | GEN         | 0 1 . 2     |
arc-swift    | GEN GEN                           | 0 1 . 2     | LEFTARC     | 0 . 2       | 2->1
arc-swift    | GEN GEN RIGHTARC GEN              | 0 1 2 . 3   | LEFTARC[2]  | 0 . 3       | 3->1
arc-swift    | GEN GEN                           | 0 1 . 2     | RIGHTARC    | 0 1 2 .     | 1->2
arc-swift    | GEN GEN RIGHTARC GEN              | 0 1 2 . 3   | RIGHTARC[2] | 0 1 3 .     | 1->3
arc-swift    | GEN GEN RIGHTARC GEN RIGHTARC GEN | 0 1 2 3 . 4 | RIGHTARC[3] | 0 1 4 .     | 1->4
"""
TABLE_1_ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE_1.strip().splitlines()[1:] if line]


@pytest.mark.parametrize(("name", "after", "stands", "transition", "then", "arc"), TABLE_1_ROWS)
def test_a_transition_changes_stack_buffer_and_arcs_as_in_table_1(name, after, stands, transition, then, arc):
    before = state_after(SYSTEMS[name], after)
    now = transitions.take(SYSTEMS[name], before, *actions_of(transition))
    assert (shown(before), shown(now)) == (stands, then)
    new_arcs = [
        f"{head}->{word}"
        for word, (old, head) in enumerate(zip(before.heads, now.heads, strict=False), 1)
        if old != head
    ]
    assert new_arcs == ([arc] if arc else [])
    assert len(now.heads) == len(before.heads) + (transition == "GEN")


# ---- The paper's figures

FIGURE_1 = "GEN GEN LEFTARC GEN GEN LEFTARC RIGHTARC RIGHTARC END"
FIGURE_4 = "GEN GEN LEFTARC RIGHTARC GEN GEN LEFTARC RIGHTARC POP POP POP END"
FIGURE_5 = "GEN GEN LEFTARC RIGHTARC GEN GEN LEFTARC RIGHTARC GEN RIGHTARC[2] END"

FIGURES = [
    ("arc-standard", FIGURE_1, THERE_IS_A_DIFFERENCE),
    ("arc-hybrid", FIGURE_1, THERE_IS_A_DIFFERENCE),
    ("arc-eager", FIGURE_4, THERE_IS_A_DIFFERENCE),
    ("arc-swift", FIGURE_5, (*THERE_IS_A_DIFFERENCE, 2)),  # "There is a difference ."
]


@pytest.mark.parametrize(("name", "figure", "heads"), FIGURES)
def test_the_example_sentence_is_written_as_in_figures_1_4_and_5(name, figure, heads):
    assert " ".join(map(str, transitions.oracle(SYSTEMS[name], heads))) == figure
    assert transitions.replay(SYSTEMS[name], actions_of(figure)) == heads


# ---- There and back


@pytest.mark.parametrize(("words", "count"), [(1, 1), (2, 2), (3, 7), (4, 30), (5, 143), (6, 728)])
def test_so_many_projective_trees_have_so_many_words(words, count):
    assert len(set(all_trees(words))) == len(all_trees(words)) == count


@pytest.mark.parametrize("words", range(1, 6))
def test_the_enumerated_trees_are_those_without_crossing_arcs(words):
    by_definition = {
        heads for heads in all_trees_crossing_or_not(words) if heads.count(0) == 1 and not crossings(heads)
    }
    assert set(all_trees(words)) == by_definition


@pytest.mark.parametrize("words", [*range(1, 6), *slow([6])])
def test_every_tree_goes_through_and_comes_back(system, words):
    for heads in all_trees(words):
        assert transitions.replay(system, transitions.oracle(system, heads)) == heads


@pytest.mark.parametrize("name", SYSTEMS)
@given(heads=projective_trees())
def test_random_trees_of_up_to_60_words_go_through_and_come_back(name, heads):
    assert replay(SYSTEMS[name], transitions.oracle(SYSTEMS[name], heads)) == heads


@pytest.mark.parametrize("words", range(1, 7))
def test_arc_hybrid_writes_every_tree_by_the_actions_of_arc_standard(words):
    for heads in all_trees(words):
        assert transitions.oracle(SYSTEMS["arc-hybrid"], heads) == transitions.oracle(SYSTEMS["arc-standard"], heads)


@given(projective_trees())
def test_arc_hybrid_writes_random_trees_by_the_actions_of_arc_standard(heads):
    assert transitions.oracle(SYSTEMS["arc-hybrid"], heads) == transitions.oracle(SYSTEMS["arc-standard"], heads)


@pytest.mark.parametrize("words", [1, 300])
@pytest.mark.parametrize(
    "shape", ["every word on the next", "every word on the one before", "all on the first", "all on the last"]
)
def test_the_longest_sentences_of_the_plainest_shapes_go_through_and_come_back(system, words, shape):
    heads = {
        "every word on the next": (*range(2, words + 1), 0),
        "every word on the one before": tuple(range(words)),
        "all on the first": (0, *[1] * (words - 1)),
        "all on the last": (*[words] * (words - 1), 0),
    }[shape]
    assert transitions.replay(system, transitions.oracle(system, heads)) == heads


# ---- What is legal


@cache
def complete_runs(name: str, most_words: int) -> list[tuple[tuple[Action, ...], tuple[int, ...]]]:
    """Every legal sequence with END and at most so many GENs, and the heads it ends with."""
    system, found, stack = SYSTEMS[name], [], [(START, ())]
    while stack:
        state, actions = stack.pop()
        if state.done:
            found.append((actions, state.heads))
        stack += [
            (step(system, state, action), (*actions, action))
            for action in legal(system, state)
            if action.kind is not Kind.GEN or len(state.heads) < most_words
        ]
    return found


def reachable(system, most_words: int) -> set[State]:
    """Every state that legal actions lead to, with at most so many words."""
    seen, fresh = {START}, {START}
    while fresh:
        steps = {step(system, state, action) for state in fresh for action in legal(system, state)}
        fresh = {state for state in steps if len(state.heads) <= most_words} - seen
        seen |= fresh
    return seen


def test_legal_sequences_write_all_projective_trees_and_nothing_else(system):
    written = {heads for _, heads in complete_runs(system.NAME, 4)}
    assert written == {heads for words in range(1, 5) for heads in all_trees(words)}


def test_a_sequence_that_ended_allows_nothing_more(system):
    for actions, _ in complete_runs(system.NAME, 3):
        state = START
        for action in actions:
            state = take(system, state, action)
        assert legal(system, state) == ()


def can_end(system, state: State, spare_words: int) -> bool:
    return state.done or any(
        can_end(system, step(system, state, action), spare_words - (action.kind is Kind.GEN))
        for action in legal(system, state)
        if action.kind is not Kind.GEN or spare_words
    )


def test_no_state_is_a_dead_end(system):
    """At most one more word is wanted: in arc-eager and arc-swift, as the head of those that have none."""
    for state in reachable(system, 4):
        assert can_end(system, state, spare_words=1), state


@pytest.mark.parametrize("name", ["arc-standard", "arc-hybrid"])
def test_where_right_arcs_join_words_of_the_stack_a_sentence_can_end_after_every_word(name):
    for state in reachable(SYSTEMS[name], 4) - {START}:
        assert can_end(SYSTEMS[name], state, spare_words=0), state


def test_in_every_state_the_package_agrees_with_the_scalar_system(system):
    for state in reachable(system, 4):
        assert transitions.legal(system, state) == legal(system, state), state
        for action in legal(system, state):
            assert transitions.take(system, state, action) == step(system, state, action), (state, action)


def every_action(most_words: int) -> list[Action]:
    far = [Action(kind, reach) for kind in (Kind.LEFTARC, Kind.RIGHTARC) for reach in range(1, most_words + 2)]
    return [*far, *map(Action, (Kind.GEN, Kind.POP, Kind.END))]


def test_an_action_that_is_not_legal_is_not_taken(system):
    for state in reachable(system, 3):
        for action in set(every_action(3)) - set(legal(system, state)):
            with pytest.raises(IllegalAction):
                transitions.take(system, state, action)


def test_an_illegal_action_is_named_with_system_state_and_what_is_legal():
    state = state_after(SYSTEMS["arc-swift"], "GEN GEN")
    with pytest.raises(IllegalAction) as error:
        transitions.take(SYSTEMS["arc-swift"], state, Action(Kind.LEFTARC, 2))
    message = str(error.value)
    assert message.startswith("arc-swift: LEFTARC[2] is not legal")
    assert str(state) in message
    assert message.endswith("legal are GEN, LEFTARC, RIGHTARC")


def test_after_end_the_message_says_that_nothing_is_legal():
    state = state_after(SYSTEMS["arc-standard"], "GEN RIGHTARC END")
    with pytest.raises(IllegalAction, match="legal are none"):
        transitions.take(SYSTEMS["arc-standard"], state, Action(Kind.GEN))


def test_actions_that_stop_before_end_are_refused(system):
    actions = oracle(system, THERE_IS_A_DIFFERENCE)
    with pytest.raises(IllegalAction, match=f"{system.NAME}: the actions stop before END"):
        transitions.replay(system, actions[:-1])


# ---- Which of the legal actions the oracle takes

PREFERENCE = {Kind.LEFTARC: 0, Kind.RIGHTARC: 0, Kind.GEN: 1, Kind.POP: 2, Kind.END: 3}


def test_the_oracle_is_the_first_of_all_sequences_for_its_tree_when_arcs_precede_gen_and_gen_precedes_pop(system):
    """So no arc of the tree that could be built waits, and nothing is popped that could stay."""
    first, ways = {}, {}
    for actions, heads in complete_runs(system.NAME, 5):
        rank = [PREFERENCE[action.kind] for action in actions]
        first[heads] = min(first.get(heads, (rank, actions)), (rank, actions))
        ways.setdefault(heads, []).append(rank)
    assert len(first) == 1 + 2 + 7 + 30 + 143
    for heads, (rank, actions) in first.items():
        assert ways[heads].count(rank) == 1
        assert tuple(oracle(system, heads)) == actions, heads


@pytest.mark.parametrize("name", ["arc-hybrid", "arc-swift"])
def test_arc_hybrid_and_arc_swift_have_one_derivation_of_each_tree(name):
    assert len(complete_runs(name, 5)) == 1 + 2 + 7 + 30 + 143


def test_arc_standard_has_as_many_derivations_as_there_are_bracketings_with_heads():
    bracketings = (1, 1, 2, 5, 14)  # of 1 to 5 words: the Catalan numbers; either word of a bracket may be its head
    assert len(complete_runs("arc-standard", 5)) == sum(2**n * ways for n, ways in enumerate(bracketings))


def test_arc_eager_may_pop_late_or_early():
    #                         Sleep   well           tonight
    late = actions_of("GEN RIGHTARC GEN RIGHTARC GEN POP RIGHTARC POP POP POP END")
    early = actions_of("GEN RIGHTARC GEN RIGHTARC POP GEN RIGHTARC POP POP POP END")
    assert replay(SYSTEMS["arc-eager"], late) == replay(SYSTEMS["arc-eager"], early) == (0, 1, 1)
    assert oracle(SYSTEMS["arc-eager"], (0, 1, 1)) == late


# ---- Trees that are none

NO_TREES = {
    (): "a tree needs at least one word",
    (0, 1, 4): "word 3: head 4 is out of range (there are 3 words)",
    (0, -1): "word 2: head -1 is out of range",
    (0, 2): "word 2 is its own head",
    (0, 0, 1): "words 1 and 2 all have head 0; one may",
    (2, 1): "no word has head 0 (ROOT)",
    (0, 3, 2): "word 2 is above itself",
    (0, 1, 4, 5, 3): "word 3 is above itself",
    (3, 4, 0, 3): "not projective: arc 3->1 crosses 4->2",
    (2, 0, 1): "not projective: arc 0->2 crosses 1->3",
}


@pytest.mark.parametrize(("heads", "why"), NO_TREES.items())
def test_heads_that_are_no_projective_tree_are_refused_with_the_reason(system, heads, why):
    with pytest.raises(UserError) as error:
        transitions.oracle(system, heads)
    assert why in str(error.value)


@pytest.mark.parametrize("words", [1, 2, 3, 4])
def test_heads_are_refused_if_and_only_if_they_are_no_projective_tree(words):
    trees = set(all_trees(words))
    for heads in np.ndindex(*[words + 3] * words):
        heads = tuple(head - 1 for head in heads)  # from -1, which is no word, to one more than there are words
        if heads in trees:
            assert as_tree(heads).heads[1:] == list(heads)
        else:
            with pytest.raises(UserError):
                as_tree(heads)


@pytest.mark.parametrize("words", [0, 1, 2, 3, 4, 5])
def test_of_many_vectors_of_heads_the_first_that_is_no_tree_is_found(words):
    vectors = [tuple(head - 1 for head in heads) for heads in np.ndindex(*[words + 3] * words)]
    none = [heads for heads in vectors if why_no_tree(heads)]
    assert all(first_without_tree(np.array(heads, np.int64), np.array([words])) == 0 for heads in none)
    trees = [heads for heads in vectors if not why_no_tree(heads)]
    assert first_without_tree(np.array(trees, np.int64).ravel(), np.full(len(trees), words)) == -1


@pytest.mark.parametrize("heads", NO_TREES)
@pytest.mark.parametrize("place", [0, 1, 3])
def test_what_is_no_tree_is_found_among_others_of_other_lengths(heads, place):
    vectors = [(0,), (2, 0, 4, 2), (0, 1)]
    vectors.insert(place, heads)
    together = np.array([head for vector in vectors for head in vector], np.int64)
    assert first_without_tree(together, np.array([len(vector) for vector in vectors])) == place


# ---- Many states at once


class Walk:
    """Random legal walks, taken side by side by `State`s and by the rows of a batch."""

    def __init__(self, system, walkers: int, most_words: int, seed: int):
        self.system, self.random, self.most_words = system, Random(seed), most_words
        self.states, self.rows = [START] * walkers, batch.start(walkers, most_words)
        self.seen: list[State] = []

    def check(self):
        may, left, right = batch.legal(self.system, self.rows)
        for row, state in enumerate(self.states):
            assert as_state(self.rows, row) == state, row
            assert actions_in(may[row], left[row], right[row]) == set(self.legal(state)), (row, state)
        self.seen += self.states

    def legal(self, state: State) -> list[Action]:
        """The actions that a state allows, without GEN if there is no room for another word."""
        room = len(state.heads) < self.most_words
        return [action for action in legal(self.system, state) if action.kind is not Kind.GEN or room]

    def step(self):
        """Some states go on twice, others not at all, as in a beam; those with nothing legal are dropped."""
        alive = [row for row, state in enumerate(self.states) if self.legal(state)]
        rows = [self.random.choice(alive) if self.random.random() < 0.05 else row for row in alive]
        before = [self.states[row] for row in rows]
        actions = [self.choice(state) for state in before]
        self.rows = batch.choose(self.rows, np.array(rows, int))
        kinds, reaches = (np.array([getattr(action, name) for action in actions], int) for name in ("kind", "reach"))
        batch.step(self.system, self.rows, kinds, reaches)
        self.states = [take(self.system, *pair) for pair in zip(before, actions, strict=True)]

    def choice(self, state: State) -> Action:
        """A legal action; GEN is likely, so that sentences grow."""
        actions = self.legal(state)
        return self.random.choice([*actions, *(action for action in actions if action.kind is Kind.GEN)])


def actions_in(may: int, left: int, right: int) -> set[Action]:
    """The actions that `batch.legal` allows a state."""
    kinds = {MAY_GENERATE: Kind.GEN, MAY_POP: Kind.POP, MAY_END: Kind.END}
    arcs = {
        Action(kind, k + 1)
        for kind, bits in ((Kind.LEFTARC, left), (Kind.RIGHTARC, right))
        for k in range(31)
        if bits >> k & 1
    }
    return arcs | {Action(kind) for bit, kind in kinds.items() if may & bit}


def test_a_batch_agrees_with_the_scalar_system_in_each_of_its_states(system):
    walk = Walk(system, walkers=250, most_words=25, seed=1)
    for _ in range(75):
        walk.check()
        walk.step()
    assert any(state.done for state in walk.seen) and max(len(state.heads) for state in walk.seen) == 25


def test_an_action_closes_a_state_of_a_batch_if_no_word_may_come_after_it(system):
    walk, closing = Walk(system, walkers=100, most_words=12, seed=2), 0
    for _ in range(40):
        found = batch.closing(system, walk.rows)
        for row, state in enumerate(walk.states):
            silent = [action for action in legal(system, state) if action.kind not in (Kind.GEN, Kind.END)]
            gens = {action: Action(Kind.GEN) in legal(system, step(system, state, action)) for action in silent}
            expected = {action for action, may_generate in gens.items() if not may_generate}
            assert actions_in(*(column[row] for column in found)) == expected, (row, state)
            closing += len(expected)
        walk.step()
    assert (closing > 0) == (system.NAME != "arc-swift"), "arc-swift may always generate one more word"


def test_a_fork_of_a_batch_goes_its_own_way(system):
    rows = batch.start(2, most_words=3)
    fork = batch.choose(rows, np.array([1, 1, 0]))
    batch.step(system, fork, np.full(3, Kind.GEN), np.ones(3, int))
    assert [as_state(rows, row) for row in range(2)] == [START] * 2
    assert [as_state(fork, row) for row in range(3)] == [take(system, START, Action(Kind.GEN))] * 3


def test_arc_swift_allows_reaches_up_to_the_number_of_bits():
    """70 words, each hanging on the one before, are all in reach of the next; a row speaks of the nearest 31."""
    system, words = SYSTEMS["arc-swift"], 70
    state, rows = START, batch.start(1, words + 2)
    for action in [*[Action(Kind.GEN), Action(Kind.RIGHTARC)] * words, Action(Kind.GEN)]:
        state = take(system, state, action)
        batch.step(system, rows, np.array([action.kind]), np.array([action.reach]))
    assert as_state(rows, 0) == state
    may, left, right = batch.legal(system, rows)
    near = {action for action in legal(system, state) if action.reach <= MOST_REACH}
    assert actions_in(may[0], left[0], right[0]) == near
    assert len(near) < len(legal(system, state))
    assert set(transitions.legal(system, state)) == near
    with pytest.raises(UserError, match=r"arc-swift needs an arc beyond \[31\]"):
        transitions.oracle(system, [0, *range(1, 39), 1])


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_row_that_is_full_allows_no_further_word(name):
    rows = batch.start(1, 2)
    for _ in range(2):
        assert batch.legal(SYSTEMS[name], rows)[0][0] & MAY_GENERATE
        batch.step(SYSTEMS[name], rows, np.array([Kind.GEN]), np.array([1]))
    assert not batch.legal(SYSTEMS[name], rows)[0][0] & MAY_GENERATE


# ---- The oracle on rows


@njit
def read(system, actions, words):
    """The heads that actions write."""
    row = row_of(np.zeros(words + 1, np.int32), 1, 0, np.full(words + 1, -1, np.int32), 0)
    for kind, reach in actions:
        row = row_after(row, step_row(system, row, kind, reach))
    return row.heads[1 : row.count + 1]


@pytest.mark.parametrize("words", range(1, 7))
def test_the_packages_oracle_writes_every_tree_as_the_scalar_one_does(system, words):
    for heads in all_trees(words):
        assert transitions.oracle(system, heads) == oracle(system, heads), heads


def test_the_packages_oracle_writes_random_long_trees_as_the_scalar_one_does(system):
    random = Random(2)
    for _ in range(100):
        heads = random_tree(random, random.randint(7, 120))
        assert transitions.oracle(system, heads) == oracle(system, heads), heads


# ---- Treebanks


@pytest.mark.slow
def test_every_tenth_projective_tree_of_ud_english_goes_through_all_systems_and_back(all_data):
    """Trees as people annotate them; those of the fast tests are drawn at random, or all of few words."""
    with open(all_data / "ud" / "STATS.tsv", encoding="utf-8", newline="") as file:
        published = {
            row["treebank"]: int(row["projective"])
            for row in csv.DictReader(file, delimiter="\t")
            if row["split"] == "train"
        }
    random = Random(3)
    for name in UD_ENGLISH:
        (path,) = (all_data / "ud" / f"UD_English-{name}").glob("*-train.conllu")
        trees = [sentence.heads for sentence in trees_only(read_conllu(path)).sentences]
        assert len(trees) == published[f"UD_English-{name}"]
        for system in SYSTEMS.values():
            for heads in trees[::10]:
                actions = np.array([action[:2] for action in transitions.oracle(system, heads)[:-1]])
                assert tuple(read(number_of(system), actions, len(heads)).tolist()) == heads, heads
            for heads in random.sample(trees, 100):
                assert transitions.oracle(system, heads) == oracle(system, heads), heads
