"""The tensors of a network as one file, with checksums of the config and vocabulary that they belong to.

Files in one folder can get mixed up, and a config edited by hand may still fit all shapes. So the header contains
checksums of everything else that the outputs depend on, and a file that does not match is refused. It also contains a
checksum of the tensors, because a disk may lose a bit without an error.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path, network = Path(folder) / "model.safetensors", nn.Linear(2, 2, bias=False)
    ...     save_weights(path, network, {"config": "1a2b3c"})
    ...     read_weights(path, network, {"config": "1a2b3c"}).keys()
    ...     read_weights(path, network, {"config": "4d5e6f"})                         # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    dtglib.basics.errors.UserError: ...these weights belong to another config than the one beside them; restore both
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from dtglib.basics.errors import UserError
from dtglib.basics.files import write_atomically

CONTENT = "content"
MADE_FOR = "made for"  # a single entry of the header: safetensors writes several in random order

REMEDY = "delete its folder, and it is trained anew, or put back a copy"


def save_weights(path: Path, network: nn.Module, made_for: Mapping[str, str]) -> None:
    """Write all tensors of a network, with the checksums in `made_for`."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in network.state_dict().items()}
    with write_atomically(path, binary=True) as file:
        file.write(safetensors.torch.save(tensors, {MADE_FOR: json.dumps({**made_for, CONTENT: checksum_of(tensors)})}))


def checksum_of(tensors: Mapping[str, Tensor]) -> str:
    """A checksum of the names and bytes of tensors, which must be contiguous and on the CPU."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def read_weights(path: Path, network: nn.Module, made_for: Mapping[str, str]) -> dict[str, Tensor]:
    """The tensors of a file, after checking that they fit the network and have the checksums in `made_for`."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            names, about = file.keys(), file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in names}
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}; a saved model has one") from error
    except SafetensorError as error:
        raise UserError(f"{path}: damaged, or only half of it ({error}); {REMEDY}") from error
    found = json.loads(about.get(MADE_FOR, "{}"))
    for what, checksum in made_for.items():
        if found.get(what) != checksum:
            raise UserError(f"{path}: these weights belong to another {what} than the one beside them; restore both")
    expected = network.state_dict()
    if odd := sorted(weights.keys() ^ expected.keys()):
        raise UserError(f"{path}: {odd[0]} exists only in {'it' if odd[0] in weights else 'the configured network'}")
    for name, tensor in weights.items():
        if tensor.shape != expected[name].shape:
            shapes = f"{tuple(tensor.shape)}, but {tuple(expected[name].shape)} by the config"
            raise UserError(f"{path}: {name} has the shape {shapes}; the two do not belong together")
        if tensor.dtype != expected[name].dtype:
            raise UserError(f"{path}: {name} is {tensor.dtype}, not {expected[name].dtype}; save the model again")
    if found.get(CONTENT) != checksum_of(weights):
        raise UserError(f"{path}: damaged: its content is not what was written; {REMEDY}")
    return weights
