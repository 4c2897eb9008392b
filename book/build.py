"""Build the book: the guides in this folder, the executed notebooks, and a reference of both packages.

    python book/build.py            writes build/book/html/index.html; an argument names another folder

A link to a notebook, a record, a module or a room leads to the page of it; a link to any other file becomes plain text.
Sphinx and MyST-NB make a static site with search from the pages.
"""

import json
import posixpath
import re
import shutil
import subprocess
import sys
from pathlib import Path

from room_pages import PACKAGES, ROOT, room_page, rooms_of, source_page

GUIDES = ("score", "train", "evaluate", "commands", "sizes", "hosted")
GUIDES += ("doors", "relatives", "faithful", "minilang", "speed", "rooms")
DOCUMENTS = ("CONTRIBUTING.md", "CHANGELOG.md")
ORPHAN = "---\norphan: true\n---\n\n"  # a page that is in no table of contents


def build(folder: Path) -> None:
    """Write the sources of all pages, and make HTML of them."""
    source, html = folder / "source", folder / "html"
    shutil.rmtree(source, ignore_errors=True)
    for name, content in all_pages().items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for copied in ("book/conf.py", "book/book.css"):
        shutil.copy(ROOT / copied, source)
    shutil.copytree(ROOT / "figures", source / "figures")
    options = ["-b", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    subprocess.run([sys.executable, "-m", "sphinx", *options, str(source), str(html)], check=True)
    print(html / "index.html")


def all_pages() -> dict[str, str]:
    """The name and content of each page."""
    notebooks = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    rooms = {package: rooms_of(package) for package in PACKAGES}
    contents = {
        "The course": [f"notebooks/{path.stem}" for path in notebooks],
        "Guides": GUIDES,
        **{f"Reference: {package}": [f"{package}/{room}" for room in rooms[package]] for package in PACKAGES},
        "Development": [Path(name).stem for name in DOCUMENTS],
    }
    pages = {"index.md": "\n\n".join([_document("book/index.md"), *map(_contents, contents, contents.values())])}
    pages |= {f"{name}.md": _document(f"book/{name}.md") for name in GUIDES}
    pages |= {name: _document(name) for name in DOCUMENTS}
    pages |= {f"notebooks/{path.name}": _notebook(path) for path in notebooks}
    for folder in ("results", "benchmarks/records"):
        for record in sorted((ROOT / folder).rglob("README.md")):
            name = record.relative_to(ROOT).as_posix()
            pages[name] = ORPHAN + _document(name)
    for package in PACKAGES:
        pages |= {f"{package}/{room}.md": room_page(package, room) for room in rooms[package]}
        for path in (ROOT / package).rglob("*.py"):
            pages[f"source/{path.relative_to(ROOT).as_posix()}.md"] = ORPHAN + source_page(path)
    return pages


def _contents(caption: str, pages: list[str]) -> str:
    """A table of contents for the sidebar."""
    return f"```{{toctree}}\n:hidden:\n:maxdepth: 1\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"


def _document(name: str) -> str:
    return relinked((ROOT / name).read_text("utf-8"), name)


def _notebook(path: Path) -> str:
    """A notebook whose cells with imports are folded, without the marks of nbval."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            source = relinked(source, path.relative_to(ROOT).as_posix())
        elif re.match(r"(import|from) ", source):
            cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), "hide-input"]
        cell["source"] = source.removeprefix("# NBVAL_CHECK_OUTPUT\n")
    return json.dumps(notebook)


def relinked(text: str, place: str) -> str:
    """Replace the links of a file of the repository by links to pages; code blocks stay as they are."""

    def link(match: re.Match) -> str:
        image, label, target = match.groups()
        path, _, fragment = target.partition("#")
        if ":" in target or not path:
            return match[0]
        page = page_of(posixpath.normpath(posixpath.join(posixpath.dirname(place), path)))
        if not page:
            return label
        return f"{image}[{label}](/{page}{'#' if fragment else ''}{fragment})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(r"(!?)\[([^]]*)\]\(([^)\s]+)\)", link, part) for part in parts[::2]]
    return "".join(parts)


def page_of(path: str) -> str | None:
    """The page for a file or folder of the repository; None if it has no page."""
    first, *rest = path.split("/")
    if first == "book" and path.endswith(".md"):
        return rest[0]
    if path in DOCUMENTS or (first in ("notebooks", "figures") and rest):
        return path
    if first in ("results", "benchmarks"):
        readme = path if path.endswith(".md") else f"{path}/README.md"
        return readme if (ROOT / readme).is_file() else None
    if first in PACKAGES and rest and (ROOT / path).exists():
        return f"source/{path}.md" if path.endswith(".py") else f"{first}/{rest[0]}.md"
    return None


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "book")
