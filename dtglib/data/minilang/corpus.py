"""The corpus of minilang: train, dev and test, and the hold-outs, whose constructions occur in none of these three.

Sentences are drawn from the grammar by its weights. The sentence itself decides which split it belongs to, so two
splits never share a sentence, whatever their sizes and seeds:

    a sentence of the minimal pairs or suites      in no split
    a sentence that shows a hold-out               the split of that hold-out (holdouts.yaml); in none if it shows two
    all others                                     train, dev or test, by a checksum of the words (80, 10 and 10 %)

Within a split a short sentence may come twice, as in any text. The same split and seed give the same sentences on
every machine. Sentences are cached between processes (basics/cache_folder.py).

    >>> first, again = split("test", 3), split("test", 3)
    >>> first == again, first[0].text
    (True, 'Guests behind the castle attacked her pilot or many vases cracked.')
    >>> [len(block) for block in in_blocks("test", 3)]
    [3]
"""

import contextlib
import gc
import marshal
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from tqdm import tqdm

from dtglib.basics.cache_folder import read_cached, write_cached
from dtglib.basics.errors import UserError
from dtglib.basics.progress import progress
from dtglib.data.conllu import Edge
from dtglib.data.minilang.derivation import MOST_WORDS, Node, Structure, TooLong, leaves, sampler, sentence, spell
from dtglib.data.minilang.grammar import read_language, read_source
from dtglib.data.minilang.lexicon import Entry
from dtglib.data.minilang.templates import evaluation_sentences
from dtglib.data.treebank import Sentence

# The default number of sentences of each split.
SPLITS = {"train": 20_000, "dev": 1_000, "test": 1_000, "attractor": 500, "depth": 500, "combination": 500}
BY_CHECKSUM = ["train"] * 8 + ["dev", "test"]
BLOCK = 2**14  # sentences that are in memory together if a split is read in blocks


def split(name: str, sentences: int | None = None, seed: int = 0) -> list[Sentence]:
    """The sentences of a split: train, dev, test, or a hold-out (attractor, depth, combination)."""
    return first_sentences(_stream(name, seed), size_of(name, sentences))


def in_blocks(name: str, sentences: int | None = None, seed: int = 0) -> Iterator[list[Sentence]]:
    """The same sentences in blocks, of which this process keeps none."""
    left, stream = size_of(name, sentences), _new_stream(name, seed)
    while left:
        block = first_sentences(stream, min(left, BLOCK))
        stream.so_far = stream.sentences[len(block) :], stream.state
        stream.dropped += len(block)
        left -= len(block)
        yield block


def size_of(name: str, sentences: int | None) -> int:
    """How many sentences of a split are wanted; an unknown split is an error."""
    if name not in SPLITS:
        raise UserError(f"minilang has no split {name!r}; it has {', '.join(SPLITS)}")
    return SPLITS[name] if sentences is None else sentences


@dataclass
class Stream:
    """The sentences that this process has drawn so far, and the state of the drawing after them."""

    name: str  # "train-0"
    draw: "Callable[[Stream, tqdm], tuple[list[Sentence], tuple]]"  # draws the next block
    so_far: tuple[list[Sentence], tuple]
    dropped: int = 0  # sentences before those

    @property
    def sentences(self) -> list[Sentence]:
        return self.so_far[0]

    @property
    def drawn(self) -> int:
        return self.dropped + len(self.sentences)

    @property
    def state(self) -> tuple:
        return self.so_far[1]


def first_sentences(stream: Stream, count: int) -> list[Sentence]:
    """The first sentences of a stream that are not dropped; more are drawn if it does not have so many yet."""
    total = known = stream.drawn
    while total < stream.dropped + count:
        total += block_after(total)
    with progress((), f"minilang {stream.name}", "sentence", total=total, initial=known) as bar:
        while len(stream.sentences) < count:
            _add_block(stream, bar)
            bar.n = stream.drawn
    return stream.sentences[:count]


@cache
def _stream(split: str, seed: int) -> Stream:
    return _new_stream(split, seed)


def _new_stream(split: str, seed: int) -> Stream:
    return Stream(f"{split}-{seed}", partial(_draw, split), ([], dice_of(split, seed).getstate()))


def block_after(known: int) -> int:
    """The size of the next block: how many sentences are drawn, and cached, together."""
    return min(max(known, 8), 512)


def _add_block(stream: Stream, bar: tqdm) -> None:
    """Add the next block of a stream: from the cache if it is there, otherwise newly drawn."""
    name = f"minilang/{stream.name}-{stream.drawn}"
    block = read_cached(name)
    if block is None:
        with _no_collection():
            block = _as_bytes(*stream.draw(stream, bar))
        write_cached(name, block)
    sentences, state = _from_bytes(block)
    stream.so_far = stream.sentences + sentences, state  # one assignment, which no interruption can split


def _draw(split: str, stream: Stream, bar: tqdm) -> tuple[list[Sentence], tuple]:
    """Draw the next block of a split; also return the state of the random generator after it."""
    sandhi, chance = read_language().sandhi, random.Random()
    chance.setstate(stream.state)
    first = stream.drawn
    sentences: list[Sentence] = []
    for drawn in islice(derivations(split, chance), block_after(first)):
        identifier = f"minilang-{stream.name}-{first + len(sentences) + 1}"
        sentences.append(sentence(*drawn, sandhi, identifier))
        bar.update()
    return sentences, chance.getstate()


class Drawn(NamedTuple):
    """A derivation, and the arcs of its sentence."""

    derivation: Node
    structure: Structure


def dice_of(split: str, seed: int) -> random.Random:
    """The random generator from which a split is drawn."""
    return random.Random(f"minilang {split} {seed}")


def derivations(split: str, chance: random.Random) -> Iterator[Drawn]:
    """Draw the derivations that belong to a split, without end. A language is read off them by the caller."""
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
        structure = Structure(derivation)
        shows = [holdout for holdout, is_shown in shown.items() if is_shown(derivation, structure)]
        if shows == ([split] if split in shown else []):
            yield Drawn(derivation, structure)


# Blocks are stored with marshal, which is the fastest to read; a block is only ever read by the version of Python that
# wrote it. Marshal can store tuples, but not the class Edge.
FIELDS = [field.name for field in fields(Sentence)]
GRAPH = FIELDS.index("enhanced")


def _as_bytes(sentences: list[Sentence], state: tuple) -> bytes:
    rows = [[getattr(sentence, name) for name in FIELDS] for sentence in sentences]
    for row in rows:
        row[GRAPH] = [[tuple(edge) for edge in edges] for edges in row[GRAPH]]
    return marshal.dumps((state, rows))


def _from_bytes(block: bytes) -> tuple[list[Sentence], tuple]:
    with _no_collection():
        state, rows = marshal.loads(block)
        for row in rows:
            row[GRAPH] = tuple([tuple([Edge(*edge) for edge in edges]) for edges in row[GRAPH]])
        return [Sentence(*row) for row in rows], state


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


# The hold-outs, each defined by a predicate on a derivation and its arcs.

Question = Callable[[Node, Structure], bool]


@cache
def holdouts() -> dict[str, Question]:
    """For each hold-out, by name, the predicate that says whether a sentence shows it."""
    source = read_source("holdouts")
    clauses, deepest = frozenset(source["depth"]["clauses"]), int(source["depth"]["from"])
    combination = source["combination"]
    words = {item["word"]: item for item in combination["words"]}
    objects = {(item["verb"], item["object"]) for item in combination["objects"]}
    attributes = {(item["noun"], item["attribute"]) for item in combination["attributes"]}
    return {
        "attractor": lambda _, structure: has_attractor(structure),
        "depth": lambda _, structure: embedding_depth(structure, clauses) >= deepest,
        "combination": lambda node, structure: (
            has_word_in_frame(node, words)
            or not objects.isdisjoint(verbs_with_objects(structure))
            or not attributes.isdisjoint(nouns_with_attributes(structure))
        ),
    }


def has_attractor(structure: Structure) -> bool:
    """Whether a nominal with the opposite number stands between a subject and the verb that agrees with it."""
    for subject, edges in enumerate(structure.graph, start=1):
        for edge in edges:
            verb = _agreeing(structure, int(edge.head)) if edge.label in ("nsubj", "nsubj:pass") else None
            if verb is None:
                continue
            number = _number(structure.entries[verb - 1])
            between = range(min(subject, verb) + 1, max(subject, verb))
            # In "The book and the map remain", the map is a part of the subject, not an attractor.
            others = [w for w in between if (structure.heads[w], structure.labels[w]) != (subject, "conj")]
            if any(_is_nominal_of_other_number(structure.entries[w - 1], number) for w in others):
                return True
    return False


def _agreeing(structure: Structure, predicate: int) -> int | None:
    """The word of a predicate that is marked for number (`are` in "are sleeping"), or None ("slept")."""
    auxiliaries = [w for w, label in enumerate(structure.labels) if label in ("aux", "aux:pass", "cop")]
    finite = [w for w in auxiliaries if structure.heads[w] == predicate][:1] or [predicate]
    return finite[0] if _number(structure.entries[finite[0] - 1]) else None


def _is_nominal_of_other_number(entry: Entry, number: str | None) -> bool:
    return entry.pos in ("NOUN", "PROPN", "PRON") and _number(entry) not in (None, number)


def _number(entry: Entry) -> str | None:
    values = entry.features.get("num", ())
    return next(iter(values)) if len(values) == 1 else None


def embedding_depth(structure: Structure, clauses: frozenset[str]) -> int:
    """The number of clauses that are nested in one another, without the main clause."""
    deepest = 0
    for word in range(1, len(structure.heads)):
        depth = 0
        while word:
            depth += structure.labels[word] in clauses
            word = structure.heads[word]
        deepest = max(deepest, depth)
    return deepest


def has_word_in_frame(node: Node, words: dict[str, dict[str, str]]) -> bool:
    """Whether a word heads a rule, or is in a frame, in which it never occurs in the training data."""
    return any(
        rule in words[entry.lemma].get("rules", "").split() or words[entry.lemma].get("frame") in _frame(entry)
        for rule, entry in rules_with_heads(node)
        if entry.lemma in words
    )


def rules_with_heads(node: Node) -> list[tuple[str, Entry]]:
    """The names of all rules of a derivation, each with its head word; parents come after their children."""
    found: list[tuple[str, Entry]] = []

    def head_of(node: Node | Entry) -> Entry | None:
        if isinstance(node, Entry):
            return node
        heads = {child.label: head_of(part) for child, part in zip(node.rule.children, node.children, strict=True)}
        if "^" in heads:
            found.append((node.rule.name, heads["^"]))
        return heads.get("^")

    head_of(node)
    return found


def _frame(entry: Entry) -> frozenset[str]:
    return entry.features.get("frame", frozenset())


def verbs_with_objects(structure: Structure) -> set[tuple[str, str]]:
    """The pairs of a verb and its object as lemmas, near or far, active or passive."""
    found = set()
    for word, edges in enumerate(structure.graph, start=1):
        for edge in edges:
            head, dependent = int(edge.head), word
            if edge.label == "acl" and structure.entries[word - 1].tag == "VBN":
                head, dependent = word, head  # "the apple eaten by the dog"
            elif edge.label not in ("obj", "nsubj:pass", "nsubj:pass:xsubj"):
                continue
            found.add((structure.entries[head - 1].lemma, structure.entries[dependent - 1].lemma))
    return found


def nouns_with_attributes(structure: Structure) -> set[tuple[str, str]]:
    """The pairs of a noun and an adjective before it, as lemmas."""
    return {
        (structure.entries[head - 1].lemma, structure.entries[word - 1].lemma)
        for word, (head, label) in enumerate(zip(structure.heads, structure.labels, strict=True))
        if label == "amod"
    }
