"""`paddle.fluid.layers`: functions of Paddle 1.x that dynamic-graph scripts use, with their argument names.

Most are today's functions, or a row of `_ROWS`. Results have shape [1] where 1.x, which had no tensors without axes, gave [1].
"""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from ...base.framework import tracer
from ...framework.dtype import torch_dtype
from ...metric import metrics
from ...nn.clip import clip_by_norm
from ...nn.functional import activation as F
from ...nn.functional import common, entropy, extension, operators, pooling, vision
from ...nn.functional import input as inputs
from ...nn.functional.operators import activation_of
from ...tensor import (
    attribute,
    creation,
    linalg,
    logic,
    manipulation,
    math,
    ops,
    parameter,
    random,
    reduction,
    search,
    selection,
    special,
    stat,
)
from ...tensor.tensor import Tensor
from . import formulas
from .renamed import one_element, renamed

# Functions that kept their names and arguments.
_SAME: dict[ModuleType, str] = {
    ops: "abs acos asin atan ceil cos erf exp floor log log1p reciprocal round rsqrt sigmoid sign sin sqrt square tanh",
    logic: "equal greater_equal greater_than less_equal less_than logical_and logical_not logical_or logical_xor not_equal",
    F: "elu gelu leaky_relu relu softplus softsign swish mish",
    manipulation: "cast reverse stack unstack",
    math: "addmm clip multiplex stanh",
    selection: "gather_nd scatter_nd slice strided_slice",
    linalg: "bmm",
    creation: "arange diag_embed fill_constant linspace meshgrid ones_like zeros_like",
    search: "index_sample",
    special: "shard_index",
    attribute: "shape",
    parameter: "create_parameter",
    extension: "gather_tree sequence_mask",
    entropy: "softmax_with_cross_entropy",
    vision: "affine_grid pixel_shuffle",
}


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


_PAIRS: dict[str, Callable[..., Any]] = {
    "add": math.add, "sub": math.subtract, "mul": math.multiply, "div": math.divide, "max": math.maximum,
    "min": math.minimum, "pow": math.pow, "mod": math.mod, "floordiv": math.floor_divide,
}  # fmt: skip


def create_global_var(
    shape: Any, value: float, dtype: Any, persistable: bool = False, force_cpu: bool = False, name: str | None = None
) -> Tensor:
    """A tensor filled with a value."""
    made = creation.full(shape, value, dtype)
    made.persistable = persistable
    if name is not None:
        made.name = name
    return made


_REDUCED = "input>x dim>axis=None keep_dim>keepdim=False name=None"
_IMAGE = "input out_shape=None scale=None name=None"
_IMAGE_ENDS = "actual_shape>!=None align_corners=True align_mode=1 data_format='NCHW'"

# The function that computes it, the arguments of 1.x (see `renamed`), a function of the result.
_ROWS: dict[str, tuple[Any, ...]] = {
    "reduce_sum": (reduction.sum, _REDUCED, one_element),
    "reduce_mean": (stat.mean, _REDUCED, one_element),
    "reduce_max": (reduction.max, _REDUCED, one_element),
    "reduce_min": (reduction.min, _REDUCED, one_element),
    "reduce_prod": (reduction.prod, _REDUCED, one_element),
    "reduce_all": (reduction.all, _REDUCED, one_element),
    "reduce_any": (reduction.any, _REDUCED, one_element),
    "mean": (stat.mean, "x name=None", one_element),
    "sum": (math.add_n, "x>inputs"),
    "sums": (formulas.sums, "input out=None"),
    "logsumexp": (reduction.logsumexp, "x dim>axis=None keepdim=False name=None", one_element),
    "cumsum": (formulas.new(formulas.cumsum), "x axis=None exclusive=False reverse=False"),
    "dist": (linalg.dist, "x y p=2", one_element),
    "dot": (linalg.dot, "x y name=None", one_element),
    "rank": (attribute.rank, "input"),
    "size": (stat.numel, "input>x", one_element),
    "trace": (math.trace, "input>x offset=0 dim1>axis1=0 dim2>axis2=1 name=None", one_element),
    "is_empty": (logic.is_empty, "x", one_element),
    "isfinite": (lambda x: reduction.all(ops.isfinite(x)), "x", one_element),
    "has_inf": (lambda x: reduction.any(ops.isinf(x)), "x", one_element),
    "has_nan": (lambda x: reduction.any(ops.isnan(x)), "x", one_element),
    "allclose": (logic.allclose, "input>x other>y rtol=1e-05 atol=1e-08 equal_nan=False name=None", one_element),
    "elementwise_equal": (logic.equal, "x y name=None"),
    "argmax": (search.argmax, "x axis=0"),
    "argmin": (search.argmin, "x axis=0"),
    "argsort": (
        lambda x, axis, descending: (search.sort(x, axis, descending), search.argsort(x, axis, descending)),
        "input>x axis=-1 descending=False name=None",
    ),
    "topk": (search.topk, "input>x k name=None"),
    "where": (formulas.where, "condition"),
    "nonzero": (search.nonzero, "input>x as_tuple=False"),
    "index_select": (formulas.gather_rows, "input index dim=0"),
    "gather": (selection.gather, "input>x index overwrite>-=True"),
    "scatter": (selection.scatter, "input>x index updates name=None overwrite=True"),
    "scatter_nd_add": (selection.scatter_nd_add, "ref>x index updates name=None"),
    "concat": (manipulation.concat, "input>x axis=0 name=None"),
    "split": (manipulation.split, "input>x num_or_sections dim>axis=-1 name=None"),
    "reshape": (manipulation.reshape, "x shape actual_shape>!=None act=None inplace>-=False name=None"),
    "transpose": (manipulation.transpose, "x perm name=None"),
    "squeeze": (manipulation.squeeze, "input>x axes>axis name=None"),
    "unsqueeze": (manipulation.unsqueeze, "input>x axes>axis name=None"),
    "expand": (manipulation.tile, "x expand_times>repeat_times name=None"),
    "expand_as": (manipulation.expand_as, "x target_tensor>y name=None"),
    "flatten": (formulas.new(formulas.flatten), "x axis=1 name=None"),
    "flip": (manipulation.flip, "input>x dims>axis name=None"),
    "roll": (manipulation.roll, "input>x shifts dims>axis=None"),
    "crop_tensor": (selection.crop, "x shape=None offsets=None name=None"),
    "pad": (formulas.new(formulas.pad), "x paddings pad_value=0.0 name=None"),
    "pad2d": (formulas.pad2d, "input paddings=(0,0,0,0) mode='constant' pad_value=0.0 data_format='NCHW' name=None"),
    "t": (linalg.t, "input name=None"),
    "cross": (linalg.cross, "input>x other>y dim>axis=9"),  # 9: the first axis of length 3
    "kron": (math.kron, "x y out>!=None name=None"),
    "tril": (creation.tril, "input>x diagonal=0 name=None"),
    "triu": (creation.triu, "input>x diagonal=0 name=None"),
    "pow": (math.pow, "x factor>y=1.0 name=None"),
    "increment": (
        lambda x, value, in_place: math.increment(x if in_place else creation.assign(x), value), "x value=1.0 in_place=True",
    ),
    "scale": (math.scale, "x scale=1.0 bias=0.0 bias_after_scale=True act=None name=None"),
    "clamp": (math.clip, "input>x min=None max=None output>!=None name=None"),
    "clip_by_norm": (formulas.new(clip_by_norm), "x max_norm name=None"),
    "l2_normalize": (formulas.new(formulas.l2_normalize), "x axis epsilon=1e-12 name=None"),
    "cos_sim": (formulas.new(formulas.cos_sim), "X Y"),
    "softmax": (F.softmax, "input>x use_cudnn=False name=None axis=-1"),
    "log_softmax": (F.log_softmax, "input>x axis=-1 dtype=None name=None"),
    "hard_sigmoid": (F.hardsigmoid, "x slope=0.2 offset=0.5 name=None"),
    "hard_swish": (operators.hard_swish, "x threshold=6.0 scale=6.0 offset=3.0 name=None"),
    "hard_shrink": (F.hardshrink, "x threshold=0.5"),
    "softshrink": (F.softshrink, "x alpha>threshold=0.5"),
    "thresholded_relu": (F.thresholded_relu, "x threshold=1.0"),
    "tanh_shrink": (F.tanhshrink, "x name=None"),
    "logsigmoid": (F.log_sigmoid, "x name=None"),
    "brelu": (operators.brelu, "x t_min=0.0 t_max=24.0 name=None"),
    "relu6": (operators.relu6, "x threshold=6.0 name=None"),
    "soft_relu": (operators.soft_relu, "x threshold=40.0 name=None"),
    "leaky_relu": (F.leaky_relu, "x alpha>negative_slope=0.02 name=None"),
    "selu": (F.selu, "x scale=1.0507009873554805 alpha=1.6732632423543772 name=None"),
    "maxout": (F.maxout, "x groups name=None axis=1"),
    "label_smooth": (common.label_smooth, "label prior_dist=None epsilon=0.1 dtype>-='float32' name=None"),
    "adaptive_pool2d": (formulas.adaptive_pool2d, "input pool_size pool_type='max' require_index=False name=None"),
    "image_resize": (formulas.resize("BILINEAR"), f"{_IMAGE} resample='BILINEAR' {_IMAGE_ENDS}"),
    "interpolate": (formulas.resize("BILINEAR"), f"{_IMAGE} resample='BILINEAR' {_IMAGE_ENDS}"),
    "resize_bilinear": (formulas.resize("BILINEAR"), f"{_IMAGE} {_IMAGE_ENDS}"),
    "resize_nearest": (formulas.resize("NEAREST"), f"{_IMAGE} actual_shape>!=None align_corners=True data_format='NCHW'"),
    "unfold": (vision.unfold, "x kernel_sizes strides=1 paddings=0 dilations=1 name=None"),
    "grid_sampler": (vision.grid_sample, "x grid name=None"),
    "zeros": (creation.zeros, "shape dtype force_cpu=False name=None"),
    "ones": (creation.ones, "shape dtype force_cpu=False"),
    "full": (creation.full, "shape fill_value out>!=None dtype=None device=None stop_gradient>!=True name=None"),
    "full_like": (creation.full_like, "input>x fill_value out>!=None dtype=None device=None stop_gradient>!=True name=None"),
    "range": (creation.arange, "start end step dtype name=None"),
    "eye": (creation.eye, "num_rows num_columns=None batch_shape>!=None dtype='float32'"),
    "diag": (formulas.diag, "diagonal"),
    "assign": (creation.assign, "input>x output=None"),
    "fill_constant_batch_size_like": (
        formulas.filled_like, "input shape dtype value input_dim_idx=0 output_dim_idx=0 force_cpu=False",
    ),
    "uniform_random": (random.uniform, "shape dtype='float32' min=-1.0 max=1.0 seed=0 name=None"),
    "randint": (
        random.randint, "low high=None shape=(1,) out>!=None dtype=None device=None stop_gradient>!=False seed>!=0 name=None",
    ),
    "randn": (random.randn, "shape out>!=None dtype=None device=None stop_gradient>!=True name=None"),
    "randperm": (random.randperm, "n out>!=None dtype='int64' device=None stop_gradient>!=True seed>!=0"),
    "accuracy": (metrics.accuracy, "input label k=1 correct=None total=None", one_element),
}  # fmt: skip

# From here on abs, range, round, slice and sum are Paddle's.
for _home, _names in _SAME.items():
    globals().update((_name, getattr(_home, _name)) for _name in _names.split())
globals().update(
    (f"elementwise_{_name}", _elementwise(f"elementwise_{_name}", _made)) for _name, _made in _PAIRS.items()
)
globals().update((_name, renamed(_name, *_row)) for _name, _row in _ROWS.items())


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


def dropout(
    x: torch.Tensor,
    dropout_prob: float,
    is_test: bool = False,
    seed: int | None = None,
    name: str | None = None,
    dropout_implementation: str = "downgrade_in_infer",
) -> Tensor:
    """Replaces elements by zeros, unless `eval` of any layer was called last, or in `no_grad`.

    `is_test` has no effect on a dynamic graph, as in Paddle 1.8.5 (read and recorded).
    """
    if seed is not None:
        raise NotImplementedError(
            "fluid.layers.dropout: seed is not covered; paddle.seed() sets the seed of all numbers"
        )
    mode = "downscale_in_infer" if dropout_implementation == "downgrade_in_infer" else dropout_implementation
    return common.dropout(x, dropout_prob, training=tracer._train_mode and tracer._has_grad, mode=mode)


def cross_entropy(
    input: torch.Tensor, label: torch.Tensor, soft_label: bool = False, ignore_index: int = -100
) -> Tensor:
    """-log of the probability `input` of the label, the class axis kept with length 1."""
    return entropy.cross_entropy(input, label, None, ignore_index, "none", soft_label, use_softmax=False)


def one_hot(input: torch.Tensor, depth: int, allow_out_of_range: bool = False) -> Tensor:
    """Ones at the positions input(without a last axis of length 1), along a new last axis."""
    if allow_out_of_range:
        raise NotImplementedError("fluid.layers.one_hot: allow_out_of_range=True is not covered")
    if input.ndim > 1 and int(input.shape[-1]) == 1:
        input = manipulation.squeeze(input, -1)
    return inputs.one_hot(input, depth)


def gaussian_random(
    shape: Any, mean: float = 0.0, std: float = 1.0, seed: int = 0, dtype: Any = "float32", name: str | None = None
) -> Tensor:
    """Normal numbers."""
    if seed:
        raise NotImplementedError(
            "fluid.layers.gaussian_random: seed is not covered; paddle.seed() sets the seed of all"
        )
    return random.normal_values(list(shape), mean, std, torch_dtype(dtype))  # type: ignore[return-value]


__all__ = [
    *" ".join(_SAME.values()).split(), *_ROWS, *(f"elementwise_{_name}" for _name in _PAIRS), "create_global_var",
    "cross_entropy", "dropout", "gaussian_random", "matmul", "mul", "one_hot", "pool2d",
]  # fmt: skip
