"""The paragraphs of a Standard Ebook: its files in the order of the spine, every `p` of running prose.

    <p>“Who is there?” asked <abbr epub:type="z3998:name-title">Mr.</abbr> Cayley.</p>

becomes “Who is there?” asked Mr. Cayley. Verse, letterheads, signatures, notes and titles are left out.
"""

import posixpath
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from dtgpapers.books.markup import clean, name

TYPE = "{http://www.idpf.org/2007/ops}type"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
OPF = "{http://www.idpf.org/2007/opf}"

NOT_ENTERED = {"h1", "h2", "h3", "h4", "h5", "h6", "hgroup", "header", "footer", "table", "figure", "nav"}
VERSE = {f"z3998:{kind}" for kind in ("verse", "poem", "song", "hymn", "lyrics", "drama", "scene", "dramatis-personae")}
MATTER = {"epigraph", "dedication", "bibliography", "glossary", "index", "endnotes", "footnotes", "toc", "loi"}
TYPES_NOT_ENTERED = VERSE | MATTER | {"halftitlepage", "titlepage"}
KEPT_TYPES = {"z3998:postscript", "z3998:diary-entry"}
MATHS = "{http://www.w3.org/1998/Math/MathML}math"


def paragraphs(files: Mapping[str, bytes]) -> Iterator[str]:
    """The paragraphs of a book; `files` maps the paths in the repository to their contents."""
    package = "src/epub/content.opf"
    root = ElementTree.fromstring(files[package])
    paths = {item.get("id"): item.get("href", "") for item in root.iter(f"{OPF}item")}
    for reference in root.iter(f"{OPF}itemref"):
        path = posixpath.join(posixpath.dirname(package), paths[reference.get("idref")])
        body = next(child for child in ElementTree.fromstring(files[path]) if name(child) == "body")
        if "bodymatter" in _types(body):
            yield from _paragraphs(body)


def _types(element: Element) -> set[str]:
    return set(element.get(TYPE, "").split())


def _paragraphs(element: Element) -> Iterator[str]:
    for child in element:
        types = _types(child)
        if name(child) in NOT_ENTERED or types & TYPES_NOT_ENTERED or not child.get(LANGUAGE, "en").startswith("en"):
            continue
        if name(child) != "p":
            yield from _paragraphs(child)
        elif (not types or types & KEPT_TYPES) and child.find(f".//{MATHS}") is None:
            text = clean("".join(_text(child)))
            if any(map(str.isalpha, text)):
                yield text


def _text(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if name(child) == "br":
            yield " "
        elif name(child) not in ("img", "svg", "") and "noteref" not in _types(child):
            yield from _text(child)
        yield child.tail or ""
