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

import yaml

from dtglib.config import size_file
from dtglib.errors import UserError
from dtglib.files import explain_disk_errors, repository, sha256, write_atomically
from dtglib.progress import is_quiet
from dtglib.record import Run, read_record
from dtglib.registry import checksums

# A kernel that is killed for memory never answers; papermill would wait for ever.
LONGEST_CELL_SECONDS = 3 * 60 * 60


def reproduce(size: str, again: bool = False) -> None:
    """Run every notebook that is not up to date at this size, and say where things are."""
    root, config = repository(), size_file(size)
    notebooks = sorted((root / "notebooks").glob("[0-9]*.ipynb"))
    began = time.monotonic()
    for number, notebook in enumerate(notebooks, start=1):
        folder, fingerprint = root / "runs" / size / notebook.stem, _fingerprint(notebook, config)
        place = f"[{number}/{len(notebooks)}] {notebook.stem}"
        if not again and _is_up_to_date(folder, fingerprint):
            print(f"{place}: up to date")
            continue
        print(f"{place}: running", flush=True)
        started = time.monotonic()
        if folder.exists():
            with explain_disk_errors(folder):
                shutil.rmtree(folder)
        settings = yaml.safe_load(config.read_text("utf-8"))
        question = f"What does {notebook.name} find at size {size}?"
        described = {"size": size, "fingerprint": fingerprint, **settings}
        with Run(folder, question, described, seeds=[settings["seed"]], data=checksums()):
            _execute(notebook, size, folder)
        print(f"{place}: done in {time.monotonic() - started:.0f} s")
    print(f"\n{len(notebooks)} notebooks in {time.monotonic() - began:.0f} s, executed and as HTML: runs/{size}/")
    print("figures:", *sorted(path.relative_to(root) for path in (root / "figures").glob("*.svg")), sep="\n  ")


def _is_up_to_date(folder: Path, fingerprint: str) -> bool:
    if not (folder / "record.json").exists():
        return False
    try:
        record = read_record(folder)
    except UserError:
        return False  # a damaged record vouches for nothing: run again
    return record.about["status"] == "finished" and record.config.get("fingerprint") == fingerprint


def _execute(notebook: Path, size: str, folder: Path) -> None:
    # Inside: papermill takes a second to import.
    import nbformat
    import papermill
    from nbclient.exceptions import CellTimeoutError, DeadKernelError
    from nbconvert import HTMLExporter
    from papermill.exceptions import PapermillExecutionError
    from traitlets.config import Config

    running = folder / "running.ipynb"
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
                # A kernel behind TCP could be listened to, and warns of it.
                config=Config({"KernelManager": {"transport": "ipc"}}),
            )
    except PapermillExecutionError as error:
        raise UserError(
            f"{notebook.name}, cell {error.cell_index + 1}: {error.ename}: {error.evalue}\n"
            f"  the notebook up to there is {running}; what was finished before is kept"
        ) from error
    except DeadKernelError as error:
        raise UserError(
            f"{notebook.name}: its kernel died, most likely for lack of memory; free some"
        ) from error
    except CellTimeoutError as error:
        raise UserError(f"{notebook.name}: a cell ran longer than {LONGEST_CELL_SECONDS // 3600} hours") from error
    html, _ = HTMLExporter().from_notebook_node(nbformat.read(running, as_version=4))
    with write_atomically(folder / f"{notebook.stem}.html") as file:
        file.write(html)
    os.replace(running, folder / notebook.name)


def _fingerprint(notebook: Path, config: Path) -> str:
    """A checksum of all that a notebook's numbers depend on."""
    cells = [cell["source"] for cell in json.loads(notebook.read_text("utf-8"))["cells"]]
    parts = [json.dumps(cells), sha256(config), json.dumps(checksums()), *map(sha256, _package_files())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _package_files() -> Iterator[Path]:
    package = Path(__file__).parent
    return (p for p in sorted(package.rglob("*")) if p.suffix in (".py", ".yaml", ".json"))
