"""The works of the corpus `books`: which they are, and their archives in the data folder.

    data/books/raw/openstax/osbooks-physics.tar.xz      the text files of openstax/osbooks-physics at one commit

A repository holds gigabytes of pictures, so `git` fetches the text files alone: a partial clone, without contents,
and a sparse checkout, which then asks for the contents of those files. A work is fetched whole or not at all, so that
an interrupted `dtglib data books` goes on where it was.
"""

import csv
import functools
import hashlib
import io
import lzma
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtglib.basics.files import only_one_process, write_atomically
from dtglib.basics.progress import progress
from dtglib.data.downloads import FAILED, FETCHED, THERE, FileProblem, FileResult, NoConnection
from dtglib.data.registry import data_folder

BASE_URL = "https://github.com"
PATTERNS = {
    "openstax": ("/LICENSE", "/collections/*.collection.xml", "/modules/*/index.cnxml"),
    "standardebooks": ("/LICENSE.md", "/src/epub/content.opf", "/src/epub/toc.xhtml", "/src/epub/text/*.xhtml"),
}


class Work(NamedTuple):
    """A book, or several editions of a textbook in one repository."""

    repository: str
    commit: str
    title: str
    author: str
    year: str
    licence: str
    words: str  # in its paragraphs, by the corpus's own extraction
    digest: str  # of all files

    @property
    def source(self) -> str:
        return self.repository.partition("/")[0]

    @property
    def name(self) -> str:
        return self.repository.partition("/")[2]

    @property
    def archive(self) -> str:
        """The path of the archive below the data folder."""
        return f"books/raw/{self.source}/{self.name}.tar.xz"


@functools.cache
def all_works() -> tuple[Work, ...]:
    """The works in the order of works.tsv."""
    with open(Path(__file__).with_name("works.tsv"), encoding="utf-8", newline="") as file:
        return tuple(map(Work._make, list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]))


def files_of(work: Work, folder: Path | None = None) -> dict[str, bytes]:
    """The files of a work, by their paths in its repository."""
    path = (folder or data_folder()) / work.archive
    if not path.is_file():
        raise UserError(f"{path}: {work.title} is missing; run `dtglib data books`, or set DTG_DATA")
    try:
        with tarfile.open(path) as archive:
            return {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}  # type: ignore[union-attr]
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise FileProblem(f"{path}: is damaged ({error}); delete it and fetch it again") from error


def digest(files: Mapping[str, bytes]) -> str:
    """A checksum of the names and contents of files."""
    lines = (f"{name} {hashlib.sha256(files[name]).hexdigest()}\n" for name in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def fetch_works(
    works: Iterable[Work] | None = None, folder: Path | None = None, base_url: str = BASE_URL
) -> list[FileResult]:
    """Fetch the archives that are missing; one that is wrong or cannot be fetched is reported, and stops no other."""
    folder, results = folder or data_folder(), []
    for work in progress(list(all_works() if works is None else works), f"books in {folder}", "work"):
        try:
            results.append(FileResult(_obtain(work, folder, f"{base_url}/{work.repository}")))
        except FileProblem as problem:
            results.append(FileResult(FAILED, str(problem)))
    return results


def _obtain(work: Work, folder: Path, url: str) -> str:
    path = folder / work.archive
    if not path.is_file():
        with only_one_process(folder, f"fetches into {folder}"), tempfile.TemporaryDirectory() as checkout:
            if not path.is_file():  # another process may have fetched it
                files = _checkout(Path(checkout), url, work)
                if (actual := digest(files)) != work.digest:
                    raise FileProblem(f"{url}: wrong files at {work.commit}: expected {work.digest}, found {actual}")
                with write_atomically(path, binary=True) as file:
                    file.write(_packed(files))
                return FETCHED
    if digest(files_of(work, folder)) == work.digest:
        return THERE
    raise FileProblem(f"{path}: not the files of {work.repository} at {work.commit}; delete it and fetch it again")


def _checkout(checkout: Path, url: str, work: Work) -> dict[str, bytes]:
    """The text files of a repository at the work's commit."""

    def git(*arguments: str) -> None:
        as_stored = ["-c", "core.autocrlf=false", "-c", "core.eol=lf"]  # whatever the user's settings say of line ends
        run = subprocess.run(["git", *as_stored, "-C", checkout, *arguments], capture_output=True, text=True)
        if run.returncode:
            reason = run.stderr.strip().rpartition("\n")[2]
            kind = NoConnection if "resolve host" in reason or "onnect" in reason else FileProblem
            raise kind(f"{url}: git {arguments[0]} failed ({reason}); run the same command again: what arrived is kept")

    try:
        git("init", "--quiet")
    except FileNotFoundError:
        raise UserError("the books are fetched with git: install git (2.27 or newer)") from None
    git("sparse-checkout", "set", "--no-cone", *PATTERNS[work.source])
    git("remote", "add", "origin", url)
    git("fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", work.commit)
    git("checkout", "--quiet", "FETCH_HEAD")
    paths = (path for path in checkout.rglob("*") if path.is_file())
    named = {path.relative_to(checkout).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in named.items() if not name.startswith(".git/")}


def _packed(files: Mapping[str, bytes]) -> bytes:
    """A tar.xz of files; the same files give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", format=tarfile.USTAR_FORMAT, preset=6) as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(name)
            member.size = len(files[name])
            archive.addfile(member, io.BytesIO(files[name]))
    return packed.getvalue()
