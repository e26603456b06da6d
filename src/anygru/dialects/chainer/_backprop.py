"""Walking the graph backwards.

Functions are visited by falling rank, so that each is reached when all gradients of its outputs are there. The
gradients on the way are Variables; they form a graph of their own if `config.enable_backprop` is on (double backprop).
"""

from __future__ import annotations

import heapq
import traceback
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from . import _hooks
from .configuration import config, using_config
from .utils import argument, force_array


class FunctionQueue:
    """Functions still to be visited, the one of the highest rank first; each is taken in once."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Any]] = []
        self._seen: set[int] = set()

    def push(self, function: Any) -> None:
        """Add a function, unless it has been here before (or is None)."""
        if function is not None and id(function) not in self._seen:
            self._seen.add(id(function))
            heapq.heappush(self._heap, (-function.rank, len(self._seen), function))

    def __bool__(self) -> bool:
        return bool(self._heap)

    def pop(self) -> Any:
        """The next function."""
        return heapq.heappop(self._heap)[-1]


class GradTable:
    """The gradients found so far, by node.

    With `accumulate` the gradients that Variables hold already take part: a leaf's `grad` is added to, and an output
    that nothing flowed into yields the gradient that the user has set on it.
    """

    def __init__(self, accumulate: bool) -> None:
        self._gradients: dict[Any, Any] = {}
        self._accumulate = accumulate

    def __setitem__(self, node: Any, gradient: Any) -> None:
        self._gradients[node] = gradient

    def add(self, node: Any, gradient: Any) -> None:
        """Add to a node's gradient (None adds nothing)."""
        if node not in self._gradients:
            self._gradients[node] = self._held(node) if node.creator_node is None else None
        if gradient is not None:
            old = self._gradients[node]
            self._gradients[node] = gradient if old is None else _sum(old, gradient)

    def pop(self, node: Any) -> Any:
        """Take a node's gradient out."""
        if node is None:
            return None
        return self._gradients.pop(node) if node in self._gradients else self._held(node)

    def _held(self, node: Any) -> Any:
        """Take the gradient that the node's Variable holds."""
        variable = node.get_variable_or_none() if self._accumulate else None
        if variable is None:
            return None
        if node.creator_node is None:
            node.check_old_style_gradient()
        held = variable.grad_var
        variable.grad_var = None
        return held


def _sum(old: Any, new: Any) -> Any:
    """The sum of two gradients, differentiable where double backprop asks for it."""
    if config.enable_backprop:
        return old + new
    from .variable import Variable

    # NumPy's sum of two 0-dimensional arrays is a scalar.
    return Variable(force_array(old.array + new.array), requires_grad=False)


def backprop_to_all(outputs: Sequence[tuple[Any, Any]], retain_grad: bool, loss_scale: float | None) -> None:
    """Send gradients from (node, gradient) pairs back to all leaves and set their `grad`."""
    table, queue = GradTable(accumulate=True), FunctionQueue()
    leaves: dict[Any, None] = {}  # an ordered set
    for node, gradient in outputs:
        table.add(node, gradient)
        if node.creator_node is None:
            leaves[node] = None
        queue.push(node.creator_node)
    while queue:
        function = queue.pop()
        nodes = [reference() for reference in function.outputs]
        grads = tuple(None if n is None or n.creator_node is None else table.pop(n) for n in nodes)
        targets = tuple(i for i, node in enumerate(function.inputs) if node.requires_grad)
        if not targets:
            continue
        _step(function, targets, grads, table)
        if retain_grad:
            for node, gradient in zip(nodes, grads, strict=True):
                variable = None if node is None else node.get_variable_or_none()
                if variable is not None:
                    variable._set_grad_var(gradient)
        for i in targets:
            node = function.inputs[i]
            if table._gradients.get(node) is None:
                continue
            if node.creator_node is None:
                leaves[node] = None
            queue.push(node.creator_node)
    _set_leaves(leaves, table, loss_scale)


def _set_leaves(leaves: Iterable[Any], table: GradTable, loss_scale: float | None) -> None:
    """Hand each leaf its gradient, in memory that it shares with no other leaf and may write to."""
    taken: set[Any] = set()
    for node in leaves:
        gradient = table.pop(node)
        variable = node.get_variable_or_none()
        if variable is None:
            continue
        if gradient is not None and not config.enable_backprop:
            gradient = _private(gradient, taken)
        variable._set_grad_var(gradient)
        variable._grad_valid = True
        variable._loss_scale = loss_scale


def _private(gradient: Any, taken: set[Any]) -> Any:
    """The gradient itself, or a copy of it if it is broadcast, read-only or the gradient of another leaf as well."""
    from ._tensors import as_tensor
    from .variable import Variable

    tensor = as_tensor(gradient.array)
    broadcast = any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))
    read_only = getattr(gradient.array, "flags", None) is not None and not gradient.array.flags.writeable
    if broadcast or read_only or tensor.data_ptr() in taken:
        return Variable(gradient.array.copy(), requires_grad=False)
    taken.add(tensor.data_ptr())
    return gradient


def _step(function: Any, targets: tuple[int, ...], grads: tuple[Any, ...], table: GradTable) -> None:
    """Run one function backwards and add what it gives to the table."""
    from .function_node import FunctionNode
    from .variable import Variable, check_grad_type

    hooks = _hooks.of_function(function)
    if hooks:
        in_data = tuple(node.data for node in function.inputs)
        out_grad = tuple(None if g is None else g.array for g in grads)
        for hook in hooks:
            hook.backward_preprocess(function, in_data, out_grad)
    try:
        if type(function).backward_accumulate is not FunctionNode.backward_accumulate:
            held = tuple(table._gradients.pop(function.inputs[i], None) for i in targets)
            results = function.backward_accumulate(targets, grads, held)
        else:
            results = function.backward(targets, grads)
    except Exception as error:
        if function.stack is not None:
            lines = "".join(traceback.format_list(function.stack[:-1]))
            error.args = (f"{error}\nStacktrace of the function is below:\n{lines}", *error.args[1:])
        raise
    if len(results) == len(function.inputs):
        results = tuple(results[i] for i in targets)
    elif len(results) != len(targets):
        expected = {len(function.inputs), len(targets)}
        raise ValueError(
            f"number of gradients returned from backward is incorrect: {len(results)} != expected "
            f"{' or '.join(map(str, sorted(expected)))}\n  function={type(function).__name__} ({function.label})"
        )
    for i, gradient in zip(targets, results, strict=True):
        node = function.inputs[i]
        if gradient is not None and not isinstance(gradient, Variable):
            raise TypeError(
                f"{type(function).__name__}.backward must return Variables or None, got {type(gradient)} for input {i}"
            )
        if gradient is not None and gradient.array is not None:
            check_grad_type(function, node, gradient.array)
            if config.debug:
                _check_nan(function, gradient)
        table.add(node, gradient)
    if hooks:
        for hook in hooks:
            hook.backward_postprocess(function, in_data, out_grad)


def _check_nan(function: Any, gradient: Any) -> None:
    from . import backend

    if backend.contains_nan(gradient.array):
        raise RuntimeError(f"NaN is detected on backward computation of {function.label}")


def backward(outputs: Any, grad_outputs: Any = None, **kwargs: Any) -> None:
    """Compute the gradients of several variables' sum at once; see `Variable.backward`.

    Args:
        outputs: list or tuple of Variables.
        grad_outputs: their gradients (Variables); by default those that they hold.
        enable_double_backprop: make the gradients differentiable.
    """
    from .variable import Variable

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
        backprop_to_all(pairs, False, None)


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
        grad_inputs: what to add to the results.
        set_grad: also store the results as the inputs' gradients.
        retain_grad: also store the gradients of what lies between.
        enable_double_backprop: make the results differentiable.
        loss_scale: factor of the start values that are left out.
    """
    from .variable import Variable

    check_variables("outputs", outputs)
    check_variables("inputs", inputs)
    if grad_outputs is None:
        grad_outputs = [None] * len(outputs)
    if grad_inputs is None:
        grad_inputs = [None] * len(inputs)
    check_lengths("outputs", outputs, "grad_outputs", grad_outputs)
    check_lengths("inputs", inputs, "grad_inputs", grad_inputs)
    needed = _between(outputs, inputs)
    table = GradTable(accumulate=False)
    for y, gy in zip(outputs, grad_outputs, strict=True):
        if gy is None:
            gy = Variable(y.xp.ones_like(y.array), requires_grad=False)
            if loss_scale is not None:
                gy.array *= loss_scale
        table[y.node] = gy
    for x, gx in zip(inputs, grad_inputs, strict=True):
        if gx is not None:
            table[x.node] = gx
    with using_config("enable_backprop", enable_double_backprop):
        found = _backprop_to_some(outputs, {x.node for x in inputs}, needed, table, retain_grad, loss_scale)
    results = [found[x.node] for x in inputs]
    if set_grad:
        for x, gx in zip(inputs, results, strict=True):
            x.grad_var = gx
    return results


def _between(outputs: Any, inputs: Any) -> set[Any]:
    """The nodes that lie on a way from an input to an output."""
    users: dict[Any, list[Any]] = {}
    pending, seen = [y.creator_node for y in outputs], set()
    while pending:
        function = pending.pop()
        if function is None or id(function) in seen:
            continue
        seen.add(id(function))
        for x in function.inputs:
            x.check_old_style_gradient()
            if x.requires_grad:
                users.setdefault(x, []).append(function)
                pending.append(x.creator_node)
    needed: set[Any] = set()
    nodes = [x.node for x in inputs]
    while nodes:
        node = nodes.pop()
        if node in needed:
            continue
        needed.add(node)
        for function in users.get(node, []):
            nodes += [y for y in (reference() for reference in function.outputs) if y is not None and y in users]
    return needed


def _backprop_to_some(
    outputs: Any, inputs: set[Any], needed: set[Any], table: GradTable, retain_grad: bool, loss_scale: float | None
) -> dict[Any, Any]:
    queue = FunctionQueue()
    for y in outputs:
        queue.push(y.creator_node)
    found: dict[Any, Any] = {}
    while queue:
        function = queue.pop()
        nodes = [reference() for reference in function.outputs]
        grads = tuple(None if n is None or n.creator_node is None else table.pop(n) for n in nodes)
        for node, gradient in zip(nodes, grads, strict=True):
            if node is not None and node in inputs:
                found[node] = gradient
            variable = node.get_variable_or_none() if node is not None and retain_grad else None
            if variable is not None:
                variable.grad_var = gradient
                variable._loss_scale = loss_scale
        targets = tuple(i for i, node in enumerate(function.inputs) if node in needed)
        if not targets:
            continue
        _step(function, targets, grads, table)
        for i in targets:
            if table._gradients.get(function.inputs[i]) is not None:
                queue.push(function.inputs[i].creator_node)
    for node in inputs - set(found):
        found[node] = table.pop(node)
    return found
