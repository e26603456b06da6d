"""torch's own kernels of LSTMs and Elman networks, with the checks that they lack.

On a CPU `torch.lstm` runs oneDNN's kernel, which compares no widths: it reads and writes past the end of memory where the
input, the states or the weights do not fit each other (torch 2.13). Every call of the dialects goes through `layer_of_torch`.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ..errors import ArgumentError, ArgumentTypeError
from .one_buffer import views

_GATES = {"lstm": 4, "rnn_tanh": 1, "rnn_relu": 1}


def layer_of_torch(kind: str) -> Callable[..., tuple[Tensor, ...]]:
    """`torch.lstm`, `torch.rnn_tanh` or `torch.rnn_relu` in both their forms, checked, and with the layout that cuDNN
    needs.

    The function returned takes (input, h_0, weights, has_biases, num_layers, dropout, train, bidirectional, batch_first) or,
    for packed sequences, (rows, batch_sizes, h_0, weights, has_biases, num_layers, dropout, train, bidirectional), by
    position or by torch's names. An LSTM takes h_0 and c_0 in a tuple.

    On CUDA the weights come in one buffer, and a call that needs gradients runs in cuDNN's training mode, without which it has
    no backward pass; dropout acts only where the caller is training.

    Raises:
        ArgumentError: shapes, lengths or counts that do not fit. Raised by the function returned.
        ArgumentTypeError: an argument of another type or dtype. Raised by the function returned.
    """
    compute = getattr(torch, kind)

    def call(*arguments: Any, **keywords: Any) -> tuple[Tensor, ...]:
        is_packed, given = _by_name(kind, arguments, keywords)
        _check(kind, is_packed, given)
        first = given[0]
        if first.is_cuda:
            where = 3 if is_packed else 2
            hidden, weights, (bias, layers, dropout, training, bidirectional, *rest) = (
                given[where - 1], given[where], given[where + 1 :],
            )  # fmt: skip
            states = hidden if isinstance(hidden, (list, tuple)) else (hidden,)
            if torch.is_grad_enabled() and any(each.requires_grad for each in (first, *states, *weights)):
                dropout, training = (dropout if training else 0.0), True
            own = views(weights, layers, bidirectional, bias, kind)
            given = [*given[:where], own, bias, layers, dropout, training, bidirectional, *rest]
        found: tuple[Tensor, ...] = compute(*given)
        return found

    call.__name__ = kind
    return call


_OPTIONS = ("has_biases", "num_layers", "dropout", "train", "bidirectional")
_OF_BATCH = ("input", "hx", "params", *_OPTIONS, "batch_first")
_OF_PACKED = ("data", "batch_sizes", "hx", "params", *_OPTIONS)


def _by_name(kind: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[bool, list[Any]]:
    """Whether the rows are packed, and the arguments in torch's order."""
    # The fourth argument of the packed form is the list of weights, of the other form a flag.
    is_packed = "batch_sizes" in keywords or (len(arguments) > 3 and isinstance(arguments[3], (list, tuple)))
    names = _OF_PACKED if is_packed else _OF_BATCH
    if not keywords and len(arguments) == len(names):
        return is_packed, list(arguments)
    given = {**dict(zip(names, arguments, strict=False)), **keywords}
    if len(arguments) > len(names) or len(given) != len(arguments) + len(keywords) or set(given) != set(names):
        raise ArgumentTypeError(
            f"{kind}: expected the arguments ({', '.join(names)}), got {len(arguments)} by position and {sorted(keywords)}"
        )
    return is_packed, [given[name] for name in names]


def _check(kind: str, is_packed: bool, given: list[Any]) -> None:
    """Check each condition that torch's kernels assume."""
    rows, *sizes, hidden, weights, bias, layers, _, _, bidirectional = given if is_packed else given[:-1]
    n_states, axes = (2 if kind == "lstm" else 1), (2 if is_packed else 3)
    states = [hidden] if isinstance(hidden, Tensor) else list(hidden) if isinstance(hidden, (list, tuple)) else []
    if len(states) != n_states or isinstance(hidden, Tensor) != (n_states == 1):
        raise ArgumentError(
            f"{kind}: hx must be {'a tuple (h_0, c_0)' if n_states == 2 else 'one tensor'}, got {_of(hidden)}"
        )
    tensors = [("input", rows), *(("hx", each) for each in states), *(("params", each) for each in weights)]
    _check_types(kind, tensors)
    if rows.dim() != axes or any(state.dim() != 3 for state in states):
        raise ArgumentError(
            f"{kind}: input must have {axes} axes and hx 3, got shapes {[list(each.shape) for each in (rows, *states)]}"
        )
    batch = _batch_of(kind, sizes[0], len(rows)) if is_packed else rows.shape[0 if given[-1] else 1]
    out, size = states[0].shape[2], states[-1].shape[2]
    directions = 2 if bidirectional else 1
    for state, width in zip(states, (out, size), strict=False):
        if tuple(state.shape) != (layers * directions, batch, width):
            raise ArgumentError(
                f"{kind}: hx must be [{layers * directions}, {batch}, H], got {[list(each.shape) for each in states]}"
            )
    gate_rows = _GATES[kind] * size
    width = rows.shape[-1]
    needed: list[tuple[int, ...]] = []
    for _ in range(layers):
        own = [(gate_rows, width), (gate_rows, out), *([(gate_rows,)] * 2 if bias else [])]
        needed += (own + ([(out, size)] if out != size else [])) * directions
        width = out * directions
    found = [tuple(weight.shape) for weight in weights]
    if found != needed:
        raise ArgumentError(
            f"{kind}: an input with {rows.shape[-1]} features and states of {list(states[0].shape)} need weights of the shapes"
            f" {list(map(list, needed))}, got {list(map(list, found))}"
        )


def _check_types(kind: str, tensors: list[tuple[str, Any]]) -> None:
    """All are floating-point tensors of one dtype on one device; autocast may change dtypes later."""
    first = tensors[0][1]
    for name, each in tensors:
        if not isinstance(each, Tensor):
            raise ArgumentTypeError(f"{kind}: {name} must be of tensors, got {type(each).__name__}")
    dtypes = [torch.Tensor.dtype.__get__(each) for _, each in tensors]  # type: ignore[attr-defined]
    for (name, each), dtype in zip(tensors, dtypes, strict=True):
        mixed = dtype != dtypes[0] and not torch.is_autocast_enabled(first.device.type)
        if mixed or not dtype.is_floating_point or each.device != first.device:
            raise ArgumentTypeError(
                f"{kind}: input, hx and params must have one floating-point dtype and one device, got {dtypes[0]} on"
                f" {first.device} and, in {name}, {dtype} on {each.device}"
            )


def _batch_of(kind: str, batch_sizes: Any, n_rows: int) -> int:
    """The number of sequences in packed rows."""
    if not isinstance(batch_sizes, Tensor) or batch_sizes.dim() != 1:
        raise ArgumentTypeError(f"{kind}: batch_sizes must be a tensor with 1 axis, got {_of(batch_sizes)}")
    if torch.Tensor.dtype.__get__(batch_sizes) != torch.int64 or batch_sizes.device.type != "cpu":  # type: ignore[attr-defined]
        raise ArgumentTypeError(f"{kind}: batch_sizes must be int64 on the CPU, got {_of(batch_sizes)}")
    sizes = batch_sizes.tolist()
    if not sizes or min(sizes) < 1 or sizes != sorted(sizes, reverse=True) or sum(sizes) != n_rows:
        raise ArgumentError(
            f"{kind}: batch_sizes must be above 0, must not rise and must sum to the {n_rows} rows of the input, got {sizes}"
        )
    return int(sizes[0])


def _of(value: object) -> str:
    return (
        f"a tensor of shape {list(value.shape)}, {value.dtype}" if isinstance(value, Tensor) else type(value).__name__
    )
