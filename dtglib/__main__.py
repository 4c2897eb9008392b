"""`python -m dtglib` is the command `dtglib`."""

import sys

from dtglib.cli import main

sys.exit(main())
