"""The numbers that describe a treebank, as `dtglib stats` prints them.

One sentence, "There is a difference" with heads (2, 0, 4, 2), gives

    sentences 1 · words 4 · tokens 4 · fused 0 · projective 1 · excluded none · multi-head 0 · empty nodes 0
    lengths: min 4 · 25 % 4 · median 4 · 75 % 4 · 95 % 4 · max 4

A token is a piece of the text between blanks or punctuation: "don't" is one token, fused from two words.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dtglib.data.conllu import DEPS, ID, edges
from dtglib.data.projectivity import is_projective
from dtglib.data.treebank import ReadsBlock, Sentence, Treebank, trees_only

SHARES = {"min": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "max": 1.0}


@dataclass(frozen=True)
class Stats:
    sentences: int  # all sentences of the treebank, with or without a tree
    words: int  # syntactic words
    tokens: int  # surface tokens: a fused token counts once, an empty node not at all
    fused: int  # fused tokens, the ranges "1-2" of a CoNLL-U file
    projective: int  # sentences whose tree is projective, ROOT standing left of the first word
    excluded: dict[str, int]  # by reason: left out when the file was read, or by trees_only
    multi_head_sentences: int  # sentences where a word or an empty node has several heads in the enhanced graph
    empty_nodes: int
    lengths: dict[str, int]  # quantiles of the words per sentence, see `length_quantiles`


def stats_of(treebank: Treebank) -> Stats:
    """The numbers of a treebank."""
    return stats_of_blocks([lambda: treebank])


def stats_of_blocks(blocks: Iterable[ReadsBlock]) -> Stats:
    """The numbers of a treebank that is read block by block, so that it need not fit into memory."""
    counts: Counter[str] = Counter()
    left_out, without_tree = Counter(), Counter()
    lengths: list[int] = []
    for block in blocks:
        sentences, excluded = block()
        ranges = [span for sentence in sentences for span in fused_spans(sentence)]
        lengths += [len(sentence.words) for sentence in sentences]
        left_out.update(excluded)
        without_tree.update(trees_only(Treebank(sentences, Counter())).excluded)
        counts["fused"] += len(ranges)
        counts["in fused"] += sum(ranges)
        counts["projective"] += sum(s.heads is not None and is_projective(s.heads) for s in sentences)
        counts["multi-head"] += sum(map(has_several_heads, sentences))
        counts["empty nodes"] += sum(len(empty_node_rows(sentence)) for sentence in sentences)
    return Stats(
        sentences=len(lengths),
        words=sum(lengths),
        tokens=sum(lengths) - counts["in fused"] + counts["fused"],
        fused=counts["fused"],
        projective=counts["projective"],
        excluded=dict(left_out + without_tree),
        multi_head_sentences=counts["multi-head"],
        empty_nodes=counts["empty nodes"],
        lengths=length_quantiles(lengths),
    )


def row_of(stats: Stats) -> dict[str, object]:
    """A treebank's row in a table; `dtglib stats` and the notebooks show the same columns."""
    return {
        "sentences": stats.sentences,
        "words": stats.words,
        "projective": stats.projective,
        "multi-head": stats.multi_head_sentences,
        **{f"{share} words": stats.lengths.get(share, "-") for share in SHARES},
        "excluded": ", ".join(f"{count} {reason}" for reason, count in stats.excluded.items()) or "none",
    }


def fused_spans(sentence: Sentence) -> list[int]:
    """The number of words in each fused token of a sentence: [2] for a single "don't"."""
    ranges = [row[ID].split("-") for row in sentence.rows or () if "-" in row[ID]]
    return [int(last) - int(first) + 1 for first, last in ranges]


def empty_node_rows(sentence: Sentence) -> list[tuple[str, ...]]:
    """The rows of empty nodes: words in the enhanced graph that are not in the text."""
    return [row for row in sentence.rows or () if "." in row[ID]]


def has_several_heads(sentence: Sentence) -> bool:
    """True if a word or an empty node has more than one head in the enhanced graph."""
    nodes = [*(sentence.enhanced or ()), *(edges(row[DEPS]) for row in empty_node_rows(sentence))]
    return any(len({edge.head for edge in incoming}) > 1 for incoming in nodes)


def length_quantiles(lengths: list[int]) -> dict[str, int]:
    """Nearest-rank quantiles: the least length that this share of the sentences does not exceed; {} if there are none.

    >>> length_quantiles([1, 2, 3, 4])
    {'min': 1, '25%': 1, 'median': 2, '75%': 3, '95%': 4, 'max': 4}
    """
    if not lengths:
        return {}
    values = np.quantile(lengths, list(SHARES.values()), method="inverted_cdf")
    return {name: int(value) for name, value in zip(SHARES, values, strict=True)}
