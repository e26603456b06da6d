"""Progress of a training: a bar on a terminal, and a line for each validation everywhere."""

import os
import statistics
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from anygru.errors import printable
from anygru.extend import needed

from . import curve

NARROW = 80  # columns, the least for the bar and all numbers
WIDEST = 100  # columns, the most for the curve
RECENT = 50  # steps over which the loss and the speed are averaged


class Display(AbstractContextManager["Display"]):
    """Shows nothing; used by all ranks but 0."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        pass

    def note(self, text: str) -> None:
        """Show a line about the run."""

    def start(self, step: int, steps: int, tokens: int, history: Sequence[float]) -> None:
        """Begin at `step` of `steps`, with `tokens` per step; `history` has the loss of each earlier step."""

    def step(self, step: int, bits_per_byte: float) -> None:
        """Note that a training step is done."""

    def validated(self, step: int, bits_per_byte: float, best: bool) -> None:
        """Note that a validation is done and saved."""


class _Bar(Progress):
    """A progress bar under the loss curve so far."""

    losses: Sequence[float] = ()
    steps = 0

    def get_renderables(self) -> Iterable[RenderableType]:
        """Return the display's parts, from the top."""
        if self.losses:
            rows = max(2, min(curve.ROWS, self.console.height // 3))
            lines = curve.drawn(self.losses, self.steps, min(self.console.width, WIDEST), rows)
            yield Text("\n".join(lines), style="blue", no_wrap=True)
        yield from super().get_renderables()


class Screen(Display):
    """Shows the run on standard error."""

    def __init__(self, bar: bool) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        wide = (
            TextColumn("step {task.completed:,}/{task.total:,}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[bits]} bits/byte · {task.fields[speed]} tokens/s · {task.fields[left]} left"),
        )
        narrow = (TextColumn("{task.completed:,}/{task.total:,} {task.fields[bits]} bits/byte {task.fields[left]}"),)
        self._bar = _Bar(
            *(wide if self.console.width >= NARROW else narrow),
            console=self.console,
            disable=not (bar and self.console.is_terminal),
            expand=True,
        )
        self._losses: deque[float] = deque(maxlen=RECENT)
        self._all: list[float] = []
        self._times: deque[float] = deque(maxlen=RECENT + 1)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def note(self, text: str) -> None:
        self.console.print(printable(text), markup=False)

    def start(self, step: int, steps: int, tokens: int, history: Sequence[float]) -> None:
        self._tokens, self._steps, self._first = tokens, steps, step
        self._losses.extend(history[-RECENT:])
        self._all = list(history)
        self._bar.losses, self._bar.steps = self._all, steps
        self._task = self._bar.add_task("", total=steps, completed=step, bits="-", speed="-", left="-:--")
        self._began = time.monotonic()
        self._times.append(self._began)
        self._bar.start()

    def step(self, step: int, bits_per_byte: float) -> None:
        self._losses.append(bits_per_byte)
        self._all.append(bits_per_byte)
        self._times.append(time.monotonic())
        a_step = (self._times[-1] - self._began) / (step - self._first)
        self._bar.update(
            self._task,
            completed=step,
            bits=f"{statistics.fmean(self._losses):.3f}",
            speed=f"{self._speed():,.0f}",
            left=_clock(a_step * (self._steps - step)),
        )

    def validated(self, step: int, bits_per_byte: float, best: bool) -> None:
        width = len(f"{self._steps:,}")
        self.note(
            f"step {step:{width},}/{self._steps:,}  held-out {bits_per_byte:.3f} bits/byte  "
            f"training {statistics.fmean(self._losses):.3f}  {self._speed():,.0f} tokens/s" + ("  best" if best else "")
        )

    def _speed(self) -> float:
        spent = self._times[-1] - self._times[0]
        return self._tokens * (len(self._times) - 1) / spent if spent else 0.0


class Board(Display):
    """Writes event files for TensorBoard into a run's folder."""

    def __init__(self, folder: str) -> None:
        self._writer = needed("torch.utils.tensorboard", "--tensorboard", "tensorboard").SummaryWriter(folder)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._writer.close()

    def step(self, step: int, bits_per_byte: float) -> None:
        self._writer.add_scalar("bits per byte/training", bits_per_byte, step)

    def validated(self, step: int, bits_per_byte: float, best: bool) -> None:
        self._writer.add_scalar("bits per byte/held out", bits_per_byte, step)
        self._writer.flush()


class Wandb(Display):
    """Sends the losses to Weights & Biases; configured by its environment variables."""

    def __init__(self, folder: str, options: Mapping[str, object]) -> None:
        package = needed("wandb", "--wandb", "wandb")
        project = os.environ.get("WANDB_PROJECT", "anygru-train")
        self._run = package.init(project=project, name=os.path.basename(os.path.abspath(folder)), config=dict(options))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._run.finish(exit_code=0 if error is None else 1)

    def step(self, step: int, bits_per_byte: float) -> None:
        self._run.log({"bits per byte/training": bits_per_byte}, step=step)

    def validated(self, step: int, bits_per_byte: float, best: bool) -> None:
        self._run.log({"bits per byte/held out": bits_per_byte}, step=step)


class Displays(Display):
    """Several displays as one."""

    def __init__(self, *displays: Display) -> None:
        self._displays = displays

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for display in self._displays:
            display.__exit__(kind, error, at)

    def note(self, text: str) -> None:
        for display in self._displays:
            display.note(text)

    def start(self, step: int, steps: int, tokens: int, history: Sequence[float]) -> None:
        for display in self._displays:
            display.start(step, steps, tokens, history)

    def step(self, step: int, bits_per_byte: float) -> None:
        for display in self._displays:
            display.step(step, bits_per_byte)

    def validated(self, step: int, bits_per_byte: float, best: bool) -> None:
        for display in self._displays:
            display.validated(step, bits_per_byte, best)


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
