"""The German words of `lexicon.yaml`, looked up by the English words that they translate.

>>> lexicon().nouns["boy"].form("sg", "acc"), lexicon().verbs["tr", "attack"].particle
('Jungen', 'an')
"""

import functools
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from dtglib.basics.errors import require
from dtglib.data.minilang.lexicon import WordForm
from dtgpapers.translation.german.morphology import CASES, Noun, Verb


class Instead(NamedTuple):
    """An adverb or a modal verb that translates an English verb or adjective with an infinitive."""

    kind: str  # ADV or MODAL
    word: str


class Lexicon(NamedTuple):
    """All German words, by the lemma of the English word; verbs by frame and lemma, with the word they select."""

    nouns: dict[str, Noun]
    verbs: dict[tuple[str, str], Verb | Instead]
    strong: dict[str, tuple[str, str, str]]
    modals: dict[str, tuple[Verb | Instead, str]]
    adverbs: dict[str, tuple[str, str]]  # the group, which decides about the place, and the word
    other: dict[str, Any]  # the remaining tables of the file

    def verb(self, entry: WordForm) -> Verb:
        """The German verb for an English one in its frame."""
        verb = self.verb_or_instead(entry)
        assert isinstance(verb, Verb), f"{entry} is no verb in German"
        return verb

    def verb_or_instead(self, entry: WordForm) -> Verb | Instead:
        """The translation of an English verb in its frame."""
        (frame,) = entry.features["frame"]
        (selected,) = entry.features["with"]
        return self.verbs[frame, entry.lemma if selected == "none" else f"{entry.lemma} {selected}"]

    def plain_verb(self, name: str, perfect: str = "haben") -> Verb:
        """A verb that translates no verb of the fragment by itself, such as an auxiliary."""
        verb = _verb(f"{name} {perfect}", self.strong)
        assert isinstance(verb, Verb)
        return verb


@functools.cache
def lexicon() -> Lexicon:
    """The German lexicon, read once per process."""
    text = Path(__file__).with_name("lexicon.yaml").read_text("utf-8")
    source = yaml.load(text, Loader=yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader)
    strong = {name: tuple(parts.split()) for name, parts in source["strong"].items()}
    nouns: dict[str, Noun] = {}
    for lemma, line in source["nouns"].items():
        gender, singular, plural, *more = line.split()
        nouns[lemma] = Noun(gender, singular, plural, "weak" in more)
        for female in more:
            if female != "weak":
                nouns[f"{lemma} f"] = Noun("f", female, f"{female}nen")
    verbs = {
        (frame, lemma): _verb(line, strong) for frame, lines in source["verbs"].items() for lemma, line in lines.items()
    }
    verbs |= {("control", lemma): _verb(line, strong) for lemma, line in source["control"].items()}
    modals = {lemma: _modal(line, strong) for lemma, line in source["modals"].items()}
    adverbs = {lemma: (group, word) for group, words in source["adverbs"].items() for lemma, word in words.items()}
    other = {name: table for name, table in source.items() if name not in ("nouns", "verbs", "strong", "modals")}
    return Lexicon(nouns, verbs, strong, modals, adverbs, other)


def _modal(line: str, strong: dict[str, tuple[str, str, str]]) -> tuple[Verb | Instead, str]:
    """Read `können pres` or `ADV vielleicht`."""
    name, tense = line.split()
    return (Instead(name, tense), "pres") if name == "ADV" else (_verb(name, strong), tense)


def _verb(line: str, strong: dict[str, tuple[str, str, str]]) -> Verb | Instead:
    """Read `sich verlassen auf acc`, `folgen sein dat`, `an|greifen` or `ADV anscheinend`."""
    first, *rest = line.split()
    if first in ("ADV", "MODAL"):
        return Instead(first, rest[0])
    reflexive = first == "sich"
    name = rest.pop(0) if reflexive else first
    perfect = next((word for word in rest if word in ("sein", "haben")), "haben")
    case = next((word for word in rest if word in CASES), "acc")
    prepositions = [word for word in rest if word not in (*CASES, "sein", "haben")]
    require(len(prepositions) <= 1, f"lexicon.yaml: {line!r} has two prepositions; a verb selects one at most")
    parts = strong.get(name) or strong.get(name.rpartition("|")[2])
    return Verb(name, parts, perfect, reflexive, case, prepositions[0] if prepositions else None)
