"""Output layers for searches: the log-probabilities of a few symbols, and of each kind of word.

A search needs no whole distribution, only transitions, one word, and the probability that any word comes. For `Single`
this takes one number for each class of entries, besides the logits of these symbols:

    log p(symbol)      =  its logit - log(sum over the legal classes of e^class)       e^class: the sum of its e^logit
    log p(any word)    =  the class of starting pieces - the same

and where no word can continue, which is after every transition, the logits of continuing pieces are not computed. The
entries are sorted by class once, so that each class is a block of columns.
"""

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float, Int
from dtglib.data.vocabulary import END
from dtglib.network.output import CONTINUES, ENDS, STARTS, Legal, Single, bars, open_classes
from dtglib.network.transformer import sent

KINDS = (CONTINUES, STARTS, ENDS)  # what may follow a piece: a further piece of its word, another word, the end


def some_of(
    log_probs: Float[Tensor, "N V"], symbols: Int[Tensor, "N A"], classes: Int[Tensor, " V"]
) -> tuple[Float[Tensor, "N A"], Float[Tensor, "N 3"]]:
    """The log-probabilities of some symbols, and of each of KINDS, from whole distributions."""
    entries = ((classes == kind).nonzero()[:, 0] for kind in KINDS)
    return log_probs.gather(1, symbols), torch.stack([log_probs[:, each].logsumexp(1) for each in entries], dim=1)


class SearchOutput:
    """An output layer and the embeddings, which stay the same during a search."""

    def __init__(self, output: nn.Module, embeddings: Float[Tensor, "V d"]) -> None:
        self.output, self.embeddings = output, embeddings

    def some(
        self, x: Float[Tensor, "N d"], legal: Legal, symbols: Int[Tensor, "N A"], goes_on: np.ndarray
    ) -> tuple[Float[Tensor, "N A"], Float[Tensor, "N 3"]]:
        """The log-probabilities of some symbols, and of each of KINDS; `goes_on` is true where a word may go on."""
        return some_of(self.output(x, self.embeddings, legal), symbols, self.output.classes)


class SingleSearchOutput(SearchOutput):
    """The same for one softmax. Its entries are sorted: no words, pieces that start words, pieces that go on."""

    def __init__(self, output: Single, embeddings: Float[Tensor, "V d"]) -> None:
        super().__init__(output, embeddings)
        classes = output.classes
        order = ((classes == STARTS) + 2 * (classes == CONTINUES)).argsort(stable=True)
        self.weight, self.bias, self.classes = embeddings[order], output.bias[order], classes[order]
        self.place = torch.empty_like(order).index_copy_(0, order, torch.arange(len(order), device=order.device))
        self.others = len(order) - int((classes == STARTS).sum()) - int((classes == CONTINUES).sum())
        self.words = len(order) - int((classes == CONTINUES).sum())
        self.end = int(self.place[END])

    def some(
        self, x: Float[Tensor, "N d"], legal: Legal, symbols: Int[Tensor, "N A"], goes_on: np.ndarray
    ) -> tuple[Float[Tensor, "N A"], Float[Tensor, "N 3"]]:
        """Rows whose word may go on are computed apart from the others."""
        dtype = torch.promote_types(x.dtype, torch.float32)
        of_symbols, of_kinds = x.new_empty(symbols.shape, dtype=dtype), x.new_empty(len(x), len(KINDS), dtype=dtype)
        for which, columns in ((goes_on, len(self.weight)), (~goes_on, self.words)):
            if which.any():
                (rows,) = sent([np.flatnonzero(which)], x.device)
                of_rows = Legal(*(bits[rows] for bits in legal))
                of_symbols[rows], of_kinds[rows] = self._some(x[rows], of_rows, symbols[rows], columns)
        return of_symbols, of_kinds

    def _some(
        self, x: Float[Tensor, "N d"], legal: Legal, symbols: Int[Tensor, "N A"], columns: int
    ) -> tuple[Float[Tensor, "N A"], Float[Tensor, "N 3"]]:
        """The same, with so many columns of logits."""
        pairs = self.output.pairs
        logits = nn.functional.linear(x, self.weight[:columns], self.bias[:columns])
        others = logits[:, : self.others] + bars(legal, pairs, self.classes[: self.others])
        is_open = open_classes(legal, pairs)
        blocks = [(logits[:, self.words :], CONTINUES), (logits[:, self.others : self.words], STARTS)]
        of_words = [block.logsumexp(1).where(is_open[:, kind], -torch.inf) for block, kind in blocks]
        total = torch.cat([others, torch.stack(of_words, dim=1)], dim=1).logsumexp(1, keepdim=True)
        may = is_open.gather(1, self.output.classes[symbols])
        chosen = logits.gather(1, self.place[symbols].clamp(max=columns - 1)).where(may, -torch.inf)
        return chosen - total, torch.stack([*of_words, others[:, self.end]], dim=1) - total


def for_search(output: nn.Module, embeddings: Float[Tensor, "V d"]) -> SearchOutput:
    """An output layer for a search."""
    return (SingleSearchOutput if type(output) is Single else SearchOutput)(output, embeddings)
