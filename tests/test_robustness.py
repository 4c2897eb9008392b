"""The reproduction where things go wrong: each ends in one line that says what to do, or simply works.

The repository here is a tiny one. Its first notebook prints something, its second trains a model and its third asks a
parser and the model, so that all that is kept between runs is there.
"""

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jupytext
import nbformat
import pytest
from conftest import with_one_thread
from running import wait_for
from toys import TINY, TINY_PARSER

import dtglib.training.loop
from dtglib.basics.errors import UserError
from dtglib.basics.record import read_about, read_record
from dtglib.data.corpora import load
from dtglib.data.treebank import write_conllu
from dtglib.runs.parsers import trained_parser
from dtglib.runs.prepare import trained
from dtglib.runs.sentence_scores import scores_of
from dtglib.runs.settings import read_size

SIZE = TINY.replace("minilang", "../corpus").replace("epochs: 3", "epochs: 12")

PRINTS = "print('x' * 8000)"
RAN = "with open('../ran', 'a') as ran:\n    print('{name}', file=ran)"  # notes that the notebook came to its end
TRAINS = """import os
from pathlib import Path
from dtglib.runs.prepare import trained
from dtglib.runs.settings import read_size
Path("../pid").write_text(str(os.getpid()))
folder = trained(read_size(size))"""
SCORES = """from dtglib.data.corpora import load
from dtglib.runs.sentence_scores import scores_of
from dtglib.runs.parsers import trained_parser
parser = trained_parser("weak", read_size(size))
for score in scores_of(folder, load("../corpus", "dev").sentences, parser, 3):
    print(score)"""


def write_notebook(repository: Path, name: str, *sources: str) -> None:
    """Both halves of a notebook."""
    parameters = nbformat.v4.new_code_cell('size = "unset"', metadata={"tags": ["parameters"]})
    cells = [parameters, *map(nbformat.v4.new_code_cell, (*sources, RAN.format(name=name)))]
    notebook = nbformat.v4.new_notebook(cells=cells)
    for suffix in (".ipynb", ".py"):
        jupytext.write(
            notebook, repository / "notebooks" / f"{name}{suffix}", fmt="py:percent" if suffix == ".py" else None
        )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    for part, count in (("train", 40), ("dev", 6)):
        write_conllu(folder / f"{part}.conllu", load("minilang", part, count).sentences)
    return folder


def fill(folder: Path, corpus: Path, **notebooks: str) -> Path:
    """Make a repository of a folder."""
    for name in ("notebooks", "configs/parsers"):
        (folder / name).mkdir(parents=True)
    (folder / "configs" / "smoke.yaml").write_text(SIZE)
    (folder / "configs" / "parsers" / "weak.yaml").write_text(TINY_PARSER.replace("CORPUS", "../corpus"))
    shutil.copytree(corpus, folder / "corpus")
    for name, source in notebooks.items():
        write_notebook(folder, name, source)
    return folder


@pytest.fixture
def repository(corpus, tmp_path) -> Path:
    return fill(tmp_path / "repository", corpus)


@pytest.fixture(scope="module")
def undisturbed(corpus, tmp_path_factory) -> bytes:
    """The model of a training that nothing happens to, with one thread like the processes below."""
    with pytest.MonkeyPatch.context() as patch, with_one_thread():
        patch.chdir(fill(tmp_path_factory.mktemp("undisturbed"), corpus) / "notebooks")
        return (trained(read_size("smoke")) / "model.safetensors").read_bytes()


def start(
    repository: Path, *options: str, before: list[str] = (), size: str = "smoke", **environment: str
) -> subprocess.Popen:
    command = [*before, sys.executable, "-m", "dtglib", "reproduce", "--size", size, *options]
    surroundings = {**os.environ, "CI": "1", "OMP_NUM_THREADS": "1", **environment}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=repository, env=surroundings, text=True, **pipes)


def end(process: subprocess.Popen) -> tuple[int, str, str]:
    """Its status, what it printed, and what it complained of."""
    printed, complaint = process.communicate(timeout=120)
    assert "Traceback" not in complaint
    return process.returncode, printed, complaint


def run(repository: Path, *options: str, **other) -> tuple[int, str, str]:
    return end(start(repository, *options, **other))


def ran(repository: Path) -> list[str]:
    """The notebooks that came to their end."""
    return (repository / "ran").read_text().split() if (repository / "ran").exists() else []


def status(repository: Path, name: str) -> str:
    return read_about(repository / "runs" / "smoke" / name)["status"]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# ---- Nothing can be written


def without_privileges() -> list[str]:
    """Root may write where nobody may; without that privilege root is like others."""
    if os.geteuid():
        return []
    if not shutil.which("setpriv"):
        pytest.skip("root without setpriv may write everywhere")
    return ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all"]


def on_a_read_only_disk(repository: Path) -> list[str]:
    become_root = [] if os.geteuid() == 0 else ["--map-root-user"]
    script = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && cd "$0" && exec "$@"'
    before = ["unshare", "--mount", *become_root, "sh", "-c", script, str(repository)]
    if not shutil.which("unshare") or subprocess.run([*before, "true"], capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    return before


# Slow: it starts the whole command.
@pytest.mark.slow
def test_where_nothing_can_be_written_the_error_names_the_folder_and_the_way_out(repository):
    write_notebook(repository, "00_first", PRINTS)
    status, printed, said = run(repository, before=on_a_read_only_disk(repository))
    assert (status, printed, said.count("\n")) == (2, "", 1)
    # Systems differ in the part that they name: the folder that does not exist yet, or the file in it.
    assert said.startswith(f"dtglib: {repository}/runs")
    assert said.endswith(": Read-only file system; put that right, or choose another folder\n")


@contextlib.contextmanager
def closed(repository: Path) -> Iterator[None]:
    """After `chmod -R a-w`."""
    found = [repository, *repository.rglob("*")]
    for path in found:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        yield
    finally:
        for path in found:
            path.chmod(path.stat().st_mode | 0o200)


# Slow: files that are there and may not be written, which a read-only disk does not show.
@pytest.mark.slow
def test_a_repository_that_was_closed_after_a_first_run_is_an_error_in_one_line(repository):
    write_notebook(repository, "00_first", PRINTS)
    before = without_privileges()
    assert run(repository)[0] == 0
    write_notebook(repository, "00_first", "pass")
    with closed(repository):
        status, printed, said = run(repository, before=before)
    assert (status, printed, said.count("\n")) == (2, "", 1)
    assert said.startswith(f"dtglib: {repository}/") and ": Permission denied" in said


# ---- The disk is full

FULL = "No space left on device"


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", folder], capture_output=True).returncode:
        pytest.skip("no disk can be mounted here: this needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def leave_room(disk: Path, kilobytes: int) -> None:
    found = os.statvfs(disk)
    size = (found.f_blocks - found.f_bfree) * found.f_frsize // 1024 + kilobytes
    subprocess.run(["mount", "-o", f"remount,size={size}k", disk], check=True)


# The record needs 8, what the notebook prints 8; executed, it needs 16, and as a web page 280 more.
# Slow: the whole command, twice.
@pytest.mark.parametrize("room", [0, 100])
@pytest.mark.slow
def test_on_a_full_disk_one_line_says_so_and_when_there_is_room_the_same_command_goes_on(room, disk, corpus):
    repository = fill(disk, corpus)
    write_notebook(repository, "00_first", PRINTS)
    leave_room(disk, room)
    code, _, said = run(repository)
    assert (code, said.count("\n")) == (2, 1)
    assert said.startswith("dtglib: ") and FULL in said
    leave_room(disk, 1000)
    assert run(repository)[0] == 0
    assert status(repository, "00_first") == "finished"


# Slow: the disk is full in a training, not in a notebook.
@pytest.mark.slow
def test_a_training_that_finds_no_room_goes_on_when_there_is_some(disk, corpus, undisturbed):
    repository = fill(disk, corpus)
    write_notebook(repository, "00_first", PRINTS)
    write_notebook(repository, "01_second", TRAINS)
    leave_room(disk, 460)  # 310 for the first notebook, 90 for a model, and 130 are wanted for a checkpoint
    code, _, said = run(repository)
    assert code == 2
    assert f"checkpoint.safetensors: {FULL}" in said
    assert status(repository, "01_second") == "failed"
    leave_room(disk, 1000)
    assert run(repository)[0] == 0
    assert model(repository) == undisturbed
    assert ran(repository) == ["00_first", "01_second"]


def model(repository: Path) -> bytes:
    (folder,) = (repository / "runs" / "models").iterdir()
    assert read_about(folder)["status"] == "finished"
    return (folder / "model.safetensors").read_bytes()


# ---- It is stopped, or killed


def pid_in_training(repository: Path) -> int:
    """The process that trains, once it has left a checkpoint in this run."""
    (repository / "pid").unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in repository.glob("runs/models/*/checkpoint.safetensors")}

    def has_saved() -> bool:
        found = repository.glob("runs/models/*/checkpoint.safetensors")
        return (repository / "pid").exists() and any(before.get(path) != path.stat().st_mtime_ns for path in found)

    wait_for(has_saved)
    return int((repository / "pid").read_text())


# Slow: a kernel that dies in a training, and a signal to the command, end as if nothing had been.
@pytest.mark.slow
def test_after_a_killed_kernel_and_a_stopped_command_the_model_is_the_same(repository, undisturbed):
    write_notebook(repository, "00_first", PRINTS)
    write_notebook(repository, "01_second", TRAINS)
    process = start(repository)
    os.kill(pid_in_training(repository), signal.SIGKILL)
    code, _, said = end(process)
    assert code == 2
    assert said.splitlines()[-1].startswith("dtglib: 01_second.ipynb: its kernel died, most likely for lack of memory")
    assert status(repository, "01_second") == "failed"

    process = start(repository)
    kernel = pid_in_training(repository)
    process.send_signal(signal.SIGTERM)
    code, _, said = end(process)  # Jupyter may have said before that the kernel died
    assert (code, said.splitlines()[-1]) == (130, "dtglib: interrupted; the same command goes on")
    assert status(repository, "01_second") == "interrupted"
    assert not is_alive(kernel)

    assert run(repository)[0] == 0
    assert model(repository) == undisturbed
    assert ran(repository) == ["00_first", "01_second"]


# Slow: the same where a process of the pool trains.
@pytest.mark.slow
def test_what_a_worker_was_training_when_the_command_was_stopped_goes_on(repository, undisturbed):
    write_notebook(repository, "01_second", TRAINS)

    def of_dtg(name: str) -> list[Path]:
        return list(repository.glob(f"runs/models/dtg-{12 * '?'}/{name}"))

    process = start(repository, OMP_NUM_THREADS="2")
    wait_for(lambda: of_dtg("checkpoint.safetensors"), process)
    process.send_signal(signal.SIGTERM)
    assert end(process)[0] == 130
    (folder,) = of_dtg("")
    assert read_about(folder)["status"] == "running"
    steps = [line["step"] for line in read_record(folder).metrics if line["part"] == "train"]

    process = start(repository, OMP_NUM_THREADS="2")
    wait_for(lambda: read_about(folder)["status"] == "finished", process)
    process.send_signal(signal.SIGTERM)
    assert end(process)[0] == 130
    assert (folder / "model.safetensors").read_bytes() == undisturbed
    found = [line["step"] for line in read_record(folder).metrics if line["part"] == "train"]
    assert found[: len(steps)] == steps and len(steps) < len(found) == len(set(found))


# Slow: nothing else starts two kernels and stops their command.
@pytest.mark.slow
def test_the_kernels_of_notebooks_that_ran_side_by_side_end_with_the_command(repository):
    pids = [repository / f"pid of {name}" for name in ("00_first", "01_second")]
    for path in pids:
        source = f"import os, time; open({str(path)!r}, 'w').write(str(os.getpid())); time.sleep(3600)"
        write_notebook(repository, path.name.removeprefix("pid of "), source)
    process = start(repository, OMP_NUM_THREADS="2")
    wait_for(lambda: all(path.exists() and path.read_text() for path in pids), process)
    process.send_signal(signal.SIGTERM)
    assert end(process)[::2] == (130, "dtglib: interrupted; the same command goes on\n")
    wait_for(lambda: not any(is_alive(int(path.read_text())) for path in pids))


# ---- Nothing is at hand

NO_NETWORK = """
import socket

class Socket(socket.socket):
    def connect(self, address):
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(101, "Network is unreachable")
        super().connect(address)

def refuse(*arguments, **options):
    raise socket.gaierror(-3, "Temporary failure in name resolution")

socket.socket, socket.getaddrinfo = Socket, refuse
"""


# Slow: nothing in a training or a score asks the network.
@pytest.mark.slow
def test_without_network_and_public_data_the_whole_works(repository, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(NO_NETWORK)
    write_notebook(repository, "00_first", TRAINS, SCORES)
    (repository / "configs" / "smoke.yaml").write_text(SIZE.replace("epochs: 12", "epochs: 2"))
    path = f"{tmp_path / 'site'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    code, _, said = run(repository, PYTHONPATH=path, DTG_DATA="/nowhere")
    assert (code, said) == (0, "")


# ---- What is kept is damaged


def compute() -> list:
    """A model, a parser and scores, computed or found in this repository."""
    with with_one_thread():
        folder = trained(read_size("smoke"))
        parser = trained_parser("weak", read_size("smoke"))
        return scores_of(folder, load("../corpus", "dev").sentences, parser, 3)


@pytest.fixture(scope="module")
def finished(corpus, tmp_path_factory) -> tuple[Path, list]:
    """A repository with a model, a parser and scores, and these scores."""
    folder = fill(tmp_path_factory.mktemp("finished"), corpus)
    (folder / "configs" / "smoke.yaml").write_text(SIZE.replace("epochs: 12", "epochs: 4"))
    with contextlib.chdir(folder / "notebooks"):
        return folder, compute()


@pytest.fixture(scope="module")
def stopped(finished, tmp_path_factory) -> tuple[Path, list]:
    """The same, stopped while it trains the model, and the scores as they should become."""
    folder = tmp_path_factory.mktemp("stopped") / "repository"
    shutil.copytree(finished[0], folder)
    shutil.rmtree(folder / "runs")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder / "notebooks"):
        save, saved = dtglib.training.loop.save_checkpoint, itertools.count(1)

        def save_and_stop(*arguments) -> None:
            save(*arguments)
            if next(saved) == 2:
                raise KeyboardInterrupt

        patch.setattr(dtglib.training.loop, "save_checkpoint", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            compute()
    return folder, finished[1]


def flipped(content: bytes) -> bytes:
    """A text with another digit in its last third, or weights of which many are others."""
    changed, third = bytearray(content), len(content) * 2 // 3
    if b"\0" in content:
        for place in range(len(content) - 1, third, -4):
            changed[place] ^= 1
    else:
        changed[third + re.search(rb"[0-9]|$", content[third:-1]).start()] ^= 1
    return bytes(changed)


DAMAGES = {
    "empty": lambda content: b"",
    "cut": lambda content: content[: len(content) // 2],
    "garbled": lambda content: re.sub(rb"[0-9]", b"#", content),
    "flipped": flipped,
}
FINISHED = [
    *("models/*/model.safetensors", "models/*/model.yaml", "models/*/vocabulary.json"),
    *("models/*/record.json", "models/*/config.yaml", "models/*/metrics.jsonl"),
    *("parsers/*/parser.safetensors", "parsers/*/parser.json", "scores/*/rows.jsonl"),
]
STOPPED = ["checkpoint.safetensors", "record.json", "config.yaml", "metrics.jsonl"]
FILES = [*(("finished", name) for name in FINISHED), *(("stopped", f"models/*/{name}") for name in STOPPED)]
EVERY = [(*file, damage) for file in FILES for damage in DAMAGES]
EVERY.remove(("finished", "scores/*/rows.jsonl", "flipped"))  # rows have no checksum


# Slow: a model and a parser are trained first; the functions that read these files have fast tests of their own.
@pytest.mark.slow
@pytest.mark.parametrize(("state", "name", "damage"), EVERY)
def test_a_damaged_file_is_named_or_made_again(state, name, damage, request, tmp_path):
    made, scores = request.getfixturevalue(state)
    repository = tmp_path / "repository"
    shutil.copytree(made, repository)
    (path,) = (repository / "runs").glob(name)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    if not name.startswith("scores"):
        # Known scores would spare it from being read.
        shutil.rmtree(repository / "runs" / "scores", ignore_errors=True)
    with contextlib.chdir(repository / "notebooks"):
        try:
            assert compute() == scores, path
        except UserError as error:
            assert str(path.parent) in str(error)
