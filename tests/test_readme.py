"""Every command and every snippet of the README and of the book's guides runs as printed, and prints what they show.

They run in a scratch repository whose configs are tiny, with a treebank, a text, a suite and pairs of the names that
the guides use. LEFT_OUT has the commands that are not run, with the reason.
"""

import contextlib
import io
import json
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import yaml
from conftest import with_one_thread
from running import ROOT
from toys import TINY, TINY_SIZE, tiny_repository

from dtglib.cli.main import main
from dtglib.data import minilang
from dtglib.data.corpora import load, ud_treebanks
from dtglib.data.minilang.corpus import SPLITS
from dtglib.data.treebank import write_conllu

# Commands and snippets of the pages, as nothing else runs them.
slow = pytest.mark.slow
pytestmark = pytest.mark.usefixtures("one_thread")

# In this order: `train` makes the models that later pages use.
PAGES = ["README.md", *(f"book/{name}.md" for name in ("commands", "train", "score", "evaluate", "minilang"))]
PAGES += ["book/sizes.md", "book/speed.md"]
# The page of the other papers is read here, too, so that its commands run after those of `train`.
WITH_OTHER_PAPERS = find_spec("dtgpapers") is not None
PAGES += ["book/relatives.md", "book/doors.md"] * WITH_OTHER_PAPERS
BLOCKS = [
    (page, kind, block)
    for page in PAGES
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
]

LEFT_OUT = {
    "torchrun": "tests/test_several.py",
    "sbatch": "tests/test_slurm.py",
    "make": "the Makefile's targets are what CI runs",
    "timeout": "what it stops is one of the Makefile's targets",
    "python benchmarks": "tests/test_benchmarks.py",
    "bash benchmarks/gpu": "it needs a GPU; tests/test_gpu_visit.py",
    "pytest -m cuda": "it needs a GPU",
    "dtglib suites minilang": "minutes; tests/test_syntactic.py",
    "dtglib blimp --fraction": "an hour; tests/test_syntactic.py",
    "dtglib blimp minilang": "minutes; tests/test_syntactic.py",
    "dtglib reading": "minutes, on the corpus itself; tests/papers/reading",
    "dtglib evaluate": "half an hour; tests/test_recording.py",
}
if WITH_OTHER_PAPERS:
    LEFT_OUT |= {
        "dtglib challenge --model": "minutes; tests/papers/translation",
        "dtglib babylm": "minutes, on the public data; tests/papers/doors",
        "pip install": "it installs packages; tests/papers/doors",
        "python -m": "it needs lm_eval; tests/papers/doors",
        "dtglib tune": "it needs a GiLT, and half an hour; tests/papers/tuning",
    }

NUMBER = re.compile(r"-?\d+\.\d+")


def commands_in(block: str) -> list[str]:
    """The commands of a block of shell, without comments."""
    lines = (re.sub(r"(^|\s+)#.*", "", line).strip() for line in block.replace("\\\n", " ").splitlines())
    return [line for line in lines if line]


COMMANDS = [(page, command) for page, kind, block in BLOCKS if kind == "sh" for command in commands_in(block)]
RUN = [(page, command) for page, command in COMMANDS if not command.startswith(tuple(LEFT_OUT))]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """The folder in which everything runs."""
    if "UD_English-EWT" not in ud_treebanks():
        pytest.skip("a treebank is needed, and UD English is not here")
    folder = tiny_repository(tmp_path_factory.mktemp("readme"))
    shutil.move(folder / "configs" / "smoke.yaml", folder / "configs" / "mini.yaml")
    for parser in (folder / "configs" / "parsers").iterdir():  # few steps, each with many sentences
        parser.write_text(as_yaml_with(parser.read_text(), batch_positions=1024))
    if WITH_OTHER_PAPERS:
        write_configs_of_other_papers(folder / "configs")
    for part, count in (("train", 350), ("dev", 10), ("test", 5)):
        (folder / "my-treebank").mkdir(exist_ok=True)
        write_conllu(folder / "my-treebank" / f"{part}.conllu", load("UD_English-EWT", part, count).sentences)
    (folder / "train.txt").write_text("The keys are here.\n")
    (folder / "mine.txt").write_text("The keys to the cabinet are on the table.\nIt doesn't matter.\n")
    suite = json.loads(next(iter(minilang.suites())).as_json())
    (folder / "my-suite.json").write_text(json.dumps(suite | {"items": suite["items"][:2]}))
    paradigm = next(iter(minilang.minimal_pairs()))
    (folder / "my-pairs.jsonl").write_text("\n".join(paradigm.as_json_lines().splitlines()[:3]))
    return folder


def write_configs_of_other_papers(folder: Path) -> None:
    """Models and parsers that are trained in a moment."""
    (folder / "udgn").mkdir()
    (folder / "udgn" / "mini.yaml").write_text("heads_width: 8\nparser_layers: 1\nrarest: 1\n")
    translation = {"corpus": "minilang:de-en", "model": "vanilla"}
    (folder / "translation.yaml").write_text(as_yaml_with(TINY_SIZE, **translation))
    weak = (folder / "parsers" / "weak.yaml").read_text()
    sentences = {key: value for key, value in yaml.safe_load(TINY).items() if key.endswith("_sentences")}
    spans = as_yaml_with(weak.replace("arc_width", "span_width"), parser="constituents", **sentences)
    (folder / "parsers" / "spans.yaml").write_text(spans)
    (folder / "parsers" / "graphs.yaml").write_text(as_yaml_with(weak, parser="graphs", **sentences))


def as_yaml_with(text: str, **changed: object) -> str:
    """The config with other values of some keys."""
    return yaml.safe_dump(yaml.safe_load(text) | changed)


def test_each_command_that_is_left_out_is_on_a_page():
    unused = [start for start in LEFT_OUT if not any(command.startswith(start) for _, command in COMMANDS)]
    assert unused == []
    assert len(RUN) > 20 and all(command.startswith("dtglib ") for _, command in RUN)


@pytest.fixture(scope="module")
def after_commands(place) -> Path:
    """The folder when all commands have run.

    On a smaller minilang, because a model that has learnt nothing writes each sentence as long as it may.
    """
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(place), with_one_thread():
        for part, count in (("train", 2000), ("dev", 40), ("test", 20)):
            patch.setitem(SPLITS, part, count)
        run_commands()
    return place


def run_commands() -> None:
    trained_on = {}
    for page, command in RUN:
        _, *arguments = shlex.split(command)
        if arguments[0] in ("train", "train-parser"):  # several pages train my-model, each of them once
            out = arguments[arguments.index("--out") + 1]
            if trained_on.setdefault(out, page) != page:
                shutil.rmtree(out)
                trained_on[out] = page
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            assert main(arguments) == 0, f"{command}: {said.getvalue()}"


@slow
def test_the_commands_run_as_printed(after_commands):
    assert (after_commands / "my-model" / "model.safetensors").is_file()


SHOWN = [(page, block) for page, kind, block in BLOCKS if kind == "console"]


@slow
@pytest.mark.parametrize(("page", "block"), SHOWN, ids=[page for page, _ in SHOWN])
def test_a_command_prints_what_the_page_shows(page, block, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        if not command.startswith("dtglib "):
            assert command == ". .venv/bin/activate" and not expected
            continue
        assert main(shlex.split(command)[1:]) == 0
        out, err = capsys.readouterr()
        assert NUMBER.sub("", err + out).split() == NUMBER.sub("", expected).split(), command
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (out, expected)]
        np.testing.assert_allclose(*numbers, atol=2e-3, err_msg=command)  # processors round differently


@slow
def test_with_the_wrong_verb_the_surprisal_is_what_the_readme_says(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert main(["surprisal", "The keys to the cabinet is on the table ."]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if " is " in line and line[0] != "#"]
    (shown,) = re.findall(r"the surprisal in the sixth line is (\d\.\d+)", (ROOT / "README.md").read_text("utf-8"))
    assert float(line.split()[4]) == pytest.approx(float(shown), abs=2e-3)


@slow
def test_the_snippets_run_as_printed(after_commands, monkeypatch):
    monkeypatch.chdir(after_commands)
    monkeypatch.setenv("HF_HOME", str(after_commands / "hf"))  # where transformers copies a model's code to
    names = {
        "my_surprisals": lambda sentences: [np.arange(len(words)) for words in sentences],
        "my_log_probs": lambda sentences: [-float(len(words)) for words in sentences],
    }
    for page, kind, block in BLOCKS:
        if kind == "python":
            exec(compile(block, page, "exec"), names)
    assert names["scored"].bound <= 0 and names["trees"].heads.shape[1] == 4
