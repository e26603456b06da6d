"""`backward` and `grad`: gradients of several Variables at once."""

import warnings
from typing import Any

from ._backprop import GradTable, backprop_to_all, backprop_to_some, between
from .configuration import using_config
from .utils import argument
from .variable import Variable, as_variable


def backward(outputs: Any, grad_outputs: Any = None, **kwargs: Any) -> None:
    """Compute the gradients of several variables' sum at once; see `Variable.backward`.

    Args:
        outputs: list or tuple of Variables.
        grad_outputs: their gradients (Variables); by default those that they hold.
        enable_double_backprop: make the gradients differentiable.
    """
    (enable_double_backprop,) = argument.parse_kwargs(
        kwargs,
        ("enable_double_backprop", False),
        retain_grad="semantics for retain_grad=True is under discussion",
        loss_scale="chainer.backward does not support loss_scale option",
    )
    check_variables("outputs", outputs)
    if any(not isinstance(output, Variable) for output in outputs):
        raise TypeError("each output must be a Variable")
    if grad_outputs is None:
        grad_outputs = []
        for output in outputs:
            if output.grad_var is None:
                warnings.warn(
                    "outputs contains a Variable without grad, or duplicate outputs. Note that chainer.backward does "
                    "not set default grad.",
                    RuntimeWarning,
                )
            grad_outputs.append(output.grad_var)
            output.grad_var = None
    check_lengths("outputs", outputs, "grad_outputs", grad_outputs)
    pairs = [(y.node, gy) for y, gy in zip(outputs, grad_outputs, strict=True) if gy is not None]
    with using_config("enable_backprop", enable_double_backprop):
        backprop_to_all(Variable, pairs, False, None)


def check_variables(name: str, value: Any) -> None:
    """Raise TypeError unless the argument is a list or tuple."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} must be a tuple or a list, not {type(value)}.")


def check_lengths(name: str, values: Any, other_name: str, others: Any) -> None:
    """Raise TypeError or ValueError unless the second argument is a list or tuple as long as the first."""
    check_variables(other_name, others)
    if len(values) != len(others):
        raise ValueError(
            f"{other_name} must be of the same length as {name}.\n"
            f"len({name}) = {len(values)}, len({other_name}) = {len(others)}"
        )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    grad_inputs: Any = None,
    set_grad: bool = False,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
) -> list[Any]:
    """Gradients of `outputs` with respect to `inputs` (lists of Variables), as a list of Variables or None.

    Args:
        grad_outputs: gradients to start from, ones where None.
        grad_inputs: gradients to add to the results.
        set_grad: also store the results as the inputs' gradients.
        retain_grad: also store the gradients of the Variables between.
        enable_double_backprop: make the results differentiable.
        loss_scale: factor of the start values that are left out.
    """
    check_variables("outputs", outputs)
    check_variables("inputs", inputs)
    if grad_outputs is None:
        grad_outputs = [None] * len(outputs)
    if grad_inputs is None:
        grad_inputs = [None] * len(inputs)
    check_lengths("outputs", outputs, "grad_outputs", grad_outputs)
    check_lengths("inputs", inputs, "grad_inputs", grad_inputs)
    needed = between(outputs, inputs)
    table = GradTable(Variable, accumulate=False)
    for y, gy in zip(outputs, grad_outputs, strict=True):
        if gy is None:
            gy = Variable(y.xp.ones_like(y.array), requires_grad=False)
            if loss_scale is not None:
                gy.array *= loss_scale
        table[y.node] = as_variable(gy)
    for x, gx in zip(inputs, grad_inputs, strict=True):
        if gx is not None:
            table[x.node] = as_variable(gx)
    with using_config("enable_backprop", enable_double_backprop):
        found = backprop_to_some(outputs, {x.node for x in inputs}, needed, table, retain_grad, loss_scale)
    results = [found[x.node] for x in inputs]
    if set_grad:
        for x, gx in zip(inputs, results, strict=True):
            x.grad_var = gx
    return results
