"""Functions of Paddle 1.x that today's Paddle has no more, or has with other results."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...nn.functional import common, pooling, vision
from ...tensor import creation, math, search
from ...tensor.operation import row, wrap
from ...tensor.tensor import Tensor, plain


def l2_normalize(x: torch.Tensor, axis: int, epsilon: float = 1e-12) -> torch.Tensor:
    axis = 0 if x.ndim == 1 else axis  # ignores the argument, as in 1.8 (read)
    return x * torch.rsqrt(torch.clamp_min(torch.sum(x * x, axis, keepdim=True), epsilon))


def cos_sim(X: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    lengths = torch.linalg.vector_norm(X, dim=-1, keepdim=True) * torch.linalg.vector_norm(Y, dim=-1, keepdim=True)
    return torch.sum(X * Y, -1, keepdim=True) / lengths


def cumsum(x: torch.Tensor, axis: int | None = None, exclusive: bool = False, reverse: bool = False) -> torch.Tensor:
    axis = -1 if axis is None else axis
    turned = torch.flip(x, [axis]) if reverse else x
    sums = torch.cumsum(turned, axis)
    sums = sums - turned if exclusive else sums
    return torch.flip(sums, [axis]) if reverse else sums


def flatten(x: torch.Tensor, axis: int = 1) -> torch.Tensor:
    rows = int(torch.tensor(list(plain(x).shape[:axis])).prod())
    return torch.reshape(x, (rows, -1))


def pad(x: torch.Tensor, paddings: Sequence[int], pad_value: float = 0.0) -> torch.Tensor:
    pairs = list(zip(paddings[::2], paddings[1::2], strict=True))
    return torch.constant_pad_nd(x, [width for pair in pairs[::-1] for width in pair], pad_value)


def pad2d(
    input: torch.Tensor,
    paddings: Sequence[int] = (0, 0, 0, 0),
    mode: str = "constant",
    pad_value: float = 0.0,
    data_format: str = "NCHW",
) -> Tensor:
    top, bottom, left, right = (int(width) for width in paddings)
    mode = "replicate" if mode == "edge" else mode
    return common.pad(input, [left, right, top, bottom], mode, pad_value, data_format)


def filled_like(
    input: torch.Tensor, shape: Sequence[int], dtype: Any, value: float, input_dim_idx: int = 0, output_dim_idx: int = 0
) -> Tensor:
    sizes = list(shape)
    sizes[output_dim_idx] = int(input.shape[input_dim_idx])
    return creation.full(sizes, value, dtype)


def gather_rows(input: torch.Tensor, index: torch.Tensor, dim: int = 0) -> Tensor:
    return search.index_select(input, index, dim)


def resize(kind: str) -> Callable[..., Any]:
    def resize(
        input: torch.Tensor,
        out_shape: Any = None,
        scale: Any = None,
        resample: str = kind,
        align_corners: bool = True,
        align_mode: int = 1,
        data_format: str = "NCHW",
    ) -> Tensor:
        if resample == "NEAREST" and align_corners:
            return nearest(input, out_shape, scale, data_format)
        return vision.interpolate(input, out_shape, scale, resample.lower(), align_corners, align_mode, data_format)

    return resize


def nearest(input: torch.Tensor, out_shape: Any, scale: Any, data_format: str) -> Tensor:
    """The nearest elements with corners on corners, which today's `interpolate` does not offer."""
    image = plain(input)
    for place, axis in enumerate((2, 3) if data_format == "NCHW" else (1, 2)):
        length = image.shape[axis]
        size = int(length * scale) if out_shape is None else int(out_shape[place])
        step = (length - 1) / (size - 1) if size > 1 else 0.0
        places = torch.arange(size, device=image.device)
        image = image.index_select(axis, (places * step + 0.5).long())  # halves go up
    return wrap(image)


def adaptive_pool2d(input: torch.Tensor, pool_size: Any, pool_type: str = "max", require_index: bool = False) -> Any:
    if pool_type not in ("max", "avg"):
        raise ValueError(f"Unknown pool_type: '{pool_type}'. It can only be 'max' or 'avg'.")
    if pool_type == "avg":
        return pooling.adaptive_avg_pool2d(input, pool_size)
    return pooling.adaptive_max_pool2d(input, pool_size, require_index)


def sums(input: Any, out: torch.Tensor | None = None) -> torch.Tensor:
    total = math.add_n(input)
    return total if out is None else creation.assign(total, out)


def diag(diagonal: Any) -> Tensor:
    return creation.diag(creation.to_tensor(diagonal))


def where(condition: torch.Tensor) -> Tensor:
    return search.nonzero(condition)


def new(compute: Callable[..., Any]) -> Any:
    """A function on tensors of torch's as an operation of the dialect."""
    return row(compute.__name__.lstrip("_"), compute, f"`{compute.__name__.lstrip('_')}` of Paddle 1.x.")
