"""Bars for people, silence for machines."""

from dtglib.basics import progress


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
