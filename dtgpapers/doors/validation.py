"""Universal Dependencies' own validator (udtools) on the files of a user, for `dtglib stats`; without it, nothing.

    dtglib: mine.conllu: errors by UD's validator, level 3: 1 unknown-udeprel (line 5), 1 missing-sent-id (line 9)

Level 3 is what the guidelines of all languages ask for. A file's first 1,000 sentences are read, which takes seconds.
"""

import io
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

SENTENCES, LEVEL = 1000, 3


def complain(path: str) -> None:
    """Print, to standard error, the errors in the CoNLL-U file, or files of the folder, if the path is one."""
    if not find_spec("udtools"):
        return
    for file in sorted(Path(path).glob("*.conllu")) if Path(path).is_dir() else [Path(path)]:
        if file.suffix != ".conllu" or not file.is_file():
            continue
        try:
            errors = validation_errors(file)
        except Exception:  # the validator's own, at columns that are empty, such as of a parser's output
            empty = "most likely because it has empty columns, as a parser's output has; dtglib reads it all the same"
            print(f"dtglib: {file}: UD's validator could not read it, {empty}", file=sys.stderr)
            continue
        if errors:
            told = ", ".join(f"{len(lines)} {name} (line {lines[0]})" for name, lines in errors.items())
            print(f"dtglib: {file}: errors by UD's validator, level {LEVEL}: {told}", file=sys.stderr)


def validation_errors(file: Path) -> dict[str, list[int]]:
    """The lines with errors by the name of the test, the commonest first; of the first sentences of a file."""
    from udtools import Validator

    with open(file, encoding="utf-8") as lines:
        blocks = "".join(islice(_sentences(lines), SENTENCES))
    state = Validator(lang="ud", level=LEVEL, output=None).validate_file_handle(io.StringIO(blocks))
    errors: dict[str, list[int]] = {}
    for incident in state.error_tracker:
        if incident.is_error():
            errors.setdefault(incident.testid, []).append(incident.lineno)
    return dict(sorted(errors.items(), key=lambda item: -len(item[1])))


def _sentences(lines: Iterable[str]) -> Iterator[str]:
    """The sentences of a file, each with the empty line after it."""
    sentence: list[str] = []
    for line in lines:
        sentence.append(line)
        if not line.strip():
            yield "".join(sentence)
            sentence = []
    yield "".join(sentence)
