"""Bars for people, silence for machines."""

from collections import Counter

from dtglib.basics import progress
from dtglib.data import streamed
from dtglib.data.treebank import Sentence, Treebank


def test_a_bar_hands_every_item_on(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    assert list(progress.progress(range(3), "counting", "number")) == [0, 1, 2]


def test_bars_are_off_in_ci_and_within_quiet(monkeypatch):
    monkeypatch.setenv("CI", "true")
    assert progress.progress([1], "x", "y").disable
    monkeypatch.delenv("CI")
    assert not progress.progress([1], "x", "y").disable
    with progress.quiet(), progress.quiet():
        assert progress.progress([1], "x", "y").disable
    assert not progress.is_quiet()


def test_short_work_shows_no_bar(monkeypatch, capsys):
    monkeypatch.delenv("CI", raising=False)
    list(progress.progress(range(3), "counting", "number"))
    assert capsys.readouterr().err == ""


def test_of_the_first_sentences_of_a_large_corpus_these_are_counted(monkeypatch):
    """Its own bar would promise the time that the whole of it takes."""
    monkeypatch.delenv("CI", raising=False)
    bars = {}

    def counted(items, what, *rest, **options):
        bars[what] = progress.progress(items, what, *rest, **options)
        return bars[what]

    def whole():
        for _ in counted(range(100), "all works", "work"):
            yield lambda: Treebank([Sentence(("There",))] * 4, Counter())

    monkeypatch.setattr(streamed, "progress", counted)
    assert [len(block().sentences) for block in streamed.first(10, whole())] == [4, 4, 2]
    assert bars["all works"].disable
    assert bars["the first 10 sentences"].n == bars["the first 10 sentences"].total == 10
