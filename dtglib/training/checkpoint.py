"""The checkpoint of a training: weights, the optimiser's averages and the progress, in one file.

One file can be replaced atomically: a run that is killed at any moment finds the last whole checkpoint, never the
weights of one step beside the averages of another. The format is safetensors; its header holds everything that is no
tensor, as JSON. The state of the random generator is not saved, because training seeds it at every step.

    >>> from tempfile import TemporaryDirectory
    >>> model = nn.Linear(2, 2)
    >>> with TemporaryDirectory() as folder:
    ...     save_checkpoint(Path(folder), {"seed": 1}, {"steps": 7}, model, torch.optim.AdamW(model.parameters()))
    ...     read_checkpoint(Path(folder), {"seed": 1}).standing
    {'steps': 7}
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from dtglib.basics.errors import UserError
from dtglib.basics.files import write_atomically
from dtglib.network.weights import CONTENT, checksum_of

FILE = "checkpoint.safetensors"
REMEDY = "delete it, and the training begins anew"


class Checkpoint(NamedTuple):
    """The settings of the run, its progress (`loop.Standing`), and all tensors by name."""

    identity: dict[str, Any]
    standing: dict[str, Any]
    tensors: dict[str, Tensor]


def save_checkpoint(
    folder: Path,
    identity: Mapping[str, Any],
    standing: Mapping[str, Any],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
) -> None:
    """Replace the folder's checkpoint."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    names = _names(model)
    for parameter, state in optimizer.state.items():
        tensors |= {f"{key}.{names[parameter]}": value for key, value in state.items()}
    # Cloned, because safetensors refuses two names for one tensor, which layers that share a weight have.
    tensors = {
        name: tensor.detach().cpu().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()
    }
    header = {"identity": json.dumps(identity), "standing": json.dumps(standing), CONTENT: checksum_of(tensors)}
    with write_atomically(folder / FILE, binary=True) as file:
        file.write(safetensors.torch.save(tensors, header))


def read_checkpoint(folder: Path, identity: Mapping[str, Any]) -> Checkpoint | None:
    """The folder's checkpoint, if it has one; it must be of a run with the same settings."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        with safetensors.safe_open(path, "pt") as file:
            header, names = file.metadata(), file.keys()
            tensors = {name: file.get_tensor(name) for name in names}
        begun, standing = json.loads(header["identity"]), json.loads(header["standing"])
        if header[CONTENT] != checksum_of(tensors):
            raise ValueError("its content is not what was written")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error}); {REMEDY}") from error
    # Through JSON and back, which turns tuples into lists.
    if differences := differing(begun, json.loads(json.dumps(identity))):
        raise UserError(
            f"{path}: is of a run with other settings: {differences}; choose another folder, or delete this one"
        )
    return Checkpoint(begun, standing, tensors)


def restore(checkpoint: Checkpoint, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Give model and optimiser the state of the checkpoint."""
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in checkpoint.tensors.items():
        kind, _, rest = name.partition(".")
        parts.setdefault(kind, {})[rest] = tensor
    model.load_state_dict(parts.pop("model"))
    names = _names(model)
    order = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state = {
        number: {kind: tensors[name] for kind, tensors in parts.items() if name in tensors}
        for number, name in enumerate(names[parameter] for parameter in order)
        if any(name in tensors for tensors in parts.values())
    }
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def _names(model: nn.Module) -> dict[torch.Tensor, str]:
    return {parameter: name for name, parameter in model.named_parameters()}


def differing(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """The settings in which two runs differ, in words; empty if there are none.

    >>> differing({"epochs": 4, "seed": 1}, {"epochs": 8, "seed": 1})
    'epochs was 4 and is 8'
    """
    keys = [key for key in {**theirs, **ours} if theirs.get(key) != ours.get(key)]
    return ", ".join(f"{key} was {theirs.get(key, 'not set')} and is {ours.get(key, 'not set')}" for key in keys)
