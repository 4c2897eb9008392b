"""The picture of gains and their intervals."""

import pandas as pd

from dtglib.pictures import plot
from dtgpapers.reading.pictures import Columns, draw_intervals


def test_each_measure_has_a_panel_and_dots_are_filled_where_intervals_exclude_0():
    rows = pd.DataFrame(
        {
            "measure": ["N400", "N400", "P600"],
            "model": ["DTG", "RNN", "DTG"],
            "nats": [2.0, 1.0, -1.0],
            "low": [1.0, -1.0, -2.0],
            "high": [3.0, 3.0, 0.5],
        }
    )
    columns = Columns("measure", "model", "nats", "low", "high")
    picture = draw_intervals(rows, columns, "gain", {"DTG": plot.ORANGE}, across=2)
    first, second = picture.axes
    assert [first.get_title(), second.get_title()] == ["N400", "P600"]
    assert [label.get_text() for label in first.get_yticklabels()] == ["DTG", "RNN"]
    bars = [line.get_xdata() for line in first.lines if len(line.get_xdata()) == 2]
    assert [list(bar) for bar in bars] == [[1.0, 3.0], [-1.0, 3.0], [0, 0]]
    dots = [line for axes in picture.axes for line in axes.lines if line.get_marker() == "o"]
    assert [dot.get_markerfacecolor() for dot in dots] == [plot.ORANGE, "white", "white"]
    assert [dot.get_color() for dot in dots] == [plot.ORANGE, plot.BLUE, plot.ORANGE]
