"""The command `dtglib`, which is `python -m dtglib`, too, with little work for Python's search for garbage."""

import gc
import sys

from dtglib.cli.main import main


def command() -> int:
    """Run one command, and return the exit status."""
    gc.set_threshold(50_000)  # loading PyTorch makes 150,000 objects, none of them garbage
    try:
        return main()
    finally:
        gc.freeze()  # Python ends, and would search all of them once more


if __name__ == "__main__":
    sys.exit(command())
