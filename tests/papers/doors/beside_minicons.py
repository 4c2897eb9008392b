"""A small GPT-2 with random weights, and exported models, by minicons and by `Scorer`: printed side by side as JSON.

    python beside_minicons.py WIDTH NAME FOLDER NAME FOLDER ...

It runs in an environment with minicons. `Scorer` reads the GPT-2 by the definition: one token after the other.
"""

import json
import sys

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer

from dtglib.decode.beam import Widths
from dtglib.families.base import load_model
from dtgpapers.doors.scorer import Scorer, Tokens

TEXTS = ["The author next to the senators is not good.", "There is a difference.", "Keys are here, in the cabinet."]
PREFIXES, CONTINUATIONS = ["The author", "There is", "Keys"], ["is not good.", "a difference.", "are here."]


def small_gpt2() -> tuple:
    """A model whose tokens are learned from the texts, and its tokenizer."""
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast  # each test process reads this file

    bpe = ByteLevelBPETokenizer(add_prefix_space=True)
    bpe.train_from_iterator(TEXTS, 290, special_tokens=["<end>"], show_progress=False)
    ends = dict.fromkeys(("bos_token", "eos_token", "pad_token"), "<end>")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe._tokenizer, **ends)
    torch.manual_seed(1)
    of_end = dict.fromkeys(("bos_token_id", "eos_token_id"), tokenizer.eos_token_id)
    sizes = {"vocab_size": len(tokenizer), "n_positions": 64, "n_embd": 16, "n_layer": 1, "n_head": 2}
    model = GPT2LMHeadModel(GPT2Config(**sizes, **of_end, initializer_range=0.5))
    return model.eval(), tokenizer


class ScorerOfGPT2(Scorer):
    """Our methods over a GPT-2; a word is over if the next token begins a word, as minicons has it."""

    def __init__(self, model, tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.begins = torch.tensor([self._begins_word(number) for number in range(len(tokenizer))])

    def _begins_word(self, number: int) -> bool:
        return self.tokenizer.convert_ids_to_tokens(number).startswith("Ġ")

    @torch.no_grad()
    def read(self, texts):
        return [self._read(text) for text in texts]

    def _read(self, text: str) -> Tokens:
        ids, log_p, log_begins = [self.tokenizer.bos_token_id], [], []
        for token in [*self.tokenizer(text)["input_ids"], self.tokenizer.eos_token_id]:
            distribution = self.model(torch.tensor([ids])).logits[0, -1].double().log_softmax(0)
            log_p.append(float(distribution[token]))
            log_begins.append(float(distribution[self.begins].logsumexp(0)))
            ids.append(token)
        starts = np.array([place for place, token in enumerate(ids[1:-1]) if self._begins_word(token)])
        tokens = self.tokenizer.convert_ids_to_tokens(ids[1:-1])
        over = np.array(log_begins)[[*starts[1:], len(tokens)]]
        return Tokens(text.split(), starts, tokens, np.array(log_p[:-1]), log_p[-1], over)


def total(scores: torch.Tensor) -> float:
    return scores.sum(0).item()


def asked_of(scorer) -> dict:
    """What scripts ask: both sides are called in the same way, and the token of the beginning is left out."""
    with_beginning = {"bos_token": True}

    def tokens(**how):
        rows = scorer.token_score(TEXTS, **how, **with_beginning)
        return [[pair for pair in row if pair[0] != "<end>"] for row in rows]

    conditional = PREFIXES, CONTINUATIONS
    prepared, primed = scorer.prepare_text(TEXTS, True), scorer.prime_text(*conditional, " ", True)
    return {
        "token_score": tokens(),
        "token_score, bits": tokens(surprisal=True, base_two=True),
        "token_score, probabilities": tokens(prob=True),
        "token_score, corrected": tokens(bow_correction=True),
        "sequence_score": scorer.sequence_score(TEXTS, **with_beginning),
        "sequence_score, sum with the end": scorer.sequence_score(TEXTS, total, eos_token=True, **with_beginning),
        "sequence_score, corrected": scorer.sequence_score(TEXTS, total, False, True, **with_beginning),
        "conditional_score": scorer.conditional_score(*conditional, **with_beginning),
        "conditional_score, sum of bits": scorer.conditional_score(
            *conditional, reduction=total, base_two=True, **with_beginning
        ),
        "conditional_score, one text": scorer.conditional_score("The author", "is not good.", **with_beginning),
        "compute_stats": scorer.compute_stats(prepared),
        "compute_stats, probabilities": scorer.compute_stats(primed, False, True),
    }


def beside() -> dict:
    """The answers of both, and those about words, for which minicons has another method."""
    from minicons.scorer import IncrementalLMScorer

    model, tokenizer = small_gpt2()
    theirs, ours = IncrementalLMScorer(model, "cpu", tokenizer=tokenizer), ScorerOfGPT2(model, tokenizer)
    answers = {"minicons": asked_of(theirs), "ours": asked_of(ours)}
    for name, how in {"word_score": {}, "word_score, surprisal": {"surprisal": True, "bow_correction": True}}.items():
        answers["minicons"][name] = theirs.word_score_tokenized(TEXTS, str.split, bos_token=True, **how)
        answers["ours"][name] = ours.word_score(TEXTS, **how)
    return answers


def of_an_export(name: str, folder: str, width: int) -> dict:
    """Scores of a model by minicons, which reads its export, and by `Scorer`."""
    from minicons.scorer import IncrementalLMScorer
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    exported = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True)
    theirs = IncrementalLMScorer(exported, "cpu", tokenizer=tokenizer)
    ours = Scorer(load_model(name), Widths(width, width))
    tokens = theirs.token_score(TEXTS)
    assert {row[0] for row in tokens} == {("<ROOT>", 0.0)}  # its tokenizer writes the beginning
    return {
        "minicons": [[row[1:] for row in tokens], theirs.sequence_score(TEXTS, total)],
        "ours": [ours.token_score(TEXTS), ours.sequence_score(TEXTS, total)],
    }


if __name__ == "__main__":
    width, *exports = sys.argv[1:]
    answers = {"GPT-2": beside()}
    for name, folder in zip(exports[::2], exports[1::2], strict=True):
        answers[name] = of_an_export(name, folder, int(width))
    print(json.dumps(answers))
