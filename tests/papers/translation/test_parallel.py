"""Corpora in two languages: by name, by path, line by line; what is wrong is named with its line."""

import html
import json
from collections import Counter

import pytest

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.corpora import corpora, corpus_checksum, load, splits
from dtglib.data.treebank import Sentence, TreebankError
from dtgpapers.translation.apart import sets_apart
from dtgpapers.translation.challenge_files import ChallengeSet, public_sets
from dtgpapers.translation.parallel import pair_of, read_pair


@pytest.fixture
def texts(tmp_path):
    """Two files, line by line, and a folder that holds them as its training part."""
    for folder, name in ((tmp_path, "mine"), (tmp_path / "folder", "train")):
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.de").write_text("Der Hund schläft.\n\nWir gehen nach Hause.\n", encoding="utf-8")
        (folder / f"{name}.en").write_text("The dog sleeps.\nA line.\nWe go home.\n", encoding="utf-8")
    return tmp_path


def test_two_files_are_one_corpus_whose_translations_are_the_sources(texts):
    found = load(f"{texts}/mine:de-en")
    assert [sentence.words for sentence in found.sentences] == [
        ("The", "dog", "sleeps", "."),
        ("We", "go", "home", "."),
    ]
    assert found.sentences[1].translation == ("Wir", "gehen", "nach", "Hause", ".")
    assert [sentence.id for sentence in found.sentences] == ["mine-1", "mine-3"]
    assert found.excluded == Counter({"empty line": 1})


def test_the_languages_can_be_turned_round(texts):
    turned = load(f"{texts}/mine:en-de").sentences[0]
    assert (turned.words[:2], turned.translation[:2]) == (("Der", "Hund"), ("The", "dog"))


def test_a_folder_has_the_parts_whose_files_it_holds(texts):
    assert splits(f"{texts}/folder:de-en") == ("train",)
    assert len(load(f"{texts}/folder:de-en", "train").sentences) == 2
    with pytest.raises(UserError, match="there is no split 'dev'; it has train"):
        load(f"{texts}/folder:de-en", "dev")


def test_unequal_lengths_are_an_error_that_names_the_first_line_without_a_translation(texts):
    with (texts / "mine.en").open("a") as file:
        file.write("One more.\nAnd another.\n")
    with pytest.raises(
        TreebankError, match=r"mine\.en:4: this line has no translation, because .*mine\.de ends after 3"
    ):
        load(f"{texts}/mine:de-en")


def test_a_wrong_byte_is_named_with_its_line(texts):
    (texts / "mine.de").write_bytes(b"Ein Hund\nDie T" + b"\xfcr\nEin Ball\n")
    with pytest.raises(TreebankError, match=r"mine\.de:2: line 2: byte 0xfc is not UTF-8"):
        load(f"{texts}/mine:de-en")


def test_missing_files_are_named(texts):
    with pytest.raises(UserError, match=r"there is no .*mine\.fr"):
        load(f"{texts}/mine:fr-en")
    with pytest.raises(UserError, match=r"holds no NAME\.fr with a NAME\.en"):
        load(f"{texts}/folder:fr-en", "train")


def test_texts_that_are_there_with_and_without_tokens_are_an_error(texts):
    for language in ("de", "en"):
        (texts / "folder" / f"train.tok.{language}").write_text("one\n")
    with pytest.raises(UserError, match=r"train is there as train\.tok, too; take one of them away"):
        load(f"{texts}/folder:de-en", "train")


def test_minilang_has_trees_in_both_languages():
    english, german = (load(f"minilang:{pair}", "train", 20).sentences for pair in ("de-en", "en-de"))
    for one, other in zip(english, german, strict=True):
        assert one.words == other.translation and other.words == one.translation
        assert one.heads and other.heads and one.labels and other.labels
    assert splits("minilang:de-en") == ("train", "dev", "test")


def test_minilang_has_two_languages_only():
    with pytest.raises(UserError, match="write minilang:de-en or minilang:en-de"):
        load("minilang:fr-en", "train")


def test_multi30k_is_read_by_name(data, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(data))
    if not (data / "multi30k").is_dir():
        pytest.skip("Multi30k is not in the data folder")
    found = load("multi30k:de-en", "dev")
    assert len(found.sentences) == 1_014 and not found.excluded
    assert found.sentences[0].words[:3] == ("a", "group", "of")
    assert found.sentences[0].translation[:3] == ("eine", "gruppe", "von")
    assert splits("multi30k:en-de") == ("train", "dev", "test")
    assert "multi30k:de-en" in [corpus.name for corpus in corpora()]
    (boy,) = (one for one in load("multi30k:en-de", "train", 45).sentences if "'" in one.words)
    assert boy.words[5:8] == ("mcdonald", "'", "s") and "mcdonald ' s" in boy.text


def test_what_a_tokeniser_has_escaped_is_read_as_it_was(texts):
    (texts / "moses.de").write_text("ein &quot; hund &quot;\n", encoding="utf-8")
    (texts / "moses.en").write_text("a dog &apos;s\n", encoding="utf-8")
    (found,) = read_pair(texts / "moses.de", texts / "moses.en", html.unescape, str.split).sentences
    assert (found.words, found.translation) == (("a", "dog", "'s"), ("ein", '"', "hund", '"'))
    assert found.text == "a dog 's"


def test_without_multi30k_the_way_to_get_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"multi30k: .* is not there; copy data/task1/tok"):
        load("multi30k:de-en", "dev")


def test_a_parallel_corpus_has_a_checksum_of_both_sides(texts):
    before = corpus_checksum(f"{texts}/mine:de-en")
    (texts / "mine.de").write_text("Der Hund schlief.\n\nWir gehen nach Hause.\n", encoding="utf-8")
    assert corpus_checksum(f"{texts}/mine:de-en") != before
    assert corpus_checksum("minilang:de-en") != corpus_checksum("minilang")


# ---- commands


def test_pairs_are_shown_side_by_side(capsys):
    assert main(["pairs", "--sentences", "2", "--trees"]) == 0
    source, target, heads, labels, *_ = capsys.readouterr().out.splitlines()
    assert source == "Dieses Drehbuch , das verschwand , wurde von ihm gerochen ."
    assert target == "This script which disappeared was smelled by him ."
    assert heads.split() == ["2", "6", "4", "2", "6", "0", "8", "6", "6"] and labels.split()[0] == "det"


def test_pairs_of_files_as_json(texts, capsys):
    assert main(["pairs", f"{texts}/mine:de-en", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["pairs"][0] == {"source": "Der Hund schläft .", "target": "The dog sleeps ."}
    assert printed["excluded"] == {"empty line": 1}


def test_a_corpus_of_one_language_has_no_pairs(capsys):
    assert main(["pairs", "minilang", "--sentences", "1"]) == 2
    assert "a corpus of one language; name a pair of languages too, such as :de-en" in capsys.readouterr().err


def test_challenge_sets_are_listed_and_shown(capsys):
    assert main(["challenge"]) == 0
    assert "object-first-both" in capsys.readouterr().out
    assert main(["challenge", "object-first-both", "--items", "1", "--json"]) == 0
    (item,) = json.loads(capsys.readouterr().out)["items"]
    assert item["german"].startswith("Den ") and item["subject"] in item["english"].split()
    assert main(["challenge", "--items", "3"]) == 2
    assert "name the set, too" in capsys.readouterr().err
    assert main(["challenge", "object-last"]) == 2
    assert "there are particle, reflexive" in capsys.readouterr().err


def parsed(text: str, heads: list[int], labels: str) -> Sentence:
    return Sentence(tuple(text.split()), tuple(heads), tuple(labels.split()))


def test_a_corpus_has_challenge_sets_of_its_own_sentences():
    """Words that stand side by side are no challenge, nor is a sentence without a tree; few sentences are no set."""
    washed = parsed("He washed himself", [2, 0, 2], "nsubj root obj")
    far = parsed("He put all of it up", [2, 0, 2, 5, 3, 2], "nsubj root obj case nmod compound:prt")
    farthest = parsed("put a b c d e f g up", [0, *[1] * 8], "root x x x x x x x compound:prt")
    bought = parsed("He bought her and Himself it", [2, 0, 2, 5, 3, 2], "nsubj root iobj cc conj obj")
    found = sets_apart([washed, Sentence(far.words), *4 * [far], farthest, *5 * [bought]], "en")
    assert found == {
        "en_particle_own": ChallengeSet([*4 * [far], farthest], [3, 3, 3, 3, 5]),
        "en_reflexive_own": ChallengeSet(5 * [bought], 5 * [1]),
    }
    assert sets_apart([*4 * [far], washed], "en") == {}


def test_the_name_of_a_corpus_of_pairs_is_asked_for():
    assert pair_of("mine:de-en").target == "en"
    with pytest.raises(UserError, match=r"minilang: is no corpus of pairs"):
        pair_of("minilang")


def test_public_challenge_sets_are_read_with_their_distances(tmp_path, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    folder = tmp_path / "challenge"
    folder.mkdir()
    for suffix, lines in {"de": ["Er sieht ab ."] * 5, "en": ["He refrains ."] * 5, "ids": [1, 2, 3, 4, 5]}.items():
        (folder / f"de_particle.{suffix}").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    (folder / "de_particle3.ids").write_text("2\n5\n", "utf-8")
    found = public_sets("de", "en")["de_particle"]
    assert found.distances == [1, 3, 1, 1, 3]
    assert found.items[0].translation == ("Er", "sieht", "ab", ".")
