"""Whether this thread records for gradients, whether layers behave as in training, and which arrays are made."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


class Pass:
    """The mode of layers in a thread's backward pass. Layers store the object, because torch may run the pass in another
    thread."""

    training = True


class _State(threading.local):
    # Whether new arrays are arrays of `mx.np`, set by `npx.set_np`; True on the class holds for all threads.
    numpy = False

    def __init__(self) -> None:
        self.recording = False
        self.training = False
        self.backward = Pass()


state = _State()


class Scope:
    """Sets the flags that are not None inside a `with`; recording also switches torch's graph."""

    __slots__ = ("_before", "_recording", "_training")

    def __init__(self, recording: bool | None, training: bool | None) -> None:
        self._recording = recording
        self._training = training
        self._before: list[tuple[bool, bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((state.recording, state.training, torch.is_grad_enabled()))
        if self._recording is not None:
            state.recording = self._recording
            # The function inside torch.set_grad_enabled, without an object for each scope.
            torch._C._set_grad_enabled(self._recording)
        if self._training is not None:
            state.training = self._training

    def __exit__(self, *exception: Any) -> None:
        state.recording, state.training, grad = self._before.pop()
        torch._C._set_grad_enabled(grad)


@contextmanager
def differentiating(training: bool) -> Iterator[None]:
    """Differentiate layers as in training or as in prediction inside a `with`."""
    before, state.backward.training = state.backward.training, training
    try:
        yield
    finally:
        state.backward.training = before


def without_torch_grad(function, /, *args, **kwargs):
    """Call a function with torch's recording off, as outside `autograd.record`."""
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    # Not torch.no_grad, because its object and two calls would slow an operator of a few microseconds.
    torch._C._set_grad_enabled(False)
    try:
        return function(*args, **kwargs)
    finally:
        torch._C._set_grad_enabled(True)
