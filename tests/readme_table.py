"""The README's table of our numbers on minilang, made from the records."""

import pandas as pd

from dtglib.evaluate.measures import MODELS  # noqa: F401 (in a query)
from dtglib.families.base import titles

# The columns of the README's table: a measure and its name there.
COLUMNS = {"perplexity": "perplexity per word", "SG": "test suites", "BLiMP": "minimal pairs", "UAS": "UAS, reranked"}


def as_markdown(values: pd.DataFrame) -> str:
    """A row for each model, and a column for each measure, on minilang."""
    ours = values.query("question == @MODELS and corpus == 'minilang' and size == 'mini'")
    columns = [ours[ours["measure"] == name].groupby("system")["value"].agg(_in_short).to_dict() for name in COLUMNS]
    systems = [title for title in titles().values() if any(title in column for column in columns)]
    rows = [[title, *(column.get(title, "") for column in columns)] for title in systems]
    head = [["", *COLUMNS.values()], ["---", *["---:"] * len(columns)]]
    return "\n".join(f"| {' | '.join(row)} |" for row in [*head, *rows])


def _in_short(values: pd.Series) -> str:
    """A mean, with its standard deviation if there are several seeds."""
    return f"{values.mean():.1f}" + (f" ± {values.std():.1f}" if len(values) > 1 else "")
