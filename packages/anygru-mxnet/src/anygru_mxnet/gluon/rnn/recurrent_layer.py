"""The base class of the recurrent layers: parameters, states, and the RNN operator."""

import re
from types import ModuleType
from typing import Any

from anygru.errors import AnygruError

from ... import ndarray, symbol
from ...base import DtypeLike, MXNetError
from ...initializer import Initial
from ...ndarray.array import run, tensor_of, wrap
from ...ndarray.ndarray import NDArray
from ...operators.recurrent import GATES, gates_of, run_recurrent
from ...operators.registry import is_float
from ..blocks.hybrid import HybridBlock
from ..blocks.parameter import Parameter, tensor_types
from ..blocks.parameter_dict import ParameterDict
from .combined_cells import BidirectionalCell, HybridSequentialRNNCell
from .modifier_cells import DropoutCell
from .recurrent_cell import HybridRecurrentCell

_STATES = {"lstm": 2}  # for the modes with several states
_KEY = re.compile(r"(l|r)(\d+)_(i2h|h2h|h2r)_(weight|bias)\Z")


class RecurrentLayer(HybridBlock):
    """A recurrent network of several layers and directions; a subclass defines the kind."""

    def __init__(
        self,
        mode: str,
        hidden_size: int,
        num_layers: int,
        layout: str,
        dropout: float,
        bidirectional: bool,
        input_size: int,
        i2h_weight_initializer: Initial,
        h2h_weight_initializer: Initial,
        i2h_bias_initializer: Initial,
        h2h_bias_initializer: Initial,
        dtype: DtypeLike,
        use_sequence_length: bool = False,
        prefix: str | None = None,
        params: ParameterDict | None = None,
        projection_size: int | None = None,
        h2r_weight_initializer: Initial = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        assert layout in ("TNC", "NTC"), f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']"
        if mode not in GATES:
            raise KeyError(mode)  # the class that MXNet 1.9.1 raises (recorded)
        rows = gates_of(mode) * hidden_size
        self._mode = mode
        self._hidden_size = hidden_size
        self._num_layers = num_layers
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        self._initializers: dict[str, Any] = {
            "i2h_weight_initializer": i2h_weight_initializer,
            "h2h_weight_initializer": h2h_weight_initializer,
            "i2h_bias_initializer": i2h_bias_initializer,
            "h2h_bias_initializer": h2h_bias_initializer,
        }
        self.skip_states = True
        self._keys: list[str] = []  # of the parameters, in the order that anygru takes
        self._projection_size = projection_size
        out = projection_size or hidden_size
        features = input_size
        for layer in range(num_layers):
            for direction in "lr"[: self._dir]:
                stem = f"{direction}{layer}_"
                self._add(stem + "i2h_weight", (rows, features), i2h_weight_initializer)
                self._add(stem + "h2h_weight", (rows, out), h2h_weight_initializer)
                self._add(stem + "i2h_bias", (rows,), i2h_bias_initializer)
                self._add(stem + "h2h_bias", (rows,), h2h_bias_initializer)
                if projection_size:
                    self._add(stem + "h2r_weight", (out, hidden_size), h2r_weight_initializer)
            features = out * self._dir

    def _add(self, key: str, shape: tuple[int, ...], init: Initial) -> None:
        parameter = self.params.get(key, shape=shape, init=init, allow_deferred_init=True, dtype=self._dtype)
        setattr(self, key, parameter)
        self._keys.append(key)

    def __repr__(self) -> str:
        rows, features = self._reg_params["l0_i2h_weight"].shape  # type: ignore[misc]
        options = [f"{features if features else None} -> {rows // gates_of(self._mode)}", self._layout]
        if self._num_layers != 1:
            options.append(f"num_layers={self._num_layers}")
        if self._dropout != 0:
            options.append(f"dropout={self._dropout}")
        if self._dir == 2:
            options.append("bidirectional")
        return f"{type(self).__name__}({', '.join(options)})"

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """The parameters by their paths in MXNet's files, which come from an older implementation with cells."""
        prefix += "." if prefix else ""
        found = {}
        for key, parameter in self._reg_params.items():
            direction, layer, which, kind = _KEY.match(key).groups()  # type: ignore[union-attr]
            cell = f"{direction}_cell." if self._dir == 2 else ""
            found[f"{prefix}_unfused.{layer}.{cell}{which}_{kind}"] = parameter
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of each state."""
        cells, sizes = self._num_layers * self._dir, (self._projection_size or self._hidden_size, self._hidden_size)
        return [
            {"shape": (cells, batch_size, size), "__layout__": "LNC", "dtype": self._dtype}
            for size in sizes[: _STATES.get(self._mode, 1)]
        ]

    def begin_state(self, batch_size: int = 0, func: Any = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """Initial states: `func` of their shapes, zeros by default."""
        return [
            func(name=f"{self.prefix}h0_{place}", **{**info, **kwargs})
            for place, info in enumerate(self.state_info(batch_size))
        ]

    def cast(self, dtype: DtypeLike) -> None:
        """Change the dtype of parameters and states."""
        super().cast(dtype)
        self._dtype = dtype

    def __call__(  # type: ignore[override]
        self, inputs: Any, states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> Any:
        if kwargs:
            raise TypeError(f"{type(self).__name__} takes inputs, states and sequence_length, got {', '.join(kwargs)}")
        # A hybridized layer keeps the form of its first call: if the first call has no states, no call returns states; otherwise
        # every call does. MXNet 1.9.1 does so (recorded), and programs unpack the result.
        self.skip_states = states is None
        if states is None:
            if isinstance(inputs, NDArray):
                batch_size = inputs.shape[self._layout.find("N")]
                states = self.begin_state(batch_size, ctx=inputs.context, dtype=inputs.dtype)
            else:
                states = self.begin_state(0, func=symbol.zeros)
        elif isinstance(states, tensor_types):
            states = [states]
        if self._use_sequence_length:
            return super().__call__(inputs, states, sequence_length)
        return super().__call__(inputs, states)  # lengths are ignored without use_sequence_length (recorded from 1.9.1)

    def hybrid_forward(  # type: ignore[override]
        self, F: ModuleType, inputs: Any, states: Any, sequence_length: Any = None, **params: Any
    ) -> Any:
        """Compute on arrays, or build MXNet's graph."""
        if F is ndarray:
            output, *last = self._compute(inputs, states, sequence_length, params)
        else:
            output, *last = self._trace(F, inputs, states, sequence_length, params)
        return output if self.skip_states else (output, last)

    def _compute(
        self, inputs: NDArray, states: list[NDArray], sequence_length: NDArray | None, params: dict[str, NDArray]
    ) -> list[NDArray]:
        if inputs.ndim != 3:
            raise MXNetError(
                f"{type(self).__name__}: inputs must have the axes {self._layout}, got the shape {inputs.shape}"
            )
        batch_first = self._layout == "NTC"
        batch_size = inputs.shape[0 if batch_first else 1]
        # As in MXNet's Python layer, the shapes are checked before the number of states.
        for state, info in zip(states, self.state_info(batch_size), strict=False):
            if state.shape != info["shape"]:
                raise ValueError(f"Invalid recurrent state shape. Expecting {info['shape']}, got {state.shape}.")
        if len(states) != _STATES.get(self._mode, 1):
            raise MXNetError(
                f"{type(self).__name__}: states must be {_STATES.get(self._mode, 1)} arrays, got {len(states)}"
            )
        if not is_float(self._dropout):
            raise MXNetError(
                f"Invalid Parameter format for p expect float but value='{self._dropout}', in operator RNN"
            )
        try:
            results = run(
                run_recurrent,
                self._mode,
                tensor_of("data", inputs),
                [tensor_of("state", state) for state in states],
                [params[key]._t for key in self._keys],
                self._dir == 2,
                float(self._dropout),
                None if sequence_length is None else sequence_length._t,
                batch_first,
                False,
                bool(self._projection_size),
            )
        except MXNetError:
            raise
        except (AnygruError, RuntimeError) as error:
            raise MXNetError(f"{self.name}: {error}") from error
        return [wrap(result, inputs._ctx) for result in results]

    def _trace(self, F: ModuleType, inputs: Any, states: list, sequence_length: Any, params: dict[str, Any]) -> list:
        if self._layout == "NTC":
            inputs = F.swapaxes(inputs, 0, 1)
        flat = [
            params[f"{direction}{layer}_{which}_{kind}"].reshape(-1)
            for kind in ("weight", "bias")
            for layer in range(self._num_layers)
            for direction in "lr"[: self._dir]
            for which in ("i2h", "h2h", "h2r")
            if f"{direction}{layer}_{which}_{kind}" in params
        ]
        vector = F._internal._rnn_param_concat(*flat, dim=0)
        lengths = [sequence_length] if self._use_sequence_length else []
        output, *last = F.RNN(
            inputs,
            vector,
            *states,
            **({"sequence_length": lengths[0]} if lengths else {}),
            use_sequence_length=self._use_sequence_length,
            state_size=self._hidden_size,
            projection_size=self._projection_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            lstm_state_clip_min=None,
            lstm_state_clip_max=None,
            lstm_state_clip_nan=False,
        )
        if self._layout == "NTC":
            output = F.swapaxes(output, 0, 1)
        return [output, *last]

    def _cell(self, **options: Any) -> HybridRecurrentCell:
        """One step of the same network."""
        raise NotImplementedError

    def _unfuse(self) -> HybridSequentialRNNCell:
        """The same network as a stack of cells, on the same parameters."""
        assert not self._projection_size, "_unfuse does not support projection layer yet!"
        stack = HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        features = self._input_size
        with stack.name_scope():
            for layer in range(self._num_layers):
                cells: list[Any] = [
                    self._cell(input_size=features, prefix=f"{d}{layer}_", **self._initializers)
                    for d in "lr"[: self._dir]
                ]
                stack.add(BidirectionalCell(cells[0], cells[1]) if self._dir == 2 else cells[0])
                if self._dropout > 0 and layer != self._num_layers - 1:
                    stack.add(DropoutCell(self._dropout))
                features = self._hidden_size * self._dir
        return stack
