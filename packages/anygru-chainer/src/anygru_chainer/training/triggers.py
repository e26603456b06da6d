"""Triggers: conditions for stopping, and for calling extensions."""

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..reporter import DictSummary
from ..serializer import AbstractSerializer
from ..utils import argument

if TYPE_CHECKING:
    from .trainer import Trainer

__all__ = [
    "BestValueTrigger", "EarlyStoppingTrigger", "IntervalTrigger", "ManualScheduleTrigger", "MaxValueTrigger",
    "MinValueTrigger", "OnceTrigger", "TimeTrigger", "get_trigger",
]  # fmt: skip


TriggerSpec = Callable[[Any], bool] | tuple[float, str] | None


def load_progress(trigger: TriggerSpec, serializer: AbstractSerializer) -> None:
    """Save or load the position of the last call; warn if the file of an early release lacks it."""
    for name, attribute, unknown in (
        ("previous_iteration", "_previous_iteration", -1),
        ("previous_epoch_detail", "_previous_epoch_detail", -1.0),
    ):
        try:
            setattr(trigger, attribute, serializer(name, getattr(trigger, attribute)))
        except KeyError:
            warnings.warn(
                f"The previous value of {name.removeprefix('previous_')} is not saved. {type(trigger).__name__} guesses "
                "it. If this trigger is not called at every iteration, it may not work correctly."
            )
            setattr(trigger, attribute, unknown)


def check_unit(unit: str) -> None:
    """Raise ValueError unless the unit is "epoch" or "iteration"."""
    if unit not in ("epoch", "iteration"):
        raise ValueError(f"Trigger unit must be either 'epoch' or 'iteration'. Actual: {unit!r}")


def advance(trigger: Any, updater: Any) -> tuple[Any, Any]:
    """The epoch or iteration (the trigger's unit) of its last call and of this one, which it remembers."""
    if trigger.unit == "epoch":
        now, before = updater.epoch_detail, trigger._previous_epoch_detail
        if before < 0:
            before = updater.previous_epoch_detail
    else:
        now, before = updater.iteration, trigger._previous_iteration
        if before < 0:
            before = now - 1
    trigger._previous_iteration = updater.iteration
    if hasattr(updater, "epoch_detail"):
        trigger._previous_epoch_detail = updater.epoch_detail
    return before, now


class IntervalTrigger:
    """Fires every `period` epochs or iterations (`unit`); the period in epochs may be a fraction."""

    def __init__(self, period: float, unit: str) -> None:
        check_unit(unit)
        self.period = period
        self.unit = unit
        self.count: Any = 0
        self._previous_iteration = 0
        self._previous_epoch_detail: Any = 0.0

    def __call__(self, trainer: "Trainer") -> bool:
        before, now = advance(self, trainer.updater)
        if self.unit == "epoch":
            self.count = now // self.period
        return before // self.period != now // self.period

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the position of the last call."""
        load_progress(self, serializer)

    def get_training_length(self) -> tuple[float, str]:
        """Period and unit."""
        return self.period, self.unit

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.period}, '{self.unit}')"


class ManualScheduleTrigger:
    """Fires at each of the given points (a number or a list) in epochs or iterations."""

    def __init__(self, points: float | list[float], unit: str) -> None:
        check_unit(unit)
        self.points = points if isinstance(points, list) else [points]
        self.unit = unit
        self.finished = False
        self._finished_is_unknown = False
        self._previous_iteration = 0
        self._previous_epoch_detail: Any = 0.0

    def __call__(self, trainer: "Trainer") -> bool:
        before, now = advance(self, trainer.updater)
        fire = any(before < point <= now for point in self.points)
        if (fire or self._finished_is_unknown) and now >= max(self.points):
            self.finished = True
        self._finished_is_unknown = False
        return fire

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the position of the last call and whether it has finished."""
        load_progress(self, serializer)
        try:
            self.finished = serializer("finished", self.finished)
        except KeyError:
            warnings.warn(
                "The flag of finished is not saved. ManualScheduleTrigger set the flag to `False` to force "
                "initialization and reset in next `__call__`."
            )
            self.finished = False
            self._finished_is_unknown = True


class OnceTrigger:
    """Fires at the first call, and with `call_on_resume` again after resuming from a snapshot."""

    def __init__(self, call_on_resume: bool = False) -> None:
        self._flag_first = True
        self._flag_resumed = call_on_resume

    @property
    def finished(self) -> bool:
        """Whether it will not fire any more."""
        return not (self._flag_first or self._flag_resumed)

    def __call__(self, trainer: "Trainer") -> bool:
        fire = not self.finished
        self._flag_first = self._flag_resumed = False
        return fire

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load whether it has fired."""
        try:
            self._flag_first = serializer("_flag_first", self._flag_first)
        except KeyError:
            warnings.warn(
                "The flag is not saved. OnceTrigger guess it is not first when resumed. If this trigger is resumed "
                "before first called, it may not work correctly."
            )
            self._flag_first = False


class TimeTrigger:
    """Fires every `period` seconds of training."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._next_time = period

    def __call__(self, trainer: "Trainer") -> bool:
        # It fires once for each call, so periods that passed within one iteration fire in later calls (Chainer 7.8.1,
        # `time_trigger.py`, read).
        if self._next_time < trainer.elapsed_time:
            self._next_time += self._period
            return True
        return False

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the time of the next firing."""
        self._next_time = serializer("next_time", self._next_time)


class EarlyStoppingTrigger:
    """Fires when a value has not got better for `patience` checks; to be used as a trainer's stop trigger.

    Args:
        check_trigger: when to check.
        monitor: name of the value.
        patience: number of checks without a better value, 3 by default (`patients` is the same).
        mode: "max", "min", or "auto": larger is better if the name has "accuracy" in it, smaller otherwise.
        verbose: print the decisions.
        max_trigger: when to stop in any case.
    """

    def __init__(
        self,
        check_trigger: TriggerSpec = (1, "epoch"),
        monitor: str = "main/loss",
        patience: int | None = None,
        mode: str = "auto",
        verbose: bool = False,
        max_trigger: TriggerSpec = (100, "epoch"),
        **kwargs: Any,
    ) -> None:
        (patients,) = argument.parse_kwargs(kwargs, ("patients", None))
        if patience is not None and patients is not None:
            raise TypeError("Both 'patience' and 'patients' arguments are specified; 'patients' is an alias.")
        self.patience = next(value for value in (patience, patients, 3) if value is not None)
        self.count = 0
        self.monitor = monitor
        self.verbose = verbose
        self._larger_is_better = mode == "max" or (mode != "min" and "accuracy" in monitor)
        self.best = float("-inf") if self._larger_is_better else float("inf")
        self._max_trigger = get_trigger(max_trigger)
        self._interval_trigger = get_trigger(check_trigger)
        self._init_summary()
        if verbose:
            print(f"early stopping: operator is {'greater' if self._larger_is_better else 'less'}")

    def __call__(self, trainer: "Trainer") -> bool:
        observation = trainer.observation
        if self.monitor in observation:
            self._summary.add({self.monitor: observation[self.monitor]})
        if self._max_trigger(trainer):
            return True
        if not self._interval_trigger(trainer):
            return False
        if self.monitor not in observation:
            warnings.warn(f"{self.monitor} is not in observation")
            return False
        value = self._summary.compute_mean()[self.monitor]
        self._init_summary()
        if value > self.best if self._larger_is_better else value < self.best:
            self.best = value
            self.count = 0
        else:
            self.count += 1
        stop = self._stop_condition()
        if stop and self.verbose:
            print(f"Epoch {trainer.updater.epoch}: early stopping")
        return stop

    def _stop_condition(self) -> bool:  # a method, as in Chainer 7.8.1, because subclasses override it
        return self.count >= self.patience

    def _init_summary(self) -> None:
        self._summary = DictSummary()

    def get_training_length(self) -> Any:
        """Period and unit of `max_trigger`."""
        return self._max_trigger.get_training_length()


class BestValueTrigger:
    """Fires when the mean of an observed value since the last check is better than all before.

    Args:
        key: name of the value.
        compare: function (best, new) that returns whether the new value is better.
        trigger: when to check.
    """

    def __init__(self, key: str, compare: Callable[[float, float], bool], trigger: TriggerSpec = (1, "epoch")) -> None:
        self._key = key
        self._compare = compare
        self._best_value: float | None = None
        self._interval_trigger = get_trigger(trigger)
        self._init_summary()

    def __call__(self, trainer: "Trainer") -> bool:
        if self._key in trainer.observation:
            self._summary.add({self._key: trainer.observation[self._key]})
        if not self._interval_trigger(trainer):
            return False
        value = float(self._summary.compute_mean()[self._key])
        self._init_summary()
        if self._best_value is not None and not self._compare(self._best_value, value):
            return False
        self._best_value = value
        return True

    def _init_summary(self) -> None:
        self._summary = DictSummary()

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the best value and the running mean."""
        self._interval_trigger.serialize(serializer["interval_trigger"])
        self._summary.serialize(serializer["summary"])
        self._best_value = serializer("best_value", self._best_value)


class MaxValueTrigger(BestValueTrigger):
    """Fires when the value is larger than ever."""

    def __init__(self, key: str, trigger: TriggerSpec = (1, "epoch")) -> None:
        super().__init__(key, lambda best, new: new > best, trigger)


class MinValueTrigger(BestValueTrigger):
    """Fires when the value is smaller than ever."""

    def __init__(self, key: str, trigger: TriggerSpec = (1, "epoch")) -> None:
        super().__init__(key, lambda best, new: new < best, trigger)


def get_trigger(trigger: TriggerSpec) -> Any:
    """A trigger from a callable, a pair (period, "epoch" or "iteration"), or None (never)."""

    if trigger is None:
        return _never
    return trigger if callable(trigger) else IntervalTrigger(*trigger)


def _never(trainer: "Trainer") -> bool:
    return False
