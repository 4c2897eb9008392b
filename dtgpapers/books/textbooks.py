"""The paragraphs of an OpenStax textbook: running prose, without exercises, tasks, figures and formulas.

    <para>Heat flows from hot to cold (<link target-id="fig-1"/>).<newline/>It is measured in <m:math/>.</para>

becomes the paragraph "Heat flows from hot to cold."; the rest has a hole, and so it is left out.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from dtgpapers.books.markup import clean, count_words, name

with open(Path(__file__).with_name("classes.tsv"), encoding="utf-8", newline="") as _file:
    RULES = {row[0]: row[2] for row in csv.reader(_file, delimiter="\t", quoting=csv.QUOTE_NONE)}
NEVER_ENTERED = set(RULES["never entered"].split())
ABBREVIATION = re.compile(RULES["no sentence end after"])
TASK_SIGNS = ("\u2712", "\U0001f4dd", "\u270f", "\U0001f4ce")  # pens and clips before the titles of documents and tasks

HOLE, BREAK = "\0", "\1"  # a formula in the middle of the text; the end of a paragraph
HOLES = {"math", "code", "media", "iframe"}
BLOCKS = {"list", "note", "section", "quote", "para", "div"}  # in a paragraph they end it, and follow it
BREAKS = {"newline", "figure", "table", "equation", "exercise", "problem", "solution", "example", "definition"}

LETTER = re.compile(r"[^\W\d_]")
SENTENCE_END = re.compile(r"""(?<=[.!?])([”’"')\]]*)\s+(?=[“‘"'(\[]*(?:[A-Z0-9]|\0))""")
BRACKET = re.compile(r"\s*(?:\([^()\0]*\0[^()]*\)|\[[^\[\]\0]*\0[^\[\]]*\])")
NUMBER = re.compile(r"\s*[-–−]?\d+(?:[,–-]\s?\d+)*\s*")
ADDRESS = re.compile(r"https?:|www\.")
TASK = re.compile(r"\d+[.)]|(?:Watch|Visit|View|Click|Listen to|Check out|Go to)\b")
REFERENCE = re.compile(r"[A-Z][\w’'-]+, [A-Z].*: .*, (?:19|20)\d\d[a-z]?\.$")  # Surname, Name. Title: Publisher, 1999.


def paragraphs(files: Mapping[str, bytes]) -> Iterator[str]:
    """The paragraphs of a book, each once; `files` maps the paths in the repository to their contents."""
    modules = (files.get(f"modules/{module}/index.cnxml") for module in _modules(files))
    roots = (ElementTree.fromstring(module) for module in modules if module)
    contents = (child for root in roots if _is_prose(root) for child in root if name(child) == "content")
    yield from dict.fromkeys(paragraph for content in contents for paragraph in _paragraphs(content))


def _modules(files: Mapping[str, bytes]) -> list[str]:
    """The modules of all collections in their order, each once; those outside of chapters are prefaces and the like."""
    paths = sorted(path for path in files if path.endswith(".collection.xml") and "ap-courses" not in path)
    elements = (element for path in paths for element in ElementTree.fromstring(files[path]).iter())
    chapters = (element for element in elements if name(element) == "subcollection")
    modules = (module for chapter in chapters for module in chapter.iter() if name(module) == "module")
    return list(dict.fromkeys(module.get("document", "") for module in modules))


def _title(element: Element) -> str:
    titles = (child for child in element if name(child) == "title")
    return clean("".join(text for title in titles for text in title.itertext()))


def _is_prose(document: Element) -> bool:
    title = _title(document)
    is_matter = document.get("class") in RULES["document class"].split() or title.startswith(TASK_SIGNS)
    return not is_matter and not re.fullmatch(RULES["document title"], title, re.IGNORECASE)


def _is_skipped(element: Element) -> bool:
    kind, classes = name(element), element.get("class", "")
    if kind in ("section", "note"):
        title = re.sub(r"\s*(?:\([^()]*\))?\s*:?$", "", _title(element))
        has_title = re.fullmatch(RULES["title"], title, re.IGNORECASE)
        return bool(has_title or re.search(RULES[f"{kind} class"], classes, re.IGNORECASE))
    is_text = kind in ("para", "item", "quote")
    return kind in NEVER_ENTERED or (is_text and bool(re.search(RULES["para, item, quote class"], classes, re.I)))


def _paragraphs(element: Element) -> Iterator[str]:
    """The paragraphs of the blocks in an element."""
    for child in element:
        kind = name(child)
        if _is_skipped(child):
            continue
        if kind == "para" or (kind in ("item", "quote") and not any(name(inner) == "para" for inner in child.iter())):
            blocks: list[Element] = []
            for text in "".join(_text(child, blocks)).split(BREAK):
                yield from _finished(clean(text), kind == "item")
            yield from _paragraphs(_in_one(blocks))
        else:
            yield from _paragraphs(child)


def _in_one(blocks: list[Element]) -> Element:
    parent = Element("div")
    parent.extend(blocks)
    return parent


def _text(element: Element, blocks: list[Element]) -> str:
    """The text of an element with holes and breaks; the blocks in it are added to `blocks`."""
    text = element.text or ""
    for child in element:
        kind = name(child)
        if kind in HOLES:
            text += HOLE
        elif kind in BLOCKS and child.get("display") != "inline":
            blocks.append(child)
            text += BREAK
        elif kind in BREAKS:
            text += BREAK
        elif kind not in NEVER_ENTERED:
            inner = _text(child, blocks)
            if kind == "link":
                inner = inner if inner.strip() else HOLE
            elif kind == "sup" and NUMBER.fullmatch(inner) and text[-1:].strip():
                inner = HOLE if re.match(r"[\w)\]]", text[-1]) else ""  # an exponent, or the number of a footnote
            text += inner
        text += child.tail or ""
    return text


def _finished(text: str, is_item: bool) -> Iterator[str]:
    """The paragraph without sentences that have holes; nothing if too little is left, or if it is not prose."""
    if is_item and (HOLE in text or not text.endswith(".") or count_words(text) < 6):
        return
    text = BRACKET.sub("", text)
    kept = [s for s in _sentences(text) if HOLE not in s and not s.endswith(":") and not ADDRESS.search(s)]
    paragraph = " ".join(kept)
    if count_words(paragraph) < max(5, count_words(text.replace(HOLE, " ")) * 2 / 3):
        return
    bare = paragraph.strip("“”‘’\"'()[] ")
    is_whole = (bare[0].isupper() or bare[0].isdigit()) and bare[-1] in ".!?"
    is_text = len(LETTER.findall(paragraph)) >= 0.8 * len(paragraph.replace(" ", ""))
    if is_whole and is_text and not TASK.match(bare) and not REFERENCE.match(paragraph):
        yield paragraph


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text with holes."""
    start = 0
    for match in SENTENCE_END.finditer(text):
        if not ABBREVIATION.search(text[start : match.start()]):
            yield text[start : match.end()].strip()
            start = match.end()
    yield text[start:].strip()
