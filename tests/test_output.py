"""The next symbol has a distribution over the legal symbols, and no other symbol has any probability.

What is legal is found here by playing the oracle's actions on the states of a system, and is never read off the bits
that compile writes.
"""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from scalar_systems import legal, oracle, take
from toys import READINGS, in_both_vocabularies, in_every_system, trees, vocabulary
from trees import Heads

from dtglib.data.vocabulary import END, PAD, UNKNOWN, Vocabulary
from dtglib.network.output import (
    CONTINUES,
    ENDS,
    FIRST_PAIR,
    NEVER,
    POPS,
    STARTS,
    Factored,
    Legal,
    Single,
    Whole,
    classes_of,
    legal_log_softmax,
)
from dtglib.network.search_output import for_search, some_of
from dtglib.sequences.columns import NOTHING, Sequences
from dtglib.sequences.compile import compile_trees
from dtglib.transitions import START, SYSTEMS, Action, Kind, State
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END

WIDTH = 16

both_outputs = pytest.mark.parametrize("output", [Single, Factored])


# ---- What is legal, by the definition of the system


def legal_ids(name: str, state: State, in_word: bool, vocabulary: Vocabulary) -> set[int]:
    """The legal symbols of a state; a word that has begun may go on, too."""
    starts, continues = (set(np.flatnonzero(flags)) for flags in (vocabulary.starts_word, vocabulary.continues_word))
    ids = continues if in_word else set()
    for action in legal(SYSTEMS[name], state):
        match action:
            case Action(kind=Kind.GEN):
                ids = ids | starts
            case Action(kind=Kind.END):
                ids = ids | {END}
            case Action() if action.reach <= vocabulary.reach:
                ids = ids | {vocabulary.transition(str(action))}
    return ids


def legal_by_replay(name: str, words: list[str], heads: Heads, vocabulary: Vocabulary) -> Iterator[set[int]]:
    """Of each position that predicts, in their order."""
    state, pieces = START, [len(vocabulary.encode([word]).ids) for word in words]
    yield legal_ids(name, state, False, vocabulary)
    for action in oracle(SYSTEMS[name], heads)[:-1]:
        state = take(SYSTEMS[name], state, action)
        is_word = action.kind is Kind.GEN
        # The word may be over after any of its pieces.
        for _ in range(pieces[len(state.heads) - 1] if is_word else 1):
            yield legal_ids(name, state, is_word, vocabulary)


def legal_of(sequences: Sequences) -> Legal:
    """The bits of all positions that predict."""
    predicts = sequences.vectors.target != NOTHING
    return Legal(*(torch.from_numpy(getattr(sequences.vectors, name)[predicts]) for name in Legal._fields))


def random_output(output: type, vocabulary: Vocabulary) -> tuple[Single | Factored, torch.Tensor]:
    """With embeddings, all weights far from zero."""
    torch.manual_seed(4)
    module = output(WIDTH, vocabulary)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    return module, torch.randn(len(vocabulary), WIDTH)


def log_probs(output: type, vocabulary: Vocabulary, legal: Legal) -> torch.Tensor:
    module, embeddings = random_output(output, vocabulary)
    with torch.no_grad():
        return module(torch.randn(len(legal.may), WIDTH), embeddings, legal)


def assert_a_distribution_over(found: torch.Tensor, expected: list[set[int]]) -> None:
    """All of it on what is legal, something on each, and exactly nothing elsewhere."""
    assert len(found) == len(expected)
    is_legal = torch.zeros(found.shape, dtype=torch.bool)
    for row, ids in enumerate(expected):
        is_legal[row, list(ids)] = True
    probabilities = found.double().exp()
    assert (probabilities.sum(1) - 1).abs().max() < 1e-6
    assert (probabilities > 0).equal(is_legal)


# ---- Distributions


@both_outputs
@in_both_vocabularies
@in_every_system
def test_all_that_is_legal_sums_to_1_and_nothing_else_gets_any(name, kind, output):
    sequences = compile_trees(SYSTEMS[name], vocabulary(kind), trees())
    expected = [ids for tree in trees() for ids in legal_by_replay(name, *tree, vocabulary(kind))]
    assert_a_distribution_over(log_probs(output, vocabulary(kind), legal_of(sequences)), expected)


@both_outputs
@in_both_vocabularies
def test_txl_trans_may_do_what_arc_standard_may(kind, output):
    sequences = READINGS["txl-trans"](vocabulary(kind), trees())
    expected = [ids for tree in trees() for ids in legal_by_replay("arc-standard", *tree, vocabulary(kind))]
    assert_a_distribution_over(log_probs(output, vocabulary(kind), legal_of(sequences)), expected)


@both_outputs
@in_both_vocabularies
def test_txl_tokens_may_go_on_anyhow_once_it_has_begun(kind, output):
    v = vocabulary(kind)
    starts, continues = (set(np.flatnonzero(flags)) for flags in (v.starts_word, v.continues_word))
    expected = []
    for words, _ in trees():
        expected += [starts] + [starts | continues | {END}] * len(v.encode(words).ids)
    assert_a_distribution_over(log_probs(output, v, legal_of(READINGS["txl-tokens"](v, trees()))), expected)


def test_the_sentences_have_words_of_several_pieces_and_long_arcs():
    """Without them the tests above would show little."""
    spans = [span for words, _ in trees() for span in vocabulary("pieces").encode(words).spans]
    assert sum(stop - start > 1 for start, stop in spans) > 20
    arcs = [action.reach for _, heads in trees() for action in oracle(SYSTEMS["arc-swift"], heads)]
    assert max(arcs) > 2


@both_outputs
def test_what_really_comes_next_is_always_legal(output):
    for reading in READINGS.values():
        sequences = reading(vocabulary("pieces"), trees())
        target = sequences.vectors.target[sequences.vectors.target != NOTHING]
        found = log_probs(output, vocabulary("pieces"), legal_of(sequences))
        assert found.gather(1, torch.from_numpy(target).long()[:, None]).isfinite().all()


# ---- Classes


@in_both_vocabularies
def test_every_entry_has_the_one_class_that_its_name_says(kind):
    v = vocabulary(kind)
    names = {
        "<END>": ENDS,
        "POP": POPS,
        "LEFTARC": FIRST_PAIR,
        "RIGHTARC": FIRST_PAIR + 1,
        "LEFTARC[2]": FIRST_PAIR + 2,
    }
    names |= {"<pad>": NEVER, "<ROOT>": NEVER, "<unknown>": NEVER if kind == "pieces" else STARTS}
    classes = classes_of(v)
    assert len(classes) == len(v)
    for number, (entry, found) in enumerate(zip(v.entries, classes.tolist(), strict=True)):
        if number >= len(v.reserved):
            assert found == (STARTS if entry.startswith("▁") else CONTINUES)
        elif entry in names:
            assert found == names[entry]
    arcs = [number for entry, number in v.reserved.items() if "ARC" in entry]
    assert len(set(classes[arcs].tolist())) == len(arcs) == 2 * v.reach
    assert not set(classes[arcs].tolist()) & {NEVER, STARTS, CONTINUES, ENDS, POPS}


# ---- The formulas


@in_every_system
def test_single_is_one_softmax_over_all_that_is_legal(name):
    v = vocabulary("pieces")
    sequences = compile_trees(SYSTEMS[name], v, trees()[5:10])
    module, embeddings = random_output(Single, v)
    expected = [ids for tree in trees()[5:10] for ids in legal_by_replay(name, *tree, v)]
    x = torch.randn(len(expected), WIDTH)
    with torch.no_grad():
        found = module(x, embeddings, legal_of(sequences))
        logits = x @ embeddings.T + module.bias
    for row, ids in enumerate(map(sorted, expected)):
        torch.testing.assert_close(found[row, ids].exp(), logits[row, ids].softmax(0))


@in_both_vocabularies
@in_every_system
def test_factored_is_an_action_and_then_the_word(name, kind):
    """p(word) = p(a word comes) p(word | it comes), and p(LEFTARC) is that of the action."""
    v = vocabulary(kind)
    sequences = compile_trees(SYSTEMS[name], v, trees()[5:10])
    module, embeddings = random_output(Factored, v)
    expected = [ids for tree in trees()[5:10] for ids in legal_by_replay(name, *tree, v)]
    x = torch.randn(len(expected), WIDTH)
    with torch.no_grad():
        found = module(x, embeddings, legal_of(sequences)).exp()
        of_actions, of_words = module.actions(x), x @ embeddings.T + module.bias
    is_word = v.starts_word | v.continues_word
    for row, ids in enumerate(map(sorted, expected)):
        words, actions = [n for n in ids if is_word[n]], [n for n in ids if not is_word[n]]
        # What stands for "a word comes" among the actions is the module's own choice; it has chosen <pad>.
        action = of_actions[row, actions + [PAD] * bool(words)].softmax(0)
        torch.testing.assert_close(found[row, actions], action[: len(actions)])
        if words:
            torch.testing.assert_close(found[row, words], action[-1] * of_words[row, words].softmax(0))


def test_factored_may_say_that_a_word_comes_without_saying_which():
    """Other words' weights move the words alone: the probability of each transition stays as it is."""
    v = vocabulary("words")
    legal = legal_of(compile_trees(SYSTEMS["arc-standard"], v, trees()))
    module, embeddings = random_output(Factored, v)
    x = torch.randn(len(legal.may), WIDTH)
    with torch.no_grad():
        before, after = (module(x, table, legal) for table in (embeddings, embeddings.flip(0)))
    is_word = torch.from_numpy(v.starts_word | v.continues_word)
    assert after[:, ~is_word].equal(before[:, ~is_word])
    assert not after[:, is_word].equal(before[:, is_word])


@in_every_system
def test_whole_is_a_softmax_over_all_entries_of_which_the_share_of_the_illegal_is_lost(name):
    v = vocabulary("pieces")
    sequences = compile_trees(SYSTEMS[name], v, trees()[5:10])
    module, embeddings = random_output(Whole, v)
    expected = [ids for tree in trees()[5:10] for ids in legal_by_replay(name, *tree, v)]
    x = torch.randn(len(expected), WIDTH)
    with torch.no_grad():
        found = module(x, embeddings, legal_of(sequences)).exp()
        everything = (x @ embeddings.T + module.bias).softmax(1)
    for row, ids in enumerate(map(sorted, expected)):
        torch.testing.assert_close(found[row, ids], everything[row, ids])
        illegal = [number for number in range(len(v)) if number not in ids]
        assert (found[row, illegal] == 0).all()
    assert (found.sum(1) < 1).all()


def test_whole_divided_by_what_is_legal_is_single():
    v = vocabulary("words")
    legal = legal_of(compile_trees(SYSTEMS["arc-standard"], v, trees()))
    found = {output: log_probs(output, v, legal) for output in (Whole, Single)}
    torch.testing.assert_close(found[Whole].log_softmax(1), found[Single])


# ---- Where there is no choice


@both_outputs
def test_where_only_the_end_may_come_it_is_certain_and_nothing_is_nan(output):
    v = vocabulary("pieces")
    module, embeddings = random_output(output, v)
    x, embeddings = torch.randn(3, WIDTH, requires_grad=True), embeddings.requires_grad_()
    found = module(x, embeddings, Legal(torch.tensor([MAY_END] * 3), torch.zeros(3).int(), torch.zeros(3).int()))
    assert (found[:, END] == 0).all()
    assert not found.isnan().any()
    found[:, END].sum().backward()
    for tensor in (x, embeddings, *module.parameters()):
        assert tensor.grad is None or (tensor.grad == 0).all()
    assert x.grad is not None and embeddings.grad is not None


@pytest.mark.parametrize("output", [Single, Factored, Whole])
@in_every_system
def test_no_gradient_is_nan_and_what_is_illegal_has_none_but_of_the_whole(name, output):
    """Among these positions are all sorts: an end alone, arcs alone, words alone."""
    v = vocabulary("pieces")
    sequences = compile_trees(SYSTEMS[name], v, trees())
    target = torch.from_numpy(sequences.vectors.target[sequences.vectors.target != NOTHING]).long()
    module, embeddings = random_output(output, v)
    x, embeddings = torch.randn(len(target), WIDTH, requires_grad=True), embeddings.requires_grad_()
    module(x, embeddings, legal_of(sequences)).gather(1, target[:, None]).sum().backward()
    for tensor in (x, embeddings, *module.parameters()):
        assert tensor.grad.isfinite().all()
        assert tensor.grad.any()
    illegal = [v.reserved["<ROOT>"], PAD, UNKNOWN] + ([] if name == "arc-eager" else [v.transition("POP")])
    assert (embeddings.grad[illegal] == 0).all() == (output is not Whole)


def test_one_legal_symbol_is_certain_whatever_the_logits():
    bars = torch.tensor([[-torch.inf, 0.0, -torch.inf]])
    for logits in ([[1e4, -1e4, 0.0]], [[-1e4, 1e4, 3.0]]):
        assert legal_log_softmax(torch.tensor(logits), bars).tolist() == [[-torch.inf, 0, -torch.inf]]


@both_outputs
def test_under_bfloat16_the_probabilities_are_float32_and_sum_to_1(output):
    v = vocabulary("pieces")
    with torch.autocast("cpu", torch.bfloat16):
        found = log_probs(output, v, legal_of(compile_trees(SYSTEMS["arc-standard"], v, trees())))
    assert found.dtype == torch.float32
    assert (found.double().exp().sum(1) - 1).abs().max() < 1e-6


# ---- A few symbols


@pytest.mark.parametrize("output", [Single, Factored, Whole])
@in_both_vocabularies
@in_every_system
def test_a_search_gets_the_log_probabilities_of_a_few_symbols_from_the_distribution(name, kind, output):
    """Positions within words and after transitions beside each other; all symbols are asked for somewhere."""
    v = vocabulary(kind)
    legal = legal_of(compile_trees(SYSTEMS[name], v, trees()))
    module, embeddings = random_output(output, v)
    x, asked = torch.randn(len(legal.may), WIDTH), torch.randint(len(v), (len(legal.may), 40))
    assert len(asked.unique()) == len(v)
    with torch.no_grad():
        distributions = module(x, embeddings, legal).double()
        goes_on = (legal.may & MAY_CONTINUE).bool().numpy()
        found, of_kinds = for_search(module, embeddings).some(x, legal, asked, goes_on)
    expected = distributions.gather(1, asked)
    torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)
    assert (expected > -torch.inf).any() and (expected == -torch.inf).any()
    kinds = [torch.from_numpy(v.continues_word), torch.from_numpy(v.starts_word), torch.arange(len(v)) == END]
    sums = torch.stack([distributions[:, kind].exp().sum(1).log() for kind in kinds], dim=1)
    torch.testing.assert_close(of_kinds.double(), sums, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(some_of(distributions, asked, module.classes), (expected, sums))
