"""Texts in two languages, as corpora: sentences of the language that is written, with their sources as translations.

    load("minilang:de-en", "train")       minilang with German sources; both languages have trees
    load("multi30k:de-en", "train")       captions of pictures, lower-cased, tokenised except for hyphens, without trees
    load("my-texts:de-en", "train")       a folder that holds train.de and train.en; likewise dev, test and others; if
                                          Moses' tokeniser has made them, they are train.tok.de and train.tok.en
    load("mine:de-en")                    the two files mine.de and mine.en

`de-en` means from German to English: a sentence has the words, and the tree, of English, and `translation` has those
of German. `en-de` is the same text the other way round. Line 7 of one file is the translation of line 7 of the other,
so files of unequal lengths are an error; pairs in which a side is empty are left out and counted.

    >>> from dtglib.data.corpora import load
    >>> sentence = load("minilang:de-en", "train", sentences=1).sentences[0]
    >>> " ".join(sentence.words)
    'This script which disappeared was smelled by him .'
    >>> " ".join(sentence.translation)
    'Dieses Drehbuch , das verschwand , wurde von ihm gerochen .'
"""

import html
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dtglib.basics.errors import UserError
from dtglib.data.corpora import ListedCorpus, Reader, Readers, corpus_files
from dtglib.data.registry import data_folder
from dtglib.data.tokenize import tokenize
from dtglib.data.treebank import Sentence, Treebank, TreebankError, Words, decode, read_bytes

# A function that reads one split, as a whole.
ReadSplit = Callable[[], Treebank]

Decoded = Callable[[str], str]  # a line as it was before a tokeniser wrote some characters in another way
Split = Callable[[str], list[str]]  # the words of a line
MOSES = ".tok"  # the end of the names of tokenised texts, before the language


class Direction(NamedTuple):
    """The parts of a parallel corpus's name: the place of its texts, and the two languages."""

    text: str
    source: str
    target: str


MULTI30K_SPLITS = {
    "train": "train",
    "dev": "val",
    "test": "test_2016_flickr",
    **{name: name for name in ("test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")},
}


def direction_of(corpus: str) -> Direction | None:
    """The texts and languages of a corpus that is named TEXT:SOURCE-TARGET; None for other corpora.

    >>> direction_of("mine:de-en")
    Direction(text='mine', source='de', target='en')
    """
    match = re.fullmatch(r"(.+):([a-z]{2,3})-([a-z]{2,3})", corpus)
    return Direction(*match.groups()) if match else None


def source_of(sentence: Sentence) -> Words:
    """The words of a sentence's source."""
    if not sentence.translation:
        raise UserError(f"sentence {sentence.id!r} has no source; name a corpus of pairs, such as NAME:de-en")
    return sentence.translation


def pair_of(corpus: str) -> Direction:
    """The texts and languages of a corpus that must be one of pairs."""
    found = direction_of(corpus)
    if found is None:
        raise UserError(f"{corpus}: is no corpus of pairs, such as NAME:de-en; name one")
    return found


def find_pairs(name: str, sentences: int | None = None) -> dict[str, Reader] | None:
    """The splits of a parallel corpus, each with its reader; None if the name is not that of one."""
    direction = direction_of(name)
    if direction is None:
        return None
    return {split: partial(iter, [read]) for split, read in _splits(name, direction, sentences).items()}


def _splits(name: str, direction: Direction, sentences: int | None) -> dict[str, ReadSplit]:
    what, source, target = direction
    if what in ("minilang", "multi30k"):
        if {source, target} != {"de", "en"}:
            raise UserError(f"{name}: {what} is in German and English; write {what}:de-en or {what}:en-de")
        return minilang_pairs(target, sentences) if what == "minilang" else multi30k(source, target)
    return pairs_of_path(Path(what), source, target)


def minilang_pairs(target: str, sentences: int | None) -> dict[str, ReadSplit]:
    """The splits and hold-outs of minilang in two languages."""
    from dtglib.data.minilang import SPLITS  # imported here, because reading a grammar takes time
    from dtgpapers.translation.bilingual import sentence_pairs

    def read(split: str) -> Treebank:
        pairs = sentence_pairs(split, sentences)
        return Treebank([pair.english if target == "en" else pair.german for pair in pairs.pairs], pairs.excluded)

    return {split: partial(read, split) for split in SPLITS}


def multi30k_folder() -> Path:
    """The folder in which the files of Multi30k are looked for."""
    return data_folder() / "multi30k" / "tok"


def multi30k(source: str, target: str) -> dict[str, ReadSplit]:
    """The splits of Multi30k, task 1: 29,000 captions, 1,014 for dev, and four tests, the first of them of 2016."""
    folder = multi30k_folder()
    if not folder.is_dir():
        raise UserError(
            f"multi30k: {folder} is not there; copy data/task1/tok of https://github.com/multi30k/dataset "
            "into multi30k/tok in the data folder, or set DTG_DATA to a folder that has it"
        )
    files = {split: folder / f"{file}.lc.norm.tok" for split, file in MULTI30K_SPLITS.items()}
    # Moses' tokeniser has made these files: blanks between words, and quotes and apostrophes as `&quot;` and `&apos;`.
    return {split: partial(_read, path, source, target, html.unescape, str.split) for split, path in files.items()}


def pairs_of_path(path: Path, source: str, target: str) -> dict[str, ReadSplit]:
    """The splits of a folder of texts, or "all" for two files of one name."""
    if path.is_dir():
        files = sorted(file.stem for file in path.glob(f"*.{target}") if file.with_suffix(f".{source}").exists())
        if not files:
            raise UserError(f"{path}: this folder holds no NAME.{source} with a NAME.{target}, such as train.{source}")
        if twice := [name for name in files if name + MOSES in files]:
            raise UserError(f"{path}: {twice[0]} is there as {twice[0]}{MOSES}, too; take one of them away")
        readers = {name: (of_moses, str.split) if name.endswith(MOSES) else (str, tokenize) for name in files}
        return {name.removesuffix(MOSES): partial(_read, path / name, source, target, *readers[name]) for name in files}
    files = [Path(f"{path}.{language}") for language in (source, target)]
    missing = [str(file) for file in files if not file.is_file()]
    if missing:
        raise UserError(f"{path}:{source}-{target}: there is no {missing[0]}, and {path} is not a folder of such texts")
    return {"all": partial(_read, path, source, target, str, tokenize)}


def of_moses(line: str) -> str:
    """A line of Moses' tokeniser, which writes some characters in another way.

    >>> of_moses("It &apos;s a well @-@ known difference .")
    "It 's a well - known difference ."
    """
    return html.unescape(line).replace("@-@", "-")


def _read(path: Path, source: str, target: str, decoded: Decoded, split: Split) -> Treebank:
    return read_pair(Path(f"{path}.{source}"), Path(f"{path}.{target}"), decoded, split)


def read_pair(source: Path, target: Path, decoded: Decoded = str, split: Split = tokenize) -> Treebank:
    """Two text files, line by line: the sentences of `target` with those of `source` as translations."""
    lines = [read_bytes(path).removesuffix(b"\n").split(b"\n") for path in (source, target)]
    _check_lengths((source, target), (len(lines[0]), len(lines[1])))
    sentences, excluded = [], Counter()
    for number, row in enumerate(zip(*lines, strict=True), start=1):
        texts = [decoded(_text(line, path, number)) for line, path in zip(row, (source, target), strict=True)]
        before, words = (tuple(split(text)) for text in texts)
        if before and words:
            sentences.append(Sentence(words, id=f"{target.stem}-{number}", text=texts[1], translation=before))
        else:
            excluded["empty line"] += 1
    return Treebank(sentences, excluded)


def _check_lengths(paths: tuple[Path, Path], lengths: tuple[int, int]) -> None:
    """Both files must have the same number of lines."""
    (shorter, fewer), (longer, more) = sorted(zip(paths, lengths, strict=True), key=lambda pair: pair[1])
    if fewer != more:
        raise TreebankError(
            f"{longer}:{fewer + 1}: this line has no translation, because {shorter} ends after {fewer} lines, and "
            f"this file has {more}; make line n of one the translation of line n of the other"
        )


def _text(line: bytes, path: Path, number: int) -> str:
    try:
        return decode(line).strip()
    except TreebankError as error:
        raise error.at(path, number, f"line {number}") from None


def files_of_pairs(name: str) -> list[Path] | None:
    """The files of a parallel corpus, for minilang the grammars and the code; None for other names."""
    direction = direction_of(name)
    if direction is None:
        return None
    text, *languages = direction
    if text == "minilang":
        here = Path(__file__).parent
        return [*corpus_files("minilang"), here / "bilingual.py", *sorted((here / "german").rglob("*.py"))]
    folder = multi30k_folder() if text == "multi30k" else Path(text)
    if folder.is_dir():
        return sorted(path for language in languages for path in folder.glob(f"*.{language}"))
    return [Path(f"{text}.{language}") for language in languages]


def corpora_of_pairs() -> list[ListedCorpus]:
    """The corpora in two languages; multi30k if its files are in the data folder."""
    minilang = ListedCorpus(
        "minilang:de-en", "minilang with German sources; en-de: in German", "MIT", "embedded in dtglib"
    )
    what, folder = "captions of pictures with German sources; en-de: in German", multi30k_folder()
    multi30k = ListedCorpus("multi30k:de-en", what, "see its README", str(folder))
    return [minilang, multi30k] if folder.is_dir() else [minilang]


READERS = Readers(find=find_pairs, files=files_of_pairs, listed=corpora_of_pairs)
