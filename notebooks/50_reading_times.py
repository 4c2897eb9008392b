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
# # Does a syntactic model know how people read?
#
# Before: [translation](40_translation.ipynb) · after: [all tables](90_tables.ipynb) · the data: [de Varda, Marelli and
# Amenta 2023](https://doi.org/10.3758/s13428-023-02261-8), with those of Frank et al. 2013 and 2015
#
# People read a word more slowly if it surprises them, and a language model says how surprising a word is: $-\log
# p(\mathrm{word} \mid \mathrm{words\ before})$. A model of trees says more: which part of the surprise is structure,
# how many readings are open, how many words stand on its stack. Does it know better how people read than a plain model
# of the same size? The UCL corpus has 205 isolated sentences with self-paced reading, four measures of eye movements
# (*first fixation*; *first pass*: until the eyes leave the word; *right-bounded*: with returns to it before they move
# on; *go-past*: with all rereading before that), six components of the EEG (ELAN and LAN: early and later left anterior
# negativity; N400; EPNP and PNP: early and late positivity after the N400; P600), and surprisals of other people's
# models up to GPT-Neo 2.7B as a scale.
#
# 1. What a predictor is worth
# 2. All models, all measures
# 3. DTG and the two others
# 4. What else a model of trees knows
# 5. This run, and exercises
#
# Results come from [the record](../results/2026-11-27-reading-times-books): released models that have read UD English
# and books (one seed). [Models of UD English alone](../results/2026-11-23-reading-times) have a record, too. All gains
# are in thousandths of a nat per word, with 95 % intervals by a bootstrap over sentences.

# %% tags=["parameters"]
size = "smoke"

# %%
import numpy as np
import pandas as pd
from IPython.display import Markdown

from dtglib.basics.files import repository
from dtglib.basics.record import read_record
from dtglib.basics.released import folder_named
from dtglib.decode.beam import Widths
from dtglib.pictures import plot
from dtgpapers.reading import corpus, gains, measured, pictures, regression

pd.set_option("display.width", 200, "display.max_columns", None)
OURS = {"dtg-books": "DTG", "txl-trans-books": "TXL (trans)", "txl-tokens-books": "TXL (tokens)"}
EYES = ("first fixation", "first pass", "right-bounded", "go-past")
GPTS = [name for name in corpus.OTHERS.values() if name.startswith("GPT")]
NUMBERS = ["nats", "low", "high"]

# %%
recorded = pd.DataFrame(read_record(repository() / "results" / "2026-11-27-reading-times-books").metrics)
recorded["model"] = recorded["model"].replace(OURS)
recorded[NUMBERS] *= 1000
inner = recorded[(recorded["which"] == "inner words") & recorded["nats"].notna()]
parts = dict(tuple(inner.groupby("part")))
of_surprisal = parts["gain"][parts["gain"]["predictor"] == gains.SURPRISAL]
difference, beyond = parts["difference"], parts["beyond surprisal"]


def ranging(rows, measures, models):
    """The smallest and the largest gain of some models in some measures."""
    chosen = rows[rows["measure"].isin(measures) & rows["model"].isin(models)]["nats"]
    return f"{chosen.min():.0f} to {chosen.max():.0f}"


def excluding_0(rows):
    """How many intervals lie above 0, and how many below."""
    return int((rows["low"] > 0).sum()), int((rows["high"] < 0).sum())


# %%
# NBVAL_CHECK_OUTPUT
ours = of_surprisal[of_surprisal["model"].isin(OURS.values())]
largest = difference.loc[difference["nats"].abs().idxmax()]
n400 = excluding_0(ours[ours["measure"] == "N400"])[0]
better, worse = excluding_0(difference)
of_treebanks = pd.DataFrame(read_record(repository() / "results" / "2026-11-23-reading-times").metrics)
before = of_treebanks.query("part == 'gain' and which == 'inner words' and predictor == @gains.SURPRISAL")
before = before[(before["measure"] == "N400") & before["model"].isin(["dtg-ud", "txl-trans-ud", "txl-tokens-ud"])]
Markdown(
    f"**In short** ({ours['words'].max():.0f} words): surprisal predicts eye movements, that of our models (gains of "
    f"{ranging(ours, EYES, OURS.values())}) as that of GPT-2 and GPT-Neo ({ranging(of_surprisal, EYES, GPTS)}; the "
    f"difference is not tested). DTG's is not shown to do so better than those of TXL (trans) and TXL (tokens): of "
    f"{len(difference)} differences {better} are significantly above 0 and {worse} below, and the largest is "
    f"{largest['nats']:.1f} [{largest['low']:.1f}, {largest['high']:.1f}]. For the N400 the GPTs gain "
    f"{ranging(of_surprisal, ['N400'], GPTS)}, our models {ranging(ours, ['N400'], OURS.values())}, significant for "
    f"{n400} of {len(OURS)} (of those that have read no books, for {excluding_0(before)[0]} of {len(before)}). For the "
    f"P600 the GPTs gain {ranging(of_surprisal, ['P600'], GPTS)}, ours {ranging(ours, ['P600'], OURS.values())}, in "
    f"self-paced reading {ranging(of_surprisal, ['self-paced reading'], GPTS)} and "
    f"{ranging(ours, ['self-paced reading'], OURS.values())}."
)

# %% [markdown]
# ## 1. What a predictor is worth
#
# A linear regression predicts a measure from what slows readers anyway: the length of a word, its log frequency, its
# position, and length and log frequency of the word before. A second regression has the surprisal of the word and of
# the word before, too, because the cost of a word shows on the next one as well. Both are fitted to nine tenths of the
# sentences and judged on the last tenth, ten times. With a normal density around each prediction, the **gain** is
#
# $$\frac{1}{N} \sum_{n=1}^N \Big( \log \mathcal{N}(t_n; \hat{t}_n^{\,\mathrm{with}}, \sigma_{\mathrm{with}}^2) - \log
# \mathcal{N}(t_n; \hat{t}_n^{\,\mathrm{without}}, \sigma_{\mathrm{without}}^2) \Big).$$
#
# A predictor that says nothing loses a little, because it adds noise. Made-up words, read in 200 ms, 10 ms more per
# letter, and 4 ms more per bit of surprisal:


# %%
def log_densities(times, predictors, fold):
    """The log-density of each time by the regression on the other folds."""
    design, found = np.column_stack([np.ones(len(times)), predictors]), np.empty(len(times))
    for number in range(10):
        held_out = fold == number
        weights, residuals, *_ = np.linalg.lstsq(design[~held_out], times[~held_out], rcond=None)
        variance = residuals[0] / ((~held_out).sum() - design.shape[1])
        errors = times[held_out] - design[held_out] @ weights
        found[held_out] = -0.5 * (np.log(2 * np.pi * variance) + errors**2 / variance)
    return found


random = np.random.default_rng(1)
made_up = pd.DataFrame({"sentence": np.repeat(np.arange(200), 6), "length": random.integers(1, 12, 1200)})
made_up["surprisal"], made_up["noise"] = random.gamma(3, 2, 1200), random.normal(size=1200)
made_up["time"] = 200 + 10 * made_up["length"] + 4 * made_up["surprisal"] + random.normal(scale=40, size=1200)
fold, times = regression.folds_of(made_up["sentence"].to_numpy()), made_up["time"].to_numpy()
for name in ("surprisal", "noise"):
    without, with_it = (log_densities(times, made_up[columns], fold) for columns in (["length"], ["length", name]))
    by_package = regression.gain(made_up, "time", ["length"], ["length", name])
    assert np.isclose((with_it - without).mean(), by_package.nats)
    print(f"{name}: {1000 * by_package.nats:.1f} [{1000 * by_package.low:.1f}, {1000 * by_package.high:.1f}]")

# %% [markdown]
# People read *isn't* and *tea,* as one word each; a treebank has two of each. What they cost is added up:

# %%
# NBVAL_CHECK_OUTPUT
treebank_words, lengths = corpus.written_words("It isn't tea, is it?")
print(*treebank_words)
print(*lengths)

# %% [markdown]
# ## 2. All models, all measures
#
# A line for each model (ours in orange), a panel for each measure, all in one scale. A dot is filled if its interval
# excludes 0.

# %%
orange = dict.fromkeys(OURS.values(), plot.ORANGE)
picture = pictures.draw_intervals(
    of_surprisal, pictures.Columns("measure", "model", *NUMBERS), "gain, thousandths of a nat per word", orange
)
plot.save(picture, "50_reading_times")

# %% [markdown]
# Words with punctuation, and the words after them, are left out above: at the end of a sentence people look back, and
# the EEG changes. The baseline does not know which word is the last; a surprisal that contains the period's may tell.
# The same gains with these words: in go-past times, which is looking back, those of PSG (a phrase-structure grammar)
# and GPT-2 grow far more than ours, and in the N400 most shrink. Why was not examined.

# %% tags=["table"]
chosen = ["DTG", "TXL (trans)", "TXL (tokens)", "tetragram", "PSG", "GPT-2", "GPT-2 XL"]
some = recorded[(recorded["part"] == "gain") & (recorded["predictor"] == gains.SURPRISAL)]
some = some[some["measure"].isin(["first pass", "go-past", "N400"])]
some.pivot_table(index="model", columns=["which", "measure"], values="nats", sort=False).loc[chosen].round(1)

# %% [markdown]
# ## 3. DTG and the two others
#
# How much more DTG's surprisal gains than that of a model over words alone (TXL (tokens)), and than that of one that
# writes the same arcs but sees everything (TXL (trans)). Each interval is of the difference.

# %%
named = {f"dtg-books - {name}": f"DTG - {title}" for name, title in OURS.items()}
picture = pictures.draw_intervals(
    difference.replace({"difference": named}),
    pictures.Columns("difference", "measure", *NUMBERS),
    "difference of gains, thousandths of a nat per word",
)
picture

# %% [markdown]
# ## 4. What else a model of trees knows
#
# *structure* is the part of surprisal that is spent on arcs before the word; *entropy* is the uncertainty about the
# next symbol before the word is read; *hypotheses* is how many derivations the search keeps after the word (of 30,
# within 8 nats of the best), *tree entropy* how much their trees differ, *depth* how many words stand on the stack of
# the best one. Gains over a baseline that has the same model's surprisal already:

# %%
picture = pictures.draw_intervals(
    beyond[beyond["model"] == "DTG"],
    pictures.Columns("predictor", "measure", *NUMBERS),
    "DTG: gain beyond surprisal, thousandths of a nat per word",
    across=5,
)
picture

# %%
# NBVAL_CHECK_OUTPUT
above, below = excluding_0(beyond)
of_hypotheses = beyond[beyond["predictor"] == "hypotheses"]
strong = of_hypotheses[of_hypotheses["low"] > 0]
of_structure = beyond[(beyond["predictor"] == "structure") & (beyond["model"] == "DTG")]
means = recorded[(recorded["part"] == "predictor") & (recorded["which"] == "inner words")]
means = means[means["model"] == "DTG"].set_index("predictor")["mean"]
Markdown(
    f"Of {len(beyond)} intervals (three models) {above} lie above 0 and {below} below; by chance about "
    f"{0.025 * len(beyond):.0f} would on each side, and a useless predictor loses more often than it gains. Of those "
    f"above 0, {len(strong)} belong to the number of hypotheses (of "
    f"{' and of '.join(dict.fromkeys(strong['model']))}), which gains {strong['nats'].min():.0f} to "
    f"{strong['nats'].max():.0f} in {', '.join(dict.fromkeys(strong['measure']))}. It is a number of the search, and "
    "whether it stands for effort or for the class of the word was not examined. DTG's structure gains significantly "
    f"in {excluding_0(of_structure)[0]} of {len(of_structure)} measures, and loses in {excluding_0(of_structure)[1]}; "
    f"there is little of it, {means['structure']:.2f} of {means['surprisal']:.1f} nats per word, perhaps because "
    "without word classes nearly any arcs fit any word."
)

# %% [markdown]
# ## 5. This run
#
# The same, computed here: at size `smoke` with 12 sentences and one measure, to show how it is done; at larger sizes
# with all, which gives the record's numbers again. `make data` fetches the corpus. Your own model is read by `dtglib
# reading --models my-model`.

# %%
COUNT = {"smoke": 12}.get(size)  # of sentences; None: all
MEASURED = {"smoke": ["first pass"]}.get(size, list(corpus.MEASURES.values()))
words = None
if corpus.reading_file().is_file():
    sentences = measured.some_sentences(corpus.read_reading(), COUNT)
    folders = {title: folder_named(name) for name, title in OURS.items()}
    words = gains.inner_words(measured.table_of_models(sentences, folders, Widths(30, 30, within=8.0)))
    print(len(sentences.sentences), "sentences,", len(words), "words that are measured")
else:
    print("the reading corpus is not at hand, and this part is left out: `make data` fetches it")

# %% tags=["table"]
here = None
if words is not None:
    everyone = gains.compared_in(words, list(OURS.values()))
    chosen = [each for each in everyone if each.predictor == gains.SURPRISAL and each.model in OURS.values()]
    here = gains.gains_of(words, chosen if COUNT else everyone, MEASURED)
    here[NUMBERS] = (1000 * here[NUMBERS]).round(1)
here

# %% [markdown]
# Twelve sentences say nothing: the intervals are wide. One sentence as DTG reads it, with what people needed for it.
# Times are in milliseconds; lengths in letters; surprisal, structure and entropy in nats:

# %%
example = None
if words is not None:
    number = max(words["sentence"], key=list(words["sentence"]).count)
    features = [f"DTG, {name}" for name in ("surprisal", "structure", "entropy", "hypotheses", "depth")]
    rows = words[words["sentence"] == number].set_index("text")
    example = rows[["length", "self-paced reading", "first pass", *features]].round(1)
example

# %% [markdown]
# ### Exercises
#
# 1. Why is a gain measured on sentences that the regression has not seen?
# 2. Is DTG's surprisal behind GPT-2's? `gains.differences_of(words, one, other)` compares two `gains.Compared(model,
#    "surprisal")`; set `COUNT = None` first.
#
# <details><summary>Answers</summary>
#
# 1. A regression with more predictors always fits its own data better, noise included. `gain` of *noise* above is what
#    is left of that on new sentences.
# 2. Look at whether the intervals include 0, and remember that eleven are looked at.
#
# </details>
#
# ## Finding and doubts
#
# Surprisal helps to predict reading; no model of ours is shown to do so better for its trees. Our models predict the
# N400 significantly after reading books, those of UD English alone do not; whether the two differ was not tested.
#
# One seed, small models, few words: the intervals do not exclude small differences. Hundreds of intervals were looked
# at, uncorrected. Times are means over readers in milliseconds, not logarithms. Other people's models were trained on
# more text of other kinds. Why the gains of PSG and GPT-2 in go-past times grow where the words at the ends of
# sentences are counted was not examined.
