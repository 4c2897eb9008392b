"""The heads that masked language models find in whole sentences, none of whose words is hidden.

`own_metrics` are those of a parser in training: how well its most probable heads agree with those of the first held-out
sentences that have trees, and all its probabilities for a sentence of a few words, always the same one. They are for
the record alone: neither the network nor the choice of the best one depends on the treebank's heads.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from dtglib.data.treebank import Sentence
from dtgpapers.udgn.decoding import most_probable_heads
from dtgpapers.udgn.examples import MaskedExamples, batch_of
from dtgpapers.udgn.induction import Belief, agreement
from dtgpapers.udgn.masked import MaskedModel
from dtgpapers.udgn.words import readable

ASKED = 200  # held-out sentences during training
FEW = range(6, 11)  # words of the sentence that is followed

BEFORE, AFTER = "before the mask", "after the mask"  # a^ and a


def believed(model: MaskedModel, sentences: Sequence[Sentence]) -> Iterator[Belief]:
    """The heads and the attention of each sentence that is more than punctuation, one at a time."""
    return (_belief(model, sentence) for sentence in readable(sentences))


@torch.no_grad()
def _belief(model: MaskedModel, sentence: Sentence) -> Belief:
    ids = np.array(model.vocabulary.encode(sentence.words).ids)
    batch = batch_of([ids], [sentence.heads], model.embedding.weight.device)
    layers = model.weights(batch)
    shared, masked = (torch.cat([getattr(one, name) for one in layers]) for name in ("shared", "masked"))
    attention = {BEFORE: shared.float().cpu().numpy(), AFTER: masked.float().cpu().numpy()}
    heads = model.heads(batch)
    return Belief(sentence, None if heads is None else heads[0].double().cpu().numpy(), attention)


@torch.no_grad()
def own_metrics(model: MaskedModel, held_out: MaskedExamples) -> dict[str, Any]:
    """DDA and UDA of the most probable heads, and the probabilities of one sentence; nothing without trees."""
    known = [number for number, one in enumerate(held_out.sentences) if one.heads is not None][:ASKED]
    if not known:
        return {}
    # One at a time: a long sentence would pad the others, and StructFormer takes the cube of the length.
    batches = (held_out.batch([number], 0, model.embedding.weight.device) for number in known)
    heads = [model.heads(batch)[0].double().cpu().numpy() for batch in batches]  # type: ignore[index]
    gold = [held_out.sentences[number].heads or () for number in known]
    scored = agreement(gold, [most_probable_heads(q) for q in heads])
    followed = next((place for place, q in enumerate(heads) if len(q) in FEW), 0)
    return {
        "DDA": scored.dda,
        "UDA": scored.uda,
        "words": held_out.sentences[known[followed]].words,
        "heads": gold[followed],
        "believed": heads[followed].round(3).tolist(),
    }
