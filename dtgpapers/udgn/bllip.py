"""BLLIP in four sizes, as in the paper: the corpora `bllip-xs`, `bllip-sm`, `bllip-md` and `bllip-lg`.

    load("bllip-sm", "train")          200,000 sentences of 30 sections of $BLLIP (LDC2000T43)
    load("bllip-sm", "test")           all sentences of three other sections, some 20,000, the same for every size
    load("bllip-sm", "section-23")     section 23 of $PTB, a Penn Treebank in CoNLL-X: its trees are compared

The sections are those of Hu et al. (2020): the train part of each size contains those of the smaller sizes, and dev and
`bllip-lg` are as in the corpus `bllip`, whose test part has the first 1,000 sentences of each of the three sections.
"""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from dtglib.basics.errors import UserError, require
from dtglib.data.corpora import (
    BLLIP_LG,
    ListedCorpus,
    Reader,
    bllip_blocks,
    bllip_folder,
    corpus_files,
    files_blocks,
    sections,
)
from dtglib.data.treebank import ReadsBlock
from dtgpapers.udgn import conllx

PARSED = "section-23"  # the part whose trees are compared


def _of_years(*years: str) -> list[str]:
    """The names of the sections with these numbers in 1987, 1988 and 1989."""
    chosen = zip((1987, 1988, 1989), years, strict=True)
    return [name for year, numbers in chosen for one in map(int, numbers.split()) for name in sections(year, one, one)]


TRAIN = {
    "bllip-xs": _of_years("71 122", "54 107", "28 37"),
    "bllip-sm": _of_years(
        "35 43 48 54 61 71 77 81 96 122", "24 54 55 59 69 73 76 79 90 107", "12 13 15 18 21 22 28 37 38 39"
    ),
    "bllip-md": _of_years(
        "5 10 18 21 22 26 32 35 43 47 48 49 51 54 55 56 57 61 62 65 71 77 79 81 90 96 100 105 122 125",
        "12 13 14 17 23 24 33 39 40 47 48 54 55 59 69 72 73 76 78 79 83 84 88 89 90 93 94 96 102 107",
        " ".join(map(str, range(12, 42))),
    ),
    "bllip-lg": BLLIP_LG["train"][0],
}
ABOUT = {"bllip-xs": "40,000", "bllip-sm": "200,000", "bllip-md": "600,000", "bllip-lg": "1.8 million"}


def ptb_folder() -> Path:
    """The folder that $PTB names."""
    named, wanted = os.environ.get("PTB"), "your Penn Treebank in CoNLL-X, the folder that holds 00 to 24"
    require(named, f"the trees of section 23 are compared: set PTB to {wanted}")
    require(Path(str(named)).is_dir(), f"PTB names {named}, which is not a folder; set it to {wanted}")
    return Path(str(named))


def section_23() -> Iterator[ReadsBlock]:
    """The sentences of section 23 of the Penn Treebank."""
    folder = ptb_folder()
    paths = conllx.conllx_files(folder).get(PARSED)
    if not paths:
        raise UserError(f"{folder}: there is no *.dep or *.conllx in a folder 23; set PTB to the folder that holds it")
    return files_blocks(paths)


def splits_of_size(name: str, sentences: int | None) -> Mapping[str, Reader] | None:
    """The splits of BLLIP in one of the sizes; None for another name."""
    if name not in TRAIN:
        return None
    parts = BLLIP_LG | {"train": (TRAIN[name], None), "test": (BLLIP_LG["test"][0], None)}
    return {split: partial(bllip_blocks, bllip_folder(), split, parts) for split in parts} | {PARSED: section_23}


def files_of_size(name: str) -> list[Path] | None:
    """The files of BLLIP; None for another name. Section 23, with which trees are compared, is no part of it."""
    if name not in TRAIN:
        return None
    return list(corpus_files("bllip"))


def listed_sizes() -> list[ListedCorpus]:
    """A line for each size."""
    folders = [os.environ.get(name) or f"set {name}" for name in ("BLLIP", "PTB")]
    return [
        ListedCorpus(name, f"{count} sentences of BLLIP to train on", "LDC User Agreement", "; ".join(folders))
        for name, count in ABOUT.items()
    ]


READERS = conllx.READERS._replace(find=splits_of_size, files=files_of_size, listed=listed_sizes)
