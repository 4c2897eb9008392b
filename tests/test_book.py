"""The book is built without warnings; its pictures show, its search finds, and its links lead somewhere."""

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from lab import Lab, browser, find_browser, wait
from running import ROOT

from dtglib.basics.code import ROOMS

pytestmark = [pytest.mark.alone, pytest.mark.slow]

CHAPTERS = [path.stem for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))]


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


def test_the_chapters_are_the_notebooks_and_then_the_rooms_in_their_order(book):
    links = Links(book / "index.html").targets
    chapters = [link for link in links if link.startswith(("notebooks/", "rooms/"))]
    expected = [*(f"notebooks/{name}.html" for name in CHAPTERS), *(f"rooms/{room}.html" for room in ROOMS)]
    assert list(dict.fromkeys(chapters)) == expected


def test_formulas_are_set_and_the_tour_leads_to_the_rooms(book):
    assert 'class="math' in (book / "notebooks" / "02_masks.html").read_text("utf-8")
    assert {f"rooms/{room}.html" for room in ROOMS} <= set(Links(book / "tour.html").targets)


class Links(HTMLParser):
    """The targets of the links of a page, and the names that a link can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets, self.names = [], set()
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.names.add(found.get("id"))
        self.targets += [value for name in ("href", "src") if (value := found.get(name))]


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
    sizes = page.value("[...document.querySelectorAll('.cell_output img')].map(one => one.naturalWidth)")
    assert len(sizes) > 10 and min(sizes) > 200


def test_a_search_for_compose_finds_the_page_of_structures(book, page):
    page.visit((book / "search.html").as_uri() + "?q=COMPOSE", "document.readyState === 'complete'")
    found = "[...document.querySelectorAll('#search-results li a')].map(one => one.getAttribute('href'))"
    # Results come one after the other.
    wait(
        lambda: any(link.startswith("rooms/sequences.html") for link in page.value(found)),
        30,
        "the page of structures among the results of the search",
    )
