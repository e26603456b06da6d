"""Comparing gradients with finite differences."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy
from numpy.typing import DTypeLike

from .configuration import using_config
from .function_node import backward
from .testing import assert_allclose as _assert_allclose
from .types import NdArray
from .variable import Variable, as_array, as_variable


class NondifferentiableError(Exception):
    """The function seems to have no derivative where it was to be checked."""


def numerical_grad(
    f: Callable[[], tuple[Any, ...]],
    inputs: tuple[Any, ...],
    grad_outputs: tuple[Any, ...],
    eps: float = 1e-3,
    detect_nondifferentiable: bool = False,
    diff_atol: float = 0,
    diff_rtol: float = 1e-2,
    center_outputs: Any = None,
) -> list[Any]:
    """Gradients of a function by central differences.

    Args:
        f: function without arguments that reads the arrays `inputs` and gives a tuple of arrays.
        inputs: float arrays; they are changed in place and restored.
        grad_outputs: gradients of the outputs, None for an output that does not count.
        eps: half the step, positive (AssertionError).
        detect_nondifferentiable: compute at five points, which makes the gradients exact to the third order, and raise
            NondifferentiableError if no parabola fits them.
        diff_atol, diff_rtol: the tolerances of the fit; `diff_rtol` is relative to the range of the outputs.
        center_outputs: has no effect, as in Chainer 7.8.1.

    Returns:
        One array for each input, in its dtype.
    """
    if eps <= 0:
        raise AssertionError(f"eps must be positive, got {eps}")
    for x in inputs:
        if x.dtype.kind != "f":
            raise RuntimeError(f"The dtype of input arrays must be kind of float, got {x.dtype}")
    steps = (-1.0, -0.5, 0.0, 0.5, 1.0) if detect_nondifferentiable else (-1.0, 1.0)
    with using_config("type_check", False):
        return [_difference(f, x, grad_outputs, eps, steps, diff_atol, diff_rtol) for x in inputs]


def _copy(y: Any) -> Any:
    return None if y is None else numpy.array(y, dtype=numpy.float64)


def _difference(
    f: Callable[[], tuple[Any, ...]], x: Any, grad_outputs: tuple[Any, ...], eps: float, steps: tuple[float, ...],
    diff_atol: float, diff_rtol: float,
) -> Any:  # fmt: skip
    gradient = numpy.zeros(x.shape, numpy.float64)
    for place in numpy.ndindex(x.shape):
        original = x[place].item()
        outputs = []
        for step in steps:
            x[place] = original + step * eps
            outputs.append([_copy(y) for y in f()])
        x[place] = original
        for samples, gy in zip(zip(*outputs, strict=True), grad_outputs, strict=True):
            if samples[0] is None:
                continue
            if len(steps) > 2 and samples[0].size:
                _check_differentiable(numpy.stack(samples), diff_atol, diff_rtol)
            if gy is None:
                continue
            rise = samples[-1] - samples[0]
            if len(steps) > 2:  # exact to the third order
                rise = (8 * (samples[3] - samples[1]) - rise) / 3
            gradient[place] += float((rise * numpy.asarray(gy, numpy.float64)).sum()) / (2 * eps)
    return gradient.astype(x.dtype)


def _check_differentiable(samples: numpy.ndarray, atol: float, rtol: float) -> None:
    """NondifferentiableError unless a parabola fits an output at five points [5, ...], as Chainer 7.8.1 decides it."""
    finite = numpy.isfinite(samples)
    suspect = (finite != finite[0]).any(0)
    if finite.all():
        flat = samples.reshape(len(samples), -1)
        _, (residuals, *_) = numpy.polynomial.polynomial.polyfit(range(len(flat)), flat, deg=2, full=True)
        errors = numpy.sqrt(residuals / len(flat)).reshape(samples.shape[1:])
        span = samples.max(0) - samples.min(0)
        suspect = (atol + rtol * span < errors) & (span > 0)
    if suspect.any():
        lines = "\n".join(f"{step}: {sample}" for step, sample in zip(_FIVE, samples, strict=True))
        raise NondifferentiableError(f"Tried to compute the numeric gradient on a non-differentiable point.\n{lines}")


_FIVE = ("y[x-eps  ]", "y[x-eps/2]", "y[x      ]", "y[x+eps/2]", "y[x+eps  ]")


def assert_allclose(x: Any, y: Any, atol: float = 1e-5, rtol: float = 1e-4, verbose: bool = True) -> None:
    """Deprecated: `chainer.testing.assert_allclose`."""
    _assert_allclose(x, y, atol, rtol, verbose)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _random_like(outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(numpy.random.uniform(-1, 1, as_array(y).shape).astype(as_array(y).dtype) for y in outputs)


def check_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    params: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-5,
    rtol: float = 1e-4,
    no_grads: Any = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Check that a function's `backward` agrees with finite differences along a random direction.

    Args:
        func: function of Variables that gives a Variable or a tuple of them.
        x_data: array or tuple of arrays.
        y_grad: gradients of the outputs; None for one if there is a single scalar output.
        params: further Variables that the function uses; their gradients are checked as well.
        eps: half the step of the difference.
        atol, rtol: the tolerances.
        no_grads: for each input whether to skip it; by default inputs that are not float are skipped.
        dtype: dtype (float32 or wider) in which the difference is computed.
        detect_nondifferentiable: raise NondifferentiableError where there is no derivative.

    Raises:
        AssertionError: the gradients differ.
    """
    xs: tuple[Any, ...] = tuple(numpy.array(as_array(x)) for x in _as_tuple(x_data))
    y_grads = _as_tuple(y_grad)
    variables = tuple(_as_tuple(params))
    skipped = [x.dtype.kind != "f" for x in xs] if no_grads is None else list(no_grads)
    saved = [p.array for p in variables]
    if dtype is not None and (numpy.dtype(dtype).kind != "f" or numpy.dtype(dtype).itemsize < 4):
        raise ValueError(f"`dtype` must be a float of 32 bits or more, got {dtype}")
    difference = partial(
        numerical_grad, eps=eps, detect_nondifferentiable=detect_nondifferentiable, diff_atol=0, diff_rtol=rtol
    )
    try:
        analytic, numeric = _along_direction(func, xs, y_grads, variables, skipped, dtype, difference)
        _assert_allclose(numpy.float64(analytic), numpy.float64(numeric), atol=atol, rtol=rtol)
    finally:
        for p, array in zip(variables, saved, strict=True):
            p.cleargrad()
            p.array = array


def _check_backward_with_params(
    func: Callable[..., Any], x_data: Any, y_grad: Any, params: Any = (), **options: Any
) -> None:
    """`check_backward` of `func(inputs, params)`, both of them checked; Chainer's tests of links use it."""
    n = len(_as_tuple(x_data))
    inputs = (*_as_tuple(x_data), *[as_array(p) for p in _as_tuple(params)])
    skipped = options.pop("no_grads", None)
    if skipped is not None:
        options["no_grads"] = [*skipped, *([False] * (len(inputs) - n))]
    check_backward(lambda *given: func(list(given[:n]), given[n:]), inputs, y_grad, **options)


def _along_direction(
    func: Callable[..., Any],
    xs: tuple[Any, ...],
    y_grads: tuple[Any, ...],
    params: tuple[Any, ...],
    skipped: list[bool],
    dtype: DTypeLike | None,
    difference: Callable[..., Any],
) -> tuple[Any, Any]:
    """The derivative along a random direction, by the function's `backward` and by a difference."""
    inputs = tuple(Variable(x.copy(), requires_grad=x.dtype.kind == "f") for x in xs)
    for p in params:
        p.cleargrad()
    outputs = _as_tuple(func(*inputs))
    y_grads = y_grads or (None,) * len(outputs)
    if len(y_grads) != len(outputs):
        raise ValueError("`y_grad` must have the same length of output values")
    if len(outputs) == 1 and y_grads[0] is None and outputs[0].array.size == 1:
        y_grads = (numpy.ones_like(outputs[0].array),)
    grads = [None if g is None else as_variable(as_array(g)) for g in y_grads]
    backward(list(outputs), grads)
    checked = [x for x, skip in zip(inputs, skipped, strict=True) if not skip] + list(params)
    for x, skip in zip(inputs, skipped, strict=True):
        if skip and x.grad is not None:
            raise RuntimeError("gradients of input variables with no_grads must be None")
    if not checked:
        raise ValueError("no gradient to check: no_grads excludes every input, and params is empty")
    directions = _unit_directions([x.array for x in checked])
    wide = [_cast(x.array, dtype) for x in inputs]
    starts = [_cast(x.array, dtype) for x in checked]
    delta = numpy.zeros((), numpy.float64)

    def along() -> tuple[Any, ...]:
        for x, array in zip(inputs, wide, strict=True):
            x.array = array
        for x, s, d in zip(checked, starts, directions, strict=True):
            x.array = numpy.asarray(s + delta * d).astype(s.dtype)
        results = _as_tuple(func(*[Variable(x.array, requires_grad=x.requires_grad) for x in inputs]))
        for x, array in zip(checked, starts, strict=True):
            x.array = array
        return tuple(y.array for y in results)

    (numeric,) = difference(along, (delta,), tuple(None if g is None else g.array for g in grads))
    analytic = sum(
        float((numpy.asarray(x.grad, numpy.float64) * d).sum())
        for x, d in zip(checked, directions, strict=True)
        if x.grad is not None
    )
    return analytic, numeric


def _cast(array: NdArray, dtype: DTypeLike | None) -> Any:
    return array.astype(dtype, copy=False) if dtype is not None and array.dtype.kind == "f" else array


def _unit_directions(arrays: list[Any]) -> list[Any]:
    """Random directions of unit length over all arrays together, no element too small to be seen."""
    raw = [numpy.random.normal(size=a.shape) for a in arrays]
    norm = sum(float((d * d).sum()) for d in raw) or 1.0
    size = sum(d.size for d in raw) or 1
    return [numpy.copysign(numpy.sqrt(0.99 / norm * d * d + 0.01 / size), d) for d in raw]


def check_double_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    x_grad_grad: Any,
    params: Any = (),
    params_grad_grad: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-4,
    rtol: float = 1e-3,
    no_grads: Any = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Check that the gradient of a function's gradient agrees with finite differences; see `check_backward`."""
    from .function_node import grad

    xs, gys = _as_tuple(x_data), _as_tuple(y_grad)
    given = tuple([gy for gy in gys if gy is not None])
    variables = tuple(_as_tuple(params))

    def outputs_used(outputs: Any) -> list[Any]:
        return [y for y, gy in zip(outputs, gys, strict=True) if gy is not None] if gys else list(outputs)

    def first_order(*inputs: Any) -> tuple[Any, ...]:
        x_inputs = [x * 1 if x.dtype.kind == "f" else x for x in inputs[: len(xs)]]
        outputs = _as_tuple(func(*x_inputs))
        targets = [x for x in x_inputs if x.dtype.kind == "f"] + list(variables)
        found = grad(outputs_used(outputs), targets, list(inputs[len(xs) :]), enable_double_backprop=True)
        return tuple(g for g in found if g is not None)

    check_backward(
        first_order,
        xs + given,
        _as_tuple(x_grad_grad) + _as_tuple(params_grad_grad),
        params,
        eps,
        atol,
        rtol,
        None if no_grads is None else [*no_grads, *([False] * len(given))],
        dtype,
        detect_nondifferentiable,
    )
