"""DTG by the letter of its paper: what each position sees, and that all forms of a model say the same."""

import naive
import numpy as np
import pytest
import torch
from naive import StackEntry, simulate
from test_stackcache import full_pass, sentences, stepped, symbols_of
from toys import small_model, vocabulary
from trees import all_trees

from dtglib.decode.beam import Widths, search
from dtglib.decode.trie import computed, planned
from dtglib.families.base import family
from dtglib.network.attention import NEAREST, sinusoids
from dtglib.network.transformer import batch_of
from dtglib.sequences.batches import pad
from dtglib.sequences.structure import dense, flex
from dtglib.transitions import SYSTEMS, Kind
from dtglib.transitions import oracle as oracle_of

NAMES = ["dtg-blind", "dtg-shared", "dtg-swift-masked"]
STANDARD_OF = {"dtg-blind": "dtg", "dtg-shared": "dtg", "dtg-swift-masked": "dtg-swift"}
ALL = Widths(10**6, 10**6, 0, 10**6)

in_each = pytest.mark.parametrize("name", NAMES)
pytestmark = pytest.mark.usefixtures("one_thread")


def system_of(model):
    return SYSTEMS[model.reading.system.NAME]


def batch_for(model, pairs, form=dense):
    return batch_of(pad(model.reading.compile(model.vocabulary, pairs), range(len(pairs))), form)


def algorithm_1(actions, pieces: list[int]) -> list[dict[int, int]]:
    """What each position sees, line by line as in the paper, and R of section 3.2; a word's pieces stand together."""
    stack, seen, pieces = [[0]], [{0: 0}], iter(pieces)

    def look_at_the_stack() -> None:
        seen.append({j: -depth for depth, entry in enumerate(reversed(stack)) for j in entry})

    for action in actions:
        if action.kind is Kind.GEN:
            stack.append([])
            for _ in range(next(pieces)):
                stack[-1].append(len(seen))
                look_at_the_stack()
        elif action.kind is not Kind.END:
            upper, lower = stack.pop(), stack.pop()
            head, dependent = (upper, lower) if action.kind is Kind.LEFTARC else (lower, upper)
            seen.append(dict.fromkeys(head, 0) | dict.fromkeys(dependent, -1))
            stack.append([len(seen) - 1])
            look_at_the_stack()
    return seen


def pieces_in(words) -> list[int]:
    return [stop - start for start, stop in vocabulary("pieces").encode(words).spans]


@pytest.mark.parametrize(("name", "sees_itself"), [("dtg-blind", False), ("dtg-shared", True)])
def test_positions_see_what_algorithm_1_says_at_the_places_of_section_3_2(name, sees_itself):
    model = small_model(name)
    structure = model.layer_inputs(batch_for(model, sentences())).structure
    for row, (words, heads) in enumerate(sentences()):
        rows = algorithm_1(oracle_of(SYSTEMS["arc-standard"], heads), pieces_in(words))
        for i, expected in enumerate(rows):
            seen = structure.visible[row, i].nonzero()[:, 0].tolist()
            if sees_itself:
                found = {j: -int(structure.relpos[row, i, j]) for j in seen}
                assert found == expected | {i: 0}
            else:
                assert set(seen) == set(expected)


def test_turned_signs_of_relative_positions_are_taken_back_by_the_weights_that_read_them():
    of_sines, table = torch.tensor([-1.0] * 8 + [1.0] * 8), sinusoids(16, 16, torch.device("cpu"))
    torch.testing.assert_close(table[-1 - NEAREST], table[1 - NEAREST] * of_sines)
    for block in small_model("dtg").blocks:
        turned = block.table(table * of_sines)  # of -n, for each n
        with torch.no_grad():
            block.places.weight *= of_sines
        torch.testing.assert_close(block.table(table), turned)


def test_masked_dependents_are_seen_by_their_own_arc_only(monkeypatch):
    """The definition: the dependent stays on the stack as an entry without positions."""

    def masking(stack, buffer, action, here):
        entries = naive._arc_swift(stack, buffer, action, here)
        if action.kind is Kind.RIGHTARC:
            stack[-1] = StackEntry(stack[-1].word, [])
        return entries

    monkeypatch.setitem(naive.ARCS, "arc-swift", masking)
    model = small_model("dtg-swift-masked")
    structure = model.layer_inputs(batch_for(model, sentences())).structure
    for row, (words, heads) in enumerate(sentences()):
        expected = simulate("arc-swift", oracle_of(SYSTEMS["arc-swift"], heads), pieces_in(words)).relpos
        size = len(expected)
        seen, relpos = structure.visible[row, :size, :size], structure.relpos[row, :size, :size]
        assert np.where(seen.numpy(), relpos.numpy().astype(object), None).tolist() == expected


@in_each
def test_it_differs_from_what_it_takes_back(name):
    model = small_model(name)
    other = small_model(STANDARD_OF[name])
    other.load_state_dict(model.state_dict())
    pairs = sentences()[4:9]
    mine, usual = (one.log_probs(batch_for(one, pairs)) for one in (model, other))
    assert (mine - usual).abs().max() > 1e-3


@in_each
@torch.no_grad()
def test_dense_flex_and_tries_agree(name):
    model, words = small_model(name), ["the", "difference", "theirs", "is"]
    pairs = [*sentences()[:9], *((words, heads) for heads in all_trees(4))]  # those of one sentence share a trie
    batches = [batch_for(model, pairs, form) for form in (dense, flex)]
    by_dense, by_flex = (model.log_probs(batch).double() for batch in batches)
    torch.testing.assert_close(by_dense, by_flex, atol=1e-4, rtol=0)
    rows = (batches[0].predicts // batches[0].token.shape[1]).numpy()
    expected = np.bincount(rows, by_dense.numpy(), minlength=len(pairs))
    sequences = model.reading.compile(model.vocabulary, pairs)
    found = computed(model, planned(sequences, torch.device("cpu"), model.bias_of))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)


@in_each
def test_step_by_step_it_says_what_the_full_pass_says(name):
    model, pairs = small_model(name), sentences()
    scripts = []
    for words, heads in pairs:
        encoded = model.vocabulary.encode(words)
        scripts.append(symbols_of(oracle_of(system_of(model), heads), encoded.ids, pieces_in(words)))
    found, expected = stepped(model.stepper(), scripts), full_pass(model, batch_for(model, pairs))
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-4, rtol=0)


@in_each
def test_a_search_without_pruning_sums_over_all_trees(name):
    model = small_model(name)
    words = ["the", "difference", "is", "there"]
    (found,) = search(model.stepper(), model.vocabulary, [words], ALL)
    trees = [(words, heads) for heads in all_trees(4)]
    sequences = model.reading.compile(model.vocabulary, trees)
    of_trees = computed(model, planned(sequences, torch.device("cpu"), model.bias_of))
    assert found.log_prob == pytest.approx(float(of_trees.logsumexp(0)), abs=1e-4)
    assert found.log_derivation == pytest.approx(float(of_trees.max()), abs=1e-4)


@in_each
def test_its_question_compares_it_with_the_model_that_decided_otherwise(name):
    ((variants),) = family(name).questions.values()
    assert [variant.model.get("model") for variant in variants.values()] == [None, STANDARD_OF[name]]
