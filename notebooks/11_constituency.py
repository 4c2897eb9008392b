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
# # Brackets or arcs: which trees help a language model?
#
# [The paper of DTG, section 4.2 and Table 2](https://arxiv.org/html/2407.17406v1#S4.SS2) · before: [the same sentence
# as brackets and as arcs](10_brackets.ipynb) · after: [all tables](90_tables.ipynb)
#
# The paper compares DTG with models of constituents, and finds that dependencies help more. Here all of them have the
# same body, sentences and training (Pushdown-TXL has 0.6 million parameters more, for attachments). **PLM** (after
# [Qian et al. 2021](https://aclanthology.org/2021.acl-long.289/)) and **TXL (trees)** (after [Choe and Charniak
# 2016](https://aclanthology.org/D16-1257/)) write brackets and see everything before; only PLM's closing brackets have
# no labels. **TG** ([Sartran et al. 2022](https://aclanthology.org/2022.tacl-1.81/)) composes what a bracket closes,
# and hides it. **Pushdown-TXL** (after [Murty et al. 2023](https://aclanthology.org/2023.emnlp-main.195/)) writes words
# alone, and adds to attention how deep each word stands in the tree so far. TXL (tokens) has no trees; TXL (trans)
# writes arcs, and hides nothing.
#
# 1. How far is the subject from its verb?
# 2. A test of the cause: the same model, another mask
# 3. Test suites and minimal pairs
# 4. Perplexity, and whether 300 trees are enough
# 5. Real text
# 6. This run; your sentence; an exercise; doubts
#
# Results are recorded ([brackets](../results/2026-11-24-mini-brackets), [arcs](../results/2026-11-21-mini)): in
# sections 1 to 4 on minilang (20,000 sentences, a million parameters, three seeds), with 95 % intervals by a bootstrap
# that draws seeds and suites anew.

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
import seaborn
from IPython.display import Markdown, display

from dtglib.decode import beam
from dtglib.evaluate import intervals, likelihood, measures, orders, suites, surprisal
from dtglib.families.base import family_of, load_model, titles
from dtglib.pictures import plot
from dtglib.runs import prepare, settings, syntax_scores, tables
from dtglib.sequences import describe, structure
from dtgpapers.constituency import bracketing, reach
from dtgpapers.pushdown.tape import tapes

pd.set_option("display.width", 160, "display.max_colwidth", None)
GROUPS = {
    "words": ("TXL (tokens)", "Pushdown-TXL"),
    "brackets": ("PLM", "TXL (trees)", "TG"),
    "arcs": ("TXL (trans)", "DTG", "DTG-eager", "DTG-swift"),
}
NAMES = [name for group in GROUPS.values() for name in group]
WITH_GRAPHS = [*NAMES, "GiLT"]  # on real text


# %%
# NBVAL_CHECK_OUTPUT
SUITES, PAIRS = ("suites", "score", ["circuit", "suite"]), ("pairs", "accuracy", ["paradigm"])
scores, pairs = (100 * tables.by_seed(*what) for what in (SUITES, PAIRS))
lead, over_dtg = (scores.loc["TG"] - scores.loc[name] for name in ("TXL (trees)", "DTG"))
values = tables.measured_values().query("size == 'mini' and corpus == 'minilang'")
of_orders = orders.differences(values, [(measures.MODELS, "SG", "TG", name) for name in ("TXL (trees)", "DTG")])
reflexives = scores.loc["TG", "Licensing"].filter(like="reflexive")
learned = reflexives.mean(axis=1) > 50
agreement = {name: f"{intervals.over_suites(scores.loc[name][['Agreement']]):.0f}" for name in NAMES}
on_gum = 100 * tables.by_seed(*SUITES, "gum-constituents", "gum")
on_books = 100 * tables.by_seed(*SUITES, "books-and-ud", "books-small")
Markdown(
    f"**In short:** TG is right in {intervals.over_suites(scores.loc['TG']):.0f} % of the items of the test suites "
    "(mean over circuits), TXL (trees), which reads the same brackets and hides nothing, in "
    f"{intervals.over_suites(scores.loc['TXL (trees)']):.0f}, DTG in {intervals.over_suites(scores.loc['DTG']):.0f}. "
    f"TG's lead over TXL (trees) is {intervals.over_suites(lead):.1f?}, most of it agreement. To compose and hide is "
    f"not enough for agreement: DTG-eager and DTG-swift do it, and have {agreement['DTG-eager']} and "
    f"{agreement['DTG-swift']} %, where TG and DTG have {agreement['TG']} and {agreement['DTG']}. Agreement goes with "
    "how much nearer the subject is than the noun that misleads. The paper has DTG ahead of TG; on minilang TG leads "
    f"by {intervals.over_suites(over_dtg):.1f?}, most of it licensing: reflexives are learned by {learned.sum()} of "
    f"its {len(learned)} seeds, and by no other model. A t test over the three seeds alone confirms neither lead (p = "
    f"{of_orders['p'][0]:.2f} and {of_orders['p'][1]:.2f}). TG less DTG is, on real text (GUM), "
    f"{intervals.over_suites(on_gum.loc['TG'] - on_gum.loc['DTG']):.1f?}, on books (one seed) "
    f"{intervals.over_suites(on_books.loc['TG'] - on_books.loc['DTG']):.1f?}; there DTG leads PLM by "
    f"{intervals.over_suites(on_books.loc['DTG'] - on_books.loc['PLM']):.1f?}, Pushdown-TXL by "
    f"{intervals.over_suites(on_books.loc['DTG'] - on_books.loc['Pushdown-TXL']):.1f?}."
)

# %% [markdown]
# ## 1. How far is the subject from its verb?
#
# *The judge that praised the heroes ...* (suite *number_src*; in *number_orc* it is *that the heroes praised*, in
# *number_prep* *near the heroes*) must go on with *is*. In each layer a position reads what it sees, so a word is some
# layers away from the position that predicts the verb: 0 if that position reads the word itself, 1 if it sees it, 2 if
# it sees what has composed it, and so on ([notebook 10](10_brackets.ipynb) counts them). A model of four layers cannot
# depend on a word that is farther away, whatever its weights are.

# %%
EXAMPLES = {
    "number_src": (
        "The judge that praised the heroes is strange .",
        "(S (NP The judge (SBAR (WHNP that) (S (VP praised (NP the heroes))))) (VP is (ADJP strange)) .)",
        [2, 8, 4, 2, 6, 4, 8, 0, 8],
    ),
    "number_orc": (
        "The judge that the heroes praised is strange .",
        "(S (NP The judge (SBAR (WHNP that) (S (NP the heroes) (VP praised)))) (VP is (ADJP strange)) .)",
        [2, 8, 6, 5, 6, 2, 8, 0, 8],
    ),
    "number_prep": (
        "The judge near the heroes is strange .",
        "(S (NP The judge (PP near (NP the heroes))) (VP is (ADJP strange)) .)",
        [2, 7, 5, 5, 2, 7, 0, 7],
    ),
}
SYSTEMS = {"DTG-eager": "arc-eager", "DTG-swift": "arc-swift"}


def layers(name, target, text, tree, heads):
    """How many layers away each word is when a model predicts the target."""
    before = np.arange(1, text.split().index(target) + 1)
    if name in GROUPS["words"]:
        return np.where(before == before[-1], 0, 1)  # every word is seen, and the last one is read
    if name in GROUPS["brackets"]:
        (columns, at), read = reach.when_predicted(target, tree), reach.generated
    else:
        seen = describe.show(SYSTEMS.get(name, "arc-standard"), text.split(), heads)
        columns, at, read = seen.vectors, seen.targets.index(target), reach.with_heads
    if name in ("PLM", "TXL (trees)", "TXL (trans)"):  # everything is seen, and arcs are read without their heads
        return np.where(before == reach.generated(columns)[at], 0, 1)
    return reach.layers_needed(columns, read)[at, : len(before)]


# %%
right = scores["Agreement"].groupby("model").mean()
rows, best = [], scores["Agreement"].groupby("model").max()
for suite, example in EXAMPLES.items():
    words = example[0].split()
    for kind, names in GROUPS.items():
        for name in names:
            away = layers(name, "is", *example)
            nearer = away[words.index("heroes")] - away[words.index("judge")]
            about = {"suite": suite, "trees": kind, "model": name, "nearer": nearer, "best seed": best[suite][name]}
            rows.append(about | {"right": right[suite][name]})
distances = pd.DataFrame(rows)
apart = distances.assign(x=distances["nearer"] + 0.09 * (distances["model"].map(NAMES.index) - 4))  # none hides another
picture = plot.Picture(figsize=(11.5, 3.6))
grid, dots = picture.subplots(1, 2, width_ratios=[1.25, 1], gridspec_kw={"wspace": 0.3})
of_words = EXAMPLES["number_src"][0].split()[:6]
away = pd.DataFrame([layers(name, "is", *EXAMPLES["number_src"]) for name in NAMES], columns=of_words)
away.index = [f"{name}: {right['number_src'][name]:.0f} %" for name in NAMES]
seaborn.heatmap(
    away, ax=grid, annot=True, cmap="Blues_r", vmin=0, vmax=7, linewidths=2, cbar_kws={"label": "layers to the word"}
)
grid.set_title("number_src: % right; layers to each word before the verb", fontsize=10)
grid.tick_params(length=0)
seaborn.scatterplot(apart, x="x", y="right", hue="trees", style="suite", palette="colorblind", ax=dots, s=36)
dots.set(xlabel="layers by which the subject is nearer than the other noun", ylabel="right, %", ylim=(-4, 104))
dots.legend(frameon=False, fontsize=8, loc="lower right")
dots.set_title("a dot per model and suite (mean of seeds), moved sideways by up to 0.4", fontsize=10)
plot.save(picture, "11_distance")

# %%
# NBVAL_CHECK_OUTPUT
by_distance = distances.groupby("nearer")
NAMED = {
    "count": "models and suites",
    "min": "lowest mean, %",
    "max": "highest mean, %",
    "best seed": "highest seed, %",
}
of_distance = by_distance["right"].agg(["count", "min", "max"]).join(by_distance["best seed"].max())
of_distance.round(0).astype(int).rename(columns=NAMED).rename_axis("layers by which the subject is nearer")

# %% [markdown]
# Where the subject is not nearer, the highest mean is little above half (single seeds: the last column). Where it is
# nearer by two layers or more, all are nearly always right. DTG-eager and DTG-swift keep *heroes* on the stack in
# *number_src*, as near as *judge*.
#
# ## 2. A test of the cause
#
# We take two released models and change the mask alone, in all 24 items of *number_src*, with the tree given. In
# PLM no later position may see *heroes* any more. In TG the position that predicts the verb, `(VP`, sees *heroes* in
# addition to its stack; at the relative position of the subject, as if a sister of it (0), or of a level above (1).


# %%
NARROW = beam.Widths(30, 30, within=8.0)
models = {name: load_model(f"{folder}-minilang") for folder, name in titles().items() if name in ("PLM", "TG", "DTG")}
models |= {name: load_model(f"{folder}-minilang") for folder, name in titles().items() if name in GROUPS["words"]}


def margins(model, edit=None):
    """Surprisal of the wrong verb less that of the right one, for each item: after a singular, and a plural subject."""
    (suite,) = (each for each in suites.read_suites("minilang") if each.name == "number_src")
    conditions = ("match_sing", "mismatch_sing", "match_plural", "mismatch_plural")
    sentences = [sum(item.conditions[name], ()) for item in suite.items for name in conditions]
    (best,) = beam.search(model.stepper(), model.vocabulary, sentences[:1], NARROW)  # all have one tree
    rows, log_probs = likelihood.score_positions(model, [(words, best.tree.tolist()) for words in sentences], edit)
    of_verbs = log_probs[:, place_of(rows, 7) - 1]
    return surprisal.UNITS["bits"] * (of_verbs[0::2] - of_verbs[1::2]).reshape(-1, 2)


def place_of(rows, word):
    """The position that generates a word; the one before it predicts the word."""
    return rows.word[0].tolist().index(word)


# %%
def hidden(word):
    """An edit: no later position sees this word."""

    def edit(given, rows):
        visible, place = given.visible.clone(), place_of(rows, word)
        visible[:, place + 1 :, place] = False
        return given._replace(visible=visible)

    return edit


def in_sight(word, relpos):
    """An edit: the position that predicts the verb, word 7, sees this word, at a relative position."""

    def edit(given, rows):
        visible, distances, verb = given.visible.clone(), given.relpos.clone(), place_of(rows, 7) - 1
        visible[:, verb, place_of(rows, word)], distances[:, verb, place_of(rows, word)] = True, relpos
        return structure.Structure(visible, distances)

    return edit


AS_TRAINED = "as trained"
edits = {
    ("PLM", AS_TRAINED): None, ("PLM", "heroes hidden"): hidden(6), ("TG", AS_TRAINED): None,
    ("TG", "heroes hidden"): hidden(6), ("TG", "heroes a level above"): in_sight(6, 1),
    ("TG", "heroes beside the subject"): in_sight(6, 0),
}  # fmt: skip
bits = {key: margins(models[key[0]], edit) for key, edit in edits.items()}
assert np.allclose(bits["TG", AS_TRAINED], bits["TG", "heroes hidden"])  # six layers away, of four

# %%
edited = pd.concat(
    pd.DataFrame({"mask": ": ".join(key), "bits": both[:, number], "subject": subject})
    for key, both in bits.items()
    for number, subject in enumerate(("singular", "plural"))
)
picture, axes = plot.single(7, 2.6)
seaborn.pointplot(
    edited, x="bits", y="mask", hue="subject", linestyle="none", dodge=0.2, palette=[plot.BLUE, plot.ORANGE], ax=axes
)
axes.axvline(0, color=plot.GREY, linewidth=1)
axes.set(xlabel="surprisal of the wrong verb − right verb, bits (mean, 95 % interval over items)", ylabel="")
right_items = {key: 100 * (value > 0).all(axis=1).mean() for key, value in bits.items()}
picture

# %%
Markdown(
    f"Without *heroes*, PLM goes from {right_items['PLM', AS_TRAINED]:.0f} to "
    f"{right_items['PLM', 'heroes hidden']:.0f} % of the items: it knows the rule, and is misled. In TG hiding the "
    f"word changes nothing, because it is six layers away, and the model has four. Put beside the subject, it takes "
    f"TG from {bits['TG', AS_TRAINED].mean():.1f} to {bits['TG', 'heroes beside the subject'].mean():.1f} bits "
    f"({right_items['TG', 'heroes beside the subject']:.0f} % of the items; after a singular subject to "
    f"{bits['TG', 'heroes beside the subject'][:, 0].mean():.1f}, after a plural one to "
    f"{bits['TG', 'heroes beside the subject'][:, 1].mean():.1f}), a level above to "
    f"{bits['TG', 'heroes a level above'].mean():.1f} ({right_items['TG', 'heroes a level above']:.0f} %). So what is "
    f"in sight is a cause, and so is the place where it seems to stand. (One seed; masks that are new to the models.)"
)

# %% [markdown]
# **What Pushdown-TXL sees there.** It hides nothing, and adds to each score an embedding of the word's depth on
# a *tape*. A new word that is attached *k* constituents back is merged with the nearest of them, then the result with
# the next one; each merge adds 1 to the depths of all that it joins.


# %%
def tape_of(merges):
    """The depths of all words when the last one has been read, given with how many constituents each is merged."""
    constituents = []
    for count in merges:
        whole = [0]
        for _ in range(count):
            whole = [depth + 1 for depth in constituents.pop() + whole]
        constituents.append(whole)
    return np.concatenate(constituents).tolist()


merges, attachments = [0, 0, 0, 0, 0, 5], [1, 2, 3, 4, 5, 1]  # "heroes" ends five constituents of two parts
assert tapes(attachments)[-1] == tape_of(merges)
dict(zip(of_words, tape_of(merges), strict=True))

# %% [markdown]
# When *is* is predicted, *judge* stands at depth 2 and *heroes* at 5, both in sight: a hint that the model could learn
# from, but no wall.
#
# ## 3. Test suites and minimal pairs
#
# Circuits, then differences. *Detectable* is the smallest difference that such a comparison would show to be
# significant in 80 % of repetitions (2.8 standard errors of the bootstrap).


# %%
palette = seaborn.color_palette("colorblind")
COLOURS = {name: palette[number] for name, number in zip(NAMES, (0, 9, 1, 3, 2, 6, 4, 7, 5), strict=True)}


def draw_circuits(axes, names, title):
    """A bar per circuit and model, with its interval."""
    topics = sorted(set(scores.columns.get_level_values(0)))
    for number, name in enumerate(names):
        of = pd.DataFrame([intervals.over_suites(scores.loc[name][[topic]]) for topic in topics])
        error = [(of["mean"] - of["low"]).clip(0), (of["high"] - of["mean"]).clip(0)]
        place, colour = np.arange(len(topics)) + 0.16 * number, COLOURS[name]
        axes.barh(place, of["mean"], 0.16, xerr=error, label=name, color=colour, error_kw={"elinewidth": 1})
    axes.set(yticks=np.arange(len(topics)) + 0.3, yticklabels=topics, xlim=(0, 103), title=title, xlabel="right, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)


picture = plot.Picture(figsize=(11, 5))
panels = picture.subplots(1, 2, sharey=True)
draw_circuits(panels[0], [*GROUPS["words"], "PLM", "TXL (trees)", "TXL (trans)"], "everything is seen")
draw_circuits(panels[1], GROUPS["brackets"][-1:] + GROUPS["arcs"][1:], "what is composed is hidden")
panels[0].invert_yaxis()  # which the two share
picture

# %%
# NBVAL_CHECK_OUTPUT
COMPARED = [("TG", "TXL (trees)"), ("TG", "DTG"), ("DTG", "TXL (trans)"), ("TXL (trees)", "PLM")]
rows = {}
for first, second in COMPARED:
    difference = scores.loc[first] - scores.loc[second]
    topics = sorted(set(difference.columns.get_level_values(0)))
    rows[f"{first} - {second}"] = {topic: f"{intervals.over_suites(difference[[topic]]):.0f?}" for topic in topics}
pd.DataFrame(rows)

# %% [markdown]
# Licensing is most of TG's lead over DTG. To see the subject is not enough for reflexives: models that see everything
# fail, too, and one seed of TG has learned them. By suite, means over seeds, then TG's seeds:

# %%
# NBVAL_CHECK_OUTPUT
licensing = scores["Licensing"].groupby("model").mean().loc[["TXL (tokens)", "TXL (trees)", "TG", "DTG", "DTG-eager"]]
of_tg = scores["Licensing"].loc["TG"].rename(index="TG, seed {}".format)
pd.concat([licensing, of_tg]).T.round(0).astype(int)

# %% [markdown]
# The bootstrap asks about other seeds and suites, a t test about other seeds on these suites. Differences, and the
# paper's where its Table 2 has them. (It quotes PLM, Pushdown (other tokenisers) and TG's suites.)
# Pairs are a mean over paradigms.

# %% tags=["table"]
# NBVAL_CHECK_OUTPUT
theirs = tables.paper("table2").pivot(index="system", columns="metric", values="value")
theirs = theirs.rename(index={"Pushdown": "Pushdown-TXL"}, columns={"SG/score": "suites", "BLiMP/acc": "pairs"})
rows = []
for what, table in (("suites", scores), ("pairs", pairs)):
    for first, second in [*COMPARED, ("TG", "TXL (tokens)"), ("PLM", "TXL (tokens)"), ("Pushdown-TXL", "TXL (tokens)")]:
        difference = table.loc[first] - table.loc[second]
        of = intervals.over_suites(difference)
        in_paper = theirs[what].get(first, np.nan) - theirs[what].get(second, np.nan)
        in_paper = "" if np.isnan(in_paper) else f"{in_paper:.1f}"
        about = {"points": what, "difference": f"{first} - {second}", "paper": in_paper, "here": f"{of:.1f?}"}
        rows.append(about | {"detectable": 2.8 * (of.high - of.low) / 3.92})
pd.DataFrame(rows).set_index(["points", "difference"]).round(1)

# %% [markdown]
# In minimal pairs none of these is significant. In the suites the paper's lead of DTG over TG is far below what could
# be detected here.
#
# ## 4. Perplexity
#
# Perplexities of models with trees are upper bounds: over 300 trees of a parser, or over what a beam of 100 holds. The
# paper finds DTG's bound below TG's (14.9 and 18.4), and leaves open whether dependencies predict better or 300 trees
# are too few for constituents (section 4.2). So we look at both bounds. Their difference is the least that 300 trees
# lack; DTG was not searched, but its lack (of the 300 best trees) was estimated on 28 sentences. (Empty: not measured.)


# %%
# NBVAL_CHECK_OUTPUT
def bounds(size):
    """Both bounds, in nats per word (ends included): a row per model and seed."""
    parts = {"perplexity": "300 trees", "perplexity by beam": "beam"}
    lines = tables.newest_lines(None, lambda line: line["part"] in parts and line.get("parser") != "weak")
    lines = lines[lines["size"].eq(size) & lines["corpus"].isin(["minilang", "gum-constituents", "books-and-ud"])]
    lines = lines.assign(model=lines["model"].map(titles()), bound=lines["part"].map(parts))
    lines["nats"] = lines["nats"] / (lines["words"] + lines["sentences"])
    lines.loc[lines["model"] == "TXL (tokens)", "bound"] = "exact"
    is_wider_beam = lines["model"].isin(["Pushdown-TXL", "GiLT"]) & (lines["part"] == "perplexity")
    return lines[lines["model"].isin(WITH_GRAPHS) & ~is_wider_beam]


of_mini = bounds("mini").pivot_table(index=["model", "seed"], columns="bound", values="nats")
by_model = np.exp(of_mini).groupby("model").mean().loc[NAMES]
assert np.allclose(
    np.exp(of_mini["300 trees"]).loc["TG"], values.query("system == 'TG' and measure == 'perplexity'")["value"]
)
lack, estimated = "300 trees lack at least, nats per word", "by estimate"
by_model[lack] = (of_mini["300 trees"] - of_mini["beam"]).groupby("model").mean()
is_tightness = {"part": "tightness", "trees": 300, "way": "best", "parser": "strong", "against": "estimate"}.items()
of_dtg = tables.newest_lines(None, lambda line: is_tightness <= line.items())
by_model.loc["DTG", estimated] = of_dtg.query("corpus == 'minilang' and size == 'mini'")["nats"].mean()
rounded = by_model.round({"exact": 1, "300 trees": 1, "beam": 1, lack: 4, estimated: 4})
rounded.rename_axis(columns="perplexity:").astype(object).where(rounded.notna(), "")

# %% tags=["table"]
# NBVAL_CHECK_OUTPUT
T, POWER = 4.303, 1.061  # quantiles 0.975 and 0.8 of the t distribution with two degrees of freedom
compared = [*COMPARED, ("PLM", "TXL (tokens)"), ("Pushdown-TXL", "TXL (tokens)")]
found = orders.differences(values, [(measures.MODELS, "perplexity", *pair) for pair in compared])
assert (found["seeds"] == 3).all()
error = found["sd"] / np.sqrt(3)
table = found[["first", "second"]].assign(
    lower_by=found["by"], low=found["by"] - T * error, high=found["by"] + T * error
)
table.assign(p=found["p"].map("{:.3f}".format), detectable=(T + POWER) * error).round(2).rename(
    columns={"lower_by": "perplexity lower by"}
)

# %% [markdown]
# (t intervals over three seeds.) Labels on closing brackets (TXL (trees) against PLM, the same trees) gain more than
# TG's mask and distances (TG against TXL (trees)). TG predicts better than DTG; minilang's grammar is one of phrases,
# whose brackets say what may follow, which may be why. Where it was measured, what 300 trees lack changes no order.
#
# ## 5. Real text
#
# GUM has both kinds of trees for the same sentences: some 10,000 for training, 4,000 pieces, 1.4 million parameters
# (Pushdown-TXL 1.9), two seeds ([one](../results/2026-11-28-gum), [two](../results/2026-11-28-gum-2)). **GiLT**
# ([notebook 20](20_gilt.ipynb)), which attends along graphs, has [3.5 million](../results/2026-11-28-gum-gilt).
# Suites: the 33 public ones; pairs: a tenth of BLiMP; perplexities: per word, 150 sentences.


# %% tags=["table"]
# NBVAL_CHECK_OUTPUT
def beside_dtg(by_seed, of):
    """Perplexities, and of each measure the score and DTG's lead, with its interval."""
    means = by_seed.groupby(["model", "bound"])["per word"].mean().unstack()
    table = means.loc[[name for name in WITH_GRAPHS if name in means.index], ["exact", "300 trees", "beam"]].round(0)
    for what, scored in of.items():
        scored = scored[scored.index.get_level_values("seed").isin(by_seed["seed"])]
        table[f"{what}, %"] = [round(intervals.over_suites(scored.loc[name]).mean, 1) for name in table.index]
        leads = {name: intervals.over_suites(scored.loc["DTG"] - scored.loc[name]) for name in table.index}
        table[f"DTG's lead: {what}"] = [f"{leads[name]:.1f?}" if name != "DTG" else None for name in table.index]
    table = table.astype({bound: "Int64" for bound in ("exact", "300 trees", "beam")})
    return table.rename_axis(columns="perplexity:").astype(object).where(table.notna(), "")


gum = bounds("gum")
of_gum = {"suites": on_gum, "pairs": 100 * tables.by_seed(*PAIRS, "gum-constituents", "gum")}
beside_dtg(gum, of_gum)

# %%
# NBVAL_CHECK_OUTPUT
both = gum.groupby(["model", "bound"])["nats"].mean().unstack()[["300 trees", "beam"]].dropna()
lacking = both["300 trees"] - both["beam"]
shown = [name for name in WITH_GRAPHS if name != "DTG" and name in on_gum.index.get_level_values("model")]
leads = {
    what: {name: intervals.over_suites(of.loc["DTG"] - of.loc[name]) for name in shown} for what, of in of_gum.items()
}


def who(what, of):
    """The models that are significantly behind DTG, or ahead of it."""
    chosen = [name for name, by in leads[what].items() if (by.low > 0 if of == "behind" else by.high < 0)]
    return " and ".join(chosen).replace(" and ", ", ", max(len(chosen) - 2, 0)) or "no model"


tested_here = tables.measured_values().query("corpus == 'gum-constituents' and size == 'gum'")
least = orders.differences(tested_here, [(measures.MODELS, "SG", "DTG", name) for name in shown])["p"].min()
brackets, arcs = lacking[["PLM", "TXL (trees)", "TG"]], lacking[["TXL (trans)", "DTG"]]
Markdown(
    f"By the bootstrap (t tests over two seeds show nothing in the suites: the least p is {least:.3f}) DTG "
    f"outperforms {who('suites', 'behind')} in the suites, and {who('suites', 'ahead')} outperforms it; in pairs it "
    f"outperforms {who('pairs', 'behind')}, and {who('pairs', 'ahead')} outperforms it. Whether brackets help more "
    f"than arcs is open. Against a beam of 30, 300 trees lack at least {brackets.min():.2f} to {brackets.max():.2f} "
    f"nats per word with brackets, {arcs.min():.2f} to {arcs.max():.2f} with arcs: too few for both. TG's perplexity "
    "is below DTG's by both bounds, against the paper's order (not significantly, notebook 90); whether too few trees "
    "explain that order is open. By 300 trees all are above TXL (tokens), which is exact."
)

# %% [markdown]
# **Books**, of one seed: models of 3.5 million parameters (Pushdown-TXL 4.7, GiLT 7.1) that have read [UD English and
# books](../results/2026-11-28-books-small-2), tested on UD English. A parser of GUM alone drew the brackets ([F1
# 78.9](../results/2026-11-29-books-small-tg)), one of six treebanks the arcs, one of two the graphs.

# %% tags=["table"]
# NBVAL_CHECK_OUTPUT
of_books = {"suites": on_books, "pairs": 100 * tables.by_seed(*PAIRS, "books-and-ud", "books-small")}
beside_dtg(bounds("books-small").query("seed == 2"), of_books)

# %% [markdown]
# ## 6. This run
#
# Models trained at this run's size or, at `smoke`, released ones (TXL (trees) is not) with few items. Perplexities are
# bounds, by proposed trees (PLM, TG) or by a beam (Pushdown-TXL).

# %% tags=["table"]
sizes = settings.compared_at(size, "constituency")
asked = {title: settings.read_size(size, model=name) for name, title in sizes.items()}
rows = {}
for title, of in asked.items():
    if prepare.is_released(of) or not of.evaluation.released:
        folder = prepare.trained(of)
        on_suites, *_ = syntax_scores.suites_of(of, folder)["averages"].values()  # of circuits
        on_pairs = syntax_scores.pairs_of(of, folder)["accuracy"]
        perplexity = syntax_scores.perplexity_at(of, folder)["per word"]
        rows[title] = {"suites, %": 100 * on_suites, "pairs, %": 100 * on_pairs, "perplexity per word": perplexity}
pd.DataFrame(rows).T.round(1)

# %% [markdown]
# ### Your sentence
#
# Words with blanks between tokens. Released models read them: the surprisal of each word, and the best
# tree of each model.


# %%
def draw_constituents(axes, words, tree):
    """Brackets above their words, with their labels; X is none."""
    places, tops = plot.word_places(words), np.zeros(len(words))
    parts = bracketing.constituents_of(bracketing.steps_of(tree, has_tags=False))
    for part in reversed(parts):  # inner ones first
        level = tops[part.first : part.last].max() + 1
        tops[part.first : part.last] = level
        left, right = places[part.first + 1] - 2.5, places[part.last] + 2.5
        axes.plot([left, left, right, right], [level - 0.5, level, level, level - 0.5], color=plot.ORANGE, linewidth=1)
        label = "" if part.label == bracketing.ALONE else part.label
        axes.text((left + right) / 2, level, label, ha="center", va="center", fontsize=8, backgroundcolor="white")
    return tops.max()


def draw_arcs(axes, words, heads):
    """Arcs above their words."""
    places = plot.word_places(words)
    levels = plot.stacked([(head, word) for word, head in enumerate(heads, start=1) if head > 0])
    for (head, word), level in levels.items():
        plot.draw_arc(axes, places[head], places[word], level, "", plot.BLUE)
    return max(levels.values(), default=0)


# %%
def draw_best_trees(words, shown=("PLM", "TG", "Pushdown-TXL", "DTG")):
    """The best tree of each model."""
    places, picture = plot.word_places(words), plot.Picture(figsize=(12, 5))
    for name, axes in zip(shown, picture.subplots(2, 2).flat, strict=True):
        (found,) = beam.search(models[name].stepper(), models[name].vocabulary, [words], NARROW)
        tree = family_of(models[name]).trees.shown(models[name].vocabulary, words, found.tree.tolist())
        tree = tree.replace("(", "(X ") if name == "Pushdown-TXL" else tree  # whose brackets have no labels
        top = (draw_arcs if name == "DTG" else draw_constituents)(axes, words, tree)
        for place, word in zip(places[1:], words, strict=True):
            axes.text(place, 0, word, ha="center", va="center", fontsize=9)
        axes.set(xlim=(places[1] - 5, places[-1] + 5), ylim=(-0.5, top + 0.5))
        axes.set_title(f"{name}: log p(words) = {found.log_prob:.1f} nats", fontsize=10)
        axes.axis("off")
    return picture


# %%
yours = "The judge near the heroes are strange ."


def draw_yours(text):
    """The surprisal of each word by each model, and the best trees."""
    words = text.split()
    read = {name: next(surprisal.surprisals(model, [words], NARROW)) for name, model in models.items()}
    unknown = [word for word, known in zip(words, read["TG"].known, strict=True) if not known]
    print("unknown:", *unknown or ["none"])
    in_bits = {name: surprisal.UNITS["bits"] * each.of_words for name, each in read.items()}
    picture, axes = plot.single(0.75 * len(words) + 1.5, 2.6)
    pd.DataFrame(in_bits, index=words).plot.bar(ax=axes, rot=0, width=0.8, color=COLOURS, ylabel="surprisal, bits")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    display(picture)
    return draw_best_trees(words)


plot.with_field(draw_yours, yours)

# %% [markdown]
# ### An exercise
#
# Hide the subject: `margins(models["TG"], hidden(2))`, and the same with PLM. What is left to go by?
#
# <details><summary>Answer</summary>
#
# In TG nothing: it always prefers *is*, by 4 bits, for *heroes* is out of reach. PLM follows *heroes*, and is wrong in
# all items.
#
# </details>
#
# ## Doubts
#
# Two or three seeds, of which a bootstrap cannot show the whole spread: it and the t test disagree about TG's leads,
# and DTG's on GUM. Minilang is generated by a grammar of phrases, which may favour brackets, and its suites have
# ceilings. Models of four layers cannot reach what is buried deeper; those of the papers have twelve or sixteen. The
# edits have one seed.
