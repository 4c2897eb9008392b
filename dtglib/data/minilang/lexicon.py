"""Turn `lexicon.yaml` into word forms with their features.

The file lists lemmas in groups; this module inflects them. The noun `child` of kind `m f` becomes two entries of class
N, `child[num=sg,kind=m|f]` and `children[num=pl,kind=m|f]`; the verb `break` in frame `tr` becomes `breaks`, `broke`,
`broken` and so on, each of them an entry of class V. Spelling rules and irregular forms are in the file.

    >>> from dtglib.data.minilang.grammar import read_source
    >>> lexicon = read_lexicon(read_source("lexicon"))
    >>> sorted({entry.word for entry in lexicon["V"] if entry.lemma == "break"})
    ['break', 'breaking', 'breaks', 'broke', 'broken']
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from dtglib.basics.errors import UserError

# For each feature, the values that a form admits; a feature that is missing admits all values.
Features = dict[str, frozenset[str]]


class WordForm(NamedTuple):
    """One word form in one reading."""

    word: str
    lemma: str
    pos: str  # the universal part of speech
    tag: str  # the Penn Treebank's tag
    feats: str  # the FEATS column of CoNLL-U
    features: Features


def read_lexicon(source: dict) -> dict[str, list[WordForm]]:
    """All word forms by class (N, V, Det, ...)."""
    lexicon = defaultdict(list)
    for group in source["nouns"]:
        kinds = frozenset(group["kind"].split())
        for lemma in _lemmas(group):
            plural = source["irregular"]["nouns"].get(lemma) or _inflect(lemma, source["morphology"]["plural"])
            for word, num, tag, feats in ((lemma, "sg", "NN", "Number=Sing"), (plural, "pl", "NNS", "Number=Plur")):
                features = {"num": frozenset([num]), "kind": kinds}
                lexicon["N"].append(WordForm(word, lemma, "NOUN", tag, feats, features))
    for group in source["places"]:
        singular = {"num": frozenset(["sg"])}
        lexicon["Place"] += [WordForm(word, word, "NOUN", "NN", "Number=Sing", singular) for word in _lemmas(group)]
    for group in source["names"]:
        kinds = {"kind": frozenset([group["kind"]]), "num": frozenset(["sg"])}
        lexicon["Name"] += [WordForm(word, word, "PROPN", "NNP", "Number=Sing", kinds) for word in _lemmas(group)]
    for group in source["verbs"]:
        for lemma in _lemmas(group):
            lexicon["V"] += _verb_forms(lemma, group, source)
    for name, forms in source["auxiliaries"].items():
        lexicon[name] += _auxiliary_forms(forms)
    for group in source["adjectives"]:
        features = {"class": frozenset([group["class"]]), "of": frozenset(group.get("of", "m f a").split())}
        if group["class"] != "attr":
            del features["of"]
        lexicon["Adj"] += [WordForm(word, word, "ADJ", "JJ", "Degree=Pos", features) for word in _lemmas(group)]
    for name, group in source["small"].items():
        lexicon[name] += [_small_entry(line, group) for line in group["words"]]
    return dict(lexicon)


def _lemmas(group: dict) -> list[str]:
    return [lemma.strip() for lemma in group["words"].split(",")]


def _inflect(lemma: str, rules: list[list[str]]) -> str:
    for pattern, replacement in rules:
        if re.search(pattern, lemma):
            return re.sub(pattern, replacement, lemma)
    raise UserError(f"no spelling rule fits {lemma}")


# The form, number, tag and CoNLL-U features of a verb's forms; a form without a number is both singular and plural.
VERB_FORMS = (
    ("pres", "sg", "VBZ", "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"),
    ("pres", "pl", "VBP", "Mood=Ind|Number=Plur|Person=3|Tense=Pres|VerbForm=Fin"),
    ("past", "", "VBD", "Mood=Ind|Tense=Past|VerbForm=Fin"),
    ("base", "", "VB", "VerbForm=Inf"),
    ("part", "", "VBN", "Tense=Past|VerbForm=Part"),
    ("ing", "", "VBG", "Tense=Pres|VerbForm=Part"),
)


def _verb_forms(lemma: str, group: dict, source: dict) -> Iterator[WordForm]:
    spelling = source["morphology"]
    past, part, *ing = source["irregular"]["verbs"].get(lemma) or [
        _inflect(lemma, spelling["past"]),
        _inflect(lemma, spelling["participle"]),
    ]
    forms = {
        ("pres", "sg"): _inflect(lemma, spelling["third"]),
        ("past", ""): past,
        ("part", ""): part,
        ("ing", ""): ing[0] if ing else _inflect(lemma, spelling["gerund"]),
    }
    objects = set(group.get("obj", "none").split())
    # "who" asks for persons and "what" for everything else, so a gap that they fill may be any such object.
    objects |= {"who"} if objects & {"m", "f"} else set()
    objects |= {"what"} if objects & {"e", "t", "o", "s"} else set()
    selects = {
        "frame": frozenset([group["frame"]]),
        "obj": frozenset(objects),
        "with": frozenset([group.get("with", "none")]),
    }
    if "subj" in group:
        selects["subj"] = frozenset(group["subj"].split())
    for form, num, tag, feats in VERB_FORMS:
        if form == group.get("no") or (group["frame"] == "attr" and form != "part"):
            continue
        features = {**selects, "form": frozenset([form])} | ({"num": frozenset([num])} if num else {})
        yield WordForm(forms.get((form, num), lemma), lemma, "VERB", tag, feats, features)


def _auxiliary_forms(forms: dict[str, str]) -> Iterator[WordForm]:
    pos = forms.get("pos", "AUX")
    for key, word in forms.items():
        if key == "pos":
            continue
        form, _, num = key.partition(" ")
        tag, feats = next((t, f) for name, n, t, f in VERB_FORMS if name == form and n in (num, ""))
        if form == "past" and num:
            feats = feats.replace("Tense", f"Number={num.replace('sg', 'Sing').replace('pl', 'Plur')}|Person=3|Tense")
        if form == "pres" and not num:
            tag, feats = "VBP", "Mood=Ind|Tense=Pres|VerbForm=Fin"
        features = {"form": frozenset([form])} | ({"num": frozenset([num])} if num else {})
        yield WordForm(word, forms["base"] if "base" in forms else forms["pres pl"], pos, tag, feats, features)


def _small_entry(line: str, group: dict) -> WordForm:
    word, *pairs = line.split()
    given = dict(pair.split("=", 1) for pair in pairs)
    lemma, tag, pos = (given.pop(key, group.get(key, word)) for key in ("lemma", "tag", "pos"))
    feats = given.pop("feats", group.get("feats", "_"))
    features = {name: frozenset(values.split("|")) for name, values in given.items()}
    return WordForm(word, lemma, pos, tag, feats, features)
