"""The command line: tables and JSON on standard output, one line for a mistake, status 2."""

import json
import os
import re
import subprocess
import sys

import pytest
from running import assert_one_line, raw, written
from toys import DIFFERENCE, TINY

from dtglib.basics.record import read_record
from dtglib.cli.main import main
from dtglib.cli.options import is_sentence
from dtglib.data.corpora import load
from dtglib.families.base import load_model

pytestmark = pytest.mark.usefixtures("one_thread")


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


def test_an_unknown_corpus_names_the_known_ones(capsys):
    assert main(["stats", "minlang"]) == 2
    assert "did you mean minilang?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("pairs.jsonl", b"{}", "pairs.jsonl: .jsonl is no format of sentences"),
        ("bell.txt", b"There is.\nA \x07 difference.", "bell.txt:2: sentence 'bell-2': it has control characters"),
        ("wide.txt", "There is.".encode("utf-16-le"), "wide.txt:1: sentence 'wide-1': it has control characters"),
        ("my data/mine.csv", None, "'my data/mine.csv' is neither a file, a folder nor a corpus"),
    ],
)
def test_what_is_no_text_is_one_line(name, content, complaint, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert main(["score", "--model", "txl-tokens-minilang", name]) == 2
    assert_one_line(capsys, complaint)


def test_what_looks_odd_is_a_text_all_the_same(tmp_path):
    sentences = ["He ran 1.5km", "Write to me@enron.com", "See you at 5 p.m", "I use Node.js", "(a) (b) There is."]
    assert all(map(is_sentence, sentences)) and not is_sentence("my data/mine.CSV")
    (tmp_path / "odd.txt").write_bytes("\n".join(["((laughs)) yes", "a\x0cb", "a\rb", "end\x1a", *sentences]).encode())
    assert len(load(tmp_path / "odd.txt").sentences) == 9


def test_an_empty_name_is_one_line(capsys):
    assert main(["score", "There is.", "--model", ""]) == 2
    assert_one_line(capsys, "--model is empty; is a variable of the shell unset?")


def test_corpora_lists_the_embedded_one(capsys):
    assert main(["corpora", "--json"]) == 0
    names = [corpus["name"] for corpus in json.loads(capsys.readouterr().out)["corpora"]]
    assert names[:3] == ["minilang", "ud-english", "bllip"]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    tree = ["--system", "arc-standard", "--words", "There is", "--heads", "2 0"]
    assert main(["structure", *tree, "--svg", str(tmp_path / "file" / "mask.svg")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


# What a shell passes on of a word in another encoding; and a sentence has no parts.
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["The caf\udce9 is open."], "is not UTF-8"), (["He laughs.", "--split", "dev"], "is a sentence")],
)
def test_a_sentence_that_cannot_be_read_is_named_in_one_line(arguments, complaint, capsys):
    assert main(["surprisal", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert repr(arguments[0]) in line and complaint in line


def test_words_that_cannot_be_printed_are_named_in_one_line():
    words = ["structure", "--system", "arc-standard", "--heads", "2 0", "--words", b"The caf\xe9"]
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}  # as in a terminal
    ran = subprocess.run([sys.executable, "-m", "dtglib", *words], env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "is not UTF-8" in ran.stderr


@pytest.mark.parametrize("count", ["0", "-3", "many"])
def test_a_wrong_number_of_sentences_is_refused(count, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["sample", "-n", count])
    assert stop.value.code == 2
    assert "is not a number from 1 to" in capsys.readouterr().err


def test_a_reader_who_has_enough_is_no_error():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write) as closed:
        command = [sys.executable, "-m", "dtglib", "corpora"]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True)
    assert done.stderr == ""


def test_a_command_that_is_interrupted_says_so_in_one_line(treebank, capsys, monkeypatch):
    def interrupt(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("dtglib.data.corpora.blocks", interrupt)
    assert main(["stats", str(treebank)]) == 130
    assert capsys.readouterr().err == "dtglib: interrupted\n"


# Training


@pytest.fixture
def tiny(tmp_path):
    """A config of a model that is trained within a second, and needs no oracle."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY.replace("model: dtg", "model: txl-tokens"))
    return path


def test_train_prints_what_it_reads_and_how_good_the_model_is(tiny, tmp_path, capsys):
    assert main(["train", str(tiny), "--out", str(tmp_path / "run")]) == 0
    train, dev, best = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"train: 40 sentences, \d+ positions", train)
    assert re.fullmatch(r"dev: 10 sentences, \d+ positions", dev)
    nats = min(line["nats_per_transition"] for line in read_record(tmp_path / "run").metrics if line["part"] == "dev")
    assert best == f"{tmp_path}/run: {nats:.4f} nats per transition on dev, at its best"


def test_a_second_time_train_finds_the_model_and_prints_the_same(tiny, tmp_path, capsys):
    outputs = []
    for _ in range(2):
        assert main(["train", str(tiny), "--out", str(tmp_path / "run")]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("model", ["dtg", "dtg-eager", "dtg-swift", "txl-trans", "txl-tokens"])
def test_model_and_set_take_the_place_of_what_the_config_says(model, tiny, tmp_path):
    more = ["--set", "width=8", "--set", "epochs=1", "--set", "learning_rate=1e-4", "--set", "evaluate_every=null"]
    assert main(["train", str(tiny), "--model", model, *more, "--out", str(tmp_path / "run")]) == 0
    config = read_record(tmp_path / "run").config
    assert (config["model"], config["width"], config["epochs"], config["learning_rate"]) == (model, 8, 1, 1e-4)
    trained = load_model(tmp_path / "run").config
    assert (trained.model, trained.width) == (model, 8)


def test_a_sentence_that_is_too_long_is_named_and_counted(tiny, tmp_path, capsys):
    corpus = raw(tmp_path / "raw", train="There is", dev="There is")
    with open(corpus / "train.conllu", "a") as file:
        file.write((corpus / "train.conllu").read_text().replace("train-1", "long") + "\n")
        file.write(raw(tmp_path / "other", long="There is a difference").joinpath("long.conllu").read_text())
    more = ["--set", f"corpus={corpus}", "--set", "longest=4"]
    assert main(["train", str(tiny), *more, "--out", str(tmp_path / "run")]) == 0
    summary = "2 sentences, 6 positions; left out: 1 more than 4 positions (long-1)"
    assert capsys.readouterr().out.splitlines()[0] == f"train: {summary}"
    assert read_record(tmp_path / "run").metrics[0]["train"] == summary


MISTAKES = {
    "--set epoch=3": ["unknown key epoch", "did you mean epochs?"],
    "--set mask_rate=0.3": ["unknown key mask_rate"],  # of another family, whose keys a config may have
    "--set epochs": ["--set epochs: write it as key=value"],
    "--set epochs=many": ["epochs must be a whole number, not 'many'"],
    "--set epochs=0": ["epochs must be at least 1, not 0"],
    "--set clip=-1": ["clip must be a finite number greater than 0"],
    "--set model=gpt": ["there is no model 'gpt'; models are ", "txl-tokens, txl-trans, "],
    "--model gpt": ["there is no model 'gpt'; models are ", "txl-tokens, txl-trans, "],
    "--set corpus=minilangue": ["minilangue", "`dtglib corpora` lists them"],
    "--set longest=2": ["txl-tokens; left out: 40 more than 2 positions; set longest higher"],
    "--set width=9": ["width must be an even number per head"],
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_and_status_2_and_nothing_is_written(mistake, tiny, tmp_path, capsys):
    assert main(["train", str(tiny), *mistake.split(), "--out", str(tmp_path / "run")]) == 2
    assert_one_line(capsys, *MISTAKES[mistake])
    assert not (tmp_path / "run").exists()


def test_a_config_that_is_not_there_is_named(tmp_path, capsys):
    assert main(["train", str(tmp_path / "nowhere.yaml"), "--out", str(tmp_path / "run")]) == 2
    assert_one_line(capsys, "nowhere.yaml: No such file or directory; a config is a YAML file such as")


def test_without_a_folder_for_the_model_train_does_not_begin(tiny, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["train", str(tiny)])
    assert stop.value.code == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("corpus", "options", "complaint"),
    [
        ("raw", [], "there is no split 'dev'; it has train"),
        ("raw/train.conllu", [], "a model is trained on one part and watched on another"),
        ("whole", ["--model", "dtg"], "no sentence is left for model dtg; left out: 1 no tree"),
    ],
)
def test_a_corpus_that_lacks_something_is_one_line(corpus, options, complaint, tiny, tmp_path, capsys):
    raw(tmp_path / "raw", train="There is")
    raw(tmp_path / "whole", train="There is", dev="There is")
    more = ["--set", f"corpus={tmp_path / corpus}", *options]
    assert main(["train", str(tiny), *more, "--out", str(tmp_path / "run")]) == 2
    assert_one_line(capsys, complaint)


@pytest.mark.parametrize("out", ["", "tiny.yaml", "tiny.yaml/x", "/dev/null"])
@pytest.mark.parametrize("command", ["train nowhere", "train-parser nowhere", "suites nowhere", "blimp nowhere"])
def test_what_is_no_folder_is_said_before_anything_is_read(command, out, tiny, monkeypatch, capsys):
    monkeypatch.chdir(tiny.parent)
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), "--out", out])
    assert f"argument --out: {out!r} is no folder" in capsys.readouterr().err


def test_a_folder_with_another_run_is_refused_with_the_difference(tiny, tmp_path, capsys):
    assert main(["train", str(tiny), "--out", str(tmp_path / "run")]) == 0
    before = written(tmp_path / "run")
    capsys.readouterr()
    assert main(["train", str(tiny), "--set", "seed=2", "--out", str(tmp_path / "run")]) == 2
    assert_one_line(capsys, "holds a finished run with other settings: seed was 1 and is 2; choose another folder")
    assert written(tmp_path / "run") == before


def test_a_public_test_set_of_which_files_are_missing_is_said_to_be_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    (tmp_path / "blimp").mkdir()
    (tmp_path / "blimp" / "adjunct_island.jsonl").write_text("")
    assert main(["blimp", "--model", "dtg-minilang"]) == 2
    assert f"dtglib: {tmp_path / 'blimp'} lacks some files (`make data` fetches them)" in capsys.readouterr().err
