"""The command `dtglib`: the package from a shell.

    dtglib --help                the commands, by subject; each stands with its options in the file of its subject

Results go to standard output, as a table or with `--json` as one JSON object; progress and complaints go to standard
error. A mistake of the user's is one line and exit status 2.
"""

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import requires

from dtglib import __version__
from dtglib.basics.errors import UserError
from dtglib.basics.files import OF_THE_DISK
from dtglib.basics.papers import papers
from dtglib.basics.progress import quiet
from dtglib.cli import corpora, experiments, models, parsing, scoring, structure, syntax, training
from dtglib.cli.together import as_one

SUBJECTS = (models, corpora, structure, training, parsing, scoring, syntax, experiments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, together with the other processes if torchrun has started several; returns the exit status."""
    try:
        with as_one() as complain:
            return _run(arguments, complain)
    except UserError as error:  # such as a paper's package that is broken
        print(f"dtglib: {error}", file=sys.stderr)
        return 2


def _run(arguments: Sequence[str] | None, complain: Callable[[str], None]) -> int:
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        options.complain(f"unrecognized arguments: {' '.join(unknown)}")
    silence = quiet() if getattr(options, "json", False) else contextlib.nullcontext()
    try:
        with silence:
            status = options.command(options) or 0
            print(end="", flush=True)
            return status
    except UserError as error:
        complaint = str(error)
    except UnicodeEncodeError as error:  # of what a shell passed on
        complaint = f"{error.object[max(0, error.start - 20) : error.end + 20]!r} is not UTF-8; set a UTF-8 locale"
    except ModuleNotFoundError as error:
        complaint = _way_to_install(error)
    except MemoryError:
        complaint = "there is not enough memory for this; ask for less at once"
    except KeyboardInterrupt as error:
        complain(f"dtglib: {str(error) or 'interrupted'}")
        return 130
    except BrokenPipeError:
        _forget_output()
        return 141  # `dtglib stats ... | head`: the reader has enough
    except OSError as error:
        # Any other error of the disk or the operating system.
        way_out = "; put that right, or choose another folder" if error.errno in OF_THE_DISK else ""
        complaint = f"{error.filename or 'writing the results'}: {error.strerror or error}{way_out}"
        _forget_output()
    complain(f"dtglib: {complaint}")
    return 2


def _way_to_install(error: ModuleNotFoundError) -> str:
    """The complaint about a package that is missing because it belongs to an extra; any other error is raised again."""
    module = str(error.name).partition(".")[0]
    for requirement in requires("dtglib") or ():
        found = re.match(r'([\w-]+).*; extra == "(.+)"', requirement)
        if found and found[1].replace("-", "_") == module:
            return f"this needs {module}, which is not installed: run `pip install 'dtglib[{found[2]}]'`"
    raise error


def _forget_output() -> None:
    """Prevent a second error when Python exits and flushes output that could not be written."""
    if sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # type: ignore[union-attr]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dtglib", description="Dependency Transformer Grammars.")
    parser.add_argument("--version", action="version", version=f"dtglib {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    of_papers = (command for paper in papers() for command in paper.part("commands"))
    for command in (*(command for subject in SUBJECTS for command in subject.COMMANDS), *of_papers):
        description = str(command.run.__doc__).partition("\n")[0]
        summary = description[0].lower() + description[1:].removesuffix(".")
        sub = subparsers.add_parser(command.name, help=summary, description=description)
        sub.set_defaults(command=command.run, complain=sub.error)
        command.options(sub)
    return parser
