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
# # Who sees whom?
#
# **In short:** a position sees the words that are on the stack, and those have taken up all others. So a mask is
# sparse, about four positions where a causal one sees thirty, and a few integers a position describe it; what it hides,
# a determiner behind its noun say, can be reached only through what it was composed into.
#
# A plain Transformer that predicts the next word sees all words before it. A Dependency Transformer Grammar sees the
# **stack**: when an arc has been drawn, head and dependent vanish, and one position stands for both. This notebook
# draws the attention masks of the paper from code, and asks what they hide and how much they leave.

# %% tags=["parameters"]
size = "smoke"

# %%
from functools import partial

import numpy as np
import pandas as pd

from dtglib.data.corpora import load, ud_treebanks
from dtglib.data.treebank import Sentence, trees_only
from dtglib.data.vocabulary import Vocabulary
from dtglib.pictures import plot
from dtglib.runs.settings import read_size
from dtglib.sequences.batches import pad
from dtglib.sequences.compile import compile_trees
from dtglib.sequences.describe import as_rows, described, show
from dtglib.sequences.readings import causal, transitions
from dtglib.sequences.structure import Vectors, dense, vectors_of
from dtglib.transitions import SYSTEMS, Kind

settings = read_size(size)
words, heads = ["There", "is", "a", "difference"], (2, 0, 4, 2)

# %% [markdown]
# ## arc-standard: figure 2 of the paper
#
# Every arc is read twice. The first copy (**COMPOSE**, orange) sees the two words that it joins and nothing else;
# from then on it stands for the head. The second copy (**STACK**, blue) sees what is on the stack and predicts the
# next transition. A generated word does that, too. A row looks, a column is seen.

# %%
standard = show("arc-standard", words, heads)
picture = plot.draw_mask(standard, "There is a difference, in arc-standard")
plot.save(picture, "02_figure2_arc_standard")

# %% [markdown]
# **Who sees whom.** *LEFTARC + is* (3) sees *There* and *is*. Nobody after it sees these two: their columns end
# there, and 3 is *is* from now on. Its second copy (4) sees ROOT, 3 and itself, and predicts *a*. At the end a single
# column goes down: ROOT, which has taken up everything.
#
# **What the paper's text does not contain.** The inputs, the kinds and the predictions are the paper's table; the
# picture of the mask is not in our copy, so all its cells are derived from the rules. One choice is in them. By
# Algorithm 1 neither COMPOSE nor the second copies see themselves; the text says "including i". Here every position
# sees itself.

# %%
pd.DataFrame(as_rows(standard)).set_index("i")

# %% [markdown]
# ## Relative positions
#
# How far away is a word on a stack? Not as many positions as lie between, but as many **words of the stack**: the
# topmost is at 0, the one below it at 1, and so on. A COMPOSE position sees the head at 0 and the dependent at -1.

# %%
picture = plot.draw_relpos(standard, "Relative positions in arc-standard")
plot.save(picture, "02_relpos_arc_standard")

# %% [markdown]
# **Who sees whom at which distance.** For *difference* (6), ROOT is 3 words below, *is* (which is 3) 2, and *a* 1.
# The second copy of an arc (4, 8, 10, 12) is not on the stack: it sees itself at 0, and so it sees the topmost word.
# All of these numbers are derived. Section 3.2 subtracts depths that grow downwards, d(i) - d(j), which gives the
# same numbers with a minus; the sign is the one that the authors' program was seen to use.
#
# ## arc-eager: figure 4
#
# A right dependent stays after its arc, above its head, until a POP. So two columns go on where arc-standard had one.

# %%
eager = show("arc-eager", words, heads)
picture = plot.draw_mask(eager, "There is a difference, in arc-eager")
plot.save(picture, "02_figure4_arc_eager")

# %% [markdown]
# **Who sees whom.** *RIGHTARC + ROOT* (5) sees ROOT and *is* (3). Only ROOT's column ends, and 5 stands for it; 3
# goes on and will take dependents. *RIGHTARC + is* (11) likewise leaves *difference* (9) in sight. Each POP takes
# away the topmost word and sees the rest: 13 no longer sees 9, 14 no longer sees *is* (11), and 15, after ROOT is
# gone, sees only itself. **Not in the paper's text:** again the whole mask. The three POPs are in its table.

# %%
picture = plot.draw_relpos(eager, "Relative positions in arc-eager")
plot.save(picture, "02_relpos_arc_eager")

# %% [markdown]
# **At which distance.** *RIGHTARC + is* (11) stands in its head's place, *below* its dependent *difference* (9): when
# 12 looks, 9 is at 0, 11 at 1 and ROOT (5) at 2. Columns need not count downwards as in arc-standard; the word at 9
# is older than the one at 11, and yet above it.
#
# ## arc-swift: figure 5
#
# Figure 5 has a fifth token. RIGHTARC[2] joins it to *is*, across *difference*.

# %%
swift = show("arc-swift", [*words, "."], (*heads, 2))
picture = plot.draw_mask(swift, "There is a difference (full stop), in arc-swift")
plot.save(picture, "02_figure5_arc_swift")

# %% [markdown]
# **Who sees whom.** *RIGHTARC[2] + is* (14) sees *is* (11), the full stop (13), and *difference* (9) between them.
# After it, *difference* and the old *is* are gone; ROOT (5), the new *is* (14) and the full stop (13) are left for
# 15.
#
# **What the paper's text does not contain.** The mask; and the fifth token, whose cells came out empty in the table:
# that it is a full stop is our reconstruction. (The paper writes LEFTARC[1], we leave out [1]; its prediction in row
# 13 lacks the [2].) One cell is in doubt, row 15 and column 13. "We mask all these k + 1 tokens", says section 3.4,
# which would hide the full stop. But by the paper's table 1 it is on the stack and may take dependents, so here it
# stays.

# %% [markdown]
# ## arc-hybrid, and no stack at all
#
# The paper says that arc-hybrid generates the same sequences as arc-standard. So its mask is the same, cell by cell.

# %%
# NBVAL_CHECK_OUTPUT
hybrid = show("arc-hybrid", words, heads)
print("the same positions:", hybrid.inputs == standard.inputs)
print("the same mask:", np.array_equal(hybrid.visible, standard.visible))

# %%
plot.draw_mask(hybrid, "There is a difference, in arc-hybrid")

# %% [markdown]
# And the baseline, TXL (trans): the transitions of arc-standard as a plain sequence. No arc is doubled, nothing is ever
# hidden, and an arc is only one more symbol: what it joins, the model has to find out.

# %%
vocabulary = Vocabulary.of_words([words])
in_a_row = transitions(SYSTEMS["arc-standard"], vocabulary, [(words, heads)]).sentence(0)
names = [entry.removeprefix("▁") for entry in vocabulary.entries]
plot.draw_mask(described(standard.actions, in_a_row, names), "There is a difference, under a causal mask")

# %% [markdown]
# ## Any other sentence
#
# **Your sentence.** Change the words, the heads or the system, and run the cell.

# %%
my_words, my_heads, my_system = ["There", "is", "a", "difference"], (2, 0, 4, 2), "arc-standard"
plot.draw_mask(show(my_system, my_words, my_heads), my_system)

# %% [markdown]
# ## Words in several pieces
#
# Suppose *difference* is cut into two pieces. Both stand for one word: the same height, the same end, and no arc
# between them.

# %%
pieces = show("arc-standard", words, heads, [1, 1, 1, 2])
picture = plot.draw_relpos(pieces, "difference in two pieces, in arc-standard")
plot.save(picture, "02_pieces")

# %% [markdown]
# **Who sees whom.** *difference/2* (7) sees *difference/1* (6) at 0, as it sees itself. *LEFTARC + difference* (8)
# sees both pieces of the head at 0 and *a* at -1; both columns end there. The arc's input is the embedding of the arc
# and of the head's *last* piece.
#
# ## Are the pictures right?
#
# They come from the vectors of `compile`, a few numbers a position. Algorithm 1 plays the same actions on a real stack
# of words, each of which is a list of positions. Here it is for arc-standard; the tests of the package have the other
# systems.

# %%
stack, rows, counts = [[0]], [{0: 0}], iter([1, 1, 1, 2])


def look():
    """A STACK position sees the words of the stack, at their distance from the topmost, and itself."""
    seen = {j: len(stack) - 1 - height for height, word in enumerate(stack) for j in word}
    rows.append(seen | {len(rows): 0})


for action in pieces.actions:
    if action.kind is Kind.GEN:
        stack.append([])
        for _ in range(next(counts)):
            stack[-1].append(len(rows))
            look()
    elif action.is_arc:
        upper, lower = stack.pop(), stack.pop()
        head, dependent = (upper, lower) if action.kind is Kind.LEFTARC else (lower, upper)
        stack.append([len(rows)])  # the COMPOSE position stands for the head
        rows.append(dict.fromkeys(dependent, -1) | dict.fromkeys(head, 0) | {len(rows): 0})
        look()

# %%
# NBVAL_CHECK_OUTPUT
from_vectors = [{j: pieces.relpos[i, j] for j in np.flatnonzero(row)} for i, row in enumerate(pieces.visible)]
print(pieces.visible.sum(), "visible cells; they agree with the stack:", from_vectors == rows)

# %% [markdown]
# ## How much is left to see?
#
# A causal mask fills the lower triangle. What share of it does a model see that looks at stacks? And how many
# positions does one position see on average? We count on sentences of minilang, grouped by length, always on the
# doubled sequence.

# %%


SEQUENCES = {system: partial(compile_trees, SYSTEMS[system]) for system in ("arc-standard", "arc-eager", "arc-swift")}
SEQUENCES["causal"] = lambda vocabulary, pairs: causal(SEQUENCES["arc-standard"](vocabulary, pairs))


def density(sentences):
    """A row a sentence and structure: its positions, and the cells that are visible."""
    vocabulary, rows = Vocabulary.of_words([s.words for s in sentences]), []
    pairs = [(s.words, s.heads) for s in sentences]
    for name, sequences_of in SEQUENCES.items():
        compiled = sequences_of(vocabulary, pairs)
        for number, (words, _) in enumerate(pairs):
            visible = dense(vectors_of(pad(compiled, [number]))).visible
            rows.append((name, len(words), visible.shape[1], int(visible.sum())))
    table = pd.DataFrame(rows, columns=["structure", "words", "positions", "cells"])
    table["share"] = 100 * table.cells / (table.positions * (table.positions + 1) / 2)
    return table.assign(seen=table.cells / table.positions)


def by_length(table, column, width):
    """Means over sentences of about the same length: a curve a structure."""
    middle = table.words // width * width + (width - 1) / 2
    means = table.groupby(["structure", middle])[column].mean()
    return {name: (means[name].index, means[name]) for name in table.structure.unique()}


minilang = density(load("minilang", "train", 600).sentences)
share = by_length(minilang, "share", 3)
picture = plot.draw_curves(share, "words in a sentence", "% of the lower triangle")
plot.save(picture, "02_share")

# %%
seen_by_one = by_length(minilang, "seen", 3)
picture = plot.draw_curves(seen_by_one, "words in a sentence", "positions seen by one")
plot.save(picture, "02_seen")

# %% [markdown]
# The causal mask is full by definition, and on average each of its positions sees half of the sequence. On a stack a
# position sees three to five, itself included, so the share falls as sentences grow. Stacks grow with the depth of a
# sentence, and only slowly with its length.

# %%
# NBVAL_CHECK_OUTPUT
long = minilang[minilang.words >= 15]
print(long.groupby("structure")[["share", "seen"]].mean().round(1))

# %% [markdown]
# Real sentences are longer; where the English Web Treebank is at hand, its first 600 trees are drawn beside minilang.
# They behave alike: with 50 words, a position sees about six.

# %%
tables = {"minilang": minilang}
if (web := "UD_English-EWT") in ud_treebanks():
    tables[web] = density(trees_only(load(web, "train")).sentences[:600])
curves = {
    f"{structure}, {name}": by_length(table[table.words <= 50], "seen", 3)[structure]
    for name, table in tables.items()
    for structure in ("arc-standard", "arc-eager", "arc-swift")
}
plot.draw_curves(curves, "words in a sentence", "positions seen by one")

# %% [markdown]
# ## What has to be stored
#
# A mask and relative positions are two squares a sentence. They follow from a few numbers a position: the last position
# $l_j$ from which $j$ is seen, the height $h_j$ at which its word stands, its level $v_j$ (here the same), the position
# $s_j$ from which on it stands there, the height $t_i$ of the topmost word when $i$ looks, and the lowest height $f_i$
# that $i$ looks down to:
#
# $$\mathrm{visible}(i, j) \;=\; j \le i \le l_j \;\wedge\; (h_j \ge f_i \,\vee\, j = i)$$
#
# $$\mathrm{relpos}(i, j) \;=\; \begin{cases} 0 & j = i \text{ or } i < s_j \\ t_i - v_j & \text{otherwise, for STACK}
# \\ 0 & j \text{ is of the head, for COMPOSE} \\ -1 & \text{otherwise, for COMPOSE} \end{cases}$$
#
# The vectors that attention reads are nine numbers of four bytes a position, and the squares need never be kept.

# %%
positions = 3 * np.arange(1, 51) + 1  # arc-standard, one piece a word
x = np.arange(1, 51)
series = {
    "mask and relative positions, one byte each": (x, 2 * positions**2 / 1024),
    "the vectors": (x, len(Vectors._fields) * 4 * positions / 1024),
}
plot.save(plot.draw_curves(series, "words in a sentence", "KiB a sentence"), "02_bytes")

# %%
# NBVAL_CHECK_OUTPUT
sentence = next(s for s in load("minilang", "train", 600).sentences if len(s.words) == 25)
vocabulary = Vocabulary.of_words([sentence.words])
pairs = [(sentence.words, sentence.heads)]
sequence = compile_trees(SYSTEMS["arc-standard"], vocabulary, pairs)
vectors = vectors_of(pad(sequence, [0]))
print("25 words,", vectors.kind.shape[1], "positions")
print("vectors:", sum(column.nbytes for column in vectors), "bytes")
squares = dense(vectors)
print("squares, as torch makes them:", squares.visible.nbytes + squares.relpos.nbytes, "bytes")
print("squares, a byte a cell:", 2 * squares.visible.nbytes, "bytes")

# %% [markdown]
# A byte is the least that a cell can take here; even so, squares are smaller only for sentences of up to five words.
#
# ## What the mask hides: "No actor arrived at at most six lakes"
#
# Appendix C of the paper explains a weakness of these models. *No actor arrived at at most six lakes* is bad, since
# *at most* does not go with the negation of *No*; *An actor ...* is good. To tell them apart, one must know of *No*
# when *at most* is generated. Here is the tree in the manner of Universal Dependencies.

# %%
lakes = ["No", "actor", "arrived", "at", "at", "most", "six", "lakes"]
lakes_heads = (2, 3, 0, 8, 6, 7, 8, 3)
labels = ("det", "nsubj", "root", "case", "case", "nmod", "nummod", "obl")
plot.save(plot.draw_tree(Sentence(tuple(lakes), lakes_heads, labels)), "02_lakes_tree")

# %% [markdown]
# The position that generates the *at* of *at most* is the one that has just read the first *at*. It is the last row
# of each picture.

# %%
seen = {name: show(name, lakes, lakes_heads) for name in SYSTEMS}
first_at = 4  # the fourth word
at = {name: seen[name].vectors.word.tolist().index(first_at) for name in SYSTEMS}
picture = plot.draw_mask(seen["arc-standard"], "No actor arrived at, in arc-standard", at["arc-standard"] + 1)
plot.save(picture, "02_lakes_arc_standard")

# %% [markdown]
# **Who sees whom.** In arc-standard, the last row (8) sees ROOT, *LEFTARC + arrived* (6) and itself. *No* (1) was
# seen for the last time by *LEFTARC + actor* (3), which absorbed it, and that one by *LEFTARC + arrived* (6).

# %%
picture = plot.draw_mask(seen["arc-eager"], "No actor arrived at, in arc-eager", at["arc-eager"] + 1)
plot.save(picture, "02_lakes_arc_eager")

# %% [markdown]
# **Who sees whom.** In arc-eager, the last row (10) sees *LEFTARC + arrived* (6), ROOT with its arc (8), and itself.
# arc-swift does the same up to here, arc-hybrid the same as arc-standard. No system helps: a determiner stands to the
# left of its noun, and left dependents are absorbed at once in all of them.


# %%
# NBVAL_CHECK_OUTPUT
def layers_until(described, word):
    """For each position the number of layers until the word arrives: one more than for the best that it sees."""
    needed = np.full(len(described.inputs), np.inf)
    for i in range(len(needed)):
        sees = np.flatnonzero(described.visible[i, :i])
        needed[i] = 0 if described.vectors.word[i] == word else needed[sees].min(initial=np.inf) + 1
    return needed


for name in SYSTEMS:
    sees = [seen[name].inputs[j] for j in np.flatnonzero(seen[name].visible[at[name]])]
    layers = round(layers_until(seen[name], 1)[at[name]])  # No is the first word
    print(f"{name:12} sees {', '.join(sees)}; layers until No arrives: {layers}")

# %% [markdown]
# Hidden does not mean unreachable. What *LEFTARC + actor* computes from *No* in the first layer, *LEFTARC + arrived*
# reads in the second, and *at* in the third; a plain Transformer has it in the first. The model can pass the negation
# on, but only through two compositions, which have to have kept it. *No* itself cannot be looked up.
#
# ## What we found
#
# One rule makes the masks of all systems: a STACK position sees who stands on the stack, a COMPOSE position the words
# that it joins. The paper's tables follow from it line by line, as far as our text of the paper has them. The cells
# of the masks are derived, and one of them is in doubt: whether RIGHTARC[2] of arc-swift leaves its dependent in
# sight.
#
# The masks are sparse, and become sparser as sentences grow: on 15 words and more of minilang a position sees about
# four where a causal one sees 31. So a few vectors replace squares, and a model that decodes need keep no more than
# the stack. The price is what appendix C shows. A determiner can be seen only through its noun, and the determiner of
# a subject, once the verb is there, only through the verb, in every one of the systems.
