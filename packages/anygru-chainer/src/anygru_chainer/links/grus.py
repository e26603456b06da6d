"""GRUs and minimal gated units that run step by step."""

from typing import Any, ClassVar

import torch

import anygru
from anygru.extend import gates

from .. import function_hook
from ..backends._tensors import as_tensor
from ..configuration import config
from ..device_resident import DeviceResidentsVisitor
from ..functions import _cells
from ..functions.activations import sigmoid, tanh
from ..functions.arithmetic import linear_interpolate
from ..functions.joining import concat
from ..link import Chain
from ..types import InitializerSpec, VariableLike
from ..variable import Variable
from .dense import Linear

__all__ = ["GRU", "StatefulGRU", "StatefulMGU", "StatelessGRU", "StatelessMGU"]


def zeros(link: Any, x: VariableLike) -> Variable:
    """A state of zeros for the batch x."""
    return Variable(link.xp.zeros((x.shape[0], link.state_size), dtype=x.dtype))


class Stateful(Chain):
    """A link that keeps Variables, each None before the first step; they go with the link to its device."""

    kept: ClassVar[tuple[str, ...]] = ("h",)
    state_size: int
    h: Any = None

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        for name in self.kept:
            state = getattr(self, name)
            if state is not None:
                visitor.visit_variable(state)

    def set_state(self, h: Variable) -> None:
        """Set the state (AssertionError unless it is a Variable); it is moved to the link's device."""
        self._keep(h=h)

    def _keep(self, **states: Variable) -> None:
        for name, state in states.items():
            if not isinstance(state, Variable):
                raise AssertionError(f"{name} must be a Variable, got {type(state)}")
            state.to_device(self.device)
        for name, state in states.items():
            setattr(self, name, state)

    def reset_state(self) -> None:
        """Remove the state: the next step starts from zeros."""
        for name in self.kept:
            setattr(self, name, None)


class CellStateful(Stateful):
    """A link that keeps cells `c` and outputs `h`."""

    kept = ("c", "h")
    c: Any = None

    def set_state(self, c: Variable, h: Variable) -> None:  # type: ignore[override]
        """Set the cells and outputs (AssertionError unless they are Variables)."""
        self._keep(c=c, h=h)


class GRUBase(Chain):
    """Six linear links: W_r, W_z and W on the input, U_r, U_z and U on the state.

    Args:
        in_size: size of an input; None to take it from the first one.
        out_size: size of a state.
        init: initializer of the W matrices, LeCunNormal by default.
        inner_init: initializer of the U matrices, LeCunNormal by default.
        bias_init: initializer of all biases, 0 by default.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int,
        init: InitializerSpec = None,
        inner_init: InitializerSpec = None,
        bias_init: InitializerSpec = None,
    ) -> None:
        super().__init__()
        self.state_size = out_size
        with self.init_scope():
            self.W_r = Linear(in_size, out_size, initialW=init, initial_bias=bias_init)
            self.U_r = Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)
            self.W_z = Linear(in_size, out_size, initialW=init, initial_bias=bias_init)
            self.U_z = Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)
            self.W = Linear(in_size, out_size, initialW=init, initial_bias=bias_init)
            self.U = Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init)

    def _parts(self) -> list[Any]:
        return [self.W_r, self.W_z, self.W, self.U_r, self.U_z, self.U]

    def _is_plain(self, x: VariableLike) -> bool:
        """Whether one function may compute the step: no hook observes it, and the six links are unchanged."""
        parts = self._parts()
        return function_hook.may_join(parts, Linear, x.dtype) and all(part.b is not None for part in parts)

    def _step(self, h: VariableLike, x: VariableLike) -> Variable:
        if not self._is_plain(x):
            return self._step_by_links(h, x)
        x = _as_rows(x)
        for part in (self.W_r, self.W_z, self.W):
            _initialize(part, x)
        return _cells.gru_step(h, x, [parameter for part in self._parts() for parameter in (part.W, part.b)])

    def _step_by_links(self, h: VariableLike, x: VariableLike) -> Variable:
        """The step by the six links, in the original's order, so that hooks observe each of them."""
        r = sigmoid(self.W_r(x) + self.U_r(h))
        z = sigmoid(self.W_z(x) + self.U_z(h))
        # The reset acts before U, and z weighs the new value: the reverse of `n_step_gru` in both (Chainer 7.8.1, recorded).
        return linear_interpolate(z, tanh(self.W(x) + self.U(r * h)), h)

    def __to_anygru__(self) -> "anygru.GRUCell":
        """This link's blend negates the update rows of `anygru.GRUCell`, and no two arrays can share negated memory."""
        raise TypeError(
            f"{type(self).__name__} blends (1 - z) * h + z * c, and anygru.GRUCell z * h + (1 - z) * c: its update rows "
            "would have to be negated, so the parameters cannot be shared. `copy_to_anygru()` gives an anygru.GRUCell with "
            "copies of them."
        )

    def copy_to_anygru(self) -> "anygru.GRUCell":
        """An `anygru.GRUCell` (reset="before") that computes the same from a given state, with copies of the parameters."""
        parts = [as_tensor(p.array) for part in self._parts() for p in (part.W, part.b)]
        # The core swaps the two terms of the blend, so the update rows are negated.
        stacked = [gates.negate_update(gates.stack(parts[start : start + 6 : 2])) for start in (0, 1, 6, 7)]
        w_ih, b_ih, w_hh, b_hh = stacked
        cell = anygru.GRUCell(w_ih.shape[1], len(w_hh) // 3, dtype=w_ih.dtype, device=w_ih.device, reset="before")
        with torch.no_grad():
            for name, value in (("weight_ih", w_ih), ("bias_ih", b_ih), ("weight_hh", w_hh), ("bias_hh", b_hh)):
                getattr(cell, name).copy_(value)
        return cell


def _as_rows(x: VariableLike) -> Any:
    """x [B, ...] as [B, I], as a linear link takes it."""
    return x.reshape(x.shape[0], -1) if x.ndim > 2 else x


def _initialize(part: Linear, x: VariableLike) -> None:
    if part.W.array is None:
        part._initialize_params(x.shape[1])


class StatelessGRU(GRUBase):
    """One step of a GRU, from a state that the caller keeps.

    r = sigmoid(W_r x + U_r h)
    z = sigmoid(W_z x + U_z h)
    c = tanh(W x + U (r * h))
    h' = (1 - z) * h + z * c
    """

    def forward(self, h: VariableLike, x: VariableLike) -> Variable:
        """The state [B, out] after x [B, in] from h [B, out]."""
        return self._step(h, x)


class StatefulGRU(Stateful, GRUBase):
    """A GRU that keeps its state `h`; see `StatelessGRU` for the formulas.

    The first step after `reset_state()` leaves U out, biases included: h' = z * c.
    """

    def forward(self, x: VariableLike) -> Variable:
        """The new state [B, out] after x [B, in]."""
        self.h = self._first_step(x) if self.h is None else self._step(self.h, x)
        return self.h

    def _step_by_links(self, h: VariableLike, x: VariableLike) -> Variable:
        z, candidate = self.W_z(x), self.W(x)
        r = sigmoid(self.W_r(x) + self.U_r(h))
        z = z + self.U_z(h)
        candidate = candidate + self.U(r * h)
        return linear_interpolate(sigmoid(z), tanh(candidate), h)

    def _first_step(self, x: VariableLike) -> Variable:
        if not self._is_plain(x):
            z, candidate = self.W_z(x), self.W(x)
            return sigmoid(z) * tanh(candidate)
        x = _as_rows(x)
        for part in (self.W_z, self.W):
            _initialize(part, x)
        return _cells.gru_first_step(x, [self.W_z.W, self.W_z.b, self.W.W, self.W.b])


class GRU(StatefulGRU):
    """`StatefulGRU` under its short name."""

    def forward(self, *args: Any) -> Variable:
        """The new state after x (ValueError for any other number of arguments)."""
        if len(args) == 1:
            return super().forward(args[0])
        message = f"Invalid argument. The length of GRU.forward must be 1. But {len(args)} is given. "
        if len(args) == 2:
            message += "chainer.links.GRU keeps its state. For a state that you keep use chainer.links.StatelessGRU."
        raise ValueError(message)


class MGUBase(Chain):
    """Two linear links on the concatenation of state and input: W_f for the gate, W_h for the candidate."""

    def __init__(self, n_inputs: int, n_units: int) -> None:
        super().__init__()
        with self.init_scope():
            self.W_f = Linear(n_inputs + n_units, n_units)
            self.W_h = Linear(n_inputs + n_units, n_units)

    def _call_mgu(self, h: VariableLike, x: VariableLike) -> Variable:
        f = sigmoid(self.W_f(concat([h, x])))
        candidate = tanh(self.W_h(concat([f * h, x])))
        return linear_interpolate(f, candidate, h)


class StatelessMGU(MGUBase):
    """One step of a minimal gated unit, from a state that the caller keeps."""

    def forward(self, h: VariableLike, x: VariableLike) -> Variable:
        """The state [B, N] after x [B, I] from h [B, N]."""
        return self._call_mgu(h, x)


class StatefulMGU(Stateful, MGUBase):
    """A minimal gated unit that keeps its state `h`."""

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__(in_size, out_size)
        self._state_size = out_size
        self.reset_state()

    def forward(self, x: VariableLike) -> Variable:
        """The new state after x."""
        h = self.h
        if h is None:
            h = Variable(self.xp.zeros((x.shape[0], self._state_size), dtype=config.dtype))
        self.h = self._call_mgu(h, x)
        return self.h
