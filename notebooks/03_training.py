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
# # Five models, one body: what does each learn?
#
# **In short:** all with trees need fewer nats for a sentence *with* its tree than the one without needs for the words
# alone. And where a head takes up its dependent, DTG looks at the dependent.
#
# The paper compares three Dependency Transformer Grammars with two plain Transformers. Here all five are one model
# that reads five things. We train them on the same sentences, watch their losses, and then open the trained DTG: at a
# **COMPOSE** position a head takes up its dependent. Which of the two does it look at?

# %% tags=["parameters"]
size = "smoke"

# %%
from collections import Counter

import numpy as np
import pandas as pd
import torch

from dtglib.basics.record import read_record
from dtglib.data.treebank import Sentence, Treebank, trees_only
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import family, load_model, titles
from dtglib.network.transformer import batch_of
from dtglib.pictures import plot
from dtglib.runs.prepare import prepare, read_corpus, trained
from dtglib.runs.settings import read_size
from dtglib.sequences.batches import pad
from dtglib.sequences.columns import COMPOSE, NOTHING
from dtglib.sequences.structure import dense
from dtglib.training.networks import best_on_dev

NAMES = titles("dtg")
pd.set_option("display.width", 160)
settings = {model: read_size(size, model=model) for model in NAMES}

# %% [markdown]
# ## What each of them reads
#
# TXL (tokens) reads words. TXL (trans) reads transitions, as a plain sequence: nothing is hidden, and an arc is just
# another symbol. The DTGs read every arc twice; its word is the head's, and the first copy predicts nothing.

# %%
# NBVAL_CHECK_OUTPUT
sentence = Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2))
vocabulary, treebank = Vocabulary.of_words([sentence.words]), Treebank([sentence], Counter())


def read_aloud(position):
    """A position's input: a word, an arc, or both."""
    parts = (position.arc, position.token)
    return " + ".join(vocabulary.entries[part].lstrip("▁") for part in parts if part != NOTHING)


for model, name in NAMES.items():
    vectors = family(model).examples(settings[model].model, vocabulary, treebank, None).sequences.vectors
    inputs = [read_aloud(vectors._make(column[i] for column in vectors)) for i in range(vectors.length)]
    print(f"{name:13}", *inputs, sep=" | ")

# %% [markdown]
# ## Training one, to see it
#
# A toy: a DTG of two thin layers reads 600 sentences three times. What is trained lies in a folder with its record, and
# is not trained a second time with the same settings, on the same data, by the same code.

# %%
toy = read_size("smoke", released=None)
record_of_toy = read_record(trained(toy))


def curve(run):
    """The joint loss of a training, by the part of it that is done, in epochs."""
    lines = [line for line in run.metrics if line["part"] == "train"]
    epochs = [run.config["epochs"] * line["step"] / run.metrics[0]["steps"] for line in lines]
    return epochs, [line["nats_per_transition"] for line in lines]


print(record_of_toy.metrics[0]["train"], "and", record_of_toy.metrics[0]["parameters"], "parameters")
plot.draw_curves({"a toy DTG": curve(record_of_toy)}, "epochs", "nats per transition, joint")

# %% [markdown]
# ## Training all five
#
# At size `smoke` these are the models that come with dtglib, and the curves are those of their training; at the other
# sizes they are trained, or found. All five have the same number of parameters: a transition is an entry of the
# vocabulary, and no model has weights that another lacks.

# %%
corpus = read_corpus(settings["dtg"])
folders = {model: trained(settings[model], prepare(settings[model], corpus)) for model in NAMES}
runs = {model: read_record(folder) for model, folder in folders.items()}
print({name: runs[model].metrics[0]["train"] for model, name in NAMES.items()})

# %%
plot.draw_curves({name: curve(runs[model]) for model, name in NAMES.items()}, "epochs", "nats per transition, joint")

# %% [markdown]
# The curve is the **joint loss per transition**: words and arcs together, divided by all that is predicted. About half
# of the transitions are arcs (in DTG-eager there are POPs, too), which are easier to guess than words, so the models
# with trees lie lower. That is no merit, and none of these numbers is a perplexity: for the probability of a sentence
# one has to sum over its trees, which a later notebook does. What may be compared, among the models with trees, is
# `nats per sentence`: of a sentence with its tree, by the one derivation that the oracle gives it.
#
# How fast they trained is in their records, too: positions per second, without padding. Several trainings may have
# shared the cores then.

# %% tags=["table"]


def measured(model):
    """A row of the table: size, speed, padding, and the losses on the held-out sentences."""
    about, *lines = runs[model].metrics
    steps = [line for line in lines if line["part"] == "train"]
    best = best_on_dev(folders[model])
    return {
        "parameters": about["parameters"],
        "positions a second": round(np.median([line["positions_per_second"] for line in steps])),
        "padding, %": round(100 * np.mean([line["padding"] for line in steps]), 1),
        "dev: nats per transition": round(best["nats_per_transition"], 3),
        "dev: nats per sentence": round(best["nats_per_sentence"], 1),
    }


pd.DataFrame([{"model": name, **measured(model)} for model, name in NAMES.items()]).set_index("model")

# %%
about = runs["dtg"].about
print(
    f"trained on {runs['dtg'].config['corpus']}, seed {about['seeds'][0]}, {about['hardware']['cpu']}, "
    f"{about['hardware']['cores']} cores, computed in {runs['dtg'].config['computed_in']}"
)

# %% [markdown]
# ## What a composed position looks at
#
# Three columns are visible to a COMPOSE position of arc-standard: the head (or what stands for it since its last arc),
# the dependent, and itself. We take the trained DTG, read the first held-out sentences, and average its attention over
# heads, once for arcs to the left and once for arcs to the right.

# %%
model = load_model(folders["dtg"])
sentences = trees_only(corpus.dev).sentences[:100]
sequences = model.reading.compile(model.vocabulary, [(s.words, s.heads) for s in sentences])
compiled = pad(sequences, range(len(sequences)))
batch = batch_of(compiled, dense)
weights = [layer.mean(1) for layer in model.eval().attention_weights(batch)]  # over the heads

relpos = batch.structure.relpos
place = torch.arange(relpos.shape[1])
parts = {
    "itself": (place[:, None] == place).expand_as(relpos),
    "the head": (relpos == 0) & (place[:, None] != place),
    "the dependent": relpos == -1,
}
rows = []
for arc in ("LEFTARC", "RIGHTARC"):
    composes = torch.tensor((compiled.kind == COMPOSE) & (compiled.arc == model.vocabulary.transition(arc)))
    for layer, weight in enumerate(weights, start=1):
        shares = {part: float((weight * mask).sum(2)[composes].mean()) for part, mask in parts.items()}
        rows.append({"arc": arc, "layer": layer, **shares})
attention = pd.DataFrame(rows).set_index(["arc", "layer"])
attention.round(2)

# %%
curves = {
    f"{part}, {arc}": (attention.loc[arc].index, attention.loc[arc, part])
    for arc in ("LEFTARC", "RIGHTARC")
    for part in parts
}
plot.draw_curves(curves, "layer", "share of the attention")

# %% [markdown]
# For scale: a position that cannot tell the three apart gives each a third. One short sentence, arc by arc, in the last
# layer; a head that has taken up dependents before is shown by what it stands for.

# %%
number = next(n for n, sentence in enumerate(sentences) if 7 <= len(sentence.words) <= 10)
plot.draw_tree(sentences[number])

# %%
vectors, spelled = sequences.sentence(number), model.vocabulary.entries
seen, last_layer = batch.structure.visible[number], weights[-1][number]
rows = []
for i in np.flatnonzero(vectors.kind == COMPOSE):
    row = {"arc": spelled[vectors.arc[i]]}
    for part in ("the head", "the dependent"):
        (places,) = np.nonzero((seen[i] & parts[part][number, i]).numpy())
        row |= {part: spelled[vectors.token[places[-1]]].lstrip("▁"), f"to {part}": float(last_layer[i, places].sum())}
    rows.append(row | {"to itself": float(last_layer[i, i])})
pd.DataFrame(rows).round(2)

# %% [markdown]
# ## And the others: how deep do they look?
#
# A STACK position sees the whole stack, the topmost word at relative position 0, where it also sees itself. How much of
# its attention goes how deep?

# %%
stack = torch.tensor(compiled.kind != COMPOSE) & torch.tensor(compiled.target != NOTHING)
deepest = 6
curves = {}
for layer, weight in enumerate(weights, start=1):
    seen = batch.structure.visible & stack[:, :, None]
    shares = [float((weight * (seen & (relpos == depth))).sum() / stack.sum()) for depth in range(deepest + 1)]
    curves[f"layer {layer}"] = (range(deepest + 1), shares)
plot.draw_curves(curves, "words below the top of the stack", "share of the attention")

# %% [markdown]
# ## What we found
#
# At size `smoke` the five models are the released ones, which were trained at `mini` (20,000 sentences of minilang,
# four epochs, one seed); what is said of losses held with three seeds.
#
# All five models train on two CPU cores in six to ten minutes together, depending on the machine; alone on one core,
# which other work may share, each takes one and a half to seven minutes (`dtglib models NAME` says how many). Every
# model with a tree needs fewer nats for a sentence *with* its tree (41.2 to 42.7) than TXL (tokens) needs for the words
# alone (43.0): on a corpus whose trees follow from its words as strictly as here, the tree pays for itself. It does so
# for the probability of the words, too, as the notebook on marginals says.
#
# A composed position looks at the **dependent**: from the second layer on it gets 41 to 73 % of the attention, the
# head 16 to 42 %. That makes sense. The position has the head's word already, in its own input (`w+arc`), and what it
# lacks is what comes from the dependent. Arcs to the left, whose dependents are mostly single words, show it most.
#
# STACK positions look at the top. The word on top, with the position itself, gets 40 to 70 %, the next one 25 to 30 %,
# and what lies deeper than three words almost nothing, in every layer.
