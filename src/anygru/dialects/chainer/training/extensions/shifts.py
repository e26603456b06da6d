"""Hyperparameters that change while a model is trained."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from ...optimizer import Optimizer
from ...serializer import AbstractSerializer
from ..extension import Extension

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = [
    "ExponentialShift",
    "InverseShift",
    "LinearShift",
    "MultistepShift",
    "PolynomialShift",
    "StepShift",
    "WarmupShift",
]


class _Shift(Extension):
    """Sets an attribute of the optimizer as a function of the number of calls.

    Args:
        attr: name of the attribute.
        optimizer: the optimizer; by default the trainer's "main".
    """

    def __init__(self, attr: str, optimizer: Optimizer | None = None) -> None:
        self._attr = attr
        self._optimizer = optimizer
        self._init: Any = None
        self._t: int = 0
        self._last_value: Any = None

    def value(self, t: int) -> Any:
        """The value after `t` calls."""
        raise NotImplementedError

    def _optimizer_of(self, trainer: "Trainer") -> Any:
        return self._optimizer or trainer.updater.get_optimizer("main")

    def initialize(self, trainer: "Trainer") -> None:
        if self._init is None:
            self._init = getattr(self._optimizer_of(trainer), self._attr)
        self._set(trainer, self.value(self._t) if self._last_value is None else self._last_value)

    def __call__(self, trainer: "Trainer") -> None:
        self._t += 1
        self._set(trainer, self.value(self._t))

    def _set(self, trainer: "Trainer", value: Any) -> None:
        setattr(self._optimizer_of(trainer), self._attr, value)
        self._last_value = value

    def serialize(self, serializer: AbstractSerializer) -> None:
        self._t = serializer("_t", self._t)
        self._last_value = serializer("_last_value", self._last_value)
        if isinstance(self._last_value, numpy.ndarray):
            self._last_value = self._last_value.item()


def _not_beyond(value: Any, target: float | None, rising: bool) -> Any:
    if target is None:
        return value
    return target if (value / target > 1 if rising else value / target < 1) else value


class ExponentialShift(_Shift):
    """`init * rate^t`, not beyond `target` (ValueError for a negative rate). `init` is the present value by default."""

    def __init__(
        self,
        attr: str,
        rate: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        if rate < 0:
            raise ValueError("ExponentialShift does not support negative rate")
        super().__init__(attr, optimizer)
        self._rate = rate
        self._init = init
        self._target = target

    def value(self, t: int) -> Any:
        if t == 0:
            return self._init
        return _not_beyond(self._init * self._rate**t, self._target, self._rate > 1)


class LinearShift(_Shift):
    """From the first to the second of `value_range` between the two calls of `time_range`, in equal steps."""

    def __init__(
        self,
        attr: str,
        value_range: tuple[float, float],
        time_range: tuple[float, float],
        optimizer: Optimizer | None = None,
    ) -> None:
        super().__init__(attr, optimizer)
        self._value_range = value_range
        self._time_range = time_range

    def value(self, t: int) -> Any:
        start, stop = self._time_range
        first, last = self._value_range
        rate = min(max((t - start) / (stop - start), 0.0), 1.0)
        return first if rate == 0 else last if rate == 1 else first + rate * (last - first)


class InverseShift(_Shift):
    """`init * (1 + gamma * t)^(-power)`, not beyond `target`."""

    def __init__(
        self,
        attr: str,
        gamma: float,
        power: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        if gamma < 0:
            raise ValueError("InverseShift does not support negative gamma")
        super().__init__(attr, optimizer)
        self._gamma = gamma
        self._power = power
        self._init = init
        self._target = target

    def value(self, t: int) -> Any:
        if t == 0:
            return self._init
        return _not_beyond(self._init * (1 + self._gamma * t) ** -self._power, self._target, self._power < 0)


class PolynomialShift(_Shift):
    """`init * (1 - t / max_count)^rate`, not beyond `target`; 0 after `max_count` calls. It rises for a negative rate."""

    def __init__(
        self,
        attr: str,
        rate: float,
        max_count: int,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        super().__init__(attr, optimizer)
        self._rate = rate
        self._max_count = max_count
        self._init = init
        self._target = target

    def value(self, t: int) -> Any:
        if t == 0:
            return self._init
        decay = max(1 - t / self._max_count, 0)
        return _not_beyond(self._init * decay**self._rate, self._target, self._rate < 0)


class StepShift(_Shift):
    """`init * gamma^(t // step)`, not beyond `target`."""

    def __init__(
        self,
        attr: str,
        gamma: float,
        step: int,
        init: float | None = None,
        target: float | None = None,
        optimizer: Optimizer | None = None,
    ) -> None:
        if gamma < 0:
            raise ValueError("StepShift does not support negative gamma")
        super().__init__(attr, optimizer)
        self._gamma = gamma
        self._step = step
        self._init = init
        self._target = target

    def value(self, t: int) -> Any:
        return _not_beyond(self._init * self._gamma ** (t // self._step), self._target, self._gamma > 1)


class MultistepShift(_Shift):
    """`init * gamma^n` after n of the calls listed in `step_value`."""

    def __init__(
        self, attr: str, gamma: float, step_value: Sequence[int], init: float, optimizer: Optimizer | None = None
    ) -> None:
        super().__init__(attr, optimizer)
        self._gamma = gamma
        self._step_value = step_value
        self._init = init

    def value(self, t: int) -> Any:
        return self._init * self._gamma ** sum(t >= step for step in self._step_value)


class WarmupShift(_Shift):
    """From `warmup_start` to `init` over the first `warmup_iter` calls, in equal steps."""

    def __init__(
        self, attr: str, warmup_start: float, warmup_iter: int, init: float, optimizer: Optimizer | None = None
    ) -> None:
        super().__init__(attr, optimizer)
        self._warmup_start = warmup_start
        self._warmup_iter = warmup_iter
        self._init = init

    def value(self, t: int) -> Any:
        if t >= self._warmup_iter:
            return self._init
        return self._warmup_start + t * (self._init - self._warmup_start) / self._warmup_iter
