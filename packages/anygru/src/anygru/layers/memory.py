"""The memory of a stepped model: modules that keep rows of a state between calls.

A stepped model (`machine.py`) is a copy of the user's module tree in which each of these takes the place of a layer. Its part
of a state row is a slice [offset, offset + size). Each thread has the rows of its call, so any number of threads may
step.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..errors import ArgumentError
from .from_torch import from_torch
from .gru import FrozenGRU
from .stream import Stream


class StateRows(NamedTuple):
    """The rows that a call steps.

    Attributes:
        states: [capacity, size], the state of every session.
        places: the rows of the call, distinct, int64 [n]; None: all.
        resets: bool [n], rows that start again from zeros before the step; None: none.
    """

    states: Tensor
    places: Tensor | None
    resets: Tensor | None = None

    def part(self, offset: int, size: int) -> Tensor:
        """The part [n, size] of the rows; a view if the rows are all, otherwise a copy."""
        part = self.states[:, offset : offset + size]
        return part if self.places is None else part.index_select(0, self.places)

    def read(self, offset: int, size: int) -> Tensor:
        """As `part`, with the rows in `resets` zero; `write` gives it back."""
        part = self.part(offset, size)
        return part if self.resets is None else part.masked_fill_(self.resets.unsqueeze(1), 0.0)

    def write(self, offset: int, size: int, values: Tensor) -> None:
        """Store the part again; values that are already in place stay."""
        part = self.states[:, offset : offset + size]
        if self.places is not None:
            part.index_copy_(0, self.places, values)
        elif part.data_ptr() != values.data_ptr():
            part.copy_(values)


_present = threading.local()


@contextmanager
def stepping(rows: StateRows) -> Iterator[None]:
    """Within it, memories of this thread read and write these rows."""
    before = getattr(_present, "rows", None)
    _present.rows = rows
    try:
        yield
    finally:
        _present.rows = before


class Memory(nn.Module):
    """A module that keeps `size` numbers per row between steps, at `offset` of the row."""

    size: int
    offset: int
    fingerprint: str
    """Sizes and formula as text: states of models with other fingerprints do not fit."""

    @property
    def rows(self) -> StateRows:
        rows: StateRows | None = getattr(_present, "rows", None)
        assert rows is not None, "a stepped model is called by its stepper"
        return rows


class GRUMemory(Memory):
    """A GRU that computes one step from the rows of the call.

    Args:
        layer: the GRU of torch or anygru, or a frozen one; one direction.
        name: of the layer in the model, for errors.
    """

    def __init__(self, layer: nn.Module, name: str) -> None:
        super().__init__()
        self.name = name
        self.batch_first = bool(layer.batch_first)
        if layer.bidirectional:
            raise ArgumentError(f"{name}: a bidirectional GRU reads the future and cannot be stepped")
        ours: Any = layer if isinstance(layer, FrozenGRU) else from_torch(layer)
        self._stream: Stream = ours.stream(batch_size=1)
        self.hidden_size, self.num_layers = ours.hidden_size, ours.num_layers
        self.size = ours.num_layers * ours.hidden_size
        self.offset = 0
        stored = layer.weights if isinstance(layer, FrozenGRU) else ""
        sizes = f"{ours.input_size} {ours.hidden_size} {ours.num_layers}"
        self.fingerprint = f"GRU {sizes} {ours.formula} {stored} {self._stream._like.dtype}"
        self.fingerprint += "" if ours.groups == 1 else f" {ours.groups} {ours.input_groups}"

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
        time = 1 if self.batch_first else 0
        if not isinstance(input, Tensor) or input.dim() != 3 or input.shape[time] != 1:
            came = list(input.shape) if isinstance(input, Tensor) else type(input).__name__
            raise ArgumentError(f"{self.name}: a stepped GRU takes one step of a dense batch, got {came}")
        if h_0 is not None and bool(h_0.any()):
            raise ArgumentError(f"{self.name}: the stepper keeps the state, so h_0 must be None or zeros")
        resets, decay = options.pop("resets", None), options.pop("decay", None)
        if any(value is not None for value in options.values()):
            raise ArgumentError(f"{self.name}: a stepped GRU takes resets and decay, got {', '.join(options)}")
        rows = self.rows
        if rows.resets is not None or resets is not None or decay is not None:
            part = rows.read(self.offset, self.size)
            if resets is not None:
                part.masked_fill_(resets.reshape(-1, 1).bool(), 0.0)
            if decay is not None:
                part.mul_(decay.reshape(len(part), -1))
            rows.write(self.offset, self.size, part)
        output = self._stream.advance_rows(input.select(time, 0), rows.states, self.offset, rows.places)
        if self.num_layers == 1:
            return output.unsqueeze(time), output.unsqueeze(0).clone()
        after = rows.part(self.offset, self.size).unflatten(1, (self.num_layers, self.hidden_size))
        return output.unsqueeze(time), after.transpose(0, 1).clone()


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
    """A `CausalConv1d` that keeps its last inputs."""

    def __init__(self, conv: CausalConv1d) -> None:
        super().__init__()
        self._conv = conv
        self.size = conv.in_channels * conv.past
        self.offset = 0
        self.fingerprint = f"CausalConv1d {conv.in_channels} {conv.out_channels} {conv.kernel_size} {conv.dilation}"

    @property
    def like(self) -> Tensor:
        return self._conv.weight.new_empty(0)

    def forward(self, input: Tensor) -> Tensor:
        """One step [n, C, 1] gives [n, out_channels, 1]."""
        conv, rows = self._conv, self.rows
        if input.dim() != 3 or input.shape[2] != 1:
            raise ArgumentError(f"a stepped CausalConv1d takes one step [n, C, 1], got {list(input.shape)}")
        past = rows.read(self.offset, self.size).reshape(len(input), conv.in_channels, conv.past)
        seen = torch.cat((past, input), 2)
        rows.write(self.offset, self.size, seen[:, :, 1:].reshape(len(input), self.size))
        return nn.Conv1d.forward(conv, seen)
