"""dtglib's models behind the methods of minicons (Misra 2022), so that scripts written for its scorers run.

    >>> from dtglib.families.base import load_model
    >>> scorer = Scorer(load_model("txl-tokens-minilang"))
    >>> sentences = ["The author is strange .", "The author are strange ."]
    >>> [round(score, 2) for score in scorer.sequence_score(sentences, reduction=lambda x: x.sum(0).item())]
    [-16.55, -19.36]
    >>> [(token, round(bits, 1)) for token, bits in scorer.token_score(sentences[0], surprisal=True, base_two=True)[0]]
    [('▁The', 3.7), ('▁author', 7.9), ('▁is', 4.6), ('▁strange', 7.2), ('▁.', 0.4)]

Text is cut into a treebank's words, and these into the pieces of the model's vocabulary, which are its tokens. Each has
log p given those before it, which sums over trees by beam search where the model has trees. The end of the sentence is
a token only with `eos_token=True`. With `bow_correction` a word's last token includes its end (decode/word_by_word.py).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from dtglib.basics.errors import UserError, require
from dtglib.data.tokenize import tokenize
from dtglib.decode.beam import DEFAULT_WIDTHS, Widths
from dtglib.decode.stepper import Searchable
from dtglib.evaluate.surprisal import END_OF_SENTENCE, Surprisal, surprisals


def mean_of_tokens(scores: torch.Tensor) -> float:
    """The mean over the tokens of a sentence, minicons' default."""
    return scores.mean(0).item()


class Scorer:
    """A model, and the widths of its beam search."""

    def __init__(self, model: Searchable, widths: Widths = DEFAULT_WIDTHS) -> None:
        self.model, self.widths = model, widths

    def sequence_score(
        self,
        batch: str | Sequence[str],
        reduction: Callable[[torch.Tensor], Any] = mean_of_tokens,
        prob: bool = False,
        base_two: bool = False,
        bow_correction: bool = False,
        eos_token: bool = False,
    ) -> list[Any]:
        """The results of `reduction` for the scores of each sentence's tokens."""
        sentences = self._read(batch)
        return [reduction(_scores(read, prob, base_two, bow_correction, eos_token)) for read in sentences]

    def token_score(
        self,
        batch: str | Sequence[str],
        surprisal: bool = False,
        prob: bool = False,
        base_two: bool = False,
        rank: bool = False,
        bow_correction: bool = False,
        eos_token: bool = False,
    ) -> list[list[tuple[str, float]]]:
        """The tokens of each sentence with their log-probabilities, or surprisals, or probabilities."""
        require(not rank, "ranks of tokens are not known: probabilities are sums over trees, each with its own ranks")
        require(not (surprisal and prob), "a number is a surprisal or a probability; ask for one of them")
        rows = []
        for read in self._read(batch):
            scores = _scores(read, prob, base_two, bow_correction, eos_token)
            tokens = [*read.pieces, *([END_OF_SENTENCE] if eos_token else [])]
            rows.append(list(zip(tokens, (-scores if surprisal else scores).tolist(), strict=True)))
        return rows

    def _read(self, batch: str | Sequence[str]) -> list[Surprisal]:
        sentences = [tokenize(text) for text in ([batch] if isinstance(batch, str) else batch)]
        if empty := [number for number, words in enumerate(sentences, start=1) if not words]:
            raise UserError(f"sentence {empty[0]} of the batch has no words; leave it out")
        return list(surprisals(self.model, sentences, self.widths))


def _scores(read: Surprisal, prob: bool, base_two: bool, bow_correction: bool, eos_token: bool) -> torch.Tensor:
    """The log-probability or probability of each token."""
    require(not (prob and base_two), "a probability has no base; leave out base_two")
    of_pieces, of_end = read.of_pieces.copy(), read.of_end
    if bow_correction:
        # The surprisal of a word's end moves from the first piece of the next word to the last piece of this one.
        stops = [*read.starts[1:], len(of_pieces)]
        of_pieces[[stop - 1 for stop in stops]] += read.over
        of_pieces[read.starts[1:]] -= read.over[:-1]
        of_end = read.end
    log_p = -torch.tensor([*of_pieces, *([of_end] if eos_token else [])], dtype=torch.float64)
    return log_p.exp() if prob else log_p / math.log(2) if base_two else log_p
