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
# # How probable is a sentence?
#
# [The paper, section 4.1](https://arxiv.org/html/2407.17406v1#S4.SS1) · before: [the models and their
# training](03_training.ipynb) · after: [what they know of syntax](05_syntactic_evaluation.ipynb)
#
# A Dependency Transformer Grammar gives a probability to a sentence *together with* a tree. The probability of the
# sentence alone is a sum over all of its trees, which are too many to visit. The paper sums over 300 that a parser
# proposes, and leaves open whether 300 are enough, above all for constituents ([notebook
# 11](11_constituency.ipynb)). This notebook measures what 300 trees miss for DTG: on [minilang](../book/minilang.md), a
# generated fragment of English, and on six treebanks of UD English, with a strong and a weak parser for each.
#
# 1. One sentence, all of its trees: the sum, written out
# 2. Some of the trees: a lower bound
# 3. Where the trees come from
# 4. What 300 trees miss: a recorded study
# 5. Perplexity, and the trees that the models choose
# 6. This run; your sentence; exercises

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
import seaborn
from IPython.display import Markdown

from dtglib.data.treebank import Sentence
from dtglib.evaluate.intervals import with_spread
from dtglib.evaluate.likelihood import all_trees, score_trees
from dtglib.families.base import load_model, titles
from dtglib.parsing.parser import load_parser
from dtglib.parsing.projective import best_trees, different_samples, how_many
from dtglib.pictures import plot
from dtglib.runs import prepare, syntax_scores, tables

pd.set_option("display.width", 160, "display.max_colwidth", None)

# %%
SIZES, WAYS = {"minilang": "mini", "ud-english": "open-small"}, {"sample": "draws", "best": "best trees"}


def recorded(*parts):
    """The lines of the records of both corpora that are about these parts."""
    lines = tables.newest_lines(None, lambda line: line["part"] in parts)
    return lines[lines["size"] == lines["corpus"].map(SIZES)]


tightness = recorded("tightness").replace({"way": WAYS})
study, of_short = (tightness[tightness["against"] == against] for against in ("estimate", "exact"))
lacking = study[study["trees"] == 300].pivot_table(index=["corpus", "parser"], columns="way", values="nats")
reranking = recorded("reranking").replace(titles("dtg"))
right = 100 * reranking[reranking["chosen by"] == "proposal"].groupby(["corpus", "parser"])["UAS"].mean()
perplexity = recorded("perplexity", "perplexity by beam").query("model in @titles('dtg')").fillna({"parser": "none"})
perplexity["bound by"] = perplexity["parser"] + " parser"
perplexity.loc[perplexity["part"] == "perplexity by beam", "bound by"] = "beam search"
perplexity.loc[perplexity["model"] == "txl-tokens", "bound by"] = "none: exact"
of_dtg = perplexity.query("model == 'dtg'").groupby(["corpus", "bound by"])["per word"].mean()
ratio_of_parsers = of_dtg["minilang", "weak parser"] / of_dtg["minilang", "strong parser"]
strong = lacking["draws"]["minilang", "strong"]

# %%
Markdown(
    f"**In short:** whether 300 trees are enough depends on the parser that proposes them, and on the corpus. On "
    f"minilang, by an estimate, draws from a parser with {right['minilang', 'strong']:.0f} % of the heads right miss "
    f"{strong:.4f} nats per word. With a parser of {right['minilang', 'weak']:.0f} %, DTG's bound of the perplexity is "
    f"{100 * (ratio_of_parsers - 1):.0f} % higher on all 200 test sentences, so there its draws miss at least "
    f"{np.log(ratio_of_parsers):.2f} (on those for which it is estimated below, "
    f"{lacking['draws']['minilang', 'weak']:.2f}). On "
    f"UD English a parser with {right['ud-english', 'strong']:.0f} % misses about "
    f"{lacking['draws']['ud-english', 'strong']:.2f}, a perplexity "
    f"{100 * np.expm1(lacking['draws']['ud-english', 'strong']):.0f} % too high; there a beam search finds more than "
    f"300 draws do."
)

# %% [markdown]
# ## 1. One sentence, all of its trees
#
# With $x$ for the words and $y$ for a projective tree with one root,
#
# $$p(x) = \sum_y p(x, y), \qquad \log p(x) = \log \sum_y \exp \log p(x, y).$$
#
# As the paper does, we write $p(x, y)$ for the probability of one transition sequence per tree, the oracle's ($p(a)$ in
# [notebook 03](03_training.ipynb)); the model gives others some probability, which this sum leaves out. Four words have
# 30 trees, so it can be written out. The model is the released DTG of UD English.

# %%
# NBVAL_CHECK_OUTPUT
words = ["There", "is", "a", "difference"]
dtg = load_model("dtg-ud")
trees = all_trees(len(words))
joint = score_trees(dtg, words, trees).log_probs  # log p(x, y) of each tree
largest = joint.max()  # taken out of the sum, so that exp does not underflow
log_p = largest + np.log(np.exp(joint - largest).sum())
print(len(trees), "trees; log p(x) =", round(log_p, 3), "nats; the best tree alone:", round(largest, 3))
assert np.isclose(log_p, score_trees(dtg, words, trees).bound)

# %% [markdown]
# The share of a tree in the sum is its posterior, $p(y \mid x) = p(x, y) / p(x)$. The three best trees:

# %%
posterior = np.exp(joint - log_p)
order = np.argsort(-posterior)
pd.DataFrame(
    {
        "head of each word": [
            ", ".join(f"{word} ← {(*words, 'ROOT')[head - 1]}" for word, head in zip(words, trees[place], strict=True))
            for place in order[:3]
        ],
        "log p(x, y)": joint[order[:3]].round(2),
        "p(y | x)": posterior[order[:3]].round(4),
    }
)

# %%
plot.draw_tree(Sentence(tuple(words), tuple(trees[order[0]].tolist())), f"p(y | x) = {posterior[order[0]]:.2f}")

# %% [markdown]
# ## 2. Some of the trees
#
# All terms are positive. So the sum over any set $Y'$ of different trees is a lower bound of $p(x)$, and it gives an
# upper bound of the perplexity:
#
# $$\log \sum_{y \in Y'} p(x, y) \;\le\; \log p(x).$$
#
# A bound is soon needed: from the sixth word on, each word multiplies the number of trees by more than five.

# %%
# NBVAL_CHECK_OUTPUT
pd.Series({count: how_many(count) for count in (2, 4, 6, 8, 12, 20)}, name="trees").rename_axis("words").to_frame().T

# %% [markdown]
# What is missing is a difference of logarithms, in nats; in the best order it vanishes fastest.

# %%
K = np.arange(1, len(trees))


def missing(order):
    """log p(x) minus the bound of the first K trees, for each K."""
    return log_p - np.logaddexp.accumulate(joint[order])[:-1]


chance = np.random.default_rng(1)
curves = {"by p(x, y), best first": missing(order), "in random order": missing(chance.permutation(len(trees)))}
tidy = pd.concat(pd.DataFrame({"trees": K, "nats missing": y, "order": name}) for name, y in curves.items())
axes = seaborn.lineplot(tidy, x="trees", y="nats missing", hue="order", marker="o")
axes.set(title="What a bound misses: four words, 30 trees")
plot.make_logarithmic(axes, "y")

# %% [markdown]
# ## 3. Where the trees come from
#
# Nobody knows the model's best order beforehand. A biaffine parser scores each possible arc, $s(h \to d)$, and thereby
# defines a distribution over trees, $q(y \mid x) \propto \exp \sum_{h \to d \in y} s(h \to d)$. The $K$ best trees, or
# $K$ different draws, can be taken from it exactly (`parsing/projective.py`). The paper's two parsers
# differ by RoBERTa; ours by their size and their steps of training ([configs/parsers](../configs/parsers)).
# For four words, the definition and the package's chart agree:

# %%
# NBVAL_CHECK_OUTPUT
(arc_scores,) = load_parser("parser-ud").arc_scores([words])  # the row is the head, the column the dependent
scores = np.array([sum(arc_scores[head, word] for word, head in enumerate(tree, start=1)) for tree in trees])
log_q = scores - np.logaddexp.reduce(scores)
best = best_trees(arc_scores, 5)
print("five best, by the definition:", np.sort(log_q)[::-1][:5].round(2))
print("five best, by the package:   ", best.log_probs.round(2))

# %% [markdown]
# Drawing without replacement: add Gumbel noise to each $\log q$ and take the largest (for all trees at once here; the
# package draws from the chart). The bound of ten such draws, and of the ten best by the parser, whose order need not be
# the model's:

# %%
gumbel = chance.gumbel(size=len(trees))
drawn = np.argsort(-(log_q + gumbel))[:10]
best_by_parser = np.argsort(-log_q)[:10]
by_package = different_samples(arc_scores, 10, chance)
bounds = {
    "ten draws": np.logaddexp.reduce(joint[drawn]),
    "ten draws, by the package": score_trees(dtg, words, by_package.heads).bound,
    "ten best": np.logaddexp.reduce(joint[best_by_parser]),
    "all": log_p,
}
pd.Series(bounds, name="nats").round(4).to_frame()

# %% [markdown]
# ## 4. What 300 trees miss
#
# In the recorded study ([minilang](../results/2026-11-21-mini), [UD English](../results/2026-11-26-open-small)), DTG's
# bounds of up to 3,000 trees are compared with $\log p(x)$ itself. Up to six words it is the sum over all trees. For
# longer sentences it is estimated: the sum over all trees that were looked at, plus the mean of $p(x, y) / q(y)$ over
# draws $y \sim q$, where a tree that was looked at counts as 0. This $q$ is a mixture: a third of it is the parser's
# distribution, and the rest flatter versions of the same. The curves show longer sentences only; a point is a mean over
# seeds, in nats per word, and the dotted line marks 300 trees. Left out are points of 3,000 trees, which the estimate
# contains, and values below 1e-6.

# %%
shown = study.groupby(["corpus", "parser", "way", "trees"], as_index=False)["nats"].mean()
shown = shown.query("nats > 1e-6 and trees < 3000").rename(columns={"nats": "nats missing per word"})
grid = seaborn.relplot(
    shown, kind="line", x="trees", y="nats missing per word", hue="parser", style="way", col="corpus",
    markers=["o", "X"], markersize=7, height=3.2,
)  # fmt: skip
for axes in grid.axes.flat:
    plot.make_logarithmic(axes, "xy")
    axes.axvline(300, color="#999999", linewidth=1, linestyle=":")

# %% tags=["table"]
at_300 = study[study["trees"] == 300].groupby(["corpus", "parser", "way"], sort=False)
columns = {"nats": ("nats", "mean"), "±, seeds": ("nats", "std"), "error of the estimate": ("error", "mean")}
table = at_300.agg(seeds=("seed", "nunique"), sentences=("sentences", "first"), **columns)
table["perplexity too high, %"] = 100 * np.expm1(table["nats"])
table["heads right, %"] = [right[corpus, parser] for corpus, parser, _ in table.index]
table.round(dict.fromkeys(columns, 4) | {"perplexity too high, %": 1, "heads right, %": 1})

# %% [markdown]
# The error of the estimate is half a 95 % interval, for these sentences. It is too narrow where a parser is sure of
# itself, because a tree that is never drawn cannot widen it; so what is missing is rather more than said. The study
# has a fifth of the test sentences, so it can differ from *In short*, where the two parsers' bounds are compared on
# all. The strong parser of UD English was an earlier, worse *parser-ud*.

# %%
ratio = lacking["draws"] / lacking["best trees"]
gain = (100 * (1 - np.exp(lacking["best trees"] - lacking["draws"]))).round(1) + 0.0  # and not -0
most, short_at_300 = study["trees"].max(), of_short[of_short["trees"] == 300]
far = study[(study["trees"] == most) & (study["way"] == "draws")].groupby(["corpus", "parser"])["nats"].mean()
Markdown(
    f"**A better parser helps more than more trees.** {most:.0f} draws from the weak parser miss at least "
    f"{far['minilang', 'weak']:.3f} nats per word on minilang and {far['ud-english', 'weak']:.3f} on UD English, more "
    f"than 300 from the strong one ({strong:.4f} and {lacking['draws']['ud-english', 'strong']:.3f}). In sentences of "
    f"up to six words 300 trees miss on average at most {short_at_300['nats'].max():.1g} nats per word, whatever the "
    f"parser.\n\n"
    f"The 300 best trees miss less than 300 draws where much is missing: by the weak parser "
    f"{ratio['minilang', 'weak']:.1f} times less on minilang. The perplexity by the best trees is lower than that by "
    f"draws, by {gain['minilang', 'weak']:.0f} % on minilang and {gain['ud-english', 'weak']:.0f} % on UD English with "
    f"the weak parsers, by {gain['minilang', 'strong']:.1f} and {gain['ud-english', 'strong']:.1f} % with the strong "
    f"ones. So a bound above an exact perplexity decides nothing unless its slack is known (one below decides), and "
    f"two bounds may be compared only if their trees come from the same parser in the same way."
)

# %% [markdown]
# ## 5. Perplexity, and the trees that the models choose
#
# Recorded perplexities per word, of 200 test sentences of minilang and 150 of UD English. Ends of sentences count as
# words (the paper does not say what it divides by). Numbers are means over seeds ± standard deviations, which say
# nothing about the choice of sentences. Of a model with trees it is a bound, by 300 draws from a parser or by the beam
# search of [notebook 05](05_syntactic_evaluation.ipynb); the lowest bound is the best. That of TXL (tokens) is exact.
# Empty: not measured.


# %% tags=["table"]
perplexity.replace(titles("dtg")).pivot_table(
    index=["corpus", "bound by"], columns="model", values="per word", aggfunc=with_spread, sort=False
).fillna("")

# %%
# NBVAL_CHECK_OUTPUT
by_seed = perplexity.pivot(index=["corpus", "seed"], columns=["model", "bound by"], values="per word")
for corpus, values in by_seed.groupby("corpus", sort=False):
    for by, bounds in values["dtg"].dropna(axis=1).items():
        lower = (bounds < values["txl-tokens", "none: exact"]).sum()
        print(f"{corpus}: DTG's bound by {by} is below TXL (tokens) in {lower} of {len(bounds)} seeds")

# %% [markdown]
# Parse reranking, the paper's Table 3: of the proposed trees each model takes the one with the highest $p(x, y)$.
# *proposal* is the parser's own best tree, *oracle* the one that is nearest to the treebank's. UAS is the percentage of
# words with the treebank's head, punctuation included.

# %% tags=["table"]
some = reranking.assign(UAS=100 * reranking["UAS"])
of_parsers = some.groupby(["corpus", "parser", "chosen by"], sort=False)["UAS"].agg(with_spread)
of_parsers.unstack("chosen by", sort=False).fillna("")

# %%
gains = some[some["chosen by"] == "DTG"].assign(gain=lambda rows: 100 * rows["over proposal"])
gains["is above"] = [low > 0 for low, _ in gains["over proposal, 95 %"]]
by_parser = gains.groupby(["corpus", "parser"]).agg(
    gain=("gain", "mean"), won=("is above", "sum"), seeds=("seed", "nunique")
)
by_parser.rename(columns={"won": "seeds won"}).round(1)

# %% [markdown]
# *seeds won* counts the seeds in which the 95 % interval of the gain over the parser, a bootstrap over sentences,
# lies above zero. Both models gain most over the weak parser. The paper reports + 0.1 over a parser with 96.9, for
# both models, with no interval; they learn from that parser's trees, ours from the treebank's, so ours can gain more.

# %% [markdown]
# ## 6. This run
#
# The models of this run are trained at its size, or released ones at size `smoke`, where few sentences and few trees
# are scored. Compare them with the record.

# %% tags=["table"]
rows = [
    {"model": title, "size": size, **syntax_scores.perplexity_at(settings, folder)}
    for title, (settings, folder) in prepare.trained_at(size, "dtg").items()
]
columns = {
    "per word": "perplexity per word",
    "per word, low": "95 % from",
    "per word, high": "to",
    "trees": "trees each",
}
shown = pd.DataFrame(rows).set_index("model")[["size", "sentences", *columns]].rename(columns=columns).round(1)
shown.astype(object).where(shown != 0, "exact")

# %% [markdown]
# ### Your sentence
#
# Change the words (blanks between all tokens). The released parser proposes trees for them, and the bound grows with
# the number of trees. In JupyterLab there is a field for the words.

# %%
yours = "Old friends and neighbours of the family came to the party in the garden ."


def draw_bound(text):
    """The bound of the K best trees of a sentence, in nats, for K up to 300."""
    words = text.split()
    (arc_scores,) = load_parser("parser-ud").arc_scores([words])
    proposed = best_trees(arc_scores, 300)
    bounds = np.logaddexp.accumulate(score_trees(dtg, words, proposed.heads).log_probs)
    picture = plot.draw_curves(
        {"best trees": (np.arange(1, len(bounds) + 1), bounds)}, "trees", "log p(x) at least, nats"
    )
    picture.axes[0].set_title(text)
    plot.make_logarithmic(picture.axes[0], "x")
    return picture


plot.with_field(draw_bound, yours)

# %% [markdown]
# ### Exercises
#
# 1. Put *saw* and *with* into a sentence with two readings (*I saw her duck with a telescope*). How many trees have a
#    posterior above 0.01?
# 2. Which is the better set of $K$ trees for a bound, the $K$ best of $q$ or $K$ draws? When would draws be better?
#
# <details><summary>Answers</summary>
#
# 1. `(posterior > 0.01).sum()` after section 1's cells with the new words, for at most 8 words.
# 2. The best, if $q$ orders the trees as $p$ does: they have the most mass of all sets of $K$. Draws can be better
#    where $q$ is sure of trees that the model does not like.
#    In the record the best are better in most settings (section 4).
#
# </details>
#
# ## Doubts
#
# The study has few sentences of more than six words, and two or three seeds. All sums count one derivation per tree,
# the oracle's; the beam search of [notebook 05](05_syntactic_evaluation.ipynb) counts several.
