"""Triggers from short forms."""

from __future__ import annotations

from typing import Any


def get_trigger(trigger: Any) -> Any:
    """A trigger from a callable, a pair (period, "epoch" or "iteration"), or None (never)."""
    from ..training.triggers.interval_trigger import IntervalTrigger

    if trigger is None:
        return _never
    return trigger if callable(trigger) else IntervalTrigger(*trigger)


def _never(trainer: Any) -> bool:
    return False
