"""CoNLL-U: what is read is written back, what is wrong is named, and what is left out is counted."""

import re
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dtglib.basics.errors import UserError
from dtglib.data.treebank import (
    Edge,
    Sentence,
    Treebank,
    TreebankError,
    format_conllu,
    read_conllu,
    sentence_from_rows,
    trees_only,
    with_tree,
    write_conllu,
)


def conllu(*rows: str, id: str = "weblog-12") -> str:
    """A sentence from rows in shorthand, "1 There 2 expl" (id, form, head, label; a DEPS field may follow)."""
    lines = [f"# sent_id = {id}"]
    for row in rows:
        number, form, head, label, *deps = row.split()
        lines.append("\t".join([number, form, "_", "_", "_", "_", head, label, *(deps or ["_"]), "_"]))
    return "\n".join(lines) + "\n\n"


THERE_IS = conllu("1 There 2 expl", "2 is 0 root", "3 a 4 det", "4 difference 2 nsubj", id="good")
CROSSING = conllu("1 on 3 x", "2 it 4 x", "3 worked 0 root", "4 we 3 x", id="crossing")
TWO_ROOTS = conllu("1 Go 0 root", "2 stop 0 root", id="two-roots")
RAW = conllu("1 No _ _", "2 tree _ _", id="raw")

FUSED_AND_EMPTY = """\
# sent_id = fused
# text = I don't, you   do.
# text = a second comment of the same name
1\tI\tI\tPRON\tPRP\tCase=Nom\t4\tnsubj\t4:nsubj\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t4:aux\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t4:advmod\t_
4\tlike\tlike\tVERB\tVB\t_\t0\troot\t0:root\tNote=two  blanks
4.1\tit\tit\tPRON\tPRP\t_\t_\t_\t4:obj|5:obj\t_
5\t\u00a0.\t.\tPUNCT\t.\t_\t4\tpunct\t4:punct|4.1:dep:of\t_

"""


@pytest.fixture
def read(tmp_path):
    """Read a text (or bytes) as if it stood in train.conllu."""

    def read(text: str | bytes) -> Treebank:
        path = tmp_path / "train.conllu"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_conllu(path)

    return read


@pytest.fixture
def complaint(read, tmp_path):
    """The message of the reader about a text, without the folder."""

    def complaint(text: str | bytes) -> str:
        with pytest.raises(TreebankError) as caught:
            read(text)
        return str(caught.value).replace(f"{tmp_path}/", "")

    return complaint


# ---- reading


def test_words_heads_labels_and_id_are_read(read):
    (sentence,) = read(THERE_IS).sentences
    assert sentence.words == ("There", "is", "a", "difference")
    assert sentence.heads == (2, 0, 4, 2)
    assert sentence.labels == ("expl", "root", "det", "nsubj")
    assert sentence.id == "good"
    assert sentence.enhanced is None


def test_fused_tokens_and_empty_nodes_are_not_words(read):
    (sentence,) = read(FUSED_AND_EMPTY).sentences
    assert sentence.words == ("I", "do", "n't", "like", "\u00a0.")
    assert sentence.heads == (4, 4, 4, 0, 4)
    assert [row[0] for row in sentence.rows] == ["1", "2-3", "2", "3", "4", "4.1", "5"]


def test_enhanced_edges_keep_several_heads_and_empty_nodes(read):
    (sentence,) = read(FUSED_AND_EMPTY).sentences
    assert sentence.enhanced[4] == (Edge("4", "punct"), Edge("4.1", "dep:of"))


def test_text_keeps_its_blanks_and_the_first_of_two_comments_counts(read):
    assert read(FUSED_AND_EMPTY).sentences[0].text == "I don't, you   do."


def test_several_roots_are_read_since_the_format_allows_them(read):
    assert read(TWO_ROOTS).sentences[0].heads == (0, 0)


def test_a_sentence_whose_heads_are_all_underscores_is_raw_text(read):
    (sentence,) = read(RAW).sentences
    assert (sentence.heads, sentence.labels) == (None, None)


def test_windows_line_ends_and_a_byte_order_mark_do_not_touch_the_words(read):
    windows = b"\xef\xbb\xbf" + THERE_IS.encode().replace(b"\n", b"\r\n")
    assert read(windows).sentences == read(THERE_IS).sentences


def test_several_empty_lines_between_sentences_do_no_harm(read, complaint):
    assert len(read("\n" + THERE_IS + "\n\n" + THERE_IS + "\n").sentences) == 2
    assert complaint("\n" + THERE_IS + "\n\n" + conllu("1 a 7 root")).startswith("train.conllu:11:")


def test_unicode_line_separators_within_a_field_end_no_line(read):
    (sentence,) = read(conllu("1 here 0 root").replace("here", "he\u2028r\u0085e")).sentences
    assert sentence.words == ("he\u2028r\u0085e",)


# ---- writing


def test_every_feature_of_a_file_comes_back_byte_for_byte(read, tmp_path):
    text = THERE_IS + FUSED_AND_EMPTY + TWO_ROOTS + RAW
    write_conllu(tmp_path / "again.conllu", read(text).sentences)
    assert (tmp_path / "again.conllu").read_bytes() == text.encode()


# Slow: it measures a time, beside which nothing may run.
@pytest.mark.alone
def test_the_12544_sentences_of_ewt_train_are_read_in_less_than_five_seconds(data):
    start = time.perf_counter()
    treebank = read_conllu(data / "ud/UD_English-EWT/en_ewt-ud-train.conllu")
    assert len(treebank.sentences) == 12544
    assert time.perf_counter() - start < 5


def test_a_sentence_that_was_never_in_a_file_is_written_from_what_is_known():
    sentence = Sentence(("It", "rains"), (2, 0), ("expl", "root"), id="s1", text="It rains")
    assert format_conllu(sentence) == (
        "# sent_id = s1\n# text = It rains\n1\tIt\t_\t_\t_\t_\t2\texpl\t_\t_\n2\trains\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    )


def test_raw_text_is_written_with_underscores_and_read_back_without_a_tree(read):
    sentence = read(format_conllu(Sentence(("It", "rains")))).sentences[0]
    assert (sentence.words, sentence.heads) == (("It", "rains"), None)


nodes = st.integers(1, 6)


@given(st.data())
def test_what_is_built_in_memory_survives_writing_and_reading(data):
    count = data.draw(nodes)
    per_word = {"min_size": count, "max_size": count}
    forms = data.draw(st.lists(st.text(st.characters(exclude_categories=("C", "Z")), min_size=1), **per_word))
    heads = tuple(data.draw(st.integers(0, word - 1)) for word in range(1, count + 1))  # heads to the left: no cycle
    edge = st.builds(
        Edge, st.sampled_from([str(node) for node in range(count + 1)]), st.sampled_from(["dep", "obl:in"])
    )
    graph = tuple(map(tuple, data.draw(st.lists(st.lists(edge, min_size=1, max_size=3), **per_word))))
    sentence = Sentence(tuple(forms), heads, ("dep",) * count, enhanced=graph)
    lines = format_conllu(sentence).rstrip("\n").split("\n")
    again = sentence_from_rows([tuple(line.split("\t")) for line in lines])
    assert replace(again, rows=None) == sentence


# ---- bad input: one broken sentence each, after a good one of six lines


BAD = {
    "wrong column count": (
        "1\tThere\t_\t_\t_\t_\t0\troot\n\n",
        "train.conllu:7: sentence without sent_id: 8 columns instead of 10 (one tab stands between two)",
    ),
    "empty column": (
        conllu("1 There 0 root").replace("There", ""),
        "train.conllu:8: sentence 'weblog-12': column FORM is empty; write _ there",
    ),
    "comment among words": (
        conllu("1 a 0 root", "2 b 1 dep").replace("\n2", "\n# text = a b\n2"),
        "train.conllu:9: sentence 'weblog-12': a comment after the first word; comments come first",
    ),
    "bad head": (
        conllu("1 a 0 root", "2 b one dep"),
        "train.conllu:9: sentence 'weblog-12': head 'one' is not a number",
    ),
    "head out of range": (
        conllu("1 a 0 root", "2-3 bc _ _", "2 b 31 dep", "3 c 1 dep"),
        "train.conllu:10: sentence 'weblog-12': head 31 is out of range (the sentence has 3 words)",
    ),
    "no root": (
        conllu("1 a 2 dep", "2 b 1 dep"),
        "train.conllu:8: sentence 'weblog-12': no root: no word has the head 0",
    ),
    "cycle": (
        conllu("1 a 0 root", "2 b 1 dep", "3 c 5 dep", "4 d 3 dep", "5 e 4 dep"),
        "train.conllu:10: sentence 'weblog-12': the heads run in a cycle: 3 -> 5 -> 4 -> 3",
    ),
    "bad word id": (
        conllu("1 a 0 root", "3 b 1 dep"),
        "train.conllu:9: sentence 'weblog-12': id 3 is out of place after word 1; words count 1, 2, 3, ...",
    ),
    "no words": (
        "# sent_id = weblog-12\n\n",
        "train.conllu:7: sentence 'weblog-12': a sentence without words",
    ),
    "bad enhanced graph": (
        conllu("1 a 0 root 0:root", "2 b 1 dep 1:dep|3:dep"),
        "train.conllu:9: sentence 'weblog-12': enhanced head 3 is out of range: "
        "the sentence has no such word or empty node",
    ),
    "truncated": (
        conllu("1 a 0 root", "2 b 1 dep").removesuffix("\n"),
        "train.conllu:9: sentence 'weblog-12': the file ends here, without the empty line that ends every sentence, "
        "so it may be cut off; fetch it again or, if nothing is missing, add an empty line",
    ),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_broken_sentence_is_named_with_file_line_and_id(reason, complaint):
    text, message = BAD[reason]
    assert complaint(THERE_IS + text) == message


def test_a_byte_that_is_not_utf_8_is_named_with_its_line(complaint):
    latin = THERE_IS.encode() + conllu("1 Das 2 det", "2 Mädchen 0 root").encode("latin-1")
    assert complaint(latin) == (
        "train.conllu:9: sentence 'weblog-12': byte 0xe4 is not UTF-8; convert the file to UTF-8"
    )


def test_a_word_among_others_may_not_lack_its_head(complaint):
    assert "this word has no head, though others have one" in complaint(conllu("1 a 0 root", "2 b _ dep"))


@pytest.mark.parametrize("head", ["-1", "3", "4.1"])
def test_a_head_just_outside_of_the_sentence_is_an_error(head, complaint):
    assert f"head {head}" in complaint(conllu("1 a 0 root", f"2 b {head} dep")).replace("'", "")


def test_a_word_may_not_be_its_own_head(complaint):
    assert "the heads run in a cycle: 2 -> 2" in complaint(conllu("1 a 0 root", "2 b 2 dep"))


def test_columns_separated_by_spaces_are_told_apart_from_columns_separated_by_tabs(complaint):
    assert "1 column instead of 10 (one tab stands between two)" in complaint(THERE_IS.replace("\t", "    "))


def test_a_file_in_another_format_is_told_by_its_columns_not_called_truncated(complaint):
    assert "train.conllu:1: sentence without sent_id: 1 column instead of 10" in complaint("It rains.\nIt snows.\n")


def test_a_row_that_is_cut_off_counts_as_truncation_not_as_missing_columns(complaint):
    assert "so it may be cut off" in complaint(THERE_IS + conllu("1 a 0 root", "2 b 1 dep")[:-12])


def test_a_number_of_thousands_of_digits_is_an_error_like_any_other(complaint):
    nines = "9" * 5000
    assert "is not a number" in complaint(conllu(f"1 a {nines} root"))
    assert "is not a word id" in complaint(conllu(f"{nines} a 0 root"))
    assert "is out of range" in complaint(conllu(f"1 a 0 root {nines}:root"))


def test_a_line_of_blanks_between_sentences_is_explained(complaint):
    text = THERE_IS.removesuffix("\n") + "  \n" + THERE_IS
    assert complaint(text).endswith("1 column instead of 10 (an empty line must not hold blanks)")


@pytest.mark.parametrize(
    "ids", [("1-3", "1", "2"), ("1", "1-2", "2"), ("1-2", "1-2", "1"), ("1", "2.1", "2"), ("1", "1.2")]
)
def test_a_range_or_an_empty_node_out_of_place_is_an_error(ids, complaint):
    rows = [f"{id} a {'_' if '-' in id or '.' in id else int(id) - 1} dep" for id in ids]
    assert re.search("is out of place after word|a range ends at 3", complaint(conllu(*rows)))


def test_a_deps_field_that_is_no_list_of_edges_is_an_error(complaint):
    assert "DEPS 'root' is not a list head:label|head:label|..." in complaint(conllu("1 a 0 root root"))


def test_missing_files_folders_and_empty_files_are_explained(tmp_path, complaint):
    with pytest.raises(UserError, match=r"nowhere\.conllu: there is no such file"):
        read_conllu(tmp_path / "nowhere.conllu")
    with pytest.raises(UserError, match="is a folder; name one of the files in it"):
        read_conllu(tmp_path)
    assert complaint("\n\n") == "train.conllu is empty; fetch or make it again"


# ---- trees only


def test_sentences_without_one_projective_tree_are_left_out_and_counted(read):
    treebank = trees_only(read(THERE_IS + CROSSING + TWO_ROOTS + RAW))
    assert [sentence.id for sentence in treebank.sentences] == ["good"]
    assert treebank.excluded == {"non-projective": 1, "multi-root": 1, "no tree": 1}


def test_another_tree_leaves_fused_tokens_and_empty_nodes_where_they_are(read):
    (sentence,) = read(FUSED_AND_EMPTY).sentences
    other = with_tree(sentence, (0, 1, 1, 1, 1), ("root", "x", "x", "x", "x"))
    assert [(row[0], row[6], row[7]) for row in other.rows] == [
        ("1", "0", "root"),
        ("2-3", "_", "_"),
        ("2", "1", "x"),
        ("3", "1", "x"),
        ("4", "1", "x"),
        ("4.1", "_", "_"),
        ("5", "1", "x"),
    ]
