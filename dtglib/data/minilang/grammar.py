"""Turn the two files of a language, `grammar.yaml` and `lexicon.yaml`, into a plain weighted context-free grammar.

The files have categories with features, `NP[num=sg,kind=m]`, which people can read. A sampler and a recogniser need
plain symbols. As every feature has only a few values, each rule is *grounded*: written out once for every
assignment of its variables that can occur in a derivation from `Top`. With the rule

    Clause:  nsubj/NP[num,kind,case=nom,npi,neg=no] ^/VPfin[num,kind,npi,gap]

`num=sg, kind=m` gives one plain rule, "There is a difference" comes from another with `kind=there`, and agreement holds
by construction. Ground rules whose symbols derive no words are pruned, so sampling has no dead ends. After pruning, the
weight of a rule is divided among its groundings in proportion to the weights of the feature values.

If a rule leaves a feature of a class of words open, it stays open (`V[frame=tr,form=part,...]` with any number), since
nothing else has to agree with it.
"""

import functools
import itertools
import math
import operator
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import NamedTuple

import yaml

from dtglib.basics.errors import require
from dtglib.data.minilang.lexicon import WordForm, read_lexicon

# The keys of the right-hand sides in the grammar, by language; those of English are read here.
SIDE = "en"
SIDES = (SIDE, "de")


# A feature's pattern in a rule: its name, the name of its variable, and the values that it may take there.
class Pattern(NamedTuple):
    feature: str
    variable: str
    allowed: frozenset[str]


# A plain symbol: a category and, for each feature, the values that it admits (only classes of words admit several).
Symbol = tuple[str, tuple[frozenset[str], ...]]


class Child(NamedTuple):
    """One position of a right-hand side: `obj/NP[kind=k,case=acc,npi]`."""

    label: str
    category: str
    patterns: tuple[Pattern, ...]
    bracket: str  # for a class of words: the label of the phrase that such a word forms by itself


@dataclass(frozen=True)
class Rule:
    """A rule as it is in the file, in one language."""

    name: str
    parent: str
    patterns: tuple[Pattern, ...]
    variables: tuple[Pattern, ...]
    weight: float
    children: tuple[Child, ...]
    gap: str | None = None
    control: tuple[str, str] | None = None
    subject_gap: str | None = None
    raises: str | None = None
    bracket: str = ""  # the bracket label, or two, one inside the other
    inside: tuple[str, ...] = ()  # the label of a child, and additional brackets around that child
    misses: str | None = None  # for a predicate: the label of the subject that it still needs


class Ground(NamedTuple):
    """A rule with all its variables assigned: `symbols` are the children's, by number."""

    rule: Rule
    symbols: tuple[int, ...]


@dataclass
class Grammar:
    """A plain weighted context-free grammar; symbol 0 is the start."""

    categories: dict[str, dict]
    sandhi: dict[str, list[str]]
    symbols: list[Symbol] = field(default_factory=list)
    expansions: dict[int, list[Ground]] = field(default_factory=dict)  # phrases
    weights: dict[int, list[float]] = field(default_factory=dict)
    words: dict[int, list[WordForm]] = field(default_factory=dict)  # classes of words


@functools.cache
def read_language() -> Grammar:
    """The grounded grammar, made once per process (in about a second)."""
    return _Grounding(read_source("grammar"), read_source("lexicon")).grammar()


def read_source(name: str) -> dict:
    """Read one of the files of the language. Every scalar is a string, because `no`, `on` and `off` are words here."""
    text = (files("dtglib.data.minilang") / "english" / f"{name}.yaml").read_text("utf-8")
    return yaml.load(text, Loader=yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader)


class _Grounding:
    """The state while a grammar is grounded: its features, its rules, and the symbols found so far."""

    def __init__(self, source: dict, words: dict):
        self.features = source["features"]
        self.priors = {
            name: {value: float(weight) for value, weight in spec["values"].items()}
            for name, spec in self.features.items()
        }
        self.domains = {name: frozenset(spec["values"]) for name, spec in self.features.items()}
        self.categories = source["categories"]
        self.entries = read_lexicon(words)
        self.sandhi = words["sandhi"]
        self.rules = {
            category: [self._parse_rule(category, line) for line in lines]
            for category, lines in source["rules"].items()
        }
        unknown = set(self.rules) | set(self.entries)
        require(unknown == set(self.categories), f"categories without rules or words: {unknown ^ set(self.categories)}")
        for category, rules in self.rules.items():
            names = [rule.name for rule in rules]
            require(len(set(names)) == len(names), f"{category}: two rules have one name")
        self.numbers: dict[Symbol, int] = {}
        self.symbols: list[Symbol] = []

    # Reading the notation.

    def _parse_rule(self, parent: str, line: dict) -> Rule:
        known = {"w", "name", "on", *SIDES, "label", "inside", "gap", "control", "subject-gap", "raise"}
        require(set(line) <= known, f"rule {line['name']}: unknown keys {set(line) - known}")
        where = f"{parent}, rule {line['name']}"
        children = []
        for place, item in enumerate(line[SIDE].split()):
            ((label, category, brackets),) = re.findall(r"\A([^/]+)/(\w+)(?:\[(.*)\])?\Z", item)
            patterns = self._parse_features(category, brackets, where, str(place))
            alone = ""
            if category in self.entries:
                alone, patterns = self.categories[category].get("label", ""), self._narrow(category, patterns)
            children.append(Child(label, category, patterns, alone))
        labels = [child.label for child in children]
        require(len(set(labels)) == len(labels), f"{where}: each label may occur only once in a rule")
        on = self._parse_features(parent, line.get("on", "[]")[1:-1], where, "on")
        return Rule(
            name=line["name"],
            parent=parent,
            patterns=on,
            variables=self._variables(on, children),
            weight=float(line["w"]),
            children=tuple(children),
            gap=line.get("gap"),
            control=tuple(line["control"].split(">")) if "control" in line else None,
            subject_gap=line.get("subject-gap"),
            raises=line.get("raise"),
            bracket=line.get("label", self.categories[parent].get("label", "")),
            inside=tuple(line.get("inside", "").split()),
            misses=self.categories[parent].get("predicate"),
        )

    def _parse_features(self, category: str, brackets: str, where: str, place: str) -> tuple[Pattern, ...]:
        given: dict[str, str] = {}
        for item in filter(None, brackets.split(",")):
            name, _, value = item.partition("=")
            given[name] = value or name
        names = self.categories[category]["features"]
        require(set(given) <= set(names), f"{where}: {category} has no {set(given) - set(names)}")
        patterns = []
        for name in names:
            spec, domain = self.features[name], self.domains[name]
            value = str(given.get(name, spec.get("default", f"?{place}.{name}")))
            require(name in given or place == "on" or "explicit" not in spec, f"{where}: {category} needs {name}")
            variable, _, choice = value.rpartition(":")
            if frozenset(choice.split("|")) <= domain:
                # A choice on the left of a rule may be used on its right; a choice on the right stands alone.
                variable = variable or (name if place == "on" else f"?{place}.{name}")
                patterns.append(Pattern(name, variable, frozenset(choice.split("|"))))
            else:
                require("|" not in choice, f"{where}: {category}[{name}={value}] is neither values nor a variable")
                patterns.append(Pattern(name, choice, domain))
        return tuple(patterns)

    def _narrow(self, category: str, patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
        """Restrict each variable to values that some word has (particles of particle verbs). Ten times fewer rules."""
        matching = self._matching(category, tuple(pattern.allowed for pattern in patterns))
        return tuple(
            pattern._replace(
                allowed=pattern.allowed & frozenset().union(*(_admitted(entry, pattern) for entry in matching))
            )
            for pattern in patterns
        )

    # Writing the rules out.

    def grammar(self) -> Grammar:
        grammar = Grammar(self.categories, self.sandhi)
        self._number(("Top", ()))
        todo = 0
        while todo < len(self.symbols):
            category, values = self.symbols[todo]
            if category in self.entries:
                # The sampler gets one reading of each word: `see` takes persons and things, but is not twice as likely.
                readings = {(entry.word, entry.lemma): entry for entry in self._matching(category, values)}
                grammar.words[todo] = list(readings.values())
            else:
                pairs = list(self._expand(category, values))
                grammar.expansions[todo] = [ground for ground, _ in pairs]
                grammar.weights[todo] = [prior for _, prior in pairs]
            todo += 1
        grammar.symbols = self.symbols
        _prune(grammar)
        for symbol, grounds in grammar.expansions.items():
            grammar.weights[symbol] = _share_out(grounds, grammar.weights[symbol])
        return grammar

    def _number(self, symbol: Symbol) -> int:
        if symbol not in self.numbers:
            self.numbers[symbol] = len(self.symbols)
            self.symbols.append(symbol)
        return self.numbers[symbol]

    def _matching(self, category: str, values: tuple[frozenset[str], ...]) -> list[WordForm]:
        """The words of a class that admit these features."""
        entries, masks = self.entries[category], self._masks(category)
        mask = (1 << len(entries)) - 1
        for name, admitted in zip(self.categories[category]["features"], values, strict=True):
            mask &= functools.reduce(operator.or_, (masks[name, value] for value in admitted))
        return [entry for i, entry in enumerate(entries) if mask >> i & 1] if mask else []

    @functools.cache  # noqa: B019 - it lives as long as the grounding, which is dropped when the grammar is made
    def _masks(self, category: str) -> dict[tuple[str, str], int]:
        """For each feature and value, the words that admit it, as the bits of an integer; looked up very often."""
        return {
            (name, value): sum(
                1 << i for i, entry in enumerate(self.entries[category]) if value in entry.features.get(name, {value})
            )
            for name in self.categories[category]["features"]
            for value in self.domains[name]
        }

    def _expand(self, category: str, values: tuple[frozenset[str], ...]) -> Iterator[tuple[Ground, float]]:
        """The groundings of a symbol's rules, each with the weight of its feature values."""
        for rule in self.rules[category]:
            allowed = {variable.variable: variable.allowed for variable in rule.variables}
            for pattern, own in zip(rule.patterns, values, strict=True):
                allowed[pattern.variable] &= own
            if not all(allowed.values()):
                continue  # the parent does not fit
            for assignment in itertools.product(*map(sorted, allowed.values())):
                bound = dict(zip(allowed, assignment, strict=True))
                ground = Ground(rule, tuple(self._number(self._child_symbol(c, bound)) for c in rule.children))
                weights = (self.priors[variable.feature][bound[variable.variable]] for variable in rule.variables)
                yield ground, math.prod(weights, start=1.0)

    def _variables(self, patterns: tuple[Pattern, ...], children: list[Child]) -> tuple[Pattern, ...]:
        """The variables of a rule with their allowed values; the parent's variables come first.

        A variable that stands for several features (a verb's object and a noun's kind) has the weights of the first.
        """
        variables: dict[str, Pattern] = {}
        in_children = (p for child in children for p in child.patterns if not self._stays_open(child, p))
        for pattern in itertools.chain(patterns, in_children):
            first = variables.setdefault(pattern.variable, pattern)
            variables[pattern.variable] = first._replace(allowed=first.allowed & pattern.allowed)
        return tuple(variables.values())

    def _stays_open(self, child: Child, pattern: Pattern) -> bool:
        return child.category in self.entries and pattern.variable.startswith("?")

    def _child_symbol(self, child: Child, bound: dict[str, str]) -> Symbol:
        return child.category, tuple(
            pattern.allowed if self._stays_open(child, pattern) else frozenset([bound[pattern.variable]])
            for pattern in child.patterns
        )


def _admitted(entry: WordForm, pattern: Pattern) -> frozenset[str]:
    return entry.features.get(pattern.feature, pattern.allowed)


def _share_out(grounds: list[Ground], priors: list[float]) -> list[float]:
    """Divide each rule's weight among its groundings in proportion to the weights of their feature values."""
    total: dict[str, float] = defaultdict(float)
    for ground, prior in zip(grounds, priors, strict=True):
        total[ground.rule.name] += prior
    return [g.rule.weight * prior / total[g.rule.name] for g, prior in zip(grounds, priors, strict=True)]


def _prune(grammar: Grammar) -> None:
    """Drop every ground rule that can derive no words."""
    productive = {symbol for symbol, entries in grammar.words.items() if entries}
    waiting = [(symbol, set(ground.symbols)) for symbol, gs in grammar.expansions.items() for ground in gs]
    while True:
        new = {symbol for symbol, needs in waiting if symbol not in productive and needs <= productive}
        if not new:
            break
        productive |= new
    for symbol, grounds in grammar.expansions.items():
        keep = [i for i, ground in enumerate(grounds) if productive.issuperset(ground.symbols)]
        grammar.weights[symbol] = [grammar.weights[symbol][i] for i in keep]
        grammar.expansions[symbol] = [grounds[i] for i in keep]
