"""Pack what a machine without a network needs for open.py into a folder: text, treebanks, a vocabulary.

    DTG_DATA=... python benchmarks/gpu/pack.py TEXTS FOLDER --megabytes 33

TEXTS holds train.txt, dev.txt and test.txt, a tokenised sentence per line; what does not fit of train.txt is left out.
The treebanks lose the columns that no parser reads. (PPMd would make the text a fifth smaller, but pyppmd 1.3.1 could
not read three of seventeen files that it had written.)
"""

import argparse
import io
import itertools
import lzma
import os
import tarfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from dtglib.data.vocabulary import Vocabulary

PIECES, SENTENCES = 16_000, 250_000  # of the vocabulary, and those that it is made from
TEXTS = "train.txt", "dev.txt", "test.txt"
CHUNK = 100_000  # sentences that are packed together: many processes unpack them


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
    train, *held_out = ((options.texts / name).read_text("utf-8").splitlines() for name in TEXTS)
    parts = {"held-out": list(itertools.chain(*held_out)), "train": train}
    most = options.megabytes * 1e6
    for name, lines in parts.items():
        chunks = [lines[first : first + CHUNK] for first in range(0, len(lines), CHUNK)]
        with ProcessPoolExecutor() as pool:
            for number, packed in enumerate(pool.map(_packed, chunks)):
                if (most := most - len(packed)) < 0:
                    chunks = chunks[:number]
                    break
                (options.folder / f"{name}.{number:02}.xz").write_bytes(packed)
        words = sum(line.count(" ") + 1 for chunk in chunks for line in chunk)
        print(f"{name}: {sum(map(len, chunks))} of {len(lines)} sentences, {words} words", flush=True)
    sample = itertools.islice(train, 0, None, max(1, len(train) // SENTENCES))
    Vocabulary.train((line.split() for line in sample), options.pieces).save(options.folder / "vocabulary")


def _needed(line: str) -> str:
    """A line of a treebank without the columns that no parser reads, and without most comments."""
    if line.startswith("#"):
        return line if line.startswith("# sent_id") else ""
    if line.isspace():
        return line
    columns = line.split("\t")
    return "\t".join([*columns[:2], "_", columns[3], "_", "_", *columns[6:8], "_", "_"]) + "\n"


def _packed(lines: list[str]) -> bytes:
    return lzma.compress("\n".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME)


if __name__ == "__main__":
    main()
