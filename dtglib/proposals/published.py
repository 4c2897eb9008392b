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

import supar
import torch
from supar.utils import Config
from supar.utils.field import Field, RawField, SubwordField
from supar.utils.fn import download
from supar.utils.transform import CoNLL
from supar.utils.vocab import Vocab

from dtglib.errors import UserError
from dtglib.proposals.biaffine import Biaffine

NAMES = tuple(name for name in supar.NAME if name.startswith("biaffine-dep-"))


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
    *(Config, CoNLL, Field, RawField, SubwordField, Vocab, _NotNeeded),
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
    except Exception as error:  # a foreign file can break an unpickler in any way
        # PyTorch's message advises to read the file unsafely, before and after it says what is wrong.
        reason = str(error).partition("WeightsUnpickler error:")[2].partition("Check the documentation")[0] or str(
            error
        )
        raise UserError(f"{path}: not a file of supar's that could be read safely ({_short(reason)})") from error
    if kind not in supar.PARSER or not kind.endswith("-dependency"):
        raise UserError(f"{path}: holds a parser of kind {kind!r}; a dependency parser is needed, such as {NAMES[0]}")
    if odd := {"tag", "elmo", "lemma"}.intersection(arguments.get("feat", None) or ()):
        raise UserError(f"{path}: this parser wants {odd.pop()}s, and we have words alone; take another one")
    arguments.device = "cpu"
    with _explained(f"{name}: its network cannot be built here"):
        network = supar.PARSER[kind].MODEL(**arguments)
        network.load_pretrained(state["pretrained"])
        # Not strict: what was frozen when it was written is not in the file.
        network.load_state_dict(state["state_dict"], strict=False)
    # Of what it reads, `texts` and the like are no numbers, and None what it does not read.
    fields = [field for field in transform.FORM if isinstance(field, Field)]
    return Biaffine(str(name), network, fields, transform.DEPREL.vocab.itos).eval()


def _fetched(name: str) -> Path:
    if name not in NAMES:
        raise UserError(
            f"{name!r} is neither a folder with a parser, nor one of supar's files, nor the name of a published one; "
            f"train one with `dtglib train-parser`, or name one of {', '.join(NAMES)}"
        )
    with _explained(f"{name}: could not be fetched"):
        return Path(download(supar.MODEL["github"][name]))


@contextlib.contextmanager
def _explained(what: str) -> Iterator[None]:
    """The network may be missing, the disk full, a library too new: supar lets all of it through as it comes."""
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
            yield
    except (OSError, RuntimeError, ValueError, KeyError, AttributeError, ImportError) as error:
        raise UserError(f"{what} ({_short(str(error))}); train one of your own with `dtglib train-parser`") from error


def _short(reason: str) -> str:
    return " ".join(reason.split())[:200]
