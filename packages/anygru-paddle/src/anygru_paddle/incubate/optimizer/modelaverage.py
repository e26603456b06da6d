"""`ModelAverage`: the mean of parameters over the last steps. Source: Paddle 2.6.2, kernel `average_accumulates`, read."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ...tensor.operation import plain

__all__ = ["ModelAverage"]

_MOVED_AFTER = 16384  # steps after which a sum is added to the next, so that rounding does not grow


class _Sums:
    """The sums of one parameter, and over how many steps they go."""

    def __init__(self, parameter: torch.Tensor) -> None:
        self.parts = [torch.zeros_like(plain(parameter.detach())) for _ in range(3)]
        self.updates = self.steps = self.older = 0

    def add(self, value: torch.Tensor, share: float, least: int, most: int) -> None:
        """One step's values; a full window becomes the older part of the mean."""
        self.updates, self.steps = self.updates + 1, self.steps + 1
        self.parts[0] += value
        if self.updates % _MOVED_AFTER == 0:
            self.parts[1] += self.parts[0]
            self.parts[0].zero_()
        if self.steps >= least and self.steps >= min(most, self.updates * share):
            self.parts[2] = self.parts[0] + self.parts[1]
            self.parts[0].zero_(), self.parts[1].zero_()
            self.older, self.steps = self.steps, 0

    def mean(self) -> torch.Tensor:
        """The mean of the added values."""
        return (self.parts[0] + self.parts[1] + self.parts[2]) / (self.steps + self.older)


class ModelAverage:
    """Adds up the parameters step by step, and puts their mean in their place for an evaluation.

    Args:
        average_window_rate: the window's share of all steps.
        parameters: the parameters to average.
        min_average_window, max_average_window: the least and the most steps of the window.
        name: kept for scripts.
    """

    def __init__(
        self,
        average_window_rate: float,
        parameters: Sequence[torch.Tensor] | None = None,
        min_average_window: int = 10000,
        max_average_window: int = 10000,
        name: str | None = None,
    ) -> None:
        if parameters is None:
            raise AttributeError("parameters argument given to the Optimizer should not be None in dygraph mode.")
        self._parameter_list = list(parameters)
        self._window = average_window_rate, min_average_window, max_average_window
        self._sums = {id(each): _Sums(each) for each in self._parameter_list}
        self._kept: dict[int, torch.Tensor] = {}

    @torch.no_grad()
    def step(self) -> None:
        """Add the parameters as they are."""
        for each in self._parameter_list:
            self._sums[id(each)].add(plain(each.detach()), *self._window)

    def minimize(self, loss: torch.Tensor, *_: Any, **__: Any) -> None:
        """`step`; the gradients are the other optimizer's."""
        self.step()

    @contextlib.contextmanager
    def _averaged(self, need_restore: bool) -> Iterator[None]:
        try:
            yield
        finally:
            if need_restore:
                self.restore()

    @torch.no_grad()
    def apply(self, executor: object = None, need_restore: bool = True) -> Any:
        """Put the means in place; `with average.apply():` puts the parameters back at its end."""
        for each in self._parameter_list:
            own = plain(each.detach())
            self._kept[id(each)] = own.clone()
            own.copy_(self._sums[id(each)].mean())
        return self._averaged(need_restore)

    @torch.no_grad()
    def restore(self, executor: object = None) -> None:
        """Put the parameters back."""
        for each in self._parameter_list:
            if id(each) in self._kept:
                plain(each.detach()).copy_(self._kept.pop(id(each)))

    def clear_grad(self, set_to_zero: bool = True) -> None:
        """Clear the gradients of the parameters."""
        for each in self._parameter_list:
            each.clear_gradient(set_to_zero)  # type: ignore[attr-defined]

    clear_gradients = clear_grad
