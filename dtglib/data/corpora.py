"""A corpus by its name, or by its path.

    load("minilang", "train")          the embedded corpus
    load("ud-english", "train")        six English UD treebanks as one (`make data` fetches them)
    load("ud-english-without-childes", "train")    five of them; CHILDES is what children hear and say
    load("ud-english-enhanced", "train")           EWT and GUM, which come with enhanced graphs
    load("UD_English-GUM", "dev")      one UD treebank in the data folder
    load("gum-constituents", "train")  the sentences of UD_English-GUM that also have constituents, with both
    load("bllip", "test")              BLLIP-LG from your own copy of LDC2000T43, which $BLLIP names
    load("my-treebank", "train")       a folder that holds *-ud-train.conllu, *-ud-dev.conllu, *-ud-test.conllu; or
                                       train.sdp, train.conllx or train.mrg and the like; or the sections of the Penn
                                       Treebank's WSJ, as brackets or as dependencies
    load("mine.conllu")                one file: CoNLL-U, or CoNLL-X (.conllx, .dep), or brackets (.mrg, .ptb,
                                       .brackets), or SDP 2015 (.sdp)
    load("mine.txt")                   any other file is raw text: one sentence per line, without trees
    load("minilang:de-en", "train")    sentences with translations: minilang, multi30k, or two texts (parallel.py)

A corpus maps its splits to the functions that read them; a file has the one split "all". `load` returns a Treebank:
the sentences, and the numbers of those that were left out, by reason. A line "There is a difference" of raw text
becomes words ("There", "is", "a", "difference") and heads None, and an empty line counts as "empty line".

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
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.config import require_positive
from dtglib.basics.errors import UserError
from dtglib.basics.files import sha256
from dtglib.basics.progress import progress
from dtglib.data.conllx import SUFFIXES as CONLLX
from dtglib.data.conllx import conllx_files, read_conllx
from dtglib.data.parallel import NAMED, find_pairs, multi30k_folder
from dtglib.data.registry import data_folder, read_registry
from dtglib.data.sdp import read_sdp
from dtglib.data.tokenize import tokenize
from dtglib.data.treebank import Sentence, Treebank, TreebankError, decode, read_bytes, read_conllu

SPLITS = ("train", "dev", "test")
ALL = "all"

UD_ENGLISH = tuple(f"UD_English-{name}" for name in ("EWT", "GUM", "CHILDES", "ParTUT", "LinES", "Atis"))

# Several treebanks as one.
UD_CORPORA = {
    "ud-english": UD_ENGLISH,
    "ud-english-without-childes": tuple(name for name in UD_ENGLISH if name != "UD_English-CHILDES"),
    "ud-english-enhanced": UD_ENGLISH[:2],
}

# A function that reads one split. Its argument is `strict`: whether a broken sentence is an error, or left out and
# counted.
Reader = Callable[[bool], Treebank]


@dataclass(frozen=True)
class CorpusConfig:
    """Which corpus, and how many sentences of each part: the first ones, or all of them (None)."""

    corpus: str
    train_sentences: int | None = None
    dev_sentences: int | None = None
    test_sentences: int | None = None

    def __post_init__(self) -> None:
        require_positive(self, "train_sentences", "dev_sentences", "test_sentences")


def load(name: str | Path, split: str | None = None, sentences: int | None = None, strict: bool = True) -> Treebank:
    """One split of a corpus, or its first `sentences` sentences; `split` may be omitted if there is only one."""
    readers = find(name, sentences)
    if split is None and len(readers) == 1:
        (split,) = readers
    if split not in readers:
        wrong = "say which split" if split is None else f"there is no split {split!r}"
        way_out = "; for more, name a folder with *-ud-train.conllu and the like" if ALL in readers else ""
        raise UserError(f"{name}: {wrong}; it has {', '.join(readers)}{way_out}")
    treebank = readers[split](strict)
    # `excluded` still counts the whole split, because all of it was read.
    return treebank._replace(sentences=treebank.sentences[:sentences])


def part_of(config: CorpusConfig, part: str) -> Treebank:
    """The train, dev or test part of the corpus in a run's config."""
    if splits(config.corpus) == (ALL,):
        raise UserError(
            f"{config.corpus}: a model is trained on one part and watched on another; name a folder with "
            f"train.conllu and dev.conllu"
        )
    return load(config.corpus, part, getattr(config, f"{part}_sentences"))


def splits(name: str | Path) -> tuple[str, ...]:
    """The parts of a corpus: those of train, dev and test that it has (minilang's hold-outs are loaded by name)."""
    found = find(name)
    return tuple(split for split in found if split in (*SPLITS, ALL))


def find(name: str | Path, sentences: int | None = None) -> dict[str, Reader]:
    """The splits of a corpus, each with its reader; `sentences` is how many of them a generated corpus makes."""
    if name == "minilang":
        return minilang_splits(sentences)
    if name in UD_CORPORA:
        held_out = {split: partial(read_ud_english, name, split) for split in SPLITS[1:]}
        return {"train": partial(read_ud_english_train, name)} | held_out
    if name == "bllip":
        return {split: partial(read_bllip, bllip_folder(), split) for split in SPLITS}
    if name == "gum-constituents":
        return {split: partial(read_gum_constituents, split) for split in SPLITS}
    if name in ud_treebanks():
        return splits_of_folder(ud_folder(name))
    parallel = find_pairs(str(name), sentences)
    if parallel is not None:
        return parallel
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
    """The splits and hold-outs of the embedded corpus; no sentence of it can be broken, so `strict` has no effect."""
    from dtglib.data import minilang  # imported here, because it reads a grammar, which takes time

    return {split: lambda _, s=split: Treebank(minilang.split(s, sentences), Counter()) for split in minilang.SPLITS}


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


def read_ud_english(corpus: str, split: str, strict: bool) -> Treebank:
    """A split of the treebanks of a corpus, one after the other."""
    parts = []
    for name in UD_CORPORA[corpus]:
        paths = files_of_split(ud_folder(name), split)
        if not paths:
            raise UserError(f"{corpus}: the {split} part of {name} is missing; {how_to_get_data()}")
        parts.append(read_files(paths, strict))
    return joined(parts)


def read_ud_english_train(corpus: str, strict: bool) -> Treebank:
    """The training parts without sentences of any treebank's dev or test part, such as "Thank you ."."""
    held_out = {s.words for split in ("dev", "test") for s in read_ud_english(corpus, split, strict).sentences}
    return without(held_out, read_ud_english(corpus, "train", strict), "also in dev or test")


def read_gum_constituents(split: str, strict: bool) -> Treebank:
    """A split of UD_English-GUM with the constituents of its sentences."""
    from dtglib.data.constituents import with_constituents  # imported here, because NLTK takes a second to import

    treebank = read_files(files_of_split(ud_folder("UD_English-GUM"), split), strict)
    return with_constituents(treebank, data_folder() / "gum_const", strict)


def without(held_out: Collection[tuple[str, ...]], treebank: Treebank, reason: str) -> Treebank:
    """Leave out, and count, the sentences whose words are in `held_out` in the same order and spelling."""
    kept = [sentence for sentence in treebank.sentences if sentence.words not in held_out]
    return Treebank(kept, treebank.excluded + Counter({reason: len(treebank.sentences) - len(kept)}))


def joined(treebanks: Iterable[Treebank]) -> Treebank:
    """Join several treebanks into one."""
    whole = Treebank([], Counter())
    for treebank in treebanks:
        whole.sentences.extend(treebank.sentences)
        whole.excluded.update(treebank.excluded)
    return whole


# --- files and folders -------------------------------------------------------------------------------------------

# en_ewt-ud-train.conllu; de_hdt-ud-train-a-1.conllu (one of several files of a large treebank); train.conllu; train.sdp
SPLIT_FILE = re.compile(r"(?:.*-ud-)?(train|dev|test)(?:-.*)?\.(?:conllu|sdp)")


def files_of_split(folder: Path, split: str, suffix: str = ".conllu") -> list[Path]:
    """The files of a folder that make up a split, in alphabetical order."""
    names = {path: SPLIT_FILE.fullmatch(path.name) for path in folder.glob(f"*{suffix}")}
    return sorted(path for path, match in names.items() if match and match[1] == split)


def splits_of_folder(folder: Path) -> dict[str, Reader]:
    """The splits for which the folder holds files."""
    found = {split: files_of_split(folder, split) for split in SPLITS}
    if not any(found.values()):
        found = {split: files_of_split(folder, split, ".sdp") for split in SPLITS}
    if not any(found.values()):
        found = conllx_files(folder)
    if not any(found.values()):
        from dtglib.data.constituents import penn_files  # imported here, because NLTK takes a second to import

        found = penn_files(folder)
    if not any(found.values()):
        raise UserError(
            f"{folder}: this folder holds no *-ud-train.conllu, *-ud-dev.conllu or *-ud-test.conllu, no train.sdp "
            f"and the like, and no bracketed trees or CoNLL-X in files named so or in sections 00 to 24"
        )
    return {split: partial(read_files, paths) for split, paths in found.items() if paths}


def read_files(paths: Iterable[Path], strict: bool) -> Treebank:
    return joined(read_file(path, strict) for path in paths)


def read_file(path: Path, strict: bool) -> Treebank:
    """Read a file in the format that its suffix names."""
    suffix = path.suffix.lower()
    if suffix in CONLLX:
        return read_conllx(path, strict)
    if suffix.startswith(".conll"):
        return read_conllu(path, strict)
    if suffix == ".sdp":
        return read_sdp(path, strict)
    return read_brackets(path, strict) if suffix in (".mrg", ".ptb", ".brackets") else read_text(path, strict)


def read_brackets(path: Path, strict: bool) -> Treebank:
    """Read bracketed trees."""
    from dtglib.data import brackets  # imported here, because NLTK takes a second to import

    return brackets.read_brackets(path, strict)


def read_text(path: Path, strict: bool) -> Treebank:
    """Read raw text, one sentence per line; the sentences have no trees."""
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


# BLLIP-LG has whole sections for training; dev and test each have the first trees of three sections.
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
    """Read a split of BLLIP-LG from a copy of LDC2000T43: bracketed trees, heads None."""
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


def first_trees(paths: Iterable[Path], limit: int | None, strict: bool) -> Treebank:
    """The first `limit` sentences of these files; files beyond them are not opened."""
    whole = Treebank([], Counter())
    for path in paths:
        if len(whole.sentences) == limit:
            break
        part = read_brackets(path, strict)
        wanted = None if limit is None else limit - len(whole.sentences)
        whole.sentences.extend(part.sentences[:wanted])
        whole.excluded.update(part.excluded)
    return whole


# --- checksums ---------------------------------------------------------------------------------------------------


def corpus_files(name: str) -> list[Path]:
    """The files that a corpus is read from; for minilang, the grammar and the code that generate it."""
    if name == "minilang":
        files = corpus_files("minilang:de-en")
        return [path for path in files if path.parent.name != "german" and path.name != "bilingual.py"]
    if name in UD_CORPORA:
        return [path for treebank in UD_CORPORA[name] for path in sorted(ud_folder(treebank).glob("*.conllu"))]
    if name == "bllip":
        return [path for files in bllip_files(bllip_folder()).values() for path in files]
    if name == "gum-constituents":
        return [*corpus_files("UD_English-GUM"), *sorted((data_folder() / "gum_const").glob("*.ptb"))]
    if match := NAMED.fullmatch(name):
        return files_of_pair(*match.groups())
    path = ud_folder(name) if name in ud_treebanks() else Path(name)
    if not path.is_dir():
        return [path]
    return sorted(path.glob("*.conllu")) or sorted(found for found in path.rglob("*") if found.is_file())


def files_of_pair(name: str, *languages: str) -> list[Path]:
    """The files of a parallel corpus."""
    if name == "minilang":
        folder = Path(__file__).parent / "minilang"
        return sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".yaml"))
    folder = multi30k_folder() if name == "multi30k" else Path(name)
    if folder.is_dir():
        return sorted(path for language in languages for path in folder.glob(f"*.{language}"))
    return [Path(f"{name}.{language}") for language in languages]


def corpus_checksum(name: str) -> str:
    """A checksum of all files of a corpus, for records of runs."""
    find(name)  # an error if there is no such corpus
    lines = (f"{path.name} {sha256(path)}\n" for path in corpus_files(name))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


# --- the list of corpora -----------------------------------------------------------------------------------------


class Corpus(NamedTuple):
    """A line of `dtglib corpora`."""

    name: str
    what: str
    licence: str
    where: str  # its folder, or how to get it


def corpora() -> list[Corpus]:
    """The corpora that can be loaded by name."""
    missing = [name for name in UD_ENGLISH if not ud_folder(name).is_dir()]
    found = f"not found; {how_to_get_data()}" if missing else str(ud_folder())
    bllip = os.environ.get("BLLIP") or "set BLLIP to your copy of LDC2000T43"
    return [
        Corpus("minilang", "a controlled fragment of English, generated", "MIT", "embedded in dtglib"),
        Corpus("ud-english", "EWT, GUM, CHILDES, ParTUT, LinES and Atis as one", "see the treebanks", found),
        Corpus("bllip", "Wall Street Journal 1987-89, parsed (LDC2000T43)", "LDC User Agreement", bllip),
        *map(ud_corpus, ud_treebanks()),
        Corpus("ud-english-without-childes", "the other five of ud-english as one", "see the treebanks", found),
        Corpus("ud-english-enhanced", "EWT and GUM as one, with enhanced graphs", "see the treebanks", found),
        *constituent_corpora(),
        *parallel_corpora(),
    ]


def parallel_corpora() -> list[Corpus]:
    """The corpora in two languages; multi30k if its files are in the data folder."""
    minilang = Corpus("minilang:de-en", "minilang with German sources; en-de: in German", "MIT", "embedded in dtglib")
    what, folder = "captions of pictures with German sources; en-de: in German", multi30k_folder()
    multi30k = Corpus("multi30k:de-en", what, "see its README", str(folder))
    return [minilang, multi30k] if folder.is_dir() else [minilang]


def constituent_corpora() -> list[Corpus]:
    """GUM with constituents, if its files are in the data folder."""
    folder = data_folder() / "gum_const"
    what, licence = "sentences of UD English GUM with constituents, too", "CC BY 4.0; texts by genre"
    return [Corpus("gum-constituents", what, licence, str(folder))] if folder.is_dir() else []


def ud_corpus(name: str) -> Corpus:
    """A treebank in the data folder; its licence comes from the registry, or a pointer to LICENSE.txt stands there."""
    licences = {Path(entry.path).parent.name: entry.licence for entry in read_registry()["ud-english"]}
    what = f"{name.removeprefix('UD_').replace('-', ' ')}, Universal Dependencies"
    return Corpus(name, what, licences.get(name, "see its LICENSE.txt"), str(ud_folder(name)))
