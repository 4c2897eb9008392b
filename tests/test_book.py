"""The book is built without warnings; its pictures show, its search finds pages, and no link is broken."""

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lab import Lab, browser, find_browser, wait
from running import ROOT

sys.path.insert(0, str(ROOT / "book"))
from build import GUIDES, PACKAGES, rooms_of

# Slow: Sphinx builds all pages; sources of pages are tested in test_book_pages.py.
pytestmark = pytest.mark.slow

NOTEBOOKS = [f"notebooks/{path.stem}.html" for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))]
ROOMS = [f"{package}/{room}.html" for package in PACKAGES for room in rooms_of(package)]


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> Path:
    """The folder of the book's pages; Sphinx has ended with an error if it had anything to warn of."""
    folder = tmp_path_factory.mktemp("book")
    subprocess.run([sys.executable, str(ROOT / "book" / "build.py"), str(folder)], check=True, cwd=ROOT)
    return folder / "html"


@pytest.fixture(scope="module")
def page(book, tmp_path_factory) -> Lab:
    if not find_browser():
        pytest.skip("no chromium, chromium-browser or google-chrome here: install one (Debian and Ubuntu: chromium)")
    with browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


def test_the_front_page_has_three_doors_and_the_sidebar_all_chapters_in_order(book):
    links = Links(book / "index.html")
    assert {"read-the-course", "score-your-sentences", "train-on-your-treebank"} <= links.names
    starts = ("notebooks/", *(f"{name}.html" for name in GUIDES), *(f"{package}/" for package in PACKAGES))
    chapters = dict.fromkeys(link for link in links.targets if link.startswith(starts))
    assert list(chapters) == [*NOTEBOOKS, *(f"{name}.html" for name in GUIDES), *ROOMS]


def test_a_copyright_is_named(book):
    assert re.search(r"Copyright &#169; 2026 the dtglib authors", (book / "index.html").read_text("utf-8"))


def test_formulas_are_set_and_the_page_of_rooms_leads_to_the_rooms(book):
    assert 'class="math' in (book / "notebooks" / "02_masks.html").read_text("utf-8")
    assert set(ROOMS) <= set(Links(book / "rooms.html").targets)


def test_the_imports_of_a_notebook_are_folded(book):
    assert "Show the imports" in (book / "notebooks" / "02_masks.html").read_text("utf-8")


class Links:
    """The targets of the links of a page, and the names that a link can lead to."""

    def __init__(self, path: Path) -> None:
        attributes = re.findall(r'\s(href|src|id)="([^"]*)"', path.read_text("utf-8"))  # in text, quotes are &quot;
        self.names = {unescape(value) for name, value in attributes if name == "id"}
        self.targets = [unescape(value) for name, value in attributes if name != "id" and value]


def test_no_link_inside_the_book_is_broken(book):
    pages = {path: Links(path) for path in book.rglob("*.html")}
    broken = []
    for path, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            exists = goal.is_file() and (not parts.fragment or goal not in pages or parts.fragment in pages[goal].names)
            if not exists:
                broken.append(f"{path.relative_to(book)}: {target}")
    assert broken == []


def test_the_pictures_of_a_notebook_show(book, page):
    page.visit((book / "notebooks" / "02_masks.html").as_uri(), "document.readyState === 'complete'")
    sizes = page.value("[...document.querySelectorAll('.cell_output img')].map(image => image.naturalWidth)")
    cells = json.loads((ROOT / "notebooks/02_masks.ipynb").read_text())["cells"]
    pictures = [output for cell in cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
    assert len(sizes) == len(pictures) > 0 and min(sizes) > 200


def test_a_search_for_compose_finds_the_page_of_structures(book, page):
    page.visit((book / "search.html").as_uri() + "?q=COMPOSE", "document.readyState === 'complete'")
    results = "[...document.querySelectorAll('#search-results li a')].map(link => link.getAttribute('href'))"
    # Results come one after the other.
    wait(
        lambda: any(link.startswith("dtglib/sequences.html") for link in page.value(results)),
        60,
        "the page of structures among the results of the search",
    )
