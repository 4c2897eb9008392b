"""A notebook, run from its first cell to its last by papermill.

    shown = execute(Path("notebooks/03_training.ipynb"), "mini", folder, told)

sets the notebook's parameter `size`, calls `told` before each cell, writes the executed notebook into the folder, also
as HTML, and returns the outputs of its cells: tables and pictures, as text and SVG. The error of a failed cell names
the cell; a cell that is interrupted has time to save its work.
"""

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

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


def cells_of(path: Path) -> list[str]:
    """The sources of all cells of a notebook."""
    try:
        return ["".join(cell["source"]) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a notebook ({error}); make it again with `make notebooks`") from error


def execute(notebook: Path, size: str, folder: Path, told: Told) -> list[Shown]:
    """Run a notebook; the executed notebook, also as HTML, is then in the folder."""
    # Imported here, because papermill takes a second to import.
    import nbformat
    from nbconvert import HTMLExporter

    running = folder / "running.ipynb"
    _run(notebook, running, size, _Position(told, len(cells_of(notebook))))
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
            self.told(self.number(cell_index), self.count, cell["source"].lstrip().partition("\n")[0])


def _run(notebook: Path, running: Path, size: str, position: _Position) -> None:
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
