"""`python -m dtglib` is the command `dtglib`."""

import sys

from dtglib.cli.main import main

sys.exit(main())
