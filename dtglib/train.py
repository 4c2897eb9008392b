"""One training loop for every model that has a `loss`.

    model.loss(batch) -> (nats, {"transitions": ..., "positions": ...})

The loss is a sum over the batch. A step takes one or several batches and divides by its sentences, as the paper's
release does: its gradient is that of the mean over sentences of the nats of a sentence with its tree. What is printed
and recorded is nats per transition, a joint loss of words and tree; it is not a perplexity.

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
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from dtglib.checkpoint import FILE as CHECKPOINT_FILE
from dtglib.checkpoint import differing, read_checkpoint, restore, save_checkpoint
from dtglib.errors import UserError
from dtglib.processes import Processes, has_bfloat16_units, processes
from dtglib.progress import progress
from dtglib.record import Run, plain, read_record
from dtglib.schedule import TrainConfig, all_steps, make_optimizer, rate_at


class Trainable(Protocol):
    """What a model needs to be trained, besides being an nn.Module."""

    def loss(self, batch: Any) -> tuple[Tensor, dict[str, float]]: ...
    def save(self, folder: Path) -> None: ...


class Data(Protocol):
    """What training data needs to be: numbered sentences that can be put into batches."""

    names: list[str]
    lengths: np.ndarray

    def plan(self, positions: int, random: np.random.Generator, device: torch.device) -> list[np.ndarray]: ...
    def batch(self, numbers: np.ndarray, device: torch.device) -> Any: ...


class Interrupted(KeyboardInterrupt):
    """Somebody asked for a stop, and everything is saved."""


CHECKPOINT_SECONDS = 300  # besides the checkpoint after every evaluation
STEPS_PER_LINE = 10  # of metrics


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
    settings: Mapping[str, Any],
    seed: int = 1,
    checksums: Mapping[str, str] | None = None,
    about: Mapping[str, Any] | None = None,
) -> None:
    """Train `model`, or go on where the folder's checkpoint stands; the folder then holds the best model.

    `settings` are all settings of the run, and `checksums` those of its data: by them a folder knows its own run.
    `about` is what else there is to say of it, and becomes its first line of metrics.
    """
    folder = Path(folder)
    with processes() as ours, _asked_to_stop() as asked, torch.random.fork_rng():
        resolved = {"precision": resolved_precision(config, ours.device)}
        settings = {**settings, **resolved, "checksums": dict(checksums or {})}
        if is_finished(folder, settings):
            (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
            return
        model.to(ours.device)
        training = _Training(model, data, held_out, config, folder, settings, seed, ours, asked, about or {})
        training.resume()
        if ours.is_first:
            question = f"How many nats a transition does this model need on {len(held_out.lengths)} held-out sentences?"
            keep = training.standing.lines
            with Run(folder, question, settings, seeds=[seed], data=checksums, keep=keep) as run:
                training.go_on(run)
            (folder / CHECKPOINT_FILE).unlink(missing_ok=True)
        else:
            training.go_on(None)


def is_finished(folder: Path, settings: Mapping[str, Any]) -> bool:
    """Whether this very run is done; a finished one with other settings is refused."""
    if not (folder / "record.json").exists():
        return False
    record = read_record(folder)
    if record.about["status"] != "finished":
        return False
    if differences := differing(record.config, plain(settings)):
        raise UserError(f"{folder}: holds a finished run with other settings: {differences}; choose another folder")
    return True


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

    def forward(self, batch: Any) -> tuple[Tensor, dict[str, float]]:
        return self.model.loss(batch)


class _Tally:
    """What the steps since the last line of metrics came to; losses stay on their device until they are asked for."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.nats: list[tuple[Tensor, int, np.ndarray]] = []  # of a batch, with its step and sentences
        self.norms: list[Tensor] = []
        self.parts: dict[str, float] = {"transitions": 0, "positions": 0, "useful": 0, "sentences": 0}


class _Training:
    """A run while it lasts."""

    def __init__(
        self,
        model: Trainable,
        data: Data,
        held_out: Data,
        config: TrainConfig,
        folder: Path,
        settings: dict[str, Any],
        seed: int,
        ours: Processes,
        asked: "_Asked",
        about: Mapping[str, Any],
    ) -> None:
        self.model, self.data, self.held_out, self.config = model, data, held_out, config
        self.folder, self.settings, self.seed, self.ours, self.asked = folder, settings, seed, ours, asked
        self.about = about
        self.steps = all_steps(partial(data.plan, device=ours.device), config, seed)
        self.optimizer = make_optimizer(model, config)
        loss = _Loss(model)
        self.loss = ours.share(torch.compile(loss) if ours.device.type == "cuda" else loss)
        self.dtype = getattr(torch, settings["precision"])
        self.standing, self.tally, self.saved_at = Standing(), _Tally(), time.monotonic()

    def resume(self) -> None:
        """Go to where the folder's checkpoint stands, if it has one."""
        checkpoint = read_checkpoint(self.folder, self.settings)
        if checkpoint:
            restore(checkpoint, self.model, self.optimizer)
            self.standing = Standing(**checkpoint.standing)

    def go_on(self, run: Run | None) -> None:
        """All steps that are left. Only the first process has a run to write to."""
        self.model.train()
        if run and not self.standing.steps:
            run.metric(part="about", steps=len(self.steps), **self.about)
        what = f"training {self.folder.name}"
        ahead = range(self.standing.steps, len(self.steps))
        with progress(ahead, what, "step", total=len(self.steps), initial=ahead.start) as bar:
            for number in bar:
                if self.standing.stopped_early:
                    break
                self._take(number)
                step = self.steps[number]
                self.standing.steps = number + 1
                every = self.config.evaluate_every
                is_last = number + 1 == len(self.steps)
                evaluates = is_last or (step.ends_epoch if every is None else (number + 1) % every == 0)
                stops = self.ours.total([self.asked.stop])[0] > 0
                if evaluates or stops or (number + 1) % STEPS_PER_LINE == 0:
                    bar.set_postfix(self._write_line(run), refresh=False)
                if evaluates:
                    self._evaluate(run)
                if evaluates or stops or self._is_time_to_save(number):
                    self._save(run)
                if stops:
                    raise Interrupted(f"stopped after step {number + 1} of {len(self.steps)}; the same command goes on")

    def _take(self, number: int) -> None:
        """One step of the optimiser."""
        step, ours = self.steps[number], self.ours
        sentences = sum(map(len, step.batches))
        # A process for which no batch is left computes one for nothing: the others wait for its gradients.
        mine = step.batches[ours.rank :: ours.count]
        weight = ours.count / sentences if mine else 0.0
        mine = mine or step.batches[:1]
        for place, numbers in enumerate(mine):
            is_last = place + 1 == len(mine)
            batch = self.data.batch(numbers, ours.device)
            torch.manual_seed(_seed_of(self.seed, number, ours.rank + place * ours.count))
            with contextlib.nullcontext() if is_last or ours.count == 1 else self.loss.no_sync():
                with torch.autocast(ours.device.type, self.dtype, enabled=self.dtype != torch.float32):
                    nats, parts = self.loss(batch)
                (nats * weight).backward()
            if weight:
                self.tally.nats.append((nats.detach(), number, numbers))
                self.tally.parts["useful"] += int(self.data.lengths[numbers].sum())
                self.tally.parts["sentences"] += len(numbers)
                for name in ("transitions", "positions"):
                    self.tally.parts[name] += parts[name]
        self.tally.norms.append(nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip))
        for group in self.optimizer.param_groups:
            group["lr"] = rate_at(number, len(self.steps), self.config) * group["times"]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def _write_line(self, run: Run | None) -> dict[str, str]:
        """A line of metrics for the steps since the last one, and the same in short for the progress bar."""
        tally, self.tally = self.tally, _Tally()
        nats = 0.0
        for loss, step, numbers in tally.nats:
            if not math.isfinite(loss.item()):
                names = ", ".join(repr(self.data.names[n]) for n in numbers[:5]) + (", ..." if len(numbers) > 5 else "")
                raise UserError(
                    f"{self.folder}: the loss of step {step + 1} is {loss.item()}, in the batch of the {len(numbers)} "
                    f"sentences {names}; the last checkpoint is kept; try a lower learning_rate"
                )
            nats += loss.item()
        names = list(tally.parts)
        nats, *sums = self.ours.total([nats, *tally.parts.values()])
        parts = dict(zip(names, sums, strict=True))
        seconds = time.monotonic() - tally.began
        number = self.standing.steps
        line = {
            "step": number,
            "epoch": self.steps[number - 1].epoch + 1,
            "nats_per_transition": nats / parts["transitions"],
            "nats_per_sentence": nats / parts["sentences"],
            "learning_rate": rate_at(number - 1, len(self.steps), self.config),
            "gradient_norm": sum(norm.item() for norm in tally.norms) / len(tally.norms),
            "positions_per_second": parts["useful"] / seconds,
            "padding": 1 - parts["useful"] / parts["positions"],
        }
        if run:
            run.metric(part="train", **line)
        return {"loss": f"{line['nats_per_transition']:.3f}", "positions/s": f"{line['positions_per_second']:.0f}"}

    @torch.no_grad()
    def _evaluate(self, run: Run | None) -> None:
        """The loss on the held-out sentences; the model is kept if it was never lower."""
        self.model.eval()
        nats = transitions = 0.0
        batches = self.held_out.plan(self.config.batch_positions, np.random.default_rng(0), self.ours.device)
        for numbers in batches[self.ours.rank :: self.ours.count]:
            with torch.autocast(self.ours.device.type, self.dtype, enabled=self.dtype != torch.float32):
                loss, parts = self.model.loss(self.held_out.batch(numbers, self.ours.device))
            nats, transitions = nats + loss.item(), transitions + parts["transitions"]
        self.model.train()
        nats, transitions = self.ours.total([nats, transitions])
        loss = nats / transitions
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
        self.tally.began = time.monotonic()

    def _is_time_to_save(self, number: int) -> bool:
        # At the end of a line only, so that a run that goes on writes the same lines as one that never stopped.
        return (number + 1) % STEPS_PER_LINE == 0 and time.monotonic() - self.saved_at > CHECKPOINT_SECONDS

    def _save(self, run: Run | None) -> None:
        if run:
            self.standing.lines = run.lines
            save_checkpoint(self.folder, self.settings, asdict(self.standing), self.model, self.optimizer)
        self.saved_at = time.monotonic()


def _seed_of(*numbers: int) -> int:
    """A seed of its own for each step and batch: so no generator's state has to outlive a stop."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


class _Asked:
    """Whether somebody has asked for a stop."""

    stop = False


@contextlib.contextmanager
def _asked_to_stop() -> Iterator[_Asked]:
    """Ctrl-C, or a batch system's SIGTERM, lets the step end; the second time it has its usual effect."""
    asked = _Asked()
    signals = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in signals}

    def stop(number: int, frame: Any) -> None:
        asked.stop = True
        signal.signal(number, before[number])

    for number in signals:
        signal.signal(number, stop)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
