"""Output layers: a distribution over the entries of the vocabulary that are legal as the next symbol.

Every entry of the vocabulary belongs to one class: pieces that start a word, pieces that continue one, each arc, POP,
<END>. The columns `may`, `left` and `right` (sequences/columns.py) say which classes are legal after a position. So the
probabilities of the legal symbols sum to 1, in training and in scoring alike. After "There is", where arc-standard may
draw two arcs but must not end:

    >>> vocabulary = Vocabulary.of_words([["There", "is", "a", "difference"]])
    >>> legal = Legal(*torch.tensor([[MAY_GENERATE], [1], [1]]))        # a word, LEFTARC[1] and RIGHTARC[1]
    >>> log_probs = Single(8, vocabulary)(torch.zeros(1, 8), torch.zeros(len(vocabulary), 8), legal)
    >>> [entry for entry, p in zip(vocabulary.entries, log_probs[0].exp().tolist()) if p > 0]
    ['<unknown>', 'LEFTARC', 'RIGHTARC', '▁There', '▁a', '▁difference', '▁is']

`Single` is the paper's: one softmax over words and transitions. `Factored` first decides between a word and each of the
transitions, then which word (or piece): p(GEN) p(word | GEN). `Whole` follows the paper to the letter: a softmax over
the whole vocabulary. The probability of illegal symbols is lost, so that the legal ones sum to less than 1.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Bool, Float, Int
from dtglib.data.vocabulary import END, PAD, Vocabulary
from dtglib.transitions.rows import MAY_CONTINUE, MAY_END, MAY_GENERATE, MAY_POP

# The classes. The first four have the numbers of their bits in `may`. NEVER is that of entries that never come next: no
# MAY_... may have its bit. The k-th left symbol of the vocabulary, such as LEFTARC[k], is FIRST_PAIR + 2(k - 1),
# whatever its label, and the k-th right one follows.
STARTS, CONTINUES, POPS, ENDS, NEVER, FIRST_PAIR = range(6)
assert [1 << kind for kind in (STARTS, CONTINUES, POPS, ENDS)] == [MAY_GENERATE, MAY_CONTINUE, MAY_POP, MAY_END]


class Legal(NamedTuple):
    """The symbols that may come after each of N positions, as the bit masks of transitions/rows.py."""

    may: Int[Tensor, " N"]
    left: Int[Tensor, " N"]
    right: Int[Tensor, " N"]


def classes_of(vocabulary: Vocabulary) -> Int[Tensor, " V"]:
    """The class of every entry."""
    classes = np.full(len(vocabulary), NEVER)
    classes[vocabulary.starts_word] = STARTS
    classes[vocabulary.continues_word] = CONTINUES
    classes[END] = ENDS
    ids, symbols = vocabulary.transition, vocabulary.symbols
    classes[list(map(ids, symbols.others))] = POPS
    for first, names in ((FIRST_PAIR, symbols.left), (FIRST_PAIR + 1, symbols.right)):
        for number, name in enumerate(names):
            classes[list(map(ids, symbols.labelled(name)))] = first + 2 * number
    return torch.from_numpy(classes)


def pairs_of(vocabulary: Vocabulary) -> int:
    """The number of left or of right symbols, whichever is larger."""
    return max(len(vocabulary.symbols.left), len(vocabulary.symbols.right))


def open_classes(legal: Legal, pairs: int) -> Bool[Tensor, "N C"]:
    """True for the classes that are legal at each position."""
    bits = torch.arange(max(pairs, FIRST_PAIR), device=legal.may.device)  # those of `may`, and one for each pair
    may, left, right = (masks[:, None] >> bits for masks in legal)
    of_pairs = torch.stack([left, right], dim=2)[:, :pairs].flatten(1)
    return (torch.cat([may[:, :FIRST_PAIR], of_pairs], dim=1) & 1) != 0


def bars(legal: Legal, pairs: int, classes: Int[Tensor, " V"]) -> Float[Tensor, "N V"]:
    """The summand for the score of every entry: 0 if it is legal, minus infinity if not."""
    # Indexing floats: on a CPU, indexing booleans in the same way takes several times as long.
    return torch.where(open_classes(legal, pairs), 0.0, -torch.inf).index_select(1, classes)


class Single(nn.Module):
    """One softmax over words and transitions; its weights are the input embeddings."""

    def __init__(self, width: int, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.pairs = pairs_of(vocabulary)
        self.bias = nn.Parameter(torch.zeros(len(vocabulary)))
        self.register_buffer("classes", classes_of(vocabulary), persistent=False)

    def forward(self, x: Float[Tensor, "N d"], embeddings: Float[Tensor, "V d"], legal: Legal) -> Float[Tensor, "N V"]:
        logits = nn.functional.linear(x, embeddings, self.bias)
        return legal_log_softmax(logits, bars(legal, self.pairs, self.classes))


class Whole(Single):
    """One softmax over the whole vocabulary; illegal symbols are never taken, and their probability is lost."""

    def forward(self, x: Float[Tensor, "N d"], embeddings: Float[Tensor, "V d"], legal: Legal) -> Float[Tensor, "N V"]:
        logits = nn.functional.linear(x, embeddings, self.bias)
        dtype = torch.promote_types(logits.dtype, torch.float32)
        return logits.log_softmax(1, dtype=dtype) + bars(legal, self.pairs, self.classes)


class Factored(nn.Module):
    """An action first (a word, or one of the transitions), then the word; the words' weights are the embeddings."""

    def __init__(self, width: int, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.pairs, self.reserved = pairs_of(vocabulary), len(vocabulary.reserved)
        # One output for each reserved entry; that of <pad>, which is no action, stands for "a word".
        self.actions = nn.Linear(width, self.reserved)
        self.bias = nn.Parameter(torch.zeros(len(vocabulary)))
        classes = classes_of(vocabulary)
        is_word = (classes == STARTS) | (classes == CONTINUES)
        self.register_buffer("classes", classes, persistent=False)
        self.register_buffer("is_word", is_word, persistent=False)

    def forward(self, x: Float[Tensor, "N d"], embeddings: Float[Tensor, "V d"], legal: Legal) -> Float[Tensor, "N V"]:
        barred = bars(legal, self.pairs, self.classes)
        bars_of_words = barred.masked_fill(~self.is_word, -torch.inf)
        bars_of_actions = barred[:, : self.reserved].masked_fill(self.is_word[: self.reserved], -torch.inf)
        bars_of_actions[:, PAD] = bar_of_a_word = bars_of_words.amax(1)
        # Where no word is legal, <pad> is the only legal "word": a softmax over nothing would be NaN.
        bars_of_words[:, PAD] = torch.where(bar_of_a_word == 0, -torch.inf, 0.0)
        actions = legal_log_softmax(self.actions(x), bars_of_actions)
        logits = nn.functional.linear(x, embeddings, self.bias)
        words = legal_log_softmax(logits, bars_of_words) + actions[:, : PAD + 1]
        transitions = nn.functional.pad(actions, (0, len(self.classes) - self.reserved))
        return torch.where(self.is_word, words, transitions + barred)


def legal_log_softmax(logits: Float[Tensor, "N V"], barred: Float[Tensor, "N V"]) -> Float[Tensor, "N V"]:
    """Log-probabilities over the legal entries, in float32 at least; at least one entry must be legal."""
    # Adding minus infinity, instead of filling it in, saves a pass in the backward direction.
    return (logits + barred).log_softmax(1)
