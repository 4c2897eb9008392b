"""`dtglib tune`: from a trained model, a GiLT and the files of a task to the record of what tuning is worth."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from running import CONFIGS, lines, written
from toys import small_model, tiny_repository, vocabulary

from dtglib.basics.config import read_config
from dtglib.basics.record import read_record
from dtglib.cli.main import main
from dtglib.data.vocabulary import END
from dtglib.training.stopping import Interrupted
from dtgpapers.gilt.config import GiltConfig
from dtgpapers.gilt.examples import counts
from dtgpapers.gilt.model import Gilt
from dtgpapers.tuning import tuning
from dtgpapers.tuning.tuning import ItemsConfig
from dtgpapers.tuning.ways import tunings

pytestmark = pytest.mark.usefixtures("one_thread")

SMALLEST = [
    "epochs=2", "feature_width=4", "beam=2", "within=2.0", "learning_rate=0.01", "batch_positions=300",
    "precision=float32", "warmup_steps=0", "patience=null",
]  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A repository with trained models and a task's files, and nothing else."""
    folder = tiny_repository(tmp_path)
    (folder / "configs" / "tuning").mkdir()
    shutil.copy(CONFIGS / "tuning" / "small.yaml", folder / "configs" / "tuning")
    small_model("txl-tokens", layers=2).save(folder / "body")
    torch.manual_seed(1)
    gilt = Gilt(GiltConfig(layers=2, width=16, heads=2, inner=24, feature_width=4), in_pieces())
    with torch.no_grad():
        gilt.output.bias[END] += 1
    gilt.save(folder / "gilt")
    write_task(folder / "data" / "sts" / "STSBenchmark")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DTG_DATA", raising=False)
    return folder


def in_pieces():
    return vocabulary("pieces").with_symbols(counts(29))


def write_task(folder: Path) -> None:
    """Pairs of a few words, with scores by how many words they share."""
    folder.mkdir(parents=True)
    chance, words = np.random.default_rng(1), ["there", "is", "a", "difference", "the", "keys"]
    for part, count in (("train", 16), ("dev", 8), ("test", 8)):
        pairs = [[list(chance.choice(words, size)) for size in chance.integers(1, 4, 2)] for _ in range(count)]
        rows = [(*"gsyn", f"{len(set(a) & set(b))}.0", " ".join(a), " ".join(b)) for a, b in pairs]
        (folder / f"sts-{part}.csv").write_text("\n".join(map("\t".join, rows)) + "\n")


def tune(*more: str, out: str = "out") -> int:
    sets = [part for one in SMALLEST for part in ("--set", one)]
    about = ["--model", "body", "--task", "sts-b", "--out", out]
    return main(["tune", "configs/tuning/small.yaml", *about, *sets, *more])


# Slow, like the next: with a GiLT of its own and several trainings; the fast tests tune a plain model.
@pytest.mark.slow
def test_both_ways_are_tuned_with_every_seed_and_recorded(place, capsys):
    assert tune("--graphs", "gilt", "--seeds", "1", "2") == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == ["tuned", "on", "items", "seeds", "Pearson", "Spearman"] and "±" in shown[1]
    assert [line.split("  ")[0] for line in shown[1:5]] == ["TXL (tokens)"] * 2 + ["GiLT-TXL"] * 2
    record = read_record(place / "out")
    assert record.about["seeds"] == [1, 2] and record.config["gilt-txl"]["graph_layers"] == 2
    assert record.config["txl"]["graph_layers"] == 0 and record.config["task"] == "sts-b"
    scores = lines(place / "out", "scores")
    assert [(line["way"], line["seed"], line["on"], line["items"]) for line in scores] == [
        (way, seed, part, 8) for way in ("txl", "gilt-txl") for seed in (1, 2) for part in ("dev", "test")
    ]
    for line in lines(place / "out", "means"):
        of = [one["Pearson"] for one in scores if (one["way"], one["on"]) == (line["way"], line["on"])]
        assert line["Pearson"] == pytest.approx(np.mean(of)) and line["Pearson, sd"] == pytest.approx(
            np.std(of, ddof=1)
        )
    folders = {line["folder"] for line in lines(place / "out", "tuning")}
    assert len(folders) == 4 and all(
        (place / "runs" / "models" / one / "model.safetensors").exists() for one in folders
    )
    dev = [one for one in scores if one["on"] == "dev"]
    for line, told in zip(dev, lines(place / "out", "tuning"), strict=True):
        kept = [one for one in lines(place / "runs" / "models" / told["folder"], "dev") if one["is_best"]][-1]
        assert line["Pearson"] == pytest.approx(kept["Pearson"], abs=1e-4)
    silver = next((place / "runs" / "scores").glob("parses-gilt-*"))
    trees = [json.loads(row)["tree"] for row in (silver / "rows.jsonl").read_text().splitlines()[1:]]
    assert any(trees) and all(len(tree) % 2 == 0 for tree in trees)


@pytest.mark.slow
def test_what_was_stopped_goes_on_and_what_is_there_is_found(place, monkeypatch):
    asked = []
    whole = tuning.train_network

    def stopped(weights, *more):
        asked.append(weights.parent.name)
        if len(asked) == 2:
            raise Interrupted("stopped")
        whole(weights, *more)

    monkeypatch.setattr(tuning, "train_network", stopped)
    assert tune("--graphs", "gilt") == 130
    assert read_record(place / "out").about["status"] == "interrupted"
    monkeypatch.setattr(tuning, "train_network", whole)
    before = written(place / "runs" / "models" / asked[0])
    assert tune("--graphs", "gilt") == 0
    assert written(place / "runs" / "models" / asked[0]) == before


def test_without_a_gilt_only_plain_tuning_is_tried(place, capsys):
    assert tune() == 0
    out, err = capsys.readouterr()
    assert "GiLT-TXL" not in out and "TXL (tokens)" in out and "without --graphs" in err
    assert "# model: body; text: sts-b; unit: 100 times each score; seeds: 1" in out
    (line,) = [one for one in lines(place / "out", "means") if one["on"] == "test"]
    assert line["seeds"] == 1 and line["Pearson, sd"] is None
    assert lines(place / "out", "data")[0]["summary"].startswith("16 items of sts-b, ")


def test_the_first_items_can_be_asked_for(place):
    sizes = [part for one in ("train_items=4", "dev_items=3", "test_items=2", "epochs=1") for part in ("--set", one)]
    assert tune(*sizes) == 0
    assert [one["summary"].split()[0] for one in lines(place / "out", "data")] == ["4", "3", "2"]


def test_without_a_test_part_scores_are_of_dev_and_this_is_said(place, capsys):
    (place / "data" / "sts" / "STSBenchmark" / "sts-test.csv").unlink()
    assert tune("--set", "epochs=1", "--set", "train_items=4") == 0
    assert "sts-b has no judged test part here; scores are of dev" in capsys.readouterr().err
    assert [one["on"] for one in lines(place / "out", "scores")] == ["dev"]


@pytest.mark.parametrize(
    ("more", "what"),
    [
        (["--set", "layers=3"], "--set layers: it is a property of the trained model"),
        (["--graphs", "body"], "GiLT-TXL reads arcs, and TXL (tokens) finds heads"),
        (["--task", "sts12"], "sts12: has no train part"),
        (["--task", "rte"], "rte: there is no"),
        (["--model", "gilt"], "there is no way to tune a model of GiLT"),
        (["--set", "graph_layers=5", "--graphs", "gilt"], "graph_layers must be 0, or from 2 to 2"),
        (["--set", "graph_layer=2"], "unknown key graph_layer; did you mean graph_layers?"),
    ],
)
def test_a_mistake_is_one_line(place, capsys, more, what):
    assert tune(*more) == 2
    said = capsys.readouterr().err.splitlines()
    err = [line for line in said if "without --graphs" not in line and "no judged test part" not in line]
    assert len(err) == 1 and err[0].startswith("dtglib: ") and what in err[0]
    assert not (place / "runs" / "models").exists() and not (place / "out").exists()


def test_a_finished_record_is_not_written_over(place, capsys):
    assert tune("--set", "epochs=1", "--set", "train_items=2") == 0
    capsys.readouterr()
    assert tune("--set", "epochs=1", "--set", "train_items=2") == 2
    assert "out: holds a finished run already" in capsys.readouterr().err


def test_of_several_processes_the_first_one_alone_writes_the_record(place, monkeypatch):
    monkeypatch.setattr("dtgpapers.tuning.commands.is_first", lambda: False)
    assert tune("--set", "epochs=1", "--set", "train_items=2") == 0
    assert not (place / "out").exists()


def test_the_papers_config_is_the_papers():
    for way in tunings("txl-tokens"):
        config, training, items = read_config(CONFIGS / "tuning" / "paper.yaml", way.config, way.training, ItemsConfig)
        assert (config.graph_layers, config.feature_width, config.layers) == (4, 256, 16)
        assert (training.learning_rate, training.last_rate, training.epochs) == (3e-6, 3e-6, 45)
        assert (items.beam, items.within) == (300, None)
