"""Turn a derivation of the grammar into a sentence, its dependency tree, its brackets and its enhanced graph.

A derivation is a tree of rules. All four are computed from it, so they can never contradict one another:

    words      There is a difference .
    tree       There <-expl- is, a <-det- difference, difference <-nsubj- is, . <-punct- is      (heads 2 0 4 2 2)
    brackets   (S (NP (EX There)) (VP (VBZ is) (NP (DT a) (NN difference))) (. .))
    graph      the tree, and arcs that a tree cannot have: subjects of infinitives, antecedents of relative clauses

The tree is projective by construction: every phrase is a contiguous span of words with one head. Where English is not
projective ("what Mary thinks that John saw": `what` belongs to `saw`), the fronted word depends on the clause that
contains it, and the enhanced graph has the arc from the verb whose argument it is. A stranded preposition ("who she
talked to") represents its phrase and depends on its verb, as in EWT. Brackets are flatter than the Penn Treebank's in
one respect: (NP (DT the) (NN key) (PP ...)), without an NP in the NP.

The derivation is folded from the leaves to the root. Every phrase passes two lists of open places, as (word, label)
pairs, to its parent: verbs that still need a subject, and gaps. A subject closes places of the first kind, a fronted
phrase or an antecedent those of the second. Control and raising, shared subjects of coordinated verb phrases and
long-distance dependencies all follow from that.

    >>> from dtglib.data.minilang.grammar import read_language
    >>> grammar = read_language()
    >>> derivation = sampler(grammar)(random.Random(7))
    >>> drawn = sentence(derivation, Annotation(derivation), grammar.sandhi, "drawn-1")
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

from dtglib.data.minilang.grammar import Child, Grammar, Rule
from dtglib.data.minilang.lexicon import WordForm
from dtglib.data.tokenize import detokenize
from dtglib.data.treebank import Edge, Sentence, sentence_from_rows

# Longer sentences, one in a hundred, are drawn again; a controlled fragment does not need them.
MOST_WORDS = 40


class Node(NamedTuple):
    """A rule of the grammar, with a further node or a word for each symbol of its right-hand side."""

    rule: Rule
    children: "tuple[Node | WordForm, ...]"


class TooLong(Exception):
    """The sentence that is being drawn has more words than allowed."""


def sampler(grammar: Grammar) -> Callable[..., Node]:
    """Make a function that draws a derivation by the grammar's weights: `draw(random, symbol=0, most_words=40)`."""
    steps = {symbol: list(accumulate(weights)) for symbol, weights in grammar.weights.items()}

    def draw(random: random.Random, symbol: int = 0, most_words: int = MOST_WORDS) -> Node:
        left = most_words

        def expand(symbol: int) -> Node | WordForm:
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

        derivation = expand(symbol)
        assert isinstance(derivation, Node), "words are not drawn by themselves"
        return derivation

    return draw


def leaves(node: Node | WordForm) -> list[WordForm]:
    """The words of a derivation, as entries of the lexicon."""
    if isinstance(node, WordForm):
        return [node]
    return [entry for child in node.children for entry in leaves(child)]


def spell(words: Sequence[str], sandhi: dict[str, list[str]]) -> tuple[str, ...]:
    """Spell the words: `a` before `old` becomes `an`, and the first letter becomes a capital."""
    words = list(words)
    for i, word in enumerate(words[:-1]):
        if word in sandhi and re.search(sandhi[word][1], words[i + 1]):
            words[i] = sandhi[word][0]
    return (words[0][0].upper() + words[0][1:], *words[1:])


# Folding a derivation.


class Place(NamedTuple):
    """A word that still needs a dependent, and the label that the dependent will have."""

    word: int
    label: str


class Relative(NamedTuple):
    """A relative pronoun, and the open places that its antecedent will fill."""

    pronoun: int
    places: tuple[Place, ...]


class Phrase(NamedTuple):
    """The result of folding a phrase: its head word or, if that is 0, parts that will depend on its parent's head."""

    head: int
    parts: tuple[tuple[str, int], ...] = ()
    subjects: tuple[Place, ...] = ()  # verbs that still need a subject
    gaps: tuple[Place, ...] = ()
    relative: Relative | None = None


class Annotation:
    """The arcs of one sentence, computed by folding its derivation. Words are numbered from 1, 0 is ROOT."""

    def __init__(self, node: Node):
        self.entries = leaves(node)
        self.heads = [0] * (len(self.entries) + 1)
        self.labels = ["root"] * (len(self.entries) + 1)
        self.instead: dict[int, list[Place]] = {}  # words whose arc in the graph differs from the tree
        self.besides: list[tuple[int, Place]] = []  # arcs that only the graph has
        self._next = 0
        self._fold(node)

    def _fold(self, node: Node | WordForm) -> Phrase:
        if isinstance(node, WordForm):
            self._next += 1
            return Phrase(self._next)
        rule = node.rule
        # Children are found by label, which is unique within a rule.
        children = {child.label: self._fold(part) for child, part in zip(rule.children, node.children, strict=True)}
        if "^" not in children:
            return Phrase(0, parts=tuple((label, phrase.head) for label, phrase in children.items()))
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
                        subjects = ()  # "there seems to be a dog": the dog is not the subject of "seems"
        return Phrase(head, (), subjects, gaps, relative)

    def _open_places(self, rule: Rule, children: dict[str, Phrase]) -> tuple[tuple[Place, ...], tuple[Place, ...]]:
        """The open subjects and gaps of a phrase, before its own subject or fronted phrase fills them."""
        head = children["^"]
        subjects = ((Place(head.head, rule.misses),) if rule.misses else ()) + head.subjects
        gaps = ((Place(head.head, self._label_of_gap(rule, children)),) if rule.gap else ()) + head.gaps
        controller, controlled = rule.control or ("", "")
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
        """`obj`, or `obl:to` if the preposition was stranded."""
        stranded = children.get("obl") if rule.gap == "obl" else None
        return f"obl:{self.entries[stranded.head - 1].lemma}" if stranded else rule.gap or ""

    def _attach(self, word: int, head: int, label: str) -> None:
        self.heads[word], self.labels[word] = head, label

    def _take(self, child: Child, word: int, head: int, places: tuple[Place, ...]) -> Relative | None:
        """Attach a subject or a fronted word to its places; the first of them becomes its arc in the tree.

        A relative pronoun fills no place in the graph: it is returned with the places, which its antecedent will fill.
        """
        self._attach(word, head, "obl" if places[0].label.startswith("obl:") else places[0].label)
        if child.category == "RelPro":
            return Relative(word, places)
        if places[0].word != head or places[0].label != self.labels[word]:
            self.instead[word] = [places[0]]  # in the tree it depends on its clause, in the graph on its verb
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
        """The edges of each word: the tree's, with prepositions and conjunctions in the labels, and additional ones."""
        edges: list[set[tuple[int, str]]] = [set() for _ in self.heads]
        for word in range(1, len(self.heads)):
            own = Place(self.heads[word], self._enhanced_label(word))
            edges[word] |= set(self.instead.get(word, [own]))
        for word, place in self.besides:
            edges[word].add(place)
        for word in range(1, len(self.heads)):
            if self.labels[word] == "conj":
                # "John and Mary want to sleep": Mary is a subject of both verbs, too. ROOT's arc is not copied: two
                # roots would be two sentences.
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
    """The place of an infinitive's subject, relabelled because the subject is outside of the infinitive."""
    is_subject = place.label in ("nsubj", "nsubj:pass")
    return Place(place.word, f"{place.label}:xsubj") if is_subject else place


# Next to such a sibling, a phrase of its parent's kind keeps its bracket: (VP (MD can) (VP ...)), (S (S ...) and ..)
KEEPS_BRACKET = {"conj", "aux", "aux:pass", "cop", "mark", "+"}


def brackets(node: Node, words: tuple[str, ...]) -> str:
    """The derivation as a tree in the style of the Penn Treebank, on one line."""
    tokens = iter(words)

    def show(node: Node | WordForm, label: str, inside: str) -> str:
        if isinstance(node, WordForm):
            text = f"({node.tag} {next(tokens)})"
        else:
            children = zip(node.rule.children, node.children, strict=True)
            apart = any(child.label in KEEPS_BRACKET for child in node.rule.children)
            own = label.split()[-1] if label else inside
            wrapped, *wrappers = node.rule.inside or ("",)
            parts = []
            for child, part in children:
                around = wrappers if child.label == wrapped else []
                label_of_part = " ".join([*around, child.bracket if isinstance(part, WordForm) else part.rule.bracket])
                parts.append(show(part, label_of_part, own if child.label == "^" and not apart else ""))
            text = " ".join(parts)
        for name in reversed(label.split()):
            if name != inside:
                text = f"({name} {text})"
        return text

    return show(node, node.rule.bracket, "")


def sentence(node: Node, annotation: Annotation, sandhi: dict[str, list[str]], identifier: str) -> Sentence:
    """The sentence of a derivation with its whole annotation; `annotation` has the arcs."""
    words = spell([entry.word for entry in annotation.entries], sandhi)
    text = detokenize(words)
    rows, place = [], 0
    for i, (word, edges) in enumerate(zip(words, annotation.graph, strict=True), start=1):
        place += len(word)
        glued = i < len(words) and text[place] != " "
        place += not glued
        entry = annotation.entries[i - 1]
        morphology = (entry.lemma, entry.pos, entry.tag, entry.feats)
        deps = "|".join(f"{edge.head}:{edge.label}" for edge in edges)
        head, label = str(annotation.heads[i]), annotation.labels[i]
        rows.append((str(i), word, *morphology, head, label, deps, "SpaceAfter=No" if glued else "_"))
    comments = (f"# sent_id = {identifier}", f"# text = {text}")
    return replace(sentence_from_rows(rows, comments), brackets=brackets(node, words))
