"""The states of an optimizer for all weights, and the files of `Trainer.save_states`: pickles in MXNet's format.

They are written and read as data, so that a file cannot run code.
"""

import io
import os
from typing import Any

import numpy as np
from torch import Tensor

from anygru.errors import CheckpointError
from anygru.extend import Budget, Global, Pending, PickledCall, RestrictedUnpickler, dump, read_regular

from .. import lr_scheduler
from ..base import MXNetError
from ..context import Context, cpu
from ..ndarray.array import wrap
from ..ndarray.ndarray import NDArray
from ..ndarray.records import of_record, record_of
from .optimizer import Optimizer

__all__ = ["Updater", "get_updater"]

_SCHEDULERS = {name: getattr(lr_scheduler, name) for name in lr_scheduler.__all__}


class Updater:
    """Calls an optimizer for weights by their index, and stores the states."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        if not isinstance(index, (list, tuple)):
            index, grad, weight = [index], [grad], [weight]
        if weight:
            self.optimizer._set_current_context(weight[0].context.device_id)
        for one, values in zip(index, weight, strict=True):
            if one not in self.states:
                self.states[one] = self.optimizer.create_state_multi_precision(one, values)
                self.states_synced[one] = True
            elif not self.states_synced[one]:
                self.states[one] = self.sync_state_context(self.states[one], values.context)
                self.states_synced[one] = True
        self._update(index, grad, weight)

    def sync_state_context(self, state: Any, context: Context) -> Any:
        """A copy of a state on a context."""
        if isinstance(state, NDArray):
            return state.as_in_context(context)
        if isinstance(state, (tuple, list)):
            return type(state)(self.sync_state_context(part, context) for part in state)
        return state

    def _update(self, index: Any, grad: Any, weight: Any) -> None:
        """Call the optimizer for each weight, or for groups of `aggregate_num` weights of a dtype."""
        many, calls = self.optimizer.aggregate_num, []
        for one, values, gradient in zip(index, weight, grad, strict=True):
            rows = self._changed_rows(one, gradient)
            if rows is not None:
                self._update_rows(one, values, gradient, rows)
            elif many <= 0:
                self.optimizer.update_multi_precision(one, values, gradient, self.states[one])
            else:
                calls.append((one, values, gradient))
        for dtype in dict.fromkeys(values.dtype for _, values, _ in calls):
            alike = [call for call in calls if call[1].dtype is dtype]
            for first in range(0, len(alike), many):
                ones, values, gradients = zip(*alike[first : first + many], strict=True)
                self.optimizer.update_multi_precision(ones, values, gradients, [self.states[one] for one in ones])

    def _changed_rows(self, index: Any, gradient: NDArray) -> Tensor | None:
        """The rows that a lazy optimizer changes.

        They are the rows with a gradient other than zero. None means all rows.
        """
        stype = getattr(self.optimizer.param_dict.get(index), "_grad_stype", "default")
        if stype == "default" or not (self.optimizer._by_rows and getattr(self.optimizer, "lazy_update", False)):
            return None
        return gradient._t.flatten(1).any(1).nonzero().flatten()

    def _update_rows(self, index: Any, weight: NDArray, gradient: NDArray, rows: Tensor) -> None:
        """Call the optimizer for some rows of a weight and of its states."""
        if not rows.numel():
            return
        parts: list[tuple[NDArray, NDArray]] = []

        def part(whole: Any) -> Any:
            if isinstance(whole, (tuple, list)):
                return type(whole)(map(part, whole))
            if not isinstance(whole, NDArray):
                return whole
            parts.append((whole, wrap(whole._t.detach()[rows], whole._ctx)))
            return parts[-1][1]

        some, state = part(weight), part(self.states[index])
        self.optimizer.update_multi_precision(index, some, wrap(gradient._t[rows], gradient._ctx), state)
        for whole, changed in parts:
            whole._t.data[rows] = changed._t

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states as bytes, optionally with the optimizer."""
        content = (self.states, self.optimizer) if dump_optimizer else self.states
        file = io.BytesIO()
        dump(content, file, convert=_as_mxnet)
        return file.getvalue()

    def set_states(self, states: bytes, where: str = "the optimizer's states") -> None:
        """Read states, and an optimizer if the bytes contain one.

        Args:
            states: the result of `get_states`. where: the file's name, for errors.

        Raises:
            MXNetError: for bytes without states, and for bytes that would need far more memory than their number.
        """
        budget = Budget(where)
        budget.add_file(len(states))
        try:
            content = RestrictedUnpickler(states, _names(budget), where=where, budget=budget).load()
        except CheckpointError as error:
            raise MXNetError(str(error)) from error
        if isinstance(content, tuple) and len(content) == 2:
            self.states, self.optimizer = content
        else:
            self.states = content
        if not isinstance(self.states, dict) or not isinstance(self.optimizer, Optimizer):
            raise MXNetError(f"{where}: it contains no states of an optimizer")
        self.states_synced = dict.fromkeys(self.states, False)


get_updater = Updater


def read_states(path: str) -> bytes:
    """The bytes of a file of states.

    Raises:
        FileNotFoundError: for a missing file.
        MXNetError: for a path that is not a regular file; a FIFO would block.
    """
    os.stat(path)
    try:
        return read_regular(path)
    except CheckpointError as error:
        raise MXNetError(str(error)) from error


def _as_mxnet(value: Any) -> PickledCall | None:
    """The names of objects in MXNet's pickles."""
    if isinstance(value, NDArray):
        return PickledCall(
            Global("mxnet.ndarray.ndarray", "NDArray"),
            (None,),
            {"handle": PickledCall(Global("builtins", "bytearray"), (record_of(value._t),))},
        )
    if isinstance(value, lr_scheduler.LRScheduler) and type(value).__name__ in _SCHEDULERS:
        return PickledCall(Global("mxnet.lr_scheduler", type(value).__name__), (), dict(value.__dict__), new=True)
    if isinstance(value, Optimizer):
        own = type(value).__module__.startswith((__package__, "mxnet.optimizer."))
        module = "mxnet.optimizer.optimizer" if own else type(value).__module__
        return PickledCall(Global(module, type(value).__name__), (), value.__getstate__(), new=True)
    return None


def _names(budget: Budget) -> dict[tuple[str, str], Any]:
    """The names that a file of states may use."""
    names: dict[tuple[str, str], Any] = {
        ("mxnet.ndarray.ndarray", "NDArray"): lambda *arguments: _Array(budget),
        ("numpy", "float32"): np.float32,
    }
    for name, scheduler in _SCHEDULERS.items():
        names["mxnet.lr_scheduler", name] = _maker(scheduler)
    for known in Optimizer.opt_registry.values():
        names["mxnet.optimizer.optimizer", known.__name__] = _maker(known)
        names[known.__module__, known.__name__] = _maker(known)
    return names


def _maker(klass: type) -> Any:
    """Return a maker of objects from their attributes, without calling the class."""
    return lambda *arguments: _Made(klass)


class _Made(Pending):
    """An object without its attributes yet."""

    def __init__(self, klass: type) -> None:
        super().__init__()
        self.klass = klass

    def build(self, state: Any) -> Any:
        """The object with its attributes."""
        if not isinstance(state, dict):
            raise CheckpointError(f"the state of {self.klass.__name__} must be a dict")
        made: Any = object.__new__(self.klass)
        if isinstance(made, Optimizer):
            made.__setstate__(dict(state))
        else:
            made.__dict__.update(state)
        return made


class _Array(Pending):
    """An NDArray without its bytes yet."""

    def __init__(self, budget: Budget) -> None:
        super().__init__()
        self._budget = budget

    def build(self, state: Any) -> NDArray:
        """The array in the bytes."""
        return wrap(of_record(state, self._budget), cpu())
