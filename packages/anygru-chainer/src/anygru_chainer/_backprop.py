"""Backpropagation through the graph.

Functions are visited by falling rank, so that all gradients of a function's outputs are known before. The
gradients on the way are Variables; they form another graph if `config.enable_backprop` is on (double backprop).
"""

import heapq
import traceback
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from . import function_hook
from .backend import contains_nan
from .backends._tensors import ARRAYS, as_tensor
from .configuration import config
from .utils.helpers import force_array


class FunctionQueue:
    """The functions to visit, by falling rank; each is added once."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Any]] = []
        self._seen: set[int] = set()

    def push(self, function: Any) -> None:
        """Add a function, unless it was added before or is None."""
        if function is not None and id(function) not in self._seen:
            self._seen.add(id(function))
            # The counter orders equal ranks, since functions cannot be compared.
            heapq.heappush(self._heap, (-function.rank, len(self._seen), function))

    def __bool__(self) -> bool:
        return bool(self._heap)

    def pop(self) -> Any:
        """The next function."""
        return heapq.heappop(self._heap)[-1]


class GradTable:
    """The gradients found so far, by node.

    `variable` is the class of gradients. With `accumulate` the gradients that Variables hold already take part: a leaf's
    `grad` is added to, and an output without a gradient from a function yields the gradient that the user has set.
    """

    def __init__(self, variable: type[Any], accumulate: bool) -> None:
        self.variable = variable
        self._gradients: dict[Any, Any] = {}
        self._accumulate = accumulate

    def __setitem__(self, node: Any, gradient: Any) -> None:
        self._gradients[node] = gradient

    def add(self, node: Any, gradient: Any) -> None:
        """Add to a node's gradient (None adds nothing)."""
        gradients = self._gradients
        old = gradients[node] if node in gradients else self._held(node) if node._creator_node is None else None
        gradients[node] = old if gradient is None else gradient if old is None else self._sum(old, gradient)

    def pop(self, node: Any) -> Any:
        """Remove and return a node's gradient."""
        if node is None:
            return None
        return self._gradients.pop(node) if node in self._gradients else self._held(node)

    def _held(self, node: Any) -> Any:
        """Remove and return the gradient of the node's Variable."""
        variable = node._variable() if self._accumulate else None
        if variable is None:
            return None
        if node._creator_node is None and node._old_style_function is not None:
            node.check_old_style_gradient()
        held = variable.grad_var
        variable._set_grad_var(None)
        return held

    def _sum(self, old: Any, new: Any) -> Any:
        """The sum of two gradients, differentiable where double backprop asks for it."""
        if config.enable_backprop:
            return old + new
        # NumPy's sum of two 0-dimensional arrays is a scalar.
        return self.variable(force_array(old.array + new.array), requires_grad=False)


def backprop_to_all(
    variable: type[Any], outputs: Sequence[tuple[Any, Any]], retain_grad: bool, loss_scale: float | None
) -> None:
    """Propagate the gradients of (node, gradient) pairs to all leaves and set their `grad`; `variable` is the class of
    gradients."""
    table, queue = GradTable(variable, accumulate=True), FunctionQueue()
    leaves: dict[Any, None] = {}  # an ordered set
    for node, gradient in outputs:
        table.add(node, gradient)
        if node.creator_node is None:
            leaves[node] = None
        queue.push(node.creator_node)
    while queue:
        function = queue.pop()
        inputs, (nodes, grads) = function.inputs, _take_gradients(function, table)
        targets = tuple([i for i, node in enumerate(inputs) if node._requires_grad])
        if not targets:
            continue
        _step(function, targets, grads, table)
        if retain_grad:
            for node, gradient in zip(nodes, grads, strict=True):
                held = None if node is None else node.get_variable_or_none()
                if held is not None:
                    held._set_grad_var(gradient)
        for i in targets:
            node = inputs[i]
            if table._gradients.get(node) is None:
                continue
            if node._creator_node is None:
                leaves[node] = None
            else:
                queue.push(node._creator_node)
    _set_leaves(leaves, table, loss_scale)


def start_gradient(output: Any, loss_scale: float | None) -> Any:
    """The gradient from which `output.backward()` starts: its own, or one for a single element (TypeError without)."""
    if output.array.size == 1 and output.grad_var is None:
        if output.array.ndim != 0:
            warnings.warn(
                "Treating a variable with only one element as a scalar in Variable.backward is deprecated. A scalar "
                "variable must be a 0-dimensional array. Apply chainer.functions.squeeze to obtain a scalar "
                "variable. If the size of this variable accidentally becomes one, set zero to grad.",
                DeprecationWarning,
            )
        output.grad = output.xp.ones_like(output.array)
        if loss_scale is not None:
            output.grad *= loss_scale
    # An empty output needs no gradient to start from.
    start = output.grad_var if output.array.size or output.creator_node is None else type(output)(output.array)
    if start is None and output.creator_node is not None:
        expected = "needs a gradient to start from; set its `grad`, or make it a scalar (no axes) first"
        raise TypeError(f"backward: a variable of shape {output.shape} {expected}")
    return start


def unchain_all(function: Any) -> None:
    """Remove a function and all functions behind it from the graph."""
    pending, seen = [function], set()
    while pending:
        function = pending.pop()
        if function is None or id(function) in seen or function.inputs is None:
            continue
        seen.add(id(function))
        pending += [node.creator_node for node in function.inputs]
        function.unchain()


def _take_gradients(function: Any, table: GradTable) -> tuple[list[Any], tuple[Any, ...]]:
    """The nodes of a function's outputs (None for deleted ones) and their accumulated gradients."""
    nodes, grads = [], []
    for reference in function.outputs:
        node = reference()
        nodes.append(node)
        grads.append(None if node is None or node._creator_node is None else table.pop(node))
    return nodes, tuple(grads)


def _set_leaves(leaves: Iterable[Any], table: GradTable, loss_scale: float | None) -> None:
    """Set the gradients of the leaves, each in separate, writable memory."""
    taken: set[Any] = set()
    for node in leaves:
        gradient = table.pop(node)
        variable = node.get_variable_or_none()
        if variable is None:
            continue
        if gradient is not None and not config.enable_backprop:
            gradient = _private(gradient, taken, table.variable)
        if gradient is not None:
            gradient._partial_sum = None
        variable._set_grad_var(gradient)
        variable._grad_valid = True
        variable._loss_scale = loss_scale


def _private(gradient: Any, taken: set[Any], variable: type[Any]) -> Any:
    """The gradient itself, or a copy if it is broadcast, read-only or shared with another leaf."""
    tensor = as_tensor(gradient.array)
    broadcast = any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))
    read_only = getattr(gradient.array, "flags", None) is not None and not gradient.array.flags.writeable
    if broadcast or read_only or tensor.data_ptr() in taken:
        return variable(gradient.array.copy(), requires_grad=False)
    taken.add(tensor.data_ptr())
    return gradient


def _step(function: Any, targets: tuple[int, ...], grads: tuple[Any, ...], table: GradTable) -> None:
    """Run one function backwards and add its gradients to the table."""
    hooks = (
        function_hook.of_function(function) if function._local_function_hooks or function_hook.thread.function else ()
    )
    if hooks:
        in_data = function._in_arrays or tuple(node.data for node in function.inputs)
        out_grad = tuple(None if g is None else g.array for g in grads)
        for hook in hooks:
            hook.backward_preprocess(function, in_data, out_grad)
    results = _gradients_of(function, targets, grads, table)
    debug, inputs = config.debug, function.inputs
    for i, gradient in zip(targets, results, strict=True):
        node = inputs[i]
        if gradient is not None:
            if debug:
                _check_result(function, i, node, gradient, table.variable)
            if not isinstance(gradient, table.variable):
                raise TypeError(
                    f"{type(function).__name__}.backward must return Variables or None, got {type(gradient)} for input {i}"
                )
            array = gradient._data[0]
            if array is not None:
                check_grad_type(function, node, array)
                if debug and contains_nan(array):
                    raise RuntimeError(f"NaN is detected on backward computation of {function.label}")
        table.add(node, gradient)
    if hooks:
        for hook in hooks:
            hook.backward_postprocess(function, in_data, out_grad)


def _check_result(function: Any, i: int, node: Any, gradient: Any, variable: type[Any]) -> None:
    """In debug mode: ValueError unless `backward` gave a Variable of the input's dtype and shape."""
    if not isinstance(gradient, variable):
        wrong, given, expected = "type", type(gradient), variable
    elif gradient.array is None or (gradient.dtype, gradient.shape) == (node.dtype, node.shape):
        return
    elif gradient.shape != node.shape:
        wrong, given, expected = "shape", gradient.shape, node.shape
    else:
        wrong, given, expected = "dtype", gradient.dtype, node.dtype
    where = (
        f"input-index={i}, actual={given}, expected={expected}, function={type(function).__name__} ({function.label})"
    )
    raise ValueError(f"{wrong} of gradients returned from backward is incorrect: {where}")


def _gradients_of(function: Any, targets: tuple[int, ...], grads: tuple[Any, ...], table: GradTable) -> Any:
    """The gradients from the function's `backward`, one for each of the targets."""
    try:
        if function.accumulates:
            held = tuple([table._gradients.pop(function.inputs[i], None) for i in targets])
            results = function.backward_accumulate(targets, grads, held)
        else:
            results = function.backward(targets, grads)
    except Exception as error:
        if function.stack is not None:
            lines = "".join(traceback.format_list(function.stack[:-1]))
            # The error keeps the class that `backward` raised.
            error.args = (f"{error}\nStacktrace of the function is below:\n{lines}", *error.args[1:])
        raise
    if len(results) == len(function.inputs):
        return results if len(targets) == len(results) else tuple([results[i] for i in targets])
    if len(results) != len(targets):
        expected = {len(function.inputs), len(targets)}
        raise ValueError(
            f"number of gradients returned from backward is incorrect: {len(results)} != expected "
            f"{' or '.join(map(str, sorted(expected)))}\n  function={type(function).__name__} ({function.label})"
        )
    return results


def check_grad_type(function: Any, variable: Any, gradient: Any) -> None:
    """Raise TypeError or ValueError unless `gradient` is an array of the kind, dtype and shape of `variable`."""
    if variable.dtype is None or variable.shape is None:
        return
    if isinstance(gradient, ARRAYS) and gradient.dtype == variable.dtype and gradient.shape == variable.shape:
        return
    where = f"Function `{type(function).__name__}` ({function.label}) has a bug.\n" if function is not None else ""
    if not isinstance(gradient, ARRAYS):
        expected = " or ".join(str(kind) for kind in ARRAYS)
        raise TypeError(f"{where}Type of grad is invalid:\nExpected: {expected}\nActual: {type(gradient)}")
    if gradient.dtype != variable.dtype:
        raise TypeError(f"{where}Dtype of data and grad mismatch\ngrad: {gradient.dtype} != data: {variable.dtype}")
    raise ValueError(f"{where}Shape of data and grad mismatch\ngrad: {gradient.shape} != data: {variable.shape}")


def between(outputs: Any, inputs: Any) -> set[Any]:
    """The nodes on a path from an input to an output."""
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


def backprop_to_some(
    outputs: Any, inputs: set[Any], needed: set[Any], table: GradTable, retain_grad: bool, loss_scale: float | None
) -> dict[Any, Any]:
    queue = FunctionQueue()
    for y in outputs:
        queue.push(y.creator_node)
    found: dict[Any, Any] = {}
    while queue:
        function = queue.pop()
        nodes, grads = _take_gradients(function, table)
        for node, gradient in zip(nodes, grads, strict=True):
            if node is not None and node in inputs:
                found[node] = gradient
            held = node.get_variable_or_none() if node is not None and retain_grad else None
            if held is not None:
                held.grad_var = gradient
                held._loss_scale = loss_scale
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
