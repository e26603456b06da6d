"""Hyperparameters that change while a model is trained."""

import inspect
from typing import TYPE_CHECKING, Any, ClassVar

import numpy

from anygru.extend import bound

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
    _saved: ClassVar[tuple[str, ...]] = ("_t", "_last_value")
    """The attributes in a snapshot."""
    _init: Any = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **options: Any) -> None:
        if not options:  # a user's subclass with another constructor
            return
        kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        given = {"attr": ..., **options, "optimizer": None}
        cls._signature = inspect.Signature(
            [inspect.Parameter(name, kind, default=empty if value is ... else value) for name, value in given.items()]
        )
        cls.__signature__ = cls._signature  # type: ignore[attr-defined]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = bound(self._signature, f"{type(self).__name__}.__init__", args, kwargs)
        self._t: int = 0
        self._last_value: Any = None
        for name, value in given.arguments.items():
            if name == self._not_negative and value < 0:
                raise ValueError(f"{type(self).__name__} does not support negative {name}")
            setattr(self, f"_{name}", value)

    def first(self) -> Any:
        """The value before the first call."""
        return self._init

    def value(self, t: int) -> Any:
        """The value after `t` calls, from 1 on; None: the attribute does not change."""
        raise NotImplementedError

    def _optimizer_of(self, trainer: "Trainer") -> Any:
        return self._optimizer or trainer.updater.get_optimizer("main")

    def initialize(self, trainer: "Trainer") -> None:
        if self._init is None and "init" in self._signature.parameters:
            self._init = getattr(self._optimizer_of(trainer), self._attr)
        last = self._last_value if "_last_value" in self._saved else None  # the others begin again in each training
        self._set(trainer, self.first() if last is None else last)

    def __call__(self, trainer: "Trainer") -> None:
        self._t += 1
        value = self.value(self._t)
        if value is not None:
            self._set(trainer, value)

    def _set(self, trainer: "Trainer", value: Any) -> None:
        setattr(self._optimizer_of(trainer), self._attr, value)
        self._last_value = value

    def serialize(self, serializer: AbstractSerializer) -> None:
        for name in self._saved:
            saved = serializer(name, getattr(self, name))
            setattr(self, name, saved.item() if isinstance(saved, numpy.ndarray) else saved)


def _not_beyond(value: Any, target: float | None, rising: bool) -> Any:
    if target is None:
        return value
    # The quotient decides, so that negative values approach a target as well (Chainer 7.8.1, `exponential_shift.py`, recorded).
    with numpy.errstate(divide="ignore", invalid="ignore"):
        share = numpy.divide(value, target)
    return target if (share > 1 if rising else share < 1) else value


class ExponentialShift(_Shift, rate=..., init=None, target=None):
    """`init * rate^t`, not beyond `target` (ValueError for a negative rate). `init` is the present value by default."""

    _not_negative = "rate"

    def value(self, t: int) -> Any:
        return _not_beyond(self._init * self._rate**t, self._target, self._rate > 1)


class LinearShift(_Shift, value_range=..., time_range=...):
    """From the first to the second of `value_range` between the two calls of `time_range`, in equal steps."""

    def first(self) -> Any:
        return self.value(self._t)

    def value(self, t: int) -> Any:
        start, stop = self._time_range
        first, last = self._value_range
        return first if t <= start else last if t >= stop else first + (t - start) / (stop - start) * (last - first)


class InverseShift(_Shift, gamma=..., power=..., init=None, target=None):
    """`init * (1 + gamma * t)^(-power)`, not beyond `target`."""

    _not_negative = "gamma"

    def value(self, t: int) -> Any:
        return _not_beyond(self._init * (1 + self._gamma * t) ** -self._power, self._target, self._power < 0)


class PolynomialShift(_Shift, rate=..., max_count=..., init=None, target=None):
    """`init * (1 - t / max_count)^rate`, not beyond `target`; 0 after `max_count` calls. It rises for a negative rate."""

    def value(self, t: int) -> Any:
        value = self._init * max(1 - t / self._max_count, 0) ** self._rate
        if self._target is None:
            return value
        # This quotient is the inverse, which matters for a negative target (Chainer 7.8.1, recorded). Chainer divides
        # by zero if the value is 0.
        share = self._target / value if value else numpy.inf
        return self._target if (share > 1 if self._rate > 0 else share < 1) else value


class StepShift(_Shift, gamma=..., step=..., init=None, target=None):
    """`init * gamma^(t // step)`, not beyond `target`. A negative gamma changes the sign at each step."""

    def value(self, t: int) -> Any:
        return _not_beyond(self._init * self._gamma ** float(t // self._step), self._target, self._gamma > 1)


class MultistepShift(_Shift, gamma=..., step_value=..., init=...):
    """`init * gamma^n` after n of the calls listed in `step_value`."""

    _saved = ("_t", "_current_step")
    _current_step = 0

    def value(self, t: int) -> Any:
        # One call takes one step, of steps that are listed for the same call or out of order as well; a snapshot is resumed
        # with `init` until the next call (Chainer 7.8.1, `multistep_shift.py`, recorded).
        if self._current_step < len(self._step_value) and t >= self._step_value[self._current_step]:
            self._current_step += 1
        return self._init * self._gamma**self._current_step


class WarmupShift(_Shift, warmup_start=..., warmup_iter=..., init=...):
    """From `warmup_start` (None: the present value) to `init` over the first `warmup_iter` calls, in equal steps."""

    _saved = ("_t",)
    _warmup_start: Any = None

    def first(self) -> Any:
        return self._warmup_start

    def initialize(self, trainer: "Trainer") -> None:
        if self._warmup_start is None:
            self._warmup_start = getattr(self._optimizer_of(trainer), self._attr)
        super().initialize(trainer)

    def value(self, t: int) -> Any:
        if t <= self._warmup_iter:
            return (t * self._init + (self._warmup_iter - t) * self._warmup_start) / self._warmup_iter
        return None  # other extensions may change the attribute from here on, as in Chainer 7.8.1 (recorded)
