"""The progress of a training on a terminal, with the best validation so far, and of the back-test after it."""

from contextlib import AbstractContextManager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .training import Notice


class Bar(AbstractContextManager["Bar"]):
    """A bar on standard error, where that is a terminal."""

    def __init__(self, wanted: bool) -> None:
        console = Console(stderr=True, highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("step {task.completed:,}{task.fields[score]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not (wanted and console.is_terminal),
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, score="")

    def __enter__(self) -> "Bar":
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bar.stop()

    def show(self, notice: Notice) -> None:
        """Show how far the run is."""
        score = "" if notice.validation is None else f" · validation {notice.validation:.3f}"
        total = notice.step / notice.share if notice.share > 0 else None
        self._bar.update(self._task, description=notice.doing, completed=notice.step, total=total, score=score)
