"""embedding and one_hot."""

import torch

from ...base.errors import no_kernel, paddles
from ...tensor.operation import operation, plain

__all__ = ["embedding", "one_hot"]


@operation
def embedding(
    x: torch.Tensor, weight: torch.Tensor, padding_idx: int | None = None, sparse: bool = False, name: str | None = None
) -> torch.Tensor:
    """Rows of `weight` at the positions x; zeros, and no gradient, for `padding_idx`.

    Raises:
        ValueError: if a position is not a row, or `padding_idx` is none.
    """
    rows = int(weight.shape[0])
    if x.is_floating_point():
        raise paddles(NotImplementedError(f"(Unimplemented) embedding(): x must be int32 or int64, got {x.dtype}"))
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(f"padding_idx must be within [-{rows}, {rows}), but got {padding_idx}")
    index = torch.Tensor.to(x, torch.int64)
    if not index.is_cpu:  # on a GPU torch's kernel would stop the process instead of raising
        _need_rows(index, rows)
    padding = -1 if padding_idx is None else padding_idx % rows  # -1 is torch's for no such row
    try:
        out = torch.embedding(weight, index, padding)
    except IndexError:
        _need_rows(index, rows)
        raise
    if padding_idx is None:
        return out
    # Zeros even if that row of the weight is not zero, where torch gives the row (recorded, 2.6.2).
    return torch.where(
        torch.eq(index, padding).unsqueeze(-1),
        torch.zeros([], dtype=torch.Tensor.dtype.__get__(out)),  # type: ignore[attr-defined]
        out,
    )


def _need_rows(index: torch.Tensor, rows: int) -> None:
    if torch.Tensor.numel(index) and not (int(index.min()) >= 0 and int(index.max()) < rows):
        raise ValueError(
            f"(InvalidArgument) Variable value (input) of OP(embedding) expected >= 0 and < {rows}, but got values from "
            f"{int(index.min())} to {int(index.max())}. Please check input value."
        )


@operation
def one_hot(x: torch.Tensor, num_classes: int, name: str | None = None) -> torch.Tensor:
    """Ones at the positions x along a new last axis of `num_classes`, in float32.

    Raises:
        RuntimeError: unless x holds integers.
        ValueError: for a position that is not a class.
    """
    if x.is_floating_point():
        raise no_kernel(f"(NotFound) one_hot(): x must be int32 or int64, got {x.dtype}; cast with astype")
    index = torch.Tensor.to(x, torch.int64)
    if torch.Tensor.numel(index) and not (int(index.min()) >= 0 and int(index.max()) < num_classes):
        raise ValueError(
            f"(InvalidArgument) Illegal index value, Input(input) value should be at least 0 and less than {num_classes}"
        )
    places = plain(torch.Tensor.unsqueeze(index, -1))
    return torch.zeros([*index.shape, num_classes], dtype=torch.float32).scatter_(-1, places, 1.0)
