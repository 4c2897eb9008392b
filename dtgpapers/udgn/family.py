"""The families of masked words: UDGN, and StructFormer and the Transformer beside it."""

from collections import Counter
from collections.abc import Sequence

from dtglib.data.treebank import Sentence, Treebank
from dtglib.families.base import BASE, Family, Likelihood, Questions, Variant
from dtgpapers.udgn.baseline import MaskedTransformer
from dtgpapers.udgn.config import (
    MaskedTraining,
    MaskedTransformerConfig,
    MaskedTransformerTraining,
    StructFormerConfig,
    UdgnConfig,
)
from dtgpapers.udgn.examples import MaskedExamples
from dtgpapers.udgn.masked import SYMBOLS, MaskedModel
from dtgpapers.udgn.measure import masked_perplexity, pseudo_scores
from dtgpapers.udgn.network import Udgn
from dtgpapers.udgn.structformer import StructFormer
from dtgpapers.udgn.words import words_of

PAPER = "udgn"

PSEUDO = Likelihood(
    "pseudo-log-likelihood",
    is_exact=False,
    sums_over_trees=False,
    scores=pseudo_scores,
    is_searched=False,
    is_pseudo=True,
)


def hidden_perplexity(network: MaskedModel, sentences: Sequence[Sentence]) -> float:
    """The perplexity of hidden words of sentences."""
    treebank = Treebank(list(sentences), Counter())
    return masked_perplexity(network, MaskedExamples.of(network.config, network.vocabulary, treebank))


# The paper's Tables 4, 8 and 9 and Figures 4 and 6, with its names. Its amounts of data are of another corpus: 1 to 42
# million words. Heads share a width, so that there are as many parameters, however many they are.
QUESTIONS: Questions = {
    "parts": {
        "UDGN": BASE,
        "- Gates": Variant({"gates": False}),
        "- Competition": Variant({"controller": "sigmoid"}),
        "- relative pos bias": Variant({"bias": "none"}),
    },
    "functions": {
        "UDGN": BASE,
        "- Nonlinear": Variant({"nonlinearity": "identity"}),
        "- relative pos bias + pos encoding": Variant({"bias": "none", "positions": True}),
        "+ Kirchhoff": Variant({"edges": "kirchhoff"}),
    },
    "amount of data": {"10 %": Variant({}, share=0.1), "30 %": Variant({}, share=0.3), "100 %": BASE},
    "number of heads": {
        "1 head": Variant({"heads": 1}), "2 heads": Variant({"heads": 2}), "8 heads": Variant({"heads": 8})
    },
    "mask rate": {f"{tenths}0 % hidden": Variant({"mask_rate": tenths / 10}) for tenths in range(1, 10)},
}  # fmt: skip


def _family(
    name: str,
    title: str,
    config: type,
    network: type[MaskedModel],
    training: type[MaskedTraining],
    questions: Questions,
) -> Family:
    return Family(
        name=name,
        title=title,
        paper=PAPER,
        config=config,
        build=network,
        examples=MaskedExamples.of,
        likelihood=PSEUDO,
        vocabulary=lambda config, shared, treebank: words_of(config, treebank).with_symbols(SYMBOLS),
        training=training,
        questions=questions,
    )


UDGN = _family("udgn", "UDGN", UdgnConfig, Udgn, MaskedTraining, QUESTIONS)
TRANSFORMER = _family(
    "udgn-transformer",
    "Transformer (masked words)",
    MaskedTransformerConfig,
    MaskedTransformer,
    MaskedTransformerTraining,
    {},
)

STRUCTFORMER = _family("structformer", "StructFormer", StructFormerConfig, StructFormer, MaskedTransformerTraining, {})

FAMILIES = (TRANSFORMER, STRUCTFORMER, UDGN)
