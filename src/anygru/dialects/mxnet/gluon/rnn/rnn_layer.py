"""`gluon.rnn.GRU`, `LSTM` and `RNN`: several layers and directions over whole sequences.

Gates are stacked as torch and anygru stack them, (r, z, n) and (i, f, g, o), in every parameter; MXNet calls z "input gate".
"""

import re
from types import ModuleType
from typing import Any

from anygru import layers
from anygru.errors import AnygruError

from ...._hook.not_covered import not_covered
from ... import ndarray, symbol
from ...base import DtypeLike, MXNetError
from ...initializer import Initial
from ...ndarray.array import run, wrap
from ...ndarray.ndarray import NDArray
from ...operators.recurrent import gates_of, run_recurrent
from ..blocks.hybrid import HybridBlock
from ..blocks.parameter import Parameter, tensor_types
from ..blocks.parameter_dict import ParameterDict
from .combined_cells import BidirectionalCell, HybridSequentialRNNCell
from .gru_cell import GRUCell
from .modifier_cells import DropoutCell
from .other_cells import LSTMCell, RNNCell
from .recurrent_cell import HybridRecurrentCell
from .sharing import share

__all__ = ["GRU", "LSTM", "RNN"]

_STATES = {"lstm": 2}  # of the modes that have more than one
_KEY = re.compile(r"(l|r)(\d+)_(i2h|h2h)_(weight|bias)\Z")


class _RNNLayer(HybridBlock):
    """What the recurrent layers have in common: parameters of all layers and directions, states, and the RNN operator."""

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
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        assert layout in ("TNC", "NTC"), f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']"
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
        self._traced_without_states: bool | None = None
        self._keys: list[str] = []  # of the parameters, in the order that anygru takes
        features = input_size
        for layer in range(num_layers):
            for direction in "lr"[: self._dir]:
                stem = f"{direction}{layer}_"
                self._add(stem + "i2h_weight", (rows, features), i2h_weight_initializer)
                self._add(stem + "h2h_weight", (rows, hidden_size), h2h_weight_initializer)
                self._add(stem + "i2h_bias", (rows,), i2h_bias_initializer)
                self._add(stem + "h2h_bias", (rows,), h2h_bias_initializer)
            features = hidden_size * self._dir

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
        """Parameters under the paths of the cells that MXNet once made the layer of, which its files keep."""
        prefix += "." if prefix else ""
        found = {}
        for key, parameter in self._reg_params.items():
            direction, layer, which, kind = _KEY.match(key).groups()  # type: ignore[union-attr]
            cell = f"{direction}_cell." if self._dir == 2 else ""
            found[f"{prefix}_unfused.{layer}.{cell}{which}_{kind}"] = parameter
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(prefix + name))
        return found

    # ---- states

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """Shape, layout and dtype of each state."""
        shape = (self._num_layers * self._dir, batch_size, self._hidden_size)
        return [{"shape": shape, "__layout__": "LNC", "dtype": self._dtype} for _ in range(_STATES.get(self._mode, 1))]

    def begin_state(self, batch_size: int = 0, func: Any = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """States to begin with: what `func` makes of their shapes, zeros by default."""
        return [
            func(name=f"{self.prefix}h0_{place}", **{**info, **kwargs})
            for place, info in enumerate(self.state_info(batch_size))
        ]

    def cast(self, dtype: DtypeLike) -> None:
        """Change the dtype of parameters and states."""
        super().cast(dtype)
        self._dtype = dtype

    # ---- running

    def __call__(  # type: ignore[override]
        self, inputs: Any, states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> Any:
        if kwargs:
            raise TypeError(f"{type(self).__name__} takes inputs, states and sequence_length, got {', '.join(kwargs)}")
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
        if sequence_length is not None:
            raise ValueError(f"{type(self).__name__}: sequence_length needs use_sequence_length=True at construction")
        return super().__call__(inputs, states)

    def _call_cached_op(self, *args: Any) -> Any:
        # The graph of a call without states has one output less.
        if self._traced_without_states is not self.skip_states:
            self._clear_cached_op()
            self._traced_without_states = self.skip_states
        return super()._call_cached_op(*args)

    def hybrid_forward(  # type: ignore[override]
        self, F: ModuleType, inputs: Any, states: Any, sequence_length: Any = None, **params: Any
    ) -> Any:
        """Compute on arrays, or build the graph that MXNet would."""
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
        expected = (self._num_layers * self._dir, batch_size, self._hidden_size)
        for state in states:
            if state.shape != expected:
                raise ValueError(f"Invalid recurrent state shape. Expecting {expected}, got {state.shape}.")
        if len(states) != _STATES.get(self._mode, 1):
            raise MXNetError(
                f"{type(self).__name__}: states must be {_STATES.get(self._mode, 1)} arrays, got {len(states)}"
            )
        try:
            results = run(
                run_recurrent,
                self._mode,
                inputs._t,
                [state._t for state in states],
                [params[key]._t for key in self._keys],
                self._dir == 2,
                self._dropout,
                None if sequence_length is None else sequence_length._t,
                batch_first,
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
            for which in ("i2h", "h2h")
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
            projection_size=None,
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

    # ---- other forms

    def _cell(self, **options: Any) -> HybridRecurrentCell:
        """One step of the same network."""
        raise NotImplementedError

    def _unfuse(self) -> HybridSequentialRNNCell:
        """The same network as a stack of cells, on the same parameters."""
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


class GRU(_RNNLayer):
    """A gated recurrent unit over sequences; the reset gate acts after the product, as in cuDNN.

    Args:
        hidden_size: features of the state, H.
        num_layers: layers, L.
        layout: "TNC" or "NTC": the axes of inputs and outputs.
        dropout: probability of zeroing an element between layers, when training.
        bidirectional: whether a second direction reads from the end; D = 2.
        input_size: features of an input, C; 0 waits for the first input.
        i2h_weight_initializer, h2h_weight_initializer: initializers of the weights; names or objects.
        i2h_bias_initializer, h2h_bias_initializer: initializers of the biases.
        dtype: of the parameters.
        use_sequence_length: whether calls take the lengths of the sequences as a third argument.
        prefix, params: as for `Block`.

    A call takes inputs [T, N, C] (or [N, T, C]) and states [L*D, N, H], alone or in a list.  Without states it returns the
    output [T, N, D*H], with them `(output, [state])`.

    Raises:
        AssertionError: for an unknown layout.
        ValueError: when called with a state of another shape.
        MXNetError: when called with inputs of another size or dtype.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        dtype: DtypeLike = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            "gru",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            dtype,
            **kwargs,
        )

    def _cell(self, **options: Any) -> HybridRecurrentCell:
        return GRUCell(self._hidden_size, **options)

    def __to_anygru__(self) -> layers.GRU:
        """An `anygru.GRU` on the same memory: training either trains both.

        Raises:
            RuntimeError: before `initialize()`, or on several contexts.
            DeferredInitializationError: before the input size is known.
        """
        tensors = [self._reg_params[key].data()._t for key in self._keys]
        layer = layers.GRU(
            tensors[0].shape[1],
            self._hidden_size,
            self._num_layers,
            batch_first=self._layout == "NTC",
            dropout=float(self._dropout),
            bidirectional=self._dir == 2,
            device=tensors[0].device,
            dtype=tensors[0].dtype,
        )
        names = [
            f"{kind}_{which}_l{n}{suffix}"
            for n in range(self._num_layers)
            for suffix in ("", "_reverse")[: self._dir]
            for kind, which in (("weight", "ih"), ("weight", "hh"), ("bias", "ih"), ("bias", "hh"))
        ]
        return share(layer, names, tensors)


class LSTM(_RNNLayer):
    """Long short-term memory over sequences. Arguments and calls are those of `GRU`, with two states: outputs and cells.

    Args:
        projection_size, h2r_weight_initializer: not covered, as in MXNet on the CPU; `gluon.contrib.rnn.LSTMPCell` projects.
        state_clip_min, state_clip_max, state_clip_nan: not covered, as in MXNet on the CPU.
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        input_size: int = 0,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        projection_size: int | None = None,
        h2r_weight_initializer: Initial = None,
        state_clip_min: float | None = None,
        state_clip_max: float | None = None,
        state_clip_nan: bool = False,
        dtype: DtypeLike = "float32",
        **kwargs: Any,
    ) -> None:
        if projection_size is not None or state_clip_min is not None or state_clip_max is not None or state_clip_nan:
            raise not_covered(
                "mxnet.gluon.rnn.LSTM(projection_size=..., state_clip_*=...)", "gluon.contrib.rnn.LSTMPCell, or clip"
            )
        super().__init__(
            "lstm",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            dtype,
            **kwargs,
        )

    def _cell(self, **options: Any) -> HybridRecurrentCell:
        return LSTMCell(self._hidden_size, **options)


class RNN(_RNNLayer):
    """A recurrent network without gates over sequences. Arguments and calls are those of `GRU`.

    Args:
        activation: "relu" or "tanh".
    """

    def __init__(
        self,
        hidden_size: int,
        num_layers: int = 1,
        activation: str = "relu",
        layout: str = "TNC",
        dropout: float = 0,
        bidirectional: bool = False,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        input_size: int = 0,
        dtype: DtypeLike = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            f"rnn_{activation}",
            hidden_size,
            num_layers,
            layout,
            dropout,
            bidirectional,
            input_size,
            i2h_weight_initializer,
            h2h_weight_initializer,
            i2h_bias_initializer,
            h2h_bias_initializer,
            dtype,
            **kwargs,
        )

    def _cell(self, **options: Any) -> HybridRecurrentCell:
        return RNNCell(self._hidden_size, activation=self._mode.removeprefix("rnn_"), **options)
