"""The running code, and the part of it that a result depends on.

Models and scores are cached under a hash of the code that computes them. Hashes are taken when the package is imported;
later edits affect the next process only.

The code of a result follows from the imports of the functions that compute it: their own modules, and from there every
module of their own room, of the room that the result is made in, and of the rooms below. `basics` does not count,
because it computes no numbers. Families are loaded by name (families/base.py), which no import shows: who computes
something with a model names its family's module here. Of a package that brings papers, a module
counts with those of the package that it imports. Data files count with the modules in their folder, and a user's own
module with all modules beside it.

    >>> behind = modules_behind("dtglib/transitions/batch", "transitions")
    >>> sorted(name for name in behind if name.startswith("dtglib/transitions/r"))
    ['dtglib/transitions/rows', 'dtglib/transitions/rules']
    >>> are_on_disk(behind)
    True
"""

import ast
import hashlib
import sys
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from types import ModuleType

from dtglib.basics.package_files import SUFFIXES, package_files, packages

# The rooms in order, lowest first. A room imports only from earlier ones; tests/test_imports.py checks this.
ROOMS = (
    *("basics", "data", "transitions", "sequences", "pictures", "network", "training"),
    *("parsing", "decode", "evaluate", "families", "runs", "cli"),
)


def _on_disk() -> dict[str, bytes]:
    """The content of each module, by a name such as "dtglib/parsing/biaffine", and of each data file, by its path."""
    return {path.removesuffix(".py"): content for path, content in package_files().items()}


def _hashes(sources: dict[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(source).hexdigest() for name, source in sources.items()}


_SOURCES = _on_disk()
RUNNING = _hashes(_SOURCES)  # of every file, as it was when this process imported the package


def are_on_disk(modules: Iterable[str]) -> bool:
    """True if these modules are on the disk as this process runs them."""
    now = _hashes(_on_disk())
    return all(now.get(module) == RUNNING[module] for module in modules)


def code_of(room: str, *made_by: Callable | ModuleType) -> str:
    """A hash of the code behind a result that some functions (or the code of a module) compute in a room."""
    modules, others = set(), {}
    for maker in made_by:
        while isinstance(maker, partial):
            maker = maker.func
        name = maker.__name__ if isinstance(maker, ModuleType) else maker.__module__
        if name.split(".")[0] in packages():
            modules |= modules_behind(_file_of(name), room)
        else:  # a user's own, with the modules beside it
            for path in Path(str(sys.modules[name].__file__)).parent.glob("*.py"):
                source = path.read_bytes()
                others[path.name] = hashlib.sha256(source).hexdigest()
                modules |= modules_of_source(source, room)
    return _hash_of({**{module: RUNNING[module] for module in modules}, **others})


def hashes_behind(module: str) -> dict[str, str]:
    """The hashes of the modules that decide the compiled kernels or the sentences of a module, by their names."""
    # No kernel takes anything from a room above `decode`.
    behind = modules_behind(_file_of(module), "decode")
    return {name: RUNNING[name] for name in (*behind, "dtglib/basics/jit")}


def code_behind_source(source: str, room: str) -> str:
    """A hash of all code that a source imports, such as a notebook's."""
    return _hash_of({module: RUNNING[module] for module in modules_of_source(source, room)})


def modules_of_source(source: bytes | str, room: str) -> set[str]:
    """The modules that a source imports, and everything that these import from this room and the rooms below."""
    return {module for imported in imported_by(source) for module in modules_behind(imported, room)}


def _hash_of(hashes: dict[str, str]) -> str:
    lines = "\n".join(f"{module} {hashes[module]}" for module in sorted(hashes))
    return hashlib.sha256(lines.encode()).hexdigest()[:12]


@cache
def modules_behind(module: str, room: str) -> frozenset[str]:
    """A module and everything that it imports, directly or not, from its own room, this room and the rooms below.

    Of a result of a room above the families, all families and all that papers bring count.
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
    """The modules that a module imports, and the data files in its folder or in a folder there without modules."""
    if module.endswith(SUFFIXES):
        return frozenset()
    folder = module.rpartition("/")[0]
    with_modules = {name.rpartition("/")[0] for name in RUNNING if not name.endswith(SUFFIXES)}
    data = {name for name in RUNNING if name.endswith(SUFFIXES) and _nearest(name, with_modules) == folder}
    return frozenset(imported_by(_SOURCES[module]) | data)


def _nearest(name: str, folders: set[str]) -> str:
    """The folder of a file or, if it is not among `folders`, the next one above it that is."""
    folder = name.rpartition("/")[0]
    while folder and folder not in folders:
        folder = folder.rpartition("/")[0]
    return folder


def imported_by(source: bytes | str) -> set[str]:
    """The modules of our packages that a source imports, at its top or within its functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    paths = {_file_of(name) for name in names}
    return (paths | {f"{path}/__init__" for path in paths}) & RUNNING.keys()


def _file_of(module: str) -> str:
    """The name that a module has in `RUNNING`."""
    return module.replace(".", "/")


def _room(module: str) -> str | None:
    """The room of dtglib that a module stands in, or None for a module of another package."""
    package, _, inside = module.partition("/")
    return inside.partition("/")[0] if package == "dtglib" else None
