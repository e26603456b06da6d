"""Extensions that observe values."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ... import reporter
from ...serializer import AbstractSerializer
from ...variable import as_array
from ..extension import PRIORITY_EDITOR, PRIORITY_WRITER, Extension, make_extension
from ..triggers.triggers import TriggerSpec, get_trigger

if TYPE_CHECKING:
    from ..trainer import Trainer

__all__ = [
    "FailOnNonNumber",
    "MicroAverage",
    "observe_lr",
    "observe_value",
]


class FailOnNonNumber(Extension):
    """Raises RuntimeError when a parameter is NaN or infinite."""

    def __call__(self, trainer: "Trainer") -> None:
        for name, optimizer in trainer.updater.get_all_optimizers().items():
            for param in optimizer.target.params():
                if param.array is not None and not bool(param.xp.isfinite(param.array).all()):
                    raise RuntimeError(f"Kill the process since parameters in optimizer '{name}' diverge. R.I.P.")


class MicroAverage(Extension):
    """Reports the ratio of the sums of two observed values, whenever its trigger fires."""

    priority = PRIORITY_EDITOR

    def __init__(
        self, numerator_key: str, denominator_key: str, result_key: str, trigger: TriggerSpec = (1, "epoch")
    ) -> None:
        self._numerator_key = numerator_key
        self._denominator_key = denominator_key
        self._result_key = result_key
        self._trigger = get_trigger(trigger)
        self._numerator: Any = 0
        self._denominator: Any = 0

    def __call__(self, trainer: "Trainer") -> None:
        observation = trainer.observation
        if self._numerator_key not in observation or self._denominator_key not in observation:
            return
        self._numerator += as_array(observation[self._numerator_key])
        self._denominator += as_array(observation[self._denominator_key])
        if self._trigger(trainer):
            result = float(self._numerator) / self._denominator
            self._numerator = self._denominator = 0
            reporter.report({self._result_key: result})

    def serialize(self, serializer: AbstractSerializer) -> None:
        self._numerator = serializer("_numerator", self._numerator)
        self._denominator = serializer("_denominator", self._denominator)


def observe_value(observation_key: str, target_func: Callable[[Any], Any]) -> Any:
    """An extension that observes `target_func(trainer)` under a name, once an epoch."""

    @make_extension(trigger=(1, "epoch"), priority=PRIORITY_WRITER)
    def _observe_value(trainer: "Trainer") -> None:
        trainer.observation[observation_key] = target_func(trainer)

    return _observe_value


def observe_lr(optimizer_name: str = "main", observation_key: str = "lr") -> Any:
    """An extension that observes the learning rate of an optimizer, once an epoch."""
    return observe_value(observation_key, lambda trainer: trainer.updater.get_optimizer(optimizer_name).lr)
