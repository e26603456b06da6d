"""torch's own node of cuDNN on the CPU: the kernels below it are stand-ins, which compute by torch's GRU on the CPU.

The node, what it saves, which gradients it asks for and what it refuses are torch's, in C++, as on a GPU.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from anygru import backends
from anygru.backends import aten, cudnn

calls: list[str] = []
"""The kernels that ran, in order."""


def _gru(input: Tensor, weights: list[Tensor], stride: int, hx: Tensor, layers: int, two: bool, sizes: Any) -> Any:
    options = (weights, stride == 4, layers, 0.0, False, two)
    if sizes:
        return torch.gru(input, torch.tensor(list(sizes)), hx, *options)
    return torch.gru(input, hx, *options, False)


def _forward(input: Tensor, weight: Any, stride: int, buffer: Any, hx: Tensor, cx: Any, mode: int, *rest: Any) -> Any:
    _, _, layers, batch_first, dropout, train, two, sizes, _ = rest
    calls.append("forward, training" if train else "forward")
    assert (mode, batch_first, dropout) == (3, False, 0.0)
    assert hx.is_contiguous()
    if {each.dtype for each in (hx, *weight)} != {input.dtype}:
        raise RuntimeError("Input and parameter tensors are not the same dtype")
    output, h_n = _gru(input, list(weight), stride, hx, layers, two, sizes)
    reserve = torch.full((7,), int(train), dtype=torch.uint8)
    return output, h_n, input.new_empty(0), reserve, input.new_empty(0)


def _backward(
    input: Tensor, weight: Any, stride: int, buffer: Any, hx: Tensor, cx: Any, output: Tensor, *rest: Any
) -> Any:
    grads, (_, _, _, layers, _, _, train, two, sizes, _, reserve, mask) = rest[:2], rest[3:]
    calls.append("backward")
    assert train, "cudnn RNN backward can only be called in training mode"
    assert reserve.unique().tolist() == [1], "cuDNN writes to the reserve: a second pass needs a copy"
    reserve.zero_()
    found: list[Tensor] = []

    def compute() -> None:
        tensors = [each.detach().requires_grad_() for each in (input, hx, *weight)]
        results = _gru(tensors[0], tensors[2:], stride, tensors[1], layers, two, sizes)
        upstream = [torch.zeros_like(r) if g is None else g.detach() for r, g in zip(results, grads, strict=True)]
        found.extend(torch.autograd.grad(results, tensors, upstream))

    # This thread is below autograd.
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join()
    first, state, *own = found
    return first if mask[0] else None, state if mask[1] else None, None, own if mask[3] else []


def gru(*call: Any) -> tuple[Tensor, Tensor]:
    """Replaces `torch._VF.gru` by its steps on CUDA."""
    if isinstance(call[2], Tensor):
        input, sizes, hx, weights, bias, layers, dropout, train, two = call
        sizes, batch_first = sizes.tolist(), False
    else:
        input, hx, weights, bias, layers, dropout, train, two, batch_first = call
        sizes = []
    own = (3, hx.shape[2], 0, layers, batch_first, dropout, train, two, sizes, None)
    output, h_n, *_ = torch._cudnn_rnn(input, weights, 4 if bias else 2, None, hx, None, *own)
    return output, h_n


@contextmanager
def installed() -> Iterator[None]:
    """While this lasts, anygru takes the CPU for a GPU with cuDNN, and so does `torch._VF.gru`."""
    library = torch.library.Library("aten", "IMPL")
    library.impl("_cudnn_rnn", _forward, "CPU")
    library.impl("_cudnn_rnn_backward", _backward, "CPU")
    here = cudnn.BACKEND._replace(device_type="cpu", refuse=aten.refuse_formula)
    caches: tuple[Callable[..., Any], ...] = (backends.choose, backends.fast_path, aten.fitting, cudnn._plan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cudnn, "BACKEND", here)
        patch.setattr(backends, "NAMES", ("cudnn", "reference"))
        # Tests replace `gru` of this module, and never that of torch: their changes may be undone after this ends.
        patch.setattr(torch._VF, "gru", lambda *call: gru(*call), raising=False)
        for each in caches:
            each.cache_clear()
        calls.clear()
        try:
            yield
        finally:
            for each in caches:
                each.cache_clear()
            library._destroy()
