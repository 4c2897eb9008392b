"""The benchmark of translation compares networks of the same size on the same work."""

import pytest
import torch

from dtgpapers.translation.config import TranslationConfig


# Slow: a benchmark alone; the translator is tested in test_translation_network.py.
@pytest.mark.slow
def test_vanilla_and_pytorchs_layers_have_the_same_parameters_but_for_what_surrounds_them(benchmarks):
    """And both learn from the same pairs, whatever the padding."""
    translation = benchmarks("translation")
    works, by_operations, words = translation.prepared(translation.SMALL)
    assert words > 500 and by_operations["vanilla"] == 1
    parent, bitran = by_operations["parent"], by_operations["bitran"]
    assert by_operations["gcn"] > parent == by_operations["bitran-transitions"] > bitran
    assert all(by_operations[f"{name}, all prefixes"] > 1.5 * by_operations[name] for name in ("bitran", "parent"))
    for work in works.values():
        work()
    config = TranslationConfig(dropout=0.0, smoothing=0.0, **translation.SMALL)
    treebank = translation.load("minilang:de-en", "train", 5)
    vocabulary = translation.family("vanilla").vocabulary(config, translation.Vocabulary.of_words([["no"]]), treebank)
    data = translation.family("vanilla").examples(config, vocabulary, treebank, None)
    ours, theirs = translation.Translator(config, vocabulary), translation.Padded(config, len(vocabulary))
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())
    batches = [data.batch(numbers, 0, torch.device("cpu")) for numbers in ([0, 1, 2, 3, 4], [0], [1], [2], [3], [4])]
    together, *alone = [theirs.eval()(batch).item() for batch in batches]
    assert together == pytest.approx(sum(alone), rel=1e-4)
