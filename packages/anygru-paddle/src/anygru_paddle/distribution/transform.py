"""Transforms of random variables, with the logarithms of their Jacobian determinants. Source: Paddle 2.6's pages, recorded.

A transform takes the last `ranks[0]` axes of a tensor for one event, and gives events of `ranks[1]` axes.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch.nn.functional import logsigmoid, pad, softplus

from ..tensor.operation import wrap
from .distribution import Distribution, Values

__all__ = [
    "AbsTransform", "AffineTransform", "ChainTransform", "ExpTransform", "IndependentTransform", "PowerTransform",
    "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "StackTransform", "StickBreakingTransform", "TanhTransform",
    "Transform",
]  # fmt: skip

Shape = Sequence[int]
_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]


def sum_rightmost(value: Values, count: int) -> Values:
    """The sum over the last `count` axes."""
    return value.sum(list(range(-count, 0))) if count > 0 else value


class Transform:
    """The base of transforms: subclasses give `_forward`, `_inverse` and `_forward_log_det_jacobian`."""

    ranks: tuple[int, int] = (0, 0)
    injective: bool = True
    made: ClassVar[Callable[..., Distribution]]  # `TransformedDistribution`, which is defined above this module

    def __call__(self, input: Any) -> Any:
        """The transformed distribution, the chain of two transforms, or the transformed tensor."""
        if isinstance(input, Distribution):
            return type(self).made(input, [self])
        return ChainTransform([self, input]) if isinstance(input, Transform) else self.forward(input)

    def _checked(self, value: Values, name: str, rank: int) -> Values:
        if not isinstance(value, torch.Tensor):
            raise TypeError(f"Expected '{name}' is a Tensor or Real, but got {type(value)}.")
        if value.ndim < rank:
            raise ValueError(f"The dimensions of {name}({value.ndim}) should be grater than or equal to {rank}")
        return value

    def forward(self, x: Values) -> Values:
        """The transformed tensor."""
        return wrap(self._forward(self._checked(x, "x", self.ranks[0])))

    def inverse(self, y: Values) -> Values:
        """The tensor (for `AbsTransform` two) that is transformed to `y`."""
        found = self._inverse(self._checked(y, "y", self.ranks[1]))
        return tuple(wrap(each) for each in found) if isinstance(found, tuple) else wrap(found)

    def forward_log_det_jacobian(self, x: Values) -> Values:
        """The logarithm of the absolute Jacobian determinant at `x`.

        Raises:
            NotImplementedError: for a transform that maps several tensors to one, or that is not defined.
        """
        self._checked(x, "x", self.ranks[0])
        if not self.injective:
            raise NotImplementedError("forward_log_det_jacobian can't be implemented for non-injective transforms.")
        return wrap(self._forward_log_det_jacobian(x))

    def inverse_log_det_jacobian(self, y: Values) -> Values:
        """The logarithm of the absolute Jacobian determinant of the inverse at `y`."""
        self._checked(y, "y", self.ranks[1])
        return -wrap(self._forward_log_det_jacobian(self._inverse(y)))

    def forward_shape(self, shape: Shape) -> Shape:
        """The shape that `forward` gives for `shape`."""
        return self._forward_shape(_sequence(shape))

    def inverse_shape(self, shape: Shape) -> Shape:
        """The shape that `inverse` gives for `shape`."""
        return self._inverse_shape(_sequence(shape))

    def _forward(self, x: Values) -> Values:
        raise NotImplementedError("Forward not implemented")

    def _inverse(self, y: Values) -> Values:
        raise NotImplementedError("Inverse not implemented")

    def _forward_log_det_jacobian(self, x: Values) -> Values:
        raise NotImplementedError("Neither _forward_log_det_jacobian nor _inverse_log_det_jacobian is implemented.")

    def _forward_shape(self, shape: Shape) -> Shape:
        return shape

    def _inverse_shape(self, shape: Shape) -> Shape:
        return shape


def _sequence(shape: Any) -> Shape:
    if not isinstance(shape, Sequence):
        raise TypeError(f"Expected shape is Sequence[int] type, but got {type(shape)}.")
    return shape


def _elementwise(name: str, forward: Callable[..., Any], inverse: Callable[..., Any], slope: Callable[..., Any]) -> Any:
    """The class `name`: both functions, and the logarithm of the first one's derivative."""
    members = {
        "_forward": lambda self, x: forward(x),
        "_inverse": lambda self, y: inverse(y),
        "_forward_log_det_jacobian": lambda self, x: slope(x),
        "__module__": __name__,
        "__doc__": f"`{name.removesuffix('Transform').lower()}` of every element.",
    }
    return type(name, (Transform,), members)


ExpTransform = _elementwise("ExpTransform", torch.exp, torch.log, torch.clone)
SigmoidTransform = _elementwise(
    "SigmoidTransform", torch.sigmoid, lambda y: torch.log(y) - torch.log1p(-y), lambda x: -softplus(-x) - softplus(x)
)
TanhTransform = _elementwise(
    "TanhTransform", torch.tanh, torch.atanh, lambda x: 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))
)


class AbsTransform(Transform):
    """The absolute value; its inverse is both tensors that have it."""

    injective = False

    def _forward(self, x: Values) -> Values:
        return torch.abs(x)

    def _inverse(self, y: Values) -> Values:
        return -y, y

    def inverse_log_det_jacobian(self, y: Values) -> Values:
        """Twice 0, without axes."""
        zero = wrap(torch.zeros((), dtype=_dtype(y), device=y.device))
        return zero, zero


class _Parametric(Transform):
    """A transform of every element by tensors, which broadcast with it."""

    parameters: tuple[Values, ...]

    def _take(self, **given: Any) -> None:
        for name, value in given.items():
            if not isinstance(value, torch.Tensor):
                raise TypeError(f"Expected '{name}' is a Tensor, but got {type(value)}")
            setattr(self, name, value)
        self.parameters = tuple(given.values())

    def _forward_shape(self, shape: Shape) -> Shape:
        return tuple(torch.broadcast_shapes(tuple(shape), *(tuple(each.shape) for each in self.parameters)))

    _inverse_shape = _forward_shape


class AffineTransform(_Parametric):
    """loc + scale * x."""

    def __init__(self, loc: Values, scale: Values) -> None:
        self._take(loc=loc, scale=scale)

    def _forward(self, x: Values) -> Values:
        return self.loc + self.scale * x  # type: ignore[attr-defined]

    def _inverse(self, y: Values) -> Values:
        return (y - self.loc) / self.scale  # type: ignore[attr-defined]

    def _forward_log_det_jacobian(self, x: Values) -> Values:
        # In the shape of the scale, as in Paddle 2.6.2 (recorded); torch's has the shape of x.
        return self.scale.abs().log()  # type: ignore[attr-defined]


class PowerTransform(_Parametric):
    """x to a power."""

    def __init__(self, power: Values) -> None:
        self._take(power=power)

    def _forward(self, x: Values) -> Values:
        return torch.pow(x, self.power)  # type: ignore[attr-defined]

    def _inverse(self, y: Values) -> Values:
        return torch.pow(y, 1 / self.power)  # type: ignore[attr-defined]

    def _forward_log_det_jacobian(self, x: Values) -> Values:
        return torch.log(torch.abs(self.power * torch.pow(x, self.power - 1)))  # type: ignore[attr-defined]


class SoftmaxTransform(Transform):
    """The softmax over the last axis; its inverse is the logarithm, and it has no determinant."""

    ranks = (1, 1)
    injective = False

    def _forward(self, x: Values) -> Values:
        return torch.softmax(x, -1)

    def _inverse(self, y: Values) -> Values:
        return torch.log(y)


class StickBreakingTransform(Transform):
    """K numbers as K + 1 probabilities: each is its sigmoid times the remainder after the previous ones."""

    ranks = (1, 1)

    def _shifted(self, x: Values) -> Values:
        return x - torch.log(torch.arange(int(x.shape[-1]), 0, -1, device=x.device).to(_dtype(x)))

    def _forward(self, x: Values) -> Values:
        share = torch.sigmoid(self._shifted(x))
        left = torch.cumprod(1 - share, -1)
        return pad(share, [0, 1], value=1.0) * pad(left, [1, 0], value=1.0)

    def _inverse(self, y: Values) -> Values:
        head = torch.narrow(y, -1, 0, int(y.shape[-1]) - 1)
        return torch.log(head) - torch.log(1 - torch.cumsum(head, -1)) - self._shifted(torch.zeros_like(head))

    def _forward_log_det_jacobian(self, x: Values) -> Values:
        shares, moved = self._forward(x)[..., :-1], self._shifted(x)
        return torch.sum(logsigmoid(moved) - moved + torch.log(shares), -1)

    def _moved(self, shape: Shape, by: int) -> Shape:
        if not shape:
            raise ValueError(f"Expected 'shape' is not empty, but got {shape}")
        return (*shape[:-1], shape[-1] + by)

    def _forward_shape(self, shape: Shape) -> Shape:
        return self._moved(shape, 1)

    def _inverse_shape(self, shape: Shape) -> Shape:
        return self._moved(shape, -1)


class ReshapeTransform(Transform):
    """Events of one shape in another."""

    def __init__(self, in_event_shape: Shape, out_event_shape: Shape) -> None:
        before, after = _sequence(in_event_shape), _sequence(out_event_shape)
        if math.prod(before) != math.prod(after):
            raise ValueError(
                f"The numel of 'in_event_shape' should be 'out_event_shape', but got {math.prod(before)}!={math.prod(after)}"
            )
        self.in_event_shape, self.out_event_shape = tuple(before), tuple(after)
        self.ranks = len(before), len(after)

    def _exchanged(self, shape: Shape, old: Shape, new: Shape) -> Shape:
        if tuple(shape[len(shape) - len(old) :]) != old:
            raise ValueError(f"Event shape mismatch, expected: {old}, but got {tuple(shape)}")
        return (*shape[: len(shape) - len(old)], *new)

    def _forward_shape(self, shape: Shape) -> Shape:
        return self._exchanged(shape, self.in_event_shape, self.out_event_shape)

    def _inverse_shape(self, shape: Shape) -> Shape:
        return self._exchanged(shape, self.out_event_shape, self.in_event_shape)

    def _forward(self, x: Values) -> Values:
        return torch.reshape(x, tuple(self._forward_shape(x.shape)))

    def _inverse(self, y: Values) -> Values:
        return torch.reshape(y, tuple(self._inverse_shape(y.shape)))

    def _forward_log_det_jacobian(self, x: Values) -> Values:
        return torch.zeros(x.shape[: x.ndim - self.ranks[0]], dtype=_dtype(x), device=x.device)


class _OfOthers(Transform):
    """A composition of transforms."""

    transforms: Sequence[Transform]

    def _take(self, transforms: Any) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError(f"Expected type of 'transforms' is Sequence, but got {type(transforms)}")
        if not all(isinstance(each, Transform) for each in transforms):
            raise TypeError("All elements of transforms should be Transform type.")
        self.transforms, self.injective = transforms, all(each.injective for each in transforms)


class IndependentTransform(Transform):
    """A transform that counts the last `reinterpreted_batch_rank` axes as part of the event."""

    def __init__(self, base: Transform, reinterpreted_batch_rank: int) -> None:
        if not isinstance(base, Transform):
            raise TypeError(f"Expected 'base' is Transform type, but get {type(base)}")
        if reinterpreted_batch_rank <= 0:
            raise ValueError(
                f"Expected 'reinterpreted_batch_rank' is grater than zero, but got {reinterpreted_batch_rank}"
            )
        self._base, self._rank, self.injective = base, reinterpreted_batch_rank, base.injective
        self.ranks = base.ranks[0] + self._rank, base.ranks[1] + self._rank
        self._forward, self._inverse = base.forward, base.inverse  # type: ignore[method-assign]
        self._forward_shape, self._inverse_shape = base.forward_shape, base.inverse_shape  # type: ignore[method-assign]

    def _forward_log_det_jacobian(self, x: Values) -> Values:
        return sum_rightmost(self._base.forward_log_det_jacobian(x), self._rank)


class ChainTransform(_OfOthers):
    """Transforms applied in sequence."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        self._take(transforms)
        before = after = 0
        for each in transforms:
            after = max(after + each.ranks[1] - each.ranks[0], each.ranks[1])
        for each in reversed(transforms):
            before = max(before + each.ranks[0] - each.ranks[1], each.ranks[0])
        self.ranks = before, after

    def _forward(self, x: Values) -> Values:
        for each in self.transforms:
            x = each.forward(x)
        return x

    def _inverse(self, y: Values) -> Values:
        for each in reversed(self.transforms):
            y = each.inverse(y)
        return y

    def _forward_log_det_jacobian(self, x: Values) -> Values:
        total, rank = 0.0, self.ranks[0]
        for each in self.transforms:
            total = total + sum_rightmost(each.forward_log_det_jacobian(x), rank - each.ranks[0])
            x, rank = each.forward(x), rank + each.ranks[1] - each.ranks[0]
        return total

    def _forward_shape(self, shape: Shape) -> Shape:
        for each in self.transforms:
            shape = each.forward_shape(shape)
        return shape

    def _inverse_shape(self, shape: Shape) -> Shape:
        for each in reversed(self.transforms):
            shape = each.inverse_shape(shape)
        return shape


class StackTransform(_OfOthers):
    """A transform for each slice along an axis."""

    def __init__(self, transforms: Sequence[Transform], axis: int = 0) -> None:
        self._take(transforms)
        if not transforms or not isinstance(axis, int):
            raise TypeError(f"StackTransform needs transforms and an int 'axis', got {transforms} and {type(axis)}.")
        self.axis = axis
        self.ranks = max(each.ranks[0] for each in transforms), max(each.ranks[1] for each in transforms)

    def _each(self, method: str, value: Values) -> Values:
        if not -value.ndim <= self.axis < value.ndim or value.shape[self.axis] != len(self.transforms):
            raise ValueError(
                f"the input must have {len(self.transforms)} slices along axis {self.axis}, one for each transform, got shape "
                f"{list(value.shape)}"
            )
        slices = (wrap(each) for each in torch.unbind(value, self.axis))
        found = [getattr(own, method)(each) for own, each in zip(self.transforms, slices, strict=True)]
        return torch.stack(found, self.axis)

    def _forward(self, x: Values) -> Values:
        return self._each("forward", x)

    def _inverse(self, y: Values) -> Values:
        return self._each("inverse", y)

    def _forward_log_det_jacobian(self, x: Values) -> Values:
        return self._each("forward_log_det_jacobian", x)
