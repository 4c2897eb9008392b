"""A record says what a run was, and whether it ended well; what it does not say did not happen."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from running import wait_for

from dtglib.basics import record
from dtglib.basics.errors import UserError
from dtglib.basics.record import Run, read_record, without_folders

QUESTION = "Is there a difference?"


def run_in(folder, **more) -> Run:
    return Run(folder, QUESTION, config={"corpus": "minilang", "rate": 1e-4}, **more)


# What is recorded


def test_a_finished_run_holds_config_record_and_metrics(tmp_path):
    with run_in(tmp_path / "run", seeds=[1, 2], data={"train.conllu": "ab12"}) as run:
        run.metric(step=1, loss=2.5)
        run.metric(step=2, loss=2.25, note="better")
    about, config, metrics = read_record(tmp_path / "run")
    assert (about["question"], about["status"], about["seeds"]) == (QUESTION, "finished", [1, 2])
    assert about["data"] == {"train.conllu": "ab12"}
    assert config == {"corpus": "minilang", "rate": 1e-4}
    assert [(line["step"], line["loss"]) for line in metrics] == [(1, 2.5), (2, 2.25)]
    assert metrics[0]["seconds"] <= metrics[1]["seconds"] <= about["wall_seconds"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["config.yaml", "metrics.jsonl", "record.json"]


def test_the_circumstances_are_recorded(tmp_path):
    with run_in(tmp_path):
        pass
    about = read_record(tmp_path).about
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", about["started"])
    assert about["versions"]["python"].startswith("3.")
    assert about["versions"]["numpy"] == np.__version__
    assert about["hardware"]["cores"] >= 1
    assert about["hardware"]["cpu"]
    assert about["hardware"]["memory_bytes"] > 2**28
    assert 2**20 < about["peak_memory_bytes"] < 2**40
    assert 0 <= about["wall_seconds"] < 60


def test_the_peak_of_memory_is_in_bytes():
    program = "from dtglib.basics.record import peak_memory; p = peak_memory(); x = bytearray(300_000_000); "
    program += "print(peak_memory() - p)"
    grown = int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    assert 200_000_000 < grown < 400_000_000


def test_the_peak_of_memory_is_not_that_of_the_process_that_started_this_one():
    held = bytearray(b"x" * 300_000_000)
    program = "from dtglib.basics.record import peak_memory; print(peak_memory())"
    peak = int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    assert peak < len(held)


def test_torch_is_not_imported_for_the_record(tmp_path):
    program = (
        "import sys; from dtglib.basics.record import Run\n"
        "with Run(sys.argv[1], 'q', {}): pass\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program, str(tmp_path)]).returncode == 0


def test_gpus_are_recorded_where_torch_was_imported_and_has_some(monkeypatch):
    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 2,
        get_device_name=lambda number: f"GPU {number}",
        max_memory_allocated=lambda: 123,
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    found = record.hardware()
    assert (found["gpus"], found["peak_gpu_memory_bytes"]) == (["GPU 0", "GPU 1"], 123)


def test_numbers_that_are_not_finite_are_read_back(tmp_path):
    with run_in(tmp_path) as run:
        run.metric(nan=math.nan, infinity=math.inf, minus=-math.inf, array=np.float32("nan"))
    (metric,) = read_record(tmp_path).metrics
    assert math.isnan(metric["nan"]) and math.isnan(metric["array"])
    assert (metric["infinity"], metric["minus"]) == (math.inf, -math.inf)


def test_numbers_of_numpy_are_recorded_as_numbers(tmp_path):
    with run_in(tmp_path) as run:
        run.metric(loss=np.float64(0.5), step=np.int64(3), done=np.bool_(True), each=[np.float32(1)])
    (metric,) = read_record(tmp_path).metrics
    assert (metric["loss"], metric["step"], metric["done"], metric["each"]) == (0.5, 3, True, [1.0])


def test_what_cannot_be_recorded_is_an_error_not_a_description(tmp_path):
    with pytest.raises(TypeError, match="not object"), run_in(tmp_path) as run:
        run.metric(loss=object())


# Paths of this machine


def test_no_absolute_path_enters_a_record(tmp_path):
    private = tmp_path / "private folder"
    config = {"corpus": f"{tmp_path}/train.conllu", "out": tmp_path / "x", "nested": [f"{tmp_path}/y"]}
    with pytest.raises(UserError), Run(private, QUESTION, config, data={f"{tmp_path}/dev.conllu": "ab"}) as run:
        run.metric(checkpoint=f"{tmp_path}/model.pt")
        raise UserError(f"{tmp_path}/train.conllu:3: head 31 is out of range")
    for path in private.iterdir():
        assert str(tmp_path) not in path.read_text(), path.name
    about, config, _ = read_record(private)
    assert about["error"] == "UserError: train.conllu:3: head 31 is out of range"
    assert config == {"corpus": "train.conllu", "out": "x", "nested": ["y"]}


@pytest.mark.parametrize(
    "text", ["https://example.com/a/b", "data/train.conllu", "./a/b", "../a", "and / or", "1/2/3", "~/data/x", ""]
)
def test_texts_without_absolute_paths_are_left_alone(text):
    assert without_folders(text) == text


# The commit


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git repository with one commit that holds a package with our module in it."""
    package = tmp_path / "dtglib"
    package.mkdir()
    (package / "record.py").write_text("")
    for name, value in {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}.items():
        monkeypatch.setenv(name, value)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-q", "-m", "Begin")
    monkeypatch.setattr(record, "__file__", str(package / "record.py"))
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_is_recorded(checkout):
    assert record.commit_of_package() == {"commit": git(checkout, "rev-parse", "HEAD"), "changed": False}


def test_results_that_are_not_committed_yet_are_no_change_of_the_code(checkout):
    (checkout / "results").mkdir()
    (checkout / "results" / "new.json").write_text("{}")
    assert record.commit_of_package()["changed"] is False


@pytest.mark.parametrize("name", ["record.py", "new.py"])
def test_changed_or_new_code_is_recorded_as_such(checkout, name):
    (checkout / "dtglib" / name).write_text("1")
    assert record.commit_of_package()["changed"] is True


def test_outside_a_git_checkout_the_commit_is_said_to_be_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "__file__", str(tmp_path / "record.py"))
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert record.commit_of_package() == {"commit": "unknown, not a git checkout", "changed": None}


def test_the_commit_of_a_repository_that_we_are_only_installed_in_is_not_ours(checkout, monkeypatch):
    installed = checkout / ".venv"
    installed.mkdir()
    (installed / "record.py").write_text("")
    monkeypatch.setattr(record, "__file__", str(installed / "record.py"))
    assert record.commit_of_package()["commit"] == "unknown, not a git checkout"


def test_without_git_the_commit_is_unknown(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert record.commit_of_package()["commit"].startswith("unknown")


# How a run ends


def test_an_exception_is_recorded_and_goes_on(tmp_path):
    with pytest.raises(ZeroDivisionError), run_in(tmp_path) as run:
        run.metric(step=1)
        run.metric(step=1 / 0)
    about, _, metrics = read_record(tmp_path)
    assert (about["status"], about["error"]) == ("failed", "ZeroDivisionError: division by zero")
    assert [line["step"] for line in metrics] == [1]


def test_a_run_that_is_stopped_by_hand_is_interrupted(tmp_path):
    with pytest.raises(KeyboardInterrupt), run_in(tmp_path):
        raise KeyboardInterrupt
    assert read_record(tmp_path).about["status"] == "interrupted"


def test_a_run_says_that_it_is_running_and_its_metrics_can_be_read(tmp_path):
    with run_in(tmp_path) as run:
        run.metric(step=1)
        about, config, metrics = read_record(tmp_path)
        assert (about["status"], config["corpus"], metrics[0]["step"]) == ("running", "minilang", 1)


def test_a_killed_run_does_not_say_finished_and_its_whole_lines_can_be_read(tmp_path):
    program = (
        "import sys; from dtglib.basics.record import Run\n"
        "with Run(sys.argv[1], 'q', {'a': 1}) as run:\n"
        "    for step in range(10**9): run.metric(step=step, text='x' * 1000)"
    )
    for patience in (50, 200):
        folder = tmp_path / str(patience)
        process = subprocess.Popen([sys.executable, "-c", program, str(folder)])
        wait_for(
            lambda path=folder / "metrics.jsonl", size=patience * 1000: path.exists() and path.stat().st_size > size
        )
        process.send_signal(signal.SIGKILL)
        process.wait()
        about, config, metrics = read_record(folder)
        assert about["status"] == "running"
        assert config == {"a": 1}
        assert len(metrics) >= patience * 0.9
        assert [line["step"] for line in metrics] == list(range(len(metrics)))
        assert {line["text"] for line in metrics} == {"x" * 1000}


# Folders that hold something already


def test_a_finished_run_is_not_written_over(tmp_path):
    with run_in(tmp_path) as run:
        run.metric(step=1)
    with pytest.raises(UserError, match="holds a finished run already; choose another folder"), run_in(tmp_path):
        pass
    assert len(read_record(tmp_path).metrics) == 1


def test_a_config_that_no_run_has_written_is_not_written_over(tmp_path):
    (tmp_path / "config.yaml").write_text("# mine")
    with pytest.raises(UserError, match=r"has a config\.yaml, but no record"), run_in(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["config.yaml"]


def test_two_commands_never_record_into_one_folder(tmp_path):
    with run_in(tmp_path) as run:
        run.metric(loss=1.0)
        with pytest.raises(UserError, match="another command records there"), run_in(tmp_path):
            pass
        run.metric(loss=0.5)
    found = read_record(tmp_path)
    assert ([line["loss"] for line in found.metrics], found.about["status"]) == ([1.0, 0.5], "finished")


def test_an_unfinished_run_is_begun_anew(tmp_path):
    with pytest.raises(RuntimeError), run_in(tmp_path) as run:
        run.metric(step=1)
        raise RuntimeError
    with open(tmp_path / "metrics.jsonl", "ab") as file:
        file.write(b"\0\0\n")  # as a crash of the machine may leave them
    with Run(tmp_path, "Another?", {"b": 2}) as run:
        run.metric(step=7)
    about, config, metrics = read_record(tmp_path)
    assert (about["question"], about["status"], config) == ("Another?", "finished", {"b": 2})
    assert "error" not in about
    assert [line["step"] for line in metrics] == [7]


# Runs that go on


def stopped_after(folder, *steps: int) -> None:
    """A run that wrote these lines of metrics and then was stopped."""
    with pytest.raises(KeyboardInterrupt), run_in(folder) as run:
        for step in steps:
            run.metric(step=step)
        assert run.lines == len(steps)
        raise KeyboardInterrupt


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_a_run_that_goes_on_keeps_its_first_lines_and_nothing_that_was_written_after_them(tmp_path, keep):
    stopped_after(tmp_path, 1, 2, 3)
    with run_in(tmp_path, keep=keep) as run:
        assert run.lines == keep
        assert [line["step"] for line in read_record(tmp_path).metrics] == [1, 2, 3][:keep]
        run.metric(step=7)
        assert run.lines == keep + 1
    about, _, metrics = read_record(tmp_path)
    assert [line["step"] for line in metrics] == [*[1, 2, 3][:keep], 7]
    assert (about["status"], about["metrics"]) == ("finished", keep + 1)


def test_the_kept_lines_are_the_same_bytes(tmp_path):
    stopped_after(tmp_path, 1, 2, 3)
    before = (tmp_path / "metrics.jsonl").read_bytes().splitlines()
    with run_in(tmp_path, keep=2):
        pass
    assert (tmp_path / "metrics.jsonl").read_bytes().splitlines() == before[:2]


def test_the_clock_goes_on_where_it_stood(tmp_path):
    with pytest.raises(KeyboardInterrupt), run_in(tmp_path) as run:
        time.sleep(0.3)
        run.metric(step=1)
        raise KeyboardInterrupt
    with run_in(tmp_path, keep=1) as run:
        run.metric(step=2)
    about, _, (first, second) = read_record(tmp_path)
    assert 0.3 <= first["seconds"] <= second["seconds"] <= about["wall_seconds"] < first["seconds"] + 10


def test_a_line_that_was_cut_in_two_is_not_in_the_way_of_the_lines_before_it(tmp_path):
    stopped_after(tmp_path, 1, 2)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 3, "lo')
    with run_in(tmp_path, keep=2) as run:
        run.metric(step=3)
    assert [line["step"] for line in read_record(tmp_path).metrics] == [1, 2, 3]


@pytest.mark.parametrize("there", [None, "", '{"seconds": 0, "step": 1}\n'])
def test_a_run_whose_lines_are_gone_does_not_go_on(tmp_path, there):
    stopped_after(tmp_path, 1, 2)
    (tmp_path / "metrics.jsonl").unlink()
    if there is not None:
        (tmp_path / "metrics.jsonl").write_text(there)
    with pytest.raises(UserError, match=r"metrics.jsonl: the run that goes on here wrote 2 lines; delete the folder"):
        run_in(tmp_path, keep=2).__enter__()
    assert read_record(tmp_path).about["status"] == "interrupted"


def test_a_finished_run_does_not_go_on(tmp_path):
    with run_in(tmp_path) as run:
        run.metric(step=1)
    with pytest.raises(UserError, match="holds a finished run already"), run_in(tmp_path, keep=1):
        pass
    assert read_record(tmp_path).about["status"] == "finished"


# Reading


def test_a_folder_without_a_record_is_named(tmp_path):
    with pytest.raises(UserError, match=r"nowhere.record.json: No such file"):
        read_record(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '"running"'])
def test_a_damaged_record_is_named(tmp_path, text):
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(UserError, match=r"record.json: not the record of a run, or half of it"):
        read_record(tmp_path)


def test_metrics_that_are_no_text_are_named(tmp_path):
    with run_in(tmp_path) as run:
        run.metric(step=1)
    (tmp_path / "metrics.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(UserError, match=r"config.yaml or metrics.jsonl is damaged"):
        read_record(tmp_path)


@pytest.mark.parametrize("keep", [0, 1])
def test_a_finished_run_with_missing_metrics_is_named(tmp_path, keep):
    with run_in(tmp_path) as run:
        run.metric(step=1)
        run.metric(step=2)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "metrics.jsonl").write_text("".join(lines[:keep]))
    with pytest.raises(UserError, match=rf"metrics.jsonl: has {keep} lines, but the run wrote 2"):
        read_record(tmp_path)


def test_the_last_line_of_a_killed_run_is_left_out_if_it_is_not_whole(tmp_path):
    with pytest.raises(RuntimeError), run_in(tmp_path) as run:
        run.metric(step=1)
        raise RuntimeError
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"step": 2, "lo')
    assert [line["step"] for line in read_record(tmp_path).metrics] == [1]


def test_the_files_are_plain_json_and_yaml(tmp_path):
    with Run(tmp_path, "Ist es anders? – ja", {"corpus": "größe"}) as run:
        run.metric(word="größe")

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads((tmp_path / "record.json").read_text(encoding="utf-8"), parse_constant=refuse)
    for line in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line, parse_constant=refuse)
    assert yaml.safe_load((tmp_path / "config.yaml").read_text(encoding="utf-8")) == {"corpus": "größe"}
    assert "größe" in (tmp_path / "metrics.jsonl").read_text(encoding="utf-8")
