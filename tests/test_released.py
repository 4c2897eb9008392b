"""Released models and parsers: their names, cards, sizes and commands; and that a card tells the truth."""

import json
import re
import shutil
import tomllib
from dataclasses import asdict, replace
from fnmatch import fnmatch
from pathlib import Path

import pytest
import release
import torch
from running import assert_one_line, without_conventions
from toys import run, small_model, tiny_repository, vocabulary

from dtglib.basics import released
from dtglib.basics.config import as_yaml, value_of
from dtglib.basics.errors import UserError
from dtglib.basics.files import repository
from dtglib.basics.record import read_record
from dtglib.basics.released import CARD_FILE, Card, cards, folder_named
from dtglib.cli import options
from dtglib.cli.main import main
from dtglib.data.corpora import corpora, part_of
from dtglib.data.streamed import in_memory
from dtglib.data.vocabulary import END
from dtglib.families.base import load_model, titles
from dtglib.network.saved import WEIGHTS_FILE
from dtglib.network.weights import write_compact
from dtglib.parsing.kept import CONFIG_FILE
from dtglib.parsing.kinds import ARCS, kind_of, kinds, load_trained
from dtglib.runs.parsers import read_parser
from dtglib.runs.settings import read_size

CARD = Card(
    kind="model", title="DTG", corpus="minilang", licence="MIT", not_for="real text", size="mini",
    seed=1, commit="0123456", parameters=1, epochs=1, minutes=1.0, hardware="a machine",
    nats_per_word=1.0, nats_lost=0.0,
)  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with one released model, dtg-toy, in place of the real ones."""
    folder = tmp_path / "models" / "dtg-toy"
    model = small_model("dtg", vocabulary("words"))
    with torch.no_grad():  # or else its sentences would hardly ever end
        model.output.bias[[END, model.vocabulary.transition("LEFTARC"), model.vocabulary.transition("RIGHTARC")]] += 8
    model.save(folder)
    write_compact(folder / WEIGHTS_FILE, folder / WEIGHTS_FILE)
    (folder / CARD_FILE).write_text(as_yaml(CARD))
    monkeypatch.setattr(released, "PLACES", (tmp_path / "models",))
    monkeypatch.chdir(tmp_path)
    return folder.parent


def test_a_name_wins_over_a_folder_of_the_same_spelling(place, tmp_path):
    (tmp_path / "dtg-toy").mkdir()
    assert folder_named("dtg-toy") == place / "dtg-toy"
    assert folder_named("./dtg-toy").resolve() == tmp_path / "dtg-toy"
    assert folder_named(tmp_path / "dtg-toy") == tmp_path / "dtg-toy"
    assert load_model("dtg-toy").config.model == "dtg"


def is_installed(name: str) -> bool:
    """True for a release of dtglib, and of another paper if that is installed."""
    chosen = release.RELEASES[name]
    return chosen.model in titles() or (bool(chosen.parser) and kind_named(folder_named(name) / CONFIG_FILE) in kinds())


def kind_named(path: Path) -> str:
    return value_of(path, "parser", ARCS)


MODELS = [*cards("model")]
NAMES = [*MODELS, *cards("parser")]
INSTALLED = [name for name in NAMES if is_installed(name)]


@pytest.mark.parametrize("name", [name for name in INSTALLED if name in MODELS])
def test_every_released_model_can_be_loaded(name):
    assert not load_model(name).training


def test_released_models_have_the_name_of_a_corpus():
    with pytest.raises(UserError, match="released must be null or one of books, minilang, public, ud, not 'mini'"):
        read_size("smoke", released="mini")


def test_models_lists_what_there_is_and_shows_a_card(place, capsys):
    assert main(["models"]) == 0
    assert "dtg-toy" in capsys.readouterr().out
    assert main(["models", "dtg-toy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == asdict(CARD)
    assert main(["models", "dtg-ud"]) == 2
    assert_one_line(capsys, "there is no released 'dtg-ud'; did you mean dtg-toy? there are dtg-toy")


def test_where_nothing_is_released_models_says_so(place, capsys):
    (place / "dtg-toy" / CARD_FILE).unlink()
    assert main(["models"]) == 2
    assert_one_line(capsys, "no models came with this package; `make release` makes them")


def test_sample_draws_sentences_and_the_same_ones_again(place, capsys):
    outputs = []
    for seed in ("1", "1", "7"):
        assert main(["sample", "--model", "dtg-toy", "-n", "4", "--words", "6", "--seed", seed, "--json"]) == 0
        outputs.append(json.loads(capsys.readouterr().out)["sentences"])
    assert outputs[0] == outputs[1] != outputs[2]
    assert [len(one["words"]) == len(one["heads"]) <= 6 for one in outputs[0]] == [True] * 4
    assert main(["sample", "--model", "dtg-toy", "-n", "2", "--words", "6"]) == 0
    rows, conventions = without_conventions(capsys.readouterr().out)
    assert len(rows) == 3 and "text: drawn, seed 1, temperature 1; unit: nats" in conventions


@pytest.mark.parametrize(
    ("option", "complaint"),
    [("--temperature=0", "from 0.0001 to 10000"), ("--temperature=inf", "from 0.0001")],
)
def test_a_wrong_temperature_is_one_line(option, complaint, place, capsys):
    assert main(["sample", "--model", "dtg-toy", option]) == 2
    assert_one_line(capsys, complaint)


def test_a_model_of_ones_own_needs_a_parser_and_a_released_one_has_it(place, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("There is\n")
    for name in ("dtg-toy", "models/dtg-toy"):
        assert main(["score", "--model", name, "mine.txt"]) == 2
        assert "dtglib: with parser-minilang\n" in capsys.readouterr().err  # which is not here
    shutil.copytree(place / "dtg-toy", tmp_path / "own")
    assert main(["score", "--model", "own", "mine.txt"]) == 2
    assert_one_line(capsys, "own: this model sums over trees, which a parser proposes; name one with --parser")


def test_a_picture_is_drawn_of_one_sentence(place, tmp_path, capsys):
    (tmp_path / "two.txt").write_text("There is\nThere is\n")
    assert main(["surprisal", "--model", "dtg-toy", "There is", "--picture", "a.svg"]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    capsys.readouterr()
    assert main(["surprisal", "--model", "dtg-toy", "There is", "--picture", "a.png"]) == 2
    assert_one_line(capsys, "let its name end in .svg")
    assert main(["surprisal", "--model", "dtg-toy", "two.txt", "--picture", "a.svg"]) == 2
    assert_one_line(capsys, "draws one sentence, and here are 2")


# ---- How they are made


# Slow: a parser and a model are trained and judged as a release.
@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_release_is_trained_rounded_measured_and_has_its_card_at_the_end(tmp_path, monkeypatch):
    monkeypatch.chdir(tiny_repository(tmp_path))
    monkeypatch.setattr(released, "PLACES", (tmp_path / "models",))
    corpus = replace(release.MINILANG, size="smoke")
    tiny = (release.Release(corpus, parser="strong"), release.Release(corpus, "dtg"))
    monkeypatch.setattr(release, "RELEASES", dict(zip(TINY_RELEASES, tiny, strict=True)))
    for name in TINY_RELEASES:
        folder = release.release(name)
        card = released.read_card(folder)
        assert (card.corpus, card.seed, card.epochs, card.kind) == ("minilang", 1, 1, name[:-9].replace("dtg", "model"))
        assert abs(card.nats_lost) < 0.01 and card.nats_per_word > 1 and card.uas >= 0
        assert (folder / "metrics.jsonl").is_file() and not list(folder.glob(".*"))
    assert card.suites >= 0 and card.pairs >= 0 and card.perplexity > 1
    assert load_model("dtg-minilang").config.width == 16
    with pytest.raises(UserError, match="there is no release 'dtg-klingon'; releases are parser-minilang"):
        release.release("dtg-klingon")


TINY_RELEASES = ("parser-minilang", "dtg-minilang")


@pytest.mark.parametrize(("name", "is_compared"), [("dtg-books", True), ("dtg-public", False)])
def test_a_model_is_not_compared_with_trees_that_a_parser_has_drawn(name, is_compared, tmp_path, monkeypatch):
    monkeypatch.setattr(release, "test_sentences", lambda settings: [])
    assert ("uas" in dict(release._scores_of_model(tmp_path, release.RELEASES[name]))) == is_compared


# ---- The real ones


def test_commands_have_the_weights_of_their_default_models_in_a_wheel():
    package = tomllib.loads((repository() / "pyproject.toml").read_text("utf-8"))
    left_out = package["tool"]["setuptools"]["exclude-package-data"]["dtglib.models"]
    for kind, about in (("dtg", None), ("dtg", "minilang"), ("parser", None), ("parser", "minilang")):
        name = options._default(kind, about)
        (weights,) = (repository() / "models" / name).glob("*.safetensors")
        assert not any(fnmatch(f"{name}/{weights.name}", pattern) for pattern in left_out)


def test_all_models_of_the_first_paper_are_at_most_45_megabytes_and_of_relatives_at_most_12():
    sizes = {True: 0, False: 0}
    for name in NAMES:
        chosen = release.RELEASES[name]
        is_first = chosen.model in titles("dtg") or chosen.parser in ("strong", "weak", "books")
        sizes[is_first] += sum(path.stat().st_size for path in (repository() / "models" / name).iterdir())
    assert sizes[True] <= 45e6
    assert sizes[False] <= 12e6


@pytest.mark.parametrize("name", NAMES)
def test_rounding_the_weights_cost_less_than_a_thousandth_of_a_nat_per_word(name):
    card = {**cards("model"), **cards("parser")}[name]
    assert abs(card.nats_lost) < 1e-3
    assert name in release.RELEASES and "changed" not in card.commit


# Slow: a change of the code that makes a released model another one.
@pytest.mark.slow
@pytest.mark.parametrize("name", INSTALLED)
def test_the_loss_on_a_card_is_that_of_the_files(name):
    corpus, model, config = release.RELEASES[name]
    settings = corpus.settings(**({} if config else {"model": model}))
    if "not found" in {corpus.name: corpus.where for corpus in corpora()}[settings.corpus.corpus]:
        pytest.skip("the treebanks are not here")
    folder = folder_named(name)
    # The dev parts of other models take minutes; a thirtieth is enough to see that files and card belong together, and
    # a small change of the code is seen in the models of minilang.
    is_large = corpus.settings().corpus.corpus.partition(":")[0] != "minilang" and not config
    if config:
        entries, train = load_trained(folder).entries, read_parser(config, settings).train
        dev = kind_of(folder / CONFIG_FILE).examples(entries, part_of(settings.corpus, "dev"), train.longest)
        found = release.of_parser(folder, dev, train.batch_positions)
    else:
        model, train = load_model(folder), settings.train
        treebank = in_memory(part_of(settings.corpus, "dev"))
        treebank = treebank._replace(sentences=treebank.sentences[:: 30 if is_large else 1])
        dev = settings.family.examples(model.config, model.vocabulary, treebank, train.longest)
        found = release.of_model(folder, dev, train.batch_positions)
    close = {"rel": 0.05} if is_large else {"abs": 2e-4}
    assert found == pytest.approx({**cards("model"), **cards("parser")}[name].nats_per_word, **close)


def test_of_a_long_training_a_release_has_fewer_lines_evenly_spaced_and_all_others(monkeypatch):
    monkeypatch.setattr(release, "MOST_LINES", 4)
    lines = [json.dumps({"part": "train", "step": step}) for step in range(1, 10)]
    held_out = json.dumps({"part": "dev", "step": 9})
    assert release.thinned([*lines, held_out]) == [lines[2], lines[5], lines[8], held_out]
    assert release.thinned([*lines[:4], held_out]) == [*lines[:4], held_out]
    assert release.thinned([held_out]) == [held_out]


def test_what_is_released_of_a_long_training_is_a_whole_record(monkeypatch, tmp_path):
    monkeypatch.setattr(release, "MOST_LINES", 4)
    monkeypatch.setattr(release, "write_compact", shutil.copyfile)  # the toy's weights have no checksum
    run(tmp_path / "run")
    release._write_rounded(tmp_path / "run", tmp_path / "released", WEIGHTS_FILE)
    ours, whole = (read_record(tmp_path / name) for name in ("released", "run"))
    assert 0 < len(ours.metrics) < len(whole.metrics)
    assert ours.about | {"metrics": len(whole.metrics)} == whole.about


def test_the_licence_of_each_model_is_in_the_file_of_licences():
    text = (repository() / "models" / "LICENCES.md").read_text("utf-8")
    for card in (*cards("model").values(), *cards("parser").values()):
        found = re.findall(r"MIT|CC BY(?:-NC)?(?:-SA)? 4\.0|public domain", card.licence)
        assert found and all(licence in text for licence in found), card


def test_all_released_folders_are_whole_records():
    folders = [path.parent for path in (repository() / "models").glob("*/card.yaml")]
    assert folders and all(read_record(folder).metrics for folder in folders)
