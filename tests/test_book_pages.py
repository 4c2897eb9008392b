"""The sources of the book: links, the reference that is drawn from docstrings, and the picture of the front page."""

import ast
import posixpath
import re
import sys

import pytest
from running import ROOT

sys.path.insert(0, str(ROOT / "book"))
from build import DOCUMENTS, GUIDES, PACKAGES, all_pages, page_of, relinked
from idea import SENTENCE, draw_idea
from room_pages import files_of, room_page, rooms_of, signature
from speed_pictures import PICTURES, draw_beam, draw_share

TEXTS = ["README.md", "book/index.md", *DOCUMENTS, *(f"book/{name}.md" for name in GUIDES)]


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_bytes()) <= 9216


@pytest.mark.parametrize("text", TEXTS)
def test_each_link_leads_to_a_file(text):
    links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", (ROOT / text).read_text("utf-8"))
    paths = [posixpath.normpath(posixpath.join(posixpath.dirname(text), link)) for link in links if ":" not in link]
    assert [path for path in paths if not (ROOT / path).exists() and not is_of_another_paper(path)] == []


def is_of_another_paper(path: str) -> bool:
    """True for what is in a package of papers that is not here."""
    package = path.partition("/")[0]
    return package == "dtgpapers" and package not in PACKAGES


def test_each_guide_is_in_the_book_and_in_the_readme():
    names = {path.stem for path in (ROOT / "book").glob("*.md")}
    assert names == {*GUIDES, "index"}
    readme = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in GUIDES if f"(book/{name}.md)" not in readme] == []


def test_each_room_is_in_the_table_of_rooms_below_those_that_it_imports():
    text = (ROOT / "book" / "rooms.md").read_text("utf-8")
    for package in PACKAGES:
        assert re.findall(rf"^\| \[`(\w+)`\]\(\.\./{package}/\w+\)", text, re.MULTILINE) == rooms_of(package)


def test_a_link_leads_to_the_page_of_a_file():
    text = "[a](../notebooks/02_masks.ipynb) [b](../dtglib/sequences) [c](score.md#trees) ![d](../figures/00_idea.svg)"
    assert relinked(text, "book/train.md") == (
        "[a](/notebooks/02_masks.ipynb) [b](/dtglib/sequences.md) [c](/score.md#trees) ![d](/figures/00_idea.svg)"
    )
    assert page_of("dtglib/sequences/compile.py") == "source/dtglib/sequences/compile.py.md"
    assert page_of("results/2026-11-21-mini") == "results/2026-11-21-mini/README.md"


def test_a_link_to_a_file_without_a_page_becomes_text_and_code_stays_as_it_is():
    text = "[configs](../configs) and [supar](https://pypi.org)\n\n```python\nmakers[0](x)\n```\n"
    assert relinked(text, "book/train.md") == text.replace("[configs](../configs)", "configs")


def test_no_page_of_the_book_links_to_a_page_that_does_not_exist():
    pages = all_pages()
    for name, content in pages.items():
        if not name.startswith("source/"):
            links = re.findall(r"\]\(/((?!figures/)[^)#]+)", content)
            assert [link for link in links if link not in pages] == [], name


def test_a_long_signature_has_a_line_for_each_parameter():
    source = """
def score(network: Network, words: Sequence[str], /, *, beam: int = 300, within: float | None = 12.0) -> float: ...
"""
    assert signature(ast.parse(source).body[0], source).splitlines() == [
        "def score(",
        "    network: Network,",
        "    words: Sequence[str],",
        "    /,",
        "    *,",
        "    beam: int = 300,",
        "    within: float | None = 12.0,",
        ") -> float",
    ]
    assert signature(ast.parse("def f(*a, b=1, **c): ...").body[0], "") == "def f(*a, b=1, **c)"


def test_a_class_has_its_fields_with_their_comments():
    source = f"class Row(NamedTuple):\n    i: int\n    last: int  # the last position\n    x: int  # {'long ' * 20}\n"
    shown = signature(ast.parse(source).body[0], source).splitlines()
    assert shown[:3] == ["class Row(NamedTuple):", "    i: int", "    last: int  # the last position"]
    assert shown[3].startswith("    # long") and shown[-1] == "    x: int"


def test_the_files_of_a_room_stand_in_reading_order_below_a_table():
    names = [path.name for path in files_of("dtglib", "sequences")]
    assert names[:3] == ["compile.py", "visibility.py", "columns.py"], "as its door text says"
    page = room_page("dtglib", "sequences")
    in_table = re.findall(r"^\| \[`(.+)`\]", page, re.MULTILINE)
    assert in_table == re.findall(r"^## `(.+)`", page, re.MULTILINE)
    assert set(names) <= set(in_table)


def test_the_picture_in_the_repository_is_up_to_date():
    svg = (ROOT / "figures" / "00_idea.svg").read_text("utf-8")
    assert draw_idea(SENTENCE)._repr_svg_() == svg, "draw it again with `python book/idea.py`"


def test_the_picture_names_each_position_and_each_prediction():
    mask = draw_idea(SENTENCE).axes[-1]
    rows = [label.get_text() for label in mask.get_yticklabels()]
    assert rows[:4] == ["ROOT  0", "There  1", "is  2", "LEFTARC + is  3"] and len(rows) == 13
    predicted = [text.get_text() for text in mask.texts][:13]
    assert " ".join(filter(None, predicted)) == "There is LEFTARC a difference LEFTARC RIGHTARC RIGHTARC END"


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_of_speed_are_those_of_the_newest_records(name):
    svg = (ROOT / "figures" / f"{name}.svg").read_text("utf-8")
    assert PICTURES[name]()._repr_svg_() == svg, "draw it again with `python book/speed_pictures.py`"


def test_the_picture_of_a_search_compares_each_width_with_the_authors_release():
    (axes,) = draw_beam().axes
    release, ours = (line.get_ydata() for line in axes.lines)
    assert len(release) == len(ours) == 3
    assert all(theirs > own for theirs, own in zip(release, ours, strict=True))


def test_the_picture_of_the_machines_rate_has_a_bar_for_each_model_that_was_trained_on_a_gpu():
    (axes,) = draw_share().axes
    (on_gpu,) = (bars for bars in axes.containers if "H100" in bars.get_label())
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert [names[round(bar.get_y() + bar.get_height() / 2)] for bar in on_gpu] == [
        f"training, {title}" for title in ("TXL (tokens)", "DTG", "TXL (trans)")
    ]
    assert all(30 < bar.get_width() < 50 for bar in on_gpu)
