"""Three families, each DTG or DTG-swift with one decision taken back.

    dtg-blind          arcs do not attend to themselves: Algorithm 1 pushes COMPOSE after it has looked, and the second
                       copy never. (In the text, STACK positions see themselves: "including i". COMPOSE positions see
                       two words. In the authors' code all see themselves.)
    dtg-shared         the dependent of a COMPOSE position has the same relative position as the second word of the
                       stack has for a STACK position: section 3.2 gives -1 to both. In DTG only the dependent has it.
    dtg-swift-masked   no later position sees the dependent of a RIGHTARC (swift.py).

In section 3.2 no distance is positive. If the signs of all are turned, those of the sines in their embeddings are, and
the weights that read these begin symmetric about 0. So in `dtg-shared` all are positive, and -1 is 1.

    >>> [family.title for family in FAMILIES]
    ['DTG, blind arcs', 'DTG, shared -1', 'DTG-swift, masked']
"""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dtglib.basics.shapes import Bool
from dtglib.decode.stack_rows import Cache, Looks
from dtglib.decode.stack_stepper import StackStepper
from dtglib.families.base import BASE, Family, Questions, Variant
from dtglib.families.sequence_model import SequenceModel, sequence_family
from dtglib.network.transformer import LayerInputs, Readable
from dtglib.sequences.columns import NOTHING
from dtglib.sequences.readings import on_a_stack
from dtglib.sequences.structure import Flex, Shared
from dtgpapers.literal.swift import MASKED, MaskedStepper


class BlindStepper(StackStepper):
    """A search in which arcs do not see themselves."""

    def advance(self, states: Any, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Take back the last that the two positions of an arc see, which are they themselves."""
        super().advance(states, cache, symbols, first, looks)
        looks.count[looks.arc != NOTHING] -= 1


class BlindModel(SequenceModel):
    """A DTG whose arcs do not see themselves."""

    def layer_inputs(self, batch: Readable) -> LayerInputs:
        """The inputs of the layers, with a smaller mask."""
        inputs = super().layer_inputs(batch)
        return inputs._replace(structure=_blind(inputs.structure, batch.arc != NOTHING))

    def stepper(self) -> BlindStepper:
        """A stepper for one search."""
        return BlindStepper(self)


def _blind(structure: Any, is_arc: Bool[Tensor, "B T"]) -> Any:
    """Return a structure in which positions of arcs do not see themselves; they still see some other position."""
    if isinstance(structure, Flex):

        def mask_mod(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            return structure.mask_mod(b, h, i, j) & ~((i == j) & is_arc[b, i])

        block_mask = copy(structure.block_mask)
        block_mask.mask_mod = mask_mod
        return structure._replace(block_mask=block_mask, mask_mod=mask_mod)
    is_shared = isinstance(structure, Shared)
    place = torch.arange(is_arc.numel() if is_shared else is_arc.shape[1], device=is_arc.device)
    own = place.view(is_arc.shape)[:, :, None] == structure.keys[:, None] if is_shared else place[:, None] == place
    return structure._replace(visible=structure.visible & ~(own & is_arc[:, :, None]))


class SharedStepper(StackStepper):
    """A search in which dependents stand where the second word of the stack does."""

    def advance(self, states: Any, cache: Cache, symbols: np.ndarray, first: np.ndarray, looks: Looks) -> None:
        """Only dependents have a negative relative position, which is -1."""
        super().advance(states, cache, symbols, first, looks)
        np.abs(looks.relpos, out=looks.relpos)


class SharedModel(SequenceModel):
    """A DTG whose dependents stand where the second word of the stack does."""

    def layer_inputs(self, batch: Readable) -> LayerInputs:
        """The inputs of the layers, with other relative positions."""
        structure: Any = batch.structure
        given = structure.relpos
        of_pairs = (lambda *pair: given(*pair).abs()) if isinstance(structure, Flex) else given.abs()
        return super().layer_inputs(batch)._replace(structure=structure._replace(relpos=of_pairs))

    def stepper(self) -> SharedStepper:
        """A stepper for one search."""
        return SharedStepper(self)


class HidingModel(SequenceModel):
    """A DTG-swift in which the dependents of RIGHTARC are not seen any more."""

    def stepper(self) -> MaskedStepper:
        """A stepper for one search."""
        return MaskedStepper(self)


def _family(name: str, title: str, reading: Any, network: type[SequenceModel], questions: Questions) -> Family:
    return replace(sequence_family(name, title, reading, "literal", network), questions=questions)


STANDARD = on_a_stack("arc-standard")
FAMILIES = (
    _family(
        "dtg-blind", "DTG, blind arcs", STANDARD, BlindModel,
        {"an arc sees itself": {"no (Algorithm 1)": BASE, "yes": Variant({"model": "dtg"})}},
    ),
    _family(
        "dtg-shared", "DTG, shared -1", STANDARD, SharedModel,
        {"place of dependents": {"shared (section 3.2)": BASE, "their own": Variant({"model": "dtg"})}},
    ),
    _family(
        "dtg-swift-masked", "DTG-swift, masked", MASKED, HidingModel,
        {"dependents in arc-swift": {"masked (section 3.4)": BASE, "seen": Variant({"model": "dtg-swift"})}},
    ),
)  # fmt: skip
