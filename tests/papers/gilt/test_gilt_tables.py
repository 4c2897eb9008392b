"""The tables of the GiLT paper: graphs, ways of tuning, and the orders that it finds."""

from itertools import product
from pathlib import Path

import pytest
from test_tables import pairs, write

from dtglib.basics.record import Run
from dtglib.evaluate.measures import MODELS, TUNED, measures
from dtglib.evaluate.orders import differences
from dtglib.runs.tables import beside_the_paper, measured_values, paper
from dtgpapers.gilt.family import WORDS
from dtgpapers.gilt.tables import ORDERS


@pytest.fixture
def folder(tmp_path) -> Path:
    """Records of two models, and a folder for the numbers of the paper."""
    (tmp_path / "paper").mkdir()
    write(tmp_path, "2026-01-01-mini", [pairs("dtg", 1, 0.80), pairs("txl-trans", 1, 0.82)])
    return tmp_path


def test_ways_of_tuning_stand_beside_those_of_the_paper_and_are_tested_over_seeds(folder):
    text = "system,metric,value,std\nTXL (tokens),STS-B/pearson,36.3,\nGiLT-TXL,STS-B/pearson,38.9,\n"
    (folder / "paper" / "gilt_table2.csv").write_text(text)
    with Run(folder / "2026-01-14-tuning", "What?", {"task": "sts-b", "model": "txl-tokens-ud"}) as run:
        for seed, plain, with_graphs in ((1, 0.50, 0.53), (2, 0.52, 0.54)):
            for title, value in (("TXL (tokens)", plain), ("GiLT-TXL", with_graphs)):
                about = {"part": "scores", "seed": seed, "way": "txl", "title": title}
                run.metric(**about, on="test", Pearson=value, Spearman=value)
                run.metric(**about, on="dev", Pearson=0.9, Spearman=0.9)
        run.metric(part="means", way="txl", title="GiLT-TXL", on="test", Pearson=0.535)
    values = measured_values(folder)
    table = beside_the_paper("gilt_table2", values, folder)
    assert table["STS-B, Pearson", "paper, STS-B"].to_dict() == {"TXL (tokens)": "36.3", "GiLT-TXL": "38.9"}
    assert table["STS-B, Pearson", "sts-b, txl-tokens-ud"]["TXL (tokens)"] == "51.0 ± 1.4 (2 seeds)"
    rows = differences(values, ORDERS).to_dict("records")
    assert [(row["measure"], row["by"] > 0, row["seeds"]) for row in rows if row["first"] == "GiLT-TXL"] == [
        ("STS-B, Pearson", True, 2),
        ("STS-B, Spearman", True, 2),
    ]
    models = values[values["question"] == ""]
    assert "GiLT-TXL" not in set(models["system"]), "it is no model among those of Table 1"


def test_small_numbers_have_two_decimals_and_arcs_are_counted_per_sentence(folder):
    (folder / "paper" / "gilt_table3.csv").write_text("system,metric,value,std\nRA,avg_log_joint_prob,-3.27,\n")
    (folder / "paper" / "gilt_table4.csv").write_text(
        "system,metric,value,std\nGiLT-DP,avg_dependencies_per_sentence,24.2,\n"
    )
    lines = [
        {"part": "ablation", "question": "representation of words", "variant": name, "seed": 1}
        | {"per word": 30.0, "pairs": 0.5, "suites": 0.4, "F1 by number": 0.9, "log joint": value}
        for name, value in (("RA", -3.271), ("CTR", -3.314), ("FTR", -3.314))
    ]
    graphs = {"part": "graphs", "model": "gilt-dp", "seed": 1, "F1 by number": 0.9, "log joint": -3.0}
    write(folder, "2026-01-15-mini", [*lines, graphs | {"arcs": 50, "sentences": 4}])
    values = measured_values(folder)
    assert beside_the_paper("gilt_table3", values, folder)["log joint", "minilang, mini"]["RA"] == "-3.27 (one seed)"
    table = beside_the_paper("gilt_table4", values, folder)
    assert table["arcs per sentence", "minilang, mini"]["GiLT-DP"] == "12.5 (one seed)"
    by = differences(values, ORDERS).set_index(["measure", "first", "second"])["by"]
    assert by["log joint", "RA", "CTR"] == pytest.approx(0.043) and by["log joint", "CTR", "FTR"] == 0


def test_the_orders_of_a_paper_are_those_of_its_table():
    """Several graphs of the paper are one GiLT here; at least one of them is ahead."""
    tables = {MODELS: "gilt_table1", WORDS: "gilt_table3", TUNED: "gilt_table2"}
    names = {measure.name: measure.papers for measure in measures()}
    kinds = {"GiLT": ["GiLT-PSD", "GiLT-DM", "GiLT-PAS"]}
    for question, measure, better, worse in ORDERS:
        rows = paper(tables[question])
        value = rows[rows["metric"].isin(names[measure])].set_index("system")["value"]
        sign = -1 if measure == "perplexity" else 1
        both = product(kinds.get(better, [better]), kinds.get(worse, [worse]))
        ahead = [sign * (value[one] - value[other]) > 0 for one, other in both]
        assert all(ahead) or (any(ahead) and (measure, better, worse) == ("SG", "GiLT", "Pushdown-TXL"))


def test_the_numbers_of_the_paper_are_here():
    assert [len(paper(f"gilt_table{number}")) for number in (1, 2, 3, 4)] == [18, 12, 6, 8]
