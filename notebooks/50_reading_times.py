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
# **In short:** surprisal predicts eye movements, and that of a model of 3.5 million parameters nearly as well as
# GPT-2's. But DTG's does so no better than that of a plain model of its size, in none of eleven measures, and the part
# of it that is structure predicts nothing. What the N400 follows, only the far larger models and n-grams of the
# literature know.
#
# People read a word more slowly if it surprises them, and a language model says how surprising a word is: *-log p(word
# given the words before)*. A model of trees has more to say: which part of the surprise is structure, how many readings
# are open, how much stands on its stack. Does it know better how people read than a plain model of the same size? The
# UCL corpus can tell, with 205 isolated sentences: self-paced reading and four measures of eye movements (Frank et al.
# 2013), six components of the EEG (Frank et al. 2015), and surprisals of other people's models up to GPT-2 XL (de
# Varda, Marelli and Amenta 2023), as a scale.

# %% tags=["parameters"]
size = "smoke"

# %%
import pandas as pd

from dtglib.basics.files import repository
from dtglib.basics.record import read_record
from dtglib.basics.released import folder_named
from dtglib.decode.beam import Widths
from dtglib.pictures import plot
from dtgpapers.reading.corpus import MEASURES, read_reading, reading_file, written_words
from dtgpapers.reading.gains import SURPRISAL, compared_in, gains_of, inner_words
from dtgpapers.reading.measured import some_sentences, table_of_models
from dtgpapers.reading.pictures import Columns, draw_intervals

pd.set_option("display.width", 200, "display.max_columns", None)
OURS = {"dtg-ud": "DTG", "txl-trans-ud": "TXL (trans)", "txl-tokens-ud": "TXL (tokens)"}

# %% [markdown]
# ## What a predictor is worth
#
# A linear regression predicts a measure from what slows readers anyway: a word's length, its log frequency (of
# SUBTLEX-US, as the corpus gives it), its position, and length and log frequency of the word before. A second one knows
# the surprisal of the word and of the word before, too, because what a word costs shows on the next one as well. Both
# are fitted to nine tenths of the sentences and judged on the last tenth, ten times. The **gain** is how much more
# probable the second one finds what people did, in nats per word; the interval is from a bootstrap over sentences.
#
# The picture is drawn from [the record](../results/2026-11-23-reading-times): a line for each model (ours in orange,
# with the same training sentences and 3.5 million parameters each), a panel for each measure. A dot is filled if its
# interval excludes 0. All gains are in thousandths of a nat.

# %%
recorded = pd.DataFrame(read_record(repository() / "results" / "2026-11-23-reading-times").metrics)
recorded["model"] = recorded["model"].replace(OURS)
numbers = ["nats", "low", "high"]
recorded[numbers] *= 1000
inner = recorded[(recorded["which"] == "inner words") & recorded["nats"].notna()]
of_surprisal = inner[(inner["part"] == "gain") & (inner["predictor"] == SURPRISAL)]
columns = Columns("measure", "model", *numbers)
orange = dict.fromkeys(OURS.values(), plot.ORANGE)
picture = draw_intervals(of_surprisal, columns, "gain, thousandths of a nat per word", orange)
plot.save(picture, "50_reading_times")

# %% [markdown]
# ## A word of the corpus and the words of a treebank
#
# People read *isn't* and *tea,* as one word each, and a treebank has two of each. The surprisal of what people read is
# the sum: a mark of punctuation goes with the word that it is written with.

# %%
# NBVAL_CHECK_OUTPUT
treebank_words, lengths = written_words("It isn't tea, is it?")
print(*treebank_words)
print(*lengths)

# %% [markdown]
# That is also why words with punctuation are left out of what is measured, and the words after them. The last word of a
# sentence is read in another way: people look back, and the EEG goes elsewhere. The baseline does not know the last
# word, but whatever contains a period's surprisal does. Here are the same gains with these words; the largest are of
# the go-past times, which is looking back.

# %% tags=["table"]
shown = ["first pass", "go-past", "N400", "P600", "PNP"]
gains = recorded[recorded["part"] == "gain"]
some = gains[(gains["predictor"] == SURPRISAL) & gains["measure"].isin(shown)]
by_words = some.pivot_table(index="model", columns=["which", "measure"], values="nats", sort=False)
by_words.round(1)

# %% [markdown]
# ## DTG and the plain models
#
# The question is about a difference, and so is the interval: how much more DTG's surprisal gains than that of a model
# over words alone (TXL (tokens)), and than that of one that writes the same arcs but sees everything (TXL (trans)).

# %% tags=["table"]
differences = inner[inner["part"] == "difference"].replace(
    {"difference": {f"dtg-ud - {name}": f"DTG - {title}" for name, title in OURS.items()}}
)
by_measure = differences.pivot_table(index="measure", columns="difference", values=numbers, sort=False)
by_measure.swaplevel(axis=1).sort_index(axis=1, level=0, sort_remaining=False).round(1)

# %% [markdown]
# ## What else a model of trees knows
#
# *structure* is the part of surprisal that the derivations write before the word, *own* the rest; *entropy* is that of
# the next symbol before the word. *hypotheses* is how many derivations the search keeps after the word (of 30 places,
# within 8 nats of the best), *tree entropy* how much their trees differ, and *depth* how many words stand on the stack
# of the best one. A star: the interval excludes 0.

# %% tags=["table"]
with_star = (inner["low"] > 0) | (inner["high"] < 0)
starred = inner.assign(gain=inner["nats"].round(1).astype(str) + with_star.map({True: " *", False: "  "}))
ours = starred[(starred["part"] == "gain") & starred["model"].isin(list(OURS.values()))]
ours.pivot(index=["model", "predictor"], columns="measure", values="gain")[list(MEASURES.values())]

# %% [markdown]
# And what of it is more than surprisal? These are gains over a baseline that has the same model's surprisal. (The own
# part is not here: where surprisal is known, it says the same as structure.)

# %% tags=["table"]
beyond = starred[starred["part"] == "beyond surprisal"]
beyond.pivot(index=["model", "predictor"], columns="measure", values="gain")[list(MEASURES.values())]

# %% [markdown]
# How many comparisons are these? With so many, some intervals exclude 0 by chance: one in twenty, if nothing had any
# effect.

# %%
# NBVAL_CHECK_OUTPUT
for part, rows in inner.groupby("part", sort=False):
    above, below = (rows["low"] > 0).sum(), (rows["high"] < 0).sum()
    print(f"{part}: {len(rows)} intervals; {above} lie above 0, {below} below")

# %% [markdown]
# ## The same, computed here
#
# At size `smoke` with 12 of the sentences and for one measure, to show how it is done; at larger sizes with all of
# them, which gives the record's numbers again. The corpus is fetched by `make data`. A user's own model is read by
# `dtglib reading --models my-model`.

# %%
COUNT = {"smoke": 12}.get(size)  # of sentences; None: all
MEASURED = {"smoke": ["first pass"]}.get(size, list(MEASURES.values()))
is_here = reading_file().is_file()
words = None
if is_here:
    corpus = some_sentences(read_reading(), COUNT)
    folders = {title: folder_named(name) for name, title in OURS.items()}
    words = inner_words(table_of_models(corpus, folders, Widths(30, 30, within=8.0)))
    print(len(corpus.sentences), "sentences,", len(words), "words that are measured")
else:
    print("the reading corpus is not at hand, and this part is left out: `make data` fetches it")

# %% tags=["table"]
here = None
if is_here:
    everyone = compared_in(words, list(OURS.values()))
    chosen = [one for one in everyone if one.predictor == SURPRISAL] if COUNT else everyone
    here = gains_of(words, chosen, MEASURED)
    here[numbers] = (1000 * here[numbers]).round(1)
here

# %% [markdown]
# One sentence as DTG reads it, with what people needed for it (self-paced reading and first pass in milliseconds).

# %%
example = None
if is_here:
    number = max(words["sentence"], key=list(words["sentence"]).count)
    features = [f"DTG, {name}" for name in ("surprisal", "structure", "entropy", "hypotheses", "depth")]
    rows = words[words["sentence"] == number].set_index("text")
    example = rows[["length", "self-paced reading", "first pass", *features]].round(1)
example

# %% [markdown]
# ## What was found
#
# On 1,226 words of all 205 sentences ([the record](../results/2026-11-23-reading-times); gains in thousandths of a nat
# per word):
#
# - **Surprisal predicts eye movements**, whoever's it is: 10 to 26 in first fixation, first pass, right-bounded and
#   go-past times. Our models have 3.5 million parameters and read 53,040 sentences, and gain 11 to 20; GPT-2 and
#   GPT-Neo 12 to 26; counted tetragrams 14 to 26, as much as any network. In self-paced reading all gain 7 to 16, and
#   some intervals include 0.
# - **DTG's surprisal predicts no better than that of plain models of its size.** None of the 22 intervals of the
#   differences excludes 0; the largest difference is 2.9, in go-past times (-3 to 9).
# - **What the EEG follows they do not know.** For the N400 the GPTs gain 14 to 20, tetragrams 11, ours 5 to 6 with
#   intervals that include 0; for the P600 only the GPTs gain anything (6 to 8). For ELAN, LAN, EPNP and PNP nobody
#   does.
# - **The part of surprisal that is structure predicts nothing**, alone or beside surprisal; the word's own part has all
#   of the gain. For these models there is little of it, 0.02 of 5.3 nats a word for DTG: without word classes, any word
#   can follow nearly any arcs. Neither have the entropies any gain, and depth has 4 to 7 in three measures of the eyes,
#   with intervals that include 0.
# - The exception is the **number of hypotheses** after the word, which gains 12 to 14 beyond surprisal in first
#   fixation, first pass and right-bounded times, of DTG and of TXL (trans) alike. It is a number of the search (its
#   width and `within` decide), and nearly uncorrelated with surprisal. Whether it stands for effort, or only for the
#   class of the word, was not examined.
# - Where words with punctuation are counted, too, everything that knows the end of the sentence seems to predict:
#   the grammar's surprisal then gains 205 in go-past times, GPT-2's 134, ours 20.
#
# Doubtful: 484 intervals of 95 % were looked at, so that some exclude 0 by chance; negative gains that exclude 0 show
# how much a regression can lose by a useless predictor. Times are means over readers in milliseconds, not logarithms.
# There is one seed of our models, and the models of others were trained on far more text, of other kinds.
