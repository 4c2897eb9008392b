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
# # What do the models know of syntax?
#
# **In short:** on minilang DTG has 84 % of the test suites, a Transformer over transitions 76, and one over words 57;
# nearly all of that is agreement over a distance, where the mask has put the misleading noun out of sight. In minimal
# pairs the models are close.
#
# A language model never says whether a sentence is grammatical; it gives probabilities. So linguists ask it in pairs:
# is *The keys are here* more probable than *The keys is here*, and is it *is* that surprises it? This notebook follows
# one such sentence word by word, then asks all test suites (the paper's Figure 3) and all minimal pairs (BLiMP in the
# paper's Table 2), and looks at what the mask hides from the model.

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
import torch

from dtglib.data.corpora import load
from dtglib.data.treebank import Sentence
from dtglib.decode.beam import Widths
from dtglib.decode.sampling import generate
from dtglib.decode.word_by_word import follow
from dtglib.evaluate.blimp import read_pairs
from dtglib.evaluate.suites import read_suites
from dtglib.evaluate.surprisal import UNITS, moments, surprisals, word_frame
from dtglib.families.base import family, load_model, titles
from dtglib.pictures import plot
from dtglib.runs.prepare import prepare, read_corpus, trained
from dtglib.runs.settings import read_size
from dtglib.runs.syntax_scores import pairs_of, parsing_of, suites_of, widths_of
from dtglib.sequences.describe import show
from dtglib.transitions.protocol import OPEN

NAMES = titles("dtg")
pd.set_option("display.width", 160)
first = read_size(size)
seeds = range(first.run.seed, first.run.seed + first.evaluation.compared_seeds)

# %% [markdown]
# The models are found if they have been trained before; otherwise it is done now.

# %%
settings = {(model, seed): read_size(size, model=model, seed=seed) for seed in seeds for model in NAMES}
folders = {}
for seed in seeds:
    corpus = read_corpus(settings["dtg", seed])
    for model in NAMES:
        folders[model, seed] = trained(settings[model, seed], prepare(settings[model, seed], corpus))
dtg, widths = load_model(folders["dtg", first.run.seed]), widths_of(first)

# %% [markdown]
# ## One sentence, word by word
#
# An item of minilang's test suite *number_orc*. The subject is *judge*, and *heroes*, which stands nearer to the verb,
# is there to mislead. At the verb the two conditions part.

# %%
# NBVAL_CHECK_OUTPUT
(suite,) = (suite for suite in read_suites("minilang") if suite.name == "number_orc")
conditions = ("match_sing", "mismatch_sing")
good, bad = (sum(suite.items[0].conditions[condition], ()) for condition in conditions)
print(" ".join(good), "/", " ".join(bad))
print(suite.predictions[0].text)

# %% [markdown]
# A beam search keeps the best derivations of the words so far, and the surprisal of a word is what is lost of their
# summed probability when it is read: *-log p(word | words before)*. Here it is for both sentences, in bits.

# %%
found = list(surprisals(dtg, [good, bad]))
table = word_frame(found, "bits").round(2)
table.pivot(index="word", columns="sentence", values=["text", "bits"])

# %% [markdown]
# `word_frame` says more of each word, here of those of the good sentence. *structure* is the part of the surprisal that
# the model pays for what it writes between the words (that a word comes next at all, and the arcs before it); *entropy*
# is that of the next symbol, before it comes; then how many *hypotheses* are alive when the word has been read, and the
# entropy of their partial trees.

# %%
table.loc[table["sentence"] == 1, ["text", "bits", "structure", "entropy", "hypotheses", "tree entropy"]]

# %%
labels = [a if a == b else f"{a} / {b}" for a, b in zip(good, bad, strict=True)]
series = {name: one.of_words * UNITS["bits"] for name, one in zip(["good", "bad"], found, strict=True)}
plot.draw_surprisals(labels, series, "bits")

# %% [markdown]
# While it reads, the model builds trees. Below are, after each word, log p of the words so far, how much of it the best
# derivation has, and the arcs that this one has drawn: what has no arc yet stands on the stack.

# %%
verb = next(i for i, label in enumerate(labels) if "/" in label)
*so_far, _ = follow(dtg.stepper(), dtg.vocabulary, good)  # the last one is of the end
pd.DataFrame(
    {
        "word": good,
        "log p so far": np.round([step.log_prob for step in so_far], 2),
        "share of the best": np.round(np.exp([step.log_derivation - step.log_prob for step in so_far]), 3),
        "arcs of the best": [
            ", ".join(f"{(*good, 'ROOT')[h - 1]} → {good[i]}" for i, h in enumerate(step.tree) if h != OPEN)
            for step in so_far
        ],
    }
)

# %% [markdown]
# The same as a picture, line by line: the best tree so far, and in boxes the words that the model can see when it
# predicts what comes next. All others have been taken up by their heads. Below are the surprisals. First the attractor:
# before the verb is predicted, *heroes* has been taken up by *praised*, and that by *judge*.

# %%


def read_along(words, title):
    """The sentence word by word, as DTG reads it."""
    read = [one._replace(surprisal=one.surprisal * UNITS["bits"]) for one in moments(dtg, words)]
    return plot.draw_reading(words, read, "bits", title)


plot.save(read_along(bad, "DTG reads: the verb does not agree"), "05_attractor")

# %% [markdown]
# And a garden path: what seems to be the object of the first verb turns out to be the subject of the second.

# %%
garden_path = next(suite for suite in read_suites("minilang") if suite.name == "npz_obj")
path = sum(garden_path.items[0].conditions[next(iter(garden_path.items[0].conditions))], ())
plot.save(read_along(path, "DTG reads: a garden path"), "05_garden_path")

# %% [markdown]
# ## The test suites
#
# An item is right if its formula holds, and a suite's score is the share of items that are right; each suite belongs to
# a circuit. Papers average in three ways that differ by more than the models do, so all three are named here. The first
# is our primary one, and most likely the paper's: the mean over the circuits. On minilang's own 21 suites no suite is
# left out, and two of the three are the same.

# %% tags=["table"]
reports = {key: suites_of(settings[key], folder) for key, folder in folders.items()}
scores = pd.DataFrame(
    {"model": NAMES[model], "seed": seed, "average": name, "score": 100 * value}
    for (model, seed), report in reports.items()
    for name, value in report["averages"].items()
)
scores.groupby(["model", "average"], sort=False)["score"].agg(["mean", "std", "count"]).round(1).unstack("average")

# %% [markdown]
# By circuit, as in Figure 3; a dot is a seed. (Of larger sizes there is one: several seeds take several times as long.)
# Guessing has no one level here: a formula that asks for two things holds by chance in a quarter of the items, and a
# model that always prefers *is* to *are* is right in none.

# %%
circuits = pd.DataFrame(
    {"model": NAMES[model], "seed": seed, "circuit": row["circuit"], "score, percent": 100 * row["score"]}
    for (model, seed), report in reports.items()
    for row in report["circuits"]
)
plot.draw_scores(circuits, "circuit", "score, percent", "model")

# %% [markdown]
# Suite by suite, means over the seeds; *failed* counts items for which a search died, and *unknown* the words that are
# not in the vocabulary, in percent.

# %%
suites = pd.DataFrame(
    {"model": NAMES[model], **row} for (model, _), report in reports.items() for row in report["suites"]
)
by_suite = suites.pivot_table(index=["circuit", "suite"], columns="model", values="score", sort=False)
by_suite = (100 * by_suite[list(NAMES.values())]).round(1)
of_suites = suites.groupby(["circuit", "suite"], sort=False)
by_suite["failed"] = of_suites["failed"].sum()
by_suite["unknown"] = (100 * of_suites["unknown words"].mean()).round(1)
by_suite

# %% [markdown]
# ## Minimal pairs
#
# Which sentence of a pair is the more probable one? Of the models with trees by the beam's bound (the paper sums over
# 300 trees that a parser proposes; `dtglib blimp --parser` does that), of TXL (tokens) exactly. A tie counts as wrong.
# Pairs are *alike* where a vocabulary lacks both of the words in which the sentences differ. The line is where guessing
# leads.

# %% tags=["table"]
pairs = {key: pairs_of(settings[key], folder) for key, folder in folders.items()}
totals = pd.DataFrame(
    {
        "model": NAMES[model],
        "log p": report["log p"],
        "accuracy": 100 * report["accuracy"],
        **{name: report[name] for name in ("pairs", "ties", "identical", "alike", "failed")},
    }
    for (model, _), report in pairs.items()
)
totals.groupby(["model", "log p"], sort=False).agg(["mean", "std"]).round(1)

# %%
phenomena = pd.DataFrame(
    {"model": NAMES[model], "phenomenon": row["phenomenon"], "accuracy, percent": 100 * row["accuracy"]}
    for (model, _), report in pairs.items()
    for row in report["phenomena"]
)
plot.draw_scores(phenomena, "phenomenon", "accuracy, percent", "model", level=50)

# %% [markdown]
# ## What the mask hides
#
# Appendix C of the paper says why DTG may fall behind on BLiMP: *No actor arrived at at most six lakes* is bad because
# *at most* does not go with *No*, and that *No* has been absorbed by *actor* long before. 02_masks draws the masks;
# this is what is left to be seen when *most* is to be generated.

# %%
# NBVAL_CHECK_OUTPUT
words = ["No", "actor", "arrived", "at", "at", "most", "six", "lakes"]
seen = show("arc-standard", words, [2, 3, 0, 8, 6, 7, 8, 3])
i = seen.targets.index("most")
print("DTG, at the position that generates most, sees", [seen.inputs[j] for j in np.flatnonzero(seen.visible[i])])
print("TXL sees", ["<ROOT>", *words[:5]], "and the arcs between them, or not, if it generates words alone")

# %% [markdown]
# That *No* is hidden does not mean that nothing of it is left: *actor* has read it, and *arrived* has read *actor*. So
# let us measure it. Minilang has such sentences, too: *No prince hurt at most six dogs*, and the same with another word
# instead of *No*. How much more surprising is *at most* after *No*? Whoever sees the clash says: much more.

# %%
(superlatives,) = (paradigm for paradigm in read_pairs("minilang", 0.1) if paradigm.uid == "superlative_quantifiers")
clashes = [(pair.good, pair.bad) for pair in superlatives.pairs if pair.bad[0] == "No"]
rows = []
for (name, _), folder in folders.items():
    found = iter(surprisals(load_model(folder), [words for clash in clashes for words in clash], widths))
    for (good_words, _), without, with_no in zip(clashes, found, found, strict=True):
        place = good_words.index("at")
        more = (with_no.of_words - without.of_words) * UNITS["bits"]
        rows.append({"model": NAMES[name], "at most": more[place : place + 2].sum(), "first word": more[0]})
pd.DataFrame(rows).groupby("model", sort=False)[["at most", "first word"]].mean().round(2)

# %% [markdown]
# In bits, means over the pairs (and seeds): what the whole sentence loses by *No* is above all the surprisal of *No*
# itself, and so the accuracies of these paradigms say little about the clash. They are:

# %%
paradigms = pd.DataFrame(
    {"model": NAMES[model], "paradigm": row["paradigm"], "accuracy": 100 * row["accuracy"]}
    for (model, _), report in pairs.items()
    for row in report["paradigms"]
    if row["phenomenon"] == "quantifiers"
)
paradigms.groupby(["paradigm", "model"], sort=False)["accuracy"].mean().round(1).unstack("paradigm")

# %% [markdown]
# ## Where does a word end?
#
# On minilang the models' vocabulary is words. The models of UD English read pieces, and a piece says where a word
# begins, not where it ends: after *plan* the text may go on with *ned*. So *-log p(pieces of the word | pieces before)*
# leaves the end of the word to be paid for by the next one, and its *p* do not sum to one over all words. The surprisal
# of a word is therefore taken with its own end and without that of the word before; the old number is in the column
# `of prefixes`. How much does it matter? The two English models on minilang's sentences:

# %%
ends = []
for name, count in (("txl-tokens-ud", 40), ("dtg-ud", 8)):
    sentences = [sentence.words for sentence in load("minilang", "dev", count).sentences]
    read = word_frame(surprisals(load_model(name), sentences, Widths(30, 30, within=8.0)), "bits")
    ends.append(read.assign(model=NAMES[name.removesuffix("-ud")], more=read["bits"] - read["of prefixes"]))
ends = pd.concat(ends)
ends.groupby("model", sort=False)["more"].agg(words="size", mean=lambda x: x.abs().mean(), most=lambda x: x.abs().max())

# %% [markdown]
# The words that it matters most for come in pairs: what one of them is spared, the next one pays.

# %%
of_words = ends[ends["model"] == NAMES["txl-tokens"]]
worst = pd.concat([of_words.nlargest(4, "more"), of_words.nsmallest(4, "more")])
worst[["sentence", "word", "text", "bits", "of prefixes", "more"]].sort_values(["sentence", "word"]).round(2)

# %% [markdown]
# ## The models as parsers
#
# The best derivation that the beam finds is a tree, too, and no other parser has had a hand in it: the words whose head
# is the treebank's, in percent of all words of the test sentences (punctuation included, and without), with a bootstrap
# interval over sentences. Where a search finds no tree, all words count as wrong.

# %% tags=["table"]
parsing = pd.DataFrame(
    {"model": NAMES[model], "seed": seed, **parsing_of(settings[model, seed], folder)}
    for (model, seed), folder in folders.items()
    if family(model).trees.are_parses
).set_index(["model", "seed"])
shares = [name for name in parsing if name.startswith("UAS")]
parsing.assign(**{name: (100 * parsing[name]).round(1) for name in shares})

# %% [markdown]
# ## What the model says by itself
#
# Sentences drawn from DTG, symbol by symbol, with their trees: none of them can be ill-formed, because only what is
# legal is ever drawn. They are drawn at temperature 0.7, which keeps to what is more probable.

# %%
chance = torch.Generator().manual_seed(first.run.seed)
drawn = list(generate(dtg.stepper(), dtg.vocabulary, 5, chance, 20, temperature=0.7))
pd.DataFrame({"words": " ".join(one.words), "log p with its tree": round(one.log_prob, 2)} for one in drawn)

# %%
by_length = sorted(drawn, key=lambda one: len(one.words))
plot.draw_tree(Sentence(tuple(by_length[-1].words), tuple(by_length[-1].tree.tolist())))

# %%
plot.draw_tree(Sentence(tuple(by_length[-2].words), tuple(by_length[-2].tree.tolist())))

# %% [markdown]
# ## What was found
#
# At size `smoke` the models are the released ones, the first seed of `mini`, on a small part of the suites and pairs:
# the sentence and its pictures are typical, the tables are coarse. What was recorded on all of them:
#
# - On minilang ([mini](../results/2026-11-21-mini), three seeds) DTG has 84 ± 3 % of the test suites by circuit, TXL
#   (trans) 76 ± 3, TXL (tokens) 57 ± 3. The difference is agreement over a distance: 98, 52 and 3 %. DTG's eager and
#   swift forms do not have it (54 and 51 %). In minimal pairs the four models with trees are within two points, some
#   four before TXL (tokens).
# - On UD English ([open-small](../results/2026-11-26-open-small), two seeds), the public suites: 58, 50 and 37 %. That
#   is the paper's order. A tenth of BLiMP: 62, 61 and 59 %, and that is not: in the paper TXL (trans) is before DTG.
# - What the mask hides matters, as appendix C says: after *No*, the mini models (one seed) find *at most* more
#   surprising by 0.1 bits (DTG), 0.6 (TXL (trans)) and 1.0 (TXL (tokens)). It hardly touches the accuracies, which the
#   first word decides. And *No author that liked the senators has ever ...* (npi_src_ever) is right in nearly all items
#   for both TXLs, in none for DTG-eager and DTG-swift; for DTG it depends on the seed (4, 12, 96 %).
# - Where words are made of pieces, leaving the end of a word to the next one moves surprisals by 0.2 to 0.4 bits on
#   average, and by up to 5 (above, on minilang's sentences; not all of their words are frequent in UD English). The
#   results named here were recorded with the old number, which on minilang is the same.
# - As a parser, by its own best derivation, DTG has 99.1 ± 0.2 % of the heads on minilang and 88.3 on UD English (two
#   seeds); TXL (trans) has 97.5 ± 0.2 and 86.9.
