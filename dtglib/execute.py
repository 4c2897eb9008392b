"""Two ways to run a notebook from its first cell to its last: in Jupyter by papermill, or cell by cell as a script.

    shown = PAPERMILL.execute(Path("notebooks/03_training.ipynb"), "mini", folder, told)
    shown = SCRIPTS.execute(Path("notebooks/03_training.py"), "mini", folder, told)       needs no Jupyter

Both set the notebook's parameter `size`, say before each cell which one begins (`told`), leave in the folder what the
notebook printed and showed, and return what its cells showed: tables and pictures, as text and SVG. A cell that fails
is named; a run that is interrupted lets the cell save what it has.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     script = Path(folder) / "difference.py"
    ...     _ = script.write_text("# %%\\n'There is a difference'.split()")
    ...     SCRIPTS.execute(script, "smoke", Path(folder), print)
    1 1 'There is a difference'.split()
    [Shown(tags=[], data={'text/plain': "['There', 'is', 'a', 'difference']"})]
"""

import ast
import contextlib
import json
import logging
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.code import require_unchanged
from dtglib.errors import UserError
from dtglib.files import explain_disk_errors, write_atomically

SECONDS_TO_SAVE = 300  # what a kernel has for it when it is interrupted in a cell
# A kernel that runs no cell has nothing to save. (A test once stood for 154 s: most likely one had missed the request
# to end, and was waited for half of 300 s.)
SECONDS_TO_END = 10

WIDGET = "application/vnd.jupyter.widget-view+json"

# Called with the number of the cell that begins (from 1), how many there are, and its first line.
Told = Callable[[int, int, str], None]


class Shown(NamedTuple):
    """What one cell showed, by its media type; and how the cell is tagged."""

    tags: list[str]
    data: dict[str, str]


class Runner(NamedTuple):
    """A way to run notebooks."""

    suffix: str  # of the half that it runs
    results: tuple[str, ...]  # the suffixes of what it leaves when it has come to the end
    cells: Callable[[Path], list[str]]
    execute: Callable[[Path, str, Path, Told], list[Shown]]


# ---- In Jupyter


def cells_of_notebook(path: Path) -> list[str]:
    """The sources of all cells."""
    try:
        return ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a notebook ({error}); make it again with `make notebooks`") from error


def execute_notebook(notebook: Path, size: str, folder: Path, told: Told) -> list[Shown]:
    """By papermill; the executed notebook, also as HTML, is then in the folder."""
    # Inside: papermill takes a second to import.
    import nbformat
    import papermill
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import DeadKernelError
    from nbconvert import HTMLExporter
    from papermill.exceptions import PapermillExecutionError

    running, count = folder / "running.ipynb", len(cells_of_notebook(notebook))
    put_in = 0  # cells of papermill's own: the one that sets the parameters
    manager = None  # of the kernel

    class KernelManager(AsyncKernelManager):
        """What a kernel says outside of its notebook, as when it is interrupted, goes into a file beside it."""

        shutdown_wait_time = SECONDS_TO_END

        async def start_kernel(self, **options: Any) -> None:
            nonlocal manager
            manager = self
            with open(folder / "kernel.log", "wb") as log:
                await super().start_kernel(stderr=log, **options)

    def started(cell: Any, cell_index: int) -> None:
        nonlocal put_in
        if "injected-parameters" in cell["metadata"].get("tags", []):
            put_in = 1
        else:
            told(cell_index + 1 - put_in, count, _first_line(cell["source"]))

    def executing(**cell: Any) -> None:
        manager.shutdown_wait_time = SECONDS_TO_SAVE

    def executed(**cell: Any) -> None:
        manager.shutdown_wait_time = SECONDS_TO_END

    for name in ("papermill", "asyncio"):
        logging.getLogger(name).addFilter(_is_news)
    try:
        with explain_disk_errors(running):
            papermill.execute_notebook(
                str(notebook),
                str(running),
                parameters={"size": size},
                cwd=str(notebook.parent),
                kernel_name="python3",
                language="python",
                progress_bar=False,
                # A cell may train for days. That a kernel has died is noticed without a limit.
                execution_timeout=None,
                kernel_manager_class=KernelManager,
                on_cell_start=started,
                on_cell_execute=executing,
                on_cell_executed=executed,
            )
    except PapermillExecutionError as error:
        raise UserError(
            f"{notebook.name}, cell {error.cell_index + 1 - put_in}: {error.ename}: {error.evalue}\n"
            f"  the notebook up to there is {running}; what was finished before is kept"
        ) from error
    except DeadKernelError as error:
        raise UserError(
            f"{notebook.name}: its kernel died, most likely for lack of memory; the same command goes on; with "
            f"OMP_NUM_THREADS=1 it is a single process, which needs less"
        ) from error
    except NoSuchKernel as error:
        raise UserError(f"{notebook.name}: Jupyter has no Python kernel here; install ipykernel") from error
    except RuntimeError as error:
        log = (folder / "kernel.log").read_text(errors="replace").strip().rpartition("\n")[2]
        raise UserError(
            f"{notebook.name}: its kernel died or does not answer ({error}); it said: {log or 'nothing'}"
        ) from error
    executed = nbformat.read(running, as_version=4)
    html, _ = HTMLExporter().from_notebook_node(executed)
    with write_atomically(folder / f"{notebook.stem}.html") as file:
        file.write(html)
    os.replace(running, folder / notebook.name)
    return [
        Shown(cell.metadata.get("tags", []), dict(output["data"]))
        for cell in executed.cells
        for output in cell.get("outputs", [])
        if "data" in output and WIDGET not in output["data"]  # a progress bar, or a field to type in
    ]


def _is_news(message: logging.LogRecord) -> bool:
    """Not that a kernel died: we say so ourselves, and one that we have stopped may well be found dead."""
    return "Kernel died" not in message.getMessage()


# ---- Without Jupyter


class Cell(NamedTuple):
    """A cell of a .py half."""

    header: str  # its "# %%" line
    line: int  # where its source begins
    source: str

    @property
    def is_code(self) -> bool:
        return "[markdown]" not in self.header

    @property
    def tags(self) -> list[str]:
        _, has_tags, listed = self.header.partition("tags=")
        return json.loads(listed) if has_tags else []


def cells_of_script(path: Path) -> list[str]:
    """The sources of all cells."""
    return [cell.source for cell in _cells(path)]


def execute_script(script: Path, size: str, folder: Path, told: Told) -> list[Shown]:
    """Cell by cell in this process; what is printed and shown is then in the folder, as text."""
    require_unchanged()
    cells, shown = [cell for cell in _cells(script) if cell.is_code], []
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(script)}
    running = folder / "running.txt"
    with explain_disk_errors(running), open(running, "w", encoding="utf-8") as text, contextlib.chdir(script.parent):
        for number, cell in enumerate(cells, start=1):
            told(number, len(cells), _first_line(cell.source))
            try:
                with contextlib.redirect_stdout(text):
                    value = _run(cell, script, names)
            except Exception as error:
                text.write(traceback.format_exc())
                raise UserError(
                    f"{script.name}, line {cell.line}, cell {number}: {type(error).__name__}: {error}\n"
                    f"  what it printed up to there is in {running}; what was finished before is kept"
                ) from error
            if "parameters" in cell.tags:
                names["size"] = size
            if value is not None:
                data = _as_data(value)
                text.write(f"{data['text/plain']}\n\n")
                shown.append(Shown(cell.tags, data))
    os.replace(running, folder / f"{script.stem}.txt")
    return shown


def _cells(path: Path) -> Iterator[Cell]:
    """The cells of a script in jupytext's percent format; what comes before the first one is for jupytext."""
    lines = path.read_text("utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield Cell(lines[start], start + 2, "\n".join(lines[start + 1 : stop]).strip("\n"))


def _run(cell: Cell, script: Path, names: dict[str, Any]) -> Any:
    """The value of the cell's last line, if that is an expression: what Jupyter would show."""
    module = ast.parse(cell.source, str(script))
    ast.increment_lineno(module, cell.line - 1)
    *_, last = module.body or [None]
    if not isinstance(last, ast.Expr):
        exec(compile(module, str(script), "exec"), names)
        return None
    exec(compile(ast.Module(module.body[:-1], []), str(script), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(script), "eval"), names)


def _as_data(value: Any) -> dict[str, str]:
    """A value as it can be kept: tables and all else as text, pictures as SVG, too."""
    as_table = getattr(value, "to_string", None)  # of pandas' tables and their styled forms
    data = {"text/plain": as_table() if as_table else repr(value)}
    if hasattr(value, "_repr_svg_"):
        data["image/svg+xml"] = value._repr_svg_()
    return data


def _first_line(source: str) -> str:
    return source.lstrip().partition("\n")[0]


PAPERMILL = Runner(".ipynb", (".ipynb", ".html"), cells_of_notebook, execute_notebook)
SCRIPTS = Runner(".py", (".txt",), cells_of_script, execute_script)
