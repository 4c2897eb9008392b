"""Probabilities by masked language models: of hidden words, as in the paper's perplexity, and of whole sentences.

`masked_perplexity` is that of the paper: five maskings of all sentences, the mean loss of a hidden word in each, then
the exponential of their mean. The maskings are drawn from the numbers of the sentences, so they are always the same
ones, whatever the batches.

`pseudo_scores` are pseudo-log-likelihoods (Salazar et al. 2020): the sum of log p(word | all other words), each word
hidden by itself. They are no probabilities of sentences, and neither a bound nor an estimate of one: over all sentences
they do not sum to 1, and no end of a sentence is predicted. Unknown words are not asked, as in training, so that the
scores of two sentences can be compared only if neither has one.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from dtglib.basics.errors import require
from dtglib.data.treebank import Sentence, TreebankError
from dtglib.evaluate.perplexity import SentenceScore
from dtgpapers.udgn.examples import MaskedExamples, batch_of
from dtgpapers.udgn.masked import MASKINGS, MaskedModel
from dtgpapers.udgn.words import read

POSITIONS = 4096  # computed at once


@torch.no_grad()
def masked_perplexity(model: MaskedModel, data: MaskedExamples, positions: int = POSITIONS) -> float:
    """The perplexity of hidden words."""
    device = model.embedding.weight.device
    nats, counts = np.zeros(MASKINGS), np.zeros(MASKINGS)
    for numbers in data.plan(positions, np.random.default_rng(0), device):
        batch = data.batch(numbers, positions, device)
        may = model.may_be_asked(batch)
        for masking in range(MASKINGS):
            chosen = np.zeros(batch.token.shape, bool)
            for row, number in enumerate(numbers):
                drawn = np.random.default_rng([masking, number]).random(len(data.ids[number]))
                chosen[row, : len(drawn)] = drawn < model.config.mask_rate
            where = torch.from_numpy(chosen).to(device) & may
            nats[masking] -= float(model.log_probs(batch, where).double().sum())
            counts[masking] += int(where.sum())
    require(counts.all(), "one of the maskings hides no known word; take more sentences")
    return math.exp((nats / counts).mean())


def pseudo_scores(model: MaskedModel, sentences: Sequence[Sentence], trees: None = None) -> Iterator[SentenceScore]:
    """The pseudo-log-likelihood of each sentence; its words are those that were asked."""
    for sentence in sentences:
        try:
            words = read(sentence).words
        except TreebankError:  # nothing but punctuation
            yield SentenceScore(0, 0, 0, 0.0, None, ends=0)
            continue
        log_probs = word_log_probs(model, words)
        asked = log_probs[np.isfinite(log_probs)]
        unasked = len(words) - len(asked)
        yield SentenceScore(len(asked), len(asked), 0, math.fsum(asked), None, ends=0, unasked=unasked)


@torch.no_grad()
def word_log_probs(model: MaskedModel, words: Sequence[str]) -> np.ndarray:
    """log p(word | all others) of each word as it is read; NaN for unknown ones."""
    device, log_probs = model.embedding.weight.device, np.full(len(words), np.nan)
    ids = np.array(model.vocabulary.encode(words).ids)
    whole = batch_of([ids], [None], device)
    (places,) = np.nonzero(model.may_be_asked(whole)[0].cpu().numpy())
    at_once = max(1, POSITIONS // len(words))
    for batch in np.split(places, range(at_once, len(places), at_once)):
        if len(batch):
            rows = batch_of([ids] * len(batch), [None] * len(batch), device)
            hidden = torch.zeros(rows.token.shape, dtype=torch.bool, device=device)
            hidden[torch.arange(len(batch)), torch.from_numpy(batch)] = True
            log_probs[batch] = model.log_probs(rows, hidden).double().cpu().numpy()
    return log_probs
