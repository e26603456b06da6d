"""The cells of Paddle 2: one step of a GRU by `anygru.functional`, of an LSTM and an Elman network by torch.

Paddle stacks the gates of a GRU reset, update, candidate, as the core does, resets after the recurrent product, and blends
(h - c) * u + c; an LSTM's gates are in torch's order input, forget, cell, output, so no gates are permuted. Source: Paddle 2.6,
`paddle.nn.layer.rnn`, documentation and records.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from anygru import functional, layers
from anygru.extend import Weights

from ...base.errors import no_kernel
from ...base.param_attr import ParamAttr
from ...tensor.operation import core_call, need_tensor, operation, plain, wrap
from ...tensor.tensor import Tensor
from ..initializer.initializer import Constant, Initializer, Uniform
from .sequence import Nested, RNNCellBase

Attr = ParamAttr | Initializer | str | bool | None
_PARTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
_torch_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
_SIMPLE_STEPS = {"tanh": operation(torch.rnn_tanh_cell), "relu": operation(torch.rnn_relu_cell)}
_lstm_step = operation(torch.lstm_cell)


class Cell(RNNCellBase):
    """The base of the three cells: parameters, their initial values and the checks of a step."""

    gates: ClassVar[int]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Attr = None,
        weight_hh_attr: Attr = None,
        bias_ih_attr: Attr = None,
        bias_hh_attr: Attr = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if hidden_size <= 0:
            raise ValueError(
                f"hidden_size of {type(self).__name__} must be greater than 0, but now equals to {hidden_size}"
            )
        bound = 1.0 / math.sqrt(hidden_size)
        rows = self.gates * hidden_size
        self.weight_ih = self._parameter(weight_ih_attr, [rows, input_size], bound, 1.0)
        self.weight_hh = self._parameter(weight_hh_attr, [rows, hidden_size], bound, 1.0)
        self.bias_ih = self._parameter(bias_ih_attr, [rows], bound, 0.0, is_bias=True)
        self.bias_hh = self._parameter(bias_hh_attr, [rows], bound, 0.0, is_bias=True)
        self.hidden_size = hidden_size
        self.input_size = input_size

    def _parameter(self, attr: Attr, shape: list[int], bound: float, fixed: float, is_bias: bool = False) -> Any:
        if attr is not False:
            return self.create_parameter(shape, attr, is_bias=is_bias, default_initializer=Uniform(-bound, bound))
        parameter = self.create_parameter(shape, None, is_bias=is_bias, default_initializer=Constant(fixed))
        parameter.stop_gradient = True
        return parameter

    @property
    def weights(self) -> list[torch.Tensor]:
        """The parameters as the core takes them."""
        own = self._parameters  # attribute access through a module costs more than the call may
        return [plain(own[name]) for name in _PARTS]  # type: ignore[arg-type]

    def _checked(self, inputs: torch.Tensor, *states: torch.Tensor) -> list[torch.Tensor]:
        """Inputs [B, I] and states [B, H] as torch tensors.

        Raises:
            ValueError: for another number of axes, no tensor, or a dtype that is not the parameters'.
        """
        self._check(inputs, *states)
        return [plain(each) for each in (inputs, *states)]

    def _check(self, inputs: torch.Tensor, *states: torch.Tensor) -> None:
        """Raises as `_checked`; a loop over a cell spends much of its time here, so words are made for errors only."""
        dtype = _torch_dtype(self._parameters["weight_ih"])
        name = type(self).__name__
        need_tensor(inputs, "inputs", name)
        if inputs.ndim != 2:
            raise ValueError(
                f"(InvalidArgument) {name}: inputs must be [B, {self.input_size}], got {list(inputs.shape)}"
            )
        if _torch_dtype(inputs) != dtype:
            need_dtype(inputs, self.weight_ih, f"{name}: inputs")
        for state in states:
            need_tensor(state, "states", name)
            if _torch_dtype(state) != dtype:
                need_dtype(state, self.weight_ih, f"{name}: states")

    @property
    def _own(self) -> list[torch.Tensor]:
        """The parameters as torch's functions take them, which do not mind their class."""
        own = self._parameters
        return [own[name] for name in _PARTS]  # type: ignore[misc]

    @property
    def state_shape(self) -> Nested:
        """(H,)."""
        return (self.hidden_size,)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(Cell):
    """One step of an Elman network: activation(x W_ih' + b_ih + h W_hh' + b_hh).

    Args:
        input_size, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr, name: as of `GRUCell`.
        activation: 'tanh' or 'relu'.

    Raises:
        ValueError: for another activation, or if `hidden_size` is not above 0.
    """

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Attr = None,
        weight_hh_attr: Attr = None,
        bias_ih_attr: Attr = None,
        bias_hh_attr: Attr = None,
        name: str | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr, name)
        if activation not in ("tanh", "relu"):
            raise ValueError(f"activation for SimpleRNNCell should be tanh or relu, but get {activation}")
        self.activation = activation

    def forward(self, inputs: torch.Tensor, states: torch.Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The output and the new state, which are the same values; inputs [B, I], states [B, H] or None for zeros."""
        states = self.get_initial_states(inputs, self.state_shape) if states is None else states
        self._check(inputs, states)
        h = _SIMPLE_STEPS[self.activation](inputs, states, *self._own)
        return h, h  # one object, as in Paddle 2.6.2 (recorded)

    def extra_repr(self) -> str:
        """The sizes, and the activation unless it is tanh."""
        return super().extra_repr() + (f", activation={self.activation}" if self.activation != "tanh" else "")


class LSTMCell(Cell):
    """One step of an LSTM. Arguments as of `GRUCell`; the rows of parameters are input, forget, cell and output gate."""

    gates = 4

    def forward(
        self, inputs: torch.Tensor, states: Sequence[torch.Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The output h and the new states (h, c); inputs [B, I], states (h, c), each [B, H], or None for zeros."""
        states = self.get_initial_states(inputs, self.state_shape) if states is None else states
        self._check(inputs, *states)
        h, c = _lstm_step(inputs, tuple(states), *self._own)
        return h, (h, c)

    @property
    def state_shape(self) -> Nested:
        """((H,), (H,))."""
        return (self.hidden_size,), (self.hidden_size,)


class GRUCell(Cell):
    """One step of a GRU.

    Args:
        input_size: features of the input.
        hidden_size: hidden size H, above 0.
        weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr: attributes of the parameters. False for a weight keeps
            ones, for a bias zeros, neither trained. Initial values are uniform within 1 / sqrt(hidden_size) of 0.
        name: kept for scripts.

    Parameters are `weight_ih` [3H, I], `weight_hh` [3H, H], `bias_ih` and `bias_hh` [3H], gates stacked reset, update,
    candidate.

    Raises:
        ValueError: if `hidden_size` is not above 0.
    """

    gates = 3

    def forward(self, inputs: torch.Tensor, states: torch.Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The output and the new state, which are the same values.

        Args:
            inputs: [B, I].
            states: [B, H]; zeros without it.

        Raises:
            ValueError: for shapes or dtypes that do not fit.
        """
        if states is None:
            (x,), state = self._checked(inputs), None
        else:
            x, state = one_batch(*self._checked(inputs, states))
        h = wrap(core_call(functional.gru_cell, x, state, *self.weights))
        return h, h

    def along(
        self, inputs: Nested, states: Nested, lengths: torch.Tensor | None, time_major: bool, is_reverse: bool
    ) -> tuple[Tensor, Tensor] | None:
        """All outputs and the last state, at once; None for a subclass, a cell with hooks, or nested inputs."""
        hooked = self._forward_hooks or self._forward_pre_hooks
        if type(self) is not GRUCell or hooked or not isinstance(inputs, torch.Tensor):
            return None
        x, h_0 = plain(inputs), plain(states[0] if isinstance(states, (list, tuple)) else states)
        if x.dim() != 3:
            raise ValueError(f"(InvalidArgument) rnn(): inputs must have 3 axes, got shape {list(inputs.shape)}")
        need_dtype(x, self.weight_ih, "rnn(): inputs")
        x = x if time_major else x.transpose(0, 1)
        weights = self.weights
        own = None if lengths is None else lengths.cpu()
        output, h_n = core_call(functional.gru, x, h_0.unsqueeze(0), weights, lengths=own, reverse=is_reverse)
        h_n = h_n.squeeze(0)
        if own is not None:
            # After a sequence ends, the output is one more cell step; its state no longer changes.
            past = (torch.arange(x.shape[0], device=own.device).unsqueeze(1) >= own).nonzero(as_tuple=True)
            resting = h_0 if is_reverse else h_n
            output = output.index_put(past, functional.gru_cell(x[past], resting[past[1]], *weights))
        return wrap(output if time_major else output.transpose(0, 1)), wrap(h_n)

    def __to_anygru__(self) -> layers.GRUCell:
        """An `anygru.GRUCell` that shares the parameters' memory."""
        return layers.GRUCell.around(Weights.of(shared([self])))


def one_batch(x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """An input and a state of a cell, with a batch of one broadcast to the other size, as in Paddle's addition."""
    if x.dim() != 2 or state.dim() != 2 or x.shape[0] == state.shape[0]:
        return x, state
    if state.shape[0] == 1:
        return x, state.expand(x.shape[0], -1)
    return (x.expand(state.shape[0], -1), state) if x.shape[0] == 1 else (x, state)


def shared(cells: Sequence[Cell]) -> list[torch.Tensor]:
    """The parameters of cells as torch tensors of the same memory, which train where the parameters do."""
    own = [cell._parameters[name] for cell in cells for name in _PARTS]
    return [plain(each.detach()).requires_grad_(not each.stop_gradient) for each in own]  # type: ignore[union-attr]


def need_dtype(x: torch.Tensor, weight: torch.Tensor, what: str) -> None:
    mine, theirs = _torch_dtype(x), _torch_dtype(weight)
    if mine == theirs:
        return
    if not mine.is_floating_point:
        # A dtype without a kernel raises RuntimeError, weights of another dtype raise ValueError (recorded, 2.6.2).
        raise no_kernel(f"(NotFound) {what} must be floating-point, got {x.dtype}; cast with astype")
    raise ValueError(
        f"(InvalidArgument) {what} must have the parameters' dtype {weight.dtype}, got {x.dtype}; cast one with astype".replace(
            "torch.", "paddle."
        )
    )
