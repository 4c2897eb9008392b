"""Data flows one way: which module of dtglib may import which, read from the sources."""

import ast

from reference import imports_of, module_of
from running import PACKAGE

# From the ground up; a module may import what stands in a line above its own, and its neighbours in its line may not.
LAYERS = """
ahead derived errors progress shapes visibility
files jit
code
conllu_rows projectivity text config kept record weights
transitions
treebank registry naive schedule
brackets stats vocab plot download
compile minilang
batches structure readings
attention output proposals
model processes checkpoint
show examples tally decode
train
explore
scores
surprisal
evaluate
corpora settings
networks
parser_training silver
experiment
measured
syntactic
ablations
recording
execute tables
forerunner
reproduce
commands
model_commands
cli
""".strip().splitlines()
LEVEL = {module: level for level, line in enumerate(LAYERS) for module in line.split()}


def test_every_module_has_its_place():
    modules = {module_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__", "__main__"}
    assert modules == set(LEVEL)


def test_modules_import_only_what_stands_below_them():
    wrong = [
        f"{module_of(path)} imports {name}"
        for path in PACKAGE.rglob("*.py")
        if module_of(path) in LEVEL
        for name in imports_of(path) - {module_of(path)}
        if LEVEL[name] >= LEVEL[module_of(path)]
    ]
    assert wrong == []


def test_only_plot_draws():
    drawing = [
        path.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and {"matplotlib", "seaborn"} & {name.split(".")[0] for name in _imported(node)}
    ]
    assert set(drawing) == {"plot.py"}


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
