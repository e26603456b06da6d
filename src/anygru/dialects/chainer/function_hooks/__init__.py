"""Hooks that see functions run."""

from ..function_hooks.debug_print import PrintHook
from ..function_hooks.timer import TimerHook
