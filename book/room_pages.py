"""Pages of reference, drawn from the sources without importing them: a page per room, and a page per module's source.

    room_page("dtglib", "network")      its door text, a table of its files in reading order, then each file

Docstrings are written as Markdown; an indented block is code. A room's door text names the files to read first. The
others follow in an order in which each imports only from those before it. The rooms have the order of rooms.md.
"""

import ast
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = tuple(name for name in ("dtglib", "dtgpapers") if (ROOT / name).is_dir())
WIDTH = 88  # columns of a code block

Definition = ast.FunctionDef | ast.ClassDef


def rooms_of(package: str) -> list[str]:
    """The rooms of a package, in the order of rooms.md."""
    text = (ROOT / "book" / "rooms.md").read_text("utf-8")
    rooms = [path.parent.name for path in sorted((ROOT / package).glob("*/__init__.py"))]
    return sorted(rooms, key=lambda room: text.find(f"(../{package}/{room})"))


def _imports(path: Path) -> set[str]:
    """The dotted names that a module imports at its top; of `from a import b` both a and a.b."""
    names = set()
    for node in _parsed(path).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def files_of(package: str, room: str) -> list[Path]:
    """The modules of a room in reading order, folder by folder, without those that have no docstring."""
    folder = ROOT / package / room
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in folder.rglob("*.py")}
    door = paths.pop(f"{package}.{room}.__init__")
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items() if ast.get_docstring(_parsed(path))}
    imports = {name: sorted(_imports(paths[name]) & paths.keys() - {name}) for name in sorted(paths)}
    _, _, first = _docstring(door).partition("Read first:")
    named = [f"{package}.{room}.{name.replace('/', '.')}" for name in re.findall(r"([\w/]+)\.py", first)]
    named = [name for name in named if name in paths]
    ordered = sorted(TopologicalSorter(imports).static_order(), key=lambda name: paths[name].parent)
    return [paths[name] for name in dict.fromkeys([*named, *ordered])]


def _docstring(path: Path) -> str:
    return ast.get_docstring(_parsed(path)) or ""


def room_page(package: str, room: str) -> str:
    """The page of a room: its door text, a table of its files, and the public names of each file."""
    folder, files = ROOT / package / room, files_of(package, room)
    names = {path: path.relative_to(folder).as_posix() for path in files}
    door = re.sub(r"\n(?=(In|Out|Read first): )", "\n\n", _docstring(folder / "__init__.py"))
    lines = [
        f"# {package}.{room}",
        "",
        as_markdown(door),
        "",
        "| file | contents |",
        "|---|---|",
    ]
    for path in files:
        anchor = re.sub(r"[^\w-]", "", names[path].lower())
        lines.append(f"| [`{names[path]}`](#{anchor}) | {_first_sentence(path)} |")
    for path in files:
        where = f"/source/{path.relative_to(ROOT).as_posix()}.md"
        lines += ["", f"## `{names[path]}`", "", f"[source]({where})", "", as_markdown(_docstring(path)), ""]
        for node in _parsed(path).body:
            if isinstance(node, Definition) and not node.name.startswith("_"):
                lines += _definition(node, path.read_text("utf-8"), 3)
    return "\n".join(lines) + "\n"


def _first_sentence(path: Path) -> str:
    paragraph = " ".join(_docstring(path).split("\n\n")[0].split())
    return as_markdown(re.split(r"(?<=\.)\s+(?=[A-Z`])", paragraph)[0])


def _definition(node: Definition, source: str, level: int) -> Iterator[str]:
    """A function with its signature, or a class with its fields and public methods."""
    yield f"{'#' * level} {node.name}\n\n```python\n{signature(node, source)}\n```\n"
    yield as_markdown(ast.get_docstring(node) or "") + "\n"
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and ast.get_docstring(method):
                yield from _definition(method, source, level + 1)


def signature(node: Definition, source: str) -> str:
    """The head of a definition: a line for each parameter if it is long; for a class, its fields and comments."""
    if isinstance(node, ast.ClassDef):
        bases = f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else ""
        fields = [line for field in node.body if isinstance(field, ast.AnnAssign) for line in _field(field, source)]
        return "\n".join([f"class {node.name}{bases}{':' if fields else ''}", *fields])
    returns = f" -> {_unparsed(node.returns)}" if node.returns else ""
    parameters = list(_parameters(node.args))
    short = f"def {node.name}({', '.join(parameters)}){returns}"
    if len(short) <= WIDTH:
        return short
    return "\n".join([f"def {node.name}(", *(f"    {parameter}," for parameter in parameters), f"){returns}"])


def _field(field: ast.AnnAssign, source: str) -> Iterator[str]:
    """A field of a class; its comment stands above it if the line is too long."""
    text = f"    {_unparsed(field)}"
    _, _, comment = source.splitlines()[field.end_lineno - 1].partition("  # ")
    if comment and len(text) + len(comment) + 4 <= WIDTH:
        yield f"{text}  # {comment}"
        return
    yield from textwrap.wrap(comment, WIDTH - 6, initial_indent="    # ", subsequent_indent="    # ")
    yield text


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    parameters = list(map(_parameter, positional, defaults))
    only = len(arguments.posonlyargs)
    yield from [*parameters[:only], *(["/"] if only else []), *parameters[only:]]
    if arguments.vararg:
        yield f"*{_unparsed(arguments.vararg)}"
    elif arguments.kwonlyargs:
        yield "*"
    yield from map(_parameter, arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg:
        yield f"**{_unparsed(arguments.kwarg)}"


def _parameter(parameter: ast.arg, default: ast.expr | None) -> str:
    equals = " = " if parameter.annotation else "="
    return _unparsed(parameter) + (f"{equals}{_unparsed(default)}" if default else "")


def _unparsed(node: ast.AST) -> str:
    """The code of a node, with double quotes."""
    text = ast.unparse(node)
    return text if '"' in text else text.replace("'", '"')


def source_page(path: Path) -> str:
    return f"# {path.relative_to(ROOT).as_posix()}\n\n```python\n{path.read_text('utf-8')}```\n"


def as_markdown(docstring: str) -> str:
    """A docstring as Markdown: examples are fenced, an indented block is code already; * # < | mean themselves."""
    lines, fenced = [], False
    for line in docstring.splitlines():
        if line.startswith(">>>") and not fenced:
            lines.append("```python")
            fenced = True
        elif not line.strip() and fenced:
            lines.append("```")
            fenced = False
        is_text = not fenced and not line.startswith("    ")
        lines.append(re.sub(r"([*<|])(?=\S)|^(\s*)([#+-])", r"\\\g<0>", line) if is_text and "`" not in line else line)
    return "\n".join([*lines, "```"] if fenced else lines)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
