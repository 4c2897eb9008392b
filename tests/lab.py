"""A person in front of JupyterLab: a server, a browser without a window, and a page that is told what to do.

The browser is spoken to in the Chrome DevTools Protocol. Cells are read from the notebook's model, since JupyterLab
draws only those in view; pictures and widgets are read from the page, where a reader sees them.
"""

import base64
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import websocket

# JupyterLab asks whether it may fetch news, in a box that lies over the page.
NO_NEWS = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}

# Not waited for on the page, where a dialog may stand in the way for ever.
OPEN = """void jupyterapp.restored
    .then(() => jupyterapp.commands.execute('docmanager:open', {path: %s, factory: 'Notebook'}))
    .then(panel => panel.context.ready.then(() => { window.notebook = panel; }))"""
IS_OPEN = "window.notebook?.context.path === %s"
IS_IDLE = "notebook.sessionContext.session?.kernel?.status === 'idle'"
STATE = """document.querySelector('.jp-Dialog')?.innerText
    ?? `the kernel is ${window.notebook?.sessionContext.session?.kernel?.status}`"""
# What the file holds is no evidence of what runs.
CLEAR = "jupyterapp.commands.execute('notebook:clear-all-cell-outputs')"
RUN_ALL = "void jupyterapp.commands.execute('notebook:run-all-cells')"
CELLS = """notebook.model.sharedModel.cells.map(cell => cell.toJSON()).flatMap((cell, index) => {
    const source = [cell.source].flat().join(''), outputs = cell.outputs ?? [];
    const errors = outputs.filter(output => output.output_type === 'error');
    const types = outputs.flatMap(output => Object.keys(output.data ?? {}));
    const error = errors.map(output => `${output.ename}: ${output.evalue}`)[0] ?? null;
    const is_code = cell.cell_type === 'code' && source.trim();
    return is_code ? [{index, source, types, error, has_run: cell.execution_count != null}] : [];
})"""
# A picture counts where nothing lies over it: what stands at its centre is the picture.
# JupyterLab draws the cells below when it is idle, and does not scroll to one that is not drawn: this one is drawn now.
LOOK = """(async (index) => {
    const cell = notebook.content.widgets[index];
    notebook.content.renderCellOutputs(index);
    await cell.ready;
    await notebook.content.scrollToItem(index, 'center');
    const output = cell.node.querySelector('.jp-Cell-outputWrapper');
    output.scrollIntoView({block: 'center'});
    await new Promise(done => setTimeout(done, 300));
    const pictures = [...output.querySelectorAll('.jp-OutputArea-output :is(img, svg)')].flatMap(picture => {
        const {x, y, width, height} = picture.getBoundingClientRect();
        const is_seen = picture.contains(document.elementFromPoint(x + width / 2, y + height / 2));
        return is_seen ? [[width, height]] : [];
    });
    return {text: output.innerText, pictures, widgets: output.querySelectorAll('.jupyter-widgets').length};
})(%d)"""


class Cell(NamedTuple):
    """A code cell of a notebook: the media types of its outputs, and the error that ended it."""

    index: int
    source: str
    types: list[str]
    error: str | None
    has_run: bool


class Shown(NamedTuple):
    """The output of a cell as it stands on the page; of pictures in plain sight, width and height."""

    text: str
    pictures: list[tuple[float, float]]
    widgets: int


class Lab:
    """A page of the browser, with JupyterLab in it."""

    def __init__(self, address: str) -> None:
        # The browser turns away whoever says that he comes from another page.
        self.socket = websocket.create_connection(address, timeout=60, suppress_origin=True)
        self.asked, self.session = 0, {}
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = {"sessionId": self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]}

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.asked += 1
        self.socket.send(json.dumps({"id": self.asked, "method": method, "params": parameters} | self.session))
        while (answer := json.loads(self.socket.recv())).get("id") != self.asked:
            pass  # the browser tells of itself, too
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def value(self, javascript: str) -> Any:
        """What an expression comes to on the page; a promise is waited for."""
        answer = self.ask("Runtime.evaluate", expression=javascript, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{answer['exceptionDetails']['exception'].get('description')}\nin {javascript}")
        return answer["result"].get("value")

    def visit(self, address: str, comes_up: str = "'jupyterapp' in window") -> None:
        """Open a page, and wait until an expression is true on it."""
        self.ask("Page.navigate", url=address)
        wait(lambda: self.value(comes_up), 60, f"{address} to come up in the browser")

    def open(self, path: str) -> None:
        """Open a notebook with its stored outputs, and wait for its kernel."""
        name = json.dumps(path)
        self.value(OPEN % name)
        ready = f"{IS_OPEN % name} && {IS_IDLE}"
        wait(lambda: self.value(ready), 60, f"{path} to open and its kernel to start", lambda: self.value(STATE))

    def run_all(self, seconds: float = 120) -> list[Cell]:
        """Run all cells, without their stored outputs, until they have run or one has failed."""

        def have_ended() -> bool:
            cells = self.cells()
            have_run = all(cell.has_run for cell in cells) and self.value(IS_IDLE)
            return have_run or any(cell.error for cell in cells)

        self.value(CLEAR)
        self.value(RUN_ALL)
        wait(have_ended, seconds, "all cells to run", lambda: self.value(STATE))
        return self.cells()

    def cells(self) -> list[Cell]:
        return [Cell(**cell) for cell in self.value(CELLS)]

    def look(self, cell: Cell) -> Shown:
        """Bring the output of a cell into view."""
        return Shown(**self.value(LOOK % cell.index))

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))


@contextmanager
def jupyterlab(folder: Path, home: Path) -> Iterator[str]:
    """A server of the notebooks in a folder, with all that is its own in `home`; the address of its JupyterLab."""
    (home / "config/labconfig").mkdir(parents=True)
    (home / "config/labconfig/page_config.json").write_text(json.dumps(NO_NEWS))
    places = {f"JUPYTER_{kind.upper()}_DIR": str(home / kind) for kind in ("config", "data", "runtime")}
    command = [sys.executable, "-m", "jupyterlab", str(folder), "--no-browser", "--allow-root", "--port=0"]
    command += ["--LabApp.expose_app_in_browser=True", f"--IdentityProvider.token={secrets.token_hex()}"]

    def info() -> dict[str, Any]:
        return next(json.loads(file.read_text()) for file in (home / "runtime").glob("jpserver-*.json"))

    with running(command, home, info, IPYTHONDIR=str(home / "ipython"), **places) as server:
        yield f"http://127.0.0.1:{server['port']}/lab?token={server['token']}"


@contextmanager
def browser(home: Path) -> Iterator[Lab]:
    """A page of a browser that keeps its files in `home` and asks nobody on other machines."""
    options = "headless no-sandbox disable-gpu disable-dev-shm-usage disable-background-networking no-proxy-server"
    options += " remote-debugging-port=0 window-size=1400,1100"

    def port_and_path() -> tuple[str, str]:
        port, path = (home / "DevToolsActivePort").read_text().split()
        return port, path

    command = [find_browser(), *(f"--{option}" for option in options.split()), f"--user-data-dir={home}"]
    with running(command, home, port_and_path, HOME=str(home)) as (port, path):
        page = Lab(f"ws://127.0.0.1:{port}{path}")
        with contextlib.closing(page.socket):
            yield page


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def running(command: list[str], home: Path, says: Callable[[], Any], **variables: str) -> Iterator[Any]:
    """What a process `says` as soon as it is ready; it and its children are gone when the block ends."""
    home.mkdir(parents=True, exist_ok=True)
    log, environment = home / "log", {name: value for name, value in os.environ.items() if name != "DTG_DATA"}
    with open(log, "wb") as out:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment | variables,
            start_new_session=True,
        )

    def is_ready() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} has ended:\n{log.read_text(errors='replace')[-2000:]}")
        # Not yet written, or half.
        with contextlib.suppress(FileNotFoundError, StopIteration, ValueError):
            return bool(says())
        return False

    try:
        wait(is_ready, 60, f"{' '.join(command[:3])} to start")
        yield says()
    finally:
        process.terminate()  # kindly at first: the server has to end its kernels
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait(is_so: Callable[[], Any], seconds: float, what: str, instead: Callable[[], Any] = lambda: None) -> None:
    """Until something is so; the error says what was waited for, and what is the case `instead`."""
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}; instead: {instead()}")
        time.sleep(0.3)
