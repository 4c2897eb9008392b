"""Pack what a machine without a network needs for open.py into a folder: text, treebanks, a vocabulary.

    DTG_DATA=... python benchmarks/gpu/pack.py TEXTS FOLDER --megabytes 33

TEXTS holds train.txt, dev.txt and test.txt, a tokenised sentence per line. Text is compressed by PPMd, whose files are
a fifth smaller than those of xz; train.txt is cut where the limit is reached. The treebanks lose the columns that no
parser reads.
"""

import argparse
import io
import itertools
import os
import tarfile
from pathlib import Path

import pyppmd

from dtglib.data.vocabulary import Vocabulary

PIECES, SENTENCES = 16_000, 250_000  # of the vocabulary, and those that it is made from
HELD_OUT = ("dev.txt", "test.txt")
ORDER, MEMORY = 8, 256 << 20  # of PPMd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--megabytes", type=float, default=33, help="of compressed text at most (default: 33)")
    parser.add_argument("--pieces", type=int, default=PIECES)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(options.folder / "ud.tar.xz", "w:xz", preset=9) as archive:
        for path in sorted(Path(os.environ["DTG_DATA"], "ud").glob("UD_English-*/*.conllu")):
            content = "".join(map(_needed, path.open(encoding="utf-8"))).encode()
            entry = tarfile.TarInfo(f"ud/{path.parent.name}/{path.name}")
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    held_out = [
        part for name in ("dev.txt", "test.txt") for part in (options.texts / name).read_text("utf-8").splitlines()
    ]
    most = int(options.megabytes * 1e6) - len(_packed(held_out))
    with (options.texts / "train.txt").open(encoding="utf-8") as file:
        train = _as_many_as_fit(file, most)
    for name, lines in (("train", train), ("held-out", held_out)):
        packed = _packed(lines)
        (options.folder / f"{name}.ppmd").write_bytes(packed)
        words = sum(len(line.split()) for line in lines)
        print(f"{name}: {len(lines)} sentences, {words} words, {len(packed) / 1e6:.1f} MB")
    sample = itertools.islice(train, 0, None, max(1, len(train) // SENTENCES))
    Vocabulary.train((line.split() for line in sample), options.pieces).save(options.folder / "vocabulary")


def _needed(line: str) -> str:
    """A line of a treebank without the columns that no parser reads, and without most comments."""
    if line.startswith("#"):
        return line if line.startswith("# sent_id") else ""
    columns = line.rstrip("\n").split("\t")
    return (
        "\t".join([*columns[:2], "_", *columns[3:4], "_", "_", *columns[6:8], "_", "_"]) + "\n" if columns[0] else line
    )


def _packed(lines: list[str]) -> bytes:
    return pyppmd.compress("\n".join(lines).encode(), max_order=ORDER, mem_size=MEMORY)


def _as_many_as_fit(file: io.TextIOBase, most: int) -> list[str]:
    """The first lines whose compressed form has at most so many bytes."""
    encoder, size, lines = pyppmd.Ppmd7Encoder(ORDER, MEMORY), 0, []
    for line in file:
        size += len(encoder.encode(line.encode()))
        if size > most:
            break
        lines.append(line.rstrip("\n"))
    return lines


if __name__ == "__main__":
    main()
