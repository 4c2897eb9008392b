"""Two ways to run a notebook from its first cell to its last: in Jupyter by papermill, or cell by cell as a script.

    shown = PAPERMILL.execute(Path("notebooks/03_training.ipynb"), "mini", folder, told)
    shown = SCRIPTS.execute(Path("notebooks/03_training.py"), "mini", folder, told)       needs no Jupyter

Both set the notebook's parameter `size`, call `told` before each cell, write the executed notebook into the folder, and
return the outputs of its cells: tables and pictures, as text and SVG. The error of a failed cell names the cell; a cell
that is interrupted has time to save its work.

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

from dtglib.basics.code import require_unchanged
from dtglib.basics.errors import UserError
from dtglib.basics.files import explain_disk_errors, write_atomically

SECONDS_TO_SAVE = 300  # for a kernel that is interrupted while it runs a cell
# A kernel that runs no cell has nothing to save. (A test once took 154 s: most likely a kernel had missed the request
# to end, and half of 300 s passed until it was killed.)
SECONDS_TO_END = 10

WIDGET = "application/vnd.jupyter.widget-view+json"

# Called with the number of the cell that begins (from 1), the number of cells, and the cell's first line.
Told = Callable[[int, int, str], None]


class Shown(NamedTuple):
    """An output of a cell by media type, and the cell's tags."""

    tags: list[str]
    data: dict[str, str]


class Runner(NamedTuple):
    """A way to run notebooks."""

    suffix: str  # of the half of the notebook that it runs
    results: tuple[str, ...]  # the suffixes of the files that it leaves at the end
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
    """Execute by papermill; the executed notebook, also as HTML, is then in the folder."""
    # Imported here, because papermill takes a second to import.
    import nbformat
    from nbconvert import HTMLExporter

    running = folder / "running.ipynb"
    _by_papermill(notebook, running, size, _Position(told, len(cells_of_notebook(notebook))))
    executed = nbformat.read(running, as_version=4)
    html, _ = HTMLExporter().from_notebook_node(executed)
    with write_atomically(folder / f"{notebook.stem}.html") as file:
        file.write(html)
    os.replace(running, folder / notebook.name)
    return [
        Shown(cell.metadata.get("tags", []), dict(output["data"]))
        for cell in executed.cells
        for output in cell.get("outputs", [])
        if "data" in output and WIDGET not in output["data"]  # a progress bar, or an input field
    ]


class _Position:
    """Reports the cell that begins; papermill also counts a cell of its own, which sets the parameters."""

    def __init__(self, told: Told, count: int) -> None:
        self.told, self.count, self.injected = told, count, 0

    def number(self, index: int) -> int:
        """The number of a cell in the notebook, from its index in papermill's copy."""
        return index + 1 - self.injected

    def started(self, cell: Any, cell_index: int) -> None:
        if "injected-parameters" in cell["metadata"].get("tags", []):
            self.injected = 1
        else:
            self.told(self.number(cell_index), self.count, _first_line(cell["source"]))


def _by_papermill(notebook: Path, running: Path, size: str, position: _Position) -> None:
    """Execute a notebook, writing its copy `running` after every cell."""
    import papermill

    manager = _kernel_manager(running.with_name("kernel.log"))

    def executing(**cell: Any) -> None:
        manager.shutdown_wait_time = SECONDS_TO_SAVE

    def executed(**cell: Any) -> None:
        manager.shutdown_wait_time = SECONDS_TO_END

    for name in ("papermill", "asyncio"):
        logging.getLogger(name).addFilter(_is_news)
    with _errors_explained(notebook, running, position), explain_disk_errors(running):
        papermill.execute_notebook(
            str(notebook),
            str(running),
            parameters={"size": size},
            cwd=str(notebook.parent),
            kernel_name="python3",
            language="python",
            progress_bar=False,
            execution_timeout=None,  # a cell may train for days; the death of a kernel is noticed without a limit
            kernel_manager_class=manager,
            on_cell_start=position.started,
            on_cell_execute=executing,
            on_cell_executed=executed,
        )


def _kernel_manager(log: Path) -> type:
    """A class of kernels whose messages outside of cells, such as those at an interruption, go into a file."""
    from jupyter_client import AsyncKernelManager

    class KernelManager(AsyncKernelManager):
        shutdown_wait_time = SECONDS_TO_END

        async def start_kernel(self, **options: Any) -> None:
            with open(log, "wb") as file:
                await super().start_kernel(stderr=file, **options)

    return KernelManager


@contextlib.contextmanager
def _errors_explained(notebook: Path, running: Path, position: _Position) -> Iterator[None]:
    """Turn errors of papermill and of the kernel into messages that say what to do."""
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    try:
        yield
    except PapermillExecutionError as error:
        raise UserError(
            f"{notebook.name}, cell {position.number(error.cell_index)}: {error.ename}: {error.evalue}\n"
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
        log = running.with_name("kernel.log").read_text(errors="replace").strip().rpartition("\n")[2]
        raise UserError(
            f"{notebook.name}: its kernel died or does not answer ({error}); it said: {log or 'nothing'}"
        ) from error


def _is_news(message: logging.LogRecord) -> bool:
    """Drop messages that a kernel died: we report that ourselves, unless we have stopped the kernel."""
    return "Kernel died" not in message.getMessage()


# ---- Without Jupyter


class Cell(NamedTuple):
    """A cell of a .py half."""

    header: str  # its "# %%" line
    line: int  # the line in which its source begins
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
    """Execute cell by cell in this process; printed text and outputs are then in the folder, as text."""
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
    """The cells of a script in jupytext's percent format; the lines before the first one are jupytext's header."""
    lines = path.read_text("utf-8").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("# %%")]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield Cell(lines[start], start + 2, "\n".join(lines[start + 1 : stop]).strip("\n"))


def _run(cell: Cell, script: Path, names: dict[str, Any]) -> Any:
    """Run a cell; returns the value of its last line if that is an expression, as Jupyter would show it."""
    module = ast.parse(cell.source, str(script))
    ast.increment_lineno(module, cell.line - 1)
    *_, last = module.body or [None]
    if not isinstance(last, ast.Expr):
        exec(compile(module, str(script), "exec"), names)
        return None
    exec(compile(ast.Module(module.body[:-1], []), str(script), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(script), "eval"), names)


def _as_data(value: Any) -> dict[str, str]:
    """A value as text and, if it is a picture, as SVG."""
    as_table = getattr(value, "to_string", None)  # of pandas' tables and their styled forms
    data = {"text/plain": as_table() if as_table else repr(value)}
    if hasattr(value, "_repr_svg_"):
        data["image/svg+xml"] = value._repr_svg_()
    return data


def _first_line(source: str) -> str:
    return source.lstrip().partition("\n")[0]


PAPERMILL = Runner(".ipynb", (".ipynb", ".html"), cells_of_notebook, execute_notebook)
SCRIPTS = Runner(".py", (".txt",), cells_of_script, execute_script)
