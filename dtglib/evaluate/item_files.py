"""Files of test suites and of minimal pairs, and a share of their items."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from dtglib.basics.errors import UserError, require
from dtglib.data.registry import data_folder

Something = TypeVar("Something")


def files_of(path: str | Path | None, public: str, pattern: str, what: str) -> Iterator[tuple[str, str]]:
    """Name and text of one file, of all files in a folder, or (for None) of the public ones in the data folder."""
    folder = data_folder() / public if path is None else Path(path)
    files = [folder] if folder.is_file() else sorted(folder.glob(pattern))
    if not files:
        get = f"run `make data`, or set DTG_DATA to a folder with {public}/"
        way_out = get if path is None else f"name a folder or file of {what}"
        raise UserError(f"{folder}: there are no {what} ({pattern}); {way_out}, or `minilang` for the built-in ones")
    for file in files:
        try:
            yield str(file), file.read_text("utf-8-sig")
        except (OSError, ValueError) as error:
            raise UserError(f"{file}: cannot be read as text in UTF-8 ({error})") from error


def require_different(names: Sequence[str], where: object) -> None:
    """Raise a UserError if a name occurs twice."""
    if repeated := [name for name in names if names.count(name) > 1]:
        raise UserError(f"{where}: two of the files define {repeated[0]!r}")


def evenly(items: Sequence[Something], share: int | float) -> list[Something]:
    """Take a share of the items, evenly spaced: a tenth is numbers 0, 10, 20 and so on.

    Item i is taken if floor(i * share) is greater than for item i - 1, so the first item is always taken.
    """
    require(0 < share <= 1, f"the share of a test set must be above 0 and at most 1, not {share}")
    return [items[i] for i in range(len(items)) if math.floor(i * share) > math.floor((i - 1) * share)]
