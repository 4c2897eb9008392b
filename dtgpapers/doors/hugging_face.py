"""Models in the format of Hugging Face: a folder that `AutoModelForCausalLM.from_pretrained` reads.

    config.json             the sizes, the widths of the search, and the files from which dtglib builds the network
    model.safetensors       its weights
    modeling_dtglib.py      the classes, which import this package: a copy of the file beside this one
    tokenizer_config.json   and the files of the vocabulary
    generation_config.json, README.md

transformers is not needed to write it.
"""

import base64
import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import safetensors.torch

from dtglib import __version__
from dtglib.basics.errors import UserError, require
from dtglib.basics.released import is_released, read_card
from dtglib.data.vocabulary import END, PAD, ROOT, UNKNOWN
from dtglib.decode.beam import Widths
from dtglib.families.base import Family, family, family_name_in, family_of, load_model
from dtglib.network.saved import CONFIG_FILE, network_beside

CLASSES = Path(__file__).with_name("modeling_dtglib.py")
BINARY = ".model"  # a file with this ending is written in base64
IDS = {"pad_token_id": PAD, "bos_token_id": ROOT, "eos_token_id": END}


def export(folder: Path, out: Path, widths: Widths) -> None:
    """Write the model of a folder in the format of Hugging Face, with the widths of its search."""
    require(not out.exists(), f"{out}: it exists already; choose another folder, or delete it")
    kind = family(family_name_in(folder))
    if not kind.likelihood.is_searched or kind.likelihood.is_conditional:
        raise UserError(f"{folder}: {kind.title} does not predict a sentence piece by piece, so it cannot be exported")
    network = load_model(folder)
    if getattr(network.config, "output", None) == "whole":
        raise UserError(f"{folder}: with output: whole, probabilities do not sum to 1, so it cannot be exported")
    with whole_folder(out) as part:
        network.vocabulary.save(part)
        tensors = {f"network.{name}": tensor.contiguous() for name, tensor in network.state_dict().items()}
        (part / "model.safetensors").write_bytes(safetensors.torch.save(tensors, {"format": "pt"}))
        for name, content in {
            "config.json": {**_config(network, widths), "files": _files(folder)},
            "generation_config.json": IDS,
            "tokenizer_config.json": _tokenizer(network.vocabulary.entries),
        }.items():
            (part / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
        shutil.copy(CLASSES, part)
        (part / "README.md").write_text(_card(folder, kind, widths), "utf-8")


@contextlib.contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder that takes its name when the block ends without an exception; otherwise it is deleted."""
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    part.mkdir(parents=True)
    try:
        yield part
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def network_of(files: Mapping[str, str]) -> Any:
    """The network of a config.json, with random weights."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_bytes(base64.b64decode(text) if file.endswith(BINARY) else text.encode())
        kind = family(family_name_in(folder))
        return network_beside(folder, kind.config, kind.build).eval()


def _files(folder: Path) -> dict[str, str]:
    """The files that `network_of` reads."""
    names = [CONFIG_FILE, "vocabulary.json", json.loads((folder / "vocabulary.json").read_text("utf-8"))["file"]]
    contents = {name: (folder / name).read_bytes() for name in names}
    return {
        name: base64.b64encode(content).decode() if name.endswith(BINARY) else content.decode()
        for name, content in contents.items()
    }


def _config(network: Any, widths: Widths) -> dict[str, Any]:
    sizes = network.config
    return {
        "architectures": ["DtglibForCausalLM"],
        "model_type": "dtglib",
        "auto_map": {
            "AutoConfig": "modeling_dtglib.DtglibConfig",
            "AutoModelForCausalLM": "modeling_dtglib.DtglibForCausalLM",
        },
        "family": family_of(network).name,
        "exact": family_of(network).likelihood.is_exact,
        "beam": widths.beam_width,
        "within": widths.within,
        "vocab_size": len(network.vocabulary),
        "hidden_size": sizes.width,
        "num_hidden_layers": sizes.layers,
        "num_attention_heads": sizes.heads,
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "dtglib_version": __version__,
        **IDS,
    }


def _tokenizer(entries: tuple[str, ...]) -> dict[str, Any]:
    special = {"pad_token": PAD, "bos_token": ROOT, "eos_token": END, "unk_token": UNKNOWN}
    return {
        "tokenizer_class": "DtglibTokenizer",
        "auto_map": {"AutoTokenizer": ["modeling_dtglib.DtglibTokenizer", None]},
        "clean_up_tokenization_spaces": False,
        "padding_side": "left",  # generation goes on where a row ends
        **{name: entries[number] for name, number in special.items()},
    }


CARD = """---
library_name: transformers
pipeline_tag: text-generation
tags: [dtglib]
---
# {title}

A language model of dtglib, {about}. Install dtglib {version} first.

    from transformers import AutoModelForCausalLM, AutoTokenizer
    model = AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(FOLDER, trust_remote_code=True)

- A row is one sentence. `<ROOT>` stands before its first word (the tokenizer adds it; a row without it is read as if it
  were there), and `<END>` after its last word (nothing adds it to a text that is scored). Nothing can follow the end.
  A row with `<ROOT>` or a symbol of trees inside is an error.
- The logits at a position are log p(next piece | pieces so far), {marginal}.
- Logits depend on nothing that stands later in the row. p sums to 1 over the pieces and the end; symbols of trees have
  none.
- There are no gradients: the model cannot be trained in this format.
- Licence: {licence}
"""

SEARCH = """`beam` and `within` in config.json widen it.
  What it drops is shared among the rest, so that the numbers are no bounds; the page "Other tools of the field" of
  dtglib's book (book/doors.md) says how far from `dtglib surprisal` they are"""


def _card(folder: Path, kind: Family, widths: Widths) -> str:
    card = read_card(folder) if is_released(folder) else None
    search = f"at most {widths.beam_width} derivations"
    if widths.within is not None:
        search += f", of which those more than {widths.within:g} nats behind are dropped"
    marginal = f"summed over what a search keeps: {search}. {SEARCH}"
    return CARD.format(
        title=f"{kind.title}: {folder.resolve().name}",
        about=f"trained on {card.corpus}" if card else "in the format of Hugging Face",
        version=__version__,
        marginal="which are exact" if kind.likelihood.is_exact else marginal,
        licence=card.licence if card else "as the owner of the model decides",
    )
