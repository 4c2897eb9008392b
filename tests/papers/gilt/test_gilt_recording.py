"""GiLT's graphs and variants in records: what `dtglib evaluate` measures of them, and how tables find it."""

import pytest
import torch
from running import ROOT
from toys import tiny_repository

from dtglib.basics.record import read_record
from dtglib.families.base import family
from dtglib.runs import ablations
from dtglib.runs.ablations import trained_variant, variants_of
from dtglib.runs.jobs import jobs_of
from dtglib.runs.prepare import prepare
from dtglib.runs.recording import record_evaluation
from dtglib.runs.settings import read_size
from dtglib.runs.tables import beside_the_paper, measured_values
from dtgpapers.gilt.tape import FEATURES


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    folder = tiny_repository(tmp_path_factory.mktemp("repository"))
    smoke = folder / "configs" / "smoke.yaml"
    few = smoke.read_text().replace("test_sentences: 12\nscored_sentences: 6", "test_sentences: 4\nscored_sentences: 2")
    smoke.write_text(few)
    return folder


@pytest.fixture(autouse=True)
def inside(repository, one_thread, few_of_minilang, monkeypatch) -> None:
    monkeypatch.chdir(repository)


def test_its_variants_are_those_of_the_paper_and_one_without_each_feature():
    variants = {
        (question, name): variant.model for question, name, variant in variants_of(read_size("smoke", model="gilt"))
    }
    assert variants["representation of words", "CTR"] == {"word": "ctr"}
    for name in FEATURES:
        left = variants["feature", f"without {name}"]["features"].split()
        assert {name, *left} == set(FEATURES) and name not in left
    assert not family("txl-tokens").questions


def test_every_variant_learns_from_the_data_of_its_own_settings(monkeypatch):
    """The tapes of FTR and CTR, and those with depths from ROOT, are others than those of RA."""
    used = {}

    def noted(chosen, prepared, folder):
        used[chosen.model] = prepared

    monkeypatch.setattr(ablations, "train_into", noted)
    settings = read_size("smoke", model="gilt")
    for _, _, variant in variants_of(settings):
        trained_variant(settings, variant)
    assert {"ra", "ftr", "ctr"} == {model.word for model in used} and {"paper", "root"} == {m.depth for m in used}
    for model, prepared in used.items():
        expected = prepare(settings._replace(model=model))
        assert (prepared.train.checksum, prepared.dev.checksum) == (expected.train.checksum, expected.dev.checksum)
        batch, own = (one.train.batch([0, 1], 100, torch.device("cpu")).batch for one in (prepared, expected))
        assert torch.equal(batch.bias, own.bias)
    assert len({prepared.train.checksum for prepared in used.values()}) == 4


def test_its_models_are_jobs_of_its_notebooks(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = {job.name for job in jobs_of("mini", "gilt")}
    assert {"train gilt-dp, seed 1", "search by gilt-dp, seed 1", "scores of txl-tokens, seed 1"} <= names


# Slow: all variants are trained, measured and found by the tables.
@pytest.mark.slow
def test_a_record_has_its_graphs_and_variants_and_table_3_stands_beside_them(repository):
    out = repository / "results" / "gilt"
    record_evaluation("smoke", [1], ["gilt"], out, ["graphs", "ablations"])
    lines = read_record(out).metrics
    (graphs,) = [line for line in lines if line["part"] == "graphs"]
    by_variant = {line["variant"]: line for line in lines if line["part"] == "ablation"}
    assert {"RA", "FTR", "CTR", "without degree", "its diagonal"} < set(by_variant)
    assert by_variant["RA"]["F1 by number"] == graphs["F1 by number"]
    assert all(line["per word"] > 1 and line["log joint"] < 0 for line in by_variant.values())
    assert len({line["folder"] for line in by_variant.values()}) == 1 + 2 + len(FEATURES) + 5
    values = measured_values(repository / "results")
    shown = beside_the_paper("gilt_table3", values, ROOT / "results")
    assert list(shown.index) == ["RA", "FTR", "CTR"]
    assert shown["F1 of arcs", "paper, dependency"].tolist() == ["89.43", "92.64", "94.1"]
