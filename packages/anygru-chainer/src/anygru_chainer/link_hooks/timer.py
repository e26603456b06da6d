"""The time that links take."""

from typing import Any

from ..function_hooks.timer import Stopwatch
from ..link_hook import LinkHook

__all__ = ["TimerHook"]


class TimerHook(Stopwatch, LinkHook):
    """Notes the time of each link, as (name of the class, seconds) in `call_history`; inner links count in outer ones."""

    name = "TimerHook"
    title = "LinkName"

    def forward_preprocess(self, args: Any) -> None:
        self._begin()

    def forward_postprocess(self, args: Any) -> None:
        self._end(type(args.link).__name__)
