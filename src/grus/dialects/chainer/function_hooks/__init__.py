"""Hooks that see functions run."""

from grus.dialects import refuser
from grus.dialects.chainer.function_hooks.debug_print import PrintHook
from grus.dialects.chainer.function_hooks.timer import TimerHook

__all__ = ["PrintHook", "TimerHook"]
__getattr__ = refuser(
    "chainer", "chainer.function_hooks", {"CUDAProfileHook": "torch.profiler", "CupyMemoryProfileHook": "torch.profiler"}
)
