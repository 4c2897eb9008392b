"""Several processes that train one model do together what one does alone, and none waits for one that has failed."""

import json
import os
import signal
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
from conftest import slow
from running import WEIGHTS_FILE, lines, tensors, together, torchrun, written
from torch import nn
from toys import CONFIG, CPU, TINY, Answering, Bad, Bigrams, Ends, Fragile, Judging, Letters, run

import dtglib.basics.progress
from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.cli.main import main
from dtglib.training.checkpoint import FILE as CHECKPOINT_FILE
from dtglib.training.distributed import has_bfloat16_units, processes
from dtglib.training.schedule import TrainConfig, all_steps
from dtglib.training.stopping import Interrupted

pytestmark = pytest.mark.usefixtures("one_thread")

TOGETHER = replace(CONFIG, batches_per_step=2, evaluate_every=2)


def assert_same_losses(folder: Path, other: Path) -> None:
    """The same metrics, and all floats but for rounding."""
    ours, theirs = lines(folder), lines(other)
    assert [line.keys() for line in ours] == [line.keys() for line in theirs]
    assert len(lines(folder, "dev")) > 1
    for line, its in zip(ours, theirs, strict=True):
        for key, value in line.items():
            assert value == (pytest.approx(its[key], rel=1e-5) if isinstance(value, float) else its[key]), key


def best(folder: Path) -> float:
    return min(line["nats_per_transition"] for line in lines(folder, "dev"))


# ---- One process


def test_a_process_alone_is_the_first_and_has_nobody_to_wait_for():
    with processes() as ours:
        assert (ours.rank, ours.count, ours.is_first) == (0, 1, True)
        assert ours.total([1.5, 2]) == [1.5, 2]
        module = nn.Linear(1, 1)
        assert ours.share(module) is module
        assert not torch.distributed.is_initialized()


def test_the_device_is_the_gpu_where_there_is_one():
    with processes() as ours:
        assert ours.device.type == ("cuda" if torch.cuda.is_available() else "cpu")


def test_the_processor_says_whether_it_has_units_for_bfloat16():
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        pytest.skip("this system has no /proc/cpuinfo to compare with")
    flags = set(cpuinfo.read_text().split())
    fast = {"amx_bf16"} | ({"avx512_bf16"} if "AuthenticAMD" in flags else set())
    assert has_bfloat16_units(CPU) == bool(flags & fast)


# ---- Several, without a model


def add_up(folder: Path) -> None:
    with processes() as ours:
        found = [*ours.total([ours.rank + 1, 0.1 * 10**ours.rank]), ours.rank, ours.count, ours.is_first]
    (folder / f"{ours.rank}.json").write_text(json.dumps(found))


def test_totals_are_the_same_in_every_process(tmp_path):
    assert together(2, tmp_path, add_up, tmp_path) == [0, 0]
    for rank in range(2):
        found = json.loads((tmp_path / f"{rank}.json").read_text())
        assert found == [3, pytest.approx(1.1), rank, 2, rank == 0]


def share_a_gpu(folder: Path) -> None:
    """As on a machine with one GPU, to which nothing is sent."""
    chosen = []
    torch.cuda.is_available = lambda: True
    torch.cuda.device_count, torch.cuda.current_device = (lambda: 1), (lambda: 0)
    torch.cuda.set_device = chosen.append
    with processes() as ours:
        found = [str(ours.device), *chosen, ours.rank, ours.from_first(lambda: "of the first")]
        with pytest.raises(UserError, match="there are more processes than GPUs; they can score together, but"):
            ours.share(nn.Linear(1, 1))
    (folder / f"{ours.rank}.json").write_text(json.dumps(found))


def test_several_processes_share_a_gpu_for_scoring_but_not_for_training(tmp_path):
    assert together(2, tmp_path, share_a_gpu, tmp_path) == [0, 0]
    for rank in range(2):
        assert json.loads((tmp_path / f"{rank}.json").read_text()) == ["cuda:0", 0, rank, "of the first"]


# ---- Training


def train_toy(folder: Path, config: TrainConfig) -> None:
    run(folder, config)


# Six batches an epoch. Of five and one, the last is alone in its step: one of the processes has nothing to do there.
@pytest.mark.parametrize(("count", "batches_per_step"), [(2, 2), *slow([(2, 5), (3, 3)])])
def test_several_processes_come_to_the_same_losses_as_one(count, batches_per_step, tmp_path):
    config = replace(TOGETHER, batches_per_step=batches_per_step)
    assert together(count, tmp_path, train_toy, tmp_path / "together", config) == [0] * count
    run(tmp_path / "alone", config)
    assert_same_losses(tmp_path / "together", tmp_path / "alone")
    ours, theirs = (tensors(tmp_path / name, WEIGHTS_FILE) for name in ("together", "alone"))
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], rtol=1e-4, atol=1e-5)


def judge(folder: Path) -> None:
    run(folder, TOGETHER, Answering(), held_out=Judging(*[0.1] * 6))


# Slow: answers of all processes are gathered in their order.
@pytest.mark.slow
def test_data_judge_the_answers_of_all_processes(tmp_path):
    alone, both = tmp_path / "alone", tmp_path / "both"
    judge(alone)
    assert together(2, tmp_path, judge, both) == [0, 0]
    assert_same_losses(both, alone)
    assert lines(both, "dev")[0]["mean"] > 0


def test_more_processes_than_batches_a_step_are_refused(tmp_path):
    assert together(2, tmp_path, train_toy, tmp_path / "run", replace(TOGETHER, batches_per_step=1)) == [1, 1]
    assert not (tmp_path / "run" / "record.json").exists()


class SlowToSave(Bigrams):
    def save(self, folder: Path) -> None:
        time.sleep(1)
        super().save(folder)


def train_and_look_for_the_model(folder: Path) -> None:
    run(folder, replace(TOGETHER, epochs=1, evaluate_every=None), SlowToSave())
    sys.exit(0 if (folder / WEIGHTS_FILE).exists() else 1)


# Slow: the barrier after saving.
@pytest.mark.slow
def test_no_process_goes_on_before_the_first_one_has_saved_the_model(tmp_path):
    assert together(2, tmp_path, train_and_look_for_the_model, tmp_path / "run") == [0, 0]


# Slow: no process hangs at its end.
@pytest.mark.slow
def test_processes_that_are_done_end(tmp_path):
    # Some pairs of them did not, in one of six runs: a race, which only shows when it is run often.
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert together(2, folder, train_toy, folder / "run", TOGETHER) == [0, 0], f"run {number}"


# Slow: what the others must not do.
@pytest.mark.slow
def test_the_first_process_alone_writes_and_shows_a_bar(tmp_path):
    assert together(2, tmp_path, train_toy_with_bars, tmp_path / "run") == [0, 0]
    assert "training run: 100%" in (tmp_path / "stderr-0").read_text()
    assert (tmp_path / "stderr-1").read_text() == ""
    names = {"config.yaml", "metrics.jsonl", "record.json", WEIGHTS_FILE}
    assert written(tmp_path / "run").keys() == names


def train_toy_with_bars(folder: Path) -> None:
    os.environ.pop("CI", None)
    dtglib.basics.progress.SECONDS_BEFORE_A_BAR = 0
    run(folder, TOGETHER)


def train_toy_until_a_signal(folder: Path) -> None:
    # Somebody stops the second process; all stop after the same step, and the first one saves.
    data = Ends(2, signal.SIGTERM) if os.environ["RANK"] == "1" else None
    try:
        run(folder, TOGETHER, **({"data": data} if data else {}))
    except Interrupted:
        sys.exit(130)


# Slow: a signal that reaches one of several processes.
@pytest.mark.slow
def test_a_signal_to_one_process_stops_all_and_any_number_of_processes_may_go_on(tmp_path):
    assert together(2, tmp_path, train_toy_until_a_signal, tmp_path / "run") == [130, 130]
    assert read_record(tmp_path / "run").about["status"] == "interrupted"
    assert (tmp_path / "run" / CHECKPOINT_FILE).exists()
    run(tmp_path / "run", TOGETHER)
    run(tmp_path / "alone", TOGETHER)
    assert best(tmp_path / "run") == pytest.approx(best(tmp_path / "alone"), rel=1e-5)


# Slow: all processes find the finished run, none trains.
@pytest.mark.slow
def test_a_finished_run_is_not_trained_again_by_several(tmp_path):
    run(tmp_path / "run", TOGETHER)
    before = written(tmp_path / "run")
    assert together(2, tmp_path, train_toy, tmp_path / "run", TOGETHER) == [0, 0]
    assert written(tmp_path / "run") == before


# ---- What cannot go well


def train_toy_until_one_is_killed(folder: Path) -> None:
    run(folder, TOGETHER, **({"data": Ends(4, signal.SIGKILL)} if os.environ["RANK"] == "1" else {}))


# Slow: a death in the middle of a collective.
@pytest.mark.slow
def test_where_one_process_is_killed_none_waits_for_it_and_the_run_can_go_on(tmp_path):
    first, second = together(2, tmp_path, train_toy_until_one_is_killed, tmp_path / "run")
    assert second == -signal.SIGKILL
    assert first not in (0, None)
    assert read_record(tmp_path / "run").about["status"] == "failed"
    assert [line["step"] for line in lines(tmp_path / "run", "dev")] == [2]
    assert together(2, tmp_path, train_toy, tmp_path / "run", TOGETHER) == [0, 0]
    run(tmp_path / "alone", TOGETHER)
    assert_same_losses(tmp_path / "run", tmp_path / "alone")


def sum_that_is_no_number(model: nn.Module) -> torch.Tensor:
    return torch.tensor(float("nan"))


def train_toy_with_a_bad_sentence(folder: Path, number: int) -> None:
    run(folder, TOGETHER, Fragile(sum_that_is_no_number), data=Bad(number))


# Slow: one process must tell the others.
@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_loss_that_is_no_number_in_any_process_ends_all_and_is_named(rank, tmp_path):
    second = all_steps(partial(Letters().plan, device=CPU), TOGETHER, seed=1)[1]
    number = int(second.batches[rank][0])  # each process takes one of the step's two batches
    statuses = together(2, tmp_path, train_toy_with_a_bad_sentence, tmp_path / "run", number)
    assert None not in statuses and 0 not in statuses
    about = read_record(tmp_path / "run").about
    assert about["status"] == "failed"
    assert "the loss of step 2 is nan" in about["error"]
    assert f"'letters-{number}'" in about["error"]


def command(*arguments: object) -> None:
    sys.exit(main(["train", *map(str, arguments)]))


@pytest.fixture
def tiny(tmp_path) -> Path:
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


# Slow: only one of the processes says it.
@pytest.mark.slow
def test_a_mistake_ends_all_processes_with_status_2_and_one_line(tiny, tmp_path):
    arguments = [tiny, "--set", "epoch=3", "--out", tmp_path / "run"]
    assert together(2, tmp_path, command, *arguments) == [2, 2]
    (line,) = (tmp_path / "stderr-0").read_text().splitlines()
    assert "unknown key epoch" in line


# Slow: only the first process sees the mistake.
@pytest.mark.slow
@pytest.mark.parametrize("where", ["a file", "another run"])
def test_a_folder_that_only_the_first_process_finds_wrong_ends_all(where, tiny, tmp_path):
    out = tmp_path / "run"
    if where == "a file":
        out.write_text("")
    else:
        run(out)
    statuses = together(2, tmp_path, command, tiny, "--model", "txl-tokens", "--out", out)
    assert None not in statuses and 0 not in statuses
    assert statuses[0] == 2


# ---- torchrun


# Slow: torchrun itself, with our model; elsewhere processes are forked with its variables.
@pytest.mark.slow
def test_torchrun_trains_our_model_to_the_same_losses_as_one_process(tiny, tmp_path):
    arguments = [tiny, "--model", "txl-tokens", "--set", "batches_per_step=2"]
    status, out, err = torchrun(2, "-m", "dtglib", "train", *arguments, "--out", tmp_path / "together")
    assert status == 0, err
    assert out.count("nats per transition on dev") == 1
    assert main(["train", *map(str, arguments), "--out", str(tmp_path / "alone")]) == 0
    assert_same_losses(tmp_path / "together", tmp_path / "alone")
