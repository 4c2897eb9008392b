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
# # How does a tree become a sequence?
#
# The paper, sections [2](https://arxiv.org/html/2407.17406v1#S2) (transition systems, Table 1) and
# [3.4](https://arxiv.org/html/2407.17406v1#S3.SS4) · before: [the data](00_data.ipynb) · after: [the
# masks](02_masks.ipynb)
#
# A Dependency Transformer Grammar does not read trees. It reads the **transitions** that write a sentence and its tree
# at once, from left to right, on a stack. The paper names four systems of transitions and tries three of them, because
# the fourth, arc-hybrid, writes what arc-standard writes. Which transitions do they write, for which trees, and how
# many?
#
# 1. The oracle of arc-standard, as rules
# 2. Three more systems
# 3. Your sentence
# 4. Which trees can be written
# 5. How long the sequences are
# 6. Exercises

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

from dtglib.data import corpora, streamed, treebank, vocabulary
from dtglib.parsing.parser import load_parser
from dtglib.parsing.projective import best_trees
from dtglib.pictures import plot
from dtglib.runs import prepare, settings
from dtglib.sequences.compile import Arcs, compile_trees
from dtglib.transitions import START, SYSTEMS, Kind, legal, oracle, replay, take
from dtglib.transitions.protocol import OPEN, why_no_tree

pd.set_option("display.max_colwidth", None)
of_size = settings.read_size(size).corpus
corpus = of_size.corpus
some = settings.read_size(size, train_sentences=min(of_size.train_sentences or 20_000, 20_000))
at_hand = {corpus: streamed.in_memory(prepare.read_corpus(some).train)}
at_hand |= {name: corpora.load(name, "train", 2000) for name in corpora.UD_ENGLISH if name in corpora.ud_treebanks()}
trees = {name: treebank.trees_only(bank) for name, bank in at_hand.items()}


# %%
def compiled(sentences):
    """The sequences of some sentences in every system, a piece per word; arcs are doubled."""
    pairs = [(s.words, s.heads) for s in sentences]
    entries = vocabulary.Vocabulary.of_words([s.words for s in sentences])
    return {name: compile_trees(SYSTEMS[name], entries, pairs) for name in SYSTEMS}


first = {name: bank.sentences[:2000] for name, bank in trees.items()}
sequences = {name: compiled(sentences) for name, sentences in first.items()}
per_word = {
    name: {system: of[system].starts[-1] / sum(len(s.words) for s in first[name]) for system in SYSTEMS}
    for name, of in sequences.items()
}
Markdown(
    f"**In short:** an oracle reads the transitions off the tree. All four systems write the same trees, the "
    f"projective ones with one root. They differ in when an arc is drawn and in length: with its arcs read twice, a "
    f"sentence of {corpus} has {per_word[corpus]['arc-standard']:.2f} positions per word, in arc-eager "
    f"{per_word[corpus]['arc-eager']:.2f}."
)

# %% [markdown]
# ## 1. The oracle of arc-standard, as rules
#
# A word is generated onto the **stack** (GEN). LEFTARC and RIGHTARC join the two topmost words; the head is the right
# one or the left one, and stays; the dependent goes. So a word needs all its dependents before it becomes a dependent
# itself.
#
# A transition is **legal** if the stack allows it, whatever the tree. The paper (section 3.5) asks that an arc has two
# words on the stack, of which ROOT may be one. We add that ROOT is never a dependent, and has one dependent: GEN is
# legal before that arc, and END after it. Often several are legal. The **oracle** knows the tree, and chooses:
#
# 1. If the word below the topmost is a dependent of the topmost: LEFTARC. (The lower word has all its own
#    dependents already, because they stand before the topmost.)
# 2. Else, if the topmost is a dependent of the word below, and has all its own dependents: RIGHTARC.
# 3. Else, if a word is left: GEN.
# 4. Else: END.


# %%
# NBVAL_CHECK_OUTPUT
def arc_standard_oracle(heads):
    """The transitions that write a tree; heads has the head of word 1, of word 2 and so on, and 0 for ROOT."""
    head, missing = [None, *heads], [list(heads).count(word) for word in range(len(heads) + 1)]
    stack, generated, actions = [0], 0, []
    while len(stack) > 1 or generated < len(heads):
        upper, lower = stack[-1], stack[-2] if len(stack) > 1 else None
        if lower is not None and head[lower] == upper:
            actions, stack = [*actions, "LEFTARC"], [*stack[:-2], upper]
            missing[upper] -= 1
        elif lower is not None and head[upper] == lower and missing[upper] == 0:
            actions, stack = [*actions, "RIGHTARC"], stack[:-1]
            missing[lower] -= 1
        else:
            generated += 1
            actions, stack = [*actions, "GEN"], [*stack, generated]
    return [*actions, "END"]


words, heads = ["There", "is", "a", "difference"], (2, 0, 4, 2)
print(*arc_standard_oracle(heads))
for sentence in trees[corpus].sentences[:300]:
    assert arc_standard_oracle(sentence.heads) == [
        str(action) for action in oracle(SYSTEMS["arc-standard"], sentence.heads)
    ]

# %% [markdown]
# The loop agrees with the package's oracle in 300 trees. Here is the paper's Figure 1 with the stack after each step.

# %%
plot.draw_tree(treebank.Sentence(tuple(words), heads))


# %%
def show_steps(name, words, heads):
    """A row per transition: what it leaves on stack and buffer, the new arc, and what else was legal."""
    system, names, state, rows = SYSTEMS[name], ["ROOT", *words], START, []
    for action in oracle(system, heads):
        before, state = state, take(system, state, action)
        new = set(enumerate(state.heads, 1)) - set(enumerate(before.heads, 1))
        rows.append(
            {
                "transition": f"GEN({names[len(state.heads)]})" if action.kind is Kind.GEN else str(action),
                "stack": " ".join(names[word] for word in state.stack),
                "buffer": names[state.front] if state.front else "",
                "new arc": "".join(f"{names[head]} → {names[word]}" for word, head in new if head != OPEN),
                "also legal": ", ".join(str(other) for other in legal(system, before) if other != action),
            }
        )
    table = pd.DataFrame(rows)
    as_text = table.apply(lambda column: column.str.ljust(column.str.len().max())).to_string(justify="left")
    as_html = table.style.set_uuid(name).set_properties(**{"text-align": "left"}).to_html()
    display({"text/plain": as_text, "text/html": as_html}, raw=True)


show_steps("arc-standard", words, heads)

# %% [markdown]
# ## 2. Three more systems
#
# In all three, a new word waits in a **buffer** of one word. The next GEN first moves the waiting word onto the stack.
# (In the masks of the next notebook the waiting word counts as the topmost.) A LEFTARC makes the top of the stack a
# dependent of the word in the buffer.
#
# **arc-hybrid**: a RIGHTARC, too, moves a waiting word onto the stack; then it joins the two topmost words, as in
# arc-standard. (In the paper only GEN moves it; then no RIGHTARC could attach the last word.)
#
# **arc-eager**: a RIGHTARC joins the top of the stack to the word in the buffer, as soon as both are there. The
# dependent moves onto the stack and may still take dependents; it leaves by a POP, for which it needs a head.
#
# **arc-swift**: an arc may reach further down the stack. RIGHTARC[2] joins the word in the buffer to the second word of
# the stack; what lies above it goes, so nothing need be popped.
#
# In *There is a difference .* the full stop depends on *is*, across *difference*:

# %%
# NBVAL_CHECK_OUTPUT
longer, longer_heads = [*words, "."], (*heads, 2)
for name, system in SYSTEMS.items():
    print(f"{name:12}", *oracle(system, longer_heads))

# %%
show_steps("arc-eager", longer, longer_heads)

# %%
show_steps("arc-swift", longer, longer_heads)

# %% [markdown]
# In arc-eager and arc-swift ROOT's arc comes in row 3, long before *is* has all its dependents, and more words may
# follow; END is legal when each word has its head (in arc-eager, when all are popped). arc-eager pops
# *difference* and then draws the arc of the full stop; arc-swift does both by RIGHTARC[2]; arc-standard waits with *is*
# → *difference* only until *difference* is complete.
#
# ## 3. Your sentence
#
# Change the words (blanks between all tokens) or the system. The released parser of UD English gives the tree. In
# JupyterLab there is a field for the words, and a menu of the systems.

# %%
yours = "The keys to the cabinet are here ."


def draw_yours(text, system):
    """The best projective tree of the released parser, and the transitions that write it."""
    words = text.split()
    (arc_scores,) = load_parser("parser-ud").arc_scores([words])
    (tree,) = best_trees(arc_scores, 1).heads
    display(plot.draw_tree(treebank.Sentence(tuple(words), tuple(tree.tolist()))))
    show_steps(system, words, tuple(tree.tolist()))


plot.with_field(draw_yours, yours, system=["arc-standard", "arc-hybrid", "arc-eager", "arc-swift"])

# %% [markdown]
# ## 4. Which trees can be written
#
# A word on the stack waits until everything above it is done. So arcs must not cross: the tree has to be
# **projective**, and ROOT has one dependent. Each of the four systems writes *all* such trees (the tests try every tree
# of up to six words). What is not such a tree is named:

# %%
# NBVAL_CHECK_OUTPUT
print(why_no_tree((2, 0, 7, 5, 2, 7, 5, 2)))  # Mary knew what John thought Eva saw .
print(why_no_tree((2, 0, 0)))
print(why_no_tree((2, 1, 0)))

# %% [markdown]
# How many of a treebank's first 2,000 sentences have such a tree? (The rows of UD English appear where the data folder
# has them: `make data`.) The last column is a test: are 20 trees the same after they have been written as transitions,
# in each system, and read again?


# %%
def come_back(sentences):
    """Whether the trees are the same after they have been written and read again, in every system."""
    return all(replay(s, oracle(s, of.heads)) == tuple(of.heads) for s in SYSTEMS.values() for of in sentences)


rows = {
    name: {
        "sentences": len(bank.sentences),
        "can be written": len(trees[name].sentences),
        "%": round(100 * len(trees[name].sentences) / len(bank.sentences), 1),
        "come back": come_back(trees[name].sentences[:20]),
    }
    for name, bank in at_hand.items()
}
pd.DataFrame(rows).T

# %% [markdown]
# ## 5. How long the sequences are
#
# A model reads ROOT, the words, and each arc **twice** (section 3.1): the first copy composes head and dependent, the
# second predicts what comes next ([notebook 02](02_masks.ipynb) says why). So there are 3 · words + 1 positions,
# whatever the tree. In arc-eager the POPs come on top: one for each word to the right of its head, and one for ROOT; a
# POP is not doubled, because it composes nothing.

# %%
# NBVAL_CHECK_OUTPUT
n = np.array([len(s.words) for s in first[corpus]])
after = np.array([sum(head < word for word, head in enumerate(s.heads, 1)) for s in first[corpus]])
positions = {name: np.diff(of.starts) for name, of in sequences[corpus].items()}
for name in SYSTEMS:
    pops = after + 1 if name == "arc-eager" else 0
    print(f"{name:12} has the expected positions:", (positions[name] == 3 * n + 1 + pops).all())
standard, hybrid = (sequences[corpus][name].vectors for name in ("arc-standard", "arc-hybrid"))
print("arc-hybrid writes what arc-standard writes:", np.array_equal(standard.target, hybrid.target))

# %%
pd.DataFrame(per_word).T.round(2).rename_axis("positions per word")

# %%
eager = pd.Series(positions["arc-eager"]).groupby(n).mean()
x = eager.index
series = {
    "arc-eager (mean)": (x, eager),
    "arc-standard, arc-hybrid, arc-swift": (x, 3 * x + 1),
    "the same, arcs not doubled (TXL, trans)": (x, 2 * x + 1),
    "words alone (TXL, tokens)": (x, x + 1),
}
plot.draw_curves(series, "words in a sentence", "positions")

# %% [markdown]
# arc-swift says by the reach of an arc what arc-eager says by POP. Every reach is a transition of its own, which a
# model has to learn from examples. How many arcs reach further than to the topmost word of the stack?


# %%
def reaching(swift, furthest=8):
    """The percentage of arc-swift's arcs that reach at least k words down the stack, for k = 2, 3 and so on."""
    arcs, written = Arcs.of(vocabulary.Vocabulary.of_words([words])), swift.vectors.target
    counts = [np.isin(written, [*arcs.left[k:], *arcs.right[k:]]).sum() for k in range(1, furthest + 1)]
    return range(2, furthest + 1), 100 * np.array(counts[1:]) / counts[0]


curves = {name: reaching(of["arc-swift"]) for name, of in sequences.items()}
shares = pd.DataFrame({name: pd.Series(values, index=k) for name, (k, values) in curves.items()})
of_all = (
    f"; over all corpora of the picture {shares.loc[2].min():.0f} to {shares.loc[2].max():.0f} % and "
    f"{shares.loc[4].min():.0f} to {shares.loc[4].max():.0f} %"
)
display(
    Markdown(
        f"On {corpus} {shares.loc[2, corpus]:.0f} % of the arcs reach further, {shares.loc[4, corpus]:.0f} % four "
        f"words or more{of_all if len(curves) > 1 else ''}. So a model sees few examples of a long reach."
    )
)
plot.draw_curves(curves, "k", "% of arcs that reach k words or more")

# %% [markdown]
# ## 6. Exercises
#
# 1. Write down arc-standard's transitions for *The keys are here* (heads 2, 3, 0, 3), and the stack after each.
# 2. *She saw him* (heads 2, 0, 2): which other sequence of arc-standard writes the same tree? Why does arc-hybrid
#    have no other one?
#
# <details><summary>Answers</summary>
#
# 1. GEN GEN LEFTARC GEN LEFTARC GEN RIGHTARC RIGHTARC END; `show_steps("arc-standard", "The keys are here".split(), (2,
#    3, 0, 3))` shows the stacks.
# 2. GEN GEN GEN RIGHTARC LEFTARC RIGHTARC END: *saw* takes *him* first. In arc-hybrid a word takes its left dependents
#    while it waits in the buffer, and its right ones later on the stack. The column *also legal* shows the choice.
#
# </details>
#
# ## What we found, and doubts
#
# The systems agree on what can be written, and disagree on *when* an arc is drawn: arc-standard and arc-hybrid connect
# a right dependent when it is complete, arc-eager and arc-swift at once. The time of an arc decides what a model
# *sees*, which is the next notebook's question. In arc-standard and arc-eager several sequences can write one tree; the
# oracle picks one by the paper's order of preference: arcs, then GEN, then POP (section 2). That the fifth word of the
# paper's Figure 5 is a full stop is our reconstruction.
