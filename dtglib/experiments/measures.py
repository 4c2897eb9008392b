"""What the tables of the papers measure, how to find it in our records, and which orders the papers find.

A record of an evaluation (recording.py) has lines about models and about variants of them, and one of tuning
(tuning.py) has lines about ways to tune a model for a task. `MEASURES` name the numbers in these lines.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

Line = dict[str, Any]


class Measure(NamedTuple):
    """One of the measures in the paper's tables, and how to find it in our records."""

    name: str
    papers: tuple[str, ...]  # the papers' corpus and measure
    unit: str  # of our numbers, if the paper does not state its unit
    of_model: Callable[[Line], float | None]  # its value in a line of metrics; None if the line is about another one
    of_variant: Callable[[Line], float | None] | None = None  # its value in the line of an ablation, if those have it
    digits: int = 1  # after the point


def _perplexity(line: Line) -> float | None:
    wanted = line["part"] == "perplexity" and line["parser"] != "weak"
    return line["per word"] if wanted else None


def _pairs(line: Line) -> float | None:
    return 100 * line["accuracy"] if line["part"] == "all pairs" else None


def _suites(line: Line) -> float | None:
    """The primary average: over the circuits of all suites, of which there are more than Hu et al. report."""
    wanted = line["part"] == "averages of suites" and line["average"] in PRIMARY
    return 100 * line["score"] if wanted else None


def _reranked(line: Line) -> float | None:
    wanted = line["part"] == "reranking" and line["parser"] == "strong"
    return 100 * line["UAS"] if wanted else None


def _graphs(line: Line) -> float | None:
    return 100 * line["F1 by number"] if line.get("F1 by number") is not None else None


def _log_joint(line: Line) -> float | None:
    return line.get("log joint")


def _hidden(line: Line) -> float | None:
    return line["perplexity"] if line["part"] == "hidden words" else None


def _none(line: Line) -> None:
    """For what only variants are compared by."""
    return None


def _percent(key: str) -> Callable[[Line], float | None]:
    """A share in percent, if the line has it."""
    return lambda line: 100 * line[key] if line.get(key) is not None else None


def _induced(of: str, trees: str) -> Measure:
    """The accuracy of trees that nobody taught, by the way of decoding; trees that know nothing need none."""
    papers = {"argmax": (f"WSJ23/argmax {of}",), "tree": (f"WSJ23/{of}",)}[trees]

    def of_model(line: Line) -> float | None:
        is_trivial = line["part"] == "trivial trees" and trees == "tree"
        is_induced = line["part"] == "induced trees" and line["trees"] == trees
        return 100 * line[of] if is_induced or is_trivial else None

    return Measure(f"{of}, {trees}", papers, "%", of_model, _percent(f"{of}, {trees}"))


def _arcs(line: Line) -> float | None:
    return line["arcs"] / line["sentences"] if line["part"] == "graphs" and "sentences" in line else None


def _tuned(task: str, on: str, score: str) -> Callable[[Line], float | None]:
    """A score of a tuned network, of a line that has been given its record's task."""

    def value(line: Line) -> float | None:
        wanted = line["part"] == "scores" and (line["task"], line["on"]) == (task, on)
        return 100 * line[score] if wanted else None

    return value


def _translated(metric: str) -> Measure:
    """A score on the test part of a corpus; the test sets of papers are in translation_tables.py."""

    def of_model(line: Line) -> float | None:
        return line[metric] if line["part"] == "translation" and line["on"] == "test" else None

    return Measure(metric, (), "", of_model)


PRIMARY = ("mean of 6 circuits of 33 suites", "mean of 6 circuits of 21 suites")  # public, minilang's

# The test parts of RTE and SST-2 have no public labels. What the paper calls their F1 is the accuracy in its code.
OF_TASKS = (
    Measure("RTE, accuracy", ("RTE/F1",), "", _tuned("rte", "dev", "accuracy")),
    Measure("SST-2, accuracy", ("SST2/F1",), "", _tuned("sst-2", "dev", "accuracy")),
    Measure("MRPC, accuracy", ("MRPC/acc",), "", _tuned("mrpc", "test", "accuracy")),
    Measure("MRPC, F1", ("MRPC/F1",), "", _tuned("mrpc", "test", "F1")),
    Measure("STS-B, Pearson", ("STS-B/pearson",), "", _tuned("sts-b", "test", "Pearson")),
    Measure("STS-B, Spearman", ("STS-B/spearman",), "", _tuned("sts-b", "test", "Spearman")),
)

MEASURES = (
    Measure("perplexity", ("BLLIP-LG/PPL",), "a word", _perplexity, lambda line: line.get("per word")),
    Measure("perplexity by beam", (), "a word", _none, lambda line: line.get("per word, by beam")),
    Measure("BLiMP", ("BLiMP/acc", "BLiMP10pct/acc"), "", _pairs, _percent("pairs")),
    Measure("SG", ("SG/score",), "", _suites, _percent("suites")),
    Measure("UAS", ("PTB-test/UAS",), "", _reranked),
    Measure("UAS by beam", (), "", _none, _percent("UAS")),
    Measure("LAS by beam", (), "", _none, _percent("LAS")),
    Measure("F1 of arcs", ("dependency/F1",), "", _graphs, _graphs),
    Measure("log joint", ("avg_log_joint_prob",), "", _log_joint, _log_joint, digits=2),
    Measure("arcs a sentence", ("avg_dependencies_per_sentence",), "", _arcs),
    Measure("hidden words", ("PTB/MLM_PPL", "BLLIP/MLM_PPL"), "", _hidden, lambda line: line.get("hidden words")),
    *(_induced(of, trees) for trees in ("argmax", "tree") for of in ("DDA", "UDA")),
    *OF_TASKS,
    *map(_translated, ("BLEU", "chrF+")),
)
LOW = ("perplexity", "perplexity by beam", "hidden words")  # measures of which less is better

MODELS = ""  # the `question` of rows that compare models rather than variants
TUNED = "tuning"  # the `question` of rows that compare ways to tune a model
WORDS = "representation of words"
# The question that a table of the paper answers.
TABLES = {
    "table2": MODELS,
    "table3": MODELS,
    "table4": "arc representation",
    "table5": "parser",
    "gilt_table1": MODELS,
    "gilt_table2": TUNED,
    "gilt_table3": WORDS,
    "gilt_table4": MODELS,
    "udgn_table1": MODELS,
    "udgn_table2": MODELS,
    "udgn_table4": "parts",
    "udgn_table8": "functions",
    "udgn_table9": "amount of data",
}

Order = tuple[str, str, str, str]  # in a paper's tables: the question, the measure, the better system, the worse one

# TG is the one relative whose
# numbers the authors of DTG computed anew.
OF_DTG = (
    (MODELS, "SG", "DTG", "TXL (trans)"),
    (MODELS, "SG", "TXL (trans)", "TXL (tokens)"),
    (MODELS, "BLiMP", "TXL (trans)", "DTG"),
    (MODELS, "BLiMP", "DTG", "TXL (tokens)"),
    (MODELS, "perplexity", "TXL (trans)", "TXL (tokens)"),
    (MODELS, "perplexity", "TXL (trans)", "DTG"),
    (MODELS, "perplexity", "TXL (tokens)", "DTG"),  # by 0.1: "comparable"
    (MODELS, "perplexity", "DTG", "DTG-swift"),
    (MODELS, "perplexity", "DTG-swift", "DTG-eager"),
    (MODELS, "SG", "DTG", "TG"),
    (MODELS, "SG", "TG", "TXL (trans)"),
    (MODELS, "BLiMP", "DTG", "TG"),
    (MODELS, "perplexity", "DTG", "TG"),
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

# The paper's three kinds of semantic graphs (DM, PAS, PSD) are one GiLT here. What it finds of one kind only is marked.
OF_GILT = (
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

# Of UDGN's Tables 1, 2, 4, 5 and 8, and of its Figure 4.
OF_UDGN = (
    ("parts", "UDA, tree", "UDGN", "- Gates"),
    ("parts", "UDA, tree", "UDGN", "- Competition"),
    ("parts", "UDA, tree", "- Competition", "- Gates"),
    ("parts", "DDA, argmax", "UDGN", "- Gates"),
    ("parts", "DDA, argmax", "UDGN", "- Competition"),
    ("parts", "DDA, argmax", "- Competition", "- Gates"),
    ("parts", "DDA, argmax", "UDGN", "- relative pos bias"),
    ("parts", "UDA, tree", "- relative pos bias", "UDGN"),  # by 0.3
    ("parts", "hidden words", "UDGN", "- Gates"),
    ("parts", "hidden words", "- Gates", "- Competition"),
    ("functions", "DDA, argmax", "UDGN", "- Nonlinear"),
    ("functions", "UDA, tree", "UDGN", "- Nonlinear"),
    ("number of heads", "UDA, tree", "8 heads", "1 head"),
    ("number of heads", "DDA, argmax", "8 heads", "1 head"),
    (MODELS, "hidden words", "UDGN", "Transformer (masked words)"),
    (TUNED, "STS-B, Spearman", "UDGN", "UDGN (Freeze parser)"),
)

# Of the paper of translators: what it finds on the test sets of medium models, in BLEU and chrF+ alike.
OF_TRANSLATION = tuple(
    (MODELS, metric, better, worse)
    for metric in ("BLEU", "chrF+")
    for better, worse in (
        ("PARENT", "Vanilla"),
        ("GCN", "Vanilla"),
        ("PARENT", "BiTran"),
        ("GCN", "BiTran"),
        ("BiTran", "Vanilla"),
        ("Linearized", "Vanilla"),
        ("PARENT", "Linearized"),
        ("GCN", "Linearized"),
        ("GCN", "GCN - Labels"),
        ("GCN - Labels", "GCN - Gates"),
    )
)
