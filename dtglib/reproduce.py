"""The reproduction: the notebooks, run in order by papermill, each once.

    dtglib reproduce --size mini

runs `notebooks/NN_name.ipynb` with its parameter `size` set and keeps it, executed, as `runs/mini/NN_name.ipynb` and
`.html`. A notebook is up to date as long as nothing that its numbers depend on has changed: its own cells, the size's
config, the package, and which data there is; then it is skipped, so a run that was stopped goes on where it was.
What is being run is `NN_name.running.ipynb` and gets its name only at the end, so nothing half-done looks done.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from dtglib.config import size_file
from dtglib.errors import UserError
from dtglib.files import explain_disk_errors, repository, sha256, write_atomically
from dtglib.progress import is_quiet

# A kernel that is killed for memory never answers; papermill would wait for ever.
LONGEST_CELL_SECONDS = 3 * 60 * 60


def reproduce(size: str, again: bool = False) -> None:
    """Run every notebook that is not up to date at this size, and say where things are."""
    root, config = repository(), size_file(size)
    notebooks = sorted((root / "notebooks").glob("[0-9]*.ipynb"))
    folder = root / "runs" / size
    began = time.monotonic()
    for number, notebook in enumerate(notebooks, start=1):
        done, fingerprint = folder / f"{notebook.stem}.done", _fingerprint(notebook, config)
        place = f"[{number}/{len(notebooks)}] {notebook.stem}"
        if not again and done.is_file() and done.read_text("utf-8").strip() == fingerprint:
            print(f"{place}: up to date")
            continue
        print(f"{place}: running", flush=True)
        started = time.monotonic()
        _run(notebook, size, folder)
        with write_atomically(done) as file:
            file.write(f"{fingerprint}\n")
        print(f"{place}: done in {time.monotonic() - started:.0f} s")
    print(f"\n{len(notebooks)} notebooks in {time.monotonic() - began:.0f} s, executed and as HTML: runs/{size}/")
    print("figures:", *sorted(path.relative_to(root) for path in (root / "figures").glob("*.svg")), sep="\n  ")


def _run(notebook: Path, size: str, folder: Path) -> None:
    # Inside: papermill takes a second to import.
    import nbformat
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from nbconvert import HTMLExporter
    from papermill.exceptions import PapermillExecutionError

    running, executed = folder / f"{notebook.stem}.running.ipynb", folder / notebook.name
    with explain_disk_errors(running):
        folder.mkdir(parents=True, exist_ok=True)
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
            )
    except PapermillExecutionError as error:
        raise UserError(
            f"{notebook}, cell {error.cell_index + 1}: {error.ename}: {error.evalue}\n"
            f"  the notebook up to there is {running}; what was finished before is kept"
        ) from error
    except DeadKernelError as error:
        raise UserError(f"{notebook}: its kernel died, most likely for lack of memory; free some and go on") from error
    except CellTimeoutError as error:
        raise UserError(f"{notebook}: a cell ran longer than {LONGEST_CELL_SECONDS // 3600} hours") from error
    html, _ = HTMLExporter().from_notebook_node(nbformat.read(running, as_version=4))
    with write_atomically(executed.with_suffix(".html")) as file:
        file.write(html)
    os.replace(running, executed)


def _fingerprint(notebook: Path, config: Path) -> str:
    """A checksum of all that a notebook's numbers depend on."""
    cells = [cell["source"] for cell in json.loads(notebook.read_text("utf-8"))["cells"]]
    parts = [json.dumps(cells), sha256(config), os.environ.get("DTG_DATA", ""), *map(sha256, _package_files())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _package_files() -> Iterator[Path]:
    package = Path(__file__).parent
    return (p for p in sorted(package.rglob("*")) if p.suffix in (".py", ".yaml", ".json"))
