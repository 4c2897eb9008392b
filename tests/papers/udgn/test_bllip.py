"""BLLIP in four sizes, with section 23 of a Penn Treebank: made files, a sentence for each section."""

import pytest

from dtglib.basics.errors import UserError
from dtglib.data.corpora import BLLIP_LG, corpus_checksum, load, splits
from dtglib.data.treebank import Sentence
from dtgpapers.udgn.bllip import TRAIN
from dtgpapers.udgn.words import read


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for section in (section for sections, _ in BLLIP_LG.values() for section in sections):
        path = tmp_path / f"198{section[1]}" / section / f"{section}.000"
        path.parent.mkdir(parents=True)
        path.write_text(f"(S1 (S (NP (DT This)) (VP (AUX is) (NP (NNP {section}))) (. .)))\n" * 2)
    (tmp_path / "ptb" / "23").mkdir(parents=True)
    (tmp_path / "ptb" / "23" / "wsj_2300.dep").write_text("1\tYes\t_\tUH\tUH\t_\t0\troot\t_\t_\n")
    monkeypatch.setenv("BLLIP", str(tmp_path))
    monkeypatch.setenv("PTB", str(tmp_path / "ptb"))
    return tmp_path


def test_each_size_has_the_sections_of_the_smaller_ones():
    assert [len(sections) for sections in TRAIN.values()] == [6, 30, 90, 261]
    for smaller, larger in zip(list(TRAIN.values()), list(TRAIN.values())[1:], strict=False):
        assert set(smaller) < set(larger)


def test_tests_are_whole_sections_and_trees_those_of_the_penn_treebank(folder, monkeypatch):
    assert splits("bllip-xs") == ("train", "dev", "test")
    sections = [sentence.words[2] for sentence in load("bllip-xs", "train").sentences[::2]]
    assert sections == ["w7_071", "w7_122", "w8_054", "w8_107", "w9_028", "w9_037"]
    monkeypatch.setitem(BLLIP_LG, "test", (BLLIP_LG["test"][0], 1))
    assert len(load("bllip", "test").sentences) == 3 and len(load("bllip-xs", "test").sentences) == 6
    assert [sentence.words for sentence in load("bllip-xs", "section-23").sentences] == [("Yes",)]
    before = corpus_checksum("bllip-xs")
    (folder / "ptb" / "23" / "wsj_2300.dep").write_text("1\tNo\t_\tUH\tUH\t_\t0\troot\t_\t_\n")
    assert corpus_checksum("bllip-xs") == before, "what is trained on is the same, and is kept"


def test_without_a_penn_treebank_its_variable_is_named(folder, monkeypatch):
    (folder / "ptb" / "23" / "wsj_2300.dep").unlink()
    with pytest.raises(UserError, match=r"ptb: there is no \*.dep or \*.conllx in a folder 23; set PTB"):
        load("bllip-sm", "section-23")
    monkeypatch.setenv("PTB", str(folder / "nowhere"))
    with pytest.raises(UserError, match=r"PTB names .*nowhere, which is not a folder"):
        load("bllip-sm", "section-23")
    monkeypatch.delenv("PTB")
    assert len(load("bllip-xs", "dev").sentences) == 6 and corpus_checksum("bllip-xs")
    with pytest.raises(UserError, match="set PTB to your Penn Treebank in CoNLL-X"):
        load("bllip-sm", "section-23")


def test_words_are_told_from_punctuation_by_the_tags_in_brackets():
    sentence = Sentence(("-LRB-", "Yes", "%"), brackets="(S (-LRB- -LRB-) (INTJ (UH Yes)) (NN %))")
    assert read(sentence).words == ("yes", "%")


def test_a_bracket_among_the_words_takes_no_other_words_tag():
    brackets = r"(S (DT the) (: \() (NN dog) (: \)) (VBZ barks) (. .))"
    assert read(Sentence(("the", "(", "dog", ")", "barks", "."), brackets=brackets)).words == ("the", "dog", "barks")
