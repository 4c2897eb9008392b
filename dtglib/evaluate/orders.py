"""Orders of systems: which of two is better on a measure here, by how much, and whether that is significant.

    rows = orderings(values, OF_DTG)        which system the paper finds better, and whether it is better here
    in_words(rows)                          the same as sentences

`values` has a row for each system, measure, corpus, size and seed (`measured_values` in runs/tables.py).
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from scipy.stats import ttest_1samp

from dtglib.evaluate.measures import OF_DTG, Order, measures

SIGNIFICANT = 0.05


def as_text(of_seeds: pd.Series, digits: int = 1) -> str:
    """A mean with its standard deviation and the number of seeds.

    >>> as_text(pd.Series([40.0, 42.0, 44.0]))
    '42.0 ± 2.0 (3 seeds)'
    >>> as_text(pd.Series([40.0, 40.0, 40.0]))
    '40.0 (the same with 3 seeds)'
    """
    if of_seeds.nunique(dropna=False) == 1:
        how_many = "one seed" if len(of_seeds) == 1 else f"the same with {len(of_seeds)} seeds"
        return f"{of_seeds.iloc[0]:.{digits}f} ({how_many})"
    return f"{of_seeds.mean():.{digits}f} ± {of_seeds.std():.{digits}f} ({len(of_seeds)} seeds)"


def orderings(values: pd.DataFrame, said: Sequence[Order] = OF_DTG) -> pd.DataFrame:
    """For each of a paper's orderings and each corpus, the difference here, and whether the ordering holds."""
    return pd.DataFrame(
        {
            "measure": row["measure"],
            "the paper says": f"{row['first']} outperforms {row['second']}",
            "corpus": row["corpus"],
            "holds": row["by"] > 0,
            **{key: row[key] for key in ("by", "sd", "seeds", "p")},
        }
        for row in differences(values, said).to_dict("records")
    )


def differences(values: pd.DataFrame, orders: Sequence[Order]) -> pd.DataFrame:
    """By how much the first system is better than the second (or worse, if negative), over the seeds that both have.

    p is from a two-sided paired t test over the seeds; it is missing for one seed, and if all differences are equal.
    """
    rows, low = [], {measure.name for measure in measures() if measure.less_is_better}
    for question, measure, first, second in orders:
        sign = -1 if measure in low else 1
        of_measure = values[(values["question"] == question) & (values["measure"] == measure)]
        for (corpus, size), of_corpus in of_measure.groupby(["corpus", "size"], sort=False):
            by_seed = of_corpus.pivot_table(index="seed", columns="system", values="value")
            if first not in by_seed or second not in by_seed:
                continue
            difference = (sign * (by_seed[first] - by_seed[second])).dropna()
            if difference.empty:
                continue
            differ = difference.nunique() > 1  # otherwise the t test is undefined
            rows.append(
                {
                    "measure": measure,
                    "first": first,
                    "second": second,
                    "corpus": f"{corpus}, {size}",
                    "by": difference.mean(),
                    "sd": difference.std(),
                    "seeds": len(difference),
                    "p": float(ttest_1samp(difference, 0).pvalue) if differ else None,
                }
            )
    return pd.DataFrame(rows)


def in_words(rows: pd.DataFrame) -> list[str]:
    """A sentence for each ordering: whether it holds here, and whether that is significant."""
    return [_sentence(row) for row in rows.to_dict("records")]


def _sentence(row: dict[str, Any]) -> str:
    verdict = "holds" if row["holds"] else "does not hold" if row["by"] else "is a tie"
    (digits,) = (measure.digits for measure in measures() if measure.name == row["measure"])
    result = f"{row['measure']}, {row['the paper says']}: {verdict} on {row['corpus']}, by {abs(row['by']):.{digits}f}"
    if pd.isna(row["p"]):
        return f"{result}; {'one seed' if row['seeds'] == 1 else 'no spread'}, so it is not tested."
    chance = "significantly" if row["p"] < SIGNIFICANT else "not significantly"
    return f"{result}, {chance} over {row['seeds']} seeds (paired t test, p = {row['p']:.3f})."
