"""The jobs of the paper: its models, and Pushdown Layers, which its notebook compares with them."""

from running import ROOT
from test_jobs import names_of

from dtglib.runs.jobs import jobs_of


def test_the_models_are_trained_with_the_parser_that_they_need_and_scored(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = names_of(jobs_of("mini", "constituency"))
    assert {
        "train parser spans",
        "scores of tg, seed 1",
        "pairs of plm, seed 1",
        "search by pushdown, seed 1",
    } <= set(names)
    assert "scores of pushdown, seed 1" not in names
    assert not [name for name in names if name.startswith(("ablation", "tightness", "parses", "parse the"))]
    assert not [name for name in names if " dtg" in name]
    trained = {name.split()[1].removesuffix(",") for name in names if name.startswith("train") and "parser" not in name}
    assert trained == {"plm", "txl-trees", "tg", "pushdown"}
