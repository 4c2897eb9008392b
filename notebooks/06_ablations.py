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
# A Dependency Transformer Grammar is a heap of decisions. How is an arc read: by its own embedding, its head's, or both
# (the paper's Table 4)? How good must the parser be whose trees it is trained on and summed over (Table 5)? And three
# that the paper leaves open: what the softmax runs over, whether actions and words share one, and which transition
# system writes the tree. Here each is changed alone, everything else stays, and the model is trained anew.

# %% tags=["parameters"]
size = "smoke"

# %%
import pandas as pd
import torch

from dtglib import plot
from dtglib.ablations import QUESTIONS, ablations
from dtglib.experiment import prepare, trained
from dtglib.files import repository
from dtglib.model import Model
from dtglib.output import Single
from dtglib.record import read_record
from dtglib.settings import read_size

pd.set_option("display.width", 160)
first = read_size(size)
seeds = range(first.run.seed, first.run.seed + first.evaluation.compared_seeds)

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
# the weak parser's trees is summed over the strong parser's, which tells learning from summing.
#
# ## What comes out at this size
#
# Perplexity per word (ends included, a bound), nats a sentence *with its tree* on the held-out sentences, accuracy in
# minimal pairs, and the mean over the circuits of the test suites, in percent. Each variant is trained and measured, or
# found.

# %%
rows = pd.DataFrame({"seed": seed, **row} for seed in seeds for row in ablations(read_size(size, seed=seed)))
MEASURES = {"per word": 1, "nats_per_sentence": 1, "pairs": 100, "suites": 100}


def compared(rows, question):
    """Mean and spread over the seeds, variant by variant."""
    chosen = rows[rows["question"] == question]
    numbers = chosen[list(MEASURES)] * pd.Series(MEASURES)
    return numbers.groupby(chosen["variant"], sort=False).agg(["mean", "std"]).round(2)


print(len(seeds), "seeds,", first.evaluation.trees, "trees,", first.corpus.train_sentences, "sentences")

# %% tags=["table"]
compared(rows, "arc representation")

# %% tags=["table"]
compared(rows, "output layer")

# %% tags=["table"]
compared(rows, "transition system")

# %% tags=["table"]
compared(rows, "parser")

# %% [markdown]
# ## What the whole softmax loses
#
# A softmax over the whole vocabulary gives something to what cannot come next, such as an arc where there is nothing to
# join. The model has to learn the rules, and what it has not learned is lost. How much? We take that model's weights,
# and let the softmax run over what is legal alone: the difference is what it had given to the rest.

# %%
whole = read_size(size, output="whole")
prepared = prepare(whole)
literal = Model.load(trained(whole, prepared))
strict = Model.load(trained(whole, prepared))
strict.output.__class__ = Single  # which has the same weights, and divides by what is legal
examples, nats = prepared.dev, {}
for name, model in (("whole vocabulary", literal), ("legal", strict)):
    with torch.no_grad():
        batches = examples.plan(whole.train.batch_positions, None, torch.device("cpu"))
        nats[name] = sum(float(model.loss(examples.batch(b, 0, torch.device("cpu")))[0]) for b in batches)
lost = (nats["whole vocabulary"] - nats["legal"]) / len(examples)
print(f"{lost:.3f} nats a sentence are lost, of {nats['whole vocabulary'] / len(examples):.1f}")
