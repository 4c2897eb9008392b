"""A notebook, run from its first cell to its last by papermill.

    shown = execute(Path("notebooks/03_training.ipynb"), "mini", folder, "[3/9] 03_training")

sets the notebook's parameter `size`, writes the executed notebook into the folder, also as HTML, and returns the
outputs of its cells: tables and pictures, as text and SVG. The error of a failed cell names the cell.
"""

import logging
import os
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError
from dtglib.basics.files import write_atomically
from dtglib.basics.progress import is_quiet

WIDGET = "application/vnd.jupyter.widget-view+json"


class Shown(NamedTuple):
    """An output of a cell by media type, and the cell's tags."""

    tags: list[str]
    data: dict[str, str]


def execute(notebook: Path, size: str, folder: Path, label: str) -> list[Shown]:
    """Run a notebook under a bar with this label; the executed notebook, also as HTML, is then in the folder."""
    # Imported here, because papermill takes a second to import.
    import nbformat
    from nbconvert import HTMLExporter

    running = folder / "running.ipynb"
    _run(notebook, running, size, label)
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


def _kernel_manager(log: Path) -> type:
    """A class of kernels whose own messages, such as warnings at their start, go into a file."""
    from jupyter_client import AsyncKernelManager

    # Threads that wait for work would spin. With another program on one of two cores, notebook 05 then took 393 seconds
    # instead of 100; with both cores free it takes 50 either way.
    environment = {"OMP_WAIT_POLICY": "passive"} | os.environ
    environment.pop("JPY_SESSION_NAME", None)  # set if a cell of a notebook runs this command: see pictures/field.py

    class KernelManager(AsyncKernelManager):
        async def start_kernel(self, **options: Any) -> None:
            with open(log, "wb") as file:
                await super().start_kernel(stderr=file, env=environment, **options)

    return KernelManager


def _run(notebook: Path, running: Path, size: str, label: str) -> None:
    """Execute a notebook, writing its copy `running` after every cell."""
    import papermill
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    # Of a dead kernel, asyncio prints a traceback for a task that nobody awaits; its error is raised below as well.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    bar: Any = {"desc": label, "bar_format": "{desc}, cell {n_fmt}/{total_fmt} [{elapsed}]", "leave": False}
    try:
        papermill.execute_notebook(
            str(notebook),
            str(running),
            parameters={"size": size},
            cwd=str(notebook.parent),
            kernel_name="python3",
            language="python",
            progress_bar=False if is_quiet() else bar,
            kernel_manager_class=_kernel_manager(running.with_name("kernel.log")),
            execution_timeout=None,  # a cell may train for days; the death of a kernel is noticed without a limit
        )
    except PapermillExecutionError as error:
        # The index is that of the cell in the notebook, from 1: papermill has added the cell that sets the size.
        raise UserError(
            f"{notebook.name}, cell {error.cell_index}: {error.ename}: {error.evalue}\n"
            f"  the notebook up to there is {running}; what was finished before is kept"
        ) from error
    except DeadKernelError as error:
        raise UserError(
            f"{notebook.name}: its kernel died, most likely for lack of memory; the same command goes on; with "
            f"OMP_NUM_THREADS=1 it is a single process, which needs less"
        ) from error
