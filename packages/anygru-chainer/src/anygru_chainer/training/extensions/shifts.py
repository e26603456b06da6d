"""Hyperparameters that change while a model is trained."""

import inspect
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

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

    A subclass declares its options with their defaults, `...` for none, and finds them as `_rate`, `_init` and so on. Each takes
    `attr`, the name of the attribute, before them, and `optimizer`, by default the trainer's "main", after them.
    """

    _signature: ClassVar[inspect.Signature]
    _not_negative: ClassVar[str] = ""
    """The option that must not be negative (ValueError)."""
    _init: Any = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **options: Any) -> None:
        if not options:  # a user's subclass, which has a constructor of its own
            return
        kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        given = {"attr": ..., **options, "optimizer": None}
        cls._signature = inspect.Signature(
            [inspect.Parameter(name, kind, default=empty if value is ... else value) for name, value in given.items()]
        )
        cls.__signature__ = cls._signature  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = self._signature.bind(*args, **kwargs)
        given.apply_defaults()
        self._t: int = 0
        self._last_value: Any = None
        for name, value in given.arguments.items():
            if name == self._not_negative and value < 0:
                raise ValueError(f"{type(self).__name__} does not support negative {name}")
            setattr(self, f"_{name}", value)

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


class ExponentialShift(_Shift, rate=..., init=None, target=None):
    """`init * rate^t`, not beyond `target` (ValueError for a negative rate). `init` is the present value by default."""

    _not_negative = "rate"

    def value(self, t: int) -> Any:
        if t == 0:
            return self._init
        return _not_beyond(self._init * self._rate**t, self._target, self._rate > 1)


class LinearShift(_Shift, value_range=..., time_range=...):
    """From the first to the second of `value_range` between the two calls of `time_range`, in equal steps."""

    def value(self, t: int) -> Any:
        start, stop = self._time_range
        first, last = self._value_range
        rate = min(max((t - start) / (stop - start), 0.0), 1.0)
        return first if rate == 0 else last if rate == 1 else first + rate * (last - first)


class InverseShift(_Shift, gamma=..., power=..., init=None, target=None):
    """`init * (1 + gamma * t)^(-power)`, not beyond `target`."""

    _not_negative = "gamma"

    def value(self, t: int) -> Any:
        if t == 0:
            return self._init
        return _not_beyond(self._init * (1 + self._gamma * t) ** -self._power, self._target, self._power < 0)


class PolynomialShift(_Shift, rate=..., max_count=..., init=None, target=None):
    """`init * (1 - t / max_count)^rate`, not beyond `target`; 0 after `max_count` calls. It rises for a negative rate."""

    def value(self, t: int) -> Any:
        if t == 0:
            return self._init
        decay = max(1 - t / self._max_count, 0)
        return _not_beyond(self._init * decay**self._rate, self._target, self._rate < 0)


class StepShift(_Shift, gamma=..., step=..., init=None, target=None):
    """`init * gamma^(t // step)`, not beyond `target`."""

    _not_negative = "gamma"

    def value(self, t: int) -> Any:
        return _not_beyond(self._init * self._gamma ** (t // self._step), self._target, self._gamma > 1)


class MultistepShift(_Shift, gamma=..., step_value=..., init=...):
    """`init * gamma^n` after n of the calls listed in `step_value`."""

    def value(self, t: int) -> Any:
        return self._init * self._gamma ** sum(t >= step for step in self._step_value)


class WarmupShift(_Shift, warmup_start=..., warmup_iter=..., init=...):
    """From `warmup_start` to `init` over the first `warmup_iter` calls, in equal steps."""

    def value(self, t: int) -> Any:
        if t >= self._warmup_iter:
            return self._init
        return self._warmup_start + t * (self._init - self._warmup_start) / self._warmup_iter
