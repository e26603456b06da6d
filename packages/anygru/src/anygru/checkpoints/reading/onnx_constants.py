"""The operators that exporters put between stored weights and a GRU node, which rearrange, unpack or scale them.

Each operator is computed as described at https://onnx.ai/onnx/operators, for all operator sets. Sizes come first: an
output's size can follow from an attribute (`DequantizeLinear(block_size=...)`, `Split(num_outputs=...)`) or from broadcasting,
so it is checked against the input's and counted before anything is made.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import CheckpointError
from .budget import PER_OBJECT, Budget

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto

Inputs = Sequence[np.ndarray | None]

_INT, _INTS = 2, 7
"""The types of attributes in ONNX's protocol buffer."""
_FLOATS = {1: "float32", 10: "float16", 11: "float64"}
"""Types of tensors by their numbers there."""
_MOST_OUTPUTS = 1 << 12
"""Pieces of a `Split`; exporters cut weights in three or six."""


class _Attributes:
    """The attributes of a node by name, and whether each was used.

    Raises:
        ValueError: an attribute is repeated.
    """

    def __init__(self, node: "NodeProto"):
        self._given: dict[str, AttributeProto] = {attribute.name: attribute for attribute in node.attribute}
        if len(self._given) != len(node.attribute):
            raise ValueError("an attribute occurs twice")

    def number(self, name: str, default: int) -> int:
        """Take one integer."""
        found = self._take(name, _INT)
        return default if found is None else int(found.i)

    def numbers(self, name: str) -> list[int] | None:
        """Take a list of integers, None where there is none."""
        found = self._take(name, _INTS)
        return None if found is None else list(found.ints)

    def _take(self, name: str, kind: int) -> "AttributeProto | None":
        found = self._given.pop(name, None)
        if found is not None and (found.type != kind or found.ref_attr_name):  # its number would be read as 0
            raise ValueError(f"the attribute {name} is of another type than the operator's")
        return found

    def refuse_others(self) -> None:
        """Raise for an attribute that nothing took."""
        if self._given:
            raise ValueError(f"the attribute {next(iter(self._given))} is not known")


def rearranged(node: "NodeProto", inputs: Inputs, budget: Budget, place: str) -> dict[str, np.ndarray]:
    """Compute a node with an operator in `OPERATORS`.

    Raises:
        CheckpointError: its inputs do not fit, or its outputs are over the budget.
    """
    try:
        attributes = _Attributes(node)
        if not inputs or inputs[0] is None:
            raise ValueError("it has no input")
        if len(node.output) > _MOST_OUTPUTS:
            raise ValueError(f"it has {len(node.output)} outputs")
        outputs = OPERATORS[node.op_type](attributes, inputs, len(node.output), budget)
        attributes.refuse_others()
        if len(outputs) != len(node.output):
            raise ValueError(f"it gives {len(outputs)} outputs, {len(node.output)} are named")
    except CheckpointError:
        raise
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        names = ", ".join(node.input[:4])
        raise CheckpointError(f"{place}: {node.op_type} of {names} cannot be computed: {error}") from error
    # a view keeps its array alive, and may be copied later
    budget.take(sum(PER_OBJECT + output.nbytes for output in outputs))
    return dict(zip(node.output, outputs, strict=True))


def _given(inputs: Inputs, index: int) -> np.ndarray | None:
    return inputs[index] if index < len(inputs) else None


def _first(inputs: Inputs) -> np.ndarray:
    found = inputs[0]
    assert found is not None  # `rearranged` has looked
    return found


def _list(array: np.ndarray | None) -> list[int] | None:
    """An input of integers, such as axes: at most the number of axes of a tensor."""
    if array is None:
        return None
    if array.dtype.kind != "i" or array.ndim > 1 or array.size > 64:
        raise ValueError(f"a list of at most 64 integers is needed, got {array.dtype} of shape {array.shape}")
    return [int(value) for value in array.reshape(-1)]


def _identity(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    return [_first(inputs)]


def _unsqueeze(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    axes = attributes.numbers("axes") or _list(_given(inputs, 1))
    if not axes or len(axes) > 8:
        raise ValueError("it needs one to eight axes")
    return [np.expand_dims(_first(inputs), tuple(axes))]


def _squeeze(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    axes = attributes.numbers("axes") or _list(_given(inputs, 1))
    return [np.squeeze(_first(inputs), tuple(axes) if axes else None)]


def _concat(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    parts = [array for array in inputs if array is not None]
    axis = attributes.number("axis", 1)
    budget.take(sum(array.nbytes for array in parts))
    return [np.concatenate(parts, axis)]


def _slice(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    array = _first(inputs)
    starts = attributes.numbers("starts") or _list(_given(inputs, 1))
    ends = attributes.numbers("ends") or _list(_given(inputs, 2))
    if starts is None or ends is None or len(starts) != len(ends):
        raise ValueError("starts and ends must have the same length")
    axes = attributes.numbers("axes") or _list(_given(inputs, 3)) or list(range(len(starts)))
    steps = _list(_given(inputs, 4)) or [1] * len(starts)
    if len({axis % max(array.ndim, 1) for axis in axes}) != len(axes):
        raise ValueError(f"an axis occurs twice in {axes}")
    spans = [slice(None)] * array.ndim
    for axis, start, end, stride in zip(axes, starts, ends, steps, strict=True):
        spans[axis] = slice(start, end, stride)  # negative numbers and clamping are Python's
    return [array[tuple(spans)]]


def _split(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    array = _first(inputs)
    axis = attributes.number("axis", 0)
    sizes = attributes.numbers("split") or _list(_given(inputs, 1))
    wanted = attributes.number("num_outputs", 0)
    if wanted not in (0, count):
        raise ValueError(f"num_outputs is {wanted}, {count} outputs are named")
    length = array.shape[axis]
    if sizes is None:
        if not wanted and length % count:
            raise ValueError(f"{length} has no {count} equal pieces")
        each = -(-length // count)
        sizes = [min(each, length - number * each) for number in range(count)]
    if sum(sizes) != length or min(sizes) < 0 or len(sizes) != count:
        raise ValueError(f"pieces of {sizes[:8]} do not make up {length}")
    return list(np.split(array, np.cumsum(sizes)[:-1], axis))


def _transpose(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    return [np.transpose(_first(inputs), attributes.numbers("perm"))]


def _reshape(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    array = _first(inputs)
    shape = attributes.numbers("shape") or _list(_given(inputs, 1))
    if shape is None:
        raise ValueError("it has no shape")
    if not attributes.number("allowzero", 0):
        shape = [array.shape[place] if axis == 0 else axis for place, axis in enumerate(shape)]
    budget.take(array.nbytes)
    return [array.reshape(shape)]


def _cast(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    array, wanted = _arithmetic(_first(inputs)), attributes.number("to", 0)
    if wanted not in _FLOATS or array.dtype.kind not in "fiu":
        raise ValueError(
            f"a cast of {array.dtype} to the type {_FLOATS.get(wanted, wanted)}; weights are cast to floats"
        )
    dtype = np.dtype(_FLOATS[wanted])
    budget.take(array.size * dtype.itemsize)
    with np.errstate(over="ignore"):  # ONNX gives infinity
        return [array.astype(dtype)]


def _gather(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    array, places = _first(inputs), _given(inputs, 1)
    axis = attributes.number("axis", 0)
    if places is None or places.dtype.kind != "i":
        raise ValueError("it needs places of integers")
    length = array.shape[axis]
    budget.take(array.nbytes // max(length, 1) * places.size)
    return [np.take(array, places, axis)]  # a place below 0 counts from the end, as in ONNX


def _elementwise(compute: Callable[..., np.ndarray]) -> Callable[..., list[np.ndarray]]:
    """An operator on two arrays of floats, which are broadcast to each other."""

    def computed(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
        first, second = (_arithmetic(array) for array in inputs if array is not None)
        if first.dtype != second.dtype or first.dtype.kind != "f":
            raise ValueError(f"it needs floats of one dtype, got {first.dtype} and {second.dtype}")
        budget.take(math.prod(np.broadcast_shapes(first.shape, second.shape)) * first.itemsize)
        with np.errstate(all="ignore"):  # ONNX gives infinity or NaN
            return [np.asarray(compute(first, second))]

    return computed


def _arithmetic(array: np.ndarray) -> np.ndarray:
    """The array, unless its numbers may be the bits of bfloat16, which NumPy lacks."""
    if array.dtype == np.uint16:
        raise ValueError("bfloat16 and uint16 are not computed")
    return array


def _dequantize(attributes: _Attributes, inputs: Inputs, count: int, budget: Budget) -> list[np.ndarray]:
    """(x - zero_point) * scale; the scale is one number, one per index of an axis, or one per block of an axis."""
    array, scale, zero = _first(inputs), _given(inputs, 1), _given(inputs, 2)
    axis, block = attributes.number("axis", 1), attributes.number("block_size", 0)
    wanted = attributes.number("output_dtype", 0)
    if scale is None or scale.dtype.kind != "f" or array.dtype.kind not in "iu":
        raise ValueError("it needs integers and a scale of floats")
    if wanted and _FLOATS.get(wanted) != scale.dtype.name:
        raise ValueError(f"output_dtype is {_FLOATS.get(wanted, wanted)}, its scale is {scale.dtype}")
    if zero is not None and (zero.shape != scale.shape or zero.dtype != array.dtype):
        raise ValueError("the zero point must have the scale's shape and the values' dtype")
    budget.take(3 * array.size * max(4, scale.dtype.itemsize))
    return [
        ((_wide(array) - _spread(zero, array, axis, block)) * _spread(scale, array, axis, block)).astype(scale.dtype)
    ]


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int64 if array.dtype.itemsize >= 4 else np.int32)


def _spread(values: np.ndarray | None, array: np.ndarray, axis: int, block: int) -> Any:
    """A scale or zero point in a shape that broadcasts to the array's and to no larger one."""
    if values is None:
        return 0
    values = _wide(values) if values.dtype.kind in "iu" else values
    if values.size == 1 and values.ndim <= 1:
        return values.reshape(())
    axis = axis if axis >= 0 else axis + array.ndim
    if not 0 <= axis < array.ndim:
        raise ValueError(f"the axis {axis} does not exist in an array of {array.ndim}")
    if not block:
        if values.shape != array.shape[axis : axis + 1]:
            raise ValueError(f"a scale of shape {values.shape} for the axis {axis} of {array.shape}")
        return values.reshape([-1 if place == axis else 1 for place in range(array.ndim)])
    blocks = tuple(-(-size // block) if place == axis else size for place, size in enumerate(array.shape))
    if block < 0 or values.shape != blocks:
        raise ValueError(f"a scale of shape {values.shape} for blocks of {block}, expected {blocks}")
    return np.take(values, np.arange(array.shape[axis]) // block, axis)


OPERATORS: dict[str, Callable[[_Attributes, Inputs, int, Budget], list[np.ndarray]]] = {
    "Identity": _identity, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Concat": _concat, "Slice": _slice,
    "Split": _split, "Transpose": _transpose, "Reshape": _reshape, "DequantizeLinear": _dequantize, "Cast": _cast,
    "Gather": _gather, "Add": _elementwise(np.add), "Sub": _elementwise(np.subtract),
    "Mul": _elementwise(np.multiply), "Div": _elementwise(np.divide),
}  # fmt: skip
"""By their names; each gets a node's attributes, its inputs, the number of its outputs, and the budget."""
