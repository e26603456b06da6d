"""Values to observe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...training.extension import PRIORITY_WRITER, make_extension


def observe_value(observation_key: str, target_func: Callable[[Any], Any]) -> Any:
    """An extension that observes `target_func(trainer)` under a name, once an epoch."""

    @make_extension(trigger=(1, "epoch"), priority=PRIORITY_WRITER)
    def _observe_value(trainer: Any) -> None:
        trainer.observation[observation_key] = target_func(trainer)

    return _observe_value


def observe_lr(optimizer_name: str = "main", observation_key: str = "lr") -> Any:
    """An extension that observes the learning rate of an optimizer, once an epoch."""
    return observe_value(observation_key, lambda trainer: trainer.updater.get_optimizer(optimizer_name).lr)
