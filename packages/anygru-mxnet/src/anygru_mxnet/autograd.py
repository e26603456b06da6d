"""`mx.autograd`, as in MXNet 1.9: recording computations and their gradients, by torch's autograd.

Recording and training are two flags of the thread. Only inside `record` do arrays that are computed from variables belong to a
torch graph.
"""

from typing import Any

import torch

from .ndarray.array import mark
from .ndarray.function import Function
from .ndarray.gradients import backward, grad
from .ndarray.ndarray import NDArray
from .state import Scope, state

__all__ = [
    "Function", "NDArray", "backward", "grad", "is_recording", "is_training", "mark_variables", "pause",
    "predict_mode", "record", "set_recording", "set_training", "train_mode",
]  # fmt: skip


_RecordingStateScope = Scope


def set_recording(is_recording: bool) -> bool:
    """Set the flag of recording. Returns its previous value."""
    before = state.recording
    state.recording = bool(is_recording)
    if is_recording:  # also inside `pause`, which switches torch's own graph off
        torch._C._set_grad_enabled(True)
    return before


def set_training(train_mode: bool) -> bool:
    """Set the flag of training. Returns its previous value."""
    before = state.training
    state.training = bool(train_mode)
    return before


def is_recording() -> bool:
    """Whether computations are recorded."""
    return state.recording


def is_training() -> bool:
    """Whether layers such as Dropout behave as in training."""
    return state.training


def record(train_mode: bool = True) -> Scope:
    """Inside `with autograd.record():` computations are recorded, and layers train unless `train_mode` is False."""
    return Scope(True, train_mode)


def pause(train_mode: bool = False) -> Scope:
    """Inside `with autograd.pause():` computations are not recorded."""
    return Scope(False, train_mode)


def train_mode() -> Scope:
    """Inside `with autograd.train_mode():` layers train; recording does not change."""
    return Scope(None, True)


def predict_mode() -> Scope:
    """Inside `with autograd.predict_mode():` layers predict; recording does not change."""
    return Scope(None, False)


def mark_variables(variables: Any, gradients: Any, grad_reqs: str | list[str] = "write") -> None:
    """Turn arrays into variables, with their gradients in the given arrays.

    Raises:
        KeyError: for a request other than write, add and null.
    """
    if isinstance(variables, NDArray):
        variables, gradients = [variables], [gradients]
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else grad_reqs
    for variable, gradient, request in zip(variables, gradients, requests, strict=True):
        if request not in ("write", "add", "null"):
            raise KeyError(request)
        mark(variable, gradient, request)
