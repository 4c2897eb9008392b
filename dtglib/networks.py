"""A network and the folder that it is trained into, be it a language model or a parser.

    folder = folder_of("models", "dtg", identity, CODE)       runs/models/dtg-1a2b3c4d5e6f
    train_network(folder / "model.safetensors", build, parts, config, run, identity)

The folder is known by everything that the training depends on, so nothing is trained twice, and nothing stale is ever
taken for new.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn

from dtglib.code import RUNNING
from dtglib.config import RunConfig
from dtglib.errors import UserError
from dtglib.files import repository
from dtglib.kept import Row
from dtglib.record import read_record
from dtglib.schedule import TrainConfig
from dtglib.train import train


@runtime_checkable
class _Examples(Protocol):
    """What is said of the sentences that a network is trained on, besides what training needs of them."""

    summary: str
    too_long: list[str]
    checksum: str


@runtime_checkable
class _Parts(Protocol):
    """The sentences that a network is trained on, and tested on while it is."""

    train: _Examples
    dev: _Examples


def train_network(
    weights: Path,
    build: Callable[[], nn.Module],
    parts: _Parts,
    config: TrainConfig,
    run: RunConfig,
    identity: Mapping[str, Any],
) -> None:
    """Build and train whatever has a loss; its weights are then in that file, and all else beside it."""
    folder = weights.parent
    if weights.exists() and not (folder / "record.json").exists():
        raise UserError(f"{folder}: holds a model without the record of its training; choose another folder")
    torch.manual_seed(run.seed)
    try:
        model = build()
    except (RuntimeError, MemoryError) as error:
        raise UserError(f"there is not enough memory for this model ({str(error).splitlines()[0]})") from error
    about = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train": parts.train.summary,
        "dev": parts.dev.summary,
        "too_long": [*parts.train.too_long, *parts.dev.too_long],
    }
    train(model, parts.train, parts.dev, config, folder, run.seed, identity, about)
    if not weights.exists():
        raise UserError(f"{folder}: its training is finished, but {weights.name} is gone; delete it to train anew")


def best_on_dev(folder: Path) -> Row:
    """The losses on the held-out sentences where a trained network was at its best, which is what was kept."""
    lines = (line for line in read_record(folder).metrics if line["part"] == "dev")
    return min(lines, key=lambda line: line["nats_per_transition"])


def folder_of(kind: str, name: str, identity: Mapping[str, Any], code: Sequence[str]) -> Path:
    """Where a trained network lies, by what it depends on: what it is told, what it reads, and some of our modules."""
    checksums = [RUNNING[module] for module in code]
    digest = hashlib.sha256("\n".join([str(sorted(identity.items())), *checksums]).encode()).hexdigest()[:12]
    return repository() / "runs" / kind / f"{name}-{digest}"
