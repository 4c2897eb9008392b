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

from dtglib.basics.errors import UserError, require
from dtglib.basics.progress import progress
from dtglib.basics.shapes import Float
from dtglib.data.treebank import Sentence, Words, with_tree
from dtglib.parsing.from_supar import BOS, BiaffineDependencyModel, Field, SubwordField
from dtglib.parsing.projective import best_tree

SCORES = 4_000_000  # the most scores (of arcs with their labels) in a batch: 16 MB, or one long sentence


class Biaffine(nn.Module):
    """A network with the fields that encode its input, and with its labels."""

    def __init__(self, name: str, network: BiaffineDependencyModel, fields: Sequence[Field], labels: Sequence[str]):
        super().__init__()
        self.name, self.network, self.fields, self.labels = name, network, list(fields), list(labels)
        # supar may have <bos> among its labels, and its network has two labels where the treebank has only one.
        choosable = [number for number, label in enumerate(labels) if label != BOS]
        self.register_buffer("choosable", torch.tensor(choosable), persistent=False)

    def arc_scores(self, sentences: Sequence[Words]) -> list[np.ndarray]:
        """For each sentence, scores[h, d] is the score of the arc from h to d; 0 is ROOT."""
        found: list = [None] * len(sentences)
        for numbers, arcs, _ in self._scored(sentences, "scoring arcs"):
            for number, scores in zip(numbers, arcs, strict=True):
                found[number] = scores
        return found

    def parse(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with their best projective trees, and the best label of each arc."""
        found: list = [None] * len(sentences)
        for numbers, arcs, labels in self._scored([sentence.words for sentence in sentences], "parsing"):
            for number, scores, of_arc in zip(numbers, arcs, labels, strict=True):
                heads = best_tree(scores)
                chosen = of_arc[1 + np.arange(len(heads)), heads]
                tree = heads.tolist(), [self.labels[label] for label in chosen.tolist()]
                found[number] = with_tree(sentences[number], *tree)
        return found

    def encode(self, sentences: Sequence[Words]) -> tuple[Tensor, list[Tensor]]:
        """The words as numbers, with <bos> before them, and the other features that the network reads."""
        device = next(self.network.parameters()).device
        columns = (_column(field, sentences) for field in self.fields)
        words, *features = (torch.from_numpy(column).to(device) for column in columns)
        return words, features

    def scores(self, sentences: Sequence[Words]) -> tuple[Float[Tensor, "B T T"], Float[Tensor, "B T T R"]]:
        """For each word d and each head h, the score [d, h] of the arc, and the scores of its labels."""
        words, features = self.encode(sentences)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that PyTorch has changed since supar was written
            return self.network(words, features)

    def _scored(
        self, sentences: Sequence[Words], what: str
    ) -> Iterator[tuple[list[int], list[np.ndarray], list[np.ndarray]]]:
        """Yield batches: numbers of sentences, their arc scores [h, d], and the best label of each arc [d, h]."""
        for number, words in enumerate(sentences, start=1):
            require(len(words), f"sentence {number} has no words; leave it out")
        self.eval()
        order = sorted(range(len(sentences)), key=lambda number: len(sentences[number]))
        with progress(None, what, "sentence", total=len(order)) as bar:
            while order:
                longest = len(sentences[order[-1]]) + 1
                count = max(1, SCORES // (longest**2 * len(self.labels)))
                numbers = order[-count:]  # the longest come first, so that a lack of memory shows at once
                del order[-count:]
                # Not a decorator: if the tests wrap the function to check types, PyTorch does not see a generator.
                with torch.no_grad():
                    arcs, labels = self.scores([sentences[number] for number in numbers])
                lengths = [len(sentences[number]) + 1 for number in numbers]
                best = self.choosable[labels[..., self.choosable].argmax(-1)].cpu().numpy()
                arcs = arcs.double().cpu().numpy()
                matrices = [scores[:n, :n].T for n, scores in zip(lengths, arcs, strict=True)]
                for number, scores in zip(numbers, matrices, strict=True):
                    if not np.isfinite(scores).all():
                        text = " ".join(sentences[number])
                        raise UserError(
                            f"parser {self.name}: its scores of {text[:80]!r} are no numbers; train it anew"
                        )
                yield numbers, matrices, [of_arc[:n, :n] for n, of_arc in zip(lengths, best, strict=True)]
                bar.update(len(numbers))


def _column(field: Field, sentences: Sequence[Words]) -> np.ndarray:
    """<bos> and the words of each sentence as numbers: (sentences, words), or with the pieces of words as a third axis.

    This is the field's own encoding with another padding: the field pads element by element, which PyTorch will soon
    reject.
    """

    def looked_up(entries: Sequence[str]) -> list[int]:
        # A word of the text that is spelled like <pad> is still a word. The vocabulary is supar's, or a dict.
        known, special = field.vocab, field.specials
        return [known[e] if e in known and e not in special else field.unk_index for e in entries]

    has_pieces = isinstance(field, SubwordField)
    rows = []
    for words in sentences:
        if has_pieces:
            pieces = (looked_up(field.preprocess(word))[: field.fix_len or None] for word in words)
            rows.append([[field.bos_index], *(numbers or [field.unk_index] for numbers in pieces)])
        else:
            rows.append([[field.bos_index], *([number] for number in looked_up(field.preprocess(words)))])
    longest = max(len(word) for row in rows for word in row)
    column = np.full((len(rows), max(map(len, rows)), longest), field.pad_index)
    for number, row in enumerate(rows):
        for place, word in enumerate(row):
            column[number, place, : len(word)] = word
    return column if has_pieces else column[:, :, 0]
