"""cuDNN's weights: it reads all of a layer from one buffer, in its own order.

Torch copies separate weights into such a buffer at every call, one kernel for each weight, and warns. The weights of
our layers share a buffer from the start, as in torch's layers; the weights of a call without a layer are copied by one
kernel.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Parameter

from ..facts import torch_private
from ..facts.weights import Layout


class Places(NamedTuple):
    """Where cuDNN reads weights."""

    size: int
    """The numbers in the buffer; 0: torch's own kernels take separate weights."""
    starts: tuple[int, ...] = ()
    """Of each weight."""


def views(
    weights: Sequence[Tensor], num_layers: int, bidirectional: bool, bias: bool = True, kind: str = "gru"
) -> list[Tensor]:
    """The same weights in one buffer, through which gradients reach them; weights that share a buffer already are
    returned.

    Args:
        weights: on one CUDA device and of one dtype, in torch's order: w_ih, w_hh and perhaps b_ih, b_hh of each direction.
        kind: "gru", "lstm", "rnn_tanh" or "rnn_relu".
    """
    first, shapes = weights[0], tuple([weight.shape for weight in weights])
    is_on = torch_private.is_cudnn_enabled()
    return arranged(weights, places(shapes, num_layers, bidirectional, bias, kind, first.dtype, first.device, is_on))


def arranged(weights: Sequence[Tensor], wanted: Places) -> list[Tensor]:
    """As `views`, for weights with known positions."""
    weights, first, (size, starts) = list(weights), weights[0], wanted
    if not size:
        return weights
    storage, width = first.untyped_storage(), first.element_size()
    origin = storage.data_ptr()
    if storage.nbytes() >= size * width:
        for weight, start in zip(weights, starts, strict=True):
            if weight.data_ptr() != origin + start * width or not weight.is_contiguous():
                break
        else:
            return weights
    order = sorted(range(len(weights)), key=starts.__getitem__)
    first_start, *ends = *(starts[number] for number in order), size
    if first_start:
        return weights
    rows = [weights[number].reshape(-1) for number in order]
    rooms = [end - starts[number] for number, end in zip(order, ends, strict=True)]  # cuDNN may want gaps
    filled = [
        F.pad(row, (0, room - len(row))) if room > len(row) else row for row, room in zip(rows, rooms, strict=True)
    ]
    for number, part in zip(order, torch.cat(filled).split(rooms), strict=True):
        shape = weights[number].shape
        weights[number] = part[: shape.numel()].view(shape)
    return weights


def flatten(parameters: Sequence[Any], layout: Layout) -> None:
    """Move the parameters of a layer on CUDA into one buffer. Does nothing where cuDNN could not use it."""
    first = parameters[0]
    if type(first) is not Parameter or not first.is_cuda or layout.norm or layout.groups > 1:
        return
    if any(type(w) is not Parameter or (w.dtype, w.device) != (first.dtype, first.device) for w in parameters):
        return
    own = [parameter.detach() for parameter in parameters]
    for parameter, view in zip(
        parameters, views(own, layout.num_layers, layout.bidirectional, layout.bias), strict=True
    ):
        parameter.data = view


@lru_cache(maxsize=256)
def places(
    shapes: tuple[torch.Size, ...],
    num_layers: int,
    bidirectional: bool,
    bias: bool,
    kind: str,
    dtype: torch.dtype,
    device: torch.device,
    is_on: bool,
) -> Places:
    """The numbers in the buffer, and the offset of each weight; cuDNN computes them once for weights of these shapes.

    0 and an empty tuple if torch's own kernels take separate weights: on AMD's GPUs, with cuDNN off, and in dtypes that
    cuDNN does not take.
    """
    if (
        not is_on
        or torch.version.hip
        or not torch.backends.cudnn.is_acceptable(torch.empty(0, dtype=dtype, device=device))
    ):
        return Places(0)
    probes = [torch.empty(shape, dtype=dtype, device=device) for shape in shapes]
    mode: Any = torch.backends.cudnn.rnn.get_cudnn_mode(kind.upper())
    (_, features), (_, hidden) = shapes[:2]
    with torch.no_grad(), torch.cuda.device(device):
        buffer = torch._cudnn_rnn_flatten_weight(
            probes, 4 if bias else 2, features, mode, hidden, 0, num_layers, False, bidirectional
        )
    return Places(buffer.numel(), tuple([int(probe.storage_offset()) for probe in probes]))
