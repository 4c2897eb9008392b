"""Trees of sentences by a parser, for commands; several processes share the sentences through the cache.

parsed_now("parser-ud", sentences)                       the same sentences with their best trees
proposed_now("parser-ud", words, 300, "sample", 1)       the trees that it proposes, and log q of each
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dtglib.basics.code import code_of
from dtglib.basics.record import Row
from dtglib.data.treebank import Sentence, Words, format_conllu, with_tree
from dtglib.evaluate.attachment import attached, every_word, is_no_punctuation
from dtglib.parsing.kinds import TreeForm, kinds
from dtglib.runs.cache import Computed, cached_rows, digest_of
from dtglib.parsing.parser import known_as, load_parser
from dtglib.parsing.propose import AT_ONCE, METHODS, propose


def parsed_now(parser: Path | str, sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with their best trees."""

    def load() -> Callable[[slice], Iterator[Row]]:
        loaded = load_parser(parser)
        fields = ("heads", "labels") if loaded.fills == "heads" else (loaded.fills,)
        return lambda block: ({name: getattr(one, name) for name in fields} for one in loaded.parse(sentences[block]))

    rows = _shared(parser, {"what": "best trees"}, [one.words for one in sentences], load, "parsing")
    return [
        with_tree(sentence, **row) if "heads" in row else replace(sentence, **row)
        for sentence, row in zip(sentences, rows, strict=True)
    ]


def proposed_now(parser: Path | str, sentences: Sequence[Words], count: int, method: str, seed: int) -> list[Row]:
    """A row per sentence: the trees that the parser proposes, and log q of each."""

    def load() -> Callable[[slice], Iterator[Row]]:
        loaded = load_parser(parser)

        def rows_of(block: slice) -> Iterator[Row]:
            proposed = propose(loaded, sentences[block], count, METHODS[method], seed, block.start)
            for words, chosen in zip(sentences[block], proposed, strict=True):
                yield {"log_q": chosen.log_probs.tolist(), "trees": chosen.written(words)}

        return rows_of

    about = {"what": "proposed trees", "trees": count, "method": method, "seed": seed}
    return _shared(parser, about, sentences, load, "proposing trees")


def _shared(
    parser: Path | str,
    about: Row,
    sentences: Sequence[Words],
    load: Callable[[], Callable[[slice], Iterator[Row]]],
    what: str,
) -> list[Row]:
    computed = Computed(list(map(len, sentences)), load, AT_ONCE, what)
    identity = {**about, "parser": known_as(parser), "sentences": digest_of(sentences)}
    return cached_rows("trees", Path(parser).name, identity, code_of("parsing", load), computed, is_kept=False)


# ---- The form of trees


def form_of(fills: str) -> TreeForm:
    """The form of the trees of parsers that fill a field of sentences, such as heads."""
    forms = {kind.network.fills: kind.form for kind in kinds().values() if kind.form}
    return forms.get(fills, HEADS)


def _has_heads(sentence: Sentence) -> bool:
    return sentence.heads is not None


def _agreement(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> Iterator[str]:
    for what, counts in (("with punctuation", every_word), ("without punctuation", is_no_punctuation)):
        right = attached(gold, [sentence.heads for sentence in parsed], counts)
        if right.words.sum():
            yield f"UAS {what}: {100 * right.uas:.2f} ({right.right.sum()} of {right.words.sum()} words)"


def _uas(gold: Sequence[Sentence], parsed: Sequence[Sentence]) -> float:
    return attached(gold, [sentence.heads for sentence in parsed]).uas


HEADS = TreeForm(format_conllu, _has_heads, _agreement, "uas", _uas)
