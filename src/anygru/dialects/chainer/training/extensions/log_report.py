"""The log of a training."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from typing import Any

from anygru.checkpoints.atomic import open_for_replace

from ...reporter import DictSummary
from ...serializer import Serializer
from ...training.extension import Extension
from ...training.util import get_trigger
from ...utils import argument


class LogReport(Extension):
    """Keeps the means of observed values, and writes them as JSON into the trainer's folder.

    Args:
        keys: names of the values; None for all.
        trigger: when an entry is made of the values since the last one.
        postprocess: function that may change an entry (a dictionary).
        filename: name of the file, in which "{epoch}" and the like are filled in; "log" by default (`log_name` is the
            same). None for no file.
    """

    def __init__(
        self,
        keys: Any = None,
        trigger: Any = (1, "epoch"),
        postprocess: Callable[[dict[str, Any]], None] | None = None,
        filename: str | None = None,
        **kwargs: Any,
    ) -> None:
        (log_name,) = argument.parse_kwargs(kwargs, ("log_name", "log"))
        self._keys = keys
        self._trigger = get_trigger(trigger)
        self._postprocess = postprocess
        self._log_name = log_name if filename is None else filename
        self._log: list[dict[str, Any]] = []
        self._summary = DictSummary()

    def __call__(self, trainer: Any) -> None:
        observed = trainer.observation
        if self._keys is not None:
            observed = {key: observed[key] for key in self._keys if key in observed}
        self._summary.add(observed)
        if not (trainer.is_before_training or self._trigger(trainer)):
            return
        entry: dict[str, Any] = {name: float(value) for name, value in self._summary.compute_mean().items()}
        entry["epoch"] = trainer.updater.epoch
        entry["iteration"] = trainer.updater.iteration
        entry["elapsed_time"] = trainer.elapsed_time
        if self._postprocess is not None:
            self._postprocess(entry)
        self._log.append(entry)
        self._summary = DictSummary()
        if self._log_name is not None:
            path = os.path.join(trainer.out, self._log_name.format(**entry))
            with open_for_replace(path) as file:
                file.write(json.dumps(self._log, indent=4).encode())

    @property
    def log(self) -> list[dict[str, Any]]:
        """The entries so far."""
        return self._log

    def serialize(self, serializer: Any) -> None:
        if hasattr(self._trigger, "serialize"):
            self._trigger.serialize(serializer["_trigger"])
        try:
            self._summary.serialize(serializer["_summary"])
        except KeyError:
            warnings.warn("The statistics are not saved.")
        if isinstance(serializer, Serializer):
            serializer("_log", json.dumps(self._log))
        else:
            self._log = json.loads(serializer("_log", ""))
