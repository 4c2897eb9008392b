"""Similarity of sentences (section 4.4): trained models of masked words learn to score pairs as people do.

In: pairs of sentences with scores. Out: a network that answers with a score. Read first: network.py, then examples.py.

    udgn                          all of UDGN goes on learning
    udgn-frozen-parser            all but its parser does
    udgn-bag                      the embeddings of its words alone, without parser and layers
    udgn-transformer              the Transformer beside it
"""

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from dtglib.basics.errors import UserError
from dtgpapers.tuning.tasks import Task
from dtgpapers.tuning.ways import Tuning
from dtgpapers.udgn.tuning.config import (
    PairTraining,
    TunedBagConfig,
    TunedTransformerConfig,
    TunedUdgnConfig,
)
from dtgpapers.udgn.tuning.examples import PairExamples
from dtgpapers.udgn.tuning.network import Similarity, load_similarity


def _highest(task: Task) -> Mapping[str, Any]:
    if task.labels:
        raise UserError(f"{task.name}: models of masked words are tuned for scores of pairs; take sts-b or sick")
    return {"highest": task.highest}


def _tuning(name: str, title: str, family: str, config: type, fixed: Callable[[Task], Mapping[str, Any]]) -> Tuning:
    def load(folder, device="cpu") -> nn.Module:
        return load_similarity(config, folder, device)

    return Tuning(
        name=name,
        title=title,
        family=family,
        config=config,
        build=Similarity.of,
        load=load,
        examples=PairExamples.of,
        training=PairTraining,
        fixed=fixed,
    )


WHOLE = _tuning("udgn", "UDGN", "udgn", TunedUdgnConfig, _highest)
FROZEN = _tuning(
    "udgn-frozen-parser",
    "UDGN (Freeze parser)",
    "udgn",
    TunedUdgnConfig,
    lambda task: {**_highest(task), "parser_learns": False},
)
BAG = _tuning("udgn-bag", "bag of words", "udgn", TunedBagConfig, _highest)
TRANSFORMER = _tuning(
    "udgn-transformer", "Transformer (masked words)", "udgn-transformer", TunedTransformerConfig, _highest
)

TUNINGS = (BAG, FROZEN, WHOLE, TRANSFORMER)
