"""`gluon.contrib.rnn`: convolutional cells (Shi et al. 2015) in one to three dimensions."""

import inspect
from collections.abc import Sequence as Several
from types import ModuleType
from typing import Any

from ...initializer import Initial
from ...symbol.nesting import Data
from ..rnn.recurrent_cell import HybridRecurrentCell

__all__ = [
    "Conv1DGRUCell", "Conv1DLSTMCell", "Conv1DRNNCell", "Conv2DGRUCell", "Conv2DLSTMCell", "Conv2DRNNCell",
    "Conv3DGRUCell", "Conv3DLSTMCell", "Conv3DRNNCell",
]  # fmt: skip

Numbers = int | Several[int]
_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


class _ConvCell(HybridRecurrentCell):
    """The input goes through one convolution and the state through another.

    Args:
        input_shape: of one sample of one step, channels first.
        hidden_channels: channels of a state.
        i2h_kernel, h2h_kernel: sizes of the kernels; the state's are odd, so that it keeps its size.
        i2h_pad: zeros around the input.
        i2h_dilate, h2h_dilate: distances in the kernels.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: initializers.
        conv_layout: channels first only; MXNet 1.9 has no other layout on a CPU.
        activation: its name, a block or a function.
        prefix, params: as for `Block`.
    """

    _axes: int
    _kind: str
    _gate_names: tuple[str, ...]
    # The number of states.
    _states = 1

    def __init__(
        self,
        input_shape: Several[int],
        hidden_channels: int,
        i2h_kernel: Numbers,
        h2h_kernel: Numbers,
        i2h_pad: Numbers = 0,
        i2h_dilate: Numbers = 1,
        h2h_dilate: Numbers = 1,
        i2h_weight_initializer: Initial = None,
        h2h_weight_initializer: Initial = None,
        i2h_bias_initializer: Initial = "zeros",
        h2h_bias_initializer: Initial = "zeros",
        conv_layout: str | None = None,
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._conv_layout = conv_layout or _LAYOUTS[self._axes]
        assert self._conv_layout == _LAYOUTS[self._axes], (
            f"only {_LAYOUTS[self._axes]!r} is covered, got {conv_layout!r}"
        )
        self._hidden_channels, self._activation = hidden_channels, activation
        self._input_shape = tuple(input_shape)
        kernel, pad, dilate = (self._numbers(value) for value in (i2h_kernel, i2h_pad, i2h_dilate))
        inner, spread = self._numbers(h2h_kernel), self._numbers(h2h_dilate)
        assert all(size % 2 for size in inner), f"Only support odd number, get h2h_kernel= {h2h_kernel}"
        self._of_input = {"kernel": kernel, "pad": pad, "dilate": dilate}
        around = tuple(d * (k - 1) // 2 for d, k in zip(spread, inner, strict=True))
        self._of_state = {"kernel": inner, "pad": around, "dilate": spread}
        places = zip(self._input_shape[1:], kernel, pad, dilate, strict=True)
        self._state_shape = (hidden_channels, *(x + 2 * p - d * (k - 1) if x else 0 for x, k, p, d in places))
        rows = hidden_channels * self._num_gates
        shapes = ((rows, self._input_shape[0], *kernel), (rows, hidden_channels, *inner), (rows,), (rows,))
        initializers = (i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer)
        names = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
        for name, shape, init in zip(names, shapes, initializers, strict=True):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _numbers(self, value: Numbers) -> tuple[int, ...]:
        several = (value,) * self._axes if isinstance(value, int) else tuple(value)
        assert len(several) == self._axes, (
            f"For {self._axes}D convolution, the convolution settings can only be either int "
            f"or list/tuple of length {self._axes}"
        )
        return several

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    def _alias(self) -> str:
        return f"conv_{self._kind}"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [{"shape": (batch_size, *self._state_shape), "__layout__": self._conv_layout}] * self._states

    def __repr__(self) -> str:
        rows, channels = self._reg_params["i2h_weight"].shape[:2]  # type: ignore[index]
        return f"{type(self).__name__}({channels or None} -> {rows}, {self._activation}, {self._conv_layout})"

    def _products(self, F: ModuleType, inputs: Data, state: Data, weights: dict[str, Any]) -> tuple[Any, Any]:
        """The contributions of the input and of the state to the gates."""

        def product(data: Data, which: str, options: dict[str, Any]) -> Any:
            return F.Convolution(
                data=data,
                weight=weights[f"{which}_weight"],
                bias=weights[f"{which}_bias"],
                num_filter=self._hidden_channels * self._num_gates,
                stride=(1,) * self._axes,
                layout=self._conv_layout,
                name=f"t{self._counter}_{which}",
                **options,
            )

        return product(inputs, "i2h", self._of_input), product(state, "h2h", self._of_state)

    def _gates(self, F: ModuleType, values: Data, name: str) -> Any:
        return F.SliceChannel(values, num_outputs=self._num_gates, axis=1, name=f"t{self._counter}_{name}")


class _ConvRNNCell(_ConvCell):
    """A convolutional recurrent cell without gates."""

    _kind, _gate_names = "rnn", ("",)

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list, **weights: Any) -> Any:  # type: ignore[override]
        i2h, h2h = self._products(F, inputs, states[0], weights)
        output = self._get_activation(F, i2h + h2h, self._activation, name=f"t{self._counter}_out")
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    """A convolutional LSTM. Its states are the output and the cell."""

    _kind, _gate_names, _states = "lstm", ("_i", "_f", "_c", "_o"), 2

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list, **weights: Any) -> Any:  # type: ignore[override]
        at = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], weights)
        enter, forget, candidate, leave = self._gates(F, i2h + h2h, "slice")
        enter = F.Activation(enter, act_type="sigmoid", name=at + "i")
        forget = F.Activation(forget, act_type="sigmoid", name=at + "f")
        candidate = self._get_activation(F, candidate, self._activation, name=at + "c")
        leave = F.Activation(leave, act_type="sigmoid", name=at + "o")
        cell = F.elemwise_add(forget * states[1], enter * candidate, name=at + "state")
        output = F.elemwise_mul(leave, self._get_activation(F, cell, self._activation), name=at + "out")
        return output, [output, cell]


class _ConvGRUCell(_ConvCell):
    """A convolutional GRU. The reset gate acts after the convolution."""

    _kind, _gate_names = "gru", ("_r", "_z", "_o")

    def hybrid_forward(self, F: ModuleType, inputs: Data, states: list, **weights: Any) -> Any:  # type: ignore[override]
        at = f"t{self._counter}_"
        i2h, h2h = self._products(F, inputs, states[0], weights)
        i2h_r, i2h_z, i2h_n = self._gates(F, i2h, "i2h_slice")
        h2h_r, h2h_z, h2h_n = self._gates(F, h2h, "h2h_slice")
        reset = F.Activation(i2h_r + h2h_r, act_type="sigmoid", name=at + "r_act")
        update = F.Activation(i2h_z + h2h_z, act_type="sigmoid", name=at + "z_act")
        candidate = self._get_activation(F, i2h_n + reset * h2h_n, self._activation, name=at + "h_act")
        output = F.elemwise_add((1.0 - update) * candidate, update * states[0], name=at + "out")
        return output, [output]


def _cell_class(axes: int, kind: type[_ConvCell]) -> type[_ConvCell]:
    """The cell of a kind for a number of axes; `help` shows MXNet 1.9.1's defaults for them (source)."""
    name, layout = f"Conv{axes}D{kind._kind.upper()}Cell", _LAYOUTS[axes]
    shown = {"i2h_pad": (0,) * axes, "i2h_dilate": (1,) * axes, "h2h_dilate": (1,) * axes, "conv_layout": layout}
    signature = inspect.signature(kind)
    taken = [each.replace(default=shown.get(each.name, each.default)) for each in signature.parameters.values()]
    summary, _, arguments = inspect.cleandoc(_ConvCell.__doc__ or "").partition("\n")
    body = {
        "__doc__": f"{kind.__doc__} {summary} It has {axes} axes of space ({layout}).\n{arguments}",
        "__module__": __name__,
        "__signature__": signature.replace(parameters=taken),
        "_axes": axes,
    }
    return type(name, (kind,), body)


Conv1DRNNCell, Conv2DRNNCell, Conv3DRNNCell = (_cell_class(axes, _ConvRNNCell) for axes in (1, 2, 3))
Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell = (_cell_class(axes, _ConvLSTMCell) for axes in (1, 2, 3))
Conv1DGRUCell, Conv2DGRUCell, Conv3DGRUCell = (_cell_class(axes, _ConvGRUCell) for axes in (1, 2, 3))
