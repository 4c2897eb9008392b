"""Semantic dependency graphs in the format of SDP 2015, on hand-made lines."""

import pytest

from dtglib.data.conllu import Edge, TreebankError
from dtglib.data.corpora import load, splits
from dtgpapers.gilt.sdp import read_sdp

DIFFERENCE = """#SDP 2015
#20001001
1	There	there	EX	-	-	_	_	_
2	is	be	VBZ	+	+	v_there	_	_
3	a	a	DT	-	+	q	_	_
4	difference	difference	NN	-	-	_	ARG1	BV

"""

# Two tops, a word with two heads, a cycle, a word without any arc.
THINKS = """#20001002
1	She	she	PRP	-	-	_	ARG1	ARG1	_
2	thinks	think	VBZ	+	+	v	_	_	_
3	and	and	CC	-	-	_	_	_	_
4	runs	run	VBZ	+	+	v	_	_	ARG2
5	fast	fast	RB	-	+	a	_	MANNER	_

"""


def written(tmp_path, text, name="mine.sdp"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_file_of_graphs(tmp_path):
    first, second = read_sdp(written(tmp_path, DIFFERENCE + THINKS)).sentences
    assert first.words == ("There", "is", "a", "difference") and first.id == "20001001" and first.heads is None
    assert first.enhanced == ((), (Edge("0", "top"),), (), (Edge("2", "ARG1"), Edge("3", "BV")))
    assert second.enhanced == (
        (Edge("2", "ARG1"), Edge("4", "ARG1")), (Edge("0", "top"),), (), (Edge("0", "top"), Edge("5", "ARG2")),
        (Edge("4", "MANNER"),),
    )  # fmt: skip


def test_a_sentence_without_predicates(tmp_path):
    (one,) = read_sdp(written(tmp_path, "#1\n1\tYes\tyes\tUH\t+\t-\t_\n")).sentences
    assert one.enhanced == ((Edge("0", "top"),),)


def test_corpora_know_it_by_its_suffix_alone_and_in_a_folder(tmp_path):
    assert len(load(written(tmp_path, DIFFERENCE + THINKS)).sentences) == 2
    folder = tmp_path / "dm"
    folder.mkdir()
    written(folder, DIFFERENCE, "train.sdp")
    written(folder, THINKS, "dev.sdp")
    assert splits(folder) == ("train", "dev")
    assert load(folder, "dev").sentences[0].words[0] == "She"


def test_a_folder_with_conllu_files_is_read_from_these(tmp_path):
    written(tmp_path, DIFFERENCE, "train.sdp")
    written(tmp_path, "1\tYes\t_\t_\t_\t_\t_\t_\t_\t_\n\n", "train.conllu")
    assert load(tmp_path, "train").sentences[0].words == ("Yes",)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("DT\t-\t+", "DT\t-\t-", 3, "9 columns instead of 8: 7, and one for each of 1 predicates"),
        ("\n4\tdiff", "\n5\tdiff", 6, "id '5' is out of place"),
        ("EX\t-", "EX\tx", 3, "top 'x' is neither"),
        ("\ta\ta\tDT", "\ta\t\tDT", 5, "column 3 is empty"),
    ],
)
def test_what_is_broken_is_named_with_its_line(tmp_path, old, new, line, what):
    path = written(tmp_path, DIFFERENCE.replace(old, new) + THINKS)
    with pytest.raises(TreebankError, match=what) as error:
        read_sdp(path)
    assert str(error.value).startswith(f"{path}:{line}: sentence '20001001': ")


def test_a_word_that_is_cut_off_is_an_error(tmp_path):
    with pytest.raises(TreebankError, match="3 columns instead of 9"):
        read_sdp(written(tmp_path, DIFFERENCE.rstrip("\n")[:-20]))
