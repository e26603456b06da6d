"""Functions that keep their parameters by reference, and steps of GRUs: the linear maps and the gates as one node of the graph.

The node keeps the parameters by reference and the values of the gates by copy, as the nodes that Chainer's links record
for a step: its gradient uses the gates of the forward pass and the current parameters. A graph that is kept over an
update (truncated backpropagation in A3C) trains by these numbers.

Chainer's GRU resets before the product with the state, `U(r * h)`, and blends `(1 - z) * h + z * c`.

The steps of GRUs do not call `anygru.functional`, as other layers do, for three reasons. The core's
operators differentiate with the weights that they were called with, and they take stacked gates with swapped terms of
the blend: each step would need stacked copies with negated update rows, which do not change in an update. A second
gradient
must have the gates of the forward pass as well. And a first step leaves U out, biases included.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .._torch_function import TorchFunction
from ..backends._tensors import as_array, as_tensor
from ..configuration import config
from ..types import VariableLike
from ..utils import type_check
from ..variable import Variable
from ._rows import expect

Tensor = torch.Tensor
Found = list[Tensor | tuple[Tensor, Tensor] | None]
Entering = Callable[[Tensor], Tensor]
linear = torch.nn.functional.linear
sigmoid_gradient, tanh_gradient = torch.ops.aten.sigmoid_backward, torch.ops.aten.tanh_backward
"""Map the gradient of the output, and the output, to the gradient of the input."""


class Step(TorchFunction):
    """Subclass it and define `arithmetic` and `gradients`."""

    _tensors: Sequence[Tensor] = ()
    """The inputs, in the memory of the arrays."""
    _saved: tuple[Tensor, ...] = ()
    """Tensors of the forward pass that `gradients` reads."""
    _summed: Sequence[Tensor] = ()
    """The sums that entered the gates in the forward pass."""

    def arithmetic(self, inputs: Sequence[Tensor], entering: Entering) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The outputs for some inputs, differentiable by torch, and the tensors that `gradients` reads.

        The sums that enter a gate go through `entering` first. Without anything for `gradients`, torch finds the gradients.
        """
        raise NotImplementedError

    def fast_arithmetic(
        self, inputs: Sequence[Tensor], entering: Entering
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """`arithmetic` that need not be differentiable by torch."""
        return self.arithmetic(inputs, entering)

    def gradients(self, inputs: Sequence[Tensor], gys: Sequence[Any], wanted: Sequence[bool]) -> Found:
        """The gradients of the inputs, from the gradients of the outputs (at least one is not None).

        Inputs that are not `wanted` may get any value. A pair of matrices means their product, and no gradient is part
        of another tensor.
        """
        raise NotImplementedError

    def _forward(self, arrays: tuple[Any, ...], variables: list[Variable]) -> tuple[Any, ...]:
        self._in_arrays = arrays
        self._tensors = tensors = list(map(as_tensor, arrays))
        self._summed = summed = []

        def keep(sums: Tensor) -> Tensor:
            summed.append(sums)
            return sums

        outputs, self._saved = self.fast_arithmetic(tensors, keep)
        return tuple(map(as_array, outputs))

    def compute(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        values = iter(self._summed)
        return self.arithmetic(inputs, lambda sums: _with_values(sums, next(values, None)))[0]

    def compute_in_graph(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        return self.arithmetic(inputs, lambda sums: sums)[0]

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.backward_accumulate(target_input_indexes, grad_outputs, (None,) * len(target_input_indexes))

    def backward_accumulate(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], grad_inputs: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """The gradients; gradients of parameters are added in place to the sum of the later steps."""
        outputs = [i for i, gy in enumerate(grad_outputs) if gy is not None]
        if not outputs:
            return grad_inputs
        if config.enable_backprop or not self._saved:
            gys = [grad_outputs[i] for i in outputs]
            found = self._differentiable_backward(list(target_input_indexes), outputs, gys)
            both = zip([found.get(i) for i in target_input_indexes], grad_inputs, strict=True)
            return tuple([new if old is None else old if new is None else new + old for new, old in both])
        wanted = [False] * len(self._tensors)
        for i in target_input_indexes:
            wanted[i] = True
        tensors = [None if gy is None else as_tensor(gy._data[0]) for gy in grad_outputs]
        grads = self.gradients(self._tensors, tensors, wanted)
        return tuple(map(_added, map(grads.__getitem__, target_input_indexes), grad_inputs))


def _with_values(computed: Tensor, values: Tensor | None) -> Tensor:
    """`values` with the derivatives of `computed`: gates of the forward pass, though the parameters are others now."""
    return computed if values is None else values + (computed - computed.detach())


def _added(new: Tensor | tuple[Tensor, Tensor] | None, old: Variable | None) -> Variable | None:
    """The sum of the old gradient and a new one; a pair of matrices means their product."""
    if new is None:
        return old
    # Only this function sets `_partial_sum`, on a sum without other references, which may be changed in place.
    if old is not None and old._partial_sum is not None:
        if isinstance(new, tuple):
            old._partial_sum.addmm_(*new)
        else:
            old._partial_sum.add_(new)
        return old
    own = torch.mm(*new) if isinstance(new, tuple) else new
    if old is not None:
        own = own + as_tensor(old.array)
    found = Variable(as_array(own), requires_grad=False)
    found._partial_sum = own
    return found


def of_link(g: Tensor, x: Tensor) -> Found:
    """The gradients of a link's W and b, from its input x and the gradient g of its output."""
    return [(g.t(), x), g.sum(0)]


class GRUStep(Step):
    """The node of a GRU's step. Its inputs are h, x, and W and b of the links W_r, W_z, W, U_r, U_z, U."""

    label = "GRU step"

    def _is_plainly_valid(self, arrays: tuple[Any, ...]) -> bool:
        h, x, w_x, b_x = arrays[:4]
        w_h, b_h = arrays[8:10]
        rows = len(x)
        if x.dtype.kind != "f" or x.dtype != b_x.dtype or h.dtype != b_h.dtype:
            return False
        return x.shape == (rows, w_x.shape[1]) and h.shape == (rows, w_h.shape[1])

    def check_type_forward(self, in_types: Any) -> None:
        h, x, w_x, b_x = in_types[:4]
        w_h, b_h = in_types[8:10]
        type_check._argname((h, x, w_x, w_h), ("h", "x", "W", "U"))
        expect(x.dtype.kind == "f", x.dtype == b_x.dtype, x.ndim == 2, x.shape[1] == w_x.shape[1])
        expect(h.dtype == b_h.dtype, h.ndim == 2, h.shape[1] == w_h.shape[1], h.shape[0] == x.shape[0])

    def arithmetic(self, inputs: Sequence[Tensor], entering: Entering) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        h, x, w_r, b_r, w_z, b_z, w, b, u_r, c_r, u_z, c_z, u, c = inputs
        reset = entering(linear(x, w_r, b_r).addmm_(h, u_r.t()).add_(c_r)).sigmoid()
        update = entering(linear(x, w_z, b_z).addmm_(h, u_z.t()).add_(c_z)).sigmoid()
        kept = reset * h
        candidate = entering(linear(x, w, b).addmm_(kept, u.t()).add_(c)).tanh()
        return (torch.addcmul(h, update, candidate - h),), (reset, update, candidate, kept)

    def gradients(self, inputs: Sequence[Tensor], gys: Sequence[Any], wanted: Sequence[bool]) -> Found:
        (gy,), (reset, update, candidate, kept) = gys, self._saved
        h, x, w_r, _, w_z, _, w, _, u_r, _, u_z, _, u, _ = inputs
        g_update = sigmoid_gradient(gy * (candidate - h), update)
        g_candidate = tanh_gradient(gy * update, candidate)
        g_kept = g_candidate @ u
        g_reset = sigmoid_gradient(g_kept * h, reset)
        grads: Found = [None, None]
        if wanted[0]:
            grads[0] = (gy * (1 - update)).addcmul_(g_kept, reset).addmm_(g_reset, u_r).addmm_(g_update, u_z)
        if wanted[1]:
            grads[1] = (g_reset @ w_r).addmm_(g_update, w_z).addmm_(g_candidate, w)
        for g, entered in (
            (g_reset, x),
            (g_update, x),
            (g_candidate, x),
            (g_reset, h),
            (g_update, h),
            (g_candidate, kept),
        ):
            grads += of_link(g, entered)
        return grads


class GRUFirstStep(Step):
    """The node of a step from no state, which sees W_z and W alone. Its inputs are x, and W and b of these two links."""

    label = "GRU first step"

    def check_type_forward(self, in_types: Any) -> None:
        x, w_z, b_z = in_types[:3]
        type_check._argname((x, w_z), ("x", "W"))
        expect(x.dtype.kind == "f", x.dtype == b_z.dtype, x.ndim == 2, x.shape[1] == w_z.shape[1])

    def arithmetic(self, inputs: Sequence[Tensor], entering: Entering) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        x, w_z, b_z, w, b = inputs
        update, candidate = entering(linear(x, w_z, b_z)).sigmoid(), entering(linear(x, w, b)).tanh()
        return (update * candidate,), (update, candidate)

    def gradients(self, inputs: Sequence[Tensor], gys: Sequence[Any], wanted: Sequence[bool]) -> Found:
        (gy,), (update, candidate) = gys, self._saved
        x, w_z, _, w, _ = inputs
        g_update, g_candidate = sigmoid_gradient(gy * candidate, update), tanh_gradient(gy * update, candidate)
        g_x = (g_update @ w_z).addmm_(g_candidate, w) if wanted[0] else None
        return [g_x, *of_link(g_update, x), *of_link(g_candidate, x)]


def gru_step(h: VariableLike, x: VariableLike, parameters: list[Any]) -> Variable:
    """The state [B, N] after x [B, I] from h [B, N]; `parameters` are W and b of W_r, W_z, W, U_r, U_z, U."""
    return GRUStep().apply((h, x, *parameters))[0]


def gru_first_step(x: VariableLike, parameters: list[Any]) -> Variable:
    """The state [B, N] after x [B, I] from no state; `parameters` are W and b of W_z and W."""
    return GRUFirstStep().apply((x, *parameters))[0]
