"""Converts tensors to arguments of the native module, and calls its forward pass."""

import functools
import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from ..facts.formula import Formula
from ..facts.modifiers import NONE, Modifiers
from ..facts.problem import Call, Problem
from ..facts.weights import Layout

missing = ""
"""Why the native module cannot be loaded, if it cannot."""

if TYPE_CHECKING:
    from .. import _native

    native = _native
else:
    try:
        from .native_module import native
    except ImportError as error:
        native, missing = None, str(error)


def without_kernels() -> str | None:
    """Why there are no native kernels, and the remedy; None if there are."""
    if native is not None:
        return None
    return (
        f"the native module of this installation cannot be loaded ({missing}); "
        "install anygru for this Python from a wheel, or with a C++ compiler"
    )


PLAIN = (Tensor, torch.nn.Parameter)
# A table of C functions by which the native module reads tensors faster than Python calls do; older versions of torch
# have no such table.
_table = getattr(Tensor, "__dlpack_c_exchange_api__", None)
reads_tensors = native is not None and native.set_tensor_types(_table, *PLAIN)


def address(tensor: Tensor, dtype: torch.dtype) -> Tensor | tuple[int, int]:
    """A contiguous tensor as an argument of the native module: the tensor if readable, otherwise (address, size in bytes)."""
    if reads_tensors and type(tensor) in PLAIN and tensor.dtype is dtype and dtype.is_floating_point:
        return tensor
    if tensor.dtype is not dtype or not tensor.is_cpu or not tensor.is_contiguous():
        raise RuntimeError(
            f"the kernel needs a contiguous CPU tensor of {dtype}, got {tensor.dtype} on {tensor.device}"
        )
    return tensor.data_ptr(), tensor.nbytes


def optional(tensor: Tensor | None, dtype: torch.dtype) -> Tensor | tuple[int, int] | None:
    """`address`, or None."""
    return None if tensor is None else address(tensor, dtype)


@functools.cache
def precisions() -> frozenset[str]:
    """The less exact products of float32 ("high", "float16", "bfloat16") that the kernels for this CPU have."""
    # A native module without matrix units also lacks the function.
    return frozenset() if native is None else frozenset(getattr(native, "precisions", list)())


def why_no_tiles() -> str:
    """Why the kernels do not use matrix units; "" if they do."""
    found: str = getattr(native, "why_no_tiles", lambda: "this build has no kernels for matrix units")()
    return found


@functools.lru_cache(maxsize=64)
def kind(formula: Formula, layer: Layout, precision: str = "highest") -> "_native.Kind":
    """The native module's object for the facts that all calls of one layer share."""
    _, bidirectional, bias, reverse, norm, groups, splits_input = layer
    facts = bidirectional, bias, formula.reset == "before", reverse, norm, precision, groups, splits_input
    if formula.standard():
        return native.Kind(*facts)
    return native.Kind(*facts, *cast("tuple[str, str]", (formula.gate_activation, formula.activation)))


@functools.lru_cache(maxsize=64)
def kind_of(problem: Problem) -> "_native.Kind":
    """See `kind`."""
    return kind(problem.formula, problem.layout._replace(num_layers=1), problem.precision)


def plain(tensor: Tensor) -> Tensor:
    """The tensor, or a copy that is contiguous, aligned and has no lazy negation."""
    tensor = tensor.resolve_neg() if tensor.is_neg() else tensor
    tensor = tensor if tensor.is_contiguous() else tensor.contiguous()
    return tensor.clone() if tensor.data_ptr() % tensor.element_size() else tensor


def copied(tensors: Sequence[Tensor]) -> list[Tensor] | None:
    """The tensors, copied if the native module cannot read them in place; None if no copy would help."""
    if any(type(one) not in PLAIN or not one.is_cpu or one.layout is not torch.strided for one in tensors):
        return None
    copies = [one if why_copied(one) is None else plain(one.detach()) for one in tensors]
    return copies if any(copy is not one for copy, one in zip(copies, tensors, strict=True)) else None


def are_plain(tensors: Sequence[Tensor]) -> bool:
    """Whether they are dense tensors on the CPU of one dtype, without subclasses."""
    dtype = tensors[0].dtype
    return not any(
        type(one) not in PLAIN or one.dtype is not dtype or not one.is_cpu or one.layout is not torch.strided
        for one in tensors
    )


def widened(input: Tensor, h_0: Tensor | None, weights: Any) -> tuple[Tensor, Tensor | None, list[Tensor]] | None:
    """A dense call in half precision without gradients as float32; None if its tensors need checks first."""
    tensors = [input, *weights] if h_0 is None else [input, *weights, h_0]
    if not are_plain(tensors):
        return None
    wide = [one.float() for one in tensors]
    return wide[0], None if h_0 is None else wide.pop(), wide[1:]


def why_copied(tensor: Tensor, rows: bool = False) -> str | None:
    """Why the native module reads a copy of a tensor on the CPU, or None if it reads the tensor.

    rows: the tensor is read row by row, so that the rows may be anywhere.
    """
    if tensor.is_neg():
        return "its memory holds the negative of its values"
    if tensor.data_ptr() % tensor.element_size():
        return "its memory is not aligned"
    in_order = tensor.shape[-1:] == (1,) or tensor.stride()[-1:] == (1,) if rows else tensor.is_contiguous()
    return None if in_order else f"its strides are {tuple(tensor.stride())}"


def plain_modifiers(modifiers: Modifiers, groups: int = 1, states: int = 1) -> Modifiers:
    """The modifiers, plain and in the kernels' layout for groups; see `Modifiers.of_groups`."""
    if modifiers is NONE:
        return modifiers
    modifiers = modifiers.of_groups(groups, states)
    return Modifiers.of(modifiers.names(), map(plain, modifiers.present()))


def describe(modifiers: Modifiers, dtype: torch.dtype) -> "_native.ModifiersCall":
    """The kernels' arguments for the modifiers, which are plain and must outlive the call."""
    found: dict[str, Any] = {}
    if modifiers is NONE:
        return cast("_native.ModifiersCall", found)
    for name, values in zip(modifiers.names(), modifiers.present(), strict=True):
        found[name] = address(values, dtype)
        if name != "mask":
            alone = name == "zoneout" and values.numel() == 1
            found |= {f"{name}_states": values.shape[0], f"{name}_width": 0 if alone else values.shape[-1]}
    return cast("_native.ModifiersCall", found)


def dense(
    input: Tensor, h_0: Tensor | None, weights: Any, kind: "_native.Kind", keep: bool, modifiers: Modifiers = NONE
) -> Any:
    """A dense call [T, B, I] that the native module checks and computes at once; None if anything about it is unusual.

    Args:
        weights: tensors, or the result of `native.pack`.
        keep: whether to return a third result, which backward needs.
    """
    threads = torch.get_num_threads()
    if modifiers is NONE:
        return native.dense(input, h_0, weights, kind, threads, keep)
    if not input.is_cpu or kind.groups > 1 or any(type(one) not in PLAIN for one in modifiers.present()):
        return None
    modifiers = plain_modifiers(modifiers)  # alive until the kernel is done
    return native.dense(input, h_0, weights, kind, threads, keep, describe(modifiers, input.dtype))


def _strided(input: Tensor, dtype: torch.dtype) -> Tensor:
    """A dense input that the kernels can read: unchanged if its rows are contiguous (steps or batch first), otherwise a copy."""
    if not input.transpose(0, 1).is_contiguous():
        input = plain(input)
    elif input.is_neg() or input.data_ptr() % input.element_size():
        input = input.resolve_neg().clone()
    if input.dtype is not dtype or not input.is_cpu:
        raise RuntimeError(f"the kernel needs a contiguous CPU tensor of {dtype}, got {input.dtype} on {input.device}")
    return input


def sum_products(
    kind: "_native.Kind",
    terms: tuple[Tensor, Tensor, Tensor, Tensor | None],
    wanted: Sequence[Tensor | None],
    adds: bool,
    to_input: "_native.InputGradient | None" = None,
) -> None:
    """Sums products of rows to the gradients of a direction's weights.

    Args:
        terms: input [N, I], gates [N, columns * H], previous states [N, H], kept values [N, 4, H] (of reset="before").
        wanted: memory for the gradients, None for each that is not needed. adds: whether they hold sums already.
    """
    input, gates, previous, kept = terms
    dtype = gates.dtype
    weight_ih, weight_hh, bias_ih, bias_hh = (*wanted, None, None)[:4]
    native.gradients(
        {
            "itemsize": dtype.itemsize,
            "kind": kind,
            "threads": torch.get_num_threads(),
            "rows": gates.shape[0],
            "input_size": input.shape[1],
            "hidden": previous.shape[1],
            "gates": address(gates, dtype),
            "previous": address(previous, dtype),
            "kept": optional(kept, dtype),
            "input": address(input, dtype),
            "weight_ih_gradient": optional(weight_ih, dtype),
            "weight_hh_gradient": optional(weight_hh, dtype),
            "bias_ih_gradient": optional(bias_ih, dtype),
            "bias_hh_gradient": optional(bias_hh, dtype),
            "adds": adds,
            **(to_input or {}),
        }
    )


def of_sequences(
    problem: Problem, steps: int, h_0: Tensor, output: Tensor, batch_sizes: Tensor | None, modifiers: Modifiers
) -> "_native.SequencesCall":
    """The arguments that forward and backward share. The tensors are plain and must outlive the call.

    h_0: [..., B, H].
    """
    dtype, batch, width = problem.dtype, h_0.shape[-2], output.shape[-1]
    return {
        "itemsize": dtype.itemsize,
        "kind": kind_of(problem),
        "threads": torch.get_num_threads(),
        "steps": steps,
        "batch": batch,
        "hidden": h_0.shape[-1],
        "batch_sizes": optional(batch_sizes, torch.int64),
        "h_0": address(h_0, dtype),
        "output": address(output, dtype),
        "output_step_stride": batch * width,  # of a dense batch
        "output_row_stride": width,
        **describe(modifiers, dtype),
    }


def forward(
    problem: Problem,
    call: Call,
    results: tuple[Tensor, Tensor, Tensor | None],
    packed: "_native.PackedWeights | None" = None,
) -> None:
    """Calls the native forward pass.

    Args:
        results: memory for the output, for h_n, and for the reserve if it is needed. packed: weights that replace the
            call's.
    """
    dtype = problem.dtype
    input, h_0, weights, batch_sizes, modifiers = call
    output, h_n, reserve = results
    weights, h_0 = list(map(plain, weights)), plain(h_0)  # alive until the kernel is done
    modifiers = plain_modifiers(modifiers, problem.layout.groups, problem.layout.states())
    if batch_sizes is None:
        input = _strided(input, dtype)
        step_stride, row_stride, _ = input.stride()
        given: Any = (input.data_ptr(), input.nbytes)
    else:
        input = plain(input)
        step_stride, row_stride = 0, input.shape[1]
        given = address(input, dtype)
    steps = (input if batch_sizes is None else batch_sizes).shape[0]
    native.forward(
        {
            **of_sequences(problem, steps, h_0, output, batch_sizes, modifiers),
            "layers": problem.layout.num_layers,
            "input_size": input.shape[-1],
            "input": given,
            "step_stride": step_stride,
            "row_stride": row_stride,
            "weights": list(map(address, weights, itertools.repeat(dtype))) if packed is None else packed,
            "h_n": address(h_n, dtype),
            "reserve": optional(reserve, dtype),
        }
    )
