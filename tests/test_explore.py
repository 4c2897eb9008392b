"""Fields in a notebook: what is below follows, mistakes are said, and without Jupyter there is the picture alone."""

import ipywidgets
import pytest
from IPython import display as shown_by

from dtglib.basics.errors import UserError
from dtglib.pictures import widgets as exploring
from dtglib.pictures.widgets import explore, made
from dtglib.sequences.describe import show

WORDS, HEADS = ["There", "is", "a", "difference"], (2, 0, 4, 2)


def inputs(system: str, words: list[str], heads: list[int]) -> str:
    return " ".join(show(system, words, heads).inputs)


class Below:
    """What is displayed in place of the picture."""

    def __init__(self) -> None:
        self.updates: list[str] = []

    def update(self, content: str) -> None:
        self.updates.append(content)


@pytest.fixture
def page(monkeypatch) -> tuple[list, Below]:
    """A notebook's page, to which everything is shown that is shown."""
    shown, below = [], Below()

    def display(content, display_id=False, raw=False):
        shown.append(content)
        return below if display_id else None

    monkeypatch.setattr(exploring, "_in_jupyter", lambda: True)
    monkeypatch.setattr(shown_by, "display", display)
    return shown, below


@pytest.fixture
def fields(page, monkeypatch) -> dict[str, ipywidgets.Widget]:
    """The fields by name, when WORDS are explored."""
    found = {}

    def box(children):
        found.update({child.description or "message": child for child in children})
        return ipywidgets.Box(children)

    monkeypatch.setattr(ipywidgets, "VBox", box)
    assert explore(inputs, WORDS, HEADS) is None
    return found


def test_without_jupyter_the_output_is_returned():
    assert explore(inputs, WORDS, HEADS) == inputs("arc-standard", WORDS, list(HEADS))


def test_the_output_stands_below_fields_that_have_a_text_form(page, fields):
    (controls, picture), _ = page
    assert "fields" in controls["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in controls
    assert picture == inputs("arc-standard", WORDS, list(HEADS))
    assert [fields[name].value for name in ("system", "words", "heads")] == [
        "arc-standard", "There is a difference", "2 0 4 2"
    ]  # fmt: skip


def test_the_output_follows_the_fields(page, fields):
    fields["system"].value = "arc-eager"
    assert page[1].updates == [inputs("arc-eager", WORDS, list(HEADS))]
    fields["words"].value = "Here are no changes"
    assert "Here" in page[1].updates[-1]


def test_an_error_is_shown_beside_the_fields_and_the_last_output_stays(page, fields):
    fields["heads"].value = "2 0 4"
    assert page[1].updates == []
    assert "4 words, but 3 heads" in fields["message"].value
    fields["heads"].value = "2 0 2 2"
    assert len(page[1].updates) == 1
    assert fields["message"].value == ""


def test_heads_that_are_no_numbers_or_no_tree_are_errors():
    with pytest.raises(UserError, match="'x' is not a number"):
        made(inputs, "arc-standard", "a b", "x 0")
    with pytest.raises(UserError):
        made(inputs, "arc-standard", "a b", "2 1")
