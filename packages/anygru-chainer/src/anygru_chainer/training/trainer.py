"""The training loop."""

import os
import sys
import time
import traceback
from typing import Any, NamedTuple

from ..reporter import Reporter
from ..serializer import AbstractSerializer, Serializer
from ..utils import argument
from . import extension as extension_module
from .triggers import TriggerSpec, get_trigger
from .updaters.standard_updater import Updater

__all__ = ["Trainer"]


class _Entry(NamedTuple):
    extension: Any
    priority: int
    trigger: Any
    call_before_training: bool


class Trainer:
    """Updates models until the stop trigger fires, and calls extensions in between.

    Args:
        updater: does one update at a time.
        stop_trigger: when to stop: a trigger, or a pair such as (20, "epoch"); None for never.
        out: folder for results, made if it is missing.
        extensions: extensions to start with.
    """

    def __init__(
        self, updater: Updater, stop_trigger: TriggerSpec = None, out: str = "result", extensions: Any = None
    ) -> None:
        self.updater: Any = updater
        self.stop_trigger = get_trigger(stop_trigger)
        self.observation: dict[str, Any] = {}
        self.out = out
        self.reporter = Reporter()
        for name, optimizer in updater.get_all_optimizers().items():
            self.reporter.add_observer(name, optimizer.target)
            self.reporter.add_observers(name, optimizer.target.namedlinks(skipself=True))
        self._done = False
        self._extensions: dict[str, _Entry] = {}
        self._start_at: float | None = None
        self._snapshot_elapsed_time = 0.0
        self._final_elapsed_time = 0.0
        updater.connect_trainer(self)
        for one in extensions or ():
            self.extend(one)

    is_before_training = property(lambda self: self.updater.iteration == 0, doc="Whether no update has been done.")

    @property
    def elapsed_time(self) -> float:
        """Seconds of training, including the time before a resumed snapshot (RuntimeError before `run`)."""
        if self._done:
            return self._final_elapsed_time
        if self._start_at is None:
            raise RuntimeError("training has not been started yet")
        return time.perf_counter() - self._start_at + self._snapshot_elapsed_time

    def extend(
        self,
        extension: Any,
        name: str | None = None,
        trigger: TriggerSpec = None,
        priority: int | None = None,
        *,
        call_before_training: bool = False,
        **kwargs: Any,
    ) -> None:
        """Register an extension.

        Args:
            extension: an Extension, or any function of the trainer.
            name: by default its `name`, `default_name` or `__name__` (TypeError if it has no name); "_1", "_2", ... is
            appended if the name is taken.
            trigger: when to call it; by default its own, or each iteration.
            priority: order of the calls, higher first; by default its own.
            call_before_training: call it once before the first update.
        """
        argument.check_unexpected_kwargs(kwargs, invoke_before_training=extension_module.REMOVED)
        argument.assert_kwargs_empty(kwargs)
        if name is None:
            names = (getattr(extension, attribute, None) for attribute in ("name", "default_name", "__name__"))
            name = next((found for found in names if found is not None), None)
            if name is None:
                raise TypeError("name is not given for the extension")
        if name == "training":
            raise ValueError('the name "training" is prohibited as an extension name')
        if trigger is None:
            trigger = getattr(extension, "trigger", (1, "iteration"))
        if priority is None:
            priority = getattr(extension, "priority", extension_module.PRIORITY_READER)
        unique, ordinal = name, 0
        while unique in self._extensions:
            ordinal += 1
            unique = f"{name}_{ordinal}"
        extension.name = unique
        self._extensions[unique] = _Entry(extension, priority, get_trigger(trigger), call_before_training)

    def get_extension(self, name: str) -> Any:
        """The extension of a name (ValueError if there is none)."""
        if name not in self._extensions:
            raise ValueError(f"extension {name} not found")
        return self._extensions[name].extension

    def run(self, show_loop_exception_msg: bool = True) -> None:
        """Train until the stop trigger fires (RuntimeError if it has been run before).

        Args:
            show_loop_exception_msg: write an exception of the loop to stderr before the extensions end.
        """
        if self._done:
            raise RuntimeError("cannot run training loop multiple times")
        os.makedirs(self.out, exist_ok=True)
        entries = sorted(self._extensions.values(), key=lambda entry: -entry.priority)
        self._start_at = time.perf_counter()
        for entry in entries:
            initialize = getattr(entry.extension, "initialize", None)
            # An extension that has finished before a resumed snapshot is not initialized again (Chainer 7.8.1,
            # `trainer.py`, read).
            if initialize and not getattr(entry.trigger, "finished", False):
                initialize(self)
        if self.is_before_training:
            self._call_extensions(entries, before_training=True)
        try:
            while not self.stop_trigger(self):
                self._call_extensions(entries, before_training=False)
        except Exception as error:
            self._handle_error(error, entries, show_loop_exception_msg)
            raise
        finally:
            for entry in entries:
                finalize = getattr(entry.extension, "finalize", None)
                if finalize:
                    finalize()
            self.updater.finalize()
        self._final_elapsed_time = self.elapsed_time
        self._done = True

    def _call_extensions(self, entries: list[_Entry], before_training: bool) -> None:
        """One iteration: an update (unless before training) and the extensions that are due."""
        self.observation = {}
        with self.reporter.scope(self.observation):
            if not before_training:
                self.updater.update()
            for entry in entries:
                if entry.call_before_training if before_training else entry.trigger(self):
                    entry.extension(self)

    def _handle_error(self, error: Exception, entries: list[_Entry], show: bool) -> None:
        if show:
            sys.stderr.write(f"Exception in main training loop: {error}\nTraceback (most recent call last):\n")
            traceback.print_tb(error.__traceback__)
            sys.stderr.write("Will finalize trainer extensions and updater before reraising the exception.\n")
        for entry in entries:
            handler = getattr(entry.extension, "on_error", None)
            if handler:
                try:
                    handler(self, error, error.__traceback__)
                except Exception as another:
                    sys.stderr.write(f"Exception in error handler: {another}\nTraceback (most recent call last):\n")
                    traceback.print_tb(another.__traceback__)

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Save or load the updater, the triggers and the extensions."""
        self.updater.serialize(serializer["updater"])
        if hasattr(self.stop_trigger, "serialize"):
            self.stop_trigger.serialize(serializer["stop_trigger"])
        extensions, triggers = serializer["extensions"], serializer["extension_triggers"]
        for name, entry in self._extensions.items():
            if hasattr(entry.extension, "serialize"):
                entry.extension.serialize(extensions[name])
            if hasattr(entry.trigger, "serialize"):
                entry.trigger.serialize(triggers[name])
        if isinstance(serializer, Serializer):
            serializer("_snapshot_elapsed_time", self.elapsed_time)
        else:
            self._snapshot_elapsed_time = serializer("_snapshot_elapsed_time", 0.0)
