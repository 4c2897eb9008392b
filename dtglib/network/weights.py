"""The tensors of a network as one file, with checksums of the config and vocabulary that they belong to.

Files in one folder can get mixed up, and a config edited by hand may still fit all shapes. So the header contains
checksums of everything else that the outputs depend on, and a file that does not match is refused. It also contains a
checksum of the tensors, because a disk may lose a bit without an error.

    save_weights(path, network, {"config": "1a2b3c"})
    read_weights(path, network, {"config": "4d5e6f"})       an error: they belong to another config

A file can be written in a quarter of the size, for networks that are only read. Then the rows of all matrices are whole
numbers from -127 to 127 with a factor per row, and vectors are in half precision:

    >>> rounded = compact({"weight": torch.tensor([[0.5, -1.0], [0.0, 0.0]])})
    >>> rounded["weight"].tolist(), expanded(rounded)["weight"][0].tolist()              # doctest: +ELLIPSIS
    ([[64, -127], [0, 0]], [0.503..., -1.0])
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

REMEDY = (
    "delete its folder, and it is trained anew, or put back a copy; of a released model: `git checkout models`, or "
    "install the package again"
)


def save_weights(path: Path, network: nn.Module, made_for: Mapping[str, str]) -> None:
    """Write all tensors of a network, with the checksums in `made_for`."""
    _write(path, {name: tensor.cpu().contiguous() for name, tensor in network.state_dict().items()}, made_for)


def _write(path: Path, tensors: dict[str, Tensor], made_for: Mapping[str, str]) -> None:
    with write_atomically(path, binary=True) as file:
        file.write(safetensors.torch.save(tensors, {MADE_FOR: json.dumps({**made_for, CONTENT: checksum_of(tensors)})}))


def write_compact(source: Path, path: Path) -> None:
    """Write the weights of a file again, in a quarter of its size."""
    tensors, made_for = _read(source)
    _write(path, compact(tensors), made_for)


FACTORS = ".factors"  # after the name of a rounded matrix: the factors of its rows


def compact(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Matrices of whole numbers with a factor per row, and vectors in half precision."""
    rounded = {}
    for name, tensor in tensors.items():
        if tensor.dim() < 2:
            rounded[name] = tensor.half() if tensor.is_floating_point() else tensor
            continue
        factors = tensor.abs().amax(-1, keepdim=True) / 127
        rounded[name] = (tensor / factors.where(factors > 0, 1)).round().to(torch.int8)
        rounded[name + FACTORS] = factors
    return rounded


def expanded(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors in single precision again, whether they were compact or not."""
    exact = {name: tensor for name, tensor in tensors.items() if not name.endswith(FACTORS)}
    for name, tensor in exact.items():
        if name + FACTORS in tensors:
            exact[name] = tensor * tensors[name + FACTORS]
        elif tensor.dtype == torch.half:
            exact[name] = tensor.float()
    return exact


def checksum_of(tensors: Mapping[str, Tensor]) -> str:
    """A checksum of the names and bytes of tensors, which must be contiguous and on the CPU."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def read_weights(path: Path, network: nn.Module, made_for: Mapping[str, str]) -> dict[str, Tensor]:
    """The tensors of a file, after checking that they fit the network and have the checksums in `made_for`."""
    weights, checksums = _read(path)
    for what, checksum in made_for.items():
        if checksums.get(what) != checksum:
            raise UserError(f"{path}: these weights belong to another {what} than the one beside them; restore both")
    weights, expected = expanded(weights), network.state_dict()
    if odd := sorted(weights.keys() ^ expected.keys()):
        where = "the file, not in the network" if odd[0] in weights else "the network, not in the file"
        raise UserError(f"{path}: tensor {odd[0]} is in {where} of its config; put back the config of these weights")
    for name, tensor in weights.items():
        if tensor.shape != expected[name].shape:
            shapes = f"{tuple(tensor.shape)}, but {tuple(expected[name].shape)} by the config"
            raise UserError(f"{path}: {name} has the shape {shapes}; the two do not belong together")
        if tensor.dtype != expected[name].dtype:
            raise UserError(f"{path}: {name} is {tensor.dtype}, not {expected[name].dtype}; save the model again")
    return weights


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors of a file as they are, and the checksums of what they were made for."""
    try:
        with safetensors.safe_open(path, "pt") as file:
            names, about = file.keys(), file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in names}
    except OSError as error:
        raise UserError(f"{path}: {str(error).removesuffix(f': {path}')}; name the folder of a saved model") from error
    except SafetensorError as error:
        raise UserError(f"{path}: damaged, or only half of it ({error}); {REMEDY}") from error
    made_for = json.loads(about.get(MADE_FOR, "{}"))
    if made_for.pop(CONTENT, None) != checksum_of(weights):
        raise UserError(f"{path}: damaged: its content is not what was written; {REMEDY}")
    return weights, made_for
