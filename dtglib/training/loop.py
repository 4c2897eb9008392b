"""One training loop for every model that has a `loss`.

    model.loss(batch) -> (nats, parts)        parts: {"transition": LossPart(nats, events)}

The loss is a sum over the batch. Its parts are logged under their own names, in nats per event: a parser that is
trained on heads and labels has the parts "head" and "label", and its metrics nats_per_head and nats_per_label. The
paper's release minimises the nats of a sentence with its tree, averaged over sentences. Here a step divides by the
average number of sentences in a step, so that every sentence has the same weight, whether its batch has few long ones
or many short ones; a family may count words instead (`TrainConfig.size`). A language model's nats per transition are a
joint loss of words and tree, not a perplexity.

The best model is the one with the lowest loss on the held-out data, unless these data judge it by something else, such
as a correlation (`Judge`).

A run can be stopped at any moment. Its random numbers depend only on seed, epoch and step, so it continues from its
last checkpoint exactly as if it had never stopped; on a CPU it ends with the same bits. Its folder contains:

    config.yaml, record.json, metrics.jsonl     settings, machine and progress (basics/record.py)
    checkpoint.safetensors                      the state of an unfinished run
    model.safetensors and others                the best model so far, as `model.save` writes it
"""

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.basics.errors import UserError
from dtglib.basics.files import only_one_process
from dtglib.basics.progress import progress, quiet
from dtglib.basics.record import Run, plain, read_about, read_record
from dtglib.network.transformer import LossPart
from dtglib.training.checkpoint import FILE as CHECKPOINT_FILE
from dtglib.training.checkpoint import REMEDY, differing, read_checkpoint, restore, save_checkpoint
from dtglib.training.compiled import Compiling, compiled_layers
from dtglib.training.distributed import Processes, has_bfloat16_units, processes
from dtglib.training.metrics import Taken, Tally, per_event
from dtglib.training.prefetch import ahead
from dtglib.training.schedule import TrainConfig, all_steps
from dtglib.training.stopping import Interrupted, StopRequests, stop_requests


@runtime_checkable
class Trainable(Protocol):
    """The methods that an nn.Module needs in order to be trained."""

    def loss(self, batch: Any) -> tuple[Tensor, dict[str, LossPart]]: ...
    def save(self, folder: Path) -> None: ...


@runtime_checkable
class Data(Protocol):
    """Training data: numbered sentences that can be put into batches, from another thread if there is a GPU."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def lengths(self) -> np.ndarray: ...

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]: ...
    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> Any: ...


@runtime_checkable
class Judge(Protocol):
    """Held-out data that judge a model by its answers, a number for each sentence, which `model.answers(batch)` gives.

    Training minimises the loss as usual; which model is kept, and when to stop, follows from the judgement.
    """

    def judged(self, answers: np.ndarray) -> dict[str, float]:
        """Scores of all answers, by name; the first one decides, and more is better."""


@runtime_checkable
class WithOwnMetrics(Protocol):
    """A network that adds metrics of its own to every evaluation; they decide nothing."""

    def own_metrics(self, held_out: Data) -> dict[str, Any]:
        """Further values for a line of metrics; the network is in evaluation mode."""


CHECKPOINT_SECONDS = 300  # between checkpoints; there is one after every evaluation, too
STEPS_PER_LINE = 10  # of metrics

# Settings that depend on the machine. A checkpoint needs the same ones to go on; a finished model does not.
CIRCUMSTANCES = ("computed_in", "computed_on")


@dataclass
class Standing:
    """The progress of a run."""

    steps: int = 0  # done
    lines: int = 0  # of metrics, written
    best: float = math.inf  # nats per sentence of the held-out data, or a judge's first score times -1
    worse: int = 0  # evaluations since then
    dev: list[float] = field(default_factory=list)  # the same at every evaluation
    stopped_early: bool = False


def train(
    model: Trainable,
    data: Data,
    held_out: Data,
    config: TrainConfig,
    folder: str | Path,
    seed: int,
    identity: Mapping[str, Any],
    about: Mapping[str, Any] | None = None,
) -> None:
    """Train `model`, starting from the folder's checkpoint if it has one; the folder then holds the best model.

    `identity` (all settings, and checksums of the data) says whether a folder belongs to this run. `about` holds
    further facts, which become the first line of metrics.
    """
    folder, course = Path(folder), Course(data, held_out, config, seed)
    with (
        processes() as ours,
        _held_by_first(ours, folder),
        stop_requests() as requests,
        torch.random.fork_rng([ours.device] if ours.device.type == "cuda" else []),
    ):
        if is_finished(folder, identity):
            (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
            return
        if ours.count > config.batches_per_step:
            raise UserError(
                f"{ours.count} processes share the batches of a step, but there are {config.batches_per_step}; "
                f"set batches_per_step to {ours.count}, or a multiple of it, or let one process train it first"
            )
        with compiled_layers(model) as compiling:
            training = _Training(model, course, folder, identity, ours, requests, compiling)
            training.resume()
            if ours.is_first:
                _record(training, about or {})
            else:
                with quiet():
                    training.go_on(None)
        ours.wait()  # until the first process has written everything


class Course(NamedTuple):
    """The data and settings of a training."""

    data: Data
    held_out: Data
    config: TrainConfig
    seed: int


def _record(training: "_Training", about: Mapping[str, Any]) -> None:
    """Take all remaining steps, and write the record of the run."""
    keep, course, folder = training.standing.lines, training.course, training.folder
    question = f"How many nats does this model need on {len(course.held_out.lengths)} held-out sentences?"
    checksums = {key: value for key, value in training.identity.items() if key.startswith("checksum_of_")}
    with Run(folder, question, training.identity, seeds=[course.seed], data=checksums, keep=keep) as run:
        if not keep:
            run.metric(part="about", steps=len(training.steps), **about)
        training.go_on(run)
    (folder / CHECKPOINT_FILE).unlink(missing_ok=True)


def is_finished(folder: Path, identity: Mapping[str, Any]) -> bool:
    """True if the folder holds this run, finished, on any machine; a finished run with other settings is an error."""
    if not (folder / "record.json").exists() or read_about(folder)["status"] != "finished":
        return False
    config = {key: value for key, value in read_record(folder).config.items() if key not in CIRCUMSTANCES}
    if differences := differing(config, plain(identity)):
        raise UserError(f"{folder}: holds a finished run with other settings: {differences}; choose another folder")
    return True


@contextlib.contextmanager
def _held_by_first(ours: Processes, folder: Path) -> Iterator[None]:
    """Lock the folder during training, and remove what a killed run left half-written in it."""
    with only_one_process(folder, "trains in this folder") if ours.is_first else contextlib.nullcontext():
        if ours.is_first:
            for part in folder.glob("*.part"):
                if part.stem.rpartition(".")[2].isdecimal():  # files.py names them so
                    part.unlink()
        ours.wait()  # until the first process has the lock
        yield


class _Loss(nn.Module):
    """The model's loss as a `forward`, which DistributedDataParallel needs."""

    def __init__(self, model: Trainable) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> tuple[Tensor, dict[str, LossPart]]:
        return self.model.loss(batch)


class _Training:
    """A training in progress."""

    def __init__(
        self,
        model: nn.Module,
        course: Course,
        folder: Path,
        identity: Mapping[str, Any],
        ours: Processes,
        requests: StopRequests,
        compiling: Compiling,
    ) -> None:
        self.model, self.course, self.folder, self.ours = model, course, folder, ours
        self.requests, self.compiling = requests, compiling
        model.to(ours.device)
        config = self.config = course.config
        precision = config.precision
        if precision == "auto":
            precision = "bfloat16" if has_bfloat16_units(ours.device) else "float32"
        self.identity = {**identity, "computed_in": precision, "computed_on": ours.device.type}
        self.dtype = getattr(torch, precision)
        self.steps = all_steps(partial(course.data.plan, device=ours.device), config, course.seed)
        sizes = (config.size(course.data.lengths[numbers]) for step in self.steps for numbers in step.batches)
        self.size_of_step = sum(sizes) / len(self.steps)
        self.optimizer, self.clipped = config.optimizer(model), config.clipped_together(model)
        self.loss = _Loss(model)
        self.shared_loss = ours.share(self.loss)
        self.standing, self.tally, self.saved_at = Standing(), Tally(), time.monotonic()

    def resume(self) -> None:
        """Restore the folder's checkpoint, if it has one."""
        checkpoint = read_checkpoint(self.folder, self.identity)
        if not checkpoint:
            return
        try:
            restore(checkpoint, self.model, self.optimizer)
            self.standing = Standing(**checkpoint.standing)
        except (KeyError, RuntimeError, TypeError) as error:
            why = " ".join(str(error).split())
            path = self.folder / CHECKPOINT_FILE
            raise UserError(f"{path}: is of another kind of model, or version of dtglib ({why}); {REMEDY}") from error

    def go_on(self, run: Run | None) -> None:
        """Take all remaining steps. Only the first process has a run to write to."""
        self.model.train()
        left = range(self.standing.steps, len(self.steps))
        what = f"training {self.folder.name}"
        with (
            progress(left, what, "step", total=len(self.steps), initial=left.start) as bar,
            contextlib.closing(ahead(map(self._batches_of, left), self.ours.device)) as steps,
        ):
            for number, batches in zip(bar, steps, strict=True):
                if self.standing.stopped_early:
                    break
                self._take(number, batches)
                self.standing.steps = done = number + 1
                every, is_last = self.config.evaluate_every, done == len(self.steps)
                evaluates = is_last or (self.steps[number].ends_epoch if every is None else done % every == 0)
                ends_line = done % STEPS_PER_LINE == 0
                stops = self.ours.total([self.requests.signal is not None])[0] > 0
                if evaluates or stops or ends_line:
                    bar.set_postfix(self._write_line(run), refresh=False)
                if evaluates:
                    self._evaluate(run)
                # At the end of a line, so that a resumed run writes the same lines (but one more if stopped by hand).
                if evaluates or stops or (ends_line and time.monotonic() - self.saved_at > CHECKPOINT_SECONDS):
                    self._save(run)
                    self.tally.began = time.monotonic()
                if stops:
                    raise Interrupted(f"stopped after step {done} of {len(self.steps)}; the same command goes on")

    def _mine(self, number: int) -> list[np.ndarray]:
        """The sentences of each batch that is this process's share of a step."""
        return self.steps[number].batches[self.ours.rank :: self.ours.count]

    def _batches_of(self, number: int) -> list[Any]:
        """The batches that this process computes in a step."""
        # A process without a share still computes a batch, with weight 0: the others wait for its gradients.
        return [
            self._batch(self.course.data, numbers) for numbers in self._mine(number) or self.steps[number].batches[:1]
        ]

    def _batch(self, data: Data, numbers: np.ndarray) -> Any:
        return data.batch(numbers, self.config.batch_positions, self.ours.device)

    def _computed(self, compute: Callable[[Any], Any], batch: Any) -> Any:
        """The model's loss or answers, in the number format of the run."""
        with torch.autocast(self.ours.device.type, self.dtype, enabled=self.dtype != torch.float32):
            return compute(batch)

    def _take(self, number: int, batches: list[Any]) -> None:
        """One step of the optimiser."""
        ours, tally, mine = self.ours, self.tally, self._mine(number)
        weight = ours.count / self.size_of_step if mine else 0.0
        for place, batch in enumerate(batches):
            is_last = place + 1 >= len(mine)
            torch.manual_seed(_seed_of(self.course.seed, number, ours.rank + place * ours.count))
            with contextlib.nullcontext() if is_last or ours.count == 1 else self.shared_loss.no_sync():
                nats, parts = self._computed(self.shared_loss, batch)
                (nats * weight).backward()
            if weight:
                useful = int(self.course.data.lengths[mine[place]].sum())
                tally.add_batch(Taken(number, mine[place], nats, parts, batch.positions, useful))
        norms = [nn.utils.clip_grad_norm_(group, self.config.clip) for group in self.clipped]
        tally.add_step(number, norms[0] if len(norms) == 1 else torch.stack(norms).norm())
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(number) * group["times"]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _rate(self, step: int) -> float:
        return self.config.rate(step, len(self.steps), self.standing.dev)

    def _write_line(self, run: Run | None) -> dict[str, str]:
        """Write a line of metrics for the steps since the last one; returns a short form for the progress bar."""
        self._refuse(self.tally.complaint(self.course.data.names))
        number = self.standing.steps
        came_to = self.tally.line(self.ours)
        if run:
            epoch, rate, compiled = self.steps[number - 1].epoch + 1, self._rate(number - 1), self.compiling.for_metrics
            run.metric(part="train", step=number, epoch=epoch, learning_rate=rate, **came_to, **compiled)
        self.tally = Tally()  # only now, because its clock starts, and a GPU has just finished the steps above
        parts = {name: value for name, value in came_to.items() if name.startswith("nats_per_")}
        del parts["nats_per_sentence"]
        loss = " + ".join(f"{value:.3f}" for value in parts.values())
        return {"loss": loss, "positions/s": f"{came_to['positions_per_second']:.0f}"}

    def _refuse(self, complaint: str) -> None:
        """End the run in all processes if one of them has a complaint; no checkpoint is saved."""
        if complaint := self.ours.any_of(complaint):
            raise UserError(
                f"{self.folder}: {complaint}; nothing of it is saved; try a lower learning_rate, in another folder"
            )

    @torch.no_grad()
    def _evaluate(self, run: Run | None) -> None:
        """Evaluate the model on the held-out sentences, and save it if it was never better."""
        decides, numbers = self._on_held_out()
        standing = self.standing
        if not math.isfinite(decides):
            self._refuse(f"the loss on the held-out sentences after step {standing.steps} is {decides}")
        is_better = decides < standing.best
        standing.dev.append(decides)
        if run:
            run.metric(part="dev", step=standing.steps, **numbers, is_best=is_better)
        if is_better:
            standing.best, standing.worse = decides, 0
            if run:
                self.model.save(self.folder)
        else:
            standing.worse += 1
            standing.stopped_early = standing.worse == self.config.patience

    def _on_held_out(self) -> tuple[float, dict[str, float]]:
        """The number that decides which model is kept, the lower the better, and all numbers by name."""
        self.model.eval()
        data, ours = self.course.held_out, self.ours
        answers = np.zeros(len(data.lengths)) if isinstance(data, Judge) else None
        plan = data.plan(self.config.batch_positions, np.random.default_rng(0), ours.device)
        mine = range(ours.rank, len(plan), ours.count)
        nats, of_batches = 0.0, []
        for number, batch in zip(mine, ahead((self._batch(data, plan[n]) for n in mine), ours.device), strict=True):
            # A model may use random numbers here, too, such as masks of words: the same ones in every evaluation.
            torch.manual_seed(_seed_of(self.course.seed, number))
            loss, parts = self._computed(self.loss, batch)
            nats, of_batches = nats + loss.item(), [*of_batches, parts]
            if answers is not None:
                answers[plan[number]] = self._computed(self.model.answers, batch).float().cpu().numpy()
        own = self.model.own_metrics(data) if isinstance(self.model, WithOwnMetrics) else {}
        self.model.train()
        (nats,) = ours.total([nats])
        numbers = {**per_event(of_batches, ours), "nats_per_sentence": nats / len(data.lengths), **own}
        if answers is None or not math.isfinite(nats):
            return numbers["nats_per_sentence"], numbers
        # Each process has computed some of the answers.
        scores = data.judged(np.array(ours.total(answers.tolist())))  # type: ignore[attr-defined]
        return -next(iter(scores.values())), numbers | scores

    def _save(self, run: Run | None) -> None:
        if run:
            run.flush()
            self.standing.lines = run.lines
            save_checkpoint(self.folder, self.identity, asdict(self.standing), self.model, self.optimizer)
        self.saved_at = time.monotonic()


def _seed_of(*numbers: int) -> int:
    """A seed for a step and batch, so that the generator's state need not be saved when a run stops."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
