"""Many hypotheses advanced together, over slots that are used again, say what the full forward pass says.

What they should say is computed without any cache: of an oracle's actions by the forward pass of training, of any
other legal actions by the definitions of reference.py, one sequence at a time.
"""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import by_definition, legal_bits, system_of
from scalar_systems import legal, oracle, take
from torch import Tensor
from toys import READINGS, SENTENCES, SYSTEM_OF, by_model, in_every_dtg, in_every_model, small_model, vocabulary
from trees import Heads, projective_trees, random_tree

from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.stack_rows import CONTINUE
from dtglib.decode.stack_stepper import Hypotheses, StackStepper
from dtglib.network.output import Legal
from dtglib.network.transformer import REPRESENTATIONS, Batch, Transformer, batch_of
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import COMPOSE, NOTHING
from dtglib.sequences.structure import dense
from dtglib.transitions import START, Action, Kind

SAME = {"atol": 1e-4, "rtol": 0}

pytestmark = pytest.mark.usefixtures("one_thread")


# ---- Sentences, and what is done with them


class Symbol(NamedTuple):
    """One move of a hypothesis; `piece` means something for a word alone."""

    kind: int
    reach: int = 1
    piece: int = 0


@cache
def words_by_pieces() -> dict[int, list[str]]:
    """Words that are cut into 1, 2, 3 or 4 pieces."""
    random = Random(2)
    letters = sorted({letter for sentence in SENTENCES for word in sentence for letter in word})
    found = {count: [] for count in range(1, 5)}
    for word in {word for sentence in SENTENCES for word in sentence}:
        found.setdefault(len(vocabulary("pieces").encode([word]).ids), []).append(word)
    for _ in range(200):
        word = "".join(random.choice(letters) for _ in range(random.randint(2, 4)))
        found.setdefault(len(vocabulary("pieces").encode([word]).ids), []).append(word)
    return {count: sorted(found[count]) for count in range(1, 5)}


def random_words(random: Random, count: int) -> list[str]:
    return [random.choice(words_by_pieces()[random.randint(1, 4)]) for _ in range(count)]


def left_chain(count: int) -> Heads:
    """Every word hangs from the next one."""
    return (*range(2, count + 1), 0)


def right_chain(count: int) -> Heads:
    return tuple(range(count))


def flat(count: int) -> Heads:
    """All hang from the first word."""
    return (0, *[1] * (count - 1))


@cache
def sentences() -> list[tuple[list[str], Heads]]:
    """Of 1 to 12 words, of 1 to 4 pieces each; the last are long chains."""
    random = Random(4)
    trees = [random_tree(random, size) for size in [*range(1, 13), 6, 9, 12]]
    trees += [left_chain(12), right_chain(12), flat(12)]
    return [(random_words(random, len(heads)), heads) for heads in trees]


def actions_of(name: str, heads: Heads) -> list[Action]:
    return oracle(system_of(name), heads) if name in SYSTEM_OF else [Action(Kind.GEN)] * len(heads)


def symbols_of(actions: Sequence[Action], ids: Sequence[int], counts: Sequence[int]) -> list[Symbol]:
    """The symbols of a hypothesis, piece by piece; nothing for END."""
    symbols, pieces, lengths = [], iter(ids), iter(counts)
    for action in actions:
        if action.kind is Kind.GEN:
            symbols.append(Symbol(Kind.GEN, 1, next(pieces)))
            symbols += [Symbol(CONTINUE, 1, next(pieces)) for _ in range(next(lengths) - 1)]
        elif action.kind is not Kind.END:
            symbols.append(Symbol(action.kind, action.reach))
    return symbols


def symbols_of_sentence(name: str, words: list[str], heads: Heads) -> list[Symbol]:
    encoded = vocabulary("pieces").encode(words)
    return symbols_of(actions_of(name, heads), encoded.ids, [stop - start for start, stop in encoded.spans])


class Walk(NamedTuple):
    """Actions that are legal, in this order, whether or not an oracle would take them; they may stop anywhere."""

    actions: list[Action]
    ids: list[int]
    counts: list[int]

    @property
    def symbols(self) -> list[Symbol]:
        return symbols_of(self.actions, self.ids, self.counts)


def random_walk(name: str, random: Random, most_words: int, length: int, begin: Sequence[Action] = ()) -> Walk:
    """Arcs are as likely as words, so that stacks grow and shrink."""
    system, speaks, state, actions = system_of(name), vocabulary("pieces"), START, []
    for place in range(length):
        choices = [a for a in legal(system, state) if a.kind is not Kind.END and a.reach <= speaks.reach]
        if len(state.heads) == most_words:
            choices = [action for action in choices if action.kind is not Kind.GEN]
        if not choices:
            break
        actions.append(begin[place] if place < len(begin) else random.choice(choices))
        state = take(system, state, actions[-1])
    starts, continues = (flags.nonzero()[0].tolist() for flags in (speaks.starts_word, speaks.continues_word))
    counts = [random.randint(1, 4) for _ in state.heads]
    ids = [random.choice(continues if place else starts) for count in counts for place in range(count)]
    return Walk(actions, ids, counts)


@torch.no_grad()
def full_pass(model: Transformer, batch: Batch) -> list[Tensor]:
    """For each row of a batch the log-probabilities of all that may come next, position by position."""
    x = model(batch).flatten(0, 1)[batch.predicts]
    found = model.output(x, model.embedding.weight, batch.legal)
    rows = batch.predicts // batch.token.shape[1]
    return [found[rows == row] for row in range(len(batch.token))]


def of_oracles(model: Transformer, pairs: list[tuple[list[str], Heads]]) -> list[Tensor]:
    sequences = READINGS[model.config.model](model.vocabulary, pairs)
    return full_pass(model, batch_of(pad(sequences, range(len(pairs))), dense))


def of_walk(model: Transformer, walk: Walk) -> Tensor:
    batch = by_definition(model.config.model, model.vocabulary, torch.tensor([walk.ids]), walk.counts, walk.actions)
    return full_pass(model, batch)[0]


# ---- What is tested


def moved(
    stepper: StackStepper,
    hypotheses: Hypotheses,
    rows: Sequence[int],
    symbols: Sequence[Symbol],
    waiting: Sequence[Hypotheses] = (),
) -> Hypotheses:
    ids = np.array([id_of(stepper.model.vocabulary, symbol) for symbol in symbols])
    return stepper.step(hypotheses, np.array(rows), ids, waiting)


def id_of(speaks: Vocabulary, symbol: Symbol) -> int:
    """The entry of the vocabulary for a move."""
    if symbol.kind in (Kind.GEN, CONTINUE):
        return symbol.piece
    reach = f"[{symbol.reach}]" if symbol.reach > 1 else ""
    return speaks.transition(f"{Kind(symbol.kind).name}{reach}")


def begin(stepper: StackStepper, count: int, most_words: int = 12) -> Hypotheses:
    return stepper.choose(stepper.init(most_words), np.zeros(count, np.int64))


def stepped(stepper: StackStepper, scripts: Sequence[Sequence[Symbol]], most_words: int = 12) -> list[Tensor]:
    """Each goes its way, a symbol at a time and all at once; those that are over are dropped."""
    hypotheses, numbers, place = begin(stepper, len(scripts), most_words), list(range(len(scripts))), 0
    said = [[row] for row in stepper.log_probs(hypotheses)]
    while going := [row for row, number in enumerate(numbers) if place < len(scripts[number])]:
        numbers = [numbers[row] for row in going]
        hypotheses = moved(stepper, hypotheses, going, [scripts[number][place] for number in numbers])
        for number, row in zip(numbers, stepper.log_probs(hypotheses), strict=True):
            said[number].append(row)
        place += 1
    return [torch.stack(rows) for rows in said]


def stepped_in_turns(stepper: StackStepper, scripts: Sequence[Sequence[Symbol]], random: Random) -> list[Tensor]:
    """Each goes its way, some of them at a time, while the others wait."""
    hypotheses, numbers = begin(stepper, len(scripts)), list(range(len(scripts)))
    said = [[row] for row in stepper.log_probs(hypotheses)]
    while unfinished := [row for row, number in enumerate(numbers) if len(said[number]) <= len(scripts[number])]:
        going = random.sample(unfinished, random.randint(1, len(unfinished)))
        waits = [row for row in range(len(numbers)) if row not in going]
        random.shuffle(waits)
        others = [stepper.choose(hypotheses, np.array(part)) for part in (waits[::2], waits[1::2]) if part]
        symbols = [scripts[numbers[row]][len(said[numbers[row]]) - 1] for row in going]
        new = moved(stepper, hypotheses, going, symbols, others)
        for row, found in zip(going, stepper.log_probs(new), strict=True):
            said[numbers[row]].append(found)
        hypotheses = stepper.join([new, *others])
        numbers = [numbers[row] for row in [*going, *waits[::2], *waits[1::2]]]
    return [torch.stack(rows) for rows in said]


def assert_same(found: Sequence[Tensor], expected: Sequence[Tensor]) -> None:
    """All log-probabilities of all positions, not only of what comes next; what cannot be is the same, too."""
    for number, (mine, theirs) in enumerate(zip(found, expected, strict=True)):
        torch.testing.assert_close(mine, theirs, **SAME, msg=lambda text, number=number: f"{number}: {text}")


def test_the_sentences_have_words_of_one_to_four_pieces():
    """Without them the tests below would show less."""
    encoded = [vocabulary("pieces").encode(words) for words, _ in sentences()]
    assert {stop - start for e in encoded for start, stop in e.spans} == {1, 2, 3, 4}
    assert {len(words) for words, _ in sentences()} == set(range(1, 13))


@pytest.mark.parametrize("arcs", REPRESENTATIONS)
@pytest.mark.parametrize("output", ["single", "factored"])
@in_every_model
def test_step_by_step_the_oracles_actions_get_what_the_full_pass_gives_them(name, output, arcs):
    """All sentences at once, so that every step has stacks of different depths."""
    model = small_model(name, output=output, arcs=arcs)
    scripts = [symbols_of_sentence(name, *pair) for pair in sentences()]
    assert_same(stepped(StackStepper(model), scripts), of_oracles(model, sentences()))


@settings(max_examples=25, deadline=None)
@given(projective_trees(most_words=12), st.sampled_from(list(READINGS)), st.integers(0, 1000))
def test_step_by_step_any_projective_tree_gets_what_the_full_pass_gives_it(heads, name, seed):
    pair = (random_words(Random(seed), len(heads)), heads)
    model = small_model(name)
    assert_same(stepped(StackStepper(model), [symbols_of_sentence(name, *pair)]), of_oracles(model, [pair]))


@pytest.mark.parametrize("output", ["single", "factored"])
@in_every_model
def test_step_by_step_legal_actions_that_are_no_oracles_get_what_the_definitions_give_them(name, output):
    random = Random(6)
    model = small_model(name, output=output)
    walks = [random_walk(name, random, 12, length) for length in range(2, 32, 2)]
    if name in SYSTEM_OF:
        assert not all(is_an_oracles(name, walk.actions) for walk in walks)
    assert_same(stepped(StackStepper(model), [walk.symbols for walk in walks]), [of_walk(model, w) for w in walks])


def is_an_oracles(name: str, actions: list[Action]) -> bool:
    """True if these are the oracle's actions for their tree; false if no tree is finished yet, too."""
    state = START
    for action in actions:
        state = take(system_of(name), state, action)
    is_tree = Action(Kind.END) in legal(system_of(name), state)
    return is_tree and oracle(system_of(name), state.heads)[: len(actions)] == actions


@in_every_model
def test_together_hypotheses_get_what_each_gets_alone(name):
    """Some are a word long when others have a dozen words on their stacks."""
    random = Random(7)
    model = small_model(name)
    scripts = [random_walk(name, random, 12, length).symbols for length in (1, 3, 7, 13, 21, 30)]
    alone = [stepped(StackStepper(model), [script])[0] for script in scripts]
    assert_same(stepped(StackStepper(model), scripts), alone)


@in_every_model
def test_what_waits_can_be_continued_later(name):
    """In every step a few go on, and all others wait, in two sets that are put together afterwards."""
    model = small_model(name)
    pairs = sentences()[2:12:2] + sentences()[-3:]
    scripts = [symbols_of_sentence(name, *pair) for pair in pairs]
    assert_same(stepped_in_turns(StackStepper(model), scripts, Random(8)), of_oracles(model, pairs))


@in_every_model
def test_forked_hypotheses_go_different_ways_undisturbed(name):
    """A row is taken up to eight times in one step, and each copy gets what it would get by itself."""
    random = Random(9)
    model = small_model(name)
    first = [Action(kind) for kind in (Kind.GEN, Kind.GEN, Kind.LEFTARC, Kind.GEN)]
    if name not in SYSTEM_OF:
        first.remove(Action(Kind.LEFTARC))
    walks = [random_walk(name, random, 12, 20, begin=first) for _ in range(8)]
    # What is shared is the beginning, with its words.
    shared = walks[0].counts[:3]
    ids = walks[0].ids[: sum(shared)]
    walks = [
        Walk(walk.actions, [*ids, *walk.ids[sum(walk.counts[:3]) :]], [*shared, *walk.counts[3:]]) for walk in walks
    ]
    first = Walk(first, ids, shared)
    scripts = [walk.symbols for walk in walks]
    begun = len(first.symbols)
    assert all(script[:begun] == first.symbols for script in scripts)
    if name in SYSTEM_OF:
        assert len({script[begun].kind for script in scripts if len(script) > begun}) > 1
    stepper = StackStepper(model)
    hypotheses = begin(stepper, 1)
    for symbol in first.symbols:
        hypotheses = moved(stepper, hypotheses, [0], [symbol])
    numbers, row_of, place = list(range(len(walks))), [0] * len(walks), begun
    said = [[] for _ in walks]
    while going := [number for number in numbers if place < len(scripts[number])]:
        rows = [row_of[number] for number in going]
        hypotheses = moved(stepper, hypotheses, rows, [scripts[number][place] for number in going])
        for row, number in enumerate(going):
            row_of[number] = row
            said[number].append(stepper.log_probs(hypotheses)[row])
        numbers, place = going, place + 1
    for rows, walk in zip(said, walks, strict=True):
        expected = of_walk(model, walk)[begun + 1 :]
        assert len(rows) == len(expected)
        if rows:
            torch.testing.assert_close(torch.stack(rows), expected, **SAME)


@in_every_model
def test_fork_copies(name):
    """Changes to a copy change nothing in the original, nor in another copy."""
    stepper = StackStepper(small_model(name))
    word = Symbol(Kind.GEN, 1, int(vocabulary("pieces").starts_word.nonzero()[0][0]))
    hypotheses = moved(stepper, begin(stepper, 1), [0], [word])
    copies = stepper.choose(hypotheses, np.array([0, 0, 0]))
    assert len(copies) == 3
    before = [column.copy() for column in (*hypotheses.states, *hypotheses.cache)]
    for column in (*copies.states, *copies.cache):
        column[1] = 7
    for column, old in zip((*hypotheses.states, *hypotheses.cache), before, strict=True):
        assert (column == old).all()
    for column, old in zip((*copies.states, *copies.cache), before, strict=True):
        assert (column[[0, 2]] == old[0]).all()


@in_every_model
def test_together_is_undone_by_fork(name):
    """Also where one cache has more room than another."""
    random, model = Random(10), small_model(name)
    stepper = StackStepper(model)
    sets = []
    for length in (0, 2, 9):
        hypotheses = begin(stepper, 2)
        for symbol in random_walk(name, random, 12, length).symbols:
            hypotheses = moved(stepper, hypotheses, [0, 1], [symbol, symbol], sets)
        sets.append(hypotheses)
    joined = stepper.join(sets)
    assert len(joined) == 6
    apart = torch.cat([stepper.log_probs(part) for part in sets])
    torch.testing.assert_close(stepper.log_probs(joined), apart, rtol=0, atol=1e-5)
    for number, part in enumerate(sets):
        back = stepper.choose(joined, np.array([2 * number, 2 * number + 1]))
        filled = int(part.cache.filled[0])
        assert (back.cache.slot[:, :filled] == part.cache.slot[:, :filled]).all()
        assert (back.cache.filled == part.cache.filled).all() and (back.begun == part.begun).all()
        for mine, theirs in zip(back.states, part.states, strict=True):
            assert (mine == theirs).all()


# ---- What is legal


@in_every_model
def test_what_is_legal_is_what_the_compiled_sentences_say(name):
    """Three integers at every position that predicts."""
    pairs = sentences()
    vectors = [READINGS[name](vocabulary("pieces"), pairs).sentence(number) for number in range(len(pairs))]
    for pair, compiled in zip(pairs, vectors, strict=True):
        stepper = StackStepper(small_model(name))
        hypotheses = begin(stepper, 1, most_words=len(pair[0]))
        found = [stepper.legal(hypotheses)]
        for symbol in symbols_of_sentence(name, *pair):
            hypotheses = moved(stepper, hypotheses, [0], [symbol])
            found.append(stepper.legal(hypotheses))
        predicts = compiled.target != NOTHING
        for column, mine in zip(Legal._fields, zip(*found, strict=True), strict=True):
            assert torch.cat(mine).tolist() == getattr(compiled, column)[predicts].tolist(), column


@in_every_model
def test_the_legal_symbols_after_any_actions_are_those_of_the_system(name):
    random = Random(11)
    stepper, walks = StackStepper(small_model(name)), [random_walk(name, random, 12, 24) for _ in range(6)]
    in_reach = (1 << vocabulary("pieces").reach) - 1
    for walk in walks:
        hypotheses = begin(stepper, 1)
        found = [stepper.legal(hypotheses)]
        for symbol in walk.symbols:
            hypotheses = moved(stepper, hypotheses, [0], [symbol])
            found.append(stepper.legal(hypotheses))
        may, left, right = legal_bits(system_of(name), walk.counts, walk.actions)
        expected = [may, left & in_reach, right & in_reach]
        for mine, theirs in zip(zip(*found, strict=True), expected, strict=True):
            assert torch.cat(mine).tolist() == theirs.tolist()


# ---- What it costs


@in_every_model
def test_every_position_is_computed_once(name):
    """As many as the compiled sentences have, but that all begin with the same <ROOT>."""
    pairs = sentences()
    sequences, stepper = READINGS[name](vocabulary("pieces"), pairs), StackStepper(small_model(name))
    stepped(stepper, [symbols_of_sentence(name, *pair) for pair in pairs])
    assert stepper.positions == sequences.starts[-1] - len(pairs) + 1
    composes = int((sequences.vectors.kind == COMPOSE).sum())
    assert composes == (sum(len(words) for words, _ in pairs) if name.startswith("dtg") else 0)


@in_every_model
def test_under_autocast_the_cache_is_as_coarse_as_the_products_and_what_is_said_nearly_the_same(name):
    pairs = sentences()[:6]
    symbols = [symbols_of_sentence(name, *pair) for pair in pairs]
    exact = stepped(StackStepper(small_model(name)), symbols)
    with torch.autocast("cpu", torch.bfloat16):
        stepper = StackStepper(small_model(name))
        coarse = stepped(stepper, symbols)
    assert {x.dtype for x in (*stepper.pool.keys, *stepper.pool.values)} == {torch.bfloat16}
    for one, other in zip(exact, coarse, strict=True):
        assert other.dtype == torch.float32
        assert other.isfinite().equal(one.isfinite())
        assert 0 < (one - other)[one.isfinite()].abs().max() < 0.2


def most_slots(name: str, heads: Heads, copies: int = 1) -> int:
    """The largest number of slots that are in use at once for a sentence of one-piece words."""
    word = words_by_pieces()[1][0]
    stepper = StackStepper(small_model(name))
    stepped(stepper, [symbols_of_sentence(name, [word] * len(heads), heads)] * copies, len(heads))
    return stepper.pool.most


@pytest.mark.parametrize("shape", [left_chain, flat])
@in_every_dtg
def test_memory_does_not_grow_with_a_sentence_whose_stack_stays_low(name, shape):
    """ROOT, two words or three, and the two positions of an arc."""
    most = [most_slots(name, shape(count)) for count in (5, 20, 40)]
    assert most[0] == most[1] == most[2] <= 6


@in_every_dtg
def test_memory_grows_with_the_stack(name):
    """A word of a right chain stays until the end, or until it has its own dependent."""
    assert most_slots(name, right_chain(40)) - most_slots(name, right_chain(20)) == 20


@pytest.mark.parametrize("name", by_model(["txl-trans", "txl-tokens"]))
def test_memory_of_a_model_without_a_stack_grows_with_the_sentence(name):
    """By two symbols a word, a GEN and an arc, or by one; <ROOT> is there besides."""
    for count in (10, 40):
        assert most_slots(name, left_chain(count)) == most_slots(name, flat(count)) == symbols_a_word(name) * count + 1


def symbols_a_word(name: str) -> int:
    return 2 if name in SYSTEM_OF else 1


def test_memory_is_never_more_than_the_hypotheses_can_see_and_what_is_new():
    """Four copies of a sentence share <ROOT> alone, as they begin apart from each other."""
    alone, four = most_slots("dtg", flat(12)), most_slots("dtg", flat(12), copies=4)
    assert four == 4 * (alone - 1) + 1
    pool = StackStepper(small_model("dtg")).pool
    assert pool.free([], 4).tolist() == pool.free([], 4).tolist() == [0, 1, 2, 3] and len(pool.keys[0]) == 4
