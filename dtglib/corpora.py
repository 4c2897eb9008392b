"""A corpus by its name, or by its path.

    load("minilang", "train")          the embedded corpus
    load("ud-english", "train")        six English UD treebanks as one (`make data` fetches them)
    load("UD_English-GUM", "dev")      one UD treebank, any that lies in the data folder
    load("bllip", "test")              BLLIP-LG from your own copy of LDC2000T43, which $BLLIP names
    load("my-treebank", "train")       a folder that holds *-ud-train.conllu, *-ud-dev.conllu, *-ud-test.conllu
    load("mine.conllu")                one file: CoNLL-U, or brackets (.mrg, .ptb, .brackets),
    load("mine.txt")                   or anything else: raw text, one sentence a line, without trees

A corpus is a mapping from its splits to what reads them; a file has the one split "all". What comes back is a
Treebank: sentences, and how many were left out, by reason. A line "There is a difference" of raw text becomes
words ("There", "is", "a", "difference") and heads None, and an empty line counts as "empty line".

    >>> load("minilang", "train", sentences=1).sentences[0].text
    'This script which disappeared was smelled by him.'
    >>> splits("minilang")
    ('train', 'dev', 'test')

A name wins over a path of the same spelling: write "./minilang" for a folder of that name.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dtglib.brackets import read_brackets
from dtglib.config import CorpusConfig
from dtglib.errors import UserError
from dtglib.progress import progress
from dtglib.registry import data_folder, read_registry
from dtglib.text import tokenize
from dtglib.treebank import Sentence, Treebank, TreebankError, decode, read_bytes, read_conllu

SPLITS = ("train", "dev", "test")
ALL = "all"

UD_ENGLISH = tuple(f"UD_English-{name}" for name in ("EWT", "GUM", "CHILDES", "ParTUT", "LinES", "Atis"))

# Reads one split. The argument is `strict`, as everywhere: is a broken sentence an error, or left out and counted?
Reader = Callable[[bool], Treebank]


def load(name: str | Path, split: str | None = None, sentences: int | None = None, strict: bool = True) -> Treebank:
    """One split of a corpus, or its first so many sentences; `split` may be left away where there is only one."""
    readers = find(name, sentences)
    if split is None and len(readers) == 1:
        (split,) = readers
    if split not in readers:
        wrong = "say which split" if split is None else f"there is no split {split!r}"
        way_out = "; for more, name a folder with *-ud-train.conllu and the like" if ALL in readers else ""
        raise UserError(f"{name}: {wrong}; it has {', '.join(readers)}{way_out}")
    treebank = readers[split](strict)
    # What was left out is counted for the whole, which had to be read to know it.
    return treebank._replace(sentences=treebank.sentences[:sentences])


def part_of(config: CorpusConfig, part: str) -> Treebank:
    """The train, dev or test part of the corpus that a run asks for."""
    if splits(config.corpus) == (ALL,):
        raise UserError(
            f"{config.corpus}: a model is trained on one part and watched on another; name a folder with "
            f"train.conllu and dev.conllu"
        )
    return load(config.corpus, part, getattr(config, f"{part}_sentences"))


def splits(name: str | Path) -> tuple[str, ...]:
    """The parts of a corpus: train, dev and test, as far as it has them (minilang's hold-outs come by name only)."""
    found = find(name)
    return tuple(split for split in found if split in (*SPLITS, ALL))


def find(name: str | Path, sentences: int | None = None) -> dict[str, Reader]:
    """The splits of a corpus, each with what reads it (and, where it is generated, makes so many sentences)."""
    if name == "minilang":
        return minilang_splits(sentences)
    if name == "ud-english":
        return {"train": read_ud_english_train} | {split: partial(read_ud_english, split) for split in SPLITS[1:]}
    if name == "bllip":
        return {split: partial(read_bllip, bllip_folder(), split) for split in SPLITS}
    if name in ud_treebanks():
        return splits_of_folder(ud_folder(name))
    path = Path(name)
    if str(name) and path.is_dir():
        return splits_of_folder(path)
    if str(name) and path.exists():
        return {ALL: partial(read_file, path)}
    known = ", ".join(corpus.name for corpus in corpora())
    raise UserError(
        f"{str(name)!r} is neither a file nor a folder nor the name of a corpus; known are {known}; "
        f"for UD treebanks {how_to_get_data()}"
    )


def minilang_splits(sentences: int | None) -> dict[str, Reader]:
    """The splits and hold-outs of the embedded corpus; nothing of it can be broken, so `strict` means nothing."""
    from dtglib import minilang  # here, not above: nobody else should wait for a grammar to be read

    return {split: lambda _, s=split: Treebank(minilang.split(s, sentences), Counter()) for split in minilang.SPLITS}


# --- Universal Dependencies --------------------------------------------------------------------------------------


def ud_folder(name: str = "") -> Path:
    """Where a treebank lies, or all of them."""
    return data_folder() / "ud" / name


def how_to_get_data() -> str:
    """What to do where a treebank is missing, and where it was looked for."""
    return f"run `make data`, or set DTG_DATA to a folder that holds ud/ (looked for in {data_folder()})"


def ud_treebanks() -> list[str]:
    """The treebanks that lie in the data folder."""
    return sorted(path.name for path in ud_folder().glob("UD_*") if path.is_dir())


def read_ud_english(split: str, strict: bool) -> Treebank:
    """The six treebanks, one after the other."""
    parts = []
    for name in UD_ENGLISH:
        paths = files_of_split(ud_folder(name), split)
        if not paths:
            raise UserError(f"ud-english: the {split} part of {name} is missing; {how_to_get_data()}")
        parts.append(read_files(paths, strict))
    return joined(parts)


def read_ud_english_train(strict: bool) -> Treebank:
    """The training parts without what dev or test holds too, be it in another treebank: "Thank you ." is everywhere."""
    held_out = {s.words for split in ("dev", "test") for s in read_ud_english(split, strict).sentences}
    return without(held_out, read_ud_english("train", strict), "also in dev or test")


def without(held_out: Collection[tuple[str, ...]], treebank: Treebank, reason: str) -> Treebank:
    """The sentences whose words, in their order and spelling, are not among `held_out`; the others are counted."""
    kept = [sentence for sentence in treebank.sentences if sentence.words not in held_out]
    return Treebank(kept, treebank.excluded + Counter({reason: len(treebank.sentences) - len(kept)}))


def joined(treebanks: Iterable[Treebank]) -> Treebank:
    """Several treebanks as one."""
    whole = Treebank([], Counter())
    for treebank in treebanks:
        whole.sentences.extend(treebank.sentences)
        whole.excluded.update(treebank.excluded)
    return whole


# --- files and folders -------------------------------------------------------------------------------------------

# en_ewt-ud-train.conllu; de_hdt-ud-train-a-1.conllu, where a large treebank is cut into pieces; train.conllu
SPLIT_FILE = re.compile(r"(?:.*-ud-)?(train|dev|test)(?:-.*)?\.conllu")


def files_of_split(folder: Path, split: str) -> list[Path]:
    """The files of a folder that make up a split, in alphabetical order."""
    names = {path: SPLIT_FILE.fullmatch(path.name) for path in folder.glob("*.conllu")}
    return sorted(path for path, match in names.items() if match and match[1] == split)


def splits_of_folder(folder: Path) -> dict[str, Reader]:
    """The splits of which the folder holds files."""
    found = {split: files_of_split(folder, split) for split in SPLITS}
    if not any(found.values()):
        raise UserError(f"{folder}: this folder holds no *-ud-train.conllu, *-ud-dev.conllu or *-ud-test.conllu")
    return {split: partial(read_files, paths) for split, paths in found.items() if paths}


def read_files(paths: Iterable[Path], strict: bool) -> Treebank:
    return joined(read_file(path, strict) for path in paths)


def read_file(path: Path, strict: bool) -> Treebank:
    """A file, by what its name ends in."""
    suffix = path.suffix.lower()
    if suffix.startswith(".conll"):
        return read_conllu(path, strict)
    if suffix in (".mrg", ".ptb", ".brackets"):
        return read_brackets(path, strict)
    return read_text(path, strict)


def read_text(path: Path, strict: bool) -> Treebank:
    """Raw text, one sentence a line; its trees are found later."""
    sentences, excluded = [], Counter()
    lines = read_bytes(path).removesuffix(b"\n").split(b"\n")
    for number, line in enumerate(progress(lines, f"reading {path.name}", "line"), start=1):
        sent_id = f"{path.stem}-{number}"
        try:
            text = decode(line).strip()
        except TreebankError as error:
            if strict:
                raise error.at(path, number, f"sentence {sent_id!r}") from None
            excluded[error.reason] += 1
            continue
        if words := tuple(tokenize(text)):
            sentences.append(Sentence(words, id=sent_id, text=text))
        else:
            excluded["empty line"] += 1
    return Treebank(sentences, excluded)


# --- BLLIP -------------------------------------------------------------------------------------------------------


def sections(year: int, first: int, last: int) -> list[str]:
    """The names of BLLIP's sections: w7_003 is section 3 of 1987."""
    return [f"w{year % 10}_{number:03}" for number in range(first, last + 1)]


# BLLIP-LG: the training sections, and the first trees of three sections each for dev and test.
BLLIP_SECTIONS = {
    "train": sections(1987, 3, 127) + sections(1988, 3, 108) + sections(1989, 12, 41),
    "dev": ["w7_001", "w8_001", "w9_010"],
    "test": ["w7_002", "w8_002", "w9_011"],
}
BLLIP_TREES_PER_SECTION = {"train": None, "dev": 500, "test": 1000}


def bllip_folder() -> Path:
    """The folder that $BLLIP names."""
    folder = os.environ.get("BLLIP")
    if not folder:
        raise UserError("bllip: set BLLIP to your copy of LDC2000T43, the folder that holds 1987, 1988 and 1989")
    if not Path(folder).is_dir():
        raise UserError(f"bllip: BLLIP names {folder}, which is not a folder")
    return Path(folder)


def read_bllip(folder: Path, split: str, strict: bool = True) -> Treebank:
    """A split of BLLIP-LG out of a copy of LDC2000T43: bracketed trees, heads None."""
    files = bllip_files(folder)
    if missing := [section for section in BLLIP_SECTIONS[split] if section not in files]:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise UserError(f"bllip: {folder} lacks {len(missing)} of the sections of {split}: {some}")
    limit = BLLIP_TREES_PER_SECTION[split]
    return joined(
        first_trees(files[section], limit, strict)
        for section in progress(BLLIP_SECTIONS[split], f"BLLIP {split}", "section")
    )


def bllip_files(folder: Path) -> dict[str, list[Path]]:
    """Section -> its files: those whose name begins with it, and those in a folder whose name does."""
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


def first_trees(paths: Iterable[Path], limit: int | None, strict: bool) -> Treebank:
    """The first `limit` sentences of these files; no file is opened that is not needed."""
    whole = Treebank([], Counter())
    for path in paths:
        if len(whole.sentences) == limit:
            break
        part = read_brackets(path, strict)
        wanted = None if limit is None else limit - len(whole.sentences)
        whole.sentences.extend(part.sentences[:wanted])
        whole.excluded.update(part.excluded)
    return whole


# --- what there is -----------------------------------------------------------------------------------------------


class Corpus(NamedTuple):
    """A line of `dtglib corpora`."""

    name: str
    what: str
    licence: str
    where: str  # where it lies, or how to get it


def corpora() -> list[Corpus]:
    """The corpora that have a name."""
    missing = [name for name in UD_ENGLISH if not ud_folder(name).is_dir()]
    found = f"not found; {how_to_get_data()}" if missing else str(ud_folder())
    bllip = os.environ.get("BLLIP") or "set BLLIP to your copy of LDC2000T43"
    return [
        Corpus("minilang", "a controlled fragment of English, generated", "MIT", "embedded in dtglib"),
        Corpus("ud-english", "EWT, GUM, CHILDES, ParTUT, LinES and Atis as one", "see the treebanks", found),
        Corpus("bllip", "Wall Street Journal 1987-89, parsed (LDC2000T43)", "LDC User Agreement", bllip),
        *map(ud_corpus, ud_treebanks()),
    ]


def ud_corpus(name: str) -> Corpus:
    """A treebank of the data folder; its licence as the registry knows it, or where to read it."""
    licences = {Path(entry.path).parent.name: entry.licence for entry in read_registry()["ud-english"]}
    what = f"{name.removeprefix('UD_').replace('-', ' ')}, Universal Dependencies"
    return Corpus(name, what, licences.get(name, "see its LICENSE.txt"), str(ud_folder(name)))
