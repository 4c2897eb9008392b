"""Judged sentences: the readers of similarity and of GLUE, on lines of the official shape and on public files."""

import pytest

from dtglib.basics.errors import UserError
from dtgpapers.tuning.glue import read_mrpc, read_rte, read_sst2
from dtgpapers.tuning.judged import Judged
from dtgpapers.tuning.sts import read_benchmark, read_sick, read_year
from dtgpapers.tuning.tasks import task_named

BENCHMARK = """main-news\theadlines\t2013\t12\t4.250\tThere is a "difference.\tThere's a difference
main-news\tMSRpar\t2012train\t13\t0\tIt said, "no".\tIt did n't "say it.\tnotes\tmore
main-captions\timages\t2014\t14\t\tNobody scored this .\tNor this .
"""
SICK = """pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment
1\tA difference is there\tThere is a difference\t4.9\tENTAILMENT
2\tNobody is there\tThere is a difference\t1\tNEUTRAL
"""
SST2 = 'sentence\tlabel\na "difference , \t0\nthere is one \t1\n'
RTE = """index\tsentence1\tsentence2\tlabel
0\tThere is a "difference".\tThere is one.\tentailment
1\tThere is a difference.\t"There is none.\tnot_entailment
"""
MRPC = """\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String
1\t702876\t702977\tThere is a difference , " he said .\tHe said there was a difference .
0\t2108705\t2108831\tThere is a difference .\tThere is none , she said .
"""


def written(tmp_path, text, name="part.tsv", ends="\n"):
    path = tmp_path / name
    path.write_bytes(text.replace("\n", ends).encode())
    return path


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_similarity_without_a_header_keeps_quotation_marks_and_drops_what_has_no_score(tmp_path, ends):
    first, second = read_benchmark(written(tmp_path, BENCHMARK, "sts-dev.csv", ends))
    assert first == Judged(('There is a "difference.', "There's a difference"), 4.25, "headlines", "sts-dev-1")
    assert second.texts == ('It said, "no".', "It did n't \"say it.") and second.gold == 0.0


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_sick_has_a_header(tmp_path, ends):
    first, second = read_sick(written(tmp_path, SICK, "SICK_train.txt", ends))
    assert first == Judged(("A difference is there", "There is a difference"), 4.9, "SICK_train", "SICK_train-2")
    assert second.gold == 1.0


def test_a_year_has_sets_whose_scores_stand_in_other_files(tmp_path):
    written(tmp_path, 'one\tother\tnotes\tnotes\nthree\tfour\tx\tx\n"five\tsix\tx\tx\n', "STS.input.b.txt")
    written(tmp_path, "\n2.5\n0\n", "STS.gs.b.txt")
    written(tmp_path, "seven\teight\n", "STS.input.a.txt")
    written(tmp_path, "5\n", "STS.gs.a.txt")
    written(tmp_path, "3\n", "STS.gs.withheld.txt")
    found = read_year(tmp_path)
    assert [(one.texts, one.gold, one.source) for one in found] == [
        (("seven", "eight"), 5.0, "a"), (("three", "four"), 2.5, "b"), (('"five', "six"), 0.0, "b"),
    ]  # fmt: skip


def test_the_tasks_of_glue(tmp_path):
    assert [(one.texts, one.gold) for one in read_sst2(written(tmp_path, SST2))] == [
        (('a "difference ,',), 0), (("there is one",), 1),
    ]  # fmt: skip
    assert [(one.texts[1], one.gold) for one in read_rte(written(tmp_path, RTE))] == [
        ("There is one.", 0), ('"There is none.', 1),
    ]  # fmt: skip
    assert [(one.texts[0], one.gold) for one in read_mrpc(written(tmp_path, MRPC))] == [
        ('There is a difference , " he said .', 1), ("There is a difference .", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("read", "text", "old", "new", "line", "what"),
    [
        (read_benchmark, BENCHMARK, "\t4.250", "\t5.250", 1, "the score '5.250' in column 5 is not a number from 0 to"),
        (read_benchmark, BENCHMARK, "\t12\t", "\t", 1, "6 columns instead of 7"),
        (read_benchmark, BENCHMARK, "2013\t", "2013\t\t", 1, "the score '12' in column 5"),
        (read_benchmark, BENCHMARK, "\tIt said, \"no\".\t", "\t \t", 2, "column 6 is empty"),
        (read_sick, SICK, "sentence_B", "sentence_C", 1, "column 3 should be 'sentence_B', and there are pair_ID"),
        (read_sick, SICK, "\t1\t", "\t0.5\t", 3, "is not a number from 1 to 5"),
        (read_sick, SICK, "Nobody is", "Nobody\tis", 3, "6 columns instead of 5"),
        (read_sst2, SST2, "one \t1", "one \t2", 3, "the label '2' in column 2 is none of 0, 1"),
        (read_sst2, SST2, "difference , \t0", "difference ,\t \t0", 2, "3 columns instead of 2"),
        (read_sst2, "index\tsentence\n0\tThere is\n", "", "", 1, "column 1 should be 'sentence'"),
        (read_rte, RTE, "not_entailment", "neutral", 3, "the label 'neutral' in column 4 is none of entailment, not_"),
        (read_mrpc, MRPC, "2108705\t", "", 3, "4 columns instead of 5"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_file_and_line(tmp_path, read, text, old, new, line, what):
    path = written(tmp_path, text.replace(old, new, 1) if old else text)
    with pytest.raises(UserError, match=r"; ") as error:
        read(path)
    assert str(error.value).startswith(f"{path}:{line}: ") and what in str(error.value)


def test_scores_that_do_not_fit_the_pairs_are_named(tmp_path):
    written(tmp_path, "one\tother\n", "STS.input.a.txt")
    written(tmp_path, "1\n2\n", "STS.gs.a.txt")
    with pytest.raises(UserError, match=r"STS.gs.a.txt: has 2 lines, and STS.input.a.txt has 1; fetch both again"):
        read_year(tmp_path)


def test_a_wrong_byte_is_named_with_its_line(tmp_path):
    path = tmp_path / "part.tsv"
    path.write_bytes(SST2.encode() + b"\xff\t1\n")
    with pytest.raises(UserError, match=r"part.tsv:4: byte 0xff is not UTF-8"):
        read_sst2(path)


def test_what_is_not_there_is_named_with_a_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"rte: there is no .*RTE/dev.tsv; put GLUE's own download there"):
        task_named("rte").load("dev")
    with pytest.raises(UserError, match=r"sts-b: there is no .*sts-dev.csv; run `dtglib data sts`"):
        task_named("sts-b").load("dev")
    with pytest.raises(UserError, match=r"sts12: there is no part 'train'; it has test"):
        task_named("sts12").load("train")
    with pytest.raises(UserError, match=r"there is no task 'cola'; tasks are sts-b, sick, sts12, .*rte"):
        task_named("cola")


# Pairs with scores, as many as specs and readmes of the sets say.
PAIRS = {
    "sts-b": (5749, 1500, 1379),
    "sick": (4500, 500, 4927),
    "sts12": (3108,),
    "sts13": (1500,),
    "sts14": (3750,),
    "sts15": (3000,),
    "sts16": (1186,),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_public_files_have_as_many_pairs_as_they_should(name, data):
    task = task_named(name)
    if not task.there():
        pytest.skip("there is no sts/ in the data folder")
    assert tuple(len(task.load(part)) for part in task.parts) == PAIRS[name]
