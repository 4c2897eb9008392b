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
# The paper, sections [3.1](https://arxiv.org/html/2407.17406v1#S3.SS1) (masks),
# 3.2 (relative positions), 3.4 (other systems) · before: [the oracles](01_oracles.ipynb) · after:
# [five models, one body](03_training.ipynb)
#
# A Transformer sees all words before the one that it predicts. A Dependency Transformer Grammar sees the **stack**:
# when an arc has been drawn, head and dependent vanish, and one position stands for both.
#
# 1. A sentence, and why arcs are read twice
# 2. Algorithm 1, and the rules
# 3. The same as lifetimes, in two formulas
# 4. arc-eager and arc-swift
# 5. How much is left to see
# 6. What the mask hides
# 7. Your sentence; exercises

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
import seaborn
from IPython.display import Markdown

from dtglib.data import corpora, treebank, vocabulary
from dtglib.parsing.parser import load_parser
from dtglib.parsing.projective import best_trees
from dtglib.pictures import plot
from dtglib.sequences import batches, describe, readings, structure

words, heads = ["There", "is", "a", "difference"], (2, 0, 4, 2)
READINGS = {name: readings.on_a_stack(name) for name in ("arc-standard", "arc-eager", "arc-swift")}


# %%
def seen_by_one(sentences):
    """For each sentence, how many positions one position sees on average: in each system, and in a causal mask."""
    pairs = [(s.words, s.heads) for s in sentences]
    entries = vocabulary.Vocabulary.of_words([s.words for s in sentences])
    rows = []
    for name, reading in READINGS.items():
        sequences = reading.compile(entries, pairs)
        for number, (words_read, _) in enumerate(pairs):
            (visible,) = structure.dense(structure.vectors_of(batches.pad(sequences, [number]))).visible
            rows.append((name, len(words_read), int(visible.sum()) / len(visible), (len(visible) + 1) / 2))
    return pd.DataFrame(rows, columns=["system", "words", "seen", "causal"])


minilang = seen_by_one(corpora.load("minilang", "train", 600).sentences)
long = minilang[minilang["words"] >= 15].groupby("system")[["seen", "causal"]].mean()
Markdown(
    f"**In short:** a position that predicts sees the words on the stack, which have absorbed all others; a position "
    f"that composes sees the two words that an arc joins. In minilang's sentences of 15 words and more, a position of "
    f"arc-standard sees {long['seen']['arc-standard']:.1f} positions on average, where a causal mask over the same "
    f"sequence, with its arcs doubled, shows {long['causal']['arc-standard']:.0f}. What has been absorbed, such as a "
    f"determiner behind its noun, can be reached only through what absorbed it."
)

# %% [markdown]
# ## 1. A sentence, and why arcs are read twice
#
# The masks of the paper's Figure 2, computed from the rules. A row looks, a column is
# seen; the number is the relative position. A STACK position (blue) predicts the next transition; a COMPOSE position
# (orange) joins two words.


# %%
def draw(seen, title, until=None):
    """The mask, coloured by kind, with the relative positions in the cells."""
    return plot.draw_mask(seen._replace(pairs={"relative position": seen.relpos}), title, until)


standard = describe.show("arc-standard", words, heads)
plot.save(draw(standard, "There is a difference, in arc-standard"), "02_figure2_arc_standard")

# %% [markdown]
# *LEFTARC + is* (3) sees *There* and *is*. Their columns end there, and 3 stands for *is* from now on. Its second copy,
# *LEFTARC2 + is* (4), has the same input, but sees ROOT, 3 and itself, and predicts *a*.
#
# **Why one position cannot do both.** A position has one row of the mask and becomes one vector. To compose, it must
# see head and dependent and nothing else, because its vector is the phrase from then on. To predict, it must see the
# whole stack, which would flow into that vector. So an arc is read twice: the first copy composes and is pushed, but
# predicts nothing; the second sees the stack and predicts, but is not pushed, so no other position sees it.
#
# ## 2. Algorithm 1, and the rules
#
# **Visibility.** A STACK position sees what is on the stack, and itself. A word is pushed before it looks. A COMPOSE
# position pops the two topmost words, sees them and itself, and is pushed in their place.
#
# **Relative position.** For a STACK position: how many words of the stack stand above the one that is seen. So the
# topmost is at 0. For a COMPOSE position: the head is at 0, the dependent at -1. Each position sees itself at 0.
#
# The paper's Algorithm 1 as a loop, with a line for the relative positions:


# %%
def algorithm_1(inputs):
    """Visibility A and relative positions R of a doubled sequence in arc-standard (0 where nothing is visible)."""
    A, R, S = np.eye(len(inputs), dtype=bool), np.zeros((len(inputs), len(inputs)), int), []
    for i, name in enumerate(inputs):
        if name.startswith(("LEFTARC + ", "RIGHTARC + ")):  # COMPOSE
            upper, lower = S.pop(), S.pop()
            A[i, [upper, lower]] = True
            R[i, lower if name.startswith("LEFT") else upper] = -1  # the dependent
            S.append(i)  # stands for the head
        else:  # STACK
            if not name.startswith(("LEFTARC2 + ", "RIGHTARC2 + ")):
                S.append(i)
            A[i, S] = True
            R[i, S] = np.arange(len(S))[::-1]
    return A, R


def same(seen, A, R):
    """Whether a mask and its relative positions are the package's."""
    return np.array_equal(A, seen.visible) and np.array_equal(R * A, seen.relpos * seen.visible)


A, R = algorithm_1(standard.inputs)
assert same(standard, A, R)

# %% [markdown]
# Algorithm 1 lets words see themselves, but not the two copies of an arc. Here all do (`np.eye`), as in the authors'
# program. Section 3.2 counts 0, -1, -2 downwards, so its -1 is the second word of the stack *and* a dependent; the
# program, and we, count 0, 1, 2. ([Notebook 06](06_ablations.ipynb) measures both.)
#
# **How a relative position enters attention.** A softmax over the visible $j$ turns these scores into weights:
#
# $$s_{ij} = \big((q_i + u) \cdot k_j + (q_i + w) \cdot r_{n}\big) / \sqrt{D}, \qquad n = \mathrm{relpos}(i, j)$$
#
# $r_n$ is a projected sinusoid of the number $n$; $u$ and $w$ are learned. The first product asks what $j$ is, the
# second only where it stands. [Notebook 03](03_training.ipynb) computes it.
#
# ## 3. The same as lifetimes, in two formulas
#
# On a stack, a position comes once and goes once. So nine integers per position say everything:
#
# | column | meaning |
# |---|---|
# | `kind` | STACK or COMPOSE |
# | `last` | the last position that sees it: there it is popped |
# | `height` | how many words stand below it on the stack; the pieces of a word share it |
# | `level` | `top` minus it is the relative position; here the height |
# | `settled` | from where on it stands at that height (a word may wait in a buffer) |
# | `top` | the height of the topmost word (that in the buffer, if any) when it looks |
# | `floor` | the lowest height that it looks down to: 0, or for COMPOSE the lower word's |
# | `head_first`, `head_last` | COMPOSE: the head's first and last piece |

# %%
# NBVAL_CHECK_OUTPUT
COLUMNS = ["last", "height", "level", "settled", "top", "floor", "head_first", "head_last"]
of_sentence = {name: getattr(standard.vectors, name) for name in COLUMNS}
pd.DataFrame({"input": standard.inputs, "kind": standard.kinds} | of_sentence)


# %%
def from_lifetimes(v):
    """Visibility and relative positions by the two formulas."""
    i, j = np.arange(v.length)[:, None], np.arange(v.length)
    at_i = v._replace(
        **{name: getattr(v, name)[:, None] for name in ("kind", "top", "floor", "head_first", "head_last")}
    )
    head = (at_i.head_first <= j) & (j <= at_i.head_last)
    on_stack = np.where(i < v.settled, 0, at_i.top - v.level)
    visible = (j <= i) & (i <= v.last) & ((v.height >= at_i.floor) | (j == i))
    relpos = np.where(j == i, 0, np.where(at_i.kind == describe.STACK, on_stack, np.where(head, 0, -1)))
    return visible, relpos


assert same(standard, *from_lifetimes(standard.vectors))
assert [np.flatnonzero(A[:, j]).max() for j in range(len(A))] == standard.vectors.last.tolist()
for sentence in corpora.load("minilang", "train", 100).sentences:
    seen, hybrid = (describe.show(name, sentence.words, sentence.heads) for name in ("arc-standard", "arc-hybrid"))
    assert same(seen, *algorithm_1(seen.inputs)) and same(seen, *from_lifetimes(seen.vectors))
    assert hybrid.inputs == seen.inputs and same(hybrid, *algorithm_1(seen.inputs))

# %% [markdown]
# The loop, the formulas and the package agree in 100 sentences, and arc-hybrid has the inputs and
# masks of arc-standard, as the paper says.

# %%
# NBVAL_CHECK_OUTPUT
T = describe.show("arc-standard", ["word"] * 25, range(25)).vectors.length
columns = structure.Vectors._fields
print(f"25 words, {T} positions: {len(columns)} columns of 4 bytes take {4 * len(columns) * T} bytes,")
print(f"mask and relative positions, a byte per cell, {2 * T * T}")

# %% [markdown]
# **Words in several pieces** are one word: same height, same end, no arc between them. The input of *LEFTARC +
# difference/2* is the embedding of the arc plus that of the head's *last* piece.

# %%
# NBVAL_CHECK_OUTPUT
pieces = describe.show("arc-standard", words, heads, [1, 1, 1, 2])
pd.DataFrame(describe.as_rows(pieces)).set_index("i").loc[5:9]

# %% [markdown]
# ## 4. arc-eager and arc-swift
#
# Here a right dependent stays on the stack after its arc, above its head, because it may still take dependents. In
# arc-eager a POP takes it away. In arc-swift an arc may reach further down: RIGHTARC[2] joins the full stop to *is*
# across *difference*, sees all three words (we put *difference* at -1, too), and *difference* goes.

# %%
longer, longer_heads = [*words, "."], (*heads, 2)
eager, swift = (describe.show(name, longer, longer_heads) for name in ("arc-eager", "arc-swift"))
assert same(eager, *from_lifetimes(eager.vectors)) and same(swift, *from_lifetimes(swift.vectors))
numbered = {
    name: seen._replace(pairs={"relative position": seen.relpos})
    for name, seen in {"arc-eager": eager, "arc-swift": swift}.items()
}
plot.save(plot.draw_masks(numbered), "02_figures_4_and_5")

# %% [markdown]
# In arc-eager, *RIGHTARC + is* (11) stands in its head's place, *below* its dependent *difference* (9): in row 12, 9 is
# at 0, 11 at 1 and ROOT (5) at 2. A POP (the paper's POPSTACK) takes the top away, then looks; no later position sees
# it. Dependents of RIGHTARC in arc-swift are in doubt: "we mask all these k+1 tokens" (section 3.4) would hide 3 from
# row 6, 9 from row 12 and 13 from row 15 on. By Table 1 they stay on the stack; here they are seen.
#
# ## 5. How much is left to see
#
# What is seen grows slowly with the number of words, because only words that wait for dependents or for a head stay on
# the stack. Dashed, where at hand, is the English Web Treebank.

# %%
tables = {"minilang": minilang}
if "UD_English-EWT" in corpora.ud_treebanks():
    tables["UD_English-EWT"] = seen_by_one(
        treebank.trees_only(corpora.load("UD_English-EWT", "train", 700)).sentences[:600]
    )
seen = pd.concat(tables, names=["corpus", ""]).reset_index("corpus")
seen = seen[seen["words"] <= 50].assign(words=lambda rows: rows["words"] // 3 * 3 + 1)  # three lengths together
seen = seen.groupby(["corpus", "system", "words"]).filter(lambda sentences: len(sentences) >= 10)
picture, axes = plot.single(7, 3.6)
seaborn.lineplot(seen, x="words", y="seen", hue="system", style="corpus", errorbar=None, palette="colorblind", ax=axes)
lengths = np.arange(1, 51)
axes.plot(lengths, (3 * lengths + 2) / 2, ":", color=plot.GREY, label="causal mask (arc-standard)")
axes.set(xlabel="words in a sentence", ylabel="positions seen by one, on average")
plot.make_logarithmic(axes, "y")
axes.set_yticks([2, 5, 10, 20, 50])
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
plot.save(picture, "02_seen")

# %% [markdown]
# ## 6. What the mask hides
#
# *No actor arrived at at most six lakes* is bad, because *at most* does not go with *No* ([Appendix
# C](https://arxiv.org/html/2407.17406v1#A3)). The model must still know *No* when it predicts the second *at*. Below is
# arc-standard up to the position that predicts the second *at*, the last row.

# %%
lakes, lakes_heads = ["No", "actor", "arrived", "at", "at", "most", "six", "lakes"], (2, 3, 0, 8, 6, 7, 8, 3)
seen = {
    name: describe.show(name, lakes, lakes_heads) for name in ("arc-standard", "arc-hybrid", "arc-eager", "arc-swift")
}
at = {name: of.vectors.word.tolist().index(4) for name, of in seen.items()}  # at, the fourth word
plot.save(draw(seen["arc-standard"], "No actor arrived at", at["arc-standard"] + 1), "02_lakes_arc_standard")

# %% [markdown]
# *No* (1) was seen for the last time by *LEFTARC + actor* (3), which absorbed it, and 3 by *LEFTARC + arrived* (6).
# Hidden does not mean unreachable: what 3 computes from *No* in the first layer, 6 reads in the second, and the last
# row in the third.


# %%
# NBVAL_CHECK_OUTPUT
def layers_until(of, word):
    """For each position, in how many layers the word arrives: one more than at the best position that it sees."""
    needed = np.full(len(of.inputs), np.inf)
    for i in range(len(needed)):
        before = np.flatnonzero(of.visible[i, :i])
        needed[i] = 0 if of.vectors.word[i] == word else needed[before].min(initial=np.inf) + 1
    return needed


for name, of in seen.items():
    sees = ", ".join(of.inputs[j] for j in np.flatnonzero(of.visible[at[name]]))
    print(f"{name:12} sees {sees}; layers until No arrives: {layers_until(of, 1)[at[name]]:.0f}")

# %% [markdown]
# ## 7. Your sentence
#
# Change the words (with blanks between tokens) or the system. The released parser gives the tree.

# %%
yours = "She saw the car ."


def draw_yours(text, system):
    """The mask of a sentence with the parser's best tree."""
    (arc_scores,) = load_parser("parser-ud").arc_scores([text.split()])
    (tree,) = best_trees(arc_scores, 1).heads
    return draw(describe.show(system, text.split(), tree.tolist()), f"{text} ({system})")


plot.with_field(draw_yours, yours, system=["arc-eager", "arc-swift", "arc-standard", "arc-hybrid"])

# %% [markdown]
# ### Exercises
#
# 1. Write down the doubled sequence of *The keys are here* (heads 2, 3, 0, 3) in arc-standard. Which position predicts
#    *are*, what does it see, and at which relative positions?
# 2. Which trees make the stack deep? Compare the chains `(2, 3, 4, 5, 0)` and `(0, 1, 2, 3, 4)`.
#
# <details><summary>Answers</summary>
#
# 1. ROOT, *The*, *keys*, LEFTARC + keys, LEFTARC2 + keys, *are*, ... Position 4 predicts *are*; it sees ROOT at 1,
#    position 3 (*keys* with *The*) at 0, itself at 0.
# 2. Chains to the right: a word becomes a dependent only when it has all its own, so all wait.
#    `describe.show("arc-standard", list("abcde"), (0, 1, 2, 3, 4)).visible.sum(1).max()` is 6; of the other chain it is
#    3.
#
# </details>
#
# ## Doubts
#
# The masks are computed from the rules, and were not compared with the paper's pictures. [Notebook
# 05](05_syntactic_evaluation.ipynb) measures what the mask costs or gains a model.
