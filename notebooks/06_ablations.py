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
# # What is each decision worth?
#
# **In short:** the trees and their quality are worth most, then that an arc knows its head; the form of the softmax is
# worth nothing that can be measured. arc-standard is the best of the three systems here.
#
# A Dependency Transformer Grammar is a heap of decisions. How is an arc read: by its own embedding, its head's, or both
# (the paper's Table 4)? How good must the parser be whose trees it is trained on and summed over (Table 5)? And four
# that the paper leaves open: what the softmax runs over, whether actions and words share one, which transition system
# writes the tree, and whether its arcs have labels. Here each is changed alone, everything else stays, and the model is
# trained anew.

# %% tags=["parameters"]
size = "smoke"

# %%
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from dtglib.basics.files import repository
from dtglib.basics.record import read_record
from dtglib.data.corpora import part_of
from dtglib.data.treebank import trees_only
from dtglib.evaluate.attachment import attached
from dtglib.evaluate.orders import as_text
from dtglib.families.base import build, load_model
from dtglib.pictures import plot
from dtglib.runs.ablations import QUESTIONS, ablations
from dtglib.runs.parsers import proposers
from dtglib.runs.prepare import prepare, trained
from dtglib.runs.settings import read_size
from dtglib.runs.tables import measured_values
from dtglib.runs.trees import parsed

pd.set_option("display.width", 160)
settings = read_size(size)

# %% [markdown]
# ## The questions
#
# The first variant of each is the DTG of the other notebooks. What a variant changes is a field or two of its settings:

# %%
# NBVAL_CHECK_OUTPUT
for question, variants in QUESTIONS.items():
    print(question)
    for name, variant in variants.items():
        print(f"    {name:52}", {key: value for key, value in variant._asdict().items() if value})

# %% [markdown]
# Two parsers are trained on the treebank; each then parses the training sentences, and two more models learn from what
# it has drawn. The parser proposes the trees of the test sentences, too, as in the paper; in the last row the model of
# the weak parser's trees is summed over the strong parser's, which tells learning from summing. How much of the
# treebank is in a parser's trees, in percent of all words? (They have seen the training sentences with their trees.)

# %%
own = {part: trees_only(part_of(settings.corpus, part)) for part in ("train", "dev")}


def heads_right(parser, part):
    """The share of the words to which a parser gives the treebank's head."""
    drawn = parsed(own[part], parser).sentences
    return round(100 * attached(own[part].sentences, [sentence.heads for sentence in drawn]).uas, 1)


parsers = proposers(settings)
pd.DataFrame(
    {name: {part: heads_right(parser, part) for part in own if own[part].sentences} for name, parser in parsers.items()}
)

# %% [markdown]
# ## What comes out
#
# Perplexity per word (ends included, a bound), nats a sentence *with its tree* on the held-out sentences, minimal pairs
# and the mean over the circuits of the test suites, both in percent. Each variant is trained and measured, or found; at
# size `smoke`, where nothing is trained, these are the first seed's recorded numbers of `mini`. With one seed, this is
# no more than a first look; three seeds are further down.

# %%
folders = [folder for what in ("ablations", "labels") for folder in (repository() / "results").glob(f"*-mini-{what}")]
lines = [line for folder in folders for line in read_record(folder).metrics]
of_record = [line for line in lines if line["part"] == "ablation" and line["seed"] == 1]
rows = pd.DataFrame(of_record if settings.evaluation.released else ablations(settings))


def compared(question):
    """What is measured, variant by variant."""
    chosen = rows[rows["question"] == question].set_index("variant")
    percent = 100 * chosen[["pairs", "suites"]]
    return chosen[["per word", "nats_per_sentence"]].join(percent).round(2)


# %% tags=["table"]
compared("arc representation")

# %% tags=["table"]
compared("output layer")

# %% tags=["table"]
compared("transition system")

# %% tags=["table"]
compared("parser")

# %% [markdown]
# With labels there is a symbol for each arc and label, such as `LEFTARC:nsubj`, so that a tree has many labellings. A
# parser proposes only one for each tree, its best, and what the model gives to all others is missing from the sum; nats
# *with the tree* include the labels. A beam search sums over trees and labels, so that perplexities "by beam" can be
# compared, although labellings of one tree compete for places in the beam, and the bound is looser. It also parses: UAS
# is the percentage of words with the right head, LAS that of words with the right head and the right label.

# %% tags=["table"]
of_labels = rows[rows["question"] == "labels"].set_index("variant")
compared("labels").join(of_labels.reindex(columns=["per word, by beam", "UAS", "LAS"]) * [1, 100, 100]).round(2)

# %% [markdown]
# ## What the whole softmax loses
#
# A softmax over the whole vocabulary gives something to what cannot come next, such as an arc where there is nothing to
# join. The model has to learn the rules, and what it has not learned is lost. How much? We take that model's weights,
# and let the softmax run over what is legal alone: the difference is what it had given to the rest. (Not at `smoke`,
# where no such model is at hand.)

# %%


@torch.no_grad()
def nats_per_sentence(model, held_out):
    """Of the held-out sentences with their trees."""
    positions, device = settings.train.batch_positions, torch.device("cpu")
    plan = held_out.plan(positions, np.random.default_rng(0), device)
    return sum(float(model.loss(held_out.batch(numbers, positions, device))[0]) for numbers in plan) / len(held_out)


def what_is_lost():
    """The loss of the model with the whole softmax, and the same weights with a softmax over what is legal."""
    literally = read_size(size, output="whole")
    prepared = prepare(literally)
    whole = load_model(trained(literally, prepared))
    legal = build(replace(literally.model, output="single"), whole.vocabulary).eval()
    legal.load_state_dict(whole.state_dict())
    found = {"whole vocabulary": whole, "legal symbols": legal}
    losses = {name: nats_per_sentence(model, prepared.dev) for name, model in found.items()}
    return pd.Series(losses, name="nats a sentence").round(3).to_frame()


None if settings.evaluation.released else what_is_lost()

# %% [markdown]
# ## What was recorded
#
# The same at size `mini` (20,000 sentences of minilang, models of a million parameters, 200 test sentences, 300 trees),
# with three seeds: a dot is a seed, the stroke their mean. Perplexity per word:

# %%
recorded = measured_values().query("size == 'mini' and question != ''")
recorded.pivot_table(index=["question", "system"], columns="measure", values="value", aggfunc=as_text, sort=False)

# %%


def draw_recorded(question, measure="perplexity"):
    """A dot for every seed."""
    chosen = recorded.query("question == @question and measure == @measure")
    return plot.draw_dots(chosen.rename(columns={"value": measure}), "system", measure)


draw_recorded("arc representation")

# %%
draw_recorded("output layer")

# %%
draw_recorded("transition system")

# %%
draw_recorded("parser")

# %% [markdown]
# With labels, perplexities by the beam:

# %%
draw_recorded("labels", "perplexity by beam")

# %% [markdown]
# ## What we found
#
# Of what is [recorded](../results/2026-11-21-mini-ablations) at `mini`, with three seeds (p of paired t tests over
# them):
#
# **Arc representation.** An arc that is read by its own embedding alone costs a tenth of the perplexity (28.8 against
# 26.2, p = 0.01). The head's word alone is nearly as good as both (26.5, p = 0.13). The paper has the same order, with
# smaller differences (15.2, 15.1, 14.9). In minimal pairs and test suites nothing is significant.
#
# **Output layer.** A softmax over the whole vocabulary costs next to nothing (26.3 against 26.2, p = 0.5): the model
# learns what is illegal. What is won by the rules is a distribution that sums to 1. The factored layer of the authors'
# program is no worse (26.0, p = 0.4).
#
# **Transition system.** arc-standard is best, arc-eager costs 0.6 in perplexity (p = 0.05), arc-swift 1.0 (p = 0.02),
# and both ten points of the test suites (p < 0.05), nearly all of them in agreement over a distance. In the paper
# arc-swift is before arc-eager; here it is the other way round.
#
# **Parser.** Trees of a parser that is 98 % right are nearly as good to learn from as the treebank's (26.6 against
# 26.2, small, but with every seed: p = 0.007). Those of one that is 82 % right cost six points of perplexity (p =
# 0.004) and more than a quarter of the test suites (p = 0.03). Summing over the strong parser's trees does not bring
# them back, so it is the learning that suffers. The paper, whose two parsers are closer to one another, finds 15.1 and
# 14.9.
#
# **Labels.** In the beam's perplexities nothing is won or lost (26.0 with, 26.2 without them, p = .5), and a parser
# comes with them: 99.1 % of the words have the right head and label, 99.2 % the right head ([three other
# trainings](../results/2026-11-25-mini-labels), of a later version; dropout draws other numbers there).
