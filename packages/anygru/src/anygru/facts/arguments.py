"""Checks of the arguments that layers and functions share."""

import math
import sys
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from ..errors import ArgumentError, ArgumentTypeError
from .modifiers import DropoutOn, Noise


def is_shape(shape: Sequence[int], expected: Sequence[int]) -> bool:
    """Whether two shapes are equal. Size by size: torch's compiler takes equal tuples of different symbols for unequal.

    Code that every call passes tries `==` first: a true result is right, and the test enters no function.
    """
    if len(shape) != len(expected):
        return False
    return all(size == other for size, other in zip(shape, expected, strict=True))


def is_distributed(tensor: object) -> bool:
    """Whether it is a DTensor of torch or of a subclass, by the name: to import torch.distributed takes long."""
    kind = type(tensor)
    return kind is not Tensor and kind is not Parameter and any(base.__name__ == "DTensor" for base in kind.__mro__)


def check_distributed(input: Tensor, weights: Sequence[Tensor]) -> None:
    """Raises ArgumentTypeError if only some of the tensors are DTensors, which torch's operators do not mix."""
    given = [is_distributed(tensor) for tensor in (input, *weights)]
    if any(given) and not all(given):
        raise ArgumentTypeError(
            "input and weights must all be DTensors or none: distribute both (input with distribute_tensor(input, mesh, "
            "[Replicate()])), or pass whole tensors, full_tensor()"
        )


def check_state_type(state: object, argument: str) -> None:
    """Raises ArgumentTypeError if it is not a tensor."""
    if not isinstance(state, Tensor):
        raise ArgumentTypeError(f"{argument} must be a tensor or None, got {type(state).__name__}")


def check_state(
    state: Tensor, argument: str, form: str, shapes: Sequence[tuple[int, ...]], input: Tensor, is_cast: bool = False
) -> None:
    """Raise if a state has none of these shapes (the message names the first), or not the dtype and device of input.

    Args:
        form: the first shape in letters.
        is_cast: autocast will give both one dtype.
    """
    if state.shape not in shapes and not any(is_shape(state.shape, shape) for shape in shapes):
        raise ArgumentError(f"{argument} must be {form} = {list(shapes[0])}, got {list(state.shape)}")
    if (state.dtype is not input.dtype and not is_cast) or state.device != input.device:
        raise ArgumentTypeError(
            f"{argument} must be {input.dtype} on {input.device} as input is, got {state.dtype} on {state.device}"
        )


def check_number(name: str, value: object, what: str, least: float = 0.0, most: float = math.inf) -> float:
    """The number as a float.

    Args:
        what: the requirement, for the message "must be ...".

    Raises:
        ArgumentTypeError: no number.
        ArgumentError: not between the least and the most.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{name} must be {what}, got {type(value).__name__}")
    if not least <= value <= most:
        raise ArgumentError(f"{name} must be {what}, got {value}")
    return float(value)


def check_dropout(dropout: float, name: str = "dropout") -> float:
    """The probability as a float; raises as `check_number`."""
    return check_number(name, dropout, "a probability between 0 and 1", most=1.0)


def check_sequences(sequences: int | Sequence[int] | Tensor, states: Tensor) -> Tensor:
    """The indices, or the mask, of sequences in a batch with states [B, ...].

    Raises:
        ArgumentError, ArgumentTypeError: an index is out of range, or the mask has the wrong length.
    """
    batch = len(states)
    try:
        index = torch.as_tensor(sequences, device=states.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentTypeError(
            f"sequences must be an index, indices or a mask, got {type(sequences).__name__} {sequences!r:.60}"
        ) from error
    if index.dtype is torch.bool:
        if index.shape != (batch,):
            raise ArgumentError(f"sequences as a mask must be [B] = [{batch}], got {list(index.shape)}")
        return index
    if index.numel() == 0:  # an empty list becomes an empty float tensor
        return index.long()
    if index.is_floating_point() or index.is_complex():
        raise ArgumentTypeError(f"sequences must be integers or a mask of bools, got {index.dtype}")
    index = index.long()  # torch would take bytes for a mask
    if not -batch <= int(index.min()) <= int(index.max()) < batch:
        raise ArgumentError(
            f"sequences must be between 0 and {batch - 1} for a batch of {batch}, got {sequences!r:.60}"
        )
    return index


def check_norm(norm: str | None) -> str | None:
    """Raises ArgumentError if it is not "layer" or None."""
    if norm not in (None, "layer"):
        raise ArgumentError(f"norm must be 'layer' or None, got {norm!r}")
    return norm


def check_groups(groups: int, input_groups: int) -> bool:
    """Whether the input is also split.

    Raises:
        ArgumentTypeError: no ints.
        ArgumentError: groups is less than 1, or input_groups is neither 1 nor groups.
    """
    for name, value in (("groups", groups), ("input_groups", input_groups)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentTypeError(f"{name} must be an int, got {type(value).__name__}")
    if groups < 1:
        raise ArgumentError(f"groups must be at least 1, got {groups}")
    if input_groups not in (1, groups):
        raise ArgumentError(f"input_groups must be 1 or equal to groups ({groups}), got {input_groups}")
    return input_groups > 1


def check_update_bias(update_bias: float | None, bias: bool) -> None:
    """Raises if it is neither None nor a finite number, or there are no biases."""
    if update_bias is None:
        return
    most = sys.float_info.max
    check_number("update_bias", update_bias, "a finite number or None", -most, most)
    if not bias:
        raise ArgumentError(f"update_bias needs biases, got update_bias={update_bias} with bias=False")


def make_noise(zoneout: float, recurrent_dropout: float, on: DropoutOn, training: bool) -> Noise | None:
    """Checked zoneout and recurrent dropout; None if there is neither."""
    if zoneout == 0.0 and recurrent_dropout == 0.0 and on == "state":
        return None
    if on not in ("state", "candidate"):
        raise ArgumentError(f"recurrent_dropout_on must be 'state' or 'candidate', got {on!r}")
    noise = Noise(
        check_dropout(zoneout, "zoneout"), check_dropout(recurrent_dropout, "recurrent_dropout"), on, training
    )
    return noise if noise.names() else None
