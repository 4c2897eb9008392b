"""GUM with constituents beside its dependencies; constituents as steps and as spans."""

import pytest

from dtglib.basics.errors import UserError
from dtglib.data.conllu import TreebankError
from dtglib.data.corpora import corpora, corpus_checksum, corpus_files, load, splits
from dtgpapers.constituency.bracketing import is_readable, spans_of, steps_of
from dtgpapers.constituency.trees import labels_of, symbols_of

TREES = """(ROOT
  (S (NP (EX There)) (VP (VBZ is))))
(ROOT (FRAG (-LRB- -LRB-) (NN friend-LRB-s-RRB-)))
(S (NP (DT a)) (VP (VBZ b)))
"""


def conllu(document: str, *sentences: str) -> str:
    """Sentences whose words all hang on the first one."""
    blocks = []
    for number, words in enumerate(map(str.split, sentences), start=1):
        rows = [f"{n}\t{word}\t_\tX\t_\t_\t{int(n > 1)}\tdep\t_\t_" for n, word in enumerate(words, start=1)]
        blocks.append("\n".join([f"# sent_id = {document}-{number}", *rows, ""]))
    return "\n".join(blocks) + "\n"


@pytest.fixture
def data_folder(tmp_path, monkeypatch):
    """A GUM of one document in each split."""
    (tmp_path / "gum_const").mkdir()
    treebank = tmp_path / "ud" / "UD_English-GUM"
    treebank.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        document = f"GUM_{split}_one-two"
        (tmp_path / "gum_const" / f"{document}.ptb").write_text(TREES)
        sentences = "There is", "( friend(s)", "a c", "one more"
        (treebank / f"en_gum-ud-{split}.conllu").write_text(conllu(document, *sentences))
    monkeypatch.setenv("DTG_DATA", str(tmp_path))
    return tmp_path


def test_a_sentence_has_both_trees_or_is_named(data_folder):
    treebank = load("gum-constituents", "dev")
    assert [sentence.words for sentence in treebank.sentences] == [("There", "is"), ("(", "friend(s)")]
    assert treebank.sentences[0].heads == (0, 1)
    assert treebank.sentences[0].brackets == "(S (NP (EX There)) (VP (VBZ is)))"
    reason = "constituents of other tokens (GUM_dev_one-two-3, GUM_dev_one-two-4)"
    assert treebank.excluded == {reason: 2}
    assert splits("gum-constituents") == ("train", "dev", "test")


def test_the_files_of_both_make_the_checksum(data_folder):
    assert len(corpus_files("gum-constituents")) == 6
    before = corpus_checksum("gum-constituents")
    (data_folder / "gum_const" / "GUM_dev_one-two.ptb").write_text("(S (X a))")
    assert corpus_checksum("gum-constituents") != before


def test_without_the_files_the_way_out_is_named(data_folder):
    assert "gum-constituents" in [corpus.name for corpus in corpora()]
    (data_folder / "gum_const").rename(data_folder / "elsewhere")
    with pytest.raises(UserError, match=r"gum_const is missing; put there the files of the folder const/"):
        load("gum-constituents", "train")
    assert "gum-constituents" not in [corpus.name for corpus in corpora()]


# Slow: the real treebank, of which the fast tests read a toy.
@pytest.mark.slow
def test_every_sentence_of_gum_has_both(all_data):
    """All tokens are the same, but for how brackets are written inside of words."""
    assert (all_data / "gum_const").is_dir()
    for split, count in (("dev", 1575), ("test", 1464)):
        treebank = load("gum-constituents", split)
        assert len(treebank.sentences) == count and not treebank.excluded
        labels = labels_of(sentence.brackets for sentence in treebank.sentences)
        assert set(labels) <= GUM_LABELS
        for sentence in treebank.sentences:
            assert symbols_of(sentence.brackets, labels).count(0) == len(sentence.words)


GUM_LABELS = {
    *("ADJP", "ADVP", "CONJP", "FRAG", "INTJ", "LST", "NAC", "NP", "NX", "PP", "PRN", "PRT", "QP", "RRC", "S", "SBAR"),
    *("SBARQ", "SINV", "SQ", "UCP", "VP", "WHADJP", "WHADVP", "WHNP", "WHPP", "X"),
}


# ---- Constituents as steps and as spans


def steps_from(spans: list[tuple[int, int, str]], words: tuple[str, ...]) -> list[tuple[str, str]]:
    """The steps that spans stand for: what begins at a word is opened before it, what ends there closed after it."""
    steps = []
    for place, word in enumerate(words):
        begins = [label for first, _, label in spans if first == place]
        steps += [("open", label) for chain in begins for label in chain.split("+")]
        steps.append(("word", word))
        steps += [("close", "") for _, last, chain in spans if last == place + 1 for _ in chain.split("+")]
    return steps


def test_spans_and_steps_are_the_same_tree():
    for sentence in load("minilang", "dev", 300).sentences:
        spans = spans_of(sentence.brackets)
        assert steps_from(spans, sentence.words) == steps_of(sentence.brackets)
        assert len({span[:2] for span in spans}) == len(spans) and spans[0][:2] == (0, len(sentence.words))


def test_a_bracket_inside_of_a_word_is_part_of_it():
    assert steps_of(r"(S (X a\(b\)))") == [("open", "S"), ("word", r"a\(b\)"), ("close", "")]
    assert spans_of("(X a)") == [(0, 1, "X")] == spans_of("(UH a)")


@pytest.mark.parametrize("tree", ["(S (NP a dog) (VP barks))", "(S a b)", "word", "(NP the (NN dog))"])
def test_a_word_without_a_tag_is_an_error(tree):
    assert not is_readable(tree)
    with pytest.raises(TreebankError, match=r"has no tag|follows a word"):
        spans_of(tree)
