"""A guest needs no edit in the package: toy families are trained, resumed, scored, searched, sampled and judged."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import with_one_thread
from running import WEIGHTS_FILE, interrupted_at, lines, tensors
from toy_families import (
    FIRST_LETTER,
    MOST_MARKS,
    SLOW,
    FirstLetter,
    FirstLetterConfig,
    compile_symbols,
    symbols_of,
)
from toys import READINGS, small_model

from dtglib.basics.errors import UserError
from dtglib.cli.main import main
from dtglib.data.treebank import Sentence
from dtglib.data.vocabulary import Vocabulary
from dtglib.decode.beam import Widths, search
from dtglib.decode.sampling import generate
from dtglib.decode.trie import computed as of_tries
from dtglib.decode.trie import planned
from dtglib.evaluate.surprisal import surprisals
from dtglib.families.base import families, family, family_of, load_model, titles
from dtglib.network.transformer import batch_of
from dtglib.runs.settings import read_settings
from dtglib.sequences.batches import pad
from dtglib.sequences.structure import dense, flex
from dtglib.training.examples import Examples

WORDS = ["a", "be", "see"]
SMALL = Vocabulary.of_words([WORDS])
ALL = Widths(10**6, 10**6, 0)

pytestmark = pytest.mark.usefixtures("one_thread")


# ---- Names


def test_the_families_of_the_package_have_names_of_their_own():
    names = [one.name for one in families()]
    assert len(set(names)) == len(names)
    assert [family(name).name for name in names] == names


def test_the_five_models_of_the_paper_in_the_order_of_its_tables():
    assert titles("dtg") == {
        "txl-tokens": "TXL (tokens)", "txl-trans": "TXL (trans)",
        "dtg": "DTG", "dtg-eager": "DTG-eager", "dtg-swift": "DTG-swift",
    }  # fmt: skip


def test_a_family_of_ones_own_has_its_module_in_its_name():
    assert family("toy_families:FIRST_LETTER") is FIRST_LETTER


@pytest.mark.parametrize("name", ["gpt", "nowhere:FAMILY", "toy_families:NOTHING", ":", "toy_families:MOST_MARKS"])
def test_a_name_of_no_family_is_refused(name):
    with pytest.raises(UserError, match=r"there is no model|is no family of models"):
        family(name)


# ---- The first toy: trained by the command, resumed, scored, searched, sampled, judged


CONFIG = """
corpus: minilang
train_sentences: 60
dev_sentences: 20
test_sentences: 10
model: toy_families:FIRST_LETTER
layers: 1
width: 16
heads: 2
inner: 32
letter_weight: 0.25
dropout: 0.1
epochs: 3
batch_positions: 256
learning_rate: 0.0005
momentum: 0.5
precision: float32
evaluate_every: 4
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("config") / "toy.yaml"
    path.write_text(CONFIG)
    return path


@pytest.fixture(scope="module")
def folder(config) -> Path:
    folder = config.parent / "trained"
    with with_one_thread():
        assert main(["train", str(config), "--out", str(folder)]) == 0
    return folder


def test_its_settings_are_its_own_and_what_it_does_not_know_is_an_error(config):
    settings = read_settings(config)
    assert (settings.family, settings.model.letter_weight, settings.train.momentum) == (FIRST_LETTER, 0.25, 0.5)
    with pytest.raises(UserError, match="unknown key letter_wait; did you mean letter_weight"):
        read_settings(config, {"letter_wait": 1})
    with pytest.raises(UserError, match="unknown key letter_weight"):
        read_settings(config, {"model": "dtg"})


def test_all_parts_of_its_loss_are_logged_under_their_own_names(folder):
    train, dev = lines(folder, "train"), lines(folder, "dev")
    for line in (*train, *dev):
        assert line["nats_per_symbol"] > 0 and line["nats_per_letter"] > 0 and line["nats_per_sentence"] > 0
        assert "nats_per_transition" not in line


def test_its_rate_follows_its_held_out_losses(folder):
    dev = [line["nats_per_sentence"] for line in lines(folder, "dev")]
    for line in lines(folder, "train"):
        before = dev[: (line["step"] - 1) // 4]
        falls = sum(later > SLOW * earlier for earlier, later in itertools.pairwise(before))
        assert line["learning_rate"] == 0.0005 / 2**falls
    assert 0 < falls < len(before) - 1


def test_a_training_that_is_stopped_and_goes_on_ends_with_the_same_bits(config, folder, tmp_path, monkeypatch):
    with interrupted_at(Examples, 9, monkeypatch):
        assert main(["train", str(config), "--out", str(tmp_path / "run")]) == 130
    assert main(["train", str(config), "--out", str(tmp_path / "run")]) == 0
    resumed, whole = (tensors(path, WEIGHTS_FILE) for path in (tmp_path / "run", folder))
    assert resumed.keys() == whole.keys()
    assert all(resumed[name].equal(whole[name]) for name in whole)
    assert lines(tmp_path / "run", "dev") == lines(folder, "dev")


def test_it_is_loaded_as_what_it_is(folder):
    model = load_model(folder)
    assert type(model) is FirstLetter and family_of(model) is FIRST_LETTER


def test_it_is_scored(folder, tmp_path, capsys):
    text = tmp_path / "mine.txt"
    text.write_text("The key was seen .\n")
    assert main(["score", "--model", str(folder), str(text)]) == 0
    assert "perplexity: at most" in capsys.readouterr().out


def small(seed: int = 1) -> FirstLetter:
    torch.manual_seed(seed)
    model = FirstLetter(FirstLetterConfig(width=8, heads=2, inner=16), SMALL).eval()
    with torch.no_grad():
        model.embedding.weight *= 3
    return model


def log_probs(model: FirstLetter, rows: Sequence[Sequence[int]]) -> np.ndarray:
    """log p of each sequence of symbols, its end included, alone in its batch."""
    found = []
    for row in rows:
        batch = batch_of(pad(compile_symbols(model.vocabulary, [row]), [0]), dense)
        with torch.no_grad():
            found.append(float(model.log_probs(batch).double().sum()))
    return np.array(found)


def with_marks(words: Sequence[str]) -> list[list[int]]:
    """The sentence with every choice of marks."""
    (mark,), ids = SMALL.encode([]).ids or (SMALL.transition("POP"),), SMALL.encode(words).ids
    choices = itertools.product(range(MOST_MARKS + 1), repeat=len(words) + 1)
    return [
        [s for n, i in zip(marks, [*ids, None], strict=True) for s in [mark] * n + ([i] if i else [])]
        for marks in choices
    ]


@pytest.mark.parametrize("words", [["a"], ["be", "a"], ["see", "see"]])
def test_a_full_search_is_the_sum_over_all_marks(words):
    model = small()
    (found,) = search(model.stepper(), SMALL, [words], ALL)
    expected = np.logaddexp.reduce(log_probs(model, with_marks(words)))
    assert found.log_prob == pytest.approx(expected, abs=1e-5)
    assert found.tree is None


def test_its_bound_is_that_of_its_own_marks_and_is_no_more_than_the_search(folder):
    model = small()
    (score,) = FIRST_LETTER.likelihood.scores(model, [Sentence(("be", "a"))], None)
    assert score.log_prob == pytest.approx(log_probs(model, [symbols_of(SMALL, ["be", "a"])])[0])
    assert score.log_prob < search(model.stepper(), SMALL, [["be", "a"]], ALL)[0].log_prob


def test_no_more_silent_symbols_are_taken_between_two_words_than_its_stepper_says(monkeypatch):
    model = small()
    with torch.no_grad():
        model.output.bias[SMALL.transition("POP")] += 20  # it would take marks for ever, if they were legal
    stepper = model.stepper()
    taken = []
    step = type(stepper).step

    def watched(self, state, rows, symbols, waiting=()):
        taken.append(max(len(row) for row in state.symbols))
        return step(self, state, rows, symbols, waiting)

    monkeypatch.setattr(type(stepper), "most_silent", lambda self, words: 1)
    monkeypatch.setattr(type(stepper), "step", watched)
    search(stepper, SMALL, [["a", "be"]], ALL)
    assert max(taken) <= 1 + 1 + 1 + 1, "a mark and a word, twice"


def test_its_bias_changes_what_it_says():
    model, other = small(), small()
    with torch.no_grad():
        other.letter_bias.zero_()
    rows = with_marks(["be", "a"])
    assert np.abs(log_probs(model, rows) - log_probs(other, rows)).max() > 1e-3


def test_many_sequences_in_tries_have_what_each_has_alone():
    model, rows = small(), with_marks(["be", "a", "see"])
    found = of_tries(model, planned(compile_symbols(SMALL, rows), torch.device("cpu")))
    np.testing.assert_allclose(found.numpy(), log_probs(model, rows), atol=1e-4)


def test_it_is_sampled(folder):
    model = load_model(folder)
    drawn = list(generate(model.stepper(), model.vocabulary, 5, torch.Generator().manual_seed(1), most_words=30))
    assert len(drawn) == 5 and all(one.words and one.tree is None for one in drawn)


def test_surprisals_suites_and_pairs_ask_it(folder, few_of_minilang, capsys):
    model = load_model(folder)
    (found,) = surprisals(model, [["The", "key", "was", "seen", "."]], Widths(5, 5))
    assert len(found.of_words) == 5 and found.died is None
    assert main(["surprisal", "--model", str(folder), "The key was seen .", "--beam", "5"]) == 0
    for command in ("blimp", "suites"):
        more = ["--fraction", "0.01"] if command == "blimp" else []
        path = ["minilang"] if command == "blimp" else [str(one_suite(folder.parent))]
        assert main([command, *path, "--model", str(folder), "--beam", "3", *more]) == 0
    out = capsys.readouterr().out
    assert "mean of" in out and "paradigms" in out


def one_suite(folder: Path) -> Path:
    from dtglib.data import minilang

    path = folder / "suite.json"
    content = minilang.suites()[0].as_json()
    path.write_text(content)
    return path


# ---- A bias that comes with the batch


@pytest.mark.parametrize("name", READINGS)
def test_a_bias_of_pairs_reaches_attention_in_dense_flex_and_tries_alike(name):
    """It may be any function of two positions that looks at nothing after the first: here, of what they read."""
    model = small_model(name)
    words = model.vocabulary.decode(np.flatnonzero(model.vocabulary.starts_word)[:3])
    trees = [(2, 0, 2), (0, 1, 2), (0, 1, 1)] if model.reading.has_trees else [None]
    sequences = model.reading.compile(model.vocabulary, [(words, heads) for heads in trees])

    def bias_of(compiled) -> np.ndarray:
        read = compiled.token * 7 + compiled.arc * 3
        return np.sin(read[:, None, :, None] * 0.7 + read[:, None, None, :]).astype(np.float32)

    compiled = pad(sequences, range(len(sequences)))
    bias = torch.from_numpy(bias_of(compiled))
    with torch.no_grad():
        batches = [batch_of(compiled, form, bias=bias) for form in (dense, flex)]
        by_dense, by_flex = (model.log_probs(batch).double() for batch in batches)
        without = model.log_probs(batch_of(compiled, dense)).double()
    torch.testing.assert_close(by_dense, by_flex, atol=1e-4, rtol=0)
    assert (by_dense - without).abs().max() > 1e-3
    rows = (batches[0].predicts // compiled.token.shape[1]).numpy()
    expected = np.bincount(rows, by_dense.numpy(), minlength=len(trees))
    found = of_tries(model, planned(sequences, torch.device("cpu"), bias_of))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)


# ---- The second toy: no left-to-right model


def test_what_is_no_left_to_right_model_says_so(tmp_path, capsys):
    FirstLetter(FirstLetterConfig(model="toy_families:NOT_SEARCHED"), SMALL).save(tmp_path)
    assert main(["surprisal", "--model", str(tmp_path), "a be"]) == 2
    assert "Not searched has no left-to-right probabilities" in capsys.readouterr().err
