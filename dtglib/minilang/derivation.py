"""From one derivation of the grammar to a sentence, its dependency tree, its brackets and its enhanced graph.

A derivation is a tree of rules. Four things are read off it, so they can never contradict one another:

    words      There is a difference .
    tree       There <-expl- is, a <-det- difference, difference <-nsubj- is, . <-punct- is      (heads 2 0 4 2 2)
    brackets   (S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))) (. .))
    graph      the tree, and what a tree cannot say: who is the subject of an infinitive, what a relative clause misses

The tree is projective by construction: every phrase is a stretch of words with one head. Where English is not ("what
Mary thinks that John saw": `what` belongs to `saw`), the fronted word hangs on the clause it stands in, and the
enhanced graph has the arc from the verb that misses it. A preposition that is left behind ("who she talked to")
stands for its phrase and hangs on its verb, as in EWT. Brackets are flatter than the Penn Treebank's in one respect:
(NP (DT the) (NN key) (PP ...)), without an NP in the NP.

While the derivation is folded from the leaves to the root, every phrase hands up two lists of open places, as
(word, label) pairs: subjects that its verbs still wait for, and gaps. A subject closes the first kind, a fronted
phrase or an antecedent the second. Control and raising, shared subjects of coordinated verb phrases and long-distance
dependencies all follow from that.

    >>> from dtglib.minilang.grammar import read_language
    >>> grammar = read_language()
    >>> derivation = sampler(grammar)(random.Random(7))
    >>> drawn = sentence(derivation, Structure(derivation), grammar.sandhi, "drawn-1")
    >>> drawn.text, drawn.heads
    ('He gives the expensive poem to some quiet waitress.', (2, 0, 5, 5, 2, 9, 9, 9, 2, 2))
"""

import random
import re
from bisect import bisect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from dtglib.minilang.grammar import Child, Grammar, Rule
from dtglib.minilang.lexicon import Entry
from dtglib.text import detokenize
from dtglib.treebank import Edge, Sentence, sentence_from_rows

# Longer sentences are drawn again. One in a hundred is; no reader of a controlled fragment needs them.
MOST_WORDS = 40


class Node(NamedTuple):
    """A rule of the grammar and what its right-hand side became: further nodes, or words."""

    rule: Rule
    children: "tuple[Node | Entry, ...]"


class TooLong(Exception):
    """The sentence being drawn has more words than asked for."""


def sampler(grammar: Grammar) -> Callable[..., Node | Entry]:
    """A function that draws a derivation by the grammar's weights: `draw(random, symbol=0, most_words=40)`."""
    steps = {symbol: list(accumulate(weights)) for symbol, weights in grammar.weights.items()}

    def draw(random: random.Random, symbol: int = 0, most_words: int = MOST_WORDS) -> Node | Entry:
        left = most_words

        def expand(symbol: int) -> Node | Entry:
            nonlocal left
            if symbol in grammar.words:
                left -= 1
                if left < 0:
                    raise TooLong
                entries = grammar.words[symbol]
                return entries[int(random.random() * len(entries))]
            cumulated = steps[symbol]
            ground = grammar.expansions[symbol][bisect(cumulated, random.random() * cumulated[-1])]
            return Node(ground.rule, tuple(map(expand, ground.symbols)))

        return expand(symbol)

    return draw


def leaves(node: Node | Entry) -> list[Entry]:
    """The words of a derivation, as entries of the lexicon."""
    if isinstance(node, Entry):
        return [node]
    return [entry for child in node.children for entry in leaves(child)]


def spell(words: Sequence[str], sandhi: dict[str, list[str]]) -> tuple[str, ...]:
    """The words as they are written: `a` before `old` becomes `an`, and the first letter is a capital."""
    words = list(words)
    for i, word in enumerate(words[:-1]):
        if word in sandhi and re.search(sandhi[word][1], words[i + 1]):
            words[i] = sandhi[word][0]
    return (words[0][0].upper() + words[0][1:], *words[1:])


# Folding a derivation.


class Place(NamedTuple):
    """A word that waits for a dependent, and the label that the dependent will have."""

    word: int
    label: str


class Relative(NamedTuple):
    """A relative pronoun, and the places that it keeps for its antecedent."""

    pronoun: int
    places: tuple[Place, ...]


class Phrase(NamedTuple):
    """What a phrase hands up: its head word, or the loose parts that its parent's head is to take."""

    head: int | None
    parts: tuple[tuple[str, int], ...] = ()
    subjects: tuple[Place, ...] = ()  # verbs that wait for a subject
    gaps: tuple[Place, ...] = ()
    relative: Relative | None = None


class Structure:
    """The arcs of one sentence, filled in by folding its derivation. Words are numbered from 1, 0 is ROOT."""

    def __init__(self, node: Node):
        self.entries = leaves(node)
        self.heads = [0] * (len(self.entries) + 1)
        self.labels = ["root"] * (len(self.entries) + 1)
        self.instead: dict[int, list[Place]] = {}  # words whose arc in the graph is not that of the tree
        self.besides: list[tuple[int, Place]] = []  # arcs that the graph has over and above
        self._next = 0
        self._fold(node)

    def _fold(self, node: Node | Entry) -> Phrase:
        if isinstance(node, Entry):
            self._next += 1
            return Phrase(self._next)
        rule = node.rule
        # By label: no rule has two children of one label that its keys speak of.
        children = {child.label: self._fold(part) for child, part in zip(rule.children, node.children, strict=True)}
        if "^" not in children:
            return Phrase(None, parts=tuple((label, phrase.head) for label, phrase in children.items()))
        head, relative = children["^"].head, children["^"].relative
        subjects, gaps = self._open_places(rule, children)
        for child, phrase in zip(rule.children, children.values(), strict=True):
            match child.label:
                case "^":
                    continue
                case "+":
                    for label, word in phrase.parts:
                        self._attach(word, head, label)
                case "quant":
                    self._attach(phrase.head, head, "amod" if self.entries[phrase.head - 1].pos == "ADJ" else "det")
                case "subj":
                    relative = self._take(child, phrase.head, head, subjects) or relative
                    subjects = ()
                case "filler":
                    relative = self._take(child, phrase.head, head, gaps) or relative
                    gaps = ()
                case "acl:relcl":
                    self._attach(phrase.head, head, "acl:relcl")
                    self._fill_relative(head, phrase)
                case label:
                    self._attach(phrase.head, head, label)
                    if label == "expl" and not rule.control:
                        subjects = ()  # "there seems to be a dog": what there is, is no subject of seeming
        return Phrase(head, (), subjects, gaps, relative)

    def _open_places(self, rule: Rule, children: dict[str, Phrase]) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
        """The subjects and gaps that a phrase still misses, before its own subject or fronted phrase is looked at."""
        head = children["^"]
        subjects = ((Place(head.head, rule.misses),) if rule.misses else ()) + head.subjects
        gaps = ((Place(head.head, self._label_of_gap(rule, children)),) if rule.gap else ()) + head.gaps
        controller, controlled = rule.control or (None, None)
        for label, phrase in children.items():
            if label in ("^", "acl:relcl"):
                continue
            if label == rule.raises:
                subjects += phrase.gaps
                continue
            gaps += phrase.gaps
            if label == rule.subject_gap:
                gaps += phrase.subjects
            elif label == controlled:
                if controller != "expl":
                    self.besides += [(children[controller].head, _of_infinitive(place)) for place in phrase.subjects]
            elif label == "xcomp":
                subjects += tuple(map(_of_infinitive, phrase.subjects))
            elif label == "conj":
                subjects += phrase.subjects
        return subjects, gaps

    def _label_of_gap(self, rule: Rule, children: dict[str, Phrase]) -> str:
        """`obj`, or `obl:to` where the preposition was left behind."""
        stranded = children.get("obl") if rule.gap == "obl" else None
        return f"obl:{self.entries[stranded.head - 1].lemma}" if stranded else rule.gap

    def _attach(self, word: int, head: int, label: str) -> None:
        self.heads[word], self.labels[word] = head, label

    def _take(self, child: Child, word: int, head: int, places: tuple[Place, ...]) -> Relative | None:
        """A subject or a fronted word takes its places, the first of them as its arc in the tree.

        A relative pronoun takes none: it keeps them for the antecedent.
        """
        self._attach(word, head, "obl" if places[0].label.startswith("obl:") else places[0].label)
        if child.category == "RelPro":
            return Relative(word, places)
        if places[0].word != head or places[0].label != self.labels[word]:
            self.instead[word] = [places[0]]  # the tree has it on its clause, the graph where it belongs
        self.besides += [(word, place) for place in places[1:]]
        return None

    def _fill_relative(self, antecedent: int, clause: Phrase) -> None:
        places = clause.gaps
        if clause.relative:
            pronoun, places = clause.relative
            self.instead[pronoun] = [Place(antecedent, "ref")]
        self.besides += [(antecedent, place) for place in places]

    # The enhanced graph.

    @cached_property
    def graph(self) -> tuple[tuple[Edge, ...], ...]:
        """Per word its edges: the tree's with prepositions and conjunctions in the labels, and those besides."""
        edges: list[set[tuple[int, str]]] = [set() for _ in self.heads]
        for word in range(1, len(self.heads)):
            own = Place(self.heads[word], self._enhanced_label(word))
            edges[word] |= set(self.instead.get(word, [own]))
        for word, place in self.besides:
            edges[word].add(place)
        for word in range(1, len(self.heads)):
            if self.labels[word] == "conj":
                # "John and Mary want to sleep": Mary wants to, and would. (Two roots would be two sentences.)
                edges[word] |= {edge for edge in edges[self.heads[word]] if edge[0] not in (0, word)}
        return tuple(tuple(Edge(str(head), label) for head, label in sorted(e)) for e in edges[1:])

    def _enhanced_label(self, word: int) -> str:
        label = self.labels[word]
        marker = {"nmod": "case", "obl": "case", "conj": "cc", "advcl": "mark"}.get(label)
        for other in range(1, len(self.heads)):
            if marker and self.heads[other] == word and self.labels[other] == marker:
                return f"{label}:{self.entries[other - 1].lemma}"
        return label


def _of_infinitive(place: Place) -> Place:
    """A place as it is called from outside of an infinitive: what misses a subject there, has it from elsewhere."""
    is_subject = place.label in ("nsubj", "nsubj:pass")
    return Place(place.word, f"{place.label}:xsubj") if is_subject else place


# Siblings beside which a phrase of the parent's own kind keeps its bracket: (VP (MD can) (VP ...)), (S (S ...) and ..)
KEEPS_BRACKET = {"conj", "aux", "aux:pass", "cop", "mark", "+"}


def brackets(node: Node | Entry, words: tuple[str, ...]) -> str:
    """The derivation as a tree in the manner of the Penn Treebank, on one line."""
    tokens = iter(words)

    def show(node: Node | Entry, label: str, inside: str) -> str:
        if isinstance(node, Entry):
            text = f"({node.tag} {next(tokens)})"
        else:
            children = zip(node.rule.children, node.children, strict=True)
            apart = any(child.label in KEEPS_BRACKET for child in node.rule.children)
            own = label.split()[-1] if label else inside
            wrapped, *wrappers = node.rule.inside or ("",)
            parts = []
            for child, part in children:
                around = wrappers if child.label == wrapped else []
                label_of_part = " ".join([*around, child.bracket if isinstance(part, Entry) else part.rule.bracket])
                parts.append(show(part, label_of_part, own if child.label == "^" and not apart else ""))
            text = " ".join(parts)
        for name in reversed(label.split()):
            if name != inside:
                text = f"({name} {text})"
        return text

    return show(node, node.rule.bracket, "")


def sentence(node: Node, structure: Structure, sandhi: dict[str, list[str]], identifier: str) -> Sentence:
    """Everything that minilang knows of one derivation, whose arcs are `structure`."""
    words = spell([entry.word for entry in structure.entries], sandhi)
    text = detokenize(words)
    rows, place = [], 0
    for i, (word, edges) in enumerate(zip(words, structure.graph, strict=True), start=1):
        place += len(word)
        glued = i < len(words) and text[place] != " "
        place += not glued
        entry = structure.entries[i - 1]
        morphology = (entry.lemma, entry.pos, entry.tag, entry.feats)
        deps = "|".join(f"{edge.head}:{edge.label}" for edge in edges)
        head, label = str(structure.heads[i]), structure.labels[i]
        rows.append((str(i), word, *morphology, head, label, deps, "SpaceAfter=No" if glued else "_"))
    comments = (f"# sent_id = {identifier}", f"# text = {text}")
    return replace(sentence_from_rows(rows, comments), brackets=brackets(node, words))
