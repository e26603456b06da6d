"""Hooks that see functions run."""

from .debug_print import PrintHook
from .timer import TimerHook
