"""The measures in the tables of the GiLT paper, their values in our records, and the orders that the paper finds."""

from dtglib.evaluate.measures import MODELS, TUNED, Line, Measure, number
from dtgpapers.gilt.family import WORDS
from dtgpapers.tuning.measures import OF_TASKS


def _arcs(line: Line) -> float | None:
    return line["arcs"] / line["sentences"] if line["part"] == "graphs" and "sentences" in line else None


MEASURES = (
    Measure("F1 of arcs", ("dependency/F1",), "", number("F1 by number", 100), number("F1 by number", 100)),
    Measure("log joint", ("avg_log_joint_prob",), "", number("log joint"), number("log joint"), digits=2),
    Measure("arcs per sentence", ("avg_dependencies_per_sentence",), "", _arcs),
    *OF_TASKS,
)
# The question that a table of the paper answers.
TABLES = {"gilt_table1": MODELS, "gilt_table2": TUNED, "gilt_table3": WORDS, "gilt_table4": MODELS}

# The paper's three kinds of semantic graphs (DM, PAS, PSD) are one GiLT here. What it finds of one kind only is marked.
ORDERS = (
    (MODELS, "perplexity", "Pushdown-TXL", "TXL (tokens)"),
    (MODELS, "perplexity", "Pushdown-TXL", "GiLT"),
    (MODELS, "perplexity", "TXL (tokens)", "GiLT"),
    (MODELS, "perplexity", "TXL (tokens)", "GiLT-DP"),
    (MODELS, "perplexity", "GiLT", "GiLT-DP"),
    (MODELS, "SG", "GiLT", "TXL (tokens)"),
    (MODELS, "SG", "GiLT", "Pushdown-TXL"),  # PSD
    (MODELS, "SG", "GiLT", "GiLT-DP"),
    (MODELS, "SG", "Pushdown-TXL", "TXL (tokens)"),
    (MODELS, "SG", "TXL (tokens)", "GiLT-DP"),
    (MODELS, "BLiMP", "GiLT", "TXL (tokens)"),
    (MODELS, "BLiMP", "GiLT", "Pushdown-TXL"),
    (MODELS, "BLiMP", "GiLT", "GiLT-DP"),
    (MODELS, "BLiMP", "TXL (tokens)", "Pushdown-TXL"),
    (MODELS, "BLiMP", "TXL (tokens)", "GiLT-DP"),
    (WORDS, "F1 of arcs", "CTR", "FTR"),
    (WORDS, "F1 of arcs", "FTR", "RA"),
    (WORDS, "log joint", "RA", "CTR"),
    (WORDS, "log joint", "CTR", "FTR"),
    *((TUNED, measure.name, "GiLT-TXL", "TXL (tokens)") for measure in OF_TASKS),
)
