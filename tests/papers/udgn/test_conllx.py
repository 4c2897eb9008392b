"""CoNLL-X: hand-made lines of a Penn Treebank with dependencies, its sections, and what is wrong with a file."""

import pytest

from dtglib.basics.errors import UserError
from dtglib.data.corpora import load, splits
from dtgpapers.udgn.conllx import read_conllx
from dtgpapers.udgn.words import read

LINES = """\
1	The	_	DT	DT	_	2	det	_	_
2	keys	_	NNS	NNS	_	4	nsubj	4	nsubj
3	``	_	``	``	_	4	punct	_	_
4	cost	_	VBD	VBD	_	0	root	_	_
5	$	_	$	$	_	6	dep	_	_
6	12.50	_	CD	CD	_	4	dobj	_	_
7	.	_	.	.	_	4	punct	_	_

1	Yes	_	UH	UH	_	0	root	_	_
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "wsj_0001.dep"
    path.write_text(LINES)
    return path


def test_a_file_without_an_empty_line_at_its_end_is_whole(file):
    first, second = read_conllx(file).sentences
    assert first.words == ("The", "keys", "``", "cost", "$", "12.50", ".")
    assert first.heads == (2, 4, 4, 0, 6, 4, 4)
    assert first.labels == ("det", "nsubj", "punct", "root", "dep", "dobj", "punct")
    assert (second.words, second.heads, second.id) == (("Yes",), (0,), "wsj_0001-2")
    assert first.enhanced is None


def test_words_are_told_from_punctuation_by_the_tags_of_the_penn_treebank(file):
    first = read(read_conllx(file).sentences[0])
    assert first.words == ("the", "keys", "cost", "N.N") and first.heads == (2, 3, 0, 3)
    assert first.labels == ("det", "nsubj", "root", "dobj")


def test_a_dollar_is_a_word_of_another_tag(tmp_path):
    (tmp_path / "a.conllx").write_text(LINES.replace("$	$	_	6", "CD	CD	_	6"))
    assert "$" in read(load(tmp_path / "a.conllx").sentences[0]).words


def test_a_folder_has_the_sections_of_the_published_code(tmp_path):
    for section in ("00", "02", "20", "21", "22", "23", "24"):
        (tmp_path / section).mkdir()
        (tmp_path / section / f"wsj_{section}01.dep").write_text(LINES.replace("Yes", f"yes{section}"))
    assert splits(tmp_path) == ("train", "dev", "test")
    expected = {"train": ["00", "02", "20"], "dev": ["21", "22"], "test": ["23", "24"], "section-23": ["23"]}
    for part, sections in expected.items():
        assert [s.words[0][3:] for s in load(tmp_path, part).sentences if len(s.words) == 1] == sections


def test_files_may_be_named_after_parts(tmp_path):
    for part in ("train", "dev"):
        (tmp_path / f"ptb-{part}.conllx").write_text(LINES)
    assert splits(tmp_path) == ("train", "dev")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("1	Yes	_	UH", "1	Yes	UH", r"wsj_0001.dep:9: sentence 'wsj_0001-2': 9 columns instead of 10"),
        ("_	0	root	_	_\n5", "_	2	root	_	_\n5", "no root"),
        ("2	det", "9	det", r"wsj_0001.dep:1: .*out of range"),
        ("1	Yes", "2	Yes", "out of place"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(file, old, new, complaint):
    file.write_text(LINES.replace(old, new))
    with pytest.raises(UserError, match=complaint):
        read_conllx(file)
