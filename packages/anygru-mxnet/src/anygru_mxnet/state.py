"""Whether this thread records for gradients, whether layers behave as in training, and which arrays are made."""

import threading

import torch


class _State(threading.local):
    # Whether new arrays are those of `mx.np`, as `npx.set_np` says; True on the class holds for all threads.
    numpy = False

    def __init__(self) -> None:
        self.recording = False
        self.training = False


state = _State()


def without_torch_grad(function, /, *args, **kwargs):
    """Call a function with torch's own recording off: what MXNet does wherever `autograd.record` is not in force."""
    if not torch.is_grad_enabled():
        return function(*args, **kwargs)
    torch._C._set_grad_enabled(False)
    try:
        return function(*args, **kwargs)
    finally:
        torch._C._set_grad_enabled(True)
