"""The reproduction: the notebooks, run in order by papermill, each once.

    dtglib reproduce --size mini

runs `notebooks/NN_name.ipynb` with its parameter `size` set. The folder `runs/mini/NN_name/` then holds the executed
notebook, the same as HTML, and the record of the run (record.py): config, commit, versions, hardware, time.

A notebook is up to date as long as nothing that its numbers depend on has changed: its own cells, the size's config,
the package, and which data there are; then it is skipped, so what was stopped goes on where it was. What is being run
is `running.ipynb`, and the record says "finished" only at the end, so nothing half-done looks done.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dtglib.config import as_dict
from dtglib.errors import UserError
from dtglib.files import explain_disk_errors, only_one_process, repository, sha256, write_atomically
from dtglib.progress import is_quiet
from dtglib.record import Run, read_record
from dtglib.registry import checksums
from dtglib.settings import read_size

# A kernel that is killed for memory never answers; papermill would wait for ever.
LONGEST_CELL_SECONDS = 3 * 60 * 60


def reproduce(size: str, again: bool = False) -> None:
    """Run every notebook that is not up to date at this size, and say where things are."""
    settings, root = as_dict(*read_size(size)), repository()
    notebooks = _notebooks(root / "notebooks")
    began = time.monotonic()
    with only_one_process(root / "runs" / size, f"reproduces size {size}"):
        for number, notebook in enumerate(notebooks, start=1):
            folder = root / "runs" / size / notebook.stem
            config = {"size": size, "up to date as": _state(notebook, settings), **settings}
            place = f"[{number}/{len(notebooks)}] {notebook.stem}"
            if not again and _is_up_to_date(folder, config):
                print(f"{place}: up to date")
                continue
            print(f"{place}: running", flush=True)
            started = time.monotonic()
            if folder.exists():
                with explain_disk_errors(folder):
                    shutil.rmtree(folder)
            question = f"What does {notebook.name} find at size {size}?"
            with Run(folder, question, config, seeds=[settings["seed"]], data=checksums()):
                _execute(notebook, size, folder)
            print(f"{place}: done in {time.monotonic() - started:.0f} s")
    print(f"\n{time.monotonic() - began:.0f} s in all; the notebooks, executed and as HTML, are in runs/{size}/")
    print("figures:", *sorted(path.relative_to(root) for path in (root / "figures").glob("*.svg")), sep="\n  ")


def _notebooks(folder: Path) -> list[Path]:
    """The notebooks in their order; papermill runs the .ipynb halves, so each must have one."""
    pairs = [script.with_suffix(".ipynb") for script in sorted(folder.glob("[0-9]*.py"))]
    if not pairs:
        raise UserError(f"{folder}: holds no notebooks")
    if missing := [pair.name for pair in pairs if not pair.is_file()]:
        raise UserError(f"{folder}: {', '.join(missing)} must be made from the .py half first: run `make notebooks`")
    return pairs


def _is_up_to_date(folder: Path, config: dict[str, Any]) -> bool:
    if not (folder / "record.json").exists() or not (folder / f"{folder.name}.ipynb").exists():
        return False
    try:
        record = read_record(folder)
    except UserError:
        return False  # a damaged record vouches for nothing: run again
    return record.about["status"] == "finished" and record.config == config


def _execute(notebook: Path, size: str, folder: Path) -> None:
    # Inside: papermill takes a second to import.
    import nbformat
    import papermill
    from jupyter_client import AsyncKernelManager
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from nbconvert import HTMLExporter
    from papermill.exceptions import PapermillExecutionError

    running = folder / "running.ipynb"

    class KernelManager(AsyncKernelManager):
        """What a kernel says outside of its notebook, as when it is interrupted, goes into a file beside it."""

        async def start_kernel(self, **options: Any) -> None:
            with open(folder / "kernel.log", "wb") as log:
                await super().start_kernel(stderr=log, **options)

    try:
        with explain_disk_errors(running):
            papermill.execute_notebook(
                str(notebook),
                str(running),
                parameters={"size": size},
                cwd=str(notebook.parent),
                kernel_name="python3",
                language="python",
                progress_bar=not is_quiet(),
                execution_timeout=LONGEST_CELL_SECONDS,
                kernel_manager_class=KernelManager,
            )
    except PapermillExecutionError as error:
        raise UserError(
            f"{notebook.name}, cell {error.cell_index + 1}: {error.ename}: {error.evalue}\n"
            f"  the notebook up to there is {running}; what was finished before is kept"
        ) from error
    except DeadKernelError as error:
        raise UserError(f"{notebook.name}: its kernel died, most likely for lack of memory; free some") from error
    except CellTimeoutError as error:
        raise UserError(f"{notebook.name}: a cell ran longer than {LONGEST_CELL_SECONDS // 3600} hours") from error
    html, _ = HTMLExporter().from_notebook_node(nbformat.read(running, as_version=4))
    with write_atomically(folder / f"{notebook.stem}.html") as file:
        file.write(html)
    os.replace(running, folder / notebook.name)


def _state(notebook: Path, settings: dict[str, Any]) -> str:
    """A checksum of all that a notebook's numbers depend on."""
    try:
        cells = [cell["source"] for cell in json.loads(notebook.read_text("utf-8"))["cells"]]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{notebook}: not a notebook ({error}); make it again with `make notebooks`") from error
    parts = [json.dumps([cells, settings, checksums()]), *map(sha256, _package_files())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _package_files() -> Iterator[Path]:
    package = Path(__file__).parent
    return (p for p in sorted(package.rglob("*")) if p.suffix in (".py", ".yaml", ".json", ".csv"))
