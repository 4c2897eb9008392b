"""The corpora `books`, `books-openstax`, `books-ebooks`, `brown` and `masc`; their sentences have no trees.

A work is one block. Its sentences are made once (some seconds each) and then kept in the user's cache, in a folder that
is named by the code that makes them. Whole works are dev and test. Train has no sentence of the tests: BLiMP, the
suites, the reading times, and the dev and test parts of UD English, whose GUM quotes some of the textbooks.
"""

import contextlib
import csv
import functools
import hashlib
import json
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from sys import intern

from dtglib.basics.errors import UserError
from dtglib.basics.files import write_atomically
from dtglib.basics.progress import progress
from dtglib.data import corpora, tokenize
from dtglib.data.corpora import SPLITS, ListedCorpus, Reader, Readers
from dtglib.data.registry import data_folder, read_registry
from dtglib.data.treebank import ReadsBlock, Sentence, Treebank
from dtgpapers.books import ebooks, textbooks, with_trees
from dtgpapers.books.sentences import sentences
from dtgpapers.books.tagged import TAGGED, Tagged, tagged_sentences
from dtgpapers.books.with_trees import WITH_TREES, WithTrees
from dtgpapers.books.works import Work, all_works, fetch_works, files_of

HELD_OUT_WORKS = {
    "dev": ("osbooks-business-law", "jack-london_the-call-of-the-wild"),
    "test": (
        "osbooks-introduction-intellectual-property",
        "robert-louis-stevenson_the-strange-case-of-dr-jekyll-and-mr-hyde",
        "thornton-wilder_the-bridge-of-san-luis-rey",
    ),
}
HELD_OUT = {name: split for split, names in HELD_OUT_WORKS.items() for name in names}

NC = "CC BY 4.0 and CC BY-NC-SA 4.0"
PUBLIC_DOMAIN = "public domain in the US"
CORPORA = {
    "books": ("Standard Ebooks and OpenStax textbooks: 263 works, 34 million words", f"{PUBLIC_DOMAIN}; {NC}"),
    "books-openstax": ("OpenStax: 30 textbooks, 6 million words", NC),
    "books-ebooks": ("Standard Ebooks: 233 works, mostly fiction, 27 million words", PUBLIC_DOMAIN),
    "brown": ("the Brown corpus, edited American English of 1961", "non-commercial purposes"),
    "masc": ("MASC, spoken and written American English", "any purpose"),
}


def files_of_corpus(name: str) -> list[Path]:
    """The archives of a corpus in the data folder."""
    archives = [TAGGED[name].archive] if name in TAGGED else [work.archive for work in works_of(name)]
    return [data_folder() / archive for archive in archives]


def where(name: str) -> str:
    """The folder of a corpus, or how to get it."""
    missing = [path for path in files_of_corpus(name) if not path.is_file()]
    fetched = "nltk" if name in TAGGED else "books"
    return f"not found; run `dtglib data {fetched}`" if missing else str(data_folder() / fetched)


def _where_of_parts(made: WithTrees) -> str:
    if not all(corpora.ud_folder(name).is_dir() for name in corpora.UD_ENGLISH):  # train has no sentence of their tests
        return f"not found; {corpora.how_to_get_data()}"
    places = [where(raw) for raw in made.raw]
    return next((place for place in places if place.startswith("not found")), places[-1])


def works_of(name: str) -> list[Work]:
    """The works of a corpus in an order that mixes textbooks and ebooks."""
    works = list(all_works())
    random.Random(1).shuffle(works)
    source = {"books-openstax": "openstax", "books-ebooks": "standardebooks"}.get(name)
    return [work for work in works if source in (None, work.source)]


def blocks(name: str, split: str) -> Iterator[ReadsBlock]:
    """The sentences of a split in blocks, of which each is in memory alone."""
    if name in TAGGED:
        yield partial(_tagged, TAGGED[name], split)
        return
    works = [work for work in works_of(name) if HELD_OUT.get(work.name, "train") == split]
    for work in progress(works, f"{name}, {split}", "work"):
        yield partial(_work, work, split)


def _tagged(corpus: Tagged, split: str) -> Treebank:
    path = data_folder() / corpus.archive
    if not path.is_file():
        raise UserError(f"{path} is missing; run `dtglib data nltk`, or set DTG_DATA")
    return _treebank(tagged_sentences(corpus, data_folder(), split), split, path.stem)


def _work(work: Work, split: str) -> Treebank:
    lines = _lines(work).split("\n")
    return _treebank((tuple(map(intern, line.split(" "))) for line in lines if line), split, work.name)


def _treebank(sentences: Iterable[tuple[str, ...]], split: str, name: str) -> Treebank:
    """Sentences without trees; those of train that are in a test set are left out and counted."""
    kept, excluded = [], Counter()
    tests = sentences_of_tests() if split == "train" else {}
    for number, words in enumerate(sentences, start=1):
        if reason := tests.get(normalised("".join(words))):
            excluded[reason] += 1
        else:
            kept.append(Sentence(words, id=f"{name}-{number}"))
    return Treebank(kept, excluded)


# --- words of a work ---------------------------------------------------------------------------------------------


def words_of_work(work: Work) -> Iterator[tuple[str, ...]]:
    """The words of each sentence."""
    source = textbooks if work.source == "openstax" else ebooks
    return (words for paragraph in source.paragraphs(files_of(work)) for words in sentences(paragraph))


def _lines(work: Work) -> str:
    """The sentences of a work, a line each, from the cache if it has them."""
    path = cache_folder() / f"{work.name}-{work.digest[:8]}.txt"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    lines = "".join(" ".join(words) + "\n" for words in words_of_work(work))
    with contextlib.suppress(OSError, UserError), write_atomically(path) as file:  # a cache
        file.write(lines)
    return lines


@functools.cache
def cache_folder() -> Path:
    """The folder of this version of the code, in the user's cache."""
    here = Path(__file__).parent
    names = ("ebooks.py", "textbooks.py", "markup.py", "sentences.py", "classes.tsv")
    code = [(here / name).read_bytes() for name in names] + [Path(tokenize.__file__).read_bytes()]
    top = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    return top / "dtglib-books" / hashlib.sha256(b"".join(code)).hexdigest()[:16]


# --- sentences of tests ------------------------------------------------------------------------------------------


def normalised(text: str) -> str:
    """The letters and digits of a text in lower case."""
    return re.sub(r"[\W_]+", "", text.lower())


@functools.cache
def sentences_of_tests() -> dict[str, str]:
    """Normalised sentences of the tests, each with the reason to leave it out of train."""
    reasons: dict[str, str] = {}
    for collection, texts_of in TESTS.items():
        for entry in read_registry()[collection]:
            path = data_folder() / entry.path
            if not path.is_file():
                raise UserError(f"{path} is missing: train has no sentence of {collection}; run `make data`")
            reason = f"in {collection}"
            reasons.update((normalised(text), reason) for text in texts_of(path) if normalised(text))
    return reasons


def _pairs(path: Path) -> Iterator[str]:
    if path.suffix == ".jsonl":
        for line in path.read_text(encoding="utf-8").splitlines():
            pair = json.loads(line)
            yield from (pair["sentence_good"], pair["sentence_bad"])


def _suite(path: Path) -> Iterator[str]:
    if path.suffix == ".json":
        for item in json.loads(path.read_text(encoding="utf-8"))["items"]:
            for condition in item["conditions"]:
                yield "".join(region["content"] for region in condition["regions"])


def _reading(path: Path) -> Iterator[str]:
    with open(path, encoding="utf-8", newline="") as file:
        yield from {row["sentence"] for row in csv.DictReader(file)}


def _treebank_texts(path: Path) -> Iterator[str]:
    """The sentences of four written words or more of a dev or test part: "Thank you." is in many texts."""
    if not re.search("-ud-(dev|test)", path.name):
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.removeprefix("# text = ")
        if text != line and len(text.split()) >= 4:
            yield text


TESTS: dict[str, Callable[[Path], Iterator[str]]] = {
    "ud-english": _treebank_texts,
    "reading": _reading,
    "sg": _suite,
    "blimp": _pairs,
}


def _splits(name: str, sentences: int | None) -> dict[str, Reader] | None:
    if name not in CORPORA and name not in WITH_TREES:
        return None
    read = blocks if name in CORPORA else with_trees.blocks
    return {split: partial(read, name, split) for split in SPLITS}


def _files(name: str) -> list[Path] | None:
    if name in WITH_TREES:
        return with_trees.files_of_corpus(name)
    return files_of_corpus(name) if name in CORPORA else None


READERS = Readers(
    find=_splits,
    files=_files,
    listed=lambda: [
        *(ListedCorpus(name, *about, where(name)) for name, about in CORPORA.items()),
        *(ListedCorpus(name, made.what, made.licence, _where_of_parts(made)) for name, made in WITH_TREES.items()),
    ],
    fetches={"books": fetch_works},
)
