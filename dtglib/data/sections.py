"""The files of a treebank's parts in a folder, by their names, or else by the sections of the Wall Street Journal.

train.mrg, mine-dev.mrg                  named after their part
02/wsj_0201.mrg, 22/wsj_2201.mrg         in a folder named after their section
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dtglib.basics.errors import require

BRACKET_SUFFIXES = (".mrg", ".ptb", ".brackets")
WSJ_SECTIONS = {"train": range(2, 22), "dev": (22,), "test": (23,)}  # as usual in constituency parsing


def files_of_parts(
    folder: Path, suffixes: Sequence[str], sections: Mapping[str, Collection[int]]
) -> dict[str, list[Path]]:
    """The files with these suffixes, by part; a part without files is missing. `sections` are the numbers of a part."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in suffixes and path.is_file())
    parts = {}
    for part, numbers in sections.items():
        named = [path for path in files if re.search(rf"(^|[^a-z]){part}([^a-z]|$)", path.stem.lower())]
        in_sections = [path for path in files if path.parent.name in {f"{number:02}" for number in numbers}]
        if named or in_sections:
            parts[part] = named or in_sections
    twice = [path for path in files if sum(path in its for its in parts.values()) > 1]
    require(not twice, f"{twice[:1]}: the name says two of {', '.join(parts)}; give it another one")
    return parts
