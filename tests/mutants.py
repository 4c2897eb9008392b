"""A mutation score: plant small changes in the code, one at a time, and count those that the nearest tests notice.

    make mutants                                              200 changes, about an hour on a quiet core
    python tests/mutants.py --again build/mutants.txt         only the survivors of the last run

A mutant is a copy of the tree in which one line differs: another operator, bound, constant or order of arguments, or a
dropped statement. The tests nearest to the changed module run until one fails or their time is over: first those that
import the module, then those that import a module that imports it. Survivors are written to build/mutants.txt. Either a
test is missing, or the change is equivalent, that is, it changes no behaviour. The latter is a judgement: the file
mutants_equivalent.txt holds those that were made, with reasons, and they are not counted.

cosmic-ray changes files in place and has one test command for all mutants; mutmut puts all mutants of a function into
one module and selects one at run time, which kernels compiled by numba cannot do.
"""

import argparse
import ast
import contextlib
import functools
import importlib
import inspect
import io
import itertools
import multiprocessing
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("dtglib", "dtgpapers")
ROOMS = ("transitions", "sequences", "network", "decode", "parsing", "evaluate")
EQUIVALENT = Path(__file__).with_name("mutants_equivalent.txt")
FIRST = 3  # files of tests that are tried before the others are collected
PRELOADED = ("numba", "torch._dynamo", "pandas", "scipy.stats", "nltk", "hypothesis", "matplotlib.pyplot")


class Mutant(NamedTuple):
    """A change of one line. The file of equivalents does not tell apart two lines with the same text in one file."""

    file: str
    old: str
    new: str
    line: int

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}\n- {self.old.strip()}\n+ {self.new.strip()}\n"


# ---- Changes

SWAPPED = "Add Sub, Sub Add, Mult Add, FloorDiv Mult, Div Mult, Mod Add, BitAnd BitOr, BitOr BitAnd, LShift RShift"
SWAPPED += (
    ", And Or, Or And, Lt LtE, LtE Lt, Gt GtE, GtE Gt, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In NotIn, NotIn In"
)
OTHER = {getattr(ast, a): getattr(ast, b) for a, b in map(str.split, SWAPPED.split(","))}
PAIRS = ("min max", "any all", "minimum maximum", "amin amax", "argmin argmax", "zeros ones", "floor ceil")
OTHER_NAME = {a: b for pair in PAIRS for a, b in (pair.split(), pair.split()[::-1])}


def changed(node: ast.AST) -> Iterator[ast.AST]:
    """All changed forms of an expression or statement."""
    match node:
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in OTHER:
            yield replaced(node, op=OTHER[type(operator)]())
        case ast.Compare(ops=[operator]):
            yield replaced(node, ops=[OTHER[type(operator)]()])
        case ast.UnaryOp():
            yield node.operand
        case ast.IfExp():
            yield replaced(node, body=node.orelse, orelse=node.body)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Name(name, ast.Load()) if name in OTHER_NAME:
            yield ast.Name(OTHER_NAME[name])
        case ast.Attribute(attr=name) if name in OTHER_NAME:
            yield replaced(node, attr=OTHER_NAME[name])
        case ast.Call(func, [*_, _, _] as given) if ast.unparse(func) not in ("map", "isinstance", "partial"):
            for i, pair in enumerate(itertools.pairwise(given)):
                if type(pair[0]) is type(pair[1]) is not ast.Starred:  # others mostly fail at once
                    yield replaced(node, args=[*given[:i], *pair[::-1], *given[i + 2 :]])
        case ast.Expr() | ast.Continue() | ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()


def replaced(node: ast.AST, **fields) -> ast.AST:
    return type(node)(**{**dict(ast.iter_fields(node)), **fields})


def mutable(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it that may be changed: no annotation, message, decorator or docstring."""
    yield node
    for name, field in ast.iter_fields(node):
        for child in field if isinstance(field, list) else [field]:
            match child:
                case ast.Raise() | ast.JoinedStr() | ast.Expr(ast.Constant()) | ast.If(ast.Name("TYPE_CHECKING")):
                    continue
                case ast.keyword("strict"):
                    continue
                case ast.Assign(value=value) if isinstance(node, ast.Module) and " | " in ast.unparse(value):
                    continue  # an alias of a type
                case ast.AST() if name not in ("annotation", "returns", "decorator_list"):
                    yield from mutable(child)


def mutants_of(root: Path, file: str) -> Iterator[Mutant]:
    """All changes of a file that lie within one line."""
    source = (root / file).read_text("utf-8")
    lines = source.splitlines(keepends=True)
    for node in mutable(ast.parse(source)):
        for new in changed(node) if getattr(node, "lineno", 0) == getattr(node, "end_lineno", 1) else ():
            old, text = lines[node.lineno - 1].encode(), ast.unparse(new)
            if isinstance(new, ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp):
                text = f"({text})"
            new_line = (old[: node.col_offset] + text.encode() + old[node.end_col_offset :]).decode()
            if new_line != old.decode():
                yield Mutant(file, old.decode(), new_line, node.lineno)


def drawn(root: Path, count: int, seed: int) -> list[Mutant]:
    """Mutants in different lines, evenly distributed over all lines that can be changed."""
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for path in itertools.chain(*((root / package / room).rglob("*.py") for package in PACKAGES for room in ROOMS)):
        if "triton" not in path.read_text("utf-8"):  # which runs on GPUs alone
            for mutant in mutants_of(root, path.relative_to(root).as_posix()):
                by_line.setdefault((mutant.file, mutant.line), []).append(mutant)
    choice = random.Random(seed)
    return [choice.choice(by_line[place]) for place in choice.sample(sorted(by_line), min(count, len(by_line)))]


def read_mutants(path: Path, root: Path) -> list[Mutant]:
    """The mutants in a file; those whose line is no longer there are left out."""
    mutants = []
    for block in filter(None, path.read_text("utf-8").strip().split("\n\n")):
        place, old, new, *_ = (line.removeprefix("- ").removeprefix("+ ") for line in block.splitlines())
        file = place.partition(":")[0]
        source = (root / file).read_text("utf-8") if (root / file).is_file() else ""
        for number, line in enumerate(source.splitlines(keepends=True), start=1):
            if line.strip() == old:
                mutants.append(Mutant(file, line, line.replace(old, new), number))
    return mutants


# ---- The nearest tests


@functools.cache
def imports_of(path: Path, root: Path) -> frozenset[str]:
    """The files of the packages that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    paths = (name.replace(".", "/") for name in names if name.split(".")[0] in PACKAGES)
    return frozenset(file for at in paths for file in (f"{at}.py", f"{at}/__init__.py") if (root / file).is_file())


def nearest_tests(mutant: Mutant, root: Path) -> list[str]:
    """The module's own examples and the test files near to it, the nearest ones first."""
    modules = itertools.chain(*((root / package).rglob("*.py") for package in PACKAGES))
    above = {path.relative_to(root).as_posix() for path in modules if mutant.file in imports_of(path, root)}
    name, ranked = enclosing(mutant, root), []
    for path in (root / "tests").rglob("test_*.py"):
        imported, calls = imports_of(path, root), path.read_text("utf-8").count(f"{name}(") if name else 0
        if mutant.file in imported or imported & above:
            is_named = Path(mutant.file).stem in path.stem
            ranked.append((mutant.file not in imported, -calls, not is_named, len(imported), str(path)))
    return [str(root / mutant.file), *(path for *_, path in sorted(ranked))]


def enclosing(mutant: Mutant, root: Path) -> str:
    """The name of the outermost function or class that a line is in; "" for one outside of them."""
    for node in ast.parse((root / mutant.file).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= mutant.line <= node.end_lineno:
            return node.name
    return ""


# ---- A mutant's run


class Watch:
    """A plugin of pytest: tests that name the changed function come first; stop when one fails or the time is over."""

    def __init__(self, files: list[str], name: str, seconds: float) -> None:
        self.files, self.name, self.until, self.failed = files, name, time.process_time() + seconds, ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list) -> None:
        names = [hasattr(item, "function") and self.name not in inspect.getsource(item.function) for item in items]
        ranked = sorted(
            zip(names, (self.files.index(str(item.path)) for item in items), range(len(items)), strict=True)
        )
        items[:] = [items[number] for *_, number in ranked]

    def pytest_runtest_logreport(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        self.failed = self.failed or (report.nodeid if report.failed else "")

    pytest_collectreport = pytest_runtest_logreport

    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        if time.process_time() > self.until:
            item.session.shouldstop = "the time is over"


def run(root: Path, files: list[str], name: str, seconds: float, folder: str, answer) -> None:
    """In a process of its own: run tests, and send the name of the first that fails, or nothing."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(3 * seconds), int(3 * seconds)))
    os.chdir(root)
    watch = Watch(files, name, seconds)
    options = ["-x", "-m", "not slow and not alone", f"--basetemp={folder}/tests", f"--rootdir={root}"]
    options += [f"-pno:{plugin}" for plugin in ("cacheprovider", "nbval", "xdist")]
    for part in files[:FIRST], files[FIRST:]:
        if part and not watch.failed and time.process_time() < watch.until:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                status = pytest.main([*options, *part], plugins=[watch])
            watch.failed = watch.failed or ("" if status in (0, 2, 5) else f"an end of pytest with {status}")
    answer.send(watch.failed)
    os._exit(0)


def caught_by(root: Path, mutant: Mutant, seconds: float) -> str:
    """The name of the test that notices the change, or what else happens, or nothing."""
    path, files = root / mutant.file, nearest_tests(mutant, root)
    stamp, lines = path.stat().st_mtime, path.read_text("utf-8").splitlines(keepends=True)
    receive, send = multiprocessing.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if "njit" in "".join(lines) or not enclosing(mutant, root):  # compiled kernels may depend on this line
            patch.setenv("XDG_CACHE_HOME", folder)
            for module in [name for name in sys.modules if name.split(".")[0] in PACKAGES]:
                patch.delitem(sys.modules, module)
            seconds *= 2
        path.write_text("".join([*lines[: mutant.line - 1], mutant.new, *lines[mutant.line :]]), "utf-8")
        arguments = root, files, enclosing(mutant, root), seconds, folder, send
        process = multiprocessing.get_context("fork").Process(target=run, args=arguments)
        process.start()
        send.close()
        try:
            return receive.recv() if receive.poll(20 * seconds) else "the clock: it hangs"
        except EOFError:
            process.join()
            return f"an end of the process with {process.exitcode}"
        finally:
            process.kill()
            process.join()
            path.write_text("".join(lines), "utf-8")
            os.utime(path, (stamp, stamp))  # numba's cache knows a file by its time


def prepare(root: Path) -> None:
    """Copy the tree to `root`, and import what all mutants share, the name of the cache of kernels included."""
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    for name in filter(lambda name: (ROOT / name).is_file(), files.stdout.splitlines()):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, root / name)
    os.environ |= {"PYTHONPATH": str(root), "XDG_CACHE_HOME": f"{root}/cache", "OMP_NUM_THREADS": "1", "CI": "1"}
    sys.path[:] = [str(root), *(path for path in sys.path if path != str(Path(__file__).parent))]
    for name in PRELOADED:
        importlib.import_module(name)
    importlib.import_module("dtglib.basics.cache_folder").is_current = lambda module: True


def main() -> None:
    """Print each mutant with the test that catches it, then the score; write the survivors to build/mutants.txt."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--count", type=int, default=200, help="mutants that are drawn (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=30, help="of processor time per mutant (kernels: twice that)")
    parser.add_argument("--again", type=Path, metavar="FILE", help="the mutants of this file instead of drawn ones")
    options = parser.parse_args()
    survivors, tests = [], set()
    with tempfile.TemporaryDirectory() as folder:
        prepare(root := Path(folder))
        mutants = read_mutants(options.again, root) if options.again else drawn(root, options.count, options.seed)
        judged = {mutant[:3] for mutant in read_mutants(EQUIVALENT, root)}
        mutants = [mutant for mutant in mutants if mutant[:3] not in judged]
        for number, mutant in enumerate(mutants, start=1):
            start = time.monotonic()
            test = caught_by(root, mutant, options.seconds)
            verdict = f"caught by {test}" if test else "SURVIVED"
            print(f"{number} {mutant.name}{verdict}, {time.monotonic() - start:.0f} s\n", flush=True)
            survivors += [] if test else [mutant.name]
            tests |= {test} if "::" in test else set()
        print(f"{len(mutants) - len(survivors)} of {len(mutants)} are caught; build/mutants.txt has the survivors:\n")
        print(*survivors, sep="\n")
        (ROOT / "build").mkdir(exist_ok=True)
        (ROOT / "build" / "mutants.txt").write_text("\n".join(survivors), "utf-8")
        if tests:
            print("Without a change the tests that caught one must pass:", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *sorted(tests)]
            subprocess.run(command, cwd=root, check=True)


if __name__ == "__main__":
    main()
