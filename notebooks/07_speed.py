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
# # How fast is it, and how fast could it be?
#
# **In short:** on two CPU cores training takes 1.4 to 1.7 times as long as its matrix products alone would, and a trie
# makes sums over 300 trees about three times as fast. On a GPU (an H100, for a quarter of an hour) a DTG of the paper's
# size computes as many positions a second as a plain Transformer-XL, 222,000, at 38 % of what the card can do; sums
# over trees and searches waited for the processor.
#
# The paper trained for 35 hours on an A6000, and its authors write that such models cannot use fast attention: the mask
# is another one for each sentence, and so are the relative positions. Here both follow from a few integers a position.
# What does that buy, and how far are we from what the machine could do?
#
# Nothing is timed here. `make bench` times everything on this machine, `benchmarks/cuda.py` on a GPU, and both write
# records; the pictures below are drawn from the latest record of each kind (of a GPU: of each figure).

# %% tags=["parameters"]
size = "smoke"

# %%
import pandas as pd

from dtglib.basics.files import repository
from dtglib.basics.record import read_record
from dtglib.pictures import plot
from dtglib.runs.tables import benchmark

pd.set_option("display.width", 160)
pd.set_option("display.max_colwidth", 60)

NAMES = ("growth", "training", "scoring", "beam", "steps", "within", "precision", "host")
NAMES += ("growth_of_data",)
RECORDS = {name: benchmark(name) for name in NAMES}

# A GPU may be taken away at any moment. So its benchmark is run part by part, each line is a whole measurement, and a
# record that was cut short counts as far as it came: of each figure the newest line is taken.
visits = [read_record(folder) for folder in sorted((repository() / "benchmarks" / "records").glob("*-cuda"))]
figures = {
    line["what"]: {**line, "gpu": " ".join(visit.about["hardware"].get("gpus", []))}
    for visit in visits
    for line in visit.metrics
}
RECORDS["cuda"] = visits[-1]._replace(metrics=list(figures.values())) if visits else None

# %% tags=["table"]
for name, record in RECORDS.items():
    if record is None:
        print(f"{name:14} not measured")
        continue
    about = record.about
    machine = about["hardware"]
    cpu = f"{machine['cpu']}, {record.config['cores']} of its cores"
    where = ", ".join(machine["gpus"]) if name == "cuda" else cpu
    print(f"{name:14} {about['started'][:10]}  {where}, PyTorch {about['versions']['torch']}")

# %% [markdown]
# A line that says *not measured* is a gap, and stays one until somebody runs the benchmark: no number below is an
# estimate of it.


# %%
def rows_of(curve):
    """The figures of one curve, on all machines of which there is a record."""
    found = {"CPU": RECORDS["growth"], "GPU": RECORDS["cuda"]}
    lines = [line | {"machine": name} for name, record in found.items() if record for line in record.metrics]
    return pd.DataFrame([line for line in lines if line.get("curve") == curve]).astype({"x": int})


def lines(rows, y):
    """A line for each machine and form."""
    return {", ".join(which): (mine.x, mine[y]) for which, mine in rows.groupby(["machine", "form"], sort=False)}


def draw_powers(rows, y, xlabel, ylabel):
    """Curves over two logarithmic axes, where a power of x is a straight line."""
    picture = plot.draw_curves(lines(rows, y), xlabel, ylabel)
    (axes,) = picture.axes
    axes.set(xscale="log", yscale="log", xticks=sorted(set(rows.x)))
    axes.yaxis.get_major_locator().set_params(subs=(1, 2, 5))
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
    return picture


# %% [markdown]
# ## Training: the longer the sentence, the more there is to hide
#
# Forwards and backwards, by the length of the sentences, as time a position. *In loops* is the definition: a softmax
# for every position and head over what it sees. *Dense* writes all scores of a sentence out and masks them; that is
# what runs on a CPU. *flex* is FlexAttention, which skips blocks; it goes backwards on CUDA alone.
#
# What is drawn of a CPU is a model of 6 layers and width 256 in float32 (in loops: of a single sentence), of a GPU the
# paper's in bfloat16: two machines, and two models. Compare forms, not machines.

# %%
training = rows_of("training")
training["microseconds"] = 1e6 * training.seconds_taken / training["count"]
picture = draw_powers(training, "microseconds", "words in a sentence", "microseconds a position")
plot.save(picture, "07_training_time")

# %%
training["KiB"] = training.bytes_a_position / 1024
picture = plot.draw_curves(lines(training, "KiB"), "words in a sentence", "KiB a position")
plot.save(picture, "07_training_memory")

# %% [markdown]
# On a CPU that is what is kept to go backwards, on a GPU the most that is held. Dense attention keeps the scores of
# all pairs: what a position costs grows with the sentence, while in layers and output it stays the same.

# %% tags=["table"]
on_cpu = training[training.machine == "CPU"]
table = on_cpu.pivot(index="x", columns="form", values="microseconds")
table["times as fast"] = table["in loops"] / table["dense"]
print(table.rename_axis(index="words", columns="").round(1).to_string(na_rep=""))

# %% [markdown]
# ## Many trees of a sentence: what they share is computed once
#
# log p(words) is summed over up to 300 trees. Their sequences begin alike, so as a trie they have fewer positions than
# a row each.

# %%
scoring = rows_of("scoring")
picture = draw_powers(scoring, "seconds_taken", "trees of a sentence of 12 words", "seconds")
plot.save(picture, "07_trees")

# %% tags=["table"]
tries, single = (
    scoring[(scoring.machine == "CPU") & (scoring.form == form)].set_index("x") for form in ("as a trie", "a row each")
)
shared, faster = single.positions / tries.positions, single.seconds_taken / tries.seconds_taken
print(pd.DataFrame({"positions shared": shared, "times as fast": faster}).rename_axis("trees").round(2))

# %%
scoring["KiB"] = scoring.bytes_of_structure / 1024
picture = draw_powers(scoring, "KiB", "trees of a sentence of 12 words", "KiB of who sees whom")
plot.save(picture, "07_trees_memory")

# %% [markdown]
# Memory is bounded in both, because only so many positions, or rows, are computed at once.
#
# What a parser proposes shares more or less than random trees do, by how sure it is; and *share* is how much of the
# sharing became speed:

# %% tags=["table"]
proposed = pd.DataFrame(RECORDS["scoring"].metrics).dropna(subset=["sharing"])
print(proposed[["what", "sharing", "faster", "share"]].round(2).to_string(index=False))

# %% [markdown]
# ## Beam search: the cache is as deep as the stack
#
# A position is computed once, and its keys and values stay for as long as somebody can see them. Without a cache every
# step would read every hypothesis again from its beginning; what that would take is projected from how many positions
# it would be, and flatters it: as if they could be read in batches that keep the machine busy, while a step from the
# cache costs something even where there is one hypothesis.

# %%
beam = rows_of("beam")
again = beam.assign(form="read again (projected)", seconds_taken=beam.read_again_seconds)
both = pd.concat([beam, again])
both["seconds"] = both.seconds_taken / both["count"]
picture = draw_powers(both, "seconds", "width of the beam", "seconds a word")
plot.save(picture, "07_beam")

# %%
picture = draw_powers(beam, "slots", "width of the beam", "positions in the cache at once")
plot.save(picture, "07_cache")

# %% [markdown]
# ### How far from its arithmetic
#
# A search multiplies each new position with the weights of every layer, and each position that predicts with the
# embeddings of what may come. *times* is the time that it takes over the time that these products would take alone, at
# the best rate of large ones in the same run.


# %% tags=["table"]
def measured(name, columns):
    """The figures of a record that have all of these columns, as text."""
    rows = pd.DataFrame(RECORDS[name].metrics if RECORDS[name] else []).reindex(columns=columns).dropna()
    return rows.round(4).to_string(index=False) if len(rows) else f"not measured: python benchmarks/{name}.py"


print(measured("beam", ["model", "beam", "sentences", "count", "seconds_taken", "a_sentence", "times", "slots"]))

# %% [markdown]
# What brought it there: the same search with one step undone takes so many times as long (*slower*), and computes so
# many times as many positions (*more*). Where the beam is wide, two steps are the largest: attention reads keys and
# values where they stand, instead of copying them into matrices of one row, and no distributions over the vocabulary
# are made.
#
# A hypothesis that has not taken the next word is given up when it can change nothing: all that comes of it is together
# no more probable than itself, the word beam is full of better ones, and of their sum it is less than rounding takes.
# That wins most where the word beam is narrow, and nothing where both beams are. Other exact bounds were looked for and
# not found: how probable the next word is after a transition can only be known by computing it.

# %% tags=["table"]
print(measured("steps", ["beam", "step", "count", "slower", "more"]))

# %% [markdown]
# These models have random weights, which leave a search undecided. Of a trained one most hypotheses are far behind, and
# can be dropped; what that wins, and what it loses of log p (in nats a sentence):

# %% tags=["table"]
within = pd.DataFrame(RECORDS["within"].metrics).dropna(subset=["lost"])
within["words a second"] = within["count"] / within.seconds_taken
print(within[["what", "words a second", "lost"]].round(4).to_string(index=False))

# %% [markdown]
# ## How far from the ceiling?
#
# The floor is the time that the products of matrices alone would take at the best rate that large square ones reach in
# the same run. The share is that floor over the time that training takes.

# %% tags=["table"]
shares = pd.DataFrame(RECORDS["training"].metrics)
rates = shares.dropna(subset=["giga_per_second"])
print(rates[["what", "giga_per_second"]].round(0).to_string(index=False), end="\n\n")
steps = shares[shares.what.str.contains("forward and backward")]
print(steps[["what", "share", "times_faster"]].round(2).to_string(index=False, na_rep=""))

# %% [markdown]
# Some of what is missing to 1 in float32 can be named: padding, which is computed and not counted; softmax, layer norms
# and embeddings, which move bytes and multiply little; and products that are smaller than those which set the rate. How
# much each takes was not measured. bfloat16 makes the products faster and nothing else, so its gain stays below the
# ratio of the two rates.
#
# ## What bfloat16 changes
#
# Where it scores instead of training, coarser products could change a decision. Here is by how much log p of a sentence
# differs (in nats), and how many of the minimal pairs are decided otherwise.


# %% tags=["table"]
def precision(record):
    """What the two precisions say of minimal pairs."""
    found = pd.DataFrame(record.metrics).dropna(subset=["changed_decisions"])
    found["sentences a second"] = found["count"] / found.seconds_taken
    return found[["what", "sentences a second", "mean_difference", "largest_difference", "changed_decisions"]].round(3)


for name in ("precision", "cuda"):
    print(precision(RECORDS[name]).to_string(index=False) if RECORDS[name] else f"{name}: not measured")

# %% [markdown]
# ## On a GPU, at the paper's size
#
# 252 million parameters and 32,768 pieces: how much of the card's rate training reaches, how many hours four epochs of
# BLLIP-LG would take (the paper: 35 on an A6000, for a DTG), how many minutes all of BLiMP and the test suites. *Share*
# leaves out attention's pairs here, which the CPU's counts. Training was measured on an H100, the checks and the trees
# on an H200. What is missing was not measured: DTG's checks, the curves above, and searches of all of this benchmark's
# sentences. A DTG has more positions than TXL (tokens), so it needs 2.4 times the hours, although a position costs both
# the same: the mask of the stack costs nothing.

# %% tags=["table"]
if RECORDS["cuda"] is None:
    print("not measured: there was no GPU; `python benchmarks/cuda.py` measures it on one")
else:
    for row in RECORDS["cuda"].metrics:
        if "curve" not in row:
            is_timed = "check:" not in row["what"]
            left_out = {"seconds", "what", "ratio", "gpu"} | (set() if is_timed else {"count", "seconds_taken"})
            beside = {key: value for key, value in row.items() if key not in left_out}
            print(f"{row['gpu']}, {row['what']}:", ", ".join(f"{key} {value:.4g}" for key, value in beside.items()))

# %% [markdown]
# A sum over 300 trees of nine words took the H200 20 to 25 ms in bfloat16, of which it computed little: it waited until
# it had been told a thousand small things for each sentence, while the same processor arranged the next one's tries (10
# ms). Since then, four sentences share what it is told; what that wins was not measured. A search waits for the same
# reason: of one sentence of ten words, with a beam of 300, it took 1.02 s, and 0.64 s since a kernel of its own reads
# keys and values where they stand; of 32 sentences at once 0.08 s each. CUDA graphs for the beam search were not tried.

# %% [markdown]
# ## More text than memory holds
#
# 42 million words (BLLIP-LG), or the 100 million of BabyLM, are compiled once into files, and read from there in every
# batch. A process of its own takes these stages for each number of sentences of minilang. Seconds are of the processor,
# and memory is the peak until the end of the stage. (Pieces are learnt from a million sentences at most.) With 5
# million sentences, which are 57 million words, it takes 15 minutes by the clock until everything is compiled, once,
# and 23 seconds at every start afterwards; 1.7 GiB of memory are enough, and 14 GiB lie on the disk. Batches that
# nobody has read before take half as long (by the clock) as the steps of this small model.

# %% tags=["table"]
if RECORDS["growth_of_data"] is None:
    print("not measured; `python benchmarks/growth_of_data.py` measures it")
else:
    data = pd.DataFrame(RECORDS["growth_of_data"].metrics).dropna(subset=["stage"]).astype({"sentences": int})
    for what in ("seconds_taken", "gibibytes", "gibibytes_on_disk"):
        table = data.pivot(index="stage", columns="sentences", values=what).loc[data.stage.unique()]
        print(f"{what}\n{table.rename_axis(index='', columns='sentences').round(2).to_string(na_rep='')}\n")
    # Batches and steps are of fewer sentences than the file has.
    data["rate"] = data["count"] / data.clock_seconds
    table = data.pivot(index="stage", columns="sentences", values="rate").loc[data.stage.unique()]
    print(f"sentences a second\n{table.rename_axis(index='', columns='sentences').round(0).to_string(na_rep='')}")

# %% [markdown]
# ## On paper: all of BLiMP, the suites, and BLLIP's test set, at the paper's size
#
# How long would it take to evaluate 252 million parameters, with 300 trees of a sentence or a beam of 300, on one GPU
# and on many? Measured on processors: how much trees share, how many positions a search computes, what a core does for
# a sentence before a network can read it. **The rates of a GPU are assumed, not measured**: the maker's figures for an
# H200, and a share of its peak that is thought to be within reach.

# %%
from math import ceil

from dtglib.decode.beam import Widths
from dtglib.network.transformer import TransformerConfig
from dtglib.parsing.propose import SENTENCES_PER_CALL

PEAK, SHARE = {"bfloat16": 989e12, "float32": 67e12}, 0.3  # assumed: operations a second, and how much of it is reached
SENT, DISK = 50e9, 2e9  # assumed: bytes a second from memory to each GPU, and from the disk that all machines share
MODEL, PIECES, WEIGHTS = TransformerConfig(), 32_768, 252e6 * 4  # bytes of weights; every process reads them once
SETS = {
    "BLiMP": (134_000, 9, SENTENCES_PER_CALL),
    "BLLIP, test": (3000, 24, SENTENCES_PER_CALL),
    "suites": (3132, 14, Widths(300).at_once),
}

OPERATIONS = pd.Series(  # additions and multiplications, forwards
    {
        "positions": 2 * MODEL.layers * MODEL.width * (4 * MODEL.width + 2 * MODEL.inner),
        "predictions": 2 * MODEL.width * PIECES,
        "pairs": 6 * MODEL.layers * MODEL.width,  # of positions: scores of contents and of distances, sums of values
    }
)

# %% [markdown]
# A set is so many sentences of so many words and marks (of BLLIP: what its size suggests), a piece each; one process
# computes a block of sentences as a whole. Here is what a core does for one of them, in milliseconds, by its words; and
# what the network then computes for it, sharing or not, and is sent:

# %% tags=["table"]
host = pd.DataFrame(RECORDS["host"].metrics)
trees = host.dropna(subset=["words"]).astype({"words": int})
milliseconds = (1000 * trees.seconds_taken / trees["count"]).groupby([trees.words, trees.stage], sort=False).sum()
print(milliseconds.unstack("stage").round(1), end="\n\n")
per_sentence = trees[trees.stage == "tries are made"].set_index("words")
sizes = ["positions_of_rows", "positions", "predictions", "pairs", "bytes_sent"]
print(per_sentence[sizes].round().astype(int))

# %% [markdown]
# A search computes its positions one after the other. How many they are, and what its steps cost where there is a
# single hypothesis and so hardly a network, is in the record of beams above (two cores, 6 layers). On a GPU steps have
# fixed costs of their own, which only a GPU can show.

# %%
on_cpu = beam[beam.machine == "CPU"].set_index("x")
a_word = on_cpu.positions[300] / on_cpu["count"][300]
of_search = pd.Series({"positions": a_word, "predictions": a_word, "pairs": 0, "bytes_sent": 0})
step_seconds = on_cpu.seconds_taken[1] / on_cpu["count"][1]  # a word, of all sentences that are searched together


def work(name):
    """What a whole set needs: operations and bytes of the network, and seconds of one core."""
    sentences, words, at_once = SETS[name]
    if name == "suites":
        sizes, core = of_search * words, step_seconds * words / at_once
    else:
        sizes, core = per_sentence.loc[words], milliseconds[words].sum() / 1000
    operations = (sizes[OPERATIONS.index].astype(float) * OPERATIONS).sum()
    return sentences * pd.Series({"operations": operations, "bytes": float(sizes.bytes_sent), "core": core})


print(pd.DataFrame({name: work(name) for name in SETS}).T.map("{:.2g}".format))

# %% [markdown]
# Each GPU has a process, whose core prepares one sentence while the GPU scores another: so the slower of the two
# decides. Before that the weights are read, and a row is written for every sentence:

# %% tags=["table"]
row_seconds = (host.seconds_taken / host["count"])[host.stage == "rows are written"].item()


def hours(name, gpus, precision):
    """How long a set takes: the process with the most blocks decides."""
    sentences, _, at_once = SETS[name]
    blocks = ceil(sentences / at_once)
    mine = work(name) * ceil(blocks / gpus) / blocks
    at_the_same_time = {
        "network": mine.operations / (PEAK[precision] * SHARE),
        "sent": mine.bytes / SENT,
        "core": mine.core,
    }
    apart = {"weights": gpus * WEIGHTS / DISK, "rows": row_seconds * ceil(blocks / gpus) * at_once}
    total = max(at_the_same_time.values()) + sum(apart.values())
    return {"hours": total / 3600} | {f"{part}, s": seconds for part, seconds in (at_the_same_time | apart).items()}


cases = [(precision, name, gpus) for precision in PEAK for name in SETS for gpus in (1, 8, 64)]
rows = {(precision, name, gpus): hours(name, gpus, precision) for precision, name, gpus in cases}
print(pd.DataFrame(rows).T.rename_axis(["", "set", "GPUs"]).map("{:.3g}".format).to_string())

# %% [markdown]
# ## What we found
#
# The two cores that were at hand are not steady: the same product of matrices took 10 to 21 ms in the records of one
# day. So what follows is rough.
#
# Matrix products in place of the definition's loops are 34 to 46 times as fast. From 5 to 80 words a position takes
# half as much memory again, because scores of all pairs are written out, and more time: a fifth in this record, six
# tenths in the one before. FlexAttention should save that; by how much, no GPU has shown yet. Training takes 1.4 to
# 1.7 times as long as its matrix products alone would.
#
# A trie turns 85 % and more of what 300 trees share into speed, which for the trees of a parser is 2.5 to 3.7 times as
# fast as a row each. (Of 25 words it mostly wins more than what is shared; why, was not measured.) Of one
# tree or three it is the slower way. A beam of 300 hypotheses that keeps the stack in a cache is here 4.6 times as fast
# as reading everything again would be at its best; a narrow one is not, because the fixed costs of a step decide there.
# A DTG with random weights takes 2.3 to 2.5 times as long for it as its products would at the best rate of large ones;
# a beam of 20 and a single sentence take eight times as long, because each step has a fixed cost.
# Dropping what is 8 nats behind, by a trained model on one core, makes the search eighteen times as fast, in part
# because more sentences share a step, and loses 0.0014 nats a sentence.
#
# On paper, an H200 that reaches three tenths of its peak in bfloat16 would score all of BLiMP, 300 trees a sentence, in
# some twelve minutes. The one core beside it needs 33 to prepare the sentences, most of them for arranging trees in
# tries: there, for BLLIP's test set and for the suites the processor is the limit, not the network; in float32 it is
# the network, with some three hours. Several threads a GPU that prepare sentences would be the remedy. Eight GPUs
# divide all of this by eight. On 64, in bfloat16, the longest part is that every process reads a gigabyte of weights
# from one disk, half a minute, and BLLIP's test set has blocks for 47 of them only. (Measured, a real H200 would have
# taken 45 to 56 minutes for BLiMP, sentence by sentence: the processor did not prepare one and tell the card what to do
# for another at the same time.) The parser, the bytes that are sent
# and the rows that are written take little. (This parser is *parser-ud*. The paper's, a RoBERTa, was not measured, and
# would run on the processor here.)
#
# bfloat16 moves log p of a sentence by 0.03 nats on average, and decided 2 of 490 minimal pairs otherwise. On these
# cores a model as small as the one of size `mini` scores 1.3 times as fast with it.
