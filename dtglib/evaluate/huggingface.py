"""Surprisals and log-probabilities by a causal model of Hugging Face's transformers.

    from transformers import AutoModelForCausalLM, AutoTokenizer
    gpt2 = Causal(AutoModelForCausalLM.from_pretrained("gpt2"), AutoTokenizer.from_pretrained("gpt2"))
    item_rows(read_suites(), gpt2.surprisals, read=by_texts)             test suites, see suites.py
    pair_rows(read_pairs(), gpt2.log_probs)                              minimal pairs, see blimp.py

The model reads running text: the regions of a suite as the file has them, joined by blanks. Its surprisal of a region
is the sum over the tokens that end in it; a token that begins with a blank belongs to the word after the blank. The
first token is read after the tokenizer's token for a beginning, or, as GPT-2 has none, after that for an end.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from dtglib.basics.errors import require
from dtglib.data.tokenize import detokenize


class Causal:
    """A model and its tokenizer, which must be a fast one: only these know the place of a token in the text."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        name = type(tokenizer).__name__
        require(tokenizer.is_fast, f"{name} does not know the places of its tokens; use the fast form (use_fast=True)")
        self.model, self.tokenizer = model.eval(), tokenizer
        first = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        require(first is not None, f"{name} has no token for a beginning or an end; set its bos_token")
        self.first, self.end = first, tokenizer.eos_token_id

    def surprisals(self, sentences: Sequence[Sequence[str]]) -> Iterator[list[float]]:
        """The surprisals of the parts of each sentence: its regions, or its words."""
        for parts in sentences:
            texts = [text for text in parts if text]
            stops = np.cumsum([len(text) + 1 for text in texts])  # after the blank that follows each
            ids, ends = self._tokens(" ".join(texts))
            of_tokens = -self._log_probs(ids)
            of_texts = np.zeros(len(texts))
            np.add.at(of_texts, np.searchsorted(stops, ends, side="left"), of_tokens)
            left = iter(of_texts.tolist())
            yield [next(left) if text else 0.0 for text in parts]

    def log_probs(self, sentences: Sequence[Sequence[str]]) -> Iterator[float]:
        """log p of each sentence, given as words; with its end, if the tokenizer has a token for it."""
        for words in sentences:
            ids, _ = self._tokens(detokenize(words))
            yield float(self._log_probs([*ids, *([] if self.end is None else [self.end])]).sum())

    def _tokens(self, text: str) -> tuple[list[int], np.ndarray]:
        """The ids of a text's tokens, and the character at which each ends."""
        encoded = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return encoded["input_ids"], np.array([stop for _, stop in encoded["offset_mapping"]], np.int64)

    @torch.no_grad()
    def _log_probs(self, ids: Sequence[int]) -> np.ndarray:
        """log p of each token, given those before it."""
        if not len(ids):
            return np.zeros(0)
        tokens = torch.tensor([[self.first, *ids]], device=self.model.device)
        log_probs = self.model(input_ids=tokens).logits[0, :-1].double().log_softmax(1)
        return log_probs.gather(1, tokens[0, 1:, None])[:, 0].cpu().numpy()
