"""Rows that are kept: what is computed once is found again, after an exception, a kill, and by another process."""

import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from dtglib.basics.errors import UserError
from dtglib.basics.record import Row
from dtglib.runs.cache import Computed, kept_rows, rows_now

IDENTITY = {"model": "1a2b3c", "trees": 300}
HEAD = '{"model": "1a2b3c", "trees": 300}'


def row(number: int) -> Row:
    return {"number": number, "log_prob": -1.5 * number, "best": [2, 0, 4, 2], "text": f"Þórr {number}"}


class Counted:
    """Computes rows, and remembers which."""

    def __init__(self, until: int = 5, breaks_at: int | None = None) -> None:
        self.until, self.breaks_at, self.computed = until, breaks_at, []

    def __call__(self) -> Callable[[slice], Iterator[Row]]:
        return self.rows

    def rows(self, block: slice) -> Iterator[Row]:
        for number in range(block.start, min(block.stop, self.until)):
            if number == self.breaks_at:
                raise ZeroDivisionError
            self.computed.append(number)
            yield row(number)


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "scores" / "dtg.jsonl"


def keep(path: Path, load: Counted, count: int = 5, at_once: int = 1, **other: object) -> list[Row]:
    return kept_rows(path, IDENTITY | other, Computed([1] * count, load, at_once))


def one_by_one(rows_of: Callable[[slice], Iterable[Row]], count: int) -> Computed:
    return Computed([1] * count, lambda: rows_of)


def test_a_file_begins_with_what_its_rows_are_results_of_and_has_a_line_for_each(path):
    rows = keep(path, Counted())
    assert rows == [row(number) for number in range(5)]
    head, *lines = path.read_text("utf-8").splitlines()
    assert head == HEAD
    written = [json.loads(line) for line in lines]
    assert [line.pop("#") for line in written] == [0, 1, 2, 3, 4]
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

    def rows_of(block: slice) -> Iterator[Row]:
        for number in range(block.start, block.stop):
            seen.append(path.read_text("utf-8").count("\n"))
            yield row(number)

    kept_rows(path, IDENTITY, Computed([1] * 4, lambda: rows_of, at_once=2))
    assert seen == [1, 2, 3, 4]


# Slow: a process of its own; the next test cuts the file at every byte.
@pytest.mark.slow
def test_a_killed_process_leaves_what_it_had(path):
    program = (
        "import sys, time, pathlib\nfrom dtglib.runs.cache import Computed, kept_rows\n"
        "def rows(block):\n"
        "    yield {'number': 0}\n"
        "    yield {'number': 1}\n"
        "    print('now', flush=True); time.sleep(60)\n"
        f"kept_rows(pathlib.Path(sys.argv[1]), {IDENTITY}, Computed([1] * 5, lambda: rows, 5))\n"
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
    ends = [number for number, byte in enumerate(content) if byte == ord("\n")]
    for length in range(len(content)):  # also in the middle of a letter, or of the first line
        path.write_bytes(content[:length])
        after = Counted()
        assert keep(path, after) == rows
        whole = sum(end <= length for end in ends)
        assert after.computed == list(range(max(0, whole - 1), 5))


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
    kept_rows(path, dict(reversed(IDENTITY.items())), Computed([1] * 5, after))
    assert after.computed == []


def foreign(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"dtg\.jsonl: holds results of something else"):
        keep(path, Counted())
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"My notes\n", b"\xff\xfe\n\x00"])
def test_a_file_that_never_was_one_of_ours_is_not_written_over(content, path):
    foreign(path, content)


def test_a_foreign_file_without_the_end_of_a_line_is_not_written_over(path):
    foreign(path, b"My notes, which end here")


@pytest.mark.parametrize("damage", [b"", b'{"number": 1', b"\xff\xfe", b'{"number": 1} {"number": 2}', b"3"])
def test_a_damaged_line_is_computed_again(damage, path):
    rows = keep(path, Counted())
    lines = path.read_bytes().split(b"\n")
    lines[2] = damage
    path.write_bytes(b"\n".join(lines))
    after = Counted()
    assert keep(path, after) == rows
    assert after.computed == [1]


def test_more_rows_than_there_should_be_are_refused(path):
    keep(path, Counted(5), 5)
    with pytest.raises(UserError, match=r"dtg\.jsonl: holds 5 rows, but there are 4; delete it"):
        keep(path, Counted(5), 4)


def test_a_function_that_has_too_few_rows_of_a_block_is_wrong(path):
    with pytest.raises(ValueError, match="shorter"):
        keep(path, Counted(3), 5)


def test_what_a_stop_cut_off_a_block_is_added_and_the_rest_stays_although_the_whole_block_is_computed_again(path):
    with pytest.raises(ZeroDivisionError):
        keep(path, Counted(8, breaks_at=5), 8, at_once=4)
    before = path.read_bytes()
    after = Counted(8)
    assert keep(path, after, 8, at_once=4) == [row(number) for number in range(8)]
    assert after.computed == [4, 5, 6, 7]
    assert path.read_bytes().startswith(before)
    assert len(path.read_text("utf-8").splitlines()) == 1 + 8


def test_the_result_is_the_rows_of_all_processes_files(path):
    """As two processes leave them that were killed; a row may be in both files."""
    rows = keep(path, Counted())
    head, *lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + lines[3] + lines[0])
    (path.parent / "dtg-1.jsonl").write_bytes(head + lines[1] + lines[0] + lines[4][:9])
    after = Counted()
    assert keep(path, after) == rows
    assert after.computed == [2, 4]


def test_no_rows_need_no_file(path):
    assert keep(path, Counted(0), 0) == []
    assert not path.exists()


SPECIAL = {
    "what cannot be": -math.inf, "what nobody knows": None, "a small number": 5e-324, "a third": 1 / 3,
    "a tuple": (1, 2), "numbers as keys": {1: 0.5, 300: 0.25}, "Þórr 日本語 🙂": "a \n line and \\ \" more",
}  # fmt: skip


def test_rows_are_the_same_whether_they_are_computed_or_read_back(path):
    """A tuple is a list, then, and a number that is a key is a text, from the first time on."""
    computed = kept_rows(path, IDENTITY, one_by_one(lambda block: [SPECIAL], 1))
    read_back = kept_rows(path, IDENTITY, one_by_one(lambda block: [], 1))
    assert computed == read_back
    assert rows_now(one_by_one(lambda block: [SPECIAL], 1)) == computed, "also if nothing is kept"
    assert computed[0]["what cannot be"] == -math.inf
    assert (computed[0]["a small number"], computed[0]["a third"]) == (5e-324, 1 / 3)
    assert (computed[0]["a tuple"], computed[0]["numbers as keys"]) == ([1, 2], {"1": 0.5, "300": 0.25})
    assert computed[0]["Þórr 日本語 🙂"] == SPECIAL["Þórr 日本語 🙂"]


@pytest.mark.parametrize("sign", ["\u2028", "\x85"])
def test_a_sign_that_ends_a_line_for_unicode_ends_no_row(sign, path):
    rows = kept_rows(path, IDENTITY, one_by_one(lambda block: [{"text": f"a{sign}b"}], 1))
    assert kept_rows(path, IDENTITY, one_by_one(lambda block: [], 1)) == rows


# ---- The folder


def write_there(path: Path, log: Path) -> None:
    def rows_of(block: slice) -> Iterator[Row]:
        with open(log, "a") as file:
            file.write(f"{block.start}\n")
        yield row(block.start)

    kept_rows(path, IDENTITY, one_by_one(rows_of, 5))


def test_of_two_processes_one_computes_and_the_other_waits_and_finds_it(path, tmp_path):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dtglib.runs.cache"])
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
    load = Counted()
    with pytest.raises(PermissionError):
        keep(closed / within / "dtg.jsonl", load)
    assert load.computed == []


def test_a_finished_file_can_be_read_where_nothing_can_be_written(nobody):
    """Nor does it wait for anybody who writes there: only who adds rows locks the folder."""
    with tempfile.TemporaryDirectory() as folder:
        rows, kept = keep(Path(folder) / "dtg.jsonl", Counted()), Path(folder) / "dtg.jsonl"
        (Path(folder) / ".lock").unlink()
        for file in Path(folder).iterdir():
            os.chmod(file, 0o444)
        os.chmod(folder, 0o555)
        load = Counted()
        assert keep(kept, load) == rows
        assert load.computed == []
        os.chmod(folder, 0o755)


def test_a_file_where_the_folder_should_be_is_named(tmp_path):
    (tmp_path / "scores").write_text("")
    with pytest.raises(OSError, match="scores"):
        keep(tmp_path / "scores" / "dtg.jsonl", Counted())


def test_what_is_refused_to_the_computation_is_not_blamed_on_the_file(path):
    def load() -> Callable[[slice], Iterable[Row]]:
        raise PermissionError(13, "Permission denied", "elsewhere")

    with pytest.raises(PermissionError, match="elsewhere"):
        kept_rows(path, IDENTITY, Computed([1], load))
