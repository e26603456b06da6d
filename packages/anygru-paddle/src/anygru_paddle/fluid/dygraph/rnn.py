"""The removed cells of `paddle.fluid.dygraph`, each in both of its implementations.

`GRUCell` computes through `anygru.functional.gru_cell`. With `use_cudnn_impl=True` its gates are stacked reset, update,
candidate, and the reset comes after the recurrent product. With False one matrix serves both gates and one the candidate, each
on the concatenation of input and state; the reset comes before. `LSTMCell` has its gates stacked input, forget, cell, output;
with False one matrix on the concatenation has them in the order input, cell, forget, output. Source: Paddle's pages of the
cells (2.0), and their equations; Paddle's `fluid/dygraph/rnn.py`, read.
"""

from collections.abc import Callable
from typing import Any

import torch

from anygru import functional, layers
from anygru.extend import gates

from ...base.param_attr import ParamAttr
from ...nn.functional import activation as F
from ...nn.initializer.initializer import Constant
from ...nn.layer.cells import one_batch
from ...nn.layer.layers import Layer
from ...tensor import ops
from ...tensor.creation import full
from ...tensor.linalg import matmul
from ...tensor.manipulation import concat, split
from ...tensor.operation import core_call, need_tensor, wrap
from ...tensor.tensor import Tensor, plain

_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
Activation = Callable[[Any], Any]


def _core_activation(function: Activation | None, default: str) -> Any:
    """A Paddle function in the core's form: its name if the core has the same one; wrapped for paddle tensors otherwise."""
    if function is None:
        return default
    for name, same in (("sigmoid", (ops.sigmoid, F.sigmoid)), ("tanh", (ops.tanh, F.tanh)), ("relu", (F.relu,))):
        if any(function is each for each in same):
            return name
    if not callable(function):
        raise TypeError(f"GRUCell: an activation must be a function of a tensor, got {type(function).__name__}")

    def call(value: torch.Tensor) -> torch.Tensor:
        return plain(function(wrap(value.view_as(value))))

    return call


class _Cell(Layer):
    """The common base of the two cells: arguments as attributes, parameters by name, and the checks of a step."""

    def __init__(
        self,
        sizes: tuple[int, int],
        attrs: tuple[Any, Any],
        activations: tuple[Activation | None, Activation | None],
        use_cudnn_impl: bool,
        dtype: Any,
        name_scope: str | None = None,
    ) -> None:
        super().__init__(name_scope)
        self._hidden_size, self._input_size = sizes
        self._param_attr, self._bias_attr = attrs
        self._dtype = dtype
        self._use_cudnn_impl = use_cudnn_impl
        self._gate_activation = activations[0] or ops.sigmoid
        self._activation = activations[1] or ops.tanh

    def _make(self, weights: dict[str, list[int]], biases: dict[str, list[int]], *, suffixes: bool = True) -> None:
        """Create the parameters `_name` of these shapes; a name of the attribute's gets `_name` as its suffix."""
        for name, shape in weights.items():
            attr = self._attr_of("param_attr", name if suffixes else "")
            setattr(self, "_" + name, self.create_parameter(shape, attr, self._dtype))
        for name, shape in biases.items():
            attr = self._attr_of("bias_attr", name if suffixes else "")
            setattr(self, "_" + name, self.create_parameter(shape, attr, self._dtype, True, Constant(0.0)))

    def _attr_of(self, argument: str, name: str) -> ParamAttr:
        """The attribute of one parameter: the user's, its name followed by the parameter's."""
        attr = getattr(self, "_" + argument)
        if isinstance(attr, bool):  # False leaves a parameter out elsewhere; these cells have no form without one
            raise AttributeError(f"{type(self).__name__}: {argument} must be a ParamAttr or None, got {attr}")
        attr = ParamAttr._to_attr(attr)
        return attr if attr.name is None or not name else attr.with_name(f"{attr.name}_{name}")

    def _check(self, **tensors: torch.Tensor) -> None:
        """Raise ValueError for no tensors, other than two axes, or another dtype than the parameters'."""
        cell = type(self).__name__
        for name, tensor in tensors.items():
            need_tensor(tensor, name, cell)
        kind = _dtype(self.parameters()[0])
        for name, tensor in tensors.items():
            if tensor.ndim != 2:
                raise ValueError(f"(InvalidArgument) {cell}: {name} must have 2 axes, got shape {list(tensor.shape)}")
            if _dtype(tensor) != kind:
                raise ValueError(f"(InvalidArgument) {cell}: {name} must be {self._dtype}, got {tensor.dtype}")


class GRUCell(_Cell):
    """One step of a GRU.

    Args:
        hidden_size: hidden size H.
        input_size: features I of the input.
        param_attr: attributes of the weights; a name gets the suffix of each (`_weight_ih` ...). default: Xavier.
        bias_attr: attributes of the biases; default: zeros.
        gate_activation: a function for both gates; default: sigmoid.
        activation: a function for the candidate; default: tanh.
        use_cudnn_impl: True for `_weight_ih` [3H, I], `_weight_hh` [3H, H], `_bias_ih` and `_bias_hh` [3H]; False for
            `_gate_weight` [I+H, 2H], `_candidate_weight` [I+H, H], `_gate_bias` [2H] and `_candidate_bias` [H].
        dtype: of parameters, inputs and states.

    Raises:
        AttributeError: for True or False as an attribute.
    """

    def __init__(
        self,
        hidden_size: int,
        input_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Activation | None = None,
        activation: Activation | None = None,
        use_cudnn_impl: bool = True,
        dtype: Any = "float64",
    ) -> None:
        attrs, activations = (param_attr, bias_attr), (gate_activation, activation)
        super().__init__((hidden_size, input_size), attrs, activations, use_cudnn_impl, dtype)
        self._gate = _core_activation(gate_activation, "sigmoid")
        self._node = _core_activation(activation, "tanh")
        rows, joined = 3 * hidden_size, input_size + hidden_size
        if use_cudnn_impl:
            weights = {"weight_ih": [rows, input_size], "weight_hh": [rows, hidden_size]}
            biases = {"bias_ih": [rows], "bias_hh": [rows]}
        else:
            weights = {"gate_weight": [joined, 2 * hidden_size], "candidate_weight": [joined, hidden_size]}
            biases = {"gate_bias": [2 * hidden_size], "candidate_bias": [hidden_size]}
        self._make(weights, biases)

    _weight_ih: Any
    _weight_hh: Any
    _bias_ih: Any
    _bias_hh: Any
    _gate_weight: Any
    _gate_bias: Any
    _candidate_weight: Any
    _candidate_bias: Any

    def _weights(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The parameters as the core takes them; views of the very memory with `use_cudnn_impl`."""
        if self._use_cudnn_impl:
            return plain(self._weight_ih), plain(self._weight_hh), plain(self._bias_ih), plain(self._bias_hh)
        w_ih, w_hh = gates.from_concatenated(
            plain(self._gate_weight), plain(self._candidate_weight), self._input_size, "rz"
        )
        bias = gates.bias_from_concatenated(plain(self._gate_bias), plain(self._candidate_bias), "rz")
        return w_ih, w_hh, bias, torch.zeros_like(bias)

    def forward(self, input: torch.Tensor, pre_hidden: torch.Tensor) -> Tensor:
        """The new state [B, H] from the input [B, I] and the state before it [B, H].

        Raises:
            ValueError: for shapes or dtypes that do not fit.
        """
        self._check(input=input, pre_hidden=pre_hidden)
        reset = "after" if self._use_cudnn_impl else "before"
        x, state = plain(input), plain(pre_hidden)
        if self._use_cudnn_impl:  # the other implementation joins them side by side, which needs equal batches
            x, state = one_batch(x, state)
        new = core_call(
            functional.gru_cell,
            x,
            state,
            *self._weights(),
            reset=reset,
            gate_activation=self._gate,
            activation=self._node,
        )
        return wrap(new)

    def __to_anygru__(self) -> layers.GRUCell:
        """A `anygru.GRUCell` that shares the parameters' memory.

        Raises:
            ValueError: with `use_cudnn_impl=False`: its matrices have another layout in memory.
        """
        if not self._use_cudnn_impl:
            raise ValueError(
                "GRUCell(use_cudnn_impl=False) keeps input and state rows of a gate in one transposed matrix, which no "
                "anygru.GRUCell can share; anygru.gates.from_concatenated copies them"
            )
        cell = layers.GRUCell(
            self._input_size, self._hidden_size, dtype=_dtype(self._weight_ih), gate_activation=self._gate,
            activation=self._node,
        )  # fmt: skip
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            parameter = self._parameters["_" + name]
            shared = torch.nn.Parameter(plain(parameter.detach()), requires_grad=not parameter.stop_gradient)  # type: ignore[union-attr]
            cell.register_parameter(name, shared)
        return cell


class LSTMCell(_Cell):
    """One step of an LSTM.

    Args:
        hidden_size, input_size, param_attr, bias_attr: as of `GRUCell`.
        gate_activation: a function for the gates; default: sigmoid.
        activation: a function for the candidate and for the new cell state; default: tanh.
        forget_bias: added to the forget gate with `use_cudnn_impl=False`, a number; the other implementation ignores it.
        use_cudnn_impl: True for `_weight_ih` [4H, I], `_weight_hh` [4H, H], `_bias_ih` and `_bias_hh` [4H]; False for
            `_weight` [I+H, 4H] and `_bias` [4H].
        dtype: of parameters, inputs and states.

    Raises:
        AttributeError: for True or False as an attribute.
    """

    def __init__(
        self,
        hidden_size: int,
        input_size: int,
        param_attr: Any = None,
        bias_attr: Any = None,
        gate_activation: Activation | None = None,
        activation: Activation | None = None,
        forget_bias: float = 1.0,
        use_cudnn_impl: bool = True,
        dtype: Any = "float64",
    ) -> None:
        attrs, activations = (param_attr, bias_attr), (gate_activation, activation)
        # Paddle gives the dtype for the scope of names, so that parameters are called float64_0.w_0 (fluid's source, read).
        scope = dtype if isinstance(dtype, str) else None
        super().__init__((hidden_size, input_size), attrs, activations, use_cudnn_impl, dtype, scope)
        rows = 4 * hidden_size
        if use_cudnn_impl:
            weights = {"weight_ih": [rows, input_size], "weight_hh": [rows, hidden_size]}
            self._make(weights, {"bias_ih": [rows], "bias_hh": [rows]})
        else:
            self._forget_bias = full([1], forget_bias, dtype)
            self._forget_bias.stop_gradient = False
            self._make({"weight": [input_size + hidden_size, rows]}, {"bias": [rows]}, suffixes=False)

    _weight_ih: Any
    _weight_hh: Any
    _bias_ih: Any
    _bias_hh: Any
    _weight: Any
    _bias: Any

    def forward(self, input: torch.Tensor, pre_hidden: torch.Tensor, pre_cell: torch.Tensor) -> tuple[Tensor, Tensor]:
        """The new states h and c [B, H] from the input [B, I] and the states before it [B, H].

        Raises:
            ValueError: for shapes or dtypes that do not fit.
        """
        self._check(input=input, pre_hidden=pre_hidden, pre_cell=pre_cell)
        gate, node = self._gate_activation, self._activation
        if self._use_cudnn_impl:
            given = matmul(input, self._weight_ih, transpose_y=True) + self._bias_ih
            ingate, forget, candidate, out = split(
                given + (matmul(pre_hidden, self._weight_hh, transpose_y=True) + self._bias_hh), 4, axis=1
            )
            added = gate(ingate) * node(candidate)
        else:
            ingate, candidate, forget, out = split(
                matmul(concat([input, pre_hidden], 1), self._weight) + self._bias, 4, axis=1
            )
            forget = forget + self._forget_bias
            added = ops.sigmoid(ingate) * ops.tanh(candidate)  # for any activation (fluid's source, read)
        new_cell = gate(forget) * pre_cell + added
        return gate(out) * node(new_cell), new_cell
