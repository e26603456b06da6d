"""The memory of a stepped model: modules that keep rows of a state between calls.

A stepped model (`machine.py`) is a copy of the user's module tree in which each of these takes the place of a layer. Its part
of a state row is a slice [offset, offset + size). Each thread has the rows of its call, so any number of threads may
step.
"""

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import ArgumentError
from .from_torch import from_torch
from .gru import FrozenGRU
from .shared import shallow_copy
from .stream import Stream

CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


class StateRows(NamedTuple):
    """The rows that a call steps.

    Attributes:
        states: [capacity, size], the state of every session.
        places: the rows of the call, distinct, int64 [n]; None: all.
    """

    states: Tensor
    places: Tensor | None

    def read(self, offset: int, size: int) -> Tensor:
        """The part [n, size] of the rows; a view if the rows are all, otherwise a copy; `write` gives it back."""
        part = self.states[:, offset : offset + size]
        return part if self.places is None else part.index_select(0, self.places)

    def write(self, offset: int, size: int, values: Tensor) -> None:
        """Store the part again; values that are already in place stay."""
        part = self.states[:, offset : offset + size]
        if self.places is not None:
            part.index_copy_(0, self.places, values)
        elif part.data_ptr() != values.data_ptr():
            part.copy_(values)


class GraphRows:
    """The states of one sequence as tensors of a graph, for programs that write a step down; see `Machine.graph_step`.

    Args:
        states: [1, size] for each memory, by its offset.
    """

    def __init__(self, states: dict[int, Tensor]) -> None:
        self.states, self.written = states, dict(states)

    def read(self, offset: int, size: int) -> Tensor:
        """The state [n, size] of the memory at `offset`."""
        return self.states[offset]

    def write(self, offset: int, size: int, values: Tensor) -> None:
        """Its state after the step."""
        self.written[offset] = values

    def step(self, memory: "GRUMemory", input: Tensor) -> tuple[Tensor, Tensor]:
        """One step of a GRU: its output, and the state [L, n, H], which `write` keeps."""
        raise NotImplementedError

    def sequence(self, inner: "InnerGRU", input: Tensor) -> Any:
        """A whole sequence of a GRU along another axis than time, from zeros."""
        return inner.layer(input)


_present = threading.local()


@contextmanager
def stepping(rows: "StateRows | GraphRows") -> Iterator[None]:
    """Within it, memories of this thread read and write these rows."""
    before = getattr(_present, "rows", None)
    _present.rows = rows
    try:
        yield
    finally:
        _present.rows = before


class Memory(nn.Module):
    """A module that keeps `size` numbers per row between steps, at `offset` of the row.

    Attributes:
        name: of the layer in the model.
        lanes: sequences of the layer in one sequence of the model.
    """

    name: str
    lanes: int
    size: int
    offset: int
    fingerprint: str
    """Sizes and formula as text: states of models with other fingerprints do not fit."""

    @property
    def rows(self) -> Any:
        """A `StateRows`, or `GraphRows`."""
        rows = getattr(_present, "rows", None)
        assert rows is not None, "a stepped model is called by its stepper"
        return rows


class GRUMemory(Memory):
    """A GRU that computes one step from the rows of the call.

    Args:
        layer: the GRU of torch or anygru, or a frozen one; one direction.
        name: of the layer in the model, for errors.
        lanes: sequences of the GRU in one sequence of the model, such as one for each frequency.
    """

    def __init__(self, layer: nn.Module, name: str, lanes: int = 1) -> None:
        super().__init__()
        self.name, self.layer, self.lanes = name, [layer], lanes  # in a list, it is no module of this one
        self.batch_first = bool(layer.batch_first)
        if layer.bidirectional:
            raise ArgumentError(f"{name}: a bidirectional GRU reads the future and cannot be stepped")
        ours: Any = layer if isinstance(layer, FrozenGRU) else from_torch(layer)
        self._stream: Stream = ours.stream(batch_size=1)
        self.hidden_size, self.num_layers = ours.hidden_size, ours.num_layers
        self.size = lanes * ours.num_layers * ours.hidden_size
        self.offset = 0
        stored = layer.weights if isinstance(layer, FrozenGRU) else ""
        sizes = f"{ours.input_size} {ours.hidden_size} {ours.num_layers}"
        self.fingerprint = f"GRU {sizes} {ours.formula} {stored} {self._stream._like.dtype}"
        self.fingerprint += "" if ours.groups == 1 else f" {ours.groups} {ours.input_groups}"
        self.fingerprint += "" if lanes == 1 else f" {lanes} lanes"

    @property
    def advance(self) -> Any:
        """The backend's call for a step, see `backends.cpu_prepared.Prepared.advance`; None if it has none."""
        return self._stream.native

    @property
    def like(self) -> Tensor:
        """An empty tensor of the dtype and on the device of the state."""
        return self._stream._like

    def forward(self, input: Tensor, h_0: Tensor | None = None, **options: Any) -> tuple[Tensor, Tensor]:
        """One step [n, 1, I] ([1, n, I]) gives the output likewise, and the state [L, n, H] after it.

        Raises:
            ArgumentError: more than one step, an initial state that is not zero, or an argument that looks at more than a step.
        """
        time, rows = 1 if self.batch_first else 0, self.rows
        if not isinstance(input, Tensor) or input.dim() != 3 or input.shape[time] != 1:
            came = list(input.shape) if isinstance(input, Tensor) else type(input).__name__
            raise ArgumentError(f"{self.name}: a stepped GRU takes one step of a dense batch, got {came}")
        resets, decay = options.pop("resets", None), options.pop("decay", None)
        if any(value is not None for value in options.values()):
            raise ArgumentError(f"{self.name}: a stepped GRU takes resets and decay, got {', '.join(options)}")
        if isinstance(rows, GraphRows):
            if resets is not None or decay is not None:
                raise ArgumentError(f"{self.name}: a graph of one step has no resets and no decay")
            return rows.step(self, input)
        check_start(self.name, h_0)
        if resets is not None or decay is not None:
            part = rows.read(self.offset, self.size)
            if resets is not None:
                part.masked_fill_(resets.reshape(-1, 1).bool(), 0.0)
            if decay is not None:
                part.mul_(decay.reshape(len(part), -1))
            rows.write(self.offset, self.size, part)
        if self.lanes == 1:
            output = self._stream.advance_rows(input.select(time, 0), rows.states, self.offset, rows.places)
            after = rows.read(self.offset, self.size)
        else:
            after = rows.read(self.offset, self.size).reshape(len(input) if time else input.shape[1], -1)
            output = self._stream.advance_rows(input.select(time, 0), after, 0, None)
            rows.write(self.offset, self.size, after.reshape(-1, self.size))
        if self.num_layers == 1:
            return output.unsqueeze(time), output.unsqueeze(0).clone()
        after = after.unflatten(1, (self.num_layers, self.hidden_size))
        return output.unsqueeze(time), after.transpose(0, 1).clone()


class InnerGRU(nn.Module):
    """A GRU that reads another axis than time, such as the frequencies of a frame: it starts from zeros at every step."""

    def __init__(self, layer: nn.Module, name: str) -> None:
        super().__init__()
        self.name, self.layer = name, layer

    def forward(self, input: Tensor, h_0: Tensor | None = None, **options: Any) -> Any:
        rows = getattr(_present, "rows", None)
        if not isinstance(rows, GraphRows):
            check_start(self.name, h_0)
            return self.layer(input, h_0, **options)
        if any(value is not None for value in options.values()):
            raise ArgumentError(f"{self.name}: a graph of one step takes only the input, got {', '.join(options)}")
        return rows.sequence(self, input)


def check_start(name: str, h_0: Tensor | None) -> None:
    """Raise if an initial state in a stepped model is not zero."""
    if h_0 is not None and bool(h_0.any()):
        raise ArgumentError(f"{name}: the stepper keeps the state, so h_0 must be None or zeros")


class CausalConv1d(nn.Conv1d):
    """A Conv1d over [B, C, T]; its output at a step depends only on that step and earlier steps, so a stepper can step
    it.

    It takes the arguments of torch.nn.Conv1d without stride and padding: the input is padded with (kernel_size - 1) *
    dilation zeros in front, so that input and output have the same length.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            dilation=dilation,
            groups=groups,
            bias=bias,
            device=device,
            dtype=dtype,
        )

    @property
    def past(self) -> int:
        """Earlier steps that an output depends on."""
        return (self.kernel_size[0] - 1) * self.dilation[0]

    def forward(self, input: Tensor) -> Tensor:
        """[B, C, T] gives [B, out_channels, T]."""
        return super().forward(nn.functional.pad(input, (self.past, 0)))


class ConvMemory(Memory):
    """A convolution along time that keeps its last inputs.

    A causal model pads a sequence in front of the convolution, or cuts the values that the convolution's own padding
    adds at the end. So of a step's input the last frame is new, and of its output the first one belongs to it; the
    others are zeros.

    Args:
        name: of the convolution in the model.
        conv: one of `CONVOLUTIONS` or `TRANSPOSED`, with a stride of 1 along time.
        axis: of time in its input, 2 or more.
        lanes: sequences of the convolution in one sequence of the model.
    """

    def __init__(self, name: str, conv: Any, axis: int, lanes: int = 1) -> None:
        super().__init__()
        self.name = name
        self._conv, self._axis = [conv], axis  # in a list, it is no module of this one
        self.past = (conv.kernel_size[axis - 2] - 1) * conv.dilation[axis - 2]
        self._frame: tuple[int, ...] = ()
        self.offset, self.size, self.lanes = 0, 0, lanes
        self.fingerprint = f"CausalConv1d {conv.in_channels} {conv.out_channels} {conv.kernel_size} {conv.dilation}"
        if not isinstance(conv, CausalConv1d):
            self.fingerprint = f"{type(conv).__name__} {conv} {axis} {lanes}"

    def fit(self, shape: Sequence[int]) -> None:
        """Set the size of the state, for inputs of this shape."""
        self._frame = tuple(self.past if axis == self._axis else size for axis, size in enumerate(shape))[1:]
        self.size = self.lanes * math.prod(self._frame)

    def forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """One step: [n, C, ..., t, ...] with the new frame last."""
        conv, rows, axis = self._conv[0], self.rows, self._axis
        frame = input.narrow(axis, input.shape[axis] - 1, 1)
        past = rows.read(self.offset, self.size).reshape(len(input), *self._frame)
        seen = torch.cat((past, frame), axis)
        rows.write(self.offset, self.size, seen.narrow(axis, 1, self.past).reshape(-1, self.size))
        padding, place = list(conv.padding), axis - 2
        function = getattr(nn.functional, f"conv{'_transpose' * isinstance(conv, TRANSPOSED)}{input.dim() - 2}d")
        if isinstance(conv, TRANSPOSED):
            steps = input.shape[axis] + self.past - 2 * padding[place]
            padding[place] = self.past
            output = function(seen, weight, bias, conv.stride, padding, conv.output_padding, conv.groups, conv.dilation)
        else:
            steps = input.shape[axis] - self.past + 2 * padding[place]
            padding[place] = 0
            output = function(seen, weight, bias, conv.stride, padding, conv.dilation, conv.groups)
        more = [0, 0] * (output.dim() - 1 - axis) + [0, max(steps, 1) - 1]
        return nn.functional.pad(output, more) if steps > 1 else output

    def transposed(self, input: Tensor) -> Tensor:
        """`forward` with the weights of the convolution."""
        return self(input, self._conv[0].weight, self._conv[0].bias)  # type: ignore[no-any-return]


def look_back(module: nn.Module) -> int:
    """Steps that a convolution can look back, if one of its axes is time."""
    if not isinstance(module, CONVOLUTIONS):
        return 0
    return max((int(size) - 1) * int(gap) for size, gap in zip(module.kernel_size, module.dilation, strict=True))


def remembering(name: str, conv: Any, axis: int, lanes: int) -> tuple[nn.Module, ConvMemory] | None:
    """A copy of a convolution that computes one step, and its memory; None if its stride or padding along time has no steps."""
    place = axis - 2
    usual = conv.padding_mode == "zeros" and not isinstance(conv.padding, str) and conv.stride[place] == 1
    transposed = isinstance(conv, TRANSPOSED)
    if not usual or (transposed and (conv.output_padding[place] or type(conv).forward not in _FORWARDS)):
        return None
    memory, made = ConvMemory(name, conv, axis, lanes), shallow_copy(conv)
    if transposed:
        made.__dict__["forward"] = memory.transposed
    else:  # forward of this class and of its subclasses calls this
        made.__dict__["_conv_forward"] = memory
    return made, memory


_FORWARDS = tuple(kind.forward for kind in TRANSPOSED)
