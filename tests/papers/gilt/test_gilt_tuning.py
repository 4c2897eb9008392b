"""GiLT-TXL: a trained Transformer-XL that is tuned with graphs, and the same without."""

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close
from toys import CPU, SENTENCES, small_model, symbols_in, vocabulary

from dtglib.basics.errors import UserError
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import END, MARK
from dtglib.families.base import family
from dtglib.network.transformer import Transformer
from dtgpapers.gilt import attention
from dtgpapers.gilt.graphs import Graph
from dtgpapers.gilt.tape import tapes
from dtgpapers.gilt.tuning.config import TunedConfig, TunedTraining
from dtgpapers.gilt.tuning.examples import AskedBatch, PromptExamples
from dtgpapers.gilt.tuning.network import GiltTxl, Labelling, Scoring, load_tuned, tuned
from dtgpapers.gilt.tuning.prompts import PROMPTS, Prompt, choice_between
from dtgpapers.tuning.judged import Judged
from dtgpapers.tuning.tasks import Task, task_named
from dtgpapers.tuning.ways import TaskItem, Tuning, tunings

SIZES = {"layers": 3, "width": 16, "heads": 2, "inner": 32}
CONFIG = TunedConfig(**SIZES, graph_layers=2, feature_width=6, depth="root")
STS, MRPC = task_named("sts-b"), task_named("mrpc")
LABELLED = replace(CONFIG, answers="label")

pytestmark = pytest.mark.usefixtures("one_thread")


def items(task: Task = STS) -> list[TaskItem]:
    """Pairs of sentences of different lengths, whose graphs have several heads, cycles and arcs of ROOT."""
    chance, found = np.random.default_rng(1), []
    for number in range(5):
        words = tuple(map(tuple, (SENTENCES[number], SENTENCES[(number + 3) % 6])))
        gold = float(number % 2) if task.labels else number / 2
        trees = tuple(tuple(map(int, arcs(chance, len(sentence)).ravel())) for sentence in words)
        found.append(TaskItem(Judged(tuple(map(" ".join, words)), gold, "toy", f"toy-{number}"), words, trees))
    return found


def arcs(chance: np.random.Generator, words: int) -> np.ndarray:
    found = np.stack([chance.integers(0, words + 1, 2 * words), chance.integers(1, words + 1, 2 * words)], 1)
    return found[found[:, 0] != found[:, 1]]


def txl() -> Transformer:
    return small_model("txl-tokens", layers=3).eval()


def examples(config: TunedConfig = CONFIG, task: Task = STS, of: Sequence[TaskItem] | None = None) -> PromptExamples:
    return PromptExamples.of(config, vocabulary("pieces"), task, of or items(task))


def batch(config: TunedConfig = CONFIG, task: Task = STS, of: Sequence[TaskItem] | None = None) -> AskedBatch:
    found = examples(config, task, of)
    return found.batch(np.arange(len(found)), 0, CPU)


def network(config: TunedConfig = CONFIG, seed: int = 1) -> GiltTxl:
    trained = txl()
    torch.manual_seed(seed)
    return tuned(config, trained).eval()


# ---- Prompts


@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_have_a_place_for_each_sentence_and_a_word_for_each_label(name):
    task, prompt = task_named(name), PROMPTS[name]
    count = 1 if name == "sst-2" else 2
    filled = prompt.filled([("There", "is"), ("a", "difference")][:count])
    assert [filled.words[first - 1 : first + 1] for first in filled.first] == [("There", "is"), ("a", "difference")][
        :count
    ]
    assert filled.words[:2] == ("Sentence1", ":") and filled.words[-1] == ":"
    assert len(prompt.labels) == len(task.labels)


def test_labels_are_told_apart_by_the_first_piece_in_which_they_differ():
    speaks = vocabulary("pieces")
    for labels in (("0", "1"), ("inequivalent", "equivalent"), ("theirs", "theirsthe"), ("theirsthe", "theirs")):
        choice = choice_between(speaks, labels)
        for label, piece in zip(labels, choice.pieces, strict=True):
            whole = (*speaks.encode([label]).ids, END)
            assert whole[: len(choice.common) + 1] == (*choice.common, piece)
        assert choice.pieces[0] != choice.pieces[1]
    bare = speaks.entries.index(MARK)
    assert choice_between(speaks, ("0", "1")).common == (bare,), "here both begin with the bare mark"
    assert choice_between(speaks, ("theirs", "theirsthe")).pieces[0] == END
    with pytest.raises(UserError, match="does not tell '0' from '1'; take one of pieces"):
        choice_between(vocabulary("words"), ("0", "1"))


def test_a_prompt_ends_where_the_answer_is_asked():
    speaks = vocabulary("pieces")
    for config, task in ((CONFIG, STS), (LABELLED, MRPC)):
        found, prompt = examples(config, task), PROMPTS[task.name]
        common = choice_between(speaks, prompt.labels).common if prompt.labels else ()
        for number, item in enumerate(found.items):
            sequence = found.sequences.sentence(number)
            filled = prompt.filled(item.words)
            assert tuple(sequence.token[1:]) == (*speaks.encode(filled.words).ids, *common)
            assert (sequence.target[:-1] == -1).all()
            asked = found.choices[int(item.judged.gold)] if task.labels else END
            assert sequence.target[-1] == asked
            assert (sequence.last == len(sequence.token) - 1).all()


# ---- Tapes


def tape_by_definition(item: TaskItem, depth: str) -> dict[tuple[int, int], list[int]]:
    """The features that word i of the prompt sees of word j, for all pairs within one sentence, and no others."""
    found = {}
    for words, tree, first in zip(item.words, item.trees, PROMPTS["sts-b"].filled(item.words).first, strict=True):
        tape = tapes(Graph.of(len(words), zip(tree[::2], tree[1::2], strict=True)), depth)
        for i in range(len(words)):
            for j in range(i + 1):
                found[first + i, first + j] = tape[i + 1, :, j + 1].tolist()
    return found


@pytest.mark.parametrize("depth", ["paper", "root"])
def test_each_sentence_has_a_tape_of_its_own_and_the_prompt_has_none(depth):
    found = examples(replace(CONFIG, depth=depth))
    given = found.batch(np.arange(len(found)), 0, CPU).batch
    for row, item in enumerate(found.items):
        expected, word = tape_by_definition(item, depth), found.sequences.sentence(row).word
        width = given.token.shape[1]
        assert len(word) <= width
        for i in range(width):
            for j in range(i + 1):
                pair = (int(word[i]), int(word[j])) if i < len(word) else (0, 0)
                assert given.bias[row, :, i, j].tolist() == expected.get(pair, [0] * 4), (row, pair)
    assert given.bias.any()


def test_an_arc_of_one_sentence_changes_nothing_that_the_other_one_sees():
    one, *_ = items()
    other = one._replace(trees=((0, 1), one.trees[1]))
    first, second = (batch(of=[item]).batch.bias[0] for item in (one, other))
    begins = PROMPTS["sts-b"].filled(one.words).first[1]
    word = torch.from_numpy(examples(of=[one]).sequences.sentence(0).word)
    of_second = word >= begins
    assert (first != second).any()
    assert_close(first[:, of_second], second[:, of_second], rtol=0, atol=0)


def test_sentences_without_arcs_or_words_are_allowed_and_lacking_graphs_are_named():
    one, *_ = items()
    degrees, distances, *_ = batch(of=[one._replace(trees=((), ()))]).batch.bias[0]
    assert not degrees.any() and not distances.any()
    assert batch(of=[one._replace(words=((), one.words[1]), trees=((), one.trees[1]))]).batch.bias.any()
    with pytest.raises(UserError, match="toy-0: has 0 graphs for 2 sentences"):
        batch(of=[one._replace(trees=())])


# ---- The network


def txls_answers(trained: Transformer, given: AskedBatch) -> torch.Tensor:
    return trained(given.batch._replace(bias=None)).flatten(0, 1)[given.batch.predicts]


@pytest.mark.parametrize("layers", [0, 2, 3])
def test_without_the_graph_term_it_is_the_trained_model(layers):
    config = replace(CONFIG, graph_layers=layers)
    ours, given = network(config), batch(config)
    with torch.no_grad():
        if layers:
            assert (ours.asked(given) - txls_answers(txl(), given)).abs().max() > 1e-3
            ours.tables.zero_()
            for block in ours.blocks[3 - layers :]:
                for linear in block.fuse:
                    linear.bias.zero_()
        assert_close(ours.asked(given), txls_answers(txl(), given), atol=1e-6, rtol=0)
    assert [hasattr(block, "fuse") for block in ours.blocks] == [False] * (3 - layers) + [True] * layers


@pytest.mark.parametrize("keys", ["content", "position"])
def test_answers_and_gradients_are_those_of_the_graph_term_by_its_definition(keys, monkeypatch):
    """A vector for each pair of positions: see dtgpapers/gilt/attention.py."""
    ours, given, found = network(replace(CONFIG, graph_keys=keys)), batch(), []
    for form in (attention.graph_term, attention.naive):
        monkeypatch.setattr(attention, "graph_term", form)
        ours.zero_grad()
        answers = ours.answers(given)
        (answers * torch.arange(1.0, 6)).sum().backward()
        found.append([answers.detach(), ours.tables.grad, ours.blocks[1].fuse[2].weight.grad, ours.u.grad])
    for fast, slow in zip(*found, strict=True):
        assert_close(fast, slow, rtol=1e-3, atol=1e-5)
        assert fast.abs().max() > 1e-4


def test_padding_and_neighbours_change_nothing():
    for config, task in ((CONFIG, STS), (LABELLED, MRPC)):
        ours = network(config)
        with torch.no_grad():
            together = ours.answers(batch(config, task))
            alone = torch.cat([ours.answers(batch(config, task, [item])) for item in items(task)])
        assert_close(together, alone, atol=1e-5, rtol=0)


def test_the_loss_of_scores_is_the_squared_error():
    ours, given = network(), batch()
    nats, parts = ours.loss(given)
    assert type(ours) is Scoring
    assert nats.item() == pytest.approx(((ours.answers(given) - given.gold) ** 2).sum().item())
    assert parts["score"].events == 5 and parts["score"].nats.item() == pytest.approx(nats.item())


def test_the_loss_of_labels_is_that_of_the_label_alone():
    """The probabilities of other words do not matter, but for the vector of the last position."""
    ours, given = network(LABELLED), batch(LABELLED, MRPC)
    assert type(ours) is Labelling
    x = ours.asked(given)
    log_probs = ours.output(x, ours.embedding.weight, given.batch.legal)
    golds = [given.choices[int(gold)] for gold in given.gold]
    expected = -sum(log_probs[row, piece] for row, piece in enumerate(golds))
    nats, parts = ours.loss(given)
    assert nats.item() == pytest.approx(expected.item()) and list(parts) == ["label"] and parts["label"].events == 5
    odds = torch.stack([log_probs[row, given.choices[1]] - log_probs[row, given.choices[0]] for row in range(5)])
    assert_close(ours.answers(given), odds)
    changed = [item._replace(judged=item.judged._replace(gold=1 - item.judged.gold)) for item in items(MRPC)]
    with torch.no_grad():
        assert_close(ours.answers(batch(LABELLED, MRPC, changed)), ours.answers(given), rtol=0, atol=0)


def test_gradients_reach_all_that_reads_the_graph_and_no_plain_layer_has_any_of_it():
    for config, task in ((CONFIG, STS), (LABELLED, MRPC)):
        ours = network(config)
        ours.loss(batch(config, task))[0].backward()
        for name, parameter in ours.named_parameters():
            if name == "tables" or (name.startswith(("score", "blocks.1.fuse")) and "bias" not in name):
                assert parameter.grad.abs().max() > 1e-6, name
        assert all(ours.tables.grad[feature].any() for feature in range(4))
        assert not hasattr(ours.blocks[0], "fuse")


def test_what_is_new_is_random_and_the_rest_is_the_trained_models():
    one, other, trained = network(seed=1), network(seed=2), txl()
    theirs = trained.state_dict()
    for name, tensor in one.state_dict().items():
        if name in theirs:
            assert_close(tensor, theirs[name], rtol=0, atol=0)
        else:
            assert (tensor != other.state_dict()[name]).any(), name
    assert {name.split(".")[0] for name in one.state_dict().keys() - theirs.keys()} == {"tables", "blocks", "score"}


def test_it_is_saved_and_loaded(tmp_path):
    for config, task in ((CONFIG, STS), (LABELLED, MRPC), (replace(CONFIG, graph_layers=0), STS)):
        ours = network(config)
        ours.save(tmp_path / "it")
        again = load_tuned(tmp_path / "it")
        assert type(again) is type(ours) and again.config == config
        assert_close(again.state_dict(), ours.state_dict(), rtol=0, atol=0)
        with torch.no_grad():
            # Copied, because in a file weights begin anywhere, and some processors then add up in another order.
            loaded = deepcopy(again)
            assert_close(loaded.answers(batch(config, task)), ours.answers(batch(config, task)), rtol=0, atol=0)


def test_it_computes_in_bfloat16_too_and_scores_stay_fine():
    ours, given = network(), batch()
    with torch.autocast("cpu", torch.bfloat16):
        nats, _ = ours.loss(given)
        nats.backward()
        assert ours.answers(given).dtype == torch.float32
    assert nats.item() == pytest.approx(ours.loss(given)[0].item(), rel=0.05)


# ---- Judgements


def test_answers_are_judged_within_the_scale():
    found = examples()
    assert found.judged(np.array([-9.0, 0.5, 1.0, 1.5, 99.0]))["Pearson"] == pytest.approx(
        np.corrcoef([0, 0.5, 1, 1.5, 5], [0, 0.5, 1, 1.5, 2])[0, 1]
    )
    assert found.judged(np.arange(5.0))["Spearman"] == pytest.approx(1)
    assert found.judged(np.full(5, 9.0)) == {"Pearson": 0.0, "Spearman": 0.0}


def test_labels_are_judged_by_the_sign_of_their_odds():
    found = examples(LABELLED, MRPC)
    assert found.golds.tolist() == [0, 1, 0, 1, 0]
    assert found.judged(np.array([-1.0, 2.0, -0.1, 0.3, -5.0])) == {"accuracy": 1.0, "F1": 1.0}
    assert found.judged(np.array([1.0, 2.0, 1.0, -0.3, -5.0])) == {"accuracy": 0.4, "F1": 0.4}
    assert found.judged(np.full(5, -1.0))["F1"] == 0.0


# ---- Data and settings


def test_long_prompts_are_left_out_by_name_and_checksums_know_graphs_and_golds():
    found = examples()
    limit = int(np.sort(found.lengths)[2])
    short = PromptExamples.of(CONFIG, vocabulary("pieces"), STS, items(), limit)
    kept = [name for name, length in zip(found.names, found.lengths, strict=True) if length <= limit]
    assert short.names == kept and sorted(short.names + short.too_long) == found.names
    assert f"left out: {len(short.too_long)} too long" in short.summary
    with pytest.raises(UserError, match="no item has at most 3 positions; set longest higher"):
        PromptExamples.of(CONFIG, vocabulary("pieces"), STS, items(), 3)
    one, *rest = items()
    other = one._replace(trees=((), one.trees[1]))
    better = one._replace(judged=one.judged._replace(gold=5.0))
    sums = {examples(of=[first, *rest]).checksum for first in (one, other, better)}
    assert len(sums) == 3 and examples().checksum in sums


def test_the_rate_is_the_papers_and_constant():
    training = TunedTraining()
    assert {training.rate(step, 100, []) for step in range(100)} == {3e-6}


@pytest.mark.parametrize("layers", [-1, 1, 4])
def test_impossible_numbers_of_graph_layers_are_refused(layers):
    with pytest.raises(UserError, match=f"must be 0, or from 2 to 3, the number of layers, not {layers}"):
        replace(CONFIG, graph_layers=layers)


def test_in_the_last_layer_the_graph_changes_no_answer():
    ours, given = network(), batch()
    with torch.no_grad():
        before = ours.answers(given)
        for linear in ours.blocks[2].fuse:
            linear.weight.mul_(-3)
        assert_close(ours.answers(given), before, atol=1e-5, rtol=0)
        for linear in ours.blocks[1].fuse:
            linear.weight.mul_(-3)
        assert (ours.answers(given) - before).abs().max() > 1e-3


def test_ways_to_tune_are_those_of_the_models_family():
    assert [way.name for way in tunings("txl-tokens")] == ["txl", "gilt-txl"]
    assert all(isinstance(way, Tuning) for way in tunings("txl-tokens"))
    with pytest.raises(UserError, match=r"no way to tune a model of DTG; name one of TXL \(tokens\)"):
        tunings("dtg")


def test_a_model_with_other_weights_is_refused():
    pushdown = family("pushdown")
    treebank = Treebank([Sentence(("a",))], Counter())
    speaks = vocabulary("pieces").with_symbols(symbols_in(pushdown, None, treebank))
    trained = pushdown.build(pushdown.config("pushdown", **SIZES), speaks)
    with pytest.raises(UserError, match="other weights than a Transformer-XL"):
        tuned(CONFIG, trained)


# ---- Learning


def learned(config: TunedConfig, given: AskedBatch, steps: int) -> GiltTxl:
    """A network after so many steps on one batch."""
    ours = network(config)
    optimizer = torch.optim.AdamW(ours.parameters(), 3e-3)
    for _ in range(steps):
        nats, _ = ours.loss(given)
        optimizer.zero_grad()
        nats.backward()
        optimizer.step()
    return ours


@torch.no_grad()
def judged(ours: GiltTxl, data: PromptExamples) -> dict[str, float]:
    return data.judged(ours.answers(data.batch(np.arange(len(data)), 0, CPU)).numpy().astype(np.float64))


@pytest.mark.parametrize(("config", "task"), [(CONFIG, STS), (LABELLED, MRPC)])
def test_it_learns_a_handful_of_pairs_by_heart(config, task):
    of = [item._replace(words=(item.words[0][:4], ("a",)), trees=((), ())) for item in items(task)]
    ours = learned(config, batch(config, task, of[:4]), steps=50)
    assert next(iter(judged(ours, examples(config, task, of[:4])).values())) > 0.99


# Slow: nothing faster shows that what is tuned uses the graph.
@pytest.mark.slow
def test_what_only_the_graph_tells_is_learned_with_it_alone():
    """All pairs have the same words; the score is how many of the two sentences have an arc from ROOT to their end."""
    chance, found = np.random.default_rng(3), []
    words = (("is", "a", "difference"), ("is", "a", "difference"))
    for number in range(64):
        ends = chance.integers(0, 2, 2)
        trees = tuple((0, 3, 3, 2) if end else (0, 1, 1, 2) for end in ends)
        found.append(TaskItem(Judged(("", ""), float(ends.sum()), "toy", f"toy-{number}"), words, trees))
    pearson = []
    for layers in (2, 0):
        config = replace(CONFIG, graph_layers=layers)
        ours = learned(config, batch(config, of=found[:32]), steps=150)
        pearson.append(judged(ours, examples(config, of=found[32:]))["Pearson"])
    # Without graphs all answers are the same, but for the last digits.
    assert pearson[0] > 0.99 and abs(pearson[1]) < 0.5


def test_a_prompt_of_ones_own_has_as_many_places_as_sentences():
    with pytest.raises(ValueError, match="zip"):
        Prompt("One: {}").filled([("a",), ("b",)])
