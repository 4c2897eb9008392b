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
from torch.nn.functional import pad

from dtglib.basics.shapes import Float, Int
from dtglib.data.treebank import Sentence, Words, with_tree
from dtglib.parsing.eisner import best_heads
from dtglib.parsing.fields import Column, encoded, in_groups, require_numbers
from dtglib.parsing.from_supar import BOS, BiaffineDependencyModel, Field
from dtglib.parsing.lstm import fused
from dtglib.parsing.projective import OverTrees


class Biaffine(nn.Module):
    """A network with the fields that encode its input, and with its labels."""

    fills = "heads"  # the field of a sentence that it predicts

    def __init__(self, name: str, network: BiaffineDependencyModel, fields: Sequence[Field], labels: Sequence[str]):
        super().__init__()
        self.name, self.network, self.labels = name, network, list(labels)
        self.columns = [Column(field) for field in fields]
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
        for number, heads, labels in self.best_trees([sentence.words for sentence in sentences]):
            parsed[number] = with_tree(parsed[number], heads, [self.labels[label] for label in labels])
        return parsed

    def best_trees(self, sentences: Sequence[Words]) -> Iterator[tuple[int, list[int], list[int]]]:
        """Yield the number of each sentence, the heads of its best projective tree, and their best labels.

        Only the labels of the tree's arcs are scored, and where PyTorch has a faster LSTM than supar's, it is used.
        """
        self.eval()
        lengths = np.array([len(words) for words in sentences], np.int64)
        for numbers in in_groups(sentences, 1, "parsing"):
            with torch.no_grad(), fused(self.network):
                encodings, arcs = self._arcs([sentences[number] for number in numbers])
                arcs = arcs.cpu().numpy()
                for number, of_sentence in zip(numbers, arcs, strict=True):
                    size = lengths[number] + 1
                    require_numbers(of_sentence[:size, :size], self.name, sentences[number])
                heads = best_heads(arcs, lengths[numbers])
                labels = self._labels_of(encodings, torch.from_numpy(heads).to(encodings.device)).tolist()
            for number, *tree in zip(numbers, heads.tolist(), labels, strict=True):
                yield number, *(part[: lengths[number]] for part in tree)

    def _arcs(self, sentences: Sequence[Words]) -> tuple[Float[Tensor, "B T d"], Float[Tensor, "B T T"]]:
        """The encodings of the words, and for each word d and each head h, the score [d, h] of the arc."""
        network, (words, features) = self.network, encoded(self.columns, sentences, self.choosable.device)
        x = network.encode(words, features)
        return x, network.arc_attn(network.arc_mlp_d(x), network.arc_mlp_h(x))

    def _labels_of(self, x: Float[Tensor, "B T d"], heads: Int[Tensor, "B N"]) -> Int[Tensor, "B N"]:
        """The best label of each word's arc, given the words' encodings and heads."""
        network, of_pairs = self.network, self.network.rel_attn
        words, heads = network.rel_mlp_d(x)[:, 1:], network.rel_mlp_h(x).take_along_dim(heads[:, :, None], 1)
        # supar's map scores all pairs of words; these are the same products for pairs that are given.
        words, heads = pad(words, (0, of_pairs.bias_x), value=1), pad(heads, (0, of_pairs.bias_y), value=1)
        halfway = words.flatten(0, 1) @ of_pairs.weight.permute(1, 0, 2).flatten(1)
        scores = halfway.unflatten(1, (of_pairs.n_out, -1)) @ heads.flatten(0, 1)[:, :, None]
        return self.choosable[scores[:, self.choosable, 0].argmax(-1)].view(heads.shape[:2])

    def scores(self, sentences: Sequence[Words]) -> tuple[Float[Tensor, "B T T"], Float[Tensor, "B T T R"]]:
        """For each word d and each head h, the score [d, h] of the arc, and the scores of its labels."""
        words, features = encoded(self.columns, sentences, self.choosable.device)
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
