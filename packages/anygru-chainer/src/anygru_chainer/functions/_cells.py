"""Steps of cells: the linear maps and the gates of a GRU or an LSTM as one node of the graph.

The node keeps the parameters by reference and the values of the gates by copy, as the nodes of which Chainer's links make a
step do: its gradient has the gates of the forward pass and the parameters as they are when it is computed. A graph that is
kept over an update (truncated backpropagation in A3C) trains by these numbers.

Chainer's GRU resets before the product with the state, `U(r * h)`, and blends `(1 - z) * h + z * c`.

The steps of GRUs have arithmetic of their own, where all others end in `anygru.functional`, for three reasons. The core's
operators differentiate with the weights that they were called with, and they take gates stacked and blended the other way
round: each step would work on stacked copies with negated update rows, which do not follow an update. A second gradient
must have the gates of the forward pass as well. And a first step leaves U out, biases included.
"""

from collections.abc import Sequence
from typing import Any

import torch

from .._tensors import as_array, as_tensor
from .._torch_function import TorchFunction
from ..configuration import config
from ..types import VariableLike
from ..utils import type_check
from ..variable import Variable
from ._checks import expect

Tensor = torch.Tensor
Found = list[Tensor | tuple[Tensor, Tensor] | None]


class Step(TorchFunction):
    """Subclass it and define `step` and `gradients`, and `compute` for gradients that are differentiated themselves."""

    _tensors: Sequence[Tensor] = ()
    """The inputs, in the memory of the arrays."""
    _saved: tuple[Tensor, ...] = ()
    """What `gradients` needs of the forward pass."""
    _summed: Tensor | None = None
    """The sums that enter the gates."""

    def step(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """The outputs for some inputs, none of which has a graph of torch; it sets `_saved` and `_summed`."""
        raise NotImplementedError

    def gradients(self, inputs: Sequence[Tensor], gys: list[Tensor | None], wanted: Sequence[bool]) -> Found:
        """The gradients of the wanted inputs; None or anything for the others.

        A pair of matrices means their product, and no gradient is part of another tensor.
        """
        raise NotImplementedError

    def _forward(self, arrays: tuple[Any, ...], variables: list[Variable]) -> tuple[Any, ...]:
        self._in_arrays = arrays
        self._tensors = tensors = list(map(as_tensor, arrays))
        return tuple(map(as_array, self.step(tensors)))

    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        return self.backward_accumulate(target_input_indexes, grad_outputs, (None,) * len(target_input_indexes))

    def backward_accumulate(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], grad_inputs: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """The gradients; those of parameters are added to what the later steps gave, in its place."""
        if config.enable_backprop:
            outputs = [i for i, gy in enumerate(grad_outputs) if gy is not None]
            gys = [grad_outputs[i] for i in outputs]
            found = self._differentiable_backward(list(target_input_indexes), outputs, gys)
            both = zip([found.get(i) for i in target_input_indexes], grad_inputs, strict=True)
            return tuple([new if old is None else old if new is None else new + old for new, old in both])
        wanted = [False] * len(self._tensors)
        for i in target_input_indexes:
            wanted[i] = True
        gys = [None if gy is None else as_tensor(gy._data[0]) for gy in grad_outputs]
        grads = self.gradients(self._tensors, gys, wanted)
        return tuple(map(_added, map(grads.__getitem__, target_input_indexes), grad_inputs))


def _added(new: Tensor | tuple[Tensor, Tensor] | None, old: Variable | None) -> Variable | None:
    """The sum of the old gradient and a new one; a pair of matrices means their product."""
    if new is None:
        return old
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


def _linear(x: Tensor, W: Tensor, b: Tensor | None, out: Tensor) -> Tensor:
    """`x @ W.T + b` in `out`."""
    return torch.mm(x, W.t(), out=out) if b is None else torch.addmm(b, x, W.t(), out=out)


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

    def step(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        h, x, w_r, b_r, w_z, b_z, w, b, u_r, c_r, u_z, c_z, u, c = inputs
        sums = x.new_empty(3, len(x), len(b))
        for i, (w_x, b_x, w_h, b_h) in enumerate(((w_r, b_r, u_r, c_r), (w_z, b_z, u_z, c_z))):
            _linear(x, w_x, b_x, sums[i]).addmm_(h, w_h.t()).add_(b_h)
        gates = torch.empty_like(sums)
        reset, update = torch.sigmoid(sums[:2], out=gates[:2])
        kept = reset * h
        _linear(x, w, b, sums[2]).addmm_(kept, u.t()).add_(c)
        candidate = torch.tanh(sums[2], out=gates[2])
        self._saved, self._summed = (gates, kept), sums
        return (torch.addcmul(h, update, candidate - h),)

    def gradients(self, inputs: Sequence[Tensor], gys: list[Tensor | None], wanted: Sequence[bool]) -> Found:
        (gy,), (gates, kept) = gys, self._saved
        if gy is None:
            return [None] * len(inputs)
        h, x, w_r, _, w_z, _, w, _, u_r, _, u_z, _, u, _ = inputs
        reset, update, candidate = gates
        sums = torch.empty_like(gates)
        g_reset, g_update, g_candidate = sums
        torch.mul(gy * update, 1 - candidate * candidate, out=g_candidate)
        torch.mul(gy * (candidate - h), update * (1 - update), out=g_update)
        g_kept = g_candidate @ u
        torch.mul(g_kept * h, reset * (1 - reset), out=g_reset)
        grads: Found = [None, None]
        if wanted[0]:
            grads[0] = (gy * (1 - update)).addcmul_(g_kept, reset).addmm_(g_reset, u_r).addmm_(g_update, u_z)
        if wanted[1]:
            grads[1] = (g_reset @ w_r).addmm_(g_update, w_z).addmm_(g_candidate, w)
        biases = sums.sum(1).unbind()
        for first, enters in ((2, (x, x, x)), (8, (h, h, kept))):
            for i, (g, source) in enumerate(zip(sums, enters, strict=True)):
                grads.append((g.t(), source))
                grads.append(biases[i].clone() if wanted[first + 2 * i + 1] else None)
        return grads

    def compute(self, h: Tensor, x: Tensor, *parameters: Tensor) -> Tensor:  # type: ignore[override]
        values = (None, None, None) if self._summed is None else self._summed
        w_r, b_r, w_z, b_z, w, b, u_r, c_r, u_z, c_z, u, c = parameters
        linear = torch.nn.functional.linear
        reset, update = (
            torch.sigmoid(_with_values(linear(x, w_x, b_x) + linear(h, w_h, b_h), kept))
            for (w_x, b_x, w_h, b_h), kept in zip(((w_r, b_r, u_r, c_r), (w_z, b_z, u_z, c_z)), values, strict=False)
        )
        candidate = torch.tanh(_with_values(linear(x, w, b) + linear(reset * h, u, c), values[2]))
        return update * candidate + (1 - update) * h


class GRUFirstStep(Step):
    """The node of a step from no state, which sees W_z and W alone. Its inputs are x, and W and b of these two links."""

    label = "GRU first step"

    def check_type_forward(self, in_types: Any) -> None:
        x, w_z, b_z = in_types[:3]
        type_check._argname((x, w_z), ("x", "W"))
        expect(x.dtype.kind == "f", x.dtype == b_z.dtype, x.ndim == 2, x.shape[1] == w_z.shape[1])

    def step(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        x, w_z, b_z, w, b = inputs
        sums = x.new_empty(2, len(x), len(b))
        _linear(x, w_z, b_z, sums[0])
        _linear(x, w, b, sums[1])
        update, candidate = torch.sigmoid(sums[0]), torch.tanh(sums[1])
        self._saved, self._summed = (update, candidate), sums
        return (update * candidate,)

    def gradients(self, inputs: Sequence[Tensor], gys: list[Tensor | None], wanted: Sequence[bool]) -> Found:
        (gy,), (update, candidate) = gys, self._saved
        if gy is None:
            return [None] * len(inputs)
        x, w_z, _, w, _ = inputs
        g_update = gy * candidate * (update * (1 - update))
        g_candidate = gy * update * (1 - candidate * candidate)
        return [
            (g_update @ w_z).addmm_(g_candidate, w) if wanted[0] else None,
            (g_update.t(), x), g_update.sum(0), (g_candidate.t(), x), g_candidate.sum(0),
        ]  # fmt: skip

    def compute(self, x: Tensor, w_z: Tensor, b_z: Tensor, w: Tensor, b: Tensor) -> Tensor:  # type: ignore[override]
        values = (None, None) if self._summed is None else self._summed
        linear = torch.nn.functional.linear
        update = torch.sigmoid(_with_values(linear(x, w_z, b_z), values[0]))
        return update * torch.tanh(_with_values(linear(x, w, b), values[1]))


class LSTMStep(Step):
    """The node of an LSTM's step. Its inputs are c, x, W and b of the link `upward`, and h and W of the link `lateral`.

    h and `lateral` are missing in a first step. A unit's four sums lie side by side: candidate, input, forget and output
    gate. The outputs are the cells and the outputs of the link.
    """

    label = "LSTM step"

    def _is_plainly_valid(self, arrays: tuple[Any, ...]) -> bool:
        c, x, w, b = arrays[:4]
        rows, dtype = x.shape[0], x.dtype
        if dtype.kind != "f" or not dtype == b.dtype == c.dtype:
            return False
        if c.shape != (rows, len(w) / 4) or x.shape != (rows, w.shape[1]):
            return False
        return len(arrays) == 4 or (
            arrays[4].dtype == arrays[5].dtype and arrays[4].shape == (rows, arrays[5].shape[1])
        )

    def check_type_forward(self, in_types: Any) -> None:
        c, x, w, b = in_types[:4]
        type_check._argname((c, x, w, b), ("c", "x", "W", "b"))
        expect(x.dtype.kind == "f", x.dtype == b.dtype, x.ndim == 2, x.shape[1] == w.shape[1])
        expect(c.dtype == x.dtype, c.ndim == 2, c.shape[0] == x.shape[0], 4 * c.shape[1] == w.shape[0])
        if len(in_types) > 4:
            h, u = in_types[4:]
            expect(h.dtype == u.dtype, h.ndim == 2, h.shape[1] == u.shape[1], h.shape[0] == x.shape[0])

    def step(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        c, x, w, b = inputs[:4]
        sums = torch.nn.functional.linear(x, w, b)
        if len(inputs) > 4:
            sums.addmm_(inputs[4], inputs[5].t())
        # [4, B, N]: candidate, input gate, forget gate, output gate; a copy in any case, as the sums are kept as well
        gates = sums.view(*c.shape, 4).permute(2, 0, 1).clone(memory_format=torch.contiguous_format)
        candidate, enters, stays, leaves = gates.unbind()
        candidate.tanh_()
        gates.narrow(0, 1, 3).sigmoid_()
        cells = torch.addcmul(candidate * enters, stays, c)
        squashed = cells.tanh()
        self._saved, self._summed = (gates, squashed), sums
        return cells, leaves * squashed

    def gradients(self, inputs: Sequence[Tensor], gys: list[Tensor | None], wanted: Sequence[bool]) -> Found:
        g_cells, g_out = gys
        gates, squashed = self._saved
        candidate, enters, stays, leaves = gates.unbind()
        c, x, w = inputs[:3]
        raw = torch.empty_like(gates)
        to_candidate, to_enters, to_stays, to_leaves = raw.unbind()
        if g_out is None:
            g = torch.zeros_like(squashed) if g_cells is None else g_cells
            to_leaves.zero_()
        else:
            g = g_out * leaves
            g = torch.addcmul(g, g, squashed * squashed, value=-1)
            if g_cells is not None:
                g += g_cells
            torch.mul(g_out, squashed, out=to_leaves)
        torch.mul(g, enters, out=to_candidate)
        torch.mul(g, candidate, out=to_enters)
        torch.mul(g, c, out=to_stays)
        to_candidate.addcmul_(to_candidate * candidate, candidate, value=-1)
        opened = gates.narrow(0, 1, 3)
        raw.narrow(0, 1, 3).mul_(torch.addcmul(opened, opened, opened, value=-1))
        sums = raw.permute(1, 2, 0).reshape(x.shape[0], w.shape[0])
        columns = sums.t()
        grads: Found = [
            g * stays if wanted[0] else None,
            sums.mm(w) if wanted[1] else None,
            (columns, x),
            sums.sum(0) if wanted[3] else None,
        ]
        if len(inputs) > 4:
            grads += [sums.mm(inputs[5]) if wanted[4] else None, (columns, inputs[4])]
        return grads

    def compute(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        c, x, w, b = inputs[:4]
        sums = torch.nn.functional.linear(x, w, b)
        if len(inputs) > 4:
            sums = sums + torch.nn.functional.linear(inputs[4], inputs[5])
        candidate, enters, stays, leaves = _with_values(sums, self._summed).reshape(len(x), c.shape[1], 4).unbind(2)
        cells = candidate.tanh() * enters.sigmoid() + stays.sigmoid() * c
        return cells, leaves.sigmoid() * cells.tanh()


def _with_values(computed: Tensor, values: Tensor | None) -> Tensor:
    """`values` with the derivatives of `computed`: gates of the forward pass, though the parameters are others now."""
    return computed if values is None else values + (computed - computed.detach())


def gru_step(h: VariableLike, x: VariableLike, parameters: list[Any]) -> Variable:
    """The state [B, N] after x [B, I] from h [B, N]; `parameters` are W and b of W_r, W_z, W, U_r, U_z, U."""
    return GRUStep().apply((h, x, *parameters))[0]


def gru_first_step(x: VariableLike, parameters: list[Any]) -> Variable:
    """The state [B, N] after x [B, I] from no state; `parameters` are W and b of W_z and W."""
    return GRUFirstStep().apply((x, *parameters))[0]


def lstm_step(c: VariableLike, x: VariableLike, upward: list[Any], lateral: list[Any]) -> tuple[Variable, ...]:
    """The cells and outputs [B, N] after x [B, I] from c; `lateral` is h [B, N] and its matrix, or empty at the start."""
    return LSTMStep().apply((c, x, *upward, *lateral))
