"""The command line: tables and JSON on standard output, one line for a mistake, status 2."""

import csv
import json
import os
import subprocess
import sys

import pytest

from dtglib.cli import main

DIFFERENCE = (
    "# sent_id = one\n"
    "1\tThere\tthere\tPRON\tEX\t_\t2\texpl\t_\t_\n"
    "2\tis\tbe\tVERB\tVBZ\t_\t0\troot\t_\t_\n"
    "3\ta\ta\tDET\tDT\t_\t4\tdet\t_\t_\n"
    "4\tdifference\tdifference\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n"
    "\n"
)


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "mine.conllu"
    path.write_text(DIFFERENCE)
    return path


def test_stats_of_a_file_as_a_table(treebank, capsys):
    assert main(["stats", str(treebank)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[:5] == ["corpus", "split", "sentences", "words", "projective"]
    assert row.split()[1:5] == ["all", "1", "4", "1"]


def test_stats_of_a_file_as_json(treebank, capsys):
    assert main(["stats", str(treebank), "--json"]) == 0
    (stats,) = json.loads(capsys.readouterr().out)["stats"]
    assert (stats["sentences"], stats["words"], stats["projective"], stats["excluded"]) == (1, 4, 1, {})
    assert stats["lengths"]["median"] == 4


def test_a_broken_treebank_is_one_line_and_status_2(treebank, capsys):
    treebank.write_text(DIFFERENCE.replace("4\tdet", "9\tdet"))
    assert main(["stats", str(treebank)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "mine.conllu:4: sentence 'one'" in err


def test_broken_sentences_can_be_skipped_and_are_counted(treebank, capsys):
    treebank.write_text(DIFFERENCE + DIFFERENCE.replace("4\tdet", "9\tdet"))
    assert main(["stats", str(treebank), "--skip-broken"]) == 0
    assert "1 head out of range" in capsys.readouterr().out


def test_an_unknown_corpus_names_the_known_ones(capsys):
    assert main(["stats", "minlang"]) == 2
    assert "minilang" in capsys.readouterr().err


def test_corpora_lists_the_embedded_one(capsys):
    assert main(["corpora", "--json"]) == 0
    names = [corpus["name"] for corpus in json.loads(capsys.readouterr().out)["corpora"]]
    assert names[:3] == ["minilang", "ud-english", "bllip"]


def test_minilang_writes_files_that_the_other_commands_read(tmp_path, capsys):
    assert main(["minilang", "--out", str(tmp_path), "--sentences", "40", "--seed", "3"]) == 0
    assert main(["stats", str(tmp_path), "--json"]) == 0
    printed = capsys.readouterr().out
    stats = json.loads(printed[printed.index('{\n  "stats"') :])["stats"]
    assert [(part["split"], part["sentences"]) for part in stats] == [("train", 40), ("dev", 2), ("test", 2)]
    assert len((tmp_path / "minilang-train.brackets").read_text().splitlines()) == 40
    assert all(json.loads(line) for path in (tmp_path / "pairs").iterdir() for line in path.read_text().splitlines())
    with open(tmp_path / "suites" / "circuits.csv") as file:
        rows = list(csv.DictReader(file))
    assert {f"{row['suite']}.json" for row in rows} == {p.name for p in (tmp_path / "suites").glob("*.json")}
    assert not list(tmp_path.rglob("*.part"))


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["minilang", "--out", str(tmp_path / "file"), "--sentences", "5"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("count", ["0", "-3", "many"])
def test_a_wrong_number_of_sentences_is_refused(count, tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["minilang", "--out", str(tmp_path), "--sentences", count])
    assert stop.value.code == 2
    assert "is not a number of sentences" in capsys.readouterr().err


def test_a_reader_who_has_enough_is_no_error(treebank):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write) as closed:
        command = [sys.executable, "-m", "dtglib", "stats", str(treebank)]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert done.stderr == ""
