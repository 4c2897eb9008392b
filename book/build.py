"""Build the book: the executed notebooks in their order, the tour of the rooms, and what the docstrings say.

    python book/build.py                    build/book/html/index.html, or in another folder that is named

The pages are gathered in build/book/source, and made into a static site with search by Sphinx and MyST-NB. Docstrings
are Markdown as they stand: an indented block is code. So the reference is drawn from the sources, without importing
them: a page for each room, and for each module its source.
"""

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dtglib.basics.code import ROOMS

ROOT = Path(__file__).parent.parent


def build(folder: Path) -> None:
    """Gather the pages, and let Sphinx make HTML of them."""
    source, html = folder / "source", folder / "html"
    shutil.rmtree(source, ignore_errors=True)
    for name, content in _pages().items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    shutil.copy(Path(__file__).with_name("conf.py"), source)
    command = ["-m", "sphinx", "-b", "html", "--fail-on-warning", "--keep-going", "--quiet", str(source), str(html)]
    subprocess.run([sys.executable, *command], check=True)
    print(html / "index.html")


def _pages() -> dict[str, str]:
    """The content of each page."""
    chapters = {path.stem: path for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))}
    readme = (ROOT / "README.md").read_text("utf-8")
    pages = {"index.md": _index(readme, list(chapters)), "tour.md": _tour(readme)}
    pages |= {f"notebooks/{name}.ipynb": _linked(path.read_text("utf-8")) for name, path in chapters.items()}
    for record in sorted((ROOT / "results").rglob("README.md")):
        pages[record.relative_to(ROOT).as_posix()] = f"{ORPHAN}{_linked(record.read_text('utf-8'))}"
    for room in ROOMS:
        pages[f"rooms/{room}.md"] = "\n".join(_room(room))
        for module in _modules(room):
            name = module.relative_to(ROOT).as_posix()
            pages[f"source/{name}.md"] = f"{ORPHAN}# {name}\n\n```python\n{module.read_text('utf-8')}```\n"
    return pages


ORPHAN = "---\norphan: true\n---\n\n"  # a page that is in no list of contents


def _linked(text: str) -> str:
    """Links to a folder with records as links to its page."""
    return re.sub(r"\]\(((?:[./]*results/)?20[\w-]+|[./]*results)/?\)", r"](\1/README.md)", text)


def _tour(readme: str) -> str:
    """The README's tour of the repository; its links lead to the pages of the book, if there is one."""
    (section,) = re.findall(r"## (Where things are\n\n(?:\|.*\n)+)", readme)

    def link(found: re.Match) -> str:
        text, target = found.groups()
        if target.endswith(".ipynb"):
            return f"[{text}]({target})"
        room = target.removeprefix("dtglib/")
        return f"[{text}](rooms/{room}.md)" if room in ROOMS else text

    return "# " + re.sub(r"\[([^]]+)\]\(([^)]+)\)", link, section)


def _index(readme: str, chapters: list[str]) -> str:
    """The first page: the first sentences of the README, and all chapters."""
    opening = readme.split("\n\n")[:2]
    contents = {
        "The notebooks": [f"notebooks/{name}" for name in chapters],
        "The rooms": ["tour", *(f"rooms/{room}" for room in ROOMS)],
    }
    trees = (
        f"```{{toctree}}\n:maxdepth: 1\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```"
        for caption, pages in contents.items()
    )
    tour = "The rooms stand in the order in which data passes through them; each imports only from those before it."
    return "\n\n".join([*opening, tour, *trees]) + "\n"


def _modules(room: str) -> list[Path]:
    return sorted((ROOT / "dtglib" / room).rglob("*.py"))


def _room(room: str) -> Iterator[str]:
    """The page of a room: its door, then each module with its public classes and functions."""
    door, *modules = _modules(room)
    yield f"# {room}\n\n{_as_markdown(door)}\n"
    for path in modules:
        if path.name == "__init__.py" and not _as_markdown(path):
            continue
        name = path.relative_to(ROOT).as_posix()
        yield f"## {path.relative_to(ROOT / 'dtglib' / room).as_posix()}\n\n[source](/source/{name}.md)\n"
        yield _as_markdown(path) + "\n"
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                yield from _member(node, 3)


def _member(node: ast.FunctionDef | ast.ClassDef, level: int) -> Iterator[str]:
    """A function with its signature, or a class with its fields and methods."""
    yield f"{'#' * level} {node.name}\n\n```python\n{_signature(node)}\n```\n\n{_text(ast.get_docstring(node))}\n"
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and ast.get_docstring(method):
                yield from _member(method, level + 1)


def _signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The head of a definition; of a class with its fields, too."""
    if isinstance(node, ast.FunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"def {node.name}({ast.unparse(node.args)}){returns}"
    bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
    fields = [f"    {ast.unparse(line)}" for line in node.body if isinstance(line, ast.AnnAssign)]
    return "\n".join([f"class {node.name}{bases}:", *fields]) if fields else f"class {node.name}{bases}"


def _as_markdown(path: Path) -> str:
    return _text(ast.get_docstring(ast.parse(path.read_text("utf-8"))))


def _text(docstring: str | None) -> str:
    """A docstring as Markdown: examples are fenced, as an indented block is code already; # and < mean themselves."""
    found, fenced = [], False
    for line in (docstring or "").splitlines():
        if line.startswith(">>>") and not fenced:
            found.append("```python")
            fenced = True
        elif not line.strip() and fenced:
            found.append("```")
            fenced = False
        is_text = not fenced and not line.startswith("    ")
        found.append(re.sub(r"([*<|])(?=\S)|^(\s*)([#+-])", r"\\\g<0>", line) if is_text and "`" not in line else line)
    return "\n".join([*found, "```"] if fenced else found)


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "book")
