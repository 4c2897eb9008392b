"""Files appear whole or not at all."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dtglib.basics.errors import UserError
from dtglib.basics.files import only_one_process, repository, sha256, write_atomically


def test_a_file_takes_its_name_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "file.txt"
    with write_atomically(path) as file:
        file.write("There is a difference\n")
        assert not path.exists()
    assert path.read_bytes() == b"There is a difference\n"
    assert os.listdir(path.parent) == ["file.txt"]


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), write_atomically(path) as file:
        file.write("new")
        1 / 0  # noqa: B018
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_a_killed_writer_leaves_no_file_of_that_name(tmp_path):
    path = tmp_path / "file.txt"
    program = (
        "import sys, time\nfrom dtglib.basics.files import write_atomically\n"
        "with write_atomically(sys.argv[1]) as file:\n"
        "    file.write('half'); file.flush(); print('now', flush=True); time.sleep(600)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"now\n"
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert not path.exists()


def test_a_full_disk_is_named_and_nothing_half_written_stays(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    path = tmp_path / "file.txt"
    # What is written beside the file lands on a device that is always full.
    (tmp_path / f"file.txt.{os.getpid()}.part").symlink_to("/dev/full")
    with (
        pytest.raises(UserError, match=r"file\.txt: No space left on device"),
        write_atomically(path) as file,
    ):
        file.write("x" * 100_000)
    assert os.listdir(tmp_path) == []


def test_a_file_where_a_folder_is_needed_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    within = tmp_path / "taken" / "file.txt"
    with (
        pytest.raises(UserError, match=r"taken/file\.txt: (File exists|Not a directory)"),
        write_atomically(within) as file,
    ):
        file.write("")


def take(lock: Path) -> None:
    with open(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_link_stays_a_link_and_what_is_no_file_is_not_replaced(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with write_atomically(tmp_path / "link") as file:
        file.write("text")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "text"
    for path in (tmp_path, Path("."), Path("/dev/null"), Path("/dev/stdout")):
        with pytest.raises(UserError, match="is no file"), write_atomically(path):
            pass


def test_a_folder_is_locked_until_the_block_ends(tmp_path):
    with only_one_process(tmp_path, "writes there"), pytest.raises(BlockingIOError):
        take(tmp_path / ".lock")
    take(tmp_path / ".lock")


def test_the_checksum_is_the_usual_one(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    assert sha256(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_repository_is_found_from_within_and_missed_from_without(tmp_path, monkeypatch):
    (tmp_path / "configs").mkdir()
    (tmp_path / "notebooks" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "notebooks" / "deep")
    assert repository() == tmp_path
    (tmp_path / "configs").rmdir()
    with pytest.raises(UserError, match="go to the repository"):
        repository()
