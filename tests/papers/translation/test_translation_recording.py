"""Translators at the sizes of a reproduction: jobs, records, tables beside the paper, public sets, a release."""

import itertools
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
import release
import yaml
from running import CONFIGS, ROOT, assert_one_line, lines
from toys import CPU, tiny_repository

import dtglib.runs.jobs
from dtglib.basics import released
from dtglib.basics.errors import UserError
from dtglib.basics.papers import papers_named
from dtglib.basics.record import Run
from dtglib.cli.main import main
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.orders import differences
from dtglib.families.base import family_of, load_model, titles
from dtglib.runs.ablations import variants_of
from dtglib.runs.jobs import jobs_of
from dtglib.runs.prepare import prepare, read_corpus, trained
from dtglib.runs.recording import record_evaluation
from dtglib.runs.settings import compared_at, read_size
from dtglib.runs.tables import by_seed, measured_values
from dtgpapers.translation import challenges
from dtgpapers.translation.challenge_files import lowered, public_sets
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.german.challenge import challenge_sets
from dtgpapers.translation.measured import is_lower_cased, own_of, public_for, references_of, translation_of
from dtgpapers.translation.systems import SYSTEMS
from dtgpapers.translation.tables import ORDERS, cells_of_tests, sign_tests, theirs
from dtgpapers.translation.translation import TranslationBeam

SETS = ("particle", "object-first-both")
LAID_OVER = """
corpus: minilang:de-en
layers: 1
inner: 16
prefixes: 0.1
test_sentences: 8
scored_sentences: 3
items: 0.02
compared: vanilla gcn
"""


@pytest.fixture
def repository(tmp_path, monkeypatch, one_thread):
    """A tiny one, in whose only size translators have some settings of their own, and small challenge sets."""
    folder = tiny_repository(tmp_path)
    (folder / "configs" / "translation").mkdir()
    (folder / "configs" / "translation" / "smoke.yaml").write_text(LAID_OVER)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DTG_DATA", str(folder / "data"))
    few = {name: challenge_sets()[name][:2] for name in SETS}
    monkeypatch.setattr(challenges, "challenge_sets", lambda: few)
    for kept_by_size in ("_corpus", "_model"):
        getattr(dtglib.runs.jobs, kept_by_size).cache_clear()
    return folder


# ---- Sizes and jobs


@pytest.mark.parametrize("path", sorted((CONFIGS / "translation").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_keys_of_such_a_file_are_explained_or_those_of_the_size_itself(path, monkeypatch):
    monkeypatch.chdir(ROOT)
    explained = set(yaml.safe_load((CONFIGS / "translation.yaml").read_text()))
    own = set(yaml.safe_load((CONFIGS / "smoke.yaml").read_text()))
    assert set(yaml.safe_load(path.read_text())) <= explained | own | {"compared"}
    assert {field.name for field in fields(TranslationConfig)} <= explained
    for name in compared_at(path.stem, "translation"):
        settings = read_size(path.stem, model=name)
        assert settings.corpus.corpus.endswith(":de-en") and settings.model.model == name


def test_at_smoke_all_eight_systems_are_compared_at_mini_five_and_at_open_small_four(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert tuple(compared_at("smoke", "translation")) == tuple(SYSTEMS) == papers_named("translation")[0].compared
    at_mini = compared_at("mini", "translation")
    assert SYSTEMS.keys() - at_mini.keys() == {"bitran-transitions", "gcn-no-labels", "gcn-no-gates"}
    assert set(compared_at("open-small", "translation")) == {"vanilla", "linearized", "parent", "gcn"}
    names = {job.name for job in jobs_of("mini", "translation")}
    assert names == {f"{what} {name}, seed 1" for what in ("train", "translations by") for name in at_mini}


def test_where_the_released_translator_is_shown_nothing_is_trained(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert read_size("smoke", model="vanilla").evaluation.released == "minilang"
    assert jobs_of("smoke", "translation") == []


def test_a_model_of_another_paper_is_not_compared(repository):
    assert list(compared_at("smoke", "translation")) == ["vanilla", "gcn"]
    path = repository / "configs" / "translation" / "smoke.yaml"
    path.write_text(path.read_text().replace("vanilla gcn", "vanilla dtg"))
    with pytest.raises(UserError, match="smoke: dtg is no model of translation; models are vanilla, bitran"):
        compared_at("smoke", "translation")


def test_all_systems_take_the_same_batches_and_as_many_steps(repository):
    settings = [read_size("smoke", model=name) for name in ("vanilla", "gcn")]
    corpus = read_corpus(settings[0])
    plans = [
        [sorted(batch) for batch in prepare(one, corpus).train.plan(100, np.random.default_rng(1), CPU)]
        for one in settings
    ]
    assert plans[0] == plans[1] and len(plans[0]) > 3


# Slow: that jobs leave nothing out is seen only where all are done.
@pytest.mark.slow
def test_after_all_jobs_the_notebook_finds_everything(repository):
    for job in jobs_of("smoke", "translation"):
        job.run()
    before = {path.name for path in (repository / "runs").glob("*/*")}
    for name in compared_at("smoke", "translation"):
        settings = read_size("smoke", model=name)
        translation_of(settings, trained(settings, prepare(settings, read_corpus(settings))))
    assert {path.name for path in (repository / "runs").glob("*/*")} == before


# ---- Records and tables


def test_a_record_has_what_the_tables_show(repository):
    out = repository / "results" / "translators"
    record_evaluation("smoke", [3], ["vanilla", "gcn"], out, ["translation"])
    results = repository / "results"
    settings = read_size("smoke", model="gcn")
    assert [len(some) for some in references_of(settings).values()] == [3]
    rows = lines(out, "translation")
    assert [(row["seed"], row["model"], row["on"]) for row in rows] == [(3, "vanilla", "test"), (3, "gcn", "test")]
    assert all(row["sentences"] == 3 and 0 <= row["chrF+"] <= 100 for row in rows)
    bleu = by_seed("translation", "BLEU", ["on"], "minilang:de-en", "smoke", results)["test"]
    assert bleu.to_dict() == {(titles("translation")[row["model"]], 3): row["BLEU"] for row in rows}
    kept = by_seed("challenge set", "kept", ["set"], "minilang:de-en", "smoke", results)
    assert set(kept) == set(SETS) and kept.index.tolist() == [("GCN", 3), ("Vanilla", 3)]
    values = measured_values(results)
    assert differences(values, ORDERS)[["first", "second"]].drop_duplicates().values.tolist() == [["GCN", "Vanilla"]]


def test_a_record_of_variants_has_the_scores_of_each(repository):
    asked = {name: {question for question, *_ in variants_of(read_size("smoke", model=name))} for name in SYSTEMS}
    others = {"size", "wrong pairs"}
    assert asked.pop("gcn") == {"labels of edges", *others} and all(of == others for of in asked.values())
    out = repository / "results" / "labels"
    record_evaluation("smoke", [1], ["gcn"], out, ["ablations"], ["labels of edges"])
    ours, theirs = lines(out, "ablation")
    assert [row["variant"] for row in (ours, theirs)] == ["of all three", "between words"]
    assert ours["folder"] != theirs["folder"] and ours["sentences"] == theirs["sentences"] == 3
    values = measured_values(repository / "results").query("question == 'labels of edges' and measure == 'BLEU'")
    assert values["value"].tolist() == [ours["BLEU"], theirs["BLEU"]]


def test_the_papers_sign_tests_come_out_as_it_says():
    """18-0 and 15-3 of test cells; 34-6, 27-13 and 26-14 of challenge cells."""
    on_tests, on_challenges = (
        {(row["system"], row["against"]): (row["wins"], row["losses"]) for row in sign_tests(cells).to_dict("records")}
        for cells in (cells_of_tests(), theirs("nmt_table7", "nmt_table8"))
    )
    assert on_tests["PARENT", "BiTran"] == on_tests["GCN", "BiTran"] == (18, 0)
    assert on_tests["BiTran", "Vanilla"] == (15, 3)
    assert on_challenges["PARENT", "BiTran"] == (34, 6) and on_challenges["GCN", "BiTran"] == (27, 13)
    assert on_challenges["BiTran", "Vanilla"] == (26, 14)


def test_of_each_system_the_newest_record_counts_whatever_else_it_has(tmp_path):
    scores = {"part": "translation", "on": "test", "chrF+": 30.0, "chrF++": 30.0}
    for name, systems, seeds, bleu in (("1", ["vanilla", "gcn"], [1], 40.0), ("2", ["gcn"], [1, 2], 80.0)):
        config = {"corpus": "minilang:de-en", "size": "mini", "model": systems}
        with Run(tmp_path / name, "?", config) as run:
            for system in systems:
                for seed in seeds:
                    run.metric(**scores, model=system, seed=seed, BLEU=bleu)
    assert by_seed("translation", "BLEU", ["on"], "minilang:de-en", folder=tmp_path)["test"].to_dict() == {
        ("Vanilla", 1): 40.0,
        ("GCN", 1): 80.0,
        ("GCN", 2): 80.0,
    }


def test_systems_without_a_common_cell_are_not_compared():
    cells = pd.DataFrame({"Vanilla": [1.0, None], "BiTran": [None, 2.0], "GCN": [3.0, None]})
    assert [(row["system"], row["against"]) for row in sign_tests(cells).to_dict("records")] == [("GCN", "Vanilla")]


# ---- Public sets


def write_set(folder, name, german, numbers):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.ids").write_text("".join(f"{number}\n" for number in numbers))
    (folder / f"{name}.de").write_text("".join(f"{text}\n" for text in german))
    (folder / f"{name}.en").write_text("".join(f"I pick {number} up .\n" for number in numbers))


def test_public_sets_have_sources_and_the_distances_of_the_files_that_name_them(tmp_path, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    assert public_sets("de", "en") == {}
    german = ["Ich hebe ihn auf .", "", "Sie hebt ihn auf .", *3 * ["Er hebt ihn auf ."]]
    write_set(tmp_path / "challenge", "de_particle", german, [7, 8, 9, 12, 15, 20])
    write_set(tmp_path / "challenge", "de_particle3", german[:2], [9, 20])
    write_set(tmp_path / "challenge", "en_reflexive", german[:1], [3])
    (found,) = public_sets("de", "en").values()  # a set of one sentence is left out
    assert found.distances == [1, 3, 1, 1, 3], "the empty line is no sentence"
    assert found.items[0].translation == ("Ich", "hebe", "ihn", "auf", ".")
    assert lowered(found.items)[0].words == ("i", "pick", "7", "up", ".")
    assert lowered(found.items)[0].translation[0] == "ich"


def test_public_sets_are_translated_in_the_case_of_the_corpus_and_scored_by_least_distance(repository):
    german = [*3 * ["Ich hebe ihn auf ."], *3 * ["Er hebt ihn auf ."]]
    write_set(repository / "data" / "challenge", "de_particle", german, [7, 8, 9, 12, 15, 20])
    write_set(repository / "data" / "challenge", "de_particle3", german[:2], [9, 20])
    ((name, cased),) = public_for("multi30k:de-en", Vocabulary.of_words([["Ich", "ich"]])).items()
    assert cased.items[0].translation[0] == "Ich"
    ((name, found),) = public_for("multi30k:de-en", Vocabulary.of_words([["ich"]])).items()
    assert name == "de_particle" and found.items[0].translation[0] == "ich"
    settings = read_size("smoke", model="vanilla")
    folder = trained(settings, prepare(settings, read_corpus(settings)))
    rows = list(challenges.by_least(folder, {name: found}, TranslationBeam(2), 6))
    assert [(row["distance from"], row["sentences"]) for row in rows] == [(1, 6), (2, 2), (3, 2)]
    few = list(challenges.by_least(folder, {name: found}, TranslationBeam(2), 2))
    assert [(row["distance from"], row["sentences"]) for row in few] == [(1, 2)], "of six, the first and the fourth"


def test_the_tests_of_a_corpus_have_sets_of_their_own_by_the_trees_of_a_parser(repository):
    folder = repository / "mine"
    text_in = {"de": "Der Vater hebt das Buch auf .\n", "en": "The father picks the book up .\n"}
    folder.mkdir()
    for part, language in itertools.product(("train", "dev", "test"), text_in):
        (folder / f"{part}.{language}").write_text(6 * text_in[language])
    of_files = {"model": "vanilla", "corpus": f"{folder}:de-en"}
    chosen = read_size("smoke", **of_files, parsed_by="parser-minilang")
    (found,) = own_of(chosen).items()
    assert found[0] == "en_particle_own" and found[1].distances == 6 * [2]
    assert found[1].items[0].translation[-2] == "auf"
    scored = translation_of(chosen, trained(chosen))["own challenge set"]
    assert [(row["set"], row["distance from"], row["sentences"]) for row in scored] == [
        ("en_particle_own", 1, 3),
        ("en_particle_own", 2, 3),
    ], "as many as are scored"
    assert own_of(read_size("smoke", **of_files)) == {}, "there are no trees"


# Slow: the public challenge sets as they are.
@pytest.mark.slow
def test_the_published_sets_are_those_of_the_paper(data):
    if not (data / "challenge").is_dir():
        pytest.skip("the challenge sets are not here")
    found = public_sets("de", "en")
    assert len(found) == 10 and len(found["de_particle"].items) == 7584 and len(found["en_particle"].items) == 786
    assert found["de_particle"].distances.count(5) == 2667 and set(found["de_particle_news"].distances) == {1}


# ---- A release


def test_a_translator_is_released_with_bleu_on_its_card_and_taken_if_none_is_named(repository, monkeypatch, capsys):
    monkeypatch.setattr(released, "PLACES", (repository / "models",))
    assert main(["translate", "Der Hund schläft ."]) == 2
    assert "translator-minilang: holds no model" in capsys.readouterr().err
    tiny = release.Release(replace(release.TRANSLATIONS, size="smoke"), "linearized")
    monkeypatch.setattr(release, "RELEASES", {"translator-minilang": tiny})
    folder = release.release("translator-minilang")
    card = released.read_card(folder)
    assert (card.corpus, card.kind, card.pairs) == ("minilang:de-en", "model", None)
    assert card.bleu >= 0 and card.perplexity > 1 and abs(card.nats_lost) < 0.01 < card.nats_per_word
    assert family_of(load_model("translator-minilang")).name == "linearized"
    assert main(["translate", "Der Hund schläft ."]) == 0
    assert "dtglib: with translator-minilang" in capsys.readouterr().err


def test_no_other_release_is_meant_by_it():
    corpus, model, _ = release.RELEASES["translator-minilang"]
    assert (corpus.size, model in SYSTEMS) == ("translation", True)
    assert not [name for name in release.RELEASES if name.startswith(tuple(SYSTEMS))]


def test_what_cannot_be_translated_is_said_in_a_line(repository, capsys):
    assert main(["translate", "--model", "nothing-there", "Der Hund schläft ."]) == 2
    assert_one_line(capsys, "nothing-there: holds no model")


def test_a_vocabulary_without_capitals_is_lower_cased_whatever_its_bytes_and_symbols():
    for make in (Vocabulary.of_words, lambda sentences: Vocabulary.train(sentences, 267)):
        assert is_lower_cased(make(20 * [["a", "dog", "barks", "."]]))
        assert not is_lower_cased(make(20 * [["A", "dog", "barks", "."]]))
