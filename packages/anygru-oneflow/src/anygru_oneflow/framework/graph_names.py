"""OneFlow's names for the steps of the autograd graph, which a printed tensor shows."""

import re
from typing import Any

import torch

from .dressing import torch_dtype

# torch's names without "Backward" and a number, and OneFlow's without "_backward".
_NAMES = {
    "_FromTorchTensor": "local_to_global", "_ToTorchTensor": "global_to_local", "_Power": "pow", "Add": "add_n",
    "Addcdiv": "add_n", "Addcmul": "add_n", "Addmm": "broadcast_add", "AffineGridGenerator": "affine_grid",
    "Amax": "reduce_max", "Amin": "reduce_min", "AsStrided": "view::as_strided", "Baddbmm": "add_n",
    "Bmm": "batch_matmul", "Cat": "concat", "Clamp": "clip_by_scalar", "Clone": "copy", "Col2Im": "fold",
    "ConstantPadNd": "pad", "DiagEmbed": "diag", "Diagonal": "view::diagonal", "Embedding": "gather",
    "Expand": "view::expand", "Fmod": "scalar_fmod", "Gather": "dim_gather", "GridSampler2D": "grid_sample",
    "GridSampler3D": "grid_sample", "Im2Col": "unfold", "Index": "gather_nd", "IndexSelect": "gather",
    "LinalgVectorNorm": "scalar_pow", "Log1P": "log1p", "Logaddexp": "add_n", "Logsumexp": "add_n",
    "MaskedSelect": "gather_nd", "Max": "reduce_max", "Maximum": "elementwise_maximum",
    "MaxPool2DWithIndices": "max_pool_2d", "MaxPool3DWithIndices": "max_pool_3d", "Mean": "scalar_mul",
    "Min": "reduce_min", "Minimum": "elementwise_minimum", "MkldnnRnnLayer": "stack", "Mm": "matmul",
    "Mv": "matrix_vector_product", "Nansum": "reduce_nansum", "NativeBatchNorm": "normalization",
    "NativeGroupNorm": "view::reshape", "NativeLayerNorm": "broadcast_add", "Neg": "negative",
    "Permute": "view::transpose", "PreluKernel": "prelu", "Prod": "reduce_prod", "Redistribute": "global_to_global",
    "Repeat": "reshape", "Rsub": "scalar_add", "ScatterAdd": "dim_scatter_add", "Select": "view::reshape",
    "Slice": "view::slice", "Sort": "dim_gather", "Split": "view::narrow", "SplitWithSizes": "view::narrow",
    "Squeeze": "view::squeeze", "Std": "cast", "Sub": "broadcast_sub", "Sum": "reduce_sum", "T": "view::transpose",
    "ToCopy": "cast", "Topk": "dim_gather", "Transpose": "view::transpose", "Unbind": "view::squeeze",
    "Unfold": "view::unfold_tensor", "Unsqueeze": "view::unsqueeze", "View": "view::reshape",
}  # fmt: skip
# By the reduction: none, mean, sum.
_LOSSES = {
    "BinaryCrossEntropy": ("binary_cross_entropy", "scalar_mul", "reduce_sum"),
    "BinaryCrossEntropyWithLogits": (
        "binary_cross_entropy_with_logits",
        "binary_cross_entropy_with_logits_reduce_mean",
        "reduce_sum",
    ),
    "MseLoss": ("square", "scalar_mul", "reduce_sum"),
    "NllLoss": ("view::reshape", "broadcast_div", "reduce_sum"),
    "NllLoss2D": ("view::reshape", "broadcast_div", "reduce_sum"),
    "SmoothL1Loss": ("smooth_l1_loss", "scalar_mul", "reduce_sum"),
}
# Products that torch computes on matrices and then reshapes.
_PRODUCTS = {"Addmm": "broadcast_add", "Mm": "broadcast_matmul", "Bmm": "batch_matmul"}
_POWERS = {"PowBackward0": "scalar_pow", "PowBackward1": "pow", "PowBackward2": "scalar_reverse_pow"}


def name_of(tensor: Any) -> str:
    """OneFlow's name of the step that made a tensor, such as `scalar_mul_backward`.

    Where OneFlow takes another way than torch (it builds a mean from a sum), the last step's name is given.
    """
    node = tensor.grad_fn
    return f"{_POWERS.get(node.name()) or _name(node, tensor)}_backward"


def _name(node: Any, tensor: Any) -> str:
    kind = _kind(node)
    if isinstance(node, torch.autograd.function.BackwardCFunction) and kind not in _NAMES and not kind.startswith("_"):
        return kind  # the class of a program
    if kind in ("Mul", "Div"):
        return ("scalar_" if _by_number(node, tensor) else "broadcast_") + kind.lower()
    if kind in ("Add", "Sub") and None in [before for before, _ in node.next_functions]:
        return "scalar_add"
    if kind == "Add" and any(_shape(*step) not in (None, tuple(tensor.shape)) for step in node.next_functions):
        return "broadcast_add"
    if kind in _LOSSES:
        return _LOSSES[kind][node._saved_reduction]
    if kind == "_GRU":  # a layer of `backends.recorded`
        return "stack" if len(tensor) > 1 else "view::unsqueeze"
    if kind in ("View", "UnsafeView") and tensor.dim() > 2:
        return _PRODUCTS.get(_kind(node.next_functions[0][0]), "view::reshape")
    if kind in ("Softmax", "LogSoftmax") and (node._saved_dim + 1) % 2**64 not in (0, tensor.dim()):
        return "view::transpose"
    if kind == "Convolution":
        name = "deconv" if node._saved_transposed else "conv"
        return "bias_add" if node.next_functions[2][0] is not None else f"{name}{len(node._saved_stride)}d"
    return _NAMES.get(kind) or _spelled(kind)


def _kind(node: Any) -> str:
    return re.sub(r"Backward\d*$", "", node.name()) if node is not None else ""


def _shape(node: Any, number: int) -> tuple[int, ...] | None:
    """The shape of one of a step's results; None if an old torch does not have it."""
    known = getattr(node, "_input_metadata", None)
    return None if known is None else tuple(known[number].shape)


def _spelled(kind: str) -> str:
    """A name of torch in small letters, such as `avg_pool_2d` for AvgPool2D and `replication_pad2d` for ReplicationPad2D."""
    kind = re.sub(r"(?<=[a-z])(\d)D$", r"\1d" if "Pad" in kind or "Adaptive" in kind else r"_\1d", kind)
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()


def _by_number(node: Any, result: Any) -> bool:
    """Whether one of the two was a number of Python, which torch keeps as one or as a float64 tensor of no dimensions."""
    try:
        saved = [getattr(node, name, None) for name in ("_saved_self", "_saved_other")]
    except RuntimeError:  # released by a backward pass; a number has no step behind it
        return None in [before for before, _ in node.next_functions]
    return any(
        type(value) in (int, float)
        or (isinstance(value, torch.Tensor) and value.dim() == 0 < result.dim() and torch_dtype(value) is torch.float64)
        for value in saved
    )
