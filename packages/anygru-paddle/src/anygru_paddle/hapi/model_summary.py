"""`paddle.summary`: the layers of a network, their shapes and numbers of parameters. Source: Paddle 2.6, read and recorded."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ..base.dygraph.base import no_grad
from ..nn.layer.container import LayerList, Sequential
from ..nn.layer.layers import Layer
from ..nn.layer.rnn import RNNBase
from ..static.input import InputSpec
from ..tensor import manipulation, random
from ..tensor.tensor import Tensor

__all__ = ["summary"]

Sizes = Any  # a tuple of numbers, or a list of sizes
_MEGABYTE = 1024.0**2
_COLUMNS = {"Layer (type)": 15, "Input Shape": 20, "Output Shape": 20, "Param #": 15}


def summary(
    net: Layer, input_size: Sizes = None, dtypes: str | Sequence[str] | None = None, input: Any = None
) -> dict[str, int]:
    """Run the network once without gradients, and print a row for every layer that was called.

    Args:
        net: the network; it is evaluated, and trained again afterwards if it was.
        input_size: the shape of the input, as a tuple or an `InputSpec`, or a list of such; the batch may be None or -1. The
            inputs are random numbers.
        dtypes: of the inputs, float32 unless given.
        input: the network's inputs, instead of sizes.

    Returns:
        "total_params" and "trainable_params".

    Raises:
        ValueError: without sizes and input, or for sizes that are not positive.
    """
    if input_size is None and input is None:
        raise ValueError("input_size and input cannot be None at the same time")
    sizes = _checked(_sizes_of(input) if input_size is None else input_size)
    given = [input]
    training = net.training
    if training:
        net.eval()
    if input is None:
        given = [_random(sizes, dtypes)] if isinstance(sizes, tuple) else _random(sizes, dtypes)
    rows = _rows(net, given)
    print(_table(rows, sum(_areas(sizes))))
    if training:
        net.train()
    return {
        "total_params": sum(row[2] for row in rows.values()),
        "trainable_params": sum(row[3] for row in rows.values()),
    }


def _sizes_of(input: Any) -> Sizes:
    if isinstance(input, torch.Tensor):
        return tuple(input.shape)
    if not isinstance(input, (list, tuple, dict)):
        raise ValueError(
            "Input is not tensor, list, tuple and dict, unable to determine input_size, please input input_size."
        )
    return [tuple(each.shape) for each in (input.values() if isinstance(input, dict) else input)]


def _checked(size: Sizes) -> Sizes:
    """Sizes as tuples of positive numbers, one number of each unknown at most and taken as 1, in lists."""
    size = size.shape if isinstance(size, InputSpec) else size
    size = (size,) if isinstance(size, int) else size
    if any(isinstance(each, (list, tuple, InputSpec)) for each in size):
        return [_checked(each) for each in size]
    if sum(each in (None, -1) for each in size) > 1:
        raise ValueError("Option input_size only the dim of batch_size can be None or -1.")
    found = tuple(1 if each in (None, -1) else each for each in size)
    if any(each <= 0 for each in found):
        raise ValueError(f"Expected element in input size greater than zero, but got {min(found)}")
    return found


def _random(sizes: Sizes, dtypes: Any) -> Any:
    if isinstance(sizes, tuple):
        dtype = dtypes[0] if isinstance(dtypes, (list, tuple)) else dtypes or "float32"
        return manipulation.cast(random.rand(list(sizes)), dtype)
    each_dtype = dtypes if isinstance(dtypes, (list, tuple)) else [dtypes] * len(sizes)
    return [_random(size, dtype) for size, dtype in zip(sizes, each_dtype, strict=False)]


@no_grad()
def _rows(net: Layer, inputs: Sequence[Any]) -> dict[str, tuple[Any, Any, int, int]]:
    """By name and number: the shapes of inputs and outputs, parameters, and trained parameters."""
    rows: dict[str, tuple[Any, Any, int, int]] = {}

    def note(layer: Layer, given: Any, output: Any) -> None:
        number = layer.full_name().split("_")[-1]
        held: list[Any] = [each for each in layer._parameters.values() if each is not None]
        trained = [each for each in held if each.trainable and not each.stop_gradient]
        name = f"{type(layer).__name__}-{(int(number) if number.isdigit() else len(rows)) + 1}"
        rows[name] = _shapes(given), _shapes(output) or [], _count(held), _count(trained)

    alone = not net.sublayers()
    # The recurrent layers are lists of layers as well, but have a row.
    watched = [
        layer.register_forward_post_hook(note)
        for layer in net.sublayers(include_self=True)
        if isinstance(layer, RNNBase)
        or (not isinstance(layer, (Sequential, LayerList)) and (alone or layer is not net))
    ]
    net(*inputs)
    for hook in watched:
        hook.remove()
    return rows


def _count(parameters: list[Any]) -> int:
    return sum(int(each.size) for each in parameters)


def _shapes(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_shapes(each) for each in value]
    return list(value.shape) if isinstance(value, Tensor) else None


def _areas(shape: Any) -> Iterator[int]:
    """The numbers of elements of all shapes in a nest of them."""
    if shape is None or any(isinstance(each, (list, tuple)) for each in shape):
        for each in shape or ():
            yield from _areas(each)
    else:
        yield math.prod(shape)


def _table(rows: dict[str, tuple[Any, Any, int, int]], inputs: int) -> str:
    cells = [(name, str(given), str(output), params) for name, (given, output, params, _) in rows.items()]
    # Paddle measures the last column without the commas that it prints.
    widths = [max([least, *(len(str(row[i])) for row in cells)]) for i, least in enumerate(_COLUMNS.values())]
    width = max(75, sum(widths) + 5)
    lines = [tuple(_COLUMNS), *((*texts, f"{params:,}") for *texts, params in cells)]
    printed = [" ".join(f"{text:^{wide}}" for text, wide in zip(line, widths, strict=True)) for line in lines]
    total, trained = sum(row[2] for row in rows.values()), sum(row[3] for row in rows.values())
    outputs = 2 * sum(sum(_areas(row[1])) for row in rows.values())  # with their gradients
    megabytes = [4 * count / _MEGABYTE for count in (inputs, outputs, total)]
    printed[1:1] = ["=" * width]
    printed += ["=" * width, f"Total params: {total:,}", f"Trainable params: {trained:,}"]
    printed += [f"Non-trainable params: {total - trained:,}", "-" * width]
    labels = ("Input size", "Forward/backward pass size", "Params size", "Estimated Total Size")
    printed += [f"{label} (MB): {size:0.2f}" for label, size in zip(labels, [*megabytes, sum(megabytes)], strict=True)]
    return "\n".join(["-" * width, *printed, "-" * width, ""])
