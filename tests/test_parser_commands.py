"""From configs to parsers, and from a shell to trees: train-parser, parse and trees, and how they take mistakes."""

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import trees
import yaml
from running import CONFIGS, assert_one_line, interrupted_at, lines, raw, without_conventions, written
from toys import DIFFERENCE, TINY, TINY_PARSER

from dtglib.basics.code import RUNNING
from dtglib.basics.config import value_of
from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.cli.main import main
from dtglib.data.corpora import load
from dtglib.data.projectivity import is_projective
from dtglib.data.treebank import Sentence, read_conllu, write_conllu
from dtglib.evaluate.attachment import attached, every_word, is_word
from dtglib.evaluate.tree_forms import form_of
from dtglib.parsing.kept import WEIGHTS_FILE
from dtglib.parsing.kinds import ARCS
from dtglib.parsing.parser import load_parser
from dtglib.parsing.propose import METHODS, propose
from dtglib.parsing.trained import Trained, TreebankExamples
from dtglib.runs.parsers import read_parser, read_parser_settings, trained_parser
from dtglib.runs.settings import RunConfig, read_settings, read_size

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """A folder with a treebank: train.conllu and dev.conllu."""
    folder = tmp_path_factory.mktemp("treebank")
    for part, count in (("train", 16), ("dev", 6)):
        write_conllu(folder / f"{part}.conllu", load("minilang", part, count).sentences)
    return folder


@pytest.fixture(scope="module")
def tiny(corpus) -> Path:
    path = corpus / "tiny.yaml"
    path.write_text(TINY_PARSER.replace("CORPUS", str(corpus)))
    return path


@pytest.fixture(scope="module")
def parser(tiny, tmp_path_factory) -> Path:
    """The folder of a parser."""
    folder = tmp_path_factory.mktemp("parsers") / "tiny"
    assert command("train-parser", tiny, "--out", folder) == 0
    return folder


def command(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


# ---- train-parser


def test_train_parser_prints_what_it_reads_and_how_good_the_parser_is(tiny, tmp_path, capsys):
    assert command("train-parser", tiny, "--out", tmp_path / "run") == 0
    out, err = capsys.readouterr()
    train, dev, best = out.splitlines()
    assert re.fullmatch(r"train: 16 sentences, \d+ words", train)
    assert re.fullmatch(r"dev: 6 sentences, \d+ words", dev)
    nats = min(line["nats_per_head"] + line["nats_per_label"] for line in lines(tmp_path / "run", "dev"))
    assert best == f"{tmp_path}/run: {nats:.4f} nats per word (its share of the tree) on dev, at its best"
    assert err == ""
    assert load_parser(tmp_path / "run").config.lstm_width == 8


def test_a_second_time_train_parser_finds_the_parser_and_prints_the_same(tiny, tmp_path, capsys):
    outputs, times = [], []
    for _ in range(2):
        assert command("train-parser", tiny, "--out", tmp_path / "run") == 0
        outputs.append(capsys.readouterr().out)
        times.append(written(tmp_path / "run"))
    assert outputs[0] == outputs[1]
    assert times[0] == times[1]


def test_set_takes_the_place_of_what_the_config_says(tiny, tmp_path):
    more = ["--set", "lstm_width=4", "--set", "epochs=1", "--set", "learning_rate=1e-4", "--set", "seed=7"]
    assert command("train-parser", tiny, *more, "--out", tmp_path / "run") == 0
    about, config, _ = read_record(tmp_path / "run")
    assert (config["lstm_width"], config["epochs"], config["learning_rate"], about["seeds"]) == (4, 1, 1e-4, [7])
    assert Trained.load(tmp_path / "run").config.lstm_width == 4


def test_train_parser_that_is_interrupted_goes_on_with_the_same_bits(tiny, tmp_path, monkeypatch, capsys):
    with interrupted_at(TreebankExamples, 2, monkeypatch):
        assert command("train-parser", tiny, "--out", tmp_path / "stopped") == 130
    assert_one_line(capsys, "stopped after step", "the same command goes on")
    for name in ("stopped", "whole"):
        assert command("train-parser", tiny, "--out", tmp_path / name) == 0
    assert (tmp_path / "stopped" / WEIGHTS_FILE).read_bytes() == (tmp_path / "whole" / WEIGHTS_FILE).read_bytes()


def test_too_long_sentences_are_named(tiny, corpus, tmp_path, capsys):
    assert command("train-parser", tiny, "--set", "longest=9", "--set", "epochs=1", "--out", tmp_path / "run") == 0
    train = load(corpus, "train").sentences
    left_out = [sentence.id for sentence in train if len(sentence.words) > 9]
    assert any(len(sentence.words) == 9 for sentence in train), "or else it would not show that 9 words are kept"
    (first, *_) = capsys.readouterr().out.splitlines()
    assert f"train: {len(train) - len(left_out)} sentences" in first
    assert f"left out as too long: {len(left_out)} ({left_out[0]}, " in first


TRAINING_MISTAKES = {
    "--set epoch=3": ["unknown key epoch", "did you mean epochs?"],
    "--set layers=3": ["unknown key layers", "lstm_layers"],
    "--set epochs": ["--set epochs: write it as key=value"],
    "--set lstm_width=many": ["lstm_width must be a whole number, not 'many'"],
    "--set lstm_width=0": ["lstm_width must be at least 1, not 0"],
    "--set parser_dropout=1": ["parser_dropout must be from 0 on, below 1, not 1"],
    "--set corpus=minilangue": ["minilangue", "`dtglib corpora` lists them"],
    "--set longest=2": [", train: all 16 sentences have more than 2 words; set longest higher"],
}


@pytest.mark.parametrize("mistake", TRAINING_MISTAKES)
def test_a_mistake_in_training_is_one_line_and_status_2_and_nothing_is_written(mistake, tiny, tmp_path, capsys):
    assert command("train-parser", tiny, *mistake.split(), "--out", tmp_path / "run") == 2
    assert_one_line(capsys, *TRAINING_MISTAKES[mistake])
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("path", "complaint"),
    [
        ("raw", "there is no split 'dev'; it has train"),
        ("raw/train.conllu", "a model is trained on one part and watched on another"),
        ("whole", "whole, train: no sentence has a tree that a parser could learn from"),
        ("empty", "holds no train.conllu"),
    ],
)
def test_a_corpus_that_lacks_something_is_one_line(path, complaint, tiny, tmp_path, capsys):
    raw(tmp_path / "raw", train="There is")
    raw(tmp_path / "whole", train="There is", dev="There is")
    (tmp_path / "empty").mkdir()
    assert command("train-parser", tiny, "--set", f"corpus={tmp_path / path}", "--out", tmp_path / "run") == 2
    assert_one_line(capsys, complaint)
    assert not (tmp_path / "run").exists()


def test_a_config_that_is_not_there_is_named(tmp_path, capsys):
    assert command("train-parser", tmp_path / "nowhere.yaml", "--out", tmp_path / "run") == 2
    assert_one_line(capsys, "nowhere.yaml: No such file or directory")


def test_a_folder_with_another_parser_is_refused_with_the_difference(tiny, parser, capsys):
    before = written(parser)
    assert command("train-parser", tiny, "--set", "seed=2", "--out", parser) == 2
    assert_one_line(capsys, "holds a finished run with other settings: seed was 1 and is 2; choose another folder")
    assert written(parser) == before


# ---- parse

TEXT = "There isn't a difference.\n\n  \nThe cat sees zzzz!\nYes.\n"


@pytest.fixture
def text(tmp_path) -> Path:
    path = tmp_path / "mine.txt"
    path.write_text(TEXT)
    return path


def test_parse_makes_a_treebank_of_raw_text_and_counts_empty_lines(parser, text, tmp_path, capsys):
    assert command("parse", "--parser", parser, text, "--out", tmp_path / "mine.conllu") == 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}/mine.conllu: 3 sentences, 13 words\n"
    assert err == f"dtglib: {text}: 2 left out: empty line\n"
    first, second, third = read_conllu(tmp_path / "mine.conllu").sentences
    assert first.words == ("There", "is", "n't", "a", "difference", ".")
    assert [sentence.text for sentence in (first, second, third)] == [
        line.strip() for line in TEXT.splitlines() if line.strip()
    ]
    assert [sentence.id for sentence in (first, second, third)] == ["mine-1", "mine-4", "mine-5"]
    for sentence in (first, second, third):
        assert sentence.heads.count(0) == 1 and is_projective(sentence.heads)
        assert set(sentence.labels) <= set(load_parser(parser).labels)


def test_parse_tells_how_many_gold_heads_it_found(parser, corpus, tmp_path, capsys):
    assert command("parse", "--parser", parser, corpus / "dev.conllu", "--out", tmp_path / "out.conllu") == 0
    _, with_punctuation, without = capsys.readouterr().out.splitlines()
    gold = read_conllu(corpus / "dev.conllu").sentences
    parsed = read_conllu(tmp_path / "out.conllu").sentences
    found = [sentence.heads for sentence in parsed]
    for line, what, counts in ((with_punctuation, "with", every_word), (without, "without", is_word)):
        uas, right, words = re.fullmatch(rf"UAS {what} punctuation: (.+) \((\d+) of (\d+) words\)", line).groups()
        expected = attached(gold, found, counts)
        assert (int(right), int(words)) == (expected.right.sum(), expected.words.sum())
        assert float(uas) == pytest.approx(100 * int(right) / int(words), abs=0.005)
    assert sum(len(sentence.words) for sentence in gold) == int(with_punctuation.split()[-2])
    assert form_of("heads").score(gold, parsed) == attached(gold, found).uas


def test_all_but_heads_and_labels_of_a_treebank_stays(parser, corpus, tmp_path):
    assert command("parse", "--parser", parser, corpus / "dev.conllu", "--out", tmp_path / "out.conllu") == 0
    before, after = (path.read_text().splitlines() for path in (corpus / "dev.conllu", tmp_path / "out.conllu"))
    for old, new in zip(before, after, strict=True):
        if old[:1].isdecimal():
            old, new = ([*line.split("\t")[:6], *line.split("\t")[8:]] for line in (old, new))
        assert old == new


def test_sentences_without_trees_are_parsed_but_not_counted(parser, tmp_path, capsys):
    untold = re.sub(r"\t\d\t\w+\t_\t_\n", "\t_\t_\t_\t_\n", DIFFERENCE).replace("one", "untold")
    without_labels = re.sub(r"(\t\d)\t\w+\t_\t_\n", r"\1\t_\t_\t_\n", DIFFERENCE).replace("one", "without-labels")
    (tmp_path / "mixed.conllu").write_text(untold + DIFFERENCE + without_labels)
    (tmp_path / "untold.conllu").write_text(untold)
    assert command("parse", "--parser", parser, tmp_path / "mixed.conllu", "--out", tmp_path / "o.conllu") == 0
    assert re.findall(r"of (\d+) words", capsys.readouterr().out) == ["8", "8"]
    assert command("parse", "--parser", parser, tmp_path / "untold.conllu", "--out", tmp_path / "o.conllu") == 0
    assert "UAS" not in capsys.readouterr().out


def test_of_punctuation_alone_there_is_no_accuracy_without_punctuation(parser, tmp_path, capsys):
    (tmp_path / "dots.conllu").write_text("1\t...\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    assert command("parse", "--parser", parser, tmp_path / "dots.conllu", "--out", tmp_path / "o.conllu") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["UAS with punctuation: 100.00 (1 of 1 words)"]


def test_a_split_of_a_corpus_and_its_first_sentences_are_parsed(parser, corpus, tmp_path, capsys):
    more = ["--split", "train", "--sentences", 3]
    assert command("parse", "--parser", parser, corpus, *more, "--out", tmp_path / "deep" / "er" / "o.conllu") == 0
    found = read_conllu(tmp_path / "deep" / "er" / "o.conllu").sentences
    assert [s.words for s in found] == [s.words for s in load(corpus, "train", 3).sentences]


def test_what_does_not_fit_into_memory_is_parsed_in_blocks_and_its_trees_are_kept(
    parser, text, corpus, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)  # where runs/trees will be
    for most in (100, 2):
        monkeypatch.setattr("dtglib.data.streamed.MOST_IN_MEMORY", most)
        assert command("parse", "--parser", parser, text, "--out", f"{most}.conllu") == 0
    monkeypatch.setattr("dtglib.runs.trees.load_parser", lambda name: pytest.fail("parsed again"))
    assert command("parse", "--parser", parser, text, "--out", "again.conllu") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["2.conllu: 3 sentences", "again.conllu: 3 sentences"]
    for most in (100, 2):
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("dtglib.data.streamed.MOST_IN_MEMORY", most)
        assert command("parse", "--parser", parser, corpus / "dev.conllu", "--out", f"treebank-{most}.conllu") == 0
    assert Path("treebank-2.conllu").read_text() == Path("treebank-100.conllu").read_text()  # all columns stay
    assert Path("2.conllu").read_text() == Path("100.conllu").read_text() == Path("again.conllu").read_text()


def test_parsing_shows_how_far_it_is(parser, corpus, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("dtglib.basics.progress.SECONDS_BEFORE_A_BAR", 0)
    monkeypatch.delenv("CI", raising=False)
    assert command("parse", "--parser", parser, corpus / "dev.conllu", "--out", tmp_path / "o.conllu") == 0
    assert re.search(r"parsing: 100%.* 6/6 \[", capsys.readouterr().err)


# ---- trees


def test_trees_lists_them_with_their_probabilities(parser, text, capsys):
    assert command("trees", "--parser", parser, text, "-k", 4) == 0
    told, conventions = without_conventions(capsys.readouterr().out)
    assert conventions.endswith(f"text: {text}; unit: nats; log q: of a tree given its words, exact")
    blocks = re.split(r"\n(?=\S)", "\n".join(told).strip("\n"))
    assert [block.split("\n")[0] for block in blocks] == ["There is n't a difference .", "The cat sees zzzz !", "Yes ."]
    for block, count in zip(blocks, (4, 4, 2), strict=True):
        words, summary, *rows = block.split("\n")
        told, mass = re.fullmatch(r"  (\d+) trees, (\d\.\d{6}) of all probability", summary).groups()
        assert int(told) == len(rows) == count
        found = [re.fullmatch(r" +(-?\d+\.\d{4})  ([\d ]+)", row).groups() for row in rows]
        assert float(mass) == pytest.approx(sum(math.exp(float(log_q)) for log_q, _ in found), abs=1e-3)
        heads = [tuple(map(int, row.split())) for _, row in found]
        assert len(set(heads)) == count
        assert all(len(tree) == len(words.split()) and tree.count(0) == 1 and is_projective(tree) for tree in heads)


@pytest.mark.parametrize("method", METHODS)
def test_trees_as_json_are_those_that_are_proposed(method, parser, text, capsys):
    assert command("trees", "--parser", parser, text, "-k", 5, "--method", method, "--seed", 3, "--json") == 0
    out, err = capsys.readouterr()
    found = json.loads(out)["sentences"]
    assert err == f"dtglib: {text}: 2 left out: empty line\n"
    words = [sentence["words"] for sentence in found]
    assert words[2] == ["Yes", "."]
    for sentence, expected in zip(found, propose(load_parser(parser), words, 5, METHODS[method], seed=3), strict=True):
        assert [tree["heads"] for tree in sentence["trees"]] == expected.heads.tolist()
        assert [tree["log_q"] for tree in sentence["trees"]] == pytest.approx(expected.log_probs.tolist(), abs=1e-5)


def test_the_best_trees_start_with_the_parse_and_come_in_their_order(parser, text, tmp_path, capsys):
    assert command("parse", "--parser", parser, text, "--out", tmp_path / "o.conllu") == 0
    capsys.readouterr()
    assert command("trees", "--parser", parser, text, "-k", 5, "--method", "best", "--json") == 0
    found = json.loads(capsys.readouterr().out)["sentences"]
    for sentence, parsed in zip(found, read_conllu(tmp_path / "o.conllu").sentences, strict=True):
        log_qs = [tree["log_q"] for tree in sentence["trees"]]
        assert log_qs == sorted(log_qs, reverse=True)
        assert tuple(sentence["trees"][0]["heads"]) == parsed.heads


def test_without_a_number_there_are_300_trees_or_all(parser, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("There is a difference\n" + "the cat " * 6 + "\n")
    assert command("trees", "--parser", parser, tmp_path / "mine.txt", "--json") == 0
    four, twelve = (sentence["trees"] for sentence in json.loads(capsys.readouterr().out)["sentences"])
    assert sorted(tuple(tree["heads"]) for tree in four) == sorted(trees.all_trees(4))
    assert sum(math.exp(tree["log_q"]) for tree in four) == pytest.approx(1)
    assert len({tuple(tree["heads"]) for tree in twelve}) == len(twelve) == 300


def test_the_same_seed_gives_the_same_trees_and_another_one_others(parser, text, capsys):
    outputs = []
    for seed in (1, 1, 2):
        assert command("trees", "--parser", parser, text, "-k", 3, "--seed", seed) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]


# ---- Mistakes of both


@pytest.fixture
def asked(request, tmp_path):
    """`parse` or `trees`, with all that it needs but a parser and a file."""
    return [request.param, *(["--out", tmp_path / "o.conllu"] if request.param == "parse" else ["-k", "3"])]


both = pytest.mark.parametrize("asked", ["parse", "trees"], indirect=True)


def assert_two_lines(capsys, text: Path, *parts: str) -> None:
    """First what is left out of the text, then the error."""
    left_out, complaint = capsys.readouterr().err.splitlines()
    assert left_out == f"dtglib: {text}: 2 left out: empty line"
    assert complaint.startswith("dtglib: ")
    assert all(part in complaint for part in parts)


def refused(capsys, tmp_path, *arguments: object, status: int = 2) -> None:
    """It fails, and leaves nothing behind."""
    before = sorted(tmp_path.rglob("*"))
    assert command(*arguments) == status
    assert sorted(tmp_path.rglob("*")) == before


@both
@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("nowhere", "'nowhere' is neither a folder with a parser, nor one of supar's files, nor the name of"),
        ("biaffine-dep", "biaffine-dep-en"),
    ],
)
def test_a_parser_that_is_not_there_is_one_line(name, complaint, asked, text, tmp_path, capsys):
    refused(capsys, tmp_path, *asked, "--parser", name, text)
    assert_two_lines(capsys, text, complaint)


@both
def test_a_folder_that_holds_no_parser_is_one_line(asked, text, tmp_path, capsys):
    refused(capsys, tmp_path, *asked, "--parser", tmp_path, text)
    assert_two_lines(capsys, text, f"{tmp_path}: holds no parser; `dtglib train-parser` makes one")


@both
def test_a_file_that_is_no_parser_is_one_line(asked, text, tmp_path, capsys):
    refused(capsys, tmp_path, *asked, "--parser", text, text)
    assert_two_lines(capsys, text, "mine.txt: not a file of supar's that could be read safely")


FILES = {
    "nowhere.txt": (None, ["nowhere.txt", "is neither a file, a folder nor a corpus"]),
    "empty.txt": ("", ["empty.txt is empty"]),
    "blank.txt": ("\n \n\t\n\n", ["blank.txt is empty"]),
    "no-words.txt": ("\u200b\n\u00ad\n", ["no-words.txt: holds no sentence"]),
    "broken.conllu": (DIFFERENCE.replace("4\tdet", "9\tdet"), ["broken.conllu:4: sentence 'one'"]),
}


@both
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_read_is_named(name, asked, parser, tmp_path, capsys):
    content, complaints = FILES[name]
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    refused(capsys, tmp_path, *asked, "--parser", parser, tmp_path / name)
    *left_out, complaint = capsys.readouterr().err.splitlines()
    assert all(part in complaint for part in complaints)
    assert left_out == ([f"dtglib: {tmp_path / name}: 2 left out: empty line"] if name == "no-words.txt" else [])


@both
def test_a_corpus_with_several_splits_wants_one_named(asked, parser, corpus, tmp_path, capsys):
    refused(capsys, tmp_path, *asked, "--parser", parser, corpus)
    assert_one_line(capsys, f"{corpus}: say which split; it has train, dev")
    refused(capsys, tmp_path, *asked, "--parser", parser, corpus, "--split", "test")
    assert_one_line(capsys, "there is no split 'test'; it has train, dev")


@both
@pytest.mark.parametrize("value", ["0", "-1", "many", "10000001", "9" * 40])
def test_a_number_of_sentences_that_is_none_is_refused(value, asked, parser, text, capsys):
    with pytest.raises(SystemExit) as stop:
        command(*asked, "--parser", parser, text, f"--sentences={value}")
    assert stop.value.code == 2
    assert f"'{value}' is not a number from 1 to 10000000" in capsys.readouterr().err


def test_a_way_to_choose_trees_that_there_is_not_is_refused(parser, text, capsys):
    with pytest.raises(SystemExit) as stop:
        command("trees", "--parser", parser, text, "--method", "worst")
    assert stop.value.code == 2
    assert "invalid choice: 'worst'" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["-1", "1.5", "x", "", "4294967296"])
def test_a_seed_that_is_none_is_refused(value, parser, text, capsys):
    with pytest.raises(SystemExit) as stop:
        command("trees", "--parser", parser, text, f"--seed={value}")
    assert stop.value.code == 2
    assert f"argument --seed: {value!r} is not a number from 0 to 4294967295" in capsys.readouterr().err


def test_a_seed_of_zero_is_one(parser, text, capsys):
    assert command("trees", "--parser", parser, text, "-k", 3, "--seed", 0) == 0


def test_without_a_file_to_write_parse_prints_the_trees(parser, corpus, tmp_path, capsys):
    assert command("parse", "--parser", parser, corpus / "dev.conllu", "--out", tmp_path / "o.conllu") == 0
    told = capsys.readouterr().out.splitlines()
    assert command("parse", "--parser", parser, corpus / "dev.conllu") == 0
    out, err = capsys.readouterr()
    assert out == (tmp_path / "o.conllu").read_text()
    assert err.splitlines() == told[1:]  # how right they are


def test_parse_and_trees_take_a_sentence(parser, capsys):
    assert command("parse", "--parser", parser, "There is n't a difference.") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines() if "\t" in line]
    assert [row[1] for row in rows] == ["There", "is", "n't", "a", "difference", "."]
    assert command("trees", "--parser", parser, "There is a difference", "-k", 2) == 0
    assert capsys.readouterr().out.startswith("There is a difference\n  2 trees, ")


def test_a_file_in_the_place_of_the_folder_to_write_into_is_one_line(parser, text, tmp_path, capsys):
    refused(capsys, tmp_path, "parse", "--parser", parser, text, "--out", text / "o.conllu")
    assert "o.conllu: " in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_one_line(parser, text, tmp_path, capsys):
    (tmp_path / "closed").mkdir(mode=0o500)
    refused(capsys, tmp_path, "parse", "--parser", parser, text, "--out", tmp_path / "closed" / "o.conllu")
    assert "o.conllu: Permission denied" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("way", ["itself", "another name", "a link"])
def test_what_is_to_be_parsed_is_not_written_over(way, parser, text, tmp_path, capsys):
    before = text.read_bytes()
    out = {"itself": text, "another name": text.parent / "." / ".." / text.parent.name / text.name}.get(way)
    if out is None:
        out = tmp_path / "link.txt"
        out.symlink_to(text)
    assert command("parse", "--parser", parser, "--out", out, text) == 2
    assert_one_line(capsys, f"--out: {out} is what is to be parsed; name another file")
    assert text.read_bytes() == before


def test_a_folder_in_the_place_of_the_file_is_refused_before_anything_is_parsed(parser, text, tmp_path, capsys):
    text.write_bytes(b"\xff")  # what could not be read
    assert command("parse", "--parser", parser, "--out", tmp_path, text) == 2
    assert_one_line(capsys, f"--out: {tmp_path} is a folder; name a file in it")


def test_a_mistyped_path_with_a_blank_is_no_sentence(parser, capsys):
    assert command("parse", "--parser", parser, "my texts/mien.txt") == 2
    assert_one_line(capsys, "my texts/mien.txt")


def test_a_file_of_the_folder_that_is_to_be_parsed_is_not_written_over(parser, corpus, tmp_path, capsys):
    gold = corpus / "dev.conllu"
    before = gold.read_bytes()
    assert command("parse", "--parser", parser, "--split", "train", "--out", gold, corpus) == 2
    assert_one_line(capsys, "is what is to be parsed; name another file")
    assert gold.read_bytes() == before


def test_where_parsing_fails_the_old_file_stays(parser, text, tmp_path, monkeypatch, capsys):
    (tmp_path / "o.conllu").write_text(DIFFERENCE)
    arcs = Trained._arcs
    monkeypatch.setattr(Trained, "_arcs", lambda self, sentences: [x * math.nan for x in arcs(self, sentences)])
    refused(capsys, tmp_path, "parse", "--parser", parser, text, "--out", tmp_path / "o.conllu")
    assert re.search(r"parser .*tiny: its scores of '.*' are no numbers", capsys.readouterr().err.splitlines()[-1])
    assert (tmp_path / "o.conllu").read_text() == DIFFERENCE


def test_parse_that_is_interrupted_says_so_and_leaves_the_old_file(parser, text, tmp_path, monkeypatch, capsys):
    def interrupt(self, sentences):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trained, "_arcs", interrupt)
    (tmp_path / "o.conllu").write_text(DIFFERENCE)
    refused(capsys, tmp_path, "parse", "--parser", parser, text, "--out", tmp_path / "o.conllu", status=130)
    assert capsys.readouterr().err.splitlines()[-1] == "dtglib: interrupted"
    assert (tmp_path / "o.conllu").read_text() == DIFFERENCE


WITHOUT_SUPAR = (
    "import sys; sys.modules['supar'] = None; from dtglib.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


# Slow: it starts processes that import PyTorch.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["parse", "trees", "train-parser"])
def test_where_supar_is_not_installed_a_command_says_so_in_one_line(name, tiny, parser, text, tmp_path):
    arguments = {
        "parse": ["--parser", parser, text, "--out", tmp_path / "o.conllu"],
        "trees": ["--parser", parser, text],
        "train-parser": [tiny, "--out", tmp_path / "run"],
    }[name]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SUPAR, name, *map(str, arguments)], capture_output=True, text=True
    )
    assert done.returncode == 2
    *left_out, line = done.stderr.splitlines()
    assert line == "dtglib: this needs supar, which is not installed: run `pip install 'dtglib[parser]'`"
    assert left_out == ([f"dtglib: {text}: 2 left out: empty line"] if name == "trees" else [])


# ---- The configs


# Those of arcs; papers have configs of other kinds.
PARSERS = [path for path in sorted((CONFIGS / "parsers").glob("*.yaml")) if value_of(path, "parser", ARCS) == ARCS]


def test_there_is_a_weak_and_a_strong_parser():
    assert [path.stem for path in PARSERS] == ["large", "strong", "weak"]
    weak, strong = (read_parser(name, read_size("smoke")).parser for name in ("weak", "strong"))
    widths = ("word_width", "character_width", "lstm_layers", "lstm_width", "arc_width", "label_width")
    assert all(getattr(weak, name) < getattr(strong, name) for name in widths)


@pytest.mark.parametrize("path", PARSERS, ids=lambda path: path.stem)
def test_a_config_of_a_parser_sets_every_key(path):
    assert keys_of(path) == known_keys(path)


def keys_of(path: Path) -> set[str]:
    return set(yaml.safe_load(path.read_text()))


def known_keys(path: Path) -> set[str]:
    """The keys that a config for this kind of parser may set."""
    return {field.name for config in read_parser_settings(path) for field in fields(config)}


def test_every_key_is_explained_in_the_weak_one():
    written_down = (CONFIGS / "parsers" / "weak.yaml").read_text().split("\n")
    explained = {line.partition(":")[0] for line in written_down if "#" in line.partition(":")[2]}
    # train_sentences speaks for dev_sentences and test_sentences, the width of words for that of characters.
    assert explained | {"dev_sentences", "test_sentences", "character_width", "lstm_layers", "parser_dropout"} == set(
        yaml.safe_load("\n".join(written_down))
    )


@pytest.mark.parametrize("size", ["smoke", "mini", "open", "paper"])
@pytest.mark.parametrize("name", ["weak", "strong"])
def test_a_parser_takes_corpus_and_seed_of_a_run_and_all_else_from_its_config(name, size):
    settings = replace_run(read_size(size), seed=5)
    chosen = read_parser(name, settings)
    own = read_parser_settings(CONFIGS / "parsers" / f"{name}.yaml")
    assert (chosen.run, chosen.corpus) == (settings.run, settings.corpus)
    assert (chosen.parser, chosen.train) == (own.parser, own.train)
    assert read_parser(name, settings, lstm_width=7, seed=6).run.seed == 6
    assert read_parser(name, settings, lstm_width=7).parser == replace(own.parser, lstm_width=7)


def replace_run(settings, **other):
    return settings._replace(run=RunConfig(**other))


def test_a_parser_that_there_is_not_names_those_that_there_are():
    with pytest.raises(UserError, match=r"^there is no parser 'stronk'; parsers are books, .*large, .*strong, weak$"):
        read_parser("stronk", read_size("smoke"))


# ---- Trained once


@pytest.fixture
def repository(tmp_path, corpus, monkeypatch) -> Path:
    """A repository as `trained_parser` knows one, with a parser called tiny."""
    for folder in ("notebooks", "configs/parsers"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "configs" / "parsers" / "tiny.yaml").write_text(TINY_PARSER.replace("CORPUS", "overridden"))
    (tmp_path / "configs" / "parsers" / "other.yaml").write_text(TINY_PARSER.replace("CORPUS", "overridden"))
    (tmp_path / "configs" / "run.yaml").write_text(TINY.replace("corpus: minilang", f"corpus: {corpus}"))
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


def settings(repository: Path, **other):
    return read_settings(repository / "configs" / "run.yaml", other)


def test_a_parser_is_trained_into_a_folder_of_the_repository_and_found_there_again(repository, monkeypatch):
    folder = trained_parser("tiny", settings(repository))
    assert folder.parent == repository / "runs" / "parsers"
    assert re.fullmatch(r"tiny-[0-9a-f]{12}", folder.name)
    assert read_record(folder).about["status"] == "finished"
    before = written(folder)

    def refuse(*arguments):
        raise AssertionError("it trains again")

    monkeypatch.setattr(TreebankExamples, "batch", refuse)
    assert trained_parser("tiny", settings(repository)) == folder
    assert written(folder) == before
    (parsed,) = load_parser(folder).parse([Sentence(("There", "is"))])
    assert parsed.heads in trees.all_trees(2)


def test_a_name_may_have_a_corpus_of_its_own_also_a_folder(repository, corpus):
    folder = trained_parser(f"tiny:{corpus}", settings(repository, corpus="minilang"))
    assert folder.parent == repository / "runs" / "parsers"
    assert read_record(folder).about["status"] == "finished"


def test_how_many_sentences_are_tested_on_makes_no_other_parser(repository):
    assert trained_parser("tiny", settings(repository)) == trained_parser(
        "tiny", settings(repository, test_sentences=7)
    )


CHANGES = {
    "another seed": ({"seed": 2}, {}),
    "fewer sentences to learn from": ({"train_sentences": 15}, {}),
    "fewer sentences to watch it on": ({"dev_sentences": 5}, {}),
    "another size": ({}, {"lstm_width": 4}),
    "another training": ({}, {"epochs": 1}),
}


# Slow: a second training for each.
@pytest.mark.parametrize(("of_the_run", "of_the_parser"), CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.slow
def test_other_settings_train_another_parser(of_the_run, of_the_parser, repository):
    first = trained_parser("tiny", settings(repository))
    second = trained_parser("tiny", settings(repository, **of_the_run), **of_the_parser)
    assert first != second
    assert read_record(second).about["status"] == "finished"


def test_settings_of_the_language_model_train_no_other_parser(repository):
    first, second = (trained_parser("tiny", settings(repository, **other)) for other in ({}, {"width": 32, "trees": 5}))
    assert first == second


def test_other_sentences_in_the_same_place_train_another_parser(repository, corpus):
    mine = repository / "mine"
    mine.mkdir()
    for part in ("train", "dev"):
        (mine / f"{part}.conllu").write_text((corpus / f"{part}.conllu").read_text())
    first = trained_parser("tiny", settings(repository, corpus=str(mine)))
    train = read_conllu(mine / "train.conllu").sentences
    write_conllu(mine / "train.conllu", train[::-1])
    assert trained_parser("tiny", settings(repository, corpus=str(mine))) != first


def test_other_code_trains_another_parser(repository, monkeypatch):
    first = trained_parser("tiny", settings(repository))
    monkeypatch.setitem(RUNNING, "dtglib/training/loop", "of a changed one")
    assert trained_parser("tiny", settings(repository)) != first


def test_code_that_decides_about_no_weight_trains_no_other_parser(repository, monkeypatch):
    first = trained_parser("tiny", settings(repository))
    for module in (
        "dtglib/decode/beam",
        "dtglib/pictures/plot",
        "dtglib/runs/tables",
        "dtglib/basics/progress",
        "dtglib/families/dtg",
    ):
        monkeypatch.setitem(RUNNING, module, "of a changed one")
    assert trained_parser("tiny", settings(repository)) == first
