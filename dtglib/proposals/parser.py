"""The one door to parsers: a folder, a file, or a published name.

parser = load_parser("runs/parsers/strong-1a2b3c4d5e6f")
parser.arc_scores([["There", "is", "a", "difference"]])
"""

from pathlib import Path

from dtglib.errors import UserError
from dtglib.proposals.biaffine import Biaffine


def load_parser(name: str | Path) -> Biaffine:
    """A parser that was trained here (a folder), or by supar (a file, or the name of one that it publishes)."""
    # Inside: supar takes seconds to import, and may be missing where nothing is parsed.
    try:
        from dtglib.proposals.published import load_published
        from dtglib.proposals.trained import Trained
    except ImportError as error:
        raise UserError(f"parsers need supar ({error}); install it: pip install supar==1.1.4") from error
    return Trained.load(name) if Path(name).is_dir() else load_published(name)
