"""Train a network, a language model or a parser, into a folder.

train_network(folder / "model.safetensors", build, parts, config, seed, identity)
best_on_dev(folder)["nats_per_transition"]
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dtglib.basics.errors import UserError
from dtglib.basics.record import read_record
from dtglib.training.loop import train
from dtglib.training.schedule import TrainConfig


def train_network(
    weights: Path,
    build: Callable[[], nn.Module],
    parts: Any,
    config: TrainConfig,
    seed: int,
    identity: Mapping[str, Any],
) -> None:
    """Build and train a network that has a loss; its weights are then in that file, and everything else beside it.

    `parts` has `train` and `dev`, which describe themselves by `summary` and `too_long` (training/examples.py).
    """
    folder = weights.parent
    if weights.exists() and not (folder / "record.json").exists():
        raise UserError(f"{folder}: holds a model without the record of its training; choose another folder")
    torch.manual_seed(seed)
    try:
        model = build()
    except (RuntimeError, MemoryError) as error:
        if not (isinstance(error, MemoryError | torch.OutOfMemoryError) or "allocate" in str(error)):
            raise
        raise UserError(f"there is not enough memory for this model ({str(error)[:100]})") from error
    about = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train": parts.train.summary,
        "dev": parts.dev.summary,
        "too_long": [*parts.train.too_long, *parts.dev.too_long],
    }
    train(model, parts.train, parts.dev, config, folder, seed, identity, about)
    if not weights.exists():
        raise UserError(f"{folder}: its training is finished, but {weights.name} is gone; delete it to train anew")


def best_on_dev(folder: Path) -> dict[str, Any]:
    """The held-out losses and scores of the best evaluation, whose weights were saved."""
    return [line for line in read_record(folder).metrics if line["part"] == "dev" and line["is_best"]][-1]
