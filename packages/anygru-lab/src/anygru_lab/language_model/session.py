"""Train from the first step or the last checkpoint to the end, as the only process or as one of several."""

import math
import signal
import statistics
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor

from anygru.errors import CheckpointError
from anygru.extend import Failure, UsageError, count

from . import plot
from .checkpoint import RunFolder, read_model
from .corpus import Corpus, load
from .history import History
from .index import Best, Progress, TensorFile
from .options import Options
from .progress import Board, Display, Displays, Screen, Wandb
from .trainer import Group, Trainer, learning_rate

TIMED_STEPS = 16
VALIDATIONS = 12
FINISHED = 0  # otherwise `run` returns the number of the signal that stopped it


@dataclass(frozen=True)
class Job:
    """The options, texts and folder of a training, equal on every process."""

    options: Options
    texts: tuple[str, ...]
    folder: str
    resume: bool
    bar: bool  # show a progress bar
    val_texts: tuple[str, ...] = ()
    tensorboard: bool = False  # whether to write event files into the folder
    wandb: bool = False  # whether to send the losses to Weights & Biases

    def load_corpus(self) -> Corpus:
        return load(self.texts, self.val_texts, self.options.val_fraction)

    def display(self) -> Display:
        """Return the displays of the run: the terminal, and TensorBoard or Weights & Biases if requested."""
        displays: list[Display] = [Screen(self.bar)]
        displays += [Board(self.folder)] if self.tensorboard else []
        displays += [Wandb(self.folder, asdict(self.options))] if self.wandb else []
        return displays[0] if len(displays) == 1 else Displays(*displays)


class StopRequest(AbstractContextManager["StopRequest"]):
    """Turn Ctrl-C and SIGTERM into a request that the loop checks after each step.

    A second signal stops at once unless `patient`: worker processes get every signal twice, from the terminal and from
    their parent.
    """

    def __init__(self, patient: bool) -> None:
        self.signal = 0
        self._patient = patient
        self._old: dict[int, Any] = {}

    def __enter__(self) -> "StopRequest":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._old[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal and not self._patient:
            raise KeyboardInterrupt
        self.signal = number


def run(job: Job, corpus: Corpus, group: Group, display: Display) -> int:
    """Train to the end, or until a signal asks to stop; a checkpoint is written in both cases.

    Returns:
        FINISHED, or the number of the signal.

    Raises:
        UsageError, CheckpointError: the text or the checkpoint cannot be used.
        Failure: the loss is no longer finite.
    """
    return Session(job, corpus, group, display).run()


class Session:
    """A run on one process."""

    def __init__(self, job: Job, corpus: Corpus, group: Group, display: Display) -> None:
        self.group, self.display = group, display
        self.folder = RunFolder(job.folder)
        if job.options.threads:
            torch.set_num_threads(job.options.threads)
        if not group.all_equal(corpus.digest):
            raise UsageError("the processes have read different texts; every machine needs the same files")
        self.trainer = Trainer(job.options, corpus, group)
        self.history = History()
        self.picture = plot.Picture(self.folder.path / "loss.png")
        if job.resume:
            self.progress = self._resume(job.options, corpus.digest)
        parameters = sum(weight.numel() for weight in self.trainer.parameters)
        self.display.note(f"text: {corpus.describe()}")
        for warning in corpus.warnings:
            self.display.note(f"warning: {warning}")
        self.display.note(f"model: {self.trainer.model.describe()}, {parameters:,} parameters")
        if not job.resume:
            self.progress = self._begin(job, corpus.digest)

    def _begin(self, job: Job, digest: str) -> Progress:
        if job.options.init_from:
            self._start_from(job.options.init_from)
        steps = job.options.steps or self._steps_of_epochs(job.options) or self._steps_in(job.options.seconds)
        every = job.options.every or math.ceil(steps / VALIDATIONS)
        if self.group.rank == 0:
            self.folder.set_aside()
        progress = Progress(0, steps, every, 0.0, job.options, job.texts, digest, val_texts=job.val_texts)
        return self._save(progress)

    def _start_from(self, source: str) -> None:
        """Take over the weights of a trained model."""
        _, weights = self.group.of_rank_0(lambda: read_model(source))
        with torch.no_grad():
            self.trainer.load_weights(weights)
        self.display.note(f"starting from the weights of {source}")

    def _steps_of_epochs(self, options: Options) -> int | None:
        """Return the steps in which the lanes read the text `--epochs` times."""
        if options.epochs is None:
            return None
        symbols = options.epochs * int(self.trainer.stream.lengths.sum())
        return math.ceil(symbols / (options.batch * options.bptt * options.accumulate))

    def _resume(self, options: Options, digest: str) -> Progress:
        progress, tensors = self.group.of_rank_0(lambda: self._read(digest))
        try:
            self.trainer.load_tensors(tensors, progress.step)
            self.history = History.of(tensors)
        except (KeyError, ValueError) as error:
            raise CheckpointError(f"the checkpoint of step {progress.step} does not fit the model: {error}") from None
        steps, every = options.steps or progress.steps, options.every or progress.every
        return replace(progress, steps=steps, every=every, options=options)

    def _read(self, digest: str) -> tuple[Progress, dict[str, Tensor]]:
        progress = self.folder.read()
        if progress is None or progress.state is None:
            raise UsageError(f"there is no run to resume in {str(self.folder.path)!r}")
        if progress.corpus != digest:
            raise UsageError("the text differs from the text that the run was started with")
        return progress, self.folder.read_tensors(progress.state)

    def _steps_in(self, seconds: float) -> int:
        """Return how many steps fit into the time; times a few steps on a copy of the trainer."""
        self.display.note(f"timing a few steps, to fit the run into {seconds:g} s")
        trainer, random = self.trainer, torch.get_rng_state()
        self.trainer = deepcopy(trainer)
        times = []
        for _ in range(TIMED_STEPS):
            start = time.perf_counter()
            self.trainer.step(0.0)
            times.append(time.perf_counter() - start)
        start = time.perf_counter()
        self.trainer.validate()
        validation = time.perf_counter() - start
        self.trainer = trainer
        torch.set_rng_state(random)
        a_step = statistics.quantiles(times[1:], n=4)[0]  # the lower quartile: others may be delayed
        steps = (seconds - sum(times) - VALIDATIONS * validation) / a_step
        agreed = torch.tensor(max(steps, 1.0) if self.group.rank == 0 else 0.0)
        return int(self.group.add_up(agreed))

    def run(self) -> int:
        with StopRequest(patient=self.group.size > 1) as stop, self.display:
            options, steps = self.progress.options, self.progress.steps
            warmup = min(100, steps // 20) if options.warmup is None else options.warmup
            tokens = options.batch * options.bptt * options.accumulate
            self.display.start(self.progress.step, steps, tokens, self.history.training)
            while self.progress.step < self.progress.steps:
                start = time.perf_counter()
                rate = learning_rate(self.progress.step, steps, options.lr, warmup)
                result = self.trainer.step(rate, stop=stop.signal != 0)
                step = self.progress.step + 1
                if not math.isfinite(result.bits_per_byte):
                    raise Failure(f"the loss is no longer finite at step {step}; try a lower --lr than {options.lr:g}")
                self.history.training.append(result.bits_per_byte)
                self.display.step(step, result.bits_per_byte)
                seconds = self.progress.seconds + time.perf_counter() - start
                self.progress = replace(self.progress, step=step, seconds=seconds)
                if step % self.progress.every == 0 or step == steps:
                    self._validate_and_save()
                elif result.stop:
                    self.progress = self._save(self.progress)
                if result.stop and step < self.progress.steps:
                    return stop.signal or signal.SIGINT
        return FINISHED

    def _validate_and_save(self) -> None:
        start = time.perf_counter()
        bits = self.trainer.validate()
        progress = self.progress
        self.history.held_out.append((progress.step, bits))
        progress = replace(progress, seconds=progress.seconds + time.perf_counter() - start)
        best = progress.best is None or bits < progress.best.bits_per_byte
        if best:
            progress = replace(progress, best=Best(progress.step, bits, TensorFile("", 0, "")))
        worse = sum(step > progress.best.step for step, _ in self.history.held_out) if progress.best else 0
        if progress.options.patience is not None and worse >= progress.options.patience:
            progress = replace(progress, steps=progress.step)
        self.progress = self._save(progress, self.trainer.weights() if best else None)
        self.display.validated(progress.step, bits, best)
        self._draw()
        if progress.finished and worse and worse == progress.options.patience:
            self.display.note(f"stopped: no better one in {count(worse, 'validation')} (--patience)")

    def _draw(self) -> None:
        """Draw the curve of the unfinished run; the report draws the final one."""
        if self.group.rank == 0 and not self.progress.finished:
            self.picture.show(self.history, f"step {self.progress.step:,} of {self.progress.steps:,}")

    def _save(self, progress: Progress, best_weights: Mapping[str, Tensor] | None = None) -> Progress:
        """Write a checkpoint: every process sends its part of the state, and rank 0 writes."""
        tensors = self.trainer.tensors() | self.history.tensors()
        if self.group.rank > 0:
            return progress
        progress = self.folder.save(progress, tensors, best_weights)
        self.history.write(self.folder)
        return progress
