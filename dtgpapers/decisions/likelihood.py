"""The likelihood of models whose trees no parser proposes: a beam search sums over those that it keeps."""

from collections.abc import Iterator, Sequence

from dtglib.data.treebank import Sentence
from dtglib.decode.beam import DEFAULT_WIDTHS, Widths, in_parts, search
from dtglib.decode.stepper import Searchable
from dtglib.evaluate.perplexity import SentenceScore
from dtglib.families.base import Likelihood


def _by_beam(model: Searchable, sentences: Sequence[Sentence], widths: Widths | None) -> Iterator[SentenceScore]:
    words = [sentence.words for sentence in sentences]
    for sentence, found in zip(words, in_parts(search, model, words, widths or DEFAULT_WIDTHS), strict=True):
        best = None if found.tree is None else tuple(found.tree.tolist())
        yield SentenceScore(len(sentence), len(model.vocabulary.encode(sentence).ids), 0, found.log_prob, best)


BY_BEAM = Likelihood("log p, at least", is_exact=False, sums_over_trees=False, scores=_by_beam)
