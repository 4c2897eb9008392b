r"""Dependency treebanks: CoNLL-U files <-> sentences. Sentences that are left out are counted by reason.

    # text = There is a difference                      Sentence(
    1  There       there       PRON  EX   _  2  expl        words=("There", "is", "a", "difference"),
    2  is          be          VERB  VBZ  _  0  root        heads=(2, 0, 4, 2),      one per word, 0 = ROOT
    3  a           a           DET   DT   _  4  det         labels=("expl", "root", "det", "nsubj"),
    4  difference  difference  NOUN  NN   _  2  nsubj       text="There is a difference", ...)

Words are syntactic words. Fused tokens ("1-2  don't") and empty nodes ("8.1") stay in `rows`, from which a sentence is
written back as it was read, byte for byte.

The `conllu` package reads the fields (see conllu.py). Its reader of whole files is not used: it strips lines,
splits them at double spaces as well as at tabs, accepts rows with too few columns, keeps only the last of several
comments with one name, and knows no line numbers.

Lines may end in "\n" or "\r\n", and a byte order mark may come first; files are written with "\n" and without a mark.
A sentence whose words all have "_" for a head is raw text: its heads are None. A sentence with several roots is valid
CoNLL-U and is read, but it is not a tree: see `trees_only`.

    >>> words = ("There", "is", "a", "difference")
    >>> treebank = Treebank([Sentence(words, heads) for heads in ((2, 0, 4, 2), (2, 0, 4, 0), None)], Counter())
    >>> trees_only(treebank).excluded
    Counter({'multi-root': 1, 'no tree': 1})
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from sys import intern
from typing import NamedTuple

from dtglib.basics.files import write_atomically
from dtglib.basics.progress import progress
from dtglib.data.conllu import (
    DEPREL,
    DEPS,
    FORM,
    HEAD,
    ID,
    Edge,
    Fields,
    TreebankError,
    check_columns,
    read_edges,
    read_heads,
    read_ids,
)
from dtglib.data.projectivity import is_projective

# The words of a sentence, in their order.
Words = Sequence[str]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
PIECE = 2**21  # bytes that are read at once: some 2,000 sentences of CoNLL-U


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its annotation. All fields but the words may be missing."""

    words: tuple[str, ...]
    heads: tuple[int, ...] | None = None  # 1-based, 0 = ROOT; None: raw text, to be parsed
    labels: tuple[str, ...] | None = None
    id: str = ""
    text: str = ""  # the running text, before it is split into words
    enhanced: tuple[tuple[Edge, ...], ...] | None = None  # per word; None where the treebank has no enhanced graph
    brackets: str | None = None  # "(S (NP (EX There)) (VP ...))"
    translation: tuple[str, ...] | None = None
    rows: tuple[Fields, ...] | None = None  # the lines of the CoNLL-U file, fused tokens and empty nodes included
    comments: tuple[str, ...] = ()  # "# text = There is a difference", verbatim


class Treebank(NamedTuple):
    """Sentences, and the numbers of those left out. A corpus that is too large for memory is `Streamed`."""

    sentences: Sequence[Sentence]
    excluded: Counter[str]  # by reason


# Reads consecutive sentences of a corpus.
ReadsBlock = Callable[[], Treebank]


def joined(blocks: Iterable[ReadsBlock]) -> Treebank:
    """The sentences of all blocks as one treebank in memory."""
    sentences: list[Sentence] = []
    excluded: Counter[str] = Counter()
    for block in blocks:
        treebank = block()
        sentences.extend(treebank.sentences)
        excluded.update(treebank.excluded)
    return Treebank(sentences, excluded)


def read_conllu(path: str | Path) -> Treebank:
    """All sentences of a file. A broken one is an error with its line."""
    return joined(conllu_blocks(Path(path)))


def conllu_blocks(path: Path) -> Iterator[ReadsBlock]:
    """The sentences of a file in blocks, so that it need not fit into memory."""
    return (partial(_read, path, *piece) for piece in pieces(path, b"\n\n"))


def _read(path: Path, first: int, data: bytes) -> Treebank:
    """The sentences in a piece of a file; the piece begins with line `first`."""
    sentences = []
    for line, block in _blocks(data, first):
        try:
            sentences.append(_sentence_from_block(block))
        except TreebankError as error:
            raise error.at(path, line, _name(block)) from None
    return Treebank(sentences, Counter())


def read_bytes(path: Path) -> bytes:
    r"""The bytes of a file of sentences, with "\n" at the ends of lines and without a byte order mark."""
    return b"".join(data for _, data in pieces(path, b"\n"))


def pieces(path: Path, end: bytes) -> Iterator[tuple[int, bytes]]:
    """The same bytes in pieces, each with the number of its first line. All but the last one end with `end`."""
    line, rest, is_blank = 1, b"", True
    for chunk in _chunks(path):
        rest = (rest + chunk).replace(b"\r\n", b"\n")
        cut = rest.rfind(end)
        if cut >= 0:
            piece, rest = rest[: cut + len(end)], rest[cut + len(end) :]
            is_blank = is_blank and piece.isspace()
            yield line, piece
            line += piece.count(b"\n")
    if is_blank and not rest.strip():
        raise TreebankError(f"{path} is empty; fetch or make it again")
    if rest:
        yield line, rest


def _chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file as they are, but without a byte order mark."""
    with _explained(path), open(path, "rb") as file:
        what, size = f"reading {path.name}", path.stat().st_size
        with progress(None, what, "B", total=size, unit_scale=True) as bar:
            chunk = file.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK) + file.read(PIECE)
            while chunk:
                yield chunk
                bar.update(len(chunk))
                chunk = file.read(PIECE)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise TreebankError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise TreebankError(f"{path} is a folder; name one of the files in it") from None
    except PermissionError:
        raise TreebankError(f"{path}: no permission to read this file") from None


def decode(data: bytes) -> str:
    """Decode UTF-8; a wrong byte is an error with its line."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        what = f"byte 0x{data[error.start]:02x} is not UTF-8; convert the file to UTF-8"
        raise TreebankError(what, line=data.count(b"\n", 0, error.start)) from None


def _blocks(data: bytes, line: int) -> Iterator[tuple[int, bytes]]:
    """The sentences as bytes, each with the number of its first line; the empty line at its end is included."""
    *ended, rest = data.split(b"\n\n")
    for block in [*(block + b"\n\n" for block in ended), rest]:
        sentence = block.lstrip(b"\n")
        if sentence:
            yield line + len(block) - len(sentence), sentence
        line += block.count(b"\n")


def _sentence_from_block(block: bytes) -> Sentence:
    lines = decode(block).rstrip("\n").split("\n")
    comments, fields = _split_comments(lines)
    # A treebank repeats its fields; with intern, each different one is in memory once.
    rows = [tuple(map(intern, row.split("\t"))) for row in fields]
    if not block.endswith(b"\n\n"):
        # The columns show whether the file has another format. The last row is not checked: it may have been cut off.
        check_columns(rows[:-1], len(comments))
        what = (
            "the file ends here, without the empty line that ends every sentence, so it may be cut off; "
            "fetch it again or, if nothing is missing, add an empty line"
        )
        raise TreebankError(what, line=len(lines) - 1)
    return sentence_from_rows(rows, comments)


def _split_comments(lines: list[str]) -> tuple[list[str], list[str]]:
    count = next((number for number, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return lines[:count], lines[count:]


def _comment_value(comments: Iterable[str], name: str) -> str:
    """`_comment_value(["# sent_id = weblog-12"], "sent_id") == "weblog-12"`; "" if there is no such comment."""
    from conllu.parser import parse_pair_value

    pairs = (parse_pair_value(comment[1:]) for comment in comments)
    return next((value for key, value in pairs if key == name and value), "")


def _name(block: bytes) -> str:
    """The name of a broken sentence for a message."""
    comments, _ = _split_comments(block.decode(errors="replace").split("\n"))
    id = _comment_value(comments, "sent_id")
    return f"sentence {id!r}" if id else "sentence without sent_id"


def sentence_from_rows(rows: Iterable[Fields], comments: Sequence[str] = ()) -> Sentence:
    """The sentence of these rows of ten columns; wrong rows are a TreebankError."""
    rows = tuple(rows)
    first = len(comments)
    check_columns(rows, first)
    words = [place for place, id in enumerate(read_ids(rows, first)) if isinstance(id, int)]
    if not words:
        raise TreebankError("a sentence without words")
    graph = read_edges(rows, first)
    labels = tuple([rows[place][DEPREL] for place in words])
    return Sentence(
        words=tuple([rows[place][FORM] for place in words]),
        heads=read_heads([rows[place][HEAD] for place in words], [first + place for place in words]),
        labels=labels if set(labels) != {"_"} else None,
        id=_comment_value(comments, "sent_id"),
        text=_comment_value(comments, "text"),
        enhanced=tuple([graph[place] for place in words]) if any(graph) else None,
        rows=rows,
        comments=tuple(comments),
    )


def write_conllu(path: str | Path, sentences: Iterable[Sentence]) -> None:
    """Write a treebank atomically: the file appears whole or not at all."""
    with write_atomically(path) as file:
        for sentence in sentences:
            file.write(format_conllu(sentence))


def format_conllu(sentence: Sentence) -> str:
    """A sentence as CoNLL-U, with the empty line: its rows or, if it has none, its annotation."""
    comments = sentence.comments or _comments(sentence)
    rows = sentence.rows or _rows(sentence)
    return "\n".join([*comments, *map("\t".join, rows)]) + "\n\n"


def _comments(sentence: Sentence) -> list[str]:
    known = {"sent_id": sentence.id, "text": sentence.text}
    return [f"# {name} = {value}" for name, value in known.items() if value]


def _rows(sentence: Sentence) -> list[Fields]:
    unknown = ("_",) * len(sentence.words)
    heads = map(str, sentence.heads) if sentence.heads is not None else unknown
    labels = sentence.labels or unknown
    graph = [_format_edges(incoming) for incoming in sentence.enhanced] if sentence.enhanced else unknown
    columns = zip(sentence.words, heads, labels, graph, strict=True)
    return [
        (str(number), word, "_", "_", "_", "_", head, label, deps, "_")
        for number, (word, head, label, deps) in enumerate(columns, start=1)
    ]


def _format_edges(incoming: Sequence[Edge]) -> str:
    return "|".join(f"{edge.head}:{edge.label}" for edge in incoming) or "_"


def with_tree(sentence: Sentence, heads: Sequence[int], labels: Sequence[str] | None = None) -> Sentence:
    """The same sentence with another tree, in its rows too. The enhanced graph stays as it is."""
    arcs = iter(zip(map(str, heads), labels or ("_",) * len(heads), strict=True))
    rows = sentence.rows and tuple(
        (*row[:HEAD], *next(arcs), *row[DEPREL + 1 :]) if row[ID].isdecimal() else row for row in sentence.rows
    )
    return replace(sentence, heads=tuple(heads), labels=tuple(labels) if labels else None, rows=rows)


def with_graph(sentence: Sentence, graph: tuple[tuple[Edge, ...], ...]) -> Sentence:
    """The same sentence with another enhanced graph, in its rows too. The tree stays as it is."""
    fields = map(_format_edges, graph)
    rows = sentence.rows and tuple(
        (*row[:DEPS], next(fields), *row[DEPS + 1 :]) if row[ID].isdecimal() else row for row in sentence.rows
    )
    return replace(sentence, enhanced=graph, rows=rows)


# ---- sentences with a tree that the transition systems can build


def why_no_projective_tree(sentence: Sentence) -> str | None:
    """The reason if a sentence does not have exactly one projective tree, or None."""
    if sentence.heads is None:
        return "no tree"
    if sentence.heads.count(0) > 1:
        return "multi-root"
    return None if is_projective(sentence.heads) else "non-projective"


def trees_only(treebank: Treebank) -> Treebank:
    """Leave out sentences without exactly one projective tree, and add them to the counts of excluded sentences."""
    reasons = [why_no_projective_tree(sentence) for sentence in treebank.sentences]
    kept = [sentence for sentence, reason in zip(treebank.sentences, reasons, strict=True) if reason is None]
    return Treebank(kept, treebank.excluded + Counter(reason for reason in reasons if reason is not None))
