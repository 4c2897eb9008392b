"""One loop for every model: a toy of 54 numbers is enough to show when it steps, stops, goes on and what it keeps.

The toy (toys.py) shares nothing with our model but `loss` and `save`. The last part shows the same of the command line,
with our model and minilang.
"""

import itertools
import json
import math
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import slow
from running import WEIGHTS_FILE, bits, elsewhere, interrupted_at, lines, tensors, wait_for, written
from torch import Tensor, nn
from toys import CONFIG, CPU, TINY, Answering, Bad, Bigrams, Ends, Fragile, Judging, Letters, run

import dtglib.basics.progress
import dtglib.training.loop
from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.cli.main import main
from dtglib.network.transformer import LossPart
from dtglib.training.checkpoint import FILE as CHECKPOINT_FILE
from dtglib.training.distributed import has_bfloat16_units
from dtglib.training.examples import Examples
from dtglib.training.networks import best_on_dev
from dtglib.training.schedule import TrainConfig, all_steps
from dtglib.training.stopping import Interrupted

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory) -> Path:
    """The run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    run(folder)
    return folder


def assert_same_run(folder: Path, other: Path) -> None:
    assert bits(folder) == bits(other)
    assert lines(folder) == lines(other)
    assert read_record(folder).about["status"] == "finished"


# ---- What the loop does


def by_hand(config: TrainConfig, data: Letters) -> nn.Module:
    """The same training written out: all sentences of a step at once, over the sentences of an average step."""
    model = Bigrams(dropout=0)
    steps = all_steps(partial(data.plan, device=CPU), config, seed=1)
    sentences_per_step = np.mean([sum(map(len, step.batches)) for step in steps])
    groups = [{"params": model.out.parameters()}, {"params": model.embedding.parameters()}]
    optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.999), weight_decay=config.weight_decay)
    for number, step in enumerate(steps):
        sentences = np.concatenate(step.batches)
        optimizer.zero_grad()
        (model.loss(data.batch(sentences, 0, CPU))[0] / sentences_per_step).backward()
        norm = torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).norm()
        for parameter in model.parameters():
            parameter.grad *= min(1, config.clip / norm)
        rate = config.rate(number, len(steps), [])
        for group, times in zip(optimizer.param_groups, (1, config.embedding_rate), strict=True):
            group["lr"] = rate * times
        optimizer.step()
    return model


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"batches_per_step": 2},
        {"batches_per_step": 4},
        {"clip": 0.3},
        {"embedding_rate": 1.0},
        {"weight_decay": 9.0},
    ],
    ids=str,
)
def test_a_step_is_what_it_is_by_hand(other, tmp_path):
    config = replace(CONFIG, **other)
    data = Letters()
    trained = run(tmp_path, config, Bigrams(dropout=0), data=data)
    for ours, theirs in zip(trained.parameters(), by_hand(config, data).parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "other",
    [
        {"batches_per_step": 2},
        {"clip": 0.3},
        {"embedding_rate": 1.0},
        {"matrix_rate": 2.5},
        {"weight_decay": 9.0},
        {"warmup_steps": 5},
    ],
    ids=str,
)
def test_every_setting_makes_a_difference(other, tmp_path):
    # Or else the test above could not fail.
    for name, config in (("default", CONFIG), ("other", replace(CONFIG, **other))):
        run(tmp_path / name, config, Bigrams(dropout=0))
    first, second = (torch.cat([t.flatten() for t in tensors(tmp_path / n, WEIGHTS_FILE).values()]) for n in
                     ("default", "other"))  # fmt: skip
    assert (first - second).abs().max() > 1e-3


def test_every_sentence_comes_exactly_once_an_epoch_and_every_epoch_has_its_own_order(tmp_path):
    data = Letters()
    run(tmp_path, replace(CONFIG, epochs=3), data=data)
    seen = [number for batch in data.taken for number in batch]
    epochs = [seen[: len(data.names)], seen[len(data.names) : 2 * len(data.names)], seen[2 * len(data.names) :]]
    for epoch in epochs:
        assert Counter(epoch) == Counter(range(len(data.names)))
    assert len(set(map(tuple, epochs))) == 3


def test_the_same_seed_gives_the_same_bits_and_another_one_others(uninterrupted, tmp_path):
    run(tmp_path / "again")
    assert_same_run(tmp_path / "again", uninterrupted)
    run(tmp_path / "other", seed=2)
    assert bits(tmp_path / "other") != bits(uninterrupted)


class InOrder(Letters):
    """They always come in the same order."""

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]:
        return np.array_split(np.arange(len(self.names)), 6)


def test_the_seed_decides_about_the_order_and_about_what_is_dropped_out(tmp_path):
    data = {seed: Letters() for seed in (1, 2)}
    models = {seed: run(tmp_path / f"in-order-{seed}", data=InOrder(), seed=seed) for seed in data}
    for seed in data:
        run(tmp_path / f"shuffled-{seed}", data=data[seed], seed=seed)
    assert data[1].taken != data[2].taken
    assert not models[1].out.weight.equal(models[2].out.weight)


def test_random_numbers_of_others_neither_disturb_training_nor_are_disturbed_by_it(uninterrupted, tmp_path):
    model = Bigrams()
    torch.manual_seed(77)
    expected = torch.rand(3)
    torch.manual_seed(77)
    run(tmp_path, model=model)
    assert torch.rand(3).equal(expected)
    assert_same_run(tmp_path, uninterrupted)


def test_the_loss_goes_down(uninterrupted):
    dev = [line["nats_per_transition"] for line in lines(uninterrupted, "dev")]
    assert dev[-1] < dev[0] - 0.05


# ---- What it writes


def test_the_folder_of_a_finished_run_holds_the_model_and_its_record_and_nothing_else(uninterrupted):
    names = {"config.yaml", "metrics.jsonl", "record.json", WEIGHTS_FILE}
    assert written(uninterrupted).keys() == names
    about, config, _ = read_record(uninterrupted)
    assert (about["status"], about["seeds"]) == ("finished", [1])
    assert config == {**asdict(CONFIG), "computed_in": "float32", "computed_on": "cpu"}


def test_metrics_are_lines_with_keys_that_do_not_change(tmp_path):
    about = {"parameters": 54, "train": "24 sentences"}
    run(tmp_path, about=about)
    metrics = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert {"part": "about", "steps": 12, **about}.items() <= metrics[0].items()
    keys = {
        "about": {"steps", *about},
        "train": {"step", "epoch", "nats_per_transition", "nats_per_sentence", "learning_rate", "gradient_norm",
                  "positions_per_second", "padding"},
        "dev": {"step", "nats_per_transition", "nats_per_sentence", "is_best"},
    }  # fmt: skip
    for line in metrics:
        assert set(line) == {"seconds", "part"} | keys[line["part"]]
    assert [line["part"] for line in metrics] == ["about", *["train", "dev"] * 3, "train", "train", "dev"]
    assert [line["step"] for line in metrics[1:]] == [3, 3, 6, 6, 9, 9, 10, 12, 12]


def test_a_line_of_metrics_is_about_the_steps_since_the_last_one(tmp_path):
    data, held_out = Letters(), Letters(8, seed=9)
    config = replace(CONFIG, evaluate_every=None, batches_per_step=2)  # a line an epoch
    unmoved = replace(config, learning_rate=1e-12, first_rate=1e-12, last_rate=1e-12)
    model = run(tmp_path, unmoved, Bigrams(dropout=0), data=data, held_out=held_out)
    for part, sentences in (("train", data), ("dev", held_out)):
        nats, parts = model.loss(sentences.batch(range(len(sentences.names)), 0, CPU))
        for line in lines(tmp_path, part):
            assert line["nats_per_transition"] == pytest.approx(nats.item() / parts["transition"].events, rel=1e-6)
            assert line["nats_per_sentence"] == pytest.approx(nats.item() / len(sentences.names), rel=1e-6)
    padded = sum(len(b) * data.lengths[b].max() for b in map(np.array, data.taken[:6]))
    assert lines(tmp_path, "train")[0]["padding"] == pytest.approx(1 - data.lengths.sum() / padded)
    assert [line["epoch"] for line in lines(tmp_path, "train")] == [1, 2]


def test_the_rate_and_the_norm_of_the_gradient_are_recorded(tmp_path):
    run(tmp_path, replace(CONFIG, evaluate_every=1))
    train_lines = lines(tmp_path, "train")
    assert [line["learning_rate"] for line in train_lines] == [CONFIG.rate(step, 12, []) for step in range(12)]
    assert all(0 < line["gradient_norm"] < 100 for line in train_lines)


def test_a_bar_shows_the_loss_the_speed_and_when_it_will_be_over(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(dtglib.basics.progress, "SECONDS_BEFORE_A_BAR", 0)
    monkeypatch.delenv("CI", raising=False)
    run(tmp_path / "toy")
    last = capsys.readouterr().err.split("\r")[-1]
    assert re.search(r"training toy: 100%.* 12/12 \[\d\d:\d\d<\d\d:\d\d,.*, loss=\d\.\d{3}, positions/s=\d+\]", last)


# ---- Which model is kept, and when to stop


class Scripted(Bigrams):
    """Its held-out loss is what the script says, one value an evaluation; `states` are its weights at each."""

    def __init__(self, *script: float) -> None:
        super().__init__()
        self.script, self.states = list(script), []

    def loss(self, batch: Tensor) -> tuple[Tensor, dict[str, LossPart]]:
        nats, parts = super().loss(batch)
        if self.training:
            return nats, parts
        self.states.append({name: tensor.clone() for name, tensor in self.state_dict().items()})
        events = parts["transition"].events
        nats = torch.tensor(self.script.pop(0) * events)
        return nats, {"transition": LossPart(nats.float(), events)}


ONE_HELD_OUT_BATCH = replace(CONFIG, epochs=1, evaluate_every=1)


def test_the_best_model_is_kept_and_not_the_last(tmp_path):
    model = run(tmp_path, ONE_HELD_OUT_BATCH, Scripted(3, 2, 4, 2, 5, 6), held_out=Letters(2))
    kept = tensors(tmp_path, WEIGHTS_FILE)
    assert len(model.states) == 6
    assert [all(kept[name].equal(state[name]) for name in kept) for state in model.states] == [0, 1, 0, 0, 0, 0]
    assert [line["is_best"] for line in lines(tmp_path, "dev")] == [True, True, False, False, False, False]


def test_data_that_judge_say_which_model_is_best_and_when_to_stop(tmp_path):
    patient, data = replace(CONFIG, evaluate_every=1, patience=2), Judging(0.3, 0.5, 0.5, 0.4, 0.9)
    run(tmp_path, patient, Answering(), held_out=data)
    expected = [float(row.sum()) for row in data.rows]
    assert len(data.plan(patient.batch_positions, np.random.default_rng(0), CPU)) > 1
    assert [answers.tolist() for answers in data.asked] == [expected] * 4
    found = lines(tmp_path, "dev")
    assert [line["likeness"] for line in found] == [0.3, 0.5, 0.5, 0.4]
    assert [line["is_best"] for line in found] == [True, True, False, False]
    assert all(line["mean"] == pytest.approx(np.mean(expected)) for line in found)
    assert best_on_dev(tmp_path)["step"] == 2
    assert min(found, key=lambda line: line["nats_per_sentence"])["step"] != 2, "the loss would choose another one"


class Talking(Bigrams):
    """It tells how often it was asked, and whether it was training then."""

    asked = 0

    def own_metrics(self, held_out: Letters) -> dict[str, object]:
        self.asked += 1
        return {"asked": self.asked, "is training": self.training, "sentences": len(held_out.names)}


def test_what_a_network_tells_of_itself_stands_beside_its_loss_and_changes_nothing(uninterrupted, tmp_path):
    run(tmp_path, model=Talking())
    found = [line for line in lines(tmp_path) if line["part"] == "dev"]
    assert [(line["asked"], line["is training"], line["sentences"]) for line in found] == [
        (number, False, 8) for number in range(1, len(found) + 1)
    ]
    assert all("asked" not in line for line in lines(uninterrupted) if line["part"] == "dev")
    assert bits(tmp_path) == bits(uninterrupted)


def test_training_stops_after_so_many_evaluations_without_a_better_one(tmp_path):
    patient = replace(ONE_HELD_OUT_BATCH, patience=2)
    run(tmp_path, patient, Scripted(3, 4, 2, 2, 5, 1), held_out=Letters(2))
    # 4 is worse than 3, but then comes 2; a second 2 is no better, and neither is 5.
    assert [line["nats_per_transition"] for line in lines(tmp_path, "dev")] == pytest.approx([3, 4, 2, 2, 5])
    assert read_record(tmp_path).about["status"] == "finished"


def test_without_patience_training_goes_on_to_the_end(tmp_path):
    run(tmp_path, ONE_HELD_OUT_BATCH, Scripted(1, 2, 3, 4, 5, 6), held_out=Letters(2))
    assert len(lines(tmp_path, "dev")) == 6


def test_a_run_that_has_lost_its_patience_does_not_regain_it_where_it_goes_on(tmp_path):
    patient = replace(ONE_HELD_OUT_BATCH, patience=1)
    with pytest.raises(Interrupted, match="after step 2 of 6"):
        run(tmp_path, patient, Scripted(1, 2), held_out=Letters(2), data=Ends(2, signal.SIGINT))
    run(tmp_path, patient, Scripted(), held_out=Letters(2), data=Ends(1))
    assert [line["step"] for line in lines(tmp_path, "dev")] == [1, 2]
    assert read_record(tmp_path).about["status"] == "finished"


def test_evaluation_comes_at_the_end_of_every_epoch_where_nothing_else_is_said(tmp_path):
    run(tmp_path, replace(CONFIG, evaluate_every=None))
    assert [line["step"] for line in lines(tmp_path, "dev")] == [6, 12]


def test_the_model_is_evaluated_at_its_last_step_whatever_is_said(tmp_path):
    run(tmp_path, replace(CONFIG, evaluate_every=5))
    assert [line["step"] for line in lines(tmp_path, "dev")] == [5, 10, 12]


def test_nothing_is_dropped_out_in_evaluation(tmp_path):
    model = run(tmp_path, replace(CONFIG, evaluate_every=None, epochs=1))
    model.eval()
    nats, parts = model.loss(Letters(8, seed=9).batch(range(8), 0, CPU))
    assert lines(tmp_path, "dev")[-1]["nats_per_transition"] == pytest.approx(nats.item() / parts["transition"].events)


# ---- Interrupted


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM], ids=lambda by: by.name)
@pytest.mark.parametrize("at", [1, 2, 3, 8, 12])
def test_a_signal_lets_the_step_end_and_saves_and_the_second_run_gives_the_same_bits(at, by, uninterrupted, tmp_path):
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    data = Ends(at, by)
    with pytest.raises(Interrupted, match=rf"stopped after step {at} of 12; the same command goes on"):
        run(tmp_path, data=data)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    assert read_record(tmp_path).about["status"] == "interrupted"
    assert (tmp_path / CHECKPOINT_FILE).exists() and lines(tmp_path, "train")[-1]["step"] == at

    rest = Letters()
    run(tmp_path, data=rest)
    assert bits(tmp_path) == bits(uninterrupted)
    assert lines(tmp_path, "dev") == lines(uninterrupted, "dev")
    assert not (tmp_path / CHECKPOINT_FILE).exists()

    whole = Letters()
    run(tmp_path / "whole", data=whole)
    assert data.taken + rest.taken == whole.taken


def test_a_run_may_be_stopped_at_every_step(uninterrupted, tmp_path):
    for number in range(1, 13):
        with pytest.raises(Interrupted, match=f"step {number} of 12"):
            run(tmp_path, data=Ends(1, signal.SIGINT))
    run(tmp_path)
    assert bits(tmp_path) == bits(uninterrupted)
    assert lines(tmp_path, "dev") == lines(uninterrupted, "dev")


def test_the_second_signal_stops_at_once(tmp_path):
    class Twice(Letters):
        def take(self, numbers):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            raise AssertionError("it went on")

    with pytest.raises(KeyboardInterrupt) as stop:
        run(tmp_path, data=Twice())
    assert not isinstance(stop.value, Interrupted)


def test_a_signal_that_comes_after_the_last_step_is_not_lost_and_the_training_is_finished(tmp_path):
    class Late(Letters):
        def take(self, numbers):
            super().take(numbers)
            if len(self.taken) == count:
                signal.raise_signal(signal.SIGINT)

    held_out = Letters(8, seed=9)
    run(tmp_path / "whole", held_out=held_out)
    count = len(held_out.taken)
    with pytest.raises(KeyboardInterrupt) as stop:
        run(tmp_path / "late", held_out=Late(8, seed=9))
    assert not isinstance(stop.value, Interrupted)
    assert_same_run(tmp_path / "late", tmp_path / "whole")


def test_a_long_epoch_is_saved_on_the_way_and_goes_on_with_the_same_lines(tmp_path, monkeypatch):
    config = replace(CONFIG, epochs=5, evaluate_every=1000)
    run(tmp_path / "whole", config)
    monkeypatch.setattr(dtglib.training.loop, "CHECKPOINT_SECONDS", 0)
    with pytest.raises(RuntimeError):
        run(tmp_path / "ended", config, data=Ends(19))
    rest = Letters()
    run(tmp_path / "ended", config, data=rest)
    assert rest.taken == _taken_by(config)[10:]
    assert_same_run(tmp_path / "ended", tmp_path / "whole")


def _taken_by(config: TrainConfig) -> list[list[int]]:
    steps = all_steps(partial(Letters().plan, device=CPU), config, seed=1)
    return [batch.tolist() for step in steps for batch in step.batches]


# ---- Killed


def train_and_be_killed(folder: Path, at: int) -> None:
    """Train in a process of its own, and die at the `at`-th moment: before a file is opened, renamed or deleted, or
    before a batch is taken."""
    moments = itertools.count(1)

    def a_moment() -> None:
        if next(moments) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(event: str, arguments: tuple) -> None:
        if event in ("open", "os.rename", "os.remove") and str(folder) in str(arguments[0]):
            a_moment()

    class Deadly(Letters):
        def take(self, numbers):
            a_moment()

    sys.addaudithook(watch)
    run(folder, data=Deadly())


# Slow: a process for every moment; the fast tier stops runs by signals and errors.
@pytest.mark.slow
def test_a_run_killed_at_any_moment_ends_with_the_same_bits_as_one_that_was_not(uninterrupted, tmp_path):
    stood = Counter()
    for at in itertools.count(1):
        folder = tmp_path / str(at)
        (status,) = elsewhere((train_and_be_killed, folder, at))
        if status == 0:  # all moments are behind us
            break
        assert status == -signal.SIGKILL
        stood["with a checkpoint" if (folder / CHECKPOINT_FILE).exists() else "without"] += 1
        run(folder)
        assert_same_run(folder, uninterrupted)
        assert not (folder / CHECKPOINT_FILE).exists()
    assert stood["with a checkpoint"] > 20 and stood["without"] > 10, stood


# ---- Other runs in the same folder


def test_a_finished_run_is_not_trained_again(tmp_path):
    run(tmp_path)
    before = written(tmp_path)
    data = Letters()
    run(tmp_path, data=data)
    assert data.taken == []
    assert written(tmp_path) == before


@pytest.mark.parametrize("standing", ["finished", "interrupted"])
def test_a_run_with_other_settings_is_refused_and_the_difference_shown(standing, tmp_path):
    if standing == "finished":
        run(tmp_path)
    else:
        with pytest.raises(Interrupted):
            run(tmp_path, data=Ends(4, signal.SIGINT))
    before = written(tmp_path)
    other = replace(CONFIG, epochs=3, learning_rate=0.5)
    with pytest.raises(UserError) as refused:
        run(tmp_path, other)
    for part in (str(tmp_path), "other settings", "epochs was 2 and is 3", "learning_rate was 0.05 and is 0.5"):
        assert part in str(refused.value)
    assert "clip" not in str(refused.value)
    assert written(tmp_path) == before


def test_a_run_on_other_data_is_refused(tmp_path):
    run(tmp_path, identity={"checksum_of_train": "ab12"})
    with pytest.raises(UserError, match="checksum_of_train was ab12 and is cd34"):
        run(tmp_path, identity={"checksum_of_train": "cd34"})


def test_a_run_that_was_killed_before_its_first_checkpoint_makes_way_for_another(tmp_path):
    with pytest.raises(RuntimeError):
        run(tmp_path, data=Ends(2))
    other = replace(CONFIG, epochs=1)
    run(tmp_path, other)
    assert read_record(tmp_path).config["epochs"] == 1


def test_a_checkpoint_of_another_kind_of_model_is_refused_even_where_its_settings_are_the_same(tmp_path):
    # As it happens when the package changes between two commands.
    with pytest.raises(Interrupted):
        run(tmp_path, data=Ends(4, signal.SIGINT))
    other = Bigrams()
    other.out = nn.Linear(4, 7)
    with pytest.raises(UserError, match=r"checkpoint\.safetensors: .*out\."):
        run(tmp_path, model=other)


# ---- What cannot go well


BATCHES = _taken_by(CONFIG)
FOURTH = BATCHES[3]  # the batch of step 4, with four sentences
LARGE = next(batch for batch in BATCHES if len(batch) == 6)


def all_is_finite(folder: Path) -> bool:
    files = [name for name in (CHECKPOINT_FILE, WEIGHTS_FILE) if (folder / name).exists()]
    return all(bool(tensor.isfinite().all()) for name in files for tensor in tensors(folder, name).values())


at_any_rhythm = pytest.mark.parametrize("every", [1, 3, None])


@pytest.mark.parametrize("value", [math.nan, math.inf])
@at_any_rhythm
def test_a_loss_that_is_no_number_stops_the_run_and_step_and_sentences_are_named(value, every, tmp_path):
    config, model = replace(CONFIG, evaluate_every=every), Fragile(lambda model: torch.tensor(value))
    with pytest.raises(UserError, match=f"the loss of step 4 is {value}, in the batch of the 4 sentences") as stop:
        run(tmp_path, config, model, data=Bad(FOURTH[2]))
    assert set(re.findall(r"'letters-(\d+)'", str(stop.value))) == set(map(str, FOURTH))
    assert read_record(tmp_path).about["status"] == "failed"
    assert all_is_finite(tmp_path)
    assert max((line["step"] for line in lines(tmp_path, "dev")), default=0) < 4


def test_of_a_large_batch_the_first_sentences_are_named_and_all_are_counted(tmp_path):
    with pytest.raises(UserError, match=r"batch of the 6 sentences ('letters-\d+', ){5}\.\.\.;"):
        run(tmp_path, model=Fragile(lambda model: torch.tensor(math.nan)), data=Bad(LARGE[0]))


@at_any_rhythm
def test_a_gradient_that_is_no_number_stops_the_run_too(every, tmp_path):
    def harmless_but_for_its_slope(model: nn.Module) -> Tensor:
        return (model.out.bias * 0).abs().sqrt().sum()

    config, model = replace(CONFIG, evaluate_every=every), Fragile(harmless_but_for_its_slope)
    with pytest.raises(UserError, match="the gradient of step 4 is nan") as stop:
        run(tmp_path, config, model, data=Bad(FOURTH[2]))
    assert f"'letters-{FOURTH[2]}'" in str(stop.value)
    assert all_is_finite(tmp_path)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_held_out_loss_that_is_no_number_stops_the_run_too(value, tmp_path):
    with pytest.raises(UserError, match=rf"held-out.* {value}"):
        run(tmp_path, ONE_HELD_OUT_BATCH, Scripted(3, value, 2, 2, 2, 2), held_out=Letters(2))
    assert read_record(tmp_path).about["status"] == "failed"


def test_an_exploding_run_ends_with_an_error_and_no_checkpoint_holds_nan(tmp_path):
    wild = replace(CONFIG, learning_rate=1e38, warmup_steps=0, evaluate_every=1, clip=1e38)
    with pytest.raises(UserError, match="try a lower learning_rate"):
        run(tmp_path, wild)
    assert all_is_finite(tmp_path)


def test_a_full_disk_leaves_the_old_checkpoint_whole_and_the_run_goes_on_when_there_is_room(uninterrupted, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with pytest.raises(Interrupted):
        run(tmp_path, data=Ends(4, signal.SIGINT))
    before = (tmp_path / CHECKPOINT_FILE).read_bytes()

    class NoRoom(Letters):
        def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> Tensor:
            # What is written beside the checkpoint lands on a device that is always full.
            part = tmp_path / f"{CHECKPOINT_FILE}.{os.getpid()}.part"
            if not part.is_symlink():
                part.symlink_to("/dev/full")
            return super().batch(numbers, positions, device)

    with pytest.raises(UserError, match=r"checkpoint\.safetensors: No space left on device"):
        run(tmp_path, data=NoRoom())
    assert (tmp_path / CHECKPOINT_FILE).read_bytes() == before
    run(tmp_path)
    assert bits(tmp_path) == bits(uninterrupted)


def test_what_a_killed_run_was_writing_does_not_stay_for_ever(tmp_path):
    # At the paper's size it has three gigabytes.
    (tmp_path / f"{CHECKPOINT_FILE}.999999999.part").write_bytes(b"half a checkpoint")
    (tmp_path / f"{CHECKPOINT_FILE}.7.part").write_bytes(b"of the only process of a container")
    (tmp_path / "film.1080p.part").write_bytes(b"somebody's")
    run(tmp_path)
    assert [path.name for path in tmp_path.glob("*.part")] == ["film.1080p.part"]


# ---- Precision


class Watched(Bigrams):
    """It notes in what its products come out, in training and in evaluation."""

    def __init__(self) -> None:
        super().__init__(dropout=0)
        self.products = set()

    def loss(self, batch: Tensor) -> tuple[Tensor, dict[str, LossPart]]:
        self.products.add((self.training, str(self.out(self.embedding.weight).dtype)))
        return super().loss(batch)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_model_trains_in_either_precision(precision, tmp_path):
    model = run(tmp_path, replace(CONFIG, precision=precision, epochs=4), Watched())
    assert model.products == {(True, f"torch.{precision}"), (False, f"torch.{precision}")}
    assert {str(tensor.dtype) for tensor in tensors(tmp_path, WEIGHTS_FILE).values()} == {"torch.float32"}
    losses = [line["nats_per_transition"] for line in lines(tmp_path, "train")]
    assert losses[-1] < losses[0] - 0.1


def test_auto_is_what_the_processor_is_fastest_in_and_is_recorded_as_that(tmp_path):
    device = torch.device("cuda") if torch.cuda.is_available() else CPU
    run(tmp_path, replace(CONFIG, precision="auto"))
    assert read_record(tmp_path).config["computed_in"] == ("bfloat16" if has_bfloat16_units(device) else "float32")


# ---- The command line, with our model


@pytest.fixture
def tiny(tmp_path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def command(*arguments: object) -> int:
    return main(["train", *map(str, arguments)])


# Slow: three trainings, one in a process of its own. A signal ends one quickly below.
@pytest.mark.slow
def test_a_command_that_was_killed_goes_on_with_the_same_bits(tiny, tmp_path):
    arguments = [tiny, "--out", tmp_path / "killed", "--set", "epochs=12"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    killed = subprocess.Popen([sys.executable, "-m", "dtglib", "train", *map(str, arguments)], env=environment)
    checkpoint, metrics = tmp_path / "killed" / CHECKPOINT_FILE, tmp_path / "killed" / "metrics.jsonl"
    wait_for(lambda: checkpoint.exists() and metrics.read_bytes().count(b"\n") > 10)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    assert read_record(tmp_path / "killed").about["status"] == "running"
    assert checkpoint.exists()

    assert command(*arguments) == 0
    assert command(tiny, "--out", tmp_path / "whole", "--set", "epochs=12") == 0
    assert_same_run(tmp_path / "killed", tmp_path / "whole")


@pytest.mark.parametrize("model", ["dtg", *slow(["txl-tokens"])])
def test_an_interrupted_command_is_one_line_and_status_130_and_goes_on(model, tiny, tmp_path, monkeypatch, capsys):
    arguments = [tiny, "--model", model]
    with interrupted_at(Examples, 5, monkeypatch):
        assert command(*arguments, "--out", tmp_path / "stopped") == 130
    (line,) = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"dtglib: stopped after step \d+ of \d+; the same command goes on", line)

    assert command(*arguments, "--out", tmp_path / "stopped") == 0
    assert command(*arguments, "--out", tmp_path / "whole") == 0
    assert bits(tmp_path / "stopped") == bits(tmp_path / "whole")
    assert lines(tmp_path / "stopped", "dev") == lines(tmp_path / "whole", "dev")


def command_and_exit(*arguments: object) -> None:
    sys.exit(command(*arguments))


# Slow: two whole commands and one lock.
@pytest.mark.slow
def test_of_two_commands_with_the_same_folder_one_trains_and_the_other_waits(tiny, tmp_path):
    arguments = [tiny, "--model", "txl-tokens", "--set", "epochs=20"]
    both = (command_and_exit, *arguments, "--out", tmp_path / "both")
    assert elsewhere(both, both) == [0, 0]
    assert command(*arguments, "--out", tmp_path / "alone") == 0
    assert_same_run(tmp_path / "both", tmp_path / "alone")


@pytest.mark.parametrize("threads", [1, *slow([2])])
def test_the_same_command_gives_the_same_bits(threads, tiny, tmp_path):
    torch.set_num_threads(threads)
    few_large_steps = ["layers=1", "width=64", "inner=256", "epochs=2", "batch_positions=2048", "evaluate_every=null"]
    for name in ("first", "second"):
        options = [word for setting in few_large_steps for word in ("--set", setting)]
        assert command(tiny, *options, "--out", tmp_path / name) == 0
    assert_same_run(tmp_path / "first", tmp_path / "second")


def test_another_seed_is_another_model_in_another_order(tiny, tmp_path):
    for seed in (1, 2):
        assert command(tiny, "--set", f"seed={seed}", "--set", "epochs=1", "--out", tmp_path / str(seed)) == 0
    first, second = (tensors(tmp_path / str(seed), WEIGHTS_FILE) for seed in (1, 2))
    assert not first["embedding.weight"].isclose(second["embedding.weight"], atol=0.01).any(dim=1).all()


# Slow: our model in bfloat16; the fast tier has the toy.
@pytest.mark.slow
def test_our_model_trains_in_bfloat16(tiny, tmp_path):
    longer = ["--set", "precision=bfloat16", "--set", "dropout=0", "--set", "epochs=8"]
    assert command(tiny, *longer, "--out", tmp_path / "run") == 0
    dev = [line["nats_per_transition"] for line in lines(tmp_path / "run", "dev")]
    assert dev[-1] < dev[0] - 0.5


@pytest.mark.cuda
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_on_cuda_our_model_trains_compiled_on_packed_rows_and_goes_on_where_it_was_stopped(
    precision, tiny, tmp_path, monkeypatch
):
    # Heads of FlexAttention are at least 16 wide.
    wide = ["--set", "width=64", "--set", "train_sentences=400", "--set", "batch_positions=4096", "--set", "epochs=8"]
    arguments = [tiny, *wide, "--set", f"precision={precision}", "--out", tmp_path / "run"]
    with interrupted_at(Examples, 8, monkeypatch):
        assert command(*arguments) == 130
    assert command(*arguments) == 0
    dev = [line["nats_per_transition"] for line in lines(tmp_path / "run", "dev")]
    assert dev[-1] < dev[0] - 0.5
    # The last rows of an epoch are not full: padding is up to .26 in a line, and .12 in the mean over the lines.
    assert np.mean([line["padding"] for line in lines(tmp_path / "run", "train")]) < 0.2
