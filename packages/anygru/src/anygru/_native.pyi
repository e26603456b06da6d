"""The native kernels (csrc/bindings.cpp)."""

from collections.abc import Sequence
from typing import Any, TypeAlias, TypedDict

import torch

Tensor: TypeAlias = torch.Tensor | tuple[int, int]
"""A contiguous tensor, or (address, number of bytes)."""

class PackedWeights:
    """Weights in the order in which the kernels read them."""

class Kind:
    """What calls of one layer have in common."""

    def __init__(
        self,
        bidirectional: bool,
        bias: bool,
        reset_before: bool,
        reverse: bool,
        norm: bool = False,
        precision: str = "highest",
        groups: int = 1,
        splits_input: bool = False,
        gate_activation: str = "sigmoid",
        activation: str = "tanh",
    ) -> None:
        """precision: highest, high, float16 or bfloat16; computed as highest where the instruction set has no kernels for it."""
    groups: int

class Shape(TypedDict):
    itemsize: int
    kind: Kind
    threads: int

class ModifiersCall(TypedDict, total=False):
    """Factors, how many states they are for, and how many values they have a row (0: one value for all)."""

    decay: Tensor
    decay_states: int
    decay_width: int
    candidate: Tensor
    candidate_states: int
    candidate_width: int
    zoneout: Tensor
    zoneout_states: int
    zoneout_width: int
    mask: Tensor
    offset: Tensor
    offset_states: int
    offset_width: int

class NormCall(TypedDict, total=False):
    """Of a backward pass through a layer norm."""

    gains: Sequence[Tensor]
    norm_kept: Tensor
    grad_norms: Tensor

class SequencesCall(Shape, ModifiersCall):
    """What forward and backward share."""

    steps: int
    batch: int
    hidden: int
    batch_sizes: Tensor | None
    h_0: Tensor
    output: Tensor
    output_step_stride: int
    output_row_stride: int

class ForwardCall(SequencesCall):
    layers: int
    input_size: int
    input: Tensor
    step_stride: int
    row_stride: int
    weights: list[Tensor] | PackedWeights
    h_n: Tensor
    reserve: Tensor | None

class BackwardCall(SequencesCall, NormCall):
    grad_decay: Tensor | None
    grad_offset: Tensor | None
    clipping: float | None
    grad_output: Tensor | None
    grad_step_stride: int
    grad_row_stride: int
    grad_h_n: Tensor | None
    kept: Tensor
    weights_hh: Sequence[Tensor]
    grad_gates: Tensor
    previous: Tensor | None
    grad_h_0: Tensor

class InputGradient(TypedDict, total=False):
    input_gradient: Tensor | None
    weight_ih: Tensor
    adds_input: bool

class GradientsCall(Shape, InputGradient):
    rows: int
    input_size: int
    hidden: int
    gates: Tensor
    previous: Tensor
    kept: Tensor | None
    input: Tensor
    weight_ih_gradient: Tensor | None
    weight_hh_gradient: Tensor | None
    bias_ih_gradient: Tensor | None
    bias_hh_gradient: Tensor | None
    adds: bool

class PackCall(TypedDict):
    itemsize: int
    kind: Kind
    format: str
    layers: int
    steps: int
    batch: int
    input_size: int
    hidden: int
    weights: Sequence[Tensor]
    scales: Sequence[Tensor]

class LayerCall(ModifiersCall, total=False):
    kind: Kind
    threads: int
    grad_output: torch.Tensor | None
    grad_h_n: torch.Tensor | None
    input: torch.Tensor
    h_0: torch.Tensor | None
    weights: Sequence[torch.Tensor]
    output: torch.Tensor | None
    reserve: torch.Tensor
    needs: Sequence[bool]
    gives_gates: bool
    clipping: float | None

def forward(call: ForwardCall) -> None: ...
def backward(call: BackwardCall) -> None: ...
def gradients(call: GradientsCall) -> None: ...
def pack(call: PackCall) -> PackedWeights:
    """Weights for the instruction set in use. format: float32, float64, bfloat16 (given as float32) or int8 (with scales)."""

def unpack(weights: PackedWeights, place: int, to: Sequence[tuple[int, int]]) -> None:
    """The matrices of a layer and direction, then the scales of int8 ones, into memory of their stored type."""

def dense(
    input: torch.Tensor,
    h_0: torch.Tensor | None,
    weights: Sequence[torch.Tensor] | PackedWeights,
    kind: Kind,
    threads: int,
    keep: bool,
    modifiers: ModifiersCall | None = None,
) -> Any | None:
    """(output, h_n), and with keep the reserve, for [T, B, I] and [L*D, B, H]; None where they are no plain, fitting tensors."""

def cell(
    input: torch.Tensor,
    h: torch.Tensor | None,
    weights: Sequence[torch.Tensor] | PackedWeights,
    kind: Kind,
    threads: int,
    keep: bool,
) -> Any | None:
    """The state after one step, for [B, I] and [B, H] or [I] and [H]; None where they are no plain, fitting tensors.

    With keep a tuple: the state, and the reserve.
    """

def backward_of_layer(call: LayerCall) -> list[torch.Tensor | None] | None:
    """Gradients of (input, h_0, *weights), None where needs has False, of a dense call [T, B, I] or a cell's step.

    A step, [B, I] or [I], needs no output; its gradient is grad_h_n. With gives_gates the gradients of the gates, [rows, 4H] or,
    for reset="before", [rows, 3H], are a last result. Must be called without torch's grad mode.

    None for all calls but those of one layer and one direction with plain, contiguous tensors, and for long ones, which
    are computed in pieces.
    """

def advance(
    weights: PackedWeights, input: torch.Tensor, state: torch.Tensor, many: bool, batched: bool, threads: int
) -> torch.Tensor | None:
    """The output for the next step [I] or [B, I], or many [T, I] or [T, B, I], of a stream, whose state [L, B, H] moves on.

    None where a tensor is none that can be read as it is, or has another shape or dtype; then nothing has changed.
    """

def advance_rows(
    weights: PackedWeights, input: torch.Tensor, states: torch.Tensor, offset: int, rows: Tensor | None, threads: int
) -> torch.Tensor | None:
    """The output [n, H] for one step [n, I] of rows of states [capacity, S], which move on in place.

    The layers' states [L * H] begin at `offset` of a row. rows: distinct, int64 [n]; None: all, n = capacity. None where a tensor
    is none that can be read as it is, or has another shape or dtype; then nothing has changed.

    Raises:
        ValueError: a row is none of states, or a row has no room for the layers' states at offset.
    """

def lstm(itemsize: int, units: int, c: Tensor, sums: Tensor, cells: Tensor, output: Tensor) -> None:
    """One step of LSTM units: makes the cells and the output of `units` units (of all sequences) from c and sums [units, 4].

    A unit's sums are those of candidate, input gate, forget gate and output gate.
    """

def lstm_gradients(
    itemsize: int,
    units: int,
    c: Tensor,
    sums: Tensor,
    cells: Tensor,
    grad_cells: Tensor | None,
    grad_output: Tensor | None,
    grad_sums: Tensor,
    grad_c: Tensor,
) -> None:
    """Makes the gradients of sums and c from those of the cells and the output, None for zeros."""

def set_tensor_types(table: object | None, tensor: type, parameter: type) -> bool: ...
def mersenne(
    state: Tensor, position: int, out: Tensor, count: int, kind: str, first: float = 0.0, second: float = 0.0
) -> int: ...
def sum_float32(values: Tensor, count: int) -> float: ...
def use(name: str) -> None: ...
def isa() -> str: ...
def variants() -> list[str]: ...
def frozen_variants() -> list[str]: ...
def precisions() -> list[str]:
    """Which of the precisions "high", "float16" and "bfloat16" the instruction set in use has kernels for."""

def why_no_tiles(assume_unit: bool = False) -> str:
    """Why no matrix unit is used, or an empty string. assume_unit: as on a CPU that has one, for tests."""

def thread_pool() -> str: ...
