"""`ModelAverage`: the mean of parameters over the last steps. Source: Paddle 2.6.2, kernel `average_accumulates`, read."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ...optimizer.optimizer import Optimizer, Pairs
from ...tensor.operation import plain

__all__ = ["ModelAverage"]

_MOVED_AFTER = 16384  # steps after which a sum is added to the next, so that rounding does not grow


class ModelAverage(Optimizer):
    """Accumulates the parameters over steps, and replaces them by their mean for an evaluation.

    A parameter without a gradient is not added; its mean is nan (recorded, 2.6.2).

    Args:
        average_window_rate: the window's share of all steps.
        parameters: the parameters to average.
        min_average_window, max_average_window: the least and the most steps of the window.
        name: kept for scripts.
    """

    accumulators = dict.fromkeys(
        ("sum_1", "sum_2", "sum_3", "restore", "num_accumulates", "old_num_accumulates", "num_updates")
    )

    def __init__(
        self,
        average_window_rate: float,
        parameters: Sequence[torch.Tensor] | None = None,
        min_average_window: int = 10000,
        max_average_window: int = 10000,
        name: str | None = None,
    ) -> None:
        super().__init__(0.0, parameters, name=name)
        self.average_window = average_window_rate
        self.min_average_window = min_average_window
        self.max_average_window = max_average_window

    def _start(self, name: str, parameter: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
        if "num_" in name:
            return torch.zeros(1, dtype=torch.int64, device=parameter.device)
        return super()._start(name, parameter, options)

    @torch.no_grad()
    def _apply(self, params_grads: Pairs) -> None:
        """Add the current parameters; a full window becomes the older part of the mean."""
        for parameter in self._parameter_list:
            self._state(parameter, {}, {})
        for parameter, _ in params_grads:
            newest, newer, older, _, steps, older_steps, updates = self._state(parameter, {}, {})[1]
            updates += 1
            steps += 1
            newest += plain(parameter.detach())
            if updates.item() % _MOVED_AFTER == 0:
                newer += newest
                newest.zero_()
            window = min(self.max_average_window, updates.item() * self.average_window)
            if steps.item() >= max(self.min_average_window, window):
                older.copy_(newest + newer)
                older_steps.copy_(steps)
                for each in (newest, newer, steps):
                    each.zero_()

    def minimize(self, loss: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        """`step`; the gradients are the other optimizer's."""
        self.step()

    def _made(self, parameter: Any) -> list[torch.Tensor]:
        """The accumulators of a parameter. Raises RuntimeError before the first step."""
        if id(parameter) not in self._accumulators:
            raise RuntimeError(f"Accumulator restore does not exist for parameter {parameter.name}; call step first")
        return self._accumulators[id(parameter)][1]

    @contextlib.contextmanager
    def apply(self, executor: object = None, need_restore: bool = True) -> Iterator[None]:
        """`with average.apply():` puts the means in place, and the parameters back at its end; without `with` nothing."""
        with torch.no_grad():
            for each in self._parameter_list:
                newest, newer, older, kept, steps, older_steps, _ = self._made(each)
                kept.copy_(plain(each.detach()))
                plain(each.detach()).copy_((newest + newer + older) / (steps + older_steps))
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    @torch.no_grad()
    def restore(self, executor: object = None) -> None:
        """Put the parameters back."""
        for each in self._parameter_list:
            plain(each.detach()).copy_(self._made(each)[3])
