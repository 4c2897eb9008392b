"""Every command and every snippet of the README, run as printed; what it prints is what the README shows.

They run in a scratch repository whose configs are tiny, with a treebank, a text, a suite and pairs of the names that
the README uses. What is left out stands in LEFT_OUT, with its reason.
"""

import json
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
from running import ROOT
from toys import TINY_SIZE, tiny_repository

from dtglib.cli.main import main
from dtglib.data import minilang
from dtglib.data.corpora import load, ud_treebanks
from dtglib.data.treebank import write_conllu

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

LEFT_OUT = {
    "torchrun": "tests/test_several.py",
    "sbatch": "tests/test_slurm.py",
    "make": "the Makefile's targets are what CI runs",
    "python -m dtglib reproduce": "tests/test_reproduce.py",
    "python benchmarks": "tests/test_benchmarks.py",
    "pytest -m cuda": "it wants a GPU",
    "dtglib suites minilang": "minutes; tests/test_syntactic.py",
    "dtglib blimp --fraction": "an hour; tests/test_syntactic.py",
    "dtglib challenge --model": "minutes; tests/test_translation_commands.py",
    "dtglib tune": "it needs a GiLT, and half an hour; tests/test_tuning_command.py",
    "dtglib reading": "minutes, on the corpus itself; tests/test_reading_times.py",
}


# A translator that is trained in a moment.
TINY_TRANSLATION = re.sub("corpus: .*", "corpus: minilang:de-en", re.sub("model: .*", "model: vanilla", TINY_SIZE))

NUMBER = re.compile(r"-?\d+\.\d+")


def commands_in(block: str) -> list[str]:
    """The commands of a block of shell, without comments."""
    lines = (re.sub(r"\s+#.*", "", line).strip() for line in block.replace("\\\n", " ").splitlines())
    return [line for line in lines if line]


COMMANDS = [command for kind, block in BLOCKS if kind == "sh" for command in commands_in(block)]
RUN = [command for command in COMMANDS if not command.startswith(tuple(LEFT_OUT))]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """The folder in which everything runs."""
    if "UD_English-EWT" not in ud_treebanks():
        pytest.skip("a treebank is needed, and UD English is not here")
    folder = tiny_repository(tmp_path_factory.mktemp("readme"))
    shutil.move(folder / "configs" / "smoke.yaml", folder / "configs" / "mini.yaml")
    (folder / "configs" / "udgn").mkdir()
    (folder / "configs" / "udgn" / "mini.yaml").write_text("heads_width: 8\nparser_layers: 1\nrarest: 1\n")
    (folder / "configs" / "translation.yaml").write_text(TINY_TRANSLATION)
    for part, count in (("train", 1000), ("dev", 20), ("test", 5)):
        (folder / "my-treebank").mkdir(exist_ok=True)
        write_conllu(folder / "my-treebank" / f"{part}.conllu", load("UD_English-EWT", part, count).sentences)
    (folder / "mine.txt").write_text("The keys to the cabinet are on the table.\nIt doesn't matter.\n")
    suite = json.loads(next(iter(minilang.suites())).as_json())
    (folder / "my-suite.json").write_text(json.dumps(suite | {"items": suite["items"][:2]}))
    paradigm = next(iter(minilang.minimal_pairs()))
    (folder / "my-pairs.jsonl").write_text("\n".join(paradigm.as_json_lines().splitlines()[:3]))
    return folder


def test_what_is_left_out_is_still_in_the_readme():
    assert [reason for start, reason in LEFT_OUT.items() if not any(one.startswith(start) for one in COMMANDS)] == []
    assert len(RUN) > 20 and all(one.startswith("dtglib ") for one in RUN)


def test_the_commands_run_as_printed(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    for command in RUN:
        _, *arguments = shlex.split(command)
        if arguments[0] in ("train", "train-parser"):  # the README trains it in two ways
            shutil.rmtree(arguments[arguments.index("--out") + 1], ignore_errors=True)
        assert main(arguments) == 0, f"{command}: {capsys.readouterr().err}"


def test_the_first_screen_shows_what_its_commands_print(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    ((_, shown),) = [block for block in BLOCKS if block[0] == "console"]
    for part in re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        if not command.startswith("dtglib "):
            assert command == ". .venv/bin/activate" and not expected
            continue
        assert main(shlex.split(command)[1:]) == 0
        out, err = capsys.readouterr()
        assert NUMBER.sub("", err + out).split() == NUMBER.sub("", expected).split(), command
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (out, expected)]
        np.testing.assert_allclose(*numbers, atol=2e-3, err_msg=command)  # processors round differently


def test_the_snippets_run_as_printed(place, monkeypatch):
    """After the commands, which have made my-model and my-parser."""
    monkeypatch.chdir(place)
    names = {
        "my_surprisals": lambda sentences: [np.arange(len(words)) for words in sentences],
        "my_log_probs": lambda sentences: [-float(len(words)) for words in sentences],
    }
    for kind, block in BLOCKS:
        if kind == "python":
            exec(compile(block, "README.md", "exec"), names)
    assert names["scored"].bound <= 0 and names["trees"].heads.shape[1] == 4
