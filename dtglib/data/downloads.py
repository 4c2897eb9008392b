"""Download the public data from its official servers: files are checked, and appear whole or not at all.

registry.py says which files are downloaded, and how to check them. The official bytes of a missing file are converted
to our form and checked, and only then written:

    fetch()                   downloads missing files into the data folder and returns one FileResult per file
    print(summary(fetch()))   127 files: 126 already there, 0 put in by hand, 1 fetched, 0 failed

A file that somebody put in by hand in its official form is converted and checked like a downloaded one.
"""

import http.client
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from dtglib.basics.errors import UserError
from dtglib.basics.files import only_one_process, write_atomically
from dtglib.basics.progress import progress
from dtglib.data.corpora import readers_of_papers
from dtglib.data.registry import BASE_URL, RECIPES, REGISTRY, DataFile, data_folder, digest, is_right, read_registry

# The collections that are fetched by default. The pairs of `sts` are fetched by name only: some of them come with a
# licence of Microsoft Research that users must agree to. So is `nltk`: the Brown corpus is not for commercial purposes.
COLLECTIONS = ("ud-english", "blimp", "sg", "reading")

TIMEOUT = 20  # seconds until a silent server counts as unreachable

THERE, BY_HAND, FETCHED, FAILED = "already there", "put in by hand", "fetched", "failed"


class FileProblem(UserError):
    """This file cannot be fetched, but other files may be."""


class NoConnection(UserError):
    """The server was not reached at all, so no other file can be fetched either."""


class FileResult(NamedTuple):
    """The outcome for one file: THERE, BY_HAND, FETCHED or FAILED; `why` explains a failure."""

    outcome: str
    why: str = ""


# --- one file ----------------------------------------------------------------------------------------------------


def obtain(entry: DataFile, folder: Path, timeout: int | float) -> str:
    """Make sure that the file is in its place below `folder`; return the outcome."""
    target = folder / entry.path
    if is_right(entry, target):
        return THERE
    with only_one_process(folder, f"fetches into {folder}"):
        if is_right(entry, target):  # another process fetched it while this one waited
            return THERE
        if target.exists():
            put_in_place(entry, target, target.read_bytes(), "delete it and run the same command again")
            return BY_HAND
        try:
            official = download(entry.url, timeout)
        except (FileProblem, NoConnection) as problem:
            raise type(problem)(f"{problem}; or {by_hand(entry, target)}") from problem
        put_in_place(entry, target, official, f"run the same command again, or {by_hand(entry, target)}")
        return FETCHED


def put_in_place(entry: DataFile, target: Path, official: bytes, way_out: str) -> None:
    """Convert the official file to our form, check it, and only then write it."""
    try:
        content = RECIPES[entry.recipe](official)
        actual = digest(entry, content)
    except ValueError as error:  # not even JSON: the login page of a hotel, say
        actual = f"something else ({error})"
    if actual != entry.digest:
        raise FileProblem(f"{target}: wrong file: expected {entry.digest}, found {actual}; {way_out}")
    with write_atomically(target, binary=True) as file:
        file.write(content)


def by_hand(entry: DataFile, target: Path) -> str:
    """Advice for a message: how to get the file without this download."""
    return (
        f"fetch {entry.url} in another way, save it in the folder {target.parent.resolve()} under the name "
        f"{target.name}, and run the same command again: it checks the file and converts it"
    )


# --- the connection ----------------------------------------------------------------------------------------------


def download(url: str, timeout: int | float) -> bytes:
    """The bytes of a file."""
    request = Request(url, headers={"User-Agent": "dtglib", "Accept-Encoding": "identity"})
    try:
        with urlopen(request, timeout=timeout) as reply:
            return reply.read()
    except HTTPError as error:
        if error.code in (408, 429) or error.code >= 500:
            raise FileProblem(f"{url}: the server is busy ({error.code} {error.reason}); try again later") from error
        raise FileProblem(f"{url}: the server has no such file ({error.code} {error.reason})") from error
    except URLError as error:
        raise NoConnection(
            f"{request.host} cannot be reached ({error.reason}): check the network, or the proxy in the variable "
            f"https_proxy, and run the same command again; files that arrived are kept"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise FileProblem(f"{url}: the connection broke off ({reason}); run the same command again") from error


# --- all files ---------------------------------------------------------------------------------------------------


def fetch(
    names: Sequence[str] = COLLECTIONS,
    folder: str | Path | None = None,
    registry: Path = REGISTRY,
    base_url: str = BASE_URL,
    timeout: int | float = TIMEOUT,
) -> list[FileResult]:
    """Download the named collections into `folder` (by default, the data folder). Right files are kept.

    A file that cannot be fetched does not stop the others: its outcome is FAILED. A problem that would
    stop every file (no network, a full disk, no permission) is a UserError. A paper's own collections are fetched last,
    in its own way.
    """
    folder = Path(folder or data_folder())
    known = read_registry(registry, base_url)
    of_papers = {name: get for readers in readers_of_papers() for name, get in readers.fetches.items()}
    if unknown := [name for name in names if name not in known and name not in of_papers]:
        raise UserError(f"unknown collection {unknown[0]!r}; known are {', '.join([*known, *of_papers])}")
    results, entries = [], [entry for name in names for entry in known.get(name, ())]
    for entry in progress(entries, f"data in {folder}", "file") if entries else ():
        try:
            results.append(FileResult(obtain(entry, folder, timeout)))
        except FileProblem as problem:
            results.append(FileResult(FAILED, str(problem)))
    return results + [result for name in names if name in of_papers for result in of_papers[name]()]


def summary(results: Iterable[FileResult]) -> str:
    """One line with the number of each outcome, and one line for every file that failed."""
    results = list(results)
    outcomes = Counter(result.outcome for result in results)
    counts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in (THERE, BY_HAND, FETCHED, FAILED))
    return "\n".join([f"{len(results)} files: {counts}", *(result.why for result in results if result.why)])
