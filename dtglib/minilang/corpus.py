"""The corpus of minilang: train, dev and test, and the hold-outs that none of them shows.

Sentences are drawn from the grammar by its weights. Where one belongs is decided by the sentence itself, so no split
ever shares one with another, whatever their sizes and seeds:

    a sentence of the minimal pairs or suites      nowhere
    one that shows a hold-out (holdouts.yaml)      the split of that hold-out; nowhere if it shows two
    the others                                     train, dev or test, by a checksum of its words (80, 10 and 10 %)

Within a split a short sentence may come twice, as in any text. Same split, same seed: same sentences, on every machine.
"""

import random
import zlib
from collections.abc import Callable, Iterator
from functools import cache

from dtglib.errors import UserError
from dtglib.minilang.derivation import MOST_WORDS, Structure, TooLong, leaves, sampler, sentence, spell
from dtglib.minilang.grammar import read_language, read_source
from dtglib.minilang.lexicon import Entry
from dtglib.minilang.templates import evaluation_sentences
from dtglib.progress import progress
from dtglib.treebank import Sentence

# Split: how many sentences where nobody says.
SPLITS = {"train": 20_000, "dev": 1_000, "test": 1_000, "attractor": 500, "depth": 500, "combination": 500}
BY_CHECKSUM = ["train"] * 8 + ["dev", "test"]


def split(name: str, sentences: int | None = None, seed: int = 0) -> list[Sentence]:
    """The sentences of a split: train, dev, test, or a hold-out (attractor, depth, combination)."""
    if name not in SPLITS:
        raise UserError(f"minilang has no split {name!r}; it has {', '.join(SPLITS)}")
    count = SPLITS[name] if sentences is None else sentences
    drawn = _draw(name, seed)
    return [next(drawn) for _ in progress(range(count), f"minilang {name}", "sentence")]


def _draw(name: str, seed: int) -> Iterator[Sentence]:
    grammar, barred, shown = read_language(), evaluation_sentences(), holdouts()
    draw, chance = sampler(grammar), random.Random(f"minilang {name} {seed}")
    number = 0
    while True:
        try:
            derivation = draw(chance, most_words=MOST_WORDS)
        except TooLong:
            continue
        words = spell([entry.word for entry in leaves(derivation)], grammar.sandhi)
        home = BY_CHECKSUM[zlib.crc32(" ".join(words).encode()) % len(BY_CHECKSUM)]
        # The cheap question first: most sentences of dev's stream belong to train.
        if (name not in shown and home != name) or words in barred:
            continue
        structure = Structure(derivation)
        shows = [holdout for holdout, is_shown in shown.items() if is_shown(structure)]
        if shows == ([name] if name in shown else []):
            number += 1
            yield sentence(derivation, structure, grammar.sandhi, f"minilang-{name}-{seed}-{number}")


# The hold-outs: questions to a dependency structure.


@cache
def holdouts() -> dict[str, Callable[[Structure], bool]]:
    """Each hold-out's name and the question whether a sentence shows it."""
    source = read_source("holdouts")
    clauses, deepest = frozenset(source["depth"]["clauses"]), int(source["depth"]["from"])
    arcs = frozenset((arc["head"], arc["label"], arc.get("dependent")) for arc in source["combination"]["arcs"])
    return {
        "attractor": has_attractor,
        "depth": lambda structure: embedding_depth(structure, clauses) >= deepest,
        "combination": lambda structure: has_combination(structure, arcs),
    }


def has_attractor(structure: Structure) -> bool:
    """Whether a noun of the other number stands between a subject and the verb that agrees with it."""
    for subject, edges in enumerate(structure.graph(), start=1):
        for edge in edges:
            verb = _agreeing(structure, int(edge.head)) if edge.label in ("nsubj", "nsubj:pass") else None
            if verb is None:
                continue
            number = _number(structure.entries[verb - 1])
            between = range(min(subject, verb) + 1, max(subject, verb))
            # "The book and the map remain": the map is half of the subject, not in its way.
            nouns = [w for w in between if (structure.heads[w], structure.labels[w]) != (subject, "conj")]
            if any(
                structure.entries[w - 1].pos == "NOUN" and _differs(structure.entries[w - 1], number) for w in nouns
            ):
                return True
    return False


def _agreeing(structure: Structure, predicate: int) -> int | None:
    """The word of a predicate that shows number (`are` in "are sleeping"), or None ("slept")."""
    auxiliaries = [w for w, label in enumerate(structure.labels) if label in ("aux", "aux:pass", "cop")]
    finite = [w for w in auxiliaries if structure.heads[w] == predicate][:1] or [predicate]
    return finite[0] if _number(structure.entries[finite[0] - 1]) else None


def _differs(entry: Entry, number: str | None) -> bool:
    return _number(entry) not in (None, number)


def _number(entry: Entry) -> str | None:
    values = entry.features.get("num", ())
    return next(iter(values)) if len(values) == 1 else None


def embedding_depth(structure: Structure, clauses: frozenset[str]) -> int:
    """How many clauses are inside one another, the main clause not counted."""
    deepest = 0
    for word in range(1, len(structure.heads)):
        depth = 0
        while word:
            depth += structure.labels[word] in clauses
            word = structure.heads[word]
        deepest = max(deepest, depth)
    return deepest


def has_combination(structure: Structure, arcs: frozenset[tuple[str, str, str | None]]) -> bool:
    """Whether two words stand in a relation that is held out."""
    for word in range(1, len(structure.heads)):
        head, label = structure.heads[word], structure.labels[word]
        if head:
            pair = (structure.entries[head - 1].lemma, label)
            if (*pair, None) in arcs or (*pair, structure.entries[word - 1].lemma) in arcs:
                return True
    return False
