"""A corpus by its name, or by its path.

    load("minilang", "train")          the embedded corpus
    load("ud-english", "train")        six English UD treebanks as one (`make data` fetches them)
    load("ud-english-without-childes", "train")    five of them, without CHILDES, the speech of and to children
    load("ud-english-enhanced", "train")           EWT and GUM, which come with enhanced graphs
    load("UD_English-GUM", "dev")      one UD treebank in the data folder
    load("bllip", "test")              BLLIP-LG from your own copy of LDC2000T43, which $BLLIP names
    load("my-treebank", "train")       a folder that holds *-ud-train.conllu, *-ud-dev.conllu, *-ud-test.conllu; or
                                       train.mrg and the like; or the sections of the Penn Treebank's WSJ, as brackets
    load("mine.conllu")                one file: CoNLL-U, or brackets (.mrg, .ptb, .brackets)
    load("mine.txt")                   most other files are raw text: a sentence per line, without trees

Other papers bring corpora and formats of their own (`Readers`).

A corpus maps its splits to the functions that read them; a file has the one split "all". `load` returns a Treebank:
the sentences, and the numbers of those that were left out, by reason. A line "There is a difference" of raw text
becomes words ("There", "is", "a", "difference") and heads None, and an empty line counts as "empty line". `stream`
returns the same, but a very large corpus is not held in memory (streamed.py).

    >>> load("minilang", "train", sentences=1).sentences[0].text
    'This script which disappeared was smelled by him.'
    >>> splits("minilang")
    ('train', 'dev', 'test')

A name wins over a path of the same spelling: write "./minilang" for a folder of that name.
"""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.config import require_positive
from dtglib.basics.errors import UserError, did_you_mean, require, shortened
from dtglib.basics.files import sha256
from dtglib.basics.papers import papers
from dtglib.basics.progress import progress
from dtglib.data.registry import data_folder, read_registry
from dtglib.data.sections import BRACKET_SUFFIXES, WSJ_SECTIONS, files_of_parts
from dtglib.data.streamed import MOST_IN_MEMORY, Streamed, as_many_as_fit, first
from dtglib.data.tokenize import tokenize
from dtglib.data.treebank import ReadsBlock, Sentence, Treebank, TreebankError, conllu_blocks, decode, joined, pieces

SPLITS = ("train", "dev", "test")
ALL = "all"
SENTENCES_PER_BLOCK = 2**14  # of minilang
NO_TEXT = (".json", ".jsonl", ".csv", ".yaml", ".yml", ".xml", ".html", ".pdf", ".gz", ".bz2", ".xz", ".zip")

UD_ENGLISH = tuple(f"UD_English-{name}" for name in ("EWT", "GUM", "CHILDES", "ParTUT", "LinES", "Atis"))

# Several treebanks as one.
UD_CORPORA = {
    "ud-english": UD_ENGLISH,
    "ud-english-without-childes": tuple(name for name in UD_ENGLISH if name != "UD_English-CHILDES"),
    "ud-english-enhanced": UD_ENGLISH[:2],
}

# Returns the blocks of one split.
Reader = Callable[[], Iterator[ReadsBlock]]


class ListedCorpus(NamedTuple):
    """A line of `dtglib corpora`."""

    name: str
    what: str
    licence: str
    where: str  # its folder, or how to get it


class Readers(NamedTuple):
    """The corpora and formats that a paper brings (`corpora` in basics/papers.py)."""

    suffixes: Mapping[str, Callable[[Path], Treebank]] = {}  # read a file, by its suffix
    # The files of each split in a folder.
    in_folder: Callable[[Path], Mapping[str, list[Path]]] = lambda folder: {}
    # The splits of a corpus by its name; None if the name is unknown. The second argument is the number of sentences to
    # generate.
    find: Callable[[str, int | None], Mapping[str, Reader] | None] = lambda name, sentences: None
    files: Callable[[str], list[Path] | None] = lambda name: None  # the files of such a corpus
    listed: Callable[[], list[ListedCorpus]] = list
    fetches: Mapping[str, Callable[[], list]] = {}  # collections that `dtglib data` fetches by other means


def readers_of_papers() -> list[Readers]:
    """The readers of all papers that have some."""
    return [paper.part("corpora") for paper in papers() if paper.corpora]


@dataclass(frozen=True)
class CorpusConfig:
    """A corpus, and the number of sentences of each part: the first ones, or all of them (None)."""

    corpus: str
    train_sentences: int | None = None
    dev_sentences: int | None = None
    test_sentences: int | None = None

    def __post_init__(self) -> None:
        require_positive(self, "train_sentences", "dev_sentences", "test_sentences")


def load(name: str | Path, split: str | None = None, sentences: int | None = None) -> Treebank:
    """One split of a corpus, or its first `sentences` sentences; broken ones far behind them are not noticed."""
    read = _reader(name, split, sentences)()
    return joined(read if sentences is None else first(sentences, read))


def blocks(name: str | Path, split: str | None = None) -> Iterator[ReadsBlock]:
    """The sentences of a split in blocks, to be read one after the other."""
    return _reader(name, split, None)()


def stream(name: str | Path, split: str | None, sentences: int | None = None) -> Treebank:
    """The sentences of `load`; if they are more than MOST_IN_MEMORY, they are read anew in every pass."""
    if sentences is not None and sentences <= MOST_IN_MEMORY:
        return load(name, split, sentences)
    read = _reader(name, split, sentences)
    again = read if sentences is None else lambda: first(sentences, read())
    return as_many_as_fit(again()) or Treebank(Streamed(f"{name}, {split}", again), Counter())


def _reader(name: str | Path, split: str | None, sentences: int | None) -> Reader:
    """The reader of a split; an unknown split is an error that lists the known ones."""
    readers = find(name, sentences)
    if split is None and len(readers) == 1:
        (split,) = readers
    if split not in readers:
        wrong = "say which split" if split is None else f"there is no split {split!r}"
        way_out = "; for more, name a folder with train.conllu and the like" if ALL in readers else ""
        raise UserError(f"{name}: {wrong}; it has {', '.join(readers)}{way_out}")
    return readers[split]


def part_of(config: CorpusConfig, part: str, read: Callable[..., Treebank] = load) -> Treebank:
    """The train, dev or test part of the corpus in a run's config, read by `load` or by `stream`."""
    parts = f"{config.corpus}: a model is trained on one part and watched on another"
    require(splits(config.corpus) != (ALL,), f"{parts}; name a folder with train.conllu and dev.conllu")
    return read(config.corpus, part, getattr(config, f"{part}_sentences"))


def splits(name: str | Path) -> tuple[str, ...]:
    """The parts of a corpus: those of train, dev and test that it has (minilang's hold-outs are loaded by name)."""
    return tuple(split for split in find(name) if split in (*SPLITS, ALL))


def find(name: str | Path, sentences: int | None = None) -> dict[str, Reader]:
    """The splits of a corpus, each with its reader; `sentences` is how many of them a generated corpus makes."""
    if name == "minilang":
        return minilang_splits(sentences)
    if name in UD_CORPORA:
        held_out = {split: partial(ud_english_blocks, str(name), split) for split in SPLITS[1:]}
        return {"train": partial(ud_english_train_blocks, str(name)), **held_out}
    if name == "bllip":
        return {split: partial(bllip_blocks, bllip_folder(), split) for split in SPLITS}
    if name in ud_treebanks():
        return splits_of_folder(ud_folder(str(name)))
    for readers in readers_of_papers():
        if (splits_of_paper := readers.find(str(name), sentences)) is not None:
            return dict(splits_of_paper)
    path = Path(name)
    if str(name) and path.is_dir():
        return splits_of_folder(path)
    if str(name) and path.exists():
        return {ALL: partial(file_blocks, path)}
    hint = did_you_mean(name, (corpus.name for corpus in corpora()))
    raise UserError(
        f"{str(name)!r} is neither a file, a folder nor a corpus ({hint}`dtglib corpora` lists them; a sentence "
        f"needs several words or a full stop); for UD treebanks {how_to_get_data()}"
    )


def minilang_splits(sentences: int | None) -> dict[str, Reader]:
    """The splits and hold-outs of the embedded corpus."""
    from dtglib.data import minilang  # imported here, because it reads a grammar, which takes time

    def blocks(split: str) -> Iterator[ReadsBlock]:
        drawn = minilang.split(split, sentences)
        firsts = range(0, len(drawn), SENTENCES_PER_BLOCK)
        return (partial(Treebank, drawn[first : first + SENTENCES_PER_BLOCK], Counter()) for first in firsts)

    return {split: partial(blocks, split) for split in minilang.SPLITS}


# --- Universal Dependencies --------------------------------------------------------------------------------------


def ud_folder(name: str = "") -> Path:
    """The folder of one treebank, or of all of them."""
    return data_folder() / "ud" / name


def how_to_get_data() -> str:
    """Advice for a message about a missing treebank: what to do, and which folder was searched."""
    return f"run `make data`, or set DTG_DATA to a folder that holds ud/ (looked for in {data_folder()})"


def ud_treebanks() -> list[str]:
    """The names of the treebanks in the data folder."""
    return sorted(path.name for path in ud_folder().glob("UD_*") if path.is_dir())


def ud_english_blocks(corpus: str, split: str) -> Iterator[ReadsBlock]:
    """A split of the treebanks of a corpus, one after the other."""
    parts = {name: files_of_split(ud_folder(name), split) for name in UD_CORPORA[corpus]}
    for name, paths in parts.items():
        require(paths, f"{corpus}: the {split} part of {name} is missing; {how_to_get_data()}")
    return files_blocks(path for paths in parts.values() for path in paths)


def ud_english_train_blocks(corpus: str) -> Iterator[ReadsBlock]:
    """The training parts without sentences of any treebank's dev or test part, such as "Thank you ."."""
    others = (joined(ud_english_blocks(corpus, split)) for split in ("dev", "test"))
    held_out = {sentence.words for other in others for sentence in other.sentences}
    for block in ud_english_blocks(corpus, "train"):
        yield partial(without, held_out, block, "also in dev or test")


def without(held_out: Collection[tuple[str, ...]], block: ReadsBlock, reason: str) -> Treebank:
    """Leave out, and count, the sentences whose words are in `held_out` in the same order and spelling."""
    treebank = block()
    kept = [sentence for sentence in treebank.sentences if sentence.words not in held_out]
    return Treebank(kept, treebank.excluded + Counter({reason: len(treebank.sentences) - len(kept)}))


# --- files and folders -------------------------------------------------------------------------------------------

# en_ewt-ud-train.conllu; de_hdt-ud-train-a-1.conllu (one of several files of a large treebank); train.conllu
SPLIT_FILE = re.compile(r"([^.].*-ud-)?(train|dev|test)(?(1)(?:-.*)?)\.\w+")


def files_of_split(folder: Path, split: str, suffix: str = ".conllu") -> list[Path]:
    """The files of a folder that make up a split, in alphabetical order."""
    names = {path: SPLIT_FILE.fullmatch(path.name) for path in folder.glob(f"*{suffix}")}
    return sorted(path for path, match in names.items() if match and match[2] == split)


def splits_of_folder(folder: Path) -> dict[str, Reader]:
    """The splits of a folder, in the first known format of which it has files."""
    formats = (
        lambda folder: {split: files_of_split(folder, split) for split in SPLITS},
        *(readers.in_folder for readers in readers_of_papers()),
        lambda folder: files_of_parts(folder, BRACKET_SUFFIXES, WSJ_SECTIONS),
    )
    for files_in in formats:
        readers: dict[str, Reader] = {
            split: partial(files_blocks, paths) for split, paths in files_in(folder).items() if paths
        }
        if readers:
            return readers
    raise UserError(
        f"{folder}: this folder holds no train.conllu, dev.conllu or test.conllu (or UD's names), and no trees of "
        f"another known format in files named so or in sections 00 to 24; `dtglib parse` writes one for a text"
    )


def files_blocks(paths: Iterable[Path]) -> Iterator[ReadsBlock]:
    """The blocks of several files, one after the other."""
    return (block for path in paths for block in file_blocks(path))


def file_blocks(path: Path) -> Iterator[ReadsBlock]:
    """The blocks of a file in the format that its suffix names; a file of some formats is one block."""
    suffix = path.suffix.lower()
    for readers in readers_of_papers():
        if suffix in readers.suffixes:
            return iter([partial(readers.suffixes[suffix], path)])
    if suffix.startswith(".conll"):
        return conllu_blocks(path)
    if suffix in BRACKET_SUFFIXES:
        return iter([partial(first_trees, [path], None)])
    require(suffix not in NO_TEXT, f"{path}: {suffix} is no format of sentences; text, CoNLL-U and brackets are")
    return (partial(read_lines, path, *piece) for piece in pieces(path, b"\n"))


def read_lines(path: Path, first: int, data: bytes) -> Treebank:
    """Raw text, one sentence per line, from line `first` of a file on; the sentences have no trees."""
    sentences, excluded = [], Counter()
    for number, line in enumerate(data.removesuffix(b"\n").split(b"\n"), start=first):
        sent_id = f"{path.stem}-{number}"
        try:
            text = decode(line).strip()
            if text.count("\t") >= 7 and text[0].isdecimal():
                raise TreebankError("it looks like CoNLL-U; let the name of the file end in .conllu")
            if re.search(r"[\0-\b\x0e-\x19\x1b\x7f]", text):
                raise TreebankError("it has control characters; is it text in UTF-8, with a sentence a line?")
        except TreebankError as error:
            raise error.at(path, number, f"sentence {sent_id!r}") from None
        if words := tuple(tokenize(text)):
            sentences.append(Sentence(words, id=sent_id, text=text))
        else:
            excluded["empty line"] += 1
    return Treebank(sentences, excluded)


# --- BLLIP -------------------------------------------------------------------------------------------------------


def sections(year: int, first: int, last: int) -> list[str]:
    """The names of BLLIP's sections: w7_003 is section 3 of 1987."""
    return [f"w{year % 10}_{number:03}" for number in range(first, last + 1)]


# The sections of each part of BLLIP-LG, and how many trees of each are read, the first ones; None: all.
BLLIP_LG: dict[str, tuple[list[str], int | None]] = {
    "train": (sections(1987, 3, 127) + sections(1988, 3, 108) + sections(1989, 12, 41), None),
    "dev": (["w7_001", "w8_001", "w9_010"], 500),
    "test": (["w7_002", "w8_002", "w9_011"], 1000),
}


def bllip_folder() -> Path:
    """The folder that $BLLIP names."""
    folder = os.environ.get("BLLIP")
    if not folder:
        raise UserError("bllip: set BLLIP to your copy of LDC2000T43, the folder that holds 1987, 1988 and 1989")
    require(Path(folder).is_dir(), f"bllip: BLLIP names {folder}, which is not a folder")
    return Path(folder)


def bllip_blocks(folder: Path, split: str, parts: Mapping = BLLIP_LG) -> Iterator[ReadsBlock]:
    """The sections of a split of BLLIP-LG, or of other parts, in LDC2000T43: bracketed trees, heads None."""
    files, (sections, limit) = bllip_files(folder), parts[split]
    if missing := [section for section in sections if section not in files]:
        raise UserError(f"bllip: {folder} lacks {len(missing)} of the sections of {split}: {shortened(missing)}")
    for section in progress(sections, f"BLLIP {split}", "section"):
        yield partial(first_trees, files[section], limit)


def bllip_files(folder: Path) -> dict[str, list[Path]]:
    """The files of each section: those whose own name, or whose folder's name, begins with the section's name."""
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("[!.]*"), key=by_number):
        names = reversed(path.relative_to(folder).parts)
        section = next((match[0] for name in names if (match := re.match(r"w[789]_\d{3}(?!\d)", name.lower()))), None)
        if section and path.is_file():
            files.setdefault(section, []).append(path)
    return files


def by_number(path: Path) -> list[str | int]:
    """A key that sorts w7_001.9 before w7_001.10."""
    return [int(piece) if piece.isdecimal() else piece for piece in re.split(r"(\d+)", str(path))]


def first_trees(paths: Iterable[Path], limit: int | None) -> Treebank:
    """The first `limit` sentences of files of bracketed trees; files beyond them are not opened."""
    from dtglib.data.brackets import read_brackets  # imported here, because NLTK takes a second to import

    sentences: list[Sentence] = []
    for path in paths:
        if len(sentences) == limit:
            break
        sentences += read_brackets(path).sentences[: None if limit is None else limit - len(sentences)]
    return Treebank(sentences, Counter())


# --- checksums ---------------------------------------------------------------------------------------------------


def corpus_files(name: str) -> list[Path]:
    """The files that a corpus is read from; for minilang, the grammar and the code that generate it."""
    if name == "minilang":
        folder = Path(__file__).parent / "minilang"
        return sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".yaml"))
    if name in UD_CORPORA:
        return [path for treebank in UD_CORPORA[name] for path in sorted(ud_folder(treebank).glob("*.conllu"))]
    if name == "bllip":
        return [path for files in bllip_files(bllip_folder()).values() for path in files]
    for readers in readers_of_papers():
        if (files := readers.files(name)) is not None:
            return files
    path = ud_folder(name) if name in ud_treebanks() else Path(name)
    if not path.is_dir():
        return [path]
    is_conllu = any(files_of_split(path, split) for split in SPLITS)
    return sorted(path.glob("*.conllu") if is_conllu else filter(Path.is_file, path.rglob("*")))


def corpus_checksum(name: str) -> str:
    """A checksum of all files of a corpus, for records of runs."""
    find(name)  # an error if there is no such corpus
    lines = (f"{path.name} {sha256(path)}\n" for path in corpus_files(name))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


# --- the list of corpora -----------------------------------------------------------------------------------------


def corpora() -> list[ListedCorpus]:
    """The corpora that can be loaded by name."""
    missing = [name for name in UD_ENGLISH if not ud_folder(name).is_dir()]
    folder = f"not found; {how_to_get_data()}" if missing else str(ud_folder())
    bllip = os.environ.get("BLLIP") or "set BLLIP to your copy of LDC2000T43"
    return [
        ListedCorpus("minilang", "a controlled fragment of English, generated", "MIT", "embedded in dtglib"),
        ListedCorpus("ud-english", "EWT, GUM, CHILDES, ParTUT, LinES and Atis as one", "see the treebanks", folder),
        ListedCorpus("bllip", "Wall Street Journal 1987-89, parsed (LDC2000T43)", "LDC User Agreement", bllip),
        *map(ud_corpus, ud_treebanks()),
        ListedCorpus("ud-english-without-childes", "ud-english without CHILDES", "see the treebanks", folder),
        ListedCorpus("ud-english-enhanced", "EWT and GUM as one, with enhanced graphs", "see the treebanks", folder),
        *(corpus for readers in readers_of_papers() for corpus in readers.listed()),
    ]


def ud_corpus(name: str) -> ListedCorpus:
    """A treebank in the data folder; without a licence in the registry, the line points to its LICENSE.txt."""
    licences = {Path(entry.path).parent.name: entry.licence for entry in read_registry()["ud-english"]}
    what = f"{name.removeprefix('UD_').replace('-', ' ')}, Universal Dependencies"
    return ListedCorpus(name, what, licences.get(name, "see its LICENSE.txt"), str(ud_folder(name)))
