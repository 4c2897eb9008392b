"""How well a translator of a run translates: the tests of its corpus, and the challenge sets in its words.

    found = translation_of(settings, folder)
    found["translation"]            a row for each test part: BLEU, chrF+, chrF++, and the share of whole trees
    found["challenge set"]          of minilang: what share of each set is kept, and in the plain order (challenges.py)
    found["by distance"]            of minilang: the same by the distance of what belongs together
    found["object first"]           from German: how many of the 99 sentences keep their roles
    found["public challenge set"]   of other corpora between German and English, where the files are there
    found["own challenge set"]      of other corpora: tests with words apart that belong together, if they have trees

The keys are the parts of a record (recording.py). Of each test part and public set `scored_sentences` are translated,
of minilang's sets and of the 99 sentences the share `items`, with a search of width `beam`. The translations are
cached, the scores are not.
"""

from pathlib import Path

from dtglib.basics.record import Row
from dtglib.data.apart import sets_apart
from dtglib.data.challenge_files import ChallengeSet, lowered, public_sets
from dtglib.data.corpora import find, load
from dtglib.data.parallel import direction_of, source_of
from dtglib.data.treebank import Sentence, Treebank
from dtglib.data.vocabulary import Vocabulary
from dtglib.experiments.challenges import by_distance, by_least, challenged, turned_round, with_distances
from dtglib.experiments.parsers import parser_named
from dtglib.experiments.sentence_scores import spread
from dtglib.experiments.settings import Settings
from dtglib.experiments.silver import parsed
from dtglib.experiments.translations import measured, translations_of
from dtglib.families.base import Beam, Translation

TEST = "test"  # what the names of test parts begin with


def beam_of(settings: Settings) -> Beam:
    """How a run searches."""
    return Beam(settings.evaluation.beam)


def references_of(settings: Settings) -> dict[str, list[Sentence]]:
    """The sentences of each test part of a run's corpus."""
    most = settings.evaluation.scored_sentences
    return {part: spread(treebank.sentences, most) for part, treebank in _tests_of(settings).items()}


def _tests_of(settings: Settings) -> dict[str, Treebank]:
    """The test parts of a run's corpus."""
    corpus = settings.corpus
    parts = [part for part in find(corpus.corpus) if part.startswith(TEST)]
    return {part: load(corpus.corpus, part, corpus.test_sentences) for part in parts}


def translations_by(settings: Settings, folder: Path) -> dict[str, list[Translation]]:
    """The translation of each sentence of each test part."""
    sources = {part: list(map(source_of, some)) for part, some in references_of(settings).items()}
    return {part: translations_of(folder, some, beam_of(settings)) for part, some in sources.items()}


def scores_by(settings: Settings, folder: Path) -> dict[str, Row]:
    """The scores on each test part."""
    references, found = references_of(settings), translations_by(settings, folder)
    return {part: measured(found[part], references[part]) for part in references}


def translation_of(settings: Settings, folder: Path) -> dict[str, list[Row]]:
    """The rows of each part."""
    tests = [{"on": part, **row} for part, row in scores_by(settings, folder).items()]
    return {"translation": tests, **_of_challenges(settings, folder)}


def _of_challenges(settings: Settings, folder: Path) -> dict[str, list[Row]]:
    """The challenge sets that have the languages and the words of a run's corpus."""
    name, share, beam = settings.corpus.corpus, settings.evaluation.items, beam_of(settings)
    text, *languages = direction_of(name)
    is_german, vocabulary = languages == ["de", "en"], Vocabulary.load(folder)
    case = str.lower if vocabulary.is_lower_cased else str
    found = {"object first": turned_round(folder, beam, share, case)} if is_german else {}
    if text != "minilang":
        most = settings.evaluation.scored_sentences
        sets = {"public challenge set": public_for(name, vocabulary), "own challenge set": own_of(settings)}
        return found | {part: list(by_least(folder, of_part, beam, most)) for part, of_part in sets.items()}
    if not is_german:
        return found
    distances = [{"set": one, **row} for one in with_distances() for row in by_distance(folder, one, beam, share)]
    return found | {"challenge set": challenged(folder, beam, share), "by distance": distances}


def public_for(corpus: str, vocabulary: Vocabulary) -> dict[str, ChallengeSet]:
    """The public sets in the languages of a corpus, in lower case if its vocabulary is."""
    _, *languages = direction_of(corpus)
    sets = public_sets(*languages) if set(languages) == {"de", "en"} else {}
    if not vocabulary.is_lower_cased:
        return sets
    return {name: one._replace(items=lowered(one.items)) for name, one in sets.items()}


def own_of(settings: Settings) -> dict[str, ChallengeSet]:
    """The sets of a corpus's own test sentences; their trees are those that the run reads (`parsed_by`)."""
    tests, parser = _tests_of(settings).values(), settings.parsers.parsed_by
    if parser:
        tests = [parsed(treebank, parser_named(parser, settings)) for treebank in tests]
    target = direction_of(settings.corpus.corpus).target
    return sets_apart((sentence for treebank in tests for sentence in treebank.sentences), target)
