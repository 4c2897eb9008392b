"""Bracketed trees: what is kept, what is removed, and how broken files are reported."""

import pytest

from dtglib.data.brackets import format_brackets, parse_brackets, plain_label, read_brackets
from dtglib.data.treebank import Treebank, TreebankError

PENN = """
( (S
    (NP-SBJ-1 (EX There) )
    (VP (VBZ is)
      (NP-PRD (DT a) (NN difference) )
      (NP (-NONE- *T*-1) ))))
"""
PLAIN = "(S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))))"


def plain(text: str) -> str:
    return format_brackets(parse_brackets(text))


@pytest.fixture
def read(tmp_path):
    """Read a text (or bytes) as if it stood in wsj.mrg."""

    def read(text: str | bytes) -> Treebank:
        path = tmp_path / "wsj.mrg"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_brackets(path)

    return read


def test_a_penn_treebank_tree_becomes_one_plain_line(read):
    (sentence,) = read(PENN).sentences
    assert sentence.words == ("There", "is", "a", "difference")
    assert sentence.brackets == PLAIN
    assert sentence.heads is None


@pytest.mark.parametrize(
    "wrapped", [f"( {PLAIN})", f"(S1 {PLAIN})", f"(TOP {PLAIN})", f"( (TOP (S1 {PLAIN} ) ) )", PLAIN]
)
def test_every_wrapper_is_taken_off(wrapped):
    assert plain(wrapped) == PLAIN


def test_trees_stand_on_one_line_or_on_several_and_are_numbered(read):
    treebank = read(PENN + PLAIN + " " + PLAIN + "\n" + PENN)
    assert [sentence.brackets for sentence in treebank.sentences] == [PLAIN] * 4
    assert [sentence.id for sentence in treebank.sentences] == ["wsj.mrg:1", "wsj.mrg:2", "wsj.mrg:3", "wsj.mrg:4"]


def test_function_tags_and_indices_are_removed():
    labels = ["NP-SBJ", "NP-SBJ-1", "NP=2", "NP-LOC=3", "ADVP|PRT", "WHNP-1"]
    assert [plain_label(label) for label in labels] == ["NP", "NP", "NP", "NP", "ADVP", "WHNP"]


@pytest.mark.parametrize("tag", ["-LRB-", "-RRB-", "-NONE-", "PRP$", "''", "``", ":", ",", "$", "#", "."])
def test_tags_that_only_look_decorated_stay(tag):
    assert plain_label(tag) == tag


def test_treebank_tokens_stay_as_they_are_spelt():
    tree = "(S (-LRB- -LRB-) (VP (VBP do) (RB n't)) (CD 1\\/2) (-RRB- -RRB-))"
    assert plain(tree) == tree


def test_a_bracket_behind_a_backslash_is_a_token(read):
    treebank = read(r"(S (X \() (NN a)) (S (NN b))")
    assert [sentence.words for sentence in treebank.sentences] == [("\\(", "a"), ("b",)]


def test_a_constituent_that_held_only_empty_nodes_disappears_with_them():
    assert plain("(S (NP-SBJ (NP (-NONE- *)) (SBAR (-NONE- 0))) (VP (VB go)))") == "(S (VP (VB go)))"


def test_a_parsed_tree_has_its_words_and_tags():
    assert parse_brackets(PLAIN).pos() == [("There", "EX"), ("is", "VBZ"), ("a", "DT"), ("difference", "NN")]


def test_plain_trees_stay_as_they_are():
    assert plain(PLAIN) == PLAIN


BAD = {
    "unbalanced brackets": ("(S (NP (DT a)\n", "tree 2: not one whole tree (expected ')' but got 'end-of-string')"),
    "text outside brackets": ("stray words\n", "before tree 2: 'stray words' stands outside of all brackets"),
    "empty tree": ("(S (NP (NN a)) (VP))\n", "tree 2: (VP) holds nothing; a word needs a tag, as in (NN dog)"),
    "no tag": ("(S (NP the (NN dog)))\n", "tree 2: 'the' in NP has no tag of its own, as in (NN dog)"),
    "no label": ("(S ((NN dog)))\n", "tree 2: a constituent without a label"),
}


@pytest.mark.parametrize("reason", BAD)
def test_a_broken_tree_is_named_with_file_line_and_number(reason, read):
    text, message = BAD[reason]
    with pytest.raises(TreebankError) as caught:
        read(PENN + text)
    assert f"wsj.mrg:7: {message}" in str(caught.value)


def test_a_superfluous_closing_bracket_is_an_error(read):
    with pytest.raises(TreebankError, match=r"wsj\.mrg:1: before tree 2: a closing bracket without its opening one"):
        read(PLAIN + ")")


@pytest.mark.parametrize("text", ["()", "( )", "(())", "(S)", "(S (NP (-NONE- *)))"])
def test_a_tree_without_words_is_an_error(text, read):
    with pytest.raises(TreebankError):
        read(text)


def test_a_byte_that_is_not_utf_8_is_named_with_its_line(read):
    text = (PENN + "(NP (NNP\nCafé))\n" + PLAIN).encode("latin-1")
    with pytest.raises(TreebankError, match=r"wsj\.mrg:8: tree 2: byte 0xe9 is not UTF-8"):
        read(text)


def test_brackets_nested_beyond_reason_are_an_error_not_a_crash(read):
    with pytest.raises(TreebankError, match="nested deeper than any sentence"):
        read("(S " * 5000 + "(NN a)" + ")" * 5000)


def test_missing_files_folders_and_empty_files_are_explained(tmp_path, read):
    with pytest.raises(TreebankError, match="there is no such file"):
        read_brackets(tmp_path / "nowhere.mrg")
    with pytest.raises(TreebankError, match="is a folder"):
        read_brackets(tmp_path)
    with pytest.raises(TreebankError, match="is empty"):
        read(" \n")
