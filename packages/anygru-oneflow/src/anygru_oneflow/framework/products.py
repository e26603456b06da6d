"""Products of matrices and norms, where OneFlow's types differ from torch's."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import torch

from .arithmetic import add, mul
from .dressing import torch_dtype
from .dtype import dtype, plain
from .tensor import Tensor

__all__ = ["addmm", "baddbmm", "bmm", "einsum", "matmul", "mm", "norm"]


def _product(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """A product of two matrices, each optionally transposed, times alpha.

    If one matrix has whole numbers, the other may have any type, and the product has whole numbers (recorded in 0.9.0); torch
    takes one type.
    """

    @wraps(function)
    def call(
        input: torch.Tensor,
        other: torch.Tensor,
        transpose_a: bool = False,
        transpose_b: bool = False,
        alpha: float = 1.0,
    ) -> Any:
        mine, its = torch_dtype(input), torch_dtype(other)  # raises TypeError for other objects
        # For a vector OneFlow 0.9.0 ignores the transposition of the matrix and alpha (recorded).
        vectors = 1 in (input.dim(), other.dim())
        first = input.transpose(-2, -1) if transpose_a and not vectors else input
        second = other.transpose(-2, -1) if transpose_b and not vectors else other
        if mine is not its and not mine.is_floating_point:
            wide = torch.promote_types(mine, its)
            product = function(first.to(wide), second.to(wide)).to(mine)
        else:
            product = function(first, second)
        return product if alpha == 1 or vectors else (product * alpha).to(torch_dtype(product))

    return call


def einsum(equation: str, *operands: Any) -> Any:
    """A sum of products; of an operand without elements it is zeros, which have no gradient (recorded in 0.9.0).

    Two operands of different types with whole numbers in the first are multiplied as matrices (recorded): see `_product`.
    """
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    types = [torch_dtype(tensor) for tensor in tensors]
    inputs, _, output = equation.partition("->")
    left, _, right = inputs.replace(" ", "").partition(",")
    if (
        len(types) == 2
        and types[0] is not types[1]
        and not types[0].is_floating_point
        and {*left} & {*right} - {*output}
    ):
        wide = torch.promote_types(*types)
        result = torch.einsum(equation, *(tensor.to(wide) for tensor in tensors)).to(types[0])
    else:
        result = torch.einsum(equation, *tensors)
    return result.detach() if any(tensor.numel() == 0 for tensor in tensors) else result


matmul = _product(torch.matmul)
bmm = _product(torch.bmm)
mm = _product(torch.mm)


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, alpha: float = 1, beta: float = 1) -> Any:
    """`beta * input + alpha * (mat1 @ mat2)`. For matrices of whole numbers the result has floating point if alpha or beta
    has."""
    if torch_dtype(input).is_floating_point and torch_dtype(mat1).is_floating_point:
        return torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return add(mul(input, beta), mul(mm(mat1, mat2), alpha))


def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Any:
    """`beta * input + alpha * (batch1 @ batch2)`, of floating point: its alpha and beta are (recorded in 0.9.0)."""
    if torch_dtype(input).is_floating_point:
        return torch.baddbmm(input, batch1, batch2, beta=beta, alpha=alpha)
    return add(mul(input, float(beta)), mul(bmm(batch1, batch2), float(alpha)))


def norm(
    input: Tensor,
    p: float | str | None = None,
    dim: int | tuple[int, ...] | list[int] | None = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Any:
    """The norm of a vector, or of a matrix where the tensor or `dim` has two axes: p=1 is its greatest column's sum.

    p=2 and the like are the norms of a matrix's values.

    Raises:
        RuntimeError: p for a tensor of more than two axes, without `dim`.
        NotImplementedError: whole numbers.
    """
    _refuse_whole_numbers("norm", input, dtype)
    dim, keepdim = None if dim in ((), []) else dim, bool(keepdim)
    axes = input.dim() if dim is None else len(dim) if isinstance(dim, (tuple, list)) else 1
    if p is not None and dim is None and axes > 2:
        raise RuntimeError("linalg.norm(): input must be 1-D or 2-D when dim is None and ord is not None")
    values = input if input.is_floating_point() else input.to(torch.float32)
    # torch.linalg.norm would take the norm of the singular values; 0.9.0 takes the norm of the values (recorded).
    of_values = axes == 2 and isinstance(p, (int, float)) and abs(p) not in (1, math.inf)
    p = 2 if p == "fro" and axes == 1 else p  # a row's too (recorded), where torch asks for two axes
    result = (torch.linalg.vector_norm if of_values else torch.linalg.norm)(values, p, dim, keepdim)
    return result if dtype is None else result.to(dtype)  # torch would compute in it


def _refuse_whole_numbers(name: str, input: Tensor, wanted: dtype | None) -> None:
    known = torch_dtype(input) if wanted is None else wanted.torch
    if not known.is_floating_point:
        raise NotImplementedError(f"linalg.{name}(): only float32 and float64 are supported, got {input.dtype}")


def norm_of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """A norm of torch.linalg. It refuses whole numbers, and a single dimension for a matrix norm, with OneFlow's exceptions."""
    name = function.__name__.removeprefix("linalg_")

    @wraps(function)
    def call(input: Tensor, *arguments: Any, **keywords: Any) -> Any:
        if name == "matrix_norm" and isinstance(keywords.get("dim"), int):
            raise TypeError(f"linalg.matrix_norm(): dim must be two dimensions, got {keywords['dim']}")
        _refuse_whole_numbers(name, input, keywords.get("dtype"))
        order, dim = (*arguments, *(keywords.get(option) for option in ("ord", "dim")[len(arguments) :]))[:2]
        axes = {"matrix_norm": 2, "vector_norm": 1}.get(name, input.dim() if dim is None else np.size(dim))
        if axes == 2 and order not in (None, "fro", 1, -1, math.inf, -math.inf):
            raise NotImplementedError(f"linalg.matrix_norm(): ord is 'fro', 1, -1, inf or -inf, got {order!r}")
        if name == "norm" and axes == 1 and order == "fro":
            arguments = (2, *arguments[1:])
            keywords.pop("ord", None)
        return function(input, *map(plain, arguments), **{name: plain(value) for name, value in keywords.items()})

    return call


for _function in (addmm, baddbmm, bmm, matmul, mm, norm):
    setattr(Tensor, _function.__name__, _function)
Tensor.__matmul__ = matmul  # type: ignore[method-assign]
