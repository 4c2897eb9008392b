"""Load any parser, from a folder, from a file, or by name.

parser = load_parser("parser-ud")               or "runs/parsers/strong-1a2b3c4d5e6f"
parser.parse(sentences)                         the sentences with their best trees; propose.py draws others
"""

import os
from pathlib import Path
from typing import Any

from dtglib.basics.code import code_of
from dtglib.basics.errors import require
from dtglib.basics.files import sha256
from dtglib.basics.released import folder_named


def load_parser(name: str | Path) -> Any:
    """Load a parser: a folder or a released name of this package, a file or a published name of supar."""
    # Imported here: the import of supar takes seconds, and supar may be missing on machines that do not parse.
    from dtglib.parsing.kinds import load_trained
    from dtglib.parsing.published import load_published

    require(str(name) not in ("", "."), "no parser is named; is a variable empty?")
    folder = folder_named(name)
    return load_trained(folder) if folder.is_dir() else load_published(name)


def known_as(name: str | Path) -> str:
    """A string that identifies a parser: hashes of its weights and its code, a hash of supar's file, or its name."""
    from dtglib.parsing.kept import CONFIG_FILE, WEIGHTS_FILE
    from dtglib.parsing.kinds import kind_of

    folder = folder_named(name)
    if (folder / WEIGHTS_FILE).is_file():
        return f"{sha256(folder / WEIGHTS_FILE)} {code_of('parsing', kind_of(folder / CONFIG_FILE).network)}"
    return sha256(Path(name)) if os.path.isfile(name) else str(name)
