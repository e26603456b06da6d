"""The dtypes of a call: under autocast, and of products where torch's own kernel is faster."""

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from ..backends import products
from ..facts import torch_private
from .frozen_weights import FrozenWeights

DTYPES = frozenset((torch.float32, torch.float64, torch.bfloat16, torch.float16))
"""The dtypes that a GRU is computed in."""
HALVES = frozenset((torch.bfloat16, torch.float16))
AnyWeights: TypeAlias = Sequence[Tensor] | FrozenWeights
"""The weights of a call."""
_any_autocast = torch_private.is_any_autocast


def autocast_enabled(input: Tensor) -> bool:
    """Whether torch casts the arguments of an operation on this tensor."""
    if not _any_autocast():
        return False
    kind = input.device.type
    return kind != "meta" and torch.is_autocast_enabled(kind)


def autocast(input: Tensor, h_0: Tensor | None, weights: AnyWeights) -> tuple[Tensor, Tensor | None, AnyWeights]:
    """The dtypes of torch's own GRU under autocast: on CUDA the autocast dtype, on the CPU the wider one of it and the state's.

    Not for calls that torch casts itself, cuDNN's. A frozen layer computes in float32.
    """
    if isinstance(weights, FrozenWeights):
        cast_h = h_0.to(weights.dtype) if h_0 is not None and h_0.dtype in HALVES else h_0
        return input.to(weights.dtype) if input.dtype in HALVES else input, cast_h, weights
    device = input.device.type
    state = input if h_0 is None else h_0
    dtype = torch.get_autocast_dtype(device)
    if device != "cuda":
        dtype = torch.promote_types(
            dtype, state.dtype
        )  # float32 of bfloat16 and float16, as torch adds gates and state
    if torch.float64 in (dtype, input.dtype, weights[0].dtype) or dtype not in DTYPES:
        return input, h_0, weights
    cast = [weight if weight.dtype is dtype else weight.to(dtype) for weight in weights]
    return input.to(dtype), None if h_0 is None else h_0.to(dtype), cast


def autocast_dtype(input: Tensor) -> torch.dtype | None:
    """The dtype of autocast for a tensor on the CPU."""
    return torch.get_autocast_dtype("cpu") if input.is_cpu else None


def autocast_products(
    state: torch.dtype, input: Tensor, weights: AnyWeights, batch_sizes: Tensor | None, needs_grad: bool
) -> torch.dtype | None:
    """The dtype of autocast if torch's own kernel is faster with it for a call on the CPU with states of this dtype."""
    if state is not torch.float32 or not input.is_cpu or isinstance(weights, FrozenWeights):
        return None
    if torch.compiler.is_compiling():  # sizes may be symbolic
        return None
    dtype, (_, batch, numel) = torch.get_autocast_dtype("cpu"), products.sizes(input, batch_sizes, weights)
    return dtype if products.are_faster_under_autocast(dtype, batch, numel, needs_grad) else None


def faster_products(
    input: Tensor, weights: Sequence[Tensor], batch_sizes: Tensor | None, needs_grad: bool
) -> torch.dtype | None:
    """The dtype of a call in half precision, if its products are faster in torch's own kernel."""
    dtype = input.dtype
    if dtype not in HALVES or not input.is_cpu:
        return None
    sizes = products.sizes(input, batch_sizes, weights)
    return dtype if products.are_faster_in_torch(dtype, *sizes, needs_grad) else None
