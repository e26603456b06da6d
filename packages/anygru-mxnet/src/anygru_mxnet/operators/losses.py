"""Outputs that are losses, as symbols had them before Gluon: their gradient is that of the loss, whatever comes from above."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from .registry import Shape, operator, truth


class _Output(torch.autograd.Function):
    """Values whose gradient was computed with them."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, values: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return values

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Tensor, None, None]:
        return ctx.saved_tensors[0], None, None


def _labels(attributes: Mapping[str, Any], shapes: list[Shape]) -> list[Shape]:
    data, label = shapes
    if data is None or label is not None:
        return shapes
    return [data, data[:1] + data[2:] if truth(attributes.get("multi_output", False)) else data[:-1]]


@operator("SoftmaxOutput", "Softmax", inputs=2, infer=_labels)
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
    """The softmax; its gradient is that of the cross entropy with the labels."""
    whole = truth(multi_output) or truth(preserve_shape)
    rows = (data if whole else data.flatten(1)).detach()
    axis = rows.dim() - 1 if truth(preserve_shape) else 1
    chances = rows.softmax(axis)
    if not data.requires_grad:
        return chances.reshape(data.shape)
    if (
        label.shape == data.shape
    ):  # a chance for each class; MXNet 1.9.1 uses none of the options but the scale (recorded)
        gradient = (chances.reshape(data.shape) - label.detach()) * grad_scale
        return _Output.apply(data, chances.reshape(data.shape), gradient)
    places = label.detach().reshape(rows.shape[:axis] + rows.shape[axis + 1 :]).long()
    count = rows.shape[axis]
    targets = torch.nn.functional.one_hot(places.clamp(0, count - 1), count).movedim(-1, axis).to(rows.dtype)
    if smooth_alpha:
        targets = targets * (1 - smooth_alpha) + (1 - targets) * (smooth_alpha / max(count - 1, 1))
    valid = (places != int(ignore_label)) if truth(use_ignore) else torch.ones_like(places, dtype=torch.bool)
    gradient = (chances - targets) * valid.unsqueeze(axis) * grad_scale
    if truth(multi_output) and normalization != "valid":
        gradient = gradient / places[0].numel()
    if normalization == "batch":
        gradient = gradient / rows.shape[0]
    elif normalization == "valid":
        gradient = gradient / valid.sum().clamp(min=1)
    return _Output.apply(data, chances.reshape(data.shape), gradient.reshape(data.shape))


def _regression(name: str, output: Callable[[Tensor], Tensor], slope: Callable[[Tensor, Tensor], Tensor]) -> None:
    def compute(data: Tensor, label: Tensor, grad_scale: float = 1.0) -> Tensor:
        values = output(data.detach())
        if not data.requires_grad:
            return values.clone()
        each = max(data[0].numel(), 1)
        gradient = slope(values, label.detach().reshape(data.shape)) * (grad_scale / each)
        return _Output.apply(data, values.clone(), gradient)

    compute.__name__ = name
    operator(name, inputs=2, infer=lambda attributes, shapes: [shapes[0], shapes[1] or shapes[0]])(compute)


_regression("LinearRegressionOutput", lambda values: values, torch.sub)
_regression("LogisticRegressionOutput", torch.sigmoid, torch.sub)
_regression("MAERegressionOutput", lambda values: values, lambda values, label: torch.sign(values - label))
