"""The running code, and the part of it that a result depends on.

Models and scores are cached under a hash of the code that computes them. Hashes are taken when the package is imported;
later edits affect the next process only.

The code of a result follows from the imports of the functions that compute it: their own modules, and from there every
module of their own room, of the room that the result is made in, and of the rooms below. `basics` does not count,
because it computes no numbers. Families are loaded by name (families/base.py), which no import shows: a function that
computes something with a model passes its family's module to `code_of`. Of a package that brings papers, a module
counts with those of the package that it imports. Data files count with all modules in their folder and in the folder
above it, and a user's own module with all modules beside it.
"""

import ast
import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).resolve().parent.parent
DATA = (".yaml", ".json", ".csv", ".tsv")  # the ends of the names of data files

# The rooms in order, lowest first. A room imports only from earlier ones; tests/test_imports.py checks this.
ROOMS = (
    *("basics", "data", "transitions", "sequences", "pictures", "network", "training"),
    *("parsing", "decode", "evaluate", "families", "runs", "cli"),
)


@cache
def packages() -> dict[str, Path]:
    """The folder (or only file) of each package: dtglib, and those of entry points for papers (papers.py)."""
    names = {point.module.partition(".")[0] for point in entry_points(group="dtglib.papers")} - {PACKAGE.name}
    specs = {name: find_spec(name) for name in sorted(names)}
    return {PACKAGE.name: PACKAGE} | {
        name: Path(spec.origin).parent if spec.submodule_search_locations else Path(spec.origin)
        for name, spec in specs.items()
        if spec and spec.origin
    }


def _files() -> dict[str, Path]:
    """Each module, by a name such as "dtglib/parsing/biaffine", and each data file, by its path."""
    files = {}
    for name, folder in packages().items():
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            inside = path.relative_to(folder)
            # Names that begin with a dot belong to an editor or to Jupyter.
            if path.suffix in (".py", *DATA) and not any(part.startswith(".") for part in inside.parts):
                files[Path(name, inside).as_posix().removesuffix(".py")] = path
    return files


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


_FILES = _files()
_SOURCES = {name: path.read_bytes() for name, path in _FILES.items()}
RUNNING = {name: _hash(source) for name, source in _SOURCES.items()}  # as they were at the import of this module


def are_on_disk(modules: Iterable[str]) -> bool:
    """True if these modules are on the disk as this process runs them."""
    return all(_FILES[name].is_file() and _hash(_FILES[name].read_bytes()) == RUNNING[name] for name in modules)


def code_of(room: str, *made_by: Callable | ModuleType) -> str:
    """A hash of the code behind a result of a room, which these functions (or modules) compute."""
    modules, others = set(), {}
    for maker in made_by:
        while isinstance(maker, partial):
            maker = maker.func
        name = maker.__name__ if isinstance(maker, ModuleType) else maker.__module__
        if name.split(".")[0] in packages():
            modules |= modules_behind(name.replace(".", "/"), room)
        else:  # a user's own, with the modules beside it
            for path in Path(str(sys.modules[name].__file__)).parent.glob("*.py"):
                source = path.read_bytes()
                others[path.name] = _hash(source)
                with contextlib.suppress(SyntaxError):  # nothing imports it; or else this code could not run
                    modules |= _modules_of_source(source, room)
    return _hash_of({**{module: RUNNING[module] for module in modules}, **others})


def hashes_behind(module: str) -> dict[str, str]:
    """The hashes of the modules that decide a module's kernels or sentences, by their names: none is above `decode`."""
    return {name: RUNNING[name] for name in (*modules_behind(module.replace(".", "/"), "decode"), "dtglib/basics/jit")}


def code_behind_source(source: str, room: str) -> str:
    """A hash of all code that a source imports, such as a notebook's."""
    return _hash_of({module: RUNNING[module] for module in _modules_of_source(source, room)})


@cache
def _modules_of_source(source: bytes | str, room: str) -> frozenset[str]:
    """The modules that a source imports, and everything that these import from this room and the rooms below."""
    return frozenset(module for imported in _imported_by(source) for module in modules_behind(imported, room))


def _hash_of(hashes: dict[str, str]) -> str:
    return hashlib.sha256("\n".join(f"{name} {hashes[name]}" for name in sorted(hashes)).encode()).hexdigest()[:12]


@cache
def modules_behind(module: str, room: str) -> frozenset[str]:
    """A module and everything that it imports, directly or not, from its own room, this room and the rooms below.

    A result of a room above the families also depends on all families and on all packages of papers.
    """
    counted = {_room(module), *ROOMS[1 : ROOMS.index(room) + 1], None}
    loads_families = "families" in ROOMS[1 : ROOMS.index(room)]
    behind, todo = set(), [module if module in RUNNING else f"{module}/__init__"]
    while todo:
        name = todo.pop()
        behind.add(name)
        imported = _imports_of(name)
        if name == "dtglib/families/base" and loads_families:
            imported |= {name for name in RUNNING if _room(name) in ("families", None)}
        todo += [name for name in imported if name not in behind and _room(name) in counted]
    return frozenset(behind)


@cache
def _imports_of(module: str) -> frozenset[str]:
    """The modules that a module imports, and the data files in its folder or one level below."""
    if module.endswith(DATA):
        return frozenset()
    folder = Path(module).parent
    data = {name for name in RUNNING if name.endswith(DATA) and folder in list(Path(name).parents)[:2]}
    return frozenset(_imported_by(_SOURCES[module], folder.parts) | data)


def _imported_by(source: bytes | str, folder: Sequence[str] = ()) -> set[str]:
    """The modules of our packages that a source in this folder imports, at its top or within its functions."""
    paths: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:  # and the statements within them; most nodes are expressions, in which nothing is imported
        nodes += [s for part in ("body", "orelse", "finalbody", "handlers", "cases") for s in getattr(node, part, ())]
        if isinstance(node, ast.ImportFrom):
            above = folder[: len(folder) + 1 - node.level] if node.level else ()
            within = Path(*above, *(node.module or "").split(".")).as_posix()
            paths |= {within, *(f"{within}/{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            paths |= {alias.name.replace(".", "/") for alias in node.names}
    return (paths | {f"{path}/__init__" for path in paths}) & RUNNING.keys()


def _room(module: str) -> str | None:
    """The room of a module of dtglib; None for a module of another package."""
    return module.split("/")[1] if module.startswith("dtglib/") else None
