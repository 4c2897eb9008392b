"""UDGN from sentences to a trained model: what is read, batches, Adam and its rate, masks that any run draws alike, its
scores and what they are called, and the command that shows its trees."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import with_one_thread
from running import WEIGHTS_FILE, assert_one_line, interrupted_at, lines, tensors, without_conventions
from torch import nn

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.corpora import load
from dtglib.data.symbols import ARCS
from dtglib.data.treebank import Sentence, Treebank, TreebankError, format_conllu
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import search
from dtglib.evaluate.likelihood import score_words
from dtglib.evaluate.perplexity import SentenceScore, perplexity
from dtglib.evaluate.surprisal import surprisals
from dtglib.families.base import family, family_of, load_model
from dtglib.network.transformer import TransformerConfig
from dtglib.runs.settings import read_settings
from dtglib.runs.syntax_scores import Directly
from dtglib.training.schedule import TrainConfig
from dtgpapers.batches import by_total
from dtgpapers.udgn.beliefs import AFTER, BEFORE
from dtgpapers.udgn.config import MaskedTraining, UdgnConfig
from dtgpapers.udgn.examples import MaskedExamples
from dtgpapers.udgn.masked import MASKINGS, SYMBOLS
from dtgpapers.udgn.measure import masked_perplexity, pseudo_scores, word_log_probs
from dtgpapers.udgn.network import Udgn
from dtgpapers.udgn.words import are_words, heads_among, read, words_of

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
THERE = Sentence(("There", "is", "a", "difference", "."), (2, 0, 4, 2, 2), ("expl", "root", "det", "nsubj", "punct"))
SMALL = UdgnConfig(layers=1, width=8, heads=2, heads_width=8, parser_layers=1, rarest=1)


# ---- Words


def tagged(*pairs: tuple[str, str], column: int = 3) -> Sentence:
    rows = [["_"] * 10 for _ in pairs]
    for number, (row, (word, tag)) in enumerate(zip(rows, pairs, strict=True), start=1):
        row[0], row[1], row[column] = str(number), word, tag
    return Sentence(tuple(word for word, _ in pairs), rows=tuple(map(tuple, rows)))


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (THERE, "there is a difference"),
        (Sentence(("In", "1984", ",", "$", "3.5", "n't", "--", "U.S.")), "in N N.N n't u.s."),
        (tagged(("%", "NOUN"), ("x", "SYM"), ("!", "PUNCT"), ("-)", "INTJ")), "% -)"),
        (tagged(("``", "``"), ("%", "NN"), ("#", "#"), ("+", "SYM"), ("*T*", "-NONE-"), column=4), "% +"),
        (tagged(("``", "``"), ("%", "NN")), "%"),
        (tagged(("Der", "ART"), ("Hund", "NN"), ("bellt", "VVFIN"), (".", "$."), column=4), "der hund bellt"),
    ],
)
def test_what_is_read(sentence, expected):
    assert " ".join(read(sentence).words) == expected


def test_a_fused_token_is_no_word():
    one = tagged(("do", "AUX"), ("n't", "PART"))
    assert are_words(Sentence(one.words, rows=(("1-2", "don't", *"________"), *one.rows))) == [True, True]


def test_heads_climb_over_what_is_left_out():
    assert heads_among([0, 1, 3, 4], (3, 1, 4, 0, 4)) == (3, 1, 0, 3)
    assert heads_among([0, 2], (2, 0, 2)) == (0, 0), "both depended on a root that is left out"
    found = read(THERE)
    assert found.heads == (2, 0, 4, 2) and found.labels == ("expl", "root", "det", "nsubj")


def test_nothing_but_punctuation_is_nothing():
    with pytest.raises(TreebankError, match="is only punctuation"):
        read(Sentence((".", "!"), id="x"))


def test_rare_words_are_unknown_and_the_shared_vocabulary_is_not_asked():
    treebank = Treebank([THERE, Sentence(("There", "are", "2")), Sentence(("...",))], Counter())
    shared = Vocabulary.of_words([THERE.words])
    kind, config = family("udgn"), UdgnConfig(rarest=2)
    found = kind.vocabulary(config, shared, treebank)
    assert found.entries[len(SYMBOLS.entries) :] == ("▁there",) and found.symbols == SYMBOLS
    assert len(words_of(SMALL, treebank).entries) - len(ARCS.entries) == 6
    assert family("dtg").vocabulary(TransformerConfig(), shared, treebank) == shared
    with pytest.raises(UserError, match="no word occurs 9 times"):
        words_of(UdgnConfig(rarest=9), treebank)


# ---- Batches


def examples(config: UdgnConfig = SMALL, sentences: int = 60, longest: int | None = None) -> MaskedExamples:
    treebank = load("minilang", "train", sentences)
    kind = family("udgn")
    vocabulary = kind.vocabulary(config, Vocabulary.of_words([["a"]]), treebank)
    return kind.examples(config, vocabulary, treebank, longest)


def test_batches_are_full_of_words_and_not_of_padding():
    random, lengths = np.random.default_rng(1), np.random.default_rng(2).integers(1, 40, 300)
    batches = by_total(lengths, 100, random)
    assert sorted(np.concatenate(batches).tolist()) == list(range(300))
    totals = sorted(int(lengths[batch].sum()) for batch in batches)
    assert max(totals) <= 100 and min(totals[1:]) > 100 - 40
    assert all(np.ptp(lengths[batch]) <= 3 for batch in batches if lengths[batch].min() > 5)
    assert [len(batch) for batch in by_total(np.array([7, 3]), 5, random)] == [1, 1]
    assert by_total(np.array([], int), 5, random) == []


def test_every_epoch_has_its_own_order_of_batches():
    data = examples()
    one, other = (data.plan(100, np.random.default_rng([1, epoch]), CPU) for epoch in (0, 1))
    assert [batch.tolist() for batch in one] != [batch.tolist() for batch in other]


def test_what_is_too_long_or_only_punctuation_is_counted():
    treebank = Treebank([THERE, Sentence((".",)), Sentence(tuple("abcdefg"), id="long")], Counter(broken=1))
    data = MaskedExamples.of(SMALL, Vocabulary.of_words([["there", "is"]], SYMBOLS), treebank, 5)
    assert data.summary == (
        "1 sentences, 4 words, 50.0 % unknown; left out: 1 broken, 1 only punctuation, 1 more than 5 words (long)"
    )
    with pytest.raises(UserError, match="no sentence is left for model udgn: 1 only punctuation"):
        MaskedExamples.of(SMALL, data_vocabulary(), Treebank([Sentence((".",))], Counter()))
    with pytest.raises(UserError, match="gold takes heads from the treebank, and these have none: raw"):
        gold = UdgnConfig(edges="gold")
        MaskedExamples.of(gold, data_vocabulary(), Treebank([Sentence(("a",), id="raw")], Counter()))


def data_vocabulary() -> Vocabulary:
    return Vocabulary.of_words([["a"]], SYMBOLS)


def test_a_checksum_depends_on_words_and_heads():
    one = examples(sentences=5)
    other = MaskedExamples(one.sentences[:4], one.ids[:4], one.excluded, [])
    assert one.checksum == examples(sentences=5).checksum != other.checksum


# ---- Adam and its rate


def test_the_rate_is_that_of_pytorch_s_plateau():
    random, config = np.random.default_rng(3), MaskedTraining()
    assert (config.learning_rate, config.clip, config.batch_positions, config.epochs) == (1e-3, 0.25, 4096, 100)
    assert family("udgn-transformer").training().learning_rate == 3e-4
    losses = np.round(np.cumsum(random.normal(-0.05, 1, 60)), 1).tolist()
    optimizer = torch.optim.SGD(nn.Linear(1, 1).parameters(), config.learning_rate)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=2, threshold=0)
    for number in range(len(losses)):
        assert config.rate(0, 1, losses[:number]) == optimizer.param_groups[0]["lr"]
        plateau.step(losses[number])
    assert optimizer.param_groups[0]["lr"] < config.learning_rate / 8


def test_decay_is_added_to_the_gradient_as_l2():
    optimizer = MaskedTraining().optimizer(nn.Linear(2, 2))
    assert type(optimizer) is torch.optim.Adam and not optimizer.defaults.get("decoupled_weight_decay", False)
    (group,) = optimizer.param_groups
    assert (group["eps"], group["weight_decay"], group["times"]) == (1e-9, 1.2e-6, 1.0)


def test_a_step_is_divided_by_its_words_and_that_of_other_models_by_its_sentences():
    lengths = np.array([3, 4, 5])
    assert (MaskedTraining().size(lengths), TrainConfig().size(lengths)) == (12, 3)


@pytest.mark.parametrize("wrong", [{"slowed_by": 0.0}, {"slowed_after": -1}, {"slowed_by": 1.5}], ids=str)
def test_a_rate_that_makes_no_sense_is_named(wrong):
    with pytest.raises(UserError, match=next(iter(wrong))):
        MaskedTraining(**wrong)


# ---- Training


CONFIG = """
corpus: minilang
train_sentences: 80
dev_sentences: 20
test_sentences: 10
model: udgn
layers: 1
width: 16
heads: 2
heads_width: 16
parser_layers: 1
rarest: 1
epochs: 3
batch_positions: 200
slowed_after: 0
precision: float32
batches_per_step: 2
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("udgn") / "small.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def folder(config) -> Path:
    folder = config.parent / "trained"
    with with_one_thread():
        assert main(["train", str(config), "--out", str(folder)]) == 0
    return folder


def test_it_is_trained_by_the_loop_of_all_models(folder):
    dev = lines(folder, "dev")
    assert len(dev) == 3 and dev[-1]["nats_per_mask"] < dev[0]["nats_per_mask"]
    rates = [line["learning_rate"] for line in lines(folder, "train")]
    assert set(rates) <= {1e-3, 5e-4, 2.5e-4}


def test_a_training_that_is_stopped_and_goes_on_ends_with_the_same_bits(config, folder, tmp_path, monkeypatch):
    with interrupted_at(MaskedExamples, 7, monkeypatch):
        assert main(["train", str(config), "--out", str(tmp_path / "run")]) == 130
    assert main(["train", str(config), "--out", str(tmp_path / "run")]) == 0
    resumed, whole = (tensors(path, WEIGHTS_FILE) for path in (tmp_path / "run", folder))
    assert all(resumed[name].equal(whole[name]) for name in whole)
    assert lines(tmp_path / "run", "dev") == lines(folder, "dev")


def masks_of(config: Path, out: Path, monkeypatch) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """The masks that a run draws in its steps, and in its evaluations."""
    steps, evaluations, drawn = [], [], Udgn.drawn

    def watched(self, batch):
        found = drawn(self, batch)
        (steps if self.training else evaluations).append(found)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(Udgn, "drawn", watched)
        assert main(["train", str(config), "--out", str(out)]) == 0
    return steps, evaluations


def test_masks_are_drawn_anew_in_every_step_and_are_the_same_in_every_evaluation(config, tmp_path, monkeypatch):
    steps, evaluations = masks_of(config, tmp_path, monkeypatch)
    per_epoch = len(steps) // 3
    of_epochs = [torch.cat([mask.flatten().float() for mask in steps[n * per_epoch :][:per_epoch]]) for n in range(3)]
    assert all(0.2 < mask.mean() < 0.4 for mask in of_epochs)
    shapes = [sorted(tuple(mask.shape) for mask in steps[n * per_epoch :][:per_epoch]) for n in range(2)]
    assert shapes[0] == shapes[1] and not of_epochs[0].equal(of_epochs[1])
    each = len(evaluations) // 3
    assert each % MASKINGS == 0
    for n in range(each):
        assert evaluations[n].equal(evaluations[each + n]) and evaluations[n].equal(evaluations[2 * each + n])
    assert not evaluations[0].equal(evaluations[1])


# ---- Scores


def test_it_is_loaded_as_what_it_is(folder):
    model = load_model(folder)
    kind = family_of(model)
    assert (
        type(model) is Udgn
        and kind.likelihood.is_pseudo
        and not kind.likelihood.is_searched
        and not kind.trees.are_parses
    )


def test_held_out_perplexity_is_the_mean_of_five_maskings_in_whatever_batches(folder):
    model = load_model(folder)
    treebank = load("minilang", "dev", 20)
    data = MaskedExamples.of(model.config, model.vocabulary, treebank)
    values = [masked_perplexity(model, data, positions) for positions in (50, 5000)]
    assert values[0] == pytest.approx(values[1], rel=1e-5)
    assert math.log(values[0]) == pytest.approx(min(x["nats_per_mask"] for x in lines(folder, "dev")), abs=0.25)


def test_a_pseudo_log_likelihood_hides_every_word_by_itself(folder):
    model = load_model(folder)
    known = [entry[1:] for entry in model.vocabulary.entries[-4:]]
    words = (*known[:2], "nevermore", *known[2:], ".")
    (score, nothing) = pseudo_scores(model, [Sentence(words), Sentence((".",))])
    found = word_log_probs(model, read(Sentence(words)).words)
    data = MaskedExamples.of(model.config, model.vocabulary, Treebank([Sentence(words)], Counter()))
    batch, expected = data.batch([0], 0, CPU), []
    for place in (0, 1, 3, 4):
        asked = torch.zeros(1, 5, dtype=torch.bool)
        asked[0, place] = True
        expected.append(model.log_probs(batch, asked).item())
    assert np.isnan(found[2]) and found[[0, 1, 3, 4]].tolist() == pytest.approx(expected, abs=1e-5)
    assert score.log_prob == pytest.approx(sum(expected), abs=1e-5)
    assert (score.words, score.ends, score.unasked) == (4, 0, 1)
    assert nothing == SentenceScore(0, 0, 0, 0.0, None, 0)
    assert perplexity([score, nothing]).per_word == pytest.approx(math.exp(-sum(expected) / 4))
    # Without its unknown word, which costs nothing, a sentence would seem better than others.
    one, other = Directly().log_probs(model)([words, words[:2]])
    assert math.isnan(one) and math.isfinite(other)
    with pytest.raises(UserError, match="no sentence has a word"):
        perplexity([nothing])


def test_its_score_is_called_what_it_is(folder, capsys):
    assert main(["score", "--model", str(folder), "The key was seen ."]) == 0
    header, *_, last = capsys.readouterr().out.splitlines()
    assert "pseudo-log-likelihood" in header and "log p" not in header
    assert last.startswith("pseudo-perplexity: ") and last.endswith("no ends, which it does not predict")
    assert main(["score", "--json", "--model", str(folder), "The key was seen ."]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["log_prob"] == "pseudo-log-likelihood" and "pseudo_perplexity_per_word" in found["totals"]
    assert "perplexity_per_word" not in found["totals"]


def test_pairs_are_judged_by_it_and_the_report_says_so(folder, capsys):
    assert main(["blimp", "minilang", "--fraction", "0.01", "--json", "--model", str(folder)]) == 0
    assert json.loads(capsys.readouterr().out)["log p"] == "pseudo-log-likelihood"


@pytest.mark.parametrize("command", [["surprisal"], ["suites"], ["sample"]], ids=lambda words: words[0])
def test_commands_that_read_from_left_to_right_refuse_it(command, folder, capsys):
    more = {"surprisal": ["The key"], "suites": ["minilang"]}.get(command[0], [])
    assert main([*command, *more, "--model", str(folder)]) == 2
    assert "UDGN has no left-to-right probabilities" in capsys.readouterr().err


def test_functions_that_read_from_left_to_right_refuse_it(folder):
    model = load_model(folder)
    for ask in (
        lambda: search(model.stepper(), model.vocabulary, [["a"]]),
        lambda: list(surprisals(model, [["a"]])),
    ):
        with pytest.raises(UserError, match="udgn is no left-to-right model: it has no surprisals"):
            ask()


def test_its_likelihood_is_asked_for_where_sequences_are_scored(folder):
    with pytest.raises(UserError, match="udgn does not predict symbol by symbol"):
        score_words(load_model(folder), [["a"]])


# ---- Its trees


def test_the_trees_of_a_sentence_are_shown(folder, tmp_path, capsys):
    assert main(["induce", "The key was seen .", "--model", str(folder)]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines() if line]
    assert [row[1] for row in rows] == ["the", "key", "was", "seen"] and [row[6] for row in rows].count("0") == 1
    out = tmp_path / "found.conllu"
    assert main(["induce", "The key was seen .", "--model", str(folder), "--out", str(out)]) == 0
    assert [int(row[6]) for row in rows] == list(load(out).sentences[0].heads)


def test_trees_that_are_read_are_not_written_over(folder, tmp_path, capsys):
    gold = tmp_path / "gold.conllu"
    gold.write_text("".join(map(format_conllu, load("minilang", "test", 2).sentences)))
    before = gold.read_bytes()
    assert main(["induce", str(gold), "--model", str(folder), "--out", str(gold)]) == 2
    assert_one_line(capsys, "is what is to be parsed; name another file")
    assert gold.read_bytes() == before


def test_trees_of_a_treebank_are_compared_with_its_own(folder, capsys):
    assert main(["induce", "minilang", "--split", "test", "--sentences", "10", "--model", str(folder)]) == 0
    lines, conventions = without_conventions(capsys.readouterr().out)
    assert "text: minilang; unit: percent of the words" in conventions
    assert [line.split("  ")[0] for line in lines[1:4]] == ["argmax", "tree", "projective"] and len(lines) == 10
    assert main(["induce", "minilang", "--split", "test", "--sentences", "10", "--model", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["conventions"]["unit"] == "shares of words"
    gold = [read(sentence).heads for sentence in load("minilang", "test", 10).sentences]
    trees = [one["tree"] for one in found["heads"]]
    right = sum(np.equal(one, other).sum() for one, other in zip(gold, trees, strict=True))
    assert found["trees"][1]["DDA"] == right / found["words"] == right / sum(map(len, gold))


def test_what_has_no_words_is_counted_and_what_is_no_tree_is_not_written(folder, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("The key was seen .\n. . .\n")
    command = ["induce", str(tmp_path / "mine.txt"), "--model", str(folder)]
    assert main(command) == 0
    assert "1 sentences left out, which are only punctuation" in capsys.readouterr().err
    assert main([*command, "--labels", "2", "--out", str(tmp_path / "out")]) == 2
    assert "--labels finds no trees" in capsys.readouterr().err and not (tmp_path / "out").exists()
    assert main([*command, "--decode", "argmax", "--out", str(tmp_path / "out")]) == 2
    assert "--decode argmax finds heads" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_labels_of_heads_are_shown(folder, capsys):
    command = ["induce", "minilang", "--split", "test", "--sentences", "20", "--labels", "3", "--json"]
    assert main([*command, "--model", str(folder)]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = found["labels"]
    assert found["conventions"]["unit"].startswith("correlation of an attention head")
    assert {(row["attention"], row["direction"]) for row in rows} == {
        (kind, direction) for kind in (BEFORE, AFTER) for direction in ("child to parent", "parent to child")
    }
    assert len(rows) == 12 and all(-1 <= row["r"] <= 1 for row in rows)


def test_a_model_that_was_taught_its_trees_induces_none(capsys):
    assert main(["induce", "a b", "--model", "dtg-minilang"]) == 2
    assert "DTG finds no trees by itself; UDGN and StructFormer do" in capsys.readouterr().err


def test_the_transformer_has_attention_and_no_trees(config, tmp_path, capsys):
    settings = ["--set", "epochs=1", "--set", "inner=16"]
    assert main(["train", str(config), "--model", "udgn-transformer", *settings, "--out", str(tmp_path)]) == 0
    assert main(["induce", "The key was seen .", "--model", str(tmp_path)]) == 2
    assert "no parser" in capsys.readouterr().err
    some = ["minilang", "--split", "test", "--sentences", "5"]
    assert main(["induce", *some, "--model", str(tmp_path), "--labels", "2"]) == 0
    assert main(["score", *some, "--model", str(tmp_path)]) == 0


def test_one_file_of_settings_serves_all_families(config):
    assert read_settings(config).family is family("udgn")
    assert read_settings(config, {"model": "dtg"}).family is family("dtg")
