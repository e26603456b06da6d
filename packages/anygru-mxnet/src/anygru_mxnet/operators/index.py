"""Operators that select elements: take, pick, one_hot, Embedding, gather_nd, and the sequence operators with lengths."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from anygru.extend import single

from ..base import DtypeLike, MXNetError, torch_dtype
from .flat import unchanging
from .registry import one_axis, operator, truth


def _positions_within(places: Tensor, size: int, mode: str, name: str) -> Tensor:
    """Positions within an axis. MXNet has three modes for positions outside of it."""
    whole = places.long()
    if mode == "clip":
        return whole.clamp(0, size - 1)
    if mode == "wrap":
        return whole.remainder(size)
    if mode == "raise":
        if whole.device.type != "meta" and whole.numel() and not bool(((whole >= 0) & (whole < size)).all()):
            raise MXNetError(f"{name}: an index is outside of 0..{size - 1} and mode='raise'")
        return whole
    raise MXNetError(f"{name}: mode must be clip, wrap or raise, got {mode!r}")


@operator("take", inputs=2)
def _take(a: Tensor, indices: Tensor, axis: int = 0, mode: str = "clip") -> Tensor:
    axis = one_axis(int(axis), a.dim())
    places = _positions_within(indices, a.shape[axis], mode, "take")
    picked = a.index_select(axis, places.reshape(-1))
    return picked.reshape(a.shape[:axis] + indices.shape + a.shape[axis + 1 :])


@operator("batch_take", inputs=2)
def _batch_take(a: Tensor, indices: Tensor) -> Tensor:
    return a.gather(1, _positions_within(indices, a.shape[1], "clip", "batch_take").unsqueeze(1)).squeeze(1)


def _pick_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    if shapes[0] is None or (shapes[1] is not None and 0 not in shapes[1]):
        return shapes
    axis = attributes.get("axis", -1)
    if axis is None:
        return shapes
    axis = one_axis(int(axis), len(shapes[0]))
    kept = (1,) if truth(attributes.get("keepdims", False)) else ()
    return [shapes[0], (*shapes[0][:axis], *kept, *shapes[0][axis + 1 :])]


def picked_places(data: Tensor, index: Tensor, axis: int, mode: str = "clip") -> Tensor:
    """The positions for `pick`, with size 1 in the axis."""
    if mode == "raise":
        raise MXNetError("pick: mode must be clip or wrap, got 'raise'")
    places = _positions_within(index, data.shape[axis], mode, "pick")
    if places.dim() == data.dim() - 1:
        places = places.unsqueeze(axis)
    wanted = data.shape[:axis] + (1,) + data.shape[axis + 1 :]
    if places.shape != wanted:
        raise MXNetError(
            f"pick: index must be of shape {tuple(wanted)} or without axis {axis}, got {tuple(index.shape)}"
        )
    return places


@operator("pick", "choose_element_0index", inputs=2, infer=_pick_shapes)
@unchanging
def _pick(data: Tensor, index: Tensor, axis: int | None = -1, keepdims: bool = False, mode: str = "clip") -> Tensor:
    if axis is None:
        raise MXNetError("pick: axis must be a number, got None")
    axis = one_axis(int(axis), data.dim())
    # A position beyond the axis is its last element, unless mode="wrap" (MXNet 1.9.1, observed). torch.gather would raise an
    # error.
    picked = data.gather(axis, picked_places(data, index, axis, mode))
    if truth(keepdims):
        return picked
    picked = picked.squeeze(axis)
    return picked.reshape(1) if picked.dim() == 0 else picked


@operator("one_hot")
@unchanging
def _one_hot(
    indices: Tensor, depth: int, on_value: float = 1.0, off_value: float = 0.0, dtype: DtypeLike = "float32"
) -> Tensor:
    # For numbers outside 0..depth - 1 torch's one_hot raises an error, and MXNet 1.9.1 returns rows without a one (observed).
    hot = indices.long().unsqueeze(-1) == torch.arange(int(depth), device=indices.device)
    kind = torch_dtype(dtype)
    # Through the array's dtype: 2.7 is 2 in an array of integers, as in MXNet 1.9.1 (observed).
    on, off = (torch.tensor(v, device=indices.device).to(kind) for v in (on_value, off_value))
    return torch.where(hot, on, off)


def _embedding_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    return [shapes[0], (int(attributes["input_dim"]), int(attributes["output_dim"]))]


@operator("Embedding", inputs=2, demands=("input_dim", "output_dim"), infer=_embedding_shapes)
def _embedding(
    data: Tensor,
    weight: Tensor,
    input_dim: int = 0,
    output_dim: int = 0,
    dtype: DtypeLike = "float32",
    sparse_grad: bool = False,
) -> Tensor:
    # The result has the dtype of the weight; `dtype` has no effect, as in MXNet 1.9.1 (observed). Numbers are clipped to the rows
    # of the table (recorded from 1.9.1).
    return functional.embedding(data.long().clamp(0, weight.shape[0] - 1), weight)


@operator("gather_nd", inputs=2, copies=True)
def _gather_nd(data: Tensor, indices: Tensor) -> Tensor:
    places = tuple(indices.long().unbind(0))
    return data[places]


@operator("_unravel_index", "unravel_index")
def _unravel_index(data: Tensor, shape: Sequence[int]) -> Tensor:
    rows, rest = [], data
    for size in reversed([int(n) for n in shape][1:]):
        above = torch.div(rest, size, rounding_mode="trunc")
        rows.append(rest - above * size)
        rest = above
    return torch.stack([rest, *reversed(rows)])  # the first row is not bounded by its size (1.9.1, recorded)


@operator("_ravel_multi_index", "ravel_multi_index")
def _ravel_multi_index(data: Tensor, shape: Sequence[int]) -> Tensor:
    flat = torch.zeros_like(data[0])
    for places, size in zip(data, shape, strict=True):
        flat = flat * int(size) + places
    return flat


@operator("scatter_nd", inputs=2)
def _scatter_nd(data: Tensor, indices: Tensor, shape: Sequence[int]) -> Tensor:
    blank = torch.zeros(tuple(shape), dtype=data.dtype, device=data.device)
    return blank.index_put(tuple(indices.long().unbind(0)), data)


@operator("_contrib_boolean_mask", inputs=2)
def _boolean_mask(data: Tensor, index: Tensor, axis: int = 0) -> Tensor:
    return data.index_select(int(axis), torch.nonzero(index != 0).reshape(-1))


def _steps_and_lengths(data: Tensor, lengths: Tensor | None, use: bool, name: str) -> Tensor | None:
    if not truth(use):
        return None
    if lengths is None:
        raise MXNetError(f"{name}: use_sequence_length=True needs sequence_length")
    return lengths.long().reshape(-1)


def _sequence_inputs(attributes: Mapping[str, Any]) -> list[str]:
    return ["data", "sequence_length"] if truth(attributes.get("use_sequence_length", False)) else ["data"]


def _sequence_shapes(attributes: Mapping[str, Any], shapes: list) -> list:
    """Check that there is a length for each sequence of the batch."""
    if len(shapes) < 2 or shapes[0] is None or len(shapes[0]) < 2:
        return shapes
    return [shapes[0], (shapes[0][1 - int(attributes.get("axis", 0))],)]


def _time_axis(axis: int, name: str) -> int:
    if axis not in (0, 1):
        raise MXNetError(f"{name}: axis must be 0 (TNC) or 1 (NTC), got {axis!r}")
    return int(axis)


@operator("SequenceMask", inputs=2, copies=True, needs=_sequence_inputs, infer=_sequence_shapes)
def _sequence_mask(
    data: Tensor,
    sequence_length: Tensor | None = None,
    use_sequence_length: bool = False,
    value: float = 0.0,
    axis: int = 0,
) -> Tensor:
    lengths = _steps_and_lengths(data, sequence_length, use_sequence_length, "SequenceMask")
    if lengths is None:
        return data
    axis = _time_axis(axis, "SequenceMask")
    beyond = torch.arange(data.shape[axis], device=data.device).unsqueeze(1) >= lengths  # [T, N]
    beyond = beyond if axis == 0 else beyond.T
    # The value is rounded to float32 also for a float64 array (MXNet 1.9.1, observed).
    return data.masked_fill(beyond.reshape(beyond.shape + (1,) * (data.dim() - 2)), single(value))


@operator("SequenceLast", inputs=2, copies=True, needs=_sequence_inputs, infer=_sequence_shapes)
def _sequence_last(
    data: Tensor, sequence_length: Tensor | None = None, use_sequence_length: bool = False, axis: int = 0
) -> Tensor:
    lengths = _steps_and_lengths(data, sequence_length, use_sequence_length, "SequenceLast")
    axis = _time_axis(axis, "SequenceLast")
    if lengths is None:
        return data.select(axis, data.shape[axis] - 1)
    rows = torch.arange(data.shape[1 - axis], device=data.device)
    # A length of 0 means the last step. MXNet 1.9.1 reads outside of the array then (see the README).
    last = (lengths - 1).remainder(data.shape[axis])
    return data[last, rows] if axis == 0 else data[rows, last]


@operator("SequenceReverse", inputs=2, copies=True, needs=_sequence_inputs, infer=_sequence_shapes)
def _sequence_reverse(
    data: Tensor, sequence_length: Tensor | None = None, use_sequence_length: bool = False, axis: int = 0
) -> Tensor:
    if axis != 0:
        raise MXNetError(f"SequenceReverse: axis must be 0, got {axis!r}")
    lengths = _steps_and_lengths(data, sequence_length, use_sequence_length, "SequenceReverse")
    if lengths is None:
        return data.flip(0)
    steps = torch.arange(data.shape[0], device=data.device).unsqueeze(1)  # [T, 1]
    turned = torch.where(steps < lengths, lengths - 1 - steps, steps)  # [T, N]
    return data[turned, torch.arange(data.shape[1], device=data.device)]
