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
# [Transformer Grammars](https://aclanthology.org/2022.tacl-1.81/) (Sartran et al. 2022), and
# [the paper of DTG, section 3](https://arxiv.org/html/2407.17406v1#S3) · before: [masks](02_masks.ipynb) · after:
# [which trees help more?](11_constituency.ipynb)
#
# Transformer Grammars (TG) generate a sentence together with its constituents, as Dependency Transformer Grammars (DTG)
# do with its arcs. Both restrict attention to a stack. What does TG hide that DTG shows? And how deep can a word be
# buried before a model cannot reach it any more?
#
# 1. One sentence, two sequences
# 2. TG's rule, as a loop
# 3. What each prediction sees
# 4. How many layers away is a word?
# 5. All sentences
# 6. Your tree; exercises; doubts
#
# Nothing is trained here: the numbers are counted now, from masks of minilang and of GUM, English with both kinds of
# trees, if it is at hand (`make data` fetches the arcs; the constituents are the folder `const/` of amir-zeldes/gum on
# GitHub, to be put into the data folder as `gum_const/`). Sentences whose arcs cross are left out.

# %% tags=["parameters"]
size = "smoke"

# %%
import re

import numpy as np
import pandas as pd
import seaborn
from IPython.display import Markdown

from dtglib.data import corpora, symbols, treebank, vocabulary
from dtglib.pictures import plot
from dtglib.runs.settings import read_size
from dtglib.sequences import describe, readings
from dtgpapers.constituency import family, gum, reach
from dtgpapers.constituency.describe import show as show_brackets

pd.set_option("display.width", 160, "display.max_colwidth", None)
TG, DTG, WITHOUT = "brackets (TG)", "arcs (DTG)", "arcs without heads"
READS = {TG: reach.generated, DTG: reach.with_heads, WITHOUT: reach.generated}  # which word a position reads

# %%
banks = {"minilang": corpora.load("minilang", "dev")}
if gum.constituent_corpora() and "UD_English-GUM" in corpora.ud_treebanks():
    banks["GUM"] = treebank.trees_only(corpora.load("gum-constituents", "dev"))


def compiled(reading, sentences, of):
    """The sequences of sentences as a model reads them."""
    entries = vocabulary.Vocabulary.of_words([sentence.words for sentence in sentences], of)
    return reading.compile(entries, [(s.words, reading.tree_of(entries, s)) for s in sentences])


by_brackets, by_arcs = family.BracketReading(composes=True, typed=True), readings.on_a_stack("arc-standard")
sequences = {}
for name, bank in banks.items():
    arcs = compiled(by_arcs, bank.sentences, symbols.ARCS)
    brackets = compiled(by_brackets, bank.sentences, by_brackets.symbols(bank))
    sequences[name] = {TG: brackets, DTG: arcs, WITHOUT: arcs}

# %%
DEPTHS = np.arange(1, 17)


def shares_of(corpus):
    """The percentage of pairs of a word's prediction and an earlier word that so many layers do not connect."""
    columns = {}
    for name, read in READS.items():
        needed = np.concatenate(reach.of_all(sequences[corpus][name], read, reach.before_words))
        columns[name] = [reach.unreached(needed, layers) for layers in DEPTHS]
    return pd.DataFrame(columns, pd.Index(DEPTHS, name="layers"))


shares = {corpus: shares_of(corpus) for corpus in banks}
of_words = {
    name: np.concatenate(reach.of_all(sequences["minilang"][name], READS[name], reach.before_words))
    for name in (TG, DTG)
}
few, many = (shares["minilang"].loc[layers] for layers in (4, 8))
Markdown(
    f"**In short:** both hide what has been composed behind one position. Arcs keep the head word readable and bury "
    f"its dependents, an arc at a time; brackets keep only a label, and compose all parts of a constituent at once. "
    f"So with four layers {few[DTG]:.1f} % of the pairs of a word's prediction and an earlier word are out of DTG's "
    f"reach, {few[TG]:.1f} % out of TG's; with eight layers {many[DTG]:.1f} and {many[TG]:.1f} % (minilang)."
)

# %% [markdown]
# ## 1. One sentence, two sequences
#
# TG reads an opening bracket with its label, the words, and a closing bracket. DTG (here in arc-standard) reads the
# words and the arcs. What composes is read **twice**: the first copy (COMPOSE) sees only what it joins, and stands for
# it from then on; the second one (STACK, as in `LEFTARC2`) sees the stack and predicts what comes next.

# %%
# NBVAL_CHECK_OUTPUT
words, heads, tree = ["There", "is", "a", "difference"], (2, 0, 4, 2), "(S (NP There) (VP is (NP a difference)))"
difference = {TG: show_brackets(tree), DTG: describe.show("arc-standard", words, heads)}
for shown in difference.values():
    print(len(shown.inputs), "positions:", *(name.replace(" + ", "+") for name in shown.inputs))

# %%
plot.save(plot.draw_masks(difference), "10_masks")

# %% [markdown]
# **Who sees whom** (a filled cell: the row sees the column). The opening brackets of TG stay on the stack until they
# are closed, so a word sees which constituents it stands in: *difference* (10) sees *(S*, *(VP* and *(NP*. DTG has
# nothing like them.
#
# A closing bracket composes **all** parts of its constituent at once: *VP)* (13) sees its bracket, *is*, and the *NP)*
# (11) that stands for *a difference*. An arc composes **two** words, so *is* is composed three times, in 3, 9 and 11.
#
# *NP)* (4) is read as a bracket with a label; which word was in it, only the vector computed there can tell. *LEFTARC +
# is* (3) is read as the arc **and the word** *is*: the head stays readable.
#
# ## 2. TG's rule, as a loop
#
# A stack holds positions with their depths in the tree. The relative position of *j* for *i* is the depth of *i* less
# that of *j*; sisters share one, so their order is not seen. (DTG's rule is in [notebook
# 02](02_masks.ipynb).) The cell's masks are compared with the package's.


# %%
def written(tree):
    """The symbols that write a tree; closing brackets get the label of what they close."""
    opened, steps = [], []
    for symbol in re.findall(r"\(\w+|[^\s()]+|\)", tree):
        if symbol.startswith("("):
            opened.append(symbol[1:])
        steps.append(f"{opened.pop()})" if symbol == ")" else symbol)
    return steps


def seen_by(steps):
    """What each position sees, with relative positions."""
    rows, stack = [{0: 0}], [(0, 0, False)]  # ROOT; on the stack: position, depth, is it an open bracket?
    for symbol in steps:
        depth = 1 + sum(is_open for _, _, is_open in stack)
        if symbol.endswith(")"):
            (start,) = [n for n, item in enumerate(stack) if item[2]][-1:]
            (bracket, depth, _), *inside = stack[start:]
            rows.append({bracket: 0, len(rows): 0} | {place: -1 for place, _, _ in inside})  # COMPOSE
            stack[start:] = [(len(rows) - 1, depth, False)]
        rows.append({place: depth - other for place, other, _ in stack} | {len(rows): 0})  # STACK
        if not symbol.endswith(")"):
            stack.append((len(rows) - 1, depth, symbol.startswith("(")))
    return rows


# %%
KEYS = "(S (NP (NP The keys) (PP to (NP the cabinet))) (VP are (PP on (NP the table))))"
for text in (tree, KEYS):
    shown = show_brackets(text)
    for i, row in enumerate(seen_by(written(text))):
        assert {j: shown.relpos[i, j] for j in np.flatnonzero(shown.visible[i])} == row
{shown.inputs[j]: relpos for j, relpos in seen_by(written(KEYS))[shown.targets.index("are")].items()}

# %% [markdown]
# ## 3. What each prediction sees
#
# In *The keys to the cabinet are on the table*, the noun next to the verb misleads: a model has to know, when it
# predicts *are*, that the head noun is *keys*. Here is what both see before each word, the position itself last.

# %%
keys = ["The", "keys", "to", "the", "cabinet", "are", "on", "the", "table"]
keys_heads = (2, 9, 5, 5, 2, 9, 9, 9, 0)
labels = ("det", "nsubj", "case", "det", "nmod", "cop", "case", "det", "root")
plot.draw_tree(treebank.Sentence(tuple(keys), keys_heads, labels))

# %%
cabinet = {TG: show_brackets(KEYS), DTG: describe.show("arc-standard", keys, keys_heads)}
table = {}
for name, shown in cabinet.items():
    rows = np.flatnonzero(reach.before_words(shown.vectors))
    table["predicts"] = [shown.targets[i] for i in rows]
    table[name] = [" · ".join(shown.inputs[j] for j in np.flatnonzero(shown.visible[i])) for i in rows]
pd.DataFrame(table).set_index("predicts")

# %% [markdown]
# **What TG hides and DTG shows.** In the row *are*, both models see the whole subject as one composed position, and
# neither sees *cabinet*. But DTG's is *RIGHTARC + keys*: its input is the embedding of the arc plus that of *keys*, so
# the number is in the input itself. TG's is *NP)*. That it is about keys has to have come through two compositions.
#
# **What DTG hides and TG shows.** In the row *to*, TG sees that *The keys* stands inside a larger noun phrase; it had
# to decide on that before *The*. TG shows what is to come, DTG the head words of what has been.
#
# ## 4. How many layers away is a word?
#
# Hidden does not mean unreachable. In each layer a position reads what it sees: it needs one layer more than the
# nearest of those that it sees, and none for the word that it reads itself. With fewer layers the gradient is exactly
# zero.


# %%
def layers_needed(visible, reads, words):
    """For each position and word the least number of layers; `reads` has the word of each position, from 1, or -1."""
    needed = np.full((len(reads), words), np.inf)
    for i, word in enumerate(reads):
        needed[i] = 1 + needed[np.flatnonzero(visible[i, :i])].min(axis=0, initial=np.inf)
        if word > 0:
            needed[i, word - 1] = 0
    return needed


def at_prediction(shown, word, read):
    """The layers to each earlier word when a word is predicted."""
    needed = layers_needed(shown.visible, read(shown.vectors), shown.vectors.word.max())
    assert (np.minimum(needed, reach.NEVER) == reach.layers_needed(shown.vectors, read)).all()
    return needed[np.flatnonzero(reach.before_words(shown.vectors))[word], :word].astype(int)


def distances(shown, word):
    """The layers in all models; without heads, arcs are read as arcs alone."""
    of = {**shown, WITHOUT: shown[DTG]}
    return [at_prediction(of[name], word, read) for name, read in READS.items()]


# %%
# NBVAL_CHECK_OUTPUT
at = keys.index("are")
print(pd.DataFrame(distances(cabinet, at), list(READS), keys[:at]))

# %% [markdown]
# In TG a word needs one layer, and another one for each **closed bracket** around it: three for *keys*, four for
# *cabinet*. In DTG it needs one, and another one for each **arc** that has taken it up since it was last read: *keys*
# is read by the predicting position itself (0 layers), *cabinet* by the arc to its own *to*, and was taken up once
# since.
#
# The last line is a DTG whose arcs are read without their heads ([notebook 06](06_ablations.ipynb) measures it). There
# *keys* is as deep as in TG. So the head stays near because its word is read again with every arc.
#
# ## 5. All sentences
#
# A pair of a word's prediction and an earlier word is **out of reach** of L layers if it needs more. These pairs are
# the same in both models. The axis is logarithmic; zeros are left out.

# %%
picture = plot.Picture(figsize=(11, 3.6))
panels = picture.subplots(1, len(shares), sharey=True, squeeze=False)[0]
for axes, (corpus, of) in zip(panels, shares.items(), strict=True):
    tidy = of[of > 0].melt(var_name="model", value_name="percent", ignore_index=False).reset_index()
    seaborn.lineplot(tidy, x="layers", y="percent", hue="model", marker="o", palette="colorblind", ax=axes)
    plot.make_logarithmic(axes, "y")
    axes.set(title=corpus, ylabel="% of pairs out of reach", xticks=range(2, 17, 2))
    axes.legend(frameon=False)
plot.save(picture, "10_reach")

# %%
# NBVAL_CHECK_OUTPUT
print(
    "% of the pairs of minilang that are out of reach", shares["minilang"].iloc[[0, 1, 3, 5, 7, 15]].round(2), sep="\n"
)

# %% [markdown]
# The curves cross. With few layers DTG has more pairs out of reach, as every arc takes a layer where a bracket takes
# all its parts at once. With many layers TG has more, perhaps because an embedded clause is often three brackets (SBAR,
# S, VP) but one arc. At one layer, DTG owes more than half of what it reaches to the heads' words.
#
# Which model needs fewer layers, pair by pair? What is out of reach of models with as many layers as ours and the
# papers'? And how long are the sequences?

# %%
# NBVAL_CHECK_OUTPUT
tg, dtg = of_words.values()
shown = {"fewer in TG": tg < dtg, "the same": tg == dtg, "fewer in DTG": tg > dtg}
print(f"{len(tg)} pairs of words;", *(f"layers {name}: {100 * which.mean():.1f} %;" for name, which in shown.items()))
for name in ("mini", "paper"):
    L = read_size(name).model.layers
    print(
        f"{name}, {L} layers, out of reach:", {name: f"{reach.unreached(of, L):.2f} %" for name, of in of_words.items()}
    )

# %%
rows = {}
for name, bank in banks.items():
    count = sum(len(sentence.words) for sentence in bank.sentences)
    per_word = {
        model: round(int(of.starts[-1]) / count, 2) for model, of in sequences[name].items() if model != WITHOUT
    }
    rows[name] = {"sentences": len(bank.sentences), "words": count, **per_word}
pd.DataFrame(rows).T.rename(columns={TG: "positions per word, TG", DTG: "positions per word, DTG"})

# %% [markdown]
# What kinds of sentences are behind the tails? For each model, the pair of words that needs the most layers:


# %%
def deepest(corpus, name):
    """The pair of words that needs the most layers, and what the other model needs for it."""
    of = sequences[corpus]
    most = [needed.max(initial=0) for needed in reach.of_all(of[name], READS[name], reach.before_words)]
    number = int(np.argmax(most))
    needed = {}
    for other in (TG, DTG):
        columns = of[other].sentence(number)
        rows = reach.layers_needed(columns, READS[other])[reach.before_words(columns)]
        needed[other] = np.where(rows < reach.NEVER, rows, 0)  # 0 for words that come later
    following, word = np.unravel_index(needed[name].argmax(), needed[name].shape)
    words = banks[corpus].sentences[number].words
    about = {"corpus": corpus, "deepest in": name, "from": words[word], "to the prediction of": words[following]}
    return (
        about
        | {f"layers, {other}": rows[following, word] for other, rows in needed.items()}
        | {"sentence": " ".join(words)}
    )


pd.DataFrame(deepest(corpus, name) for corpus in banks for name in (TG, DTG))

# %% [markdown]
# TG is deep where clauses are embedded to the right: all of them close before the full stop, and each is several
# brackets. DTG is deep where one word takes many dependents, each by an arc of its own, as in the last row; a flat
# constituent takes them all at once.
#
# ## 6. Your tree
#
# Change tree and heads (counted from 1, 0 for the root). The layers to each word when the last one is predicted:

# %%
your_tree = "(S (NP She) (VP sold (NP apples , pears , plums and figs)) .)"
your_heads = [2, 0, 2, 5, 3, 7, 3, 9, 3, 2]
yours = [symbol for symbol in written(your_tree) if not re.search(r"^\(|\)$", symbol)]
shown = {TG: show_brackets(your_tree), DTG: describe.show("arc-standard", yours, your_heads)}
pd.DataFrame(distances(shown, len(yours) - 1), list(READS), yours[:-1])

# %% [markdown]
# ### Exercises
#
# 1. Let TG know its heads: all brackets `NP)` read *keys* (word 2). How many layers is *keys* away
#    when *are* is predicted? `reach.generated(v)` returns what each position reads.
# 2. Why are *pears* and *figs* not equally deep with arcs? And with heads 2 0 2 5 3 7 5 9 7 2?
#
# <details><summary>Answers</summary>
#
# 1. One, for the predicting *(VP* sees *NP)*: `v = cabinet[TG].vectors`, `reads = reach.generated(v).copy()`, `reads[[i
#    for i, name in enumerate(cabinet[TG].inputs) if name == "NP)"]] = 2`, then `layers_needed(cabinet[TG].visible,
#    reads, 9)[cabinet[TG].targets.index("are")]`.
# 2. Each arc composes *apples* and what it has already: *pears*, the first, is taken up most often. In a chain the last
#    is deepest, taken up with each that it depends on.
#
# </details>
#
# ## Doubts
#
# To be in reach is not to be used: these are bounds on what any weights can do ([notebook 11](11_constituency.ipynb)
# tests trained ones). With the sixteen layers of the papers hardly anything is out of reach; what then counts is what
# the compositions on the way have kept of a word. The counts depend on how a treebank draws its trees: flat noun
# phrases favour brackets.
