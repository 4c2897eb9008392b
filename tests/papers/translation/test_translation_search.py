"""The search for translations: what is kept is what is computed anew, the best one is found, trees and limits."""

import itertools
from collections import Counter
from functools import cache

import numpy as np
import pytest
import torch
from conftest import slow
from test_translation_network import SMALL, in_every_system, network, treebank

from dtglib.basics.errors import UserError
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import END, Vocabulary
from dtglib.families.base import family
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.examples import Target, TranslationBatch, padded
from dtgpapers.translation.hypotheses import Anew, Cached, Hypothesis, extended
from dtgpapers.translation.network import Translator
from dtgpapers.translation.search import Entries, as_translation, search, translate
from dtgpapers.translation.systems import SYSTEMS
from dtgpapers.translation.target import Does, grown
from dtgpapers.translation.translation import TranslationBeam

pytestmark = pytest.mark.usefixtures("one_thread")

SOURCES = [sentence.translation for sentence in treebank().sentences]
ALL = 10**6


def encoded(model: Translator, sources) -> torch.Tensor:
    return padded([np.array(model.vocabulary.encode(words).ids) for words in sources])


@pytest.mark.parametrize("name", ["vanilla", "linearized"])
@torch.no_grad()
def test_what_a_causal_decoder_keeps_is_what_it_would_compute_anew(name):
    """Rows are dropped, doubled and turned round on the way."""
    model = network(name)
    source, random = encoded(model, SOURCES[:3]), np.random.default_rng(1)
    cached, anew = Cached(model, source), Anew(model, source)
    live, parents = [Hypothesis(number) for number in range(3)], np.zeros(3, np.int64)
    for _ in range(6):
        found, expected = (reader.log_probs(live, parents) for reader in (cached, anew))
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
        parents = random.integers(0, len(live), 4)
        entries = random.integers(len(model.vocabulary.reserved) - 1, len(model.vocabulary), 4)
        live = [extended(model, live[row], int(entry), 0.0) for row, entry in zip(parents, entries, strict=True)]


IN_PIECES = slow((name, "pieces") for name in SYSTEMS if name != "gcn")


@pytest.mark.parametrize(("name", "kind"), [("gcn", "pieces"), *((name, "words") for name in SYSTEMS), *IN_PIECES])
def test_a_translation_has_the_probability_that_the_network_gives_it(name, kind):
    model = network(name, kind=kind)
    for source, one in zip(SOURCES, translate(model, SOURCES, TranslationBeam(3, most_words=4)), strict=True):
        names = model.vocabulary.entries
        ids = [names.index(s) if s in names[: len(model.vocabulary.reserved)] else None for s in one.symbols]
        pieces = iter(model.vocabulary.encode(one.words).ids) if kind == "words" else None
        if kind == "pieces":  # a word may be cut in other ways than its encoding
            (found,) = search(model, [source], TranslationBeam(3, most_words=4))
            assert as_translation(model, found).symbols == one.symbols
            ids = list(found.ids[:-1])
        else:
            ids = [next(pieces) if entry is None else entry for entry in ids]
        known, edges = grown(model.meanings.symbols[entry] for entry in ids)
        target = Target(np.array([*ids, END]), model.meanings.rows(edges))
        with torch.no_grad():
            nats = model.predict(TranslationBatch(encoded(model, [source]), [target])).nats.sum()
        assert one.log_prob == pytest.approx(-nats.item(), abs=1e-4)
        assert (one.heads is not None) == model.system.writes_tree
        assert bool(one.heads) == (model.system.writes_tree and known.is_tree)


# ---- All that there is


@cache
def tiny(name: str) -> Translator:
    """Two words, and one label."""
    sentences = [Sentence(("a", "b"), (2, 0), ("x", "root"), id="s", translation=("b",))]
    config = TranslationConfig(**{**SMALL, "model": name})
    vocabulary = family(name).vocabulary(config, Vocabulary.of_words([["a"]]), Treebank(sentences, Counter()))
    torch.manual_seed(7)
    model = Translator(config, vocabulary).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
        model.output.bias[END] += 1
    return model


def every_target(model: Translator, most_words: int, legal: bool) -> list[list[int]]:
    """All that a search may write."""
    words = np.flatnonzero(model.vocabulary.starts_word).tolist()
    words.remove(model.vocabulary.reserved["<unknown>"])
    arcs = np.flatnonzero(model.meanings.is_transition).tolist()
    found = []
    for length in range(1, 2 * most_words + 1):
        for ids in itertools.product([*words, *arcs], repeat=length):
            known, _ = grown(model.meanings.symbols[entry] for entry in ids)
            is_within = sum(i in words for i in ids) in range(1, most_words + 1)
            if is_within and sum(i in arcs for i in ids) <= most_words and (not legal or known.is_tree):
                found.append([*ids, END])
    return found


@pytest.mark.parametrize("legal", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("name", ["vanilla", "linearized", "gcn"])
def test_a_wide_search_finds_the_best_of_all_translations(name, alpha, legal):
    model, source = tiny(name), ["b"]
    targets = every_target(model, 2, legal and model.system.writes_tree)
    assert len(targets) > 5
    rows = [Target(np.array(ids), model.meanings.rows(grown(map(model.meanings.symbols.__getitem__, ids[:-1]))[1]))
            for ids in targets]  # fmt: skip
    with torch.no_grad():
        found = model.predict(TranslationBatch(encoded(model, [source] * len(rows)), rows))
    log_p = -np.bincount(found.of, found.nats.double().numpy())
    scores = log_p / np.array([len(ids) for ids in targets]) ** alpha
    (best,) = search(model, [source], TranslationBeam(ALL, alpha, legal, most_words=2))
    assert list(best.ids) == targets[int(scores.argmax())]
    assert best.log_p == pytest.approx(log_p[int(scores.argmax())], abs=1e-5)


# ---- What is searched together, trees, limits


@in_every_system
def test_sources_do_not_disturb_one_another(name):
    model = network(name)
    together = translate(model, SOURCES, TranslationBeam(4, most_words=6))
    for source, one in zip(SOURCES, together, strict=True):
        (alone,) = translate(model, [source], TranslationBeam(4, most_words=6))
        assert alone._replace(log_prob=0.0) == one._replace(log_prob=0.0)
        assert alone.log_prob == pytest.approx(one.log_prob, abs=1e-4)


@pytest.mark.parametrize("name", ["linearized", "parent", "gcn"])
@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_where_only_legal_symbols_are_taken_every_translation_has_a_tree(name, kind):
    model = network(name, kind=kind)
    with torch.no_grad():
        model.output.bias[torch.from_numpy(model.meanings.is_transition)] += 3  # so that it wants too many
    found = translate(model, SOURCES, TranslationBeam(3, legal=True, most_words=5))
    assert all(len(one.heads) == len(one.words) == len(one.labels) for one in found)
    assert all(one.heads.count(0) == 1 for one in found)
    plain = translate(model, SOURCES, TranslationBeam(3, most_words=5))
    assert any(one.heads == () for one in plain)


@in_every_system
@pytest.mark.parametrize("kind", ["words", "pieces"])
def test_no_translation_has_more_words_than_the_limit(name, kind):
    model = network(name, kind=kind)
    with torch.no_grad():
        model.output.bias[END] -= 50
    for one in search(model, SOURCES, TranslationBeam(2, most_words=3)):
        does = [model.meanings.symbols[entry].does for entry in one.ids[:-1]]
        arcs = does.count(Does.LEFT) + does.count(Does.RIGHT)
        assert arcs == one.transitions == (3 if model.system.writes_tree else 0)
        assert one.words <= 3 and len(as_translation(model, one).words) <= 3
        assert kind == "pieces" or one.words == 3


def test_at_the_limit_a_piece_may_go_on_with_a_word_and_not_start_one():
    """After a transition there is no word to go on with, so that a piece of the middle of a word would start one."""
    model = network("linearized", kind="pieces")
    entries, vocabulary = Entries.of(model), model.vocabulary
    start, arc = int(np.flatnonzero(vocabulary.starts_word)[-1]), int(np.flatnonzero(model.meanings.is_transition)[0])
    one = Hypothesis(0)
    for entry in (start, start):
        one = extended(model, one, entry, 0.0)
    assert not entries.barred(one, 2, legal=False)[vocabulary.continues_word].any()
    after = extended(model, one, arc, 0.0)
    assert entries.barred(after, 2, legal=False)[vocabulary.continues_word | vocabulary.starts_word].all()
    assert not entries.barred(after, 3, legal=False)[vocabulary.continues_word].any()


@pytest.mark.parametrize(
    "beam, message", [(TranslationBeam(0), "at least one"), (TranslationBeam(5, -1.0), "must not be below 0")]
)
def test_a_beam_that_is_none_is_refused(beam, message):
    with pytest.raises(UserError, match=message):
        translate(network("vanilla"), SOURCES, beam)
