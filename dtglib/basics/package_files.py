"""The files of the package itself and of the packages that bring papers: modules, and the data that they read.

>>> "dtglib/basics/package_files.py" in package_files()
True
"""

from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
SUFFIXES = (".py", ".yaml", ".json", ".csv")


@cache
def packages() -> dict[str, Path]:
    """The folder of each package by its name: dtglib, and those of entry points for papers (papers.py)."""
    names = {point.module.partition(".")[0] for point in entry_points(group="dtglib.papers")} - {PACKAGE.name}
    specs = {name: find_spec(name) for name in sorted(names)}
    return {PACKAGE.name: PACKAGE} | {
        name: Path(spec.origin).parent for name, spec in specs.items() if spec and spec.origin
    }


def package_files() -> dict[str, bytes]:
    """The content of each file by its path, such as "dtglib/parsing/biaffine.py", as it is on the disk now."""
    contents = {}
    for name, folder in packages().items():
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            # Names that begin with a dot belong to an editor or to Jupyter.
            if path.suffix in SUFFIXES and not any(part.startswith(".") for part in inside.parts):
                contents[f"{name}/{inside.as_posix()}"] = path.read_bytes()
    return contents
