"""Output operators, MXNet's losses before Gluon. They ignore the upstream gradient and return the gradient of the loss."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ..base import MXNetError
from .registry import Shape, operator, truth


class _Output(torch.autograd.Function):
    """Values with a precomputed gradient. The upstream gradient is ignored unless `scaled`."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, values: Tensor, gradient: Tensor, scaled: bool = False) -> Tensor:
        ctx.save_for_backward(gradient)
        ctx.scaled = scaled
        return values

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None, None, None]:
        gradient = ctx.saved_tensors[0]
        return gradient * above if ctx.scaled else gradient, None, None, None


def _labels(attributes: Mapping[str, Any], shapes: list[Shape]) -> list[Shape]:
    data, label = shapes
    if data is None or label == data:
        return shapes
    if not truth(attributes.get("multi_output", False)):
        return [data, data[:-1]]
    return [data, data[:1] + data[2:] if label is None else label]


@operator("SoftmaxOutput", "Softmax", inputs=2, infer=_labels, loss=True)
def _softmax_output(
    data: Tensor,
    label: Tensor,
    grad_scale: float = 1.0,
    ignore_label: float = -1.0,
    multi_output: bool = False,
    use_ignore: bool = False,
    preserve_shape: bool = False,
    normalization: str = "null",
    out_grad: bool = False,
    smooth_alpha: float = 0.0,
) -> Tensor:
    """The softmax, with the gradient of the cross entropy with the labels."""
    shape = data.shape
    if truth(multi_output):
        rows, axis = data.detach().reshape(shape[0], shape[1], -1), 1
    else:  # with preserve_shape the classes are on the last axis, otherwise on all axes but the first
        rows = data.detach().reshape(-1, shape[-1]) if truth(preserve_shape) else data.detach().flatten(1)
        axis = 1
    chances = rows.softmax(axis)
    if not data.requires_grad:
        return chances.reshape(shape)
    if (
        label.shape == shape
    ):  # a probability for each class; MXNet 1.9.1 ignores all options except the scale (recorded)
        gradient = (chances.reshape(shape) - label.detach()) * grad_scale
        return _Output.apply(data, chances.reshape(shape), gradient, truth(out_grad))
    if label.numel() != (shape[0] * rows.shape[2] if truth(multi_output) else shape[:-1].numel()):
        wanted = (shape[0], *shape[2:]) if truth(multi_output) else tuple(shape[:-1])
        raise MXNetError(f"SoftmaxOutput: label must have the shape {wanted}, got {tuple(label.shape)}")
    # With more than two axes and without options there are more labels than rows; the first labels count (1.9.1, recorded).
    labels = label.detach().reshape(-1).long()
    places = labels[: rows.numel() // rows.shape[axis]].reshape(rows.shape[:axis] + rows.shape[axis + 1 :])
    count = rows.shape[axis]
    classes = torch.arange(count, device=rows.device).reshape((-1,) + (1,) * (rows.dim() - 2))
    targets = (places.unsqueeze(axis) == classes).to(rows.dtype)  # a label beyond the classes matches no class
    if smooth_alpha:
        targets = targets * (1 - smooth_alpha) + (1 - targets) * (smooth_alpha / max(count - 1, 1))
    gradient = (chances - targets) * grad_scale
    if truth(use_ignore):
        gradient = gradient * (places != int(ignore_label)).unsqueeze(axis)
    # With several positions per row MXNet 1.9.1 takes their mean, except with normalization="valid" (observed).
    if truth(multi_output) and normalization != "valid":
        gradient = gradient / places[0].numel()
    if normalization == "batch":
        gradient = gradient / (shape[0] if truth(multi_output) else labels.numel())
    elif normalization == "valid":
        # The count excludes ignored labels even without `use_ignore`, but they have gradients then (MXNet 1.9.1, observed).
        gradient = gradient / (labels != int(ignore_label)).sum().clamp(min=1)
    return _Output.apply(data, chances.reshape(shape), gradient.reshape(shape), truth(out_grad))


def _targets(attributes: Mapping[str, Any], shapes: list[Shape]) -> list[Shape]:
    """Labels in the data's shape."""
    data, label = shapes
    if data is None:
        return shapes
    if label and label[0] == data[0] and math.prod(label) == math.prod(data):
        return shapes
    return [data, data[:1] if len(data) == 2 and data[1] == 1 else data]


def _regression(name: str, output: Callable[[Tensor], Tensor], slope: Callable[[Tensor, Tensor], Tensor]) -> None:
    def compute(data: Tensor, label: Tensor, grad_scale: float = 1.0) -> Tensor:
        values = output(data.detach())
        if not data.requires_grad:
            return values.clone()
        # The loss is a mean over the numbers of a sample, and a sum over samples (MXNet 1.9.1, observed).
        each = max(data[0].numel(), 1)
        gradient = slope(values, label.detach().reshape(data.shape)) * (grad_scale / each)
        return _Output.apply(data, values.clone(), gradient)

    compute.__name__ = name
    operator(name, inputs=2, infer=_targets, loss=True)(compute)


_regression("LinearRegressionOutput", lambda values: values, torch.sub)
_regression("LogisticRegressionOutput", torch.sigmoid, torch.sub)
_regression("MAERegressionOutput", lambda values: values, lambda values, label: torch.sign(values - label))


@operator("SVMOutput", inputs=2, infer=lambda _, shapes: [shapes[0], shapes[0] and shapes[0][:-1]], loss=True)
def _svm_output(
    data: Tensor, label: Tensor, margin: float = 1.0, regularization_coefficient: float = 1.0, use_linear: bool = False
) -> Tensor:
    """The data, with the gradient of one-against-all hinge losses, squared unless `use_linear`."""
    values = data.detach()
    signs = (
        2 * (label.detach().long().unsqueeze(-1) == torch.arange(data.shape[-1], device=data.device)).to(data.dtype) - 1
    )
    missing = (margin - signs * values).clamp(min=0)
    slopes = (missing > 0).to(data.dtype) if truth(use_linear) else 2 * missing
    return _Output.apply(data, values.clone(), -signs * slopes * regularization_coefficient)
