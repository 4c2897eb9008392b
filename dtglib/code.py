"""Which code is running: checksums of the package's modules as they were when it was imported.

Models and scores are found again by the code that made them. What somebody saves into a module afterwards is the code
of the next process: nothing that this one goes on to compute may be taken for the new one's. (A module that is imported
late, as a parser's are, may be newer than it is taken for; so scripts ask before each notebook.)

    >>> RUNNING["code"] == sha256(__file__), is_on_disk()
    (True, True)
"""

from pathlib import Path

from dtglib.errors import UserError
from dtglib.files import sha256


def _on_disk() -> dict[str, str]:
    """Each module by its path, as "proposals/biaffine", with its checksum."""
    package = Path(__file__).parent
    modules = (module.relative_to(package) for module in sorted(package.rglob("*.py")))
    # Whatever begins with a dot is an editor's, or Jupyter's.
    ours = (module for module in modules if not any(part.startswith(".") for part in module.parts))
    return {module.with_suffix("").as_posix(): sha256(package / module) for module in ours}


RUNNING = _on_disk()


def is_on_disk() -> bool:
    """Whether a process that starts now would run the same modules."""
    return _on_disk() == RUNNING


def require_unchanged() -> None:
    """Before something is computed that will be known by the code on the disk."""
    if not is_on_disk():
        raise UserError("somebody has changed the package since it was imported; run the same command again")
