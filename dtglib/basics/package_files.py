"""The files of the package itself: its modules, and the data that they read.

>>> "basics/package_files.py" in package_files()
True
"""

from pathlib import Path

PACKAGE = Path(__file__).parent.parent
SUFFIXES = (".py", ".yaml", ".json", ".csv")


def package_files() -> dict[str, bytes]:
    """The content of each file by its path, such as "parsing/biaffine.py", as it is on the disk now."""
    paths = (path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*")) if path.suffix in SUFFIXES)
    # Names that begin with a dot belong to an editor or to Jupyter.
    ours = (path for path in paths if not any(part.startswith(".") for part in path.parts))
    return {path.as_posix(): (PACKAGE / path).read_bytes() for path in ours}
