"""The corpus `gum-constituents`: the sentences of UD_English-GUM with their constituents, too.

    load("gum-constituents", "train")      corpora.py

GUM has a file of constituents for each document, and sentence n of a document is the n-th tree of its file. Sentences
whose words differ from those of the tree are left out, counted and named.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from dtglib.basics.errors import UserError, shortened
from dtglib.data.corpora import (
    SPLITS,
    ListedCorpus,
    Reader,
    Readers,
    corpus_files,
    first_trees,
    load,
)
from dtglib.data.registry import data_folder
from dtglib.data.treebank import Sentence, Treebank

NAME, DEPENDENCIES = "gum-constituents", "UD_English-GUM"

ESCAPED = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def folder_of_trees() -> Path:
    """The folder of the files of constituents."""
    return data_folder() / "gum_const"


def read_gum(split: str) -> Treebank:
    """A split of UD_English-GUM with the brackets of its sentences."""
    folder = folder_of_trees()
    if not folder.is_dir():
        way_out = "put there the files of the folder const/ of amir-zeldes/gum on GitHub"
        raise UserError(f"{NAME}: {folder} is missing; {way_out}")

    @cache
    def trees(document: str) -> tuple[Sentence, ...]:
        return tuple(first_trees([folder / f"{document}.ptb"], None).sentences)

    treebank = load(DEPENDENCIES, split)
    kept, others = [], []
    for sentence in treebank.sentences:
        document, _, number = sentence.id.rpartition("-")
        tree = next(iter(trees(document)[int(number) - 1 :]), None)
        if tree is not None and tuple(map(_unescaped, tree.words)) == sentence.words:
            kept.append(replace(sentence, brackets=tree.brackets))
        else:
            others.append(sentence.id)
    different = Counter({f"constituents of other tokens ({shortened(others)})": len(others)} if others else {})
    return Treebank(kept, treebank.excluded + different)


def _unescaped(word: str) -> str:
    """A word with its brackets as characters: "friend(s)" for "friend-LRB-s-RRB-"."""
    return re.sub("|".join(ESCAPED), lambda match: ESCAPED[match[0]], word)


def splits_of_gum(name: str, sentences: int | None) -> Mapping[str, Reader] | None:
    """The splits of the corpus; None for another name."""
    return {split: partial(iter, [partial(read_gum, split)]) for split in SPLITS} if name == NAME else None


def files_of_gum(name: str) -> list[Path] | None:
    """The files of the corpus; None for another name."""
    return [*corpus_files(DEPENDENCIES), *sorted(folder_of_trees().glob("*.ptb"))] if name == NAME else None


def constituent_corpora() -> list[ListedCorpus]:
    """The corpus, if its constituents are in the data folder."""
    folder = folder_of_trees()
    what, licence = "sentences of UD English GUM with constituents, too", "CC BY 4.0; texts by genre"
    return [ListedCorpus(NAME, what, licence, str(folder))] if folder.is_dir() else []


READERS = Readers(find=splits_of_gum, files=files_of_gum, listed=constituent_corpora)
