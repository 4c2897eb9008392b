"""Treebanks of constituents: GUM, whose sentences have dependencies, too, and a Penn Treebank of one's own.

    read_gum("dev", strict=True)       the sentences of UD_English-GUM with their brackets
    penn_splits(folder)                train.mrg, dev.mrg, test.mrg; or the sections 00 to 24 of the Wall Street Journal

GUM's constituents come one file a document, and sentence n of a document is the n-th tree of its file. A sentence whose
tokens are not those of the tree is left out, counted and named.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from dtglib.basics.errors import UserError, shortened
from dtglib.data.brackets import read_brackets
from dtglib.data.corpora import SPLITS, files_of_split, joined, read_files, ud_folder
from dtglib.data.registry import data_folder
from dtglib.data.treebank import Sentence, Treebank

SUFFIXES = (".mrg", ".ptb", ".brackets")
SECTIONS = {"train": range(2, 22), "dev": (22,), "test": (23,)}  # of the Wall Street Journal, as usual in parsing

_ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def _unescaped(word: str) -> str:
    """A word in which brackets are brackets: "friend-LRB-s-RRB-" is "friend(s)"."""
    return re.sub("|".join(_ESCAPED), lambda found: _ESCAPED[found[0]], word)


def gum_folder() -> Path:
    """The folder of GUM's constituents."""
    folder = data_folder() / "gum_const"
    if not folder.is_dir():
        way_out = "put there the files of the folder const/ of amir-zeldes/gum on GitHub"
        raise UserError(f"gum-constituents: {folder} is missing; {way_out}")
    return folder


def read_gum(split: str, strict: bool) -> Treebank:
    """A split of UD_English-GUM with the constituents of its sentences."""
    folder, treebank = gum_folder(), read_files(files_of_split(ud_folder("UD_English-GUM"), split), strict)

    @cache
    def trees(document: str) -> list[Sentence]:
        return read_brackets(folder / f"{document}.ptb", strict).sentences

    found, others = [], []
    for sentence in treebank.sentences:
        document, _, number = sentence.id.rpartition("-")
        place = int(number) - 1
        tree = trees(document)[place] if place < len(trees(document)) else None
        if tree is not None and tuple(map(_unescaped, tree.words)) == sentence.words:
            found.append(replace(sentence, brackets=tree.brackets))
        else:
            others.append(sentence.id)
    different = Counter({f"constituents of other tokens ({shortened(others)})": len(others)} if others else {})
    return Treebank(found, treebank.excluded + different)


def penn_splits(folder: Path) -> dict[str, Callable[[bool], Treebank]]:
    """The splits of a folder with bracketed files, each with the function that reads it."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES and path.is_file())
    found = {}
    for split in SPLITS:
        named = [path for path in files if re.search(rf"(^|[^a-z]){split}([^a-z]|$)", path.stem.lower())]
        sections = [path for path in files if path.parent.name in {f"{number:02}" for number in SECTIONS[split]}]
        if named or sections:
            found[split] = partial(_read_all, tuple(named or sections))
    return found


def _read_all(paths: tuple[Path, ...], strict: bool) -> Treebank:
    return joined(read_brackets(path, strict) for path in paths)
