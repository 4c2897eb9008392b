"""Papers come and go without an edit in dtglib: one of a package that is installed here, and none but that of DTG."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest
from readme_table import as_markdown
from running import PACKAGE, ROOT
from toys import DIFFERENCE, TINY

from dtglib.basics.papers import papers
from dtglib.cli.main import main
from dtglib.families.base import Family, titles
from dtglib.runs.jobs import jobs_of
from dtglib.runs.tables import measured_values

OTHERS = [paper for paper in papers() if paper.name != "dtg"]
COMMANDS = [command.name for paper in OTHERS for command in paper.part("commands")]


def result_of(program: str, folder: Path, *folders: Path) -> dict:
    """The JSON object that a program prints last; modules of these folders can be imported."""
    path = os.pathsep.join([*map(str, folders), str(ROOT / "tests"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    # Kernels are not compiled: with other papers the hash of the sources is another one, and no cache has them.
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_DISABLE_JIT": "1", "XDG_CACHE_HOME": str(folder / "cache")}
    ran = subprocess.run(
        [sys.executable, "-c", program, str(folder)], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


# The output of a command.
SAID = """
import contextlib, io, json, sys
from pathlib import Path
from dtglib.cli.main import main

def said(*arguments):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        main(arguments)
    return out.getvalue()

results, folder = {"help": said("--help")}, Path(sys.argv[1])
results["imported"] = sorted(sys.modules)
"""


# ---- A package that brings a paper

LETTERS = {
    "letters/__init__.py": '''
"""A paper whose model knows first letters."""

from dtglib.basics.papers import Paper

PAPER = Paper(
    name="letters",
    families=("letters.models:FAMILIES",),
    compared=("first-letter",),
    commands="letters.commands:COMMANDS",
    measures="letters.tables:MEASURES",
    tables="letters.tables:TABLES",
)
''',
    "letters/models.py": """
from dataclasses import replace

from . import first

FAMILIES = (replace(first.FIRST_LETTER, paper="letters"),)
""",
    "letters/first.py": "from toy_families import FIRST_LETTER",
    "letters/commands.py": """
from dtglib.cli.options import Command


def vowels(options):
    'Count the vowels of a word.'
    print(sum(letter in "aeiou" for letter in options.word), "vowels")


COMMANDS = [Command("vowels", lambda sub: sub.add_argument("word"), vowels)]
""",
    "letters/tables.py": """
from dtglib.evaluate.measures import MODELS, Measure

MEASURES = (Measure("vowels", ("toy/vowels",), "a word", lambda line: line.get("vowels")),)
TABLES = {"letters_table1": MODELS}
""",
    "numerals.py": """
from dtglib.basics.papers import Paper
from dtglib.cli.options import Command

PAPER = Paper("numerals", (), commands="numerals:COMMANDS")
COMMANDS = [Command("digits", lambda sub: None, lambda options: print("10 digits"))]
""",
    "letters-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: letters\nVersion: 1.0\n",
    "letters-1.0.dist-info/entry_points.txt": "[dtglib.papers]\nletters = letters:PAPER\nnumerals = numerals:PAPER\n",
    "results/paper/letters_table1.csv": "system,metric,value,std\nFirst letter,toy/vowels,2.5,\n",
    **{f"mine/{part}.conllu": DIFFERENCE * 10 for part in ("train", "dev", "test")},  # minilang would be drawn anew
    "tiny.yaml": TINY.replace("train_sentences: 40", "train_sentences: 10").replace("epochs: 3", "epochs: 1"),
}

WITH_LETTERS = f"""{SAID}
results["vowels"], results["digits"] = said("vowels", "There"), said("digits")
results["training"] = said(
    "train", str(folder / "tiny.yaml"), "--model", "first-letter", "--out", str(folder / "run"),
    "--set", f"corpus={{folder / 'mine'}}",
)

from dtglib.basics.code import RUNNING, are_on_disk, code_of
from dtglib.basics.record import Run
from dtglib.families.base import load_model, module_of, titles
from dtglib.runs.tables import beside_the_paper, measured_values
from dtglib.training.loop import train

results["titles"] = titles()
results["loaded"] = type(load_model(folder / "run")).__name__
with Run(folder / "results" / "2026-01-01-mini", "?", {{"corpus": "minilang", "size": "mini"}}) as run:
    run.metric(part="letters", model="first-letter", seed=1, vowels=3)
values = measured_values(folder / "results")
table = beside_the_paper("letters_table1", values, folder / "results")
results["table"] = {{", ".join(column): dict(cells) for column, cells in table.items()}}

results["others"] = [name for name in RUNNING if not name.startswith(("dtglib/", "dtgpapers/"))]
results["before"] = are_on_disk(RUNNING)
(folder / "letters" / "models.py").open("a").write("# There is a difference")
results["is on disk"] = are_on_disk(RUNNING)
results["codes"] = []
for changed in (None, "letters/tables", "letters/models", "letters/first"):
    if changed:
        RUNNING[changed] = "another"
    results["codes"].append(code_of("training", train, module_of("first-letter")))
print()
print(json.dumps(results))
"""


# Slow: a package beside ours; dtgpapers adds commands, families and tables in the same way.
@pytest.fixture(scope="module")
def with_letters(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("site")
    for name, text in LETTERS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip("\n"))
    return result_of(WITH_LETTERS, folder, folder)


@pytest.mark.slow
def test_an_installed_package_adds_a_command(with_letters):
    assert re.search("^ +vowels +count the vowels of a word$", with_letters["help"], re.MULTILINE)
    assert with_letters["vowels"] == "2 vowels\n"


@pytest.mark.slow
def test_a_package_of_one_file_adds_a_command_and_no_other_file_is_taken_for_a_part_of_it(with_letters):
    assert with_letters["digits"] == "10 digits\n"
    of_letters = [f"letters/{name}" for name in ("__init__", "commands", "first", "models", "tables")]
    assert sorted(with_letters["others"]) == [*of_letters, "numerals"]


@pytest.mark.slow
def test_an_installed_package_adds_a_family_that_is_trained(with_letters):
    assert with_letters["titles"] == titles() | {"first-letter": "First letter"}
    assert re.search("/run: .* nats per symbol, .* nats per letter on dev", with_letters["training"])
    assert with_letters["loaded"] == "FirstLetter"


@pytest.mark.slow
def test_an_installed_package_adds_a_measure_and_a_table(with_letters):
    ours, theirs = {"First letter": "3.0 (one seed)"}, {"First letter": "2.5"}
    assert with_letters["table"] == {"vowels, paper, toy": theirs, "vowels, minilang, mini, a word": ours}


@pytest.mark.slow
def test_a_result_depends_on_the_code_of_the_package_that_computes_it(with_letters):
    before, with_other_tables, with_other_models, with_another_first = with_letters["codes"]
    assert before == with_other_tables != with_other_models != with_another_first
    assert with_letters["before"] and not with_letters["is on disk"], "one of its files was edited"


# ---- dtglib --help


def commands_in(text: str) -> set[str]:
    """The commands that `dtglib --help` lists."""
    return set(re.findall(r"^    (\S+)(?: |$)", text, re.MULTILINE))


@pytest.mark.slow
def test_help_names_the_commands_of_all_papers_and_imports_nothing_that_is_slow(with_letters):
    assert {"surprisal", "structure", "vowels", *COMMANDS} <= commands_in(with_letters["help"])
    slow = {"torch", "numpy", "numba", "pandas", "scipy", "matplotlib", "nltk", "yaml", "sentencepiece", "jaxtyping"}
    assert not slow & set(with_letters["imported"])


@pytest.mark.slow
def test_of_a_paper_help_imports_its_record_and_its_commands(with_letters):
    imported = {name for name in with_letters["imported"] if name.split(".")[0] in ("dtgpapers", "letters")}
    records = {f"dtgpapers.{paper.name}" for paper in OTHERS} | {"letters"}
    commands = {paper.commands.partition(":")[0] for paper in OTHERS if paper.commands} | {"letters.commands"}
    shared = {"dtgpapers", "dtgpapers.tuning", "dtgpapers.tuning.commands", "dtgpapers.translation.target_command"}
    assert imported <= records | commands | shared


# ---- dtglib without the other papers

HIDDEN = """
import sys

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] == "dtgpapers" else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)

sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
"""

STRUCTURE = ("structure", "--system", "arc-eager", "--words", "There is a difference", "--heads", "2 0 4 2")
SURPRISAL = ("surprisal", "--model", "dtg-minilang", "--json", "There is a difference .")

ALONE = f"""{HIDDEN}{SAID}
results["structure"] = said(*{STRUCTURE!r})
results["surprisal"] = json.loads(said(*{SURPRISAL!r}))

from dtglib.families.base import titles
from dtglib.runs.jobs import jobs_of
from dtglib.runs.tables import measured_values
from readme_table import as_markdown

results["titles"] = titles()
results["jobs"] = [job.name for job in jobs_of("smoke", "dtg")]
results["table"] = as_markdown(measured_values())
results["imported"] = sorted(sys.modules)
print()
print(json.dumps(results))
"""


# Slow: dtglib by itself; that no file of it names another paper is seen below.
@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict:
    return result_of(ALONE, tmp_path_factory.mktemp("alone"))


@pytest.mark.slow
def test_without_the_other_papers_nothing_of_them_is_imported(alone):
    assert [name for name in alone["imported"] if name.partition(".")[0] == "dtgpapers"] == []


@pytest.mark.slow
def test_without_the_other_papers_the_models_jobs_and_tables_of_dtg_are_the_same(alone):
    assert alone["titles"] == titles("dtg")
    assert alone["jobs"] == [job.name for job in jobs_of("smoke", "dtg")]
    others = set(titles().values()) - set(titles("dtg").values())
    rows = as_markdown(measured_values()).splitlines()
    assert alone["table"].splitlines() == [row for row in rows if row.split("|")[1].strip() not in others]


@pytest.mark.slow
def test_without_the_other_papers_commands_answer_the_same(alone, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    assert "surprisal" in commands_in(alone["help"]) and not set(COMMANDS) & commands_in(alone["help"])
    assert main(STRUCTURE) == 0
    assert capsys.readouterr().out == alone["structure"]
    assert main(SURPRISAL) == 0
    (with_others,), (without,) = json.loads(capsys.readouterr().out)["sentences"], alone["surprisal"]["sentences"]
    assert without["words"] == with_others["words"]
    assert without["surprisals"] == pytest.approx(with_others["surprisals"], abs=1e-4)


# ---- dtglib names no other paper

NAMES = r"""
    dtgpapers|gilt|udgn|pushdown|plm|tg|txl-trees|paper.constituency|bitran
    |translat(?:e|es|ed|ing|or|ors|ion|ions)|induction|german|glue|sts|conllx|sdp|dm|pas|psd
"""
# Lines that may have such a word, by their file, each with the reason.
EXCEPTIONS = {
    "basics/record.py": [r'":/dtgpapers"'],  # folders of this repository, whose changes a record tells
    "basics/released.py": [r"bleu: float"],  # a field of cards, which lie in files
    "data/downloads.py": [r"`sts`"],  # a folder of public data that `make data` fetches
    "data/registry.py": [r"'sts': 65"],
    "data/symbols.py": [r"\(English and German\)"],  # treebanks
    "data/tokenize.py": [r"\.translate\(", r"\bglue\b"],  # Python's, and a variable
    "data/treebank.py": [r"    translation: tuple"],  # a field of Sentence, as heads and brackets are
    "data/vocabulary.py": [r'"""Translate SentencePiece'],
    "decode/beam.py": [r"the GiLT paper's code uses 20 of 30"],  # the source of a width
    "families/base.py": [r"given their translations"],  # of a likelihood
    "runs/sentence_scores.py": [r"sentence\.translation\b"],
}


IN_TESTS = {
    "mutants.py": [r"^PACKAGES = "],  # changes are planted in both packages
    "running.py": [r"^PACKAGES = "],  # a wheel has both
    "test_book_pages.py": [r'package == "dtgpapers"'],  # the pages of the repository lead to both
    "test_compiled.py": [r"compiler translate for minutes"],
    "test_imports.py": [r'"dtgpapers" in _top_packages'],
    "test_published.py": [r"train\.conllx"],  # a name that supar reads
    "test_readme.py": [  # the page of the other papers is read if they are here
        r'find_spec\("dtgpapers"\)', r'    "dtglib (reading|challenge|tune)', r'\(folder / "udgn"',
        r"translation = \{", r"\*\*translation\)",
    ],
    "test_registry.py": [r'"sts": 65'],  # as above
    "test_tables.py": [r'"PLM"'],  # a row of Table 2 of the DTG paper
}  # fmt: skip


def named_in(folder: Path, paths: Iterable[Path], exceptions: dict[str, list[str]]) -> list[str]:
    """The places at which a file names another paper, but for the lines that may."""
    pattern, named = re.compile(rf"\b(?:{''.join(NAMES.split())})\b", re.IGNORECASE), []
    for path in sorted(paths):
        name = path.relative_to(folder).as_posix()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            is_excepted = any(re.search(text, line) for text in exceptions.get(name, ()))
            if (word := pattern.search(line)) and not is_excepted:
                named.append(f"{name}:{number}: {word[0]}")
    return named


def test_no_file_of_dtglib_names_another_paper():
    assert named_in(PACKAGE, PACKAGE.rglob("*.py"), EXCEPTIONS) == []


def test_no_test_of_dtglib_names_another_paper():
    tests = [path for path in (ROOT / "tests").glob("*.py") if path.name != Path(__file__).name]
    assert len(tests) > 80
    assert named_in(ROOT / "tests", tests, IN_TESTS) == []


def test_no_notebook_of_the_paper_imports_another_paper_or_shows_its_tables():
    first, *others = papers()
    scripts = [path for path in (ROOT / "notebooks").glob("*.py") if path.name[0] in first.notebooks]
    assert len(scripts) >= 8
    tables = [table for paper in others for table in dict(paper.part("tables"))]
    words = re.compile("|".join(["dtgpapers", *(f'"{table}"' for table in tables)]))
    assert [path.name for path in scripts if words.search(path.read_text("utf-8"))] == []


def test_a_family_has_at_most_twelve_fields():
    assert len(fields(Family)) <= 12
