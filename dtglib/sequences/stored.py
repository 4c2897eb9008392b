"""Compiled sentences in files, for training data that are larger than memory.

    folder/
      00000.safetensors   a shard: the columns of some thousands of sentences, their lengths, and their names
      00001.safetensors
      manifest.json       what the sentences depend on; of every shard its checksum and the sentences left out of it

Sentences are compiled once. Shards and manifest are written whole or not at all, so a stopped build goes on with the
next shard, and a deleted shard is made again. Training opens the folder, checks all checksums, and keeps 8 bytes per
sentence in memory: its length and its place. In a shard all columns of a position are side by side, so that a sentence
is one stretch of the file. A batch is copied from memory maps that are closed after it; so the pages that were read
belong to the operating system's cache of files, not to the memory of training.
"""

import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy

from dtglib.basics.errors import UserError, require
from dtglib.basics.files import only_one_process, sha256, write_atomically
from dtglib.basics.progress import progress
from dtglib.sequences.columns import Compiled, Sequences, require_within

MANIFEST = "manifest.json"


class CompiledPart(NamedTuple):
    """Compiled sentences and their names; counts of excluded ones by reason; the names of those that are too long."""

    sequences: "Sequences | Stored"
    names: Sequence[str]
    excluded: Counter[str]
    too_long: list[str]


class Shard(NamedTuple):
    """The entry of a shard in the manifest."""

    file: str
    sha256: str
    sentences: int
    highest: int  # see Sequences
    excluded: dict[str, int]
    too_long: list[str]


# ---- Writing


def build(
    folder: Path,
    identity: Mapping[str, Any],
    parts: Iterable[Callable[[], CompiledPart]],
    from_first: Callable[[Callable[[], Any]], Any] = lambda compute: compute(),
) -> "Stored":
    """Write the parts that are missing in the folder, one shard each, and open it. The parts depend on `identity`.

    Processes that work together all compile the parts, because they may share the work of reading them; only the first
    writes. `from_first` is that of Processes (training/distributed.py).
    """
    with contextlib.ExitStack() as held:
        from_first(lambda: held.enter_context(only_one_process(folder, "compiles sentences there")))
        shards, is_whole, present = from_first(lambda: _shards_in(folder, identity))
        if not is_whole or len(present) < len(shards):
            for number, part in enumerate(progress(parts, "compiling sentences", "shard")):
                if number not in present:
                    compiled, file = part(), f"{number:05}.safetensors"
                    shards[number : number + 1] = [from_first(partial(_write_shard, folder, file, compiled))]
                    from_first(partial(_write_manifest, folder, identity, shards, is_whole=False))
            from_first(partial(_write_manifest, folder, identity, shards, is_whole=True))
        from_first(partial(_check, folder, shards))
    return _opened(folder, shards)


def _write_shard(folder: Path, file: str, part: CompiledPart) -> Shard:
    sequences, names = part.sequences, "\n".join(part.names).encode()
    content = safetensors.numpy.save(
        {
            "rows": np.ascontiguousarray(np.array(sequences.vectors, np.int32).T),  # type: ignore[union-attr]
            "lengths": sequences.lengths.astype(np.int32),
            "names": np.frombuffer(names, np.uint8),
        }
    )
    with write_atomically(folder / file, binary=True) as written:
        written.write(content)
    checksum = hashlib.sha256(content).hexdigest()
    return Shard(file, checksum, len(sequences), sequences.highest, dict(part.excluded), part.too_long)


def _write_manifest(folder: Path, identity: Mapping[str, Any], shards: Sequence[Shard], is_whole: bool) -> None:
    content = {"identity": dict(identity), "is_whole": is_whole, "shards": [shard._asdict() for shard in shards]}
    with write_atomically(folder / MANIFEST) as file:
        json.dump(content, file, indent=1, ensure_ascii=False)


# ---- Reading


def _read_manifest(folder: Path, identity: Mapping[str, Any]) -> tuple[list[Shard], bool]:
    """The shards so far, and whether these are all."""
    path = folder / MANIFEST
    if not path.exists():
        return [], False
    try:
        content = json.loads(path.read_bytes())
        shards, is_whole = [Shard(**shard) for shard in content["shards"]], content["is_whole"]
        same = content["identity"] == json.loads(json.dumps(dict(identity)))
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error!r}); delete its folder, and it is made again") from error
    require(same, f"{path}: it was made from other data or settings; delete its folder, and it is made again")
    return shards, is_whole


def _shards_in(folder: Path, identity: Mapping[str, Any]) -> tuple[list[Shard], bool, set[int]]:
    """The shards so far, whether these are all, and the numbers of those whose files exist."""
    shards, is_whole = _read_manifest(folder, identity)
    for half in folder.glob("*.part"):  # of a process that was killed
        half.unlink()
    return shards, is_whole, {number for number, shard in enumerate(shards) if (folder / shard.file).exists()}


def _check(folder: Path, shards: list[Shard]) -> None:
    """An error if the content of a shard is not what was written."""
    for shard in progress(shards, "checking sentences", "shard"):
        if sha256(folder / shard.file) != shard.sha256:
            way_out = "its content is not what was written; delete it, and it is made again"
            raise UserError(f"{folder / shard.file}: damaged: {way_out}")


def _opened(folder: Path, shards: list[Shard]) -> "Stored":
    """Read the lengths of the sentences of all shards."""
    counts = [0, *(shard.sentences for shard in shards)]
    lengths, offsets = np.empty((2, sum(counts)), np.int32)
    firsts = np.cumsum(counts)
    for shard, first, stop in zip(shards, firsts, firsts[1:], strict=False):
        with safetensors.safe_open(folder / shard.file, "np") as file:
            lengths[first:stop] = of_shard = file.get_tensor("lengths")
        offsets[first:stop] = np.cumsum(of_shard) - of_shard
    return Stored(folder, shards, firsts, lengths, offsets)


@dataclass(frozen=True)
class Stored:
    """Sentences in the shards of a folder, instead of `Sequences`, which would not fit into memory."""

    folder: Path
    shards: list[Shard]
    firsts: np.ndarray  # the number of each shard's first sentence, and of all sentences
    lengths: np.ndarray  # of all sentences
    offsets: np.ndarray  # of each sentence the first position, counted in its shard

    def __len__(self) -> int:
        return len(self.lengths)

    def chosen(self, numbers: np.ndarray) -> Sequences:
        """Return the sentences with these numbers, in this order, in memory."""
        require_within(numbers, len(self))
        starts = np.concatenate([[0], np.cumsum(self.lengths[numbers], dtype=np.int64)])
        rows = np.empty((starts[-1], len(Compiled._fields)), np.int32)
        shard_of = np.searchsorted(self.firsts, numbers, side="right") - 1
        for shard in np.unique(shard_of).tolist():
            with safetensors.safe_open(self.folder / self.shards[shard].file, "np") as file:
                mapped = file.get_slice("rows")
                for place in np.flatnonzero(shard_of == shard).tolist():
                    first, length = int(self.offsets[numbers[place]]), int(self.lengths[numbers[place]])
                    rows[starts[place] : starts[place + 1]] = mapped[first : first + length]
        return Sequences(Compiled(*rows.T), starts)

    @property
    def names(self) -> "Names":
        """The names of the sentences."""
        return Names(self)

    @property
    def highest(self) -> int:
        """The largest `top` of all positions."""
        return max((shard.highest for shard in self.shards), default=0)

    @property
    def checksum(self) -> str:
        """A checksum of all shards."""
        return hashlib.sha256("".join(shard.sha256 for shard in self.shards).encode()).hexdigest()[:12]

    @property
    def excluded(self) -> Counter[str]:
        """Counts of the sentences that were left out, by reason."""
        return sum((Counter(shard.excluded) for shard in self.shards), Counter())

    @property
    def too_long(self) -> list[str]:
        """The names of the sentences that were too long."""
        return [name for shard in self.shards for name in shard.too_long]


@dataclass(frozen=True)
class Names(Sequence[str]):
    """The names of stored sentences, which are read when they are used."""

    stored: Stored

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, number: int) -> str:
        require_within(np.array([number]), len(self))
        shard = int(np.searchsorted(self.stored.firsts, number, side="right")) - 1
        with safetensors.safe_open(self.stored.folder / self.stored.shards[shard].file, "np") as file:
            names = file.get_tensor("names").tobytes().decode().split("\n")
        return names[number - int(self.stored.firsts[shard])]
