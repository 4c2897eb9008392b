"""A recorded evaluation: from two tiny models and two tiny parsers to every line that a table will ask for."""

from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from toys import tiny_repository

from dtglib.basics.errors import UserError
from dtglib.basics.record import Record, Run, read_record
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.reports import perplexity_row
from dtglib.families.base import Variant
from dtglib.families.dtg import QUESTIONS
from dtglib.runs.ablations import variants_of
from dtglib.runs.recording import ABLATIONS, OF_MODELS, _of_proposer, record_evaluation
from dtglib.runs.sentence_scores import scores_of
from dtglib.runs.sentence_scores import test_sentences as sentences_to_test
from dtglib.runs.settings import Settings, read_size
from dtglib.runs.tables import benchmark

# Of the questions those that have what others have not; the others cost a training each.
ASKED = {name: QUESTIONS[name] for name in ("parser", "labels")}


def asked(settings: Settings, _: object) -> list[tuple[str, str, Variant]]:
    """Every variant that is asked of a model."""
    return [variant for variant in variants_of(settings) if variant[0] in ASKED]


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    return tiny_repository(tmp_path_factory.mktemp("repository"))


@pytest.fixture(autouse=True)
def inside(repository, one_thread, few_of_minilang, monkeypatch) -> None:
    monkeypatch.chdir(repository / "notebooks")


@pytest.fixture
def record(repository) -> Record:
    """Made once, and read as often as it is asked for."""
    out = repository / "results"
    if not out.exists():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("dtglib.runs.ablations.variants_of", asked)
            record_evaluation("smoke", [1], ["dtg", "txl-tokens"], out, [*OF_MODELS, ABLATIONS])
    return read_record(out)


def lines(record: Record, part: str) -> list[dict]:
    return [line for line in record.metrics if line["part"] == part]


def test_there_is_a_line_for_every_number_and_the_record_is_finished(record):
    assert record.about["status"] == "finished"
    assert (record.about["seeds"], record.config["size"]) == ([1], "smoke")
    assert record.config["of others"]["txl-tokens"]["width"] == 16, "what is not that of the first model"
    parts = Counter(line["part"] for line in record.metrics)
    of_syntax = {"suites", "averages of suites", "pairs", "all pairs", "parsing"}
    assert set(parts) == {"training", "parser", "perplexity", "perplexity by beam", "reranking", "ablation"} | of_syntax
    assert all(line["seed"] == 1 for line in record.metrics)
    assert [line["model"] for line in lines(record, "training")] == ["dtg", "txl-tokens"]
    assert [line["parser"] for line in lines(record, "parser")] == ["strong", "weak"]


def test_a_model_with_trees_is_scored_with_each_parser_and_one_without_once(record):
    found = [(line["model"], line["parser"]) for line in lines(record, "perplexity")]
    assert found == [("dtg", "strong"), ("dtg", "weak"), ("txl-tokens", None)]


def test_the_perplexity_is_that_of_the_folders_that_are_named(record, repository):
    trained = lines(record, "training") + lines(record, "parser")
    folders = {line.get("model") or line["parser"]: line["folder"] for line in trained}
    sentences = sentences_to_test(read_size("smoke"))
    runs = repository / "runs"
    for line in lines(record, "perplexity"):
        parser = line["parser"] and runs / "parsers" / folders[line["parser"]]
        scores = scores_of(runs / "models" / folders[line["model"]], sentences, parser, 5)
        expected = perplexity_row(scores)
        assert {name: line[name] for name in expected} == pytest.approx(expected)
        assert (line["sentences"], line["impossible"]) == (6, 0)


def test_with_each_parser_there_is_a_row_for_it_the_model_with_trees_and_the_oracle(record):
    for parser in ("strong", "weak"):
        rows = {row["chosen by"]: row for row in lines(record, "reranking") if row["parser"] == parser}
        assert list(rows) == ["proposal", "dtg", "oracle"]
        assert rows["proposal"]["over proposal"] == 0
        assert rows["oracle"]["UAS"] >= rows["dtg"]["UAS"]


def test_a_finished_record_is_not_written_over(record, repository):
    before = (repository / "results" / "metrics.jsonl").read_bytes()
    with pytest.raises(UserError, match=r"results.*finished"):
        record_evaluation("smoke", [1], ["dtg", "txl-tokens"], repository / "results")
    assert (repository / "results" / "metrics.jsonl").read_bytes() == before


def test_a_model_that_there_is_not_is_named_before_anything_is_written(repository):
    with pytest.raises(UserError, match=r"there is no model 'dtk'; models are .*txl-tokens, .*dtg"):
        record_evaluation("smoke", [1], ["dtg", "dtk"], repository / "elsewhere")
    assert not (repository / "elsewhere").exists()


def test_models_that_other_parsers_would_judge_are_recorded_apart(repository):
    (repository / "configs" / "txl-tokens").mkdir()
    own = repository / "configs" / "txl-tokens" / "smoke.yaml"
    own.write_text("span_parser: another\n")
    with pytest.raises(UserError, match="dtg, txl-tokens: at size smoke their corpora or parsers differ; record them"):
        record_evaluation("smoke", [1], ["dtg", "txl-tokens"], repository / "elsewhere")
    own.unlink()


def test_the_loss_of_a_released_parser_is_known():
    assert _of_proposer("parser-minilang")["nats_per_word"] == pytest.approx(0.07, abs=0.01)


def test_released_models_are_not_recorded_as_if_they_were_of_other_seeds(repository):
    config = repository / "configs" / "released.yaml"
    config.write_text((repository / "configs" / "smoke.yaml").read_text() + "released: minilang\n")
    with pytest.raises(UserError, match="at size released dtg are released models of one seed"):
        record_evaluation("released", [1, 2], ["dtg"], repository / "elsewhere")


def test_each_question_has_its_variants_and_changes_one_thing(record):
    rows = {(line["question"], line["variant"]): line for line in lines(record, "ablation")}
    assert list(rows) == [(question, variant) for question, variants in ASKED.items() for variant in variants]
    (of_models,) = (line["folder"] for line in lines(record, "training") if line["model"] == "dtg")
    for question, variants in ASKED.items():
        base, *others = (rows[question, variant] for variant in variants)
        assert base["folder"] == of_models, "the DTG of the comparison of models"
        assert all(other["folder"] != base["folder"] for other in others)
    (of_dtg,) = (line for line in lines(record, "perplexity") if (line["model"], line["parser"]) == ("dtg", "strong"))
    assert rows["parser", "the treebank's own trees"]["per word"] == of_dtg["per word"]


def test_what_is_learned_from_the_weak_parser_is_told_from_what_is_summed_over_its_trees(record):
    weak, over_strong = (line for line in lines(record, "ablation") if line["variant"].startswith("weak parser"))
    assert weak["folder"] == over_strong["folder"]
    assert weak["per word"] != over_strong["per word"]
    assert (weak["pairs"], weak["suites"]) == (over_strong["pairs"], over_strong["suites"]), "by the beam, not by trees"


def test_only_some_questions_are_asked_and_one_that_there_is_not_is_named_before_anything_is_trained(repository):
    settings = read_size("smoke", model="dtg")
    assert {question for question, _, _ in variants_of(settings, ["output layer"])} == {"output layer"}
    assert variants_of(settings) == variants_of(settings, list(QUESTIONS))
    with pytest.raises(
        UserError, match=r"DTG: there is no question 'colour'; its questions are 'arc representation', "
    ):
        record_evaluation("smoke", [1], ["dtg"], repository / "elsewhere", ["ablations"], ["colour"])
    with pytest.raises(UserError, match=r"TXL \(tokens\): there is no question 'parser'; its questions are none"):
        record_evaluation("smoke", [1], ["dtg", "txl-tokens"], repository / "elsewhere", ["ablations"], ["parser"])
    assert not (repository / "elsewhere").exists()


def test_the_newest_benchmark_that_came_to_its_end_is_found(repository):
    records = repository / "benchmarks" / "records"
    assert benchmark("beam") is None
    for day, name in ((20, "beam"), (21, "beam"), (22, "beam"), (23, "other-beam")):
        with suppress(KeyboardInterrupt), Run(records / f"2026-11-{day}-120000-{name}", "How fast?", {"day": day}):
            if day == 22:
                raise KeyboardInterrupt
    assert benchmark("beam").config["day"] == 21


def test_the_variants_with_labels_and_without_are_also_searched_and_judged_as_parsers(record, repository):
    plain, labelled = (line for line in lines(record, "ablation") if line["question"] == "labels")
    (by_beam,) = (line for line in lines(record, "perplexity by beam") if line["model"] == "dtg")
    (parsing,) = (line for line in lines(record, "parsing") if line["model"] == "dtg")
    assert (plain["per word, by beam"], plain["UAS"]) == (by_beam["per word"], parsing["UAS"]) and "LAS" not in plain
    assert labelled["per word, by beam"] > 1 and 0 <= labelled["LAS"] <= labelled["UAS"] <= 1
    symbols = Vocabulary.load(repository / "runs" / "models" / labelled["folder"]).symbols
    assert "nsubj" in symbols.labels and symbols.left == ("LEFTARC",)
    others = [line for line in lines(record, "ablation") if line["question"] != "labels"]
    assert not any("UAS" in line for line in others)
