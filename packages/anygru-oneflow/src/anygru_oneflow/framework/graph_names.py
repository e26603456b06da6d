"""OneFlow's names for the steps of the autograd graph, which a printed tensor shows."""

import re
from typing import Any

import torch

# torch's names without "Backward" and a number, and OneFlow's without "_backward".
_NAMES = {
    "Add": "add_n",
    "Addmm": "broadcast_add",
    "Amax": "reduce_max",
    "Amin": "reduce_min",
    "BinaryCrossEntropy": "scalar_mul",
    "BinaryCrossEntropyWithLogits": "binary_cross_entropy_with_logits_reduce_mean",
    "Bmm": "batch_matmul",
    "Cat": "concat",
    "Clamp": "clip_by_scalar",
    "Clone": "copy",
    "Embedding": "gather",
    "Expand": "view::expand",
    "Gather": "dim_gather",
    "Index": "gather_nd",
    "IndexSelect": "gather",
    "LinalgVectorNorm": "scalar_pow",
    "Log1P": "log1p",
    "Max": "reduce_max",
    "Maximum": "elementwise_maximum",
    "Mean": "scalar_mul",
    "Min": "reduce_min",
    "Minimum": "elementwise_minimum",
    "Mm": "matmul",
    "Mv": "matrix_vector_product",
    "NativeLayerNorm": "broadcast_add",
    "Neg": "negative",
    "Permute": "view::transpose",
    "Prod": "reduce_prod",
    "Repeat": "reshape",
    "Rsub": "scalar_add",
    "Select": "view::reshape",
    "Slice": "view::slice",
    "Sort": "dim_gather",
    "Split": "view::narrow",
    "Squeeze": "view::squeeze",
    "Std": "cast",
    "Sub": "broadcast_sub",
    "Sum": "reduce_sum",
    "T": "view::transpose",
    "ToCopy": "cast",
    "Topk": "dim_gather",
    "Transpose": "view::transpose",
    "UnsafeView": "view::reshape",
    "Unsqueeze": "view::unsqueeze",
    "View": "view::reshape",
}
# By the reduction: none, mean, sum.
_LOSSES = {
    "MseLoss": ("square", "scalar_mul", "reduce_sum"),
    "NllLoss": ("view::reshape", "broadcast_div", "reduce_sum"),
    "SmoothL1Loss": ("smooth_l1_loss", "scalar_mul", "reduce_sum"),
}
_POWERS = {"PowBackward0": "scalar_pow", "PowBackward1": "pow", "PowBackward2": "scalar_reverse_pow"}


def name_of(tensor: Any) -> str:
    """OneFlow's name of the step that made a tensor, such as `scalar_mul_backward`.

    Where OneFlow takes another way than torch (it builds a mean from a sum), the last step's name is given.
    """
    node = tensor.grad_fn
    return f"{_POWERS.get(node.name()) or _name(node, tensor)}_backward"


def _name(node: Any, tensor: Any) -> str:
    kind = re.sub(r"Backward\d*$", "", node.name())
    if kind in ("Mul", "Div"):
        return ("scalar_" if _by_number(node) else "broadcast_") + kind.lower()
    if kind in ("Add", "Sub") and None in [following for following, _ in node.next_functions]:
        return "scalar_add"
    if kind in _LOSSES:
        return _LOSSES[kind][node._saved_reduction]
    if kind == "_GRU":  # a layer of `backends.recorded`
        return "stack" if len(tensor) > 1 else "view::unsqueeze"
    return _NAMES.get(kind) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", kind).lower()


def _by_number(node: Any) -> bool:
    saved = [getattr(node, name, None) for name in ("_saved_self", "_saved_other")]
    return any(type(value) in (int, float) or (isinstance(value, torch.Tensor) and value.dim() == 0) for value in saved)
