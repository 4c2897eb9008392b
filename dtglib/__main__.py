"""The command `dtglib`, which is `python -m dtglib`, too, with little work for Python's search for garbage."""

import gc
import sys


def command() -> int:
    """Run one command, and return the exit status."""
    gc.set_threshold(50_000)  # loading PyTorch makes 150,000 objects, none of them garbage
    try:
        from dtglib.cli.main import main

        return main()
    except KeyboardInterrupt:  # while modules are loaded
        print("dtglib: interrupted", file=sys.stderr)
        return 130
    finally:
        gc.freeze()  # Python ends, and would search all of them once more


if __name__ == "__main__":
    sys.exit(command())
