"""A whole model one step at a time, for a fixed number of sequences."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from ..errors import ArgumentError, ArgumentTypeError
from ..facts.arguments import check_sequences
from .machine import Machine
from .memory import StateRows
from .shared import check_size

REST_STEPS = 1 << 14
"""Steps of a constant input after which a state must be at rest."""


class Stepper:
    """A model that reads one step per call and keeps the states of its GRUs; see `stepper`."""

    def __init__(self, machine: Machine, batch_size: int, rest: Tensor | float | None = None) -> None:
        self._machine = machine
        if batch_size > 1:
            machine.check_rows()
        self.batch_size = batch_size
        self._start = start_of(machine, rest)[0]
        self._states = self._start.repeat(batch_size, 1)

    def step(self, x: Tensor, resets: Tensor | None = None) -> Tensor:
        """The model's output [B, ...] for the next step x [B, ...] of every sequence.

        Args:
            resets: bool [B]: where it is true, a sequence starts again before the step.

        Raises:
            ArgumentError, ArgumentTypeError: x or resets do not fit; no state changes.
        """
        check_step(self._machine, x, self.batch_size, resets)
        if resets is not None:
            self._states[resets] = self._start
        return self._machine.step(StateRows(self._states, None), x)

    def reset(self, sequences: int | Sequence[int] | Tensor | None = None) -> None:
        """Start sequences again from a state of zeros, or of rest.

        Args:
            sequences: None for all; or an index, indices (negative ones count from the end), or a bool mask [B].

        Raises:
            ArgumentError, ArgumentTypeError: an index is out of range, or the mask has the wrong length; the state
                stays.
        """
        self._states[slice(None) if sequences is None else check_sequences(sequences, self._states)] = self._start

    @property
    def state(self) -> Tensor:
        """A copy of the states, [B, numbers per sequence]."""
        return self._states.clone()

    @state.setter
    def state(self, value: Tensor) -> None:
        if not isinstance(value, Tensor) or value.shape != self._states.shape:
            came = list(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ArgumentError(f"state must be {list(self._states.shape)}, got {came}")
        self._states.copy_(value)


def stepper(
    model: nn.Module,
    example: Tensor | None = None,
    *,
    batch_size: int = 1,
    batch_first: bool | None = None,
    time_axis: int | None = None,
    rest: Tensor | float | None = None,
) -> Stepper:
    """Step a whole model: its own forward runs on one step, with its GRUs bound to states that are kept between calls.

    The model is not changed; the stepper shares its parameters, packed now. Layers that remember are found by their inputs for
    sequences of two lengths. A GRU along time keeps its state, also one for each frequency or channel. A GRU along
    another axis, also a bidirectional GRU, starts from zeros at every step. A convolution along time (`Conv1d`,
    `Conv2d`, `Conv3d` and transposed ones) keeps its last inputs, if the model pads in front of it or cuts the end of
    its output.

    A comparison of the outputs for a whole sequence with the outputs for its steps decides. It refuses other modules
    that read more than one step: attention, a lag, statistics of a batch, a GRU or a convolution that reads the future.
    Its limits:

    - The sequence has 256 steps, and as many more as the model's convolutions look back. A model that reads back further by
      other means is not found. A model that takes short sequences only is compared on the longest that it takes, within a
      quarter.
    - A model that amplifies rounding is held to eight times the change of its own output when its weights change in the last
      bit, so that small faults in such a model are not found.

    Args:
        model: a module whose only memory along time are GRUs (torch's, anygru's, frozen ones) and convolutions. It takes one
            tensor [B, T, ...] or [T, B, ...], or with time on `time_axis`, and returns a tensor with an output for each step on
            the same axis, or a tuple that begins with one.
        example: an input of at least two steps, from which the steps of the comparison are drawn; None: random numbers as wide
            as the first layer's input.
        batch_size: B, the sequences that step together.
        batch_first: whether the model's input is [B, T, ...]; None: as its first GRU says.
        time_axis: the axis of time in `example` and in the output, for other forms such as [B, C, T] or [B, F, T, 2]; the batch
            is then first.
        rest: a constant input, one number or a step [...]: sequences start from the state that such an input leads to, such as
            an amplifier's in silence (0.0), and not from zeros.

    Returns:
        Stepper: with `step`, `reset` and `state`.

    Raises:
        ArgumentError: the model cannot be stepped; the message names the module. Or its state does not come to rest within
            16,384 steps.
        ArgumentTypeError: `model` is not a module.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Linear(3, 8), anygru.GRU(8, 8, batch_first=True))
        >>> anygru.stepper(model).step(torch.randn(1, 3)).shape
        torch.Size([1, 8])
    """
    return Stepper(Machine(model, example, batch_first, time_axis), check_size("batch_size", batch_size), rest)


def constant_step(like: Tensor, value: Tensor | float) -> Tensor:
    """A step of the shape and dtype of `like` from a number or a tensor.

    Raises:
        ArgumentTypeError: no number and no tensor.
        ArgumentError: a tensor of another shape, or an infinity or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, Tensor | int | float):
        raise ArgumentTypeError(f"rest must be a number or a tensor {list(like.shape)}, got {type(value).__name__}")
    found = torch.as_tensor(value, device=like.device).to(like.dtype)
    if found.shape not in (torch.Size(()), like.shape) or not bool(found.isfinite().all()):
        shape = f"{list(found.shape)}: " if found.dim() else ""
        raise ArgumentError(f"rest must be a finite number or tensor {list(like.shape)}, got {shape}{value}")
    return found.expand(like.shape)


def at_rest(before: Tensor, after: Tensor) -> bool:
    """Whether a state changed by no more than rounding."""
    bound = 8 * torch.finfo(after.dtype).eps * after.abs().max().clamp(min=1.0)
    return bool((after - before).abs().max() <= bound)


def settled(state_after: Callable[[int], Tensor]) -> tuple[Tensor, int]:
    """The state that no longer changes, and its step; `state_after` gives the state some steps after its last answer.

    Raises:
        ArgumentError: the state does not come to rest.
    """
    before, steps = state_after(64), 64
    while steps < REST_STEPS:
        after = state_after(steps)
        steps *= 2
        if at_rest(before, after):
            return after, steps
        before = after
    raise ArgumentError(f"rest: the state still changes after {steps} steps of this input, so it has no rest")


def start_of(machine: Machine, rest: Tensor | float | None) -> tuple[Tensor, int]:
    """The state [1, numbers per sequence] of a new sequence, zeros or the rest after a constant input, and the steps to it.

    Raises:
        ArgumentError, ArgumentTypeError: the input does not fit, or the state does not come to rest.
    """
    states = machine.zeros(1)
    if rest is None:
        return states, 0
    step = constant_step(machine.longer.new_empty(machine.step_shape), rest).unsqueeze(0)

    def state_after(steps: int) -> Tensor:
        for _ in range(steps):
            machine.step(StateRows(states, None), step)
        return states.clone()

    return settled(state_after)


def check_step(machine: Machine, x: Tensor, rows: int | None, resets: Tensor | None = None) -> None:
    """Raise if x is not one step [rows, ...], or [...] of one sequence (None), or resets are not bool [rows].

    Raises:
        ArgumentError: another shape.
        ArgumentTypeError: no tensor, or one of another dtype or device.
    """
    like, expected = machine.like, (*(() if rows is None else (rows,)), *machine.step_shape)
    if resets is not None and not isinstance(resets, Tensor):
        raise ArgumentTypeError(f"resets must be bool [{rows}], got {type(resets).__name__}")
    if resets is not None and (resets.dtype is not torch.bool or tuple(resets.shape) != (rows,)):
        raise ArgumentError(f"resets must be bool [{rows}], got {resets.dtype} {list(resets.shape)}")
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"x must be a tensor, got {type(x).__name__}")
    if x.is_floating_point() and (x.dtype is not like.dtype or x.device != like.device):
        raise ArgumentTypeError(f"x must be {like.dtype} on {like.device}, got {x.dtype} on {x.device}")
    if tuple(x.shape) != expected:
        raise ArgumentError(f"x must be {list(expected)}, got {list(x.shape)}")
