"""Hooks that see links being called."""

from ..link_hooks.timer import TimerHook

__all__ = ["TimerHook"]
