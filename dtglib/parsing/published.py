"""Parsers in supar's own files: published ones, by name, and files that supar's training wrote.

    load_published("biaffine-dep-en")            vanilla Biaffine, trained on the Penn Treebank
    load_published("biaffine-dep-roberta-en")    Biaffine-roberta, which the paper draws its trees from
    load_published("my.model")                   what supar's own training wrote

A published file is downloaded once, by supar, into its cache; Biaffine-roberta's encoder and tokeniser come from a
model hub.

The files are pickles, and unpickling can run any code. So PyTorch is told to build nothing but tensors and supar's own
plain containers. The files also hold Python functions, as byte code of the Python that wrote them; we do not need them,
and replace each by a stand-in.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from dtglib.basics.errors import UserError, did_you_mean, require
from dtglib.basics.released import cards
from dtglib.parsing import from_supar
from dtglib.parsing.biaffine import Biaffine

NAMES = tuple(name for name in from_supar.NAME if name.startswith("biaffine-dep-"))
KINDS = ("biaffine-dependency", "crf-dependency")  # parsers whose networks do nothing but score every arc
FROZEN = ("pretrained.", "bert_embed.", "encoder.")  # tensors that a file may lack: they come from elsewhere


class _NotNeeded:
    """A stand-in for a function of another version of Python."""

    def __init__(self, *arguments: Any) -> None: ...

    def __setstate__(self, state: Any) -> None: ...


def _not_needed_either(*arguments: Any) -> type:
    """A stand-in for the function that looks up the type of such a function."""
    return _NotNeeded


FUNCTIONS = (
    *("dill._dill._create_function", "dill._dill._create_code", "dill._dill._create_cell", "dill._dill._get_attr"),
    *("builtins.getattr", "__builtin__.getattr", "supar.utils.transform.__dict__"),
)
SAFE = [
    *(from_supar.BracketTree, from_supar.ChartField, from_supar.CoNLL, from_supar.Config, from_supar.Field),
    *(from_supar.RawField, from_supar.SubwordField, from_supar.Vocab, _NotNeeded),
    *((_NotNeeded, name) for name in FUNCTIONS),
    (_not_needed_either, "dill._dill._load_type"),
]


def load_published(name: str | Path) -> Biaffine:
    """Load a dependency parser from one of supar's files, or a published one by one of NAMES."""
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
        network = from_supar.PARSER[kind].MODEL(**arguments)
        network.load_pretrained(state["pretrained"])
        missing, _ = network.load_state_dict(state["state_dict"], strict=False)
    frozen = FROZEN if arguments.get("encoder", None) == "bert" else FROZEN[:2]
    if lacking := [tensor for tensor in missing if not tensor.startswith(frozen)]:
        raise UserError(f"{path}: lacks {len(lacking)} of its network's tensors, such as {lacking[0]}; fetch it again")
    # The transform also has fields without numbers, such as `texts`, and None for inputs that the parser does not read.
    fields = [field for field in fields if isinstance(field, from_supar.Field)]
    return Biaffine(str(name), network, fields, labels).eval()


def _fetched(name: str) -> Path:
    neither = f"{name!r} is neither a folder with a parser, nor one of supar's files, nor the name of a published one"
    released = f"{did_you_mean(name, cards('parser'))}`dtglib models` lists the released ones"
    require(name in NAMES, f"{neither}; {released}, `dtglib train-parser` makes one; published are {', '.join(NAMES)}")
    with _explained(f"{name}: could not be fetched"):
        return Path(from_supar.download(from_supar.MODEL["github"][name]))


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """Turn supar's exceptions (no network, a full disk, a library that is too new) into a UserError."""
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            yield
    except (OSError, RuntimeError, ValueError, KeyError, AttributeError, ImportError) as error:
        raise UserError(f"{what} ({_short(str(error))}); train one of your own with `dtglib train-parser`") from error


def _reason(error: Exception) -> str:
    """The reason of an error, without PyTorch's advice, before and after it, to read the file unsafely."""
    text = str(error.__context__ or error)
    return _short(text.partition(". Please use")[0].partition("Check the documentation")[0])


def _short(reason: str) -> str:
    return " ".join(reason.split())[:200]
