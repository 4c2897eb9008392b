# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,-all
#     formats: ipynb,py:percent
#     notebook_metadata_filter: kernelspec,jupytext,-all
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Which claims of the papers hold here?
#
# The paper of DTG, [Tables 2 and 3](https://arxiv.org/html/2407.17406v1#S4),
# [Tables 4 and 5](https://arxiv.org/html/2407.17406v1#S5) ·
# before: [what is each decision worth?](06_ablations.ipynb)
#
# The paper's models have 252 million parameters and were trained on BLLIP-LG, which costs money. Ours are small and
# were trained on other corpora. So numbers cannot be compared, but claims of the form "DTG is better than TXL (trans)"
# can be tested: our difference between the two, with its interval. Everything here comes from the records in
# [results/](../results); nothing is trained or scored.
#
# 1. The claims of four papers, from their abstracts and introductions
# 2. Orders of systems in DTG's tables, in one picture and in one table
# 3. DTG's tables, with our numbers in columns of their own
# 4. An exercise, and doubts
#
# *SG* is the mean over six circuits of the test suites (%), *BLiMP* the percentage of minimal pairs that are right,
# *UAS* the percentage of right heads in the trees that a model chooses among the parser's 300 (*proposal* is the
# parser's own first). On minilang, SG and BLiMP are its own suites and pairs. Other terms are in the
# [glossary](00_data.ipynb), those of other papers in their notebooks: [10](10_brackets.ipynb) and
# [11](11_constituency.ipynb) (constituents), [20](20_gilt.ipynb) (GiLT), [30](30_udgn.ipynb) (UDGN),
# [40](40_translation.ipynb) (translation).

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
import seaborn
from IPython.display import Markdown, display

from dtglib.basics.papers import papers
from dtglib.evaluate.intervals import Mean, over_seeds, over_suites
from dtglib.evaluate.measures import MODELS, TUNED, measures, questions_of_tables
from dtglib.evaluate.orders import differences
from dtglib.families.base import titles
from dtglib.pictures.picture import GREY, Picture
from dtglib.runs import tables

# And the size of their models.
CORPORA = {"minilang": "mini", "ud-english": "open-small", "books-and-ud": "books-small", "gum-constituents": "gum"}
NAMES = dict(zip(CORPORA, ["minilang", "UD English", "books", "GUM"], strict=True))
pd.set_option("display.width", 250, "display.max_colwidth", None)
every = tables.measured_values()
values = every[every["size"] == every["corpus"].map(CORPORA)]


# %% [markdown]
# The claims are the orders of systems in Tables 2 to 5 that the paper's sections 4 and 5 state, where we have records
# of both systems, and five that only the tables show: TG > TXL (trans) in SG, two of perplexity (TXL (trans) > DTG,
# DTG-swift > DTG-eager), and w > arc. Perplexities that section 4.1 calls comparable are left out. The next cell
# reads the paper's numbers; our *strong* and *weak* parser stand for its Biaffine parser with and without RoBERTa,
# and Pushdown-TXL, with the body of our other models, for Pushdown.

# %%
THEIRS = {"proposal": "Biaffine-roberta", "strong parser": "Biaffine-roberta", "weak parser": "Biaffine"}
THEIRS["Pushdown-TXL"] = "Pushdown"
OF_PAPER = {
    (questions_of_tables()[table], measure.name, row.system): row.value
    for table in ("table2", "table3", "table4", "table5")
    for row in tables.paper(table).itertuples()
    for measure in measures()
    if row.metric in measure.papers
}


def of_paper(question, measure, system):
    """The paper's number; perplexities are logarithms, so that a difference is one in percent."""
    value = OF_PAPER.get((question, measure, THEIRS.get(system, system)))
    return 100 * np.log(value) if value and measure == "perplexity" else value


orders = [order for paper in papers() if paper.name in ("dtg", "constituency") for order in paper.part("orders")]
claims = [claim for claim in orders if all(of_paper(*claim[:2], system) for system in claim[2:])]

# %% [markdown]
# Where a record has scores by suite or by paradigm, the interval is a crossed bootstrap: seeds and suites are both
# drawn anew (as in [notebook 05](05_syntactic_evaluation.ipynb)); of one seed, suites alone. Elsewhere it is a t
# interval over the seeds, wide for three seeds and very wide for two. With one seed there is none. Differences
# of perplexity are in percent (100 times the difference of logarithms), because the corpora have perplexities of
# different sizes. A positive difference is in the direction of the paper.


# %%
SUITES, PAIRS = ("suites", "score", ["circuit", "suite"]), ("pairs", "accuracy", ["paradigm"])
PARTS = {
    (measure, corpus, size): 100 * tables.by_seed(*what, corpus, size)
    for measure, what in {"SG": SUITES, "BLiMP": PAIRS}.items()
    for corpus, size in (*CORPORA.items(), ("ud-english-enhanced", "ewt-gum"))  # the last has GiLT's models
}


# %%
def in_logs(values):
    """100 times the logarithms of perplexities, and other measures as they are."""
    of_perplexity = values["measure"].isin(["perplexity", "hidden words"])
    logs = 100 * np.log(values["value"].where(of_perplexity))
    return values.assign(value=values["value"].mask(of_perplexity, logs))


def outcomes(values, claim):
    """The difference of two systems on each corpus, with its interval."""
    question, measure, first, second = claim
    for row in differences(in_logs(values), [claim]).to_dict("records"):
        corpus, size = row["corpus"].split(", ")
        if question == MODELS and (measure, corpus, size) in PARTS:
            of_corpus = PARTS[measure, corpus, size]
            row["by"], row["low"], row["high"] = over_suites(of_corpus.loc[first] - of_corpus.loc[second])
        yield row | {"claim": f"{first} > {second}", "corpus": corpus, "size": size}


def with_verdicts(rows):
    """Whether the interval is on one side of 0; one seed gives no verdict."""
    verdicts = [rows["seeds"] == 1, rows["low"] > 0, rows["high"] < 0], ["one seed", "holds", "reversed"]
    return rows.assign(verdict=np.select(*verdicts, "not significant"))


# %%
rows = []
for claim in claims:
    question, measure, first, second = claim
    theirs = (of_paper(*claim[:3]) - of_paper(question, measure, second)) * (-1 if measure == "perplexity" else 1)
    rows += [{**row, "paper": theirs} for row in outcomes(values, claim)]
tested = with_verdicts(pd.DataFrame(rows))

# %%
# NBVAL_CHECK_OUTPUT
counts = {corpus: of["verdict"].value_counts() for corpus, of in tested.groupby("corpus", sort=False)}


def said(corpus):
    """How many orders hold on a corpus, how many are reversed, and how many are open."""
    verdicts = ("holds", "reversed", "not significant")
    hold, reverse, neither = (counts[corpus].get(verdict, 0) for verdict in verdicts)
    return f"{hold} of {hold + reverse + neither} hold, {reverse} reversed, {neither} not significant"


is_said = tested["verdict"].isin(["holds", "reversed"])
doubted = tested[is_said & ~(tested["p"] <= 0.05)]


def interval(measure, claim, corpus):
    """Our difference with its interval, in words."""
    (row,) = tested.query("measure == @measure and claim == @claim and corpus == @corpus").to_dict("records")
    return f"{Mean(row['by'], row['low'], row['high']):.1f} on {NAMES[corpus]} ({row['verdict']})"


central, lower = "DTG > TXL (trans)", "TXL (trans) > DTG"
Markdown(
    f"**In short:** of the orders in DTG's tables, on minilang {said('minilang')}; on UD English {said('ud-english')}; "
    f"on books {said('books-and-ud')}; on GUM {said('gum-constituents')}. Of the {is_said.sum()} that hold or are "
    f"reversed {len(doubted)} rest on the bootstrap: a t test over two or three seeds does not show them (section 2). "
    "Orders of one seed are left out. Section 1 counts the other papers' claims. DTG's advantage over TXL (trans) in "
    "the test suites (what "
    f"composing and hiding add), in points: {interval('SG', central, 'minilang')}, "
    f"{interval('SG', central, 'ud-english')}, "
    f"{interval('SG', central, 'gum-constituents')}, {interval('SG', central, 'books-and-ud')}, all by the "
    "bootstrap. In the paper TXL (trans) has the lower perplexity. DTG's less that of TXL (trans), in percent: "
    f"{', '.join(interval('perplexity', lower, corpus) for corpus in CORPORA)}. Whether dependencies guide "
    f"better than constituents: DTG's advantage over TG in the suites, in points: "
    f"{interval('SG', 'DTG > TG', 'minilang')}, {interval('SG', 'DTG > TG', 'gum-constituents')}, "
    f"{interval('SG', 'DTG > TG', 'books-and-ud')}."
)

# %% [markdown]
# ## 1. The claims of four papers
#
# [claims.csv](../results/paper/claims.csv) lists claims of the four papers' abstracts and introductions (one: section
# 6.4), and which orders in our records test them. A test is one claim, measure and corpus. Where a paper claims a
# *comparable* number, the verdict says whether the system is better, worse, or not shown to differ. "Not measured"
# means that no record has both systems. `p`: a t test over seeds alone; the verdict follows the interval.
# *books-small-pieces* has 16,000 pieces, *mini-narrow* half the width.


# %%
# Models that are tuned for a task have sizes of their own.
as_one_size = every.assign(size=every["size"].mask(every["question"] == TUNED, "tuned"))
COMPARABLE = {"holds": "better", "reversed": "worse", "not significant": "no difference shown"}


def of_test(claim):
    """The outcomes of the test of a claim on each corpus; one line without numbers if there is none."""
    if claim["verdict"] == "untested":
        return [claim | {"test": ""}]
    found = list(outcomes(as_one_size, (claim["question"], claim["measure"], claim["better"], claim["than"])))
    named = claim | {"test": f"{claim['measure']}: {claim['better']} > {claim['than']}"}
    if not found:
        return [named | {"verdict": "not measured", "caveat": ""}]
    lines = with_verdicts(pd.DataFrame(found))
    if claim["verdict"] == "comparable":
        lines["verdict"] = lines["verdict"].replace(COMPARABLE)
    return lines.drop(columns="claim").assign(**{key: named[key] for key in ("paper", "claim", "test", "caveat")})


# %% tags=["table"]
# NBVAL_CHECK_OUTPUT
def in_words(row):
    """A difference with its interval; nothing where nothing was measured."""
    if pd.isna(row["by"]):
        return {"on": "", "difference": "", "seeds": "", "p": ""}
    digits = 3 if row["measure"] == "label correlation" else 1
    difference = f"{Mean(row['by'], row['low'], row['high']):.{digits}f}"
    p = "" if pd.isna(row["p"]) else f"{row['p']:.3f}"
    on = f"{NAMES.get(row['corpus'], row['corpus'])}, {row['size']}"
    return {"on": on, "difference": difference, "seeds": f"{row['seeds']:.0f}", "p": p}


rows = [pd.DataFrame(of_test(claim)) for claim in tables.paper("claims").fillna("").to_dict("records")]
lines = pd.DataFrame([row | in_words(row) for row in pd.concat(rows).to_dict("records")])
COLUMNS = ["claim", "test", "on", "seeds", "difference", "p", "verdict", "caveat"]
for paper, tests in lines[COLUMNS].groupby(lines["paper"], sort=False):
    verdicts = ", ".join(f"{verdict}: {count}" for verdict, count in tests["verdict"].value_counts().items())
    of = f"{len(tests)} tests of {tests['claim'].nunique()} claims"
    display(Markdown(f"**{paper}**, {of}: {verdicts}"), tests.set_index(["claim", "test"]))

# %% [markdown]
# ## 2. The orders in one picture
#
# A line is a claim, ">" means "better than"; for perplexity, better is lower. A dot is our difference, on the right of
# 0 if it has the paper's direction; a bar that crosses the line at 0 shows nothing. A cross is the paper's own
# difference (its own corpus, far larger models, no spread given). A hollow dot is one seed. Bars that leave the panel
# go on.

# %%
COLOURS = dict(zip(CORPORA, seaborn.color_palette("colorblind")[:4], strict=True))
UNITS = {"SG": "SG, points", "BLiMP": "BLiMP, points", "perplexity": "perplexity, % lower", "UAS": "UAS, points"}
LIMITS = {"SG": 40, "BLiMP": 12, "perplexity": 24, "UAS": 4}


def draw_claims(axes, rows):
    """The claims about one measure: a dot and its interval for each corpus, and the paper's own difference."""
    names = list(dict.fromkeys(rows["claim"]))
    for number, (corpus, colour) in enumerate(COLOURS.items()):
        of = rows[rows["corpus"] == corpus]
        place = of["claim"].map(names.index) + 0.18 * (number - 1.5)
        error = [of["by"] - of["low"], of["high"] - of["by"]]
        axes.errorbar(of["by"], place, xerr=error, fmt="none", color=colour, elinewidth=1.5)
        face = [colour if seeds > 1 else "white" for seeds in of["seeds"]]
        axes.scatter(of["by"], place, s=26, c=face, edgecolors=[colour], label=NAMES[corpus], zorder=3)
    own = rows.drop_duplicates("claim")
    axes.scatter(own["paper"], own["claim"].map(names.index), s=26, c=GREY, marker="x", label="the paper")
    axes.axvline(0, color=GREY, linewidth=1)
    limit = LIMITS[rows["measure"].iloc[0]]
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.4, -0.6), xlim=(-limit, limit))
    axes.set_xlabel(UNITS[rows["measure"].iloc[0]])
    axes.spines[["top", "right"]].set_visible(False)


# %%
sizes = tested.groupby("measure")["claim"].nunique()[list(UNITS)]
picture = Picture(figsize=(8, 0.42 * sizes.sum() + 3))
panels = picture.subplots(len(sizes), 1, height_ratios=sizes + 0.5)
for axes, measure in zip(panels, UNITS, strict=True):
    draw_claims(axes, tested[tested["measure"] == measure])
panels[0].legend(frameon=False, loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=5)
picture.tight_layout()
picture

# %% [markdown]
# The same as numbers. A difference is significant if it exceeds about half the length of its interval.

# %% tags=["table"]
# NBVAL_CHECK_OUTPUT
shown = tested.rename(columns={"paper": "the paper"}).assign(
    ours=[f"{Mean(row.by, row.low, row.high):.1f} {row.verdict}" for row in tested.itertuples()]
)
table = shown.pivot(index=["measure", "claim", "the paper"], columns="corpus", values="ours")
order = shown.set_index(["measure", "claim", "the paper"]).index.drop_duplicates()
table = table.loc[order, list(CORPORA)].rename(columns=NAMES).fillna("not measured").reset_index("the paper")
table.loc[list(UNITS)].round({"the paper": 1})

# %%
# NBVAL_CHECK_OUTPUT
chance = doubted["p"].astype(float).round(2)
columns = doubted["claim"], doubted["measure"], doubted["corpus"].map(NAMES), doubted["verdict"], chance
listed = map("{} ({}, {}: {}, p = {})".format, *columns)
Markdown(
    "A bootstrap of two or three seeds shows too little of their spread. A t test over the seeds alone, which takes "
    f"the suites as given, would not have shown: {', '.join(listed)}."
)

# %% [markdown]
# ## 3. The tables of the paper
#
# An empty cell is a system that was not trained or asked, or a number that the paper does not give. Ours are means ±
# standard deviations over seeds, three on minilang and two elsewhere; but of the models of constituents *books* has
# the second seed alone, and section 2 compares DTG's second seed with them. Models of column *books* have read UD
# English and books; they are tested on UD English; their strong parser is newer and better. Perplexities are per
# word, ends included; those of models with trees are bounds from 300 trees of the strong parser (but in Table 5; for
# models of constituents, from a parser of these, or by beam search for Pushdown-TXL), of 200 test sentences on minilang
# and 150 elsewhere. Our BLiMP is a tenth of the pairs, by beam search. The models have 1.0 million parameters on
# minilang, 1.4 on GUM, and 3.5 on UD English and books (Pushdown-TXL: 1.6, 1.9, 4.7). The paper does not say what its
# perplexities are divided by; it has all numbers of PLM and Pushdown from Murty et al. (2023), with other tokenisers,
# and TG's SG from Sartran et al. (2022). The test suites by circuit (the paper's Figure 3) are in [notebook
# 05](05_syntactic_evaluation.ipynb), all variants in [notebook 06](06_ablations.ipynb).


# %%
def short(name):
    """A table of the paper, its systems and ours only, without the numbers of seeds."""
    table = tables.beside_the_paper(name, values).replace(r" \(.*\)", "", regex=True)
    table = table.rename(index=THEIRS).replace("", np.nan).groupby(level=0, sort=False).first().fillna("")
    table = table.loc[[system for system in table.index if system in tables.paper(name)["system"].unique()]]
    table = table.rename(columns=lambda text: text.replace(", a word", "").partition(", ")[0], level=1)
    return table.rename(columns=NAMES, level=1)


# %% [markdown]
# **Table 2**: perplexity, BLiMP and SG.

# %% tags=["table"]
short("table2")

# %% [markdown]
# A beam search finds more of $p$ than 300 trees of a parser do, so its bounds are nearer to $p$. The order that section
# 2 calls reversed on GUM depends on the bound. By how many percent a perplexity is below that of TXL (tokens), which is
# exact:

# %% tags=["table"]
# NBVAL_CHECK_OUTPUT
BOUNDS = {"perplexity": "300 trees", "perplexity by beam": "beam"}
lines = tables.newest_lines(None, lambda line: line["part"] in BOUNDS and line.get("parser") != "weak")
lines = lines[(lines["size"] == lines["corpus"].map(CORPORA)) & lines["model"].isin(["dtg", "txl-trans", "txl-tokens"])]
lines = lines.assign(model=lines["model"].map(titles()), bound=lines["part"].map(BOUNDS), on=lines["corpus"].map(NAMES))
perplexities = lines.pivot(index=["on", "seed"], columns=["model", "bound"], values="per word")
exact = perplexities.pop(("TXL (tokens)", "300 trees"))
below = -100 * np.log(perplexities).sub(np.log(exact), axis=0).sort_index(axis=1)


of_corpora = below.groupby("on").agg(lambda of: f"{over_seeds(of):.1f}" if of.count() else "")
of_corpora.loc[list(NAMES.values())]

# %% [markdown]
# **Table 3**: UAS of the trees that a model chooses. (The parser's row: its own first tree; ours is the strong one.)

# %% tags=["table"]
short("table3")

# %% [markdown]
# **Tables 4 and 5**, of DTG alone, and here on minilang alone: how an arc is represented, and by which parser's trees
# DTG is trained and summed over (Biaffine: our weak parser). In all other tables minilang's DTG learns the treebank's
# own trees.

# %% tags=["table"]
pd.concat({"Table 4: an arc is": short("table4"), "Table 5: trees of": short("table5")})

# %% [markdown]
# ## 4. An exercise
#
# How many seeds would be needed to show that DTG outperforms TXL (trans) in SG on minilang, if the spread over seeds
# were all there is? And why is that too few? (`differences(values, [(MODELS, "SG", "DTG", "TXL (trans)")])` has the
# standard deviation over the seeds.)
#
# <details><summary>Answer</summary>
#
# By `by / (sd / np.sqrt(n)) > scipy.stats.t.ppf(0.975, n - 1)`, with one seed more. But seeds are not all: DTG's
# advantage comes from one circuit, and other suites would give another advantage. The crossed interval has both, and
# more seeds leave the suites' part of it as it is.
#
# </details>
#
# ## Doubts
#
# None of this is the paper's corpus or size of model, nor its kind of trees: it has Stanford dependencies, and leaves
# Universal Dependencies, which we have, to future work. minilang's words nearly settle the tree, which may be why DTG
# has a lower perplexity than TXL there; on UD English and GUM the bound decides which perplexity is lower. All claims
# are tested one by one: among the intervals of section 2, about one in twenty excludes 0 by chance. Perplexities have
# intervals over seeds only, not over sentences. On UD English, books and GUM the suites and pairs are public ones,
# which are hard for models of 1.4 to 3.5 million parameters.
