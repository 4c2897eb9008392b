"""The models and parsers that come with the package: each has a name, a folder and a card.

    folder_named("dtg-ud")            its folder; any other name is the path of a folder
    cards("model")["dtg-ud"]          corpus, licence, seed, commit, times, scores, and what it is not good for

They are in `models/` of the repository, and inside an installed package. models/release.py makes them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dtglib.basics.code import PACKAGE
from dtglib.basics.config import read_config
from dtglib.basics.errors import require

CARD_FILE = "card.yaml"
PLACES = (PACKAGE / "models", PACKAGE.parent / "models")  # of an installed package, and of the repository


@dataclass(frozen=True)
class Card:
    """The card of a released model or parser. Nats are those of the dev part, and scores are in percent."""

    kind: Literal["model", "parser"]
    title: str
    corpus: str
    licence: str
    not_for: str
    size: str  # the config that it was trained with
    seed: int
    commit: str  # of the code that trained it
    parameters: int
    epochs: int  # until the lowest loss on dev
    minutes: float  # of training
    hardware: str
    nats_per_word: float  # the loss on dev, ends of sentences included; of a parser: that of trees
    nats_lost: float  # per word, by rounding the weights
    perplexity: float | None = None  # per word of the test part; for models with trees an upper bound
    suites: float | None = None  # our first average of the test suites
    pairs: float | None = None  # accuracy on minimal pairs
    share_of_pairs: float | None = None  # the share of the minimal pairs that were scored, evenly spaced
    uas: float | None = None  # on the test part
    f1: float | None = None  # of a parser of constituents, labelled
    bleu: float | None = None  # of a translator, on the test part


def cards(kind: str) -> Mapping[str, Card]:
    """The cards of all released models, or of all released parsers, by their names."""
    folders = (path.parent for place in PLACES for path in sorted(place.glob(f"*/{CARD_FILE}")))
    released = {folder.name: read_card(folder) for folder in folders}
    return {name: card for name, card in released.items() if card.kind == kind}


def read_card(folder: Path) -> Card:
    """The card of a released folder."""
    return read_config(folder / CARD_FILE, Card)[0]


def is_released(folder: Path) -> bool:
    """True for the folder of a released model or parser."""
    return folder.resolve().parent in PLACES and (folder / CARD_FILE).is_file()


def folder_named(name: str | Path) -> Path:
    """The folder of a released model or parser by its name; any other name is the path of a folder.

    A name wins over a folder of the same spelling: write "./dtg-ud" for a folder of that name.
    """
    for place in PLACES if isinstance(name, str) else ():
        if name == Path(name).name and (place / name / CARD_FILE).is_file():
            # Of the models of UD English and of other papers, a wheel has only the cards.
            complaint = f"{name}: only its card came with this package; name its folder in the repository or the sdist"
            require(any((place / name).glob("*.safetensors")), complaint)
            return place / name
    return Path(name)
