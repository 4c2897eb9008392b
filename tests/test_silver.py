"""Silver trees: the parser's, whatever trees there were, drawn once and found again."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from dtglib.basics.code import RUNNING
from dtglib.data.treebank import Sentence, Treebank, with_tree
from dtglib.parsing.parser import known_as
from dtglib.parsing.projective import best_trees
from dtglib.runs import trees
from dtglib.runs.prepare import read_corpus
from dtglib.runs.settings import read_settings
from dtglib.runs.trees import parsed

SENTENCES = [
    Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2), ("expl", "root", "det", "nsubj"), id="a"),
    Sentence(("Nobody", "parsed", "this"), id="b"),
]


class Parser:
    """Its scores are drawn at random, the same for the same words; it counts what it was asked."""

    asked = 0
    fills, name = "heads", "drawn"

    def arc_scores(self, sentences):
        Parser.asked += len(sentences)
        return [self.of(words) for words in sentences]

    def parse(self, sentences):
        scored = zip(sentences, self.arc_scores([sentence.words for sentence in sentences]), strict=True)
        return [
            with_tree(one, best_trees(scores, 1).heads[0].tolist(), [f"of {word}" for word in one.words])
            for one, scores in scored
        ]

    def of(self, words):
        return np.random.default_rng(sum(map(ord, "".join(words)))).normal(size=(len(words) + 1,) * 2)


@pytest.fixture(autouse=True)
def repository(tmp_path, monkeypatch) -> Path:
    for name in ("notebooks", "configs"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trees, "load_parser", lambda name: Parser())
    monkeypatch.setattr(Parser, "asked", 0)
    return tmp_path


def test_every_sentence_has_the_parsers_best_tree_and_keeps_all_else_but_what_belongs_to_the_old_one():
    treebank = parsed(Treebank(SENTENCES, Counter(broken=2)), "somebody's")
    assert treebank.excluded == {"broken": 2}
    for before, after in zip(SENTENCES, treebank.sentences, strict=True):
        assert after.heads == tuple(best_trees(Parser().of(before.words), 1).heads[0].tolist())
        assert (after.words, after.id) == (before.words, before.id)
        assert after.labels == tuple(f"of {word}" for word in before.words) and after.rows is None


def test_a_corpus_is_parsed_once_and_another_one_or_by_another_parser_or_other_code_again(monkeypatch):
    treebank = Treebank(SENTENCES, Counter())
    assert parsed(treebank, "somebody's") == parsed(treebank, "somebody's")
    assert Parser.asked == 2
    parsed(treebank, "somebody else's")
    parsed(Treebank(SENTENCES[:1], Counter()), "somebody's")
    assert Parser.asked == 5
    monkeypatch.setitem(RUNNING, "dtglib/parsing/projective", "of other code")
    parsed(treebank, "somebody's")
    assert Parser.asked == 7


def test_what_was_stopped_goes_on(monkeypatch):
    monkeypatch.setattr(trees, "BATCH", 1)
    whole = parsed(Treebank(SENTENCES * 2, Counter()), "one")

    class Stopped(Parser):
        def arc_scores(self, sentences):
            if Parser.asked >= 6:
                raise KeyboardInterrupt
            return super().arc_scores(sentences)

    monkeypatch.setattr(trees, "load_parser", lambda name: Stopped())
    with pytest.raises(KeyboardInterrupt):
        parsed(Treebank(SENTENCES * 2, Counter()), "two")
    monkeypatch.setattr(trees, "load_parser", lambda name: Parser())
    assert parsed(Treebank(SENTENCES * 2, Counter()), "two").sentences == whole.sentences
    assert Parser.asked == 8, "two of the four had been kept"


def test_a_run_whose_config_asks_for_it_is_trained_on_the_parsers_trees(repository):
    config = repository / "configs" / "tiny.yaml"
    config.write_text("corpus: minilang\ntrain_sentences: 5\ndev_sentences: 3\n")
    settings = read_settings(config, {"parsed_by": "somebody's"})
    own, silver_trees = read_corpus(read_settings(config)), read_corpus(settings)
    for part in ("train", "dev"):
        before, after = getattr(own, part).sentences, getattr(silver_trees, part).sentences
        assert [s.words for s in before] == [s.words for s in after]
        assert [s.heads for s in after] == [tuple(best_trees(Parser().of(s.words), 1).heads[0].tolist()) for s in after]
        assert [s.heads for s in before] != [s.heads for s in after]


def test_a_parser_is_known_by_its_weights_and_code_or_its_file_or_its_name(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("weights")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "parser.safetensors").write_text("weights")
    (folder / "parser.yaml").write_text("parser: arcs\n")
    known = known_as(folder)
    assert known.startswith(known_as(tmp_path / "file"))
    assert known_as("biaffine-dep-en") == "biaffine-dep-en"
    monkeypatch.setitem(RUNNING, "dtglib/parsing/trained", "edited")
    assert known_as(folder) != known
