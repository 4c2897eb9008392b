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
# # Does a decoder translate better if it reads the tree that it writes?
#
# [The paper](https://aclanthology.org/2022.conll-1.27/), sections 3 (transitions and graph), 4 (what reads it) and 6
# (results) · before: [UDGN](30_udgn.ipynb) · after: [reading times](50_reading_times.ipynb)
#
# A translator writes an English sentence word by word. The decoders of this paper also write its tree, as transitions
# between the words, and before each next symbol they *read* the graph that these have made so far. Does that help,
# above all where words that belong together stand far apart (*put the coals out*)?
#
# 1. Words and transitions
# 2. The graph of a prefix, and the two networks that read it
# 3. Eight systems
# 4. What was recorded
# 5. Challenge sets
# 6. The paper's claims
# 7. This run; your sentence; an exercise

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
import seaborn
import torch
from IPython.display import Markdown

from dtglib.data import treebank, vocabulary
from dtglib.evaluate.intervals import over_seeds, over_suites
from dtglib.families.base import folder_named, load_model
from dtglib.pictures import plot
from dtglib.runs import prepare, settings
from dtglib.runs.tables import by_seed
from dtgpapers.translation import (
    bilingual,
    challenges,
    config,
    describe,
    graph,
    hypotheses,
    measured,
    pictures,
    prefixes,
    search,
    systems,
    tables,
    translation,
)

pd.set_option("display.width", 160, "display.max_colwidth", 80)


# %%
# NBVAL_CHECK_OUTPUT
bleu, trees = (by_seed("translation", value, ["on"], "minilang:de-en")["test"] for value in ("BLEU", "trees"))
to_german = by_seed("translation", "BLEU", ["on"], "minilang:en-de")["test"]
sets = by_seed("challenge set", "kept", ["set"], "minilang:de-en")
kept, of_six = sets[["particle", "reflexive", "preposition"]], sets.mean(axis=1)
captions = by_seed("translation", "BLEU", ["on"], "multi30k:de-en", "open-small")
of_caption = captions.groupby("model").mean().mean(axis=1).sort_values(ascending=False)
no_graph = "BiTran + transitions"
written, read_gcn = bleu["Linearized"] - bleu["Vanilla"], bleu["GCN"] - bleu["BiTran + transitions"]
read_parent = bleu["PARENT"] - bleu["BiTran + transitions"]
earlier = pd.read_json("../results/2026-11-25-mini-translation/metrics.jsonl", lines=True)
from_all = earlier.query("part == 'translation'").pivot(index="seed", columns="model", values="BLEU")
Markdown(
    f"**In short**, on minilang with {len(written)} seeds and short trainings (differences in BLEU, 95 % intervals): "
    f"*writing* the tree gains {over_seeds(written):+.1f?}. *Reading* it is not shown to add anything: "
    f"{over_seeds(read_gcn):+.1f?}, with a graph network (GCN), {over_seeds(read_parent):+.1f?}, with a head that "
    f"sees parents (PARENT). But GCN writes {over_seeds(trees['GCN'] - trees[no_graph]):+.1f?} points more whole "
    "trees. The paper has both ahead of BiTran, which encodes each prefix anew and writes no tree; here GCN differs "
    f"from it by {over_seeds(bleu['GCN'] - bleu['BiTran']):+.1f?}, PARENT by "
    f"{over_seeds(bleu['PARENT'] - bleu['BiTran']):+.1f?}. On six challenge sets, in points, GCN is ahead of Vanilla "
    f"by {over_seeds(of_six['GCN'] - of_six['Vanilla']):.1f?}, and of the same system without a graph by "
    f"{over_seeds(of_six['GCN'] - of_six[no_graph]):.1f?}. From English to German GCN differs from BiTran by "
    f"{over_seeds(to_german['GCN'] - to_german['BiTran']):+.1f?}, PARENT by "
    f"{over_seeds(to_german['PARENT'] - to_german['BiTran']):+.1f?}. On captions (Multi30k, German to English, one or "
    f"two seeds) BLEU is {', '.join(f'{value:.1f} ({name})' for name, value in of_caption.items())}. All learned from "
    "half of the symbols of each "
    "target. In an earlier record, with labels on fewer edges, GCN added "
    f"{over_seeds(from_all['gcn'] - from_all['bitran-transitions']):+.1f?}; there causal systems learned from all "
    f"symbols, and BiTran differed from Vanilla by {over_seeds(from_all['bitran'] - from_all['vanilla']):+.1f?}."
)

# %% [markdown]
# ## 1. Words and transitions
#
# The tree is written by arc-standard ([notebook 01](01_oracles.ipynb)), without ROOT. `L:nsubj` makes the topmost word
# of the stack the head of the one below it, and `R:obj` the other way round; the dependent leaves the stack. The oracle
# joins two words as soon as the dependent has all dependents of its own.


# %%
# NBVAL_CHECK_OUTPUT
def write(words, heads, labels):
    """The target of a sentence; heads count from 1, and 0 is ROOT."""
    symbols, stack, lacking = [], [], np.bincount(heads, minlength=len(words) + 1)
    for number, word in enumerate(words, start=1):
        symbols.append(word)
        stack.append(number)
        while len(stack) > 1:
            lower, top = stack[-2:]
            if heads[lower - 1] == top:
                side, dependent, head = "L", lower, top
            elif heads[top - 1] == lower and not lacking[top]:
                side, dependent, head = "R", top, lower
            else:
                break
            symbols.append(f"{side}:{labels[dependent - 1]}")
            stack[-2:], lacking[head] = [head], lacking[head] - 1
    return symbols


words, heads = ["John", "put", "the", "coals", "out"], [2, 0, 4, 2, 2]
labels = ["nsubj", "root", "det", "obj", "compound:prt"]
assert write(words, heads, labels) == describe.described(words, heads, labels).symbols
print(*write(words, heads, labels))

# %% [markdown]
# ## 2. The graph of a prefix
#
# A transition $x$ adds edges from the head to its dependent, from $x$ to the dependent, and from the head to $x$, for
# all pieces of both words (*John* is cut in two here). A model need not write a tree, so a transition with fewer than
# two words on the stack adds nothing.


# %%
# NBVAL_CHECK_OUTPUT
def read(symbols):
    """The edges that the symbols make: (made at, from, to)."""
    stack, edges = [], []
    for x, symbol in enumerate(symbols):
        if symbol[:2] not in ("L:", "R:"):
            goes_on = "/" in symbol and not symbol.endswith("/1")
            stack[len(stack) - goes_on :] = [(stack[-1] if goes_on else []) + [x]]
        elif len(stack) > 1:
            lower, top = stack[-2:]
            head, dependent = (top, lower) if symbol[0] == "L" else (lower, top)
            edges += [(x, a, b) for a in head for b in dependent]
            edges += [(x, x, b) for b in dependent] + [(x, a, x) for a in head]
            stack[-2:] = [head]
    return edges


seen = describe.described(words, heads, labels, [2, 1, 1, 1, 1])
edges = sorted(read(seen.symbols))
assert edges == [edge[:3] for edge in seen.edges]
pd.DataFrame(seen.as_rows()).set_index("position").T

# %% [markdown]
# The graph after each transition: new edges are thick, edges of transitions orange. *put* and *out* are neighbours in
# it.

# %%
after = sorted({made_at for made_at, _, _ in edges})
plot.save(pictures.draw_growing(seen.symbols, edges, after), "40_growing")

# %% [markdown]
# **PARENT** gives this graph to head 0 of every layer: a position (row) sees itself and the sources of its edges. All
# other heads see the whole prefix.

# %%
parents = [sorted({i} | {a for _, a, b in edges if b == i}) for i in range(len(seen.symbols))]
assert parents == seen.parent_keys
plot.save(pictures.draw_parents(seen.symbols, parents, after), "40_parents")

# %% [markdown]
# **GCN** has two graph layers below the decoder. With $N(v)$ the neighbours of $v$ and $v$ itself, `dir` one of *self*,
# *to the parent*, *to the child*, and `lab` the arc's label (in the paper's code and the earlier record only the edge
# between words has one):
#
# $$h'_v = h_v + \mathrm{relu} \sum_{u \in N(v)} \sigma(\hat w_{dir} \cdot h_u + \hat b_{lab}) \, (W_{dir} h_u +
# b_{lab})$$


# %%
def gcn(layer, h, edges):
    """One graph layer, a node and a neighbour at a time; edges are (from, to, label)."""
    weights, rows = layer.weights.weight.chunk(3), []
    for v in range(len(h)):
        told_by = [(v, 0, 0)] + [(b, 1, label) for a, b, label in edges if a == v]
        told_by += [(a, 2, label) for a, b, label in edges if b == v]
        total = torch.zeros_like(h[v])
        for u, direction, label in told_by:
            gate = torch.sigmoid(layer.gates.weight[direction] @ h[u] + layer.label_gate[label])
            total += gate * (weights[direction] @ h[u] + layer.label[label])
        rows.append(h[v] + total.relu())
    return torch.stack(rows)


# %%
torch.manual_seed(1)
sizes = config.TranslationConfig("gcn", width=16, heads=2, dropout=0.0)
layer = graph.GraphLayer(sizes, systems.SYSTEMS["gcn"].graph, labels=5)
numbers = {"": 0} | {label: n for n, label in enumerate(["compound:prt", "det", "nsubj", "obj"], start=1)}
of_labels = [(edge.origin, edge.goal, numbers[edge.label]) for edge in seen.edges]
columns = prefixes.PrefixGraph(*torch.tensor([[*edge, 0] for edge in of_labels]).T)  # 0: a cell that only PARENT needs
with torch.no_grad():
    _ = [torch.nn.init.normal_(parameter) for parameter in (layer.label, layer.label_gate)]
    h = torch.randn(len(seen.symbols), 16)
    assert torch.allclose(gcn(layer, h, of_labels), layer(h, columns), atol=1e-5)

# %% [markdown]
# ## 3. Eight systems
#
# Each symbol changes the graph, so everything must be encoded anew for the next one. A target of $T$ symbols becomes
# $T$ prefixes, each predicting one symbol, with $T(T+1)/2$ positions. A causal decoder needs $T$ positions for
# $T$ predictions.
#
# Training on all prefixes is slow on a CPU, so `prefixes: 0.5` draws half of them in each step, and the loss is that of
# their next symbols. Causal decoders learn from half of the symbols, too, in as many steps. The paper learns
# from all. (*BiTran + transitions* is ours: GCN without its graph. *GCN - Gates* has neither labels nor gates.)

# %% tags=["table"]
pairs = bilingual.sentence_pairs("train", 1000).pairs
length = np.array([len(pair.english.words) for pair in pairs])


def described(system):
    """What a system writes and reads, and how many positions it encodes for all symbols of a target."""
    symbols = 2 * length if system.writes_tree else length + 1  # with the end
    return {
        "writes": "words, transitions" if system.writes_tree else "words",
        "attention": "whole prefix, both ways" if system.whole_prefix else "causal",
        "reads a graph": "by GCN" if system.graph else "by one head" if system.sees_parents else "",
        "positions per pair": (symbols * (symbols + 1) / 2 if system.whole_prefix else symbols).mean().round(1),
    }


pd.DataFrame({system.title: described(system) for system in systems.SYSTEMS.values()}).T

# %% [markdown]
# ## 4. What was recorded
#
# Minilang, 10,000 pairs, six epochs, three seeds (a dot is a seed, a line the mean); 200 test sentences. Orange systems
# read whole prefixes. *Whole trees*: the percentage of translations whose transitions make one. *Kept*: the mean of
# the sets of particles, reflexives and prepositions (section 5).

# %%
shown = pd.DataFrame({"BLEU": bleu, "whole trees, %": trees, "kept, %": kept.mean(axis=1)}).reset_index()
whole_prefix = {system.title: system.whole_prefix for system in systems.SYSTEMS.values()}
shown["attention"] = shown["model"].map(whole_prefix).map({False: "causal", True: "whole prefix, both ways"})
long = shown.melt(["model", "attention"], ["BLEU", "whole trees, %", "kept, %"], "measure").dropna()
order = sorted(whole_prefix, key=whole_prefix.get)
grid = seaborn.catplot(
    long, x="value", y="model", hue="attention", col="measure", order=order, kind="strip", jitter=False, height=3,
    palette={"causal": plot.BLUE, "whole prefix, both ways": plot.ORANGE}, sharex=False, aspect=0.9,
)  # fmt: skip
for axes, (_, some) in zip(grid.axes.flat, long.groupby("measure", sort=False), strict=True):
    means = some.groupby("model")["value"].mean()
    axes.plot(means, [order.index(name) for name in means.index], "|", markersize=14, color="black")
_ = grid.set_titles("{col_name}").set_axis_labels("", "")

# %% [markdown]
# Seven pairs of systems that differ in one thing each, and the paper's two. Intervals are over
# seeds (t distribution); those of *kept*, by a bootstrap over three seeds and three sets, are too narrow.

# %% tags=["table"]
PAIRS = {
    "writes the tree": ("Linearized", "Vanilla"),
    "writes the tree (whole prefixes)": ("BiTran + transitions", "BiTran"),
    "reads it: GCN": ("GCN", "BiTran + transitions"),
    "reads it: PARENT": ("PARENT", "BiTran + transitions"),
    "labels": ("GCN", "GCN - Labels"),
    "gates": ("GCN - Labels", "GCN - Gates"),
    "encodes each prefix anew": ("BiTran", "Vanilla"),
    "the paper's: GCN": ("GCN", "BiTran"),
    "the paper's: PARENT": ("PARENT", "BiTran"),
}
rows = []
for what, (first, second) in PAIRS.items():
    of_sets = kept.loc[first] - kept.loc[second]
    row = {
        "difference": what,
        "systems": f"{first} − {second}",
        "BLEU": f"{over_seeds(bleu[first] - bleu[second]):+.1f?}",
    }
    rows.append(row | {"kept of three sets, points": f"{over_suites(of_sets):+.1f?}"})
pd.DataFrame(rows).set_index("difference")

# %%
# NBVAL_CHECK_OUTPUT
whole = {name: trees[name] - trees["BiTran + transitions"] for name in ("GCN", "PARENT")}
of_set = sets["preposition"]
near = {name: of_set[name] - of_set["Vanilla"] for name in ("GCN", "PARENT", no_graph)}
gains = {name: over_seeds(bleu[name] - bleu[no_graph]) for name in order if name != no_graph}
above = [f"{name} ({gain:+.1f})" for name, gain in gains.items() if gain.low > 0]
Markdown(
    f"What the graph network changes are trees: GCN writes {over_seeds(whole['GCN']):+.1f?} points more whole trees "
    f"than BiTran + transitions; of PARENT the difference is {over_seeds(whole['PARENT']):+.1f?}. Systems whose "
    f"interval of BLEU is above 0 against it: {', '.join(above) or 'none'}. Of prepositions GCN keeps "
    f"{over_seeds(near['GCN']):+.1f?} points more than Vanilla, PARENT {over_seeds(near['PARENT']):+.1f?}, and "
    f"{no_graph}, which reads no graph, {over_seeds(near[no_graph]):+.1f?}. No interval is corrected for the number "
    "of comparisons."
)

# %% [markdown]
# **Captions.** Multi30k (29,000 pairs, eight epochs): the mean BLEU of 250 sentences of each of four test parts.
# *Object first*: of the paper's 99 such sentences, how many keep who does what (*reversed*: exchange them; the rest
# lack a noun), by a program that looks for two nouns; *subject first*: the same in plain order. PARENT's first seed
# (25.0) had trees of an older parser; of the nine that its second keeps, three or four are wrong, read by eye. No
# system was trained on captions from English.

# %% tags=["table"]
multi30k = "multi30k:de-en", "open-small"
of_captions = captions.mean(axis=1).to_frame("BLEU")
for column in ("object first", "object first, reversed", "subject first"):
    of_captions[f"{column}, of 99"] = by_seed("object first", column, ["marked"], *multi30k).sum(axis=1)
of_captions.round(1)

# %% [markdown]
# ## 5. Challenge sets
#
# The paper's sets are sentences of books and news, on which systems of our size have a [BLEU below
# 1](../results/2026-11-26-open-small-translation), so they are left out. Ours are made. The table has the percentage of
# 50 items in which this is right: the particle (*hebt ... auf*: *picks ... up*) behind its verb, the reflexive
# behind its subject, the object close behind its preposition, subject and object not exchanged where the object comes
# first (the name says which of the two shows its case). `most` is the highest seed of any system.

# %% tags=["table"]
means = sets.groupby("model").mean().loc[order].T.round().astype(int)
means.assign(most=sets.max().astype(int))


# %% [markdown]
# So these systems fail at most items. Is that the sets' fault? `translator-minilang`, a Linearized
# trained on all symbols of ten times as many pairs, for ten epochs, translates 20 items of each set during this run:

# %% tags=["table"]
network = load_model("translator-minilang")
folder = folder_named("translator-minilang")
rows = pd.DataFrame(challenges.challenged(folder, translation.TranslationBeam(), 0.1)).set_index("set")
rows[["items", "kept", "plain, kept"]].assign(**{"most in the record": sets.max()}).round(1).rename(
    columns={"plain, kept": "kept, in plain word order (not asked: empty)"}
).astype(object).fillna("")

# %% [markdown]
# It reads no graph, and keeps far more than any recorded system: training decides more than the choice among the
# eight systems, and of a graph's use at the end of training these records say nothing.
#
# ## 6. The paper's claims
#
# It says that PARENT and GCN are significantly (p < 0.01) better than BiTran, and BiTran than Vanilla, on test sets and
# on challenge sets. Sign tests from its tables, and of our captions (a cell is a test set and a metric; two metrics of
# one set are not independent):

# %%
# NBVAL_CHECK_OUTPUT
claims = [("BiTran", "Vanilla"), ("PARENT", "BiTran"), ("GCN", "BiTran")]
cells = {"test sets": tables.cells_of_tests(), "challenge sets": tables.theirs("nmt_table7", "nmt_table8")}
of_metric = {metric: by_seed("translation", metric, ["on"], *multi30k) for metric in ("BLEU", "chrF+")}
cells["ours: captions"] = pd.concat({metric: of.groupby("model").mean().T for metric, of in of_metric.items()})
tests = pd.concat({on: tables.sign_tests(of, claims) for on, of in cells.items()}, names=["on", ""]).droplevel(1)
tests.assign(p=tests["p"].map("{:.2g}".format))

# %% [markdown]
# On challenge sets one of the three has p < 0.01; on captions, with few seeds, two are reversed. The paper's BLEU (mean
# of three test sets, medium models; WMT) beside ours:

# %% tags=["table"]
of_tests = tables.theirs("nmt_table9").filter(regex="newstest.*/BLEU", axis=0)
beside = {}
for direction, ours in {"de-en": bleu, "en-de": to_german}.items():
    by_model = ours.groupby("model")
    beside |= {
        (direction, "paper, WMT"): of_tests.filter(regex=f"{direction}/medium", axis=0).mean(),
        (direction, "minilang"): by_model.mean(),
        (direction, "±, seeds"): by_model.std(),
    }
beside["de-en", "multi30k"] = of_captions["BLEU"].groupby("model").mean()
beside = pd.DataFrame(beside)[["de-en", "en-de"]]
beside.loc[[system.title for system in systems.SYSTEMS.values()]].round(1).astype(object).fillna("")

# %% [markdown]
# No column of ours has the paper's order. The paper's gains on challenge sets do not diminish when the model grows.
# Here, at the width above (128) and [half](../results/2026-11-30-mini-translation-narrow): the mean of six sets, and
# the lead over Vanilla:

# %% tags=["table"]
# NBVAL_CHECK_OUTPUT
widths = {64: "mini-narrow", 128: "mini"}
of_width = {
    width: by_seed("challenge set", "kept", ["set"], "minilang:de-en", name).mean(axis=1)
    for width, name in widths.items()
}
rows = {}
for name in ("Vanilla", "GCN", "PARENT"):
    ahead = {width: kept_at[name] - kept_at["Vanilla"] for width, kept_at in of_width.items()}
    rows[name] = {f"kept, {width}": f"{of_width[width][name].mean():.1f}" for width in widths}
    if name != "Vanilla":
        rows[name] |= {f"ahead, {width}": f"{over_seeds(ahead[width]):.1f?}" for width in widths}
        rows[name]["ahead, 128 less 64"] = f"{over_seeds(ahead[128] - ahead[64]):.1f?}"
pd.DataFrame(rows).T.fillna("")

# %% [markdown]
# ## 7. This run
#
# At size `smoke` the released translator, at other sizes those trained there, on the test parts of their corpus.

# %% tags=["table"]
of_size = settings.read_size(size, model="linearized")
models = {"translator-minilang": (of_size, folder)} if of_size.evaluation.released else {}
models = models or prepare.trained_at(size, "translation")
scores = {
    name: pd.DataFrame(measured.translation_of(*of)["translation"]).set_index("on") for name, of in models.items()
}
pd.concat(scores, names=["system"]).round(1).astype(object).fillna("")

# %% [markdown]
# ### Your sentence
#
# German words of minilang, with blanks between. The released translator writes the most probable symbol; the table has
# its probability and the stack behind it. A beam of five finds the best translation; its transitions are the tree.

# %%
yours = "Den Ball bringt der Vater ."


def greedy(words):
    """The most probable symbols, each with its probability."""
    source = torch.tensor([network.vocabulary.encode(words).ids])
    reader, known = hypotheses.reader_of(network, source), hypotheses.Hypothesis(0)
    while True:
        probabilities = reader.log_probs([known], np.zeros(1, int))[0].exp()
        entry = int(probabilities.argmax())
        if entry == vocabulary.END:
            return
        known = hypotheses.extended(network, known, entry, 0.0)
        yield network.vocabulary.entries[entry].removeprefix(vocabulary.MARK), float(probabilities[entry]), known.known


with torch.no_grad():
    steps = list(greedy(yours.split()))
said_words = [symbol for symbol, _, _ in steps if symbol[:2] not in ("L:", "R:")]
stacks = [" ".join(said_words[word] for word in state.stack) for _, _, state in steps]
pd.DataFrame({"symbol": [s for s, _, _ in steps], "p": [p for _, p, _ in steps], "stack": stacks}).round(3).T

# %%
(best,) = search.translate(network, [yours.split()])
plot.draw_tree(treebank.Sentence(best.words, best.heads, best.labels), yours) if best.heads else best

# %% [markdown]
# ### An exercise
#
# *Put the coals out* or *put out the coals*: after which symbol does *put* get its edge to *out* in each?
#
# <details><summary>Answer</summary>
#
# `write("John put out the coals".split(), [2, 0, 2, 5, 2], ["nsubj", "root", "compound:prt", "det", "obj"])`: right
# after *out* in both. But in *put the coals out* everything between has been written without it: the model must know
# by then that *out* will come.
#
# </details>
#
# ## Doubts
#
# Three seeds decide little. In the [earlier record](../results/2026-11-25-mini-translation) GCN's mean BLEU
# was above that of all others that read whole prefixes; in [the
# newest](../results/2026-11-28-mini-translation-2) it is below most. Between the two 3 % of the pairs were
# left out, and all edges got labels: what changed the order is not known. The three seeds' test sentences are the same
# 200, whose chance is not in the intervals of BLEU.
