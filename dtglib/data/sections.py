"""The files of a treebank's parts in a folder, by their names, or else by the sections of the Wall Street Journal.

train.mrg, mine-dev.mrg                  named after their part
02/wsj_0201.mrg, 22/wsj_2201.mrg         in a folder named after their section
"""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from dtglib.basics.errors import UserError

BRACKET_SUFFIXES = (".mrg", ".ptb", ".brackets")
WSJ_SECTIONS = {"train": range(2, 22), "dev": (22,), "test": (23,)}  # as usual in constituency parsing


def files_of_parts(
    folder: Path, suffixes: Sequence[str], sections: Mapping[str, Collection[int]]
) -> dict[str, list[Path]]:
    """The files with these suffixes, by part; a part without files is missing. `sections` are the numbers of a part."""
    files = sorted(path for path in folder.rglob("[!.]*") if path.suffix.lower() in suffixes and path.is_file())
    named = rf"(^|[^a-z])({'|'.join(sections)})(?=[^a-z]|$)"
    said = {path: [found[2] for found in re.finditer(named, path.stem.lower())] for path in files}
    if twice := [path for path, parts in said.items() if len({*parts}) > 1]:
        raise UserError(f"{twice[0]}: the name says {' and '.join(said[twice[0]])}; give it another one")
    parts = {}
    for part, numbers in sections.items():
        in_sections = [path for path in files if path.parent.name in {f"{number:02}" for number in numbers}]
        if its := [path for path in files if part in said[path]] or in_sections:
            parts[part] = its
    return parts
