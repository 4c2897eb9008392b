"""Operations of translators: counted by hand on two symbols, and by PyTorch on sentences."""

from collections import Counter

import numpy as np
import pytest
import torch
from conftest import slow
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from toys import CPU
from translation_operations import Shapes, operations, shapes_of_step

from dtglib.data.corpora import load
from dtglib.data.treebank import Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import family
from dtgpapers.translation.config import TranslationConfig
from dtgpapers.translation.examples import TranslationBatch
from dtgpapers.translation.network import Translator
from dtgpapers.translation.prefixes import Group
from dtgpapers.translation.systems import SYSTEMS

# One source of 3 words, a target of 2 symbols; width 2, inner width 3, two layers, 5 entries, 7 labels.
D, INNER, ENTRIES, LABELS = 2, 3, 5, 7
WHOLE = Shapes(1, 3, [Group(1, 2)], 0, 2)
PREFIXES = Shapes(1, 3, [Group(1, 1), Group(1, 2)], 2, 2)  # a row of one position, a row of two, and two edges


def counted(model: str, shapes: Shapes):
    config = TranslationConfig(model, layers=2, width=D, heads=1, inner=INNER, graph_layers=2)
    return operations(config, ENTRIES, LABELS, shapes)


def test_vanilla_by_hand():
    found = counted("vanilla", WHOLE)
    # Of 3 words: four maps of 2 by 2, two of 2 by 3, and scores and values of 3 by 3 pairs.
    assert found.encoder == 2 * (3 * (4 * 4 + 2 * 6) + 2 * 3 * 3 * 2)
    # Of 2 positions: the same maps; keys and values of 2 positions and 3 words; pairs of 2 by 2, and of 2 by 3.
    assert found.decoder == 2 * (2 * (4 * 4 + 2 * 6) + (2 + 3) * 2 * 4 + 2 * 2 * 2 * 2 + 2 * 2 * 3 * 2)
    assert (found.graph, found.output) == (0, 2 * 2 * 5)
    assert found.total == 240 + 272 + 20


def test_prefixes_by_hand():
    """In the first layer three positions are computed, in the last one those two that predict."""
    found = counted("parent", PREFIXES)
    maps, keys = 4 * 4 + 2 * 6, (3 + 3) * 2 * 4
    first = 3 * maps + keys + 2 * 2 * (1 * 1 + 2 * 2) + 2 * 2 * (1 * 3 + 2 * 3)
    last = 2 * maps + keys + 2 * 2 * (1 * 1 + 1 * 2) + 2 * 2 * (1 * 3 + 1 * 3)
    assert found.decoder == first + last
    assert (found.encoder, found.graph, found.output) == (counted("vanilla", WHOLE).encoder, 0, 2 * 2 * 5)
    assert counted("bitran-transitions", PREFIXES) == found, "PARENT's head costs as much as any other"


def test_edges_by_hand():
    """Of 3 positions three maps and three gates; what each tells itself, and each edge both its ends; and labels."""
    found, ungated = counted("gcn", PREFIXES), counted("gcn-no-gates", PREFIXES)
    assert found.graph == 2 * (3 * 3 * (4 + 2) + 3 * 2 + 2 * 2 * 2 + 3 * 7 * 2)
    assert ungated.graph == 2 * (3 * 3 * 4 + 3 * 2 + 2 * 2 * 2)
    assert found._replace(graph=0) == ungated._replace(graph=0) == counted("parent", PREFIXES)


def operations_by_pytorch(network: Translator, batch: TranslationBatch) -> int:
    """The multiplications of the products that the network computes, as PyTorch counts them."""
    counter = FlopCounterMode(display=False)
    with counter, sdpa_kernel(SDPBackend.MATH):  # fused kernels on CPUs are not counted
        network.loss(batch)
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("prefixes", [0.3, *slow([1.0])])
@pytest.mark.parametrize("name", SYSTEMS)
def test_pytorch_counts_as_many(name, prefixes):
    treebank = Treebank(load("minilang:de-en", "train", 5).sentences, Counter())
    config = TranslationConfig(name, layers=2, width=8, heads=2, inner=12, prefixes=prefixes, dropout=0.0)
    vocabulary = family(name).vocabulary(config, Vocabulary.of_words([["none"]]), treebank)
    data = family(name).examples(config, vocabulary, treebank, None)
    batch = data.batch(np.arange(5), 0, CPU)
    torch.manual_seed(1)
    network = Translator(config, vocabulary).train()
    torch.manual_seed(2)  # prefixes are drawn
    expected = operations_by_pytorch(network, batch)
    torch.manual_seed(2)
    shapes = shapes_of_step(config, batch)
    found = operations(config, len(vocabulary), len(network.meanings.labels), shapes)
    # What edges carry is multiplied number by number, which is no product of matrices.
    carried = config.graph_layers * (shapes.positions + 2 * shapes.edges) * 8 if SYSTEMS[name].graph else 0
    assert found.total - carried == expected
