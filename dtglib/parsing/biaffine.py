"""A biaffine parser (Dozat and Manning 2017): supar's network, and the encoding of its input.

    parser.arc_scores([["There", "is", "a", "difference"]])    [scores], scores[h, d] of the arc from h to d, 5 x 5
    parser.parse(treebank.sentences)                            the same sentences with their best projective trees

The network reads words and their characters, or the pieces of a pre-trained encoder, and scores every arc separately.
projective.py computes with the trees; the score of a tree is the sum of its arcs' scores.

supar is old. Only this folder uses it, for its network, its fields (which turn words into numbers), and the files that
it publishes. Only from_supar.py imports it.
"""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.basics.shapes import Float
from dtglib.data.treebank import Sentence, Words, with_tree
from dtglib.parsing.fields import encoded, in_groups, require_numbers
from dtglib.parsing.from_supar import BOS, BiaffineDependencyModel, Field
from dtglib.parsing.projective import OverTrees, best_tree


class Biaffine(nn.Module):
    """A network with the fields that encode its input, and with its labels."""

    fills = "heads"  # the field of a sentence that it predicts

    def __init__(self, name: str, network: BiaffineDependencyModel, fields: Sequence[Field], labels: Sequence[str]):
        super().__init__()
        self.name, self.network, self.fields, self.labels = name, network, list(fields), list(labels)
        # supar may have <bos> among its labels, and its network has two labels where the treebank has only one.
        choosable = [number for number, label in enumerate(labels) if label != BOS]
        self.register_buffer("choosable", torch.tensor(choosable), persistent=False)

    def arc_scores(self, sentences: Sequence[Words]) -> list[np.ndarray]:
        """For each sentence, scores[h, d] is the score of the arc from h to d; 0 is ROOT."""
        return [trees.scores for trees in self.distributions(sentences)]

    def distributions(self, sentences: Sequence[Words]) -> list[OverTrees]:
        """For each sentence, the distribution over its trees, and the best label of each arc."""
        distributions: list = [None] * len(sentences)
        for number, scores, labels in self._scored(sentences, "scoring arcs"):
            distributions[number] = OverTrees(scores, labels, self.labels)
        return distributions

    def parse(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with their best projective trees, and the best label of each arc."""
        parsed = list(sentences)
        for number, scores, labels in self._scored([sentence.words for sentence in sentences], "parsing"):
            heads = best_tree(scores)
            chosen = labels[1 + np.arange(len(heads)), heads]
            parsed[number] = with_tree(
                parsed[number], heads.tolist(), [self.labels[label] for label in chosen.tolist()]
            )
        return parsed

    def scores(self, sentences: Sequence[Words]) -> tuple[Float[Tensor, "B T T"], Float[Tensor, "B T T R"]]:
        """For each word d and each head h, the score [d, h] of the arc, and the scores of its labels."""
        words, features = encoded(self.fields, sentences, next(self.network.parameters()).device)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that PyTorch has changed since supar was written
            return self.network(words, features)

    def _scored(self, sentences: Sequence[Words], what: str) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield the number of each sentence, its arc scores [h, d], and the best label of each arc [d, h]."""
        self.eval()
        for numbers in in_groups(sentences, len(self.labels), what):
            # Not a decorator: if the tests wrap the function to check types, PyTorch does not see a generator.
            with torch.no_grad():
                arcs, labels = self.scores([sentences[number] for number in numbers])
            best = self.choosable[labels[..., self.choosable].argmax(-1)].cpu().numpy()
            for number, scores, of_arcs in zip(numbers, arcs.double().cpu().numpy(), best, strict=True):
                size = len(sentences[number]) + 1
                require_numbers(scores[:size, :size], self.name, sentences[number])
                yield number, scores[:size, :size].T, of_arcs[:size, :size]
