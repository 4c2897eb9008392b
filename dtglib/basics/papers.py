"""`Paper`: the record of what a paper adds to dtglib, and the papers that are installed.

A package brings a paper by an entry point, as plug-ins of pytest do. In its pyproject.toml stands:

    [project.entry-points."dtglib.papers"]
    letters = "letters:PAPER"

The paper of DTG itself is one of them. A record imports nothing: its parts are named as "module:NAME" and imported when
they are needed, so that `dtglib --help` need not wait for PyTorch.

    >>> [paper.name for paper in papers()][0]
    'dtg'
    >>> papers()[0].part("families")[0].title
    'TXL (tokens)'
"""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError, require


class Paper(NamedTuple):
    """A paper. A part that is marked "module:NAME" names an object of its package; an empty part adds nothing."""

    name: str
    families: tuple[str, ...]  # module:NAME of its kinds of models (families/base.py), baselines first
    compared: tuple[str, ...] = ()  # the models that its notebooks train and compare
    notebooks: str = ""  # the first digits of its notebooks' numbers: "1" for 10 to 19
    commands: str = ""  # module:NAME of its commands (cli/options.py); the module imports nothing that is slow
    corpora: str = ""  # module:NAME of its readers of data (data/corpora.py)
    parsers: str = ""  # module:NAME of its kinds of parsers (parsing/kinds.py)
    structures: tuple[tuple[str, str], ...] = ()  # its kinds of trees; module:NAME of what shows their masks
    jobs: str = ""  # module:NAME of the function that lists what its notebooks need (runs/jobs.py)
    records: str = ""  # module:NAME of its parts of a recorded evaluation (runs/recording.py)
    variants: str = ""  # module:NAME of the function that measures a variant (runs/ablations.py)
    measures: str = ""  # module:NAME of the measures in its tables (evaluate/measures.py)
    tables: str = ""  # module:NAME of the question that each table of the paper answers (evaluate/measures.py)
    orders: str = ""  # module:NAME of its orders of systems (evaluate/measures.py)
    checks: str = ""  # module:NAME of the function that prints what is wrong with a user's treebank (`dtglib stats`)
    tunings: str = ""  # module:NAME of its ways to tune a model

    def part(self, name: str) -> Any:
        """The part of this name, imported now; an empty tuple if the paper has none."""
        reference = getattr(self, name)
        if isinstance(reference, tuple):
            return tuple(value for part in reference for value in named(part))
        return named(reference) if reference else ()


def named(reference: str) -> Any:
    """The object that "module:NAME" refers to."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


@cache
def papers() -> tuple[Paper, ...]:
    """The papers that are installed: that of DTG, then the others by name."""
    installed = []
    for point in entry_points(group="dtglib.papers"):
        if find_spec(point.module.partition(".")[0]):  # the metadata of a package may outlive its files
            paper = point.load()
            complaint = f"{point.value}: the entry point {point.name!r} names no Paper; correct or uninstall it"
            require(isinstance(paper, Paper), complaint)
            installed.append(paper)
    return tuple(sorted(installed, key=lambda paper: (paper.name != "dtg", paper.name)))


def papers_named(name: str) -> list[Paper]:
    """The paper of this name; for "all", every paper. Only papers with notebooks count, and are in their order."""
    known = sorted((paper for paper in papers() if paper.notebooks), key=lambda paper: paper.notebooks)
    if chosen := [paper for paper in known if name in (paper.name, "all")]:
        return chosen
    names = ", ".join(paper.name for paper in known)
    raise UserError(f"there are no notebooks of a paper {name!r}; papers are {names}; or take all")
