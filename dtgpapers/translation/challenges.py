"""The share of challenge sets whose meaning translators keep: minilang's, 99 sentences with objects first, public sets.

    challenged(folder, beam)   a row for each of minilang's sets: what share is kept
    by_distance(folder, "particle", beam)   the same of one set, by the distance of what belongs together
    turned_round(folder, beam)   how many of the 99 sentences keep their roles
    by_least(folder, public_sets("de", "en"), beam)   BLEU and chrF of each public set, by least distance

`share` is the share of the items of a set that are translated, evenly spaced.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from dtglib.basics.errors import require
from dtglib.basics.record import Row
from dtglib.evaluate.item_files import evenly
from dtglib.runs.sentence_scores import spread
from dtgpapers.translation.challenge_files import ChallengeSet
from dtgpapers.translation.german.challenge import challenge_sets
from dtgpapers.translation.kept_meaning import kept, roles
from dtgpapers.translation.object_first import object_first
from dtgpapers.translation.translation import TranslationBeam
from dtgpapers.translation.translations import measured, translations_of, unknown_words


def challenged(folder: Path, beam: TranslationBeam, share: float = 1.0) -> list[Row]:
    """A row for each of minilang's challenge sets, in percent: translations that keep what the set is about (`kept`) or
    equal the reference (`exact`), of its items and of the same in plain order; there, particles and reflexives have no
    `kept`."""
    rows = []
    for name, all_items in challenge_sets().items():
        items = evenly(all_items, share)
        truths = [item.truth for item in items]
        translations, plain = (
            [one.words for one in translations_of(folder, sources, beam)]
            for sources in ([item.german for item in items], [item.plain_german for item in items])
        )
        has_counterpart = name not in ("particle", "reflexive")  # there the plain order has other words
        rows.append(
            {
                "set": name,
                "items": len(items),
                "kept": _percent(kept(name, translations, truths)),
                "exact": _percent([a == item.english for a, item in zip(translations, items, strict=True)]),
                "plain, kept": _percent(kept(name, plain, truths)) if has_counterpart else None,
                "plain, exact": _percent([a == item.plain_english for a, item in zip(plain, items, strict=True)]),
            }
        )
    return rows


def by_distance(folder: Path, name: str, beam: TranslationBeam, share: float = 1.0) -> list[Row]:
    """The share that is kept of a set whose items have distances, by distance."""
    items = evenly(challenge_sets()[name], share)
    require(
        "distance" in items[0].truth, f"the items of {name} have no distances; take {' or '.join(with_distances())}"
    )
    translations = translations_of(folder, [item.german for item in items], beam)
    of_distance: dict[int, list[bool]] = defaultdict(list)
    right = kept(name, [one.words for one in translations], [item.truth for item in items])
    for item, is_right in zip(items, right, strict=True):
        of_distance[int(item.truth["distance"])].append(is_right)
    return [
        {"distance": d, "items": len(of_distance[d]), "kept": _percent(of_distance[d])} for d in sorted(of_distance)
    ]


def with_distances() -> list[str]:
    """The names of minilang's sets whose items have distances."""
    return [name for name, items in challenge_sets().items() if "distance" in items[0].truth]


def turned_round(
    folder: Path, beam: TranslationBeam, share: float = 1.0, case: Callable[[str], str] = str
) -> list[Row]:
    """The number of the 99 sentences with objects first whose roles are kept; the paper's Table 3 has people's counts.

    `known` is the number of those of which the model knows every word; `case` is what is done with each word before it
    is translated, such as str.lower.
    """
    sentences, rows = evenly(object_first(), share), []
    found = [
        translations_of(folder, [tuple(map(case, getattr(one, order))) for one in sentences], beam)
        for order in ("german", "plain_german")
    ]
    unknown = set(unknown_words(folder, [tuple(map(case, one.german)) for one in sentences]))
    for marked in dict.fromkeys(one.marked for one in sentences):
        of_these = [map(case, one.german) for one in sentences if one.marked == marked]
        row: Row = {"marked": marked, "known": sum(map(unknown.isdisjoint, of_these))}
        for order, translations in zip(("object first", "subject first"), found, strict=True):
            verdicts = [
                roles(said.words, one.subject, one.object)
                for said, one in zip(translations, sentences, strict=True)
                if one.marked == marked
            ]
            row |= {
                "sentences": len(verdicts),
                order: verdicts.count("right"),
                f"{order}, reversed": verdicts.count("reversed"),
            }
        rows.append(row)
    return rows


def by_least(
    folder: Path, sets: Mapping[str, ChallengeSet], beam: TranslationBeam, most: int | None = None
) -> Iterator[Row]:
    """The scores on sets, of at most so many sentences of each, and on those of every least distance."""
    for name, (items, distances) in sets.items():
        chosen = spread(list(zip(items, distances, strict=True)), most)
        found = translations_of(folder, [item.translation or () for item, _ in chosen], beam)
        for least in range(1, max(distances) + 1):
            far = [(said, item) for said, (item, distance) in zip(found, chosen, strict=True) if distance >= least]
            if far:
                translations, references = zip(*far, strict=True)
                yield {"set": name, "distance from": least, **measured(translations, references)}


def _percent(right: Sequence[bool]) -> float:
    return 100 * sum(right) / len(right)
