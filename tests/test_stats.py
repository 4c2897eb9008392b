"""The numbers of a treebank, against the published statistics of all 25 files."""

import csv
import json
from collections import Counter
from dataclasses import asdict

import pytest

from dtglib.data.statistics import has_several_heads, length_quantiles, stats_of
from dtglib.data.treebank import Edge, Sentence, Treebank, read_conllu, sentence_from_rows, write_conllu

COMPARED = ("sentences", "tokens", "words", "fused", "projective", "sents_multihead", "empty_nodes")


def rows(*shorthand: str) -> list[tuple[str, ...]]:
    """Rows from "1 There 2 expl 2:expl": id, form, head, label, enhanced arcs."""
    fields = [line.split() for line in shorthand]
    return [(id, form, "_", "_", "_", "_", head, label, deps, "_") for id, form, head, label, deps in fields]


DO_NOT = sentence_from_rows(
    rows("1-2 don't _ _ _", "1 do 3 aux 3:aux", "2 n't 3 advmod 3:advmod", "3 go 0 root 0:root", "3.1 he _ _ 3:x|1:y")
)


@pytest.mark.slow
def test_all_public_treebanks_have_their_published_statistics_and_come_back_byte_for_byte(all_data, tmp_path):
    """Whatever annotators write, in 25 files."""
    with open(all_data / "ud" / "STATS.tsv", encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file, delimiter="\t"))
    paths = [next((all_data / "ud" / row["treebank"]).glob(f"*-{row['split']}.conllu")) for row in published]
    assert sorted(paths) == sorted(all_data.glob("ud/*/*.conllu"))
    for row, path in zip(published, paths, strict=True):
        treebank = read_conllu(path)
        write_conllu(tmp_path / "again.conllu", treebank.sentences)
        assert (tmp_path / "again.conllu").read_bytes() == path.read_bytes(), path
        stats = stats_of(treebank)
        assert {
            "sentences": stats.sentences,
            "tokens": stats.tokens,
            "words": stats.words,
            "fused": stats.fused,
            "projective": stats.projective,
            "sents_multihead": stats.multi_head_sentences,
            "empty_nodes": stats.empty_nodes,
        } == {name: int(row[name]) for name in COMPARED}, path


def test_a_fused_token_is_one_token_and_two_words():
    stats = stats_of(Treebank([DO_NOT], Counter()))
    assert (stats.words, stats.tokens, stats.fused) == (3, 2, 1)


def test_a_token_may_be_fused_from_three_words():
    sentence = sentence_from_rows(rows("1-3 fused _ _ _", "1 a 0 root _", "2 b 1 x _", "3 c 1 x _", "4 d 1 x _"))
    stats = stats_of(Treebank([sentence], Counter()))
    assert (stats.words, stats.tokens, stats.fused) == (4, 2, 1)


def test_an_empty_node_is_neither_word_nor_token_but_may_have_several_heads():
    stats = stats_of(Treebank([DO_NOT], Counter()))
    assert (stats.empty_nodes, stats.multi_head_sentences) == (1, 1)


def test_two_arcs_from_the_same_head_are_not_several_heads():
    same = Sentence(("a", "b"), enhanced=((Edge("2", "x"), Edge("2", "y")), (Edge("0", "root"),)))
    two = Sentence(("a", "b"), enhanced=((Edge("2", "x"), Edge("0", "y")), (Edge("0", "root"),)))
    assert (has_several_heads(same), has_several_heads(two)) == (False, True)


def test_what_reading_left_out_and_what_has_no_projective_tree_are_excluded_by_reason():
    sentences = [Sentence(("raw",)), Sentence(("a", "b", "c"), (2, 0, 1)), Sentence(("a", "b"), (0, 0)), DO_NOT]
    stats = stats_of(Treebank(sentences, Counter({"cycle": 2})))
    assert stats.excluded == {"cycle": 2, "no tree": 1, "non-projective": 1, "multi-root": 1}
    assert (stats.sentences, stats.projective) == (4, 2)


def test_quantiles_are_lengths_that_occur():
    assert length_quantiles([10, 1]) == {"min": 1, "25%": 1, "median": 1, "75%": 10, "95%": 10, "max": 10}


def test_quantiles_are_reached_by_that_share_of_the_sentences():
    lengths = length_quantiles(list(range(1, 101)))
    assert lengths == {"min": 1, "25%": 25, "median": 50, "75%": 75, "95%": 95, "max": 100}


def test_an_empty_treebank_has_no_quantiles_but_zeros_elsewhere():
    stats = stats_of(Treebank([], Counter()))
    assert (stats.sentences, stats.words, stats.lengths) == (0, 0, {})


def test_statistics_can_be_written_as_json():
    numbers = asdict(stats_of(Treebank([DO_NOT], Counter({"cycle": 1}))))
    assert json.loads(json.dumps(numbers)) == numbers
