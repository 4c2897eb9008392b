"""Translators through the commands: trained, scored, asked for translations with trees, challenged, compared."""

import contextlib
import json
import shutil
from pathlib import Path

import pytest
from conftest import with_one_thread
from running import assert_one_line, lines, without_conventions

from dtglib.cli.main import main
from dtglib.data.treebank import Sentence
from dtglib.families.base import family_of, load_model
from dtglib.runs.prepare import prepare
from dtglib.runs.settings import read_settings
from dtgpapers.translation import challenges
from dtgpapers.translation.german.challenge import challenge_sets
from dtgpapers.translation.translation import Translation
from dtgpapers.translation.translations import measured

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIG = """
corpus: minilang:de-en
train_sentences: 40
dev_sentences: 8
test_sentences: 8
model: vanilla
layers: 1
width: 16
heads: 2
inner: 24
prefixes: 0.1
epochs: 2
batch_positions: 200
learning_rate: 0.01
warmup_steps: 3
precision: float32
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A repository of its own, with two trained models."""
    folder = tmp_path_factory.mktemp("translators")
    for name in ("notebooks", "configs"):
        (folder / name).mkdir()
    (folder / "configs" / "tiny.yaml").write_text(CONFIG)
    with with_one_thread(), contextlib.chdir(folder):
        for name in ("vanilla", "gcn"):
            assert main(["train", "configs/tiny.yaml", "--model", name, "--out", name]) == 0
    return folder


@pytest.fixture(autouse=True)
def there(place, monkeypatch) -> None:
    monkeypatch.chdir(place)
    few = {name: items[:3] for name, items in challenge_sets().items()}
    monkeypatch.setattr(challenges, "challenge_sets", lambda: few)


def test_what_is_trained_is_loaded_as_what_it_is(place):
    for name in ("vanilla", "gcn"):
        assert family_of(load_model(place / name)).name == name
        train = lines(place / name, "train")
        assert all(line["nats_per_piece"] > 0 for line in train)
        assert all(("nats_per_transition" in line) == (name == "gcn") for line in train)


def test_all_models_learn_from_the_same_pairs_and_share_no_vocabulary():
    vanilla, gcn = (prepare(read_settings("configs/tiny.yaml", {"model": name})) for name in ("vanilla", "gcn"))
    assert vanilla.train.names == gcn.train.names
    pieces = [one.vocabulary.entries[len(one.vocabulary.reserved) :] for one in (vanilla, gcn)]
    assert pieces[0] == pieces[1] and {"▁die", "▁the"} <= set(pieces[0])
    assert (gcn.train.lengths == 2 * vanilla.train.lengths - 2).all(), "n words, n - 1 transitions, and <END>"


def test_a_sentence_is_translated_and_its_tree_is_shown(capsys):
    for name, tree in (("vanilla", "this model writes no trees"), ("gcn", "no whole tree")):
        assert main(["translate", "--model", name, "Der Hund schläft .", "--trees"]) == 0
        words, symbols, *shown = capsys.readouterr().out.splitlines()
        without = [symbol for symbol in symbols.split() if not symbol.startswith(("L:", "R:"))]
        assert words.split() == without and without
        assert shown == [tree, ""] or (name == "gcn" and len(shown[0].split()) == len(shown[1].split()) == len(without))


def test_without_a_whole_tree_none_is_counted():
    """A system that writes trees has 0 % of them; one that does not has no such number."""
    sentence = Sentence(("a",), (0,), ("root",), id="s")
    for heads, trees in ((None, None), ((), 0.0), ((0,), 100.0)):
        labels = heads and ("root",)
        row = measured([Translation(("a",), ("a",), heads, labels, -1.0)], [sentence])
        assert row.get("trees") == trees


def test_words_that_a_translator_does_not_know_are_named(capsys):
    assert main(["translate", "--model", "vanilla", "Xyzzy ."]) == 0
    assert "dtglib: vanilla does not know Xyzzy\n" in capsys.readouterr().err
    assert main(["translate", "--model", "vanilla", "minilang:de-en", "--split", "train", "--sentences", "3"]) == 0
    assert "does not know" not in capsys.readouterr().err


def test_other_languages_than_those_it_has_learnt_are_an_error(capsys):
    commands = (
        ["translate", "--model", "vanilla"],
        ["score", "--model", "vanilla"],
        ["compare-translators", "vanilla", "--on"],
    )
    for command in commands:
        assert main([*command, "minilang:en-de", "--split", "test"]) == 2
        assert_one_line(capsys, "minilang:en-de: vanilla has learnt to translate from de to en")


def test_a_corpus_without_translations_is_not_taken_for_german(place, capsys):
    assert main(["translate", "--model", "vanilla", "minilang", "--split", "test", "--sentences", "1"]) == 2
    assert_one_line(capsys, "minilang: is English; a corpus of pairs is minilang:de-en")


def test_the_challenge_sets_are_refused_to_a_translator_from_english(place, capsys):
    folder = place / "from-english"
    shutil.copytree(place / "vanilla", folder)
    settings = folder / "config.yaml"
    settings.write_text(settings.read_text().replace("de-en", "en-de"))
    assert main(["challenge", "--model", str(folder)]) == 2
    assert_one_line(capsys, "minilang:de-en: from-english has learnt to translate from en to de")


def test_only_legal_symbols_make_trees(capsys):
    assert main(["translate", "--model", "gcn", "Der Hund schläft .", "--legal", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["translations"]
    assert len(found["heads"]) == len(found["labels"]) == len(found["words"])
    assert found["heads"].count(0) == 1
    assert len(found["symbols"]) == 2 * len(found["words"]) - 1


def test_a_corpus_of_pairs_is_scored_with_signatures(capsys):
    command = ["translate", "--model", "vanilla", "minilang:de-en", "--split", "test", "--sentences", "4"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 4 and "BLEU" in err and "chrF++: nrefs:1" in err and "tok:13a" in err
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [" ".join(one["words"]) for one in found["translations"]] == out.splitlines()
    assert 0 <= found["BLEU"] <= 100 and found["sentences"] == 4


def test_pairs_are_scored_given_their_sources(capsys):
    for name, told in (("vanilla", "perplexity: "), ("gcn", "perplexity: at most")):
        assert main(["score", "--model", name, "minilang:de-en", "--split", "train", "--sentences", "3"]) == 0
        assert told in capsys.readouterr().out


@pytest.mark.parametrize("name", ["vanilla", "gcn"])
def test_a_sentence_without_source_cannot_be_scored(name, capsys):
    assert main(["score", "--model", name, "The dog sleeps ."]) == 2
    assert "has no source; name a corpus of pairs" in capsys.readouterr().err


def test_a_target_without_a_tree_cannot_be_scored_by_what_writes_trees(place, capsys):
    (place / "plain.de").write_text("Der Hund schläft .\n")
    (place / "plain.en").write_text("The dog sleeps .\n")
    assert main(["score", "--model", "gcn", "plain:de-en"]) == 2
    assert_one_line(capsys, "has no labelled tree, and GCN writes one; take a corpus with trees")
    assert main(["score", "--model", "vanilla", "plain:de-en"]) == 0


def test_challenge_sets_are_translated(capsys):
    assert main(["challenge", "--model", "vanilla", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["conventions"].items() >= {"model": "vanilla", "text": "minilang:de-en"}.items()
    assert [row["set"] for row in found["sets"]] == list(challenge_sets())
    assert all(0 <= row["kept"] <= 100 and row["items"] == 3 for row in found["sets"])
    assert [row["sentences"] for row in found["object first"]] == [36, 27, 36]
    known = [row["known"] for row in found["object first"]]
    assert all(0 <= known[i] < n for i, n in enumerate((36, 27, 36))), "minilang has no Stein and no Hamster"
    assert main(["challenge", "particle", "--model", "vanilla"]) == 0
    table, conventions = without_conventions(capsys.readouterr().out)
    assert table[0].split() == ["distance", "items", "kept"] and "search: beam 5" in conventions


def test_translators_are_compared_on_files_of_ones_own(place, capsys):
    (place / "mine.de").write_text("Der Hund schläft .\nDie Katze schläft .\n")
    (place / "mine.en").write_text("The dog sleeps .\nThe cat sleeps .\n")
    assert main(["compare-translators", "vanilla", "gcn", "--on", "mine:de-en", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    about, (first, second, test) = report["conventions"], report["rows"]
    assert (about["model"], about["text"]) == ("vanilla, gcn", "mine:de-en") and "version:" in about["BLEU"]
    assert about["search"] == "beam 5, log p divided by length to the power of 0.6"
    assert first["chrF+, relative"] == 0 and second["chrF+, relative"] == second["chrF+"] - first["chrF+"]
    assert (test["cells"], test["against"]) == (2, "vanilla") and test["wins"] + test["losses"] <= 2


def test_what_cannot_translate_is_refused(capsys):
    assert main(["translate", "--model", "dtg-minilang", "Der Hund schläft ."]) == 2
    assert_one_line(capsys, "DTG does not translate")


def test_a_corpus_of_one_language_has_no_sources(capsys):
    assert main(["train", "configs/tiny.yaml", "--set", "corpus=minilang", "--out", "nothing"]) == 2
    assert "has no source; name a corpus of pairs" in capsys.readouterr().err


def test_targets_without_trees_are_no_training_for_what_writes_them(place, capsys):
    for part in ("train", "dev"):
        (place / "bare").mkdir(exist_ok=True)
        (place / "bare" / f"{part}.de").write_text("Der Hund schläft .\n")
        (place / "bare" / f"{part}.en").write_text("The dog sleeps .\n")
    command = ["train", "configs/tiny.yaml", "--set", "corpus=bare:de-en", "--out"]
    assert main([*command, "bare-gcn", "--model", "gcn"]) == 2
    assert "set parsed_by to a labelling parser" in capsys.readouterr().err
    assert main([*command, "bare-vanilla"]) == 0


# Slow: a parser of the target language is asked.
@pytest.mark.slow
def test_targets_without_trees_get_those_of_a_parser(place):
    for part in ("train", "dev"):
        (place / "raw").mkdir(exist_ok=True)
        (place / "raw" / f"{part}.de").write_text("Der Hund schläft .\nDie Katze sieht den Hund .\n")
        (place / "raw" / f"{part}.en").write_text("The dog sleeps .\nThe cat sees the dog .\n")
    changes = ["corpus=raw:de-en", "parsed_by=parser-minilang"]
    sets = [part for change in changes for part in ("--set", change)]
    assert main(["train", "configs/tiny.yaml", "--model", "parent", *sets, "--out", "raw-parent"]) == 0
    assert {"L:nsubj", "R:obj"} <= set(load_model(place / "raw-parent").vocabulary.reserved)


def test_the_same_pairs_are_too_long_for_all_systems():
    """Pieces are counted; GCN writes transitions, too."""
    data = [prepare(read_settings("configs/tiny.yaml", {"model": name, "longest": 12})) for name in ("vanilla", "gcn")]
    vanilla, gcn = (one.train for one in data)
    assert vanilla.names == gcn.names and max(vanilla.lengths) == 13
    assert len(vanilla.names) + len(vanilla.too_long) == 40 and vanilla.too_long
    assert f"{len(vanilla.too_long)} more than 12 pieces" in vanilla.summary


@pytest.mark.parametrize(
    "broken, message",
    [
        ("heads=3", "must be an even number"),
        ("smoothing=1.0", "less than 1"),
        ("prefixes=12", "prefixes is a share, more than 0 and at most 1, not 12"),
        ("prefixes=0", "prefixes is a share"),
    ],
)
def test_settings_that_make_no_sense_are_refused(broken, message, capsys):
    assert main(["train", "configs/tiny.yaml", "--set", broken, "--out", "broken"]) == 2
    assert message in capsys.readouterr().err
