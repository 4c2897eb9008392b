"""The scores of a run's translators: on the tests of its corpus, and on the challenge sets in its words.

    found = translation_of(settings, folder)
    found["translation"]            a row for each test part: BLEU, chrF+, chrF++, and the share of whole trees
    found["challenge set"]          of minilang: what share of each set is kept, and in the plain order (challenges.py)
    found["by distance"]            of minilang: the same by the distance of what belongs together
    found["object first"]           from German: how many of the 99 sentences keep their roles
    found["public challenge set"]   of other corpora between German and English, where the files are there
    found["own challenge set"]      of other corpora: tests with words apart that belong together, if they have trees

The keys are the parts of a record. Of each test part and public set `scored_sentences` are translated, of minilang's
sets and of the 99 sentences the share `items`, with a search of width `beam`. The translations are cached, the scores
are not.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dtglib.basics.record import Row
from dtglib.data.corpora import find, load
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.families.base import Variant
from dtglib.runs import ablations
from dtglib.runs.jobs import Job, jobs_of_seed, jobs_of_training, seeds_of
from dtglib.runs.parsers import parser_named
from dtglib.runs.sentence_scores import spread
from dtglib.runs.settings import Settings, read_size
from dtglib.runs.trees import parsed
from dtgpapers.translation.apart import sets_apart
from dtgpapers.translation.challenge_files import ChallengeSet, lowered, public_sets
from dtgpapers.translation.challenges import by_distance, by_least, challenged, turned_round, with_distances
from dtgpapers.translation.parallel import pair_of, source_of
from dtgpapers.translation.systems import SYSTEMS
from dtgpapers.translation.translation import TranslationBeam
from dtgpapers.translation.translations import measured, translations_of

TEST = "test"  # what the names of test parts begin with


def beam_of(settings: Settings) -> TranslationBeam:
    """The widths of the search in a run."""
    return TranslationBeam(settings.evaluation.beam)


def references_of(settings: Settings) -> dict[str, list[Sentence]]:
    """The sentences of each test part of a run's corpus."""
    most = settings.evaluation.scored_sentences
    return {part: spread(treebank.sentences, most) for part, treebank in _tests_of(settings).items()}


def _tests_of(settings: Settings) -> dict[str, Treebank]:
    """The test parts of a run's corpus."""
    corpus = settings.corpus
    parts = [part for part in find(corpus.corpus) if part.startswith(TEST)]
    return {part: load(corpus.corpus, part, corpus.test_sentences) for part in parts}


def scores_by(settings: Settings, folder: Path) -> dict[str, Row]:
    """The scores on each test part."""
    scores = {}
    for part, references in references_of(settings).items():
        found = translations_of(folder, list(map(source_of, references)), beam_of(settings))
        scores[part] = measured(found, references)
    return scores


def translation_of(settings: Settings, folder: Path) -> dict[str, list[Row]]:
    """The rows of each part."""
    tests = [{"on": part, **row} for part, row in scores_by(settings, folder).items()]
    return {"translation": tests, **_of_challenges(settings, folder)}


def _of_challenges(settings: Settings, folder: Path) -> dict[str, list[Row]]:
    """The challenge sets that have the languages and the words of a run's corpus."""
    name, share, beam = settings.corpus.corpus, settings.evaluation.items, beam_of(settings)
    text, *languages = pair_of(name)
    is_german, vocabulary = languages == ["de", "en"], Vocabulary.load(folder)
    case = str.lower if is_lower_cased(vocabulary) else str
    scores = {"object first": turned_round(folder, beam, share, case)} if is_german else {}
    if text != "minilang":
        most = settings.evaluation.scored_sentences
        sets = {"public challenge set": public_for(name, vocabulary), "own challenge set": own_of(settings)}
        return scores | {part: list(by_least(folder, of_part, beam, most)) for part, of_part in sets.items()}
    if not is_german:
        return scores
    distances = [{"set": one, **row} for one in with_distances() for row in by_distance(folder, one, beam, share)]
    return scores | {"challenge set": challenged(folder, beam, share), "by distance": distances}


def is_lower_cased(vocabulary: Vocabulary) -> bool:
    """True if no entry has a capital letter, because all training words were in lower case."""
    size_of_bytes = 256 if vocabulary.model else 0
    return all(entry == entry.lower() for entry in vocabulary.entries[len(vocabulary.reserved) + size_of_bytes :])


def public_for(corpus: str, vocabulary: Vocabulary) -> dict[str, ChallengeSet]:
    """The public sets in the languages of a corpus, in lower case if its vocabulary is."""
    _, *languages = pair_of(corpus)
    sets = public_sets(*languages) if set(languages) == {"de", "en"} else {}
    if not is_lower_cased(vocabulary):
        return sets
    return {name: one._replace(items=lowered(one.items)) for name, one in sets.items()}


def own_of(settings: Settings) -> dict[str, ChallengeSet]:
    """The sets of a corpus's own test sentences; their trees are those that the run reads (`parsed_by`)."""
    tests, parser = _tests_of(settings).values(), settings.parsers.parsed_by
    if parser:
        tests = [parsed(treebank, parser_named(parser, settings)) for treebank in tests]
    target = pair_of(settings.corpus.corpus).target
    return sets_apart((sentence for treebank in tests for sentence in treebank.sentences), target)


# ---- Recorded, and as jobs


def of_variant(settings: Settings, variant: Variant) -> Row:
    """The numbers of a variant: its losses, and its scores on the test part."""
    chosen, folder = ablations.trained_variant(settings, variant)
    references = references_of(chosen)[TEST]
    found = translations_of(folder, list(map(source_of, references)), beam_of(chosen))
    return {**ablations.of_training(folder), **measured(found, references)}


def _recorded(settings: Settings, models: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    """The scores of translators.

    {"part": "translation", "seed": 1, "model": "parent", "on": "test", "BLEU": 61.0, "chrF+": 78.2, "trees": 99.5, ...}
    {"part": "challenge set", "seed": 1, "model": "parent", "set": "particle", "kept": 91.0, "exact": 70.5, ...}
    {"part": "by distance", "seed": 1, "model": "parent", "set": "particle", "distance": 3, "kept": 90.1, ...}
    {"part": "object first", "seed": 1, "model": "parent", "marked": "both", "object first": 12, ...}
    {"part": "public challenge set", "seed": 1, "model": "parent", "set": "de_particle", "distance from": 1, ...}
    {"part": "own challenge set", "seed": 1, "model": "parent", "set": "en_particle_own", "distance from": 1, ...}
    """
    for model, folder in models.items():
        for part, rows in (translation_of(settings, folder) if model in SYSTEMS else {}).items():
            for row in rows:
                yield {"part": part, "model": model, **row}


RECORDS = {"translation": _recorded}


def jobs_of(size: str, models: Sequence[str]) -> list[Job]:
    """The jobs of the notebooks about translators: they are trained, and translate tests and challenge sets.

    Those whose decoder encodes each prefix anew take longest, and come first. Where the released translator is shown,
    nothing is trained.
    """
    settings, slowest_first = read_size(size, model=models[0]), list(reversed(models))
    if settings.evaluation.released:
        return []
    jobs = jobs_of_training(size, settings, slowest_first)
    for seed in seeds_of(settings):
        jobs += jobs_of_seed(size, "translations by", translation_of, slowest_first, seed)
    return jobs
