"""minilang's corpus: words, tree, brackets and graph of one derivation; splits that share nothing; the same bytes."""

import hashlib
import itertools
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache
from importlib.resources import files

import brute
import pytest
import yaml
from minilang_samples import SIZES, grammar, split

from dtglib.basics.cache_folder import cache_folder
from dtglib.basics.errors import UserError
from dtglib.basics.progress import quiet
from dtglib.data import minilang
from dtglib.data.brackets import parse_brackets
from dtglib.data.minilang import corpus
from dtglib.data.minilang.derivation import Annotation, spell
from dtglib.data.minilang.derivation import sentence as as_sentence
from dtglib.data.minilang.templates import evaluation_sentences
from dtglib.data.projectivity import is_projective
from dtglib.data.tokenize import detokenize, tokenize
from dtglib.data.treebank import Sentence, Treebank, format_conllu, read_conllu, trees_only, write_conllu

# SHA-256 of the bytes that seed 0 gives on every machine. After a change of grammar, lexicon or templates they differ;
# renew them, in the same commit as the change, with what this prints: python tests/test_minilang_corpus.py
CHECKSUMS = {
    "train": "1fb73d315d6fff0aeab5dc5dc17898722e5a93c57d4b4cad06ef6d71938eca11",
    "pairs": "96d2a6791d5da9d96046cd85dd02f9904256cb18bae655bd652ac7f25511e0eb",
    "suites": "120b10eeefa2fa59ded80aac219b2acfcd591390f407288323688a7d1ed61a53",
}


@cache
def checksums() -> dict[str, str]:
    with quiet():
        texts = {
            "train": "".join(map(format_conllu, minilang.split("train", 2_000, seed=0))),
            "pairs": "".join(paradigm.as_json_lines() for paradigm in minilang.minimal_pairs()),
            "suites": "".join(suite.as_json() for suite in minilang.suites()),
        }
    return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}


# ---- one derivation


def test_every_tree_is_projective_and_has_one_root():
    train = split("train")
    assert trees_only(Treebank(list(train), Counter())).excluded == Counter()
    assert all(is_projective(sentence.heads) and sentence.heads.count(0) == 1 for sentence in train)


def test_the_full_stop_hangs_on_the_root():
    for sentence in split("train"):
        root = sentence.heads.index(0) + 1
        assert (sentence.words[-1], sentence.labels[-1], sentence.heads[-1]) == (".", "punct", root)


def test_the_brackets_hold_the_same_words_under_s():
    for sentence in split("train"):
        tree = parse_brackets(sentence.brackets)
        assert tree.label() == "S"
        assert tuple(tree.leaves()) == sentence.words


def test_the_brackets_have_the_tags_of_the_treebank():
    for sentence in split("dev"):
        assert [tag for _, tag in parse_brackets(sentence.brackets).pos()] == [row[4] for row in sentence.rows]


def test_nouns_stand_in_noun_phrases():
    for sentence in split("dev"):
        for phrase in parse_brackets(sentence.brackets).subtrees():
            tags = {child.label() for child in phrase if not isinstance(child, str)}
            assert phrase.label() in ("NP", "WHNP") or not tags & {"DT", "NN", "NNS", "NNP"}, sentence.brackets


def test_a_fronted_phrase_is_followed_by_a_clause():
    for sentence in split("dev"):
        for phrase in parse_brackets(sentence.brackets).subtrees(lambda tree: tree.label() == "SBAR"):
            assert phrase[-1].label() == "S", sentence.brackets


def test_what_is_written_as_conllu_is_read_again(tmp_path):
    written = [replace(sentence, brackets=None) for sentence in split("train")]  # CoNLL-U has no place for brackets
    write_conllu(tmp_path / "train.conllu", written)
    treebank = read_conllu(tmp_path / "train.conllu")
    assert treebank.sentences == written
    assert not treebank.excluded


def test_the_text_is_the_words_joined_and_gives_the_words_again():
    for sentence in split("dev"):
        assert sentence.text == detokenize(sentence.words)
        assert tokenize(sentence.text) == list(sentence.words)


def test_space_after_says_where_the_text_has_no_space():
    for sentence in split("dev"):
        spaces = ["" if row[9] == "SpaceAfter=No" else " " for row in sentence.rows]
        assert sentence.text == "".join(w + space for w, space in zip(sentence.words, spaces, strict=True)).rstrip()


# ---- the enhanced graph

# Sentence | what the graph has and the tree has not | what the tree has and the graph has not.
GRAPHS = """
    Mary wants to sleep.                           | nsubj:xsubj(sleep, Mary)                             |
    Mary wants to try to sleep.                    | nsubj:xsubj(try, Mary) nsubj:xsubj(sleep, Mary)      |
    Mary is eager to sleep.                        | nsubj:xsubj(sleep, Mary)                             |
    Mary persuaded John to sleep.                  | nsubj:xsubj(sleep, John)                             |
    Mary promised to persuade John to sleep.       | nsubj:xsubj(persuade, Mary) nsubj:xsubj(sleep, John) |
    John was persuaded to sleep.                   | nsubj:xsubj(sleep, John)                             |
    The boy who wants to sleep laughed.            | nsubj(wants, boy) nsubj:xsubj(sleep, boy) ref(boy, who) | nsubj(wants, who)
    Mary knows who wants to sleep.                 | nsubj:xsubj(sleep, who)                              |
    Mary seems to sleep.                           | nsubj:xsubj(sleep, Mary)                             |
    Mary seems to be near the park.                | nsubj:xsubj(park, Mary)                              |
    Mary is likely to seem to be old.              | nsubj:xsubj(seem, Mary) nsubj:xsubj(old, Mary)       |
    Mary believes John to sleep.                   | nsubj:xsubj(sleep, John)                             |
    John was expected to sleep.                    | nsubj:xsubj(sleep, John)                             |
    There seems to be a dog.                       |                                                      |
    Mary believes there to be a dog.               |                                                      |
    There was expected to be a dog.                |                                                      |
    It seems to be obvious that John slept.        |                                                      |
    Mary believes it to be obvious that John slept. |                                                     |
    Mary slept and laughed.                        | nsubj(laughed, Mary)                                 |
    Mary wants to sleep and laugh.                 | nsubj:xsubj(sleep, Mary) nsubj:xsubj(laugh, Mary) xcomp(wants, laugh) |
    Mary laughed and John slept.                   |                                                      |
    John and Mary slept.                           | nsubj(slept, Mary)                                   |
    Bill saw John and Mary.                        | obj(saw, Mary)                                       |
    Bill talked to John and Mary.                  | obl:to(talked, Mary)                                 |
    The dog was seen by John and Mary.             | obl:agent(seen, Mary)                                |
    The boy who slept laughed.                     | nsubj(slept, boy) ref(boy, who)                      | nsubj(slept, who)
    The boy who was seen laughed.                  | nsubj:pass(seen, boy) ref(boy, who)                  | nsubj:pass(seen, who)
    The boy who sleeps and laughs is old.          | nsubj(sleeps, boy) nsubj(laughs, boy) acl:relcl(boy, laughs) ref(boy, who) | nsubj(sleeps, who)
    The boy who Mary saw laughed.                  | obj(saw, boy) ref(boy, who)                          | obj(saw, who)
    The boy Mary saw laughed.                      | obj(saw, boy)                                        |
    The boy who Mary wants to see laughed.         | obj(see, boy) nsubj:xsubj(see, Mary) ref(boy, who)   | obj(wants, who)
    The boy that Mary thinks John saw laughed.     | obj(saw, boy) ref(boy, that)                         | obj(thinks, that)
    The boy Mary thinks that John saw laughed.     | obj(saw, boy)                                        |
    It was the book that Mary read.                | obj(read, book) ref(book, that)                      | obj(read, that)
    What Mary read was the book.                   | obj(read, What)                                      |
    Mary wonders who John saw.                     |                                                      |
    Mary wonders who John wants to see.            | obj(see, who) nsubj:xsubj(see, John)                 | obj(wants, who)
    Mary knows who John thinks saw Bill.           | nsubj(saw, who)                                      | nsubj(thinks, who)
    The book is easy to read.                      | obj(read, book)                                      |
    The book seems to be easy to read.             | nsubj:xsubj(easy, book) obj(read, book)              |
    John and Mary want to sleep.                   | nsubj(want, Mary) nsubj:xsubj(sleep, John) nsubj:xsubj(sleep, Mary) |
    John and Mary slept and laughed.               | nsubj(slept, Mary) nsubj(laughed, John) nsubj(laughed, Mary) |
    Bill persuaded John and Mary to sleep.         | obj(persuaded, Mary) nsubj:xsubj(sleep, John) nsubj:xsubj(sleep, Mary) |
    John wants to be seen.                         | nsubj:pass:xsubj(seen, John)                         |
    The boy Mary talked to laughed.                | obl:to(talked, boy)                                  |
"""  # noqa: E501


def rows(table: str) -> list[tuple[str, set[str], set[str]]]:
    cells = [[cell.strip() for cell in row.split("|")] for row in table.strip().split("\n")]
    return [(text, relations(more), relations(less)) for text, more, less in cells]


def relations(text: str) -> set[str]:
    return {relation.strip() + ")" for relation in text.split(")") if relation.strip()}


def differences(sentence: Sentence) -> tuple[set[str], set[str]]:
    """The arcs of the graph that the tree has not, and those of the tree that the graph has not."""
    more, less = set(), set()
    for word, head, label, edges in zip(
        sentence.words, sentence.heads, sentence.labels, sentence.enhanced, strict=True
    ):
        # The graph's labels may say more: obl:to for obl.
        shared = [edge for edge in edges if edge.head == str(head) and (edge.label + ":").startswith(label + ":")]
        more |= {f"{edge.label}({sentence.words[int(edge.head) - 1]}, {word})" for edge in edges if edge not in shared}
        less |= set() if shared else {f"{label}({sentence.words[head - 1]}, {word})"}
    return more, less


def readings(text: str) -> list[Sentence]:
    """One sentence for each derivation of a text."""
    found = [
        as_sentence(node, Annotation(node), grammar().sandhi, "hand-checked")
        for node in brute.derivations(grammar(), tokenize(text))
    ]
    assert found, f"not in the language: {text}"
    return found


@pytest.mark.parametrize(("text", "more", "less"), rows(GRAPHS), ids=[row[0] for row in rows(GRAPHS)])
def test_the_graph_differs_from_the_tree_in_just_these_arcs(text, more, less):
    for sentence in readings(text):
        assert differences(sentence) == (more, less)


def test_every_word_has_an_edge_from_a_word_of_the_sentence_and_one_has_it_from_root():
    for sentence in split("train"):
        heads = [int(edge.head) for edges in sentence.enhanced for edge in edges]
        assert all(sentence.enhanced), sentence.text
        assert all(0 <= head <= len(sentence.words) for head in heads), sentence.text
        assert heads.count(0) == 1, sentence.text


def test_every_word_of_a_graph_is_reached_from_root():
    for sentence in split("dev"):
        reached, found = set(), {"0"}
        while found - reached:
            reached |= found
            found = {
                str(word)
                for word, edges in enumerate(sentence.enhanced, start=1)
                if any(edge.head in reached for edge in edges)
            }
        assert len(reached) == len(sentence.words) + 1, sentence.text


def test_expletives_are_expletives_and_nothing_else():
    expletives = [
        edges
        for sentence in split("train")
        for edges, label in zip(sentence.enhanced, sentence.labels, strict=True)
        if label == "expl"
    ]
    assert len(expletives) > 250
    assert all([edge.label for edge in edges] == ["expl"] for edges in expletives)


def test_there_is_always_an_expletive():
    for sentence in split("train"):
        for row in sentence.rows:
            assert (row[4] == "EX") <= (row[7] == "expl"), sentence.text


def test_many_sentences_have_words_with_several_heads():
    several = [sentence for sentence in split("train") if any(len(edges) > 1 for edges in sentence.enhanced)]
    assert 0.25 < len(several) / SIZES["train"] < 0.75


# ---- splits and hold-outs


def test_an_unknown_split_is_an_error_that_lists_the_known_ones():
    with pytest.raises(UserError, match=r"'trian'.*train, dev, test, attractor, depth, combination"):
        minilang.split("trian")


def drawn_anew(monkeypatch, folder) -> None:
    """As in a new process that finds nothing kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    cache_folder.cache_clear()
    corpus._stream.cache_clear()


def test_a_longer_split_begins_with_a_shorter_one(nothing_kept, monkeypatch):
    short = minilang.split("dev", 20, seed=2)
    drawn_anew(monkeypatch, nothing_kept / "second")
    long = minilang.split("dev", 40, seed=2)
    assert long[:20] == short
    assert minilang.split("dev", 20, seed=2) == short
    drawn_anew(monkeypatch, nothing_kept / "third")
    assert [minilang.split("dev", count, seed=2) for count in (1, 20, 40)] == [long[:1], short, long]


def test_what_has_been_drawn_is_not_drawn_again_and_belongs_to_whoever_asked():
    mine = minilang.split("dev", 20, seed=2)
    theirs = minilang.split("dev", 20, seed=2)
    assert all(one is other for one, other in zip(mine, theirs, strict=True))
    mine.clear()
    assert minilang.split("dev", 20, seed=2) == theirs


def test_after_an_interruption_the_same_sentences_come(nothing_kept, monkeypatch):
    expected = minilang.split("dev", 20, seed=2)
    drawn_anew(monkeypatch, nothing_kept / "second")
    calls = itertools.count()

    def impatient(*args):
        if next(calls) == 50:
            raise KeyboardInterrupt
        return spell(*args)

    monkeypatch.setattr(corpus, "spell", impatient)
    with pytest.raises(KeyboardInterrupt):
        minilang.split("dev", 20, seed=2)
    assert minilang.split("dev", 20, seed=2) == expected


def test_another_seed_gives_other_sentences():
    other = {sentence.words for sentence in minilang.split("dev", 100, seed=1)}
    assert len(other & {sentence.words for sentence in split("dev")[:100]}) < 10


def test_no_two_splits_share_a_sentence():
    words = {name: {sentence.words for sentence in split(name)} for name in SIZES}
    shared = {(a, b): words[a] & words[b] for a in words for b in words if a < b and words[a] & words[b]}
    assert shared == {}


@pytest.mark.parametrize("name", SIZES)
def test_no_sentence_of_the_evaluation_is_in_a_split(name):
    assert len(evaluation_sentences()) > 15_000
    assert not evaluation_sentences() & {sentence.words for sentence in split(name)}


def test_few_sentences_come_twice():
    assert len({sentence.words for sentence in split("train")}) > 0.95 * SIZES["train"]


def test_there_is_no_long_sentence():
    assert max(len(sentence.words) for sentence in split("train")) <= 40


# The hold-outs once more, from nothing but the ten columns.
ID, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS = 0, 2, 3, 4, 5, 6, 7, 8


def feature(row: tuple[str, ...], name: str) -> str | None:
    return dict(pair.split("=") for pair in row[FEATS].split("|") if "=" in pair).get(name)


def edges(row: tuple[str, ...]) -> list[tuple[str, str]]:
    return [tuple(edge.split(":", 1)) for edge in row[DEPS].split("|")]


def attractors(sentence: Sentence, kinds: tuple[str, ...]) -> list[str]:
    """The words of these kinds (UPOS) and of the other number between a subject and a verb that shows number."""
    found = []
    for subject in sentence.rows:
        for predicate, label in edges(subject):
            if label not in ("nsubj", "nsubj:pass"):
                continue
            auxiliaries = [r for r in sentence.rows if r[HEAD] == predicate and r[DEPREL] in ("aux", "aux:pass", "cop")]
            verb = [*auxiliaries, sentence.rows[int(predicate) - 1]][0]
            if feature(verb, "VerbForm") != "Fin" or not feature(verb, "Number"):
                continue
            first, last = sorted((int(subject[ID]), int(verb[ID])))
            found += [
                row[1]
                for row in sentence.rows[first : last - 1]
                if row[UPOS] in kinds
                and feature(row, "Number") not in (None, feature(verb, "Number"))
                and (row[HEAD], row[DEPREL]) != (subject[ID], "conj")
            ]
    return found


def depth(sentence: Sentence) -> int:
    """The number of clauses inside one another, by the labels from a word up to the root."""

    def clauses_above(row: tuple[str, ...]) -> int:
        clause = row[DEPREL] in ("ccomp", "csubj", "acl:relcl", "acl", "advcl")
        return clause + (clauses_above(sentence.rows[int(row[HEAD]) - 1]) if row[HEAD] != "0" else 0)

    return max(map(clauses_above, sentence.rows))


HELD_OUT = yaml.safe_load((files("dtglib.data.minilang") / "english" / "holdouts.yaml").read_text("utf-8"))[
    "combination"
]
OBJECTS = {(item["verb"], item["object"]) for item in HELD_OUT["objects"]}
ATTRIBUTES = {(item["noun"], item["attribute"]) for item in HELD_OUT["attributes"]}


def combinations(sentence: Sentence) -> set[tuple[str, str]]:
    """The combinations that are held out and stand in a sentence, as two lemmas or as a lemma and what it shows."""

    def lemma(identifier: str) -> str:
        return sentence.rows[int(identifier) - 1][LEMMA]

    found = set()
    for row in sentence.rows:
        arcs = {label for other in sentence.rows for head, label in edges(other) if head == row[ID]}
        tree = {other[DEPREL] for other in sentence.rows if other[HEAD] == row[ID]}
        is_passive = row[XPOS] == "VBN" and ("aux:pass" in tree or row[DEPREL] == "acl")
        if row[LEMMA] == "shatter" and (is_passive or "obj" in arcs):
            found.add(("shatter", "transitive"))
        if row[LEMMA] in ("crack", "admire", "interview") and is_passive:
            found.add((row[LEMMA], "passive"))
        if (
            row[LEMMA] in ("hand", "offer")
            and row[UPOS] == "VERB"
            and ("iobj" in tree or (is_passive and "obj" in tree))
        ):
            found.add((row[LEMMA], "two objects"))
        if row[LEMMA] == "lawyer" and "acl:relcl" in tree:
            found.add(("lawyer", "relative clause"))
        if row[XPOS] == "VBN" and row[DEPREL] == "acl":
            found |= {(row[LEMMA], lemma(row[HEAD]))} & OBJECTS
        if row[DEPREL] == "amod":
            found |= {(lemma(row[HEAD]), row[LEMMA])} & ATTRIBUTES
        for head, label in edges(row):
            if label in ("obj", "nsubj:pass", "nsubj:pass:xsubj"):
                found |= {(lemma(head), row[LEMMA])} & OBJECTS
    return found


PARTS = ["train", "dev", "test"]
NOMINALS = ("NOUN", "PROPN", "PRON")


@pytest.mark.parametrize("name", PARTS)
def test_nothing_of_the_other_number_stands_between_subject_and_verb(name):
    shown = {sentence.text: attractors(sentence, NOMINALS) for sentence in split(name)}
    assert {text: words for text, words in shown.items() if words} == {}


@pytest.mark.parametrize("name", PARTS)
def test_no_sentence_is_three_clauses_deep(name):
    assert [sentence.text for sentence in split(name) if depth(sentence) >= 3] == []


@pytest.mark.parametrize("name", PARTS)
def test_no_combination_that_is_held_out_stands_in_tree_or_graph(name):
    assert {s.text: combinations(s) for s in split(name) if combinations(s)} == {}


def test_the_hold_outs_show_what_is_held_out():
    assert all(attractors(sentence, NOMINALS) for sentence in split("attractor"))
    assert all(depth(sentence) >= 3 for sentence in split("depth"))
    assert all(combinations(sentence) for sentence in split("combination"))


def test_a_hold_out_shows_no_other():
    assert all(depth(sentence) < 3 for name in ("attractor", "combination") for sentence in split(name))
    assert not any(combinations(sentence) for name in ("attractor", "depth") for sentence in split(name))


def test_most_combinations_are_shown_even_by_few_sentences():
    shown = Counter(combination for sentence in split("combination") for combination in combinations(sentence))
    assert len(shown) > 6, shown


# ---- determinism


def test_the_same_seed_gives_the_same_bytes_on_every_machine():
    assert checksums() == CHECKSUMS


# Slow: another order of sets and dictionaries, which one process never shows.
@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_hash_seed_of_the_process(tmp_path):
    environment = os.environ | {"PYTHONHASHSEED": "4711", "XDG_CACHE_HOME": str(tmp_path)}
    run = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == report()


def report() -> str:
    return "".join(f'    "{name}": "{checksum}",\n' for name, checksum in checksums().items())


if __name__ == "__main__":
    print(report(), end="")
