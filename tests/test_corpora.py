"""Corpora by name and by path: what is found, what is left out and counted, and what is said where nothing is found."""

from collections import Counter
from pathlib import Path

import pytest

from dtglib.basics.errors import UserError
from dtglib.data import treebank
from dtglib.data.corpora import BLLIP_LG, UD_ENGLISH, bllip_blocks, corpora, corpus_checksum, load, splits
from dtglib.data.treebank import Sentence, Treebank, joined

HEADS = {
    "There is a difference": (2, 0, 4, 2),
    "Thank you": (0, 1),
    "thank you": (0, 1),
    "No": (0,),
}


def conllu(*sentences: str) -> str:
    """Sentences as CoNLL-U, with the heads above; unknown ones hang on their first word."""
    blocks = []
    for sentence in sentences:
        words = sentence.split()
        heads = HEADS.get(sentence, (0,) + (1,) * (len(words) - 1))
        rows = zip(range(1, len(words) + 1), words, heads, strict=True)
        blocks.append("".join(f"{n}\t{word}\t_\t_\t_\t_\t{head}\tdep\t_\t_\n" for n, word, head in rows))
    return "\n".join(blocks) + "\n"


def words_of(treebank: Treebank) -> list[str]:
    return [" ".join(sentence.words) for sentence in treebank.sentences]


@pytest.fixture
def no_data(tmp_path, monkeypatch) -> Path:
    """An empty data folder."""
    monkeypatch.setenv("DTG_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("BLLIP", raising=False)
    return tmp_path / "data"


@pytest.fixture
def six_treebanks(no_data) -> Path:
    """A data folder with six small treebanks: each has a sentence of its own in each split, and what they share."""
    for name in UD_ENGLISH:
        short = name.removeprefix("UD_English-")
        folder = no_data / "ud" / name
        folder.mkdir(parents=True)
        for split in ("train", "dev", "test"):
            (folder / f"en_{short.lower()}-ud-{split}.conllu").write_text(conllu(f"{short} {split}"))
    ud = no_data / "ud"
    (ud / "UD_English-EWT/en_ewt-ud-train.conllu").write_text(
        conllu("Thank you", "There is a difference", "thank you", "No", "No")
    )
    (ud / "UD_English-GUM/en_gum-ud-dev.conllu").write_text(conllu("Thank you", "GUM dev"))
    (ud / "UD_English-CHILDES/en_childes-ud-test.conllu").write_text(conllu("No", "No"))
    return no_data


# --- ud-english


def test_the_six_treebanks_follow_one_another(six_treebanks):
    test = load("ud-english", "test")
    assert words_of(test) == ["EWT test", "GUM test", "No", "No", "ParTUT test", "LinES test", "Atis test"]


def test_without_childes_train_keeps_sentences_that_only_childes_has_in_dev_or_test(six_treebanks):
    name = "ud-english-without-childes"
    assert words_of(load(name, "test")) == ["EWT test", "GUM test", "ParTUT test", "LinES test", "Atis test"]
    train = {split: words_of(load(name, split)) for split in ("train", "dev")}
    held_out = {*train["dev"], *words_of(load(name, "test"))}
    five = [treebank for treebank in UD_ENGLISH if treebank != "UD_English-CHILDES"]
    every = [words for name in five if "train" in splits(name) for words in words_of(load(name, "train"))]
    assert train["train"] == [words for words in every if words not in held_out]
    assert corpus_checksum(name) != corpus_checksum("ud-english")


def test_ud_english_enhanced_is_ewt_and_gum(six_treebanks):
    assert words_of(load("ud-english-enhanced", "test")) == ["EWT test", "GUM test"]
    assert "ud-english-enhanced" in [corpus.name for corpus in corpora()]


def test_train_lacks_the_sentences_of_every_dev_and_test_part_and_counts_them(six_treebanks):
    train = load("ud-english", "train")
    assert words_of(train)[:2] == ["There is a difference", "thank you"]
    assert train.excluded == Counter({"also in dev or test": 3})
    assert load("ud-english", "train", 1).excluded == Counter(), "of a part that is cut nothing is counted"


def test_dev_and_test_are_not_filtered(six_treebanks):
    assert "Thank you" in words_of(load("ud-english", "dev"))
    assert load("ud-english", "dev").excluded == Counter()


def test_a_single_treebank_is_read_as_it_is(six_treebanks):
    assert words_of(load("UD_English-EWT", "train"))[0] == "Thank you"
    assert load("UD_English-EWT", "train").excluded == Counter()


def test_a_broken_sentence_of_a_large_corpus_is_named(six_treebanks):
    path = six_treebanks / "ud/UD_English-GUM/en_gum-ud-train.conllu"
    path.write_text(conllu("There is a difference").replace("\t4\tdep", "\t9\tdep"))
    with pytest.raises(UserError, match=r"en_gum-ud-train\.conllu:3: .* head 9 is out of range"):
        load("ud-english", "train")


def test_a_missing_treebank_is_named_with_the_way_to_get_it(six_treebanks):
    (six_treebanks / "ud/UD_English-LinES/en_lines-ud-test.conllu").unlink()
    with pytest.raises(UserError, match=r"test part of UD_English-LinES is missing; run `make data`, or set DTG_DATA"):
        load("ud-english", "test")
    with pytest.raises(UserError, match="test part of UD_English-LinES is missing"):
        load("ud-english", "test", 1)  # which another treebank would have


def test_only_so_much_of_a_file_is_read_as_has_the_sentences(tmp_path, monkeypatch):
    path, sentence = tmp_path / "long.conllu", conllu("There is a difference")
    path.write_text(3 * sentence + "broken\n\n")
    monkeypatch.setattr(treebank, "PIECE", len(sentence))
    assert len(load(path, None, 3).sentences) == 3
    with pytest.raises(UserError, match=r"long\.conllu:"):
        load(path)


def test_without_data_the_way_to_get_them_is_said(no_data):
    with pytest.raises(UserError, match="run `make data`, or set DTG_DATA"):
        load("ud-english", "train")
    with pytest.raises(UserError, match="run `make data`, or set DTG_DATA"):
        load("UD_English-EWT", "train")


@pytest.fixture(scope="session")
def ud_english(data) -> dict[str, Treebank]:
    """The real thing, read once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DTG_DATA", str(data))
        return {split: load("ud-english", split) for split in splits("ud-english")}


# Slow, like the next two: the real treebanks, which toys of the fast tests may not be like.
@pytest.mark.slow
def test_ud_english_has_the_sentences_of_its_six_treebanks(ud_english):
    sizes = {split: len(treebank.sentences) for split, treebank in ud_english.items()}
    assert sizes == {"train": 56_711 - 2_470, "dev": 8_137, "test": 14_992}


@pytest.mark.slow
def test_2470_training_sentences_of_ud_english_also_occur_in_dev_or_test(ud_english):
    assert ud_english["train"].excluded == Counter({"also in dev or test": 2_470})


@pytest.mark.slow
def test_nothing_of_dev_or_test_is_left_in_train(ud_english):
    train = {sentence.words for sentence in ud_english["train"].sentences}
    assert not any(sentence.words in train for split in ("dev", "test") for sentence in ud_english[split].sentences)


def test_every_treebank_of_the_data_folder_has_a_name(all_data, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(all_data))
    listed = {corpus.name: corpus for corpus in corpora()}
    assert {"UD_English-PUD", "UD_German-GSD", *UD_ENGLISH} <= set(listed)
    assert listed["UD_English-LinES"].licence == "CC BY-NC-SA 4.0"
    assert splits("UD_German-GSD") == ("dev", "test")


# --- paths


def test_a_conllu_file_has_one_split(tmp_path):
    path = tmp_path / "mine.conllu"
    path.write_text(conllu("There is a difference"))
    assert splits(path) == ("all",)
    assert load(path).sentences[0].heads == (2, 0, 4, 2)
    assert load(str(path), "all") == load(path)


def test_another_split_of_a_file_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "mine.conllu"
    path.write_text(conllu("No"))
    with pytest.raises(UserError, match=r"there is no split 'dev'; it has all; for more, name a folder"):
        load(path, "dev")


def test_a_folder_has_the_splits_of_which_it_holds_files(tmp_path):
    (tmp_path / "xx_a-ud-train.conllu").write_text(conllu("No"))
    (tmp_path / "xx_a-ud-test.conllu").write_text(conllu("Thank you"))
    for other in ("training-notes", "test-parsed", "train-old", "._xx_a-ud-train"):
        (tmp_path / f"{other}.conllu").write_text("not a split")
    assert splits(tmp_path) == ("train", "test")
    assert words_of(load(tmp_path, "test")) == ["Thank you"]


def test_a_split_in_several_files_is_read_in_order(tmp_path):
    (tmp_path / "de_hdt-ud-train-a-2.conllu").write_text(conllu("Thank you"))
    (tmp_path / "de_hdt-ud-train-a-1.conllu").write_text(conllu("No"))
    assert words_of(load(tmp_path, "train")) == ["No", "Thank you"]


def test_a_corpus_with_several_splits_needs_the_name_of_one(tmp_path):
    for split in ("train", "dev"):
        (tmp_path / f"{split}.conllu").write_text(conllu("No"))
    with pytest.raises(UserError, match="say which split; it has train, dev"):
        load(tmp_path)


def test_the_sections_of_a_penn_treebank_are_its_splits(tmp_path):
    for section in ("00", "02", "21", "22", "23", "24"):
        (tmp_path / "wsj" / section).mkdir(parents=True)
        (tmp_path / "wsj" / section / f"wsj_{section}01.mrg").write_text(f"( (S (NN section{section})) )")
    assert splits(tmp_path) == ("train", "dev", "test")
    words = {split: [s.words for s in load(tmp_path, split).sentences] for split in splits(tmp_path)}
    assert words == {
        "train": [("section02",), ("section21",)], "dev": [("section22",)], "test": [("section23",)],
    }  # fmt: skip


def test_bracketed_files_are_split_by_their_names(tmp_path):
    for name in ("mine-train.mrg", "dev.ptb", "constraint.mrg", "._mine-train.mrg"):
        (tmp_path / name).write_text(f"(S (NN {name}))")
    assert splits(tmp_path) == ("train", "dev")
    assert load(tmp_path, "train").sentences[0].words == ("mine-train.mrg",)
    assert corpus_checksum(str(tmp_path))


def test_a_file_that_is_named_after_two_parts_is_an_error(tmp_path):
    for name in ("train.mrg", "dev-test.mrg"):
        (tmp_path / name).write_text("( (S (NN one)) )")
    with pytest.raises(UserError, match=r"/dev-test\.mrg: the name says dev and test"):
        load(tmp_path, "train")


def test_the_checksum_of_a_folder_is_of_the_files_that_are_read(tmp_path):
    for name in ("train.mrg", "dev.mrg", "gold.conllu"):
        (tmp_path / name).write_text("( (S (NN one)) )")
    before = corpus_checksum(str(tmp_path))
    (tmp_path / "train.mrg").write_text("( (S (NN two)) )")
    assert corpus_checksum(str(tmp_path)) != before


def test_a_folder_without_a_treebank_is_named(tmp_path):
    with pytest.raises(
        UserError, match=r"holds no .*conllu, .*and no trees of another known format in files named so or in sections"
    ):
        load(tmp_path, "train")


def test_raw_text_is_one_sentence_per_line_without_trees(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_bytes("There isn't a difference.\r\n\nNaïve?".encode())
    treebank = load(path)
    assert treebank.sentences == [
        Sentence(("There", "is", "n't", "a", "difference", "."), id="mine-1", text="There isn't a difference."),
        Sentence(("Naïve", "?"), id="mine-3", text="Naïve?"),
    ]
    assert treebank.excluded == Counter({"empty line": 1})


def test_a_treebank_with_another_suffix_is_not_taken_for_text(tmp_path):
    (tmp_path / "mine.tsv").write_text(conllu("There is a difference"))
    with pytest.raises(UserError, match=r"mine\.tsv.*looks like CoNLL-U; let the name of the file end in \.conllu"):
        load(tmp_path / "mine.tsv")


def test_a_line_of_raw_text_that_is_not_utf8_is_named(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"There is a difference\nna\xefve\n")
    with pytest.raises(UserError, match=r"latin\.txt:2: .*0xef is not UTF-8"):
        load(path)


@pytest.mark.parametrize("suffix", [".mrg", ".ptb", ".brackets", ".MRG"])
def test_a_file_of_brackets_has_words_and_brackets(tmp_path, suffix):
    path = tmp_path / f"mine{suffix}"
    path.write_text("(S1 (S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference)))))\n")
    (sentence,) = load(path).sentences
    assert sentence.words == ("There", "is", "a", "difference")
    assert sentence.heads is None
    assert sentence.brackets == "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))))"


def test_an_unknown_name_is_answered_with_where_the_known_ones_are_listed(six_treebanks):
    with pytest.raises(UserError, match=r"'ud-inglish' is neither .*`dtglib corpora` lists them"):
        load("ud-inglish", "train")


def test_a_name_wins_over_a_folder_of_the_same_name_but_not_over_its_path(six_treebanks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ud-english").mkdir()
    (tmp_path / "ud-english/train.conllu").write_text(conllu("No"))
    assert len(load("ud-english", "train").sentences) > 1
    assert words_of(load("./ud-english", "train")) == words_of(load(Path("ud-english"), "train")) == ["No"]


# --- minilang


def test_minilang_generates_the_requested_number_of_sentences_also_of_hold_outs():
    assert len(load("minilang", "train", 7).sentences) == 7
    assert len(load("minilang", "attractor", 2).sentences) == 2
    assert load("minilang", "dev", 5).sentences == load("minilang", "dev", 8).sentences[:5]
    assert splits("minilang") == ("train", "dev", "test")
    with pytest.raises(UserError, match="say which split; it has train, dev, test, attractor"):
        load("minilang")


# --- bllip


@pytest.fixture
def bllip(tmp_path) -> Path:
    """A folder in the shape of LDC2000T43: a folder a year, one a section in it, and one file an article in that."""
    for section in (section for group, _ in BLLIP_LG.values() for section in group):
        folder = tmp_path / f"198{section[1]}" / section
        folder.mkdir(parents=True)
        (folder / f"{section}.000").write_text(f"(S1 (S (NP (EX There)) (VP (VBZ is) (NP (NN {section})))))\n")
    (tmp_path / "README.1st").write_text("not a tree")
    return tmp_path


def trees(*words: str) -> str:
    """One tree a word, printed over two lines."""
    return "".join(f"(S1 (FRAG\n      (NN {word})))\n" for word in words)


def test_the_splits_of_bllip_are_those_of_bllip_lg(bllip, monkeypatch):
    monkeypatch.setenv("BLLIP", str(bllip))
    assert words_of(load("bllip", "dev")) == ["There is w7_001", "There is w8_001", "There is w9_010"]
    assert words_of(load("bllip", "test")) == ["There is w7_002", "There is w8_002", "There is w9_011"]
    train = words_of(load("bllip", "train"))
    assert (train[0], train[-1], len(train)) == ("There is w7_003", "There is w9_041", 125 + 106 + 30)


@pytest.mark.parametrize(("split", "section", "limit"), [("dev", "1988/w8_001", 500), ("test", "1988/w8_002", 1000)])
def test_only_the_first_trees_of_a_section_are_for_dev_and_test(bllip, split, section, limit):
    (bllip / section / "a.001").write_text(trees(*(f"first{n}" for n in range(limit - 1))))
    (bllip / section / "a.002").write_text(trees("last", "over"))
    (bllip / section / "a.003").write_text("never read")
    words = words_of(joined(bllip_blocks(bllip, split)))
    assert len(words) == 1 + limit + 1
    assert words[-2] == "last"


def test_the_articles_of_a_section_are_read_by_their_numbers(bllip):
    section = bllip / "1987/w7_001"
    (section / "w7_001.10").write_text(trees("ten"))
    (section / "w7_001.9").write_text(trees("nine"))
    assert words_of(joined(bllip_blocks(bllip, "dev")))[:3] == ["There is w7_001", "nine", "ten"]


def test_sections_in_capitals_and_as_single_files_are_found_too(bllip):
    (bllip / "1987/w7_001").rename(bllip / "1987/W7_001")
    (bllip / "1988/w8_001/w8_001.000").rename(bllip / "w8_001.mrg")
    assert words_of(joined(bllip_blocks(bllip, "dev")))[:2] == ["There is w7_001", "There is w8_001"]


def test_missing_sections_of_bllip_are_named(bllip):
    for number in (17, 18):
        (bllip / f"1988/w8_0{number}/w8_0{number}.000").unlink()
    with pytest.raises(UserError, match=r"lacks 2 of the sections of train: w8_017, w8_018$"):
        joined(bllip_blocks(bllip, "train"))


def test_without_bllip_the_variable_is_named(no_data, monkeypatch):
    with pytest.raises(UserError, match="set BLLIP to your copy of LDC2000T43"):
        load("bllip", "train")
    monkeypatch.setenv("BLLIP", str(no_data / "nowhere"))
    with pytest.raises(UserError, match=r"BLLIP names .*nowhere, which is not a folder"):
        load("bllip", "train")


# --- the list


def test_the_list_says_where_a_corpus_lies_or_how_to_get_it(six_treebanks):
    where = {corpus.name: corpus.where for corpus in corpora()}
    assert where["minilang"] == "embedded in dtglib"
    assert where["ud-english"] == str(six_treebanks / "ud")
    assert where["bllip"] == "set BLLIP to your copy of LDC2000T43"
    assert where["UD_English-EWT"] == str(six_treebanks / "ud/UD_English-EWT")


def test_the_list_without_data_says_how_to_get_them(no_data):
    assert {corpus.name: corpus.where for corpus in corpora()}["ud-english"].startswith("not found; run `make data`")
