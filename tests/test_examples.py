"""From a treebank to batches: nothing is cut, what is left out is named and counted, and little is lost to padding."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from minilang_samples import split
from toys import READING_OF, READINGS, by_kind, by_model
from trees import THERE_IS_A_DIFFERENCE

from dtglib.basics.errors import UserError
from dtglib.data.corpora import load
from dtglib.data.symbols import arcs
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import END, PAD, ROOT, Vocabulary
from dtglib.families.base import build
from dtglib.network.transformer import Batch, TransformerConfig, batch_of
from dtglib.runs.settings import read_size
from dtglib.sequences.batches import ROW, pack, pad
from dtglib.training.compiled import compiled_graphs, compiled_layers
from dtglib.training.examples import PACKED, Examples, layout_for

WORDS = ("There", "is", "a", "difference")
DIFFERENCE = Sentence(WORDS, THERE_IS_A_DIFFERENCE, id="difference")
SHORT = Sentence(("a", "difference"), (2, 0), id="short")
LONG = Sentence(WORDS * 5, (*range(2, 21), 0), id="long")
CROSSING = Sentence(WORDS, (3, 4, 0, 3), id="crossing")
TWO_ROOTS = Sentence(WORDS, (0, 1, 0, 3), id="two-roots")
RAW = Sentence(WORDS, id="raw")

VOCABULARY = Vocabulary.of_words([WORDS])
CPU, CUDA = torch.device("cpu"), torch.device("cuda")

by_every_kind_of_model = pytest.mark.parametrize("model", by_kind(READINGS))


def examples(model: str, *sentences: Sentence, longest: int | None = None) -> Examples:
    return Examples.of(model, READING_OF[model], VOCABULARY, Treebank(list(sentences), Counter()), longest)


def words_in(batch: Batch) -> list[list[str]]:
    """The words that are read in each row, where no arc repeats them."""
    rows = [batch.token[row][batch.arc[row] < 0] for row in range(len(batch.token))]
    return [VOCABULARY.decode([t for t in row.tolist() if t not in (PAD, ROOT, -1)]) for row in rows]


# ---- What is left out


def test_a_sentence_whose_arcs_reach_too_far_is_left_out_and_counted():
    """arc-swift draws the arc from "difference" back to "There" over both words between: LEFTARC[3]."""
    near, far = Vocabulary.of_words([WORDS], arcs(2)), Sentence(WORDS, (4, 1, 2, 0), id="far")
    mixed = Treebank([far, SHORT, far, DIFFERENCE], Counter())
    found = Examples.of("dtg-swift", READING_OF["dtg-swift"], near, mixed)
    assert found.names == ["short", "difference"]
    assert found.excluded == {"with an arc that reaches too far": 2}
    assert (
        found.checksum
        == Examples.of("dtg-swift", READING_OF["dtg-swift"], near, Treebank([SHORT, DIFFERENCE], Counter())).checksum
    )
    assert len(Examples.of("dtg", READING_OF["dtg"], near, mixed)) == 4
    with pytest.raises(
        UserError, match="dtg-swift; left out: 2 with an arc that reaches too far; take another transition system"
    ):
        Examples.of("dtg-swift", READING_OF["dtg-swift"], near, Treebank([far, far], Counter()))


@by_every_kind_of_model
def test_a_sentence_that_is_too_long_is_named_and_counted_and_no_other_is_cut(model):
    whole = examples(model, SHORT, LONG, DIFFERENCE)
    longest = int(whole.lengths.max()) - 1
    limited = examples(model, SHORT, LONG, DIFFERENCE, longest=longest)
    assert limited.names == ["short", "difference"]
    assert limited.too_long == ["long"]
    assert limited.excluded == {f"more than {longest} positions": 1}
    assert f"left out: 1 more than {longest} positions (long)" in limited.summary
    assert limited.lengths.tolist() == whole.lengths[[0, 2]].tolist()
    for number, other in ((0, 0), (1, 2)):
        for ours, theirs in zip(limited.sequences.sentence(number), whole.sequences.sentence(other), strict=True):
            assert np.array_equal(ours, theirs)


@by_every_kind_of_model
def test_a_sentence_may_be_just_as_long_as_the_limit(model):
    whole = examples(model, SHORT, LONG)
    limited = examples(model, SHORT, LONG, longest=int(whole.lengths.max()))
    assert (limited.names, limited.too_long, dict(limited.excluded)) == (["short", "long"], [], {})
    assert "left out" not in limited.summary


def test_of_many_sentences_that_are_too_long_all_are_kept_by_name_and_the_summary_names_the_first():
    many = [replace(LONG, id=f"long-{number}") for number in range(7)]
    limited = examples("dtg", SHORT, *many, longest=10)
    assert limited.too_long == [f"long-{number}" for number in range(7)]
    assert "7 more than 10 positions (long-0, long-1, long-2, long-3, long-4, ...)" in limited.summary


@by_every_kind_of_model
def test_sentences_without_one_projective_tree_are_counted(model):
    found = examples(model, SHORT, CROSSING, TWO_ROOTS, RAW, DIFFERENCE)
    assert found.names == ["short", "difference"]
    assert found.excluded == {"non-projective": 1, "multi-root": 1, "no tree": 1}
    assert found.summary.endswith("left out: 1 non-projective, 1 multi-root, 1 no tree")


def test_what_was_left_out_before_stays_counted():
    treebank = Treebank([SHORT, CROSSING], Counter({"bad UTF-8": 2}))
    assert Examples.of("dtg", READING_OF["dtg"], VOCABULARY, treebank, 100).excluded == {
        "bad UTF-8": 2,
        "non-projective": 1,
    }


def test_all_models_read_the_same_sentences():
    found = {tuple(examples(model, SHORT, CROSSING, LONG, RAW, DIFFERENCE).names) for model in READINGS}
    assert found == {("short", "long", "difference")}


def test_raw_text_is_read_by_txl_tokens():
    found = examples("txl-tokens", RAW, replace(RAW, id="other"))
    assert (found.names, len(found), dict(found.excluded)) == (["raw", "other"], 2, {})
    assert words_in(found.batch([0], 512, CPU)) == [list(WORDS)]


@pytest.mark.parametrize("model", by_model(sorted(READINGS.keys() - {"txl-tokens"})))
def test_raw_text_is_refused_by_the_models_that_need_trees(model):
    with pytest.raises(
        UserError,
        match=f"no sentence is left for model {model}; left out: 2 no tree; set parsed_by to a parser that draws them",
    ):
        examples(model, RAW, RAW)


def test_a_treebank_of_which_nothing_is_left_says_why():
    with pytest.raises(UserError, match="no sentence is left for model dtg; left out: 2 non-projective, 1 multi-root"):
        examples("dtg", CROSSING, CROSSING, TWO_ROOTS)
    with pytest.raises(UserError, match="no sentence is left for model txl-tokens: it is empty"):
        examples("txl-tokens")
    with pytest.raises(UserError, match="dtg; left out: 1 non-projective, 2 more than 3 positions; set longest higher"):
        examples("dtg", LONG, CROSSING, DIFFERENCE, longest=3)


# ---- Batches


@by_every_kind_of_model
def test_a_batch_holds_the_sentences_that_were_asked_for(model):
    found = examples(model, SHORT, LONG, DIFFERENCE)
    batch = found.batch([2, 0, 1], 512, CPU)
    assert words_in(batch) == [list(DIFFERENCE.words), list(SHORT.words), list(LONG.words)]
    assert int((batch.target == END).sum()) == 3


def test_the_checksum_is_of_what_the_model_reads():
    one, other = examples("dtg", SHORT, DIFFERENCE), examples("dtg", DIFFERENCE, SHORT)
    assert one.checksum == examples("dtg", replace(SHORT, id="x"), DIFFERENCE).checksum
    assert len({one.checksum, other.checksum, examples("dtg-eager", SHORT, DIFFERENCE).checksum}) == 3


def test_on_a_cpu_sentences_are_padded_and_on_cuda_they_are_packed():
    assert layout_for(CPU) != layout_for(CUDA)
    found = of_minilang("dtg")
    packed = layout_for(CUDA).place(found.sequences, range(100), 4 * ROW)
    assert packed.token.shape == (4, ROW)


def packed_batches(model: str, count: int, positions: int) -> list[Batch]:
    """Some batches of an epoch as a GPU gets them, the last of the epoch among them."""
    found = of_minilang(model)
    plan = found.plan(positions, np.random.default_rng(1), CUDA)
    return [
        batch_of(PACKED.place(found.sequences, numbers, positions), PACKED.form, CPU, PACKED.farthest(found, None))
        for numbers in (*plan[: count - 1], plan[-1])
    ]


# Slow: PyTorch compiles once, which only compiling shows.
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.slow
@pytest.mark.parametrize("model", ["dtg", "txl-tokens"])
def test_packed_batches_are_of_one_shape_and_code_that_is_compiled_for_the_first_does_for_all(model):
    """On a CPU FlexAttention goes forwards alone, but what makes PyTorch compile anew is the same: other shapes."""
    batches = packed_batches(model, 3, 2 * ROW)
    assert len({(batch.token.shape, batch.farthest) for batch in batches}) == 1
    assert len({len(batch.target) for batch in batches}) == 3
    torch.manual_seed(1)
    network = build(TransformerConfig(model=model, layers=1, width=8, heads=1, inner=8), of_minilang_vocabulary())
    torch._dynamo.reset()
    with torch.no_grad():
        expected = [network.loss(batch)[0] for batch in batches]
        before = compiled_graphs()
        with compiled_layers(network, "eager"):
            for number, batch in enumerate(batches):
                with torch.compiler.set_stance("fail_on_recompile" if number else "default"):
                    torch.testing.assert_close(network.loss(batch)[0], expected[number])
    assert compiled_graphs() - before == 2  # a layer, and what reads the targets off


# ---- Padding, in the sizes that are used


MINI = read_size("mini").train


@cache
def of_minilang_vocabulary() -> Vocabulary:
    return Vocabulary.of_words(sentence.words for sentence in split("train"))


@cache
def of_minilang(model: str) -> Examples:
    return Examples.of(
        model, READING_OF[model], of_minilang_vocabulary(), Treebank(list(split("train")), Counter()), 512
    )


@cache
def of_english(model: str) -> Examples:
    treebank = load("UD_English-GUM", "train")
    return Examples.of(
        model, READING_OF[model], Vocabulary.of_words(s.words for s in treebank.sentences), treebank, MINI.longest
    )


def padding(found: Examples) -> float:
    """The share of an epoch's positions that is padding."""
    plan = found.plan(MINI.batch_positions, np.random.default_rng([1, 0]), CPU)
    sizes = [pad(found.sequences, batch).token.size for batch in plan]
    assert max(sizes) <= MINI.batch_positions
    return 1 - found.lengths.sum() / sum(sizes)


def unfilled(found: Examples) -> float:
    """The same in packed rows, which on CUDA take the place of padding."""
    plan = found.plan(8 * ROW, np.random.default_rng([1, 0]), CUDA)
    rows = [len(pack(found.sequences, batch, ROW).token) for batch in plan]
    assert set(rows[:-1]) <= {8} and rows[-1] <= 8
    return 1 - found.lengths.sum() / (sum(rows) * ROW)


@by_every_kind_of_model
def test_on_minilang_less_than_a_twentieth_is_padding(model):
    assert padding(of_minilang(model)) < 0.05
    assert unfilled(of_minilang(model)) < 0.05


# Slow: lengths as in a real treebank.
@pytest.mark.slow
@by_every_kind_of_model
def test_on_a_treebank_less_than_a_twentieth_is_padding(model, data):
    found = of_english(model)
    assert found.excluded["non-projective"] > 200
    assert padding(found) < 0.05
    assert unfilled(found) < 0.05
