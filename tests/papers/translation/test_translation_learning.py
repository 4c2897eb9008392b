"""Translators learn: twenty pairs by heart, with their trees; and through the commands, from training to scores."""

from collections import Counter

import numpy as np
import pytest
import torch
from toys import CPU

from dtglib.data.corpora import load
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import family
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.network import Translator
from dtgpapers.translation.search import translate
from dtgpapers.translation.systems import SYSTEMS
from dtgpapers.translation.translations import measured

pytestmark = pytest.mark.usefixtures("one_thread")

EPOCHS, POSITIONS, MOST_WORDS = 120, 150, 10


def short_pairs(count: int) -> Treebank:
    """The first pairs of at most MOST_WORDS words in both languages."""
    pairs = load("minilang:de-en", "train", 4 * count).sentences
    short = [pair for pair in pairs if max(len(pair.words), len(pair.translation)) <= MOST_WORDS]
    return Treebank(short[:count], Counter())


def by_heart(name: str, treebank: Treebank, epochs: int) -> dict:
    """The scores of a translator that has seen these pairs very often."""
    config = TranslationConfig(name, layers=2, width=64, heads=4, inner=256, dropout=0.0, smoothing=0.0, prefixes=0.5)
    chosen = family(name)
    vocabulary = chosen.vocabulary(config, Vocabulary.of_words([["none"]]), treebank)
    data = chosen.examples(config, vocabulary, treebank, None)
    torch.manual_seed(1)
    network, random = Translator(config, vocabulary), np.random.default_rng(1)
    plans = [data.plan(POSITIONS, random, CPU) for _ in range(epochs)]
    optimizer = torch.optim.Adam(network.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, sum(map(len, plans)))
    for numbers in (numbers for plan in plans for numbers in plan):
        batch = data.batch(numbers, POSITIONS, CPU)
        nats, _ = network.loss(batch)
        optimizer.zero_grad()
        (nats / batch.positions).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    sources = [sentence.translation for sentence in treebank.sentences]
    return measured(translate(network, sources), treebank.sentences)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bitran-transitions", "linearized", "parent", "gcn"])
def test_twenty_pairs_are_learnt_by_heart_with_their_trees(name):
    """Of minilang, with half of each target's prefixes. The linearized one is the vanilla one, with trees as words.

    Nothing faster shows that a translator learns.
    """
    treebank = short_pairs(20)
    assert len(treebank.sentences) == 20
    scores = by_heart(name, treebank, EPOCHS)
    assert scores["BLEU"] > 95
    if SYSTEMS[name].writes_tree:
        assert scores["trees"] >= 99 and scores["same trees"] > 95
