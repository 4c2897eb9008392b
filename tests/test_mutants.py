"""The mutation score: changes leave programs, in lines of their own, and the nearest tests are found by imports."""

import ast
from pathlib import Path

import mutants
import pytest
from running import ROOT


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a = b + c * 2\n", {"a = (b - c * 2)", "a = b + (c + 2)", "a = b + c * 3", "a = b + c * 1"}),
        ("if a <= b or c: f(a)\n", {"if (a < b) or c: f(a)", "if (a <= b and c): f(a)", "if a <= b or c: pass"}),
        ("a: int = min(b, c)\n", {"a: int = max(b, c)", "a: int = min(c, b)"}),
        ("a[b] = c\n", {"pass"}),
        ("raise Error(f'{a + 1}')\n", set()),
    ],
)  # fmt: skip
def test_the_changes_of_a_line(line, expected, tmp_path):
    (tmp_path / "module.py").write_text(line)
    assert {mutant.new.strip() for mutant in mutants.mutants_of(tmp_path, "module.py")} == expected


def test_mutants_are_programs_and_drawn_alike_from_a_seed():
    drawn = mutants.drawn(ROOT, 40, seed=1)
    assert drawn == mutants.drawn(ROOT, 40, seed=1)
    assert len({(mutant.file, mutant.line) for mutant in drawn}) == 40
    for mutant in drawn:
        lines = (ROOT / mutant.file).read_text("utf-8").splitlines(keepends=True)
        assert lines[mutant.line - 1] == mutant.old != mutant.new
        ast.parse("".join([*lines[: mutant.line - 1], mutant.new, *lines[mutant.line :]]))


def test_survivors_are_read_again(tmp_path):
    drawn = mutants.drawn(ROOT, 10, seed=1)
    (tmp_path / "mutants.txt").write_text("\n".join(mutant.name for mutant in drawn))
    assert set(drawn) <= set(mutants.read_mutants(tmp_path / "mutants.txt", ROOT))


# Slow: only the list that `make mutants` asks for.
@pytest.mark.slow
def test_the_tests_that_import_a_module_are_the_nearest():
    (mutant,) = mutants.drawn(ROOT, 1, seed=1)
    own, first, *others = mutants.nearest_tests(mutant, ROOT)
    assert own == str(ROOT / mutant.file)
    direct = [mutant.file in mutants.imports_of(path, ROOT) for path in map(Path, (first, *others))]
    assert direct == sorted(direct, reverse=True)
