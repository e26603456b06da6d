"""Hooks that see functions run."""

from anygru.dialects import refuser

from ..function_hooks.debug_print import PrintHook
from ..function_hooks.timer import TimerHook

__all__ = ["PrintHook", "TimerHook"]
__getattr__ = refuser(
    "chainer",
    "chainer.function_hooks",
    {"CUDAProfileHook": "torch.profiler", "CupyMemoryProfileHook": "torch.profiler"},
)
