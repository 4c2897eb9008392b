"""UDGN at the sizes of a reproduction: settings that are laid over, variants, jobs, records and their tables."""

from collections import Counter
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
import yaml
from running import CONFIGS, ROOT, lines
from toys import tiny_repository

import dtglib.runs.jobs
from dtglib.basics.errors import UserError
from dtglib.basics.record import Run
from dtglib.data.corpora import load
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.orders import differences
from dtglib.families.base import Variant, family, load_model, titles
from dtglib.runs.ablations import measure, settings_of, variants_of
from dtglib.runs.jobs import jobs_of
from dtglib.runs.prepare import prepare, read_corpus, trained
from dtglib.runs.recording import record_evaluation
from dtglib.runs.settings import read_settings, read_size
from dtglib.runs.tables import beside_the_paper, measured_values
from dtgpapers.udgn.beliefs import believed, own_metrics
from dtgpapers.udgn.config import MaskedTransformerConfig, StructFormerConfig, UdgnConfig
from dtgpapers.udgn.decoding import most_probable_heads
from dtgpapers.udgn.examples import MaskedExamples
from dtgpapers.udgn.induction import agreement
from dtgpapers.udgn.masked import SYMBOLS
from dtgpapers.udgn.measured import induction_of, of_induction, read_test, trivial_of
from dtgpapers.udgn.tables import ORDERS
from dtgpapers.udgn.words import readable

LAID_OVER = """
heads_width: 8
parser_layers: 1
rarest: 1
inner: 16
test_sentences: 12
evaluate_every: 2
"""


@pytest.fixture
def repository(tmp_path, monkeypatch, one_thread):
    """A tiny one, in whose only size UDGN has some settings of its own, and no files of similarity."""
    folder = tiny_repository(tmp_path)
    (folder / "configs" / "udgn").mkdir()
    (folder / "configs" / "udgn" / "smoke.yaml").write_text(LAID_OVER)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DTG_DATA", str(folder / "data"))
    for kept_by_size in ("_corpus", "_model"):
        getattr(dtglib.runs.jobs, kept_by_size).cache_clear()
    dtglib.runs.ablations._corpus.cache_clear()
    return folder


MODELS = ("udgn", "udgn-transformer", "structformer")


# ---- Sizes


def test_what_a_paper_s_models_want_otherwise_is_laid_over_a_size_and_then_what_the_model_itself_wants(repository):
    (repository / "configs" / "udgn-transformer").mkdir()
    (repository / "configs" / "udgn-transformer" / "smoke.yaml").write_text("inner: 24\nwidth: 4\n")
    udgn, transformer, dtg = (read_size("smoke", model=name) for name in ("udgn", "udgn-transformer", "dtg"))
    assert (dtg.model.inner, dtg.train.evaluate_every, dtg.model.width) == (32, 3, 16)
    assert (udgn.model.heads_width, udgn.train.evaluate_every, udgn.model.width) == (8, 2, 16)
    assert (transformer.model.inner, transformer.train.evaluate_every, transformer.model.width) == (24, 2, 4)
    assert read_size("smoke", model="udgn", width=6).model.width == 6, "what is asked for counts most"


def test_a_mistake_in_such_a_file_is_named_with_its_place(repository):
    with open(repository / "configs" / "udgn" / "smoke.yaml", "a") as file:
        file.write("head_width: 8\n")
    with pytest.raises(UserError, match=r"udgn/smoke\.yaml: unknown key head_width; did you mean heads_width"):
        read_size("smoke", model="udgn")
    assert read_size("smoke").model.model == "dtg", "no other model reads it"


def test_the_paper_s_settings_are_those_of_the_paper():
    path, defaults = CONFIGS / "paper.yaml", (UdgnConfig(), MaskedTransformerConfig(), StructFormerConfig())
    for expected, rate in zip(defaults, (1e-3, 3e-4, 3e-4), strict=True):
        name = expected.model
        found = read_settings(path, {"model": name})
        assert found.model == replace(expected, rarest=28, counted_in="bllip-lg")  # for BLLIP
        assert (found.train.learning_rate, found.train.epochs, found.train.clip) == (rate, 100, 0.25)


@pytest.mark.parametrize("size", ["mini", "open-small", "open", "paper"])
def test_its_rivals_have_their_own_rate_and_dropout(size):
    udgn, *rivals = (read_settings(CONFIGS / f"{size}.yaml", {"model": name}) for name in MODELS)
    assert (udgn.train.learning_rate, udgn.model.dropout) == (1e-3, 0.2)
    assert [(one.train.learning_rate, one.model.dropout) for one in rivals] == [(3e-4, 0.1)] * 2
    assert rivals[1].model.positions, "StructFormer knows places, as the Transformer does"


@pytest.mark.parametrize("path", sorted((CONFIGS / "udgn").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_keys_of_such_a_file_are_those_of_the_paper_s_or_of_the_size_itself(path):
    keys = {one: set(yaml.safe_load((CONFIGS / one).read_text())) for one in ("udgn/paper.yaml", path.name)}
    assert set(yaml.safe_load(path.read_text())) <= keys["udgn/paper.yaml"] | keys[path.name]
    known = {field.name for kind in (UdgnConfig, MaskedTransformerConfig) for field in fields(kind)}
    assert known == known & keys["udgn/paper.yaml"], "all that these models have is explained there"


# ---- Variants


def test_its_variants_are_those_of_the_papers_tables():
    variants = {(question, name): variant for question, name, variant in variants_of(read_size("smoke", model="udgn"))}
    for question, table in (("parts", "udgn_table4"), ("functions", "udgn_table8")):
        systems = (ROOT / "results" / "paper" / f"{table}.csv").read_text().splitlines()[1:]
        names = list(dict.fromkeys(line.partition(",")[0] for line in systems))
        assert [name for of, name in variants if of == question] == names
    changed = {name: variant.model for (_, name), variant in variants.items()}
    assert changed["- Competition"] == {"controller": "sigmoid"} and changed["- Gates"] == {"gates": False}
    assert not family("udgn-transformer").questions


def test_a_share_of_the_sentences_is_read_so_much_more_often(repository):
    settings = read_size("smoke", model="udgn")
    whole, some = read_corpus(settings), read_corpus(settings, 0.25)
    assert some.train.sentences == whole.train.sentences[::4] and some.dev.sentences == whole.dev.sentences
    assert len(some.vocabulary) < len(whole.vocabulary)
    longer = settings_of(Variant({}, share=0.25), settings)
    assert longer.train.epochs == 4 * settings.train.epochs
    measured = [measure(settings, Variant({}, share=share)) for share in (1.0, 0.25)]
    assert measured[0]["folder"] == trained(settings).name != measured[1]["folder"]


# ---- While it learns


def sentences(count: int = 12) -> list:
    return load("minilang", "dev", count).sentences


def net_and_data(name: str = "udgn"):
    treebank = Treebank(sentences(), Counter())
    speaks = Vocabulary.of_words([one.words for one in readable(treebank.sentences)], SYMBOLS)
    kind = family(name)
    more = {"heads_width": 8, "parser_layers": 1} if name == "udgn" else {"inner": 16}
    config = kind.config(layers=1, width=8, heads=2, rarest=1, **more)
    torch.manual_seed(3)
    return kind.build(config, speaks).eval(), MaskedExamples.of(config, speaks, treebank)


def test_what_it_tells_is_what_it_believes_of_each_sentence_by_itself():
    net, data = net_and_data()
    found, beliefs = own_metrics(net, data), list(believed(net, sentences()))
    gold = [belief.sentence.heads for belief in beliefs]
    scored = agreement(gold, [most_probable_heads(belief.heads) for belief in beliefs])
    assert (found["DDA"], found["UDA"]) == (scored.dda, scored.uda)
    followed = next(belief for belief in beliefs if 6 <= len(belief.sentence.words) <= 10)
    assert tuple(found["words"]) == followed.sentence.words and tuple(found["heads"]) == followed.sentence.heads
    np.testing.assert_allclose(found["believed"], followed.heads, atol=6e-4)


def test_without_trees_it_tells_nothing():
    net, data = net_and_data()
    for place, one in enumerate(data.sentences):
        data.sentences[place] = one.__class__(one.words)
    assert own_metrics(net, data) == {}


def test_its_beliefs_stand_in_the_record_of_its_training_and_choose_nothing(repository):
    folder = trained(read_size("smoke", model="udgn", epochs=4))
    evaluations = lines(folder, "dev")
    assert len(evaluations) > 2 and all(0 <= line["DDA"] <= line["UDA"] <= 1 for line in evaluations)
    assert len({tuple(line["words"]) for line in evaluations}) == 1
    first, last = (np.array(evaluations[place]["believed"]) for place in (0, -1))
    assert first.shape == (len(evaluations[0]["words"]),) * 2 and not np.array_equal(first, last)
    best = [line["nats_per_sentence"] for line in evaluations if line["is_best"]]
    assert all(one > other for one, other in pairwise(best))
    transformer = trained(read_size("smoke", model="udgn-transformer"))
    assert all("UDA" not in line and "words" not in line for line in lines(transformer, "dev"))


# ---- What it has found


def test_induction_is_that_of_the_test_part(repository, monkeypatch):
    settings = read_size("smoke", model="udgn")
    folder = trained(settings)
    found, model = induction_of(settings, folder), load_model(folder)
    gold = [one.heads for one in readable(read_test(settings))]
    assert len(gold) == 12
    heads = [most_probable_heads(belief.heads) for belief in believed(model, read_test(settings))]
    row = of_induction(found)
    assert row["DDA, argmax"] == agreement(gold, heads).dda and row["UDA, argmax"] == agreement(gold, heads).uda
    assert {row["direction"] for row in found["labels"]} == {"child to parent", "parent to child"}
    trivial = {row["trees"]: row for row in trivial_of(settings)}
    chain = [list(range(len(one))) for one in gold]
    assert trivial["right-branching chain"]["DDA"] == agreement(gold, chain).dda
    other = read_size("smoke", model="udgn-transformer")
    without = induction_of(other, trained(other))
    bare = [replace(one, heads=None, labels=None) for one in read_test(settings)]
    monkeypatch.setattr("dtgpapers.udgn.measured.read_test", lambda settings: bare)
    of_text = induction_of(settings, folder)
    assert of_text["trees"] == [] == trivial_of(settings) and of_text["hidden words"] == found["hidden words"]
    assert without["trees"] == [] and without["labels"] and without["hidden words"] > 1


# ---- Jobs, records, tables


def test_jobs_train_models_and_ask_for_trees_and_none_is_left_where_the_notebook_has_a_toy(monkeypatch):
    monkeypatch.chdir(ROOT)
    names = [job.name for job in jobs_of("mini", "udgn")]
    assert names == [f"{what} {model}, seed 1" for what in ("train", "trees of") for model in titles("udgn")]
    assert jobs_of("smoke", "udgn") == []


# Slow: that jobs leave nothing out is seen only where all are done.
@pytest.mark.slow
def test_after_all_jobs_the_notebook_finds_everything(repository):
    for job in jobs_of("smoke", "udgn"):
        job.run()
    before = {path.name for path in (repository / "runs").glob("*/*")}
    settings = read_size("smoke", model="udgn")
    corpus = read_corpus(settings)
    for name in ("udgn", "udgn-transformer"):
        chosen = read_size("smoke", model=name)
        induction_of(chosen, trained(chosen, prepare(chosen, corpus)))
    assert {path.name for path in (repository / "runs").glob("*/*")} == before


def test_a_record_has_what_the_tables_show(repository):
    out = repository / "results" / "udgn"
    record_evaluation("smoke", [1, 2], ["udgn", "udgn-transformer"], out, ["induction"])
    (repository / "results" / "paper").symlink_to(ROOT / "results" / "paper")
    results = repository / "results"
    values = measured_values(results)
    shown = beside_the_paper("udgn_table2", values, results)
    assert shown["UDA, tree", "paper, WSJ23"]["UDGN"] == "61.8" and "2 seeds" in shown["UDA, tree"].iloc[:, 1]["UDGN"]
    hidden = lines(out, "hidden words")
    table = beside_the_paper("udgn_table1", values, results)
    mean = np.mean([line["perplexity"] for line in hidden if line["model"] == "udgn"])
    assert table["hidden words"].iloc[:, 1]["UDGN"].startswith(f"{mean:.1f} ± ")
    pairs = differences(values, ORDERS)[["first", "second"]].drop_duplicates()
    assert pairs.values.tolist() == [["UDGN", "Transformer (masked words)"]]
    (chain,) = {line["UDA"] for line in lines(out, "trivial trees") if line["model"] == "right-branching chain"}
    assert shown["UDA, tree"].iloc[:, 1]["right-branching chain"] == f"{100 * chain:.1f} ± 0.0 (2 seeds)"


def test_variants_stand_in_the_tables_of_their_questions(tmp_path):
    about = {"part": "ablation", "model": "udgn", "question": "parts"}
    with Run(tmp_path / "one", "?", {"corpus": "minilang", "size": "mini"}) as run:
        for seed, uda in ((1, 0.5), (2, 0.54)):
            run.metric(**about, variant="UDGN", seed=seed, **{"UDA, tree": uda, "hidden words": 30.0 + seed})
            run.metric(**about, variant="- Gates", seed=seed, **{"UDA, tree": 0.4, "hidden words": 40.0})
    (tmp_path / "paper").symlink_to(ROOT / "results" / "paper")
    values = measured_values(tmp_path)
    table = beside_the_paper("udgn_table4", values, tmp_path)
    shown = table["UDA, tree", "minilang, mini, %"]
    assert shown[["UDGN", "- Gates"]].tolist() == ["52.0 ± 2.8 (2 seeds)", "40.0 ± 0.0 (2 seeds)"]
    assert shown[["- Competition", "- relative pos bias"]].tolist() == ["", ""]
    by = differences(values, ORDERS).set_index("measure")["by"]
    assert by.to_dict() == {"UDA, tree": pytest.approx(12.0), "hidden words": pytest.approx(8.5)}


def test_models_of_different_corpora_are_not_recorded_together(repository):
    (repository / "configs" / "udgn" / "smoke.yaml").write_text(f"{LAID_OVER}train_sentences: 30\n")
    with pytest.raises(UserError, match="dtg, udgn: at size smoke their corpora or parsers differ; record them apart"):
        record_evaluation("smoke", [1], ["dtg", "udgn"], repository / "results" / "both", ["induction"])
