"""Models of dtglib in lm-evaluation-harness (`pip install dtglib[lm-eval]`), under the name dtglib.

    python -m dtgpapers.doors.harness --model dtglib --model_args model=dtg-minilang,beam=100 --tasks blimp

lm_eval 0.4.13 knows the models of its own package and those that are registered in the running program; it looks for no
entry points, and `--include_path` finds tasks only. So this program registers ours, and then is the command `lm_eval`.
In Python, `lm_eval.simple_evaluate(registered()(model="dtg-minilang"), tasks=["blimp"])` does the same.

A request for log p(continuation | context) is answered by

    log p(context and continuation, with the end of the sentence) - log p(context)

where both together are a sentence, cut into the words of a treebank. With an empty context this is log p of `dtglib
blimp`, a bound by beam search if the model has trees. With `end=false` the end is not counted. A word that is only half
in the context belongs to the continuation. In `loglikelihood_rolling` each line of a text is a sentence; lines without
words are skipped.

Greedy decoding chooses the most probable next piece, given the pieces before it (next_piece.py), until the sentence
ends. It writes words as a treebank has them, with blanks between them. Whether it would write a continuation is found
out where there is a context, as in LAMBADA; for a whole sentence the answer is no.

    >>> pairs = [("", "The author is strange ."), ("The author", " is strange .")]
    >>> [round(log_p, 2) for log_p in Answers("txl-tokens-minilang").log_probs(pairs)]
    [-16.55, -8.5]
"""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dtglib.basics.errors import UserError, require
from dtglib.basics.progress import progress
from dtglib.cli.options import WITHIN, model_folder
from dtglib.data.tokenize import tokenize
from dtglib.data.vocabulary import END
from dtglib.decode.beam import SentenceResult, Widths, in_parts, search
from dtglib.families.base import family_of, load_model
from dtglib.runs.syntax_scores import without_parser
from dtglib.training.distributed import device_at_hand
from dtgpapers.doors.boundary import words_before
from dtgpapers.doors.next_piece import Derivations

MOST_PIECES = 256  # that are written for a request which names no limit


class Answers:
    """The answers of a model to requests of the harness, given what stands in `--model_args`."""

    def __init__(
        self,
        model: str = "dtg-books",
        beam: int = 300,
        within: float | str = WITHIN,
        end: bool = True,
        batch_size: object = None,
        max_batch_size: object = None,
        device: object = None,
        **unknown: object,
    ) -> None:
        """`within` may be none; lm_eval adds the last three, of which only `device=cpu` changes something.

        It names a GPU even where there is none, and a search chooses how many sentences it reads at once.
        """
        super().__init__()
        require(not unknown, f"model_args are model, beam, within and end, not {', '.join(unknown)}")
        require(isinstance(beam, int) and beam > 0, f"beam={beam}: it is the number of hypotheses, from 1 on")
        is_width = isinstance(within, int | float) and within >= 0
        require(is_width or within == "none", f"within={within}: it is a number of nats from 0 on, or none")
        self.model = load_model(model_folder(Namespace(model=model)), "cpu" if device == "cpu" else device_at_hand())
        kind = family_of(self.model)
        require(kind.likelihood.is_searched, f"{kind.title} has no left-to-right probabilities, which lm_eval asks for")
        self.widths = Widths(beam, beam, within=None if within == "none" else float(within))
        self.end = end

    def log_probs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """log p of each continuation, given its context."""
        sentences, befores = words_of(pairs)
        for number, (words, before) in enumerate(zip(sentences, befores, strict=True), start=1):
            require(before < len(words), f"request {number} of lm_eval has no words to score: {pairs[number - 1]}")
        shown = partial(progress, what="scoring", unit="sentence", total=len(sentences))
        if self.end and not any(befores):
            whole = without_parser(family_of(self.model), self.widths)
            return list(shown(whole.log_probs(self.model)(sentences)))
        found = shown(in_parts(search, self.model, sentences, self.widths))
        return [self._rest(*each) for each in zip(sentences, befores, found, strict=True)]

    def _rest(self, words: Sequence[str], before: int, found: SentenceResult) -> float:
        """log p of a sentence from some word on."""
        total = found.log_prob if self.end else float(found.log_prefix[-1])
        if not before or total == float("-inf"):
            return total
        first, _ = self.model.vocabulary.encode(words).spans[before]
        return total - float(found.log_prefix[first - 1])

    def loglikelihood(self, requests: Sequence[Any]) -> list[tuple[float, bool]]:
        """log p of each continuation, and whether greedy decoding would write it."""
        pairs = [request.args for request in requests]
        return list(zip(self.log_probs(pairs), self.are_greedy(pairs), strict=True))

    def are_greedy(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        """True where each piece of a continuation is the most probable one; without a context this is not asked.

        Sentences are read as many at a time as a search reads, and what several of them begin with only once.
        """
        sentences, befores = words_of(pairs)
        asked, answers = [number for number, before in enumerate(befores) if before], [False] * len(pairs)
        for first in range(0, len(asked), self.widths.at_once):
            some = asked[first : first + self.widths.at_once]
            encoded = [self.model.vocabulary.encode(sentences[number]) for number in some]
            read = Derivations(self.model, len(some)).read([one.ids for one in encoded], self.widths)
            for number, one, log_probs in zip(some, encoded, read, strict=True):
                begin, _ = one.spans[befores[number]]
                wanted = [*one.ids[begin:], *[END] * self.end]
                answers[number] = log_probs[begin : begin + len(wanted)].argmax(1).tolist() == wanted
        return answers

    def loglikelihood_rolling(self, requests: Sequence[Any]) -> list[float]:
        """log p of each text, whose lines are sentences."""
        texts = [[line for line in request.args[0].splitlines() if tokenize(line)] for request in requests]
        left = iter(self.log_probs([("", line) for lines in texts for line in lines]))
        return [sum(next(left) for _ in lines) for lines in texts]

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        """The text that follows each context, by greedy decoding."""
        return [self.written(*request.args) for request in requests]

    def written(self, context: str, how: Mapping[str, Any]) -> str:
        """The most probable pieces after a context, up to the end, a stop in `until`, or `max_gen_toks` of them."""
        require(not how.get("do_sample"), "dtglib answers lm_eval by greedy decoding only; set do_sample to false")
        until = how.get("until") or ()
        stops = [stop for stop in ([until] if isinstance(until, str) else until) if stop]
        vocabulary, derivations = self.model.vocabulary, Derivations(self.model, 1)
        pieces = list(vocabulary.encode(tokenize(context)).ids)
        begun, new, text = " ".join(vocabulary.decode(pieces)), pieces, ""
        for _ in range(int(how.get("max_gen_toks", MOST_PIECES))):
            (log_probs,) = derivations.read([new], self.widths)
            new = [int(log_probs[-1].argmax())]
            if new == [END]:
                break
            pieces = pieces + new
            text = " ".join(vocabulary.decode(pieces))[len(begun) :]
            if cut := [text.index(stop) for stop in stops if stop in text]:
                return text[: min(cut)]
        return text


def words_of(pairs: Sequence[tuple[str, str]]) -> tuple[list[list[str]], list[int]]:
    """The words of contexts with their continuations, and how many of them are before the continuation."""
    sentences = [tokenize(context + continuation) for context, continuation in pairs]
    befores = [words_before(words, context) for words, (context, _) in zip(sentences, pairs, strict=True)]
    return sentences, befores


def registered() -> type:
    """The class of the models, which lm_eval then finds under the name dtglib."""
    from lm_eval.api.model import LM
    from lm_eval.api.registry import model_registry, register_model

    if "dtglib" not in model_registry:
        register_model("dtglib")(type("DtglibLM", (Answers, LM), {}))
    return model_registry.get("dtglib")


def main() -> None:
    """The command `lm_eval`, with dtglib among its models."""
    try:
        from lm_eval.__main__ import cli_evaluate
    except ImportError as error:
        raise SystemExit("dtglib: lm_eval is not installed; run `pip install dtglib[lm-eval]`") from error

    registered()
    try:
        cli_evaluate()
    except UserError as error:
        raise SystemExit(f"dtglib: {error}") from error


if __name__ == "__main__":
    main()
