"""A parser of one's own: it learns its sentences, scores each by itself, and reads whatever a word may be.

The judge is supar: its network, fed sentence by sentence through its own fields, is what our batches must agree with.
The parser of these tests has sixteen units to either side, and knows a dozen sentences of minilang by heart.
"""

import json
import os
import signal
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
import trees
from conftest import with_one_thread
from running import lines, written
from torch.nn.functional import log_softmax

import dtglib.parsing.fields
from dtglib.basics.config import read_config
from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.data.corpora import CorpusConfig, load
from dtglib.data.projectivity import is_projective
from dtglib.data.treebank import Sentence, Treebank, format_conllu, read_conllu
from dtglib.evaluate.attachment import attached
from dtglib.parsing.kept import CONFIG_FILE, ENTRIES_FILE, WEIGHTS_FILE
from dtglib.parsing.lstm import fused
from dtglib.parsing.parser import load_parser
from dtglib.parsing.projective import best_trees, log_partition
from dtglib.parsing.propose import METHODS, propose
from dtglib.parsing.trained import NOT_LABELLED, ParserConfig, Trained, TreebankExamples, entries_of
from dtglib.runs.parsers import ParserSettings, TrainingData, train_parser_into
from dtglib.runs.settings import RunConfig
from dtglib.training.schedule import TrainConfig
from dtglib.training.stopping import Interrupted

pytestmark = pytest.mark.usefixtures("one_thread")

CPU = torch.device("cpu")
WORDS = ("There", "is", "a", "difference")

SMALL = ParserConfig(
    word_width=12, character_width=6, lstm_layers=1, lstm_width=16, arc_width=16, label_width=12, parser_dropout=0.0,
    rarest=1,
)  # fmt: skip
LEARNING = TrainConfig(
    epochs=15, batch_positions=512, learning_rate=0.03, first_rate=1e-3, last_rate=1e-3, warmup_steps=5,
    embedding_rate=1.0, clip=5.0, precision="float32", evaluate_every=60,
)  # fmt: skip
SHORT = replace(LEARNING, epochs=2, batch_positions=64, evaluate_every=4)


@cache
def minilang(sentences: int = 40) -> Treebank:
    return load("minilang", "train", sentences)


def treebank(*sentences: Sentence) -> Treebank:
    return Treebank(list(sentences), Counter())


def learn(
    folder: Path,
    known: Treebank | None = None,
    config: ParserConfig = SMALL,
    how: TrainConfig = SHORT,
    seed: int = 1,
    examples: type[TreebankExamples] = TreebankExamples,
) -> Path:
    """Train a parser on a treebank, or go on with it, and test it there, too."""
    known = known or minilang(8)
    entries = entries_of(known, config.rarest)
    train, dev = examples(entries, known, how.longest), TreebankExamples(entries, known, how.longest)
    prepared = TrainingData(entries, train, dev)
    train_parser_into(ParserSettings(RunConfig(seed), CorpusConfig("minilang"), config, how), prepared, folder)
    return folder


@pytest.fixture(scope="module")
def by_heart(tmp_path_factory) -> Trained:
    """The parser that knows a dozen sentences by heart."""
    with with_one_thread():
        return Trained.load(learn(tmp_path_factory.mktemp("by-heart"), minilang(12), how=LEARNING))


@cache
def untrained(seed: int = 3, **other: object) -> Trained:
    torch.manual_seed(seed)
    config = replace(SMALL, **other)
    parser = Trained("untrained", config, entries_of(minilang(), config.rarest)).eval()
    with torch.no_grad():  # supar begins with zeros, which would find all sentences equal
        for last in (parser.network.arc_attn.weight, parser.network.rel_attn.weight):
            last.normal_(std=5.0)
    return parser


def by_supar(parser: Trained, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """What supar's network says of a sentence that supar's fields have read: of word and head [d, h] the arc's score,
    and those of its labels."""
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what PyTorch has renamed since supar was written
        columns = [column.field.compose(column.field.transform([list(words)])).cpu() for column in parser.columns]
        arcs, labels = parser.network(columns[0], columns[1:])
    return arcs[0].numpy(), labels[0].numpy()


# ---- Scores

ODD = {
    "four words": WORDS,
    "one word": ("Yes",),
    "one letter each": ("I", "a", "."),
    "unknown words": ("Xylophones", "is", "zzzzzz", "difference"),
    "unknown characters": ("Þórr", "日本語", "🙂", "\u0301", "\x00"),
    "words of more than 20 letters": ("antidisestablishmentarianism", "a" * 500, "is"),
    "a capital that becomes two letters": ("İ", "ẞ", "IS"),
    "a word with a blank inside": ("New York", "1 000"),
    "100 words": tuple(Random(1).choices([*WORDS, "zzz", "."], k=100)),
}


@pytest.mark.filterwarnings("error::FutureWarning")
@pytest.mark.parametrize("words", ODD.values(), ids=ODD.keys())
def test_a_score_is_what_supars_own_fields_and_network_give(words):
    (scores,) = untrained().arc_scores([words])
    arcs, _ = by_supar(untrained(), words)
    assert scores.shape == (len(words) + 1, len(words) + 1)
    assert scores.dtype == np.float64 and np.isfinite(scores).all()
    np.testing.assert_allclose(scores, arcs.T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("at_once", [1, 20_000, 4_000_000])
def test_a_sentence_has_the_same_scores_alone_and_in_a_batch(at_once, monkeypatch):
    sentences = [*ODD.values(), *(sentence.words for sentence in minilang().sentences), WORDS]
    alone = [untrained().arc_scores([words])[0] for words in sentences]
    monkeypatch.setattr(dtglib.parsing.fields, "SCORES", at_once)
    for expected, scores in zip(alone, untrained().arc_scores(sentences), strict=True):
        np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-5)


def test_the_sentences_above_differ_in_their_scores():
    # Or else the tests above could not fail.
    four = [WORDS, ("There", "is", "a", "zzz"), ("There", "is", "a", "Difference"), ("is", "There", "a", "difference")]
    scores = untrained().arc_scores(four)
    for other in scores[1:]:
        assert np.abs(other - scores[0]).max() > 1e-2
    assert np.abs(scores[0] - scores[0].T).max() > 1e-2


def test_a_batch_has_at_most_the_allowed_number_of_scores(monkeypatch):
    monkeypatch.setattr(dtglib.parsing.fields, "SCORES", 100 * len(untrained().labels))
    asked = []
    scores = Trained.scores

    def watched(self, sentences):
        asked.append([len(words) + 1 for words in sentences])
        return scores(self, sentences)

    monkeypatch.setattr(Trained, "scores", watched)
    untrained().arc_scores([WORDS] * 9 + [WORDS * 5] + [("Yes",)] * 30)
    assert asked[0] == [21], "a sentence that is too long by itself is scored by itself"
    assert all(len(lengths) * max(lengths) ** 2 <= 100 for lengths in asked[1:])
    assert Counter(length for lengths in asked for length in lengths) == {21: 1, 5: 9, 2: 30}
    assert [max(lengths) for lengths in asked] == sorted((max(lengths) for lengths in asked), reverse=True)


@pytest.mark.parametrize("word", ["<pad>", "<PAD>", "<bos>", "<unk>"])
def test_a_word_that_is_spelled_like_padding_is_a_word(word):
    parser = untrained()
    (scores,) = parser.arc_scores([("There", word, "is")])
    assert np.abs(scores).max() < 1e3, "no arc may start at the word"
    (other,) = parser.arc_scores([("There", "zzzz", "is")])
    assert 1e-3 < np.abs(scores - other).max() < 1e3, "one that nobody knows, told from others by its letters"


def test_only_the_first_twenty_letters_of_a_word_are_read():
    first, longer, other = untrained().arc_scores([["a" * 20], ["a" * 20 + "zz"], ["a" * 19 + "zz"]])
    np.testing.assert_allclose(first, longer, atol=1e-6)
    assert np.abs(first - other).max() > 1e-3


def test_scoring_uses_no_dropout():
    unsteady = untrained(parser_dropout=0.5).train()
    assert not unsteady.scores([WORDS])[0].equal(unsteady.scores([WORDS])[0])
    first, second = unsteady.arc_scores([WORDS]), unsteady.train().arc_scores([WORDS])
    np.testing.assert_array_equal(first, second)


def test_no_sentences_have_no_scores():
    assert untrained().arc_scores([]) == []
    assert untrained().parse([]) == []


@pytest.mark.parametrize("ask", [Trained.arc_scores, lambda parser, rows: parser.parse([*map(Sentence, rows)])])
def test_an_error_has_the_number_of_an_empty_sentence(ask):
    with pytest.raises(UserError, match=r"^sentence 2 has no words; leave it out$"):
        ask(untrained(), [WORDS, (), WORDS])


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("ask", [Trained.arc_scores, lambda parser, rows: parser.parse([*map(Sentence, rows)])])
def test_an_error_about_nan_names_the_parser_and_the_sentence(value, ask):
    torch.manual_seed(0)
    parser = Trained("broken", SMALL, entries_of(minilang(), 1))
    with torch.no_grad():
        parser.network.arc_attn.weight[0, 0, 0] = value
    with pytest.raises(UserError, match=r"^parser broken: its scores of 'There is a difference' are no numbers; train"):
        ask(parser, [WORDS])


# ---- What it learns from


def by_definition(parser: Trained, sentences: Sequence[Sentence]) -> tuple[float, int]:
    """The nats of all heads and labels, one word after the other, and the number of words."""
    nats, count = 0.0, 0
    for sentence in sentences:
        arcs, labels = map(torch.from_numpy, by_supar(parser, sentence.words))
        given = sentence.labels or [NOT_LABELLED] * len(sentence.words)
        for word, (head, label) in enumerate(zip(sentence.heads, given, strict=True), start=1):
            nats -= log_softmax(arcs[word].double(), 0)[head].item()  # among ROOT and all words, itself included
            if label in parser.labels:
                nats -= log_softmax(labels[word, head].double(), 0)[parser.labels.index(label)].item()
            count += 1
    return nats, count


def gold(parser: Trained, *sentences: Sentence):
    examples = TreebankExamples(parser.entries, treebank(*sentences))
    return examples.batch(np.arange(len(examples)), 0, CPU)


NON_PROJECTIVE = Sentence(("There", "is", "a", "difference"), (3, 0, 2, 1), ("expl", "root", "det", "nsubj"), id="x")
MULTI_ROOT = Sentence(("There", "is", "a", "difference"), (0, 0, 4, 2), ("expl", "root", "det", "nsubj"), id="roots")
UNSEEN_LABEL = Sentence(("There", "is"), (2, 0), ("never-seen", "root"), id="unseen")
NO_LABELS = Sentence(("There", "is", "a"), (2, 0, 2), id="no-labels")

GOLD = {
    "minilang": minilang(7).sentences,
    "one word": [Sentence(("Yes",), (0,), ("root",))],
    "non-projective": [NON_PROJECTIVE],
    "several roots": [MULTI_ROOT],
    "a label that was never seen": [UNSEEN_LABEL],
    "without labels": [NO_LABELS],
    "all together": [*minilang(7).sentences, NON_PROJECTIVE, UNSEEN_LABEL, MULTI_ROOT, NO_LABELS],
}


@pytest.mark.parametrize("sentences", GOLD.values(), ids=GOLD.keys())
def test_the_loss_is_the_cross_entropy_of_every_head_and_of_the_label_of_its_arc(sentences):
    nats, parts = untrained().loss(gold(untrained(), *sentences))
    expected, words = by_definition(untrained(), sentences)
    assert nats.item() == pytest.approx(expected, rel=1e-5)
    assert [part.events for part in parts.values()] == [words, words]


def test_an_unknown_label_has_no_loss():
    seen = replace(UNSEEN_LABEL, labels=("expl", "root"))
    losses = [untrained().loss(gold(untrained(), sentence))[0].item() for sentence in (UNSEEN_LABEL, seen)]
    assert losses[0] < losses[1] - 0.1


def test_padding_has_no_loss_and_no_gradient():
    short, long = minilang(12).sentences[0], Sentence(WORDS * 10, (0, *range(1, 40)))
    parser = untrained(seed=5)
    gradients = []
    for batches in ([gold(parser, short, long)], [gold(parser, short), gold(parser, long)]):
        parser.zero_grad()
        losses = [parser.loss(batch)[0] for batch in batches]
        for loss in losses:
            loss.backward()
        gradients.append({name: parameter.grad.clone() for name, parameter in parser.named_parameters()})
        assert sum(loss.item() for loss in losses) == pytest.approx(by_definition(parser, [short, long])[0], rel=1e-5)
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-3, atol=1e-4, msg=name)
        assert gradient.abs().max() > 0, f"{name} learns nothing"


def test_positions_are_counted_with_their_padding():
    batch = gold(untrained(), NO_LABELS, MULTI_ROOT)
    _, parts = untrained().loss(batch)
    assert [part.events for part in parts.values()] == [7, 7]
    assert batch.positions == 2 * 5


def test_an_entry_is_known_by_the_words_characters_and_labels_of_the_treebank():
    labelled = Sentence(("The", "the", "cat"), (2, 3, 0), ("det", "nmod", "root"))
    some = treebank(labelled, Sentence(("Cat", "x"), (0, 1)), Sentence(("x",)))
    assert entries_of(some, 1) == {
        "words": ["cat", "the", "x"],
        "chars": ["C", "T", "a", "c", "e", "h", "t", "x"],
        "labels": sorted(["det", "nmod", "root", NOT_LABELLED]),
    }
    assert entries_of(some, 2)["words"] == ["cat", "the", "x"]
    assert entries_of(treebank(labelled), 2)["words"] == ["the"]


def test_all_sentences_with_a_tree_are_training_data_except_too_long_ones():
    long = Sentence(WORDS * 3, (0, *range(1, 12)), id="long-1")
    some = treebank(NON_PROJECTIVE, MULTI_ROOT, NO_LABELS, Sentence(WORDS, id="raw"), long)
    examples = TreebankExamples(entries_of(some, 1), some, longest=8)
    assert examples.names == ["x", "roots", "no-labels"]
    assert examples.too_long == ["long-1"]
    assert examples.summary == "3 sentences, 11 words; left out as too long: 1 (long-1)"
    assert TreebankExamples(entries_of(some, 1), some).summary == "4 sentences, 23 words"


def test_a_sentence_of_just_the_longest_length_is_kept():
    # weak.yaml: "longest: 512  # words of a sentence; a longer one is left out"
    examples = TreebankExamples(entries_of(minilang(), 1), treebank(NO_LABELS, MULTI_ROOT), longest=4)
    assert (examples.names, examples.too_long) == (["no-labels", "roots"], [])
    assert TreebankExamples(entries_of(minilang(), 1), treebank(NO_LABELS, MULTI_ROOT), longest=3).too_long == ["roots"]


def test_a_treebank_of_too_long_sentences_is_an_error():
    with pytest.raises(UserError, match=r"^all 1 sentences have more than 2 words; set longest higher$"):
        TreebankExamples(entries_of(minilang(), 1), treebank(NO_LABELS), longest=2)


@pytest.mark.parametrize("longest", [None, 2])
def test_a_treebank_without_trees_is_an_error(longest):
    with pytest.raises(UserError, match=r"^no sentence has a tree that a parser could learn from; name"):
        TreebankExamples(entries_of(minilang(), 1), treebank(Sentence(WORDS)), longest)


@pytest.mark.parametrize(
    "other", [{"words": ("There", "are", "a")}, {"heads": (2, 0, 1)}, {"labels": ("a", "b", "c")}], ids=str
)
def test_the_checksum_depends_on_all_that_is_read(other):
    entries = {"words": [], "chars": [], "labels": ["a", "b", "c"]}
    first, second = (TreebankExamples(entries, treebank(s)) for s in (NO_LABELS, replace(NO_LABELS, **other)))
    assert first.checksum != second.checksum
    assert first.checksum == TreebankExamples(entries, treebank(replace(NO_LABELS, id="another name"))).checksum


def test_an_encoder_that_is_no_lstm_computes_as_it_is():
    network = torch.nn.Module()
    network.encoder = torch.nn.Identity()
    with fused(network):
        assert "forward" not in vars(network.encoder)


# ---- Learning


def test_it_learns_its_sentences(by_heart):
    known = minilang(12).sentences
    parsed = by_heart.parse(known)
    right = attached(known, [sentence.heads for sentence in parsed])
    assert right.uas > 0.97
    labels = [pair for a, b in zip(known, parsed, strict=True) for pair in zip(a.labels, b.labels, strict=True)]
    assert np.mean([given == found for given, found in labels]) > 0.95
    by_chance = attached(known, [sentence.heads for sentence in untrained().parse(known)])
    assert by_chance.uas < 0.5


def test_the_loss_that_is_recorded_is_that_of_a_word(by_heart):
    (dev,) = [line for line in lines(Path(by_heart.name), "dev") if line["is_best"]][-1:]
    nats, words = by_definition(by_heart, minilang(12).sentences)
    assert dev["nats_per_head"] + dev["nats_per_label"] == pytest.approx(nats / words, rel=1e-3)
    assert nats / words < 0.1


@pytest.mark.parametrize(
    "known",
    [
        treebank(*(replace(s, labels=None, rows=None) for s in minilang(8).sentences)),
        treebank(Sentence(("Yes",), (0,), ("root",))),
        treebank(NON_PROJECTIVE),
        treebank(MULTI_ROOT),
        treebank(*minilang(4).sentences, Sentence(WORDS)),
    ],
    ids=["without labels", "one word", "non-projective", "several roots", "one sentence without a tree"],
)
def test_it_learns_from_every_kind_of_treebank(known, tmp_path):
    folder = learn(tmp_path / "run", known, how=replace(LEARNING, epochs=6, evaluate_every=2))
    losses = [line["nats_per_head"] + line["nats_per_label"] for line in lines(folder, "train")]
    assert losses[-1] < 0.9 * losses[0]
    (parsed,) = load_parser(folder).parse([Sentence(WORDS)])
    assert set(parsed.labels) <= set(entries_of(known, 1)["labels"])


UNSTEADY = replace(SMALL, parser_dropout=0.3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A training without an interruption."""
    with with_one_thread():
        return learn(tmp_path_factory.mktemp("whole"), config=UNSTEADY)


def test_a_seed_decides_all_bits_of_the_weights(whole, tmp_path):
    torch.manual_seed(99)
    torch.rand(1)
    again = learn(tmp_path / "again", config=UNSTEADY)
    assert all_bits(again) == all_bits(whole)
    assert lines(again) == lines(whole)
    assert all_bits(learn(tmp_path / "other", config=UNSTEADY, seed=2)) != all_bits(whole)


def all_bits(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in (CONFIG_FILE, ENTRIES_FILE, WEIGHTS_FILE)}


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_stopped_training_resumes_with_the_same_bits(at, whole, tmp_path):
    class Stopping(TreebankExamples):
        taken = 0

        def batch(self, numbers, positions, device):
            self.taken += 1
            if self.taken == at:
                os.kill(os.getpid(), signal.SIGINT)
            return super().batch(numbers, positions, device)

    with pytest.raises(Interrupted, match=r"stopped after step \d+ of"):
        learn(tmp_path / "stopped", config=UNSTEADY, examples=Stopping)
    assert read_record(tmp_path / "stopped").about["status"] == "interrupted"
    stopped = learn(tmp_path / "stopped", config=UNSTEADY)
    assert all_bits(stopped) == all_bits(whole)
    assert lines(stopped, "dev") == lines(whole, "dev")


def test_a_finished_parser_is_not_trained_again(tmp_path):
    folder = learn(tmp_path)
    before = written(folder)
    learn(folder)
    assert written(folder) == before


def test_an_error_names_the_setting_that_differs(tmp_path):
    learn(tmp_path)
    with pytest.raises(UserError, match="lstm_width was 16 and is 8"):
        learn(tmp_path, config=replace(SMALL, lstm_width=8))


# ---- Its folder


def saved(folder: Path, **other: object) -> Path:
    folder.mkdir(exist_ok=True)
    untrained(**other).save(folder)
    return folder


@pytest.mark.parametrize("name", [str, Path])
def test_a_loaded_parser_has_the_scores_of_the_saved_one(name, tmp_path):
    loaded = load_parser(name(saved(tmp_path)))
    sentences = [*ODD.values(), *(sentence.words for sentence in minilang().sentences)]
    for ours, theirs in zip(untrained().arc_scores(sentences), loaded.arc_scores(sentences), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.labels == untrained().labels
    assert not loaded.training
    assert {path.name for path in tmp_path.iterdir()} == {CONFIG_FILE, ENTRIES_FILE, WEIGHTS_FILE}


def test_a_loaded_parser_is_saved_with_the_same_bits(tmp_path):
    first = saved(tmp_path / "first")
    (tmp_path / "second").mkdir()
    Trained.load(first).save(tmp_path / "second")
    assert all_bits(first) == all_bits(tmp_path / "second")
    # Parsers that were saved earlier have this checksum of the same entries, and must not be refused.
    assert untrained()._meaning()["vocabulary"] == "f672d3550556"


def test_a_parsers_entries_may_come_in_any_order(tmp_path):
    folder = saved(tmp_path)
    entries = json.loads((folder / ENTRIES_FILE).read_text("utf-8"))
    (folder / ENTRIES_FILE).write_text(json.dumps(dict(reversed(entries.items()))), "utf-8")
    assert load_parser(folder).entries == entries


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def of_another(name: str, **other: object):
    return lambda folder: (folder / name).write_bytes((saved(folder / "other", **other) / name).read_bytes())


DAMAGES = {
    "no config": (lambda f: (f / CONFIG_FILE).unlink(), r"holds no parser; `dtglib train-parser` makes one"),
    "no entries": (lambda f: (f / ENTRIES_FILE).unlink(), r"parser\.json: No such file"),
    "no weights": (lambda f: (f / WEIGHTS_FILE).unlink(), r"parser\.safetensors: No such file"),
    "half of the entries": (lambda f: cut(f / ENTRIES_FILE), r"parser\.json: JSONDecodeError.*put back the file"),
    "half of the weights": (lambda f: cut(f / WEIGHTS_FILE), r"parser\.safetensors: damaged, or only half of it"),
    "half of the config": (lambda f: cut(f / CONFIG_FILE), r"parser\.(yaml|safetensors): "),
    "empty weights": (lambda f: (f / WEIGHTS_FILE).write_bytes(b""), r"parser\.safetensors: damaged"),
    "empty entries": (lambda f: (f / ENTRIES_FILE).write_bytes(b""), r"parser\.json: "),
    "empty config": (lambda f: (f / CONFIG_FILE).write_bytes(b""), r"parser\.yaml: a config is lines"),
    "entries that are a list": (lambda f: (f / ENTRIES_FILE).write_text("[1, 2]"), r"parser\.json: "),
    "entries that are a number": (lambda f: (f / ENTRIES_FILE).write_text("7"), r"parser\.json: "),
    "entries without labels": (lambda f: edited(f / ENTRIES_FILE, "labels", "label"), r"parser\.json: KeyError"),
    "entries of a text": (
        lambda f: (f / ENTRIES_FILE).write_text('{"words": "a", "chars": [], "labels": []}'),
        r"parser\.json: its words, chars and labels are not lists of texts",
    ),
    "entries in another encoding": (lambda f: (f / ENTRIES_FILE).write_bytes(b"\xff\xfe{"), r"parser\.json: "),
    "another size in the config": (
        lambda f: edited(f / CONFIG_FILE, "lstm_width: 16", "lstm_width: 8"),
        "belong to another config",
    ),
    "another number in the config that fits all shapes": (
        lambda f: edited(f / CONFIG_FILE, "parser_dropout: 0.0", "parser_dropout: 0.5"),
        r"parser\.safetensors: these weights belong to another config than the one beside them",
    ),
    "a key that is none": (lambda f: edited(f / CONFIG_FILE, "arc_width", "ark_width"), "did you mean arc_width"),
    "a width below one": (lambda f: edited(f / CONFIG_FILE, "arc_width: 16", "arc_width: 0"), "must be at least 1"),
    "another label": (lambda f: edited(f / ENTRIES_FILE, '"nsubj"', '"mine"'), "belong to another vocabulary"),
    "the entries of another parser": (
        of_another(ENTRIES_FILE, rarest=2),
        "belong to another vocabulary",
    ),
    "the config of another parser": (of_another(CONFIG_FILE, lstm_layers=2), "belong to another config"),
    "the weights of another parser": (of_another(WEIGHTS_FILE, lstm_width=8), "belong to another config"),
    "a folder for weights": (
        lambda f: ((f / WEIGHTS_FILE).unlink(), (f / WEIGHTS_FILE).mkdir()),
        r"parser\.safetensors: ",
    ),
    "a folder for entries": (lambda f: ((f / ENTRIES_FILE).unlink(), (f / ENTRIES_FILE).mkdir()), r"parser\.json: "),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_folder_is_an_error_of_one_line_that_names_the_file(damage, tmp_path):
    folder = saved(tmp_path / "parser")
    do, complaint = DAMAGES[damage]
    do(folder)
    with pytest.raises(UserError, match=complaint) as refused:
        load_parser(folder)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("words", ["[[]]", '[{"a": 1}]', '[1, "a"]'])
def test_entries_that_are_not_text_are_an_error(words, tmp_path):
    folder = saved(tmp_path)
    entries = json.loads((folder / ENTRIES_FILE).read_text())
    (folder / ENTRIES_FILE).write_text(json.dumps(entries | {"words": json.loads(words)}))
    with pytest.raises(UserError, match=r"parser\.json"):
        load_parser(folder)


def test_a_folder_without_a_parser_is_an_error(tmp_path):
    with pytest.raises(UserError, match=f"{tmp_path}: holds no parser; `dtglib train-parser` makes one"):
        load_parser(tmp_path)


@pytest.mark.parametrize("name", ["", "."])
def test_an_empty_name_is_an_error(name, tmp_path, monkeypatch):
    """As of a variable of the shell that is empty."""
    monkeypatch.chdir(saved(tmp_path))
    with pytest.raises(UserError, match=r"^no parser is named; is a variable empty\?$"):
        load_parser(name)


def test_the_defaults_are_supars(tmp_path):
    path = tmp_path / "parser.yaml"
    path.write_text("{}")
    (config,) = read_config(path, ParserConfig)
    assert (config.lstm_layers, config.lstm_width, config.arc_width, config.label_width) == (3, 400, 500, 100)


@pytest.mark.parametrize(
    ("key", "value"), [("lstm_layers", 0), ("rarest", 0), ("word_width", -1), ("parser_dropout", 1.0)]
)
def test_an_impossible_size_is_an_error(key, value):
    with pytest.raises(UserError, match=f"{key} must be"):
        replace(SMALL, **{key: value})


# ---- Trees


def test_the_tree_of_a_sentence_is_the_best_of_its_scores_by_brute_force(by_heart):
    for words in [WORDS, ("Yes",), ("is", "There"), ("a", "zzz", "b", "c", "d", "e")]:
        (parsed,), (scores,) = by_heart.parse([Sentence(words)]), by_heart.arc_scores([words])
        total = {heads: scores[heads, range(1, len(words) + 1)].sum() for heads in trees.all_trees(len(words))}
        assert total[parsed.heads] == pytest.approx(max(total.values()))


@pytest.mark.parametrize("seed", [3, 4])
def test_trees_are_projective_with_one_root_whatever_the_scores(seed):
    sentences = [Sentence(words) for words in ODD.values()] + minilang(8).sentences
    parser = untrained(seed=seed)
    scores = parser.arc_scores([sentence.words for sentence in sentences])
    for sentence, matrix, parsed in zip(sentences, scores, parser.parse(sentences), strict=True):
        assert parsed.words == sentence.words
        assert parsed.heads.count(0) == 1
        assert is_projective(parsed.heads)
        assert parsed.heads == tuple(best_trees(matrix, 1).heads[0])


def test_a_label_is_the_best_of_its_arc(by_heart):
    for parsed in by_heart.parse([*map(Sentence, ODD.values())]):
        _, labels = by_supar(by_heart, parsed.words)
        for word, (head, label) in enumerate(zip(parsed.heads, parsed.labels, strict=True), start=1):
            of_arc = labels[word, head]
            assert of_arc[by_heart.labels.index(label)] == pytest.approx(of_arc.max(), abs=1e-4)


ROWS = (
    "# sent_id = one\n"
    "# text = There isn't a difference\n"
    "# a remark = that stays\n"
    "1\tThere\tthere\tPRON\tEX\tPronType=Ex\t0\troot\t_\t_\n"
    "2-3\tisn't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=Yes\n"
    "2\tis\tbe\tVERB\tVBZ\t_\t1\tfirst\t_\t_\n"
    "3\tn't\tnot\tPART\tRB\t_\t1\tfirst\t_\t_\n"
    "3.1\tbeen\tbe\tVERB\tVBN\t_\t_\t_\t2:dep\t_\n"
    "4\ta\ta\tDET\tDT\t_\t1\tfirst\t_\t_\n"
    "5\tdifference\tdifference\tNOUN\tNN\tNumber=Sing\t1\tfirst\t_\tSpaceAfter=No\n"
    "\n"
)


def test_only_heads_and_labels_of_a_file_are_changed(by_heart, tmp_path):
    (tmp_path / "mine.conllu").write_text(ROWS)
    (sentence,) = read_conllu(tmp_path / "mine.conllu").sentences
    (parsed,) = by_heart.parse([sentence])
    before, after = (format_conllu(s).split("\n") for s in (sentence, parsed))
    heads, labels = [], []
    for old, new in zip(before, after, strict=True):
        old, new = old.split("\t"), new.split("\t")
        if old[0].isdecimal():
            heads.append(int(new[6]))
            labels.append(new[7])
            old[6:8] = new[6:8] = []
        assert old == new
    assert (tuple(heads), tuple(labels)) == (parsed.heads, parsed.labels)
    assert set(parsed.labels) <= set(by_heart.labels) and "first" not in by_heart.labels


# ---- Proposals


@pytest.mark.parametrize("method", METHODS)
def test_proposed_trees_are_different_and_their_probabilities_those_of_the_scores(method, by_heart):
    sentences = [sentence.words for sentence in minilang().sentences if len(sentence.words) > 5]  # 143 trees and more
    proposed = list(propose(by_heart, sentences, 50, METHODS[method]))
    for words, scores, chosen in zip(sentences, by_heart.arc_scores(sentences), proposed, strict=True):
        rows = [tuple(heads) for heads in chosen.heads.tolist()]
        assert len(rows) == len(set(rows)) == 50
        assert all(heads.count(0) == 1 and is_projective(heads) for heads in rows)
        for heads, log_q in zip(rows, chosen.log_probs, strict=True):
            score = scores[heads, range(1, len(words) + 1)].sum()
            assert log_q == pytest.approx(score - log_partition(scores), abs=1e-4)
        assert np.exp(chosen.log_probs).sum() <= 1 + 1e-9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parser", [untrained, "by heart"])
def test_all_trees_of_a_short_sentence_come_once_and_sum_to_1(parser, method, by_heart):
    parser = by_heart if parser == "by heart" else parser()
    short = [WORDS[:n] for n in (1, 2, 3, 4)]
    for words, chosen in zip(short, propose(parser, short, 300, METHODS[method]), strict=True):
        found = [tuple(heads) for heads in chosen.heads.tolist()]
        assert Counter(found) == Counter(trees.all_trees(len(words)))
        assert np.exp(chosen.log_probs).sum() == pytest.approx(1)


def test_the_best_trees_are_sorted_and_start_with_the_parse(by_heart):
    sentences = minilang(6).sentences
    proposed = propose(by_heart, [sentence.words for sentence in sentences], 40, METHODS["best"])
    for parsed, chosen in zip(by_heart.parse(sentences), proposed, strict=True):
        assert (np.diff(chosen.log_probs) <= 0).all()
        assert tuple(chosen.heads[0]) == parsed.heads


def test_samples_have_no_more_probability_than_the_best_trees(by_heart):
    sentences = [sentence.words for sentence in minilang(6).sentences]
    best, sample = (list(propose(by_heart, sentences, 20, METHODS[method])) for method in ("best", "sample"))
    for one, other in zip(best, sample, strict=True):
        assert np.exp(one.log_probs).sum() >= np.exp(other.log_probs).sum() - 1e-9


def test_a_sample_depends_only_on_the_seed_and_the_sentence():
    longer = WORDS * 2

    def sampled(sentences: list, seed: int = 1, number: int = 1) -> list:
        return list(propose(untrained(), sentences, 10, METHODS["sample"], seed))[number].heads.tolist()

    first = sampled([WORDS, longer])
    assert sampled([WORDS, longer]) == first
    assert sampled([("Yes",), longer]) == first
    assert sampled([ODD["100 words"], longer, WORDS]) == first
    assert sampled([WORDS, longer], seed=2) != first
    assert sampled([longer, longer]) != sampled([longer, longer], number=0), "two sentences are drawn for apart"


class Drawn:
    """A distribution whose only tree is the sentence with the next number of the generator."""

    def __init__(self, words):
        self.words = words

    def different_samples(self, count, random):
        return self.words, count, random.integers(2**40)


class Drawing:
    """A parser that remembers how many sentences it was asked for at once."""

    def __init__(self):
        self.asked = []

    def distributions(self, sentences):
        self.asked.append(len(sentences))
        return [Drawn(words) for words in sentences]


def test_many_sentences_are_parsed_in_groups_and_each_is_drawn_for_by_its_number():
    sentences, parser = [(f"word-{number}",) for number in range(150)], Drawing()
    proposed = list(propose(parser, sentences, 7, METHODS["sample"], seed=3))
    assert proposed == [
        (words, 7, np.random.default_rng([3, number]).integers(2**40)) for number, words in enumerate(sentences)
    ]
    group = parser.asked[0]
    assert 1 < group < 75 and sum(parser.asked) == 150 and max(parser.asked) == group
    assert list(propose(parser, sentences[group:], 7, METHODS["sample"], seed=3, first=group)) == proposed[group:]


def test_the_best_do_not_depend_on_the_seed():
    first, second = (next(propose(untrained(), [WORDS], 10, METHODS["best"], seed)) for seed in (1, 2))
    assert first.heads.tolist() == second.heads.tolist()
