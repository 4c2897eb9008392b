"""Rows that are kept: what is computed once is found again, after an exception, a kill, and by another process."""

import json
import math
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dtglib.basics.errors import UserError
from dtglib.basics.record import Row
from dtglib.experiments.cache import kept_rows

IDENTITY = {"model": "1a2b3c", "trees": 300}
HEAD = '{"model": "1a2b3c", "trees": 300}'


def row(number: int) -> Row:
    return {"number": number, "log_prob": -1.5 * number, "best": [2, 0, 4, 2], "text": f"Þórr {number}"}


class Counted:
    """Computes rows, and remembers which."""

    def __init__(self, until: int = 5, breaks_at: int | None = None) -> None:
        self.until, self.breaks_at, self.computed = until, breaks_at, []

    def __call__(self, first: int) -> Iterator[Row]:
        for number in range(first, self.until):
            if number == self.breaks_at:
                raise ZeroDivisionError
            self.computed.append(number)
            yield row(number)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "scores" / "dtg.jsonl"


def keep(path: Path, rows_from: Counted, count: int = 5, **other: object) -> list[Row]:
    return kept_rows(path, IDENTITY | other, count, rows_from)


def test_a_file_begins_with_what_its_rows_are_results_of_and_has_a_line_for_each(path):
    rows = keep(path, Counted())
    assert rows == [row(number) for number in range(5)]
    head, *lines = path.read_text("utf-8").splitlines()
    assert head == HEAD
    written = [json.loads(line) for line in lines]
    assert all(len(line.pop("checksum")) == 64 for line in written)
    assert written == rows


def test_rows_are_computed_once(path):
    first, second = Counted(), Counted()
    rows, content = keep(path, first), path.read_bytes()
    assert keep(path, second) == rows
    assert (first.computed, second.computed) == ([0, 1, 2, 3, 4], [])
    assert path.read_bytes() == content


def test_after_an_exception_in_the_middle_it_goes_on_from_there(path):
    with pytest.raises(ZeroDivisionError):
        keep(path, Counted(breaks_at=3))
    assert len(path.read_text("utf-8").splitlines()) == 1 + 3
    after = Counted()
    assert keep(path, after) == [row(number) for number in range(5)]
    assert after.computed == [3, 4]
    assert len(path.read_text("utf-8").splitlines()) == 1 + 5


def test_a_row_is_in_the_file_before_the_next_one_is_computed(path):
    seen = []

    def rows_from(first: int) -> Iterator[Row]:
        for number in range(first, 3):
            seen.append(path.read_text("utf-8").count("\n"))
            yield row(number)

    kept_rows(path, IDENTITY, 3, rows_from)
    assert seen[1:] == [2, 3]


@pytest.mark.alone
def test_a_killed_process_leaves_what_it_had(path):
    program = (
        "import sys, time, pathlib\nfrom dtglib.experiments.cache import kept_rows\n"
        "def rows(first):\n"
        "    yield {'number': 0}\n"
        "    yield {'number': 1}\n"
        "    print('now', flush=True); time.sleep(60)\n"
        f"kept_rows(pathlib.Path(sys.argv[1]), {IDENTITY}, 5, rows)\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE)
    writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    after = Counted()
    rows = keep(path, after)
    assert after.computed == [2, 3, 4]
    assert rows == [{"number": 0}, {"number": 1}, row(2), row(3), row(4)]


def test_wherever_a_kill_cut_the_file_whole_lines_stay_and_the_rest_is_done_again(path):
    rows, content = keep(path, Counted()), path.read_bytes()
    ends = [number + 1 for number, byte in enumerate(content) if byte == ord("\n")]
    for length in range(len(content)):  # also in the middle of a letter, or of the first line
        path.write_bytes(content[:length])
        after = Counted()
        assert keep(path, after) == rows
        whole = sum(end <= length for end in ends)
        assert after.computed == list(range(max(0, whole - 1), 5))
        assert path.read_bytes() == content


@pytest.mark.parametrize("other", [{"trees": 301}, {"more": None}, {"model": "1a2b3d"}], ids=str)
def test_a_file_of_something_else_is_refused_with_its_name_and_stays(other, path):
    keep(path, Counted())
    content, after = path.read_bytes(), Counted()
    with pytest.raises(UserError, match=r"dtg\.jsonl: holds results of something else") as refused:
        keep(path, after, **other)
    assert HEAD in str(refused.value), "it says of what"
    assert "\n" not in str(refused.value)
    assert (path.read_bytes(), after.computed) == (content, [])


def test_the_order_in_which_an_identity_is_told_is_of_no_account(path):
    keep(path, Counted())
    after = Counted()
    kept_rows(path, dict(reversed(IDENTITY.items())), 5, after)
    assert after.computed == []


def foreign(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"dtg\.jsonl: holds results of something else"):
        keep(path, Counted())
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"My notes\n", b"\n", b"\xff\xfe\n\x00"])
def test_a_file_that_never_was_one_of_ours_is_not_written_over(content, path):
    foreign(path, content)


def test_a_foreign_file_without_the_end_of_a_line_is_not_written_over(path):
    foreign(path, b"My notes, which end here")


@pytest.mark.parametrize("damage", [b"", b'{"number": 1', b"\xff\xfe", b'{"number": 1} {"number": 2}'])
def test_a_damaged_line_is_refused_with_the_name_of_the_file_and_the_way_out(damage, path):
    keep(path, Counted())
    lines = path.read_bytes().split(b"\n")
    lines[2] = damage
    path.write_bytes(b"\n".join(lines))
    content, after = path.read_bytes(), Counted()
    with pytest.raises(UserError, match=r"dtg\.jsonl: damaged \(.*\); delete it, and it is made again"):
        keep(path, after)
    assert (path.read_bytes(), after.computed) == (content, [])


def test_a_row_of_which_a_disk_has_changed_one_digit_is_refused(path):
    keep(path, Counted())
    path.write_bytes(re.sub(rb'("number": )1\b', rb"\g<1>7", path.read_bytes()))
    after = Counted()
    with pytest.raises(UserError, match=r"dtg\.jsonl: damaged \(a row is not what was written\)"):
        keep(path, after)
    assert after.computed == []


@pytest.mark.parametrize(("held", "wanted"), [(5, 4), (3, 5)])
def test_another_number_of_rows_than_there_should_be_is_refused(held, wanted, path):
    """More in the file than were asked for; fewer that could be computed."""
    if held > wanted:
        keep(path, Counted(held), held)
    with pytest.raises(UserError, match=rf"dtg\.jsonl: holds {held} rows, but there are {wanted}; delete it"):
        keep(path, Counted(held), wanted)


def test_no_rows_are_kept_too(path):
    assert keep(path, Counted(0), 0) == []
    assert path.read_text("utf-8") == f"{HEAD}\n"


SPECIAL = {
    "what cannot be": -math.inf, "what nobody knows": None, "a small number": 5e-324, "a third": 1 / 3,
    "a tuple": (1, 2), "numbers as keys": {1: 0.5, 300: 0.25}, "Þórr 日本語 🙂": "a \n line and \\ \" more",
}  # fmt: skip


def test_rows_are_the_same_whether_they_are_computed_or_read_back(path):
    """A tuple is a list, then, and a number that is a key is a text, from the first time on."""
    computed = kept_rows(path, IDENTITY, 1, lambda first: iter([SPECIAL]))
    read_back = kept_rows(path, IDENTITY, 1, lambda first: iter([]))
    assert computed == read_back
    assert computed[0]["what cannot be"] == -math.inf
    assert (computed[0]["a small number"], computed[0]["a third"]) == (5e-324, 1 / 3)
    assert (computed[0]["a tuple"], computed[0]["numbers as keys"]) == ([1, 2], {"1": 0.5, "300": 0.25})
    assert computed[0]["Þórr 日本語 🙂"] == SPECIAL["Þórr 日本語 🙂"]


@pytest.mark.parametrize("sign", ["\u2028", "\x85"])
def test_a_sign_that_ends_a_line_for_unicode_ends_no_row(sign, path):
    rows = kept_rows(path, IDENTITY, 1, lambda first: iter([{"text": f"a{sign}b"}]))
    assert kept_rows(path, IDENTITY, 1, lambda first: iter([])) == rows


# ---- The folder


def write_there(path: Path, log: Path) -> None:
    def rows_from(first: int) -> Iterator[Row]:
        for number in range(first, 5):
            with open(log, "a") as file:
                file.write(f"{number}\n")
            yield row(number)

    kept_rows(path, IDENTITY, 5, rows_from)


def test_of_two_processes_one_computes_and_the_other_waits_and_finds_it(path, tmp_path):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dtglib.experiments.cache"])
    processes = [context.Process(target=write_there, args=(path, tmp_path / "log")) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert (tmp_path / "log").read_text().split() == ["0", "1", "2", "3", "4"]
    assert keep(path, Counted(0)) == [row(number) for number in range(5)]


@pytest.fixture
def nobody() -> Iterator[None]:
    """Someone who may not write everywhere, as root may."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


@pytest.fixture
def closed() -> Iterator[Path]:
    """A folder that everybody can read, and nobody write into."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        yield Path(folder)
        os.chmod(folder, 0o755)


@pytest.mark.parametrize("within", [".", "scores"])
def test_a_folder_that_cannot_be_written_is_named_before_anything_is_computed(within, closed, nobody):
    rows_from = Counted()
    with pytest.raises(UserError, match=rf"{closed}.*: no permission to write; make it writable"):
        keep(closed / within / "dtg.jsonl", rows_from)
    assert rows_from.computed == []


def test_a_finished_file_can_be_read_where_nothing_can_be_written(nobody):
    """Nor does it wait for anybody who writes there: only who adds rows locks the folder."""
    with tempfile.TemporaryDirectory() as folder:
        rows, kept = keep(Path(folder) / "dtg.jsonl", Counted()), Path(folder) / "dtg.jsonl"
        for file in Path(folder).iterdir():
            os.chmod(file, 0o444)
        (Path(folder) / "lock").unlink(missing_ok=True)
        os.chmod(folder, 0o555)
        rows_from = Counted()
        assert keep(kept, rows_from) == rows
        assert rows_from.computed == []
        os.chmod(folder, 0o755)


def test_a_file_where_the_folder_should_be_is_named(tmp_path):
    (tmp_path / "scores").write_text("")
    with pytest.raises(UserError, match=r"scores.*: a file stands where a folder is needed"):
        keep(tmp_path / "scores" / "dtg.jsonl", Counted())


def test_what_is_refused_to_the_computation_is_not_blamed_on_the_file(path):
    def rows_from(first: int) -> Iterator[Row]:
        raise PermissionError(13, "Permission denied", "elsewhere")
        yield

    with pytest.raises(PermissionError, match="elsewhere"):
        kept_rows(path, IDENTITY, 1, rows_from)
