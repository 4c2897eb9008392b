"""The minimal pairs and the test suites of minilang, made from templates.

`pairs.yaml` and `suites.yaml` hold the templates; this module fills them. In

    slots: {n: "N[kind=m]", v: "V[frame=intr,subj=m]"}
    good: "the {n num=sg} {v form=pres num=sg} ."
    bad: "the {n num=sg} {v form=pres num=pl} ."

one noun and one verb are drawn for an item, and every template of the item spells them in the form that it names:
"The king laughs." and "The king laugh.". The tests check with the recogniser that each sentence is in the language, or
out of it, as it should be. The pairs and suites have their own seed: they are the same for every corpus, and in none.

    >>> (pairs,) = (paradigm.pairs for paradigm in minimal_pairs() if paradigm.uid == "copula_subject_verb_agreement")
    >>> len(pairs), " ".join(pairs[0].good), " ".join(pairs[0].bad)
    (200, 'This king is sad .', 'This king are sad .')
"""

import functools
import itertools
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from dtglib.basics.errors import UserError, require
from dtglib.data.minilang.derivation import spell
from dtglib.data.minilang.grammar import read_source
from dtglib.data.minilang.lexicon import Features, WordForm, read_lexicon
from dtglib.data.tokenize import detokenize

PAIRS_A_PARADIGM = 200
ITEMS_A_SUITE = 24

# A slot with the form that is needed there: "{v form=pres num=sg}".
REFERENCE = re.compile(r"\{(\w+)((?: \w+=\w+)*)\}")


class GeneratedPair(NamedTuple):
    """A minimal pair; both sentences have the words of a treebank."""

    good: tuple[str, ...]
    bad: tuple[str, ...]


class Condition(NamedTuple):
    """One sentence of an item in a test suite, region by region."""

    name: str
    regions: tuple[tuple[str, ...], ...]
    grammatical: bool

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for region in self.regions for word in region)


@dataclass(frozen=True)
class GeneratedParadigm:
    uid: str
    field: str
    term: str
    pairs: list[GeneratedPair]

    def as_json_lines(self) -> str:
        """The pairs in BLiMP's format, one pair per line."""
        rows = (
            {
                "sentence_good": detokenize(pair.good),
                "sentence_bad": detokenize(pair.bad),
                "field": self.field,
                "linguistics_term": self.term,
                "UID": self.uid,
                "simple_LM_method": True,
                "pair_id": str(number),
            }
            for number, pair in enumerate(self.pairs)
        )
        return "".join(json.dumps(row) + "\n" for row in rows)


@dataclass(frozen=True)
class GeneratedSuite:
    name: str
    circuit: str
    region_names: tuple[str, ...]
    formula: str
    items: list[list[Condition]]

    def as_json(self) -> str:
        """The suite in SyntaxGym's format; the circuit, which SyntaxGym keeps elsewhere, is added under `meta`."""
        meta = {"comment": "", "reference": "", "author": "dtglib", "circuit": self.circuit}
        content = {
            "meta": {"name": self.name, "metric": "sum", **meta},
            "region_meta": {str(number): name for number, name in enumerate(self.region_names, start=1)},
            "predictions": [{"type": "formula", "formula": self.formula}],
            "items": [
                {
                    "item_number": number,
                    "conditions": [
                        {
                            "condition_name": condition.name,
                            "regions": [
                                {"region_number": place, "content": detokenize(region)}
                                for place, region in enumerate(condition.regions, start=1)
                            ],
                        }
                        for condition in conditions
                    ],
                }
                for number, conditions in enumerate(self.items, start=1)
            ],
        }
        return json.dumps(content, indent=1) + "\n"


@functools.cache
def minimal_pairs() -> list[GeneratedParadigm]:
    """All paradigms, each with 200 different pairs."""
    source = read_source("pairs")
    fill = _Filler(read_source("lexicon"), source["opposite"])
    paradigms = []
    for spec in source["pairs"]:
        drawn = fill.items(spec["uid"], spec, {"good": spec["good"], "bad": spec["bad"]}, PAIRS_A_PARADIGM)
        pairs = [GeneratedPair(fill.spell(item["good"]), fill.spell(item["bad"])) for item in drawn]
        paradigms.append(GeneratedParadigm(spec["uid"], spec["field"], spec["term"], pairs))
    return paradigms


@functools.cache
def suites() -> list[GeneratedSuite]:
    """All test suites, each with 24 different items."""
    source = read_source("suites")
    fill = _Filler(read_source("lexicon"), source["opposite"])
    made = []
    for spec in source["suites"]:
        drawn = fill.items(spec["suite"], spec, spec["conditions"], ITEMS_A_SUITE)
        items = [
            [fill.condition(name, text, name not in spec.get("out", [])) for name, text in i.items()] for i in drawn
        ]
        made.append(GeneratedSuite(spec["suite"], spec["circuit"], tuple(spec["regions"]), spec["formula"], items))
    return made


@functools.cache
def evaluation_sentences() -> frozenset[tuple[str, ...]]:
    """All sentences of the pairs and the suites, good and bad; none of them is ever in a corpus."""
    paired = (words for paradigm in minimal_pairs() for pair in paradigm.pairs for words in pair)
    tested = (c.words for suite in suites() for conditions in suite.items for c in conditions)
    return frozenset(itertools.chain(paired, tested))


class _Filler:
    """Draws words for the slots of a template and spells them out."""

    def __init__(self, words: dict, opposite: dict[str, str]):
        self.lexicon = read_lexicon(words)
        self.sandhi = words["sandhi"]
        self.opposite = opposite

    def items(self, name: str, spec: dict, templates: dict[str, str], count: int) -> list[dict[str, str]]:
        """`count` different fillings of an item's templates; the cases alternate."""
        chance = random.Random(f"minilang evaluation {name}")
        cases = [self._case(case, spec, templates) for case in _cases(spec.get("each", [{}]))]
        different: dict[tuple, dict[str, str]] = {}
        for attempt in range(50 * count):
            filled = cases[attempt % len(cases)](chance)
            different.setdefault(tuple(filled.values()), filled)
            if len(different) == count:
                return list(different.values())
        raise UserError(f"{name}: the lexicon has words for only {len(different)} of {count} items")

    def _case(self, case: dict[str, str], spec: dict, templates: dict[str, str]) -> Callable:
        """Make a function that fills the templates of one case; the parts that are not random are computed here."""
        set_ = functools.partial(self._substitute, case=case)
        texts = {condition: set_(text) for condition, text in templates.items()}
        forms_of = defaultdict(set)
        for text in texts.values():
            for slot, form in REFERENCE.findall(text):
                forms_of[slot].add(form)
        slots = {slot: set_(pattern) for slot, pattern in spec.get("slots", {}).items()}
        choices = {slot: self._choices(pattern, forms_of[slot]) for slot, pattern in slots.items()}
        empty = [f"{slot}: {slots[slot]}" for slot, forms in choices.items() if not forms]
        require(not empty, f"{spec}: no word fits {empty}")

        def fill(chance: random.Random) -> dict[str, str]:
            drawn: dict[str, str] = {}
            for slot, forms in choices.items():
                same = next((drawn[s] for s in spec.get("same", []) if s in drawn and slot in spec["same"]), None)
                # No word is used twice in an item: "the dog near the dog" would test nothing.
                lemmas = [same] if same else [lemma for lemma in forms if lemma not in drawn.values()]
                drawn[slot] = lemmas[int(chance.random() * len(lemmas))]
            spelled = lambda match: choices[match[1]][drawn[match[1]]][match[2]]  # noqa: E731
            return {condition: REFERENCE.sub(spelled, text) for condition, text in texts.items()}

        return fill

    def _substitute(self, text: str, case: dict[str, str]) -> str:
        """Replace `$x` by its value, `$~x` by the opposite of it."""
        return re.sub(r"\$(~?)(\w+)", lambda m: self.opposite[case[m[2]]] if m[1] else case[m[2]], text)

    def _choices(self, pattern: str, forms: set[str]) -> dict[str, dict[str, str]]:
        """The lemmas that fit a slot and have all its forms, each with these forms: `{"dog": {" num=pl": "dogs"}}`."""
        included, *excluded = pattern.split(" - ")
        barred = {entry.lemma for other in excluded for entry in self._matching(other)}
        by_lemma = defaultdict(list)
        for entry in self._matching(included):
            if entry.lemma not in barred:
                by_lemma[entry.lemma].append(entry)
        choices: dict[str, dict[str, Any]] = {}
        for lemma, entries in by_lemma.items():
            spelled = {form: next((e.word for e in entries if _fits(e, _features(form))), None) for form in forms}
            if None not in spelled.values():
                choices[lemma] = spelled
        return choices

    def _matching(self, pattern: str) -> list[WordForm]:
        ((category, brackets, lemmas),) = re.findall(r"\A(\w+)(?:\[(.*)\])?(?::(.+))?\Z", pattern)
        features = _features(brackets.replace(",", " "))
        among = lemmas.split("|") if lemmas else None
        entries = [e for e in self.lexicon[category] if _fits(e, features) and (not among or e.lemma in among)]
        missing = set(among or ()) - {entry.lemma for entry in entries}
        require(not missing, f"{pattern}: not in the lexicon: {missing}")
        return entries

    def spell(self, text: str) -> tuple[str, ...]:
        return spell(text.split(), self.sandhi)

    def condition(self, name: str, text: str, grammatical: bool) -> Condition:
        """Spell a sentence as a whole, then cut it into its regions again."""
        regions = [region.split() for region in text.split("|")]
        words = iter(self.spell(text.replace("|", " ")))
        return Condition(name, tuple(tuple(itertools.islice(words, len(region))) for region in regions), grammatical)


def _cases(each: dict | list) -> list[dict[str, str]]:
    if isinstance(each, list):
        return each
    return [dict(zip(each, values, strict=True)) for values in itertools.product(*each.values())]


def _features(text: str) -> Features:
    pairs: Iterator[list[str]] = (item.split("=") for item in text.split())
    return {name: frozenset(values.split("|")) for name, values in pairs}


def _fits(entry: WordForm, features: Features) -> bool:
    return all(values & entry.features.get(name, values) for name, values in features.items())
