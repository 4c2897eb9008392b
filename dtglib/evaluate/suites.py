"""Test suites in SyntaxGym's format (Hu et al. 2020), which compare surprisals of grammatical and other sentences.

    >>> suites = read_suites("minilang")                 # or a file, a folder; None: the 34 public ones
    >>> surprise = lambda beginnings: [[1.0] * len(words) for words in beginnings]    # a model: of_beginnings(model)
    >>> rows = list(item_rows(suites, surprise))         # one row per item
    >>> scores = scores_by_suite(suites, rows)           # one row per suite
    >>> averages(scores)                                 # up to three averages, by name
    {'mean of 6 circuits of 21 suites': 0.0, 'mean of 21 suites': 0.0}

An item has a sentence in several conditions, cut into regions, and a prediction is a formula over the surprisals of
the regions. In number_prep, "The author next to the senators is good" must be less surprising at "is" than "The author
next to the senators are good" at "are", and the same with "authors" and "senator". A suite's score is the share of the
items whose formula holds.

Any model can be tested: it only has to provide a function from beginnings of sentences (lists of words) to the
surprisals of their words, in nats (`=` has a tolerance of a thousandth). The words are tokens of a treebank ("did",
"n't", "."). Sentences are read up to the last region in a prediction of the suite, because later words (such as the
full stop that Zhao et al. append to each sentence) cannot change earlier surprisals.
"""

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dtglib.basics.errors import UserError, require
from dtglib.basics.record import Row
from dtglib.data import minilang
from dtglib.data.tokenize import tokenize
from dtglib.evaluate.formula import ALL_REGIONS, Formula, is_finite, parse
from dtglib.evaluate.item_files import evenly, files_of, require_different
from dtglib.evaluate.surprisal import sums_of_regions

# A model: from beginnings of sentences to the surprisals of their words.
Surprise = Callable[[Sequence[Sequence[str]]], Iterable[Sequence[float] | np.ndarray]]


class SuiteItem(NamedTuple):
    """One sentence in several conditions: the words of each region, by the name of the condition."""

    number: int
    conditions: dict[str, tuple[tuple[str, ...], ...]]


class Suite(NamedTuple):
    """A test suite; its score is that of its first prediction, and others are reported separately."""

    name: str
    circuit: str  # the topic of the suite, empty if unknown
    reported: bool | None  # for public suites: whether it is one of the 31 that Hu et al. report
    region_names: tuple[str, ...]
    predictions: tuple[Formula, ...]
    items: tuple[SuiteItem, ...]

    @property
    def last_region(self) -> int:
        """The last region that is read."""
        regions = {region for formula in self.predictions for region, _ in formula.surprisals}
        if ALL_REGIONS in regions:
            return max(len(regions) for item in self.items for regions in item.conditions.values())
        return max(regions)

    def words(self, item: SuiteItem, condition: str) -> tuple[str, ...]:
        """The words of an item's condition up to the last region that is read."""
        return tuple(word for region in item.conditions[condition][: self.last_region] for word in region)


# --- reading -----------------------------------------------------------------------------------------------------


def read_suites(path: str | Path | None = None, share: int | float = 1.0) -> list[Suite]:
    """A share of each suite's items: of a file, a folder of JSON files, minilang, or (None) the public ones."""
    return [suite._replace(items=tuple(evenly(suite.items, share))) for suite in _whole_suites(path)]


def _whole_suites(path: str | Path | None) -> list[Suite]:
    if path == "minilang":
        return [read_suite(json.loads(suite.as_json()), f"minilang, {suite.name}") for suite in minilang.suites()]
    suites = []
    for where, text in files_of(path, "sg/json", "*.json", "test suites"):
        try:
            content = json.loads(text)
        except ValueError as error:
            raise UserError(f"{where}: cannot be read: it is not JSON ({error})") from error
        suites.append(read_suite(content, where))
    require_different([suite.name for suite in suites], path)
    return suites


def read_suite(content: Any, where: str) -> Suite:
    """Read a suite from its JSON; error messages begin with `where`."""
    try:
        return _suite(content)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else repr(error)
        raise UserError(f"{where}: this is no test suite in SyntaxGym's format ({what})") from error


def _suite(content: Any) -> Suite:
    meta, names = content["meta"], content["region_meta"]
    metric = meta.get("metric", "sum")
    require(metric == "sum", f"its metric is {metric!r}; only sums of surprisals are known here")
    predictions = tuple(parse(prediction["formula"]) for prediction in content["predictions"])
    require(predictions, "it predicts nothing")
    require(all(formula.surprisals for formula in predictions), "a prediction asks for no surprisal")
    items = tuple(_item(item, predictions) for item in content["items"])
    require(items, "it has no items")
    require(len({item.number for item in items}) == len(items), "two of its items have the same number")
    own = meta.get("circuit")
    circuit, reported = (own, None) if own else known_circuits().get(meta["name"], ("", None))
    require(isinstance(meta["name"], str) and isinstance(circuit, str), "its name and circuit must be text")
    region_names = tuple(names[key] for key in sorted(names, key=int))
    return Suite(meta["name"], circuit, reported, region_names, predictions, items)


def _item(item: Mapping[str, Any], predictions: Sequence[Formula]) -> SuiteItem:
    conditions, number = {}, int(item["item_number"])
    for condition in item["conditions"]:
        regions = sorted(condition["regions"], key=lambda region: int(region["region_number"]))
        numbers = [int(region["region_number"]) for region in regions]
        name = condition["condition_name"].strip()
        where = f"item {number}, {name}"
        require(numbers == list(range(1, len(numbers) + 1)), f"{where}: its regions are numbered {numbers}")
        require(name not in conditions, f"{where}: this condition is there twice")
        # Contents come with stray spaces; an empty region has no words.
        conditions[name] = tuple(tuple(tokenize(region["content"])) for region in regions)
    for formula in predictions:
        for region, condition in formula.surprisals:
            where = f"item {number}: {formula.text.strip()!r} asks for"
            require(condition in conditions, f"{where} the condition {condition!r}, which is not there")
            require(region <= len(conditions[condition]), f"{where} region {region}, which is not there")
    return SuiteItem(number, conditions)


@cache
def known_circuits() -> dict[str, tuple[str, bool]]:
    """For each public suite, its circuit and whether it is one of the 31 that Hu et al. report."""
    with open(Path(__file__).with_name("circuits.csv"), encoding="utf-8") as file:
        return {row["suite"]: (row["circuit"], row["in_hu_et_al"] == "yes") for row in csv.DictReader(file)}


# --- testing -----------------------------------------------------------------------------------------------------


def all_items(suites: Sequence[Suite]) -> list[tuple[Suite, SuiteItem]]:
    """All items, each after its suite."""
    return [(suite, item) for suite in suites for item in suite.items]


def item_rows(suites: Sequence[Suite], surprise: Surprise, at_once: int = 2) -> Iterator[Row]:
    """One row per item: the surprisal of each region that was read, and which predictions hold.

    `at_once` items make a batch; most have four sentences, which begin alike. A prediction about a surprisal that is
    not finite neither holds nor fails: it is None.
    """
    items = all_items(suites)
    for start in range(0, len(items), at_once):
        yield from rows_of_batch(items[start : start + at_once], surprise)


def rows_of_batch(batch: Sequence[tuple[Suite, SuiteItem]], surprise: Surprise) -> Iterator[Row]:
    """The rows of items that are read together."""
    sentences = [suite.words(item, name) for suite, item in batch for name in item.conditions]
    given = [words for words in sentences if words]  # a sentence without words is not given to the model
    surprisals = list(surprise(given)) if given else []
    where = f"{batch[0][0].name}, item {batch[0][1].number}"
    count = len(surprisals)
    require(count == len(given), f"{where}: surprisals came for {count} sentences instead of {len(given)}")
    of_words = iter(surprisals)
    for suite, item in batch:
        of_regions = {}
        for name, regions in item.conditions.items():
            lengths = list(map(len, regions[: suite.last_region]))
            values = np.asarray(next(of_words) if any(lengths) else (), np.float64)
            came = f"{suite.name}, item {item.number}, {name}: surprisals of shape {values.shape} came"
            require(values.shape == (sum(lengths),), f"{came} for {sum(lengths)} words")
            of_regions[name] = sums_of_regions(values, lengths).tolist()
        holds = [_holds(formula, of_regions) for formula in suite.predictions]
        yield {"suite": suite.name, "item": item.number, "holds": holds, "surprisals": of_regions}


def _holds(formula: Formula, regions: Mapping[str, Sequence[float]]) -> bool | None:
    def look(region: int, condition: str) -> float:
        return sum(regions[condition]) if region == ALL_REGIONS else regions[condition][region - 1]

    return bool(formula.holds(look)) if is_finite(formula, look) else None


# --- scores ------------------------------------------------------------------------------------------------------


def scores_by_suite(
    suites: Sequence[Suite], rows: Sequence[Row], knows: Callable[[str], bool] | None = None
) -> list[Row]:
    """One row per suite, for its first prediction; `knows(word)` says whether a word is in the vocabulary."""
    scores = []
    first = {row["suite"]: row for row in predictions(suites, rows) if row["prediction"] == 1}
    for suite in suites:
        read = [word for item in suite.items for name in item.conditions for word in suite.words(item, name)]
        scores.append(
            {
                "suite": suite.name,
                "circuit": suite.circuit,
                "reported by Hu et al.": suite.reported,
                **{name: first[suite.name][name] for name in ("items", "score", "failed")},
                "unknown words": sum(not knows(word) for word in read) / max(1, len(read)) if knows else None,
            }
        )
    return scores


def predictions(suites: Sequence[Suite], rows: Sequence[Row]) -> list[Row]:
    """One row per prediction; suites have one, and a few have others, which are not part of their scores."""
    scores = []
    for suite in suites:
        holds = [row["holds"] for row in rows if row["suite"] == suite.name]
        require(holds, f"{suite.name}: there are no results for it")
        for number, (formula, of_items) in enumerate(zip(suite.predictions, zip(*holds, strict=True), strict=True), 1):
            scores.append(
                {
                    "suite": suite.name,
                    "prediction": number,
                    "formula": formula.text.strip(),
                    "items": len(of_items),
                    "score": of_items.count(True) / len(of_items),
                    "failed": of_items.count(None),  # a failed prediction counts as wrong, and is reported here
                }
            )
    return scores


def as_tables(suites: Sequence[Suite], rows: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows as two flat tables: one row per item and prediction, and one row per region."""
    item_of = {(suite.name, item.number): item for suite, item in all_items(suites)}
    items, regions = [], []
    for row in rows:
        about = {"suite": row["suite"], "item": row["item"]}
        items += [about | {"prediction": number, "holds": holds} for number, holds in enumerate(row["holds"], 1)]
        regions += [
            about | {"condition": name, "region": number, "words": " ".join(words), "surprisal": value}
            for name, values in row["surprisals"].items()
            for number, (words, value) in enumerate(
                zip(item_of[row["suite"], row["item"]].conditions[name], values, strict=False), 1
            )
        ]
    return {"items": items, "regions": regions}


def circuits(scores: Sequence[Row]) -> list[Row]:
    """One row per circuit: the mean over its suites and, for public suites, over those that Hu et al. report."""
    rows = []
    for name in sorted({row["circuit"] for row in scores} - {""}):
        of_circuit = [row for row in scores if row["circuit"] == name]
        reported = [row for row in of_circuit if row["reported by Hu et al."]]
        rows.append({"circuit": name, "suites": len(of_circuit), "score": _mean(of_circuit)})
        if any(row["reported by Hu et al."] is not None for row in scores):
            of_them = _mean(reported) if reported else None
            rows[-1] |= {"suites of Hu et al.": len(reported), "score, Hu et al.": of_them}
    return rows


def averages(scores: Sequence[Row]) -> dict[str, float]:
    """Up to three averages that papers print, which must not be compared with one another; those of circuits first."""
    kept = [row for row in scores if row["reported by Hu et al."] is not False]
    means = {}
    for suites in (scores, kept):
        if rows := circuits(suites):
            count = sum(row["suites"] for row in rows)
            means[f"mean of {len(rows)} circuits of {count} suites"] = _mean(rows)
    if kept:
        means[f"mean of {len(kept)} suites"] = _mean(kept)
    return means


def _mean(rows: Sequence[Row]) -> float:
    return math.fsum(row["score"] for row in rows) / len(rows)
