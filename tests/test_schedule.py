"""What is learnt when, and how fast: planned ahead, from the seed alone."""

import math
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import nn

from dtglib.basics.errors import UserError
from dtglib.sequences.batches import by_length
from dtglib.training.muon import Muon
from dtglib.training.schedule import Step, TrainConfig, all_steps

RATES = TrainConfig(learning_rate=1.0, first_rate=0.1, last_rate=0.01, warmup_steps=10)
LENGTHS = np.random.default_rng(3).integers(5, 40, 50)


def rates(steps: int, config: TrainConfig = RATES) -> list[float]:
    return [config.rate(step, steps, []) for step in range(steps)]


def planned(seed: int = 1, **settings) -> list[Step]:
    return all_steps(partial(by_length, LENGTHS), TrainConfig(batch_positions=200, **settings), seed)


def numbers(steps: list[Step]) -> list[int]:
    return [number for step in steps for batch in step.batches for number in batch.tolist()]


# ---- Rates


def test_the_rate_rises_in_a_straight_line_to_the_end_of_the_warmup():
    rise = rates(100)[:10]
    assert rise[-1] == 1.0
    # A line that is at first_rate before the first step: the first step already learns a little faster.
    assert rise == pytest.approx(np.linspace(0.1, 1.0, 11)[1:])


def test_then_it_falls_along_half_a_cosine():
    fall = rates(110)[10:]
    assert fall[0] == 1.0
    assert fall[25] == pytest.approx(0.01 + 0.99 * (1 + math.sqrt(0.5)) / 2)
    assert fall[50] == pytest.approx((1.0 + 0.01) / 2)
    assert fall[75] == pytest.approx(0.01 + 0.99 * (1 - math.sqrt(0.5)) / 2)
    assert all(before > after for before, after in pairwise(fall))


def test_at_the_end_it_is_at_last_rate():
    assert 0.01 < rates(1000)[-1] < 0.01 + 1e-5
    assert RATES.rate(1000, 1000, []) == pytest.approx(0.01)


def test_the_paper_s_schedule():
    paper = partial(TrainConfig().rate, steps=100_000, dev=[])
    assert paper(0) == pytest.approx(1e-7, rel=0.2)
    assert paper(7_999) == paper(8_000) == 1.5e-4
    assert paper(99_999) == pytest.approx(3e-7, rel=1e-3)


def test_without_a_warmup_it_begins_at_the_top():
    assert rates(10, replace(RATES, warmup_steps=0))[0] == 1.0


@pytest.mark.parametrize("steps", [1, 5, 10])
def test_a_training_that_is_shorter_than_its_warmup_only_rises(steps):
    assert rates(steps) == rates(1000)[:steps]


# ---- Steps


def test_every_sentence_comes_once_an_epoch():
    steps = planned(epochs=3)
    for epoch in range(3):
        assert Counter(numbers([s for s in steps if s.epoch == epoch])) == Counter(range(len(LENGTHS)))


def test_every_epoch_has_its_own_order_and_its_own_batches():
    steps = planned(epochs=2)
    first, second = ([s for s in steps if s.epoch == epoch] for epoch in (0, 1))
    assert numbers(first) != numbers(second)
    batches = [{frozenset(batch.tolist()) for step in epoch for batch in step.batches} for epoch in (first, second)]
    assert batches[0] != batches[1]


def test_the_plan_depends_on_the_seed_alone():
    np.random.seed(8)
    plan = numbers(planned(seed=4))
    torch.manual_seed(9)
    np.random.seed(9)
    assert numbers(planned(seed=4)) == plan != numbers(planned(seed=5))


def test_a_longer_training_begins_like_a_shorter_one():
    short, long = planned(epochs=2), planned(epochs=3)
    assert numbers(long[: len(short)]) == numbers(short)


@pytest.mark.parametrize("together", [1, 2, 3, 1000])
def test_a_step_takes_so_many_batches_and_none_of_the_next_epoch(together):
    single = planned(epochs=2)
    steps = planned(epochs=2, batches_per_step=together)
    assert numbers(steps) == numbers(single)
    for epoch in (0, 1):
        counts = [len(step.batches) for step in steps if step.epoch == epoch]
        assert set(counts[:-1]) <= {together}
        assert 1 <= counts[-1] <= together
    of_an_epoch = math.ceil(len(single) / 2 / together)
    assert [step.ends_epoch for step in steps] == ([False] * (of_an_epoch - 1) + [True]) * 2


# ---- The optimiser


class Tied(nn.Module):
    """The embedding is also the output's weight."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.inner, self.out = nn.Embedding(5, 4), nn.Linear(4, 4), nn.Linear(4, 5)
        self.out.weight = self.embedding.weight


def test_embeddings_learn_faster_and_every_parameter_learns_once():
    model = Tied()
    others, embeddings = TrainConfig(embedding_rate=3.0).optimizer(model).param_groups
    assert (others["times"], embeddings["times"]) == (1.0, 3.0)
    assert [p is model.embedding.weight for p in embeddings["params"]] == [True]
    assert {id(p) for p in others["params"] + embeddings["params"]} == {id(p) for p in model.parameters()}
    assert len(others["params"]) == 3


def test_a_model_without_embeddings_has_one_rate():
    (group,) = TrainConfig(embedding_rate=3.0).optimizer(nn.Linear(2, 2)).param_groups
    assert group["times"] == 1.0


def test_matrices_may_have_steps_of_muon_and_a_rate_of_their_own():
    model = Tied()
    optimizer = TrainConfig(matrix_rate=2.5).optimizer(model)
    assert type(optimizer) is Muon
    others, embeddings, matrices = optimizer.param_groups
    assert [group["times"] for group in optimizer.param_groups] == [1.0, 2.0, 2.5]
    assert [id(p) for p in matrices["params"]] == [id(model.inner.weight)] and matrices["orthogonal"]
    assert {id(p) for p in others["params"]} == {id(model.inner.bias), id(model.out.bias)}
    assert [id(p) for p in embeddings["params"]] == [id(model.embedding.weight)]


def test_the_optimiser_is_the_paper_s():
    optimizer = TrainConfig().optimizer(Tied())
    assert type(optimizer) is torch.optim.AdamW
    for group in optimizer.param_groups:
        assert (group["betas"], group["weight_decay"]) == ((0.9, 0.999), 0.0)
    assert TrainConfig(weight_decay=0.1).optimizer(Tied()).param_groups[0]["weight_decay"] == 0.1


# ---- Settings


def test_the_defaults_are_the_paper_s():
    config = TrainConfig()
    assert (config.learning_rate, config.first_rate, config.last_rate) == (1.5e-4, 1e-7, 3e-7)
    assert (config.epochs, config.warmup_steps, config.embedding_rate, config.clip) == (4, 8000, 2.0, 3.0)


@pytest.mark.parametrize(
    "wrong",
    [
        *(
            {key: 0}
            for key in ("epochs", "batch_positions", "batches_per_step", "longest", "evaluate_every", "patience")
        ),
        *({key: 0.0} for key in ("learning_rate", "first_rate", "last_rate", "embedding_rate", "matrix_rate", "clip")),
        *({key: -1} for key in ("epochs", "warmup_steps")),
        *({key: -1.0} for key in ("learning_rate", "weight_decay")),
        *({key: value} for key in ("learning_rate", "clip") for value in (math.nan, math.inf)),
        *({"weight_decay": value} for value in (math.nan, math.inf)),
    ],
    ids=str,
)
def test_a_setting_that_makes_no_sense_is_named(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        TrainConfig(**wrong)
