"""The kinds of parsers that are trained here; the key `parser` of a config names one, and arcs are the default."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.basics.config import value_of
from dtglib.basics.errors import UserError, require
from dtglib.basics.papers import papers
from dtglib.data.treebank import Sentence, Treebank
from dtglib.parsing.fields import Entries
from dtglib.parsing.kept import CONFIG_FILE, EncoderConfig, KeptParser, ParserExamples
from dtglib.parsing.trained import ParserConfig, Trained, TreebankExamples, entries_of

ARCS = "arcs"


class TreeForm(NamedTuple):
    """The way in which trees of a parser are written, and compared with those of a treebank."""

    written: Callable[[Sentence], str]  # a parsed sentence in a file
    has_tree: Callable[[Sentence], bool]
    # Lines about gold and parsed sentences.
    agreement: Callable[[Sequence[Sentence], Sequence[Sentence]], Iterator[str]]
    score_name: str  # on the card of a released parser
    score: Callable[[Sequence[Sentence], Sequence[Sentence]], float]  # of gold and parsed sentences, from 0 to 1


class ParserKind(NamedTuple):
    """A kind of parser."""

    title: str
    config: type[EncoderConfig]
    network: type[KeptParser]
    entries: Callable[[Treebank, int], Entries]
    examples: type[ParserExamples]
    form: TreeForm | None = None  # None: that of heads (evaluate/tree_forms.py)


def kinds() -> dict[str, ParserKind]:
    """The kinds of parsers by name: that of arcs, and those that papers bring."""
    arcs = ParserKind("biaffine parser", ParserConfig, Trained, entries_of, TreebankExamples)
    return {ARCS: arcs} | {name: kind for paper in papers() for name, kind in dict(paper.part("parsers")).items()}


def kind_of(config: str | Path, overrides: Mapping[str, Any] | None = None) -> ParserKind:
    """The kind of parser that a config file describes."""
    name, known = value_of(config, "parser", ARCS, overrides), kinds()
    if name not in known:
        raise UserError(f"{config}: there is no parser of {name!r}; there are parsers of {' and '.join(known)}")
    return known[name]


def load_trained(folder: Path) -> KeptParser:
    """A parser that was trained here, from its folder."""
    path = folder / CONFIG_FILE
    require(path.exists(), f"{folder}: holds no parser; `dtglib train-parser` makes one, `dtglib models` lists them")
    return kind_of(path).network.load(folder)
