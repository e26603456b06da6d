"""The removed `paddle.fluid.dygraph.GRUUnit`: one step of a GRU on an input that is already projected.

Source: Paddle's page of `GRUUnit` (1.8) and the layout of `gru_unit_op` there, read: the weight's memory holds [H, 2H] for
the update and the reset gate, then [H, H] for the candidate. The reset comes before the recurrent product. The step is written
out here because it also returns its gates, which `anygru.functional` does not.
"""

from typing import Literal, NoReturn

import torch

from anygru import layers
from anygru.extend import gates as core_gates

from ...base.param_attr import ParamAttr
from ...nn.functional.activation import relu
from ...nn.initializer.initializer import Initializer
from ...nn.layer.layers import Layer
from ...tensor import ops
from ...tensor.operation import need_tensor, wrap
from ...tensor.tensor import Tensor, plain

Attr = ParamAttr | Initializer | str | bool | None
_Name = Literal["identity", "sigmoid", "tanh", "relu"]
_ACTIVATIONS = {"identity": lambda x: x, "sigmoid": ops.sigmoid, "tanh": ops.tanh, "relu": relu}


class GRUUnit(Layer):
    """One step of a GRU on [B, 3H]: the input's projections for update, reset and candidate.

    Args:
        size: 3H.
        param_attr, bias_attr: attributes of `weight` [H, 3H] and `bias` [1, 3H]; False omits the bias.
        activation, gate_activation: 'identity', 'sigmoid', 'tanh' or 'relu'.
        origin_mode: without effect, as in Paddle 1.8.5 (read and recorded), although its page differs: a dynamic graph
            does not pass it to the operator, and the new state is always (1 - u) * h + u * candidate.
        dtype: of the parameters.

    Raises:
        ValueError: for another activation, or a size that 3 does not divide.
    """

    def __init__(
        self,
        size: int,
        param_attr: Attr = None,
        bias_attr: Attr = None,
        activation: _Name = "tanh",
        gate_activation: _Name = "sigmoid",
        origin_mode: bool = False,
        dtype: object = "float32",
    ) -> None:
        super().__init__()
        for name, value in (("activation", activation), ("gate_activation", gate_activation)):
            if value not in _ACTIVATIONS:
                raise ValueError(f"GRUUnit: {name} must be one of {', '.join(_ACTIVATIONS)}, got {value!r}")
        if size <= 0 or size % 3:
            raise ValueError(f"GRUUnit: size must be 3 times the size of the state, got {size}")
        self._hidden_size, self._dtype = size // 3, dtype
        self._activation, self._gate_activation = activation, gate_activation
        self.weight = self.create_parameter([size // 3, size], param_attr, dtype)
        self.bias = self.create_parameter([1, size], bias_attr, dtype, is_bias=True)

    def _weights(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """The recurrent weights [H, 2H] (update, reset) and [H, H], and the bias [3H]."""
        size, flat = self._hidden_size, plain(self.weight).reshape(-1)
        bias = flat.new_zeros(3 * size) if self.bias is None else plain(self.bias).reshape(-1)
        return flat[: 2 * size * size].view(size, 2 * size), flat[2 * size * size :].view(size, size), bias

    def forward(self, input: torch.Tensor, hidden: torch.Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The new state [B, H], the state times the reset gate [B, H], and the gates and the candidate [B, 3H].

        Raises:
            ValueError: for shapes that do not fit.
        """
        need_tensor(input, "input", "GRUUnit")
        need_tensor(hidden, "hidden", "GRUUnit")
        size, x, h = self._hidden_size, plain(input), plain(hidden)
        if x.dim() != 2 or x.shape[1] != 3 * size or h.shape != (x.shape[0], size):
            raise ValueError(
                f"(InvalidArgument) GRUUnit: input must be [B, {3 * size}] and hidden [B, {size}], got {list(x.shape)} "
                f"and {list(h.shape)}"
            )
        gates, candidate, bias = self._weights()
        gate, act = _ACTIVATIONS[self._gate_activation], _ACTIVATIONS[self._activation]
        inner = gate(x[:, : 2 * size] + h @ gates + bias[: 2 * size])
        update, reset_state = inner[:, :size], inner[:, size:] * h
        node = act(x[:, 2 * size :] + reset_state @ candidate + bias[2 * size :])
        return wrap(h + update * (node - h)), wrap(reset_state), wrap(torch.cat([inner, node], 1))

    def __to_anygru__(self) -> NoReturn:
        """Raise: no `anygru.GRUCell` can share the memory of a unit.

        Raises:
            ValueError: always, with the way.
        """
        raise ValueError(
            "GRUUnit keeps its weights transposed in one block of memory, which no anygru.GRUCell can share; "
            "unit.to_gru_cell() copies them"
        )

    def to_gru_cell(self, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None) -> layers.GRUCell:
        """An `anygru.GRUCell` with copies of this unit's weights and of the projection before it.

        Args:
            weight: [I, 3H], of the layer that projects the input; None: the cell takes projected inputs [B, 3H], as the unit.
            bias: [3H], of that layer.

        Raises:
            ValueError: unless the gates are sigmoids.
        """
        if self._gate_activation != "sigmoid":
            raise ValueError(f"GRUUnit.to_gru_cell: the gates must be sigmoids, got {self._gate_activation!r}")
        size = self._hidden_size
        gates, candidate, own = self._weights()
        inputs = torch.eye(3 * size, dtype=own.dtype, device=own.device) if weight is None else plain(weight)
        total = own if bias is None else own + plain(bias).reshape(-1)
        update, reset, node = torch.cat([inputs, torch.cat([gates, candidate], 1)]).split(size, 1)
        of_update, of_reset, of_node = total.split(size)
        cell = layers.GRUCell(
            len(inputs), size, reset="before", activation=self._activation, dtype=own.dtype, device=own.device
        )
        # 1 - sigmoid(a) is sigmoid(-a)
        weight_ih, weight_hh = core_gates.from_concatenated(torch.cat([reset, -update], 1), node, len(inputs), "rz")
        joined = core_gates.bias_from_concatenated(torch.cat([of_reset, -of_update]), of_node, "rz")
        values = {
            "weight_ih": weight_ih,
            "weight_hh": weight_hh,
            "bias_ih": joined,
            "bias_hh": torch.zeros_like(joined),
        }
        cell.load_state_dict(values, strict=False)  # the state also has an entry for the formula
        return cell
