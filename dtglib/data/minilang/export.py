"""Write minilang as files for other tools.

DIR/minilang-ud-train.conllu (dev, test)    the treebank, enhanced graphs in column 9
DIR/minilang-train.brackets ...             the same sentences as Penn Treebank trees, one per line
DIR/holdouts/attractor.conllu ...           the hold-outs, which never occur in the treebank
DIR/pairs/PARADIGM.jsonl                    minimal pairs, BLiMP's format
DIR/suites/SUITE.json, circuits.csv         test suites, SyntaxGym's format, and which circuit each belongs to
"""

from collections.abc import Iterator
from pathlib import Path

from dtglib.basics.files import write_atomically
from dtglib.data.minilang.corpus import SPLITS, split
from dtglib.data.minilang.templates import minimal_pairs, suites
from dtglib.data.treebank import write_conllu


def write(folder: str | Path, sentences: int | None = None, seed: int = 0) -> Iterator[tuple[Path, str]]:
    """Write all files; yield each path with its size. `sentences` is the size of train, and scales the other splits."""
    folder = Path(folder)
    share = 1 if sentences is None else sentences / SPLITS["train"]
    for name, size in SPLITS.items():
        drawn = split(name, max(1, round(size * share)), seed)
        is_part = name in ("train", "dev", "test")
        trees = folder / f"minilang-ud-{name}.conllu" if is_part else folder / "holdouts" / f"{name}.conllu"
        write_conllu(trees, drawn)
        yield trees, f"{len(drawn)} sentences"
        if is_part:
            brackets = folder / f"minilang-{name}.brackets"
            _write(brackets, "".join(f"{sentence.brackets}\n" for sentence in drawn))
            yield brackets, f"{len(drawn)} trees"
    for paradigm in minimal_pairs():
        path = folder / "pairs" / f"{paradigm.uid}.jsonl"
        _write(path, paradigm.as_json_lines())
        yield path, f"{len(paradigm.pairs)} pairs"
    for suite in suites():
        path = folder / "suites" / f"{suite.name}.json"
        _write(path, suite.as_json())
        yield path, f"{len(suite.items)} items"
    circuits = folder / "suites" / "circuits.csv"
    _write(circuits, "suite,circuit\n" + "".join(f"{suite.name},{suite.circuit}\n" for suite in suites()))
    yield circuits, f"{len(suites())} suites"


def _write(path: Path, text: str) -> None:
    with write_atomically(path) as file:
        file.write(text)
