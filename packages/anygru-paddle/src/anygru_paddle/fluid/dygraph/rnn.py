"""The removed `paddle.fluid.dygraph.GRUCell`, in both of its implementations, through `anygru.functional.gru_cell`.

With `use_cudnn_impl=True` the gates are stacked reset, update, candidate, and the reset comes after the recurrent product.
With False one matrix serves both gates and one the candidate, each on the concatenation of input and state; the reset comes
before. Source: Paddle's page of `GRUCell` (2.0), and its equations.
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
from ...tensor.operation import core_call, need_tensor, wrap
from ...tensor.tensor import Tensor, plain

_dtype = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
Activation = Callable[[Any], Any]


def _core_activation(function: Activation | None, default: str) -> Any:
    """A Paddle function in the core's form: its name if the core has the same one; wrapped for paddle tensors otherwise."""
    if function is None:
        return default
    for name, same in (
        ("sigmoid", (ops.sigmoid, F.sigmoid)),
        ("tanh", (ops.tanh, F.tanh)),
        ("relu", (F.relu,)),
    ):
        if any(function is each for each in same):
            return name
    if not callable(function):
        raise TypeError(f"GRUCell: an activation must be a function of a tensor, got {type(function).__name__}")

    def call(value: torch.Tensor) -> torch.Tensor:
        return plain(function(value.as_subclass(Tensor)))

    return call


class GRUCell(Layer):
    """One step of a GRU.

    Args:
        hidden_size: hidden size H.
        input_size: features I of the input.
        param_attr: attributes of the weights; a name gets the suffix of each (`_weight_ih` ...). Xavier unless it says more.
        bias_attr: attributes of the biases; zeros unless it says more.
        gate_activation: a function for both gates; sigmoid unless given.
        activation: a function for the candidate; tanh unless given.
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
        super().__init__()
        self._hidden_size = hidden_size
        self._input_size = input_size
        self._param_attr = param_attr
        self._bias_attr = bias_attr
        self._dtype = dtype
        self._use_cudnn_impl = use_cudnn_impl
        self._gate_activation = gate_activation or ops.sigmoid
        self._activation = activation or ops.tanh
        self._gate = _core_activation(gate_activation, "sigmoid")
        self._node = _core_activation(activation, "tanh")
        joined = input_size + hidden_size
        shapes = (
            {"weight_ih": [3 * hidden_size, input_size], "weight_hh": [3 * hidden_size, hidden_size]}
            if use_cudnn_impl
            else {"gate_weight": [joined, 2 * hidden_size], "candidate_weight": [joined, hidden_size]}
        )
        biases = (
            {"bias_ih": [3 * hidden_size], "bias_hh": [3 * hidden_size]}
            if use_cudnn_impl
            else {"gate_bias": [2 * hidden_size], "candidate_bias": [hidden_size]}
        )
        for name, shape in shapes.items():
            setattr(self, "_" + name, self.create_parameter(shape, _suffixed(param_attr, "param_attr", name), dtype))
        for name, shape in biases.items():
            bias = self.create_parameter(shape, _suffixed(bias_attr, "bias_attr", name), dtype, True, Constant(0.0))
            setattr(self, "_" + name, bias)

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
        need_tensor(input, "input", "GRUCell")
        need_tensor(pre_hidden, "pre_hidden", "GRUCell")
        kind = _dtype(self.parameters()[0])
        for name, tensor in (("input", input), ("pre_hidden", pre_hidden)):
            if tensor.ndim != 2:
                raise ValueError(f"(InvalidArgument) GRUCell: {name} must have 2 axes, got shape {list(tensor.shape)}")
            if _dtype(tensor) != kind:
                raise ValueError(f"(InvalidArgument) GRUCell: {name} must be {self._dtype}, got {tensor.dtype}")
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
            ValueError: with `use_cudnn_impl=False`, whose matrices have another layout in memory.
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


def _suffixed(attr: Any, argument: str, name: str) -> ParamAttr:
    """The attribute of one parameter: the user's, its name followed by the parameter's."""
    if isinstance(attr, bool):  # False leaves a parameter out elsewhere; this cell has no form without one
        raise AttributeError(f"GRUCell: {argument} must be a ParamAttr or None, got {attr}")
    attr = ParamAttr._to_attr(attr)
    if attr.name is None:
        return attr
    return attr.with_name(f"{attr.name}_{name}")
