"""A network as a folder: its weights, its config, and the vocabulary that it was trained with.

    network.save(folder)                         model.yaml, model.safetensors, vocabulary.json, words.txt
    load_model(folder)                           families/base.py: finds the network's kind, and restores it

The files must belong together: the config names the vocabulary, and the weights name both (weights.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from dtglib.basics.config import as_yaml, fingerprint, read_config
from dtglib.basics.errors import UserError, require
from dtglib.basics.files import write_atomically
from dtglib.data.vocabulary import Vocabulary
from dtglib.network.weights import read_weights, save_weights

CONFIG_FILE, WEIGHTS_FILE = "model.yaml", "model.safetensors"


@dataclass(frozen=True)
class TrainedWith:
    """The vocabulary that a saved model was trained with."""

    vocabulary_fingerprint: str


def network_beside(folder: Path, config_class: type, build: Callable[[Any, Vocabulary], Any]) -> Any:
    """A network with random weights, of the config and the vocabulary in a saved model's folder."""
    config, trained_with = read_config(folder / CONFIG_FILE, config_class, TrainedWith)
    vocabulary = Vocabulary.load(folder)
    own, other = trained_with.vocabulary_fingerprint, vocabulary.fingerprint
    complaint = f"{folder}: the model was trained with vocabulary {own}, but the one beside it is {other}"
    require(own == other, f"{complaint}; put back the files that it was saved with")
    with torch.random.fork_rng(devices=[]):  # the weights are replaced by those of the file
        return build(config, vocabulary)


class Saved(nn.Module):
    """A network with a config, whose field `model` names its family, and a vocabulary."""

    def __init__(self, config: Any, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.config, self.vocabulary = config, vocabulary

    def stepper(self) -> Any:
        """A stepper for one search (decode/stepper.py); an error for models that do not predict from left to right."""
        raise UserError(
            f"{self.config.model} is no left-to-right model: it has no surprisals, and it can be neither searched nor "
            f"sampled; `dtglib score` gives the score that it has of whole sentences"
        )

    def save(self, folder: str | Path) -> None:
        """Write vocabulary, config and weights into a folder. Weights come last: a folder with them is complete."""
        folder = Path(folder)
        self.vocabulary.save(folder)
        with write_atomically(folder / CONFIG_FILE) as file:
            file.write(as_yaml(self.config, TrainedWith(self.vocabulary.fingerprint)))
        save_weights(folder / WEIGHTS_FILE, self, self._meaning())

    def restore(self, folder: Path, device: torch.device | str) -> "Saved":
        """Load the weights that `save` wrote and move the network to a device; returns the network."""
        self.load_state_dict(read_weights(folder / WEIGHTS_FILE, self, self._meaning()), assign=True)
        return self.to(device).eval()

    def _meaning(self) -> dict[str, str]:
        """Checksums of what the outputs depend on besides the weights.

        Dropout, for training only, is left out, and whether arcs have labels, which the vocabulary tells.
        """
        config = fingerprint(replace(self.config, dropout=0.0), without=["labels"])
        return {"config": config, "vocabulary": self.vocabulary.fingerprint}
