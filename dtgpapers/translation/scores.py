"""The quality of translations: BLEU and chrF by sacreBLEU, and the sign test by which systems are compared.

    >>> found, references = ["John put out the coals"], ["John put the coals out"]
    >>> [round(score, 1) for score in scores_of(found, references).values()]
    [31.9, 81.9, 77.9]
    >>> signatures()["BLEU"]                                                                 # doctest: +ELLIPSIS
    'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...'

Texts are sentences without transitions. Ours are words with blanks between, and so are their references; sacreBLEU then
cuts both by its own rules (13a), which change little of what treebanks cut. `chrF+` is the paper's: characters up to 6,
single words, beta 3. `chrF++` counts pairs of words, too, with beta 2, as is usual today. Both take the means of
precision and recall over all orders and then F; the mean of F over the orders differs in the fifth digit.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dtglib.basics.errors import require

# Not imported at run time, as it takes a second; annotations that name it are therefore not checked.
if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric


def metrics() -> "dict[str, Metric]":
    """sacreBLEU's metrics by the names that are used here; new ones, because their signatures follow their use."""
    from sacrebleu.metrics import BLEU, CHRF

    return {
        "BLEU": BLEU(force=True),  # which only silences a remark that our sentences are cut into words
        "chrF+": CHRF(char_order=6, word_order=1, beta=3),
        "chrF++": CHRF(char_order=6, word_order=2, beta=2),
    }


def scores_of(found: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """The scores of all translations together, from 0 to 100."""
    require(found and len(found) == len(references), f"{len(found)} translations, and {len(references)} references")
    return {name: float(metric.corpus_score(found, [references]).score) for name, metric in metrics().items()}


def signatures() -> dict[str, str]:
    """The signature of each metric by sacreBLEU, so that others can compute the same."""
    used = metrics()
    for metric in used.values():
        metric.corpus_score(["a"], [["a"]])
    return {name: str(metric.get_signature()) for name, metric in used.items()}


class SignTest(NamedTuple):
    """Counts of cells, such as (test set, metric), in which one system is better than another; ties are left out."""

    wins: int
    losses: int
    p: float  # two-sided


def sign_test(one: Mapping[Any, float], other: Mapping[Any, float]) -> SignTest:
    """Compare the scores of two systems cell by cell.

    >>> sign_test(dict(enumerate([1.0, 2.0, 3.0, 3.0])), dict(enumerate([0.0, 0.0, 1.0, 3.0])))
    SignTest(wins=3, losses=0, p=0.25)
    """
    require(
        one.keys() == other.keys() and one, "two systems are compared in the same cells, and there is no common one"
    )
    wins, losses = (sum(a[cell] > b[cell] for cell in one) for a, b in ((one, other), (other, one)))
    return SignTest(wins, losses, two_sided(wins, losses))


def two_sided(wins: int, losses: int) -> float:
    """The probability of a result as uneven as this, or more so, if both were as likely."""
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
