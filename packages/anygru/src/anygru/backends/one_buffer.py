"""cuDNN's weights: it reads all of a layer from one buffer, in its own order.

Torch copies weights that lie elsewhere into such a buffer at every call, one by one, and warns of it. Layers of ours lie in one
from the start, as those of torch do; the weights of a call without a layer are copied by one kernel.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn import Parameter

from ..facts.weights import Layout


def views(
    weights: Sequence[Tensor], num_layers: int, bidirectional: bool, bias: bool = True, kind: str = "gru"
) -> list[Tensor]:
    """`joined` without the buffer."""
    return joined(weights, num_layers, bidirectional, bias, kind)[0]


def joined(
    weights: Sequence[Tensor], num_layers: int, bidirectional: bool, bias: bool = True, kind: str = "gru"
) -> tuple[list[Tensor], int]:
    """The same weights in one buffer, through which gradients reach them; those that lie in one already are given back.

    Args:
        weights: on one CUDA device and of one dtype, in torch's order: w_ih, w_hh and perhaps b_ih, b_hh of each direction.
        kind: "gru", "lstm", "rnn_tanh" or "rnn_relu".

    Returns:
        The weights, and how many numbers their buffer has, from the start of their storage on; 0: they lie in none.
    """
    weights, first = list(weights), weights[0]
    if torch.version.hip or not torch.backends.cudnn.is_acceptable(first):
        return weights, 0  # torch's own kernels take them as they lie
    shapes = tuple([weight.shape for weight in weights])
    size, places = _places(shapes, num_layers, bidirectional, bias, kind, first.dtype, first.device)
    storage = first.untyped_storage()
    origin, room = storage.data_ptr(), storage.nbytes() // first.element_size()
    if room >= size and all(
        weight.storage_offset() == place and weight.untyped_storage().data_ptr() == origin
        for weight, place in zip(weights, places, strict=True)
    ):
        return weights, size
    order = sorted(range(len(weights)), key=places.__getitem__)
    first_place, *ends = *(places[number] for number in order), size
    if first_place:
        return weights, 0
    rows = [weights[number].reshape(-1) for number in order]
    rooms = [end - places[number] for number, end in zip(order, ends, strict=True)]  # cuDNN may want gaps
    filled = [
        F.pad(row, (0, room - len(row))) if room > len(row) else row for row, room in zip(rows, rooms, strict=True)
    ]
    for number, part in zip(order, torch.cat(filled).split(rooms), strict=True):
        weights[number] = part[: shapes[number].numel()].view(shapes[number])
    return weights, size


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
def _places(
    shapes: tuple[torch.Size, ...],
    num_layers: int,
    bidirectional: bool,
    bias: bool,
    kind: str,
    dtype: torch.dtype,
    device: torch.device,
) -> tuple[int, tuple[int, ...]]:
    """The numbers in the buffer, and where each weight begins: asked of cuDNN once for weights of these shapes."""
    probes = [torch.empty(shape, dtype=dtype, device=device) for shape in shapes]
    mode: Any = torch.backends.cudnn.rnn.get_cudnn_mode(kind.upper())
    (_, features), (_, hidden) = shapes[:2]
    with torch.no_grad(), torch.cuda.device(device):
        buffer = torch._cudnn_rnn_flatten_weight(
            probes, 4 if bias else 2, features, mode, hidden, 0, num_layers, False, bidirectional
        )
    return buffer.numel(), tuple([int(probe.storage_offset()) for probe in probes])
