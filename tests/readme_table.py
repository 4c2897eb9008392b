"""The README's table of our numbers on minilang, made from the records."""

import pandas as pd

from dtglib.evaluate.intervals import with_spread
from dtglib.evaluate.measures import MODELS  # noqa: F401 (in a query)
from dtglib.families.base import titles

# The columns of the README's table: a measure and its name there.
COLUMNS = {"perplexity": "perplexity per word", "SG": "test suites", "BLiMP": "minimal pairs", "UAS": "UAS, reranked"}


def as_markdown(values: pd.DataFrame) -> str:
    """A row for each model, and a column for each measure, on minilang."""
    ours = values.query("question == @MODELS and corpus == 'minilang' and size == 'mini'")
    columns = [ours[ours["measure"] == name].groupby("system")["value"].agg(with_spread).to_dict() for name in COLUMNS]
    systems = [title for title in titles().values() if any(title in column for column in columns)]
    rows = [[title, *(column.get(title, "") for column in columns)] for title in systems]
    head = [["", *COLUMNS.values()], ["---", *["---:"] * len(columns)]]
    return "\n".join(f"| {' | '.join(row)} |" for row in [*head, *rows])
