"""One training loop for every model that has a `loss`.

    model.loss(batch) -> (nats, {"transitions": ..., "positions": ...})

The loss is a sum over the batch. The paper's release minimises the nats of a sentence with its tree, averaged over
sentences, so here a step divides by sentences, too: by how many a step has on average, so that every sentence weighs
the same, whether its batch holds a few long ones or many short ones. What is printed and recorded is nats per
transition, a joint loss of words and tree; it is not a perplexity.

A run can be stopped at any moment. What it draws at random depends on seed, epoch and step alone, so it goes on from
its last checkpoint as if nothing had been; on a CPU it ends with the same bits. In its folder:

    config.yaml, record.json, metrics.jsonl     what, on which machine, and how it went (record.py)
    checkpoint.safetensors                      where it stands; gone when it is finished
    model.safetensors and others                the best model so far, as `model.save` writes it
"""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.ahead import ahead
from dtglib.checkpoint import ANEW, differing, read_checkpoint, restore, save_checkpoint
from dtglib.checkpoint import FILE as CHECKPOINT_FILE
from dtglib.errors import UserError
from dtglib.files import only_one_process
from dtglib.processes import Processes, has_bfloat16_units, processes
from dtglib.progress import progress, quiet
from dtglib.record import Run, plain, read_about, read_record
from dtglib.schedule import TrainConfig, all_steps, make_optimizer, rate_at
from dtglib.tally import Tally


@runtime_checkable
class Trainable(Protocol):
    """What a model needs to be trained, besides being an nn.Module."""

    def loss(self, batch: Any) -> tuple[Tensor, dict[str, int]]: ...
    def save(self, folder: Path) -> None: ...


@runtime_checkable
class Data(Protocol):
    """What training data needs to be: numbered sentences that can be put into batches, for a GPU in a thread."""

    names: list[str]
    lengths: np.ndarray

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]: ...
    def batch(self, numbers: np.ndarray, positions: int, device: torch.device) -> Any: ...


class Interrupted(KeyboardInterrupt):
    """Somebody asked for a stop, and everything is saved."""


CHECKPOINT_SECONDS = 300  # besides the checkpoint after every evaluation
STEPS_PER_LINE = 10  # of metrics

# What the machine decides: a checkpoint goes on only where it is the same, a finished model is good everywhere.
CIRCUMSTANCES = ("computed_in", "computed_on")


@dataclass
class Standing:
    """How far a run has come."""

    steps: int = 0  # done
    lines: int = 0  # of metrics, written
    best: float = math.inf  # nats per transition of the held-out data
    worse: int = 0  # evaluations since then
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
    """Train `model`, or go on where the folder's checkpoint stands; the folder then holds the best model.

    By `identity` (all settings, and checksums of the data) a folder knows its own run. `about` is what else there is to
    say of it, and becomes its first line of metrics.
    """
    folder = Path(folder)
    with processes() as ours, _held_by_first(ours, folder), _asked_to_stop() as asked, _own_random_numbers(ours):
        if ours.count > config.batches_per_step:
            raise UserError(
                f"{ours.count} processes share the batches of a step, but there are {config.batches_per_step}; "
                f"set batches_per_step to {ours.count}, or a multiple of it"
            )
        if is_finished(folder, identity):
            (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
            return
        model.to(ours.device)
        training = _Training(model, data, held_out, config, folder, seed, identity, ours, asked)
        training.resume()
        if not ours.is_first:
            with quiet():
                training.go_on(None)
            ours.total([0])  # until the first has written everything
            return
        keep = training.standing.lines
        question = f"How many nats a transition does this model need on {len(held_out.lengths)} held-out sentences?"
        checksums = {key: value for key, value in identity.items() if key.startswith("checksum_of_")}
        with Run(folder, question, training.identity, seeds=[seed], data=checksums, keep=keep) as run:
            if not keep:
                run.metric(part="about", steps=len(training.steps), **(about or {}))
            training.go_on(run)
        (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
        ours.total([0])


def is_finished(folder: Path, identity: Mapping[str, Any]) -> bool:
    """Whether this very run is done, on whatever machine; a finished one with other settings is refused."""
    if not (folder / "record.json").exists() or read_about(folder)["status"] != "finished":
        return False
    config = {key: value for key, value in read_record(folder).config.items() if key not in CIRCUMSTANCES}
    if differences := differing(config, plain(identity)):
        raise UserError(f"{folder}: holds a finished run with other settings: {differences}; choose another folder")
    return True


@contextlib.contextmanager
def _held_by_first(ours: Processes, folder: Path) -> Iterator[None]:
    """The folder is ours alone while we train; what a killed run left half-written in it is removed."""
    with only_one_process(folder, "trains in this folder") if ours.is_first else contextlib.nullcontext():
        if ours.is_first:
            for part in folder.glob("*.part"):
                part.unlink()
        ours.total([0])  # the others wait
        yield


@contextlib.contextmanager
def _own_random_numbers(ours: Processes) -> Iterator[None]:
    """What is drawn here disturbs nobody else's random numbers."""
    with torch.random.fork_rng([ours.device] if ours.device.type == "cuda" else []):
        yield


def resolved_precision(config: TrainConfig, device: torch.device) -> str:
    """In what the products are computed: where the machine has units for bfloat16, those are much faster."""
    if config.precision != "auto":
        return config.precision
    return "bfloat16" if has_bfloat16_units(device) else "float32"


class _Loss(nn.Module):
    """The model's loss as a forward pass, which is what DistributedDataParallel watches."""

    def __init__(self, model: Trainable) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> tuple[Tensor, dict[str, int]]:
        return self.model.loss(batch)


class _Training:
    """A run while it lasts."""

    def __init__(
        self,
        model: Trainable,
        data: Data,
        held_out: Data,
        config: TrainConfig,
        folder: Path,
        seed: int,
        identity: Mapping[str, Any],
        ours: Processes,
        asked: "_Asked",
    ) -> None:
        self.model, self.data, self.held_out, self.config = model, data, held_out, config
        self.folder, self.seed, self.ours, self.asked = folder, seed, ours, asked
        precision = resolved_precision(config, ours.device)
        self.identity = {**identity, "computed_in": precision, "computed_on": ours.device.type}
        self.dtype = getattr(torch, precision)
        self.steps = all_steps(partial(data.plan, device=ours.device), config, seed)
        self.sentences_per_step = sum(len(numbers) for step in self.steps for numbers in step.batches) / len(self.steps)
        self.optimizer = make_optimizer(model, config)
        self.loss = torch.compile(_Loss(model)) if ours.device.type == "cuda" else _Loss(model)
        self.shared_loss = ours.share(self.loss)
        self.standing, self.tally, self.saved_at = Standing(), Tally(), time.monotonic()

    def resume(self) -> None:
        """Go to where the folder's checkpoint stands, if it has one."""
        checkpoint = read_checkpoint(self.folder, self.identity)
        if not checkpoint:
            return
        try:
            restore(checkpoint, self.model, self.optimizer)
            self.standing = Standing(**checkpoint.standing)
        except (KeyError, RuntimeError, TypeError) as error:
            why = " ".join(str(error).split())
            path = self.folder / CHECKPOINT_FILE
            raise UserError(f"{path}: is of another kind of model, or version of dtglib ({why}); {ANEW}") from error

    def go_on(self, run: Run | None) -> None:
        """All steps that are left. Only the first process has a run to write to."""
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
                stops = self.ours.total([self.asked.stop is not None])[0] > 0
                if evaluates or stops or ends_line:
                    bar.set_postfix(self._write_line(run), refresh=False)
                if evaluates:
                    self._evaluate(run)
                # At the end of a line, so that a run that goes on writes the same lines as one that never stopped.
                if evaluates or stops or (ends_line and time.monotonic() - self.saved_at > CHECKPOINT_SECONDS):
                    self._save(run)
                    self.tally.began = time.monotonic()
                if stops:
                    raise Interrupted(f"stopped after step {done} of {len(self.steps)}; the same command goes on")

    def _mine(self, number: int) -> list[np.ndarray]:
        """The sentences of each batch that is this process's share of a step."""
        return self.steps[number].batches[self.ours.rank :: self.ours.count]

    def _batches_of(self, number: int) -> list[Any]:
        """What this process computes in a step."""
        # One for which no batch is left computes one for nothing: the others wait for its gradients.
        return [self._batch(self.data, numbers) for numbers in self._mine(number) or self.steps[number].batches[:1]]

    def _batch(self, data: Data, numbers: np.ndarray) -> Any:
        return data.batch(numbers, self.config.batch_positions, self.ours.device)

    def _loss_of(self, loss: nn.Module, batch: Any) -> tuple[Tensor, dict[str, int]]:
        with torch.autocast(self.ours.device.type, self.dtype, enabled=self.dtype != torch.float32):
            return loss(batch)

    def _take(self, number: int, batches: list[Any]) -> None:
        """One step of the optimiser."""
        ours, tally, mine = self.ours, self.tally, self._mine(number)
        weight = ours.count / self.sentences_per_step if mine else 0.0
        for place, batch in enumerate(batches):
            is_last = place + 1 >= len(mine)
            torch.manual_seed(_seed_of(self.seed, number, ours.rank + place * ours.count))
            with contextlib.nullcontext() if is_last or ours.count == 1 else self.shared_loss.no_sync():
                nats, parts = self._loss_of(self.shared_loss, batch)
                (nats * weight).backward()
            if weight:
                numbers = mine[place]
                tally.add_batch(number, numbers, nats, parts, useful=int(self.data.lengths[numbers].sum()))
        tally.add_step(number, nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip))
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(number, len(self.steps), self.config) * group["times"]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _write_line(self, run: Run | None) -> dict[str, str]:
        """A line of metrics for the steps since the last one, and the same in short for the progress bar."""
        self._refuse(self.tally.complaint(self.data.names))
        number = self.standing.steps
        came_to = self.tally.line(self.ours)
        if run:
            epoch, rate = self.steps[number - 1].epoch + 1, rate_at(number - 1, len(self.steps), self.config)
            run.metric(part="train", step=number, epoch=epoch, learning_rate=rate, **came_to)
        self.tally = Tally()  # now, as a GPU has only now done what it was asked for
        loss, speed = came_to["nats_per_transition"], came_to["positions_per_second"]
        return {"loss": f"{loss:.3f}", "positions/s": f"{speed:.0f}"}

    def _refuse(self, complaint: str) -> None:
        """End the run, in all processes, where one of them has met something that no checkpoint may hold."""
        if complaint := self.ours.any_of(complaint):
            raise UserError(
                f"{self.folder}: {complaint}; nothing of it is saved; try a lower learning_rate, in another folder"
            )

    @torch.no_grad()
    def _evaluate(self, run: Run | None) -> None:
        """The loss on the held-out sentences; the model is kept if it was never lower."""
        self.model.eval()
        nats = transitions = 0.0
        batches = self.held_out.plan(self.config.batch_positions, np.random.default_rng(0), self.ours.device)
        mine = batches[self.ours.rank :: self.ours.count]
        held_out = (self._batch(self.held_out, numbers) for numbers in mine)
        for batch in ahead(held_out, self.ours.device):
            loss, parts = self._loss_of(self.loss, batch)
            nats, transitions = nats + loss.item(), transitions + parts["transitions"]
        self.model.train()
        nats, transitions = self.ours.total([nats, transitions])
        loss = nats / transitions
        if not math.isfinite(loss):
            self._refuse(f"the loss on the held-out sentences after step {self.standing.steps} is {loss}")
        is_better = loss < self.standing.best
        if run:
            per_sentence = nats / len(self.held_out.lengths)
            run.metric(
                part="dev",
                step=self.standing.steps,
                nats_per_transition=loss,
                nats_per_sentence=per_sentence,
                is_best=is_better,
            )
        if is_better:
            self.standing.best, self.standing.worse = loss, 0
            if run:
                self.model.save(self.folder)
        else:
            self.standing.worse += 1
            self.standing.stopped_early = self.standing.worse == self.config.patience

    def _save(self, run: Run | None) -> None:
        if run:
            run.flush()
            self.standing.lines = run.lines
            save_checkpoint(self.folder, self.identity, asdict(self.standing), self.model, self.optimizer)
        self.saved_at = time.monotonic()


def _seed_of(*numbers: int) -> int:
    """A seed of its own for each step and batch: so no generator's state has to outlive a stop."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


class _Asked:
    """Whether somebody has asked for a stop, and by which signal."""

    stop: int | None = None


@contextlib.contextmanager
def _asked_to_stop() -> Iterator[_Asked]:
    """Ctrl-C, or a batch system's SIGTERM, lets the step end; the second time it has its usual effect.

    So it has in the end where it came too late for any step.
    """
    asked = _Asked()
    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in signals}

    def stop(number: int, frame: Any) -> None:
        asked.stop = number
        signal.signal(number, before[number])

    for number in signals:
        signal.signal(number, stop)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked.stop:
        signal.raise_signal(asked.stop)
