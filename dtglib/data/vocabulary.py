"""Vocabularies: the ids of words or of pieces of words, and the ids that are reserved for the transitions.

A word-level vocabulary of "There is a difference" has, after 67 reserved entries, four words in the order of their
frequency (here all 1, so by code point). The mark ▁ is at the beginning of a word:

    >>> vocabulary = Vocabulary.of_words([["There", "is", "a", "difference"]])
    >>> vocabulary.entries[67:]
    ('▁There', '▁a', '▁difference', '▁is')
    >>> vocabulary.encode(["There", "is"])
    Encoded(ids=(67, 70), spans=((0, 1), (1, 2)))

A piece-level vocabulary is the same class with a SentencePiece model (unigram, character coverage 1.0) that may cut a
word into several pieces: ▁differ|ence. Three things hold by construction, because the model's softmax relies on them:

- Every id has one class: reserved, word-starting (the mark comes first; `starts_word`), or continuing
  (`continues_word`).
- Every word is a word-starting piece, followed by continuing ones. Each word is encoded by itself and with the mark
  before it; the bare mark is an entry, too, for words whose first character is not an entry.
- `decode(encode(words).ids) == words` for all words: text is not normalised, and a character that was not in the
  training words is spelled in UTF-8 bytes, for which there are 256 continuing pieces (SentencePiece's byte fallback).
  So a piece-level vocabulary has no unknown words; <unknown> is used by word-level ones alone, and starts a word there.

The reserved entries after <unknown> are the symbols that write a tree: by default the arcs of every transition system,
so that one vocabulary file serves all models of a comparison. Other families have other ones (`with_symbols`).
"""

import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import sentencepiece

from dtglib.basics.config import require_positive
from dtglib.basics.errors import UserError, require, shortened
from dtglib.basics.files import write_atomically
from dtglib.data.symbols import ARCS, Symbols

Something = TypeVar("Something")

MARK = "▁"
PAD, ROOT, END, UNKNOWN = range(4)

LEARNT_FROM = 1_000_000  # sentences, which SentencePiece holds in memory

# SentencePiece drops every sentence with this sign from its training text, and reports it only in its log.
_DROPPED_BY_SENTENCEPIECE = "\u2585"


@dataclass(frozen=True)
class VocabularyConfig:
    """The kind of entries, whole words or SentencePiece pieces, and the number of pieces, including the 256 bytes."""

    vocabulary: Literal["words", "pieces"] = "words"
    pieces: int = 8000

    def __post_init__(self) -> None:
        require_positive(self, "pieces")


class Encoded(NamedTuple):
    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]  # word i is ids[start:stop]


@dataclass(frozen=True, repr=False)
class Vocabulary:
    """The entries by id; `model` holds the bytes of the SentencePiece model, and is empty if the entries are words."""

    entries: tuple[str, ...]
    symbols: Symbols = ARCS
    model: bytes = b""

    @classmethod
    def of_words(cls, sentences: Iterable[Sequence[str]], symbols: Symbols = ARCS, rarest: int = 1) -> "Vocabulary":
        """One entry per word that occurs at least `rarest` times in the training sentences, most frequent first."""
        all_counts = Counter(word for words in sentences for word in words)
        require(all_counts, "there are no words to make a vocabulary of: the training sentences are empty")
        counts = {word: count for word, count in all_counts.items() if count >= rarest}
        require(counts, f"no word occurs {rarest} times in the training sentences; lower `rarest`")
        if broken := [word for word in counts if "\n" in word]:
            raise UserError(f"the word {broken[0]!r} has a line break in it; vocabulary files have one word per line")
        by_frequency = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(symbols.entries + tuple(MARK + word for word in by_frequency), symbols)

    @classmethod
    def train(cls, sentences: Iterable[Sequence[str]], pieces: int = 8000, symbols: Symbols = ARCS) -> "Vocabulary":
        """Learn `pieces` pieces, including the 256 bytes, from the words of at most LEARNT_FROM training sentences."""
        return cls._of_model(_train_sentencepiece(sentences, pieces), symbols)

    @classmethod
    def configured(cls, config: VocabularyConfig, sentences: Iterable[Sequence[str]]) -> "Vocabulary":
        """The vocabulary of a run's config."""
        return cls.of_words(sentences) if config.vocabulary == "words" else cls.train(sentences, config.pieces)

    @classmethod
    def _of_model(cls, model: bytes, symbols: Symbols) -> "Vocabulary":
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        # SentencePiece's id 0 is its unknown piece, which byte fallback makes superfluous.
        pieces = tuple(processor.id_to_piece(number) for number in range(1, len(processor)))
        return cls(symbols.entries + pieces, symbols, model)

    def with_symbols(self, symbols: Symbols) -> "Vocabulary":
        """The same words or pieces with other symbols."""
        return Vocabulary(symbols.entries + self.entries[len(self.symbols.entries) :], symbols, self.model)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"Vocabulary({self.kind}, {len(self)} entries, {self.fingerprint})"

    @property
    def kind(self) -> str:
        return "pieces" if self.model else "words"

    @cached_property
    def reserved(self) -> dict[str, int]:
        """The reserved entries' ids by name: {"<pad>": 0, ..., "LEFTARC": 4, ...}."""
        return {name: number for number, name in enumerate(self.symbols.entries)}

    @property
    def reach(self) -> int:
        """The largest k of LEFTARC[k] and RIGHTARC[k]."""
        return len(self.symbols.left)

    @cached_property
    def starts_word(self) -> np.ndarray:
        """A mask of the ids that begin a word."""
        starts = np.array([entry.startswith(MARK) for entry in self.entries])
        starts[UNKNOWN] = not self.model
        starts.setflags(write=False)
        return starts

    @cached_property
    def continues_word(self) -> np.ndarray:
        """A mask of the ids that continue a word."""
        continues = ~self.starts_word & (np.arange(len(self)) >= len(self.reserved))
        continues.setflags(write=False)
        return continues

    @cached_property
    def fingerprint(self) -> str:
        """A hash, twelve hexadecimal digits, by which a model recognises its own vocabulary."""
        return hashlib.sha256(f"{self.kind} {self.symbols.name}\n".encode() + self._content).hexdigest()[:12]

    def transition(self, name: str) -> int:
        """The id of a symbol by its name, such as LEFTARC, RIGHTARC[2] or POP."""
        number = self.reserved.get(name, UNKNOWN)
        if number <= UNKNOWN:
            _, *known, last = self.symbols.entries[UNKNOWN:]
            known = f"{shortened(known)}, and the last is {last}"
            raise UserError(f"this vocabulary has no transition {name}: it has {known}; build one that has it")
        return number

    def encode(self, words: Sequence[str]) -> Encoded:
        """The ids of a sentence's words, and the span of ids of each word."""
        require(not isinstance(words, str), "this is a string, not a list of words; cut it by data.tokenize.tokenize")
        ids: list[int] = []
        spans = []
        for word in words:
            start = len(ids)
            ids += self._ids_of(word)
            spans.append((start, len(ids)))
        return Encoded(tuple(ids), tuple(spans))

    def decode(self, ids: Iterable[int | np.integer]) -> list[str]:
        """The words that the ids spell; transitions and other reserved ids are skipped."""
        words: list[bytes] = []
        for number in ids:
            if self.starts_word[number]:
                words.append(self._spelling[number])
            elif self.continues_word[number]:
                if not words:
                    raise ValueError(f"piece {self.entries[number]!r} continues a word, but none has begun")
                words[-1] += self._spelling[number]
        # Ids from a model may end in the middle of a character's bytes.
        return [word.decode(errors="replace") for word in words]

    @cached_property
    def _ids_of(self) -> Callable[[str], tuple[int, ...]]:
        """The ids of a word; cached, because words repeat, and SentencePiece is slow compared with a dictionary."""
        return cache(self._find_pieces if self.model else self._find_word)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {entry: number for number, entry in enumerate(self.entries)}

    def _find_word(self, word: str) -> tuple[int, ...]:
        return (self._numbers.get(MARK + word, UNKNOWN),)

    def _find_pieces(self, word: str) -> tuple[int, ...]:
        # SentencePiece would begin a new word at a space or a mark inside the word, so these are spelled in bytes.
        first, *rest = re.split(f"([ {MARK}])", word)
        ids = self._processor.encode(MARK + first)
        for sign, part in zip(rest[::2], rest[1::2], strict=True):
            ids += [1 + byte for byte in sign.encode()] + self._processor.encode(part)
        shift = len(self.reserved) - 1
        return tuple(number + shift for number in ids)

    @cached_property
    def _processor(self) -> sentencepiece.SentencePieceProcessor:
        return sentencepiece.SentencePieceProcessor(model_proto=self.model)

    @cached_property
    def _spelling(self) -> list[bytes]:
        """The bytes that each entry adds to its word: a piece without its mark, or one byte."""
        spelling = [entry.removeprefix(MARK).encode() for entry in self.entries]
        if self.model:
            first = len(self.reserved)
            spelling[first : first + 256] = [bytes([byte]) for byte in range(256)]
        return spelling

    @property
    def _content(self) -> bytes:
        """The content of the file: the SentencePiece model, or one word per line."""
        return self.model or "".join(f"{entry[1:]}\n" for entry in self.entries[len(self.reserved) :]).encode()

    def save(self, folder: str | Path) -> None:
        """Write `pieces.model` or `words.txt`, and `vocabulary.json`, which describes it."""
        name, content = _FILE_OF_KIND[self.kind], self._content
        about = {
            "kind": self.kind,
            "file": name,
            "sha256": hashlib.sha256(content).hexdigest(),
            "symbols": self.symbols._asdict(),
            "entries": len(self),
            "reserved": self.reserved,
        }
        with write_atomically(Path(folder) / name, binary=True) as file:
            file.write(content)
        # This file is written last, so that wherever it exists the other file is whole.
        with write_atomically(Path(folder) / "vocabulary.json") as file:
            json.dump(about, file, indent=2, ensure_ascii=False)
            file.write("\n")

    @classmethod
    def load(cls, folder: str | Path) -> "Vocabulary":
        """Read what `save` wrote, and check that it is undamaged and has the reserved ids of this version."""
        about_path = Path(folder) / "vocabulary.json"
        about = _read_description(about_path)
        path = Path(folder) / about["file"]
        content = _read_bytes(path)
        if hashlib.sha256(content).hexdigest() != about["sha256"]:
            raise UserError(f"{path}: its checksum is not the one in {about_path.name}; restore both, or build it anew")
        if about["kind"] == "pieces":
            return cls._of_model(content, about["symbols"])
        words = content.decode().split("\n")[:-1]
        return cls(about["symbols"].entries + tuple(MARK + word for word in words), about["symbols"])


_FILE_OF_KIND = {"pieces": "pieces.model", "words": "words.txt"}


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}; a vocabulary is a folder with vocabulary.json and the file that it names"
        ) from error


def _read_description(path: Path) -> dict:
    try:
        about = json.loads(_read_bytes(path))
        kind, file, reserved = about["kind"], about["file"], about["reserved"]
        # Vocabularies that were saved before arcs could have labels say nothing of labels.
        name, *lists = ({"labels": (), **about["symbols"]}[field] for field in Symbols._fields)
        about["symbols"] = Symbols(name, *map(tuple, lists))
        expected = {name: number for number, name in enumerate(about["symbols"].entries)}
        about["sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not the description of a vocabulary, or only half of it ({error!r})") from error
    if reserved != expected or _FILE_OF_KIND.get(kind) != file:
        raise UserError(f"{path}: its reserved ids are not those of this version of dtglib; build it anew")
    return about


def thinned(items: Iterable[Something], most: int) -> list[Something]:
    """All items; of more than `most`, from half of `most` to `most` of them, evenly spaced.

    >>> thinned(range(4), 4), thinned(range(17), 4)
    ([0, 1, 2, 3], [0, 8, 16])
    """
    kept, every = [], 1
    for number, item in enumerate(items):
        if number % every == 0:
            kept.append(item)
        if len(kept) > most:
            kept, every = kept[::2], 2 * every
    return kept


def _train_sentencepiece(sentences: Iterable[Sequence[str]], pieces: int) -> bytes:
    """A unigram model with id 0 for unknown, ids 1 to 256 for the bytes, then the pieces; it is reproducible."""
    lines = (MARK + MARK.join(words).replace(_DROPPED_BY_SENTENCEPIECE, MARK) for words in sentences if words)
    lines = thinned(lines, LEARNT_FROM)
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="unigram",
            vocab_size=pieces + 1,
            character_coverage=1.0,
            byte_fallback=True,
            normalization_rule_name="identity",
            add_dummy_prefix=False,  # we set the mark ourselves, here and in encode()
            remove_extra_whitespaces=False,
            max_sentence_length=2**30,  # longer sentences would be dropped
            num_threads=1,  # with several threads, sums of floats depend on how the work is divided
            # SentencePiece cuts the training text in two wherever the name of a control piece occurs in it. So we have
            # none (the reserved entries are ours), and the one that it insists on has a name that cannot occur.
            pad_id=-1,
            bos_id=-1,
            eos_id=-1,
            unk_id=0,
            unk_piece="<unknown piece>",
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _explain(error, pieces) from error
    return model.getvalue()


def _explain(error: RuntimeError, pieces: int) -> Exception:
    """Translate SentencePiece's error about the number of pieces into a UserError; return other errors unchanged."""
    message = str(error)
    if "sentences_.empty()" in message:
        return UserError("there are no words to train pieces on: the training sentences are empty")
    if most := re.search(r"size too high .*<= (\d+)", message):
        return UserError(
            f"the training words are too few for {pieces} pieces: they yield at most {int(most[1]) - 1}, including the "
            f"256 bytes; ask for fewer pieces, or use more sentences"
        )
    if least := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return UserError(
            f"{pieces} pieces are too few: the 256 bytes and the characters of the training words need "
            f"{int(least[1]) - 1} already; ask for more pieces"
        )
    return error
