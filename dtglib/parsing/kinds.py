"""The kinds of parsers that are trained here; the key `parser` of a config names one, and arcs are the default."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dtglib.basics.config import value_of
from dtglib.basics.errors import UserError
from dtglib.data.treebank import Treebank
from dtglib.parsing.constituents import ConstituentExamples, SpanConfig, SpanParser, constituent_entries
from dtglib.parsing.fields import Entries
from dtglib.parsing.kept import CONFIG_FILE, EncoderConfig, KeptParser, ParserExamples
from dtglib.parsing.trained import ParserConfig, Trained, TreebankExamples, entries_of

ARCS, CONSTITUENTS = "arcs", "constituents"


class Kind(NamedTuple):
    """A kind of parser."""

    title: str
    config: type[EncoderConfig]
    network: type[KeptParser]
    entries: Callable[[Treebank, int], Entries]
    examples: type[ParserExamples]


KINDS = {
    ARCS: Kind("biaffine parser", ParserConfig, Trained, entries_of, TreebankExamples),
    CONSTITUENTS: Kind("parser of constituents", SpanConfig, SpanParser, constituent_entries, ConstituentExamples),
}


def kind_of(config: str | Path, overrides: Mapping[str, Any] | None = None) -> Kind:
    """The kind of parser that a config file describes."""
    name = value_of(config, "parser", ARCS, overrides)
    if name not in KINDS:
        raise UserError(f"{config}: there is no parser of {name!r}; there are parsers of {' and '.join(KINDS)}")
    return KINDS[name]


def load_trained(folder: Path) -> KeptParser:
    """A parser that was trained here, from its folder."""
    path = folder / CONFIG_FILE
    if not path.exists():
        raise UserError(f"{folder}: holds no parser; `dtglib train-parser` makes one")
    return kind_of(path).network.load(folder)
