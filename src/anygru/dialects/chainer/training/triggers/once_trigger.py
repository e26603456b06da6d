"""Once."""

from __future__ import annotations

import warnings
from typing import Any


class OnceTrigger:
    """Fires at the first call, and with `call_on_resume` once more after resuming from a snapshot."""

    def __init__(self, call_on_resume: bool = False) -> None:
        self._flag_first = True
        self._flag_resumed = call_on_resume

    @property
    def finished(self) -> bool:
        """Whether it will not fire any more."""
        return not (self._flag_first or self._flag_resumed)

    def __call__(self, trainer: Any) -> bool:
        fire = not self.finished
        self._flag_first = self._flag_resumed = False
        return fire

    def serialize(self, serializer: Any) -> None:
        """Save or load whether it has fired."""
        try:
            self._flag_first = serializer("_flag_first", self._flag_first)
        except KeyError:
            warnings.warn(
                "The flag is not saved. OnceTrigger guess it is not first when resumed. If this trigger is resumed "
                "before first called, it may not work correctly."
            )
            self._flag_first = False
