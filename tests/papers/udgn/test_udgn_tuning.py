"""Models of masked words that are tuned for similarity: what is read and compared, what learns, and the command."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from running import CONFIGS, lines
from torch.testing import assert_close
from toys import CPU, SENTENCES, tiny_repository

from dtglib.basics.config import read_config
from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.vocabulary import UNKNOWN, Vocabulary
from dtglib.families.base import family
from dtgpapers.tuning.judged import Judged
from dtgpapers.tuning.tasks import task_named
from dtgpapers.tuning.tuning import ItemsConfig
from dtgpapers.tuning.ways import TaskItem, tunings
from dtgpapers.udgn.masked import SYMBOLS, MaskedModel
from dtgpapers.udgn.tuning.config import PairTraining, TunedUdgnConfig
from dtgpapers.udgn.tuning.examples import PairBatch, PairExamples
from dtgpapers.udgn.tuning.network import Similarity

pytestmark = pytest.mark.usefixtures("one_thread")

STS = task_named("sts-b")
SIZES = {"layers": 2, "width": 8, "heads": 2, "rarest": 1}
OF_UDGN = {"heads_width": 8, "parser_layers": 1}
WAYS = {way.name: way for name in ("udgn", "udgn-transformer") for way in tunings(name)}


def vocabulary() -> Vocabulary:
    return Vocabulary.of_words([[word.lower() for word in words] for words in SENTENCES], SYMBOLS)


def trained(name: str) -> MaskedModel:
    kind = family(name)
    torch.manual_seed(2)
    return kind.build(kind.config(**SIZES, **(OF_UDGN if name == "udgn" else {"inner": 16})), vocabulary())


def network(way: str, seed: int = 1, **more) -> Similarity:
    """New, around the weights of a trained model."""
    chosen = WAYS[way]
    own = OF_UDGN if chosen.family == "udgn" else {"inner": 16}
    config = chosen.config(**SIZES, **own, **chosen.fixed(STS), dropout=0.0, **more)
    torch.manual_seed(seed)
    return chosen.build(config, trained(chosen.family)).eval()


def items() -> list[TaskItem]:
    found = []
    for number in range(5):
        words = tuple(map(tuple, (SENTENCES[number], SENTENCES[(number + 3) % 6])))
        found.append(TaskItem(Judged(tuple(map(" ".join, words)), number / 2, "toy", f"toy-{number}"), words))
    return found


def examples(longest: int | None = None) -> PairExamples:
    return PairExamples.of(TunedUdgnConfig(**SIZES, **OF_UDGN), vocabulary(), STS, items(), longest)


def batch(*numbers: int) -> PairBatch:
    return examples().batch(np.array(numbers or range(5)), 0, CPU)


# ---- What is read


def test_a_batch_has_all_first_sentences_and_then_all_second_ones():
    data, speaks = examples(), vocabulary()
    found = batch(1, 4)
    read = [
        [speaks.entries[i].removeprefix("▁") for i in row[:n]]
        for row, n in zip(found.sentences.token.tolist(), found.sentences.length.tolist(), strict=True)
    ]
    expected = [data.items[number].words[place] for place in (0, 1) for number in (1, 4)]
    assert read == [[word.lower() for word in words if word not in (",", ".")] for words in expected]
    assert found.gold.tolist() == [0.5, 2.0]


def test_a_sentence_of_punctuation_is_an_unknown_word():
    odd = TaskItem(Judged(("...", "there is"), 1.0, "toy", "toy"), (("...",), ("there", "is")))
    data = PairExamples.of(TunedUdgnConfig(**SIZES, **OF_UDGN), vocabulary(), STS, [odd])
    assert data.ids[0][0].tolist() == [UNKNOWN] and len(data.ids[0][1]) == 2


def test_what_is_too_long_is_named():
    longest = [max(map(len, pair)) for pair in examples().ids]
    most = sorted(longest)[2]
    out = [f"toy-{number}" for number, words in enumerate(longest) if words > most]
    assert 0 < len(out) < 5 and examples(most).too_long == out
    assert examples(most).summary.endswith(f"left out: {len(out)} too long")
    with pytest.raises(UserError, match="sts-b: no item has at most 1 words"):
        examples(1)


def test_a_checksum_depends_on_words_and_scores():
    data = examples()
    better = [data.items[0]._replace(judged=data.items[0].judged._replace(gold=5.0)), *data.items[1:]]
    others = replace(data, items=better), replace(data, ids=[data.ids[0][::-1], *data.ids[1:]])
    assert len({one.checksum for one in (data, examples(), *others)}) == 3


# ---- What is compared


@pytest.mark.parametrize("way", WAYS)
def test_scores_are_those_of_the_definition_one_pair_at_a_time(way):
    net, data = network(way), examples()
    inner, score = net.compare[1], net.compare[4]
    with torch.no_grad():
        found = net.answers(batch())
        for number in range(5):
            alone = data.batch([number], 0, CPU).sentences
            states = net.body(alone)
            u, v = (row[:n].mean(0) for row, n in zip(states, alone.length.tolist(), strict=True))
            hidden = torch.nn.functional.elu(inner.weight @ torch.cat([u * v, (u - v).abs()]) + inner.bias)
            expected = 5 / (1 + torch.exp(-(score.weight @ hidden + score.bias)))
            assert_close(found[number : number + 1], expected)


def test_the_loss_is_the_squared_error():
    net, given = network("udgn"), batch()
    nats, parts = net.loss(given)
    assert_close(nats, sum((a - g) ** 2 for a, g in zip(net.answers(given), given.gold, strict=True)))
    assert parts["score"].events == 5


@pytest.mark.parametrize("way", WAYS)
def test_the_body_has_the_weights_of_the_trained_model(way):
    net, weights = network(way), trained(WAYS[way].family).state_dict()
    own = net.body.state_dict()
    assert own.keys() <= weights.keys() and "embedding.weight" in own
    assert (own.keys() == weights.keys()) == (way != "udgn-bag")
    for name, weight in own.items():
        assert_close(weight, weights[name])


def test_to_a_bag_of_words_their_order_is_all_one():
    data = examples()
    turned = replace(data, ids=[tuple(ids[::-1].copy() for ids in pair) for pair in data.ids])
    for way, is_bag in (("udgn-bag", True), ("udgn", False)):
        net = network(way)
        with torch.no_grad():
            one, other = (net.means(some.batch(np.arange(5), 0, CPU).sentences) for some in (data, turned))
        assert torch.allclose(one, other, atol=1e-6) == is_bag


# ---- What learns


@pytest.mark.parametrize("way", WAYS)
def test_a_frozen_parser_does_not_learn_and_all_else_does(way):
    net = network(way).train()
    before = {name: weight.detach().clone() for name, weight in net.named_parameters()}
    optimizer = PairTraining(learning_rate=0.01).optimizer(net)
    for group in optimizer.param_groups:
        group["lr"] = 0.01
    net.loss(batch())[0].backward()
    optimizer.step()
    parser = [name for name in before if name.startswith("body.parser.")]
    moved = {name for name, weight in net.named_parameters() if not torch.equal(weight, before[name])}
    assert bool(parser) == (WAYS[way].family == "udgn" and way != "udgn-bag")
    assert bool(moved & set(parser)) == (way == "udgn")
    assert {"body.embedding.weight", "compare.1.weight", "compare.4.bias"} <= moved


def test_a_step_is_divided_by_its_pairs():
    assert PairTraining().size(np.array([20, 30])) == 2
    assert PairTraining().optimizer(network("udgn")).defaults["weight_decay"] == 1e-6


@pytest.mark.parametrize("way", WAYS)
def test_it_is_saved_and_restored(way, tmp_path):
    net = network(way)
    net.save(tmp_path)
    with torch.no_grad():
        assert torch.equal(WAYS[way].load(tmp_path, "cpu").answers(batch()), net.answers(batch()))


def test_labels_are_refused():
    with pytest.raises(UserError, match="mrpc: models of masked words are tuned for scores of pairs"):
        WAYS["udgn"].fixed(task_named("mrpc"))


def test_its_config_is_read():
    for way in WAYS.values():
        path = CONFIGS / "tuning" / "udgn.yaml"
        _, training, items = read_config(path, way.config, way.training, ItemsConfig)
        assert (training.learning_rate, training.clip) == (3e-4, 5.0)
        assert items.train_items is None


# ---- The command


def test_one_command_tunes_in_all_ways_and_tests_on_other_tasks(tmp_path, monkeypatch, capsys):
    folder = tiny_repository(tmp_path)
    trained("udgn").save(folder / "body")
    chance = np.random.default_rng(1)
    for name, parts in (("STSBenchmark", ("train", "dev", "test")), ("STS16-en-test", ("a",))):
        (folder / "data" / "sts" / name).mkdir(parents=True)
        for part in parts:
            write_pairs(folder / "data" / "sts" / name, part, chance)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("DTG_DATA", raising=False)
    about = ["--model", "body", "--task", "sts-b", "--also", "sts16", "--set", "epochs=2", "--out", "out"]
    assert main(["tune", str(CONFIGS / "tuning" / "udgn.yaml"), *about]) == 0
    out, err = capsys.readouterr()
    assert "graphs" not in err and "UDGN (Freeze parser)" in out and "bag of words" in out
    found = lines(folder / "out", "scores")
    ways = ("udgn-bag", "udgn-frozen-parser", "udgn")
    assert [(line["way"], line["on"], line["items"]) for line in found] == [
        (way, on, 12) for way in ways for on in ("dev", "test", "sts16")
    ]
    assert len({line["folder"] for line in lines(folder / "out", "tuning")}) == 3


def write_pairs(folder: Path, part: str, chance: np.random.Generator) -> None:
    rows = []
    for _ in range(12):
        pair = [" ".join(chance.choice(["there", "is", "a", "difference", "the", "keys"], 4)) for _ in "ab"]
        rows.append((f"{len(set(pair[0].split()) & set(pair[1].split()))}.0", *pair))
    if part == "a":
        (folder / "STS.input.a.txt").write_text("".join(f"{one}\t{other}\n" for _, one, other in rows))
        (folder / "STS.gs.a.txt").write_text("".join(f"{score}\n" for score, *_ in rows))
    else:
        text = "".join(f"g\ts\ty\tn\t{score}\t{one}\t{other}\n" for score, one, other in rows)
        (folder / f"sts-{part}.csv").write_text(text)
