"""The native kernels (csrc/bindings.cpp). A tensor is handed over as (address, number of bytes)."""

from collections.abc import Sequence
from typing import Any

Tensor = tuple[int, int]

class PackedWeights:
    """Weights in the order in which the kernels read them."""

def forward(
    itemsize: int,
    steps: int,
    batch: int,
    input_size: int,
    hidden: int,
    layers: int,
    bidirectional: bool,
    bias: bool,
    reset_before: bool,
    sizes: Tensor | None,
    input: Tensor,
    step_stride: int,
    row_stride: int,
    h_0: Tensor,
    weights: list[Tensor] | PackedWeights,
    output: Tensor,
    output_step_stride: int,
    output_row_stride: int,
    h_n: Tensor,
    reserve: Tensor | None,
    threads: int,
) -> None: ...
def backward(
    itemsize: int,
    steps: int,
    batch: int,
    hidden: int,
    bidirectional: bool,
    reset_before: bool,
    sizes: Tensor | None,
    grad_output: Tensor | None,
    grad_step_stride: int,
    grad_row_stride: int,
    grad_h_n: Tensor | None,
    output: Tensor,
    step_stride: int,
    row_stride: int,
    h_0: Tensor,
    kept: Tensor,
    weights_hh: Sequence[Tensor],
    grad_gates: Tensor,
    previous: Tensor | None,
    grad_h_0: Tensor,
    threads: int,
) -> None: ...
def infer(
    input: object,
    h_0: object | None,
    weights: object,
    bidirectional: bool,
    bias: bool,
    reset_before: bool,
    threads: int,
) -> Any | None:
    """(output, h_n) for tensors [T, B, I], [L*D, B, H] and weights, or None where they are no plain, fitting CPU tensors."""

def set_tensor_types(table: object | None, tensor: type, parameter: type) -> None: ...
def pack(
    itemsize: int,
    input_size: int,
    hidden: int,
    layers: int,
    bidirectional: bool,
    bias: bool,
    reset_before: bool,
    weights: Sequence[Tensor],
) -> PackedWeights: ...
def use(name: str) -> None: ...
def isa() -> str: ...
def variants() -> list[str]: ...
def thread_pool() -> str: ...
