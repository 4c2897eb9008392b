"""A model is trained once, and found again by all that it depends on."""

import os
from pathlib import Path

import pytest
from running import bits, elsewhere, interrupted_at, lines, written
from toys import TINY

from dtglib.basics.code import RUNNING
from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.data.treebank import Sentence, sentence_from_rows, write_conllu
from dtglib.families.base import load_model
from dtglib.runs.prepare import folder_for, prepare, trained
from dtglib.runs.settings import read_settings
from dtglib.training.examples import Examples

pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = {"model": "txl-tokens", "epochs": 1}


@pytest.fixture
def repository(tmp_path, monkeypatch) -> Path:
    """A repository as `trained` knows one, so that nothing lands in the runs/ of the real one."""
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "tiny.yaml").write_text(TINY)
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


def settings(repository: Path, **other):
    return read_settings(repository / "configs" / "tiny.yaml", QUICK | other)


def test_only_files_of_configs_are_laid_over_others(repository):
    """And not the config that a training has written into its folder."""
    (repository / "configs" / "txl-tokens").mkdir()
    (repository / "configs" / "txl-tokens" / "tiny.yaml").write_text("epochs: 3\n")
    assert read_settings(repository / "configs" / "tiny.yaml", {"model": "txl-tokens"}).train.epochs == 3
    for folder in ("mine", "mine/txl-tokens"):
        (repository / folder).mkdir()
        (repository / folder / "config.yaml").write_text(TINY if folder == "mine" else "checksum_of_train: 1\n")
    read_settings(repository / "mine" / "config.yaml", QUICK)


# ---- Trained once


def test_the_model_is_trained_into_a_folder_of_the_repository_that_holds_it_and_its_record(repository):
    folder = trained(settings(repository))
    assert folder.parent == repository / "runs" / "models"
    assert folder.name.startswith("txl-tokens-")
    model = load_model(folder)
    assert (model.config.model, model.config.width) == ("txl-tokens", 16)
    assert read_record(folder).about["status"] == "finished"


def test_nothing_is_trained_twice(repository, monkeypatch):
    folder = trained(settings(repository))
    before = written(folder)

    def refuse(*arguments):
        raise AssertionError("it trains again")

    monkeypatch.setattr(Examples, "batch", refuse)
    assert trained(settings(repository)) == folder
    assert trained(settings(repository), prepare(settings(repository))) == folder
    assert written(folder) == before


@pytest.mark.parametrize(
    "other",
    [{"seed": 2}, {"learning_rate": 0.006}, {"width": 8}, {"train_sentences": 39}, {"dev_sentences": 9}, {"arcs": "w"}],
    ids=str,
)
def test_any_other_setting_gives_another_folder(other, repository):
    one, another = settings(repository), settings(repository, **other)
    assert folder_for(one, prepare(one)) != folder_for(another, prepare(another))


def test_other_sentences_in_the_same_place_give_another_folder(repository):
    corpus = repository / "corpus"
    write_parts(corpus, "There is a difference", "There is a difference")
    first = trained(settings(repository, corpus=str(corpus)))
    write_parts(corpus, "There is no difference", "There is a difference")
    second = trained(settings(repository, corpus=str(corpus)))
    write_parts(corpus, "There is no difference", "There is no difference")
    third = trained(settings(repository, corpus=str(corpus)))
    assert len({first, second, third}) == 3


@pytest.mark.parametrize(
    "module",
    ["dtglib/training/loop", "dtglib/network/output", "dtglib/sequences/compile", "dtglib/families/sequence_model"],
)
def test_other_code_gives_another_folder(module, repository, monkeypatch):
    found = settings(repository)
    prepared = prepare(found)
    first = folder_for(found, prepared)
    monkeypatch.setitem(RUNNING, module, "of a changed one")
    assert folder_for(found, prepared) != first


def test_code_that_decides_about_no_weight_gives_the_same_folder(repository, monkeypatch):
    first = trained(settings(repository))
    for module in (
        "dtglib/decode/beam",
        "dtglib/evaluate/suites",
        "dtglib/pictures/plot",
        "dtglib/runs/tables",
        "dtglib/basics/progress",
    ):
        monkeypatch.setitem(RUNNING, module, "of a changed one")
    assert trained(settings(repository)) == first


def test_a_training_that_was_stopped_goes_on(repository, monkeypatch):
    longer = settings(repository, epochs=2)
    with interrupted_at(Examples, 3, monkeypatch), pytest.raises(KeyboardInterrupt):
        trained(longer)
    (stopped,) = (repository / "runs" / "models").iterdir()
    assert read_record(stopped).about["status"] == "interrupted"
    assert trained(longer) == stopped
    kept, dev = bits(stopped), lines(stopped, "dev")
    stopped.rename(repository / "elsewhere")
    assert trained(longer) == stopped
    assert (bits(stopped), lines(stopped, "dev")) == (kept, dev)


def train_there(repository: Path, trees: int) -> None:
    os.chdir(repository)
    trained(settings(repository, trees=trees))


# Slow: two processes, forked from one that imports PyTorch and supar.
@pytest.mark.slow
def test_of_two_sizes_that_want_the_same_model_one_trains_it_and_the_other_waits(repository):
    assert elsewhere((train_there, repository, 5), (train_there, repository, 7)) == [0, 0]
    (folder,) = (repository / "runs" / "models").iterdir()
    steps = [line["step"] for line in lines(folder, "train")]
    assert steps == sorted(set(steps))
    assert read_record(folder).about["status"] == "finished"


# ---- What is read


def sentence(text: str) -> Sentence:
    """Each word hangs from the next one."""
    words = text.split()
    heads = [*range(2, len(words) + 1), 0]
    columns = zip(range(1, len(words) + 1), words, heads, strict=True)
    rows = [(f"{number}", word, "_", "_", "_", "_", f"{head}", "dep", "_", "_") for number, word, head in columns]
    return sentence_from_rows(rows, comments=[f"# sent_id = {'-'.join(words)}"])


def write_parts(folder: Path, *parts: str) -> None:
    """train.conllu and, where there is a second text, dev.conllu; a sentence a line."""
    folder.mkdir(exist_ok=True)
    for name, text in zip(("train", "dev"), parts, strict=False):
        write_conllu(folder / f"{name}.conllu", map(sentence, text.splitlines()))


def test_the_vocabulary_is_that_of_the_training_part_alone(repository):
    write_parts(repository / "corpus", "There is a difference", "There is no difference")
    vocabulary = prepare(settings(repository, corpus=str(repository / "corpus"))).vocabulary
    assert "▁a" in vocabulary.entries
    assert "▁no" not in vocabulary.entries


def test_too_long_sentences_are_named_in_the_first_line_of_metrics(repository):
    write_parts(repository / "corpus", "There is a difference\nThere is", "There is\nThere is no difference")
    folder = trained(settings(repository, corpus=str(repository / "corpus"), longest=4))
    (about,) = lines(folder, "about")
    assert about["train"] == "1 sentences, 3 positions; left out: 1 more than 4 positions (There-is-a-difference)"
    assert about["dev"] == "1 sentences, 3 positions; left out: 1 more than 4 positions (There-is-no-difference)"
    parameters = sum(parameter.numel() for parameter in load_model(folder).parameters())
    assert (about["parameters"], about["steps"]) == (parameters, 1)


def test_the_record_says_what_was_read(repository):
    prepared = prepare(settings(repository))
    data = read_record(trained(settings(repository))).about["data"]
    assert data == {
        "checksum_of_vocabulary": prepared.vocabulary.fingerprint,
        "checksum_of_train": prepared.train.checksum,
        "checksum_of_dev": prepared.dev.checksum,
    }


def test_a_single_file_is_refused_and_the_way_out_is_named(repository):
    write_parts(repository / "corpus", "There is a difference")
    with pytest.raises(
        UserError, match=r"train\.conllu: a model is trained on one part .* train.conllu and dev.conllu"
    ):
        prepare(settings(repository, corpus=str(repository / "corpus" / "train.conllu")))


def test_a_folder_without_a_dev_part_is_refused(repository):
    write_parts(repository / "corpus", "There is a difference")
    with pytest.raises(UserError, match="there is no split 'dev'; it has train"):
        prepare(settings(repository, corpus=str(repository / "corpus")))
