"""Parsers in supar's own files: those that it publishes, by name, and any that it trained.

    load_published("biaffine-dep-en")            vanilla Biaffine, trained on the Penn Treebank
    load_published("biaffine-dep-roberta-en")    Biaffine-roberta, which the paper draws its trees from
    load_published("my.model")                   what supar's own training wrote

A name is fetched by supar, once, into its cache; Biaffine-roberta's encoder and tokeniser come from a model hub.

The files are pickles, and unpickling runs whatever stands in them. So PyTorch is told to build nothing but tensors and
supar's own plain containers. They also hold Python functions, as byte code of the Python that wrote them; we need none,
and a stand-in takes the place of each.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from dtglib.errors import UserError
from dtglib.proposals.biaffine import Biaffine
from dtglib.proposals.from_supar import (
    MODEL,
    NAME,
    PARSER,
    BracketTree,
    ChartField,
    Config,
    CoNLL,
    Field,
    RawField,
    SubwordField,
    Vocab,
    download,
)

NAMES = tuple(name for name in NAME if name.startswith("biaffine-dep-"))
KINDS = ("biaffine-dependency", "crf-dependency")  # whose networks give a score to every arc, and no more
FROZEN = ("pretrained.", "bert_embed.", "encoder.")  # what a file need not hold: it came from elsewhere


class _NotNeeded:
    """Stands where a function of another Python was."""

    def __init__(self, *arguments: Any) -> None: ...

    def __setstate__(self, state: Any) -> None: ...


def _not_needed_either(*arguments: Any) -> type:
    """Stands where the type of such a function was looked up."""
    return _NotNeeded


FUNCTIONS = (
    *("dill._dill._create_function", "dill._dill._create_code", "dill._dill._create_cell", "dill._dill._get_attr"),
    *("builtins.getattr", "__builtin__.getattr", "supar.utils.transform.__dict__"),
)
SAFE = [
    *(BracketTree, ChartField, CoNLL, Config, Field, RawField, SubwordField, Vocab, _NotNeeded),
    *((_NotNeeded, name) for name in FUNCTIONS),
    (_not_needed_either, "dill._dill._load_type"),
]


def load_published(name: str | Path) -> Biaffine:
    """A dependency parser in one of supar's files, or published under one of NAMES."""
    path = Path(name)
    if not path.is_file():
        path = _fetched(str(name))
    try:
        with torch.serialization.safe_globals(SAFE):
            state = torch.load(path, map_location="cpu", weights_only=True)
        kind, arguments, transform = state["name"], state["args"], state["transform"]
        if kind in KINDS:
            arguments.device, fields, labels = "cpu", transform.FORM, transform.DEPREL.vocab.itos
    except Exception as error:  # a foreign file can break an unpickler in any way
        raise UserError(f"{path}: not a file of supar's that could be read safely ({_reason(error)})") from error
    if kind not in KINDS:
        raise UserError(f"{path}: holds a parser of kind {kind!r}; a dependency parser is needed, such as {NAMES[0]}")
    if odd := {"tag", "elmo", "lemma"}.intersection(arguments.get("feat", None) or ()):
        raise UserError(f"{path}: this parser wants {odd.pop()}s, and we have words alone; take another one")
    with _explained(f"{name}: its network cannot be built here"):
        network = PARSER[kind].MODEL(**arguments)
        network.load_pretrained(state["pretrained"])
        missing, _ = network.load_state_dict(state["state_dict"], strict=False)
    frozen = FROZEN if arguments.get("encoder", None) == "bert" else FROZEN[:2]
    if lacking := [tensor for tensor in missing if not tensor.startswith(frozen)]:
        raise UserError(f"{path}: lacks {len(lacking)} of its network's tensors, such as {lacking[0]}; fetch it again")
    # Of what it reads, `texts` and the like are no numbers, and None what it does not read.
    fields = [field for field in fields if isinstance(field, Field)]
    return Biaffine(str(name), network, fields, labels).eval()


def _fetched(name: str) -> Path:
    if name not in NAMES:
        raise UserError(
            f"{name!r} is neither a folder with a parser, nor one of supar's files, nor the name of a published one; "
            f"train one with `dtglib train-parser`, or name one of {', '.join(NAMES)}"
        )
    with _explained(f"{name}: could not be fetched"):
        return Path(download(MODEL["github"][name]))


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """The network may be missing, the disk full, a library too new: supar lets all of it through as it comes."""
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            yield
    except (OSError, RuntimeError, ValueError, KeyError, AttributeError, ImportError) as error:
        raise UserError(f"{what} ({_short(str(error))}); train one of your own with `dtglib train-parser`") from error


def _reason(error: Exception) -> str:
    """What is wrong, without the advice to read the file unsafely that PyTorch puts before and after it."""
    text = str(error.__context__ or error)
    return _short(text.partition(". Please use")[0].partition("Check the documentation")[0])


def _short(reason: str) -> str:
    return " ".join(reason.split())[:200]
