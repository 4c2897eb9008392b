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
# The paper, [section 3](https://arxiv.org/html/2407.17406v1#S3) (the model) and
# [section 4](https://arxiv.org/html/2407.17406v1#S4) (the baselines) · before: [the masks](02_masks.ipynb) · after:
# [how probable is a sentence?](04_marginalization.ipynb)
#
# Of the models that the paper compares, five are one network: three Dependency Transformer Grammars (DTG, DTG-eager,
# DTG-swift: one for each transition system) and two plain Transformers. The network is a Transformer-XL
# ([TXL](https://arxiv.org/abs/1901.02860)), whose attention is told relative instead of absolute positions. The five
# differ only in what they read and in what is visible at which distance. How well does each predict, and what does a
# DTG look at where it joins a head and a dependent?
#
# 1. What each model reads
# 2. From a position to attention
# 3. The loss of a sequence
# 4. A training loop
# 5. Five models, three seeds
# 6. What a COMPOSE position looks at
# 7. This run; exercises

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
import seaborn
import torch
from IPython.display import Markdown

from dtglib.basics.record import read_record
from dtglib.data import corpora, treebank
from dtglib.evaluate.intervals import over_seeds, with_spread
from dtglib.families.base import family, load_model, titles
from dtglib.network import attention, output
from dtglib.runs import prepare, settings, tables
from dtglib.sequences.describe import described

pd.set_option("display.width", 160)
NAMES, cpu = titles("dtg"), torch.device("cpu")


# %%
of_all = tables.newest_lines(None, lambda line: line["part"] == "training" and line["model"] in NAMES)
recorded = of_all.query("size == 'mini' and corpus == 'minilang'").replace({"model": NAMES})
wide = of_all.query("size == 'mini-wide'")  # TXL (tokens) with more parameters
nats = recorded.pivot_table(index="seed", columns="model", values="nats_per_sentence")[list(NAMES.values())]
words_alone, with_trees = nats["TXL (tokens)"], nats.drop(columns="TXL (tokens)")
fewer = with_trees.lt(words_alone, axis=0).all()
than_wide = with_trees.lt(wide.set_index("seed")["nats_per_sentence"], axis=0).all()

# %%
# NBVAL_CHECK_OUTPUT
by_stack = over_seeds(nats["TXL (trans)"] - nats["DTG"])
Markdown(
    f"**In short**, on minilang with {len(nats)} seeds: DTG needs {nats['DTG'].mean():.1f} nats for a held-out "
    f"sentence *with its tree*, and TXL (trans), which reads the same transitions without the stack, "
    f"{nats['TXL (trans)'].mean():.1f} (difference {by_stack:.2f}; in brackets its 95 % interval). In every seed, "
    f"{fewer.sum()} of the {len(fewer)} models with trees need fewer nats for words *and* tree than TXL (tokens) needs "
    f"for the words alone, {words_alone.mean():.1f}. A TXL (tokens) with three times as "
    f"many parameters ({wide['parameters'].mean() / 1e6:.1f} million) needs {wide['nats_per_sentence'].mean():.1f}; "
    f"only {' and '.join(than_wide.index[than_wide])} need fewer in every seed."
)

# %% [markdown]
# ## 1. What each model reads
#
# TXL (tokens) reads words. TXL (trans) reads transitions as a plain sequence: an arc is one more symbol, and all
# earlier positions are visible. The DTGs read each arc twice, with its head: `LEFTARC + is` and `LEFTARC2 + is` are the
# same input. The number is that of the positions.

# %%
# NBVAL_CHECK_OUTPUT
dtg = load_model("dtg-minilang")
spelled = [entry.removeprefix("▁") for entry in dtg.vocabulary.entries]
sentence = treebank.Sentence(("There", "is", "a", "difference"), (2, 0, 4, 2))
one = corpora.load("minilang", "train", 1)._replace(sentences=[sentence])
examples = {name: family(name).examples(dtg.config, dtg.vocabulary, one, None) for name in NAMES}
read = {name: described([], examples[name].sequences.sentence(0), spelled).inputs for name in NAMES}
for name, title in NAMES.items():
    print(f"{title:13}{len(read[name]):2}", *read[name], sep=" | ")

# %% [markdown]
# The first copy (COMPOSE) composes head and dependent and predicts nothing; the second (STACK) sees the stack and
# predicts. [Notebook 02](02_masks.ipynb) says why one position cannot do both.

# %% [markdown]
# ## 2. From a position to attention
#
# The input of a position is $E(\text{token}) + E(\text{arc})$. The token of an arc is its head; a word has no arc. All
# models share one vocabulary, with the transitions of every system, so they have equally many weights.

# %%
# NBVAL_CHECK_OUTPUT
batch = examples["dtg"].batch([0], 100, cpu)
E = dtg.embedding.weight.detach()
token, arc = batch.token[0].long(), batch.arc[0].long()
is_arc = (arc >= 0)[:, None]
x = E[token] + torch.where(is_arc, E[arc], 0.0)  # T d; of a word, arc is -1
print("the same as the package's input:", torch.allclose(x, dtg.embed(batch.token, batch.arc)[0]))

# %% [markdown]
# Attention adds two scores. One compares the query of $i$ with the key of $j$; the other asks only at which relative
# position $n(i, j)$ the position $j$ stands, by a projected sinusoid $r_n$:
#
# $$s_{ij} = \frac{(q_i + u) \cdot k_j + (q_i + w) \cdot r_{n(i, j)}}{\sqrt{D}}, \qquad
# a_{ij} = \frac{\exp s_{ij}}{\sum_{j' \text{ visible to } i} \exp s_{ij'}}.$$
#
# $u$ and $w$, learned and shared by all layers, say what an attention head prefers whatever the query is. In a plain
# TXL, $n$ is the distance in the sequence; in a DTG it counts words of the stack from the top; for a COMPOSE
# position the head is at 0, the dependent at -1. The first attention head of the first layer:

# %%
# NBVAL_CHECK_OUTPUT
layer, D = dtg.blocks[0], dtg.config.width // dtg.config.heads
to_q, to_k, _ = layer.qkv.weight.detach().chunk(3)
q, k = x @ to_q[:D].T, x @ to_k[:D].T  # T D
sinusoids = attention.sinusoids(batch.farthest, dtg.config.width)
r = sinusoids @ layer.places.weight.detach()[:D].T  # R D; the first row belongs to -1
u, w = dtg.u.detach()[0, 0], dtg.w.detach()[0, 0]
visible, relpos = batch.structure.visible[0], batch.structure.relpos[0].long()
row = (relpos + 1).clamp(0, len(r) - 1)  # out of range only where nothing is visible
scores = ((q + u) @ k.T + ((q + w) @ r.T).gather(1, row)) / D**0.5
weights = scores.masked_fill(~visible, -torch.inf).softmax(1)
of_package = dtg.attention_weights(batch)[0][0, 0]
print("the same as the package's attention:", torch.allclose(weights, of_package, atol=1e-6))

# %%
labels = [f"{name}  {i}" for i, name in enumerate(read["dtg"])]
shown = pd.DataFrame(weights.numpy(), index=labels)
axes = seaborn.heatmap(
    shown,
    mask=~visible.numpy(),
    cmap="Blues",
    vmin=0,
    vmax=1,
    linewidths=0.5,
    square=True,
    cbar_kws={"label": "weight"},
)
axes.set_facecolor("#eeeeee")
_ = axes.set(title="First attention head of the first layer; grey: not visible", ylabel="looks", xlabel="is seen")

# %% [markdown]
# The weighted values, mapped linearly, and then two linear maps around a ReLU are each added to their input and
# normalised.
#
# ## 3. The loss of a sequence
#
# The output vector of each position that predicts is compared with all embeddings, and a softmax over the symbols that
# the stack allows ([notebook 01](01_oracles.ipynb); in the paper, only when it searches) gives $p(a_t \mid a_{<t})$.
# The loss is that of the oracle's transitions $a$, which write the words $x$ and the tree $y$:
#
# $$-\log p(a) = -\sum_t \log p(a_t \mid a_{<t}).$$
#
# In arc-standard and arc-eager other transitions may write the same tree; as in the paper, $p(x, y)$ is $p(a)$, the
# oracle's alone. COMPOSE positions, which predict nothing, are missing. `batch.legal` has the classes of allowed
# symbols.

# %%
# NBVAL_CHECK_OUTPUT
with torch.no_grad():
    vectors = dtg(batch)[0][batch.predicts]  # N d, of the positions that predict
    illegal = output.bars(batch.legal, dtg.output.pairs, dtg.output.classes)  # 0, or minus infinity
    log_p = (vectors @ E.T + dtg.output.bias + illegal).log_softmax(1).gather(1, batch.target[:, None])[:, 0]
    of_package, _ = dtg.loss(batch)
print(f"by hand {-log_p.sum():.2f} nats, by the package {of_package:.2f}; per transition {-log_p.mean():.2f}")
places, targets = batch.predicts.tolist(), [spelled[target] for target in batch.target]
rows = {"position": [labels[i] for i in places], "predicts": targets, "nats": log_p.abs().numpy().round(2)}
pd.DataFrame(rows)

# %% [markdown]
# RIGHTARC at 10 costs much: minilang's sentences end in a full stop, the example does not.
#
# A step of training minimises $\frac{1}{n} \sum_{a} -\log p(a)$ over the sentences of its batch, where $n$ is
# the mean number of **sentences** per batch of the epoch. So every sentence has the same weight, whatever its batch.
# Two means are reported: **nats per sentence**, and **nats per transition**, divided by all symbols that are predicted.

# %% [markdown]
# ## 4. A training loop
#
# A toy: a DTG of two thin layers and a few sentences.

# %%
thin = family("dtg").config(layers=2, width=32, heads=2, inner=64)
train, held_out = (
    family("dtg").examples(thin, dtg.vocabulary, corpora.load("minilang", part, count), None)
    for part, count in (("train", 100), ("dev", 100))
)
random = np.random.default_rng(1)
_ = torch.manual_seed(1)
toy = family("dtg").build(thin, dtg.vocabulary)
optimizer = torch.optim.AdamW(toy.parameters(), lr=5e-3)

# %%
rows = []
for epoch in range(1, 21):
    batches, total = train.plan(1024, random, cpu), 0.0  # for each batch the numbers of its sentences
    for numbers in batches:
        loss, _ = toy.loss(train.batch(numbers, 1024, cpu))
        (loss * len(batches) / len(train)).backward()  # divided by the mean number of sentences
        torch.nn.utils.clip_grad_norm_(toy.parameters(), 3.0)
        optimizer.step()
        optimizer.zero_grad()
        total += loss.item()
    with torch.no_grad():
        loss, _ = toy.loss(held_out.batch(range(len(held_out)), 1024, cpu))
    rows += [(epoch, "training", total / len(train)), (epoch, "held out", loss.item() / len(held_out))]
curve = pd.DataFrame(rows, columns=["epoch", "sentences", "nats per sentence"])
axes = seaborn.lineplot(curve, x="epoch", y="nats per sentence", hue="sentences", marker="o")
_ = axes.set(xticks=range(0, 21, 5))

# %% [markdown]
# The toy learns its few sentences by heart, so the held-out curve turns. (It is measured after an epoch, the other
# during it.) `training/loop.py` takes the same steps, and adds a rate that rises and then falls, bfloat16, checkpoints,
# a record, and the weights of the best evaluation.

# %% [markdown]
# ## 5. Five models, three seeds
#
# A *size* names a file of settings in `configs`. The record is of `mini`. At `smoke`
# the notebooks use released models, which were trained at `mini`.

# %%
# NBVAL_CHECK_OUTPUT
sizes = {}
for name in ("smoke", "short", "mini", "open-small", "open"):
    chosen = settings.read_size(name)
    sizes[name] = {
        "corpus": chosen.corpus.corpus,
        "training sentences": chosen.corpus.train_sentences or "all",
        "epochs": chosen.train.epochs,
        "optimiser": "Muon and AdamW" if chosen.train.matrix_rate else "AdamW",
        "layers": chosen.model.layers,
        "width": chosen.model.width,
    }
    if chosen.evaluation.released:
        sizes[name] |= dict.fromkeys(("training sentences", "epochs", "optimiser", "layers", "width"), "released")
pd.DataFrame(sizes).T

# %% [markdown]
# The [recorded](../results/2026-11-21-mini) models, on minilang's 1,000 held-out sentences. Grey dots: seeds; bars:
# 95 % intervals of the mean (t distribution).

# %%
rows = nats.melt(var_name="model", value_name="nats per sentence")
axes = seaborn.pointplot(
    rows, x="nats per sentence", y="model", linestyle="none", errorbar=lambda of: over_seeds(of)[1:], capsize=0.2
)
seaborn.stripplot(rows, x="nats per sentence", y="model", color="#999999", jitter=False, zorder=10, ax=axes)
_ = axes.set(ylabel="", title="Held-out sentences: words with their tree; TXL (tokens): words alone")


# %% tags=["table"]
table = recorded.groupby("model")[["nats_per_sentence", "nats_per_transition"]].agg(with_spread, 2).loc[nats.columns]
others = with_trees.columns.drop("TXL (trans)")
below = {name: f"{over_seeds(nats['TXL (trans)'] - nats[name]):.2f}" for name in others}  # of the same seeds
table.assign(**{"nats per sentence below TXL (trans)": pd.Series(below)}).fillna("")

# %% [markdown]
# ± is the standard deviation over seeds; in brackets stands a 95 % interval.
#
# **What may be compared.** The nats per sentence of the models with trees: each gives $p(x, y)$ of the same words and
# trees, by the derivation of its oracle. TXL (tokens) gives $p(x)$. Since $p(x) \ge p(x, y)$, a model with trees needs
# *at most* its own number for the words alone. **What may not:** nats per transition. Each model divides by its own
# number of symbols, and arcs and POPs are easier to guess than words. Nor do the models with trees give perplexities
# here: [notebook 04](04_marginalization.ipynb) sums over trees.
#
# The released models, one seed each, after each epoch:

# %%
released = prepare.trained_at("smoke", "dtg")
rows = []
for title, (_, folder) in released.items():
    run = read_record(folder)
    steps = run.metrics[0]["steps"]
    for line in run.metrics:
        if line["part"] == "dev":
            rows.append((title, run.config["epochs"] * line["step"] / steps, line["nats_per_sentence"]))
rows = pd.DataFrame(rows, columns=["model", "epoch", "held-out nats per sentence"])
axes = seaborn.lineplot(rows, x="epoch", y="held-out nats per sentence", hue="model", marker="o")
_ = axes.set(xticks=sorted(rows["epoch"].unique()))

# %% [markdown]
# ## 6. What a COMPOSE position looks at
#
# A COMPOSE position sees three: the head (or what stands for it since its last arc), the dependent, and itself. The
# released DTG reads the held-out sentences of section 4; its attention is averaged over attention heads and positions.
# (Dotted: no preference.)

# %%
many = held_out.batch(range(len(held_out)), 1024, cpu)
of_layers = [weights.mean(1) for weights in dtg.attention_weights(many)]  # over the heads: B T T
relpos, itself = many.structure.relpos, torch.eye(many.token.shape[1], dtype=torch.bool)
parts = {"the head": (relpos == 0) & ~itself, "the dependent": relpos == -1, "itself": itself}
predicts = torch.zeros(many.token.numel(), dtype=torch.bool)
predicts[many.predicts] = True
predicts = predicts.view_as(many.token)

# %%
rows = []
for name in ("LEFTARC", "RIGHTARC"):
    composes = (many.arc == dtg.vocabulary.transition(name)) & ~predicts  # the second copy predicts
    for number, weights in enumerate(of_layers, start=1):
        for part, mask in parts.items():
            rows.append((name, number, part, (weights * mask).sum(2)[composes].mean().item()))
shares = pd.DataFrame(rows, columns=["arc", "layer", "part", "share of attention"])

# %%
grid = seaborn.relplot(
    shares, kind="line", x="layer", y="share of attention", hue="part", col="arc", marker="o", height=3.2
)
grid.set(ylim=(0, 1), xticks=range(1, len(of_layers) + 1))
_ = grid.refline(y=1 / 3, color="#999999", linestyle=":")  # if the three cannot be told apart

# %%
share = shares.pivot_table(index=["arc", "layer"], columns="part", values="share of attention")
ahead = share["the dependent"] - share["the head"]
most, mean = ahead.idxmax(), share.mean()
others = -ahead[ahead <= 0]
cases = [f"{name} in layer {number}" for name, number in others.index]
Markdown(
    f"The dependent has {mean['the dependent']:.2f} of the attention on average, the head {mean['the head']:.2f}, the "
    f"position itself {mean['itself']:.2f}. In {(ahead > 0).sum()} of the {len(ahead)} cases the dependent has more "
    f"than the head, most for {most[0]} in layer {most[1]} ({share['the dependent'][most]:.2f} and "
    f"{share['the head'][most]:.2f}). In the others ({', '.join(cases)}) the head has more, by at most "
    f"{others.max():.2f}."
)

# %% [markdown]
# A possible reason, not tested here: the position has the head in its own input (`LEFTARC + is`), and lacks what the
# dependent brings.
#
# And a STACK position, how deep does it look? Depth 0 is the topmost word, with the position itself.

# %%
rows = []
for number, weights in enumerate(of_layers, start=1):
    for depth in range(7):
        share = (weights * (relpos == depth) * predicts[:, :, None]).sum().item() / len(many.predicts)
        rows.append((f"layer {number}", depth, share))
deep = pd.DataFrame(rows, columns=["layer", "words below the top of the stack", "share of attention"])
_ = seaborn.lineplot(deep, x="words below the top of the stack", y="share of attention", hue="layer", marker="o")

# %%
by_depth = deep.pivot_table(index="layer", columns="words below the top of the stack", values="share of attention")
(top, second, third), rest = (by_depth[depth] for depth in range(3)), 1 - by_depth[[0, 1, 2]].sum(axis=1)
Markdown(
    f"The top of the stack has {top.min():.2f} to {top.max():.2f} of the attention, depending on the layer; the next "
    f"word {second.min():.2f} to {second.max():.2f}, the third {third.min():.2f} to {third.max():.2f}, and all that "
    f"lies deeper {rest.min():.2f} to {rest.max():.2f}. (Many stacks are no deeper.)"
)

# %% [markdown]
# ## 7. This run
#
# The models at this `size`: trained now, found, or released. All above is the same at every size.

# %% tags=["table"]
rows = []
for title, (_, folder) in prepare.trained_at(size, "dtg").items():
    run = read_record(folder)
    about, *lines = run.metrics
    speeds = [line["positions_per_second"] for line in lines if line["part"] == "train"]
    best = [line for line in lines if line["part"] == "dev" and line["is_best"]][-1]
    minutes = run.about["wall_seconds"] / 60
    rows.append(
        [title, about["parameters"], about["train"], round(np.median(speeds)), minutes, best["nats_per_sentence"]]
    )
columns = ["model", "parameters", "trained on", "positions per second", "minutes", "nats per sentence"]
pd.DataFrame(rows, columns=columns).set_index("model").round({"minutes": 1, "nats per sentence": 1}).assign(size=size)

# %% [markdown]
# Positions per second, without padding, are the median over the steps; several trainings may have shared the cores, so
# [the page about speed](../book/speed.md) has better numbers. A sequence of TXL (tokens) is about a third as long as
# DTG's (*trained on*), so its training takes less time.
#
# ### Exercises
#
# 1. In section 2, leave out `(q + w) @ r.T`. What does a COMPOSE position no longer know?
# 2. By how much are the nats for words and tree above those for the words alone?
#
# <details><summary>Answers</summary>
#
# 1. Which of the two words is the head: only the relative position tells (0 and -1), unless keys resemble the head's
#    embedding in its own input.
# 2. $-\log p(x, y) + \log p(x) = -\log p(y \mid x)$: little, where the words settle the tree.
#
# </details>
#
# ## Doubts
#
# Three seeds, and one corpus whose words nearly settle the tree; on real text a tree may not pay for itself. All curves
# still fall at epoch 4, and TXL (tokens) has read a third of DTG's positions. The attention is that of one model, and a
# large weight need not have a large effect.
