"""The tables of the paper of UDGN that are no table of systems and measures, with ours, from the records in results/.

    labels_beside_the_paper("udgn_table3", "child to parent")      which labels have a head of attention
    similarity_beside_the_paper()                                  correlations with people's scores (Table 5)
    recorded_learning("udgn")                                      a row for each evaluation during trainings

A number of ours is the mean over seeds, of the newest record that has it. If there is none, the columns are missing.
"""

from pathlib import Path

import pandas as pd

from dtglib.evaluate.measures import MODELS, TUNED, Line, Measure, percent
from dtglib.evaluate.orders import as_text
from dtglib.families.base import title_of
from dtglib.runs.tables import newest_lines, paper

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
BEFORE = "before the mask"  # the attention that the paper looks at
AVERAGE = "Avg"
SETS = {"test": "STS-B", "sick": "SICK-R", **{f"sts{year}": f"STS{year}" for year in range(12, 17)}}


def labels_beside_the_paper(table: str, direction: str, folder: Path | None = None) -> pd.DataFrame:
    """A row for each label: the paper's correlations by system, and ours by corpus and system."""
    theirs = paper(table, folder)
    label = theirs["metric"].str.rpartition("/")[2]
    shown = theirs.assign(label=label).pivot(index="label", columns="system", values="value")
    shown.columns = [f"paper, {name}" for name in shown.columns]
    shown = shown.reindex(list(LABELS)).astype(object)
    lines = newest_lines(folder, lambda line: line["part"] == "label of heads")
    ours = lines[(lines["direction"] == direction) & (lines["attention"] == BEFORE)] if len(lines) else lines
    for (corpus, size, model), rows in ours.groupby(["corpus", "size", "model"], sort=False) if len(ours) else ():
        of_label = rows.groupby("label")["r"].agg(as_text, digits=2)
        shown[f"{corpus}, {size}, {title_of(model)}"] = [of_label.get(LABELS[name], "") for name in shown.index]
    return shown


def similarity_beside_the_paper(folder: Path | None = None) -> pd.DataFrame:
    """A row for each set: the paper's correlations, and Spearman's of ours, times 100, by model and way of tuning.

    Their average is that of all sets, of each seed that has all of them.
    """
    theirs = paper("udgn_table5", folder).pivot(index="metric", columns="system", values="value")
    theirs.columns = [f"paper, {name}" for name in theirs.columns]
    shown = theirs.reindex([*SETS.values(), AVERAGE]).astype(object)
    lines = newest_lines(folder, lambda line: line["part"] == "scores" and line["way"].startswith("udgn"))
    for (model, title), rows in lines.groupby(["trained", "title"], sort=False) if len(lines) else ():
        of_sets = 100 * rows.assign(on=rows["on"].map(SETS)).pivot_table("Spearman", "seed", "on")
        if set(SETS.values()) <= set(of_sets):
            of_sets[AVERAGE] = of_sets.mean(axis=1, skipna=False)
        texts = {name: as_text(of_sets[name].dropna()) for name in of_sets if of_sets[name].notna().any()}
        shown[f"{model}, {title}"] = pd.Series(texts).reindex(shown.index).fillna("")
    return shown


def recorded_learning(model: str, folder: Path | None = None) -> pd.DataFrame:
    """The evaluations during the trainings of a model, of the newest record that has some: a row for each and seed."""
    lines = newest_lines(folder, lambda line: line["part"] == "while learning" and line["model"] == model)
    of_record = ["corpus", "size"]
    return lines[(lines[of_record] == lines[of_record].iloc[0]).all(axis=1)] if len(lines) else lines


# ---- Measures and orders


def _hidden(line: Line) -> float | None:
    return line["perplexity"] if line["part"] == "hidden words" else None


def _induced(of: str, trees: str) -> Measure:
    """The accuracy of trees that nobody taught, by the way of decoding; trees that know nothing need none."""
    papers = {"argmax": (f"WSJ23/argmax {of}",), "tree": (f"WSJ23/{of}",)}[trees]

    def of_model(line: Line) -> float | None:
        is_trivial = line["part"] == "trivial trees" and trees == "tree"
        is_induced = line["part"] == "induced trees" and line["trees"] == trees
        return 100 * line[of] if is_induced or is_trivial else None

    return Measure(f"{of}, {trees}", papers, "%", of_model, percent(f"{of}, {trees}"))


MEASURES = (
    Measure(
        "hidden words",
        ("PTB/MLM_PPL", "BLLIP/MLM_PPL"),
        "",
        _hidden,
        lambda line: line.get("hidden words"),
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
