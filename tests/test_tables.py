"""Tables are made of records: the newest of each seed counts, seeds have a spread, corpora stay apart."""

from pathlib import Path

import pandas as pd
import pytest
from readme_table import as_markdown
from scipy.stats import ttest_rel

from dtglib.basics.errors import UserError
from dtglib.basics.files import repository
from dtglib.basics.record import Run
from dtglib.evaluate.measures import OF_DTG
from dtglib.evaluate.orders import differences
from dtglib.runs.tables import beside_the_paper, by_seed, measured_values, newest_lines, paper

SG, PAIRS = "mean of 6 circuits of 21 suites", "all pairs"


def write(folder: Path, name: str, lines: list[dict], corpus="minilang", size="mini", data=None, **more) -> None:
    with Run(folder / name, "What?", {"corpus": corpus, "size": size, **more}, data=data) as run:
        for line in lines:
            run.metric(**line)


def pairs(model: str, seed: int, accuracy: float) -> dict:
    return {"part": PAIRS, "model": model, "seed": seed, "accuracy": accuracy}


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / "table2.csv").write_text(
        "system,metric,value,std\nDTG,BLiMP/acc,76.1,\nPLM,BLiMP/acc,75.1,\nDTG,SG/score,83.9,\n"
    )
    lines = [pairs("dtg", 1, 0.80), pairs("dtg", 2, 0.84), pairs("txl-trans", 1, 0.82), pairs("txl-trans", 2, 0.83)]
    write(tmp_path, "2026-01-01-mini", lines)
    write(tmp_path, "2026-01-02-open", [pairs("dtg", 1, 0.6)], "ud-english", "open")
    return tmp_path


def test_a_number_is_the_mean_of_its_seeds_with_their_spread_and_what_is_missing_is_blank(folder):
    table = beside_the_paper("table2", measured_values(folder), folder)
    assert table["BLiMP", "paper, BLiMP"].to_dict() == {"DTG": "76.1", "PLM": "75.1", "TXL (trans)": ""}
    assert table["BLiMP", "minilang, mini"].to_dict() == {
        "DTG": "82.0 ± 2.8 (2 seeds)", "PLM": "", "TXL (trans)": "82.5 ± 0.7 (2 seeds)"
    }  # fmt: skip
    assert table["BLiMP", "ud-english, open"]["DTG"] == "60.0 (one seed)"
    assert list(table["SG"].columns) == ["paper, SG"], "nobody has measured it here"


def test_of_each_seed_the_newest_record_counts_and_an_unfinished_one_does_not(folder):
    write(folder, "2026-01-03-mini", [pairs("dtg", 1, 0.9)])
    with (
        pytest.raises(ZeroDivisionError),
        Run(folder / "2026-01-04-mini", "?", {"corpus": "minilang", "size": "mini"}) as run,
    ):
        run.metric(**pairs("dtg", 1, 0.1))
        raise ZeroDivisionError
    values = measured_values(folder)
    mini = values[(values["size"] == "mini") & (values["system"] == "DTG")]
    assert sorted(mini[["seed", "value"]].values.tolist()) == [[1, 90.0], [2, 84.0]]


def test_records_of_other_seeds_count_only_if_their_settings_and_data_are_the_same(folder):
    def settings(seed: int, layers: int = 8) -> dict:
        return {"seed": [seed], "layers": layers, "weak parser": {"seed": seed, "width": 4}}

    data = {"minilang": "1a2b"}
    write(folder, "2026-01-03-mini", [pairs("dtg", 2, 0.7)], data=data, **settings(2))
    write(folder, "2026-01-04-mini", [pairs("dtg", 3, 0.9)], data=data, **settings(3))
    write(folder, "2026-01-05-mini", [pairs("dtg", 5, 0.1)], data=data, **settings(5, layers=4))
    write(folder, "2026-01-06-mini", [pairs("dtg", 6, 0.1)], data={"minilang": "3c4d"}, **settings(6))
    write(folder, "2026-01-07-mini", [pairs("dtg", 4, 0.8)], data=data, **settings(4))
    values = measured_values(folder).query("size == 'mini' and system == 'DTG'")
    assert sorted(values[["seed", "value"]].values.tolist()) == [[2, 70.0], [3, 90.0], [4, 80.0]]
    lines = newest_lines(folder, lambda line: line["model"] == "dtg").query("size == 'mini'")
    assert sorted(lines[["seed", "accuracy"]].values.tolist()) == [[2, 0.7], [3, 0.9], [4, 0.8]]


def test_variants_that_were_searched_have_the_searchs_numbers_too(folder):
    about = {"part": "ablation", "model": "dtg", "question": "labels", "seed": 1}
    plain = {"variant": "unlabelled", "per word": 26.1, "per word, by beam": 26.9, "UAS": 0.98}
    labelled = {"variant": "labelled", "per word": 27.5, "per word, by beam": 26.8, "UAS": 0.98, "LAS": 0.97}
    write(folder, "2026-01-03-mini-labels", [about | plain, about | labelled])
    values = measured_values(folder).query("question == 'labels'")
    found = values.pivot_table(index="measure", columns="system", values="value")
    assert found.loc["perplexity by beam"].to_dict() == {"unlabelled": 26.9, "labelled": 26.8}
    assert found.loc["UAS by beam"].to_dict() == {"unlabelled": 98.0, "labelled": 98.0}
    assert found.loc["LAS by beam"].dropna().to_dict() == {"labelled": 97.0}
    said = [("labels", "perplexity by beam", "labelled", "unlabelled")]
    assert (differences(values, said)["by"] > 0).tolist() == [True], "less is better"


def test_an_ordering_is_tested_over_the_seeds_that_both_have(folder):
    (row,) = differences(measured_values(folder), OF_DTG).to_dict("records")
    assert (row["first"], row["second"], row["corpus"]) == ("TXL (trans)", "DTG", "minilang, mini")
    assert (row["by"], row["seeds"]) == (pytest.approx(0.5), 2)
    assert (row["low"], row["high"]) == pytest.approx(ttest_rel([82, 83], [80, 84]).confidence_interval())
    assert row["p"] == pytest.approx(ttest_rel([82, 83], [80, 84]).pvalue)


def test_a_lower_perplexity_is_the_better_one(folder):
    lines = [
        {"part": "perplexity", "parser": parser, "model": model, "seed": 1, "per word": value}
        for model, parser, value in (("dtg", "strong", 20.0), ("dtg", "weak", 99.0), ("txl-trans", "strong", 30.0))
    ]
    write(folder, "2026-01-05-mini", lines)
    rows = differences(measured_values(folder), OF_DTG).to_dict("records")
    (row,) = (row for row in rows if row["measure"] == "perplexity")
    assert (row["first"], row["second"], row["by"], row["seeds"]) == ("TXL (trans)", "DTG", -10.0, 1)


def variant(name: str, seed: int, per_word: float) -> dict:
    about = {"part": "ablation", "question": "arc representation", "variant": name, "seed": seed}
    return about | {"per word": per_word, "pairs": 0.5, "suites": 0.4}


def test_variants_are_compared_with_one_another_and_not_with_models(folder):
    (folder / "paper" / "table4.csv").write_text("system,metric,value,std\nw,BLLIP-LG/PPL,15.1,\n")
    before = beside_the_paper("table2", measured_values(folder), folder)
    write(folder, "2026-01-06-mini", [variant("w", 1, 20.0), variant("w", 2, 22.0), variant("w+arc", 1, 19.0)])
    values = measured_values(folder)
    assert beside_the_paper("table2", values, folder).equals(before)
    table = beside_the_paper("table4", values, folder)
    assert table["perplexity", "minilang, mini, a word"].to_dict() == {
        "w": "21.0 ± 1.4 (2 seeds)", "w+arc": "19.0 (one seed)"
    }  # fmt: skip


def test_a_model_whose_variants_are_recorded_without_it_stands_beside_them(folder):
    def of(question, measure="BLiMP"):
        values = measured_values(folder)
        mine = values[(values["question"] == question) & (values["measure"] == measure)]
        return mine.groupby(["corpus", "size", "system"])["value"].agg(list).to_dict()

    write(folder, "2026-01-06-mini", [variant("w", 1, 20.0)])
    at = ("minilang", "mini")
    assert of("arc representation") == {(*at, "w"): [50.0], (*at, "w+arc"): [80.0, 84.0]}
    assert list(of("arc representation", "perplexity")) == [(*at, "w")], "of the model no perplexity is recorded"
    assert not of("transition system"), "no variant of it is recorded"
    write(folder, "2026-01-07-mini", [variant("w+arc", 1, 19.0)])
    assert of("arc representation")[(*at, "w+arc")] == [50.0], "a variant's own number counts"


def test_what_has_no_spread_and_what_has_no_seed_in_common_is_not_tested(folder):
    of_short = [pairs("dtg", 1, 0.8), pairs("dtg", 2, 0.9), pairs("txl-trans", 3, 0.9)]
    write(folder, "2026-01-09-short", of_short, size="short")
    write(folder, "2026-01-10-open", [pairs("dtg", 1, 0.6), pairs("dtg", 2, 0.7)], "ud-english", "open")
    write(folder, "2026-01-11-open", [pairs("txl-trans", 1, 0.5), pairs("txl-trans", 2, 0.6)], "ud-english", "open")
    values = measured_values(folder).query("size != 'mini'")
    (row,) = differences(values, OF_DTG).to_dict("records")
    assert (row["corpus"], row["by"], row["seeds"]) == ("ud-english, open", pytest.approx(-10), 2)
    assert pd.isna(row["p"]), "both seeds have the same difference"


def test_the_short_table_has_a_row_for_each_model_and_our_numbers_alone(folder):
    write(folder, "2026-01-09-smoke", [pairs("dtg", 1, 0.1), pairs("dtg", 2, 0.1)], size="smoke")
    text = as_markdown(measured_values(folder))
    head, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines())
    of_pairs = {row[0]: row[head.index("minimal pairs")] for row in rows}
    assert of_pairs["DTG"] == "82.0 ± 2.8" and of_pairs["TXL (trans)"] == "82.5 ± 0.7"
    assert "PLM" not in of_pairs
    assert "76.1" not in text, "this is the paper's"
    assert "60.0" not in text, "this is of another corpus"


def test_where_there_are_no_records_it_is_said(tmp_path):
    with pytest.raises(UserError, match="no records yet"):
        measured_values(tmp_path)


def test_the_papers_tables_are_here_and_every_record_of_ours_can_be_read():
    folder = repository() / "results"
    assert paper("table2").set_index(["system", "metric"])["value"]["DTG", "SG/score"] == 83.9
    assert [len(paper(f"table{number}")) for number in (3, 4, 5)] == [3, 6, 4]
    values = measured_values(folder)
    assert {"SG", "BLiMP", "UAS", "perplexity"} <= set(values["measure"])
    assert all((path.parent / "README.md").exists() for path in folder.glob("*/record.json"))


def test_the_table_of_the_readme_is_what_the_records_say():
    lines = (repository() / "README.md").read_text("utf-8").splitlines()
    assert [line for line in as_markdown(measured_values()).splitlines() if line not in lines] == []


def test_numbers_by_seed_are_of_one_corpus_and_size_and_those_below_no_topic_are_left_out(folder):
    def suite(model: str, seed: int, circuit: str, name: str, score: float) -> dict:
        return {"part": "suites", "model": model, "seed": seed, "circuit": circuit, "suite": name, "score": score}

    lines = [suite("txl-trans", 1, "Licensing", "npi", 0.7), suite("dtg", 4, "Licensing", "npi", 0.8)]
    lines += [suite("dtg", 4, "Agreement", "number", 0.6), suite("dtg", 4, "", "nn-nv", 0.9)]
    write(folder, "2026-01-09-mini", lines)
    write(folder, "2026-01-10-smoke", [suite("dtg", 1, "Licensing", "npi", 0.1)], size="smoke")
    found = by_seed("suites", "score", ["circuit", "suite"], folder=folder)
    assert found.index.tolist() == [("DTG", 4), ("TXL (trans)", 1)]
    assert found.columns.tolist() == [("Agreement", "number"), ("Licensing", "npi")]
    assert found.loc["DTG"].values.tolist() == [[0.6, 0.8]]
    assert found["Agreement", "number"].isna().tolist() == [False, True]
    assert by_seed("suites", "score", ["suite"], size="smoke", folder=folder)["npi"].to_dict() == {("DTG", 1): 0.1}
