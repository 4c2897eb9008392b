"""Tuning: a trained model goes on learning, for a task about judged sentences, in all ways that its family has.

    asked = TuningRequest(path_of_config, {}, folder_of_model, folder_of_gilt, task_named("sts-b"))
    record_tuning(asked, [1, 2, 3], "results/2026-11-24-tuning")

Some ways read trees or graphs of the sentences. They are silver ones: the best derivations that a search with another
trained model finds. Everything that takes long is cached in runs/: graphs and answers row by row, networks from their
checkpoints. So a stopped command goes on where it was. The record has a line for each network and for its scores, and
then the means:

    {"part": "tuning", "seed": 1, "way": "gilt-txl", "title": "GiLT-TXL", "folder": ..., "parameters": ..., "step": ...}
    {"part": "scores", "seed": 1, "way": "gilt-txl", "title": "GiLT-TXL", "on": "test", "items": 1379, "Pearson": ...}
    {"part": "means", "way": "gilt-txl", ..., "on": "test", "seeds": 3, "Pearson": ..., "Pearson, sd": ...}
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from dtglib.basics.code import code_of
from dtglib.basics.config import as_dict, read_config, require_positive
from dtglib.basics.errors import UserError, require
from dtglib.basics.files import sha256
from dtglib.basics.record import Row, Run, read_record
from dtglib.data.tokenize import tokenize
from dtglib.data.treebank import Sentence
from dtglib.decode.beam import Widths
from dtglib.families.base import family_of, load_model, module_of
from dtglib.network.saved import WEIGHTS_FILE
from dtglib.runs.cache import Computed, cached_rows, folder_of
from dtglib.runs.syntax_scores import parses
from dtglib.training.distributed import device_at_hand
from dtglib.training.networks import best_on_dev, train_network
from dtglib.training.schedule import TrainConfig
from dtgpapers.tuning.tasks import Task
from dtgpapers.tuning.ways import TaskData, TaskItem, Tuning, tunings

AT_ONCE = 64  # items that are answered together
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class ItemsConfig:
    """The number of items of each part that are read (the first ones; None: all), and the search for trees."""

    train_items: int | None = None
    dev_items: int | None = None
    test_items: int | None = None
    beam: int = 300
    within: float | None = None  # nats behind the best hypothesis at which others are dropped; null: none is

    def __post_init__(self) -> None:
        require_positive(self, "train_items", "dev_items", "test_items", "beam")
        if self.within is not None and self.within < 0:
            raise UserError(f"within must not be below 0, as {self.within} is")

    @property
    def widths(self) -> Widths:
        """The widths of the search."""
        return Widths(self.beam, self.beam, within=self.within)


class TuningRequest(NamedTuple):
    """A tuning that somebody asks for: the model, its settings, and the task."""

    config: Path
    overrides: Mapping[str, Any]  # replace values of the config
    model: Path  # the folder of a trained one
    trees_by: Path | None  # the folder of the model that finds the trees
    task: Task
    also: tuple[Task, ...] = ()  # whose test parts are answered, too, by the networks that are tuned for `task`


class TuningSettings(NamedTuple):
    """All settings of a way of tuning."""

    network: Any  # its own
    training: TrainConfig
    items: ItemsConfig


def ways_of(asked: TuningRequest) -> list[Tuning]:
    """The ways to tune the model; those that read trees only if a model is named that finds their kind of trees."""
    model = load_model(asked.model)
    ways = tunings(family_of(model).name)
    if asked.trees_by is None:
        return [way for way in ways if way.reads is None]
    finds = family_of(load_model(asked.trees_by))
    for way in ways:
        if way.reads and (way.reads != finds.trees.called or not finds.likelihood.is_searched):
            raise UserError(
                f"{asked.trees_by}: {way.title} reads {way.reads}, and {finds.title} finds {finds.trees.called}"
            )
    return ways


def read_tuning(asked: TuningRequest, way: Tuning) -> TuningSettings:
    """The settings of one way; the sizes are the trained model's."""
    sizes = as_dict(load_model(asked.model).config)
    del sizes["model"], sizes["dropout"]
    if odd := [name for name in asked.overrides if name in sizes]:
        raise UserError(f"--set {odd[0]}: it is a property of the trained model, which tuning does not change")
    overrides = {**asked.overrides, **sizes, **way.fixed(asked.task)}
    return TuningSettings(*read_config(asked.config, way.config, way.training, ItemsConfig, overrides=overrides))


class TunedData(NamedTuple):
    """The data of a way of tuning: train and dev, and all parts on which scores are reported."""

    train: TaskData
    dev: TaskData
    reported: Mapping[str, TaskData]


def read_data(asked: TuningRequest, way: Tuning, settings: TuningSettings) -> TunedData:
    """Read the task, find the trees that are needed, and make the data."""
    for other in asked.also:
        kind = f"{other.name} has other labels than {asked.task.name}"
        require(other.labels == asked.task.labels, f"--also: {kind}; name tasks of one kind")
    vocabulary = load_model(asked.model).vocabulary
    parts, found = asked.task.there(), {}
    for part in PARTS:
        if part in parts or part != "test":  # the test part may be missing
            longest = settings.training.longest if part == "train" else None
            items = items_of(asked, way, settings.items, part)
            found[part] = way.examples(settings.network, vocabulary, asked.task, items, longest)
    for other in asked.also:
        items = items_of(asked._replace(task=other), way, settings.items, "test")
        found[other.name] = way.examples(settings.network, vocabulary, other, items, None)
    return TunedData(found["train"], found["dev"], {part: data for part, data in found.items() if part != "train"})


def items_of(asked: TuningRequest, way: Tuning, config: ItemsConfig, part: str) -> list[TaskItem]:
    """The items of a part, with trees if they are read."""
    judged = asked.task.load(part)[: getattr(config, f"{part}_items")]
    items = [TaskItem(one, tuple(tuple(tokenize(text)) for text in one.texts)) for one in judged]
    if way.reads is None:
        return items
    words_of_all = [words for item in items for words in item.words]
    trees = found_trees(asked.trees_by, words_of_all, config.widths)  # type: ignore[arg-type]  # see ways_of
    return [item._replace(trees=tuple(trees[words] for words in item.words)) for item in items]


def found_trees(
    folder: Path, sentences: Sequence[tuple[str, ...]], widths: Widths
) -> dict[tuple[str, ...], tuple[int, ...]]:
    """The tree of the best derivation of every different sentence; an empty one where nothing is found."""
    # In the order of their lengths, because those that are searched together should be equally long.
    different = sorted({words for words in sentences if words}, key=lambda words: (len(words), words))
    rows = parses(folder, [Sentence(words) for words in different], widths)
    return {(): ()} | {words: tuple(row["tree"] or ()) for words, row in zip(different, rows, strict=True)}


def tuned(asked: TuningRequest, way: Tuning, settings: TuningSettings, data: TunedData, seed: int) -> Path:
    """The folder of a tuned network, trained now unless it is in the cache."""
    identity = {
        **as_dict(settings.network, settings.training),
        **{"seed": seed, "task": asked.task.name, "way": way.name, "trained_model": sha256(asked.model / WEIGHTS_FILE)},
        "checksum_of_train": data.train.checksum,
        "checksum_of_dev": data.dev.checksum,
    }
    folder = folder_of("models", f"{way.name}-{asked.task.name}", identity, _code(way))

    def build() -> nn.Module:
        return way.build(settings.network, load_model(asked.model))

    train_network(folder / WEIGHTS_FILE, build, data, settings.training, seed, identity)
    return folder


def _code(way: Tuning) -> str:
    made_by = train_network, module_of(way.family), way.build, way.examples, way.training
    return code_of("evaluate", *made_by)


def answers_of(folder: Path, way: Tuning, name: str, data: TaskData) -> np.ndarray:
    """The answers of a tuned network to all items, cached."""

    def load() -> Callable[[slice], list[Row]]:
        device = device_at_hand()
        network = way.load(folder, device)

        @torch.no_grad()
        def rows_of(block: slice) -> list[Row]:
            batch = data.batch(np.arange(block.start, block.stop), 0, device)
            return [{"answer": answer} for answer in network.answers(batch).tolist()]

        return rows_of

    identity = {"what": "answers", "network": sha256(folder / WEIGHTS_FILE), "data": data.checksum}
    computed = Computed(data.lengths.tolist(), load, AT_ONCE, f"answering {name}", "item")
    rows = cached_rows("scores", f"answers-{folder.name}-{name}", identity, _code(way), computed)
    return np.array([row["answer"] for row in rows])


def record_tuning(asked: TuningRequest, seeds: Sequence[int], out: Path) -> list[Row]:
    """Tune with every seed in all ways, and write a record; returns the lines with the means."""
    for part in ("train", "dev"):
        if part not in asked.task.parts:
            raise UserError(f"{asked.task.name}: has no {part} part, so that nothing can be tuned for it")
        asked.task.load(part)  # a missing file is an error before a record is begun
    ways = {way: read_tuning(asked, way) for way in ways_of(asked)}
    of_ways = {way.name: as_dict(*settings) for way, settings in ways.items()}
    trees_by = asked.trees_by and sha256(asked.trees_by / WEIGHTS_FILE)
    also = {task.name: task.checksum() for task in asked.also}
    config = {
        "task": asked.task.name,
        "also": list(also),
        "model": asked.model.name,
        "trees_by": asked.trees_by and asked.trees_by.name,
    }
    config |= {"checksum_of_model": sha256(asked.model / WEIGHTS_FILE), "checksum_of_trees_by": trees_by, **of_ways}
    question = f"What is {asked.model.name} worth for {asked.task.name}, in each way of tuning?"
    with Run(out, question, config, seeds=seeds, data={asked.task.name: asked.task.checksum(), **also}) as run:
        scores: list[Row] = []
        for way, settings in ways.items():
            data = read_data(asked, way, settings)
            for part, of_part in {"train": data.train, **data.reported}.items():
                run.metric(part="data", way=way.name, of=part, summary=of_part.summary)
            for seed in seeds:
                folder = tuned(asked, way, settings, data, seed)
                about = {"seed": seed, "way": way.name, "title": way.title}
                run.metric(part="tuning", **about, **_of_training(folder))
                for line in scored(folder, way, data, seed):
                    scores.append(line)
                    run.metric(part="scores", **line)
        lines = means(scores)
        for line in lines:
            run.metric(part="means", **line)
    return lines


def scored(folder: Path, way: Tuning, data: TunedData, seed: int) -> list[Row]:
    """A row for each part that is reported: how well a tuned network agrees with people."""
    rows = []
    for part, of_part in data.reported.items():
        scores = of_part.judged(answers_of(folder, way, part, of_part))
        about = {"seed": seed, "way": way.name, "title": way.title, "on": part, "items": len(of_part.names)}
        rows.append({**about, **scores})
    return rows


def means(scores: Sequence[Row]) -> list[Row]:
    """The mean over seeds of every score, with the standard deviation if there are several."""
    about = ("way", "title", "on", "items")
    lines = []
    for key in dict.fromkeys(tuple(row[name] for name in about) for row in scores):
        rows = [row for row in scores if tuple(row[name] for name in about) == key]
        line = {**dict(zip(about, key, strict=True)), "seeds": len(rows)}
        for name in (name for name in rows[0] if name not in (*about, "seed")):
            values = np.array([row[name] for row in rows])
            line |= {name: float(values.mean()), f"{name}, sd": float(values.std(ddof=1)) if len(rows) > 1 else None}
        lines.append(line)
    return lines


def _of_training(folder: Path) -> Row:
    best, first = best_on_dev(folder), read_record(folder).metrics[0]
    return {"folder": folder.name, "parameters": first["parameters"], "steps": first["steps"], "step": best["step"]}
