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
# # The same sentence as brackets and as arcs: who hides what?
#
# **In short:** both grammars hide what has been composed behind one position, but not in the same way. Arcs keep the
# head word readable and bury its dependents, an arc at a time; brackets keep only a label, but compose all parts of a
# constituent at once. So with up to four layers more words are out of reach of DTG, and from eight layers on more are
# out of reach of TG.
#
# Transformer Grammars (TG, Sartran et al. 2022) generate a sentence together with its constituents, as Dependency
# Transformer Grammars (DTG) do with its arcs. Both restrict attention to a stack. This notebook puts the two sequences
# and their masks side by side, and asks two questions. What does TG hide that DTG shows? And how deep can a word be
# buried before a model of so many layers cannot reach it any more?

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd

from dtglib.data.corpora import load, ud_treebanks
from dtglib.data.symbols import ARCS
from dtglib.data.treebank import Sentence, trees_only
from dtglib.data.vocabulary import Vocabulary
from dtglib.pictures import plot
from dtglib.runs.settings import read_size
from dtglib.sequences.describe import show
from dtglib.sequences.readings import on_a_stack
from dtgpapers.constituency import reach
from dtgpapers.constituency.describe import show as show_brackets
from dtgpapers.constituency.family import BracketReading
from dtgpapers.constituency.gum import constituent_corpora

settings = read_size(size)
pd.set_option("display.max_colwidth", None)

# %% [markdown]
# ## One sentence, two sequences
#
# TG reads an opening bracket with its label, the words, and a closing bracket. DTG (here in arc-standard) reads the
# words and the arcs. What composes is read **twice** in both: the first copy (COMPOSE) sees only what it joins, and
# stands for it from then on; the second one (STACK) sees the stack and predicts what comes next.

# %%
# NBVAL_CHECK_OUTPUT
words, heads = ["There", "is", "a", "difference"], (2, 0, 4, 2)
brackets = show_brackets("(S (NP There) (VP is (NP a difference)))")
arcs = show("arc-standard", words, heads)
print(len(brackets.inputs), "positions:", *brackets.inputs)
print(len(arcs.inputs), "positions:", *(name.replace(" + ", "+") for name in arcs.inputs))

# %%
difference = {"brackets (TG)": brackets, "arcs (DTG)": arcs}
plot.save(plot.draw_masks(difference), "10_masks")

# %% [markdown]
# **Who sees whom.** The opening brackets of TG are positions of their own. They stay on the stack until their
# constituents close, so a word sees which constituents it stands in: *difference* (10) sees *(S*, *(VP* and *(NP*. DTG
# has nothing like them; an arc is announced only when it is drawn.
#
# The orange rows differ, too. A closing bracket composes **all** parts of its constituent at once: *VP)* (13) sees its
# bracket, *is*, and the *NP)* (11) that stands for *a difference*. An arc composes **two** words. So *is*, with a
# dependent on its left, one on its right and ROOT above it, is composed three times, in 3, 9 and 11.
#
# And they leave different things behind. *NP)* (4) is read as a bracket with a label; which word was in it, only the
# vector computed there can tell. *LEFTARC + is* (3) is read as the arc **and the word** *is*: the head stays readable.
#
# ## What each prediction sees
#
# Before each word both models look at their stacks; here they are side by side. The last item of a cell is the position
# itself.

# %%


def visible_before_words(shown):
    """What the position before each word sees, in each model."""
    table = {}
    for name, seen in shown.items():
        rows = np.flatnonzero(reach.before_words(seen.vectors))
        names = [[seen.inputs[j] for j in np.flatnonzero(seen.visible[i])] for i in rows]
        table["predicts"], table[name] = [seen.targets[i] for i in rows], map(" · ".join, names)
    return pd.DataFrame(table).set_index("predicts")


visible_before_words(difference)

# %% [markdown]
# ## The keys to the cabinet
#
# In *The keys to the cabinet are on the table*, the noun next to the verb tempts a model to go on with *is*. A model
# that is to agree with the subject has to know, when it predicts *are*, that the head noun is *keys*.

# %%
keys = ["The", "keys", "to", "the", "cabinet", "are", "on", "the", "table"]
keys_heads = (2, 9, 5, 5, 2, 9, 9, 9, 0)
labels = ("det", "nsubj", "case", "det", "nmod", "cop", "case", "det", "root")
plot.draw_tree(Sentence(tuple(keys), keys_heads, labels))

# %%
tree = "(S (NP (NP The keys) (PP to (NP the cabinet))) (VP are (PP on (NP the table))))"
cabinet = {"brackets (TG)": show_brackets(tree), "arcs (DTG)": show("arc-standard", keys, keys_heads)}
visible_before_words(cabinet)

# %% [markdown]
# **What TG hides and DTG shows.** In the row *are*, both models see the whole subject as one composed position, and
# neither sees *cabinet*. But DTG's is *RIGHTARC + keys*: its input is the embedding of the arc plus that of *keys*. The
# head noun, with its number, is there before anything is computed. TG's is *NP)*. That it is about keys has to have
# come through two compositions, that of *The keys* and that of the whole subject.
#
# **What DTG hides and TG shows.** In the row *to*, TG sees that *The keys* stands inside a larger noun phrase and that
# a prepositional phrase has begun. It had to decide on the larger noun phrase before *The*: the first row has two open
# ones. DTG sees a noun and nothing more; that *cabinet* belongs to it is said afterwards. TG shows what is to come,
# and DTG the words that count in what has been.
#
# Hidden does not mean unreachable. In each layer a position reads what it sees, so a vector can come from far away in
# several steps. How many layers does each word need until the prediction of *are* can depend on it?

# %%
# NBVAL_CHECK_OUTPUT
models = {"brackets (TG)": reach.generated, "arcs (DTG)": reach.with_heads}  # which words a position reads


def between_words(v, read):
    """Row n has the layers that each word needs before word n is predicted; 0 also for words that come later."""
    needed = reach.layers_needed(v, read)[reach.before_words(v)]
    return np.where(needed < reach.NEVER, needed, 0)


at = keys.index("are")
layers = {name: between_words(cabinet[name].vectors, read)[at, :at] for name, read in models.items()}
layers["arcs without heads"] = between_words(cabinet["arcs (DTG)"].vectors, reach.generated)[at, :at]
print(pd.DataFrame(layers, keys[:at]).T)

# %% [markdown]
# In TG a word needs one layer, and another one for each **closed bracket** around it: three for *keys*, four for
# *cabinet*. In DTG it needs one, and another one for each **arc** that has taken it up since it was last read: *keys*
# is read by the predicting position itself (0 layers), *cabinet* was last read by the arc to its own *to*, and taken up
# once since. (Both rules hold for all trees; tests check them.)
#
# The last line is a DTG whose arcs are read without their heads (`arcs: arc` in a config; see
# [06_ablations](06_ablations.ipynb)). There *keys* is as deep as in TG. So it is not the tree that keeps the head
# near, but that its word is read again with every arc. A Transformer Grammar could do the same if it knew the heads of
# its constituents.
#
# ## How long are the sequences?
#
# In DTG there are three positions a word and one for ROOT. In TG it depends on the tree. Minilang and GUM, a treebank
# of real English, have constituents and arcs for the same sentences. GUM appears where its files are at hand: `make
# data` fetches the arcs, and the constituents are the folder `const/` of amir-zeldes/gum on GitHub, to be put into the
# data folder as `gum_const/`. Sentences whose arcs cross are left out for both models.

# %%
corpora = {"minilang": load("minilang", "dev")}
if constituent_corpora() and "UD_English-GUM" in ud_treebanks():
    corpora["GUM"] = trees_only(load("gum-constituents", "dev"))
    print("left out of GUM:", dict(corpora["GUM"].excluded))
else:
    print("GUM is not at hand, and left out")

# %%


def compiled(reading, sentences, symbols):
    """The sequences of sentences as a model reads them."""
    vocabulary = Vocabulary.of_words([sentence.words for sentence in sentences], symbols)
    return reading.compile(vocabulary, [(s.words, reading.tree_of(vocabulary, s)) for s in sentences])


by_brackets, by_arcs = BracketReading(composes=True, typed=True), on_a_stack("arc-standard")
sequences, rows = {}, {}
for name, bank in corpora.items():
    count = sum(len(sentence.words) for sentence in bank.sentences)
    tg = compiled(by_brackets, bank.sentences, by_brackets.symbols(bank))
    dtg = compiled(by_arcs, bank.sentences, ARCS)
    sequences[name] = {"brackets (TG)": tg, "arcs (DTG)": dtg}
    per_word = {f"positions per word, {model}": f"{of.starts[-1] / count:.2f}" for model, of in sequences[name].items()}
    rows[name] = {"sentences": len(bank.sentences), "words": count, **per_word}
pd.DataFrame(rows).T

# %% [markdown]
# ## How deep is a word buried?
#
# Now we count, over all sentences, the pairs of a prediction and a word that has been read by then. Every symbol is a
# prediction, be it the next word, bracket or arc. A pair is **out of reach** of L layers if it needs more. Then no
# weights whatever let the prediction depend on that word: the gradient is exactly zero.

# %%


def curves(corpus, most=16):
    """The share of pairs that are out of reach, by the number of layers; of DTG also without heads."""
    of, depths = sequences[corpus], np.arange(1, most + 1)
    needed = {name: reach.of_all(of[name], read) for name, read in models.items()}
    needed["arcs without heads"] = reach.of_all(of["arcs (DTG)"])
    together = {name: np.concatenate(pairs) for name, pairs in needed.items()}
    return {name: (depths, np.array([reach.unreached(all_, L) for L in depths])) for name, all_ in together.items()}


def draw_tails(corpus):
    """The shares over a logarithmic axis, where small ones can be told apart; zeros are left out."""
    picture = plot.draw_curves(shares[corpus], "layers", f"% of pairs out of reach, {corpus}")
    (axes,) = picture.axes
    axes.set_yscale("log", nonpositive="mask")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    return picture


shares = {name: curves(name) for name in corpora}
plot.save(draw_tails("minilang"), "10_reach")

# %%
draw_tails("GUM") if "GUM" in shares else "GUM is left out"

# %% [markdown]
# The curves cross. With few layers DTG has more pairs out of reach, as every arc takes a layer of its own where a
# bracket takes all its parts at once. With many layers TG has more, because an embedded clause is often three brackets
# (SBAR, S, VP) but only one arc. At one layer, DTG owes more than half of what it reaches to the heads' words.

# %%


def at_depths(corpus, depths=(1, 2, 4, 6, 8, 12, 16)):
    """The points of the curves at some numbers of layers."""
    columns = {name: share[np.isin(all_, depths)] for name, (all_, share) in shares[corpus].items()}
    return pd.DataFrame(columns, pd.Index(depths, name="layers")).round(2)


# %%
# NBVAL_CHECK_OUTPUT
print("% of the pairs of minilang that are out of reach", at_depths("minilang"), sep="\n")

# %%
at_depths("GUM") if "GUM" in shares else "GUM is left out"

# %% [markdown]
# These pairs are not the same ones in both models, because brackets are other predictions than arcs. If we ask only
# about predictions of **words**, they are the same, one by one: this word, given that earlier one. Which model needs
# fewer layers for a pair?

# %%
# NBVAL_CHECK_OUTPUT
tg, dtg = (
    np.concatenate(reach.of_all(sequences["minilang"][name], read, reach.before_words)) for name, read in models.items()
)
print(f"{len(tg)} pairs of words in minilang")
for name, which in {"fewer in TG": tg < dtg, "the same": tg == dtg, "fewer in DTG": tg > dtg}.items():
    print(f"layers needed: {name:12} {100 * which.mean():4.1f} %")
print(f"on average: TG {tg.mean():.2f}, DTG {dtg.mean():.2f}")

# %% [markdown]
# So the two are closer than their masks look. What does that mean for models that we train? Those of size `mini` have
# fewer layers than the paper's.

# %%
# NBVAL_CHECK_OUTPUT
for name in ("mini", "paper"):
    L = read_size(name).model.layers
    of_tg, of_dtg = (f"{reach.unreached(needed, L):.2f} %" for needed in (tg, dtg))
    print(f"{name}, {L} layers: {of_tg} of the pairs of words are out of reach of TG, {of_dtg} of DTG")

# %% [markdown]
# ## The deepest word
#
# What kinds of sentences are behind the tails? Here is, for each model, the one with the pair of words that needs the
# most layers, and what the other model needs for that pair.

# %%


def deepest(corpus):
    """Print the pair of words that needs the most layers, for each model."""
    for name, read in models.items():
        most = [needed.max(initial=0) for needed in reach.of_all(sequences[corpus][name], read, reach.before_words)]
        number = int(np.argmax(most))
        needed = {other: between_words(sequences[corpus][other].sentence(number), models[other]) for other in models}
        following, word = np.unravel_index(needed[name].argmax(), needed[name].shape)
        sentence = corpora[corpus].sentences[number].words
        layers = ", ".join(f"{other} {of[following, word]}" for other, of in needed.items())
        print(f"{name}: layers from {sentence[word]!r} to the prediction of {sentence[following]!r}: {layers}")
        print("   ", *sentence)


# %%
# NBVAL_CHECK_OUTPUT
deepest("minilang")

# %%
deepest("GUM") if "GUM" in corpora else print("GUM is left out")

# %% [markdown]
# TG is deep where clauses are embedded in one another to the right: all of them close before the full stop, and each
# of them is several brackets. DTG is deep there, too, but less so. What is deeper in DTG than in TG are lists, as in
# the last sentence of GUM (where it is at hand): each of the many names and places is an arc, while one flat
# constituent holds many of them.
#
# ## What we found
#
# TG and DTG are the same kind of machine: a stack, two kinds of positions, what is composed is hidden. They differ in
# three things. TG shows the constituents that are open, and so what is still to come. DTG shows the head of everything
# on its stack by its word, and so *keys* when *are* is due; in TG the label is all that can be read without a layer.
# And a bracket composes any number of parts at once, an arc two.
#
# From this follows how deep words are buried. With the four layers of our small models about a fifth of all pairs of
# words in minilang are out of reach in both, and more of real English; no training changes that. With the sixteen
# layers of the papers hardly anything is: what then counts is not whether a word can be reached, but what the
# compositions on the way have kept of it. And DTG's advantage at the head is one of its input, the head's word on every
# arc, rather than one of its trees.
