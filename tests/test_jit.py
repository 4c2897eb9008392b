"""Kernels give the same results as plain functions and as compiled ones, and are compiled when there is much to do."""

import math
import pickle
import sys
from functools import partial
from random import Random
from threading import Thread

import numpy as np
import pytest
from kernels import assert_searched_alike, both, compiled, plain
from toys import compiled as compiled_sentences
from toys import in_every_kind_of_model, in_every_system, model_of, random_sentences
from toys import trees as small_trees
from trees import random_tree

from dtglib.basics import jit
from dtglib.basics.jit import INTEGERS, SECONDS, njit
from dtglib.decode import sequence_stepper
from dtglib.decode.beam import Widths, search
from dtglib.transitions import SYSTEMS, batch, oracle, rows

pytestmark = pytest.mark.usefixtures("one_thread")


# ---- The same results


@in_every_system
def test_plain_kernels_find_the_actions_of_random_trees(name):
    random = Random(4)
    for heads in [random_tree(random, random.randint(1, 60)) for _ in range(30)]:
        actions, same = both(partial(oracle, SYSTEMS[name], heads))
        assert actions == same, heads


@in_every_system
def test_plain_kernels_compile_random_trees(name):
    sequences, same = both(partial(compiled_sentences, name, random_sentences(5, 12)))
    assert sequences.starts.tolist() == same.starts.tolist()
    for column in sequences.vectors._fields:
        np.testing.assert_array_equal(getattr(sequences.vectors, column), getattr(same.vectors, column), strict=True)


@in_every_system
def test_plain_kernels_allow_and_close_with_the_same_actions(name):
    system, random = SYSTEMS[name], Random(6)
    tree = random_tree(random, 35)
    states = batch.start(1, len(tree) + 2)
    for action in oracle(system, tree):
        for legal in (batch.legal, batch.closing):
            bits, same = both(partial(legal, system, states))
            np.testing.assert_array_equal(bits, same, strict=True)
        fork, same = batch.choose(states, np.zeros(1, int)), batch.choose(states, np.zeros(1, int))
        with plain():
            batch.step(system, fork, np.array([action.kind]), np.array([action.reach]))
        with compiled():
            batch.step(system, same, np.array([action.kind]), np.array([action.reach]))
        for column, other in zip(fork, same, strict=True):
            np.testing.assert_array_equal(column, other, strict=True)
        states = fork


FOUR = [words for words, _ in small_trees()[:4]]  # sentences of up to four words


@in_every_kind_of_model
def test_plain_kernels_search_as_compiled_ones_do(name):
    assert_searched_alike(model_of(name), FOUR)


@in_every_kind_of_model
def test_attention_without_compiled_loops_differs_in_rounding_only(name, monkeypatch):
    model, results = model_of(name), []
    for positions in (math.inf, 0):
        monkeypatch.setattr(sequence_stepper, "POSITIONS_UNCOMPILED", positions)
        results.append(search(model.stepper(), model.vocabulary, FOUR, Widths(20, 20)))
    for one, same in zip(*results, strict=True):
        assert one.log_prefix == pytest.approx(same.log_prefix, abs=1e-5)
        assert one.log_prob == pytest.approx(same.log_prob, abs=1e-5)


# ---- When a kernel is compiled


def total(values):
    return values.sum()


@pytest.fixture
def without_numba(monkeypatch):
    """As in a process that has not done anything yet."""
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(jit._plain, "seconds", 0.0)


def watched() -> jit.Kernel:
    """A kernel whose compiled form is recognised by its result."""
    kernel = njit(total)
    kernel.__dict__["compiled"] = lambda values: "compiled"
    return kernel


@pytest.mark.usefixtures("without_numba")
@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (np.arange(4), 6),
        (np.arange(INTEGERS + 1), "compiled"),
        (np.arange(4.0), "compiled"),
    ],
    ids=["few integers", "many integers", "other numbers"],
)
def test_few_integers_need_no_numba(argument, expected):
    assert watched()(argument) == expected


def test_where_numba_is_loaded_all_is_compiled(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", object())
    assert watched()(np.arange(4)) == "compiled"


@pytest.mark.usefixtures("without_numba")
def test_kernels_are_compiled_when_the_time_is_used_up():
    kernel = watched()
    while kernel(np.arange(INTEGERS)) != "compiled":
        pass
    assert jit._plain.seconds > SECONDS


@pytest.mark.usefixtures("without_numba")
def test_an_error_in_a_plain_kernel_ends_its_run():
    with pytest.raises(AttributeError):
        njit(total)(3)
    assert not jit._plain.runs


@pytest.mark.usefixtures("without_numba")
def test_each_thread_has_its_own_time():
    results = []
    with compiled():
        thread = Thread(target=lambda: results.append(watched()(np.arange(4))))
        thread.start()
        thread.join()
    assert results == [6]


def test_kernels_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(rows.row_of)) is rows.row_of
