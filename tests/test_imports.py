"""Data flows one way: which room of dtglib may import from which, read from the sources."""

import ast
from pathlib import Path

import pytest
from reference import imports_of, module_of
from running import PACKAGE

# In the order of the data, from the ground up: a room imports from the rooms above it in this list, and from itself.
ROOMS = [
    "basics",
    "data",
    "transitions",
    "sequences",
    "pictures",
    "network",
    "training",
    "parsing",
    "decode",
    "evaluate",
    "families",
    "runs",
    "cli",
]


def test_nothing_stands_beside_the_rooms():
    entries = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert entries == {*ROOMS, "__init__.py", "__main__.py"}


@pytest.mark.parametrize("room", ROOMS)
def test_at_the_door_of_a_room_three_lines_say_what_is_in_it(room):
    door = ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text("utf-8")))
    assert len(door.partition("\n\n")[0].splitlines()) == 3


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_below_it(room):
    below = ROOMS[: ROOMS.index(room) + 1]
    wrong = [
        f"{module_of(path)} imports {name}"
        for path in (PACKAGE / room).rglob("*.py")
        for name in imports_of(path)
        if name.partition("/")[0] not in below
    ]
    assert wrong == []


@pytest.mark.parametrize("room", ROOMS)
def test_the_modules_of_a_room_do_not_import_one_another_in_a_circle(room):
    left = {module_of(path): imports_of(path) - {module_of(path)} for path in (PACKAGE / room).rglob("*.py")}
    while ready := [module for module, imported in left.items() if not imported & left.keys()]:
        for module in ready:
            del left[module]
    assert left == {}


def test_dtglib_imports_nothing_of_the_other_papers():
    wrong = [module_of(path) for path in PACKAGE.rglob("*.py") if "dtgpapers" in _top_packages(path)]
    assert wrong == []


def _top_packages(path: Path) -> set[str]:
    nodes = [
        node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return {name.split(".")[0] for node in nodes for name in _imported(node)}


def test_only_one_room_draws():
    drawing = {
        path.relative_to(PACKAGE).parts[0]
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and {"matplotlib", "seaborn"} & {name.split(".")[0] for name in _imported(node)}
    }
    assert drawing == {"pictures"}


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
