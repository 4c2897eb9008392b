"""The corpus of minilang: train, dev and test, and the hold-outs, whose constructions occur in none of these three.

Sentences are drawn from the grammar by its weights. The split of a sentence follows from the sentence itself, so two
splits never share one, whatever their sizes and seeds:

    a sentence of the minimal pairs or suites      in no split
    a sentence that shows a hold-out               the split of that hold-out (holdouts.yaml); no split if it shows two
    all others                                     train, dev or test, by a checksum of the words (80, 10 and 10 %)

Within a split a short sentence may come twice, as in any text. The same split and seed give the same sentences on
every machine. Sentences are cached between processes (basics/cache_folder.py).

    >>> first, again = split("test", 3), split("test", 3)
    >>> first == again, first[0].text
    (True, 'Guests behind the castle attacked her pilot or many vases cracked.')
"""

import contextlib
import gc
import pickle
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from tqdm import tqdm

from dtglib.basics.cache_folder import read_cached, write_cached
from dtglib.basics.errors import require
from dtglib.basics.progress import progress
from dtglib.data.minilang.derivation import MOST_WORDS, Annotation, Node, TooLong, leaves, sampler, sentence, spell
from dtglib.data.minilang.grammar import read_language, read_source
from dtglib.data.minilang.lexicon import WordForm
from dtglib.data.minilang.templates import evaluation_sentences
from dtglib.data.treebank import Sentence

# The default number of sentences of each split.
SPLITS = {"train": 20_000, "dev": 1_000, "test": 1_000, "attractor": 500, "depth": 500, "combination": 500}
BY_CHECKSUM = ["train"] * 8 + ["dev", "test"]


def split(name: str, sentences: int | None = None, seed: int = 0) -> list[Sentence]:
    """The sentences of a split: train, dev, test, or a hold-out (attractor, depth, combination)."""
    return first_sentences(_stream(name, seed), size_of(name, sentences))


def size_of(name: str, sentences: int | None) -> int:
    """The number of sentences of a split, by default that of SPLITS; an unknown split is an error."""
    require(name in SPLITS, f"minilang has no split {name!r}; it has {', '.join(SPLITS)}")
    return SPLITS[name] if sentences is None else sentences


@dataclass
class Stream:
    """The sentences that this process has drawn so far, and the state of the drawing after them."""

    module: str  # whose code draws them
    name: str  # "train-0"
    draw: "Callable[[Stream, tqdm], tuple[list[Sentence], tuple]]"  # draws the next block
    so_far: tuple[list[Sentence], tuple]

    @property
    def sentences(self) -> list[Sentence]:
        return self.so_far[0]

    @property
    def state(self) -> tuple:
        return self.so_far[1]


def first_sentences(stream: Stream, count: int) -> list[Sentence]:
    """The first sentences of a stream; missing ones are drawn."""
    total = known = len(stream.sentences)
    while total < count:
        total += block_after(total)
    with progress((), f"minilang {stream.name}", "sentence", total=total, initial=known) as bar:
        while len(stream.sentences) < count:
            _add_block(stream, bar)
            bar.n = len(stream.sentences)
    return stream.sentences[:count]


@cache
def _stream(split: str, seed: int) -> Stream:
    return _new_stream(split, seed)


def _new_stream(split: str, seed: int) -> Stream:
    return Stream(__name__, f"{split}-{seed}", partial(_draw, split), ([], dice_of(split, seed).getstate()))


def block_after(known: int) -> int:
    """The size of the block after `known` sentences: so many are drawn, and cached, together."""
    return min(max(known, 8), 512)


def _add_block(stream: Stream, bar: tqdm) -> None:
    """Add the next block of a stream, from the cache if it is there."""
    name = f"{stream.name}-{len(stream.sentences)}"
    cached = read_cached(stream.module, name)
    with _no_collection():
        block = pickle.loads(cached) if cached else stream.draw(stream, bar)
    if not cached:
        write_cached(stream.module, name, pickle.dumps(block))
    sentences, state = block
    stream.so_far = stream.sentences + sentences, state  # one assignment, which no interruption can split


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection, which would take three quarters of the time of reading, and a quarter of drawing."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _draw(split: str, stream: Stream, bar: tqdm) -> tuple[list[Sentence], tuple]:
    """Draw the next block of a split; also return the state of the random generator after it."""
    sandhi, chance = read_language().sandhi, random.Random()
    chance.setstate(stream.state)
    first = len(stream.sentences)
    sentences: list[Sentence] = []
    for drawn in islice(derivations(split, chance), block_after(first)):
        identifier = f"minilang-{stream.name}-{first + len(sentences) + 1}"
        sentences.append(sentence(*drawn, sandhi, identifier))
        bar.update()
    return sentences, chance.getstate()


class Drawn(NamedTuple):
    """A derivation, and the arcs of its sentence."""

    derivation: Node
    annotation: Annotation


def dice_of(split: str, seed: int) -> random.Random:
    """The random generator from which a split is drawn."""
    return random.Random(f"minilang {split} {seed}")


def derivations(split: str, chance: random.Random) -> Iterator[Drawn]:
    """Draw the derivations that belong to a split, without end."""
    grammar, barred, shown = read_language(), evaluation_sentences(), holdouts()
    draw = sampler(grammar)
    while True:
        try:
            derivation = draw(chance, most_words=MOST_WORDS)
        except TooLong:
            continue
        words = spell([entry.word for entry in leaves(derivation)], grammar.sandhi)
        home = BY_CHECKSUM[zlib.crc32(" ".join(words).encode()) % len(BY_CHECKSUM)]
        # The cheap test comes first: most sentences that are drawn for dev belong to train.
        if (split not in shown and home != split) or words in barred:
            continue
        annotation = Annotation(derivation)
        shows = [holdout for holdout, is_shown in shown.items() if is_shown(derivation, annotation)]
        if shows == ([split] if split in shown else []):
            yield Drawn(derivation, annotation)


# The hold-outs, each defined by a predicate on a derivation and its arcs.

Predicate = Callable[[Node, Annotation], bool]


@cache
def holdouts() -> dict[str, Predicate]:
    """The predicate of each hold-out, by name: true if a sentence shows it."""
    source = read_source("holdouts")
    clauses, deepest = frozenset(source["depth"]["clauses"]), int(source["depth"]["from"])
    combination = source["combination"]
    words = {item["word"]: item for item in combination["words"]}
    objects = {(item["verb"], item["object"]) for item in combination["objects"]}
    attributes = {(item["noun"], item["attribute"]) for item in combination["attributes"]}
    return {
        "attractor": lambda _, annotation: has_attractor(annotation),
        "depth": lambda _, annotation: embedding_depth(annotation, clauses) >= deepest,
        "combination": lambda node, annotation: (
            has_word_in_frame(node, words)
            or not objects.isdisjoint(verbs_with_objects(annotation))
            or not attributes.isdisjoint(nouns_with_attributes(annotation))
        ),
    }


def has_attractor(annotation: Annotation) -> bool:
    """True if a nominal with the opposite number stands between a subject and the verb that agrees with it."""
    for subject, edges in enumerate(annotation.graph, start=1):
        for edge in edges:
            verb = _agreeing(annotation, int(edge.head)) if edge.label in ("nsubj", "nsubj:pass") else None
            if verb is None:
                continue
            number = _number(annotation.entries[verb - 1])
            between = range(min(subject, verb) + 1, max(subject, verb))
            # In "The book and the map remain", the map is a part of the subject, not an attractor.
            others = [w for w in between if (annotation.heads[w], annotation.labels[w]) != (subject, "conj")]
            if any(_is_nominal_of_other_number(annotation.entries[w - 1], number) for w in others):
                return True
    return False


def _agreeing(annotation: Annotation, predicate: int) -> int | None:
    """The word of a predicate that is marked for number (`are` in "are sleeping"), or None ("slept")."""
    auxiliaries = [w for w, label in enumerate(annotation.labels) if label in ("aux", "aux:pass", "cop")]
    finite = [w for w in auxiliaries if annotation.heads[w] == predicate][:1] or [predicate]
    return finite[0] if _number(annotation.entries[finite[0] - 1]) else None


def _is_nominal_of_other_number(entry: WordForm, number: str | None) -> bool:
    return entry.pos in ("NOUN", "PROPN", "PRON") and _number(entry) not in (None, number)


def _number(entry: WordForm) -> str | None:
    values = entry.features.get("num", ())
    return next(iter(values)) if len(values) == 1 else None


def embedding_depth(annotation: Annotation, clauses: frozenset[str]) -> int:
    """The number of clauses that are nested in one another, without the main clause."""
    deepest = 0
    for word in range(1, len(annotation.heads)):
        depth = 0
        while word:
            depth += annotation.labels[word] in clauses
            word = annotation.heads[word]
        deepest = max(deepest, depth)
    return deepest


def has_word_in_frame(node: Node, words: dict[str, dict[str, str]]) -> bool:
    """True if a word heads a rule, or is in a frame, in which it never occurs in the training data."""
    return any(
        rule in words[entry.lemma].get("rules", "").split() or words[entry.lemma].get("frame") in _frame(entry)
        for rule, entry in rules_with_heads(node)
        if entry.lemma in words
    )


def rules_with_heads(node: Node) -> list[tuple[str, WordForm]]:
    """The names of all rules of a derivation, each with its head word; parents come after their children."""
    heads_of_rules: list[tuple[str, WordForm]] = []

    def head_of(node: Node | WordForm) -> WordForm | None:
        if isinstance(node, WordForm):
            return node
        heads = {child.label: head_of(part) for child, part in zip(node.rule.children, node.children, strict=True)}
        head = heads.get("^")
        if head is not None:
            heads_of_rules.append((node.rule.name, head))
        return head

    head_of(node)
    return heads_of_rules


def _frame(entry: WordForm) -> frozenset[str]:
    return entry.features.get("frame", frozenset())


def verbs_with_objects(annotation: Annotation) -> set[tuple[str, str]]:
    """The lemmas of each verb and its object, also in passives and at a distance."""
    pairs = set()
    for word, edges in enumerate(annotation.graph, start=1):
        for edge in edges:
            head, dependent = int(edge.head), word
            if edge.label == "acl" and annotation.entries[word - 1].tag == "VBN":
                head, dependent = word, head  # "the apple eaten by the dog"
            elif edge.label not in ("obj", "nsubj:pass", "nsubj:pass:xsubj"):
                continue
            pairs.add((annotation.entries[head - 1].lemma, annotation.entries[dependent - 1].lemma))
    return pairs


def nouns_with_attributes(annotation: Annotation) -> set[tuple[str, str]]:
    """The lemmas of each noun and an adjective before it."""
    return {
        (annotation.entries[head - 1].lemma, annotation.entries[word - 1].lemma)
        for word, (head, label) in enumerate(zip(annotation.heads, annotation.labels, strict=True))
        if label == "amod"
    }
