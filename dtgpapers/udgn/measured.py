"""The measures of an unsupervised parser on the test part of a run's corpus; cached in runs/scores.

If the corpus has section 23 of the Penn Treebank, trees are compared there, as in the paper.

    found = induction_of(settings, folder)
    found["hidden words"]       the perplexity of hidden words
    found["trees"]              {"trees": "argmax", "DDA": 0.32, "UDA": 0.41}, a row for each way of decoding
    found["labels"]             which head of attention stands for which label (dtgpapers/udgn/labels.py)

`learning_of` has what was measured while it was trained: a row for each evaluation on the held-out part, of UDGN with
the agreement of its heads, and all its probabilities for one sentence (dtgpapers/udgn/beliefs.py).

A model without a parser, such as the Transformer beside UDGN, has no trees, but heads of attention.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from dtglib.basics.progress import progress
from dtglib.basics.record import Row, read_record
from dtglib.data.corpora import find, load, part_of
from dtglib.data.treebank import Sentence
from dtglib.families.base import Variant, load_model
from dtglib.runs import ablations
from dtglib.runs.cache import Computed, digest_of
from dtglib.runs.jobs import Job, jobs_of_seed, jobs_of_training, seeds_of
from dtglib.runs.sentence_scores import cached_scores
from dtglib.runs.settings import Settings, read_size
from dtglib.training.distributed import device_at_hand
from dtgpapers.udgn.beliefs import believed
from dtgpapers.udgn.bllip import PARSED
from dtgpapers.udgn.decoding import DECODERS
from dtgpapers.udgn.family import FAMILIES, hidden_perplexity
from dtgpapers.udgn.induction import Belief, agreement_rows, induced, trivial_rows
from dtgpapers.udgn.labels import best_heads, correlations, values_at_arcs, without_subtypes
from dtgpapers.udgn.words import readable

LABELS = 16  # the most frequent ones; eight of them, in the paper of UDGN


def read_test(settings: Settings) -> Sequence[Sentence]:
    """All test sentences: trees are cheap to find."""
    return part_of(settings.corpus, "test").sentences


def read_parsed(settings: Settings) -> Sequence[Sentence]:
    """The sentences whose trees are compared: section 23 if the corpus has this part, or else all test sentences."""
    if PARSED in find(settings.corpus.corpus):
        return load(settings.corpus.corpus, PARSED, settings.corpus.test_sentences).sentences
    return read_test(settings)


def induction_of(settings: Settings, folder: Path) -> Row:
    """The scores of a model for hidden words, trees and labels."""
    sentences, parsed = read_test(settings), read_parsed(settings)

    def load() -> Callable[[slice], list[Row]]:
        model = load_model(folder, device_at_hand())
        beliefs: list[Belief] = []  # without attention, which takes a gigabyte for ten thousand sentences

        def passing() -> Iterator[Belief]:
            for belief in progress(believed(model, parsed), "reading heads", "sentence", total=len(parsed)):
                beliefs.append(belief._replace(attention={}))
                yield belief

        of_labels: list[Row] = []
        if any(map(_has_labels, parsed)):
            of_labels = label_rows(passing(), LABELS)
        else:
            list(passing())
        hidden = hidden_perplexity(model, sentences)
        of_model = {"hidden words": hidden, "trees": _trees(beliefs), "labels": of_labels}
        return lambda block: [of_model][block]

    read = [(sentence.words, sentence.heads, sentence.labels) for sentence in (*sentences, *parsed)]
    about = {"what": "induction", "sentences": digest_of(read)}
    (row,) = cached_scores("induction", folder, None, about, Computed([1], load, unit="model"))
    return row


def learning_of(folder: Path) -> list[Row]:
    """The evaluations during the training of a model, with what its parser believed then if it has one."""
    return [
        {key: value for key, value in line.items() if key != "part"}
        for line in read_record(folder).metrics
        if line["part"] == "dev"
    ]


def _trees(beliefs: list[Belief]) -> list[Row]:
    """The agreement with the treebank's trees; nothing without a parser, or without trees."""
    if any(belief.heads is None for belief in beliefs) or not any(belief.sentence.heads for belief in beliefs):
        return []
    return agreement_rows(list(induced(beliefs, DECODERS)))


def _has_labels(sentence: Sentence) -> bool:
    return sentence.heads is not None and sentence.labels is not None


def label_rows(beliefs: Iterable[Belief], most: int) -> list[Row]:
    """For the commonest labels the head that is correlated most with each, in both directions, before and after."""
    values, labels, heads = values_at_arcs(beliefs)
    labels = without_subtypes(labels)
    return [
        {"attention": kind, "direction": direction, **row}
        for (kind, direction), of_heads in values.items()
        for row in best_heads(correlations(of_heads, labels), labels, heads, most)
    ]


def trivial_of(settings: Settings) -> list[Row]:
    """The agreement of trivial trees, on the sentences whose trees are compared, as models read them."""
    heads = [sentence.heads for sentence in readable(read_parsed(settings)) if sentence.heads is not None]
    return trivial_rows(heads) if heads else []


def of_induction(found: Row) -> dict[str, Any]:
    """The numbers of a model in one row, without labels: the perplexity, and each accuracy by its decoding."""
    trees = {f"{of}, {row['trees']}": row[of] for row in found["trees"] for of in ("DDA", "UDA")}
    return {"hidden words": found["hidden words"], **trees}


def of_variant(settings: Settings, variant: Variant) -> Row:
    """The numbers of a variant: its losses, and what it has found of trees."""
    chosen, folder = ablations.trained_variant(settings, variant)
    return {**ablations.of_training(folder), **of_induction(induction_of(chosen, folder))}


def _recorded(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """The measures of unsupervised parsers, and of trivial trees.

    {"part": "while learning", "seed": 1, "model": "udgn", "step": 100, "UDA": 0.31, "words": [...], "believed": [...]}
    {"part": "hidden words",  "seed": 1, "model": "udgn", "perplexity": 31.2}
    {"part": "induced trees", "seed": 1, "model": "udgn", "trees": "argmax", "DDA": 0.31, "UDA": 0.42}
    {"part": "trivial trees", "seed": 1, "model": "left neighbour", "DDA": 0.31, "UDA": 0.42}
    {"part": "label of heads", "seed": 1, "model": "udgn", "label": "det", "head": "1.3", "every head": [...], ...}
    """
    names = {family.name for family in FAMILIES}
    ours = {model: induction_of(settings, folder) for model, folder in models.items() if model in names}
    for model, induction in ours.items():
        for line in learning_of(models[model]):
            yield {"part": "while learning", "model": model, **line}
        yield {"part": "hidden words", "model": model, "perplexity": induction["hidden words"]}
        for part, rows in (("induced trees", induction["trees"]), ("label of heads", induction["labels"])):
            for row in rows:
                yield {"part": part, "model": model, **row}
    for row in trivial_of(settings) if ours else ():
        yield {"part": "trivial trees", "model": row.pop("trees"), **row}


RECORDS = {"induction": _recorded}


def jobs_of(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs of the notebook about UDGN: its models are trained, and asked for their trees; at size smoke none."""
    settings = read_size(size, model="udgn")
    if settings.evaluation.released:
        return []
    of_seeds = [jobs_of_seed(size, "trees of", induction_of, models, seed) for seed in seeds_of(settings)]
    return [*jobs_of_training(size, settings, models), *chain.from_iterable(of_seeds)]
