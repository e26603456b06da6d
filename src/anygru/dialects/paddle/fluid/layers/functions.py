"""`paddle.fluid.layers`: functions of Paddle 1.x that dynamic-graph scripts use, with their argument names."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...framework.dtype import torch_dtype
from ...metric import metrics
from ...nn.functional import activation as F
from ...nn.functional import common, entropy, pooling
from ...nn.functional import input as inputs
from ...nn.functional.activation import elu, gelu, leaky_relu, relu, relu6, softplus, softsign, swish
from ...nn.functional.entropy import softmax_with_cross_entropy
from ...nn.functional.extension import sequence_mask
from ...nn.functional.loss import mse_loss as _mse_loss
from ...nn.functional.loss import square_error_cost
from ...tensor import creation, linalg, manipulation, math, random, search, stat
from ...tensor.creation import assign, diag, eye, fill_constant, linspace, ones_like, zeros_like
from ...tensor.logic import (
    equal,
    greater_equal,
    greater_than,
    less_equal,
    less_than,
    logical_and,
    logical_not,
    logical_or,
    not_equal,
)
from ...tensor.manipulation import cast, gather_nd, slice, stack, strided_slice, unstack
from ...tensor.manipulation import squeeze as _squeeze
from ...tensor.manipulation import unsqueeze as _unsqueeze
from ...tensor.math import clip, scale
from ...tensor.ops import (
    abs,
    ceil,
    cos,
    exp,
    floor,
    log,
    reciprocal,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    tanh,
)
from ...tensor.parameter import create_parameter
from ...tensor.search import argmax, argmin, argsort, where
from ...tensor.stat import mean
from ...tensor.tensor import Tensor

__all__ = [
    "abs", "accuracy", "argmax", "argmin", "argsort", "assign", "cast", "ceil", "clip", "concat", "cos",
    "create_parameter", "cross_entropy", "diag", "dropout", "elementwise_add", "elementwise_div", "elementwise_floordiv",
    "elementwise_max", "elementwise_min", "elementwise_mod", "elementwise_mul", "elementwise_pow",
    "elementwise_sub", "elu", "equal", "exp", "expand", "eye", "fc", "fill_constant", "floor", "gather",
    "gather_nd", "gaussian_random", "gelu", "greater_equal", "greater_than", "hard_sigmoid", "leaky_relu",
    "less_equal", "less_than", "linspace", "log", "log_softmax", "logical_and", "logical_not", "logical_or",
    "matmul", "mean", "mse_loss", "mul", "not_equal", "one_hot", "ones", "ones_like", "pool2d", "pow", "range", "reciprocal",
    "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "relu",
    "relu6", "reshape", "round", "rsqrt", "scale", "sequence_mask", "sigmoid", "sign", "sin", "slice", "softmax",
    "softmax_with_cross_entropy", "softplus", "softsign", "split", "sqrt", "square", "square_error_cost", "squeeze",
    "stack", "strided_slice", "swish", "tanh", "topk", "transpose", "uniform_random", "unsqueeze", "unstack",
    "where", "zeros", "zeros_like",
]  # fmt: skip


def activation_of(name: str | None) -> Callable[[Any], Any]:
    """The activation that the argument `act` names; None leaves values as they are.

    Raises:
        ValueError: for a name that is none.
    """
    if name is None:
        return lambda value: value
    found = getattr(F, name, None) if isinstance(name, str) and not name.startswith("_") else None
    if found is None:
        raise ValueError(f"act must name an activation such as 'relu', 'tanh', 'sigmoid' or 'softmax', got {name!r}")
    return found


def _elementwise(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def function(
        x: torch.Tensor, y: torch.Tensor, axis: int = -1, act: str | None = None, name: str | None = None
    ) -> Any:
        if axis != -1 and y.ndim < x.ndim:
            y = manipulation.reshape(y, list(y.shape) + [1] * (x.ndim - axis - y.ndim))
        return activation_of(act)(compute(x, y))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"`{compute.__name__}` of two tensors, the axes of y lying at `axis` of x; then the activation `act`."
    )
    return function


elementwise_add = _elementwise("elementwise_add", math.add)
elementwise_sub = _elementwise("elementwise_sub", math.subtract)
elementwise_mul = _elementwise("elementwise_mul", math.multiply)
elementwise_div = _elementwise("elementwise_div", math.divide)
elementwise_max = _elementwise("elementwise_max", math.maximum)
elementwise_min = _elementwise("elementwise_min", math.minimum)
elementwise_pow = _elementwise("elementwise_pow", math.pow)
elementwise_mod = _elementwise("elementwise_mod", math.mod)
elementwise_floordiv = _elementwise("elementwise_floordiv", math.floor_divide)


def _reduction(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    def function(input: torch.Tensor, dim: Any = None, keep_dim: bool = False, name: str | None = None) -> Any:
        return compute(input, axis=dim, keepdim=keep_dim)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`paddle.{compute.__name__}` over the axes `dim`."
    return function


reduce_sum = _reduction("reduce_sum", math.sum)
reduce_mean = _reduction("reduce_mean", stat.mean)
reduce_max = _reduction("reduce_max", math.max)
reduce_min = _reduction("reduce_min", math.min)
reduce_prod = _reduction("reduce_prod", math.prod)
reduce_all = _reduction("reduce_all", math.all)
reduce_any = _reduction("reduce_any", math.any)


def mul(x: torch.Tensor, y: torch.Tensor, x_num_col_dims: int = 1, y_num_col_dims: int = 1, name: Any = None) -> Tensor:
    """The matrix product, the first `..._num_col_dims` axes making rows and the others columns."""
    rows, columns = list(x.shape[:x_num_col_dims]), list(y.shape[y_num_col_dims:])
    left = manipulation.flatten(x, x_num_col_dims, -1) if x.ndim > x_num_col_dims else x
    left = manipulation.reshape(left, [-1, int(left.shape[-1])])
    right = manipulation.reshape(y, [int(left.shape[-1]), -1])
    return manipulation.reshape(linalg.matmul(left, right), rows + columns)


def matmul(
    x: torch.Tensor,
    y: torch.Tensor,
    transpose_x: bool = False,
    transpose_y: bool = False,
    alpha: float = 1.0,
    name: str | None = None,
) -> Tensor:
    """alpha times the matrix product over the last two axes."""
    out = linalg.matmul(x, y, transpose_x, transpose_y)
    return out if alpha == 1.0 else math.scale(out, alpha)


def fc(*args: Any, **kwargs: Any) -> Any:
    """Makes parameters by itself, which belongs to static graphs.

    Raises:
        NotImplementedError: always; `paddle.nn.Linear` is the way.
    """
    raise NotImplementedError("fluid.layers.fc is not covered: use fluid.dygraph.Linear or paddle.nn.Linear")


def pool2d(
    input: torch.Tensor,
    pool_size: int | Sequence[int] = -1,
    pool_type: str = "max",
    pool_stride: int | Sequence[int] = 1,
    pool_padding: int | Sequence[int] = 0,
    global_pooling: bool = False,
    use_cudnn: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
    exclusive: bool = True,
    data_format: str = "NCHW",
) -> Tensor:
    """The largest element ('max') or the mean ('avg') of windows of images, or of whole images."""
    if pool_type not in ("max", "avg"):
        raise ValueError(f"Unknown Attr(pool_type): '{pool_type}'. It can only be 'max' or 'avg'.")
    if not global_pooling and pool_size == -1:
        raise ValueError("When the global_pooling is False, pool_size must be passed and be a valid value.")
    if global_pooling:
        first = 1 if data_format == "NHWC" else 2
        pool_size, pool_stride, pool_padding = [int(length) for length in input.shape[first : first + 2]], 1, 0
    if pool_type == "max":
        return pooling.max_pool2d(input, pool_size, pool_stride, pool_padding, False, ceil_mode, data_format)
    return pooling.avg_pool2d(
        input, pool_size, pool_stride, pool_padding, ceil_mode, exclusive, data_format=data_format
    )


def concat(input: Any, axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors joined along an axis."""
    return manipulation.concat(input, axis)


def split(input: torch.Tensor, num_or_sections: Any, dim: int = -1, name: str | None = None) -> list[Tensor]:
    """A tensor cut along an axis."""
    return manipulation.split(input, num_or_sections, dim)


def reshape(
    x: torch.Tensor,
    shape: Any,
    actual_shape: Any = None,
    act: str | None = None,
    inplace: bool = False,
    name: Any = None,
) -> Tensor:
    """A tensor in another shape."""
    if actual_shape is not None:
        raise NotImplementedError("fluid.layers.reshape: actual_shape is not covered; give shape")
    return activation_of(act)(manipulation.reshape(x, shape))


def transpose(x: torch.Tensor, perm: Any, name: str | None = None) -> Tensor:
    """The axes in another order."""
    return manipulation.transpose(x, perm)


def squeeze(input: torch.Tensor, axes: Any, name: str | None = None) -> Tensor:
    """A tensor without axes of length 1."""
    return _squeeze(input, axes)


def unsqueeze(input: torch.Tensor, axes: Any, name: str | None = None) -> Tensor:
    """A tensor with axes of length 1 put in."""
    return _unsqueeze(input, axes)


def expand(x: torch.Tensor, expand_times: Any, name: str | None = None) -> Tensor:
    """A tensor repeated along each axis."""
    return manipulation.tile(x, expand_times)


def gather(input: torch.Tensor, index: torch.Tensor, overwrite: bool = True) -> Tensor:
    """Rows of a tensor."""
    return manipulation.gather(input, index)


def pow(x: torch.Tensor, factor: Any = 1.0, name: str | None = None) -> Tensor:
    """x to the power `factor`."""
    return math.pow(x, factor)


def topk(input: torch.Tensor, k: Any, name: str | None = None) -> Any:
    """The k largest elements of the last axis and their positions."""
    return search.topk(input, k)


def softmax(input: torch.Tensor, use_cudnn: bool = False, name: str | None = None, axis: int = -1) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
    return F.softmax(input, axis)


def log_softmax(input: torch.Tensor, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """log(softmax(x)) along an axis."""
    return F.log_softmax(input, -1 if axis is None else axis, dtype)


def hard_sigmoid(x: torch.Tensor, slope: float = 0.2, offset: float = 0.5, name: str | None = None) -> Tensor:
    """slope * x + offset held between 0 and 1."""
    return F.hardsigmoid(x, slope, offset)


def dropout(
    x: torch.Tensor,
    dropout_prob: float,
    is_test: bool | None = None,
    seed: int | None = None,
    name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Tensor:
    """Zeros in place of elements; without `is_test` as in training."""
    if seed is not None:
        raise NotImplementedError(
            "fluid.layers.dropout: seed is not covered; paddle.seed() sets the seed of all numbers"
        )
    mode = "downscale_in_infer" if dropout_implementation == "downgrade_in_infer" else dropout_implementation
    return common.dropout(x, dropout_prob, training=not is_test, mode=mode)


def cross_entropy(
    input: torch.Tensor, label: torch.Tensor, soft_label: bool = False, ignore_index: int = -100
) -> Tensor:
    """-log of the probability `input` of the label, the class axis kept with length 1."""
    return entropy.cross_entropy(input, label, None, ignore_index, "none", soft_label, use_softmax=False)


def mse_loss(input: torch.Tensor, label: torch.Tensor) -> Tensor:
    """The mean squared difference."""
    return _mse_loss(input, label)


def one_hot(input: torch.Tensor, depth: int, allow_out_of_range: bool = False) -> Tensor:
    """Ones at the positions input, whose last axis of length 1 (if any) is taken off, along a new last axis."""
    if allow_out_of_range:
        raise NotImplementedError("fluid.layers.one_hot: allow_out_of_range=True is not covered")
    if input.ndim > 1 and int(input.shape[-1]) == 1:
        input = manipulation.squeeze(input, -1)
    return inputs.one_hot(input, depth)


def zeros(shape: Any, dtype: Any, force_cpu: bool = False, name: str | None = None) -> Tensor:
    """Zeros."""
    return creation.zeros(shape, dtype)


def ones(shape: Any, dtype: Any, force_cpu: bool = False) -> Tensor:
    """Ones."""
    return creation.ones(shape, dtype)


def range(start: Any, end: Any, step: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Numbers from `start` up to, not including, `end`."""
    return creation.arange(start, end, step, dtype)


def uniform_random(
    shape: Any, dtype: Any = "float32", min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    """Numbers evenly from `min` to `max`."""
    return random.uniform(shape, dtype, min, max, seed)


def gaussian_random(
    shape: Any, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: Any = "float32", name: str | None = None
) -> Tensor:
    """Normal numbers."""
    if seed:
        raise NotImplementedError(
            "fluid.layers.gaussian_random: seed is not covered; paddle.seed() sets the seed of all"
        )
    return random.normal_values(list(shape), mean, std, torch_dtype(dtype))  # type: ignore[return-value]


def accuracy(input: torch.Tensor, label: torch.Tensor, k: int = 1, correct: Any = None, total: Any = None) -> Tensor:
    """The share of rows whose label is among the k best classes."""
    return metrics.accuracy(input, label, k)
