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
# # Grammar without a treebank: does a parser learn trees from hidden words?
#
# **In short:** on minilang, in three runs of four seeds, 59, 54 and 59 % of the arcs of UDGN's best trees are the
# treebank's, in one direction or the other, where the best trees that know nothing have 43 (in the second run a seed
# has only 39, and the difference is not significant); on UD English 49, where these have 41. On both it guesses hidden
# words worse than a Transformer does, on UD English not significantly. (At size `smoke`, whose outputs stand here, a
# parser is trained for seconds and has found nothing.)
#
# Some words of a sentence are hidden, and a network tells them from the others. In UDGN each word may hear only of the
# words that a parser joins it with, and nobody teaches this parser: it learns whatever helps to tell hidden words. Are
# its arcs those of a treebank? The paper says that half of them are, on the Wall Street Journal. Here minilang is read,
# whose trees are known without doubt, in lower case and without punctuation.

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
import torch

from dtglib.evaluate.orders import as_text, in_words, orderings
from dtglib.families.base import compared, load_model
from dtglib.pictures import plot
from dtglib.runs.ablations import ablations
from dtglib.runs.prepare import prepare, read_corpus, trained
from dtglib.runs.settings import read_size
from dtglib.runs.tables import benchmark, beside_the_paper, measured_values
from dtgpapers.udgn.beliefs import BEFORE, believed
from dtgpapers.udgn.induction import trivial_rows
from dtgpapers.udgn.labels import correlations, values_at_arcs, without_subtypes
from dtgpapers.udgn.measured import IN_NOTEBOOK, induction_of, learning_of, read_test
from dtgpapers.udgn.parser import EDGES, mask_of
from dtgpapers.udgn.pictures import draw_beliefs, draw_correlations
from dtgpapers.udgn.similarity import of_similarity, similarity_of
from dtgpapers.udgn.tables import (
    ORDERS,
    labels_beside_the_paper,
    recorded_learning,
    similarity_beside_the_paper,
)

pd.set_option("display.width", 200, "display.max_columns", None)
names = compared("udgn")
settings = {name: read_size(size, model=name) for name in names}
first = settings["udgn"]

# %% [markdown]
# ## From heads to a mask
#
# For every word i the parser has a probability of each other word j as its head, q. The mask m is the probability that
# one of the two is the head of the other: q + q^T - q q^T. It has no direction, so that whatever teaches the parser
# does not say which of two words is the head. With three words that know nothing, every pair is joined by 5/9:

# %%
# NBVAL_CHECK_OUTPUT
q = EDGES["softmax"](torch.zeros(1, 3, 3), torch.ones(1, 3, dtype=torch.bool), None)
print(mask_of(q)[0].numpy().round(4))

# %% [markdown]
# ## The models
#
# UDGN, and a Transformer beside it in which all words hear of all others. They are found if they have been trained
# before; otherwise it is done now. *Hidden words*: the perplexity of words of the test part that are hidden, three of
# ten at a time.

# %% tags=["table"]
corpus = read_corpus(first)
folders = {name: trained(settings[name], prepare(settings[name], corpus)) for name in names}
found = {name: induction_of(settings[name], folder) for name, folder in folders.items()}
models = {name: load_model(folder) for name, folder in folders.items()}
pd.DataFrame(
    {
        "parameters": {names[name]: sum(p.numel() for p in model.parameters()) for name, model in models.items()},
        "hidden words": {names[name]: found[name]["hidden words"] for name in names},
    }
).round(1)

# %% [markdown]
# ## What the parser believes while it learns
#
# The same sentence of the held-out part at several steps of the training: how probable each word (column) is as the
# head of each word (row). The treebank's arcs have orange frames; the model has never seen them.


# %%
def drawn(evaluations, most):
    """The picture of some of the evaluations, from the first to the last."""
    places = np.unique(np.linspace(0, len(evaluations) - 1, most).round().astype(int))
    stages = {f"step {evaluations[place]['step']}": np.array(evaluations[place]["believed"]) for place in places}
    return draw_beliefs(evaluations[0]["words"], stages, evaluations[0]["heads"])


evaluations = learning_of(folders["udgn"])
plot.save(drawn(evaluations, 4 if size == "smoke" else 8), "30_beliefs")

# %% [markdown]
# The same of what is recorded (the first seed), if something is:

# %%
recorded = recorded_learning("udgn")
of_seed = recorded[recorded["seed"] == recorded["seed"].min()].to_dict("records") if len(recorded) else []
print(*(f"{line['corpus']}, size {line['size']}, seed {line['seed']}" for line in of_seed[:1]))
plot.save(drawn(of_seed, 8), "30_recorded_beliefs") if of_seed else "nothing is recorded yet"

# %% [markdown]
# ## Does it come nearer to the treebank?
#
# UDA is the share of words whose most probable arc is one of the treebank's, in either direction, and DDA in the right
# one; of held-out sentences, at every evaluation of the training. Nobody chooses by them: kept is the model that is
# best at hidden words.

# %%
steps = [line["step"] for line in evaluations]
curves = {name: (steps, [100 * line[name] for line in evaluations]) for name in ("UDA", "DDA")}
plot.draw_curves(curves, "step", "percent of words")

# %% [markdown]
# And of the same recorded trainings, against the time that they took; a curve for each seed:

# %%
seeds = {f"UDA, seed {seed}": of for seed, of in recorded.groupby("seed")} if len(recorded) else {}
curves = {name: (of["seconds"] / 60, 100 * of["UDA"]) for name, of in seeds.items()}
plot.draw_curves(curves, "minutes of training on one core", "percent of words") if curves else "nothing is recorded yet"

# %% [markdown]
# Meanwhile, hidden words of the held-out part:

# %%
plot.draw_curves({"UDGN": (steps, [line["nats_per_mask"] for line in evaluations])}, "step", "nats per hidden word")

# %% [markdown]
# ## The trees that it has found
#
# In the test part, decoded in three ways: the most probable head of each word, the best tree (as the paper does, by
# Chu-Liu and Edmonds), and the best projective one. Below are trees that know nothing of words.

# %% tags=["table"]
sentences = read_test(first)
beliefs = list(believed(models["udgn"], sentences))
gold = [belief.sentence.heads for belief in beliefs]
trees = pd.DataFrame(found["udgn"]["trees"] + trivial_rows(gold)).set_index("trees")
(100 * trees).round(1)

# %% [markdown]
# ## Labels found by heads
#
# Does a head of attention stand for a label? For each arc of the treebank, what the parent hears of the child by each
# head of each layer (before the mask), correlated with whether the arc has the label. In UDGN the heads of a layer
# compete for every pair of words.

# %%
values, labels, heads = values_at_arcs(beliefs)
labels = without_subtypes(labels)
by_head = correlations(values[BEFORE, "child to parent"], labels)
plot.save(draw_correlations(by_head.head(12), heads), "30_labels")

# %% [markdown]
# The head that is correlated most with each of the commonest labels (layer and number):

# %% tags=["table"]
rows = [
    {"label": row["label"], "arcs": row["arcs"], "model": names[name], "best": f"{row['r']:.2f} ({row['head']})"}
    for name in names
    for row in found[name]["labels"]
    if (row["attention"], row["direction"]) == (BEFORE, "child to parent")
]
pd.DataFrame(rows).pivot_table(index=["label", "arcs"], columns="model", values="best", aggfunc="first", sort=False)

# %% [markdown]
# ## What is taken out, and how much is read
#
# One decision changed at a time, as in the paper's Tables 4 and 9; those of Table 8 are in the record below. With fewer
# sentences, which are read more often, the number of steps stays the same; words that these sentences have too seldom
# are unknown, so that the perplexities of hidden words cannot be compared then.

# %% tags=["table"]
variants = pd.DataFrame(ablations(first, IN_NOTEBOOK)).set_index(["question", "variant"])
shares = [column for column in variants if column.startswith(("DDA", "UDA"))]
variants[shares] *= 100
variants[["hidden words", *shares]].round(1)

# %% [markdown]
# ## What it costs
#
# From the record of a benchmark: a step of training with the paper's layers and widths, over the time of the
# Transformer and of UDGN. The loop computes one head after the other.

# %%
speed = benchmark("udgn")
rows = pd.DataFrame(speed.metrics if speed else []).reindex(columns=["what", "of transformer", "of udgn"])
rows.dropna().set_index("what").round(2)

# %% [markdown]
# ## Similarity of sentences
#
# A trained model learns to say how similar two sentences are, on STS Benchmark: with its parser and without touching
# it, and from its embeddings alone, which is a bag of words. Pearson's and Spearman's correlations with what people
# say, times 100. A model of minilang knows hardly a word of these sentences; the cell shows how it is done, and numbers
# that mean something have to come from a model of real text, in the record below.

# %% tags=["table"]
asked = names if of_similarity() else {}
scores = [row for name in asked for row in similarity_of(settings[name], folders[name])]
similar = pd.DataFrame(scores, columns=["title", "on", "items", "Pearson", "Spearman"])
similar[["Pearson", "Spearman"]] *= 100
similar.set_index(["title", "on"]).round(1).unstack("title") if scores else "no files: run `dtglib data sts`"

# %% [markdown]
# ## What was recorded, beside the paper
#
# Out of [results/](../results): means over seeds. The paper's models have 50 million parameters and read the Wall
# Street Journal, so that only orders can be compared. Columns of ours are missing as long as nothing is recorded.
# Table 1, perplexity of hidden words, and Table 2, agreement of the best trees (at its end, on our corpus only, trees
# that know nothing):

# %% tags=["table"]
values = measured_values()
beside_the_paper("udgn_table1", values)

# %% tags=["table"]
beside_the_paper("udgn_table2", values)

# %% [markdown]
# Tables 3 and 7, labels; of the two directions the paper says the same of both, and its published code and text differ.
# Universal Dependencies has *case*, *nmod* and *obj* for *prep*, *pobj* and *dobj*. A record has only the commonest
# labels of its corpus; other rows are blank.

# %% tags=["table"]
labels_beside_the_paper("udgn_table3", "child to parent")

# %% tags=["table"]
labels_beside_the_paper("udgn_table7", "parent to child")

# %% [markdown]
# Tables 4, 8 and 9, variants and amounts of data; of the last one only accuracies can be compared, because the
# vocabulary grows with the amount:

# %% tags=["table"]
beside_the_paper("udgn_table4", values)

# %% tags=["table"]
beside_the_paper("udgn_table8", values)

# %% tags=["table"]
beside_the_paper("udgn_table9", values)

# %% [markdown]
# Figures 4 and 6, the number of heads and the share of hidden words, of which the paper has curves and no numbers. (Of
# different shares only the trees can be compared, because each model is asked for as many words as it was trained for.)

# %% tags=["table"]
of_figures = values[values["question"].isin(["number of heads", "mask rate"])]
of_figures.pivot_table("value", ["question", "system", "corpus", "size"], "measure", as_text, sort=False)

# %% [markdown]
# Table 5, similarity of sentences:

# %% tags=["table"]
similarity_beside_the_paper()

# %% [markdown]
# Table 6 has no results: its settings are those of `configs/udgn/paper.yaml`, but for the vectors of tags (`tags: 0`,
# as in the published code; the paper has 5), and of `configs/udgn-transformer/paper.yaml`. Which of the paper's orders
# hold?

# %%
print(*(in_words(orderings(values, ORDERS)) or ["nothing is recorded yet"]), sep="\n")

# %% [markdown]
# ## What we found
#
# **Trees.** Of size `mini`, four seeds (the first run): the best trees have 59 % of the treebank's arcs in either
# direction (50 % with the right direction), and a chain in which each word has the next one as its head has 43 (38).
# One seed of four found much less than the others, 52 %. For 600 to 1,400 steps, by the seed, hardly anything happens;
# over the next 1,000, in one seed 1,600, the parser finds nearly all that it finds. UDGN guesses hidden words worse
# than the Transformer, significantly; in the paper it is the better of the two. (Here, and below, the Transformer has
# UDGN's layers, width, learning rate and dropout, and without a parser 55 to 62 % of its parameters; the paper gives it
# its own.) In the run of Tables 4, 8 and 9 the same four seeds, with later code, found 54 %; one of them, 39 %, less
# than a chain has, so that the difference from it is not significant there (p = .12; in the first run .008).
#
# **UD English.** Of size `open-small`, half a million words, four seeds: the best trees have 49 % of the arcs in either
# direction and 37 in the right one, where the best of the trees that know nothing have 41 and 34. That is little, but
# significant (p = .002 and .02), and all seeds agree. The trees appear slowly, over 7,000 steps. Here, too, the
# Transformer guesses hidden words better: a perplexity of 131 against 139, in every seed (p = .055).
#
# **Labels.** Heads of attention stand for some labels, which nobody taught either: on both corpora a head is correlated
# with determiners by .7, and with subjects by .4. The Transformer's heads know less of all eight labels that are
# recorded on UD English (.2 and .3), as in the paper.
#
# **Similarity of sentences.** A UDGN of UD English, tuned on STS-B with three seeds, is before a bag of words by five
# points of Spearman's correlation in the mean of all sets (p = .001), and by two before UDGN with its parser frozen (p
# = .03), as in the paper, whose correlations are higher by twenty. A Transformer, tuned in the same way, is between the
# two: .9 behind UDGN (p = .02), where the paper has it 7.6 behind, and .9 before UDGN with its parser frozen (p = .09),
# where the paper has it 6.3 behind. It is one model of each, tuned three times, and p tells only how sure tuning is: of
# UDGN and Transformers in general so small a difference says nothing.
#
# **Decisions.** In the paper UDGN is before the model without competition, and that is far before the one without
# gates. Of four seeds on minilang neither order appears: the best trees have 54 % of the arcs with all parts, 58
# without competition, 61 without gates, and no difference is significant; the same holds of the bias of directions, of
# the nonlinearity, of encoded positions, and of summing over trees (Kirchhoff). Chance decides more than any of these:
# the seed, and the last digits of the arithmetic, which differ between versions of the code (one seed, with the same
# settings, found 62, 39 and 61 % in three runs). The number of heads, which the paper finds to matter most, is the one
# whose order appears: with one head 51 % of the arcs, with two 59, with eight 59; over four seeds that is not
# significant either (p = .23). On UD English the seed matters less, and the three are alike: 49 % with all parts, 49
# without competition, 49 without gates. What is left of the paper's order is that without competition fewer of the most
# probable heads have the right direction (36 against 37 %, p = .03); without gates hidden words are even guessed better
# (135 against 139, p = .055).
#
# **Amounts of data.** The paper finds trees with a million words as with forty. Minilang has 0.2 million, in sentences
# of a grammar that repeats itself; a tenth of them, read ten times as often, gives trees as good (57 %). With 30 %
# three seeds of four had found next to nothing when the training ended, and with all sentences one: when the parser
# begins to find trees is again a matter of the seed.
