"""The one door to parsers: a folder, a file, or a published name.

parser = load_parser("runs/parsers/strong-1a2b3c4d5e6f")
parser.arc_scores([["There", "is", "a", "difference"]])
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dtglib.errors import require
from dtglib.files import sha256

# Not imported at run time, as PyTorch takes seconds; annotations that name it are therefore not checked.
if TYPE_CHECKING:
    from dtglib.proposals.biaffine import Biaffine


def load_parser(name: str | Path) -> "Biaffine":
    """A parser that was trained here (a folder), or by supar (a file, or the name of one that it publishes)."""
    # Inside: supar takes seconds to import, and may be missing where nothing is parsed.
    from dtglib.proposals.published import load_published
    from dtglib.proposals.trained import Trained

    require(str(name) not in ("", "."), "no parser is named; is a variable empty?")
    return Trained.load(name) if Path(name).is_dir() else load_published(name)


def known_as(name: str | Path) -> str:
    """What tells a parser from all others: of one of ours its weights, of supar's files the content, else the name."""
    from dtglib.proposals.trained import WEIGHTS_FILE

    for file in (Path(name) / WEIGHTS_FILE, Path(name)):
        if os.path.isfile(file):
            return sha256(file)
    return str(name)
