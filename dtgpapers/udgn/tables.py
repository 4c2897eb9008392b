"""The measures, tables and orders of the paper of UDGN, and the names that it has for labels."""

from dtglib.evaluate.measures import MODELS, TUNED, Line, Measure, number

# Labels of Universal Dependencies that stand for those of the paper, in its order.
LABELS = {
    "prep": "case",
    "pobj": "nmod",
    "det": "det",
    "compound": "compound",
    "nsubj": "nsubj",
    "amod": "amod",
    "dobj": "obj",
    "aux": "aux",
}

# ---- Measures and orders


def _induced(of: str, trees: str) -> Measure:
    """The accuracy of trees that were learned from words alone, by the way of decoding; trivial trees have no way."""
    papers = {"argmax": (f"WSJ23/argmax {of}",), "tree": (f"WSJ23/{of}",)}[trees]

    def of_model(line: Line) -> float | None:
        is_trivial = line["part"] == "trivial trees" and trees == "tree"
        is_induced = line["part"] == "induced trees" and line["trees"] == trees
        return 100 * line[of] if is_induced or is_trivial else None

    return Measure(f"{of}, {trees}", papers, "%", of_model, number(f"{of}, {trees}", 100))


def _correlated(line: Line) -> float | None:
    """The best head's correlation with one of the paper's labels (Table 3); their mean is the measure."""
    if line["part"] != "label of heads" or line["label"] not in LABELS.values():
        return None
    return line["r"] if (line["direction"], line["attention"]) == ("child to parent", "before the mask") else None


MEASURES = (
    Measure("label correlation", (), "", _correlated),
    Measure(
        "hidden words",
        ("PTB/MLM_PPL", "BLLIP/MLM_PPL"),
        "",
        number("perplexity", part="hidden words"),
        number("hidden words"),
        less_is_better=True,
    ),
    *(_induced(score, trees) for trees in ("argmax", "tree") for score in ("DDA", "UDA")),
)
# The question that a table of the paper answers.
TABLES = {
    "udgn_table1": MODELS,
    "udgn_table2": MODELS,
    "udgn_table4": "parts",
    "udgn_table8": "functions",
    "udgn_table9": "amount of data",
}

# Of UDGN's Tables 1, 2, 4, 5 and 8, and of its Figure 4.
ORDERS = (
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
