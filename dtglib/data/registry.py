"""The public data: its files, their sources and licences, and the check that a file is the right one.

`registry.json`, beside this file, lists them by repository and commit, so that no file can change unnoticed. A paper
may list files of its own. Two fields of the registry need an explanation.

The *recipe* converts the official file to our form. Test suites are kept unchanged, BLiMP keeps seven fields of each
pair, treebanks lose the comments that this package does not read. A recipe leaves its own result unchanged.

The *digest* is a checksum of the result. `sha256:` is the checksum of its bytes, and `size` their number. `trees:`
covers only the trees: some treebanks exist in two orders, with other comments and features, and both are right. In

    # text = There is a difference
    1   There        ...   2   expl    ...
    2   is           ...   0   root    ...
    3   a            ...   4   det     ...
    4   difference   ...   2   nsubj   ...

it covers (1 There 2 expl), (2 is 0 root), (3 a 4 det), (4 difference 2 nsubj), and it sorts the sentences.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.files import find_repository, sha256

REGISTRY = Path(__file__).with_name("registry.json")
BASE_URL = "https://raw.githubusercontent.com"


class DataFile(NamedTuple):
    """A file of the registry."""

    path: str  # below the data folder
    url: str
    recipe: str
    size: int
    digest: str
    licence: str


def data_folder() -> Path:
    """The folder of the public data: `$DTG_DATA`, or `data/`.

    Inside a repository, a relative path is relative to it, so that notebooks/ have the same folder.
    """
    return (find_repository() or Path()) / (os.environ.get("DTG_DATA") or "data")


def checksum_of(collection: str) -> str | None:
    """A checksum of a collection's files as they are, for records of runs; None unless all of them exist."""
    paths = [*map(data_folder().joinpath, (entry.path for entry in read_registry()[collection]))]
    if not all(path.is_file() for path in paths):
        return None
    return hashlib.sha256("\n".join(f"sha256:{sha256(path)}" for path in paths).encode()).hexdigest()


def read_registry(path: Path = REGISTRY, base_url: str = BASE_URL) -> dict[str, list[DataFile]]:
    """The files of each collection."""
    return {
        name: [
            DataFile(
                path=f"{source['to']}/{file['name']}",
                url=f"{base_url}/{source['repository']}/{source['commit']}/{source['from']}{file['name']}",
                recipe=file["recipe"],
                size=file["size"],
                digest=file["digest"],
                licence=source["licence"],
            )
            for source in sources
            for file in source["files"]
        ]
        for name, sources in json.loads(path.read_text(encoding="utf-8")).items()
    }


# --- recipes: from the official file to our form -----------------------------------------------------------------


def keep_comments(kept: Collection[bytes], conllu: bytes) -> bytes:
    """Drop the comment lines of a CoNLL-U file whose first word is not in `kept`; other lines stay unchanged."""

    def stays(line: bytes) -> bool:
        return not line.startswith(b"#") or re.split(rb"[\s=]+", line[1:].lstrip(), maxsplit=1)[0] in kept

    return b"\n".join(line for line in conllu.split(b"\n") if stays(line))


BLIMP_FIELDS = (
    "sentence_good",
    "sentence_bad",
    "field",
    "linguistics_term",
    "UID",
    "simple_LM_method",
    "pair_id",  # spelled pairID upstream
)


def keep_blimp_fields(jsonl: bytes) -> bytes:
    """Reduce BLiMP's pairs to seven of their fields, one JSON object per line."""

    def reduced(pairs: list[tuple[str, object]]) -> dict[str, object]:
        fields = {"pair_id" if key == "pairID" else key: value for key, value in pairs}
        return {key: fields[key] for key in BLIMP_FIELDS if key in fields}

    lines = (json.dumps(json.loads(line, object_pairs_hook=reduced)) + "\n" for line in jsonl.splitlines())
    return "".join(lines).encode()


RECIPES: dict[str, Callable[[bytes], bytes]] = {
    "verbatim": lambda official: official,
    "conllu-comments": partial(keep_comments, (b"sent_id", b"text", b"newdoc")),
    "childes-comments": partial(keep_comments, (b"sent_id", b"text", b"child_name", b"speaker_role")),
    "blimp-fields": keep_blimp_fields,
}


# --- digests: to recognise the right file ---------------------------------------------------------------------------


def trees_digest(conllu: bytes) -> str:
    """A checksum of the (ID, FORM, HEAD, DEPREL) rows that ignores comments and the order of sentences."""
    sentences = []
    for block in conllu.replace(b"\r\n", b"\n").split(b"\n\n"):
        rows = [line.split(b"\t") for line in block.split(b"\n") if line and not line.startswith(b"#")]
        sentences.append(b"\n".join(b"\t".join(row[:2] + row[6:8]) for row in rows))
    return hashlib.sha256(b"\n\n".join(sorted(filter(None, sentences)))).hexdigest()


DIGESTS: dict[str, Callable[[bytes], str]] = {
    "sha256": lambda content: hashlib.sha256(content).hexdigest(),
    "trees": trees_digest,
}


def digest(entry: DataFile, content: bytes) -> str:
    """The digest of `content`, of the kind that the registry has for this file."""
    kind = entry.digest.partition(":")[0]
    return f"{kind}:{DIGESTS[kind](content)}"


def is_right(entry: DataFile, path: Path) -> bool:
    """True if `path` holds the file that the registry describes."""
    return path.is_file() and digest(entry, path.read_bytes()) == entry.digest
