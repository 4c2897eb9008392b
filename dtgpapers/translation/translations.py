"""Translations of trained models, and their scores; translations are cached.

    found = translations_of(folder, [("Den", "Ball", "bringt", "der", "Vater", ".")], TranslationBeam())
    measured(found, references)                    {"sentences": 1, "BLEU": ..., "chrF++": ..., "trees": ...}

What others can recompute stands in the records: texts are words with blanks between, without transitions, and the
signatures are sacreBLEU's (dtgpapers/translation/scores.py).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from dtglib.basics.code import code_of
from dtglib.basics.errors import UserError
from dtglib.basics.files import sha256
from dtglib.basics.record import Row
from dtglib.data.corpora import load
from dtglib.data.treebank import Sentence, Words
from dtglib.data.vocabulary import Vocabulary
from dtglib.evaluate.surprisal import is_known
from dtglib.families.base import family, family_name_in, load_model, module_of
from dtglib.network.saved import WEIGHTS_FILE
from dtglib.runs.cache import Computed, cached_rows, digest_of
from dtglib.training.distributed import device_at_hand
from dtgpapers.translation.family import require_languages
from dtgpapers.translation.parallel import source_of
from dtgpapers.translation.scores import scores_of, sign_test
from dtgpapers.translation.search import translate
from dtgpapers.translation.systems import SYSTEMS
from dtgpapers.translation.translation import Translation, TranslationBeam

AT_ONCE = 256  # sources that are translated before any translation is written


def translations_of(folder: Path, sources: Sequence[Words], beam: TranslationBeam) -> list[Translation]:
    """The translation of each source by the model in a folder."""
    sources = [tuple(words) for words in sources]
    name = family_name_in(folder)
    if name not in SYSTEMS:
        raise UserError(f"{folder}: {family(name).title} does not translate; name a model of another kind")
    beam.check()

    def load() -> Callable[[slice], Iterator[Row]]:
        network = load_model(folder, device_at_hand())
        return lambda block: (one._asdict() for one in translate(network, sources[block], beam))

    weights = sha256(folder / WEIGHTS_FILE)
    identity = {"what": "translations", "model": weights, "sources": digest_of(sources), "beam": beam._asdict()}
    code = code_of("evaluate", load, module_of(name), translate)
    computed = Computed(list(map(len, sources)), load, AT_ONCE, "translating")
    rows = cached_rows("scores", f"translations-{folder.name}", identity, code, computed)
    return [_from_row(row) for row in rows]


def _from_row(row: Row) -> Translation:
    """A translation from its row, in which tuples have become lists."""
    fields: Row = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Translation(**fields)


def unknown_words(folder: Path, sources: Sequence[Words]) -> list[str]:
    """The words of sources that a model does not know, each once."""
    vocabulary = Vocabulary.load(folder)
    return [word for word in dict.fromkeys(chain.from_iterable(sources)) if not is_known(vocabulary, word)]


def measured(found: Sequence[Translation], references: Sequence[Sentence]) -> Row:
    """The scores of translations in percent; of systems that write trees, the share that has one.

    `same trees` is the share of translations, among those with the words of the reference, with its tree and labels.
    """
    texts = [" ".join(one.words) for one in found], [" ".join(sentence.words) for sentence in references]
    row: Row = {"sentences": len(found), **scores_of(*texts)}
    if any(one.heads is not None for one in found):
        row["trees"] = 100 * sum(bool(one.heads) for one in found) / len(found)
        both = [
            (one.heads, one.labels) == (sentence.heads, sentence.labels)
            for one, sentence in zip(found, references, strict=True)
            if sentence.heads is not None and one.words == sentence.words
        ]
        row["same trees"] = 100 * sum(both) / len(both) if both else None
    return row


# ---- Systems side by side


def compared(folders: Sequence[Path], corpora: Sequence[tuple[str, str | None]], beam: TranslationBeam) -> list[Row]:
    """The scores of several systems on several corpora, each relative to the first system's, and sign tests against it.

    A row for each system and corpus; those with `cells` are the sign tests over all corpora and BLEU and chrF+.
    """
    cells: dict[Path, dict[tuple, float]] = {folder: {} for folder in folders}
    rows = []
    for corpus, split in corpora:
        for folder in folders:
            require_languages(folder, corpus)
        first: Row = {}
        references = load(corpus, split).sentences
        sources = list(map(source_of, references))
        for folder in folders:
            row = measured(translations_of(folder, sources, beam), references)
            first = first or row
            cells[folder] |= {(corpus, split, name): row[name] for name in ("BLEU", "chrF+")}
            change = {f"{name}, relative": row[name] - first[name] for name in ("BLEU", "chrF+")}
            rows.append({"system": folder.name, "corpus": corpus, "split": split, **row, **change})
    for folder in folders[1:]:
        test = sign_test(cells[folder], cells[folders[0]])
        rows.append({"system": folder.name, "against": folders[0].name, "cells": len(cells[folder]), **test._asdict()})
    return rows
