"""The base class of the cells with weights: parameters, states and products."""

from types import ModuleType
from typing import Any

from ...initializer import Initial
from ...symbol.nesting import Data
from ..blocks.parameter_dict import ParameterDict
from .recurrent_cell import HybridRecurrentCell


class GatedCell(HybridRecurrentCell):
    """A cell with a product for the input and a product for the state.

    Args:
        gates: the number of gates.
        hidden_size: features of a state, H.
        input_size: features of the input, C; 0 waits for the first input.
        initializers: of the two weights and the two biases.
        prefix, params: as for `Block`.
        projection: None, or the size of a projected output (an input of the second product) and the initializer of the
            projection's weight.
    """

    # The number of states of shape [N, H].
    _states = 1

    def __init__(
        self,
        gates: int,
        hidden_size: int,
        input_size: int,
        initializers: tuple[Initial, Initial, Initial, Initial],
        prefix: str | None,
        params: ParameterDict | None,
        projection: tuple[int, Initial] | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        rows = gates * hidden_size
        taken = projection[0] if projection else hidden_size
        shapes = ((rows, input_size), (rows, taken), (rows,), (rows,))
        names = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
        parts = list(zip(names, shapes, initializers, strict=True))
        if projection:
            parts.insert(2, ("h2r_weight", (taken, hidden_size), projection[1]))
        for name, shape, init in parts:
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(self._states)]

    def __repr__(self) -> str:
        rows, features = self._reg_params["i2h_weight"].shape  # type: ignore[misc]
        return f"{type(self).__name__}({features if features else None} -> {rows})"

    def _products(
        self, F: ModuleType, inputs: Data, state: Data, i2h_w: Data, h2h_w: Data, i2h_b: Data, h2h_b: Data
    ) -> tuple[Any, Any]:
        """The contributions of the input and of the state to the gates."""
        at, rows = f"t{self._counter}_", self._reg_params["h2h_bias"].shape[0]  # type: ignore[index]
        i2h = F.FullyConnected(data=inputs, weight=i2h_w, bias=i2h_b, num_hidden=rows, name=at + "i2h")
        return i2h, F.FullyConnected(data=state, weight=h2h_w, bias=h2h_b, num_hidden=rows, name=at + "h2h")
