"""`paddle.flops`: the operations of a network's forward pass. Source: Paddle 2.6, read and recorded."""

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..base.dygraph.base import no_grad
from ..nn.layer import activation, common, conv, norm, pooling
from ..nn.layer.layers import Layer
from ..tensor import creation, random

__all__ = ["flops"]

Count = Callable[[Any, Any, Any], int]


def _of_convolution(layer: Any, x: Any, y: Any) -> int:
    a_result = x.shape[1] / layer._groups * math.prod(layer.weight.shape[2:]) + (layer.bias is not None)
    return int(int(y.size) * a_result)


def _of_adaptive_pool(layer: Any, x: Any, y: Any) -> int:
    return int(y.size) * (1 + math.prod(long // short for long, short in zip(x.shape[2:], y.shape[2:], strict=True)))


_COUNTS: dict[type, Count] = {
    **dict.fromkeys(
        (*(conv.Conv1D, conv.Conv2D, conv.Conv3D), *(conv.Conv1DTranspose, conv.Conv2DTranspose, conv.Conv3DTranspose)),
        _of_convolution,
    ),
    **dict.fromkeys((norm.BatchNorm2D, norm.BatchNorm), lambda layer, x, y: 2 * int(x.size)),
    **dict.fromkeys((activation.ReLU, activation.ReLU6, common.Dropout), lambda layer, x, y: 0),
    activation.LeakyReLU: lambda layer, x, y: int(x.size),
    common.Linear: lambda layer, x, y: layer.weight.shape[0] * int(y.size),
    **dict.fromkeys((pooling.AvgPool1D, pooling.AvgPool2D, pooling.AvgPool3D), lambda layer, x, y: int(y.size)),
    **dict.fromkeys(
        (pooling.AdaptiveAvgPool1D, pooling.AdaptiveAvgPool2D, pooling.AdaptiveAvgPool3D), _of_adaptive_pool
    ),
}


def flops(
    net: Any, input_size: Any, custom_ops: dict[type, Callable[..., Any]] | None = None, print_detail: bool = False
) -> int:
    """Run the network once in evaluation, print the operations and parameters of its layers, and return the operations.

    Args:
        net: the network. Only its leaf layers are counted.
        input_size: the shape of the input.
        custom_ops: by class, functions of a layer, the tuple of its inputs and its output that add to `layer.total_ops`.
        print_detail: also print a row for every layer.
    """
    if not isinstance(net, Layer):
        warnings.warn("Your model must be an instance of paddle.nn.Layer or paddle.static.Program.", stacklevel=2)
        return -1
    rows: dict[Any, list[Any]] = {}
    training = net.training
    net.eval()
    leaves = [layer for layer in net.sublayers() if not list(layer.children())]
    hooks = [hook for layer in leaves for hook in _watch(layer, custom_ops or {}, rows)]
    _print_kinds(leaves or [net], custom_ops or {})
    try:
        with no_grad():
            net(random.randn(input_size))
        for layer, row in rows.items():
            row.append(int(layer.total_ops))
    finally:
        for hook in hooks:
            hook.remove()
        for layer in leaves:
            layer._buffers.pop("total_ops")
    if training:
        net.train()
    found = [rows[layer] for layer in leaves if layer in rows]
    if print_detail:
        _print_table(found)
    operations = sum(row[-1] for row in found)
    print(f"Total Flops: {operations}     Total Params: {sum(row[-2] for row in found)}")
    return operations


def _watch(layer: Layer, custom: dict[type, Any], rows: dict[Layer, list[Any]]) -> list[Any]:
    """Hooks that count a layer's operations, and note a row of it."""
    # A buffer, since a program's `custom_ops` add to `layer.total_ops`.
    layer.register_buffer("total_ops", creation.zeros([1], "int64"))

    def note(layer: Any, x: Any, y: Any) -> None:
        first = y[0] if isinstance(y, (list, tuple)) else y
        rows[layer] = [layer.full_name(), x[0].shape, first.shape, sum(int(each.size) for each in layer.parameters())]

    def count(layer: Any, x: Any, y: Any) -> None:
        layer.total_ops += _COUNTS[type(layer)](layer, x[0], y)

    counts = custom.get(type(layer), count if type(layer) in _COUNTS else None)
    return [layer.register_forward_post_hook(each) for each in (counts, note) if each is not None]


def _print_kinds(layers: list[Any], custom: dict[type, Any]) -> None:
    """Print how the operations of each class are counted."""
    for kind in dict.fromkeys(map(type, layers)):
        if kind in custom:
            print(f"Customize Function has been applied to {kind}")
        elif kind in _COUNTS:
            print(f"{kind}'s flops has been counted")
        else:
            print(f"Cannot find suitable count function for {kind}. Treat it as zero FLOPs.")


def _print_table(rows: list[list[Any]]) -> None:
    lines = [("Layer Name", "Input Shape", "Output Shape", "Params", "Flops"), *(tuple(map(str, row)) for row in rows)]
    widths = [2 + max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "".join("+" + "-" * width for width in widths) + "+"
    texts = [
        "".join("|" + text.center(width) for text, width in zip(line, widths, strict=True)) + "|" for line in lines
    ]
    print("\n".join([rule, texts[0], rule, *texts[1:], rule]))
