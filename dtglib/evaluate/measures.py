"""The measures in the tables of the papers, where our records have them, and the orders that the papers find.

A record of an evaluation (recording.py) has lines about models and about variants of them, and one of tuning
has lines about ways to tune a model for a task. Measures name the numbers in these lines; other papers add theirs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from dtglib.basics.papers import papers

Line = dict[str, Any]


class Measure(NamedTuple):
    """One of the measures in the paper's tables, and how to find it in our records."""

    name: str
    papers: tuple[str, ...]  # the papers' corpus and measure
    unit: str  # of our numbers, if the paper does not state its unit
    of_model: Callable[[Line], float | None] | None  # its value in a line about models; None if no line has it
    of_variant: Callable[[Line], float | None] | None = None  # the same in a line of an ablation
    digits: int = 1  # after the point
    less_is_better: bool = False


def number(key: str, scale: int = 1, **about: str) -> Callable[[Line], float | None]:
    """The value of a key, times a scale, in lines that have it and these other values, such as part="pairs"."""

    def value(line: Line) -> float | None:
        return scale * line[key] if line.get(key) is not None and about.items() <= line.items() else None

    return value


def _perplexity(line: Line) -> float | None:
    return line["per word"] if line["part"] == "perplexity" and line["parser"] != "weak" else None


def _suites(line: Line) -> float | None:
    """The primary average: over the circuits of all suites, of which there are more than Hu et al. report."""
    return 100 * line["score"] if line["part"] == "averages of suites" and line["average"] in PRIMARY else None


PRIMARY = ("mean of 6 circuits of 33 suites", "mean of 6 circuits of 21 suites")  # public, minilang's

MEASURES = (
    Measure("perplexity", ("BLLIP-LG/PPL",), "a word", _perplexity, number("per word"), less_is_better=True),
    Measure("perplexity by beam", (), "a word", None, number("per word, by beam"), less_is_better=True),
    Measure(
        "BLiMP", ("BLiMP/acc", "BLiMP10pct/acc"), "", number("accuracy", 100, part="all pairs"), number("pairs", 100)
    ),
    Measure("SG", ("SG/score",), "", _suites, number("suites", 100)),
    Measure("UAS", ("PTB-test/UAS",), "", number("UAS", 100, part="reranking", parser="strong")),
    Measure("UAS by beam", (), "", None, number("UAS", 100)),
    Measure("LAS by beam", (), "", None, number("LAS", 100)),
)

MODELS = ""  # the `question` of rows that compare models rather than variants
TUNED = "tuning"  # the `question` of rows that compare ways to tune a model
# The question that a table of the paper answers.
TABLES = {"table2": MODELS, "table3": MODELS, "table4": "arc representation", "table5": "parser"}

Order = tuple[str, str, str, str]  # in a paper's tables: the question, the measure, the better system, the worse one

OF_DTG = (
    (MODELS, "SG", "DTG", "TXL (trans)"),
    (MODELS, "SG", "DTG", "TXL (tokens)"),
    (MODELS, "SG", "TXL (trans)", "TXL (tokens)"),
    (MODELS, "BLiMP", "TXL (trans)", "DTG"),
    (MODELS, "BLiMP", "DTG", "TXL (tokens)"),
    (MODELS, "BLiMP", "TXL (trans)", "TXL (tokens)"),
    (MODELS, "BLiMP", "DTG-swift", "TXL (tokens)"),
    (MODELS, "perplexity", "TXL (trans)", "TXL (tokens)"),
    (MODELS, "perplexity", "TXL (trans)", "DTG"),
    (MODELS, "perplexity", "DTG", "DTG-eager"),
    (MODELS, "perplexity", "DTG-swift", "DTG-eager"),
    (MODELS, "UAS", "DTG", "proposal"),
    (MODELS, "UAS", "TXL (trans)", "proposal"),
    ("arc representation", "perplexity", "w+arc", "w"),
    ("arc representation", "perplexity", "w+arc", "arc"),
    ("arc representation", "perplexity", "w", "arc"),
    ("arc representation", "BLiMP", "w+arc", "w"),
    ("arc representation", "BLiMP", "w+arc", "arc"),
    ("arc representation", "BLiMP", "w", "arc"),
    ("parser", "perplexity", "strong parser", "weak parser"),
    ("parser", "BLiMP", "strong parser", "weak parser"),
)


def measures() -> list[Measure]:
    """The measures of all papers."""
    return [*MEASURES, *(measure for paper in papers() for measure in paper.part("measures"))]


def questions_of_tables() -> dict[str, str]:
    """The question that each table of a paper answers, by the name of the table."""
    return TABLES | {table: question for paper in papers() for table, question in dict(paper.part("tables")).items()}
